"""A site that answers most requests without a page, which it did not do before, has failed until it recovers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.captures.quotes import CRAWLED, load_workspace, run_pages
from tests.clock import pass_time
from windrow.ledger import Ledger

PAGES = 24


class Site(ThreadingHTTPServer):
    """A front page with links to pages, all of which are refused while `blocks` is true."""

    blocks = False


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Site

    def do_GET(self) -> None:
        links = "".join(f'<a href="/{number}">{number}</a> ' for number in range(PAGES))
        is_refused = self.path == "/robots.txt" or (self.server.blocks and self.path != "/")
        body = f"<title>Page</title><main><p>The page {self.path} of this site.</main>{links}".encode()
        self.send_response((404 if self.path == "/robots.txt" else 403) if is_refused else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def site() -> Iterator[Site]:
    with Site(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def test_a_site_that_refuses_nearly_all_pages_has_failed_until_it_does_not(tmp_path: Path, site: Site) -> None:
    (tmp_path / "windrow.toml").write_text(
        f'{CRAWLED}\n[source.web]\ncollection = "pages"\nurl = "http://127.0.0.1:{site.server_port}/"\nevery = "1h"\n'
    )
    workspace = load_workspace(tmp_path)
    outcomes = []
    for session in range(8):
        site.blocks = session in {5, 6}
        outcomes.append(run_pages(workspace).failed)
        pass_time(2 * 86_400)
    assert outcomes == [0] * 5 + [1, 1, 0]
    ledger = Ledger(workspace.ledger)
    comments = [task.comment for task in reversed([*ledger.sessions.tasks_of_source("web")]) if task.failed]
    ledger.close()
    message = "drift: it returns 4 pages per 100 responses; on the 5 earlier days compared, it usually returned 100"
    assert len(comments) == 2
    assert all(message in comment for comment in comments)
