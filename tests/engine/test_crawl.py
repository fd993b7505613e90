"""A crawl: what is linked is asked once, kept, and on the ledger; killed at any moment, the next run goes on."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.engine.strolling import stroll
from windrow.digest import digest
from windrow.engine.ledger import Ledger
from windrow.engine.sighting import Sightings
from windrow.model import Place
from windrow.stores.archive import open_capture

PAGES = 60
HERE = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(nginx):
    """Lay out a chain of pages that link back and forth, and to what must not be asked; return origin and folder."""
    folder = nginx.root / "stroll"
    (folder / "private").mkdir(parents=True)
    (folder / "private" / "x.html").write_text("not for us")
    for page in range(PAGES):
        links = [f"{(page * 7 + step) % PAGES}.html" for step in range(4)]
        links += [
            "missing.html",
            "private/x.html",
            "/moved/",
            "http://elsewhere.example/",
            "mailto:a@b.example",
            "#top",
        ]
        anchors = "".join(f'<a href="{link}">{link}</a>' for link in links)
        (folder / f"{page}.html").write_text(f"<title>{page}</title><p>page {page}</p>{anchors}")
    (folder / "index.html").write_text('<a href="0.html">begin</a> <a href="1.html#part">on</a>')
    return f"http://127.0.0.1:{nginx.plain.port}", "/drop/stroll/"


def asked(root):
    """Return path, status and reason of every visit to a page."""
    with sqlite3.connect(root / "ledger.sqlite") as ledger:
        rows = ledger.execute(
            "SELECT a.url, v.status, v.reason FROM visit v JOIN address a ON a.digest = v.address WHERE v.kind = 0"
        ).fetchall()
    ledger.close()
    return sorted((url.partition("/drop/stroll/")[2], status, reason) for url, status, reason in rows)


WHOLE = sorted(
    [("index.html", 200, None), ("missing.html", 404, None), *((f"{page}.html", 200, None) for page in range(PAGES))]
)


def test_every_page_is_asked_once_and_nothing_else(site, nginx, tmp_path):
    before = len(nginx.log.read_text().splitlines())
    assert stroll(tmp_path, *site) == 0
    assert asked(tmp_path) == WHOLE
    paths = [line.split()[2] for line in nginx.log.read_text().splitlines()[before:]]
    assert sorted(paths) == sorted(["/robots.txt", *(f"/drop/stroll/{name}" for name, *_ in WHOLE)])


def test_every_answer_is_kept_as_it_came(site, nginx, tmp_path):
    assert stroll(tmp_path, *site) == 0
    ledger = Ledger(tmp_path / "ledger.sqlite")
    rows = ledger.cursor(
        "SELECT a.url, v.digest, v.warc, v.place_offset, v.place_length FROM visit v"
        " JOIN address a ON a.digest = v.address WHERE v.status = 200"
    ).fetchall()
    ledger.close()
    assert len(rows) == PAGES + 1
    for url, name, *place in rows:
        with open_capture(tmp_path / "archive", Place(*place)) as view:
            body = view.read()
        assert digest(body) == name
        assert body == (nginx.root / "stroll" / url.rpartition("/")[2]).read_bytes()


def test_a_second_run_asks_nothing_that_is_not_due(site, tmp_path):
    assert stroll(tmp_path, *site) == 0
    assert stroll(tmp_path, *site) == 0
    assert asked(tmp_path) == WHOLE


def test_what_is_due_again_is_asked_with_its_validators(site, nginx, tmp_path):
    assert stroll(tmp_path, *site) == 0
    with sqlite3.connect(tmp_path / "ledger.sqlite") as ledger:
        ledger.execute("UPDATE address SET due = 1 WHERE url LIKE '%/3.html'")
    ledger.close()
    assert stroll(tmp_path, *site) == 0
    assert [row[1] for row in asked(tmp_path) if row[0] == "3.html"] == [200, 304]


def test_a_run_that_is_killed_is_gone_on_with(site, tmp_path):
    command = [sys.executable, "-m", "tests.engine.strolling", str(tmp_path), *site, "0.02"]
    process = subprocess.Popen(command, cwd=HERE, start_new_session=True)
    done = 0
    while done < PAGES // 3:
        assert process.poll() is None
        time.sleep(0.02)
        if (tmp_path / "ledger.sqlite").exists():
            try:
                done = len(asked(tmp_path))
            except sqlite3.OperationalError:
                continue
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert done < len(WHOLE)
    with sqlite3.connect(tmp_path / "ledger.sqlite") as ledger:
        ledger.execute("UPDATE lease SET expires = '2000-01-01T00:00:00.000000Z'")
    ledger.close()
    assert stroll(tmp_path, *site) == 0
    assert asked(tmp_path) == WHOLE


def test_a_host_that_is_not_there_fails_its_source_only(tmp_path):
    assert stroll(tmp_path, "http://127.0.0.1:9", "/drop/stroll/") == 0
    assert [row[2] for row in asked(tmp_path)] == ["robots_unreachable"]


def test_sightings_forget_nothing_that_they_were_not_told():
    met = Sightings()
    assert met.fresh(5)
    assert not met.fresh(5)
    assert met.fresh(5 + (1 << 20)), "another address in the same slot is fresh"
    assert list(met.unread("http://a", "http://a/x/y", ["/b", "c", "/b", "c", "http://d/"])) == [
        "/b",
        "c",
        "c",
        "http://d/",
    ]
    assert list(met.unread("http://a", "http://a/z", ["/b", "http://d/"])) == []
