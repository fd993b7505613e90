"""A web server with several hosts that gives whole answers as they are written down, byte for byte."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.servers.raw import asked_path, served

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

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            path = await asked_path(reader)
            host = str(writer.get_extra_info("sockname")[0])
            made.asked.append((host, path))
            writer.write(answers.get((host, path), MISSING))
            await writer.drain()
            if path not in keeps:
                break

    with served(talk, hosts) as made.port:
        yield made
