"""The transports for the schemes of sites: FTP, SFTP, HTTP and folders."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from windrow.errors import MissingExtra, TerminalFailure
from windrow.fetch.transport import Connection, printable
from windrow.model import Site
from windrow.reasons import Reason


@dataclass(frozen=True, slots=True)
class Transport:
    """One way to reach sites: a module, imported when it is first used, whose `connect` returns a connection."""

    module: str
    blocking: bool = False
    parallel: int = 1  # the maximum number of files that may be fetched at once over one connection
    extra: str = ""  # the extra that installs what the module imports, "" if it needs none

    async def connect(self, site: Site) -> Connection:
        """Connect to a site, and log in if its protocol has a login.

        `Site.secret` is overwritten in errors and listings. Raises TransportError, or MissingExtra without the extra.
        """
        try:
            module = import_module(self.module)
        except ModuleNotFoundError as error:
            if not self.extra or (error.name or "").startswith("windrow"):
                raise
            raise MissingExtra(site.scheme.upper(), self.extra) from error
        if site.secret is None:
            connection: Connection = await module.connect(site)
            return connection

        from windrow.fetch.secret import connect_hiding  # noqa: PLC0415 few sites have a secret

        return await connect_hiding(module.connect, site)


_FTP = Transport("windrow.fetch.ftp", blocking=True)
_HTTP = Transport("windrow.fetch.http_files")

# The modules are texts, so that a process imports only those that it uses.
TRANSPORTS = {
    "file": Transport("windrow.fetch.local", blocking=True),
    "ftp": _FTP,
    "ftps": _FTP,
    "http": _HTTP,
    "https": _HTTP,
    "sftp": Transport("windrow.fetch.sftp", parallel=16, extra="sftp"),  # fast only with many files at once
}


def transport_for(scheme: str) -> Transport:
    """Return the transport for a scheme in `TRANSPORTS`. Raises TerminalFailure for any other scheme.

    >>> transport_for("ftps").blocking
    True
    >>> transport_for("gopher")
    Traceback (most recent call last):
    ...
    windrow.errors.TerminalFailure: gopher is not supported; the schemes are file, ftp, ftps, http, https, sftp
    """
    if transport := TRANSPORTS.get(scheme):
        return transport
    raise TerminalFailure(
        f"{printable(scheme)} is not supported; the schemes are {', '.join(TRANSPORTS)}", Reason.NO_TRANSPORT
    )
