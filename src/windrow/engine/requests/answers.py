"""Requests and answers, between what a collection's functions take and what the ledger has."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, BinaryIO, NamedTuple, cast

from windrow.contract import (
    ASK,
    REQUEST,
    Answer,
    Ask,
    Collection,
    DocumentPart,
    FollowResult,
    FormField,
    Request,
    Requests,
)
from windrow.digest import number
from windrow.errors import StepError
from windrow.formats.http import plain
from windrow.formats.url import normalise, parts, without
from windrow.model import ArchivePlace, Attachment, Finding, FoundUrl, HttpRequest, Level, Limits, Source
from windrow.reasons import Reason

METHODS = frozenset({"GET", "POST"})
HOPS = 5
"""Redirects of one request that are followed."""

MOST = 10_000
"""Requests, and offers, that one answer may lead to."""

_KEY_LENGTH = 512
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


class KeptAnswer(NamedTuple):
    """An answer as the ledger has it: what was asked, and where its bytes lie.

    `head` is the place of the answer that brought known bytes again; `url` that of the request.
    """

    request: Request
    url: str
    status: int
    at: datetime
    place: ArchivePlace | None
    head: ArchivePlace | None = None
    location: str = ""
    reason: Reason | None = None


class FollowJob(NamedTuple):
    """One answer to be followed."""

    source: Source
    learned: Mapping[str, Any]
    answer: KeptAnswer
    captured: bool = False  # somebody else had asked for it


class FollowedAnswer(NamedTuple):
    """What following made of an answer: its result, and its requests as addresses of the ledger.

    `if_new` has those that are `only_if_new`; those of `found` that are asked again `when_named` are in that too.
    """

    result: FollowResult
    found: tuple[FoundUrl, ...] = ()
    if_new: tuple[FoundUrl, ...] = ()
    when_named: tuple[FoundUrl, ...] = ()


def body_of(view: BinaryIO, fields: Mapping[str, str], limits: Limits) -> BinaryIO:
    """Return a body without its codings; raises StepError for one that is larger than a document may be."""
    # Chunks are in the files of other makers alone: what is kept here has none, and its head does not tell of any.
    codings = {name: fields[name] for name in ("content-encoding", "transfer-encoding") if name in fields}
    # Its size is asked for first: who reads as much as there may be is given memory for all of that.
    if view.seek(0, io.SEEK_END) > limits.member:
        raise StepError(f"more than {limits.member} bytes", Reason.TOO_LARGE)
    view.seek(0)
    if not codings:
        return view
    return cast(BinaryIO, io.BytesIO(plain(view.read(), codings, most=limits.member, ratio=limits.ratio)))


def packed(request: Request, hops: int = 0) -> str:
    """Write what a request is to its discovery, for the ledger."""
    told = {"name": request.name, "context": request.context, "every": request.every, "hops": hops}
    return json.dumps({name: value for name, value in told.items() if value})


def context_of(asked: HttpRequest | None) -> dict[str, Any]:
    """Read what a request is to its discovery."""
    found: dict[str, Any] = json.loads(asked.context) if asked and asked.context else {}
    return found


def request_of(url: str, asked: HttpRequest | None) -> Request:
    """Return a request as its discovery made it."""
    told, made = context_of(asked), asked or HttpRequest()
    return Request(
        url, told.get("name", ""), made.method, made.headers, made.body, context=told.get("context", ""),
        every=told.get("every"),
    )  # fmt: skip


def found_of(request: Request, base: str, *, kind: int = REQUEST, hops: int = 0, sent: Sent | None = None) -> FoundUrl:
    """Return a request as an address of the ledger; StepError for one that cannot be asked.

    `sent` is what it sends in place of its body where kept documents are part of that.
    """
    if request.method not in METHODS:
        raise StepError(f"the method {request.method[:20]!r} is none of GET and POST", Reason.UNSUPPORTED)
    if request.method == "GET" and request.body:
        raise StepError("a GET has no body", Reason.UNSUPPORTED)
    for name, value in request.headers:
        if not _TOKEN.fullmatch(name) or not value.isprintable() or not value.isascii():
            raise StepError(f"{name[:40]!r} is no header, or its value is none", Reason.BAD_ADDRESS)
    url = normalise(request.url, base).url
    if not url:
        raise StepError(f"{request.url[:200]!r} is no address of the web", Reason.BAD_ADDRESS)
    asked = HttpRequest(request.method, tuple(request.headers), bytes(request.body), packed(request, hops))
    key = ""
    if sent is not None:
        asked = asked._replace(body=sent.body, attachments=sent.attachments, seconds=sent.seconds)
        key = sent.digest if sent.attachments else ""
    return FoundUrl(key_of(url, asked, key), parts(url).origin, url, int(request.priority), kind, None, asked)


def key_of(url: str, asked: HttpRequest, document: str = "") -> int:
    """Return the number that the ledger knows a request by: that of its URL for a plain GET.

    `document` is the digest of what it attaches: the same bytes are asked about once, wherever they came from.

    >>> key_of("https://a.example/", HttpRequest()) == number("https://a.example/")
    True
    """
    if asked.method == "GET" and not asked.headers:
        return number(url)
    spelled = "\n".join((asked.method, url, *(f"{name.lower()}: {value}" for name, value in asked.headers)))
    spelled = f"{spelled}\n\n{asked.body.hex()}"
    attached = "".join(f"\n{attachment.at} {attachment.offset} {attachment.length}" for attachment in asked.attachments)
    return number(f"{spelled}\n{document}{attached}" if asked.attachments else spelled)


class Sent(NamedTuple):
    """What a request sends: bytes, and parts of a kept document, whose digest this is, between them."""

    body: bytes
    attachments: tuple[Attachment, ...]
    digest: str
    seconds: float


def ask_of(ask: Ask, base: str, visit: int = 0, digest: str = "") -> FoundUrl:
    """Return what a step asks of a service as an address of the ledger.

    `visit` and `digest` are those of the document that the step was given, parts of which may be sent.
    """
    url = f"{base.rstrip('/')}/{ask.path.lstrip('/')}" if ask.path else base
    headers, pieces = ask.headers, [ask.body]
    if ask.byte_range:
        offset, length = ask.byte_range
        headers = (*headers, ("Range", f"bytes={offset}-{offset + length - 1}"))
    if ask.form:
        kind, pieces = form_data(ask.form, digest)
        headers = (*headers, ("Content-Type", kind))
    body, attachments = b"", []
    for piece in pieces:
        if isinstance(piece, DocumentPart):
            attachments.append(Attachment(len(body), visit, *piece))
        else:
            body += piece
    if ask.method == "GET" and (body or attachments):
        raise StepError("a GET has no body", Reason.UNSUPPORTED)
    sent = Sent(body, tuple(attachments), digest, ask.seconds)
    return found_of(Request(url, ask.name, ask.method, headers), base, kind=ASK, sent=sent)


def form_data(fields: Sequence[FormField], digest: str) -> tuple[str, list[bytes | DocumentPart]]:
    """Spell a form (RFC 7578): the media type, and what is sent.

    The boundary between fields depends on the `digest` of the document too, so that no document can contain it.
    """
    boundary = f"windrow-{number(repr((digest, tuple(fields)))) & (1 << 64) - 1:016x}{digest[-16:]}"
    pieces: list[bytes | DocumentPart] = []
    for field in fields:
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="{_quoted(field.name)}"'
        head += f'; filename="{_quoted(field.filename)}"' if field.filename else ""
        if field.media_type:
            if not field.media_type.isprintable() or not field.media_type.isascii():
                raise StepError(f"{field.media_type[:40]!r} is no media type", Reason.BAD_ADDRESS)
            head += f"\r\nContent-Type: {field.media_type}"
        value = field.value.encode() if isinstance(field.value, str) else field.value
        pieces += [f"{head}\r\n\r\n".encode(), value, b"\r\n"]
    pieces.append(f"--{boundary}--\r\n".encode())
    return f"multipart/form-data; boundary={boundary}", pieces


def _quoted(text: str) -> str:
    r"""Spell a name in a form as browsers do.

    >>> _quoted('a"b\n')
    'a%22b%0A'
    """
    return text.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")


def follow(
    collection: Collection, job: FollowJob, view: BinaryIO, fields: Mapping[str, str], limits: Limits
) -> FollowedAnswer:
    """Run a discovery on an answer; what it makes of it is checked here, where a fault ends one document only."""
    kept, source = job.answer, job.source
    discovery = collection.captures if job.captured else collection.requests
    assert discovery is not None
    assert discovery.follow is not None
    unchanged = kept.head is not None
    answer = Answer(kept.request, kept.status, fields, body_of(view, fields, limits), kept.at, unchanged)
    result = discovery.follow(source, job.learned, answer)
    if not isinstance(result, FollowResult):
        raise StepError(f"the discovery returned {type(result).__name__}, no FollowResult", Reason.STEP_FAILED)
    json.dumps(dict(result.learned))
    for offer in result.offers:
        if not offer.key or len(offer.key) > _KEY_LENGTH:
            raise StepError(
                f"the key {offer.key[:60]!r} of an offer has not 1 to {_KEY_LENGTH} characters", Reason.STEP_FAILED
            )
    if len(result.requests) > MOST or len(result.offers) > MOST:
        raise StepError(f"more than {MOST} requests or offers in one answer", Reason.TOO_LARGE)
    findings = list(result.findings)
    found: list[FoundUrl] = []
    if_new: list[FoundUrl] = []
    when_named: list[FoundUrl] = []
    allowed = allowed_origins(collection, source)
    for request in result.requests:
        try:
            one = found_of(without_secrets(request, source), kept.url)
        except StepError as error:
            findings.append(Finding("BadRequest", str(error)))
            continue
        if one.origin not in allowed:
            findings.append(Finding("OutOfScope", f"{one.url} is not at an origin of {source.name}", Level.WARN))
            continue
        (if_new if request.only_if_new else found).append(one)
        if request.when_named and not request.only_if_new:
            when_named.append(one)
    made = FollowResult(
        (), tuple(result.offers), dict(result.learned), result.end, result.skip, tuple(findings), result.begins_listing,
        result.ends_listing,
    )  # fmt: skip
    return FollowedAnswer(made, tuple(found), tuple(if_new), tuple(when_named))


def redirect(collection: Collection, source: Source, kept: KeptAnswer, hops: int) -> FollowedAnswer:
    """Follow a redirect: the same is asked for where it leads, at the origins of the source alone."""
    request = kept.request
    if kept.status not in {307, 308}:
        request = request._replace(method="GET", body=b"")
    try:
        found = found_of(without_secrets(request._replace(url=kept.location), source), kept.url, hops=hops + 1)
    except StepError as error:
        return FollowedAnswer(FollowResult(skip=Reason.REDIRECTED, findings=(Finding("BadRedirect", str(error)),)))
    if found.origin not in allowed_origins(collection, source) or hops >= HOPS:
        return FollowedAnswer(
            FollowResult(skip=Reason.REDIRECTED, findings=(Finding("Redirected", f"to {found.url}"),))
        )
    return FollowedAnswer(FollowResult(), (found,))


def requests_of(collection: Collection, source: Source) -> Requests | None:
    """Return how a source is asked; None for one that has no address: it only takes captures of others."""
    return collection.requests if source.site.scheme else None


def allowed_origins(collection: Collection, source: Source) -> frozenset[str]:
    """Return the origins at which a source may be asked."""
    asked = requests_of(collection, source)
    if asked is None:
        return frozenset()
    return frozenset({source_address(source), *asked.origins(source)} - {""} | {parts(source_address(source)).origin})


def source_address(source: Source) -> str:
    """Return the address of a source, to which requests are relative."""
    return normalise(source.site.address("")).url or normalise(source.site.address("/")).url


def begin(collection: Collection, source: Source, learned: Mapping[str, Any]) -> Sequence[FoundUrl]:
    """Return what a source begins with."""
    if (asked := requests_of(collection, source)) is None:
        return ()
    base = source_address(source)
    return [found_of(without_secrets(request, source), base) for request in asked.begin(source, learned)]


def without_secrets(request: Request, source: Source) -> Request:
    """Return a request without the parameters in which its source sends secrets: answers often repeat them."""
    names = [credential.query for credential in source.credentials if credential.query]
    return request._replace(url=without(request.url, names)) if names else request
