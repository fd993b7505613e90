"""Run one batch of listed files to fetch, or of folders to list, over a connection of a fetcher."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from datetime import datetime
from enum import Enum, auto

from windrow.archive import ArchiveWriter, CaptureSink
from windrow.archive.capture_sink import MAX_BODY_IN_MEMORY
from windrow.caps import CHECKSUM_FILE_BYTES
from windrow.clock import now
from windrow.digest import digest
from windrow.engine.fetchers.message import (
    AttemptEnded,
    BatchBroken,
    BatchEnded,
    Event,
    FolderMissing,
    ListedEntries,
    TransferBatch,
    TransferBegun,
    TransferProgress,
)
from windrow.engine.listed.connection_pool import ConnectionPool
from windrow.errors import TerminalFailure, TransientFailure, TransportError, WindrowError
from windrow.fetch.transfer_rate import RateWindow, TransferRate
from windrow.fetch.transport import Connection
from windrow.fetch.transports import Transport
from windrow.formats.http import read_media_type
from windrow.formats.listing import read_checksum
from windrow.model import COMPARED_SIZE, Attempt, FetchJob, ListedFile, ListingEntry, Site
from windrow.reasons import Reason

REPORT_INTERVAL = 0.5
"""The time after which a transfer is reported as begun, and between two reports of its size, in seconds."""

ENTRIES_PER_MESSAGE = 2000
"""The maximum number of entries of a listing that are sent to the engine at a time."""

Report = Callable[[Event], None]
"""A function that reports an event to the engine."""


async def run_batch(
    batch: TransferBatch, transport: Transport, archive: ArchiveWriter, pool: ConnectionPool, report: Report
) -> None:
    """Run a batch over an idle or a new connection. Every job is reported once, as an attempt or as untouched."""
    jobs = pool.register_batch(batch)
    try:
        connection = pool.take_idle(batch.site)
        end = _ConnectionEnd.STALE
        if connection:
            end = await _use_connection(jobs, batch, pool.paced(batch, connection), archive, report, was_idle=True)
        if end is _ConnectionEnd.STALE:
            connection = await transport.connect(batch.site)
            end = await _use_connection(jobs, batch, pool.paced(batch, connection), archive, report)
        if connection and end is _ConnectionEnd.SOUND:
            pool.give_back(batch.site, connection)
    except WindrowError as error:
        report(BatchEnded(batch.number, tuple(job.target for job in jobs), BatchBroken.of_error(error)))
        return
    except Exception as error:  # noqa: BLE001 after a bug in windrow the engine must not wait forever
        report(BatchEnded(batch.number, tuple(job.target for job in jobs), BatchBroken.of_fault(error)))
        return
    finally:
        pool.forget_batch(batch)
    report(BatchEnded(batch.number, tuple(job.target for job in jobs)))


class _ConnectionEnd(Enum):
    SOUND = auto()  # it may be kept and used again
    BROKEN = auto()  # its state is unknown
    STALE = auto()  # the server had closed it while it was idle; nothing was received


async def _use_connection(
    jobs: deque[FetchJob], batch: TransferBatch, connection: Connection, archive: ArchiveWriter, report: Report,
    *, was_idle: bool = False,
) -> _ConnectionEnd:  # fmt: skip
    end = _ConnectionEnd.BROKEN
    try:
        end = await _run_jobs(jobs, batch, connection, archive, report, was_idle=was_idle)
    finally:
        if end is not _ConnectionEnd.SOUND:
            await connection.close()
    return end


async def _run_jobs(
    jobs: deque[FetchJob], batch: TransferBatch, connection: Connection, archive: ArchiveWriter, report: Report,
    *, was_idle: bool,
) -> _ConnectionEnd:  # fmt: skip
    """List folders, fetch files, and return the connection's state."""
    missing_folders = set[str]()
    for folder in batch.folders:
        try:
            entries = await connection.list(folder)
        except TransportError as error:
            if was_idle and folder == batch.folders[0] and error.reason in _STALE:
                return _ConnectionEnd.STALE
            raise
        if entries is None:
            missing_folders.add(folder)
            report(FolderMissing(batch.number, folder))
            entries = []
        _report_entries(batch, entries, report)
    if batch.folders and len(missing_folders) == len(batch.folders):
        # An unmounted disk or a wrong path looks like this, so do not conclude that everything is gone.
        message = f"none of the folders {', '.join(batch.folders)} exists"
        raise TerminalFailure(
            f"{batch.site.address()}: {message}", Reason.NOT_FOUND, hint="check the path of the source"
        )
    if batch.folders:
        try:
            _report_entries(batch, await _list_beside(batch, connection, missing_folders), report)
        except TransportError as error:  # many servers list only some folders; these were listed
            if error.reason in _BREAKING:
                return _ConnectionEnd.BROKEN
    runners = range(max(1, min(batch.parallel, len(jobs))))
    rate = _count_rate(batch.site)
    ends = await asyncio.gather(
        *(_run_from_queue(jobs, batch, connection, archive, report, rate=rate, was_idle=was_idle) for _ in runners)
    )
    return next((end for end in (_ConnectionEnd.STALE, _ConnectionEnd.BROKEN) if end in ends), _ConnectionEnd.SOUND)


def _report_entries(batch: TransferBatch, entries: Sequence[ListingEntry], report: Report) -> None:
    for start in range(0, len(entries), ENTRIES_PER_MESSAGE):
        report(ListedEntries(batch.number, tuple(entries[start : start + ENTRIES_PER_MESSAGE])))


async def _list_beside(batch: TransferBatch, connection: Connection, missing: AbstractSet[str]) -> list[ListingEntry]:
    """Return what the base of a site has beside the folders of a batch; those in `missing` do not exist.

    The lines of a manifest that are in none of the folders are refused as not wanted.
    """
    entries = await connection.list("") or []
    if batch.site.manifest:
        outside = [entry for entry in entries if entry.name.partition("/")[0] not in batch.folders]
        return [entry._replace(reason=Reason.NOT_WANTED) for entry in outside]
    # A server that ignores case may list a folder's files, and the folder itself in another spelling.
    respelled = {*batch.folders} - missing - {entry.name for entry in entries}
    return [
        entry._replace(reason=None)
        for entry in entries
        if entry.name not in batch.folders and entry.name.lower() not in respelled
    ]


async def _run_from_queue(
    jobs: deque[FetchJob], batch: TransferBatch, connection: Connection, archive: ArchiveWriter, report: Report,
    *, rate: TransferRate, was_idle: bool,
) -> _ConnectionEnd:  # fmt: skip
    """Fetch files until none is left, the batch is halted, or the connection cannot be used. Return its state."""
    while jobs:
        job = jobs.popleft()
        attempt = await fetch(job, batch, connection, archive, report, rate=rate, later_jobs=jobs)
        if was_idle and attempt.reason in _STALE and not attempt.received:
            jobs.appendleft(job)
            return _ConnectionEnd.STALE
        was_idle = False
        report(AttemptEnded(batch.number, attempt))
        if attempt.reason in _BREAKING:
            return _ConnectionEnd.BROKEN
    return _ConnectionEnd.SOUND


# The reasons with which a request over an idle connection fails if the server had closed the connection.
_STALE = {Reason.INTERRUPTED, Reason.CONNECT_FAILED}

# After a failure for one of these reasons, the connection's state is unknown, and other jobs get another connection.
_BREAKING = {Reason.TIMEOUT, Reason.INTERRUPTED, Reason.CONNECT_FAILED, Reason.PROTOCOL_ERROR, Reason.RATE_LIMITED}
_BREAKING |= {Reason.DISK_FULL, Reason.TOO_LARGE}


async def fetch(
    job: FetchJob, batch: TransferBatch, connection: Connection, archive: ArchiveWriter, report: Report,
    *, rate: TransferRate | None = None, later_jobs: Sequence[FetchJob] = (), may_be_page: bool = False,
) -> Attempt:  # fmt: skip
    """Make one attempt at a job, and return the attempt. If it failed, it has the reason and a message.

    The first of `later_jobs` may be requested early. Unless `may_be_page`, a web page is not the file.
    """
    started, clock = now(), time.monotonic()
    file, rate = job.file, rate or _count_rate(batch.site)
    sink: CaptureSink | None = None
    try:
        if file.compared:
            return await _fetch_for_comparison(job, batch.site, connection, rate, started)
        sink = CaptureSink(archive, job, started)
        sink.on_grown = _make_reporter(job, started, report, rate)
        status, validators = None, ("", "")
        if not sink.is_complete:
            answer = await connection.get(file.path, sink)
            status, validators = answer.status, (answer.etag, answer.modified)
        if sink.start:
            # The transfer continued an earlier one: status and validators are those of the first response.
            first_response = sink.first_head
            status = first_response.status or status
            validators = (first_response.fields.get("etag", ""), first_response.fields.get("last-modified", ""))
        _refuse_page(sink, job, may_be_page=may_be_page)
        sink.check()
        checksum = message = ""
        if file.sidecar:
            checksum, message = await _find_checksum(file.sidecar, connection, batch.site)
        if checksum:
            sink.verify(checksum)
        if later_jobs and _is_small(later_jobs[0].file):
            connection.expect(later_jobs[0].file.path)
        response = sink.finish()
        attempt = job.attempt(started, time.monotonic() - clock)
        return Attempt(
            *attempt[:6], status, response, message=message, validators=validators, received=sink.received,
            checksum=checksum,
        )  # fmt: skip
    except WindrowError as error:
        wait, location = (error.wait, error.target) if isinstance(error, TransportError) else (None, "")
        failure = (error.reason or Reason.PROTOCOL_ERROR, str(error), error.retry, wait, location)
    except Exception as error:  # noqa: BLE001 after a bug in windrow the engine must not wait forever
        fault = BatchBroken.of_fault(error)
        failure = (fault.reason, fault.message, False, None, "")
    received = 0
    if sink:
        received = sink.received
        with suppress(WindrowError, OSError):
            sink.leave()
    reason, message, retry, wait, location = failure
    attempt = job.attempt(started, time.monotonic() - clock)
    return attempt._replace(
        reason=reason, message=message, location=location, received=received, retry=retry, wait=wait
    )


async def _fetch_for_comparison(
    job: FetchJob, site: Site, connection: Connection, rate: TransferRate, started: datetime
) -> Attempt:
    """Return an attempt with the checksum of a file: that of its checksum file or, without one, of its last bytes."""
    clock = time.monotonic()
    if job.file.sidecar:
        checksum, message = await _find_checksum(job.file.sidecar, connection, site)
        return job.attempt(started, time.monotonic() - clock)._replace(checksum=checksum, message=message)
    tail = _TailSink(job, _make_reporter(job, started, _ignore_event, rate))
    answer = await connection.get(job.file.path, tail)
    attempt = job.attempt(started, time.monotonic() - clock)
    return attempt._replace(status=answer.status, received=tail.received, checksum=tail.digest)


def _refuse_page(sink: CaptureSink, job: FetchJob, *, may_be_page: bool) -> None:
    """Raise TransientFailure for a web page, or nothing, in place of a file: a server under maintenance may send it."""
    if not (sink.size or may_be_page) and job.file.size is None:  # the listing does not state that the file is empty
        raise TransientFailure(f"{job.url}: the server sent an empty file", Reason.SOFT_404)
    if may_be_page or read_media_type(sink.first_head.fields) not in {"text/html", "application/xhtml+xml"}:
        return
    if sink.content(64).lstrip().startswith(b"<") and not job.file.path.lower().endswith((".html", ".htm")):
        sink.drop()
        raise TransientFailure(f"{job.url}: the server sent a web page instead of the file", Reason.SOFT_404)


def _is_small(file: ListedFile) -> bool:
    return not file.compared and file.size is not None and file.size <= MAX_BODY_IN_MEMORY


def _count_rate(site: Site) -> TransferRate:
    return TransferRate(site, hint="the limit is the source's setting `min_rate`")


def _make_reporter(job: FetchJob, started: datetime, report: Report, rate: TransferRate) -> Callable[[int], None]:
    """Return a function that is called with the number of bytes received so far.

    The function reports transfers that take longer than REPORT_INTERVAL, and checks the rate at which the batch
    receives bytes.
    """
    due = time.monotonic() + REPORT_INTERVAL
    is_reported = False
    last_size: int | None = None
    window = RateWindow(rate)

    def report_size(size: int) -> None:
        nonlocal due, is_reported, last_size
        window.add(size - (size if last_size is None else last_size))
        last_size = size
        current_time = time.monotonic()
        if current_time < due:
            return
        due = current_time + REPORT_INTERVAL
        if not is_reported:
            is_reported = True
            report(TransferBegun(job.target, started))
        report(TransferProgress(job.target, size))

    return report_size


def _ignore_event(_event: Event) -> None:
    """Do nothing, since a comparison is not reported as a transfer."""


class _TailSink:
    """A sink for the end of a file that is compared with the archive. It digests the last bytes, and archives none."""

    def __init__(self, job: FetchJob, report_size: Callable[[int], None]) -> None:
        etag, last_modified = job.validators
        self.validator = etag if etag.startswith('"') else last_modified
        self.start = max(0, (job.file.size or 0) - COMPARED_SIZE)
        self.modified = job.file.modified
        self.listed_size = job.file.size
        self.received = 0
        self._last = bytearray()
        self._address = job.url
        self._report_size = report_size

    @property
    def digest(self) -> str:
        return digest(bytes(self._last[-COMPARED_SIZE:]))

    def open(self, size: int | None, head: bytes = b"", request: bytes = b"") -> None:
        """Raise TerminalFailure if too much would be received, since a server may have to send the whole file."""
        del head, request
        if (size or 0) - self.start > _LARGEST_COMPARED:
            self._fail_too_large()

    def restart(self) -> None:
        self.start = 0
        self._last.clear()

    def write(self, block: bytes | memoryview) -> None:
        self.received += len(block)
        if self.received > _LARGEST_COMPARED:
            self._fail_too_large()
        self._last += block
        if len(self._last) > 1 << 20:
            del self._last[:-COMPARED_SIZE]
        self._report_size(self.received)

    def _fail_too_large(self) -> None:
        message = f"{self._address}: comparing it needs more than the limit of {_LARGEST_COMPARED:,} bytes"
        raise TerminalFailure(message, Reason.TOO_LARGE)


_LARGEST_COMPARED = 64 << 20
"""The maximum number of bytes that are fetched to compare a file if the server must send all of it."""


class _ChecksumSink:
    """A sink for a checksum file, which is small, kept in memory and never archived."""

    start = 0
    validator = ""
    modified: datetime | None = None
    listed_size: int | None = None

    def __init__(self, address: str, seconds: float) -> None:
        self.content = b""
        self._address = address
        self._seconds = seconds
        self._until = time.monotonic() + seconds

    def open(self, size: int | None, head: bytes = b"", request: bytes = b"") -> None:
        """Accept any size."""

    def restart(self) -> None:
        self.content = b""

    def write(self, block: bytes | memoryview) -> None:
        self.content += block
        if len(self.content) > _MAX_CHECKSUM_FILE:
            raise TerminalFailure(f"{self._address} has more than {_MAX_CHECKSUM_FILE:,} bytes", Reason.TOO_LARGE)
        if time.monotonic() > self._until:
            message = f"{self._address}: not received completely within {self._seconds:g} seconds"
            raise TransientFailure(message, Reason.TIMEOUT)


_MAX_CHECKSUM_FILE = CHECKSUM_FILE_BYTES.number
"""The maximum number of bytes of a checksum file."""


async def _find_checksum(path: str, connection: Connection, site: Site) -> tuple[str, str]:
    """Return what `_fetch_checksum` does. If a SHA-256 file has no checksum, an MD5 file beside it is asked for too."""
    checksum, message = await _fetch_checksum(path, connection, site)
    if not checksum and path.endswith(".sha256"):
        checksum, _ = await _fetch_checksum(f"{path.removesuffix('.sha256')}.md5", connection, site)
    return checksum, "" if checksum else message


async def _fetch_checksum(path: str, connection: Connection, site: Site) -> tuple[str, str]:
    """Return the checksum in the file at `path` and "", or "" and a message that says why there is none.

    Raises TransportError if another attempt may succeed.
    """
    sink = _ChecksumSink(site.address(path), site.timeout)
    try:
        await connection.get(path, sink)
    except TransportError as error:
        if error.reason in {Reason.NOT_FOUND, Reason.GONE}:
            return "", f"not compared with a checksum: {path} does not exist any more"
        if error.retry:
            raise
        return "", f"not compared with a checksum: {error}"
    checksum = read_checksum(sink.content, path)
    return checksum, "" if checksum else f"not compared with a checksum: {path} does not contain one"
