"""Fetch records of WARC files on other machines, by byte range.

Records are fetched in parallel into a folder of the archive, from which `foreign_captures` copies them. A record
without a length in its index (CDX with 9 fields) is fetched in parts, each larger than the last, until it ends. If a
server is busy or a connection breaks, the record is requested again after a pause. After MAX_FAILURES failures in a
row, the run makes no further requests for the source.
"""

from __future__ import annotations

import asyncio
import math
import re
import shutil
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from io import FileIO
from pathlib import Path
from typing import NamedTuple, Self
from urllib.parse import quote

from windrow.archive.import_file import check_free_space
from windrow.archive.warc_writer import map_write_errors, write_all
from windrow.contract import RemoteFolder
from windrow.errors import ArchiveError, TerminalFailure, TransportError, WindrowError
from windrow.fetch.http_files import HttpFiles
from windrow.fetch.secret import S3Signer, read_secret
from windrow.fetch.transport import server_path
from windrow.model import CdxLine, Finding, Limits, Reading, Site
from windrow.reasons import Reason

MAX_HEADER_BYTES = 64 * 2**10
"""The maximum number of bytes of an uncompressed record's header."""

_MAX_INFLATED = 2**20  # the maximum number of bytes that are inflated at a time, and discarded
_GZIP_MAGIC = b"\x1f\x8b"
_CONTENT_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d{1,18})[ \t]*\r\n", re.IGNORECASE)
_LINE_ENDS = 4  # the bytes of the two line ends after a header or a record

Write = Callable[[bytes | memoryview], object]
"""A function that writes the next bytes of a record."""


class GrowingRecord:
    """Finds the end of a record of unknown length while it is received, and passes on its bytes.

    A gzip member ends with its stream. An uncompressed WARC record ends after the bytes that its Content-Length
    announces. Other records are refused, since only an index states the length of an uncompressed ARC record. `seen` is
    the number of bytes received. `has_ended` is true after the last byte of the record.
    """

    def __init__(self, write: Write, name: str) -> None:
        """`write` writes the bytes of the record; `name` is the record's name in error messages."""
        self._write_bytes = write
        self._name = name
        self._inflater: zlib._Decompress | None = None
        self._head = b""
        self._remaining: int | None = None  # bytes to come of an uncompressed record; None until its header is read
        self.seen = 0
        self.has_ended = False

    def write(self, block: bytes | memoryview) -> None:
        """Write the next bytes, up to the end of the record.

        Raises TerminalFailure if they cannot belong to a record.
        """
        self.seen += len(block)
        if self.has_ended:
            return
        if self._inflater is not None:
            self._inflate(block)
        elif self._remaining is not None:
            self._write_plain(block)
        else:
            self._head += block
            self._detect_format()

    def _detect_format(self) -> None:
        if len(self._head) < len(_GZIP_MAGIC):
            return
        if self._head.startswith(_GZIP_MAGIC):
            self._inflater, head, self._head = zlib.decompressobj(31), self._head, b""
            self._inflate(head)
        else:
            self._read_header(self._head)

    def _inflate(self, block: bytes | memoryview) -> None:
        """Write compressed bytes up to the end of the gzip member, which is found by inflating them."""
        inflater, remaining = self._inflater, block
        assert inflater is not None
        try:
            while remaining and not inflater.eof:
                inflater.decompress(remaining, _MAX_INFLATED)
                remaining = inflater.unconsumed_tail
        except zlib.error as error:
            raise TerminalFailure(f"{self._name}: the gzip member is broken: {error}", Reason.CORRUPT) from error
        self.has_ended = inflater.eof
        self._write_bytes(block[: len(block) - len(inflater.unused_data)])

    def _read_header(self, head: bytes) -> None:
        if not head.startswith(b"WARC/"[: len(head)]):
            message = "the index line has no length, and at its offset neither a gzip member nor a WARC record begins"
            raise TerminalFailure(f"{self._name}: {message}", Reason.BAD_LINE)
        end = head.find(b"\r\n\r\n")
        if end < 0:
            if len(head) > MAX_HEADER_BYTES:
                message = f"the record's header does not end within {MAX_HEADER_BYTES} bytes"
                raise TerminalFailure(f"{self._name}: {message}", Reason.CORRUPT)
            return
        length = _CONTENT_LENGTH.search(head, 0, end + 2)
        if length is None:
            raise TerminalFailure(f"{self._name}: the record's header has no Content-Length", Reason.CORRUPT)
        self._remaining, self._head = end + _LINE_ENDS + int(length[1]) + _LINE_ENDS, b""
        self._write_plain(head)

    def _write_plain(self, block: bytes | memoryview) -> None:
        assert self._remaining is not None
        self._write_bytes(block[: self._remaining])
        self._remaining -= min(len(block), self._remaining)
        self.has_ended = self._remaining == 0


PARALLEL_RECORDS = 8
"""The maximum number of records that are fetched in parallel."""

MAX_ATTEMPTS = 4
"""The maximum number of attempts to fetch a record from a remote folder, if the server is busy or a transfer breaks."""

FIRST_WAIT = 1.0
"""The pause before the second attempt, in seconds, if the server states none. It doubles with each further attempt."""

LONGEST_WAIT = 60.0
"""The longest pause, in seconds. If the server asks for a longer one, only the next run requests the record again."""

MAX_FAILURES = 16
"""The number of failures in a row after which a run requests no more records of a source.

Files that are missing or too short do not count.
"""

FIRST_PART_BYTES, PART_GROWTH = 256 * 2**10, 4
"""The size in bytes of the first part of a record of unknown length, and the factor by which further parts grow."""

MAX_SECONDS_AFTER_STOP = 10.0
"""The time that transfers may still take once the run is told to stop, in seconds. The next run requests the others."""

_TICK_SECONDS = 0.5
_MISSING_REASONS = frozenset({Reason.NOT_FOUND, Reason.GONE})


class _ConnectedFolder(NamedTuple):
    """The site of a remote folder, its connection, and a function from a URL to its authorization headers."""

    site: Site
    connection: HttpFiles
    headers: Callable[[str], Mapping[str, str]]


class _RecordRange(NamedTuple):
    """Where a record is in its file, in bytes. `length` is None if it is not known."""

    offset: int
    length: int | None


class RemoteRecords:
    """Fetches records of one source from its remote folders. It is a context manager."""

    def __init__(self, folders: Sequence[RemoteFolder], archive: Path, limits: Limits) -> None:
        self._remote_folders = folders
        self._limits = limits
        self._fetched_folder = archive / ".fetched"
        self._folders: list[_ConnectedFolder] = []
        self._failed = 0
        self._stopped = asyncio.Event()
        self._runner = asyncio.Runner()

    @property
    def address(self) -> str:
        """The address of the first remote folder."""
        return self._remote_folders[0].site.address()

    def __enter__(self) -> Self:
        """Make the folder for the records; what a killed run or another program left in its place is removed."""
        self._remove_folder()
        self._fetched_folder.mkdir(parents=True)
        self._runner.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        for folder in self._folders:
            self._runner.run(folder.connection.close())
        self._runner.close()
        self._remove_folder()

    def _remove_folder(self) -> None:
        if self._fetched_folder.is_dir() and not self._fetched_folder.is_symlink():
            shutil.rmtree(self._fetched_folder, ignore_errors=True)
        else:
            self._fetched_folder.unlink(missing_ok=True)

    def fetch(
        self, lines: Sequence[CdxLine], tick: Callable[[], object], stopping: Callable[[], object]
    ) -> list[Path | Reading | None]:
        """Fetch the record of each line into a file. Return the file or a failed reading for each line, in order.

        The next call overwrites the files. `tick` is called about twice a second. Once `stopping` returns true, no
        further record is requested, or requested again, and transfers that take longer than MAX_SECONDS_AFTER_STOP are
        ended: the result for such a line is None. Raises DiskFull, and ArchiveError if a file cannot be written.
        """
        self._stopped.clear()
        return self._runner.run(self._fetch(lines, tick, stopping))

    async def _fetch(
        self, lines: Sequence[CdxLine], tick: Callable[[], object], stopping: Callable[[], object]
    ) -> list[Path | Reading | None]:
        slots = asyncio.Semaphore(PARALLEL_RECORDS)
        tasks = [asyncio.create_task(self._fetch_record(line, number, slots)) for number, line in enumerate(lines)]
        waiting, end_time = {*tasks}, math.inf
        try:
            while waiting and time.monotonic() < end_time:
                done, waiting = await asyncio.wait(waiting, timeout=_TICK_SECONDS, return_when=asyncio.FIRST_EXCEPTION)
                for task in done:
                    task.result()  # raises the errors of the disk at once
                tick()
                if stopping() and not self._stopped.is_set():
                    self._stopped.set()
                    end_time = time.monotonic() + MAX_SECONDS_AFTER_STOP
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
        return [None if task.cancelled() else task.result() for task in tasks]

    async def _fetch_record(self, line: CdxLine, number: int, slots: asyncio.Semaphore) -> Path | Reading | None:
        largest = self._limits.transfer_size
        if line.length == 0 or line.offset is None:
            return _failed_reading(Reason.BAD_LINE, "the index line has no offset for the record, or the length 0")
        if line.length is not None and line.length > largest:
            return _failed_reading(Reason.TOO_LARGE, f"the record has {line.length} bytes; the limit is {largest}")
        path = self._fetched_folder / str(number)
        async with slots:
            if self._stopped.is_set():
                return None
            try:
                await self._fetch_from_any(line.warc, _RecordRange(line.offset, line.length), path)
            except ArchiveError:  # of the disk, which other records would meet, too
                raise
            except WindrowError as error:
                path.unlink(missing_ok=True)
                if error.retry and self._stopped.is_set():
                    return None
                return _failed_reading(error.reason or Reason.CONNECT_FAILED, str(error))
        return path

    async def _fetch_from_any(self, name: str, record_range: _RecordRange, path: Path) -> None:
        last_error: TransportError | None = None
        for folder in self._connected_folders():
            try:
                await self._fetch_from(folder, name, record_range, path)
            except TransportError as error:
                if error.reason not in _MISSING_REASONS:
                    raise
                last_error = error
            else:
                return
        assert last_error is not None
        raise last_error

    async def _fetch_from(self, folder: _ConnectedFolder, name: str, record_range: _RecordRange, path: Path) -> None:
        site = folder.site
        url = replace(site, base="").address() + quote(server_path(site, name), safe="/-._~", errors="surrogateescape")
        for attempt in range(MAX_ATTEMPTS):
            if self._failed >= MAX_FAILURES:
                raise TerminalFailure(f"{site.address()}: {Reason.SITE_GIVEN_UP.meaning}", Reason.SITE_GIVEN_UP)
            with map_write_errors(path), path.open("wb", buffering=0) as file:
                try:
                    await self._fetch_bytes(folder, url, record_range, partial(self._write, file, path))
                except TransportError as error:
                    self._failed += error.reason not in _MISSING_REASONS and error.reason is not Reason.TRUNCATED
                    wait = error.wait if error.wait is not None else FIRST_WAIT * 2**attempt
                    is_last = attempt + 1 == MAX_ATTEMPTS or self._stopped.is_set()
                    if not error.retry or is_last or wait > LONGEST_WAIT:
                        raise
                else:
                    self._failed = 0
                    return
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopped.wait(), wait)

    def _write(self, file: FileIO, path: Path, block: bytes | memoryview) -> None:
        check_free_space(self._fetched_folder, len(block), self._limits.free_space)
        write_all(file.fileno(), block, path)

    async def _fetch_bytes(self, folder: _ConnectedFolder, url: str, record_range: _RecordRange, write: Write) -> None:
        get_range, headers, largest = folder.connection.get_range, folder.headers, self._limits.transfer_size
        if record_range.length is not None:
            await get_range(url, record_range.offset, record_range.length, write, headers(url))
            return
        record, size = GrowingRecord(write, url), FIRST_PART_BYTES
        while not record.has_ended:
            offset, count = record_range.offset + record.seen, min(size, largest - record.seen)
            if count <= 0:
                raise TerminalFailure(f"{url}: the record has more than {largest} bytes", Reason.TOO_LARGE)
            received = await get_range(url, offset, count, record.write, headers(url), may_be_short=True)
            if received < count and not record.has_ended:
                raise TerminalFailure(f"{url}: the file ends within the record", Reason.TRUNCATED)
            size *= PART_GROWTH

    def _connected_folders(self) -> list[_ConnectedFolder]:
        if not self._folders:
            for folder in self._remote_folders:
                headers: Callable[[str], Mapping[str, str]] = lambda _: {}  # noqa: E731
                if folder.secret and folder.region:
                    headers = S3Signer(folder.secret, folder.region).headers
                elif folder.secret:
                    headers = partial(_authorization, read_secret(folder.secret))
                self._folders.append(_ConnectedFolder(folder.site, HttpFiles(folder.site), headers))
        return self._folders


def _authorization(secret: str, url: str) -> Mapping[str, str]:
    del url
    return {"Authorization": secret}


def _failed_reading(reason: Reason, message: str) -> Reading:
    return Reading(reason, (Finding("Record", message),))
