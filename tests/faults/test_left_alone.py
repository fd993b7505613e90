"""A server of listed files that asks for a long pause: it is on the ledger, and holds for all sources and runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.faults.place import DAY
from windrow.demo.partner import drop
from windrow.ledger import Ledger

NAME, CONTENT = drop("H", DAY, 5)
KEY = f"add/{NAME}"
HOUR = 3600


class Partner:
    """A partner's web server with one zip; `busy` are the paths at which it asks for an hour's pause."""

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
def serving(partner: Partner) -> Iterator[str]:
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


def rests(made) -> dict[str, int]:
    ledger = Ledger(made.root / "ledger.sqlite")
    found = ledger.addresses.rests(int(time.time()))
    ledger.close()
    return found


@pytest.mark.parametrize("path", ["/add/", f"/{KEY}"], ids=["at-its-listing", "at-a-file"])
def test_a_long_pause_that_a_listed_source_asked_for_is_on_the_ledger_and_holds_in_the_next_run(place, path):
    made, partner = place(), Partner()
    good = made.healthy()
    partner.busy.add(path)
    with serving(partner) as origin:
        made.source("own", f"{origin}/", timeout=60)
        began = time.time()
        assert made.run().code == 3
        assert [*rests(made)] == [origin]
        assert began + HOUR <= rests(made)[origin] <= time.time() + HOUR + 2
        asked = len(partner.asked)
        partner.busy.clear()
        assert made.run().code == 3
        assert len(partner.asked) == asked  # it was left alone
        failed, reason, comment = made.tasks("own")[-1]
        assert (failed, reason) == (1, "rate_limited")
        assert "asked to be left alone for" in comment
        made.whole(good)
        made.ask("UPDATE rest SET until = 1")
        assert made.run().code == 0
    made.whole(KEY)


def test_a_pause_asked_of_one_collection_holds_for_a_listed_source_of_the_same_origin_and_the_other_way(place):
    made, partner = place('[pages]\noperator = "tester"\nprivate_hosts = ["127.0.0.1"]\n'), Partner()
    with serving(partner) as origin:
        made.source("own", f"{origin}/", timeout=60)
        (made.root / "sources" / "site.toml").write_text(f'collection = "pages"\nurl = "{origin}/"\n')
        partner.busy.add("/add/")
        assert made.run("own").code == 3
        asked = len(partner.asked)
        assert made.run("site").code == 3
        assert len(partner.asked) == asked
        partner.busy = {"/robots.txt", "/"}
        made.ask("UPDATE rest SET until = 1")
        assert made.run("site").code == 3
        asked = len(partner.asked)
        assert origin in rests(made)
        assert made.run("own").code == 3
        assert len(partner.asked) == asked
