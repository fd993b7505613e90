"""An FTP session: ftplib's commands over a reader that is bounded and lean, and how data lines are opened."""

from __future__ import annotations

import ftplib
import re
import socket
import ssl
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

from windrow.fetch.dial import dial
from windrow.formats.listing import LineSplitter
from windrow.model import Site

Broken, Refused, Delayed = ftplib.error_proto, ftplib.error_perm, ftplib.error_temp
"""ftplib's words for: against the protocol, refused for good (5yz), refused for now (4yz)."""

BLOCK = 256 * 2**10
"""Bytes that are read at once."""

_LINE = 8 * 2**10
_REPLY = 256 * 2**10
_AHEAD = 32  # questions sent before their answers are read
_PASSIVE = re.compile(r"(?<!\d)\d{1,3},\d{1,3},\d{1,3},\d{1,3},(\d{1,3}),(\d{1,3})(?!\d)")
_EXTENDED = re.compile(r"\((.)\1\1(\d{1,5})\1\)")


class FtpSession(ftplib.FTP):
    """A control line, logged in and in binary mode, with what FEAT told (RFC 2389).

    Names survive any bytes, and replies cannot grow, or take, without end: they are read from the socket into one
    buffer, a line at most 8 kB and a reply at most 256 kB (ftplib itself bounds neither the lines of a reply nor asks
    for less than a makefile per line).

    `features` is None where the server has no FEAT. `site.base` is made absolute.
    """

    def __init__(self, site: Site, password: str, context: ssl.SSLContext | None) -> None:
        """Connect, encrypt with `context` where there is one, log in; every wait is bounded by the site's timeout."""
        super().__init__(timeout=site.timeout, encoding="utf-8")
        self.site = site
        self.host = site.host
        self.view = memoryview(bytearray(BLOCK))
        self.until = 0.0  # when a listing that is under way must have ended
        self._rest = b""
        self._context: ssl.SSLContext | None = None
        self.sock = dial(site, 21)
        self.af = self.sock.family
        self._peer: tuple[str, ...] = self.sock.getpeername()
        try:
            self.welcome = self.getresp()
            if context:
                self._secure(context)
            self._login(password)
            self.features = self._learn()
            if self.can("UTF8"):
                with suppress(Refused):
                    self.sendcmd("OPTS UTF8 ON")
            self.voidcmd("TYPE I")
            if not site.base.startswith("/"):
                self.site = replace(site, base=f"{self.pwd().rstrip('/')}/{site.base}")
        except BaseException:
            self.close()
            raise
        self.sizes = self.features is None or self.can("SIZE")
        self._extended = self.af == socket.AF_INET6 or self.can("EPSV")

    def _secure(self, context: ssl.SSLContext) -> None:
        """Encrypt this line (RFC 4217: AUTH TLS) and every data line (PBSZ 0, PROT P)."""
        self.voidcmd("AUTH TLS")
        if self._rest:  # sent in the clear, to be read as if it were not
            raise Broken("text before the TLS handshake")
        assert self.sock is not None
        self.sock = context.wrap_socket(self.sock, server_hostname=self.host)
        self._context = context
        self.voidcmd("PBSZ 0")
        self.voidcmd("PROT P")

    def _login(self, password: str) -> None:
        try:
            self.login(self.site.username, password)
        except (Refused, Delayed, Broken) as error:
            # a server may repeat the password in its reply, which goes into messages
            reply = str(error)
            raise type(error)(f"{reply[:3]} refused" if password and password in reply else reply) from None

    def _learn(self) -> frozenset[str] | None:
        try:
            reply = self.sendcmd("FEAT")
        except Refused:
            return None
        lines = [line.split() for line in reply.splitlines()[1:-1]]
        return frozenset(words[0].upper() for words in lines if words)

    def can(self, feature: str) -> bool:
        """Tell whether FEAT named a feature."""
        return self.features is not None and feature in self.features

    def putline(self, line: str) -> None:
        """Send one command; a line break in it is refused."""
        if "\r" in line or "\n" in line:
            raise Broken("a command holds a line break")
        self.push(line.encode("utf-8", "surrogateescape") + b"\r\n")

    def push(self, lines: bytes) -> None:
        """Send whole command lines as they are."""
        assert self.sock is not None
        self.sock.sendall(lines)

    def getline(self) -> str:
        """Read one line of a reply, without its end."""
        return self._line(time.monotonic() + self.site.timeout).decode("utf-8", "surrogateescape")

    def getmultiline(self) -> str:
        """Read one reply, its lines joined by newlines (RFC 959, section 4.2); all of it must come in time."""
        until = time.monotonic() + self.site.timeout
        line = self._line(until)
        if line[3:4] != b"-":
            return line.decode("utf-8", "surrogateescape")
        lines, end, size = [line], line[:3] + b" ", 0
        while not (line.startswith(end) or line == end[:3]):
            line = self._line(until)
            lines.append(line)
            size += len(line) + 1
            if size > _REPLY:
                raise Broken("a reply without end")
        return b"\n".join(lines).decode("utf-8", "surrogateescape")

    def _line(self, until: float) -> bytes:
        assert self.sock is not None
        while (end := self._rest.find(b"\n")) < 0:
            if len(self._rest) > _LINE:
                raise Broken("a line longer than 8 kB")
            if time.monotonic() >= until:
                raise TimeoutError("a reply that does not end")
            block = self.sock.recv(4096)
            if not block:
                raise EOFError("the server closed the connection")
            self._rest += block
        line = self._rest[:end]
        self._rest = self._rest[end + 1 :]
        if end > _LINE:
            raise Broken("a line longer than 8 kB")
        return line[:-1] if line.endswith(b"\r") else line

    def close(self) -> None:
        """Close the line without a word; it may be closed already."""
        if self.sock is not None:
            self.sock.close()
            self.sock = None

    def data(self, verb: str) -> tuple[socket.socket, str]:
        """Send a command that brings data; return the data line and the reply that precedes it."""
        return self.begun(self.ask_data(verb))

    def ask_data(self, verb: str) -> socket.socket:
        """Send a command that brings data; return the socket for `begun`, before which nothing else may be sent."""
        source = self._dial_data() if self.site.passive else self.makeport()
        try:
            self.putline(verb)
        except BaseException:
            source.close()
            raise
        return source

    def begun(self, source: socket.socket) -> tuple[socket.socket, str]:
        """Wait for the data that were asked for; return the data line and the reply that precedes it."""
        try:
            reply = self.getmultiline()
            if reply[:1] == "2":  # some servers answer twice, the first time too early
                reply = self.getmultiline()
            if reply[:1] != "1":
                raise reply_error(reply)  # noqa: TRY301 - the data line is closed in one place
            line = source if self.site.passive else self._accept_data(source)
            return self._encrypt_data(line), reply
        except BaseException:
            source.close()
            raise

    def _dial_data(self) -> socket.socket:
        """Open a data line to the very host of the control line."""
        self.push(b"EPSV\r\n" if self._extended else b"PASV\r\n")
        reply = self.getmultiline()
        if reply[:1] == "5" and self._extended and self.af == socket.AF_INET:
            self._extended = False
            return self._dial_data()
        port = passive_port(reply)
        line = socket.socket(self.af, socket.SOCK_STREAM)
        try:
            line.settimeout(self.site.timeout)
            line.connect((self._peer[0], port, *self._peer[2:]))
        except OSError as error:
            line.close()
            raise Delayed(f"425 no data connection: {error}") from error
        return line

    def _accept_data(self, listener: socket.socket) -> socket.socket:
        """Take the data line that the server opens, and nobody else's."""
        line, caller = listener.accept()
        listener.close()
        if caller[0] != self._peer[0]:
            line.close()
            raise Broken(f"data line from {caller[0]}, not from the server")
        line.settimeout(self.site.timeout)
        return line

    def _encrypt_data(self, line: socket.socket) -> socket.socket:
        """Encrypt a data line where the session is, going on with the control line's TLS session.

        Servers that demand such a resumption prove by it that both lines come from one client.
        """
        if self._context is None:
            return line
        assert isinstance(self.sock, ssl.SSLSocket)
        return self._context.wrap_socket(
            line, server_hostname=self.host, session=self.sock.session, suppress_ragged_eofs=False
        )

    def end(self, line: socket.socket) -> None:
        """Answer the farewell on an encrypted data line; the server may have gone already."""
        if isinstance(line, ssl.SSLSocket):
            with suppress(OSError):
                line.unwrap()

    def done(self) -> int:
        """Read the reply that follows the data; return its code."""
        reply = self.getmultiline()
        if reply[:1] != "2":
            raise reply_error(reply)
        return int(reply[:3])

    @contextmanager
    def listing(self) -> Iterator[None]:
        """Bound the time of what is done within: that of one listing."""
        self.until = time.monotonic() + self.site.listing_timeout
        try:
            yield
        finally:
            self.until = 0.0

    def lines(self, verb: str, where: str) -> list[str]:
        """Return the lines that a listing command brings; `where` is for messages."""
        lines = LineSplitter(where)
        data, _ = self.data(verb)
        with data:
            while count := data.recv_into(self.view):
                lines.feed(bytes(self.view[:count]))
                self._in_time()
            self.end(data)
        self.done()
        return list(lines.end())

    def begin_at(self, start: int) -> bool:
        """Ask that the next transfer begin at an offset (REST); tell whether it will."""
        reply = self._answer(f"REST {start}")
        return reply[:1] == "3"

    def size(self, filename: str) -> int | None:
        """Ask for a file's size in bytes; None where the server does not tell."""
        if not self.sizes:
            return None
        reply = self._answer(f"SIZE {filename}")
        digits = reply[4:].strip()
        if reply.startswith("213") and digits.isascii() and digits.isdecimal() and len(digits) < 19:
            return int(digits)
        if reply[:3] in {"500", "502"}:
            self.sizes = False
        return None

    def ask(self, questions: Iterable[str]) -> list[str]:
        """Ask many short questions, several under way at once; return the replies in order."""
        waiting, replies = list(questions), []
        for first in range(0, len(waiting), _AHEAD):
            some = waiting[first : first + _AHEAD]
            self.push(b"".join(question.encode("utf-8", "surrogateescape") + b"\r\n" for question in some))
            replies += [self.getmultiline() for _ in some]
            self._in_time()
        return replies

    def _in_time(self) -> None:
        if self.until and time.monotonic() > self.until:
            raise TimeoutError("a listing that does not end")

    def _answer(self, verb: str) -> str:
        self.putline(verb)
        reply = self.getmultiline()
        if reply.startswith("421"):
            raise reply_error(reply)
        return reply


def reply_error(reply: str) -> ftplib.Error:
    """Return the exception that a reply other than the expected one amounts to."""
    return {"4": Delayed, "5": Refused}.get(reply[:1], Broken)(reply)


def passive_port(reply: str) -> int:
    """Return the port that a 229 or 227 reply names; its address is not believed (RFC 2577, 3).

    >>> passive_port("229 Extended Passive (|||50001|)"), passive_port("227 Now passive (10,0,0,9,195,81).")
    (50001, 50001)
    """
    if reply.startswith("229") and (extended := _EXTENDED.search(reply)):
        port = int(extended[2])
    elif reply.startswith("227") and (passive := _PASSIVE.search(reply)):
        port = int(passive[1]) * 256 + int(passive[2])
    else:
        raise reply_error(reply)
    if not 0 < port < 2**16:
        raise Broken(reply)
    return port
