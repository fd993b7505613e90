"""The web of the demo: its sites on loopback, on ports that happen to be free."""

from __future__ import annotations

import hashlib
import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from windrow.demo import site, town
from windrow.demo.internet import HOST
from windrow.demo.site import SiteAnswer


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
        (name, http.server.ThreadingHTTPServer((HOST, 0), _site(made, name))) for name in (*site.NAMES, *town.TOML)
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
            found = (town.answer if name in town.TOML else site.answer)(name, self.path, served.at, served.day)
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
