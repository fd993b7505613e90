"""Records of WARC files that lie elsewhere, fetched by range, and longer ones as they grow.

Some are fetched at a time, into a folder of the archive from which they are copied once they are verified. Of a record
whose length no index says (CDX with 9 fields) parts are fetched, each larger than the one before, until it ends. A
server that is busy is asked again after a while; one that fails again and again is left alone for the rest of the run.
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
from types import TracebackType
from typing import BinaryIO, NamedTuple, Self
from urllib.parse import quote

from windrow.contract import RemoteFolder
from windrow.errors import TerminalFailure, TransportError, WindrowError
from windrow.fetch.http_files import HttpFiles
from windrow.fetch.secret import S3Signer, reveal
from windrow.fetch.transport import wire
from windrow.model import CdxLine, Finding, Reading
from windrow.reasons import Reason

HEAD = 64 * 2**10
"""Bytes in which the header of a record that is not packed must end."""

_INFLATED = 2**20  # bytes that are inflated at a time, and thrown away
_GZIP = b"\x1f\x8b"
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d{1,18})[ \t]*\r\n", re.IGNORECASE)
_AFTER = 4  # bytes of two line ends behind a record


class GrowingRecord:
    """A gzip member, or a WARC record that is not packed, cut off at its end.

    A member ends where its stream says so, whatever comes behind it; a record where its Content-Length says so. What
    is neither is refused: of a record of ARC that is not packed nothing but an index knows the length.
    """

    def __init__(self, file: BinaryIO, name: str) -> None:
        """Write to a file; `name` is that of the record in errors."""
        self._file = file
        self._name = name
        self._inflating: zlib._Decompress | None = None
        self._head = b""
        self._left: int | None = None  # bytes of a record that is not packed, once its header is there
        self.seen = 0
        self.ended = False

    def write(self, block: bytes | memoryview) -> None:
        """Take the next bytes; those behind the end are left out."""
        self.seen += len(block)
        if self.ended:
            return
        if self._inflating is not None:
            self._inflate(block)
        elif self._left is not None:
            self._take_plain(block)
        else:
            self._head += block
            self._begin()

    def _begin(self) -> None:
        """Look at the first bytes, as many as there are."""
        if len(self._head) < len(_GZIP):
            return
        if self._head.startswith(_GZIP):
            self._inflating, begun, self._head = zlib.decompressobj(31), self._head, b""
            self._inflate(begun)
        else:
            self._begin_plain(self._head)

    def _inflate(self, block: bytes | memoryview) -> None:
        member, rest = self._inflating, block
        assert member is not None
        try:
            while rest and not member.eof:
                member.decompress(rest, _INFLATED)
                rest = member.unconsumed_tail
        except zlib.error as error:
            raise TerminalFailure(f"{self._name}: no whole gzip member is there: {error}", Reason.CORRUPT) from error
        self.ended = member.eof
        self._file.write(block[: len(block) - len(member.unused_data)])

    def _begin_plain(self, begun: bytes) -> None:
        """Look for the end of the header, which says how long the record is."""
        if not begun.startswith(b"WARC/"[: len(begun)]):
            told = "the line says no length, and neither a gzip member nor a WARC record begins there"
            raise TerminalFailure(f"{self._name}: {told}", Reason.BAD_LINE)
        end = begun.find(b"\r\n\r\n")
        if end < 0:
            if len(begun) > HEAD:
                raise TerminalFailure(f"{self._name}: the record's header has no end", Reason.CORRUPT)
            return
        length = _LENGTH.search(begun, 0, end + 2)
        if length is None:
            raise TerminalFailure(f"{self._name}: the record's header says no length", Reason.CORRUPT)
        self._left, self._head = end + _AFTER + int(length[1]) + _AFTER, b""
        self._take_plain(begun)

    def _take_plain(self, block: bytes | memoryview) -> None:
        assert self._left is not None
        self._file.write(block[: self._left])
        self._left -= min(len(block), self._left)
        self.ended = self._left == 0


AT_ONCE = 8
"""Records that are asked for side by side."""

TRIES = 4
"""How often a record is asked for whose server is busy, or breaks off."""

WAIT = 1.0
"""Seconds before the second try, where the server names none; twice as many before each further one."""

LONGEST_WAIT = 60.0
"""Seconds that a server may ask to be left alone; what it wants left alone for longer is for the next run."""

FAILURES = 16
"""Failures in a row after which a folder's server is left alone."""

FIRST_PART, LARGER = 256 * 2**10, 4
"""Bytes of the first part of a record of unknown length, and how many times larger each further one is."""

_TICK = 0.5  # seconds
_ELSEWHERE = frozenset({Reason.NOT_FOUND, Reason.GONE})


class _Folder(NamedTuple):
    folder: RemoteFolder
    connection: HttpFiles
    headers: Callable[[str], Mapping[str, str]]


class _Place(NamedTuple):
    """Where a record lies in its file: `length` is None where no index says it, `largest` what it may be."""

    offset: int
    length: int | None
    largest: int


class RemoteRecords:
    """Fetches records of one source from its remote folders."""

    def __init__(self, folders: Sequence[RemoteFolder], keep: Path) -> None:
        """Fetch into a folder below `keep`; what a run that was killed left there is removed."""
        self._wanted = folders
        self._keep = keep / ".fetched"
        self._folders: list[_Folder] = []
        self._failed = 0
        self._runner = asyncio.Runner()

    def __enter__(self) -> Self:
        """Make the folder."""
        shutil.rmtree(self._keep, ignore_errors=True)
        self._keep.mkdir(parents=True)
        self._runner.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close what is open, and remove the folder."""
        for folder in self._folders:
            self._runner.run(folder.connection.close())
        self._runner.close()
        shutil.rmtree(self._keep, ignore_errors=True)

    def fetch(self, lines: Sequence[CdxLine], largest: int, tick: Callable[[], object]) -> list[Path | Reading]:
        """Fetch the record of each line; return the file that holds it alone, or why there is none."""
        return self._runner.run(self._fetch(lines, largest, tick))

    async def _fetch(self, lines: Sequence[CdxLine], largest: int, tick: Callable[[], object]) -> list[Path | Reading]:
        free = asyncio.Semaphore(AT_ONCE)
        tasks = [asyncio.create_task(self._one(line, number, largest, free)) for number, line in enumerate(lines)]
        waiting = {*tasks}
        try:
            while waiting:
                _, waiting = await asyncio.wait(waiting, timeout=_TICK)
                tick()
        finally:
            for one in waiting:
                one.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
        return [task.result() for task in tasks]

    async def _one(self, line: CdxLine, number: int, largest: int, free: asyncio.Semaphore) -> Path | Reading:
        if line.length == 0 or line.offset is None:
            return _reading(Reason.BAD_LINE, "the line says not where in its file the record lies")
        if line.length is not None and line.length > largest:
            return _reading(Reason.TOO_LARGE, f"the record has {line.length} bytes, {largest} are allowed")
        path = self._keep / str(number)
        async with free:
            try:
                await self._from_any(line.warc, _Place(line.offset, line.length, largest), path)
            except WindrowError as error:
                path.unlink(missing_ok=True)
                return _reading(error.reason or Reason.CONNECT_FAILED, str(error))
        return path

    async def _from_any(self, name: str, place: _Place, path: Path) -> None:
        """Fetch a record from the first folder that has its file."""
        last: TransportError | None = None
        for connection in self._connections():
            try:
                await self._from(connection, name, place, path)
            except TransportError as error:
                if error.reason not in _ELSEWHERE:
                    raise
                last = error
            else:
                return
        assert last is not None
        raise last

    async def _from(self, one: _Folder, name: str, place: _Place, path: Path) -> None:
        """Fetch a record from a folder; again where its server is busy or breaks off."""
        site = one.folder.site
        url = replace(site, base="").address() + quote(wire(site, name), safe="/-._~", errors="surrogateescape")
        for number in range(TRIES):
            if self._failed >= FAILURES:
                raise TerminalFailure(f"{site.address()}: {Reason.SITE_GIVEN_UP.meaning}", Reason.SITE_GIVEN_UP)
            with path.open("wb") as file:
                try:
                    await _record(one, url, place, file)
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
        """Return the folders, each with a session and what signs its requests."""
        if not self._folders:
            for one in self._wanted:
                headers: Callable[[str], Mapping[str, str]] = lambda _: {}  # noqa: E731
                if one.secret and one.region:
                    headers = S3Signer(one.secret, one.region).headers
                elif one.secret:
                    headers = partial(_authorization, reveal(one.secret))
                self._folders.append(_Folder(one, HttpFiles(one.site), headers))
        return self._folders


async def _record(one: _Folder, url: str, place: _Place, file: BinaryIO) -> None:
    """Fetch a record; where its length is not known, part by part until it ends."""
    if place.length is not None:
        await one.connection.part(url, place.offset, place.length, file.write, one.headers(url))
        return
    record, size = GrowingRecord(file, url), FIRST_PART
    while not record.ended:
        offset, wanted = place.offset + record.seen, min(size, place.largest - record.seen)
        if wanted <= 0:
            raise TerminalFailure(f"{url}: the record has more than {place.largest} bytes", Reason.TOO_LARGE)
        came = await one.connection.part(url, offset, wanted, record.write, one.headers(url), short=True)
        if came < wanted and not record.ended:
            raise TerminalFailure(f"{url}: the file ends within the record", Reason.TRUNCATED)
        size *= LARGER


def _authorization(secret: str, url: str) -> Mapping[str, str]:
    del url
    return {"Authorization": secret}


def _reading(reason: Reason, message: str) -> Reading:
    return Reading(reason, (Finding("Record", message),))
