"""Connections of a fetcher: one that a lane is done with rests, and the next lane to its site takes it up."""

from __future__ import annotations

import threading
import time
from collections import deque

from windrow.engine.message import TransferBatch
from windrow.engine.pace import HostQueues, host
from windrow.model import FetchRequest, ListingEntry, Site
from windrow.transports import Connection
from windrow.transports.contract import Sink, TransferEnd

Entries = list[ListingEntry] | None

REST = 10.0
"""Seconds that a connection may rest before it is closed: logging in anew is dear, holding a line is rude."""


class RemainingOrders(deque[FetchRequest]):
    """What is left of a lane; once halted it seems empty to who takes from it, and can still be counted."""

    halted = False

    def __bool__(self) -> bool:
        """Tell whether there is something to take."""
        return len(self) > 0 and not self.halted


class PacedConnection(Connection):
    """A connection that waits for its turn before each request."""

    def __init__(self, inner: Connection, turns: HostQueues, name: str, pace: float) -> None:
        """Ask over `inner`, not sooner than `pace` seconds after the last request to this host."""
        self._inner = inner
        self._turns = turns
        self._name = name
        self._pace = pace

    async def list(self, folder: str) -> Entries:
        """List a folder when it is time."""
        await self._turns.take(self._name, self._pace)
        return await self._inner.list(folder)

    async def get(self, path: str, sink: Sink) -> TransferEnd:
        """Get a file when it is time."""
        await self._turns.take(self._name, self._pace)
        return await self._inner.get(path, sink)

    async def close(self) -> None:
        """Say goodbye."""
        await self._inner.close()


class ConnectionPool:
    """Connections at rest, by site, and what is left of each lane; used from every lane's thread."""

    def __init__(self) -> None:
        """Begin with none."""
        self._turns = HostQueues()
        self._working: dict[int, RemainingOrders] = {}
        self._halted = False
        self._resting: dict[Site, list[tuple[float, Connection]]] = {}
        self._lock = threading.Lock()

    def take(self, site: Site) -> Connection | None:
        """Return a connection that rests, if there is one; its server may have closed it meanwhile."""
        with self._lock:
            resting = self._resting.get(site)
            return resting.pop()[1] if resting else None

    def begin(self, lane: TransferBatch) -> RemainingOrders:
        """Take up a lane, and return what is to be got over it."""
        rest = RemainingOrders(lane.orders)
        with self._lock:
            rest.halted = self._halted
            self._working[lane.number] = rest
        return rest

    def end(self, lane: TransferBatch) -> None:
        """Forget a lane."""
        with self._lock:
            self._working.pop(lane.number, None)

    def halt(self) -> None:
        """Let every lane finish what it is at, and begin nothing more."""
        with self._lock:
            self._halted = True
            for rest in self._working.values():
                rest.halted = True

    def paced(self, lane: TransferBatch, connection: Connection) -> Connection:
        """Return a connection that keeps the lane's pace."""
        return PacedConnection(connection, self._turns, host(lane.site), lane.pace) if lane.pace else connection

    def give(self, site: Site, connection: Connection) -> None:
        """Let a sound connection rest."""
        with self._lock:
            self._resting.setdefault(site, []).append((time.monotonic(), connection))

    async def drop(self, site: Site) -> None:
        """Close one connection to a site, which another process takes over."""
        with self._lock:
            resting = self._resting.get(site)
            one = resting.pop(0)[1] if resting else None
        if one is not None:
            await one.close()

    async def close(self, age: float = 0.0) -> None:
        """Close what has rested for `age` seconds."""
        until = time.monotonic() - age
        with self._lock:
            old = [one for row in self._resting.values() for since, one in row if since <= until]
            if old:
                for site, row in self._resting.items():
                    self._resting[site] = [pair for pair in row if pair[0] > until]
        for one in old:
            await one.close()
