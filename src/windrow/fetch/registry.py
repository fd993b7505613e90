"""The table of transports: address scheme -> transport, one line each."""

from __future__ import annotations

from windrow.errors import TerminalFailure
from windrow.fetch.transport import Transport, shown
from windrow.reasons import Reason

_FTP = Transport("windrow.fetch.ftp", blocking=True)
_HTTP = Transport("windrow.fetch.http_files", parallel=32)

# The modules are named as text, so that a process imports only those of the sites it talks to.
TRANSPORTS = {
    "file": Transport("windrow.fetch.local", blocking=True),
    "ftp": _FTP,
    "ftps": _FTP,
    "http": _HTTP,
    "https": _HTTP,
    "sftp": Transport("windrow.fetch.sftp", parallel=16, extra="sftp"),  # its speed is in many files at once
}


def transport_for(scheme: str) -> Transport:
    """Return the transport for `ftp`, `ftps`, `sftp`, `http`, `https` or `file`.

    >>> transport_for("ftps").blocking
    True
    >>> transport_for("gopher")
    Traceback (most recent call last):
    ...
    windrow.errors.TerminalFailure: no transport for gopher: there are file, ftp, ftps, http, https, sftp
    """
    if transport := TRANSPORTS.get(scheme):
        return transport
    raise TerminalFailure(f"no transport for {shown(scheme)}: there are {', '.join(TRANSPORTS)}", Reason.NO_TRANSPORT)
