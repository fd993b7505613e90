"""Connecting to a server, for all transports: allowed addresses, sockets, TLS contexts, and their errors.

`windrow.fetch.politeness.guard` checks every address before it is connected to.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from windrow.errors import TerminalFailure, TransientFailure, TransportError
from windrow.fetch.politeness.guard import describe_refusal, refusal, refusal_behind_proxy
from windrow.fetch.transport import printable, public_address
from windrow.model import Site
from windrow.reasons import Reason

FAMILY = {"any": socket.AF_UNSPEC, "ipv4": socket.AF_INET, "ipv6": socket.AF_INET6}

ResolvedAddress = tuple[socket.AddressFamily, socket.SocketKind, int, str, Any]
"""An address as `getaddrinfo` returns it; the last part begins with the IP address."""


def dial(site: Site, port: int) -> socket.socket:
    """Connect to the first of a site's addresses that answers; each is tried for `site.timeout` seconds."""
    last: OSError = OSError("the name has no address")
    try:
        resolved = socket.getaddrinfo(site.host, site.port or port, FAMILY[site.address_family], socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise map_network_error(error, public_address(site), open_line=False) from error
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
    raise map_network_error(last, public_address(site), open_line=False) from last


def allowed_addresses(site: Site, resolved: Sequence[ResolvedAddress]) -> list[ResolvedAddress]:
    """Return the addresses of a site's host that the guard allows; raise TerminalFailure if it allows none.

    If a name has public and private addresses, the private ones are skipped.
    """
    allowed, refusals = [], []
    for resolved_address in resolved:
        number = str(resolved_address[4][0])
        if reason := refusal(site.host, number, site.allowed):
            message = f"{public_address(site)}: {number}: {describe_refusal(site.host, reason)}"
            refusals.append(TerminalFailure(message, reason))
        else:
            allowed.append(resolved_address)
    if refusals and not allowed:
        raise refusals[0]
    return allowed


def refuse_behind_proxy(site: Site) -> None:
    """Refuse a site whose host is a forbidden IP address; names are resolved by the proxy."""
    if reason := refusal_behind_proxy(site.host, site.allowed):
        raise TerminalFailure(f"{public_address(site)}: {describe_refusal(site.host, reason)}", reason)


def tls_context(site: Site) -> ssl.SSLContext:
    """Return a context that verifies the site's certificate and name, with TLS 1.2 or later."""
    try:
        return _cached_tls_context(site.ca_bundle)
    except (OSError, ssl.SSLError) as error:
        raise TerminalFailure(
            f"{public_address(site)}: ca_bundle {site.ca_bundle} cannot be read: {error.strerror or 'not PEM'}",
            Reason.TLS_FAILED,
            hint="windrow config",
        ) from error


@lru_cache(maxsize=16)
def _cached_tls_context(ca_bundle: str) -> ssl.SSLContext:
    """Return one context for all sites with the same CA bundle: each takes half a megabyte."""
    created = ssl.create_default_context(cafile=ca_bundle or None)
    created.minimum_version = ssl.TLSVersion.TLSv1_2
    return created


def refuse_proxy(site: Site) -> None:
    """Refuse a proxy, for a transport that does not support one."""
    if site.proxy:
        raise TerminalFailure(
            f"{public_address(site)}: only http and https can go through a proxy", Reason.NO_TRANSPORT
        )


NETWORK_ERRORS = (OSError, EOFError)
"""What sockets, resolvers and TLS raise; `map_network_error` maps all of these."""


def map_network_error(error: BaseException, where: str, *, open_line: bool) -> TransportError:
    """Map an error of a socket, the resolver or TLS; `open_line` is true if the connection was open before."""
    if isinstance(error, TransportError):
        return error
    text = f"{where}: {printable(str(error)) or type(error).__name__}"
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
