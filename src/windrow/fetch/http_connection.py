"""A connection to a web server: how it is opened, through a proxy or not, and one question at a time over it.

An answer takes no more work than there are bytes in it. The guard judges every number that is dialled, but for those of
a proxy: its owner named it.
"""

from __future__ import annotations

import asyncio
import base64
import math
import socket
import ssl
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple, Self
from urllib.parse import unquote, urlsplit

from windrow.errors import TerminalFailure, TransientFailure, WindrowError
from windrow.fetch.dial import (
    FAMILY,
    Foreign,
    ResolvedAddress,
    allowed_addresses,
    context,
    network,
    refuse_behind_proxy,
)
from windrow.fetch.transport import at
from windrow.formats.answer import AnswerHead, AnswerReader
from windrow.model import Site
from windrow.reasons import Reason

REST = 15.0
"""Seconds after which a line is not used again: many servers and routers have forgotten it by then."""

_BLOCK = memoryview(bytearray(1 << 17))
"""Where bytes arrive: they are gone from it before another line of this process's one loop can get any."""


ATTEMPT_DELAY = 0.25
"""Seconds after which the next address is tried beside one that is silent (RFC 8305, section 5)."""

_PORTS = {"http": 80, "https": 443}


class StaleConnection(Exception):
    """The line was closed at the other end before it was used again."""


class EnoughRead(Exception):
    """What takes an answer wants no more of it."""


class HttpConnection(asyncio.BufferedProtocol):
    """A connection; one question at a time. Whoever asks looks first whether it is `usable`."""

    def __init__(self) -> None:
        """Begin unconnected."""
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._reader: AnswerReader | None = None
        self._answered: asyncio.Future[None] | None = None
        self._alarm: asyncio.TimerHandle | None = None
        self._until = 0.0  # when an answer is late, or the line has rested long enough
        self._end = self._silence = 0.0  # when an answer is late at last, and how long nothing may come
        self._full: asyncio.Future[None] | None = None  # as long as the other end takes no more
        self.fresh = True
        self.usable = True

    def pause_writing(self) -> None:
        """Note that what is to be sent piles up."""
        self._full = self._loop.create_future()

    def resume_writing(self) -> None:
        """Note that it is sent."""
        if self._full is not None and not self._full.done():
            self._full.set_result(None)
        self._full = None

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
        except (WindrowError, EnoughRead) as error:  # what the sink or the reader says is told to who asked
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
        self.resume_writing()
        reader = self._reader
        if reader is None:
            return
        if not self.fresh and not reader.begun:
            self._finish(StaleConnection())
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
        self.resume_writing()  # who sends looks whether it is of use
        if reader is None or answered is None or answered.done():
            return
        if error is not None or not reader.keep:
            self.close()
        if error is not None:
            answered.set_exception(error)
        else:
            answered.set_result(None)

    async def ask(
        self, request: bytes, reader: AnswerReader, seconds: float, silence: float, body: Iterable[bytes] = ()
    ) -> None:
        """Send a request, and the blocks of its body, and wait until its answer is through.

        That takes `seconds` at most, `silence` of them without a word or a block that goes out.
        """
        assert self._transport is not None
        self._reader = reader
        answered = self._answered = self._loop.create_future()
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
            for block in body:
                self._transport.write(block)
                await (self._full or asyncio.sleep(0))
                if answered.done():
                    self.close()  # it was answered before all was sent: the rest would be taken for another question
                    break
                self._until = min(self._end, self._loop.time() + silence)
            await answered
        except BaseException:
            self._reader = None
            self.close()
            raise
        self.fresh = False
        self._until = self._loop.time() + REST

    def lift_deadline(self) -> None:
        """Let the rest of an answer take as long as it will, while something comes."""
        self._end = math.inf
        self._until = self._loop.time() + self._silence

    async def start_tls(self, context: ssl.SSLContext, host: str, seconds: float) -> None:
        """Encrypt what comes and goes from now on; the other end shows a certificate of `host` within some seconds.

        The connection is closed where that fails.
        """
        assert self._transport is not None
        self._cancel_alarm()  # a handshake may take longer than a connection rests
        transport = None
        try:
            if self.usable:
                async with asyncio.timeout(seconds):
                    # Its own limit comes later, since it would not be told as a timeout.
                    transport = await self._loop.start_tls(
                        self._transport, self, context, server_hostname=host, ssl_handshake_timeout=2 * seconds
                    )
        except BaseException:
            self.close()
            raise
        if transport is None or not self.usable:
            self.close()
            raise ConnectionResetError("the connection ended before it was encrypted")
        self._transport, self.fresh = transport, True

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
        self._cancel_alarm()
        if self._transport is not None:
            self._transport.abort()

    def _cancel_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None


async def connect_web(site: Site) -> HttpConnection:
    """Connect to a web site, or to its proxy and through that to the site; encrypted where its scheme is https.

    Each address has `site.timeout` seconds to take the connection, and each TLS handshake as many. The certificates
    that `ca_bundle` names are those that sites and proxies are believed by.
    """
    port = site.port or _PORTS[site.scheme]
    tls = context(site) if site.scheme == "https" else None
    try:
        if site.proxy:
            connection = await _connect_through_proxy(site, port, tls)
        else:
            addresses = allowed_addresses(site, await _resolve(site.host, port, site.address_family))
            connection = await _connect_any(addresses, site.timeout, tls, site.host)
    except (*Foreign, UnicodeError) as error:
        raise network(error, at(site), open_line=False) from error
    if not connection.usable:
        raise TransientFailure(f"{at(site)}: the line ended before anything was asked", Reason.INTERRUPTED)
    return connection


async def _connect_through_proxy(site: Site, port: int, tls: ssl.SSLContext | None) -> HttpConnection:
    refuse_behind_proxy(site)
    proxy = HttpProxy.of(site)
    addresses = await _resolve(proxy.host, proxy.port, site.address_family)
    proxy_tls = context(site) if proxy.encrypted else None
    connection = await _connect_any(addresses, site.timeout, proxy_tls, proxy.host)
    if tls:
        await _tunnel(connection, site, port, proxy)
        await connection.start_tls(tls, site.host, site.timeout)
    return connection


class HttpProxy(NamedTuple):
    """Where a site's proxy is; `authorization` is the value of the field Proxy-Authorization, or empty."""

    host: str
    port: int
    encrypted: bool
    authorization: str

    @classmethod
    def of(cls, site: Site) -> Self:
        """Read `site.proxy`; NO_TRANSPORT where it is no address of an HTTP proxy."""
        try:
            parts = urlsplit(site.proxy)
            usual_port = _PORTS[parts.scheme]
            port = parts.port or usual_port
        except (ValueError, KeyError):
            parts, port = urlsplit(""), 0
        if not parts.hostname:
            message = f"{at(site)}: its proxy is neither http://HOST:PORT nor https://HOST:PORT"
            raise TerminalFailure(message, Reason.NO_TRANSPORT, hint="windrow config")
        authorization = ""
        if parts.username is not None:
            word = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            authorization = f"Basic {base64.b64encode(word.encode()).decode()}"
        return cls(parts.hostname, port, parts.scheme == "https", authorization)


async def _resolve(host: str, port: int, family: str) -> Sequence[ResolvedAddress]:
    loop = asyncio.get_running_loop()
    return await loop.getaddrinfo(host, port, family=FAMILY[family], type=socket.SOCK_STREAM)


async def _connect_any(
    addresses: Sequence[ResolvedAddress], seconds: float, tls: ssl.SSLContext | None, host: str
) -> HttpConnection:
    """Connect to the first address that answers (RFC 8305), and encrypt the connection where there is a context.

    The next address is tried where one failed, and beside one that is silent for `ATTEMPT_DELAY`.
    """
    waiting = deque(_alternate_families(addresses))
    attempts: set[asyncio.Task[HttpConnection]] = set()
    failure: BaseException = OSError("the name has no address")
    try:
        while waiting or attempts:
            if waiting:
                attempts.add(asyncio.create_task(_connect(waiting.popleft(), seconds)))
            delay = ATTEMPT_DELAY if waiting else None
            done, _ = await asyncio.wait(attempts, timeout=delay, return_when=asyncio.FIRST_COMPLETED)
            for attempt in done:
                attempts.remove(attempt)
                try:
                    connection = attempt.result()
                    if tls:
                        await connection.start_tls(tls, host, seconds)
                except Foreign as error:
                    failure = error
                else:
                    return connection
    finally:
        for attempt in attempts:
            attempt.cancel()
            attempt.add_done_callback(_close_unused)
    raise failure


async def _connect(address: ResolvedAddress, seconds: float) -> HttpConnection:
    """Connect to one address."""
    family, kind, protocol, _, where = address
    loop = asyncio.get_running_loop()
    line = socket.socket(family, kind, protocol)
    try:
        line.setblocking(False)
        async with asyncio.timeout(seconds):
            await loop.sock_connect(line, where)
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _, connection = await loop.create_connection(HttpConnection, sock=line)
    except BaseException:
        line.close()
        raise
    return connection


def _close_unused(attempt: asyncio.Task[HttpConnection]) -> None:
    """Close what was connected beside the connection that is used."""
    if not attempt.cancelled() and attempt.exception() is None:
        attempt.result().close()


def _alternate_families(addresses: Sequence[ResolvedAddress]) -> Iterator[ResolvedAddress]:
    """Yield addresses of both families in turn, as RFC 8305, section 4, has it; that of the first address begins."""
    first = [address for address in addresses if address[0] == addresses[0][0]]
    other = [address for address in addresses if address[0] != addresses[0][0]]
    for pair in zip_longest(first, other):
        yield from filter(None, pair)


async def _tunnel(connection: HttpConnection, site: Site, port: int, proxy: HttpProxy) -> None:
    """Have a proxy connect to the site (RFC 9110, section 9.3.6)."""
    where = f"{at(site)}: its proxy"
    target = f"[{site.host}]:{port}" if ":" in site.host else f"{site.host}:{port}"

    def begin(head: AnswerHead) -> None:
        if head.status == 407:
            raise TerminalFailure(f"{where} answers 407", Reason.LOGIN_FAILED)
        if not 200 <= head.status < 300:
            raise TransientFailure(f"{where} answers {head.status}", Reason.CONNECT_FAILED)

    def write(block: memoryview) -> None:
        """Take no body: success has none."""

    reader = AnswerReader(where, begin, write, connect=True)
    authorization = f"Proxy-Authorization: {proxy.authorization}\r\n" if proxy.authorization else ""
    request = f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{authorization}\r\n"
    await connection.ask(request.encode(), reader, site.timeout, site.timeout)
    if not reader.keep:
        # As plain text it would be taken for words of the site, which has to prove first who it is.
        raise TerminalFailure(f"{where} speaks before the TLS handshake", Reason.PROTOCOL_ERROR)
