"""Asking a web server over one plain line, as a crawler does, with as little work as that takes.

Every answer is an answer, whatever its status. A proxy is not for this: see `windrow.transports.visit`.
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from types import TracebackType
from typing import Self

from windrow.errors import TerminalFailure, TransientFailure, WindrowError
from windrow.formats.answer import AnswerHead, AnswerReader
from windrow.formats.coding import ASKED
from windrow.formats.http import read_head
from windrow.model import Site
from windrow.reasons import Reason
from windrow.transports.contract import Sink
from windrow.transports.dial import FAMILY, context
from windrow.transports.head import fields_of, pause
from windrow.transports.path import at, shown
from windrow.transports.reply import BARE, Bounds, Judge, Reply, Visiting
from windrow.transports.trouble import Foreign, network

REST = 15.0
"""Seconds after which a line is not used again: many servers and routers have forgotten it by then."""

_BLOCK = memoryview(bytearray(1 << 17))
"""Where bytes arrive: they are gone from it before another line of this process's one loop can get any."""

_CODING = re.compile(rb"\r\ntransfer-encoding[ \t]*:", re.IGNORECASE)
_SECRET = frozenset({"authorization", "proxy-authorization", "cookie"})
_PORT = {"http": 80, "https": 443}


class _Stale(Exception):
    """The line was closed at the other end before it was used again."""


class Line(asyncio.BufferedProtocol):
    """A connection; one question at a time."""

    def __init__(self) -> None:
        """Begin unconnected."""
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._reader: AnswerReader | None = None
        self._answered: asyncio.Future[None] | None = None
        self._alarm: asyncio.TimerHandle | None = None
        self._until = 0.0  # when an answer is late, or the line has rested long enough
        self._end = self._silence = 0.0  # when an answer is late at last, and how long nothing may come
        self.fresh = True
        self.usable = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 the shape of its kind
        """Say where to put what comes."""
        return _BLOCK

    def buffer_updated(self, nbytes: int) -> None:
        """Hand on what came."""
        reader = self._reader
        if reader is None:
            self.close()  # it speaks unasked
            return
        self._until = min(self._end, self._loop.time() + self._silence)
        try:
            reader.feed(_BLOCK[:nbytes])
        except (WindrowError, _Cut) as error:  # what the sink or the reader says is told to who asked
            self._finish(error)
            return
        if reader.done:
            self._finish(None)

    def eof_received(self) -> None:
        """Take the end of what the server says; nothing is left to say for us either."""
        self._lost(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Take the end of the line."""
        self._lost(exc)

    def _lost(self, error: Exception | None) -> None:
        self.usable = False
        reader = self._reader
        if reader is None:
            return
        if not self.fresh and not reader.begun:
            self._finish(_Stale())
            return
        why = error
        if why is None:
            try:
                reader.end()
            except WindrowError as fault:
                why = fault
        self._finish(why)

    def _finish(self, error: Exception | None) -> None:
        reader, answered = self._reader, self._answered
        self._reader = self._answered = None
        if reader is None or answered is None or answered.done():
            return
        if error is not None or not reader.keep:
            self.close()
        if error is not None:
            answered.set_exception(error)
        else:
            answered.set_result(None)

    async def ask(self, request: bytes, reader: AnswerReader, seconds: float, silence: float) -> None:
        """Send a request and wait until its answer is through: `seconds` at most, `silence` of them without a word."""
        assert self._transport is not None
        self._reader = reader
        self._answered = self._loop.create_future()
        now = self._loop.time()
        self._end, self._silence = now + seconds, silence
        self._until = min(self._end, now + silence)
        if self._alarm is None:
            self._alarm = self._loop.call_at(self._until, self._late)
        elif self._alarm.when() > self._until:
            self._alarm.cancel()
            self._alarm = self._loop.call_at(self._until, self._late)
        try:
            self._transport.write(request)
            await self._answered
        except BaseException:
            self._reader = None
            self.close()
            raise
        self.fresh = False
        self._until = self._loop.time() + REST

    def _late(self) -> None:
        """Look whether it is too late: one alarm serves many questions, since it is set anew only when it rings."""
        if self._loop.time() < self._until:
            self._alarm = self._loop.call_at(self._until, self._late)
            return
        self._alarm = None
        if self._reader is None:
            self.close()
        else:
            late = self._loop.time() >= self._end
            self._finish(TimeoutError("" if late else f"nothing came for {self._silence:g} seconds"))

    def close(self) -> None:
        """End the line at once."""
        self.usable = False
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if self._transport is not None:
            self._transport.abort()


class Straight:
    """A session with one origin over one line at a time."""

    def __init__(self, site: Site, judge: Judge) -> None:
        """Prepare; the line is opened when it is needed, to a number that `judge` does not refuse."""
        self._site = site
        self._judge = judge
        self._origin = replace(site, base="").address()
        fields = {"Host": self._origin.partition("://")[2], **fields_of(site), "Accept-Encoding": ASKED}
        self._fields = _lines(fields)
        self._public = _lines({name: value for name, value in fields.items() if name.lower() not in _SECRET})
        self._line: Line | None = None

    async def __aenter__(self) -> Self:
        """Return the session."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the line."""
        if self._line:
            self._line.close()

    async def visit(self, url: str, asked: Mapping[str, str], sink: Sink, bounds: Bounds) -> Reply:
        """Ask for a URL of this origin and put the answer's body into the sink, as it comes."""
        where = shown(url, 1000)
        if not url.startswith(f"{self._origin}/"):
            raise TerminalFailure(f"{where} is not at {self._origin}", Reason.POLICY_DENIED)
        first, last = f"GET {url[len(self._origin) :]} HTTP/1.1\r\n", _lines(asked) + "\r\n"
        kept = (first + self._public + last).encode()
        told = kept if self._public == self._fields else (first + self._fields + last).encode()
        taken = _Taken(sink, bounds, where, kept)
        try:
            await self._ask(told, taken, where, bounds.seconds)
        except TimeoutError as error:
            late = str(error) or f"no whole answer in {bounds.seconds:g} seconds"
            raise TransientFailure(f"{where}: {late}", Reason.TIMEOUT) from error
        except Foreign as error:
            raise network(error, where, open_line=self._line is not None) from error
        assert taken.head is not None
        fields = read_head(taken.head.text).fields
        after = fields.get("retry-after", "")
        return Reply(taken.head.status, fields, pause(after, datetime.now(UTC)) if after else None, taken.cut)

    async def _ask(self, told: bytes, taken: _Taken, where: str, seconds: float) -> None:
        """Send a request over the line that is open, or over a new one where it has gone stale."""
        while True:
            line = self._line
            if line is None or not line.usable:
                self._line = None
                async with asyncio.timeout(seconds):
                    line = self._line = await self._open()
            try:
                await line.ask(told, AnswerReader(where, taken.begin, taken.write), seconds, self._site.timeout)
            except _Stale:
                continue
            except _Cut:
                taken.cut = True
            return

    async def _open(self) -> Line:
        """Connect, trying each address of the host in turn."""
        site, loop = self._site, asyncio.get_running_loop()
        port = site.port or _PORT[site.scheme]
        found = await loop.getaddrinfo(site.host, port, family=FAMILY[site.family], type=socket.SOCK_STREAM)
        last: BaseException = OSError("the name has no address")
        for family, kind, number, _, address in found:
            if reason := self._judge(site.host, str(address[0])):
                raise TerminalFailure(f"{at(site)}: {address[0]}: {reason.meaning}", reason)
            line = socket.socket(family, kind, number)
            try:
                async with asyncio.timeout(site.timeout):
                    line.setblocking(False)
                    await loop.sock_connect(line, address)
                    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    secure = _secure(site.ca_bundle) if site.scheme == "https" else None
                    name = site.host if secure else None
                    _, made = await loop.create_connection(Line, sock=line, ssl=secure, server_hostname=name)
            except Foreign as error:
                line.close()
                last = error
            except BaseException:
                line.close()
                raise
            else:
                return made
        raise network(last, at(site), open_line=False) from last


class _Cut(Exception):
    """The body goes on beyond its bound."""


class _Taken:
    """Puts an answer into its sink, up to its bound."""

    __slots__ = ("_bounds", "_kept", "_sink", "_size", "_where", "cut", "head")

    def __init__(self, sink: Sink, bounds: Bounds, where: str, kept: bytes) -> None:
        self._sink, self._bounds, self._where, self._kept = sink, bounds, where, kept
        self._size = 0
        self.head: AnswerHead | None = None
        self.cut = False

    def begin(self, head: AnswerHead) -> None:
        self.head = head
        bounds, size = self._bounds, None if head.status in BARE else head.size
        self._sink.open(None if bounds.part else size, _spelt(head), self._kept)
        if size is not None and size > bounds.most and not bounds.part:
            self._refuse(size)

    def write(self, block: memoryview) -> None:
        self._size += len(block)
        over = self._size - self._bounds.most
        if over <= 0:
            self._sink.write(block)
            return
        if not self._bounds.part:
            self._refuse(self._size)
        self._sink.write(block[: len(block) - over])
        raise _Cut

    def _refuse(self, size: int) -> None:
        told = f"{self._where}: {size} bytes at least, {self._bounds.most} are allowed"
        raise TerminalFailure(told, Reason.TOO_LARGE)


def visitor(site: Site, judge: Judge) -> Visiting:
    """Return a session with an origin: over a line of our own, or through the site's proxy."""
    if not site.proxy:
        return Straight(site, judge)
    from windrow.transports.visit import Visitor  # noqa: PLC0415 its library takes long to load

    return Visitor(site, judge)


@lru_cache(maxsize=16)
def _secure(ca_bundle: str) -> ssl.SSLContext:
    """Return one context for all sites that trust the same certificates: each costs half a megabyte."""
    return context(Site("https", ca_bundle=ca_bundle))


def _spelt(head: AnswerHead) -> bytes:
    """Return a head as it is kept: as it came, unless the body's framing is gone or its lines end oddly."""
    text = head.text
    if text.count(b"\n") != text.count(b"\r\n"):
        text = text.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    if head.chunked:
        # Since the chunks are gone, it would lie.
        text = _CODING.sub(b"\r\nx-orig-transfer-encoding:", text)
    return text


def _lines(fields: Mapping[str, str]) -> str:
    """Spell fields; a value that would end its line is left out."""
    return "".join(f"{name}: {value}\r\n" for name, value in fields.items() if value.isprintable())
