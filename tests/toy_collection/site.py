"""A small web site on this machine: pages that can be edited, and a log of every request with its time."""

from __future__ import annotations

import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Asked(NamedTuple):
    """A request as the server saw it."""

    at: float
    path: str
    agent: str
    etag: str


class Site:
    """One origin on a free port; `pages` maps paths to HTML, `asked` has every request in order."""

    def __init__(self, pages: dict[str, str], robots: str = "") -> None:
        self.pages = pages
        self.robots = robots
        self.asked: list[Asked] = []
        self.types: dict[str, str] = {}
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                fields = self.headers
                site.asked.append(
                    Asked(time.monotonic(), self.path, fields["User-Agent"] or "", fields["If-None-Match"] or "")
                )
                status, body, kind = site.answer(self.path)
                etag = f'"{hash(body) & 0xFFFFFF:x}"'
                if status == 200 and fields["If-None-Match"] == etag:
                    status, body = 304, b""
                self.send_response(status)
                self.send_header("Content-Type", kind)
                if status in {200, 304}:
                    self.send_header("ETag", etag)
                if status != 304:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, path: str) -> tuple[int, bytes, str]:
        """Return status, body and media type of a path."""
        if path == "/robots.txt":
            return (200 if self.robots else 404), self.robots.encode(), "text/plain"
        if path not in self.pages:
            return 404, b"not here", "text/plain"
        return 200, self.pages[path].encode(), self.types.get(path, "text/html")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/"

    def paths(self) -> list[str]:
        """Return the paths of all requests, in order."""
        return [request.path for request in self.asked]

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


def page(title: str, *links: str, body: str = "") -> str:
    """Return a page that links to paths; its text is long enough not to be a near duplicate."""
    text = " ".join(f"{title} says sentence {number} of its own." for number in range(12))
    anchors = "".join(f'<a href="{link}">{link}</a>' for link in links)
    return f"<html><head><title>{title}</title></head><body><h1>{title}</h1><p>{text}</p>{body}{anchors}</body></html>"
