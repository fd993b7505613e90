"""A crawl becomes a Summary Database: documents, files, redirects, pages that are gone and that came back."""

import os
import sqlite3
from contextlib import closing
from datetime import UTC, datetime

import pytest

from tests.engine.summary_crawl import crawl_and_summarise, query_summary
from tests.waiting import until
from windrow.collections.pages.database.entries import TextSummary
from windrow.engine.steps.settled_batches import (
    BATCH_SIZE,
    MAX_BATCH_BYTES,
    MAX_GATHER_SECONDS,
    SettledAttempt,
    gather_batches,
)
from windrow.model import ArchivePlace, Attempt, KeptResponse, RecordedAttempt
from windrow.reasons import Reason

STATES = """
SELECT u.path, p.text, g.confirmed_end_unix_utc IS NULL, d.title FROM entity_generation g JOIN url u USING (url_id)
LEFT JOIN text_pile p USING (text_pile_id) LEFT JOIN document_description d USING (entity_generation_id)
ORDER BY u.path, g.first_seen_unix_utc, g.entity_generation_id
"""


@pytest.fixture
def site(nginx, tmp_path):
    """Write some pages; return a function that writes one, origin and folder."""
    folder, origin, path = nginx.folder(tmp_path.name)

    def write(name, text):
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())

    write("index.html", '<title>Index</title><p>All pages</p><a href="a.html">One</a> <a href="b.html">Two</a>')
    return write, origin, path


def make_due(root):
    connection = sqlite3.connect(root / "ledger.sqlite")
    connection.execute("UPDATE address SET due = 1")
    connection.commit()
    connection.close()


def states(root, folder):
    return [(path.removeprefix(folder), *rest) for path, *rest in query_summary(root, STATES)]


def test_a_site_that_is_edited_emptied_and_restored(site, nginx, tmp_path):
    write, origin, folder = site
    write("a.html", "<title>A</title><p>first")
    write("b.html", "<title>B</title><p>same")
    assert crawl_and_summarise(tmp_path, origin, folder) == 0
    first = [("a.html", "first", 1, "A"), ("b.html", "same", 1, "B"), ("index.html", "All pages", 1, "Index")]
    assert states(tmp_path, folder) == first
    write("a.html", "<title>A</title><p>second")
    (nginx.root / tmp_path.name / "b.html").unlink()
    make_due(tmp_path)
    assert crawl_and_summarise(tmp_path, origin, folder) == 0
    again = [("a.html", "first", 0, "A"), ("a.html", "second", 1, "A"), *first[1:]]
    assert states(tmp_path, folder) == again, "missing once is not gone"
    make_due(tmp_path)
    assert crawl_and_summarise(tmp_path, origin, folder) == 0
    gone = [*again[:2], ("b.html", "same", 0, "B"), again[3]]
    assert states(tmp_path, folder) == gone
    write("a.html", "<title>A</title><p>first")
    write("b.html", "<title>B</title><p>same")
    make_due(tmp_path)
    assert crawl_and_summarise(tmp_path, origin, folder) == 0
    back = [*[(*row[:2], 0, row[3]) for row in again[:2]], ("a.html", "first", 1, "A"), gone[2], *first[1:]]
    assert states(tmp_path, folder) == back
    codes = query_summary(tmp_path, "SELECT path, status_code FROM http_summary JOIN crawl_summary USING (crawl_summary_id)"
                " JOIN entity_generation USING (entity_generation_id) JOIN url USING (url_id)"
                " WHERE path LIKE '%index.html' ORDER BY time_started_unix_utc")  # fmt: skip
    assert [code for _, code in codes] == [200, 304, 304, 304]


def test_a_fresh_database_is_read_from_the_ledger_and_says_the_same(site, tmp_path):
    write, origin, folder = site
    for round_ in range(3):
        write("a.html", f"<title>A {round_}</title><p>number {10**round_}")  # another size: else the ETag of one second
        write("b.html", "<title>B</title><p>number 0")
        assert crawl_and_summarise(tmp_path, origin, folder) == 0
        make_due(tmp_path)
    before = states(tmp_path, folder)
    assert len(before) == 5
    for name in ("summary.sqlite", "summary.sqlite-wal", "summary.sqlite-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    assert crawl_and_summarise(tmp_path, origin, folder, fetch=False) == 0
    assert states(tmp_path, folder) == before


@pytest.mark.parametrize(("days", "same"), [(0, (7.0, 7.0, 7.0, 7.0)), (40, (7.0, 10.5, 15.8, 23.6))])
def test_a_page_whose_bytes_alone_differ_is_asked_less_often_as_time_passes_and_a_first_attempt_is_no_change(
    site, tmp_path, days, same
):
    write, origin, folder = site
    intervals = []
    write("b.html", "<title>B</title><p>same")
    for round_ in range(4):
        write("a.html", f"<title>A</title><p>text</p><!-- {10**round_} -->")
        write("index.html", f'<p>number {10**round_}</p><a href="a.html">One</a> <a href="b.html">Two</a>')
        assert crawl_and_summarise(tmp_path, origin, folder) == 0
        with closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as connection:
            rows = connection.execute("SELECT url, interval, due FROM address ORDER BY url").fetchall()
            intervals.append([round(interval / 86_400, 1) for _, interval, _ in rows])
            assert all(due > 1 for *_, due in rows)
        make_due(tmp_path)
        with closing(sqlite3.connect(tmp_path / "summary.sqlite")) as connection, connection:
            connection.execute("UPDATE windrow_observation SET at = at - ?", (days * 86_400,))
    a, b, index = zip(*intervals, strict=True)
    assert a == b == same, "the text stays, whatever the bytes"
    assert index == (7.0, 3.5, 1.8, 1.0)


def test_a_page_is_due_when_it_says_that_it_is_unavailable_and_then_it_is_no_more_found(site, tmp_path):
    write, origin, folder = site
    end = int(datetime.now(UTC).timestamp()) + 15
    asked = datetime.fromtimestamp(end, UTC).strftime("%d %b %Y %H:%M:%S GMT")
    write("a.html", f'<meta name="robots" content="unavailable_after: {asked}"><title>A</title><p>soon gone')
    write("b.html", "<title>B</title><p>stays")
    assert crawl_and_summarise(tmp_path, origin, folder) == 0
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as connection:
        dues = dict(connection.execute("SELECT substr(url, -6), due FROM address").fetchall())
    assert dues["a.html"] == end
    assert dues["b.html"] > end + 86_400
    assert states(tmp_path, folder)[0] == ("a.html", "soon gone", 1, "A")
    until(lambda: datetime.now(UTC).timestamp() >= end)  # the time that counts is the server's, in its head Date
    assert crawl_and_summarise(tmp_path, origin, folder) == 0, "nobody made it due but itself"
    assert query_summary(tmp_path, "SELECT status_code FROM http_summary ORDER BY crawl_summary_id DESC LIMIT 1") == [
        (304,)
    ]
    versions = [(path, text, is_open) for path, text, is_open, _ in states(tmp_path, folder)]
    assert versions[:2] == [("a.html", "soon gone", 0), ("a.html", None, 1)]


def test_the_same_bytes_with_another_last_modified_are_described_anew(site, nginx, tmp_path):
    write, origin, folder = site
    write("a.html", "<title>A</title><p>text")
    page = nginx.root / tmp_path.name / "a.html"
    updated = "SELECT time_updated_unix_utc FROM document_description WHERE title = 'A'"
    for at in (1_700_000_000, 1_700_005_000):
        os.utime(page, (at, at))
        assert crawl_and_summarise(tmp_path, origin, folder) == 0
        assert query_summary(tmp_path, updated) == [(at,)]
        make_due(tmp_path)
    revisits = "SELECT count(*) FROM attempt WHERE revisit AND status = 200"
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as connection:
        assert connection.execute(revisits).fetchone() == (1,), "its bytes were known"


@pytest.mark.parametrize(
    ("size", "counts"), [(1000, [BATCH_SIZE, 44]), (MAX_BATCH_BYTES // 2, [2] * 150), (MAX_BATCH_BYTES, [1] * 300)]
)
def test_what_is_told_at_once_is_bounded_in_attempts_and_in_bytes(size, counts):
    at = datetime(2026, 1, 1, tzinfo=UTC)
    attempt = Attempt(
        1, "https://example.org/", 0, True, at, 0.1, 200, KeptResponse("sha256:0", size, ArchivePlace("a", 0, 9))
    )
    attempts = [SettledAttempt(RecordedAttempt(number, 1, at, "site", attempt), "read") for number in range(300)]
    batches = list(gather_batches(iter(attempts)))
    assert [len(page) for page in batches] == counts
    assert [settled for page in batches for settled in page] == attempts
    unread = [settled._replace(result=None) for settled in attempts]
    assert [len(page) for page in gather_batches(iter(unread))] == [BATCH_SIZE, 44]


def test_what_takes_long_is_told_by_time_so_that_a_kill_loses_little():
    at = datetime(2026, 1, 1, tzinfo=UTC)
    attempt = Attempt(1, "https://example.org/", 0, True, at, 0.1, 404)
    attempts = [SettledAttempt(RecordedAttempt(number, 1, at, "site", attempt), None) for number in range(100)]
    ticks = iter(range(10_000))
    batches = list(gather_batches(iter(attempts), clock=lambda: float(next(ticks))))
    assert [settled for page in batches for settled in page] == attempts
    assert max(len(page) for page in batches) <= int(MAX_GATHER_SECONDS)


@pytest.mark.parametrize(
    ("reason", "status", "use"),
    [
        ("", 200, (True, None)),
        ("truncated", 200, (True, None)),
        ("unsupported", 200, (False, None)),
        ("no_text", 200, (False, Reason.NO_TEXT)),
        ("bot_wall", 200, (False, Reason.BOT_WALL)),
        (None, 304, (True, None)),
        (None, 503, (False, None)),
    ],
)
def test_a_page_without_text_is_not_usable(reason, status, use):
    at = datetime(2026, 1, 1, tzinfo=UTC)
    recorded = RecordedAttempt(1, 1, at, "site", Attempt(1, "https://example.org/", 0, True, at, 0.1, status))
    result = None if reason is None else TextSummary(b"", reason)
    assert SettledAttempt(recorded, result).judge_use(has_records=False) == use
