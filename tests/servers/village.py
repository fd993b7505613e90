"""A small web for the tests: three sites of one nginx, each on its own port, and a log of all requests."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from benchmarks.daemon import free_port, listens

from tests.servers.daemon import find, home, running

HTTP = """
daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
{user}
events {{ worker_connections 256; }}
http {{
  log_format asked escape=none '$msec\\t$server_port\\t$status\\t$request_uri\\t$http_user_agent\\t$http_if_none_match';
  access_log {folder}/access.log asked;
  types {{ text/html html; text/plain txt; application/xml xml; application/rss+xml rss; application/json json; }}
  default_type application/octet-stream;
  client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
  uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
{servers}
}}
"""
SERVER = """
  server {{
    listen 127.0.0.1:{port}; root {root}; index index.html;
    location = /robots.txt {{ gzip on; gzip_min_length 1; gzip_types text/plain; }}
    location /old.html {{ return 301 /new.html; }}
    location /away {{ return 301 http://127.0.0.1:{next}/; }}
    location /packed.html {{ add_header Content-Encoding gzip; }}
    location /gone.html {{ return 410; }}
    location /broken.html {{ return 500; }}
    location /shy.html {{ if (-f $document_root/shy) {{ add_header X-Robots-Tag "noindex"; }} }}
    location /empty.html {{ return 204; }}
    location /unasked.html {{ return 304; }}
    location /hidden.html {{ add_header X-Robots-Tag "noindex, nofollow"; }}
  }}
"""


class LoggedRequest(NamedTuple):
    """One line of the server's log."""

    at: float
    port: int
    status: int
    path: str
    agent: str
    if_none_match: str


class Village:
    """Three sites, their folders, and the requests to them."""

    def __init__(self, ports: list[int], roots: list[Path], log: Path) -> None:
        self.ports = ports
        self.roots = roots
        self._log = log
        self._versions: dict[Path, tuple[bytes, int]] = {}

    def origin(self, number: int) -> str:
        return f"http://127.0.0.1:{self.ports[number]}"

    def put(self, number: int, path: str, text: str | bytes) -> None:
        """Write a file of a site."""
        where = self.roots[number] / path
        where.parent.mkdir(parents=True, exist_ok=True)
        where.write_bytes(text if isinstance(text, bytes) else text.encode())
        # nginx tells the versions of a file apart by their second and their size
        content, second = self._versions.get(where, (b"", 0))
        if content != where.read_bytes():
            second = max(int(time.time()), second + 1)
        self._versions[where] = where.read_bytes(), second
        os.utime(where, (second, second))

    def age(self) -> None:
        """Give files that are put from now on a new modification time, so that they are new versions."""
        self._versions = {where: (b"", second) for where, (_, second) in self._versions.items()}

    def clear(self) -> None:
        """Remove every file of every site."""
        for root in self.roots:
            for path in sorted(root.rglob("*"), reverse=True):
                path.rmdir() if path.is_dir() else path.unlink()

    def mark(self) -> int:
        """Return the current number of lines of the log."""
        return len(self._log.read_text().splitlines())

    def asked(self, since: int = 0) -> list[LoggedRequest]:
        """Return the requests since a mark."""
        lines = [line.split("\t") for line in self._log.read_text().splitlines()[since:]]
        return [LoggedRequest(float(a), int(b), int(c), d, e, f) for a, b, c, d, e, f in lines]


@pytest.fixture(scope="session")
def village() -> Iterator[Village]:
    """Run nginx over three empty folders."""
    program, ports = find("nginx"), [free_port() for _ in range(3)]
    owner = "www-data" if os.getuid() == 0 else ""
    with home("root") as folder:
        roots = [folder / f"site{number}" for number in range(3)]
        for root in roots:
            root.mkdir()
        servers = "".join(
            SERVER.format(port=port, root=root, next=ports[(ports.index(port) + 1) % len(ports)])
            for port, root in zip(ports, roots, strict=True)
        )
        user = f"user {owner};" if owner else ""
        (folder / "nginx.conf").write_text(HTTP.format(folder=folder, user=user, servers=servers))
        (folder / "access.log").touch()
        with running(
            [program, "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log")],
            folder / "log",
            lambda: all(listens(port) for port in ports),
        ):
            yield Village(ports, roots, folder / "access.log")
