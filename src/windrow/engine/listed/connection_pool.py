"""Connections of a fetcher: kept open for the next transfer, and limited to the pace of their host."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Iterable

from windrow.engine.fetchers.message import TransferBatch
from windrow.fetch.transport import Connection, Sink, TransferEnd
from windrow.model import FetchJob, ListingEntry, Site, Source

LONGEST = 900.0
"""The longest pause in seconds that a walk waits for; a host that wants a longer one is given up for this run."""


def host(site: Site) -> str:
    """Return the name of a site's host, or its folder on this machine.

    >>> host(Site("sftp", "Drop.Example.org", 22)), host(Site("file", base="/held"))
    ('drop.example.org', '/held')
    """
    return site.host.lower() or site.base


def paces(sources: Iterable[Source]) -> dict[str, float]:
    """Return the seconds between two requests for each host: the strictest that its sources ask for."""
    host_paces: dict[str, float] = {}
    for source in sources:
        name = host(source.site)
        host_paces[name] = max(host_paces.get(name, 0.0), source.pace)
    return host_paces


class HostQueue:
    """The request queue of a host: its origins, such as http and https, are asked one after another."""

    __slots__ = ("__weakref__", "_until", "lock")

    def __init__(self) -> None:
        """Start with a host that was not asked yet."""
        self.lock = asyncio.Lock()
        self._until = 0.0

    def left(self) -> float:
        """Return the seconds until the host may be asked again."""
        return max(0.0, self._until - time.monotonic())

    def rest(self, seconds: float) -> None:
        """Pause all requests to the host, whichever of its origins asked for it."""
        self._until = max(self._until, time.monotonic() + seconds)


class HostQueues:
    """Gives requests to a host their turn; used by every batch of one fetcher, from any thread.

    Since all batches to a paced host run in one fetcher, its pace holds over all of them.
    """

    def __init__(self) -> None:
        """Start with no requests."""
        self._next: dict[str, float] = {}
        self._lock = threading.Lock()

    async def take(self, name: str, pace: float) -> None:
        """Wait until the host may be asked; the next one may ask `pace` seconds later."""
        if pace <= 0:
            return
        with self._lock:
            at = max(time.monotonic(), self._next.get(name, 0.0))
            self._next[name] = at + pace
        await asyncio.sleep(max(0.0, at - time.monotonic()))


Entries = list[ListingEntry] | None

REST = 10.0
"""Seconds after which an idle connection is closed: logging in again is slow, and idle connections cost the server."""


class RemainingJobs(deque[FetchJob]):
    """The remaining jobs of a batch; once halted it is false, and `len` still counts them."""

    halted = False

    def __bool__(self) -> bool:
        """Return whether a job may be taken."""
        return len(self) > 0 and not self.halted


class PacedConnection(Connection):
    """A connection that waits for its turn before each request."""

    def __init__(self, inner: Connection, queues: HostQueues, name: str, pace: float) -> None:
        """Ask over `inner`, not sooner than `pace` seconds after the last request to this host."""
        self._connection = inner
        self._queues = queues
        self._name = name
        self._pace = pace

    async def list(self, folder: str) -> Entries:
        """List a folder once the host may be asked."""
        await self._queues.take(self._name, self._pace)
        return await self._connection.list(folder)

    async def get(self, path: str, sink: Sink) -> TransferEnd:
        """Get a file once the host may be asked."""
        await self._queues.take(self._name, self._pace)
        return await self._connection.get(path, sink)

    async def close(self) -> None:
        """Close the inner connection."""
        await self._connection.close()


class ConnectionPool:
    """Idle connections by site, and the remaining jobs of each batch; used from every batch's thread."""

    def __init__(self) -> None:
        """Start without connections."""
        self._queues = HostQueues()
        self._working: dict[int, RemainingJobs] = {}
        self._halted = False
        self._idle: dict[Site, list[tuple[float, Connection]]] = {}
        self._lock = threading.Lock()

    def take(self, site: Site) -> Connection | None:
        """Return an idle connection, or None; its server may have closed it meanwhile."""
        with self._lock:
            idle = self._idle.get(site)
            return idle.pop()[1] if idle else None

    def begin(self, batch: TransferBatch) -> RemainingJobs:
        """Register a batch, and return its jobs."""
        rest = RemainingJobs(batch.jobs)
        with self._lock:
            rest.halted = self._halted
            self._working[batch.number] = rest
        return rest

    def end(self, batch: TransferBatch) -> None:
        """Forget a batch."""
        with self._lock:
            self._working.pop(batch.number, None)

    def halt(self) -> None:
        """Let every batch finish its current jobs and start no others."""
        with self._lock:
            self._halted = True
            for jobs in self._working.values():
                jobs.halted = True

    def paced(self, batch: TransferBatch, connection: Connection) -> Connection:
        """Return the connection, limited to the batch's pace."""
        return PacedConnection(connection, self._queues, host(batch.site), batch.pace) if batch.pace else connection

    def give(self, site: Site, connection: Connection) -> None:
        """Put a working connection back, to be used again."""
        with self._lock:
            self._idle.setdefault(site, []).append((time.monotonic(), connection))

    async def drop(self, site: Site) -> None:
        """Close one connection to a site, which another process takes over."""
        with self._lock:
            idle = self._idle.get(site)
            connection = idle.pop(0)[1] if idle else None
        if connection is not None:
            await connection.close()

    async def close(self, age: float = 0.0) -> None:
        """Close connections idle for at least `age` seconds."""
        until = time.monotonic() - age
        with self._lock:
            expired = [connection for row in self._idle.values() for since, connection in row if since <= until]
            if expired:
                for site, row in self._idle.items():
                    self._idle[site] = [pair for pair in row if pair[0] > until]
        for connection in expired:
            await connection.close()
