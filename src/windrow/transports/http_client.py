"""Asking a web server over one plain line, as a crawler does, with as little work as that takes.

Every answer is an answer, whatever its status. A proxy is not for this: see `windrow.transports.proxy_client`.
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

from windrow.errors import TerminalFailure, TransientFailure
from windrow.formats.answer import AnswerHead, AnswerReader
from windrow.formats.http import ASKED, read_head
from windrow.model import HttpRequest, Site
from windrow.reasons import Reason
from windrow.transports.contract import Sink
from windrow.transports.dial import FAMILY, allowed_addresses, context
from windrow.transports.head import fields_of, pause
from windrow.transports.http_connection import EnoughRead, HttpConnection, StaleConnection
from windrow.transports.path import at, behind, shown
from windrow.transports.reply import BARE, GET, CrawlClient, Reply, ReplyLimits, RequestBody
from windrow.transports.secret_sending import HidingSink, SentSecrets
from windrow.transports.trouble import Foreign, network

_FRAMING = re.compile(rb"\r\n(transfer-encoding|content-length)[ \t]*:", re.IGNORECASE)
_SECRET = frozenset({"authorization", "proxy-authorization", "cookie"})
_ASKED = f"Accept-Encoding: {ASKED}\r\n"
_PORT = {"http": 80, "https": 443}


class HttpClient:
    """A session with one origin over one line at a time."""

    def __init__(self, site: Site) -> None:
        """Prepare; the line is opened when it is needed."""
        self._site = site
        self._origin = replace(site, base="").address()
        fields = {"Host": self._origin.partition("://")[2], **fields_of(site), "Accept-Encoding": ASKED}
        self._fields = _lines(fields)
        self._public = _lines({name: value for name, value in fields.items() if name.lower() not in _SECRET})
        self._line: HttpConnection | None = None
        self.stale = 0

    async def __aenter__(self) -> Self:
        """Return the session."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the line."""
        if self._line:
            self._line.close()

    async def visit(
        self, url: str, asked: Mapping[str, str], sink: Sink, bounds: ReplyLimits, request: HttpRequest = GET,
        *, body: RequestBody | None = None, secrets: SentSecrets | None = None,
    ) -> Reply:  # fmt: skip
        """Ask for a URL of this origin and put the answer's body into the sink, as it comes.

        What may change something there is sent once only: over a line that is new, so that none can have gone stale.
        """
        where = shown(url, 1000)
        first, last = f"{request.method} {behind(self._origin, url)} HTTP/1.1\r\n", _lines(asked) + "\r\n"
        fields, public = self._fields, self._public
        sent = first
        if secrets:
            # What comes compressed could not be looked through on its way.
            public = public.replace(_ASKED, "Accept-Encoding: identity\r\n")
            fields = fields.replace(_ASKED, "Accept-Encoding: identity\r\n") + _lines(secrets.headers)
            sent = f"{request.method} {behind(self._origin, secrets.url(url))} HTTP/1.1\r\n"
        own = b"" if body else request.body
        if request.method != "GET":
            last = f"Content-Length: {body.size if body else len(own)}\r\n{last}"
            if self._line:
                self._line.close()
        kept = (first + public + last).encode() + own
        told = kept if public == fields and first == sent else (sent + fields + last).encode() + own
        hiding = HidingSink(sink, secrets) if secrets else None
        taken = _Taken(hiding or sink, bounds, where, kept)
        try:
            await self._ask(told, taken, where, bounds, body)
            if hiding:
                hiding.end()
        except TimeoutError as error:
            late = str(error) or f"no whole answer in {bounds.seconds:g} seconds"
            raise TransientFailure(f"{where}: {late}", Reason.TIMEOUT) from error
        except Foreign as error:
            raise network(error, where, open_line=self._line is not None) from error
        assert taken.head is not None
        came = read_head(secrets.hidden(taken.head.text) if secrets else taken.head.text).fields
        after = came.get("retry-after", "")
        return Reply(taken.head.status, came, pause(after, datetime.now(UTC)) if after else None, taken.cut)

    async def _ask(self, told: bytes, taken: _Taken, where: str, bounds: ReplyLimits, body: RequestBody | None) -> None:
        """Send a request over the line that is open, or over a new one where it has gone stale."""
        self.stale = 0
        while True:
            line = self._line
            if line is None or not line.usable:
                self._line = None
                async with asyncio.timeout(bounds.seconds):
                    line = self._line = await self._open()
                if not line.usable:
                    raise TransientFailure(f"{where}: the line ended before anything was asked", Reason.INTERRUPTED)
            reader, silence = AnswerReader(where, taken.begin, taken.write), bounds.silence or self._site.timeout
            try:
                await line.ask(told, reader, bounds.seconds, silence, body.blocks() if body else ())
            except StaleConnection:
                self.stale += 1
                continue
            except EnoughRead:
                taken.cut = True
            return

    async def _open(self) -> HttpConnection:
        """Connect, trying each address of the host in turn."""
        site, loop = self._site, asyncio.get_running_loop()
        port = site.port or _PORT[site.scheme]
        try:
            resolved = await loop.getaddrinfo(site.host, port, family=FAMILY[site.family], type=socket.SOCK_STREAM)
        except UnicodeError as error:
            raise network(error, at(site), open_line=False) from error
        last: BaseException = OSError("the name has no address")
        for family, kind, protocol, _, address in allowed_addresses(site, resolved):
            line = socket.socket(family, kind, protocol)
            try:
                async with asyncio.timeout(site.timeout):
                    line.setblocking(False)
                    await loop.sock_connect(line, address)
                    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    secure = _secure(site.ca_bundle) if site.scheme == "https" else None
                    name = site.host if secure else None
                    _, made = await loop.create_connection(HttpConnection, sock=line, ssl=secure, server_hostname=name)
            except Foreign as error:
                line.close()
                last = error
            except BaseException:
                line.close()
                raise
            else:
                return made
        raise network(last, at(site), open_line=False) from last


class _Taken:
    """Puts an answer into its sink, up to its bound."""

    __slots__ = ("_bounds", "_kept", "_sink", "_size", "_where", "cut", "head")

    def __init__(self, sink: Sink, bounds: ReplyLimits, where: str, kept: bytes) -> None:
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
        raise EnoughRead

    def _refuse(self, size: int) -> None:
        told = f"{self._where}: {size} bytes at least, {self._bounds.most} are allowed"
        raise TerminalFailure(told, Reason.TOO_LARGE)


def visitor(site: Site) -> CrawlClient:
    """Return a session with an origin: over a line of our own, or through the site's proxy."""
    if not site.proxy:
        return HttpClient(site)
    from windrow.transports.proxy_client import ProxyClient  # noqa: PLC0415 its library takes long to load

    return ProxyClient(site)


@lru_cache(maxsize=16)
def _secure(ca_bundle: str) -> ssl.SSLContext:
    """Return one context for all sites that trust the same certificates: each costs half a megabyte."""
    return context(Site("https", ca_bundle=ca_bundle))


def _spelt(head: AnswerHead) -> bytes:
    """Return a head as it is kept: as it came, unless the body's framing is gone or its lines end oddly."""
    text = head.text
    if text.count(b"\n") != text.count(b"\r\n"):
        text = text.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    if head.chunked:  # Since the chunks are gone, both would lie; a length beside chunks never counted.
        text = _FRAMING.sub(lambda found: b"\r\nx-orig-" + found[1].lower() + b":", text)
    return text


def _lines(fields: Mapping[str, str]) -> str:
    """Spell fields; a value that would end its line is left out."""
    return "".join(f"{name}: {value}\r\n" for name, value in fields.items() if value.isprintable())
