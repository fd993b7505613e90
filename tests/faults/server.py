"""An FTP server of a few lines that can be told to misbehave: what no honest server does on demand."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from tests.servers.script import listening


@dataclass
class Rogue:
    """What it offers by path (`add/NAME`), and how it misbehaves; may be changed while it runs."""

    files: dict[str, bytes] = field(default_factory=dict)
    lines: dict[str, list[bytes]] = field(default_factory=dict)  # raw lines of MLSD more, by folder
    told: dict[str, int | None] = field(default_factory=dict)  # sizes in listings, where they are not true
    said: dict[str, int] = field(default_factory=dict)  # sizes in answer to SIZE, where they are not true
    refused: dict[str, bytes] = field(default_factory=dict)  # replies to RETR
    cuts: dict[str, list[int]] = field(default_factory=dict)  # break off after so many bytes: once each
    hang: dict[str, int] = field(default_factory=dict)  # fall silent after so many bytes
    rate: float = 0.0  # bytes a second
    listing_rate: float = 0.0  # bytes a second of listings
    sizes: bool = True  # knows SIZE
    rests: bool = True  # can go on in the middle (REST)
    modified: bytes = b"20260112090000"  # when all files were
    shut: bool = False  # hangs up on everybody who comes
    absent: int = 0  # hangs up on so many who come yet
    turned: int = 0  # how many of these came
    forgetful: bool = False  # hangs up, at the next word, on everybody who came before this was set
    port: int = 0
    asked: list[str] = field(default_factory=list)
    started: list[int] = field(default_factory=list)  # where transfers began

    def url(self) -> str:
        """Return its address."""
        return f"ftp://windrow@127.0.0.1:{self.port}/"

    def talk(self, line: socket.socket) -> None:
        """Speak FTP on one control line."""
        if self.shut:
            return
        if self.turned < self.absent:
            self.turned += 1
            return
        line.sendall(b"220 hello\r\n")
        with ExitStack() as data_servers:
            self._talk(line, data_servers)

    def _talk(self, line: socket.socket, data_servers: ExitStack) -> None:
        passive, start, known = None, 0, not self.forgetful
        for text in line.makefile("rb"):
            if self.shut or self.turned < self.absent or (self.forgetful and known):
                return
            verb, _, rest = text.decode().strip().partition(" ")
            path = rest.strip("/")
            self.asked.append(f"{verb} {path}".strip())
            if verb == "PASV":
                passive = data_servers.enter_context(socket.create_server(("127.0.0.1", 0)))
                port = passive.getsockname()[1]
                line.sendall(f"227 passive (127,0,0,1,{port // 256},{port % 256})\r\n".encode())
            elif verb == "REST" and self.rests:
                start = int(rest)
                line.sendall(b"350 go on\r\n")
            elif verb in {"MLSD", "RETR"}:
                assert passive is not None
                with passive:
                    if not self._transfer(line, passive, verb, path, start):
                        return
                start = 0
            else:
                line.sendall(self._plain(verb, path))

    def _plain(self, verb: str, path: str) -> bytes:
        if verb == "FEAT":
            return (
                b"211-with\r\n MLST size*;modify*;\r\n REST STREAM\r\n"
                + (b" SIZE\r\n" if self.sizes else b"")
                + b"211 end\r\n"
            )
        if verb == "SIZE" and path in self.files:
            return b"213 %d\r\n" % self.said.get(path, len(self.files[path]))
        known = {"USER": b"331 word\r\n", "PASS": b"230 in\r\n", "TYPE": b"200 so\r\n", "QUIT": b"221 bye\r\n"}
        return known.get(verb, b"502 no\r\n")

    def _transfer(self, line: socket.socket, passive: socket.socket, verb: str, path: str, start: int) -> bool:
        if verb == "RETR" and (path not in self.files or path in self.refused):
            line.sendall(self.refused.get(path, b"550 no such file\r\n"))
            return True
        line.sendall(b"150 here\r\n")
        content = self._listing(path) if verb == "MLSD" else self.files[path]
        with passive.accept()[0] as data:
            if verb == "RETR":
                self.started.append(start)
            cut = self.cuts[path].pop(0) if verb == "RETR" and self.cuts.get(path) else None
            stop = min(len(content) if cut is None else cut, self.hang.get(path, len(content)))
            for at in range(start, stop, 65536):
                data.sendall(content[at : min(at + 65536, stop)])
                if rate := self.listing_rate if verb == "MLSD" else self.rate:
                    time.sleep(65536 / rate)
            while path in self.hang and line.fileno() >= 0:
                if not line.recv(1):
                    return False
            if cut is not None:
                return False
        line.sendall(b"226 done\r\n")
        return True

    def _listing(self, folder: str) -> bytes:
        lines = list(self.lines.get(folder, ()))
        for path, content in self.files.items():
            where, _, name = path.rpartition("/")
            size = self.told.get(path, len(content))
            if where == folder:
                said = "" if size is None else f"size={size};"
                lines.append(f"type=file;{said}modify={self.modified.decode()}; {name}".encode())
        return b"".join(line + b"\r\n" for line in lines)


@contextmanager
def rogue(**how: object) -> Iterator[Rogue]:
    """Run one."""
    made = Rogue(**how)  # type: ignore[arg-type]
    with listening(made.talk) as port:
        made.port = port
        yield made
