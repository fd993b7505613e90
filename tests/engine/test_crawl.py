"""A crawl: each linked page is requested once, kept and recorded; after a kill at any moment the next run continues."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from warcio import ArchiveIterator

from tests import programs
from tests.engine.folder_crawl import crawl_folder
from tests.engine.site_crawl import faults
from windrow.archive import open_capture
from windrow.digest import digest
from windrow.engine.crawl.walk import RecentUrls
from windrow.ledger import Ledger
from windrow.model import ArchivePlace

PAGES = 60
HERE = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(nginx):
    """Write a chain of pages that link back and forth, and to addresses out of scope; return origin and folder."""
    folder, origin, path = nginx.folder("stroll")
    (folder / "private").mkdir()
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
    return origin, path


def page_attempts(root):
    """Return path, status and reason of every attempt at a page."""
    with closing(sqlite3.connect(root / "ledger.sqlite")) as ledger, ledger:
        rows = ledger.execute(
            "SELECT a.url, v.status, v.reason FROM attempt v JOIN address a ON a.digest = v.address WHERE v.kind = 0"
        ).fetchall()
    ledger.close()
    return sorted((url.partition("/drop/stroll/")[2], status, reason) for url, status, reason in rows)


WHOLE = sorted(
    [("index.html", 200, None), ("missing.html", 404, None), *((f"{page}.html", 200, None) for page in range(PAGES))]
)


def test_every_page_is_asked_once_and_nothing_else(site, nginx, tmp_path):
    before = len(nginx.log.read_text().splitlines())
    assert crawl_folder(tmp_path, *site) == 0
    assert page_attempts(tmp_path) == WHOLE
    paths = [line.split()[2] for line in nginx.log.read_text().splitlines()[before:]]
    assert sorted(paths) == sorted(["/robots.txt", *(f"/drop/stroll/{name}" for name, *_ in WHOLE)])


def test_every_answer_is_kept_as_it_came(site, nginx, tmp_path):
    assert crawl_folder(tmp_path, *site) == 0
    ledger = Ledger(tmp_path / "ledger.sqlite")
    rows = ledger.database.connection.execute(
        "SELECT a.url, v.digest, v.warc, v.place_offset, v.place_length FROM attempt v"
        " JOIN address a ON a.digest = v.address WHERE v.status = 200"
    ).fetchall()
    ledger.close()
    assert len(rows) == PAGES + 1
    for url, name, *place in rows:
        with open_capture(tmp_path / "archive", ArchivePlace(*place)) as view:
            body = view.read()
        assert digest(body) == name
        assert body == (nginx.root / "stroll" / url.rpartition("/")[2]).read_bytes()


def test_a_second_run_asks_nothing_that_is_not_due(site, tmp_path):
    assert crawl_folder(tmp_path, *site) == 0
    assert crawl_folder(tmp_path, *site) == 0
    assert page_attempts(tmp_path) == WHOLE


def test_what_is_due_again_is_asked_with_its_validators(site, nginx, tmp_path):
    assert crawl_folder(tmp_path, *site) == 0
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as ledger, ledger:
        ledger.execute("UPDATE address SET due = 1 WHERE url LIKE '%/3.html'")
    ledger.close()
    assert crawl_folder(tmp_path, *site) == 0
    assert [row[1] for row in page_attempts(tmp_path) if row[0] == "3.html"] == [200, 304]
    assert faults(tmp_path) == []


def test_an_answer_304_is_kept_as_metadata_and_is_not_in_the_index(site, tmp_path):
    assert crawl_folder(tmp_path, *site) == 0
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as ledger, ledger:
        ledger.execute("UPDATE address SET due = 1 WHERE url LIKE '%/3.html'")
    ledger.close()
    assert crawl_folder(tmp_path, *site) == 0
    records = {}
    for path in sorted((tmp_path / "archive").glob("*.warc.gz")):
        with path.open("rb") as file:
            for record in ArchiveIterator(file):
                if (record.rec_headers["WARC-Target-URI"] or "").endswith("/3.html"):
                    records.setdefault(record.rec_type, []).append((record.rec_headers, record.content_stream().read()))
    assert {kind: len(kind_records) for kind, kind_records in records.items()} == {
        "request": 2,
        "response": 1,
        "metadata": 1,
    }
    about, head = records["metadata"][0]
    assert about["WARC-Target-URI"].startswith(
        "urn:not-modified:http://"
    )  # else it is indexed as a version of the page
    assert head.startswith(b"HTTP/1.1 304 ")
    assert records["request"][1][0]["WARC-Concurrent-To"] == about["WARC-Record-ID"]
    lines = "".join(path.read_text() for path in (tmp_path / "archive").glob("*.cdxj")).splitlines()
    assert sum('/3.html"' in line for line in lines) == 1
    assert not any('"304"' in line for line in lines)
    assert all('"mime": "text/html"' in line for line in lines if '/4.html"' in line)


def test_an_index_by_older_rules_is_made_anew_at_the_next_session(site, tmp_path):
    assert crawl_folder(tmp_path, *site) == 0
    index = next((tmp_path / "archive").glob("*.cdxj"))
    whole = index.read_bytes()
    (tmp_path / "archive" / ".index-rules").unlink()  # as version 0.1.0 left it
    index.write_bytes(b"http://old)/key 20260101000000 {}\n")
    assert faults(tmp_path)
    assert crawl_folder(tmp_path, *site) == 0
    assert index.read_bytes() == whole
    assert faults(tmp_path) == []


def test_a_check_finds_what_was_spoilt(site, tmp_path):
    assert crawl_folder(tmp_path, *site) == 0
    assert faults(tmp_path) == []
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as ledger, ledger:
        ledger.execute("UPDATE address SET capture = 0 WHERE url LIKE '%/3.html'")
        ledger.execute(
            "UPDATE attempt SET digest = 'sha256:00' WHERE address = (SELECT address FROM attempt WHERE size > 0 LIMIT 1)"
        )
    ledger.close()
    assert len(faults(tmp_path)) == 3, "a capture, an index and an address"


def test_a_run_that_is_killed_is_gone_on_with(site, tmp_path):
    process = programs.start("-m", "tests.engine.folder_crawl", tmp_path, *site, "0.02", cwd=HERE)
    done = 0
    while done < PAGES // 3:
        assert process.poll() is None
        time.sleep(0.02)
        if (tmp_path / "ledger.sqlite").exists():
            try:
                done = len(page_attempts(tmp_path))
            except sqlite3.OperationalError:
                continue
    process.kill()
    process.wait()
    assert done < len(WHOLE)
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as ledger, ledger:
        ledger.execute("UPDATE lease SET expires = '2000-01-01T00:00:00.000000Z'")
    ledger.close()
    assert crawl_folder(tmp_path, *site) == 0
    assert page_attempts(tmp_path) == WHOLE


def test_a_host_that_is_not_there_fails_its_source_only(tmp_path):
    assert crawl_folder(tmp_path, "http://127.0.0.1:9", "/drop/stroll/") == 3
    assert page_attempts(tmp_path) == []
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as ledger, ledger:
        assert ledger.execute("SELECT url, due FROM address").fetchall() == [
            ("http://127.0.0.1:9/drop/stroll/index.html", 0)
        ]
        assert (
            ledger.execute("SELECT kind, url, reason FROM attempt").fetchall()
            == [(1, "http://127.0.0.1:9/robots.txt", "connect_failed")] * 2
        )
        assert ledger.execute("SELECT failed, reason FROM task_end").fetchall() == [(1, "robots_unreachable")]
    ledger.close()


def test_sightings_forget_nothing_that_they_were_not_told():
    urls = RecentUrls()
    assert urls.remember(5)
    assert not urls.remember(5)
    assert urls.remember(5 + (1 << 20)), "another address in the same slot is new"
