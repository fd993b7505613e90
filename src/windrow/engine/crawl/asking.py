"""Make one request within the run's limits, archive the response, and count redirects in a row."""

from __future__ import annotations

import asyncio
import io
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from operator import attrgetter
from pathlib import Path
from typing import BinaryIO, NamedTuple

from windrow.archive import ArchiveWriter, CaptureSink, open_response
from windrow.clock import now
from windrow.contract import NOT_MODIFIED
from windrow.engine.fetchers.message import AttemptEnded
from windrow.engine.requests.answers import body_of
from windrow.errors import ArchiveError, StepError, TransportError
from windrow.fetch.http_client import GET, HttpClient, Reply, ReplyLimits
from windrow.fetch.secret import SentSecrets
from windrow.formats.http import decode_body, read_location
from windrow.formats.url import parts
from windrow.model import Attempt, FetchJob, HeldAnswer, HttpRequest, LeftOut, Limits, Source
from windrow.reasons import Reason
from windrow.settings.configuration import Service

BLOCK = 1 << 18
"""Bytes read at a time."""


class _Segment(NamedTuple):
    view: BinaryIO
    offset: int
    length: int


class Upload:
    """The body of a request that sends kept documents; `size` in bytes. Must be closed."""

    def __init__(self, folder: Path, request: HttpRequest, limits: Limits) -> None:
        """Open the documents to send; StepError if one is no longer kept or has too few bytes."""
        self._segments: list[_Segment] = []
        at = 0
        for attachment in sorted(request.attachments, key=attrgetter("at")):
            if attachment.place is None:
                raise StepError("the document to send is not kept any more", Reason.NOT_FOUND)
            self._add_bytes(request.body[at : attachment.at])
            at = attachment.at
            answer = open_response(folder, attachment.place)
            view = body_of(answer.view, answer.fields, limits)
            size = view.seek(0, io.SEEK_END)
            length = size - attachment.offset if attachment.length < 0 else attachment.length
            if not 0 <= attachment.offset <= attachment.offset + length <= size:
                end = attachment.offset + length
                message = f"the request sends bytes {attachment.offset} to {end} of a document of {size}"
                raise StepError(message, Reason.STEP_FAILED)
            self._segments.append(_Segment(view, attachment.offset, length))
        self._add_bytes(request.body[at:])
        self.size = sum(segment.length for segment in self._segments)

    def _add_bytes(self, content: bytes) -> None:
        if content:
            self._segments.append(_Segment(io.BytesIO(content), 0, len(content)))

    def blocks(self) -> Iterator[bytes]:
        """Yield the body in blocks of at most BLOCK bytes."""
        for view, offset, length in self._segments:
            view.seek(offset)
            remaining = length
            while remaining:
                block = view.read(min(BLOCK, remaining))
                if not block:
                    raise StepError("the document to send ends early", Reason.NOT_FOUND)
                remaining -= len(block)
                yield block

    def close(self) -> None:
        """Close the documents."""
        for segment in self._segments:
            segment.view.close()


RULES = 1 << 20
"""Bytes of a robots.txt that are fetched; RFC 9309, section 2.5, requires at least 500 KiB."""

PARTIAL = 206

Reading = Callable[[int], AbstractContextManager[None]]
"""Returns the context in which the bytes of an address (0: robots.txt) are read within the time limit."""


def secrets_of(source: Source, origin: str) -> SentSecrets | None:
    """Return the secrets of a source; None for any origin but its own."""
    if not source.credentials or parts(source.site.address("/")).origin != origin:
        return None
    return SentSecrets(source.site, source.credentials)


class CrawlResult(NamedTuple):
    """The attempt of one request, with the header and body of its response.

    `body` is decoded, and empty if that failed.
    """

    attempt: Attempt
    fields: Mapping[str, str] = {}
    body: bytes = b""

    @property
    def status(self) -> int | None:
        """The status of a complete response, None without one."""
        return None if self.attempt.retry else self.attempt.status


class ArchivingClient:
    """Makes the requests of one walk, and archives the responses."""

    def __init__(
        self, archive: ArchiveWriter, rules: int, large: Mapping[int, int], reading: Reading,
        service: Service | None = None, *, secrets: Callable[[], SentSecrets | None] = lambda: None,
    ) -> None:  # fmt: skip
        """Write to `archive`; `rules` is the kind of a robots.txt, `large` has the byte limits of larger kinds.

        A `service` sets its own limits. `secrets` are looked up at the first request, and sent with all but those for
        robots.txt.
        """
        self._archive = archive
        self._reveal = secrets
        self._secrets: SentSecrets | None = None
        self._service = service
        self.reading = reading
        self._rules = rules
        self._large = large
        self._limits_by_kind: dict[int, ReplyLimits] = {}

    def _reply_limits(self, kind: int, seconds: float) -> ReplyLimits:
        limits = self._archive.limits
        if self._service is not None:
            seconds = seconds or float(self._service.seconds)
            return ReplyLimits(int(self._service.largest), seconds, silence=seconds)
        bounds = self._limits_by_kind.get(kind)
        if bounds is None:
            is_robots = kind == self._rules
            most = RULES if is_robots else self._large.get(kind, limits.transfer_size)
            bounds = self._limits_by_kind[kind] = ReplyLimits(most, limits.answer_time, cuts_body=is_robots)
        return bounds

    async def fetch(self, client: HttpClient, job: FetchJob) -> CrawlResult:
        """Make one request, and archive its response."""
        request = job.request or GET
        if self._secrets is None and job.kind != self._rules:
            self._secrets = self._reveal()
        if not request.attachments:
            return await self._request(client, job, request, None)
        try:
            upload = await asyncio.to_thread(Upload, self._archive.folder, request, self._archive.limits)
        except (StepError, ArchiveError) as error:
            return CrawlResult(job.attempt(now())._replace(reason=error.reason, message=str(error)[:1000]))
        try:
            return await self._request(client, job, request, upload)
        finally:
            upload.close()

    def reuse(self, job: FetchJob, held: HeldAnswer) -> CrawlResult | None:
        """Return the response that another collection got, or None if it cannot be read or is too large."""
        attempt, limits = held.attempt, self._archive.limits
        kept, most = attempt.kept, self._reply_limits(job.kind, 0.0).max_size
        if kept is None or kept.size > most:
            return None
        try:
            with self.reading(job.target):
                answer = open_response(self._archive.folder, held.place)
                with answer.view as view:
                    raw = view.read()
                fields = dict(answer.fields)
                if kept.revisit:
                    head = open_response(self._archive.folder, kept.place)
                    head.view.close()
                    fields = {**fields, **head.fields} if head.status == NOT_MODIFIED else dict(head.fields)
                body = decode_body(
                    raw, _content_codings(fields), most=max(most, limits.member_size), ratio=limits.ratio
                )
        except (ArchiveError, StepError, MemoryError):
            return None
        status = attempt.status
        if status == NOT_MODIFIED and job.last.digest != kept.digest:
            status = 200  # only the other collection knows the earlier version
        reused = job.attempt(attempt.started)._replace(
            status=status, kept=kept, validators=attempt.validators, location=attempt.location
        )
        return CrawlResult(reused, fields, body if status == 200 else b"")

    async def _request(
        self, client: HttpClient, job: FetchJob, request: HttpRequest, upload: Upload | None
    ) -> CrawlResult:
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
        secrets = None if job.kind == self._rules else self._secrets
        try:
            reply = await client.send(job.url, headers, sink, bounds, request, body=upload, secrets=secrets)
        except TransportError as error:
            return _discard_response(job.attempt(started, time.monotonic() - clock), sink, error)
        except BaseException:
            sink.leave()  # an error of the archive, or the end of the process: the address is not to blame
            raise
        return self._keep_reply(job.attempt(started, time.monotonic() - clock), sink, reply, bounds, job)

    def _keep_reply(
        self, attempt: Attempt, sink: CaptureSink, reply: Reply, bounds: ReplyLimits, job: FetchJob
    ) -> CrawlResult:
        """Archive a response, and decode the body of a successful one."""
        fields, body, reason, message = reply.fields, b"", None, ""
        if 200 <= reply.status < 300:
            try:
                body = sink.content(bounds.max_size)
                if codings := _content_codings(fields):
                    limits = self._archive.limits
                    with self.reading(job.target):
                        body = decode_body(
                            body, codings, most=max(bounds.max_size, limits.member_size), ratio=limits.ratio
                        )
            except StepError as error:
                body, reason, message = b"", error.reason, str(error)
            except MemoryError:
                body, reason, message = b"", Reason.MEMORY_LIMIT, Reason.MEMORY_LIMIT.meaning
        ranged = job.request is not None and any(name.lower() == "range" for name, _ in job.request.headers)
        if not reason and (fault := _find_fault(reply.status, fields, ranged=ranged)):
            (reason, message), body = fault, b""
        if reply.is_cut:
            reason, message, sink.cut = Reason.TOO_LARGE, f"more than {bounds.max_size} bytes", True
        if self._secrets and "content-encoding" in fields and self._may_repeat_secret(sink, bounds, fields):
            sink.leave()
            message = "the response contains the secret, compressed although that was not requested: it is not kept"
            attempt = attempt._replace(status=reply.status, reason=Reason.UNSUPPORTED, message=message, wait=reply.wait)
            return CrawlResult(attempt)
        try:
            kept = sink.finish(unchanged=reply.status == NOT_MODIFIED and bool(job.last.digest))
        except TransportError as error:
            return _discard_response(attempt, sink, error)
        validators = (fields.get("etag", "")[:256], fields.get("last-modified", "")[:64])
        attempt = Attempt(
            *attempt[:6], reply.status, kept, reason, message, validators, read_location(fields), wait=reply.wait
        )
        return CrawlResult(attempt, fields, body)

    def _may_repeat_secret(self, sink: CaptureSink, bounds: ReplyLimits, fields: Mapping[str, str]) -> bool:
        """Return whether a compressed response may contain a secret; one that cannot be decoded may."""
        assert self._secrets is not None
        limits = self._archive.limits
        try:
            raw = sink.content(bounds.max_size)
            return self._secrets.contains_secret(
                decode_body(raw, _content_codings(fields), most=limits.member_size, ratio=limits.ratio)
            )
        except (StepError, MemoryError):
            return True


def _find_fault(status: int, fields: Mapping[str, str], *, ranged: bool) -> tuple[Reason, str] | None:
    """Return the reason if a response is partial or in a coding that was not offered, or None."""
    if status == PARTIAL and not ranged:
        return Reason.PROTOCOL_ERROR, "a partial response (206) to a request for the whole"
    if "transfer-encoding" not in fields:
        return None
    codings = fields["transfer-encoding"].lower().split(",")
    unknown_codings = [coding for word in codings if (coding := word.strip(" \t")) not in {"", "chunked", "identity"}]
    return (Reason.UNSUPPORTED, f"sent in {', '.join(unknown_codings)[:200]}, unasked") if unknown_codings else None


def _content_codings(fields: Mapping[str, str]) -> dict[str, str]:
    """Return the header fields of the codings still on a body; chunks were removed during the transfer."""
    return {"content-encoding": fields["content-encoding"]} if "content-encoding" in fields else {}


def _discard_response(attempt: Attempt, sink: CaptureSink, error: TransportError) -> CrawlResult:
    """Discard an incomplete response, and return its attempt with the error."""
    sink.leave()
    return CrawlResult(
        attempt._replace(
            status=sink.answered.status, reason=error.reason, message=str(error)[:1000], retry=error.retry,
            wait=error.wait,
        )
    )  # fmt: skip


HOPS = 20
"""Redirects in a row that are followed, as many as in browsers."""
ENDLESS_REDIRECTS = f"more than {HOPS} redirects in a row"
_MAX_REMEMBERED = 10_000  # targets of redirects that are remembered until they are requested


class RedirectChains:
    """Counts redirects in a row, over all hosts of a run: each `OriginCrawler` sees one host only."""

    def __init__(self) -> None:
        self._hops: dict[int, int] = {}

    def limit_chain(self, event: AttemptEnded) -> AttemptEnded:
        """Leave out the target of a redirect that is one too many in a row."""
        hops = self._hops.pop(event.attempt.target, 0) + 1
        if not event.attempt.location or not event.found:
            return event
        if hops > HOPS:
            left_out = [LeftOut(url.digest, url.url, Reason.CRAWLER_TRAP, ENDLESS_REDIRECTS) for url in event.found]
            return event._replace(found=(), left=(*event.left, *left_out))
        if len(self._hops) < _MAX_REMEMBERED:  # beyond that, addresses are not counted until others are done
            self._hops |= {url.digest: hops for url in event.found}
        return event
