"""A web server with several hosts that gives whole answers as they are written down, byte for byte."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

GOOD, BAD = "127.0.0.2", "127.0.0.3"


def answer(body: bytes = b"", status: str = "200 OK", kind: str = "text/html", more: str = "") -> bytes:
    """Write an answer down."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n"
    return f"{head}{more}\r\n".encode("latin-1") + body


MISSING = answer(b"no such page", "404 Not Found")


@dataclass
class Answering:
    """A server: its port, and what its hosts were asked."""

    port: int = 0
    asked: list[tuple[str, str]] = field(default_factory=list)

    def origin(self, host: str) -> str:
        """Return the origin of a host."""
        return f"http://{host}:{self.port}"


@contextmanager
def answering(
    answers: Mapping[tuple[str, str], bytes], hosts: tuple[str, ...] = (GOOD, BAD), keeps: frozenset[str] = frozenset()
) -> Iterator[Answering]:
    """Give each path of each host its answer; others are missing. After those of `keeps` the line stays open."""
    made = Answering()
    ready, over = threading.Event(), asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while True:
                path = (await reader.readuntil(b"\r\n\r\n")).split(b" ")[1].decode()
                host = str(writer.get_extra_info("sockname")[0])
                made.asked.append((host, path))
                writer.write(answers.get((host, path), MISSING))
                await writer.drain()
                if path not in keeps:
                    break
        writer.close()

    async def serve() -> None:
        loops.append(asyncio.get_running_loop())
        first = await asyncio.start_server(talk, hosts[0], 0)
        made.port = first.sockets[0].getsockname()[1]
        servers = [first, *[await asyncio.start_server(talk, host, made.port) for host in hosts[1:]]]
        ready.set()
        await over.wait()
        for server in servers:
            server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await asyncio.sleep(0.05)

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    ready.wait(10)
    try:
        yield made
    finally:
        loops[0].call_soon_threadsafe(over.set)
        thread.join(10)
