"""A fetcher process: it runs batches, archives responses, and reports events in groups."""

from __future__ import annotations

import asyncio
import gc
import os
import resource
import signal
import threading
from collections.abc import Coroutine
from contextlib import suppress
from functools import cached_property, partial
from multiprocessing.connection import Connection as Pipe
from typing import Any
from weakref import WeakValueDictionary

from windrow.archive import ArchiveWriter
from windrow.engine.crawl.archiving_client import ArchivingClient, secrets_of
from windrow.engine.crawl.walk import OriginCrawler, RecentUrls
from windrow.engine.fetchers.event_format import encode_events
from windrow.engine.fetchers.message import (
    ArchiveSettings,
    BatchBroken,
    BatchEnded,
    CloseConnection,
    CrawlOrigin,
    Event,
    Halt,
    MoreJobs,
    TransferBatch,
)
from windrow.engine.heartbeat import Heartbeat, limit_memory
from windrow.engine.listed.connection_pool import MAX_IDLE_SECONDS, ConnectionPool, HostQueue
from windrow.engine.listed.transfer import run_batch
from windrow.engine.requests.origin_rules import service_of
from windrow.engine.runtime import SharedNumbers, end_with_parent
from windrow.engine.steps.sandbox import restrict_fetcher
from windrow.fetch.transports import transport_for
from windrow.formats.url import parts

CLOSE_TIMEOUT = 2.0
"""The time allowed for closing the remaining connections, in seconds."""

REPORT_INTERVAL = 0.05
"""The maximum time between two reports, in seconds. The end of a batch is reported at once."""


class Fetcher:
    """Runs the batches that the engine sends over a pipe, and sends events back."""

    _recent = cached_property(lambda _: RecentUrls())

    def __init__(self, pipe: Pipe, archive: ArchiveWriter, unarchived: ArchiveWriter, heartbeat: Heartbeat) -> None:
        """Responses go to `archive`, or to `unarchived` if they are to be deleted once steps have read them."""
        self._pipe = pipe
        self._archive = archive
        self._unarchived = unarchived
        self._heartbeat = heartbeat
        self._events: list[Event] = []
        self._lock = threading.Lock()
        self._connections = ConnectionPool()
        self._walkers: dict[int, OriginCrawler] = {}  # by batch
        self._host_queues: WeakValueDictionary[str, HostQueue] = WeakValueDictionary()
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.get_running_loop()
        self._awake = asyncio.Event()

    def report(self, event: Event) -> None:
        """Add an event to the next report. This may be called from any thread."""
        with self._lock:
            self._events.append(event)
        if isinstance(event, BatchEnded):
            self._loop.call_soon_threadsafe(self._awake.set)

    def send(self) -> None:
        """Sync the responses of the collected events to disk, then send the events."""
        with self._lock:
            events, self._events = self._events, []
        if events:
            self._archive.sync()
            self._unarchived.sync()
            try:
                self._pipe.send_bytes(encode_events(events))
            except (BrokenPipeError, ConnectionResetError):
                os._exit(1)

    async def serve(self) -> None:
        """Run batches until the engine sends None; then close the connections."""
        end_event = asyncio.Event()
        self._loop.add_reader(self._pipe.fileno(), self._receive, end_event)
        while not end_event.is_set():
            self._awake.clear()
            self._heartbeat.beat()
            self.send()
            await self._connections.close(MAX_IDLE_SECONDS)
            with suppress(TimeoutError):
                async with asyncio.timeout(REPORT_INTERVAL):
                    await self._awake.wait()
        self._loop.remove_reader(self._pipe.fileno())
        self.send()
        for task in self._tasks:
            task.cancel()
        # A silent server may keep its connection from closing; the process ends anyway.
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT):
                await self._connections.close()
                if self._tasks:
                    await asyncio.wait(self._tasks)

    def _receive(self, end_event: asyncio.Event) -> None:
        """Process the messages in the pipe, and set `end_event` if the engine ends the process."""
        try:
            while self._pipe.poll():
                message = self._pipe.recv()
                if message is None:
                    end_event.set()
                    self._awake.set()
                    return
                if isinstance(message, CloseConnection):
                    self._start_task(self._connections.close_one(message.site))
                elif isinstance(message, Halt):
                    self._connections.halt()
                    for walker in self._walkers.values():
                        walker.halt()
                elif isinstance(message, MoreJobs):
                    if message.batch in self._walkers:  # otherwise its walk could not be started
                        self._walkers[message.batch].submit(message.jobs)
                elif isinstance(message, CrawlOrigin):
                    self._start_walk(message)
                else:
                    self._start_batch(message)
        except (EOFError, OSError):
            # The engine has ended: the next run requests again whatever was not reported.
            os._exit(1)

    def _start_walk(self, walk: CrawlOrigin) -> None:
        reading = partial(self._heartbeat.reading, walk.number)
        service = service_of(walk.source)
        archive = self._archive if service is None or service.archived else self._unarchived
        archiver = ArchivingClient(
            archive, walk.crawl.robots, walk.crawl.large, reading, service,
            secrets=partial(secrets_of, walk.source, walk.origin),
        )  # fmt: skip
        name = parts(f"{walk.origin}/").host
        queue = HostQueue() if service else self._host_queues.setdefault(name, HostQueue())
        parallel = int(service.connections) if service else 1
        try:
            walker = OriginCrawler(walk, archiver, self._recent, self.report, queue, parallel=parallel)
        except Exception as error:  # noqa: BLE001 after a bug in a collection's rules the engine must not wait forever
            fault = BatchBroken.of_fault(error)
            fault = fault._replace(message=f"the crawl rules of {walk.origin} failed: {fault.message}")
            self.report(BatchEnded(walk.number, (), fault))
            return
        self._walkers[walk.number] = walker
        self._start_task(walker.run())

    def _start_batch(self, batch: TransferBatch) -> None:
        transport = transport_for(batch.site.scheme)
        work = run_batch(batch, transport, self._archive, self._connections, self.report)
        if transport.blocking:
            threading.Thread(target=lambda: asyncio.run(work), daemon=True).start()
        else:
            self._start_task(work)

    def _start_task(self, work: Coroutine[Any, Any, None]) -> None:
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


def main(pipe: Pipe, prefix: str, settings: ArchiveSettings, board: SharedNumbers) -> None:
    """Run a fetcher in this process. The names of its WARC files begin with `prefix`.

    `board` is shared memory in which the process shows the engine that it is alive.
    """
    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    open_archive = partial(
        ArchiveWriter, settings.folder, prefix, settings.limits, settings.rollover_size, settings.agent
    )
    archive, unarchived = open_archive(), open_archive(archived=False)
    if settings.sandbox:
        restrict_fetcher(settings.folder)
    gc.freeze()
    # Every host that is walked has a connection, so as many open files as possible are allowed.
    _, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard_limit, hard_limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    limit_memory(settings.limits.memory)
    heartbeat = Heartbeat(board)
    heartbeat.start()
    asyncio.run(_serve(pipe, archive, unarchived, heartbeat))
