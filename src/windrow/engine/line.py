"""Connections of a fetcher: one that a lane is done with rests, and the next lane to its site takes it up."""

from __future__ import annotations

import threading
import time

from windrow.model import Site
from windrow.transports import Connection

REST = 10.0
"""Seconds that a connection may rest before it is closed: logging in anew is dear, holding a line is rude."""


class Lines:
    """Connections at rest, by site; used from every lane's thread."""

    def __init__(self) -> None:
        """Begin with none."""
        self._resting: dict[Site, list[tuple[float, Connection]]] = {}
        self._lock = threading.Lock()

    def take(self, site: Site) -> Connection | None:
        """Return a connection that rests, if there is one; its server may have closed it meanwhile."""
        with self._lock:
            resting = self._resting.get(site)
            return resting.pop()[1] if resting else None

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
