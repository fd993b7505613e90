"""What every transport offers, one face for FTP, SFTP, HTTPS and folders; their table; paths as they go to a server.

A `Transport` opens a `Connection` to a `Site`; a connection lists folders and gets files into a
`Sink`. All methods are coroutines. A transport over a blocking library says `blocking = True` and
simply blocks in them: the engine then runs each of its connections in a thread and loop of its own.
Every foreign exception leaves as a `TransportError` with a reason.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from types import TracebackType
from typing import Protocol, Self

from windrow.errors import MissingExtra, TerminalFailure
from windrow.model import ListingEntry, Site, join
from windrow.reasons import Reason

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_TARGET = re.compile(r"/[!-\"$-~]*")  # what a request line may ask for (RFC 9112, section 3.2.1), and what is seen


@dataclass(frozen=True, slots=True)
class TransferEnd:
    """How a transfer ended: the protocol's status and validators, as the server gave them."""

    status: int | None = None
    etag: str = ""
    modified: str = ""


def replaced(sink: Sink, modified: datetime | None) -> bool:
    """Tell whether a file's time shows it to be another than the one that `sink` holds a part of.

    Only whole seconds count: protocols tell no more, or not always.
    """
    if not sink.start or sink.modified is None or modified is None:
        return False
    return sink.modified.replace(microsecond=0) != modified.replace(microsecond=0)


def moment(seconds: float | None) -> datetime | None:
    """Read a time in seconds since 1970, as servers and disks tell it; None where no calendar has it.

    >>> moment(0), moment(2.0**63)
    (datetime.datetime(1970, 1, 1, 0, 0, tzinfo=datetime.timezone.utc), None)
    """
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None


class Sink(Protocol):
    """Where a connection puts what it receives; raises `TransportError` or `DiskFull` to refuse."""

    start: int  # bytes held from an earlier, broken transfer: ask for the rest, if it is of the same version
    validator: str  # of that version: its strong ETag, or Last-Modified; empty where none is known
    modified: datetime | None  # the time that the listing told of that version
    listed: int | None  # the size in bytes that the listing told

    def open(self, size: int | None, head: bytes = b"", request: bytes = b"") -> None:
        """Begin: the whole document's size if known, HTTP heads as they went over the line."""
        ...

    def restart(self) -> None:
        """Forget what is held from an earlier transfer: the server cannot resume it."""
        ...

    def write(self, block: bytes | memoryview) -> None:
        """Take the next bytes; the block may be reused by the caller afterwards."""
        ...


class Connection(Protocol):
    """A connection to one site; used for one thing at a time, or for `Transport.parallel` gets.

    It may be used again after a `TransportError`: where the connection broke, the next call opens a new one.
    """

    async def list(self, folder: str) -> list[ListingEntry] | None:
        """List one folder below the site's base, one level; None where it is not there."""
        ...

    async def get(self, path: str, sink: Sink) -> TransferEnd:
        """Get one file below the site's base into the sink, from `sink.start` on."""
        ...

    def expect(self, path: str) -> None:
        """Take note of the file that is got next, all of it.

        A connection may ask for it at once, while the file before it is kept. What goes wrong is told by its `get`.
        """
        del path

    async def close(self) -> None:
        """Say goodbye if that is quick."""
        ...

    async def __aenter__(self) -> Self:
        """Return the open connection."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        await self.close()


@dataclass(frozen=True, slots=True)
class Transport:
    """One way to reach sites: a module whose `connect` opens a connection, imported when the first one is wanted."""

    module: str
    blocking: bool = False
    parallel: int = 1  # how many `get` may run at once on one connection; 1: one after the other
    extra: str = ""  # the extra that installs what the module imports

    async def connect(self, site: Site) -> Connection:
        """Open a connection, logged in and ready; MissingExtra where the transport's library is not installed."""
        try:
            module = import_module(self.module)
        except ModuleNotFoundError as error:
            if not self.extra or (error.name or "").startswith("windrow"):
                raise
            raise MissingExtra(site.scheme.upper(), self.extra) from error
        connection: Connection = await module.connect(site)
        return connection


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


def shown(text: str, most: int = 200) -> str:
    r"""Make foreign text fit for a message: one line, printable, not endless.

    >>> shown("no\r\nway")
    'no\\x0d\\x0away'
    """
    if text.isascii() and text.isprintable() and len(text) <= most:
        return text
    visible = _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text[: most + 1])
    visible = visible.encode("utf-8", "backslashreplace").decode()
    return visible if len(visible) <= most else visible[:most] + "..."


def wire(site: Site, path: str) -> str:
    r"""Return the whole path of `path` below the site's base, safe to be put in a command.

    A control character would end the command and begin another one, and `..` would leave the
    base: both are refused as UNSAFE_NAME. Quotes, spaces and non-ASCII letters pass.

    >>> wire(Site("ftp", base="/data/"), "add/x y.zip")
    '/data/add/x y.zip'
    >>> wire(Site("ftp"), "add/x\r\nDELE y")
    Traceback (most recent call last):
    ...
    windrow.errors.TerminalFailure: unsafe path: ftp:///add/x\x0d\x0aDELE y
    """
    full = join(site.base, path)
    if _CONTROL.search(full) or ".." in path.split("/"):
        raise TerminalFailure(f"unsafe path: {at(site, path)}", Reason.UNSAFE_NAME)
    return full


def behind(origin: str, url: str) -> str:
    r"""Return what a request line asks for: the URL behind its origin.

    A URL of another origin is refused with POLICY_DENIED; one with a fragment, a space, a control
    character or a letter beyond ASCII, which could end the line and begin another, with BAD_ADDRESS.

    >>> behind("http://h", "http://h/a?b=c")
    '/a?b=c'
    >>> behind("http://h", "http://h/ HTTP/1.1\r\nX: y")
    Traceback (most recent call last):
    ...
    windrow.errors.TerminalFailure: not an address as a request has it: http://h/ HTTP/1.1\x0d\x0aX: y
    """
    if not url.startswith(f"{origin}/"):
        raise TerminalFailure(f"{shown(url, 1000)} is not at {origin}", Reason.POLICY_DENIED)
    if not _TARGET.fullmatch(url, len(origin)):
        raise TerminalFailure(f"not an address as a request has it: {shown(url, 1000)}", Reason.BAD_ADDRESS)
    return url[len(origin) :]


def at(site: Site, path: str = "") -> str:
    """Return the public address of a path, fit for a message."""
    return shown(site.address(path), 1000)
