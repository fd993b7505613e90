"""A web server with several hosts that sends prepared responses byte for byte."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.servers.raw import asked_path, served

GOOD, BAD = "127.0.0.2", "127.0.0.3"


def answer(body: bytes = b"", status: str = "200 OK", kind: str = "text/html", more: str = "") -> bytes:
    """Return a response as bytes."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n"
    return f"{head}{more}\r\n".encode("latin-1") + body


MISSING = answer(b"no such page", "404 Not Found")


@dataclass
class Answering:
    """A server: its port, and the requests to its hosts."""

    port: int = 0
    asked: list[tuple[str, str]] = field(default_factory=list)

    def origin(self, host: str) -> str:
        """Return the origin of a host."""
        return f"http://{host}:{self.port}"


@contextmanager
def serve_answers(
    answers: Mapping[tuple[str, str], bytes], hosts: tuple[str, ...] = (GOOD, BAD), keeps: frozenset[str] = frozenset()
) -> Iterator[Answering]:
    """Serve a response for each path of each host, else 404. After those of `keeps` the connection stays open."""
    server = Answering()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            path = await asked_path(reader)
            host = str(writer.get_extra_info("sockname")[0])
            server.asked.append((host, path))
            writer.write(answers.get((host, path), MISSING))
            await writer.drain()
            if path not in keeps:
                break

    with served(talk, hosts) as server.port:
        yield server
