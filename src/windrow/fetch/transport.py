"""What every transport offers: one face for FTP, SFTP, HTTPS and folders.

A `Transport` opens a `Connection` to a `Site`; a connection lists folders and gets files into a
`Sink`. All methods are coroutines. A transport over a blocking library says `blocking = True` and
simply blocks in them: the engine then runs each of its connections in a thread and loop of its own.
Every foreign exception leaves as a `TransportError` with a reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import ClassVar, Protocol, Self

from windrow.model import ListingEntry, Site


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


class Transport(Protocol):
    """One way to reach sites."""

    schemes: ClassVar[frozenset[str]]
    blocking: ClassVar[bool]
    parallel: ClassVar[int]  # how many `get` may run at once on one connection; 1: one after the other

    async def connect(self, site: Site) -> Connection:
        """Open a connection, logged in and ready."""
        ...
