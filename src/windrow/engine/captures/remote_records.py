"""Records of WARC files that lie on other machines, fetched by file, offset and length: from web servers and S3 stores.

Some are fetched at a time, into a folder of the archive from which they are copied once they are verified. Of a record
whose length no index says (CDX with 9 fields) parts are fetched, each larger than the one before, until it ends. A
server that is busy is asked again after a while; one that fails again and again is left alone for the rest of the run.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, Self
from urllib.parse import quote

from windrow.contract import RemoteFolder
from windrow.engine.captures.growing_record import GrowingRecord
from windrow.errors import TerminalFailure, TransportError, WindrowError
from windrow.model import CdxLine, Finding, Reading
from windrow.reasons import Reason
from windrow.transports.path import wire
from windrow.transports.s3_signing import S3Signer
from windrow.transports.secret import reveal

if TYPE_CHECKING:
    from windrow.transports.web_session import WebConnection

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
    connection: WebConnection
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
        for one in self._folders:
            self._runner.run(one.connection.close())
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
        return [one.result() for one in tasks]

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
        for one in self._connections():
            try:
                await self._from(one, name, place, path)
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
        from windrow.transports.web_session import WebConnection  # noqa: PLC0415 aiohttp is slow to import

        if not self._folders:
            for one in self._wanted:
                headers: Callable[[str], Mapping[str, str]] = lambda _: {}  # noqa: E731
                if one.secret and one.region:
                    headers = S3Signer(one.secret, one.region).headers
                elif one.secret:
                    headers = partial(_authorization, reveal(one.secret))
                self._folders.append(_Folder(one, WebConnection(one.site), headers))
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
