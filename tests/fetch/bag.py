"""Sinks for the tests, and a way to run one piece of work on a connection."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

from windrow.fetch.transport import transport_for
from windrow.model import ListingEntry, Site


class Bag:
    """A sink that keeps everything in memory."""

    def __init__(
        self, held: bytes = b"", validator: str = "", modified: datetime | None = None, listed: int | None = None
    ) -> None:
        self.content = bytearray(held)
        self.start = len(held)
        self.validator = validator
        self.modified = modified
        self.listed = listed
        self.size: int | None = None
        self.head = self.request = b""
        self.opened = self.restarted = 0

    def open(self, size: int | None, head: bytes = b"", request: bytes = b"") -> None:
        self.size, self.head, self.request = size, head, request
        self.opened += 1

    def restart(self) -> None:
        self.content.clear()
        self.start = 0
        self.restarted += 1

    def write(self, block: bytes | memoryview) -> None:
        self.content += block


def on(site: Site, work: Callable[[Any], Awaitable[Any]]) -> Any:
    """Connect to a site, do the work, close; return what the work returned."""

    async def all_of_it() -> Any:
        async with await transport_for(site.scheme).connect(site) as connection:
            return await work(connection)

    return asyncio.run(all_of_it())


def entries(site: Site, folder: str) -> dict[str, ListingEntry]:
    """List a folder, by name; no name may come twice."""
    found = on(site, lambda connection: connection.list(folder))
    by_name = {entry.name: entry for entry in found}
    assert len(by_name) == len(found)
    return by_name


def got(site: Site, path: str, bag: Bag | None = None) -> Bag:
    """Get one file."""
    bag = bag or Bag()
    on(site, lambda connection: connection.get(path, bag))
    return bag
