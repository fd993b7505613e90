"""Records of remote WARC files, fetched by byte range.

They are fetched in parallel into a folder of the archive, from which they are copied once they are verified. A record
without a length in its index (CDX with 9 fields) is fetched in parts, each larger than the last, until it ends. A busy
server is asked again after a pause; one that keeps failing is given up for the run.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import BinaryIO, NamedTuple, Self
from urllib.parse import quote

from windrow.contract import RemoteFolder
from windrow.errors import TerminalFailure, TransportError, WindrowError
from windrow.fetch.http_files import HttpFiles
from windrow.fetch.secret import S3Signer, read_secret
from windrow.fetch.transport import server_path
from windrow.model import CdxLine, Finding, Reading
from windrow.reasons import Reason

HEAD = 64 * 2**10
"""Bytes within which the header of an uncompressed record must end."""

_INFLATED = 2**20  # bytes that are inflated at a time, and discarded
_GZIP = b"\x1f\x8b"
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d{1,18})[ \t]*\r\n", re.IGNORECASE)
_AFTER = 4  # bytes of the two line ends after a record


class GrowingRecord:
    """Writes a gzip member, or an uncompressed WARC record, up to its end.

    A member ends with its stream, a record after its Content-Length. Anything else is refused: the length of an
    uncompressed ARC record is known to an index only.
    """

    def __init__(self, file: BinaryIO, name: str) -> None:
        """Write to a file; `name` stands for the record in errors."""
        self._file = file
        self._name = name
        self._inflating: zlib._Decompress | None = None
        self._head = b""
        self._left: int | None = None  # remaining bytes of an uncompressed record, once its header was read
        self.seen = 0
        self.ended = False

    def write(self, block: bytes | memoryview) -> None:
        """Write the next bytes; those after the end are dropped."""
        self.seen += len(block)
        if self.ended:
            return
        if self._inflating is not None:
            self._inflate(block)
        elif self._left is not None:
            self._write_plain(block)
        else:
            self._head += block
            self._detect_format()

    def _detect_format(self) -> None:
        if len(self._head) < len(_GZIP):
            return
        if self._head.startswith(_GZIP):
            self._inflating, head, self._head = zlib.decompressobj(31), self._head, b""
            self._inflate(head)
        else:
            self._read_header(self._head)

    def _inflate(self, block: bytes | memoryview) -> None:
        member, remaining = self._inflating, block
        assert member is not None
        try:
            while remaining and not member.eof:
                member.decompress(remaining, _INFLATED)
                remaining = member.unconsumed_tail
        except zlib.error as error:
            raise TerminalFailure(f"{self._name}: the gzip member is not complete: {error}", Reason.CORRUPT) from error
        self.ended = member.eof
        self._file.write(block[: len(block) - len(member.unused_data)])

    def _read_header(self, head: bytes) -> None:
        """Read the record's length from its header once that is complete."""
        if not head.startswith(b"WARC/"[: len(head)]):
            message = "the line has no length, and its offset is not the start of a gzip member or WARC record"
            raise TerminalFailure(f"{self._name}: {message}", Reason.BAD_LINE)
        end = head.find(b"\r\n\r\n")
        if end < 0:
            if len(head) > HEAD:
                raise TerminalFailure(f"{self._name}: the record's header has no end", Reason.CORRUPT)
            return
        length = _LENGTH.search(head, 0, end + 2)
        if length is None:
            raise TerminalFailure(f"{self._name}: the record's header has no Content-Length", Reason.CORRUPT)
        self._left, self._head = end + _AFTER + int(length[1]) + _AFTER, b""
        self._write_plain(head)

    def _write_plain(self, block: bytes | memoryview) -> None:
        assert self._left is not None
        self._file.write(block[: self._left])
        self._left -= min(len(block), self._left)
        self.ended = self._left == 0


AT_ONCE = 8
"""Records that are fetched in parallel."""

TRIES = 4
"""Requests for a record whose server is busy or breaks off."""

WAIT = 1.0
"""Seconds before the second try, if the server names none; doubled before each further one."""

LONGEST_WAIT = 60.0
"""Seconds of pause that a server may ask for; after a longer one the record is for the next run."""

FAILURES = 16
"""Failures in a row after which a folder's server is given up."""

FIRST_PART, LARGER = 256 * 2**10, 4
"""Bytes of the first part of a record of unknown length, and how many times larger each further one is."""

_TICK = 0.5  # seconds
_ELSEWHERE = frozenset({Reason.NOT_FOUND, Reason.GONE})


class _Folder(NamedTuple):
    folder: RemoteFolder
    connection: HttpFiles
    headers: Callable[[str], Mapping[str, str]]


class _RecordRange(NamedTuple):
    """Where a record is in its file, in bytes: `length` is None if unknown, `largest` the limit."""

    offset: int
    length: int | None
    largest: int


class RemoteRecords:
    """Fetches records of one source from its remote folders."""

    def __init__(self, folders: Sequence[RemoteFolder], keep: Path) -> None:
        """Fetch into a folder below `keep`; leftovers of a killed run are removed."""
        self._remote_folders = folders
        self._keep = keep / ".fetched"
        self._folders: list[_Folder] = []
        self._failed = 0
        self._runner = asyncio.Runner()

    def __enter__(self) -> Self:
        shutil.rmtree(self._keep, ignore_errors=True)
        self._keep.mkdir(parents=True)
        self._runner.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connections, and remove the folder."""
        for folder in self._folders:
            self._runner.run(folder.connection.close())
        self._runner.close()
        shutil.rmtree(self._keep, ignore_errors=True)

    def fetch(self, lines: Sequence[CdxLine], largest: int, tick: Callable[[], object]) -> list[Path | Reading]:
        """Fetch the record of each line; return a file with this record only, or the failure."""
        return self._runner.run(self._fetch(lines, largest, tick))

    async def _fetch(self, lines: Sequence[CdxLine], largest: int, tick: Callable[[], object]) -> list[Path | Reading]:
        slots = asyncio.Semaphore(AT_ONCE)
        tasks = [
            asyncio.create_task(self._fetch_record(line, number, largest, slots)) for number, line in enumerate(lines)
        ]
        waiting = {*tasks}
        try:
            while waiting:
                _, waiting = await asyncio.wait(waiting, timeout=_TICK)
                tick()
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
        return [task.result() for task in tasks]

    async def _fetch_record(self, line: CdxLine, number: int, largest: int, free: asyncio.Semaphore) -> Path | Reading:
        if line.length == 0 or line.offset is None:
            return _failed_reading(Reason.BAD_LINE, "the line has no offset of the record in its file")
        if line.length is not None and line.length > largest:
            return _failed_reading(Reason.TOO_LARGE, f"the record has {line.length} bytes, {largest} are allowed")
        path = self._keep / str(number)
        async with free:
            try:
                await self._fetch_from_any(line.warc, _RecordRange(line.offset, line.length, largest), path)
            except WindrowError as error:
                path.unlink(missing_ok=True)
                return _failed_reading(error.reason or Reason.CONNECT_FAILED, str(error))
        return path

    async def _fetch_from_any(self, name: str, place: _RecordRange, path: Path) -> None:
        """Fetch a record from the first folder that has its file."""
        last_error: TransportError | None = None
        for connection in self._connections():
            try:
                await self._fetch_from(connection, name, place, path)
            except TransportError as error:
                if error.reason not in _ELSEWHERE:
                    raise
                last_error = error
            else:
                return
        assert last_error is not None
        raise last_error

    async def _fetch_from(self, folder: _Folder, name: str, place: _RecordRange, path: Path) -> None:
        """Fetch a record from a folder; repeat if its server is busy or breaks off."""
        site = folder.folder.site
        url = replace(site, base="").address() + quote(server_path(site, name), safe="/-._~", errors="surrogateescape")
        for number in range(TRIES):
            if self._failed >= FAILURES:
                raise TerminalFailure(f"{site.address()}: {Reason.SITE_GIVEN_UP.meaning}", Reason.SITE_GIVEN_UP)
            with path.open("wb") as file:
                try:
                    await _fetch_bytes(folder, url, place, file)
                except TransportError as error:
                    self._failed += error.reason not in _ELSEWHERE and error.reason is not Reason.TRUNCATED
                    wait = error.wait if error.wait is not None else WAIT * 2**number
                    if not error.retry or number + 1 == TRIES or wait > LONGEST_WAIT:
                        raise
                else:
                    self._failed = 0
                    return
            await asyncio.sleep(wait)

    def _connections(self) -> list[_Folder]:
        """Return the folders, each with a connection and a function for its authorization headers."""
        if not self._folders:
            for folder in self._remote_folders:
                headers: Callable[[str], Mapping[str, str]] = lambda _: {}  # noqa: E731
                if folder.secret and folder.region:
                    headers = S3Signer(folder.secret, folder.region).headers
                elif folder.secret:
                    headers = partial(_authorization, read_secret(folder.secret))
                self._folders.append(_Folder(folder, HttpFiles(folder.site), headers))
        return self._folders


async def _fetch_bytes(folder: _Folder, url: str, place: _RecordRange, file: BinaryIO) -> None:
    """Fetch a record; one of unknown length in parts until it ends."""
    if place.length is not None:
        await folder.connection.get_range(url, place.offset, place.length, file.write, folder.headers(url))
        return
    record, size = GrowingRecord(file, url), FIRST_PART
    while not record.ended:
        offset, count = place.offset + record.seen, min(size, place.largest - record.seen)
        if count <= 0:
            raise TerminalFailure(f"{url}: the record has more than {place.largest} bytes", Reason.TOO_LARGE)
        received = await folder.connection.get_range(
            url, offset, count, record.write, folder.headers(url), may_be_short=True
        )
        if received < count and not record.ended:
            raise TerminalFailure(f"{url}: the file ends within the record", Reason.TRUNCATED)
        size *= LARGER


def _authorization(secret: str, url: str) -> Mapping[str, str]:
    del url
    return {"Authorization": secret}


def _failed_reading(reason: Reason, message: str) -> Reading:
    return Reading(reason, (Finding("Record", message),))
