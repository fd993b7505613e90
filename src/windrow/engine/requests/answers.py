"""Run discoveries on responses, and convert requests between the types of the contract and those of the ledger."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, BinaryIO, NamedTuple, cast

from windrow.caps import ANSWER_REQUESTS
from windrow.contract import (
    ASK,
    LONGEST_PAUSE,
    REQUEST,
    Answer,
    Ask,
    Collection,
    DocumentPart,
    FollowResult,
    FormField,
    LeftOutCount,
    Offering,
    Request,
    Requests,
)
from windrow.digest import hash64
from windrow.engine.steps.nul_characters import replace_nul
from windrow.errors import StepError
from windrow.formats.http import decode_body
from windrow.formats.text import replace_lone_surrogates
from windrow.formats.url import describe_bad_address, normalise, parts, remove_parameters
from windrow.model import ArchivePlace, Attachment, Finding, FoundUrl, HttpRequest, Level, Limits, Source
from windrow.reasons import Reason

METHODS = frozenset({"GET", "POST"})
MAX_REQUESTS = ANSWER_REQUESTS.number
"""The maximum number of requests, and of offers, that a discovery may return for one response."""

_MAX_KEY_LENGTH = 512
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


class KeptAnswer(NamedTuple):
    """A stored response: its request, the time of the request, and the place of its bytes.

    `url` is the address requested, and `location` is the target of a redirect. If the response repeated known bytes,
    `place` is the place of their first capture, and `head` is the place of the response itself. An answer that failed
    has a `reason`.
    """

    request: Request
    url: str
    status: int
    requested_at: datetime
    place: ArchivePlace | None  # None if the attempt failed and kept nothing
    head: ArchivePlace | None = None
    location: str = ""
    reason: Reason | None = None


class FollowJob(NamedTuple):
    """A response for the discovery to follow, and what the discovery has learned about the source before."""

    source: Source
    learned: Mapping[str, Any]
    answer: KeptAnswer
    is_captured: bool = False  # whether the response is a capture that this collection took


class FollowedAnswer(NamedTuple):
    """The discovery's result for a response, and its requests as addresses of the ledger.

    Requests that are `only_if_new` are in `if_new`, all others in `found`. `when_named` has the requests of `found`
    that are made once in each run in which a response names them.
    """

    result: FollowResult
    found: tuple[FoundUrl, ...] = ()
    if_new: tuple[FoundUrl, ...] = ()
    when_named: tuple[FoundUrl, ...] = ()
    is_redirect: bool = False


def body_of(view: BinaryIO, fields: Mapping[str, str], limits: Limits) -> BinaryIO:
    """Return a body without the codings that its header `fields` name.

    Raises StepError if it cannot be decoded or exceeds a limit.
    """
    # Only WARC files of other programs have chunked bodies: our fetchers store bodies without chunks.
    codings = {name: fields[name] for name in ("content-encoding", "transfer-encoding") if name in fields}
    # The size is checked before reading, so that no memory is allocated for a body that is too large.
    if view.seek(0, io.SEEK_END) > limits.member_size:
        raise StepError(f"the document has more than {limits.member_size} bytes", Reason.TOO_LARGE)
    view.seek(0)
    if not codings:
        return view
    body, _ = decode_body(view.read(), codings, most=limits.member_size, ratio=limits.ratio)
    return cast(BinaryIO, io.BytesIO(body))


def context_text(request: Request, hops: int = 0) -> str:
    """Return what the ledger stores of a request besides what is sent, as JSON: with the number of redirects before it.

    Due times are whole seconds, so a request that is made in each run is due again after a second.
    """
    every = None if request.every is None else max(1, request.every)
    context = {
        "name": request.name, "context": request.context, "every": every, "hops": hops, "is_guess": request.is_guess,
        "again": request.again,
    }  # fmt: skip
    return json.dumps({name: field for name, field in context.items() if field})


def context_of(stored: HttpRequest | None) -> dict[str, Any]:
    """Return what `context_text` stored with a request, as a dict. It is empty if nothing was stored."""
    context: dict[str, Any] = json.loads(stored.context) if stored and stored.context else {}
    return context


def request_of(url: str, stored: HttpRequest | None) -> Request:
    """Return a stored request to `url` as the discovery gets it back. If `stored` is None, it is a plain GET."""
    context, request = context_of(stored), stored or HttpRequest()
    return Request(
        url, context.get("name", ""), request.method, request.headers, request.body, context=context.get("context", ""),
        every=context.get("every"), is_guess=context.get("is_guess", False), again=context.get("again", 0),
    )  # fmt: skip


def interval_of(stored: HttpRequest | None, last_interval: int = 0, failures: int = 0) -> int:
    """Return the seconds after which a stored request is repeated by itself, 0 if it is not.

    `last_interval` is that before its last attempt, in seconds, and `failures` is how many attempts failed since. The
    target of a redirect is requested when the redirect leads to it, and not by itself: an address that the server has
    left would otherwise be read for ever beside the new one.
    """
    context = context_of(stored)
    if context.get("hops"):
        return 0
    if first_pause := int(context.get("again", 0)):
        return max(first_pause, min(last_interval if failures else 2 * last_interval, LONGEST_PAUSE))
    return int(context.get("every") or 0)


def found_url(
    request: Request, base: str, *, kind: int = REQUEST, hops: int = 0, content: RequestContent | None = None
) -> FoundUrl:
    """Return a request as an address of the ledger. Raises StepError if the request is not valid.

    `request.url` may be relative to `base`. `hops` is the number of redirects that led to the request. `content` is the
    body of a step's request, None for other requests.
    """
    shown_url = (request.url or base)[:200]
    if request.method not in METHODS:
        raise StepError(f"{shown_url}: the method {request.method[:20]!r} is neither GET nor POST", Reason.UNSUPPORTED)
    if request.method == "GET" and request.body:
        raise StepError(f"{shown_url}: a GET must not have a body", Reason.UNSUPPORTED)
    for name, header in request.headers:
        if not _HEADER_NAME.fullmatch(name) or not header.isprintable() or not header.isascii():
            raise StepError(f"{shown_url}: the header {name[:40]!r} or its value is not valid", Reason.BAD_ADDRESS)
    url = normalise(request.url, base).url
    if not url:
        raise StepError(describe_bad_address(request.url), Reason.BAD_ADDRESS)
    http_request = HttpRequest(request.method, tuple(request.headers), bytes(request.body), context_text(request, hops))
    key = ""
    if content is not None:
        http_request = http_request._replace(
            body=content.body, attachments=content.attachments, seconds=content.seconds
        )
        key = "\n".join(filter(None, (content.digest if content.attachments else "", content.shared_by)))
    return FoundUrl(
        request_key(url, http_request, key), parts(url).origin, url, int(request.priority), kind, None, http_request
    )


def request_key(url: str, request: HttpRequest, document: str = "") -> int:
    """Return the number of a request on the ledger. The number of a plain GET is the hash of its URL.

    If the request sends parts of a document, `document` has the digest of the document, so that requests with equal
    bytes have the same number. It may also have a text that distinguishes requests that are otherwise equal.

    >>> request_key("https://a.example/", HttpRequest()) == hash64("https://a.example/")
    True
    """
    if request.method == "GET" and not request.headers and not document:
        return hash64(url)
    spelled = "\n".join((request.method, url, *(f"{name.lower()}: {value}" for name, value in request.headers)))
    spelled = f"{spelled}\n\n{request.body.hex()}"
    attachment_text = "".join(
        f"\n{attachment.at} {attachment.offset} {attachment.length}" for attachment in request.attachments
    )
    return hash64(f"{spelled}\n{document}{attachment_text}" if request.attachments or document else spelled)


class RequestContent(NamedTuple):
    """The body of a step's request.

    Parts of the step's document are inserted into `body` when the request is sent.
    """

    body: bytes
    attachments: tuple[Attachment, ...]  # the parts, with their positions in the body
    digest: str  # of the document
    seconds: float  # the longest time for the answer; 0 stands for the time that the service declares
    shared_by: str  # only equal requests with the same text share an answer


def service_request(
    ask: Ask, base: str, attempt: int = 0, digest: str = "", fetched_at: datetime | None = None
) -> FoundUrl:
    """Return a step's request to the service with the address `base` as an address of the ledger.

    `attempt` is the number of the attempt that received the step's document at `fetched_at`. `digest` is the digest of
    the document, parts of which may be sent. Raises StepError if the request is not valid.

    >>> often = Ask("a", "s", "now", "GET", fresh_for=3600.0)
    >>> days = [datetime.fromisoformat(f"2026-11-26T{time}Z") for time in ("08:00", "08:59", "09:00")]
    >>> len({service_request(often, "https://s.example/", fetched_at=day).digest for day in days})
    2
    """
    url = f"{base.rstrip('/')}/{ask.path.lstrip('/')}" if ask.path else base
    headers, pieces = ask.headers, [ask.body]
    if ask.byte_range:
        offset, length = ask.byte_range
        headers = (*headers, ("Range", f"bytes={offset}-{offset + length - 1}"))
    if ask.form:
        content_type, pieces = form_data(ask.form, digest)
        headers = (*headers, ("Content-Type", content_type))
    body, attachments = b"", []
    for piece in pieces:
        if isinstance(piece, DocumentPart):
            attachments.append(Attachment(len(body), attempt, *piece))
        else:
            body += piece
    if ask.method == "GET" and (body or attachments):
        raise StepError(f"{url}: a GET must not have a body", Reason.UNSUPPORTED)
    period = f"{fetched_at.timestamp() // ask.fresh_for:.0f}" if ask.fresh_for > 0 and fetched_at else ""
    shared_by = "\n".join(filter(None, (digest if ask.again_if_changed else "", period)))
    content = RequestContent(body, tuple(attachments), digest, ask.seconds, shared_by)
    return found_url(Request(url, ask.name, ask.method, headers), base, kind=ASK, content=content)


def form_data(fields: Sequence[FormField], digest: str) -> tuple[str, list[bytes | DocumentPart]]:
    """Encode a form (RFC 7578). Return its media type, and the pieces of its body.

    Raises StepError if a media type is not valid. The boundary is made from the fields and the document's `digest`, so
    that the document cannot contain it.
    """
    boundary = f"windrow-{hash64(repr((digest, tuple(fields)))) & (1 << 64) - 1:016x}{digest[-16:]}"
    pieces: list[bytes | DocumentPart] = []
    for field in fields:
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="{_quoted(field.name)}"'
        head += f'; filename="{_quoted(field.filename)}"' if field.filename else ""
        if field.media_type:
            if not field.media_type.isprintable() or not field.media_type.isascii():
                message = f"the media type {field.media_type[:40]!r} of the form field {field.name!r} is not valid"
                raise StepError(message, Reason.BAD_ADDRESS)
            head += f"\r\nContent-Type: {field.media_type}"
        content = field.value.encode() if isinstance(field.value, str) else field.value
        pieces += [f"{head}\r\n\r\n".encode(), content, b"\r\n"]
    pieces.append(f"--{boundary}--\r\n".encode())
    return f"multipart/form-data; boundary={boundary}", pieces


def _quoted(text: str) -> str:
    r"""Escape a name in a form as browsers do.

    >>> _quoted('a"b\n')
    'a%22b%0A'
    """
    return text.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")


def follow(
    collection: Collection, job: FollowJob, view: BinaryIO, fields: Mapping[str, str], limits: Limits
) -> FollowedAnswer:
    """Run a discovery on a response, given by its body (`view`) and header `fields`, and check the result.

    Requests that are not valid, or not to an allowed origin, become findings and are counted as left out. Raises
    StepError if the body cannot be decoded or the result is not valid. This runs in the pool, where an error ends only
    the reading of this document.
    """
    response, source = job.answer, job.source
    discovery = collection.captures if job.is_captured else collection.requests
    assert discovery is not None
    assert discovery.follow is not None
    is_unchanged = response.head is not None
    body = body_of(view, fields, limits)
    answer = Answer(response.request, response.status, fields, body, response.requested_at, is_unchanged)
    followed = discovery.follow(source, job.learned, answer)
    if not isinstance(followed, FollowResult):
        raise StepError(f"the discovery returned {type(followed).__name__}, not a FollowResult", Reason.STEP_FAILED)
    json.dumps(dict(followed.learned))  # raises an error here if it cannot be stored
    offers = _checked_offers(followed.offers)
    if len(followed.requests) > MAX_REQUESTS or len(followed.offers) > MAX_REQUESTS:
        raise StepError(f"the discovery returned more than {MAX_REQUESTS} requests or offers", Reason.TOO_LARGE)
    findings = list(followed.findings)
    urls: list[FoundUrl] = []
    if_new: list[FoundUrl] = []
    when_named: list[FoundUrl] = []
    other_origins: list[str] = []  # addresses
    invalid_count = 0
    allowed = allowed_origins(collection, source)
    for request in followed.requests:
        try:
            url = found_url(without_secrets(request, source), response.url)
        except StepError as error:
            findings.append(Finding("BadRequest", str(error)))
            invalid_count += 1
            continue
        if url.origin not in allowed:
            findings.append(Finding("OutOfScope", f"{url.url} is not at an origin of {source.name}", Level.WARN))
            other_origins.append(url.url)
            continue
        (if_new if request.only_if_new else urls).append(url)
        if request.when_named and not request.only_if_new:
            when_named.append(url)
    left_out = (*followed.left_out, *_count_unrequested(other_origins, invalid_count, response.url))
    result = FollowResult(
        (), offers, dict(followed.learned), followed.end, followed.skip, tuple(findings),
        followed.begins_listing, followed.ends_listing, left_out,
    )  # fmt: skip
    return FollowedAnswer(result, tuple(urls), tuple(if_new), tuple(when_named))


def _checked_offers(offers: Sequence[Offering]) -> tuple[Offering, ...]:
    """Return offers with keys and addresses that databases can store."""
    for offer in offers:
        if not offer.key or len(offer.key) > _MAX_KEY_LENGTH:
            raise StepError(
                f"the key {offer.key[:60]!r} of an offer is empty or longer than {_MAX_KEY_LENGTH} characters",
                Reason.STEP_FAILED,
            )
    return tuple(
        Offering(replace_nul(replace_lone_surrogates(key)), part, replace_nul(replace_lone_surrogates(url)))
        for key, part, url in offers
    )


def _count_unrequested(other_origins: Sequence[str], invalid_count: int, url: str) -> Iterator[LeftOutCount]:
    if other_origins:
        yield LeftOutCount(Reason.OUT_OF_SCOPE, _OTHER_ORIGIN_RULE, len(other_origins), other_origins[0])
    if invalid_count:
        yield LeftOutCount(Reason.BAD_ADDRESS, _INVALID_RULE, invalid_count, url)


def find_forged_request(collection: Collection, source: Source, followed: FollowedAnswer) -> str:
    """Return a message about a request or learned value that `follow` cannot have returned, or "" if there is none.

    The process that ran it may have been taken over: it must not be able to make windrow send requests to other
    servers, or parts of other documents.
    """
    allowed = allowed_origins(collection, source)
    for url in (*followed.found, *followed.if_new, *followed.when_named):
        request = url.request or HttpRequest()
        try:
            is_own = parts(url.url).origin == url.origin and request_key(url.url, request) == url.digest
        except (ValueError, TypeError):  # it has something that no request can have
            is_own = False
        if url.origin not in allowed or not is_own or request.attachments or url.kind != REQUEST:
            return f"the reader returned a request to {url.url[:200]!r} that does not belong to {source.name}"
    try:
        json.dumps(dict(followed.result.learned))
    except (ValueError, TypeError, RecursionError):
        return f"the reader returned values to learn about {source.name} that are not JSON"
    return ""


_INVALID_RULE = "the answer at this address names a request that is not valid"
_OTHER_ORIGIN_RULE = "it is not at an origin of the source; the setting `origins` can add others"


def requests_of(collection: Collection, source: Source) -> Requests | None:
    """Return the collection's discovery by requests, or None if it has none or if the source has no address."""
    return collection.requests if source.site.scheme else None


def allowed_origins(collection: Collection, source: Source) -> frozenset[str]:
    """Return the origins to which the requests of a source may be made. There are none if it makes no requests."""
    requests = requests_of(collection, source)
    if requests is None:
        return frozenset()
    return frozenset(
        {source_address(source), *requests.origins(source)} - {""} | {parts(source_address(source)).origin}
    )


def source_address(source: Source) -> str:
    """Return the normalised address of a source, to which its first requests may be relative, or "" if it has none."""
    return normalise(source.site.address("")).url or normalise(source.site.address("/")).url


def first_requests(collection: Collection, source: Source, learned: Mapping[str, Any]) -> Sequence[FoundUrl]:
    """Return the first requests of a source as addresses, or () if it makes none.

    `learned` has the values that earlier runs learned about the source. Raises StepError if a request is not valid, or
    if the collection's own function failed: a bug in it must not end the harvest of other sources.
    """
    if (requests := requests_of(collection, source)) is None:
        return ()
    base = source_address(source)
    try:
        return [found_url(without_secrets(request, source), base) for request in requests.begin(source, learned)]
    except StepError as error:
        raise StepError(f"its first requests cannot be made: {error}", error.reason) from error
    except Exception as error:  # whatever a collection's own function raises
        message = f"its first requests cannot be made: {type(error).__name__}: {error}"
        raise StepError(message[:2000], Reason.STEP_FAILED) from error


def without_secrets(request: Request, source: Source) -> Request:
    """Return a request without the query parameters for the source's secrets, which responses often repeat in links."""
    names = [credential.query for credential in source.credentials if credential.query]
    return request._replace(url=remove_parameters(request.url, names)) if names else request
