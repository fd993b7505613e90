"""Where the web view listens: it can do so before the libraries that make its pages are loaded."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import NamedTuple

from windrow.errors import UsageError
from windrow.fetch.politeness.guard import is_loopback


class Address(NamedTuple):
    """Where the web view listens, and how it is protected beyond this machine.

    `proxy` is the name by which a proxy with TLS is reached, `certificate` and `key` are files for TLS of our own.
    """

    host: str
    port: int
    token: str = ""
    proxy: str = ""
    certificate: Path | None = None
    key: Path | None = None

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
        if is_loopback(self.host) and not self.proxy:
            return
        if not self.token:
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
