"""Files over SFTP (protocol version 3), with reads overlapped.

Several `get` on one connection at a time are safe: each has a file handle and requests of its own,
and the server's replies find their request by number.
"""

from __future__ import annotations

import asyncio
import math
import stat
from collections import deque
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

import asyncssh

from windrow.errors import TerminalFailure, TransientFailure
from windrow.model import ListingEntry, Site
from windrow.reasons import Reason
from windrow.transports.contract import Connection, Sink, TransferEnd, moment, replaced
from windrow.transports.listing import ENTRIES
from windrow.transports.path import at, wire
from windrow.transports.shell import Alien, SftpChannel, failure, open_line

Entries = list[ListingEntry]

AHEAD = 4 * 2**20
"""Bytes of one file that are asked for before the first of them came."""

_BREAKING = {Reason.TIMEOUT, Reason.INTERRUPTED, Reason.PROTOCOL_ERROR}  # nothing more will come over this line


class SftpConnection(Connection):
    """A session that comes back: after a break the next call opens a new one by itself."""

    def __init__(self, site: Site) -> None:
        """Prepare for a site; `open` connects."""
        self._site = site
        self._line: SftpChannel | None = None
        self._opening = asyncio.Lock()
        self._farewells: set[asyncio.Future[Any]] = set()

    async def open(self) -> SftpChannel:
        """Connect and log in, unless there is a line that lives."""
        if self._line is None or self._line.connection.is_closed():
            async with self._opening:
                if self._line is None or self._line.connection.is_closed():
                    self._line = await open_line(self._site)
        return self._line

    @contextmanager
    def _mapped(self, line: SftpChannel, path: str) -> Iterator[None]:
        try:
            yield
        except Alien as error:
            mapped = failure(error, at(self._site, path))
            if mapped.reason in _BREAKING:
                self._line = None if self._line is line else self._line
                line.drop()
            raise mapped from error

    async def list(self, folder: str) -> Entries | None:
        """List a folder; links are there, but not as files (attributes are the link's own)."""
        whole = wire(self._site, folder)
        line = await self.open()
        entries: Entries = []
        with self._mapped(line, folder):
            try:
                end = asyncio.get_running_loop().time() + self._site.listing_timeout
                async with asyncio.timeout(self._site.timeout) as bound:
                    async for found in line.sftp.scandir(whole):
                        entries.append(_entry(folder, found))
                        if len(entries) > ENTRIES + 2:
                            break
                        self._alive(bound, end)
            except (asyncssh.SFTPNoSuchFile, asyncssh.SFTPNoSuchPath):
                return None
        if len(entries) > ENTRIES + 2:
            raise TerminalFailure(f"{at(self._site, folder)}: more than {ENTRIES:,} entries", Reason.TOO_LARGE)
        return [entry for entry in entries if entry.name not in {".", ".."}]

    def _alive(self, bound: asyncio.Timeout, end: float = math.inf) -> None:
        bound.reschedule(min(asyncio.get_running_loop().time() + self._site.timeout, end))

    async def get(self, path: str, sink: Sink) -> TransferEnd:
        """Get one file, in order, from `sink.start` on.

        Bytes that are not as many as the server announced are a SIZE_MISMATCH, which may pass: the
        file may be growing.
        """
        whole = wire(self._site, path)
        line = await self.open()
        with self._mapped(line, path):
            async with asyncio.timeout(self._site.timeout) as bound:
                # block_size 0: a read is one request, and the order of requests is ours
                file = await line.sftp.open(whole, "rb", encoding=None, block_size=0)
                try:
                    self._alive(bound)
                    received, size = await self._pump(file, sink, bound, line.block)
                finally:
                    self._farewell(file.close())
        if size is not None and received != size:
            raise TransientFailure(
                f"{at(self._site, path)}: {received:,} bytes came, {size:,} were announced", Reason.SIZE_MISMATCH
            )
        return TransferEnd()

    async def _pump(
        self, file: asyncssh.SFTPClientFile, sink: Sink, bound: asyncio.Timeout, block: int
    ) -> tuple[int, int | None]:
        """Read to the end; return where that was, and the size that the server told."""
        waiting: deque[asyncio.Future[bytes]] = deque()
        try:
            # The first read travels beside the question for the size: a small file is one round trip.
            waiting.append(_task(file.read(block, sink.start)))
            told = await file.stat()
            size, modified = told.size, moment(told.mtime)
            if (size is not None and sink.start > size) or replaced(sink, modified):
                sink.restart()
                waiting.append(_task(file.read(block, 0)))
                waiting.popleft().cancel()
            sink.open(size)
            where, asked = sink.start, sink.start + block
            while waiting:
                while (size is None or asked < size) and len(waiting) * block < AHEAD:
                    waiting.append(_task(file.read(block, asked)))
                    asked += block
                content = await waiting.popleft()
                end = where + block
                while content:
                    self._alive(bound)
                    sink.write(content)
                    where += len(content)
                    if where >= end or where == size:
                        break
                    content = await file.read(end - where, where)  # a server may send less than asked
                else:
                    break
            return where, size
        finally:
            for one in waiting:
                one.cancel()

    def _farewell(self, work: Coroutine[Any, Any, None]) -> None:
        """Close a file without waiting for the server to agree."""
        task = _task(work)
        self._farewells.add(task)
        task.add_done_callback(self._farewells.discard)

    async def close(self) -> None:
        """Say goodbye, for a second at most."""
        line, self._line = self._line, None
        if line:
            if self._farewells and not line.connection.is_closed():
                await asyncio.wait(self._farewells, timeout=1)
            await line.end()


def _task(work: Coroutine[Any, Any, Any]) -> asyncio.Future[Any]:
    """Start work whose failure nobody may be left to see."""
    task = asyncio.ensure_future(work)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    return task


def _entry(folder: str, found: asyncssh.SFTPName) -> ListingEntry:
    told = found.attrs
    name = found.filename
    text = name if isinstance(name, str) else name.decode("utf-8", "surrogateescape")
    if told.permissions is not None:
        is_file = stat.S_ISREG(told.permissions)
    else:
        is_file = told.type == asyncssh.FILEXFER_TYPE_REGULAR
    return ListingEntry(folder, text, told.size if is_file else None, moment(told.mtime), is_file)
