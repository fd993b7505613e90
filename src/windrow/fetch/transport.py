"""The interface of all transports (FTP, SFTP, HTTP, folders), and the paths that are sent to servers.

A `Transport` (`windrow.fetch.transports`) opens a `Connection` to a `Site`. A connection lists folders and writes files
into a `Sink`. All methods of a connection except `expect` are coroutines. The engine runs each connection of a
transport with `blocking = True` in a thread with its own event loop. Every error of a library is mapped to a
`TransportError` with a reason.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Protocol, Self

from windrow.errors import TerminalFailure
from windrow.formats.text import replace_lone_surrogates
from windrow.model import ListingEntry, Site, join_path
from windrow.reasons import Reason

_CONTROL_CHARACTER = re.compile(r"[\x00-\x1f\x7f]")
_REQUEST_TARGET = re.compile(r"/[!-\"$-~]*")  # a request target of printable characters (RFC 9112, section 3.2.1)


@dataclass(frozen=True, slots=True)
class TransferEnd:
    """The result of a transfer: the protocol's status (None: unknown), and ETag and Last-Modified ("": not stated)."""

    status: int | None = None
    etag: str = ""
    modified: str = ""


def is_replaced(sink: Sink, modified: datetime | None) -> bool:
    """Return whether a file was replaced since an earlier transfer wrote a part of it into `sink`.

    `modified` is the file's present time. If a time is unknown, the file counts as unchanged. Only whole seconds are
    compared, since some protocols send no fractions.
    """
    if not sink.start or sink.modified is None or modified is None:
        return False
    return sink.modified.replace(microsecond=0) != modified.replace(microsecond=0)


class Sink(Protocol):
    """The object that receives a file. Its methods raise TransportError or DiskFull to refuse the file."""

    start: int  # bytes from earlier transfers: the offset at which to continue if the version is the same
    validator: str  # the strong ETag or Last-Modified of that version, "" if unknown
    modified: datetime | None  # the listed time of that version
    listed_size: int | None  # in bytes, None if the listing does not state it

    def open(self, size: int | None, head: bytes = b"", request: bytes = b"") -> None:
        """Begin a file of `size` bytes (None: unknown). `head` is the response's HTTP head; `request` is the request.

        Both are as archived; they are empty for other protocols.
        """
        ...

    def restart(self) -> None:
        """Discard the bytes from earlier transfers, since the server will send the file from its beginning."""
        ...

    def write(self, block: bytes | memoryview) -> None:
        """Write the next bytes. The caller may reuse the block afterwards."""
        ...


class Connection(Protocol):
    """A connection to one site, for one call at a time, or for `Transport.parallel` simultaneous calls of `get`.

    It may be used again after a `TransportError`: if the connection was lost, the next call opens a new one.
    """

    async def list(self, folder: str) -> list[ListingEntry] | None:
        """Return a folder's entries, or None if the folder does not exist. `folder` is a path below the site's base.

        The entries of a manifest include files in subfolders; in other listings, subfolders are not entered.
        """
        ...

    async def get(self, path: str, sink: Sink) -> TransferEnd:
        """Write one file below the site's base into the sink, from `sink.start` on if its version is still the same."""
        ...

    def expect(self, path: str) -> None:
        """Announce the file for which `get` will be called next, with an empty sink.

        A connection may request the file while the present one is still being written. `get` raises the errors of this
        request.
        """
        del path

    async def close(self) -> None:
        """Close the connection. Log out first if the protocol can do so quickly."""
        ...

    async def __aenter__(self) -> Self:
        """Return the open connection."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connection."""
        await self.close()


def printable(text: str, max_length: int = 200) -> str:
    r"""Return a server's text as one printable line for messages, cut after `max_length` characters.

    >>> printable("no\r\nway")
    'no\\x0d\\x0away'
    """
    if text.isascii() and text.isprintable() and len(text) <= max_length:
        return text
    visible = _CONTROL_CHARACTER.sub(lambda match: f"\\x{ord(match[0]):02x}", text[: max_length + 1])
    visible = replace_lone_surrogates(visible, "backslashreplace")
    return visible if len(visible) <= max_length else visible[:max_length] + "..."


def server_path(site: Site, path: str) -> str:
    r"""Return the server's full path for a path below the site's base. This path is safe to send in a command.

    A control character could end the command and begin another one, and `..` would leave the base: both raise
    TerminalFailure with UNSAFE_NAME. Quotes, spaces and non-ASCII letters are allowed.

    >>> server_path(Site("ftp", base="/data/"), "add/x y.zip")
    '/data/add/x y.zip'
    >>> server_path(Site("ftp"), "add/x\r\nDELE y")
    Traceback (most recent call last):
    ...
    windrow.errors.TerminalFailure: ftp:///add/x\x0d\x0aDELE y has .. or a control character in its path
    """
    full = join_path(site.base, path)
    if _CONTROL_CHARACTER.search(full) or ".." in path.split("/"):
        message = f"{public_address(site, path)} has .. or a control character in its path"
        raise TerminalFailure(message, Reason.UNSAFE_NAME)
    return full


def request_target(origin: str, url: str) -> str:
    r"""Return the target of a request line: the URL after its origin.

    Raises TerminalFailure with POLICY_DENIED for a URL of another origin, and BAD_ADDRESS for a URL with a fragment,
    a space, a control character or a non-ASCII letter: some of these could end the line and begin another one.

    >>> request_target("http://h", "http://h/a?b=c")
    '/a?b=c'
    >>> request_target("http://h", "http://h/ HTTP/1.1\r\nX: y")
    Traceback (most recent call last):
    ...
    windrow.errors.TerminalFailure: not a valid URL for a request: http://h/ HTTP/1.1\x0d\x0aX: y
    """
    if not url.startswith(f"{origin}/"):
        raise TerminalFailure(f"{printable(url, 1000)} is not at {origin}", Reason.POLICY_DENIED)
    if not _REQUEST_TARGET.fullmatch(url, len(origin)):
        raise TerminalFailure(f"not a valid URL for a request: {printable(url, 1000)}", Reason.BAD_ADDRESS)
    return url[len(origin) :]


def public_address(site: Site, path: str = "") -> str:
    """Return the URL of a path below the site's base in one printable line, without user or password."""
    return printable(site.address(path), 1000)
