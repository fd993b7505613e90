"""What the operating system and TLS say when a line fails, as reasons."""

from __future__ import annotations

import socket
import ssl

from windrow.errors import TerminalFailure, TransientFailure, TransportError
from windrow.fetch.path import shown
from windrow.reasons import Reason

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
