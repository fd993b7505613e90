"""Where the web view listens: it can do so before the libraries that make its pages are loaded."""

from __future__ import annotations

import re
import socket
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from typing import NamedTuple

from windrow.errors import UsageError
from windrow.fetch.politeness.guard import is_loopback

_LEAST_TOKEN = 16
_VISIBLE = re.compile("[!-~]+")  # of ASCII: other characters cannot be sent in a header field by every client
_FIELD = re.compile("([!#$%&'*+.^_`|~0-9A-Za-z-]+)(?:: *([ -~]*[!-~]))?")


def check_token(token: str, origin: str) -> None:
    """Raise UsageError if no client could send a token, or if it is short; `origin` is where it is from."""
    if len(token) < _LEAST_TOKEN or not _VISIBLE.fullmatch(token):
        message = f"{origin} must be one line of at least {_LEAST_TOKEN} visible characters of ASCII, without spaces"
        raise UsageError(message, hint="openssl rand -hex 16 > FILE")


class ProxyHeader(NamedTuple):
    """A header field by which a proxy says that it let a user in.

    It has the value `value`, or any value if that is empty, and is believed from the proxy's `address` alone; if that
    is empty, from this machine.
    """

    name: str
    value: str = ""
    address: str = ""

    @classmethod
    def read(cls, text: str, address: str) -> ProxyHeader:
        """Read `NAME` or `NAME: VALUE`; raise UsageError if it is neither, or the address is not an IP address."""
        match = _FIELD.fullmatch(text.strip())
        if match is None:
            raise UsageError(f"{text!r} is not NAME or NAME: VALUE of a header field", hint="Remote-User")
        try:
            return cls(match[1].lower(), match[2] or "", f"{ip_address(address)}" if address else "")
        except ValueError:
            raise UsageError(f"{address!r} is not an IP address of a proxy") from None

    def is_from(self, peer: str) -> bool:
        """Return whether the other end of a connection is the proxy."""
        try:
            address = ip_address(peer)
        except ValueError:
            return False
        if isinstance(address, IPv6Address) and address.ipv4_mapped:
            address = address.ipv4_mapped
        return f"{address}" == self.address if self.address else address.is_loopback


class Address(NamedTuple):
    """Where the web view listens, and how it is protected beyond this machine.

    `proxy` is the name by which a proxy with TLS is reached, and `header` is what it sends for users that it let in.
    `certificate` and `key` are files for TLS of our own.
    """

    host: str
    port: int
    token: str = ""
    proxy: str = ""
    certificate: Path | None = None
    key: Path | None = None
    header: ProxyHeader | None = None

    @property
    def url(self) -> str:
        """The address of the first page; the port must be the one that is listened at."""
        return f"{'https' if self.certificate else 'http'}://{self.name}:{self.port}/"

    @property
    def name(self) -> str:
        """The host as it stands in addresses."""
        return f"[{self.host}]" if ":" in self.host else self.host

    def require_safe(self) -> None:
        """Raise UsageError if others could reach the address without a token or without encryption."""
        if self.header and not self.proxy:
            raise UsageError("a header is only believed from a proxy", hint="windrow serve --proxy NAME")
        if is_loopback(self.host) and not self.proxy:
            return
        if not self.token and not self.header:
            message = f"{self.proxy or self.host} can be reached by others, so a token is needed"
            raise UsageError(message, hint="windrow serve --token-file FILE")
        if not self.certificate and not self.proxy:
            raise UsageError(
                f"{self.host} can be reached by others, so TLS is needed, or a proxy that has it",
                hint="windrow serve --certificate FILE --key FILE, or --proxy NAME",
            )


def listen(address: Address) -> socket.socket:
    """Return a socket that connections can be made to; raise UsageError if the address cannot be used."""
    try:
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        listener = socket.create_server((address.host, address.port), family=family, backlog=128)
    except OSError as error:
        message = f"{address.host} port {address.port} cannot be used: {error.strerror or error}"
        raise UsageError(message, hint="windrow serve --port 0 takes a free port") from error
    # Its connections have it, too: else a body waits until the client acknowledges the fields, for up to 40 ms.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener
