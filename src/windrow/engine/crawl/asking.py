"""One address is asked, by the run's limits and secrets; redirects behind it are followed to their end."""

from __future__ import annotations

import asyncio
import io
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
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
from windrow.formats.http import location, plain
from windrow.formats.url import parts
from windrow.model import Attempt, FetchJob, HeldAnswer, HttpRequest, LeftOut, Limits, Source
from windrow.reasons import Reason
from windrow.settings.configuration import Service

BLOCK = 1 << 18
"""Bytes that are read at a time."""


class _Stretch(NamedTuple):
    view: BinaryIO
    offset: int
    length: int


class Upload:
    """The body of a request that sends kept documents; `size` in bytes. To be closed."""

    def __init__(self, folder: Path, request: HttpRequest, limits: Limits) -> None:
        """Open what is sent; StepError where it is not kept any more, or has not as many bytes."""
        self._stretches: list[_Stretch] = []
        at = 0
        for attachment in sorted(request.attachments, key=lambda one: one.at):
            if attachment.place is None:
                raise StepError("the document that is to be sent is not kept any more", Reason.NOT_FOUND)
            self._own(request.body[at : attachment.at])
            at = attachment.at
            answer = open_response(folder, attachment.place)
            view = body_of(answer.view, answer.fields, limits)
            whole = view.seek(0, io.SEEK_END)
            length = whole - attachment.offset if attachment.length < 0 else attachment.length
            if not 0 <= attachment.offset <= attachment.offset + length <= whole:
                told = (
                    f"bytes {attachment.offset} to {attachment.offset + length} are to be sent of a document of {whole}"
                )
                raise StepError(told, Reason.STEP_FAILED)
            self._stretches.append(_Stretch(view, attachment.offset, length))
        self._own(request.body[at:])
        self.size = sum(stretch.length for stretch in self._stretches)

    def _own(self, content: bytes) -> None:
        if content:
            self._stretches.append(_Stretch(io.BytesIO(content), 0, len(content)))

    def blocks(self) -> Iterator[bytes]:
        """Yield the body, some bytes at a time."""
        for view, offset, length in self._stretches:
            view.seek(offset)
            left = length
            while left:
                block = view.read(min(BLOCK, left))
                if not block:
                    raise StepError("the document that is to be sent ends early", Reason.NOT_FOUND)
                left -= len(block)
                yield block

    def close(self) -> None:
        """Close what was opened."""
        for stretch in self._stretches:
            stretch.view.close()


RULES = 1 << 20
"""Bytes of the rules of a host that are fetched; RFC 9309, section 2.5, wants 500 KiB at least."""

PARTIAL = 206

Reading = Callable[[int], AbstractContextManager[None]]
"""Makes the block in which bytes of an address (0: of the host's rules) are read, within limits of time."""


def secrets_of(source: Source, origin: str) -> SentSecrets | None:
    """Fetch the secrets that go to an origin: those of a source go to its own alone."""
    if not source.credentials or parts(source.site.address("/")).origin != origin:
        return None
    return SentSecrets(source.site, source.credentials)


class CrawlResult(NamedTuple):
    """What came of a question: the attempt, and what only its reader needs.

    `body` is plain, and empty where it could not be made so.
    """

    attempt: Attempt
    fields: Mapping[str, str] = {}
    body: bytes = b""

    @property
    def status(self) -> int | None:
        """The status of a whole answer, None where none came."""
        return None if self.attempt.retry else self.attempt.status


class Asker:
    """Asks on behalf of one walk, into one archive."""

    def __init__(
        self, archive: ArchiveWriter, rules: int, large: Mapping[int, int], reading: Reading,
        service: Service | None = None, *, secrets: Callable[[], SentSecrets | None] = lambda: None,
    ) -> None:  # fmt: skip
        """Keep into `archive`; `rules` is the kind of visit to a host's rules, `large` has the bytes of larger kinds.

        Where it is a `service` that is asked, that says what its answers may take. `secrets` are sent with all but the
        questions for the rules; they are fetched with the first one.
        """
        self._archive = archive
        self._reveal = secrets
        self._secrets: SentSecrets | None = None
        self._service = service
        self.reading = reading
        self._rules = rules
        self._large = large
        self._known_bounds: dict[int, ReplyLimits] = {}

    def _bounds(self, kind: int, seconds: float) -> ReplyLimits:
        limits = self._archive.limits
        if self._service is not None:
            seconds = seconds or float(self._service.seconds)
            return ReplyLimits(int(self._service.largest), seconds, silence=seconds)
        known = self._known_bounds.get(kind)
        if known is None:
            part = kind == self._rules
            most = RULES if part else self._large.get(kind, limits.transfer)
            known = self._known_bounds[kind] = ReplyLimits(most, limits.answer, part=part)
        return known

    async def ask(self, client: HttpClient, job: FetchJob) -> CrawlResult:
        """Make one request, and keep whatever comes."""
        request = job.request or GET
        if self._secrets is None and job.kind != self._rules:
            self._secrets = self._reveal()
        if not request.attachments:
            return await self._ask(client, job, request, None)
        try:
            upload = await asyncio.to_thread(Upload, self._archive.folder, request, self._archive.limits)
        except (StepError, ArchiveError) as error:
            return CrawlResult(job.attempt(now())._replace(reason=error.reason, message=str(error)[:1000]))
        try:
            return await self._ask(client, job, request, upload)
        finally:
            upload.close()

    def held(self, job: FetchJob, held: HeldAnswer) -> CrawlResult | None:
        """Return an answer that another collection got; None where it cannot be had, or is too large for this one."""
        attempt, limits = held.attempt, self._archive.limits
        kept, most = attempt.kept, self._bounds(job.kind, 0.0).most
        if kept is None or kept.size > most:
            return None
        try:
            with self.reading(job.target):
                answer = open_response(self._archive.folder, held.place)
                with answer.view as view:
                    raw = view.read()
                fields = dict(answer.fields)
                if kept.revisit:
                    again = open_response(self._archive.folder, kept.place)
                    again.view.close()
                    fields = {**fields, **again.fields} if again.status == NOT_MODIFIED else dict(again.fields)
                body = plain(raw, _codings(fields), most=max(most, limits.member), ratio=limits.ratio)
        except (ArchiveError, StepError, MemoryError):
            return None
        status = attempt.status
        if status == NOT_MODIFIED and job.last.digest != kept.digest:
            status = 200  # it is known to the other collection alone
        same = job.attempt(attempt.started)._replace(
            status=status, kept=kept, validators=attempt.validators, location=attempt.location
        )
        return CrawlResult(same, fields, body if status == 200 else b"")

    async def _ask(self, client: HttpClient, job: FetchJob, request: HttpRequest, upload: Upload | None) -> CrawlResult:
        started, clock = now(), time.monotonic()
        etag, modified = job.validators
        asked = {"If-None-Match": etag} if etag else {}
        if modified:
            asked["If-Modified-Since"] = modified
        if request is not GET:
            asked = {**(asked if request.method == "GET" else {}), **dict(request.headers)}
        deposit = CaptureSink(self._archive, job, started)
        deposit.request_cut = upload is not None
        bounds = self._bounds(job.kind, request.seconds)
        secrets = None if job.kind == self._rules else self._secrets
        try:
            reply = await client.visit(job.url, asked, deposit, bounds, request, body=upload, secrets=secrets)
        except TransportError as error:
            return _failed(job.attempt(started, time.monotonic() - clock), deposit, error)
        except BaseException:
            deposit.leave()  # a fault of the archive, or the end: it says nothing of the address
            raise
        return self._came(job.attempt(started, time.monotonic() - clock), deposit, reply, bounds, job)

    def _came(
        self, attempt: Attempt, deposit: CaptureSink, reply: Reply, bounds: ReplyLimits, job: FetchJob
    ) -> CrawlResult:
        """Keep an answer, and make it plain where it is to be read."""
        fields, body, reason, message = reply.fields, b"", None, ""
        if 200 <= reply.status < 300:
            try:
                body = deposit.content(bounds.most)
                if codings := _codings(fields):
                    limits = self._archive.limits
                    with self.reading(job.target):
                        body = plain(body, codings, most=max(bounds.most, limits.member), ratio=limits.ratio)
            except StepError as error:
                body, reason, message = b"", error.reason, str(error)
            except MemoryError:
                body, reason, message = b"", Reason.MEMORY_LIMIT, Reason.MEMORY_LIMIT.meaning
        ranged = job.request is not None and any(name.lower() == "range" for name, _ in job.request.headers)
        if not reason and (strange := _strange(reply.status, fields, ranged=ranged)):
            (reason, message), body = strange, b""
        if reply.cut:
            reason, message, deposit.cut = Reason.TOO_LARGE, f"more than {bounds.most} bytes", True
        if self._secrets and "content-encoding" in fields and self._repeats(deposit, bounds, fields):
            deposit.leave()
            message = "the answer has the secret in it, compressed though that was not asked for: it is not kept"
            attempt = attempt._replace(status=reply.status, reason=Reason.UNSUPPORTED, message=message, wait=reply.wait)
            return CrawlResult(attempt)
        try:
            kept = deposit.finish(unchanged=reply.status == NOT_MODIFIED and bool(job.last.digest))
        except TransportError as error:
            return _failed(attempt, deposit, error)
        validators = (fields.get("etag", "")[:256], fields.get("last-modified", "")[:64])
        attempt = Attempt(
            *attempt[:6], reply.status, kept, reason, message, validators, location(fields), wait=reply.wait
        )
        return CrawlResult(attempt, fields, body)

    def _repeats(self, deposit: CaptureSink, bounds: ReplyLimits, fields: Mapping[str, str]) -> bool:
        """Tell whether a compressed answer repeats a secret; one that cannot be looked through may."""
        assert self._secrets is not None
        limits = self._archive.limits
        try:
            raw = deposit.content(bounds.most)
            return self._secrets.repeated(plain(raw, _codings(fields), most=limits.member, ratio=limits.ratio))
        except (StepError, MemoryError):
            return True


def _strange(status: int, fields: Mapping[str, str], *, ranged: bool) -> tuple[Reason, str] | None:
    """Tell why an answer is not what was asked for: a part of it, or in a coding that nobody said to take."""
    if status == PARTIAL and not ranged:
        return Reason.PROTOCOL_ERROR, "a part of it (206), though all of it was asked for"
    if "transfer-encoding" not in fields:
        return None
    told = fields["transfer-encoding"].lower().split(",")
    strange = [one for word in told if (one := word.strip(" \t")) not in {"", "chunked", "identity"}]
    return (Reason.UNSUPPORTED, f"sent in {', '.join(strange)[:200]}, unasked") if strange else None


def _codings(fields: Mapping[str, str]) -> dict[str, str]:
    """Return what still lies around a body whose chunks were taken off on the way."""
    return {"content-encoding": fields["content-encoding"]} if "content-encoding" in fields else {}


def _failed(attempt: Attempt, deposit: CaptureSink, error: TransportError) -> CrawlResult:
    """Return what is known of an answer that was not taken whole."""
    deposit.leave()
    return CrawlResult(
        attempt._replace(
            status=deposit.answered.status, reason=error.reason, message=str(error)[:1000], retry=error.retry,
            wait=error.wait,
        )
    )  # fmt: skip


HOPS = 20
"""Redirects one behind the other that are gone along with, as browsers do."""
ENDLESS_REDIRECTS = f"more than {HOPS} redirects, one behind the other"
_MOST = 10_000  # addresses that a redirect led to and that were not asked yet, as far as they are remembered


class RedirectChains:
    """Counts, of the addresses that redirects led to in this run, how many in a row did.

    It stands where the visits of all hosts come together: each walker sees one host only.
    """

    def __init__(self) -> None:
        """Begin without any."""
        self._hops: dict[int, int] = {}

    def within(self, event: AttemptEnded) -> AttemptEnded:
        """Leave out what a redirect leads to where too many led there, each to an address of its own."""
        hops = self._hops.pop(event.attempt.target, 0) + 1
        if not event.attempt.location or not event.found:
            return event
        if hops > HOPS:
            left = [LeftOut(one.digest, one.url, Reason.TRAP, ENDLESS_REDIRECTS) for one in event.found]
            return event._replace(found=(), left=(*event.left, *left))
        if len(self._hops) < _MOST:  # where there are more, what is counted ends first, and makes room
            self._hops |= {one.digest: hops for one in event.found}
        return event
