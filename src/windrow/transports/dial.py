"""Open a TCP connection, and make the TLS context, as a site wants them."""

from __future__ import annotations

import ipaddress
import socket
import ssl
from collections.abc import Sequence
from typing import Any

from windrow.errors import TerminalFailure
from windrow.model import Site
from windrow.politeness.guard import describe_refusal, refusal, refusal_behind_proxy
from windrow.reasons import Reason
from windrow.transports.path import at
from windrow.transports.trouble import network

FAMILY = {"any": socket.AF_UNSPEC, "ipv4": socket.AF_INET, "ipv6": socket.AF_INET6}

ResolvedAddress = tuple[socket.AddressFamily, socket.SocketKind, int, str, Any]
"""An address of a host as `getaddrinfo` tells it; the last part begins with the number."""


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
        made = ssl.create_default_context(cafile=site.ca_bundle or None)
    except (OSError, ssl.SSLError) as error:
        raise TerminalFailure(
            f"{at(site)}: ca_bundle {site.ca_bundle} cannot be read: {error.strerror or 'not PEM'}",
            Reason.TLS_FAILED,
            hint="windrow config",
        ) from error
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    return made


def direct(site: Site) -> None:
    """Refuse a proxy where the transport has no way through one."""
    if site.proxy:
        raise TerminalFailure(f"{at(site)}: only http and https can go through a proxy", Reason.NO_TRANSPORT)
