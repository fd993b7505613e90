"""A small FTP server that misbehaves as a test wants it to."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from tests.servers.script import listening


@dataclass
class RogueServer:
    """The files it offers, by path (`add/NAME`), and how it misbehaves; may be changed while it runs."""

    files: dict[str, bytes] = field(default_factory=dict)
    lines: dict[str, list[bytes]] = field(default_factory=dict)  # further raw lines of MLSD, by folder
    listed_sizes: dict[str, int | None] = field(default_factory=dict)  # false sizes in listings
    size_replies: dict[str, int] = field(default_factory=dict)  # false replies to SIZE
    refused: dict[str, bytes] = field(default_factory=dict)  # replies to RETR
    cuts: dict[str, list[int]] = field(default_factory=dict)  # break off at these bytes: once each
    hang: dict[str, int] = field(default_factory=dict)  # hang after so many bytes
    rate: float = 0.0  # bytes a second
    listing_rate: float = 0.0  # bytes a second of listings
    sizes: bool = True  # knows SIZE
    rests: bool = True  # can resume (REST)
    modified: bytes = b"20260112090000"  # when all files were
    shut: bool = False  # closes every connection
    absent: int = 0  # closes so many of the next connections
    closed: int = 0  # how many of these were closed
    forgetful: bool = False  # closes, at the next command, every connection opened before this was set
    port: int = 0
    asked: list[str] = field(default_factory=list)
    started: list[int] = field(default_factory=list)  # the first byte of each transfer

    def url(self) -> str:
        """Return its address."""
        return f"ftp://windrow@127.0.0.1:{self.port}/"

    def talk(self, connection: socket.socket) -> None:
        """Speak FTP on one control connection."""
        if self.shut:
            return
        if self.closed < self.absent:
            self.closed += 1
            return
        connection.sendall(b"220 hello\r\n")
        with ExitStack() as data_servers:
            self._talk(connection, data_servers)

    def _talk(self, connection: socket.socket, data_servers: ExitStack) -> None:
        passive, start, known = None, 0, not self.forgetful
        for text in connection.makefile("rb"):
            if self.shut or self.closed < self.absent or (self.forgetful and known):
                return
            verb, _, rest = text.decode().strip().partition(" ")
            path = rest.strip("/")
            self.asked.append(f"{verb} {path}".strip())
            if verb == "PASV":
                passive = data_servers.enter_context(socket.create_server(("127.0.0.1", 0)))
                port = passive.getsockname()[1]
                connection.sendall(f"227 passive (127,0,0,1,{port // 256},{port % 256})\r\n".encode())
            elif verb == "REST" and self.rests:
                start = int(rest)
                connection.sendall(b"350 go on\r\n")
            elif verb in {"MLSD", "RETR"}:
                assert passive is not None
                with passive:
                    if not self._transfer(connection, passive, verb, path, start):
                        return
                start = 0
            else:
                connection.sendall(self._plain(verb, path))

    def _plain(self, verb: str, path: str) -> bytes:
        if verb == "FEAT":
            return (
                b"211-with\r\n MLST size*;modify*;\r\n REST STREAM\r\n"
                + (b" SIZE\r\n" if self.sizes else b"")
                + b"211 end\r\n"
            )
        if verb == "SIZE" and path in self.files:
            return b"213 %d\r\n" % self.size_replies.get(path, len(self.files[path]))
        known = {"USER": b"331 word\r\n", "PASS": b"230 in\r\n", "TYPE": b"200 so\r\n", "QUIT": b"221 bye\r\n"}
        return known.get(verb, b"502 no\r\n")

    def _transfer(self, connection: socket.socket, passive: socket.socket, verb: str, path: str, start: int) -> bool:
        if verb == "RETR" and (path not in self.files or path in self.refused):
            connection.sendall(self.refused.get(path, b"550 no such file\r\n"))
            return True
        connection.sendall(b"150 here\r\n")
        content = self._listing(path) if verb == "MLSD" else self.files[path]
        with passive.accept()[0] as transfer:
            if verb == "RETR":
                self.started.append(start)
            cut = self.cuts[path].pop(0) if verb == "RETR" and self.cuts.get(path) else None
            stop = min(len(content) if cut is None else cut, self.hang.get(path, len(content)))
            for at in range(start, stop, 65536):
                transfer.sendall(content[at : min(at + 65536, stop)])
                if rate := self.listing_rate if verb == "MLSD" else self.rate:
                    time.sleep(65536 / rate)
            while path in self.hang and connection.fileno() >= 0:
                if not connection.recv(1):
                    return False
            if cut is not None:
                return False
        connection.sendall(b"226 done\r\n")
        return True

    def _listing(self, folder: str) -> bytes:
        lines = list(self.lines.get(folder, ()))
        for path, content in self.files.items():
            where, _, name = path.rpartition("/")
            size = self.listed_sizes.get(path, len(content))
            if where == folder:
                size_fact = "" if size is None else f"size={size};"
                lines.append(f"type=file;{size_fact}modify={self.modified.decode()}; {name}".encode())
        return b"".join(line + b"\r\n" for line in lines)


@contextmanager
def rogue_server(**how: object) -> Iterator[RogueServer]:
    """Run such a server."""
    server = RogueServer(**how)  # type: ignore[arg-type]
    with listening(server.talk) as port:
        server.port = port
        yield server
