"""Connections to web servers, direct or through a proxy, with one request at a time.

The guard checks every IP address except that of a proxy, which the configuration names.
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
    NETWORK_ERRORS,
    SOCKET_FAMILIES,
    ResolvedAddress,
    allowed_addresses,
    map_network_error,
    refuse_behind_proxy,
    tls_context,
)
from windrow.fetch.politeness.guard import is_loopback
from windrow.fetch.transport import public_address
from windrow.formats.http_response import ResponseHead, ResponseReader
from windrow.model import Site
from windrow.reasons import Reason

MAX_IDLE_SECONDS = 15.0
"""The time after which an idle connection is closed, in seconds. Many servers and routers have closed it by then."""

_RECEIVE_BUFFER = memoryview(bytearray(1 << 17))
"""The receive buffer of all connections. Received bytes are processed before another connection can receive."""

ATTEMPT_DELAY_SECONDS = 0.25
"""The time after which the next IP address is tried as well, in seconds (RFC 8305, section 5)."""

_DEFAULT_PORTS = {"http": 80, "https": 443}


class StaleConnection(Exception):
    """The server closed a connection that was used before, and sent nothing in response to the next request."""


class StopReading(Exception):
    """Raised while a response is received, to stop receiving it."""


class HttpConnection(asyncio.BufferedProtocol):
    """A connection for one request at a time. Before each request, the caller checks `is_usable`."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._reader: ResponseReader | None = None
        self._response_done: asyncio.Future[None] | None = None
        self._alarm: asyncio.TimerHandle | None = None
        # `_deadline`: when a request without more data fails, or an idle connection is closed. `_last_deadline`: when
        # the whole response must be complete. Both are times of the event loop. `_silence`: the longest time without
        # data, in seconds.
        self._deadline = self._last_deadline = self._silence = 0.0
        self._buffer_freed: asyncio.Future[None] | None = None  # is set while the send buffer is full
        self.is_fresh = True  # whether no request has been completed since it was opened
        self.is_usable = True

    def pause_writing(self) -> None:
        """Make `exchange` wait, since the send buffer is full."""
        self._buffer_freed = self._loop.create_future()

    def resume_writing(self) -> None:
        """Let `exchange` continue, since the send buffer has room."""
        if self._buffer_freed is not None and not self._buffer_freed.done():
            self._buffer_freed.set_result(None)
        self._buffer_freed = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport. It is called by asyncio."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 part of the interface
        """Return the receive buffer."""
        return _RECEIVE_BUFFER

    def buffer_updated(self, nbytes: int) -> None:
        """Pass received bytes to the reader of the response. Without an open request, close the connection instead."""
        reader = self._reader
        if reader is None:
            self.close()  # the server sent data without a request
            return
        self._deadline = min(self._last_deadline, self._loop.time() + self._silence)
        try:
            reader.feed(_RECEIVE_BUFFER[:nbytes])
        except (WindrowError, StopReading) as error:  # errors of the sink or the reader end the request
            self._finish(error)
            return
        if reader.is_done:
            self._finish(None)

    def eof_received(self) -> None:
        """End the open request, since the server sends no more data. Then asyncio closes the connection."""
        self._handle_loss(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """End the open request after the connection was lost. `exc` is the error, or None if it was closed."""
        self._handle_loss(exc)

    def _handle_loss(self, error: Exception | None) -> None:
        """End the open request after the connection failed with `error` or, if it is None, was closed by the server."""
        self.is_usable = False
        self.resume_writing()
        reader = self._reader
        if reader is None:
            return
        if not self.is_fresh and not reader.has_begun:
            self._finish(StaleConnection())
            return
        cause = error
        if cause is None:
            try:
                reader.end(is_closed_properly=self._is_closed_properly())
            except WindrowError as reader_error:
                cause = reader_error
        self._finish(cause)

    def _is_closed_properly(self) -> bool:
        """Return whether the server closed TLS by an alert (close_notify); True without TLS, which has none."""
        tls = self._transport.get_extra_info("ssl_object") if self._transport is not None else None
        try:
            return tls is None or not tls.read(1)
        except ssl.SSLZeroReturnError:
            return True
        except ssl.SSLError:  # asyncio would wait for more
            return False

    def _finish(self, error: Exception | None) -> None:
        """End the open request. Close the connection after an error, or if it cannot be used again."""
        reader, response_done = self._reader, self._response_done
        self._reader = self._response_done = None
        self.resume_writing()  # `exchange`, which may wait to send, checks whether the request is still open
        if reader is None or response_done is None or response_done.done():
            return
        if error is not None or not reader.is_reusable:
            self.close()
        if error is not None:
            response_done.set_exception(error)
        else:
            response_done.set_result(None)

    async def exchange(
        self, request: bytes, reader: ResponseReader, seconds: float, silence: float, body: Iterable[bytes] = ()
    ) -> None:
        """Send a request and the blocks of its body, and wait until `reader` has the complete response.

        Raises TimeoutError after `seconds`, or after `silence` seconds in which nothing was received or sent,
        StaleConnection if the server had closed the idle connection, OSError if the connection breaks, and what
        `reader` raises.
        """
        assert self._transport is not None
        self._reader = reader
        response_done = self._response_done = self._loop.create_future()
        now = self._loop.time()
        self._last_deadline, self._silence = now + seconds, silence
        self._deadline = min(self._last_deadline, now + silence)
        if self._alarm is None:
            self._alarm = self._loop.call_at(self._deadline, self._check_deadline)
        elif self._alarm.when() > self._deadline:
            self._alarm.cancel()
            self._alarm = self._loop.call_at(self._deadline, self._check_deadline)
        try:
            self._transport.write(request)
            for block in body:
                self._transport.write(block)
                await (self._buffer_freed or asyncio.sleep(0))
                if response_done.done():
                    self.close()  # the server would take the remaining body for another request
                    break
                self._deadline = min(self._last_deadline, self._loop.time() + silence)
            await response_done
        except BaseException:
            self._reader = None
            self.close()
            raise
        self.is_fresh = False
        self._deadline = self._loop.time() + MAX_IDLE_SECONDS

    def lift_deadline(self) -> None:
        """Remove the deadline for the whole response. The limit on the time without data still applies."""
        self._last_deadline = math.inf
        self._deadline = self._loop.time() + self._silence

    async def start_tls(self, context: ssl.SSLContext, host_name: str, seconds: float) -> None:
        """Start TLS within `seconds` and verify the certificate of `host_name`. Close the connection if that fails."""
        assert self._transport is not None
        self._cancel_alarm()  # a handshake may take longer than the idle limit
        transport = None
        try:
            if self.is_usable:
                async with asyncio.timeout(seconds):
                    # asyncio's own limit is later, since it does not raise TimeoutError.
                    transport = await self._loop.start_tls(
                        self._transport, self, context, server_hostname=host_name, ssl_handshake_timeout=2 * seconds
                    )
        except BaseException:
            self.close()
            raise
        if transport is None or not self.is_usable:
            self.close()
            raise ConnectionResetError("the connection was closed before it was encrypted")
        self._transport, self.is_fresh = transport, True

    def _check_deadline(self) -> None:
        """Fail the request or close the idle connection if its deadline has passed; otherwise set the timer again.

        So one timer serves many requests: a deadline that is moved later is noticed when the timer fires.
        """
        if self._loop.time() < self._deadline:
            self._alarm = self._loop.call_at(self._deadline, self._check_deadline)
            return
        self._alarm = None
        if self._reader is None:
            self.close()
        else:
            is_late = self._loop.time() >= self._last_deadline
            # The caller replaces an empty message.
            self._finish(TimeoutError("" if is_late else f"nothing received for {self._silence:g} seconds"))

    def close(self) -> None:
        """Close the connection at once."""
        self.is_usable = False
        self._cancel_alarm()
        if self._transport is not None:
            self._transport.abort()

    def _cancel_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None


async def connect_web(site: Site) -> HttpConnection:
    """Connect to a web site, directly or through its proxy. TLS is used for each of them whose scheme is https.

    Each IP address has `site.timeout` seconds to accept the connection, and each TLS handshake may take as long.
    `ca_bundle` is used for the site and for its proxy. Raises a TransportError.
    """
    port = site.port or _DEFAULT_PORTS[site.scheme]
    tls = tls_context(site) if site.scheme == "https" else None
    try:
        if site.proxy:
            connection = await _connect_through_proxy(site, port, tls)
        else:
            addresses = allowed_addresses(site, await _resolve(site.host, port, site.address_family))
            connection = await _connect_any(addresses, site.timeout, tls, site.host)
    except (*NETWORK_ERRORS, UnicodeError) as error:
        raise map_network_error(error, public_address(site), was_open=False) from error
    if not connection.is_usable:
        message = f"{public_address(site)}: the server closed the connection before the first request"
        raise TransientFailure(message, Reason.INTERRUPTED)
    return connection


async def _connect_through_proxy(site: Site, port: int, tls: ssl.SSLContext | None) -> HttpConnection:
    refuse_behind_proxy(site)
    proxy = HttpProxy.of(site)
    addresses = await _resolve(proxy.host_name, proxy.port, site.address_family)
    proxy_tls = tls_context(site) if proxy.is_encrypted else None
    connection = await _connect_any(addresses, site.timeout, proxy_tls, proxy.host_name)
    if tls:
        await _open_tunnel(connection, site, port, proxy)
        await connection.start_tls(tls, site.host, site.timeout)
    return connection


class HttpProxy(NamedTuple):
    """The address of a site's proxy. `authorization` is the value of Proxy-Authorization, or ""."""

    host_name: str
    port: int
    is_encrypted: bool
    authorization: str

    @classmethod
    def of(cls, site: Site) -> Self:
        """Read `site.proxy`.

        Raises TerminalFailure with NO_TRANSPORT if it is not the address of an HTTP proxy, and with POLICY_DENIED if
        its user or password would be sent unencrypted to another machine.
        """
        try:
            parts = urlsplit(site.proxy)
            usual_port = _DEFAULT_PORTS[parts.scheme]
            port = parts.port or usual_port
        except (ValueError, KeyError):
            parts, port = urlsplit(""), 0
        if not parts.hostname:
            message = f"{public_address(site)}: its proxy is neither http://HOST:PORT nor https://HOST:PORT"
            raise TerminalFailure(message, Reason.NO_TRANSPORT, hint="windrow config")
        authorization = ""
        if parts.username is not None:
            if parts.scheme != "https" and not is_loopback(parts.hostname):
                message = f"{public_address(site)}: a password may only be sent over https, even to its proxy"
                raise TerminalFailure(message, Reason.POLICY_DENIED, hint="use a proxy whose address begins with https")
            user_and_password = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            authorization = f"Basic {base64.b64encode(user_and_password.encode()).decode()}"
        return cls(parts.hostname, port, parts.scheme == "https", authorization)


async def _resolve(host_name: str, port: int, family: str) -> Sequence[ResolvedAddress]:
    loop = asyncio.get_running_loop()
    return await loop.getaddrinfo(host_name, port, family=SOCKET_FAMILIES[family], type=socket.SOCK_STREAM)


async def _connect_any(
    addresses: Sequence[ResolvedAddress], seconds: float, tls: ssl.SSLContext | None, host_name: str
) -> HttpConnection:
    """Connect to the IP address that accepts first (RFC 8305). Unless `tls` is None, start TLS for `host_name`.

    Each address has `seconds`. The next one is tried as well after a failure, or after `ATTEMPT_DELAY_SECONDS`. If all
    fail, the last error is raised.
    """
    untried = deque(_alternate_families(addresses))
    attempts: set[asyncio.Task[HttpConnection]] = set()
    last_error: BaseException = OSError("the host name has no IP address")
    try:
        while untried or attempts:
            if untried:
                attempts.add(asyncio.create_task(_connect(untried.popleft(), seconds)))
            delay = ATTEMPT_DELAY_SECONDS if untried else None
            finished_attempts, _ = await asyncio.wait(attempts, timeout=delay, return_when=asyncio.FIRST_COMPLETED)
            for attempt in finished_attempts:
                attempts.remove(attempt)
                try:
                    connection = attempt.result()
                    if tls:
                        await connection.start_tls(tls, host_name, seconds)
                except NETWORK_ERRORS as error:
                    last_error = error
                else:
                    return connection
    finally:
        for attempt in attempts:
            attempt.cancel()
            attempt.add_done_callback(_close_unused)
    raise last_error


async def _connect(address: ResolvedAddress, seconds: float) -> HttpConnection:
    family, socket_type, ip_protocol, _, sockaddr = address
    loop = asyncio.get_running_loop()
    new_socket = socket.socket(family, socket_type, ip_protocol)
    try:
        new_socket.setblocking(False)
        async with asyncio.timeout(seconds):
            await loop.sock_connect(new_socket, sockaddr)
        new_socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _, connection = await loop.create_connection(HttpConnection, sock=new_socket)
    except BaseException:
        new_socket.close()
        raise
    return connection


def _close_unused(attempt: asyncio.Task[HttpConnection]) -> None:
    if not attempt.cancelled() and attempt.exception() is None:
        attempt.result().close()


def _alternate_families(addresses: Sequence[ResolvedAddress]) -> Iterator[ResolvedAddress]:
    """Yield IPv4 and IPv6 addresses in turn, beginning with the family of the first one (RFC 8305, section 4)."""
    first_family = [address for address in addresses if address[0] == addresses[0][0]]
    second_family = [address for address in addresses if address[0] != addresses[0][0]]
    for pair in zip_longest(first_family, second_family):
        yield from filter(None, pair)


async def _open_tunnel(connection: HttpConnection, site: Site, port: int, proxy: HttpProxy) -> None:
    """Open a tunnel to a port of the site through its proxy (RFC 9110, section 9.3.6), or raise an error."""
    proxy_address = f"{public_address(site)}: its proxy"
    host_and_port = f"[{site.host}]:{port}" if ":" in site.host else f"{site.host}:{port}"

    def begin(head: ResponseHead) -> None:
        if head.status == 407:
            raise TerminalFailure(
                f"{proxy_address} answered with status 407: it requires a user and password", Reason.LOGIN_FAILED
            )
        if not 200 <= head.status < 300:
            raise TransientFailure(f"{proxy_address} answered with status {head.status}", Reason.CONNECT_FAILED)

    def write(block: memoryview) -> None:
        """Ignore the body of a failed response; a successful response to CONNECT does not have a body."""

    reader = ResponseReader(proxy_address, begin, write, is_connect=True)
    authorization = f"Proxy-Authorization: {proxy.authorization}\r\n" if proxy.authorization else ""
    request = f"CONNECT {host_and_port} HTTP/1.1\r\nHost: {host_and_port}\r\n{authorization}\r\n"
    await connection.exchange(request.encode(), reader, site.timeout, site.timeout)
    if not reader.is_reusable:
        # Unencrypted bytes must not be read as the site's, whose certificate is not verified yet.
        raise TerminalFailure(f"{proxy_address} sent data before the TLS handshake", Reason.PROTOCOL_ERROR)
