"""Open a TCP connection, and make the TLS context, as a site wants them."""

from __future__ import annotations

import ipaddress
import socket
import ssl

from windrow.errors import TerminalFailure
from windrow.model import Site
from windrow.reasons import Reason
from windrow.transports.path import at
from windrow.transports.trouble import network

FAMILY = {"any": socket.AF_UNSPEC, "ipv4": socket.AF_INET, "ipv6": socket.AF_INET6}


def dial(site: Site, port: int) -> socket.socket:
    """Connect to the site, trying each of its addresses in turn, each for `site.timeout` seconds."""
    last: OSError = OSError("the name has no address")
    try:
        found = socket.getaddrinfo(site.host, site.port or port, FAMILY[site.family], socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise network(error, at(site), open_line=False) from error
    for family, kind, number, _, address in found:
        check(site, str(address[0]))
        line = socket.socket(family, kind, number)
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


def check(site: Site, address: str) -> None:
    """Refuse an address inside a private network unless the site is allowed to live in one."""
    if site.private:
        return
    number = ipaddress.ip_address(address.partition("%")[0])
    if not number.is_global or number.is_multicast:
        line = "private = true (for warc_at: warc_private = true)"
        told = f"{at(site)}: {address} is not a public address; if it may be asked, the line of its source: {line}"
        raise TerminalFailure(told, Reason.POLICY_DENIED)


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
