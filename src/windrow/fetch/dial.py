"""What every way to a server begins with: addresses the guard allows, a socket, TLS, and why any of them failed.

Every number is judged by `windrow.fetch.politeness.guard` before it is dialled.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from windrow.errors import TerminalFailure, TransientFailure, TransportError
from windrow.fetch.politeness.guard import describe_refusal, refusal, refusal_behind_proxy
from windrow.fetch.transport import at, shown
from windrow.model import Site
from windrow.reasons import Reason

FAMILY = {"any": socket.AF_UNSPEC, "ipv4": socket.AF_INET, "ipv6": socket.AF_INET6}

ResolvedAddress = tuple[socket.AddressFamily, socket.SocketKind, int, str, Any]
"""An address of a host as `getaddrinfo` tells it; the last part begins with the number."""


def dial(site: Site, port: int) -> socket.socket:
    """Connect to the site, trying each of its addresses in turn, each for `site.timeout` seconds."""
    last: OSError = OSError("the name has no address")
    try:
        resolved = socket.getaddrinfo(site.host, site.port or port, FAMILY[site.address_family], socket.SOCK_STREAM)
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


Foreign = (OSError, EOFError)
"""What sockets, resolvers and TLS raise: all of these `network` knows."""


def network(error: BaseException, where: str, *, open_line: bool) -> TransportError:
    """Map an exception of a socket, the resolver or TLS; `open_line` tells a break from no start."""
    if isinstance(error, TransportError):
        return error
    text = f"{where}: {shown(str(error)) or type(error).__name__}"
    if isinstance(error, ssl.SSLCertVerificationError):
        hint = "name the right certificates in ca_bundle of this source"
        return TerminalFailure(text, Reason.TLS_FAILED, hint=hint)
    if isinstance(error, TimeoutError | BlockingIOError):
        return TransientFailure(f"{where}: no answer in time", Reason.TIMEOUT)
    for kind, reason in _REASONS:
        if isinstance(error, kind):
            return TransientFailure(text, reason)
    return TransientFailure(text, Reason.INTERRUPTED if open_line else Reason.CONNECT_FAILED)


_REASONS: tuple[tuple[type[BaseException], Reason], ...] = (
    (ssl.SSLEOFError, Reason.INTERRUPTED),
    (ssl.SSLZeroReturnError, Reason.INTERRUPTED),
    (ssl.SSLError, Reason.TLS_FAILED),
    (socket.gaierror, Reason.DNS_FAILED),
    (UnicodeError, Reason.DNS_FAILED),  # a host name that IDNA cannot spell
    (ConnectionRefusedError, Reason.CONNECT_FAILED),
)
