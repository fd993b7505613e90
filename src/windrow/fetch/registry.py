"""The table of transports: address scheme -> transport, one line each."""

from __future__ import annotations

from windrow.errors import TerminalFailure
from windrow.fetch.ftp import Ftp
from windrow.fetch.http_files import Web
from windrow.fetch.local import Local
from windrow.fetch.path import shown
from windrow.fetch.sftp import Sftp
from windrow.fetch.transport import Transport
from windrow.reasons import Reason

TRANSPORTS: tuple[Transport, ...] = (
    Ftp(),
    Sftp(),
    Web(),
    Local(),
)


def transport_for(scheme: str) -> Transport:
    """Return the transport for `ftp`, `ftps`, `sftp`, `http`, `https` or `file`.

    >>> transport_for("ftps").blocking
    True
    >>> transport_for("gopher")
    Traceback (most recent call last):
    ...
    windrow.errors.TerminalFailure: no transport for gopher: there are file, ftp, ftps, http, https, sftp
    """
    for transport in TRANSPORTS:
        if scheme in transport.schemes:
            return transport
    known = ", ".join(sorted(name for transport in TRANSPORTS for name in transport.schemes))
    raise TerminalFailure(f"no transport for {shown(scheme)}: there are {known}", Reason.NO_TRANSPORT)
