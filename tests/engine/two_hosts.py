"""Two hosts of this machine whose pages link to each other."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HOSTS = "127.0.0.2", "127.0.0.4"  # of the first and the second of two parts
PAGE = "<title>{0}</title><img src=http://127.0.0.4:{1}/a.png><a href=/b>b</a><a href=http://{2}:{1}/c>c</a>"


@contextmanager
def two_hosts() -> Iterator[tuple[int, list[str]]]:
    """Serve pages that link to each other at two addresses; yield their port and the list of what is requested."""
    requested: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            requested.append(self.headers["Host"].partition(":")[0] + self.path)
            other, port = HOSTS[self.headers["Host"].startswith(HOSTS[0])], first.server_address[1]
            body = PAGE.format(self.path, port, other).encode() if self.path != "/robots.txt" else b""
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    first = ThreadingHTTPServer((HOSTS[0], 0), Handler)
    second = ThreadingHTTPServer((HOSTS[1], first.server_address[1]), Handler)
    servers = [first, second]
    for server in servers:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield first.server_address[1], requested
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()
