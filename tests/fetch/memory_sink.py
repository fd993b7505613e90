"""A sink for the tests, and functions that run work on a connection."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

from windrow.fetch.transports import transport_for
from windrow.model import ListingEntry, Site


class MemorySink:
    """A sink that keeps what is written in memory."""

    def __init__(
        self, held: bytes = b"", validator: str = "", modified: datetime | None = None, listed: int | None = None
    ) -> None:
        self.content = bytearray(held)
        self.start = len(held)
        self.validator = validator
        self.modified = modified
        self.listed_size = listed
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


def run_connected(site: Site, work: Callable[[Any], Awaitable[Any]]) -> Any:
    """Connect to a site, run the work, close; return the work's result."""

    async def connect_and_work() -> Any:
        async with await transport_for(site.scheme).connect(site) as connection:
            return await work(connection)

    return asyncio.run(connect_and_work())


def list_entries(site: Site, folder: str) -> dict[str, ListingEntry]:
    """Return the entries of a folder by name; assert that no name comes twice."""
    listed = run_connected(site, lambda connection: connection.list(folder))
    by_name = {entry.name: entry for entry in listed}
    assert len(by_name) == len(listed)
    return by_name


def get_file(site: Site, path: str, sink: MemorySink | None = None) -> MemorySink:
    """Get one file into a sink, and return it."""
    sink = sink or MemorySink()
    run_connected(site, lambda connection: connection.get(path, sink))
    return sink
