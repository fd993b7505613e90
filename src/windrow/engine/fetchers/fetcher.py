"""A fetcher process: it runs batches, keeps what comes, and reports in batches."""

from __future__ import annotations

import asyncio
import gc
import os
import resource
import signal
import threading
from collections.abc import Coroutine
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection as Pipe
from typing import Any
from weakref import WeakValueDictionary

from windrow.archive import ArchiveWriter
from windrow.engine.crawl.asking import Asker, secrets_of
from windrow.engine.crawl.walk import RecentUrls, Walker
from windrow.engine.fetchers.message import (
    ArchiveSettings,
    BatchEnded,
    CloseConnection,
    Event,
    Halt,
    MoreJobs,
    TransferBatch,
    WalkOrigin,
)
from windrow.engine.heartbeat import Heartbeat, limit_memory
from windrow.engine.listed.connection_pool import REST, ConnectionPool, HostQueue
from windrow.engine.listed.transfer import run_batch
from windrow.engine.requests.origin_rules import service_of
from windrow.engine.runtime import end_with_parent
from windrow.fetch.transport import transport_for
from windrow.formats.url import parts

PARTING = 2.0
"""Seconds in which the connections that are left over are closed."""

PAUSE = 0.05
"""Seconds between two reports; the end of a batch is told at once."""


class Fetcher:
    """Batches in, events out, over one pipe to the engine."""

    def __init__(self, pipe: Pipe, archive: ArchiveWriter, unarchived: ArchiveWriter, heartbeat: Heartbeat) -> None:
        """Report to `pipe` what goes into `archive`, and what is kept only until it was read."""
        self._pipe = pipe
        self._archive = archive
        self._unarchived = unarchived
        self._heartbeat = heartbeat
        self._events: list[Event] = []
        self._lock = threading.Lock()
        self._lines = ConnectionPool()
        self._walkers: dict[int, Walker] = {}
        self._turns: WeakValueDictionary[str, HostQueue] = WeakValueDictionary()
        self._sightings = RecentUrls()
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.get_running_loop()
        self._awake = asyncio.Event()

    def report(self, event: Event) -> None:
        """Note an event for the next report; called from any thread."""
        with self._lock:
            self._events.append(event)
        if isinstance(event, BatchEnded):
            self._loop.call_soon_threadsafe(self._awake.set)

    def send(self) -> None:
        """Report: what it says was kept is on the disk before it is said."""
        with self._lock:
            events, self._events = self._events, []
        if events:
            self._archive.sync()
            self._unarchived.sync()
            try:
                self._pipe.send(events)
            except (BrokenPipeError, ConnectionResetError):
                os._exit(1)

    async def serve(self) -> None:
        """Run batches until the pipe says to end or breaks."""
        ended = asyncio.Event()
        self._loop.add_reader(self._pipe.fileno(), self._receive, ended)
        while not ended.is_set():
            self._awake.clear()
            self._heartbeat.beat()
            self.send()
            await self._lines.close(REST)
            with suppress(TimeoutError):
                async with asyncio.timeout(PAUSE):
                    await self._awake.wait()
        self._loop.remove_reader(self._pipe.fileno())
        self.send()
        for task in self._tasks:
            task.cancel()
        # A server that says nothing may keep its connection from being closed; the process ends all the same.
        with suppress(TimeoutError):
            async with asyncio.timeout(PARTING):
                await self._lines.close()
                if self._tasks:
                    await asyncio.wait(self._tasks)

    def _receive(self, ended: asyncio.Event) -> None:
        try:
            while self._pipe.poll():
                told = self._pipe.recv()
                if told is None:
                    ended.set()
                    self._awake.set()
                    return
                if isinstance(told, CloseConnection):
                    self._do(self._lines.drop(told.site))
                elif isinstance(told, Halt):
                    self._lines.halt()
                    for walker in self._walkers.values():
                        walker.halt()
                elif isinstance(told, MoreJobs):
                    self._walkers[told.batch].submit(told.jobs)
                elif isinstance(told, WalkOrigin):
                    reading = partial(self._heartbeat.reading, told.number)
                    service = service_of(told.source)
                    archive = self._archive if service is None or service.archived else self._unarchived
                    asker = Asker(
                        archive, told.crawl.robots, told.crawl.large, reading, service,
                        secrets=partial(secrets_of, told.source, told.origin),
                    )  # fmt: skip
                    turn = HostQueue() if service else self._turn(told.origin)
                    abreast = int(service.connections) if service else 1
                    walker = self._walkers[told.number] = Walker(
                        told, asker, self._sightings, self.report, turn, abreast=abreast
                    )
                    self._do(walker.run())
                else:
                    self._start(told)
        except (EOFError, OSError):
            # The engine is gone: what it was not told, it will ask for again.
            os._exit(1)

    def _turn(self, origin: str) -> HostQueue:
        """Return what all origins of a host have in common."""
        return self._turns.setdefault(parts(f"{origin}/").host, HostQueue())

    def _start(self, batch: TransferBatch) -> None:
        transport = transport_for(batch.site.scheme)
        work = run_batch(batch, transport, self._archive, self._lines, self.report)
        if transport.blocking:
            threading.Thread(target=lambda: asyncio.run(work), daemon=True).start()
        else:
            self._do(work)

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _serve(pipe: Pipe, archive: ArchiveWriter, unarchived: ArchiveWriter, heartbeat: Heartbeat) -> None:
    await Fetcher(pipe, archive, unarchived, heartbeat).serve()
    archive.close()
    unarchived.close()
    pipe.close()
    # A batch that hangs, in a thread or in a connection that does not close, must not keep the process alive.
    os._exit(0)


def main(pipe: Pipe, prefix: str, keep: ArchiveSettings, board: Any) -> None:
    """Run a fetcher; the engine starts this in a process of its own, and watches its `board`."""
    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    archive = ArchiveWriter(keep.folder, prefix, keep.limits, keep.rotate, keep.agent)
    unarchived = ArchiveWriter(keep.folder, prefix, keep.limits, keep.rotate, keep.agent, archived=False)
    gc.freeze()
    # Every host that is walked has a line.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    limit_memory(keep.limits.memory)
    heartbeat = Heartbeat(board)
    heartbeat.start()
    asyncio.run(_serve(pipe, archive, unarchived, heartbeat))
