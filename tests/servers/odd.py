"""A small web server that misbehaves: it trickles, breaks off, refuses, and never ends."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.servers.raw import asked_path, served

HEAD = "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nConnection: close\r\n"


@dataclass
class Odd:
    """A server and its requests: start, path, and end once it is over."""

    port: int = 0
    asked: list[list[object]] = field(default_factory=list)
    times: Counter[str] = field(default_factory=Counter)

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request, and close."""
        path = await asked_path(reader)
        line = [time.time(), path, None]
        self.asked.append(line)
        self.times[path] += 1
        try:
            await self._answer(path, writer)
        finally:
            line[2] = time.time()

    async def _answer(self, path: str, writer: asyncio.StreamWriter) -> None:
        first = path.split("/")[1]
        answer = getattr(self, f"_{first.partition('.')[0]}", None)
        if answer is None:
            await self._say(writer, "no such page", "404 Not Found")
        else:
            await answer(path, writer)

    async def _say(self, writer: asyncio.StreamWriter, body: str, status: str = "200 OK", more: str = "") -> None:
        content = body.encode()
        head = HEAD.format(status=status) + f"Content-Length: {len(content)}\r\n{more}\r\n"
        writer.write(head.encode() + content)
        await writer.drain()

    async def _cal(self, path: str, writer: asyncio.StreamWriter) -> None:
        """Show a month that links to the next, endlessly."""
        _, _, year, month, *_ = path.split("/")
        later = int(year) * 12 + int(month)
        await self._say(writer, f"<a href='/cal/{later // 12}/{later % 12 + 1:02}/'>next</a>")

    async def _session(self, path: str, writer: asyncio.StreamWriter) -> None:
        """Link to three pages, each time with another session's id."""
        number = next(_numbers)
        links = [f"<a href='/session/{page}?PHPSESSID={number:032x}'>{page}</a>" for page in "abc"]
        links += [f"<a href='/session/{page};jsessionid={number:032X}'>{page}</a>" for page in "cd"]
        await self._say(writer, "".join(links))

    async def _busy(self, path: str, writer: asyncio.StreamWriter) -> None:
        """Ask the first request to wait for a second."""
        if self.times[path] == 1 and path != "/busy/":
            await self._say(writer, "later", "429 Too Many Requests", "Retry-After: 1\r\n")
        else:
            await self._say(writer, "".join(f"<a href='/busy/{page}'>{page}</a>" for page in range(3)))

    async def _down(self, path: str, writer: asyncio.StreamWriter) -> None:
        """Answer with a server error."""
        await self._say(writer, "out of order", "503 Service Unavailable", "Retry-After: 1\r\n")

    async def _odd(self, path: str, writer: asyncio.StreamWriter) -> None:
        """Link to all pages that misbehave."""
        await self._say(writer, "".join(f"<a href='/{kind}/x'>{kind}</a>" for kind in STRANGE))

    async def _trickle(self, path: str, writer: asyncio.StreamWriter) -> None:
        """Send a byte now and then, endlessly."""
        writer.write(HEAD.format(status="200 OK").encode() + b"\r\n<a href='/unseen/1'>")
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.05)

    async def _silent(self, path: str, writer: asyncio.StreamWriter) -> None:
        """Send nothing."""
        await asyncio.sleep(20)

    async def _broken(self, path: str, writer: asyncio.StreamWriter) -> None:
        """Break off within the body."""
        writer.write(HEAD.format(status="200 OK").encode() + b"Content-Length: 5000\r\n\r\n<a href='/unseen/2'>")
        await writer.drain()

    async def _heads(self, path: str, writer: asyncio.StreamWriter) -> None:
        """Send header fields endlessly."""
        writer.write(HEAD.format(status="200 OK").encode())
        for number in itertools.count():
            writer.write(f"X-{number}: {'x' * 1000}\r\n".encode())
            await writer.drain()

    async def _field(self, path: str, writer: asyncio.StreamWriter) -> None:
        """Send one header field of a megabyte."""
        await self._say(writer, "<a href='/unseen/3'>", more=f"X-Long: {'x' * 1_000_000}\r\n")

    async def _babble(self, path: str, writer: asyncio.StreamWriter) -> None:
        """Send bytes that are not HTTP."""
        writer.write(b"hello, who is there?\r\n\r\n")
        await writer.drain()

    async def _endless(self, path: str, writer: asyncio.StreamWriter) -> None:
        """Send an endless body, as fast as it is read."""
        writer.write(HEAD.format(status="200 OK").encode() + b"\r\n<a href='/unseen/4'>")
        while True:
            writer.write(b"x" * 100_000)
            await writer.drain()

    async def _chunks(self, path: str, writer: asyncio.StreamWriter) -> None:
        """Send small chunks, well formed; what they link to is a page."""
        body = b"<a href='/sound/1'>one</a>" * 3
        parts = b"".join(b"1\r\n%c\r\n" % byte for byte in body)
        writer.write(
            HEAD.format(status="200 OK").encode() + b"Transfer-Encoding: chunked\r\n\r\n" + parts + b"0\r\n\r\n"
        )
        await writer.drain()

    async def _sound(self, path: str, writer: asyncio.StreamWriter) -> None:
        await self._say(writer, "a sound page")


STRANGE = ("trickle", "silent", "broken", "heads", "field", "babble", "endless", "chunks", "sound")
_numbers = itertools.count(0xABCDEF)


@contextmanager
def odd(address: str = "127.0.0.1", port: int = 0) -> Iterator[Odd]:
    """Run the server in a thread with a loop of its own."""
    server = Odd()
    with served(server.talk, (address,), port) as server.port:
        yield server
