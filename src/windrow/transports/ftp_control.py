"""The control line of an FTP session: ftplib's commands over a reader that is bounded and lean."""

from __future__ import annotations

import ftplib
import re
import socket
import ssl
import time

from windrow.model import Site
from windrow.transports.dial import dial

_LINE = 8 * 2**10
_REPLY = 256 * 2**10
_PASSIVE = re.compile(r"(?<!\d)\d{1,3},\d{1,3},\d{1,3},\d{1,3},(\d{1,3}),(\d{1,3})(?!\d)")
Broken, Refused, Delayed = ftplib.error_proto, ftplib.error_perm, ftplib.error_temp
"""ftplib's words for: against the protocol, refused for good (5yz), refused for now (4yz)."""

_EXTENDED = re.compile(r"\((.)\1\1(\d{1,5})\1\)")


class Control(ftplib.FTP):
    """A control line whose names survive any bytes and whose replies cannot grow, or take, without end.

    Replies are read from the socket into one buffer, a line at most 8 kB and a reply at most 256 kB
    (ftplib itself bounds neither the lines of a reply nor asks for less than a makefile per line).
    """

    def __init__(self, site: Site) -> None:
        """Connect and take the welcome; every wait is bounded by the site's timeout."""
        super().__init__(timeout=site.timeout, encoding="utf-8")
        self._patience = site.timeout
        self._rest = b""
        self.host = site.host
        self.sock = dial(site, 21)
        self.af = self.sock.family
        self.peer: tuple[str, ...] = self.sock.getpeername()
        self.secured: ssl.SSLContext | None = None
        try:
            self.welcome = self.getresp()
        except BaseException:
            self.close()
            raise

    def secure(self, made: ssl.SSLContext) -> None:
        """Encrypt this line (RFC 4217: AUTH TLS) and every data line (PBSZ 0, PROT P)."""
        self.voidcmd("AUTH TLS")
        if self._rest:  # sent in the clear, to be read as if it were not
            raise Broken("text before the TLS handshake")
        assert self.sock is not None
        self.sock = made.wrap_socket(self.sock, server_hostname=self.host)
        self.secured = made
        self.voidcmd("PBSZ 0")
        self.voidcmd("PROT P")

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
        return self._line(time.monotonic() + self._patience).decode("utf-8", "surrogateescape")

    def getmultiline(self) -> str:
        """Read one reply, its lines joined by newlines (RFC 959, section 4.2); all of it must come in time."""
        until = time.monotonic() + self._patience
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

    def wrap(self, data: socket.socket) -> socket.socket:
        """Encrypt a data line where the session is, going on with the control line's TLS session.

        Servers that demand such a resumption prove by it that both lines come from one client.
        """
        if self.secured is None:
            return data
        assert isinstance(self.sock, ssl.SSLSocket)
        return self.secured.wrap_socket(
            data, server_hostname=self.host, session=self.sock.session, suppress_ragged_eofs=False
        )


def refusal(reply: str) -> ftplib.Error:
    """Return the exception that a reply other than the expected one amounts to."""
    return {"4": Delayed, "5": Refused}.get(reply[:1], Broken)(reply)


def port(reply: str) -> int:
    """Return the port that a 229 or 227 reply names; its address is not believed (RFC 2577, 3).

    >>> port("229 Entering Extended Passive Mode (|||50001|)"), port("227 Now passive (10,0,0,9,195,81).")
    (50001, 50001)
    """
    if reply.startswith("229") and (found := _EXTENDED.search(reply)):
        number = int(found[2])
    elif reply.startswith("227") and (found := _PASSIVE.search(reply)):
        number = int(found[1]) * 256 + int(found[2])
    else:
        raise refusal(reply)
    if not 0 < number < 2**16:
        raise Broken(reply)
    return number
