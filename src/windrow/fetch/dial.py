"""Connect to servers, for all transports: allowed IP addresses, sockets, TLS contexts, and their errors.

`windrow.fetch.politeness.guard` checks each IP address before windrow connects to it, unless it is that of a proxy.
"""

from __future__ import annotations

import os
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

SOCKET_FAMILIES = {"any": socket.AF_UNSPEC, "ipv4": socket.AF_INET, "ipv6": socket.AF_INET6}

ResolvedAddress = tuple[socket.AddressFamily, socket.SocketKind, int, str, Any]
"""An address as `getaddrinfo` returns it: family, kind, protocol, name, and a tuple that begins with the IP address."""


def connect_socket(site: Site, default_port: int) -> socket.socket:
    """Connect to the first of a site's IP addresses that accepts within `site.timeout` seconds.

    Raises a TransportError if the host name cannot be resolved, if the guard refuses all IP addresses, or if none of
    those that it allows can be connected to.
    """
    last_error: OSError = OSError("the host name has no IP address")
    try:
        family = SOCKET_FAMILIES[site.address_family]
        resolved = socket.getaddrinfo(site.host, site.port or default_port, family, socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise map_network_error(error, public_address(site), was_open=False) from error
    for address_family, socket_type, protocol, _, address in allowed_addresses(site, resolved):
        connection = socket.socket(address_family, socket_type, protocol)
        try:
            connection.settimeout(site.timeout)
            connection.connect(address)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            connection.close()
            last_error = error
        else:
            return connection
    raise map_network_error(last_error, public_address(site), was_open=False) from last_error


def allowed_addresses(site: Site, resolved: Sequence[ResolvedAddress]) -> list[ResolvedAddress]:
    """Return the `resolved` addresses of a site's host that the guard allows.

    If it refuses all of them, the TerminalFailure for the first address is raised.
    """
    allowed, refusals = [], []
    for resolved_address in resolved:
        ip_address = str(resolved_address[4][0])
        if reason := refusal(site.host, ip_address, site.allowed):
            message = f"{public_address(site)}: {ip_address}: {describe_refusal(site.host, reason)}"
            refusals.append(TerminalFailure(message, reason))
        else:
            allowed.append(resolved_address)
    if refusals and not allowed:
        raise refusals[0]
    return allowed


def refuse_behind_proxy(site: Site) -> None:
    """Raise TerminalFailure if the host of a site with a proxy is not valid, or is a forbidden IP address."""
    if reason := refusal_behind_proxy(site.host, site.allowed):
        raise TerminalFailure(f"{public_address(site)}: {describe_refusal(site.host, reason)}", reason)


def tls_context(site: Site) -> ssl.SSLContext:
    """Return a context that verifies a site's certificate. Raises TerminalFailure if `ca_bundle` cannot be used."""
    try:
        return _cached_tls_context(site.ca_bundle)
    except (OSError, ssl.SSLError) as error:
        raise TerminalFailure(
            f"{public_address(site)}: its ca_bundle {site.ca_bundle} cannot be read: {error.strerror or 'not PEM'}",
            Reason.TLS_FAILED,
            hint="windrow config",
        ) from error


@lru_cache(maxsize=16)
def _cached_tls_context(ca_bundle: str) -> ssl.SSLContext:
    """Return one context for all sites with the same CA bundle, since a context takes half a megabyte."""
    context = ssl.create_default_context(cafile=ca_bundle or None)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def refuse_proxy(site: Site) -> None:
    """Raise TerminalFailure if a site has a proxy. Transports that do not support proxies call this."""
    if site.proxy:
        message = f"{public_address(site)}: a proxy is set, but only http and https can use one"
        raise TerminalFailure(message, Reason.NO_TRANSPORT, hint="windrow config")


NETWORK_ERRORS = (OSError, EOFError)
"""The errors that sockets, resolvers and TLS raise. A host name that IDNA cannot encode raises UnicodeError instead."""


def map_network_error(error: BaseException, address: str, *, was_open: bool) -> TransportError:
    """Return the TransportError for an error of a socket, the resolver or TLS; return a TransportError unchanged.

    The message names `address`. `was_open` is whether the connection was open before the error.
    """
    if isinstance(error, TransportError):
        return error
    message = f"{address}: {printable(_describe(error)) or type(error).__name__}"
    if isinstance(error, ssl.SSLCertVerificationError):
        hint = "set ca_bundle of this source to a file with the certificates of its authority"
        return TerminalFailure(message, Reason.TLS_FAILED, hint=hint)
    if isinstance(error, TimeoutError | BlockingIOError):
        detail = printable(_describe(error))
        if not detail or detail.endswith("timed out") or isinstance(error, BlockingIOError):  # the system's own words
            detail = "the server did not answer within the timeout"
        return TransientFailure(f"{address}: {detail}", Reason.TIMEOUT)
    for error_type, reason in _REASONS_BY_ERROR:
        if isinstance(error, error_type):
            return TransientFailure(message, reason)
    return TransientFailure(message, Reason.INTERRUPTED if was_open else Reason.CONNECT_FAILED)


def _describe(error: BaseException) -> str:
    """Return what went wrong, in the words of the system, without its number."""
    if not isinstance(error, OSError) or isinstance(error, ssl.SSLError) or not error.strerror:
        return str(error)
    if error.errno and error.strerror.startswith("Connect call failed"):  # asyncio, with a tuple of Python
        return os.strerror(error.errno)
    return error.strerror


_REASONS_BY_ERROR: tuple[tuple[type[BaseException], Reason], ...] = (
    (ssl.SSLEOFError, Reason.INTERRUPTED),
    (ssl.SSLZeroReturnError, Reason.INTERRUPTED),
    (ssl.SSLError, Reason.TLS_FAILED),
    (socket.gaierror, Reason.DNS_FAILED),
    (UnicodeError, Reason.DNS_FAILED),  # a host name that IDNA cannot encode
    (ConnectionRefusedError, Reason.CONNECT_FAILED),
)
