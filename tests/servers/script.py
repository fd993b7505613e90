"""Small servers on raw sockets that misbehave."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from windrow.model import Allowed, Secret, Site

Talk = Callable[[socket.socket], None]


@contextmanager
def listening(talk: Talk) -> Iterator[int]:
    """Run `talk` for every connection in its own thread; yields the port."""
    connections: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def converse(connection: socket.socket) -> None:
            with suppress(OSError), connection:
                talk(connection)

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    connections.append(connection)
                    threading.Thread(target=converse, args=(connection,), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        try:
            yield server.getsockname()[1]
        finally:
            with suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)
            for connection in connections:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
                connection.close()


def silence(connection: socket.socket) -> None:
    """Read everything and send nothing."""
    while connection.recv(65536):
        pass


def http(answer: bytes, *, linger: bool = False) -> Talk:
    """Send the same bytes for every request, then close, or stay silent."""

    def talk(connection: socket.socket) -> None:
        asked = b""
        while b"\r\n\r\n" not in asked:
            block = connection.recv(65536)
            if not block:
                return
            asked += block
        connection.sendall(answer)
        if linger:
            silence(connection)

    return talk


def ftp(
    replies: Mapping[str, bytes],
    content: bytes | Mapping[str, bytes] = b"",
    *,
    cut: bool = False,
    later: Mapping[str, bytes] | None = None,
) -> Talk:
    """Speak FTP: `replies` stand for the usual ones, by verb; `content` goes out for every transfer, or by verb.

    The reply that follows a transfer is that of `226`. With `cut` the connections break off in mid-transfer. The replies of
    `later` stand for the usual ones after the first transfer.
    """
    usual = {
        "": b"220 hello\r\n",
        "USER": b"331 password\r\n",
        "PASS": b"230 in\r\n",
        "FEAT": b"500 no\r\n",
        "TYPE": b"200 binary\r\n",
        "CWD": b"250 there\r\n",
        "SIZE": b"500 no\r\n",
        "REST": b"350 go on\r\n",
        "MLSD": b"150 here\r\n",
        "LIST": b"150 here\r\n",
        "NLST": b"150 here\r\n",
        "RETR": b"150 here\r\n",
        "226": b"226 done\r\n",
    } | dict(replies)

    def talk(connection: socket.socket) -> None:
        connection.sendall(usual[""])
        with ExitStack() as stack:
            session(connection, stack)

    def session(connection: socket.socket, stack: ExitStack) -> None:
        passive: socket.socket | None = None
        for asked in connection.makefile("rb"):
            verb = asked.split()[0].decode()
            if verb == "PASV" and "PASV" not in usual:
                passive = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
                port = passive.getsockname()[1]
                connection.sendall(f"227 passive (10,9,8,7,{port // 256},{port % 256})\r\n".encode())
                continue
            connection.sendall(usual.get(verb, b"502 what?\r\n"))
            if passive and usual.get(verb, b"").startswith(b"150"):
                with passive, passive.accept()[0] as transfer, suppress(OSError):
                    transfer.sendall(content if isinstance(content, bytes) else content.get(verb, b""))
                if cut:
                    return
                connection.sendall(usual["226"])
                usual.update(later or {})

    return talk


def site(scheme: str, port: int, *, timeout: float = 30.0, **more: object) -> Site:
    """Return a site on loopback, with private addresses allowed; tests of silence use a short `timeout`."""
    settings: dict[str, Any] = {"allowed": Allowed(everything=True), **more}
    return Site(scheme, "127.0.0.1", port, timeout=timeout, **settings)


def env(name: str) -> Secret:
    """Return the place of a secret in the environment."""
    return Secret(f"env:{name}")
