"""The connections of a fetcher, which stay open for the next batch, and the pauses between requests to a host."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Iterable

from windrow.engine.fetchers.message import TransferBatch
from windrow.fetch.transport import Connection, Sink, TransferEnd
from windrow.model import FetchJob, ListingEntry, Site, Source

MAX_WALK_PAUSE = 900.0
"""The longest pause of a walk, in seconds. A longer one ends the walk: this run does not request the origin again."""


def host_name(site: Site) -> str:
    """Return the name of a site's host in lower case, or the site's folder if the site is on this machine.

    >>> host_name(Site("sftp", "Drop.Example.org", 22)), host_name(Site("file", base="/held"))
    ('drop.example.org', '/held')
    """
    return site.host.lower() or site.base


def paces_by_host(sources: Iterable[Source]) -> dict[str, float]:
    """Return the minimum time between two requests to each host, in seconds: the longest `pace` of its sources."""
    host_paces: dict[str, float] = {}
    for source in sources:
        name = host_name(source.site)
        host_paces[name] = max(host_paces.get(name, 0.0), source.pace)
    return host_paces


class HostQueue:
    """Makes walks of origins with the same host name, such as http and https, take turns, and pauses all of them."""

    __slots__ = ("__weakref__", "_until", "lock")

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self._until = 0.0

    def remaining(self) -> float:
        """Return the seconds until the origins may be requested again, or 0 if they may be requested now."""
        return max(0.0, self._until - time.monotonic())

    def pause(self, seconds: float) -> None:
        """Pause all walks of the origins for `seconds` from now on. A longer pause is not shortened."""
        self._until = max(self._until, time.monotonic() + seconds)


class RequestPacer:
    """Delays the requests of all batches of a fetcher, in any thread, so that the pace of each host is kept."""

    def __init__(self) -> None:
        self._next_turn: dict[str, float] = {}  # the earliest time of a host's next request (time.monotonic), by host
        self._lock = threading.Lock()

    async def wait_turn(self, name: str, pace: float) -> None:
        """Wait for the turn of the host `name`. Its next turn is `pace` seconds later. If `pace` is 0, do not wait."""
        if pace <= 0:
            return
        with self._lock:
            turn = max(time.monotonic(), self._next_turn.get(name, 0.0))
            self._next_turn[name] = turn + pace
        await asyncio.sleep(max(0.0, turn - time.monotonic()))


Entries = list[ListingEntry] | None
"""The entries of a folder, or None if the folder does not exist."""

MAX_IDLE_SECONDS = 10.0
"""The time after which an idle connection is closed, in seconds.

Opening a connection takes time, but idle connections burden servers.
"""


class RemainingJobs(deque[FetchJob]):
    """The remaining jobs of a batch.

    Once `halted` is set, the object counts as false even if jobs remain, since they must not be started.
    """

    halted = False

    def __bool__(self) -> bool:
        return len(self) > 0 and not self.halted


class PacedConnection(Connection):
    """A connection that waits before each request until its host may be requested."""

    def __init__(self, inner: Connection, pacer: RequestPacer, name: str, pace: float) -> None:
        """`pace` is the minimum time between two requests to the host `name`, in seconds."""
        self._connection = inner
        self._pacer = pacer
        self._name = name
        self._pace = pace

    async def list(self, folder: str) -> Entries:
        """List a folder once the host may be requested."""
        await self._pacer.wait_turn(self._name, self._pace)
        return await self._connection.list(folder)

    async def get(self, path: str, sink: Sink) -> TransferEnd:
        """Get a file once the host may be requested."""
        await self._pacer.wait_turn(self._name, self._pace)
        return await self._connection.get(path, sink)

    async def close(self) -> None:
        """Close the inner connection."""
        await self._connection.close()


class ConnectionPool:
    """The idle connections to each site, and the remaining jobs of each batch. Threads of several batches use it."""

    def __init__(self) -> None:
        self._pacer = RequestPacer()
        self._remaining_jobs: dict[int, RemainingJobs] = {}  # by batch
        self._halted = False
        self._idle: dict[Site, list[tuple[float, Connection]]] = {}  # (idle since, connection)
        self._lock = threading.Lock()

    def take_idle(self, site: Site) -> Connection | None:
        """Return an idle connection to a site, or None if there is none. The server may have closed it meanwhile."""
        with self._lock:
            idle = self._idle.get(site)
            return idle.pop()[1] if idle else None

    def register_batch(self, batch: TransferBatch) -> RemainingJobs:
        """Register a batch, so that `halt` reaches it. Return its jobs, which the caller removes one by one."""
        jobs = RemainingJobs(batch.jobs)
        with self._lock:
            jobs.halted = self._halted
            self._remaining_jobs[batch.number] = jobs
        return jobs

    def forget_batch(self, batch: TransferBatch) -> None:
        """Forget the jobs of a batch that has ended."""
        with self._lock:
            self._remaining_jobs.pop(batch.number, None)

    def halt(self) -> None:
        """Let every batch finish the jobs that have begun, and not begin any other job."""
        with self._lock:
            self._halted = True
            for jobs in self._remaining_jobs.values():
                jobs.halted = True

    def paced(self, batch: TransferBatch, connection: Connection) -> Connection:
        """Return `connection`, limited to the pace of the batch, or unchanged if the batch has no pace."""
        return PacedConnection(connection, self._pacer, host_name(batch.site), batch.pace) if batch.pace else connection

    def give_back(self, site: Site, connection: Connection) -> None:
        """Keep a working connection open for the site's next batch."""
        with self._lock:
            self._idle.setdefault(site, []).append((time.monotonic(), connection))

    async def close_one(self, site: Site) -> None:
        """Close the oldest idle connection to a site, if there is one, since another process gets the next batch."""
        with self._lock:
            idle = self._idle.get(site)
            connection = idle.pop(0)[1] if idle else None
        if connection is not None:
            await connection.close()

    async def close(self, age: float = 0.0) -> None:
        """Close the connections that have been idle for at least `age` seconds."""
        latest_start = time.monotonic() - age
        with self._lock:
            expired = [
                connection for idle in self._idle.values() for since, connection in idle if since <= latest_start
            ]
            if expired:
                for site, idle in self._idle.items():
                    self._idle[site] = [(since, connection) for since, connection in idle if since > latest_start]
        for connection in expired:
            await connection.close()
