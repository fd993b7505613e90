"""FTP and FTP over TLS (RFC 959, 2428, 3659, 4217), blocking, over ftplib's control line."""

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
from windrow.fetch.dial import Foreign, context, direct, network
from windrow.fetch.ftp_session import Delayed, FtpSession, Refused
from windrow.fetch.secret import reveal
from windrow.fetch.transport import Connection, Sink, TransferEnd, at, replaced, shown, wire
from windrow.formats.listing import Entries, read_list, read_mlsd, read_nlst, read_time
from windrow.model import ListingEntry, Site
from windrow.reasons import Reason

DATED = 10_000
"""The most files of one LIST whose times are asked for one by one."""

_ANNOUNCED = re.compile(r"\((\d{1,18}) bytes\)", re.ASCII)
_PLAIN = re.compile(r"[^\x00-\x1f\x7f/]+")
_CODES: dict[str, tuple[type[TransportError], Reason]] = {
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
# Servers say several things under one code; these words in a reply tell which.
_WORDS: tuple[tuple[str, re.Pattern[str], Reason], ...] = (
    ("530", re.compile("encrypt|tls|ssl", re.IGNORECASE), Reason.TLS_FAILED),
    ("550", re.compile("permission|denied|not permitted", re.IGNORECASE), Reason.PERMISSION_DENIED),
    ("550", re.compile("not a (plain|regular) file|is a directory", re.IGNORECASE), Reason.NOT_A_FILE),
)


def failure(error: BaseException, where: str) -> TransportError:
    """Map what ftplib, sockets and TLS raise while a session lives."""
    if not isinstance(error, ftplib.Error):
        return network(error, where, open_line=True)
    reply = str(error)
    text = f"{where}: {shown(reply)}"
    if not isinstance(error, Refused | Delayed):
        return TerminalFailure(text, Reason.PROTOCOL_ERROR)
    for code, words, reason in _WORDS:
        if reply.startswith(code) and words.search(reply):
            return TerminalFailure(text, reason)
    otherwise: tuple[type[TransportError], Reason] = (TerminalFailure, Reason.PROTOCOL_ERROR)
    if isinstance(error, Delayed):
        otherwise = (TransientFailure, Reason.SERVER_ERROR)
    kind, reason = _CODES.get(reply[:3], otherwise)
    return kind(text, reason)


class _Expected(NamedTuple):
    """A file that was asked for already: its size if that was asked, where it comes, or why it does not."""

    path: str
    size: int | None
    source: socket.socket | Exception


class FtpConnection(Connection):
    """A session that comes back: after a break the next call opens a new one by itself."""

    def __init__(self, site: Site) -> None:
        """Prepare for a site; `open` connects."""
        self._site = site
        self._context = context(site) if site.scheme == "ftps" else None
        self._session: FtpSession | None = None
        self._mlsd = True
        self._telling = False  # the reply before the bytes tells their number
        self._expected: _Expected | None = None

    def open(self) -> FtpSession:
        """Connect and log in, unless there is a session."""
        if self._session is None:
            password = reveal(self._site.secret) if self._site.secret else ""
            try:
                self._session = FtpSession(self._site, password, self._context)
            except (ftplib.Error, *Foreign) as error:
                raise failure(error, at(self._site)) from error
            self._mlsd = self._session.features is None or self._session.can("MLST")
        return self._session

    def _drop(self) -> None:
        """Close at once: after a break nobody knows what the server says next."""
        session, self._session = self._session, None
        expected, self._expected = self._expected, None
        if session:
            session.close()
        if expected and isinstance(expected.source, socket.socket):
            expected.source.close()

    @contextmanager
    def _line(self, path: str, expected: str = "") -> Iterator[FtpSession]:
        if self._expected and self._expected.path != expected:
            self._drop()  # its bytes are on the way, and nobody wants them
        session = self.open()
        try:
            yield session
        except (Refused, Delayed) as error:
            if str(error).startswith("421"):
                self._drop()
            raise failure(error, at(self._site, path)) from error
        except (ftplib.Error, *Foreign) as error:
            self._drop()
            raise failure(error, at(self._site, path)) from error
        except BaseException:
            self._drop()
            raise

    async def get(self, path: str, sink: Sink) -> TransferEnd:
        """Get one file (RETR), going on at `sink.start` where the server can (REST).

        Bytes that are not as many as the server announced are a SIZE_MISMATCH, which may pass: the
        file may be growing.
        """
        whole = wire(self.open().site, path)
        with self._line(path, "" if sink.start else path) as session:
            start, size, (data, reply) = self._begin(session, whole, sink)
            with data:
                if not start:
                    announced = _ANNOUNCED.search(reply)
                    self._telling = announced is not None
                    size = int(announced[1]) if announced else size
                sink.open(size)
                received = start + _pump(session, data, sink, None if size is None else size - start)
            code = session.done()
        if size is not None and received != size:
            raise TransientFailure(
                f"{at(self._site, path)}: {received:,} bytes came, {size:,} were announced", Reason.SIZE_MISMATCH
            )
        return TransferEnd(code)

    def expect(self, path: str) -> None:
        """Ask for the file that is got next: the server sends it while the one before it is kept."""
        session, size = self._session, None
        if session is None or self._expected is not None:
            return
        source: socket.socket | Exception
        try:
            whole = wire(session.site, path)
            size = None if self._telling else session.size(whole)
            source = session.ask_data(f"RETR {whole}")
        except TransportError:
            return  # the name is unsafe, as `get` finds too
        except (ftplib.Error, *Foreign) as error:
            source = error
        self._expected = _Expected(path, size, source)

    def _begin(self, session: FtpSession, whole: str, sink: Sink) -> tuple[int, int | None, tuple[socket.socket, str]]:
        """Have a file sent; return where it begins, its size if that was asked, and what `FtpSession.data` returns."""
        expected, self._expected = self._expected, None
        if expected is not None:
            if isinstance(expected.source, Exception):
                raise expected.source
            return 0, expected.size, session.begun(expected.source)
        start, size = self._resume(session, whole, sink)
        try:
            return start, size, session.data(f"RETR {whole}")
        except Refused as error:
            if not start or not str(error).startswith("554"):
                raise
            sink.restart()  # the file is shorter than what is held (RFC 3659 leaves 554 for this)
            return 0, size, session.data(f"RETR {whole}")

    def _resume(self, session: FtpSession, whole: str, sink: Sink) -> tuple[int, int | None]:
        """Agree on where to begin, and ask for the size where no later reply will tell it."""
        start = sink.start
        size = None if self._telling and not start else session.size(whole)
        longer = size is not None and start > size
        if start and (longer or replaced(sink, _time(session, whole)) or not session.begin_at(start)):
            sink.restart()
            start = 0
        return start, size

    async def list(self, folder: str) -> Entries | None:
        """List a folder by MLSD where the server has it, else by LIST, else by NLST.

        MLSD tells times; after LIST and NLST they are asked for (MDTM), for the first `DATED` files.
        """
        whole = wire(self.open().site, folder)
        with self._line(folder) as session, session.listing():
            if self._mlsd:
                try:
                    return read_mlsd(folder, session.lines(f"MLSD {whole}", at(self._site, folder)))
                except Refused as error:
                    if session.can("MLST") or str(error)[:3] not in {"500", "501", "502", "504"}:
                        _missing(error)
                        return None
                    self._mlsd = False
            try:
                session.cwd(whole)
                entries = read_list(folder, session.lines("LIST", at(self._site, folder)))
                if entries is None:
                    entries = self._named(session, folder)
            except Refused as error:
                _missing(error)
                return None
            return _dated(session, whole, entries)

    def _named(self, session: FtpSession, folder: str) -> Entries:
        """List by names alone; what has a size is a file."""
        entries = []
        for name in read_nlst(session.lines("NLST", at(self._site, folder))):
            size = session.size(name) if _PLAIN.fullmatch(name) else None
            entries.append(ListingEntry(folder, name, size, None, size is not None or not session.sizes))
        return entries

    async def close(self) -> None:
        """Say QUIT without waiting for the reply."""
        if self._session:
            with suppress(OSError):
                self._session.push(b"QUIT\r\n")
        self._drop()


def _pump(session: FtpSession, data: socket.socket, sink: Sink, expected: int | None) -> int:
    """Move a file's bytes into the sink; return their number."""
    view, take, write, received = session.view, data.recv_into, sink.write, 0
    try:
        while count := take(view):
            write(view[:count])
            received += count
        session.end(data)
    except ssl.SSLEOFError:  # TLS demands a farewell; without one, only the size proves the end
        if received != expected:
            raise
    return received


def _missing(error: ftplib.Error) -> None:
    """Take a refusal for a missing folder, unless it says something else."""
    missing = str(error).startswith("501") or failure(error, "").reason is Reason.NOT_FOUND
    if not missing:
        raise error


def _dated(session: FtpSession, whole: str, entries: Entries) -> Entries:
    """Ask for the files' times, where the server tells them (MDTM)."""
    if not session.can("MDTM"):
        return entries
    asked = [
        n for n, entry in enumerate(entries) if entry.is_file and not entry.reason and _PLAIN.fullmatch(entry.name)
    ]
    asked = asked[:DATED]
    folder = whole.rstrip("/")
    replies = session.ask(f"MDTM {folder}/{entries[n].name}" for n in asked)
    for n, reply in zip(asked, replies, strict=True):
        if reply.startswith("213"):
            entries[n] = entries[n]._replace(modified=read_time(reply[4:].strip()))
    return entries


def _time(session: FtpSession, path: str) -> datetime | None:
    """Ask for one file's time; None where the server does not tell."""
    if not session.can("MDTM"):
        return None
    reply = session.ask([f"MDTM {path}"])[0]
    return read_time(reply[4:].strip()) if reply.startswith("213") else None


async def connect(site: Site) -> FtpConnection:
    """Open a session, logged in and in binary mode; `ftps` is FTP over TLS by AUTH TLS on the ordinary port."""
    direct(site)
    connection = FtpConnection(site)
    connection.open()
    return connection
