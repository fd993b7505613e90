"""An FTP session: the commands of ftplib, with limits on the replies, and data connections."""

from __future__ import annotations

import ftplib
import re
import socket
import ssl
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace

from windrow.fetch.dial import connect_socket
from windrow.formats.listing import LineSplitter
from windrow.model import Site

Broken, Refused, Delayed = ftplib.error_proto, ftplib.error_perm, ftplib.error_temp
"""ftplib's errors for a protocol error, for a permanent refusal (5yz), and for a temporary refusal (4yz)."""

BLOCK_SIZE = 256 * 2**10
"""The maximum number of bytes that are read from a data connection at a time."""

_MAX_LINE = 8 * 2**10  # the maximum number of bytes of a line
_MAX_REPLY = 256 * 2**10  # the maximum number of bytes of a reply
_MAX_UNANSWERED = 32  # the maximum number of commands that are sent before their replies are read
_SUCCESS = re.compile(r"2\d\d(?!\d)", re.ASCII)
_TRUNCATED, _TOTAL = re.compile(r"\btruncated\b", re.IGNORECASE), re.compile(r"\b(\d{1,18}) matches total\b", re.ASCII)
_PASV_PORT = re.compile(r"(?<!\d)\d{1,3},\d{1,3},\d{1,3},\d{1,3},(\d{1,3}),(\d{1,3})(?!\d)")
_EPSV_PORT = re.compile(r"\((.)\1\1(\d{1,5})\1\)")


class FtpSession(ftplib.FTP):
    """A control connection, logged in and in binary mode, with the server's features (FEAT, RFC 2389).

    File names may contain any bytes. Replies are limited in time and size: a line to `_MAX_LINE` bytes, a reply to
    `_MAX_REPLY` (ftplib does not limit the number of lines). `features` is None if the server does not have FEAT. The
    session's `site` has an absolute base.
    """

    def __init__(self, site: Site, password: str, context: ssl.SSLContext | None) -> None:
        """Connect, encrypt unless `context` is None, and log in. Each wait lasts at most the site's timeout."""
        super().__init__(timeout=site.timeout, encoding="utf-8")
        self.site = site
        self.host = site.host
        self.view = memoryview(bytearray(BLOCK_SIZE))  # the buffer for received data
        self.deadline = 0.0  # time.monotonic() before which a listing must end; 0: no listing is under way
        self.cut_reply = ""  # see `listing`
        self.unfinished_line = ""  # the last line of `lines`, if the server did not end it
        self._unread = b""  # received bytes after the last line that was returned
        self._context: ssl.SSLContext | None = None
        self.sock = connect_socket(site, 21)
        self.af = self.sock.family
        self._peer: tuple[str, ...] = self.sock.getpeername()
        try:
            self.welcome = self.getresp()
            if context:
                self._secure(context)
            self._login(password)
            self.features = self._read_features()
            if self.has_feature("UTF8"):
                with suppress(Refused):
                    self.sendcmd("OPTS UTF8 ON")
            self.voidcmd("TYPE I")
            if not site.base.startswith("/"):
                self.site = replace(site, base=f"{self.pwd().rstrip('/')}/{site.base}")
        except BaseException:
            self.close()
            raise
        self.has_size = self.features is None or self.has_feature("SIZE")
        self._uses_epsv = self.af == socket.AF_INET6 or self.has_feature("EPSV")

    def _secure(self, context: ssl.SSLContext) -> None:
        self.voidcmd("AUTH TLS")
        if self._unread:  # sent unencrypted, but would be read as if encrypted
            raise Broken("the server sent text before the TLS handshake")
        assert self.sock is not None
        self.sock = context.wrap_socket(self.sock, server_hostname=self.host)
        self._context = context
        self.voidcmd("PBSZ 0")
        self.voidcmd("PROT P")

    def _login(self, password: str) -> None:
        """Log in. Error messages do not contain the password."""
        try:
            self.login(self.site.username, password)
        except (Refused, Delayed, Broken) as error:
            # a server may repeat the password in its reply, which goes into messages
            reply = str(error)
            raise type(error)(f"{reply[:3]} refused" if password and password in reply else reply) from None

    def _read_features(self) -> frozenset[str] | None:
        try:
            reply = self.sendcmd("FEAT")
        except Refused:
            return None
        lines = [line.split() for line in reply.splitlines()[1:-1]]
        return frozenset(words[0].upper() for words in lines if words)

    def has_feature(self, feature: str) -> bool:
        """Return whether the server's reply to FEAT contains a feature."""
        return self.features is not None and feature in self.features

    def putline(self, line: str) -> None:
        """Send the command `line`. Raises Broken if it contains a line break."""
        if "\r" in line or "\n" in line:
            raise Broken("the command contains a line break")
        self.push(line.encode("utf-8", "surrogateescape") + b"\r\n")

    def push(self, lines: bytes) -> None:
        """Send complete command lines unchanged."""
        assert self.sock is not None
        self.sock.sendall(lines)

    def getline(self) -> str:
        """Read one line of a reply, without its line break."""
        return self._line(time.monotonic() + self.site.timeout).decode("utf-8", "surrogateescape")

    def getmultiline(self) -> str:
        """Read a reply within the site's timeout, its lines joined by newlines. Raises Broken if it is too long."""
        deadline = time.monotonic() + self.site.timeout
        line = self._line(deadline)
        if line[3:4] != b"-":
            return line.decode("utf-8", "surrogateescape")
        lines, last_line_start, size = [line], line[:3] + b" ", 0
        while not (line.startswith(last_line_start) or line == last_line_start[:3]):
            line = self._line(deadline)
            lines.append(line)
            size += len(line) + 1
            if size > _MAX_REPLY:
                raise Broken(f"the reply has more than {_MAX_REPLY} bytes")
        return b"\n".join(lines).decode("utf-8", "surrogateescape")

    def _line(self, deadline: float) -> bytes:
        """Read a line without its line break.

        Raises TimeoutError after `deadline` (time.monotonic), Broken for a line that is too long, and EOFError if the
        server closed the connection.
        """
        assert self.sock is not None
        while (line_end := self._unread.find(b"\n")) < 0:
            if len(self._unread) > _MAX_LINE:
                raise Broken(f"a line of the reply has more than {_MAX_LINE} bytes")
            if time.monotonic() >= deadline:
                raise TimeoutError("the reply did not end within the timeout")
            block = self.sock.recv(4096)
            if not block:
                raise EOFError("the server closed the connection")
            self._unread += block
        line = self._unread[:line_end]
        self._unread = self._unread[line_end + 1 :]
        if line_end > _MAX_LINE:
            raise Broken(f"a line of the reply has more than {_MAX_LINE} bytes")
        return line[:-1] if line.endswith(b"\r") else line

    def close(self) -> None:
        """Close the connection without QUIT. It may be closed already."""
        if self.sock is not None:
            self.sock.close()
            self.sock = None

    def open_data(self, command: str) -> tuple[socket.socket, str]:
        """Send a command that needs a data connection. Return the connection and the reply that precedes the data."""
        return self.accept_data(self.request_data(command))

    def request_data(self, command: str) -> socket.socket:
        """Send a command that needs a data connection. Return the socket for `accept_data`, which must follow."""
        source = self._dial_data() if self.site.passive else self.makeport()
        try:
            self.putline(command)
        except BaseException:
            source.close()
            raise
        return source

    def accept_data(self, source: socket.socket) -> tuple[socket.socket, str]:
        """Wait for the reply that precedes the data. Return the data connection and the reply.

        `source` is the socket that `request_data` returned. Raises an ftplib error if the server refuses the command.
        """
        try:
            reply = self.getmultiline()
            if reply[:1] == "2":  # some servers send a completion reply too early
                reply = self.getmultiline()
            if reply[:1] != "1":
                raise reply_error(reply)  # noqa: TRY301 - the data connection is closed in one place
            connection = source if self.site.passive else self._accept_data(source)
            return self._encrypt_data(connection), reply
        except BaseException:
            source.close()
            raise

    def _dial_data(self) -> socket.socket:
        """Open a data connection to the IP address of the control connection, at the port that EPSV or PASV returns."""
        self.push(b"EPSV\r\n" if self._uses_epsv else b"PASV\r\n")
        reply = self.getmultiline()
        if reply[:1] == "5" and self._uses_epsv and self.af == socket.AF_INET:
            self._uses_epsv = False
            return self._dial_data()
        port = passive_port(reply)
        connection = socket.socket(self.af, socket.SOCK_STREAM)
        try:
            connection.settimeout(self.site.timeout)
            connection.connect((self._peer[0], port, *self._peer[2:]))
        except OSError as error:
            connection.close()
            raise Delayed(f"425 the data connection cannot be opened: {error}") from error
        return connection

    def _accept_data(self, listener: socket.socket) -> socket.socket:
        connection, peer_address = listener.accept()
        listener.close()
        if peer_address[0] != self._peer[0]:
            connection.close()
            raise Broken(f"the data connection comes from {peer_address[0]}, not from the server")
        connection.settimeout(self.site.timeout)
        return connection

    def _encrypt_data(self, connection: socket.socket) -> socket.socket:
        """If the session is encrypted, encrypt a data connection by resuming the TLS session of the control connection.

        Some servers require this, as proof that both connections are from the same client.
        """
        if self._context is None:
            return connection
        assert isinstance(self.sock, ssl.SSLSocket)
        return self._context.wrap_socket(
            connection, server_hostname=self.host, session=self.sock.session, suppress_ragged_eofs=False
        )

    def close_data(self, connection: socket.socket) -> None:
        """End TLS on an encrypted data connection. The server may have closed it already."""
        if isinstance(connection, ssl.SSLSocket):
            with suppress(OSError):
                connection.unwrap()

    def finish_data(self) -> str:
        """Read the reply after the data, and return it. Raises an ftplib error if it is not a success."""
        reply = self.getmultiline()
        if not _SUCCESS.match(reply):
            raise reply_error(reply)
        return reply

    @contextmanager
    def listing(self) -> Iterator[None]:
        """Limit the time of `lines`, `sizes` and `ask_all` in the block to the site's listing timeout.

        After it, `cut_reply` is the reply that a list of `lines` is not complete, if there was one.
        """
        self.cut_reply = ""
        self.deadline = time.monotonic() + self.site.listing_timeout
        try:
            yield
        finally:
            self.deadline = 0.0

    def lines(self, command: str, address: str) -> list[str]:
        """Send a listing command, and return the lines of its data. Errors about these lines name `address`."""
        splitter = LineSplitter(address)
        connection, _ = self.open_data(command)
        with connection:
            while count := connection.recv_into(self.view):
                splitter.feed(bytes(self.view[:count]))
                self._check_deadline()
            self.close_data(connection)
        is_unfinished = splitter.is_unfinished
        reply, lines = self.finish_data(), list(splitter.end())
        self.unfinished_line = lines[-1] if is_unfinished else ""
        total = _TOTAL.search(reply)
        if _TRUNCATED.search(reply) or (total and int(total[1]) > len(lines)):
            self.cut_reply = reply
        return lines

    def restart_at(self, start: int) -> bool:
        """Send REST, so that the next transfer begins at the offset `start`. Return whether the server accepts it."""
        reply = self._query(f"REST {start}")
        return reply[:1] == "3"

    def size(self, filename: str) -> int | None:
        """Return a file's size in bytes, or None if the server does not report it."""
        if not self.has_size:
            return None
        return self._read_size(self._query(f"SIZE {filename}"))

    def sizes(self, filenames: Sequence[str]) -> list[int | None]:
        """Return the sizes of files as `size` does. After the first one, several are requested at a time.

        Raises Delayed if the server cannot tell a size now.
        """
        replies = [self._query(f"SIZE {filename}") for filename in filenames[:1] if self.has_size]
        sizes = [self._read_size(reply) for reply in replies]
        others = filenames[len(sizes) :]
        if self.has_size:
            more_replies = self.ask_all(f"SIZE {filename}" for filename in others)
            for reply in (*replies, *more_replies):
                refuse_delay(reply)
            return sizes + [self._read_size(reply) for reply in more_replies]
        return sizes + [None] * len(others)

    def _read_size(self, reply: str) -> int | None:
        digits = reply[4:].strip()
        if reply.startswith("213") and digits.isascii() and digits.isdecimal() and len(digits) < 19:
            return int(digits)
        if reply[:3] in {"500", "502"}:
            self.has_size = False
        return None

    def ask_all(self, commands: Iterable[str]) -> list[str]:
        """Send commands with short replies, several at a time. Return the replies in the order of the commands."""
        unsent, replies = list(commands), []
        for start in range(0, len(unsent), _MAX_UNANSWERED):
            batch = unsent[start : start + _MAX_UNANSWERED]
            self.push(b"".join(command.encode("utf-8", "surrogateescape") + b"\r\n" for command in batch))
            replies += [self.getmultiline() for _ in batch]
            self._check_deadline()
        return replies

    def _check_deadline(self) -> None:
        if self.deadline and time.monotonic() > self.deadline:
            raise TimeoutError("the listing did not end within listing_timeout")

    def _query(self, command: str) -> str:
        self.putline(command)
        reply = self.getmultiline()
        if reply.startswith("421"):
            raise reply_error(reply)
        return reply


def refuse_delay(reply: str) -> None:
    """Raise Delayed for a reply that says "not now" (4yz)."""
    if reply.startswith("4"):
        raise Delayed(reply)


def reply_error(reply: str) -> ftplib.Error:
    """Return ftplib's error for an unexpected reply, by the first digit of the reply."""
    return {"4": Delayed, "5": Refused}.get(reply[:1], Broken)(reply)


def passive_port(reply: str) -> int:
    """Return the port in a reply to EPSV (229) or PASV (227), or raise an ftplib error. An IP address in it is ignored.

    >>> passive_port("229 Extended Passive (|||50001|)"), passive_port("227 Now passive (10,0,0,9,195,81).")
    (50001, 50001)
    """
    if reply.startswith("229") and (extended := _EPSV_PORT.search(reply)):
        port = int(extended[2])
    elif reply.startswith("227") and (passive := _PASV_PORT.search(reply)):
        port = int(passive[1]) * 256 + int(passive[2])
    else:
        raise reply_error(reply)
    if not 0 < port < 2**16:
        raise Broken(reply)
    return port
