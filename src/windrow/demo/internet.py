"""The servers of the small internet: FTP, SFTP, HTTPS and its sites, on loopback, on ports that are free."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import http.server
import logging
import ssl
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from windrow.demo import site
from windrow.demo.site import SiteAnswer
from windrow.errors import MissingExtra

HOST = "127.0.0.1"
USER = "windrow"


class Served(NamedTuple):
    """A server that runs: its port, and what a source must say beside the address."""

    port: int
    settings: dict[str, str]


@contextmanager
def ftp(root: Path, password: str) -> Iterator[Served]:
    """Serve a folder over FTP, with pyftpdlib."""
    try:
        with warnings.catch_warnings():
            # On Python 3.11 it imports modules of the standard library that later versions drop.
            warnings.simplefilter("ignore", DeprecationWarning)
            from pyftpdlib.authorizers import DummyAuthorizer  # noqa: PLC0415 an extra
            from pyftpdlib.handlers import FTPHandler  # noqa: PLC0415
            from pyftpdlib.ioloop import IOLoop  # noqa: PLC0415
            from pyftpdlib.servers import FTPServer  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtra("the FTP server of the demo", "demo") from error
    logging.getLogger("pyftpdlib").disabled = True
    authorizer = DummyAuthorizer()
    authorizer.add_user(USER, password, str(root), perm="elr")
    handler = type("Handler", (FTPHandler,), {"authorizer": authorizer, "use_sendfile": False, "log_prefix": ""})
    loop = IOLoop()
    server = FTPServer((HOST, 0), handler, ioloop=loop)
    ended = threading.Event()

    def serve() -> None:
        while not ended.is_set():
            loop.loop(timeout=0.05, blocking=False)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield Served(server.address[1], {})
    finally:
        ended.set()
        thread.join()
        server.close_all()


@contextmanager
def sftp(root: Path, password: str) -> Iterator[Served]:
    """Serve a folder over SFTP, with asyncssh; its host key is made now and pinned by the source."""
    try:
        import asyncssh  # noqa: PLC0415 an extra
    except ImportError as error:
        raise MissingExtra("the SFTP server of the demo", "demo") from error

    class Door(asyncssh.SSHServer):
        def password_auth_supported(self) -> bool:
            return True

        def validate_password(self, username: str, given: str) -> bool:
            return username == USER and given == password

    key = asyncssh.generate_private_key("ssh-ed25519")
    inside = functools.partial(asyncssh.SFTPServer, chroot=str(root).encode())

    async def listen() -> Any:
        return await asyncssh.listen(
            HOST, 0, server_factory=Door, server_host_keys=[key], sftp_factory=inside, allow_scp=False
        )

    with _looping(listen) as server:
        yield Served(server.get_port(), {"host_keys": key.get_fingerprint()})


@contextmanager
def _looping(begin: Callable[[], Any]) -> Iterator[Any]:
    """Run an asyncio server in a thread of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    server = asyncio.run_coroutine_threadsafe(begin(), loop).result(10)
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(server.close)
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0.1), loop).result(5)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    """Index pages and files, without a word on the terminal."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 its name there
        """Say nothing."""


@contextmanager
def https(root: Path, papers: Path) -> Iterator[Served]:
    """Serve a folder over HTTPS; the authority made for it now is written to `papers`, the workspace."""
    try:
        import trustme  # noqa: PLC0415 an extra
    except ImportError as error:
        raise MissingExtra("the HTTPS server of the demo", "demo") from error
    authority = trustme.CA()
    bundle = papers / "demo-ca.pem"
    authority.cert_pem.write_to_path(str(bundle))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(HOST).configure_cert(context)
    handler = functools.partial(_Quiet, directory=str(root))
    server = http.server.ThreadingHTTPServer((HOST, 0), handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield Served(server.server_address[1], {"ca_bundle": bundle.name})
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class DemoWeb:
    """The sites that are served: where each is, what day it is there, and what was asked of them."""

    def __init__(self) -> None:
        """Begin on the first day."""
        self.at: dict[str, str] = {}
        self.day = 1
        self.asked: list[tuple[str, str]] = []  # site and path


@contextmanager
def web() -> Iterator[DemoWeb]:
    """Serve all sites."""
    made = DemoWeb()
    servers = [
        (name, http.server.ThreadingHTTPServer((HOST, 0), _site(made, name))) for name in (*site.NAMES, *site.TOML)
    ]
    made.at |= {name: f"http://{HOST}:{server.server_address[1]}" for name, server in servers}
    threads = [threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True) for _, server in servers]
    for thread in threads:
        thread.start()
    try:
        yield made
    finally:
        for (_, server), thread in zip(servers, threads, strict=True):
            server.shutdown()
            thread.join()
            server.server_close()


def _site(served: DemoWeb, name: str) -> type[http.server.BaseHTTPRequestHandler]:
    class Answering(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            served.asked.append((name, self.path))
            found = (site.town_answer if name in site.TOML else site.answer)(name, self.path, served.at, served.day)
            mark = f'"{hashlib.sha256(found.body).hexdigest()[:16]}"'
            if found.status == 200 and self.headers.get("If-None-Match") == mark:
                found = SiteAnswer(status=304, type=found.type)
            self.send_response(found.status)
            if found.location:
                self.send_header("Location", found.location)
            if found.status in {200, 304}:
                self.send_header("ETag", mark)
            self.send_header("Content-Type", found.type)
            if found.status != 304:
                self.send_header("Content-Length", str(len(found.body)))
            self.end_headers()
            self.wfile.write(found.body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 its name there
            """Say nothing."""

    return Answering
