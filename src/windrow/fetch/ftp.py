"""FTP and FTP over TLS (RFC 959, 2428, 3659, 4217) as a blocking transport, with ftplib's control connection."""

from __future__ import annotations

import ftplib
import re
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import NamedTuple

from windrow.errors import TerminalFailure, TransientFailure, TransportError
from windrow.fetch.dial import NETWORK_ERRORS, map_network_error, refuse_proxy, tls_context
from windrow.fetch.ftp_session import Delayed, FtpSession, Refused, refuse_delay
from windrow.fetch.secret import read_secret
from windrow.fetch.transport import Connection, Sink, TransferEnd, is_replaced, printable, public_address, server_path
from windrow.formats.listing import Entries, read_list, read_mlsd, read_nlst, read_time
from windrow.model import ListingEntry, Site
from windrow.reasons import Reason

_SIZE_IN_REPLY = re.compile(r"\((\d{1,18}) bytes\)", re.ASCII)
_SAFE_NAME = re.compile(r"[^\x00-\x1f\x7f/]+")  # can be sent in a command
_ERRORS_BY_CODE: dict[str, tuple[type[TransportError], Reason]] = {
    "421": (TransientFailure, Reason.CONNECT_FAILED),
    "425": (TransientFailure, Reason.CONNECT_FAILED),
    "426": (TransientFailure, Reason.INTERRUPTED),
    "430": (TerminalFailure, Reason.LOGIN_FAILED),
    "530": (TerminalFailure, Reason.LOGIN_FAILED),
    "532": (TerminalFailure, Reason.PERMISSION_DENIED),
    "534": (TerminalFailure, Reason.TLS_FAILED),
    "535": (TerminalFailure, Reason.TLS_FAILED),
    "536": (TerminalFailure, Reason.TLS_FAILED),
    "550": (TerminalFailure, Reason.NOT_FOUND),
    "551": (TerminalFailure, Reason.NOT_FOUND),
    "553": (TerminalFailure, Reason.PERMISSION_DENIED),
}
# Servers use one code for several errors; these words in the reply distinguish them.
_REASONS_BY_WORDS: tuple[tuple[str, re.Pattern[str], Reason], ...] = (
    ("530", re.compile("encrypt|tls|ssl", re.IGNORECASE), Reason.TLS_FAILED),
    ("550", re.compile("permission|denied|not permitted", re.IGNORECASE), Reason.PERMISSION_DENIED),
    ("550", re.compile("not a (plain|regular) file|is a directory", re.IGNORECASE), Reason.NOT_A_FILE),
)


def map_error(error: BaseException, address: str) -> TransportError:
    """Return the TransportError for an error of ftplib, a socket or TLS. Its message names `address`."""
    if not isinstance(error, ftplib.Error):
        return map_network_error(error, address, was_open=True)
    reply = str(error)
    message = f"{address}: {printable(reply)}"
    if not isinstance(error, Refused | Delayed):
        return TerminalFailure(message, Reason.PROTOCOL_ERROR)
    for code, pattern, reason in _REASONS_BY_WORDS:
        if reply.startswith(code) and pattern.search(reply):
            return TerminalFailure(message, reason)
    default: tuple[type[TransportError], Reason] = (TerminalFailure, Reason.PROTOCOL_ERROR)
    if isinstance(error, Delayed):
        default = (TransientFailure, Reason.SERVER_ERROR)
    error_type, reason = _ERRORS_BY_CODE.get(reply[:3], default)
    return error_type(message, reason)


class _EarlyRequest(NamedTuple):
    """A file that was requested in advance. `path` is the path given to `expect`.

    `size` is None if it is unknown or was not requested. `source` is the socket for `accept_data`, or the error with
    which the request failed.
    """

    path: str
    size: int | None
    source: socket.socket | Exception


class FtpConnection(Connection):
    """A session with a server. After a broken connection, the next call opens a new one."""

    def __init__(self, site: Site) -> None:
        """Prepare a session with a site; `open` connects."""
        self._site = site
        self._context = tls_context(site) if site.scheme == "ftps" else None
        self._session: FtpSession | None = None
        self._has_mlsd = True
        self._states_size = False  # whether the server states the size in the reply before the data
        self._expected: _EarlyRequest | None = None

    def open(self) -> FtpSession:
        """Return the session; connect and log in if none is open. Raises a TransportError if that fails."""
        if self._session is None:
            password = read_secret(self._site.secret) if self._site.secret else ""
            try:
                self._session = FtpSession(self._site, password, self._context)
            except (ftplib.Error, *NETWORK_ERRORS) as error:
                raise map_error(error, public_address(self._site)) from error
            self._has_mlsd = self._session.features is None or self._session.has_feature("MLST")
        return self._session

    def _disconnect(self) -> None:
        """Close the connection at once. After an error, it is not known to which command the next reply belongs."""
        session, self._session = self._session, None
        expected, self._expected = self._expected, None
        if session:
            session.close()
        if expected and isinstance(expected.source, socket.socket):
            expected.source.close()

    @contextmanager
    def _use_session(self, path: str, requested_path: str = "") -> Iterator[FtpSession]:
        """Yield a session, and map errors in the block to errors about `path`.

        If `expect` has requested a file other than `requested_path`, the session is a new one.
        """
        if self._expected and self._expected.path != requested_path:
            self._disconnect()  # the server sends a file that is not needed
        session = self.open()
        try:
            yield session
        except (Refused, Delayed) as error:
            if str(error).startswith("421"):
                self._disconnect()
            raise map_error(error, public_address(self._site, path)) from error
        except (ftplib.Error, *NETWORK_ERRORS) as error:
            self._disconnect()
            raise map_error(error, public_address(self._site, path)) from error
        except BaseException:
            self._disconnect()
            raise

    async def get(self, path: str, sink: Sink) -> TransferEnd:
        """Get one file (RETR). It is sent from `sink.start` on if it is unchanged and the server supports REST.

        Raises TransientFailure (SIZE_MISMATCH) if the server announces a size and another number of bytes arrives,
        since the file may be growing.
        """
        full_path = server_path(self.open().site, path)
        with self._use_session(path, "" if sink.start else path) as session:
            try:
                start, size, (data_connection, reply) = self._start_transfer(session, full_path, sink)
            except Refused as error:
                if map_error(error, "").reason is Reason.NOT_FOUND and session.size(full_path) is not None:
                    raise Refused(f"{error} (SIZE reports the file, so permission to read it is missing)") from error
                raise
            with data_connection:
                if not start:
                    announced = _SIZE_IN_REPLY.search(reply)
                    self._states_size = announced is not None
                    size = int(announced[1]) if announced else size
                sink.open(size)
                received = start + _copy_data(session, data_connection, sink, None if size is None else size - start)
            code = int(session.finish_data()[:3])
        if size is not None and received != size:
            raise TransientFailure(
                f"{public_address(self._site, path)}: received {received:,} bytes; the server announced {size:,}",
                Reason.SIZE_MISMATCH,
            )
        return TransferEnd(code)

    def expect(self, path: str) -> None:
        """Request the next file, so that the server sends it while the present one is still being written."""
        session, size = self._session, None
        if session is None or self._expected is not None:
            return
        source: socket.socket | Exception
        try:
            full_path = server_path(session.site, path)
            size = None if self._states_size else session.size(full_path)
            source = session.request_data(f"RETR {full_path}")
        except TransportError:
            return  # the name is unsafe: `get` will raise this error
        except (ftplib.Error, *NETWORK_ERRORS) as error:
            source = error
        self._expected = _EarlyRequest(path, size, source)

    def _start_transfer(
        self, session: FtpSession, full_path: str, sink: Sink
    ) -> tuple[int, int | None, tuple[socket.socket, str]]:
        """Start a transfer. Return its offset, the file's size (None: unknown), and the result of `open_data`."""
        expected, self._expected = self._expected, None
        if expected is not None:
            if isinstance(expected.source, Exception):
                raise expected.source
            return 0, expected.size, session.accept_data(expected.source)
        start, size = self._resume(session, full_path, sink)
        try:
            return start, size, session.open_data(f"RETR {full_path}")
        except Refused as error:
            if not start or not str(error).startswith("554"):
                raise
            sink.restart()  # the file is shorter than the part from an earlier transfer (554: RFC 3659)
            return 0, size, session.open_data(f"RETR {full_path}")

    def _resume(self, session: FtpSession, full_path: str, sink: Sink) -> tuple[int, int | None]:
        """Send REST for `sink.start`, or restart the sink. Return the offset and the size (None: not known yet)."""
        start = sink.start
        size = None if self._states_size and not start else session.size(full_path)
        is_shorter = size is not None and start > size
        if start and (is_shorter or is_replaced(sink, _ask_time(session, full_path)) or not session.restart_at(start)):
            sink.restart()
            start = 0
        return start, size

    async def list(self, folder: str) -> Entries | None:
        """List a folder, or return None if it does not exist.

        The command is MLSD, or LIST if the server does not have MLSD. If the list that LIST returns is empty or in an
        unknown format, NLST follows: some servers send an empty list when their listing program fails. MLSD returns
        times. After LIST and NLST, the times are requested with MDTM, if the server has it. `site.listing_timeout`
        limits the total time of these commands. If the server says that a list is not complete, as pure-ftpd does after
        2,000 files, that reply becomes an entry with the reason PROTOCOL_ERROR. So does a last line without an end,
        unless SIZE returns a size for the name in it.
        """
        full_path = server_path(self.open().site, folder)
        with self._use_session(folder) as session, session.listing():
            try:
                entries = self._list_with_mlsd(session, full_path, folder) if self._has_mlsd else None
                if entries is None:
                    session.cwd(full_path)
                    entries = read_list(folder, session.lines("LIST", public_address(self._site, folder)))
                    if all(entry.reason for entry in entries):
                        entries = self._list_any_names(session, folder) or entries
                    entries = _add_times(session, full_path, entries)
                if session.unfinished_line:
                    entries = _check_last_name(session, folder, full_path, entries)
            except Refused as error:
                _raise_unless_missing(error)
                return None
            if session.cut_reply:
                cut = printable(session.cut_reply)
                entries.append(ListingEntry(folder, f"the reply: {cut}", reason=Reason.PROTOCOL_ERROR))
            return entries

    def _list_with_mlsd(self, session: FtpSession, full_path: str, folder: str) -> Entries | None:
        """Return a folder's entries with MLSD, or None if the server does not have it."""
        try:
            return read_mlsd(folder, session.lines(f"MLSD {full_path}", public_address(self._site, folder)))
        except Refused as error:
            lacks_mlsd = {"502"} if session.has_feature("MLST") else {"500", "501", "502", "504"}
            if str(error)[:3] not in lacks_mlsd:
                raise
            self._has_mlsd = False
            return None

    def _list_any_names(self, session: FtpSession, folder: str) -> Entries:
        """Return a folder's entries with NLST, or [] if the server does not have it or replies that there are no files.

        For no files some servers send 450, or 550 as for a missing folder, which this one is not. A name is a file if
        SIZE returns a size, or if the server lacks SIZE. A size that is not to be had now (4yz) ends the list: it does
        not tell a file from a folder.
        """
        try:
            names = read_nlst(session.lines("NLST", public_address(self._site, folder)))
        except (Refused, Delayed) as error:
            if str(error)[:3] not in {"450", "500", "502"} and map_error(error, "").reason is not Reason.NOT_FOUND:
                raise
            return []
        safe_names = [name for name in names if _SAFE_NAME.fullmatch(name)]
        sizes = dict(zip(safe_names, session.sizes(safe_names), strict=True))
        return [
            ListingEntry(folder, name, size, None, size is not None or not session.has_size)
            for name, size in ((name, sizes.get(name)) for name in names)
        ]

    async def close(self) -> None:
        """Send QUIT, and close the connection without waiting for the reply."""
        if self._session:
            with suppress(OSError):
                self._session.push(b"QUIT\r\n")
        self._disconnect()


def _copy_data(session: FtpSession, connection: socket.socket, sink: Sink, expected: int | None) -> int:
    """Copy a file's data into the sink, and return the number of bytes. `expected` is the announced number, or None."""
    view, receive, write, received = session.view, connection.recv_into, sink.write, 0
    try:
        while count := receive(view):
            write(view[:count])
            received += count
        session.close_data(connection)
    except ssl.SSLEOFError:  # without close_notify, only the size shows that the file is complete
        if received != expected:
            raise
    return received


def _check_last_name(session: FtpSession, folder: str, full_path: str, entries: Entries) -> Entries:
    """Replace the entry of the unfinished line by an unreadable one, unless the server has a file of this name.

    Some servers never end the last line; but a line that was cut has only the beginning of a name.
    """
    line = session.unfinished_line
    last = next((entry for entry in reversed(entries) if not entry.reason and line.endswith(entry.name)), None)
    if last and _SAFE_NAME.fullmatch(last.name) and session.size(f"{full_path.rstrip('/')}/{last.name}") is not None:
        return entries
    cut = ListingEntry(folder, f"the line without an end: {printable(line)}", reason=Reason.PROTOCOL_ERROR)
    return [*(entry for entry in entries if entry is not last), cut]


def _raise_unless_missing(error: ftplib.Error) -> None:
    means_missing = str(error).startswith("501") or map_error(error, "").reason is Reason.NOT_FOUND
    if not means_missing:
        raise error


def _add_times(session: FtpSession, full_path: str, entries: Entries) -> Entries:
    if not session.has_feature("MDTM"):
        return entries
    indexes = [
        index
        for index, entry in enumerate(entries)
        if entry.is_file and not entry.reason and _SAFE_NAME.fullmatch(entry.name)
    ]
    folder = full_path.rstrip("/")
    replies = session.ask_all(f"MDTM {folder}/{entries[index].name}" for index in indexes)
    for index, reply in zip(indexes, replies, strict=True):
        refuse_delay(reply)  # a file whose time is not to be had now would look as if it had changed
        if reply.startswith("213"):
            entries[index] = entries[index]._replace(modified=read_time(reply[4:].strip()))
    return entries


def _ask_time(session: FtpSession, path: str) -> datetime | None:
    if not session.has_feature("MDTM"):
        return None
    reply = session.ask_all([f"MDTM {path}"])[0]
    return read_time(reply[4:].strip()) if reply.startswith("213") else None


async def connect(site: Site) -> FtpConnection:
    """Return a connection that is logged in, or raise a TransportError. `ftps` is FTP with AUTH TLS."""
    refuse_proxy(site)
    connection = FtpConnection(site)
    connection.open()
    return connection
