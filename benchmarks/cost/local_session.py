"""A session of the engine within one process: fetchers and readers work in it, always in the same order.

Everything but the processes, their messages to each other, and the network is the engine's own code. The clock stands
still, so that nothing happens because time passed. This process answers for every host.
"""

from __future__ import annotations

import asyncio
import math
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial
from typing import Any
from unittest import mock

from windrow.archive import ArchiveWriter
from windrow.engine import session
from windrow.engine.crawl.archiving_client import ArchivingClient
from windrow.engine.crawl.walk import OriginCrawler, RecentUrls
from windrow.engine.fetchers.message import (
    ArchiveSettings,
    AttemptEnded,
    CrawlOrigin,
    Done,
    Event,
)
from windrow.engine.heartbeat import Heartbeat, board
from windrow.engine.listed.connection_pool import HostQueue
from windrow.engine.steps import settled_batches
from windrow.engine.steps.pool import AnyJob, Pool
from windrow.engine.steps.worker import JobRunner, WorkerConfig
from windrow.ledger import lease
from windrow.model import FetchJob

Serve = Callable[[str], bytes]
"""Returns the response, head and body, to a request for a path."""


class _LocalTransport(asyncio.Transport):
    """A connection to a server in this process: a request is answered in the next turn of the loop."""

    def __init__(self, protocol: asyncio.BufferedProtocol, serve: Serve) -> None:
        super().__init__()
        self._protocol = protocol
        self._serve = serve

    def write(self, chunk: Any) -> None:
        path = bytes(chunk).split(b" ", 2)[1].decode()
        asyncio.get_running_loop().call_soon(self._answer, self._serve(path))

    def _answer(self, answer: bytes) -> None:
        buffer: Any = self._protocol.get_buffer(-1)
        buffer[: len(answer)] = answer
        self._protocol.buffer_updated(len(answer))

    def abort(self) -> None:
        """Close; the protocol is not notified, since only the client closes a connection."""


class _Loop(asyncio.SelectorEventLoop):
    """An event loop whose connections lead to a server in this process, and for which no time passes."""

    def __init__(self, serve: Serve) -> None:
        super().__init__()
        self._serve = serve

    def time(self) -> float:
        return 0.0

    async def getaddrinfo(self, host: Any, port: Any, **_: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", ("127.0.0.1", port))]

    async def sock_connect(self, sock: socket.socket, address: Any) -> None:
        """Do not connect."""

    async def create_connection(  # type: ignore[override] # in the one form that is used here
        self, protocol_factory: Any, *_: Any, sock: Any, **__: Any
    ) -> Any:
        sock.close()
        protocol = protocol_factory()
        line = _LocalTransport(protocol, self._serve)
        protocol.connection_made(line)
        return line, protocol

    def end(self) -> None:
        """Let pending tasks end."""
        for task in asyncio.all_tasks(self):
            task.cancel()
            with suppress(asyncio.CancelledError):
                self.run_until_complete(task)
        self.close()


class _LocalCrew:
    """Crawlers in this process, run one after the other until each has sent all its requests."""

    def __init__(self, serve: Serve, keep: ArchiveSettings, _size: int) -> None:
        self._loop = _Loop(serve)
        prefix = f"windrow-{keep.session:06}-1"
        self._archive = ArchiveWriter(keep.folder, prefix, keep.limits, keep.rollover_size, keep.agent)
        self._heartbeat = Heartbeat(board())
        self._sightings = RecentUrls()
        self._walkers: dict[int, OriginCrawler] = {}
        self._walks: list[asyncio.Task[None]] = []
        self._events: list[Event] = []
        self._given = 0
        self._changed = asyncio.Event()

    def start_walk(self, walk: CrawlOrigin) -> None:
        reading = partial(self._heartbeat.reading, walk.number)
        asker = ArchivingClient(self._archive, walk.crawl.robots, walk.crawl.large, reading)
        walker = self._walkers[walk.number] = OriginCrawler(walk, asker, self._sightings, self._report, HostQueue())
        self._walks.append(self._loop.create_task(walker.run()))

    def submit(self, batch: int, jobs: Sequence[FetchJob]) -> None:
        self._given += len(jobs)
        self._walkers[batch].submit(tuple(jobs))

    def _report(self, event: Event) -> None:
        self._events.append(event)
        self._given -= isinstance(event, AttemptEnded) and bool(event.attempt.target)
        if not self._given:
            self._changed.set()

    def events(self, _timeout: float, _others: Sequence[object] = ()) -> list[Event]:
        if self._given:
            self._changed.clear()
            self._loop.run_until_complete(self._changed.wait())
            self._archive.sync()
        events, self._events = self._events, []
        return events

    def close(self, *, at_once: bool = False) -> None:
        del at_once
        if not self._loop.is_closed():
            self._loop.end()
            self._archive.close()


class _LocalPool(Pool):
    """A pool that reads in this process."""

    def __init__(self, config: WorkerConfig, size: int) -> None:
        super().__init__(config, size)
        self._runner = JobRunner(config)

    def run(
        self, jobs: Iterable[AnyJob], *, batch_size: int | None = None, pulse: Callable[[], object] | None = None
    ) -> Iterator[tuple[AnyJob, Done]]:
        del batch_size, pulse
        for job in jobs:
            yield job, Done(self._runner.run(job), 0.0)


def _stopped_clock() -> float:
    return 0.0


def no_server(path: str) -> bytes:
    """Raise on any request: for sessions that connect to nothing."""
    raise AssertionError(path)


@contextmanager
def local_sessions(serve: Serve = no_server) -> Iterator[None]:
    """Run the block's sessions wholly in this process."""
    with (
        mock.patch.object(session, "FetcherPool", partial(_LocalCrew, serve)),
        mock.patch.object(session, "Pool", _LocalPool),
        mock.patch.object(session, "warm_up"),
        mock.patch.object(time, "monotonic", _stopped_clock),
        mock.patch.object(
            lease, "LEASE_LENGTH", timedelta(days=365)
        ),  # it goes by the time of day, and is kept by beats
        mock.patch.object(settled_batches, "MAX_GATHER_SECONDS", math.inf),  # it has the clock from when it was loaded
    ):
        yield
