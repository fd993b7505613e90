"""Open connections as a site wants them: over TCP, and for the web also through a proxy and encrypted.

Every number is judged by `windrow.fetch.politeness.guard` before it is dialled, but for those of a proxy: its owner
named it.
"""

from __future__ import annotations

import asyncio
import base64
import ipaddress
import socket
import ssl
from collections import deque
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import zip_longest
from typing import Any, NamedTuple, Self
from urllib.parse import unquote, urlsplit

from windrow.errors import TerminalFailure, TransientFailure
from windrow.fetch.http_connection import HttpConnection
from windrow.fetch.path import at
from windrow.fetch.politeness.guard import describe_refusal, refusal, refusal_behind_proxy
from windrow.fetch.trouble import Foreign, network
from windrow.formats.answer import AnswerHead, AnswerReader
from windrow.model import Site
from windrow.reasons import Reason

ATTEMPT_DELAY = 0.25
"""Seconds after which the next address is tried beside one that is silent (RFC 8305, section 5)."""

_PORTS = {"http": 80, "https": 443}

FAMILY = {"any": socket.AF_UNSPEC, "ipv4": socket.AF_INET, "ipv6": socket.AF_INET6}

ResolvedAddress = tuple[socket.AddressFamily, socket.SocketKind, int, str, Any]
"""An address of a host as `getaddrinfo` tells it; the last part begins with the number."""


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
            addresses = allowed_addresses(site, await _resolve(site.host, port, site.family))
            connection = await _connect_any(addresses, site.timeout, tls, site.host)
    except (*Foreign, UnicodeError) as error:
        raise network(error, at(site), open_line=False) from error
    if not connection.usable:
        raise TransientFailure(f"{at(site)}: the line ended before anything was asked", Reason.INTERRUPTED)
    return connection


async def _connect_through_proxy(site: Site, port: int, tls: ssl.SSLContext | None) -> HttpConnection:
    refuse_behind_proxy(site)
    proxy = HttpProxy.of(site)
    addresses = await _resolve(proxy.host, proxy.port, site.family)
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
            raise TerminalFailure(f"{where} answers 407", Reason.WRONG_PASSWORD)
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


def dial(site: Site, port: int) -> socket.socket:
    """Connect to the site, trying each of its addresses in turn, each for `site.timeout` seconds."""
    last: OSError = OSError("the name has no address")
    try:
        resolved = socket.getaddrinfo(site.host, site.port or port, FAMILY[site.family], socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise network(error, at(site), open_line=False) from error
    for family, kind, protocol, _, address in allowed_addresses(site, resolved):
        line = socket.socket(family, kind, protocol)
        try:
            line.settimeout(site.timeout)
            line.connect(address)
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            line.close()
            last = error
        else:
            return line
    raise network(last, at(site), open_line=False) from last


def allowed_addresses(site: Site, resolved: Sequence[ResolvedAddress]) -> list[ResolvedAddress]:
    """Return the addresses of a site's host that the guard lets be dialled; raise its refusal where it lets none.

    A public number is not refused because the same name has a private one too: that one is passed over.
    """
    allowed, refusals = [], []
    for resolved_address in resolved:
        number = str(resolved_address[4][0])
        if reason := refusal(site.host, number, site.allowed):
            message = f"{at(site)}: {number}: {describe_refusal(site.host, reason)}"
            refusals.append(TerminalFailure(message, reason))
        else:
            allowed.append(resolved_address)
    if refusals and not allowed:
        raise refusals[0]
    return allowed


def refuse_behind_proxy(site: Site) -> None:
    """Refuse a site whose host is itself a number that may not be dialled; of names the proxy knows the number."""
    if reason := refusal_behind_proxy(site.host, site.allowed):
        raise TerminalFailure(f"{at(site)}: {describe_refusal(site.host, reason)}", reason)


def loopback(host: str) -> bool:
    """Tell whether a host name means this machine, so that nothing leaves it in the clear."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def context(site: Site) -> ssl.SSLContext:
    """Return the context that checks the site's certificate and name, at least TLS 1.2."""
    try:
        return _context(site.ca_bundle)
    except (OSError, ssl.SSLError) as error:
        raise TerminalFailure(
            f"{at(site)}: ca_bundle {site.ca_bundle} cannot be read: {error.strerror or 'not PEM'}",
            Reason.TLS_FAILED,
            hint="windrow config",
        ) from error


@lru_cache(maxsize=16)
def _context(ca_bundle: str) -> ssl.SSLContext:
    """Return one context for all sites that trust the same certificates: each costs half a megabyte."""
    created = ssl.create_default_context(cafile=ca_bundle or None)
    created.minimum_version = ssl.TLSVersion.TLSv1_2
    return created


def direct(site: Site) -> None:
    """Refuse a proxy where the transport has no way through one."""
    if site.proxy:
        raise TerminalFailure(f"{at(site)}: only http and https can go through a proxy", Reason.NO_TRANSPORT)
