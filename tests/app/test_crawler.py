"""The crawler database: projected from the ledger in pieces or at once, after a kill, and from a real crawl."""

from __future__ import annotations

import random
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import programs
from tests.app.ledger_crawls import InventedCrawl
from tests.engine import folder_crawl
from tests.engine.recorded_attempts import Attempts, summarise
from windrow.clock import parse
from windrow.collections.pages.adapter.crawler_projection import CrawlerProjection, check_crawler
from windrow.collections.pages.crawl_log import make_crawl_uuid
from windrow.digest import hash64
from windrow.engine.run import Harvest, SessionSettings
from windrow.engine.session import Session
from windrow.formats.url import parts
from windrow.ledger import Ledger
from windrow.model import Allowed, Limits, Site, Source

HERE = Path(__file__).parents[2]
QUERIES = {
    "agent": "SELECT agent_id, time_started_unix_utc, time_finished_unix_utc IS NULL, agent_uuid, name,"
    " http_user_agent FROM agent",
    "crawl": "SELECT crawl_log_id, agent_id, str_url, str_origin, crawl_type, crawl_uuid, time_started_unix_utc,"
    " time_taken_ms, exit_code, message FROM crawl_log JOIN url USING (url_id) JOIN origin USING (origin_id)",
    "request": "SELECT request_id, crawl_log_id, str_url, time_sent_unix_utc, robotstxt_approved, request_duration_ms,"
    " exit_code, server_last_modified_unix_utc, http_status_code, http_etag FROM request JOIN url USING (url_id)",
    "file": "SELECT file_id, crawl_log_id, request_id, str_url, last_modified_unix_utc, file_size, mime_type,"
    " mime_subtype, mime_suffix, canonical_url_id FROM file JOIN url USING (url_id) LEFT JOIN mimetype USING (mimetype_id)",
    "redirect": "SELECT redirect_id, crawl_log_id, request_id, u.str_url, t.str_url, information_source, is_permanent,"
    " to_url_fragment FROM redirect r JOIN url u ON u.url_id = r.url_id JOIN url t ON t.url_id = r.to_url_id",
    "candidate": "SELECT str_url, last_crawl_time_unix_utc, last_crawl_exit_code, last_contentful_crawl_time_unix_utc,"
    " last_contentful_http_etag FROM crawl_candidate JOIN url USING (url_id)",
}


def read_database(path: Path) -> dict[str, list[Any]]:
    """Return the rows of a crawler database, with addresses instead of their numbers."""
    with closing(sqlite3.connect(path)) as connection:
        return {name: sorted(connection.execute(sql), key=repr) for name, sql in QUERIES.items()}


def project_at_once(ledger: Ledger, path: Path) -> dict[str, list[Any]]:
    projection = CrawlerProjection(path, "test-crawler", batch_size=100_000)
    projection.catch_up(ledger)
    projection.close()
    return read_database(path)


@settings(max_examples=25)
@given(st.integers(0, 1000), st.lists(st.integers(0, 60), min_size=1, max_size=6), st.integers(1, 40), st.randoms())
def test_in_pieces_is_as_at_once(seed: int, works: list[int], piece: int, rng: random.Random) -> None:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as opened:
        pieces = Path(folder) / "pieces.sqlite"

        def open_projection() -> CrawlerProjection:
            return opened.enter_context(
                closing(CrawlerProjection(pieces, "test-crawler", batch_size=piece, turn_seconds=0))
            )

        crawl, projection = (
            opened.enter_context(closing(InventedCrawl(Path(folder) / "ledger.sqlite", seed))),
            open_projection(),
        )
        for count in works:
            crawl.add_attempts(count)
            if rng.random() < 0.5:
                projection.catch_up(crawl.ledger)
            if rng.random() < 0.3:
                projection.close()
                projection = open_projection()
            if rng.random() < 0.3:
                crawl.end()
            if rng.random() < 0.5:
                crawl.begin()
        crawl.end()
        projection.catch_up(crawl.ledger)
        projection.close()
        assert read_database(pieces) == project_at_once(crawl.ledger, Path(folder) / "once.sqlite")
        assert list(check_crawler(pieces, crawl.ledger)) == []


@pytest.fixture
def crawl(tmp_path: Path) -> Iterator[InventedCrawl]:
    with closing(InventedCrawl(tmp_path / "ledger.sqlite", 1)) as opened:
        opened.add_attempts(400)
        opened.end()
        yield opened


def test_rows_say_what_the_ledger_says(crawl: InventedCrawl, tmp_path: Path) -> None:
    rows = project_at_once(crawl.ledger, tmp_path / "crawler.sqlite")
    attempts = crawl.ledger.database.connection.execute(
        "SELECT v.seq, v.session, v.address, v.kind, v.started, v.status, v.reason FROM attempt v"
    ).fetchall()
    by_id = {row[0]: row for row in rows["crawl"]}
    assert len(by_id) == len(attempts) > 200
    codes = {(200, None): {20}, (301, None): {31}, (302, None): {32}, (304, None): {34}, (404, "not_found"): {44},
             (503, "server_error"): {50}, (None, "timeout"): {101}, (None, "dns_failed"): {107},
             (None, "robots_denied"): {104}, (None, "unsupported"): {29}}  # fmt: skip
    seen = set()
    for seq, session, address, kind, started, status, reason in attempts:
        row = by_id[seq]
        assert row[8] in codes[status, reason]
        seen.add((status, reason))
        uuid = make_crawl_uuid(parse(started), session, address or hash64(row[2]), kind)
        assert row[5][:9] == uuid[:9]
    assert seen == set(codes)
    asked = {row[0] for row in rows["request"]}
    assert asked == {seq for seq, *_, reason in attempts if reason not in {"robots_denied", "unsupported"}}
    assert {row[0] for row in rows["file"]} == {seq for seq, *_, status, _ in attempts if status == 200}
    assert {row[6:9] for row in rows["file"]} == {
        ("text", "html", None), ("application", "atom", "xml"), ("text", "plain", None), (None, None, None),
    }  # fmt: skip
    led = {(row[4], row[6], row[7]) for row in rows["redirect"]}
    assert led == {
        ("https://a.example/moved", 1, "there"),
        ("http://b.example:8080/moved", 1, "there"),
        ("https://other.example/b?x=1", 0, None),
    }
    assert [row[2:] for row in rows["agent"]] == [(0, rows["agent"][0][3], "machine:17", "test-crawler")]


def test_candidates_tell_the_last_crawl_and_the_last_content(crawl: InventedCrawl, tmp_path: Path) -> None:
    published = project_at_once(crawl.ledger, tmp_path / "crawler.sqlite")
    rows = {row[0]: row[1:] for row in published["candidate"]}
    known = {row[0] for row in crawl.ledger.database.connection.execute("SELECT url FROM address")}
    assert set(rows) == known
    assert any(row == (None, None, None, None) for row in rows.values()), "some were never asked"
    crawls: dict[str, list[Any]] = {}
    for row in published["crawl"]:
        if row[4] == 0:
            crawls.setdefault(row[2], []).append((row[6], row[0], row[8]))
    for url, url_rows in crawls.items():
        last = max(url_rows)
        assert rows[url][:2] == (last[0], last[2])
        contents = [url_row for url_row in url_rows if url_row[2] in {20, 31, 32}]
        assert rows[url][2] == (max(contents)[0] if contents else None)


def test_killed_it_goes_on_where_it_was(tmp_path: Path, closed_at_end: Any) -> None:
    crawl = closed_at_end(InventedCrawl(tmp_path / "ledger.sqlite", 3))
    for _ in range(10):
        crawl.add_attempts(400, pages=2_000)
    crawl.end()
    expected = project_at_once(crawl.ledger, tmp_path / "once.sqlite")
    path = tmp_path / "killed.sqlite"
    chance, kills = random.Random(4), 0
    for _ in range(12):
        words = ("-m", "tests.app.ledger_crawls", tmp_path / "ledger.sqlite", path)
        with programs.start_piped(*words, cwd=HERE) as started:
            for _ in range(chance.randrange(1, 40)):
                started.stdout.readline()
            kills += started.poll() is None
            started.kill()
    assert kills > 3
    assert project_at_once(crawl.ledger, path) == expected


def test_a_turn_is_short_while_a_session_runs(tmp_path: Path, closed_at_end: Any) -> None:
    crawl = closed_at_end(InventedCrawl(tmp_path / "ledger.sqlite", 5))
    crawl.add_attempts(3_000, pages=3_000)
    projection = CrawlerProjection(tmp_path / "crawler.sqlite", batch_size=50, turn_seconds=0)
    projection.catch_up(crawl.ledger)
    assert projection.store.counts()["crawl_log"] == 50
    crawl.end()
    projection.catch_up(crawl.ledger)
    assert projection.store.counts()["crawl_candidate"] > 1_000
    projection.close()


def test_the_end_of_a_session_does_not_wait_for_all_addresses(tmp_path: Path, closed_at_end: Any) -> None:
    crawl = closed_at_end(InventedCrawl(tmp_path / "ledger.sqlite", 5))
    crawl.add_attempts(2_000, pages=2_000)
    crawl.end()
    projection = CrawlerProjection(tmp_path / "crawler.sqlite", batch_size=100, end_seconds=0)
    counts = []
    for _ in range(30):
        projection.catch_up(crawl.ledger)
        counts.append(projection.store.counts())
    assert (
        counts[0]["crawl_log"]
        == counts[-1]["crawl_log"]
        == len(crawl.ledger.database.connection.execute("SELECT 1 FROM attempt").fetchall())
    )
    assert counts[0]["crawl_candidate"] < counts[-1]["crawl_candidate"]
    assert counts[-1]["crawl_candidate"] == len(
        crawl.ledger.database.connection.execute("SELECT 1 FROM address").fetchall()
    )
    assert list(check_crawler(tmp_path / "crawler.sqlite", crawl.ledger)) == []
    projection.close()


def test_a_check_finds_lost_rows_and_late_books(crawl: InventedCrawl, tmp_path: Path) -> None:
    path = tmp_path / "crawler.sqlite"
    project_at_once(crawl.ledger, path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute("DELETE FROM crawl_log WHERE crawl_log_id = (SELECT max(crawl_log_id) FROM crawl_log)")
    assert len(list(check_crawler(path, crawl.ledger))) == 1
    crawl.begin()
    crawl.add_attempts(20)
    crawl.end()
    assert len(list(check_crawler(path, crawl.ledger))) == 2


@pytest.mark.parametrize("texts", [False, True])
def test_a_real_crawl_is_in_the_books(nginx: Any, tmp_path: Path, texts: bool) -> None:
    folder, origin, where_pages_lie = nginx.folder("books")
    (folder / "index.html").write_text('<a href="a.html">a</a> <a href="missing.html">b</a>')
    (folder / "a.html").write_text("a page")
    where = parts(f"{origin}/")
    seed = {"seed": f"{origin}{where_pages_lie}index.html", "below": f"{where_pages_lie}*"}
    source = Source(
        "site",
        "pages",
        Site(where.scheme, where.host, where.port, timeout=60, allowed=Allowed(everything=True)),
        options=seed,
    )
    session = Session(SessionSettings(tmp_path / "ledger.sqlite", tmp_path / "archive", Limits()), "test")
    archive = tmp_path / "archive" if texts else None
    projection = CrawlerProjection(tmp_path / "crawler.sqlite", "test-crawler", archive=archive)
    crawl_only = replace(folder_crawl.FOLDER_CRAWL, name="pages")
    session.run_harvest(Harvest(crawl_only, (source,), options={"delay": 0.0}, projection=projection))
    assert session.close() == 0
    rows = read_database(tmp_path / "crawler.sqlite")
    crawls = {(row[2].removeprefix(origin), row[4], row[8]) for row in rows["crawl"]}
    assert crawls == {
        ("/robots.txt", 1, 44), ("/drop/books/index.html", 0, 20), ("/drop/books/a.html", 0, 20),
        ("/drop/books/missing.html", 0, 44),
    }  # fmt: skip
    assert {row[6:9] for row in rows["file"]} == {("text", "html", None)}
    with closing(sqlite3.connect(tmp_path / "crawler.sqlite")) as connection:
        kept = {row[0] for row in connection.execute("SELECT text FROM file_text")}
    assert kept == ({"a page", (folder / "index.html").read_text()} if texts else set())
    assert [row[2] for row in rows["agent"]] == [0], "the session ended"
    assert list(check_crawler(tmp_path / "crawler.sqlite", session.ledger)) == []
    session.ledger.close()


def test_the_books_say_the_parameters_of_media_types_and_which_address_a_file_names_as_its_original(
    tmp_path: Path,
) -> None:
    a, b, c = (f"https://a.example/{name}" for name in "abc")
    latin = {"Content-Type": "text/html; charset=iso-8859-1"}
    copy = b"<!doctype html><link rel=canonical href=/b><title>T</title><main><p>A copy"
    with Attempts(tmp_path) as attempts:
        attempts.answer(a, copy, at=10)
        attempts.answer(b, b"<!doctype html><title>T</title><main><p>Caf\xe9", at=20, fields=latin)
        attempts.answer(c, b"\x89PNG\r\n\x1a\n", at=30, fields={"Content-Type": "image/png"})
        attempts.answer(a, copy, at=40)
    assert summarise(tmp_path) == 0
    ledger, path = Ledger(tmp_path / "ledger.sqlite"), tmp_path / "crawler.sqlite"
    files = (
        "SELECT u.str_url, c.str_url, mime_type, mime_subtype, name, value FROM file f JOIN url u ON u.url_id = f.url_id"
        " LEFT JOIN url c ON c.url_id = f.canonical_url_id LEFT JOIN mimetype USING (mimetype_id)"
        " LEFT JOIN mime_parameter USING (mimetype_id) ORDER BY file_id"
    )
    expected = [
        (a, b, "text", "html", "charset", "utf-8"),
        (b, None, "text", "html", "charset", "iso-8859-1"),
        (c, None, "image", "png", None, None),
        (a, b, "text", "html", "charset", "utf-8"),
    ]
    for piece in (100_000, 1):  # the second time in a rebuilt projection
        projection = CrawlerProjection(path, "test-crawler", summary=tmp_path / "summary.sqlite", batch_size=piece)
        projection.catch_up(ledger)
        projection.close()
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute(files).fetchall() == expected
        path.unlink()
    ledger.close()
