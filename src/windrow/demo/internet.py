"""The servers of the demo: FTP, SFTP, HTTPS and web sites, on free ports of the loopback address."""

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
from windrow.demo.site import SiteResponse
from windrow.errors import MissingExtra

HOST = "127.0.0.1"
USER = "windrow"


class RunningServer(NamedTuple):
    """A running server: its port, and the settings, by name, that its source needs besides `url`."""

    port: int
    settings: dict[str, str]


@contextmanager
def serve_ftp(root: Path, password: str) -> Iterator[RunningServer]:
    """Serve a folder over FTP to `USER`; raise MissingExtra if pyftpdlib is not installed."""
    try:
        with warnings.catch_warnings():
            # On Python 3.11 pyftpdlib imports deprecated modules of the standard library.
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
    handler_class = type("Handler", (FTPHandler,), {"authorizer": authorizer, "use_sendfile": False, "log_prefix": ""})
    loop = IOLoop()
    server = FTPServer((HOST, 0), handler_class, ioloop=loop)
    ended = threading.Event()

    def serve() -> None:
        while not ended.is_set():
            loop.loop(timeout=0.05, blocking=False)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield RunningServer(server.address[1], {})
    finally:
        ended.set()
        thread.join()
        server.close_all()


@contextmanager
def serve_sftp(root: Path, password: str) -> Iterator[RunningServer]:
    """Serve a folder over SFTP to `USER`; raise MissingExtra if asyncssh is not installed.

    The settings in the result have the fingerprint of the server's new host key.
    """
    try:
        import asyncssh  # noqa: PLC0415 an extra
    except ImportError as error:
        raise MissingExtra("the SFTP server of the demo", "demo") from error

    class PasswordServer(asyncssh.SSHServer):
        def password_auth_supported(self) -> bool:
            return True

        def validate_password(self, username: str, candidate: str) -> bool:
            return username == USER and candidate == password

    key = asyncssh.generate_private_key("ssh-ed25519")
    sftp_server = functools.partial(asyncssh.SFTPServer, chroot=str(root).encode())

    async def listen() -> Any:
        return await asyncssh.listen(
            HOST, 0, server_factory=PasswordServer, server_host_keys=[key], sftp_factory=sftp_server, allow_scp=False
        )

    with _run_in_thread(listen) as server:
        yield RunningServer(server.get_port(), {"host_keys": key.get_fingerprint()})


@contextmanager
def _run_in_thread(listen: Callable[[], Any]) -> Iterator[Any]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    server = asyncio.run_coroutine_threadsafe(listen(), loop).result(10)
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(server.close)
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0.1), loop).result(5)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


class _QuietFileServer(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 the name of the overridden
        """Log nothing."""


@contextmanager
def serve_https(root: Path, workspace: Path) -> Iterator[RunningServer]:
    """Serve a folder over HTTPS, and write its CA certificate into `workspace`; raise MissingExtra without trustme."""
    try:
        import trustme  # noqa: PLC0415 an extra
    except ImportError as error:
        raise MissingExtra("the HTTPS server of the demo", "demo") from error
    authority = trustme.CA()
    certificate_file = workspace / "demo-ca.pem"
    authority.cert_pem.write_to_path(str(certificate_file))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(HOST).configure_cert(context)
    handler = functools.partial(_QuietFileServer, directory=str(root))
    server = http.server.ThreadingHTTPServer((HOST, 0), handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield RunningServer(server.server_address[1], {"ca_bundle": certificate_file.name})
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class DemoWeb:
    """The served sites: their origins by name, the day of the demo (from 1), and the requests so far."""

    def __init__(self) -> None:
        self.origins: dict[str, str] = {}
        self.day = 1
        self.requests: list[tuple[str, str]] = []  # the site's name, and the path


@contextmanager
def serve_sites() -> Iterator[DemoWeb]:
    """Serve all sites of the demo, each on its own port."""
    demo_web = DemoWeb()
    servers = [
        (name, http.server.ThreadingHTTPServer((HOST, 0), _make_site_server(demo_web, name)))
        for name in (*site.PAGE_SITES, *site.TOWN_SOURCES)
    ]
    demo_web.origins |= {name: f"http://{HOST}:{server.server_address[1]}" for name, server in servers}
    threads = [threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True) for _, server in servers]
    for thread in threads:
        thread.start()
    try:
        yield demo_web
    finally:
        for (_, server), thread in zip(servers, threads, strict=True):
            server.shutdown()
            thread.join()
            server.server_close()


def _make_site_server(demo_web: DemoWeb, site_name: str) -> type[http.server.BaseHTTPRequestHandler]:
    """Return a class that answers the requests to one site, with 304 if `If-None-Match` has the page's ETag."""

    class SiteServer(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            demo_web.requests.append((site_name, self.path))
            respond = site.town_site_response if site_name in site.TOWN_SOURCES else site.page_site_response
            response = respond(site_name, self.path, demo_web.origins, demo_web.day)
            etag = f'"{hashlib.sha256(response.body).hexdigest()[:16]}"'
            if response.status == 200 and self.headers.get("If-None-Match") == etag:
                response = SiteResponse(status=304, type=response.type)
            self.send_response(response.status)
            if response.location:
                self.send_header("Location", response.location)
            if response.status in {200, 304}:
                self.send_header("ETag", etag)
            self.send_header("Content-Type", response.type)
            if response.status != 304:
                self.send_header("Content-Length", str(len(response.body)))
            self.end_headers()
            self.wfile.write(response.body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 the name of the overridden
            """Log nothing."""

    return SiteServer
