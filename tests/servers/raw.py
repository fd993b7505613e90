"""Shared by small web servers: a thread with its own event loop, and reading the path of a request."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress

from tests.waiting import PATIENCE

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
BROKEN = (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError)
"""Exceptions with which a connection may end without harm."""


async def asked_path(reader: asyncio.StreamReader) -> str:
    """Read the head of a request and return its path."""
    return (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split(" ")[1]


@contextmanager
def served(talk: Talk, addresses: tuple[str, ...], port: int = 0) -> Iterator[int]:
    """Listen on one port of every address, and yield that port."""
    ready, over = threading.Event(), asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []
    ports: list[int] = []

    async def guarded(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(*BROKEN):
            try:
                await talk(reader, writer)
            finally:
                writer.close()

    async def serve() -> None:
        loops.append(asyncio.get_running_loop())
        first = await asyncio.start_server(guarded, addresses[0], port)
        ports.append(first.sockets[0].getsockname()[1])
        servers = [first, *[await asyncio.start_server(guarded, address, ports[0]) for address in addresses[1:]]]
        ready.set()
        await over.wait()
        for server in servers:
            server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await asyncio.sleep(0.05)

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert ready.wait(PATIENCE)
    try:
        yield ports[0]
    finally:
        loops[0].call_soon_threadsafe(over.set)
        thread.join(PATIENCE)
