"""The HTTP client of a walk: it sends requests within the run's limits, archives responses, and counts redirects."""

from __future__ import annotations

import asyncio
import io
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime, timedelta
from operator import attrgetter
from pathlib import Path
from typing import BinaryIO, NamedTuple

from windrow.archive import ArchiveWriter, CaptureSink, open_response
from windrow.archive.view import Capture
from windrow.clock import now
from windrow.contract import NOT_MODIFIED, OK
from windrow.digest import hash64
from windrow.engine.fetchers.message import AttemptEnded
from windrow.engine.requests.answers import body_of
from windrow.errors import ArchiveError, StepError, TransportError
from windrow.fetch.http_client import GET, ClientResponse, HttpClient, ResponseLimits
from windrow.fetch.secret import SentSecrets
from windrow.formats.http import CUT_BODY, decode_body, read_location
from windrow.formats.http_response import SURPLUS_RULE
from windrow.formats.moment import read_utc_time
from windrow.formats.url import normalise, parts
from windrow.model import ArchivePlace, Attempt, FetchJob, HeldAnswer, HttpRequest, LeftOut, Limits, Site, Source
from windrow.reasons import Reason
from windrow.settings.configuration import Service

BLOCK_BYTES = 1 << 18
"""The maximum number of bytes of a body that are read at a time."""


class _Segment(NamedTuple):
    """A part of a body: `length` bytes of a file from `offset` on."""

    view: BinaryIO
    offset: int
    length: int


class Upload:
    """The body of a request that sends kept documents; `size` is its length in bytes. It must be closed after use."""

    def __init__(self, folder: Path, request: HttpRequest, limits: Limits) -> None:
        """Open the documents to send, in the archive's `folder`.

        Raises StepError or ArchiveError if one is missing, cannot be read or is too short.
        """
        self._segments: list[_Segment] = []
        try:
            self._open_segments(folder, request, limits)
        except BaseException:
            self.close()
            raise
        self.size = sum(segment.length for segment in self._segments)

    def _open_segments(self, folder: Path, request: HttpRequest, limits: Limits) -> None:
        position = 0
        for attachment in sorted(request.attachments, key=attrgetter("at")):
            if attachment.place is None:
                raise StepError("the document to send is not in the archive any more", Reason.NOT_FOUND)
            self._add_bytes(request.body[position : attachment.at])
            position = attachment.at
            answer = open_response(folder, attachment.place)
            view = body_of(answer.view, answer.fields, limits)
            size = view.seek(0, io.SEEK_END)
            length = size - attachment.offset if attachment.length < 0 else attachment.length
            self._segments.append(_Segment(view, attachment.offset, length))
            if not 0 <= attachment.offset <= attachment.offset + length <= size:
                end = attachment.offset + length
                message = f"the request sends bytes {attachment.offset} to {end} of a document of {size} bytes"
                raise StepError(message, Reason.STEP_FAILED)
        self._add_bytes(request.body[position:])

    def _add_bytes(self, content: bytes) -> None:
        if content:
            self._segments.append(_Segment(io.BytesIO(content), 0, len(content)))

    def blocks(self) -> Iterator[bytes]:
        """Yield the body in blocks of at most BLOCK_BYTES. Raises StepError if a document has become shorter."""
        for view, offset, length in self._segments:
            view.seek(offset)
            remaining = length
            while remaining:
                block = view.read(min(BLOCK_BYTES, remaining))
                if not block:
                    raise StepError("the document to send is shorter than it was", Reason.NOT_FOUND)
                remaining -= len(block)
                yield block

    def close(self) -> None:
        """Close the documents."""
        for segment in self._segments:
            segment.view.close()


MAX_ROBOTS_BYTES = 1 << 20
"""The maximum number of bytes of a robots.txt that are fetched. RFC 9309, section 2.5, requires at least 500 KiB."""

PARTIAL_CONTENT = 206  # the HTTP status
MULTIPLE_CHOICES = 300
"""The HTTP status of a redirect to one of several choices or, without a Location, of an answer with links to them."""
TRANSFORMED = 203  # the HTTP status of a 200 whose body a proxy has changed (RFC 9110, section 15.3.4)

ReadingLimit = Callable[[int], AbstractContextManager[None]]
"""A function from an address's digest (0 for robots.txt) to a context that limits the time to read its response."""


def site_at(site: Site, origin: str) -> Site:
    """Return `site` with `origin` in place of its own origin. If the two differ, the result has no login."""
    address = parts(f"{origin}/")
    other_site = replace(site, scheme=address.scheme, host=address.host.strip("[]"), port=address.port, base="/")
    return other_site if parts(site.address("/")).origin == origin else replace(other_site, username="", secret=None)


def secrets_of(source: Source, origin: str) -> SentSecrets | None:
    """Return the secrets of a source, or None if it has none or if `origin` is not its own origin."""
    has_password = source.site.secret is not None and source.site.username
    if not (source.credentials or has_password) or parts(source.site.address("/")).origin != origin:
        return None
    return SentSecrets(source.site, source.credentials)


class CrawlResult(NamedTuple):
    """The attempt made by one request, with the header fields and the decoded body of the response.

    The body is empty if the status is not a success, or if the body cannot be used, for example because it cannot be
    decoded.
    """

    attempt: Attempt
    fields: Mapping[str, str] = {}
    body: bytes = b""
    doubt: str = ""  # as in `ClientResponse`

    @property
    def status(self) -> int | None:
        """The status of the response, or None if there was no complete response and a retry may get one."""
        return None if self.attempt.retry else self.attempt.status


class ArchivingClient:
    """Makes the requests of one walk, and archives the responses."""

    def __init__(
        self, archive: ArchiveWriter, robots_kind: int, large: Mapping[int, int], reading: ReadingLimit,
        service: Service | None = None, *, secrets: Callable[[], SentSecrets | None] = lambda: None,
    ) -> None:  # fmt: skip
        """`archive` is where the responses are written.

        `robots_kind` is the kind of the addresses of robots.txt, and `large` maps kinds of addresses to byte limits. If
        `service` is not None, its limits apply instead. The secrets that `secrets` returns, if any, are sent with all
        requests except those for robots.txt. `reading` limits the time for reading a response.
        """
        self._archive = archive
        self._look_up_secrets = secrets
        self._secrets: SentSecrets | None = None
        self._service = service
        self.reading = reading
        self._robots_kind = robots_kind
        self._large = large
        self._limits_by_kind: dict[int, ResponseLimits] = {}

    def _reply_limits(self, kind: int, seconds: float) -> ResponseLimits:
        """Return the limits for the response from an address of this kind.

        `seconds` is the time limit for a response of a service; 0 stands for the time that the service declares.
        """
        limits = self._archive.limits
        if self._service is not None:
            seconds = seconds or float(self._service.seconds)
            return ResponseLimits(int(self._service.largest), seconds, silence=seconds)
        bounds = self._limits_by_kind.get(kind)
        if bounds is None:
            is_robots = kind == self._robots_kind
            max_bytes = MAX_ROBOTS_BYTES if is_robots else self._large.get(kind, limits.transfer_size)
            bounds = self._limits_by_kind[kind] = ResponseLimits(max_bytes, limits.answer_time, cuts_body=is_robots)
        return bounds

    async def fetch(self, client: HttpClient, job: FetchJob) -> CrawlResult:
        """Make one request, and archive its response.

        The attempt has failed if the transfer fails, or if a document to send cannot be read.
        """
        request = job.request or GET
        if self._secrets is None and job.kind != self._robots_kind:
            self._secrets = self._look_up_secrets()
        if not request.attachments:
            return await self._request(client, job, request, upload=None)
        try:
            upload = await asyncio.to_thread(Upload, self._archive.folder, request, self._archive.limits)
        except (StepError, ArchiveError) as error:
            return CrawlResult(job.attempt(now())._replace(reason=error.reason, message=str(error)[:1000]))
        try:
            return await self._request(client, job, request, upload)
        finally:
            upload.close()

    def reuse(self, job: FetchJob, held: HeldAnswer) -> CrawlResult | None:
        """Return another collection's response as the result of `job`, or None if it cannot be used."""
        attempt = held.attempt
        response = attempt.kept
        if response is None or response.size > self._reply_limits(job.kind, 0.0).max_size:
            return None
        try:
            with self.reading(job.target):
                head = None
                if response.revisit:
                    head = open_response(self._archive.folder, response.place)
                    head.view.close()
                fields, body = self.read_kept(job.kind, held.place, head)
        except (ArchiveError, StepError, OSError, MemoryError):
            return None
        status = attempt.status
        if status == NOT_MODIFIED and job.last.digest != response.digest:
            status = 200  # this collection does not have the version that was not modified
        reused = job.attempt(attempt.started)._replace(
            status=status,
            kept=response,
            message=attempt.message,
            validators=attempt.validators,
            location=attempt.location,
        )
        return CrawlResult(reused, fields, body if status == 200 else b"")

    def read_kept(self, kind: int, place: ArchivePlace, head: Capture | None = None) -> tuple[Mapping[str, str], bytes]:
        """Return the header fields and the decoded body of a kept response from an address of this kind.

        `head` is a later response with the same body, whose fields are used: those of a 304 are added to the earlier
        ones. Raises ArchiveError, StepError or OSError if the response cannot be read.
        """
        max_size, limits = self._reply_limits(kind, 0.0).max_size, self._archive.limits
        kept = open_response(self._archive.folder, place)
        with kept.view as view:
            raw = view.read(max_size)
        fields = dict(kept.fields)
        if head is not None:
            fields = {**fields, **head.fields} if head.status == NOT_MODIFIED else dict(head.fields)
        most = max(max_size, limits.member_size)
        body, _ = decode_body(raw, _content_codings(fields), most=most, ratio=limits.ratio)
        return fields, body

    async def _request(
        self, client: HttpClient, job: FetchJob, request: HttpRequest, upload: Upload | None
    ) -> CrawlResult:
        """Send a request, and archive the response. A GET is conditional if the address has validators."""
        started, clock = now(), time.monotonic()
        etag, modified = job.validators
        headers = {"If-None-Match": etag} if etag else {}
        if modified:
            headers["If-Modified-Since"] = modified
        if request is not GET:
            headers = {**(headers if request.method == "GET" else {}), **dict(request.headers)}
        sink = CaptureSink(self._archive, job, started)
        sink.request_cut = upload is not None
        bounds = self._reply_limits(job.kind, request.seconds)
        secrets = None if job.kind == self._robots_kind else self._secrets
        try:
            reply = await client.send(job.url, headers, sink, bounds, request, body=upload, secrets=secrets)
        except TransportError as error:
            return _discard_response(job.attempt(started, time.monotonic() - clock), sink, error)
        except BaseException:
            sink.leave()  # an error of the archive, or the end of the process: not a failure of the address
            raise
        return self._keep_reply(job.attempt(started, time.monotonic() - clock), sink, reply, bounds, job)

    def _keep_reply(
        self, attempt: Attempt, sink: CaptureSink, reply: ClientResponse, bounds: ResponseLimits, job: FetchJob
    ) -> CrawlResult:
        """Archive a response, unless it may repeat a secret."""
        fields, body, reason, message = reply.fields, b"", None, ""
        if 200 <= reply.status <= MULTIPLE_CHOICES:
            message = SURPLUS_RULE if reply.doubt == SURPLUS_RULE else ""
            try:
                body = sink.content(bounds.max_size)
                if codings := _content_codings(fields):
                    limits = self._archive.limits
                    with self.reading(job.target):
                        body, is_cut = decode_body(
                            body, codings, most=max(bounds.max_size, limits.member_size), ratio=limits.ratio
                        )
                    message = CUT_BODY if is_cut else message
                    if is_cut and job.kind == self._robots_kind:  # the missing rules may forbid requests
                        body, reason = b"", Reason.TRUNCATED
            except StepError as error:
                body, reason, message = b"", error.reason, str(error)
            except MemoryError:
                body, reason, message = b"", Reason.MEMORY_LIMIT, Reason.MEMORY_LIMIT.meaning
        if not reason and (fault := _find_fault(reply.status, fields, job, is_robots=job.kind == self._robots_kind)):
            (reason, message), body = fault, body if reply.status == MULTIPLE_CHOICES else b""
        if reply.is_cut:
            reason, message, sink.cut = Reason.TOO_LARGE, f"the response has more than {bounds.max_size} bytes", True
        if self._secrets and "content-encoding" in fields and self._may_repeat_secret(sink, bounds, fields):
            sink.leave()
            message = (
                "the response was not kept: it is compressed, although that was not requested,"
                " and may contain the secret"
            )
            attempt = attempt._replace(status=reply.status, reason=Reason.UNSUPPORTED, message=message, wait=reply.wait)
            return CrawlResult(attempt)
        try:
            response = sink.finish(unchanged=reply.status == NOT_MODIFIED and bool(job.last.digest))
        except TransportError as error:
            return _discard_response(attempt, sink, error)
        # Of a body that was cut none is kept: the answer would be 304, and the rest would never come.
        validators = ("", "") if message or reply.doubt else read_validators(fields, attempt.started)
        location, status = read_location(reply.status, fields), OK if reply.status == TRANSFORMED else reply.status
        attempt = Attempt(*attempt[:6], status, response, reason, message, validators, location, wait=reply.wait)
        return CrawlResult(attempt, fields, body, "" if attempt.is_partial else reply.doubt)

    def _may_repeat_secret(self, sink: CaptureSink, bounds: ResponseLimits, fields: Mapping[str, str]) -> bool:
        assert self._secrets is not None
        limits = self._archive.limits
        try:
            raw = sink.content(bounds.max_size)
            body, _ = decode_body(raw, _content_codings(fields), most=limits.member_size, ratio=limits.ratio)
            return self._secrets.contains_secret(body)
        except (StepError, MemoryError):
            return True


def read_validators(fields: Mapping[str, str], at: datetime) -> tuple[str, str]:
    """Return the ETag and the Last-Modified of a response to a request at the time `at`, as far as they may be sent.

    A Last-Modified that equals Date is left out: the document may change again within that second, and a server that
    compares times would answer 304 (RFC 9110, section 8.8.2.2). So is one of more than a day after the request, since
    it would answer 304 until that day. Both validators are left out if X-Robots-Tag withholds the document or its
    links: a 304 without that header does not say whether it is still so.

    >>> at = datetime.fromisoformat("2026-11-27T12:00:00+00:00")
    >>> read_validators({"etag": '"a"', "last-modified": "Fri, 27 Nov 2026 11:00:00 GMT"}, at)
    ('"a"', 'Fri, 27 Nov 2026 11:00:00 GMT')
    >>> read_validators({"last-modified": "Fri, 28 Nov 2098 12:00:00 GMT"}, at)
    ('', '')
    >>> read_validators({"last-modified": "Fri, 27 Nov 2026 12:00:00 GMT", "date": "Fri, 27 Nov 2026 12:00:00 GMT"}, at)
    ('', '')
    >>> read_validators({"etag": '"a"', "x-robots-tag": "noindex"}, at)
    ('', '')
    """
    if "x-robots-tag" in fields and _WITHHOLDING_DIRECTIVE.search(fields["x-robots-tag"]):
        return "", ""
    etag, last_modified = fields.get("etag", "")[:256], fields.get("last-modified", "")[:64]
    changed_at = read_utc_time(last_modified) if last_modified else None
    is_late = changed_at is not None and changed_at > at + timedelta(days=1)
    return etag, "" if is_late or ("date" in fields and fields["date"] == last_modified) else last_modified


_WITHHOLDING_DIRECTIVE = re.compile(r"no(?:index|follow|ne\b)|unavailable_after", re.IGNORECASE)


def _find_fault(
    status: int, fields: Mapping[str, str], job: FetchJob, *, is_robots: bool = False
) -> tuple[Reason, str] | None:
    """Return the reason and a message if the status or a header field makes a response unusable, otherwise None."""
    if status in {PARTIAL_CONTENT, NOT_MODIFIED}:
        sent_names = {name.lower() for name, _ in job.request.headers} if job.request else set()
        if status == PARTIAL_CONTENT and "range" not in sent_names:
            return Reason.PROTOCOL_ERROR, "the response is partial (206), but the whole document was requested"
        is_conditional = any(job.validators) or any(name.startswith("if-") for name in sent_names)
        if status == NOT_MODIFIED and not is_conditional and not is_robots:
            return Reason.PROTOCOL_ERROR, "the response is 304 (not modified), but the document was requested as new"
    elif 300 <= status < 400 and not read_location(status, fields).strip():
        is_too_long = bool(fields.get("location", "").strip())
        if is_too_long or not is_robots:
            target = "an address that is too long to be requested" if is_too_long else "no address"
            names_choices = status == MULTIPLE_CHOICES and not is_too_long
            problem = "lists several addresses instead of a document" if names_choices else f"redirects to {target}"
            return Reason.PROTOCOL_ERROR, f"the response {problem} (status {status})"
    if "transfer-encoding" not in fields:
        return None
    codings = fields["transfer-encoding"].lower().split(",")
    unknown_codings = [coding for word in codings if (coding := word.strip(" \t")) not in {"", "chunked", "identity"}]
    if not unknown_codings:
        return None
    message = f"the response has the transfer coding {', '.join(unknown_codings)[:200]}, which was not requested"
    return Reason.UNSUPPORTED, message


def _content_codings(fields: Mapping[str, str]) -> dict[str, str]:
    """Return the header fields that are needed to decode the archived body, which is not chunked."""
    return {"content-encoding": fields["content-encoding"]} if "content-encoding" in fields else {}


def _discard_response(attempt: Attempt, sink: CaptureSink, error: TransportError) -> CrawlResult:
    sink.leave()
    return CrawlResult(
        attempt._replace(
            status=sink.first_head.status, reason=error.reason, message=str(error)[:1000], received=sink.received,
            retry=error.retry, wait=error.wait,
        )
    )  # fmt: skip


HOPS = 20
"""The maximum number of redirects in a row that are followed, as in browsers."""
ENDLESS_REDIRECTS = f"more than {HOPS} redirects in a row"
CIRCLE = "redirects in a circle"
"""The rules under which redirects that lead to no page are counted."""
_MAX_REMEMBERED = 10_000  # the maximum number of redirect targets that are remembered until they are requested


class RedirectChains:
    """Counts redirects in a row across all hosts of a crawl. An `OriginCrawler` only knows its own origin."""

    def __init__(self) -> None:
        self._hops: dict[int, int] = {}  # redirects in a row, by the address to which the last one leads
        self._targets: dict[int, int] = {}  # the address to which each address redirected, the latest ones

    def limit_chain(self, event: AttemptEnded) -> AttemptEnded:
        """Return `event`. If it is a redirect after HOPS others in a row, its target is moved to `left_out`.

        The target of a redirect in a circle is added to `left_out`.
        """
        hops = self._hops.pop(event.attempt.target, 0) + 1
        if event.attempt.location and (target := self._find_circle(event.attempt)):
            event = event._replace(left_out=(*event.left_out, target))
        if not event.attempt.location or not event.found:
            return event
        if hops > HOPS:
            left_out = [LeftOut(url.digest, url.url, Reason.CRAWLER_TRAP, ENDLESS_REDIRECTS) for url in event.found]
            return event._replace(found=(), left_out=(*event.left_out, *left_out))
        if len(self._hops) < _MAX_REMEMBERED:  # beyond that, addresses are not counted until others are done
            self._hops |= {url.digest: hops for url in event.found}
        return event

    def _find_circle(self, attempt: Attempt) -> LeftOut | None:
        """Return the target of a redirect if redirects lead from it back to the redirecting address, else None."""
        url, start = normalise(attempt.location, attempt.url).url, attempt.target
        digest = hash64(url)
        self._targets.pop(start, None)
        self._targets[start] = digest
        if len(self._targets) > _MAX_REMEMBERED:
            del self._targets[next(iter(self._targets))]
        for _ in range(HOPS):
            if digest == start:
                return LeftOut(hash64(f"{CIRCLE} {attempt.url}"), url, Reason.REDIRECTED, CIRCLE)
            digest = self._targets.get(digest, 0)
        return None
