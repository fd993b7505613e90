"""Pace: how soon a host may be asked again, whatever sources and connections lead to it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterable

from windrow.model import Site, Source

LONGEST = 900.0
"""Seconds of a pause that a walk sits out; a host that wants a longer one is left for this run."""

SHORTEST = 1.0
"""Seconds of a pause that is put on record, so that the next run holds it too; none begins sooner."""


def host(site: Site) -> str:
    """Name what is asked: a host, or a folder of this machine.

    >>> host(Site("sftp", "Drop.Example.org", 22)), host(Site("file", base="/held"))
    ('drop.example.org', '/held')
    """
    return site.host.lower() or site.base


def paces(sources: Iterable[Source]) -> dict[str, float]:
    """Return the seconds between two requests for each host: the strictest that its sources ask for."""
    found: dict[str, float] = {}
    for source in sources:
        name = host(source.site)
        found[name] = max(found.get(name, 0.0), source.pace)
    return found


class HostQueue:
    """The one line of waiting of a host: its origins, such as http and https, are asked one after another."""

    __slots__ = ("__weakref__", "_until", "lock")

    def __init__(self) -> None:
        """Begin with a host that nobody asked."""
        self.lock = asyncio.Lock()
        self._until = 0.0

    def left(self) -> float:
        """Return for how many seconds the host is still to be left alone."""
        return max(0.0, self._until - time.monotonic())

    def rest(self, seconds: float) -> None:
        """Leave the host alone for so long, whichever origin it was that made this necessary."""
        self._until = max(self._until, time.monotonic() + seconds)


class HostQueues:
    """Gives requests to a host their turn; used by every lane of one fetcher, from any thread.

    Since all lanes to a paced host run in one fetcher, its pace holds over all of them.
    """

    def __init__(self) -> None:
        """Begin with nobody asked."""
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
