"""An FTP session: what this server can do, and how data lines to it are opened."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

from windrow.model import Site
from windrow.transports.ftp_control import Broken, Control, Delayed, Refused, port, refusal
from windrow.transports.ftp_listing import LineSplitter

BLOCK = 256 * 2**10
"""Bytes that are read at once."""

_AHEAD = 32  # questions sent before their answers are read


class FtpSession:
    """A control line, logged in and in binary mode, with what FEAT told (RFC 2389).

    `features` is None where the server has no FEAT. `site.base` is made absolute.
    """

    def __init__(self, site: Site, password: str, made: ssl.SSLContext | None) -> None:
        """Connect, encrypt with `made` where there is one, log in."""
        self.control = control = Control(site)
        self.site = site
        self.view = memoryview(bytearray(BLOCK))
        try:
            if made:
                control.secure(made)
            self._login(password)
            self.features = self._learn()
            if self.can("UTF8"):
                with suppress(Refused):
                    control.sendcmd("OPTS UTF8 ON")
            control.voidcmd("TYPE I")
            if not site.base.startswith("/"):
                self.site = replace(site, base=f"{control.pwd().rstrip('/')}/{site.base}")
        except BaseException:
            control.close()
            raise
        self.until = 0.0  # when a listing that is under way must have ended
        self.sizes = self.features is None or self.can("SIZE")
        self._extended = control.af == socket.AF_INET6 or self.can("EPSV")

    def _login(self, password: str) -> None:
        try:
            self.control.login(self.site.username, password)
        except (Refused, Delayed, Broken) as error:
            # a server may repeat the password in its reply, which goes into messages
            told = str(error)
            raise type(error)(f"{told[:3]} refused" if password and password in told else told) from None

    def _learn(self) -> frozenset[str] | None:
        try:
            reply = self.control.sendcmd("FEAT")
        except Refused:
            return None
        lines = [line.split() for line in reply.splitlines()[1:-1]]
        return frozenset(words[0].upper() for words in lines if words)

    def can(self, feature: str) -> bool:
        """Tell whether FEAT named a feature."""
        return self.features is not None and feature in self.features

    def data(self, verb: str) -> tuple[socket.socket, str]:
        """Send a command that brings data; return the data line and the reply that precedes it."""
        return self.begun(self.ask_data(verb))

    def ask_data(self, verb: str) -> socket.socket:
        """Send a command that brings data; return the socket for `begun`, before which nothing else may be sent."""
        source = self._passive() if self.site.passive else self.control.makeport()
        try:
            self.control.putline(verb)
        except BaseException:
            source.close()
            raise
        return source

    def begun(self, source: socket.socket) -> tuple[socket.socket, str]:
        """Wait for the data that were asked for; return the data line and the reply that precedes it."""
        control = self.control
        try:
            reply = control.getmultiline()
            if reply[:1] == "2":  # some servers answer twice, the first time too early
                reply = control.getmultiline()
            if reply[:1] != "1":
                raise refusal(reply)  # noqa: TRY301 - the data line is closed in one place
            line = source if self.site.passive else self._accepted(source)
            return control.wrap(line), reply
        except BaseException:
            source.close()
            raise

    def _passive(self) -> socket.socket:
        """Open a data line to the very host of the control line."""
        control = self.control
        control.push(b"EPSV\r\n" if self._extended else b"PASV\r\n")
        reply = control.getmultiline()
        if reply[:1] == "5" and self._extended and control.af == socket.AF_INET:
            self._extended = False
            return self._passive()
        number = port(reply)
        line = socket.socket(control.af, socket.SOCK_STREAM)
        try:
            line.settimeout(self.site.timeout)
            line.connect((control.peer[0], number, *control.peer[2:]))
        except OSError as error:
            line.close()
            raise Delayed(f"425 no data connection: {error}") from error
        return line

    def _accepted(self, listener: socket.socket) -> socket.socket:
        """Take the data line that the server opens, and nobody else's."""
        line, who = listener.accept()
        listener.close()
        if who[0] != self.control.peer[0]:
            line.close()
            raise Broken(f"data line from {who[0]}, not from the server")
        line.settimeout(self.site.timeout)
        return line

    def end(self, line: socket.socket) -> None:
        """Answer the farewell on an encrypted data line; the server may have gone already."""
        if isinstance(line, ssl.SSLSocket):
            with suppress(OSError):
                line.unwrap()

    def done(self) -> int:
        """Read the reply that follows the data; return its code."""
        reply = self.control.getmultiline()
        if reply[:1] != "2":
            raise refusal(reply)
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

    def size(self, path: str) -> int | None:
        """Ask for a file's size in bytes; None where the server does not tell."""
        if not self.sizes:
            return None
        reply = self._answer(f"SIZE {path}")
        told = reply[4:].strip()
        if reply.startswith("213") and told.isascii() and told.isdecimal() and len(told) < 19:
            return int(told)
        if reply[:3] in {"500", "502"}:
            self.sizes = False
        return None

    def ask(self, questions: Iterable[str]) -> list[str]:
        """Ask many short questions, several under way at once; return the replies in order."""
        waiting, replies = list(questions), []
        for first in range(0, len(waiting), _AHEAD):
            some = waiting[first : first + _AHEAD]
            self.control.push(b"".join(one.encode("utf-8", "surrogateescape") + b"\r\n" for one in some))
            replies += [self.control.getmultiline() for _ in some]
            self._in_time()
        return replies

    def _in_time(self) -> None:
        if self.until and time.monotonic() > self.until:
            raise TimeoutError("a listing that does not end")

    def _answer(self, verb: str) -> str:
        self.control.putline(verb)
        reply = self.control.getmultiline()
        if reply.startswith("421"):
            raise refusal(reply)
        return reply
