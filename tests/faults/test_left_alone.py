"""A server of listed files that asks for a long pause: it is recorded, and holds for all sources and runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.faults.workspace import DAY
from windrow.demo.partner import drop
from windrow.ledger import Ledger

NAME, CONTENT = drop("H", DAY, 5)
KEY = f"add/{NAME}"
HOUR = 3600


class Partner:
    """A partner's web server with one zip; at the paths in `busy` it asks for an hour's pause."""

    def __init__(self) -> None:
        self.busy: set[str] = set()
        self.asked: list[str] = []

    def answer(self, path: str) -> tuple[int, bytes]:
        self.asked.append(path)
        if path in self.busy:
            return 429, b""
        if path == "/add/":
            line = f'<a href="{NAME}">{NAME}</a>  12-Jan-2026 09:00  {len(CONTENT)}'
            return 200, f'<pre><a href="../">../</a>\n{line}</pre>'.encode()
        if path == f"/{KEY}":
            return 200, CONTENT
        return (200, b'<pre><a href="../">../</a></pre>') if path.endswith("/") else (404, b"")


@contextmanager
def serve(partner: Partner) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, content = partner.answer(self.path)
            self.send_response(status)
            self.send_header("Content-Type", "text/html" if self.path.endswith("/") else "application/zip")
            self.send_header("Content-Length", str(len(content)))
            if status == 429:
                self.send_header("Retry-After", str(HOUR))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def current_pauses(workspace) -> dict[str, int]:
    ledger = Ledger(workspace.root / "ledger.sqlite")
    pauses = ledger.addresses.rests(int(time.time()))
    ledger.close()
    return pauses


@pytest.mark.parametrize("path", ["/add/", f"/{KEY}"], ids=["at-its-listing", "at-a-file"])
def test_a_long_pause_that_a_listed_source_asked_for_is_on_the_ledger_and_holds_in_the_next_run(make_workspace, path):
    workspace, partner = make_workspace(), Partner()
    good = workspace.add_healthy()
    partner.busy.add(path)
    with serve(partner) as origin:
        workspace.add_source("own", f"{origin}/", timeout=60)
        began = time.time()
        assert workspace.run().code == 3
        assert [*current_pauses(workspace)] == [origin]
        assert began + HOUR <= current_pauses(workspace)[origin] <= time.time() + HOUR + 2
        asked = len(partner.asked)
        partner.busy.clear()
        assert workspace.run().code == 3
        assert len(partner.asked) == asked  # it was left alone
        failed, reason, comment = workspace.tasks("own")[-1]
        assert (failed, reason) == (1, "rate_limited")
        assert "asked not to be requested for" in comment
        workspace.assert_complete(good)
        workspace.query_ledger("UPDATE rest SET until = 1")
        assert workspace.run().code == 0
    workspace.assert_complete(KEY)


def test_a_pause_asked_of_one_collection_holds_for_a_listed_source_of_the_same_origin_and_the_other_way(make_workspace):
    workspace, partner = make_workspace('[pages]\noperator = "tester"\nprivate_hosts = ["127.0.0.1"]\n'), Partner()
    with serve(partner) as origin:
        workspace.add_source("own", f"{origin}/", timeout=60)
        (workspace.root / "sources" / "site.toml").write_text(f'collection = "pages"\nurl = "{origin}/"\n')
        partner.busy.add("/add/")
        assert workspace.run("own").code == 3
        asked = len(partner.asked)
        assert workspace.run("site").code == 3
        assert len(partner.asked) == asked
        partner.busy = {"/robots.txt", "/"}
        workspace.query_ledger("UPDATE rest SET until = 1")
        assert workspace.run("site").code == 3
        asked = len(partner.asked)
        assert origin in current_pauses(workspace)
        assert workspace.run("own").code == 3
        assert len(partner.asked) == asked
