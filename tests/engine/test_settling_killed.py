"""Summarising that is killed at any transaction continues, and ends with the same tables."""

from __future__ import annotations

import shutil
import signal
import sqlite3
from contextlib import closing

import pytest

from tests import programs
from tests.collections.pages.database.crawl_events import rows, tables
from tests.engine.killed_summary import BATCH
from tests.engine.recorded_attempts import HTML, Attempts, summarise
from windrow.collections.pages.database.store import ATTEMPT, SummaryStore
from windrow.engine.steps import settled_batches, settling

PAGES = 96
TIMED = {"duplicate_summary", "windrow_settled"}
"""Tables that record when something was found, or by which session."""


def page(text: str, number: int) -> bytes:
    links = "".join(f'<a href="/{(number + step) % PAGES}">{step}</a>' for step in range(5))
    return f"<title>{text} {number}</title><main><p>{text}</p>{links}</main>".encode()


@pytest.fixture(scope="module", autouse=True)
def by_count():
    """Commit by count alone, not by time: rows are numbered in the order of batches."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settled_batches, "MAX_GATHER_SECONDS", 3600.0)
        patch.setattr(settled_batches, "BATCH_SIZE", BATCH)
        patch.setattr(settling, "BATCH_SIZE", BATCH)
        yield


@pytest.fixture(scope="module")
def visited(tmp_path_factory):
    """Return a workspace with two sessions of attempts: the second has changes, copies and earlier times."""
    root = tmp_path_factory.mktemp("visited")
    with Attempts(root) as attempts:
        for number in range(PAGES):
            attempts.answer(f"https://a.example/{number}", page(f"text {number // 2}", number), at=100 + number)
    with Attempts(root) as attempts:
        for number in range(0, PAGES, 3):
            url, at = f"https://a.example/{number}", 1000 + number
            if number % 2:
                attempts.answer(url, page(f"changed {number}", number), at=at)
            elif number % 4:
                attempts.answer(url, b"gone", at=at, status=410)
            else:
                attempts.answer(url, b"before", at=10 + number % 90, fields=HTML)
        for number in range(0, PAGES, 12):
            attempts.answer(f"https://a.example/{number}", page("text 0", number), at=2000 + number)
    return root


@pytest.fixture(scope="module")
def whole(visited, tmp_path_factory):
    """Return the tables after a summary that is not killed."""
    return summarised_tables(copy_workspace(visited, tmp_path_factory.mktemp("whole")))


def copy_workspace(visited, root):
    """Copy the workspace, to be summarised; return the copy."""
    shutil.copytree(visited, root, dirs_exist_ok=True)
    return root


def summarised_tables(root):
    assert summarise(root) == 0
    store = SummaryStore(root / "summary.sqlite")
    try:
        kept = {name: table_rows for name, table_rows in rows(store).items() if name not in TIMED}
        return tables(store), kept
    finally:
        store.close()


def unlock(root):
    with closing(sqlite3.connect(root / "ledger.sqlite")) as ledger, ledger:
        ledger.execute("UPDATE lease SET expires = '2000-01-01T00:00:00.000000Z'")
    ledger.close()


@pytest.mark.parametrize(
    ("number", "when"),
    [(2, "before"), (2, "after"), (3, "after"), (4, "before"), (5, "before"), (5, "after"), (7, "before")],
)
def test_killed_at_a_transaction(visited, whole, tmp_path, number, when):
    root = copy_workspace(visited, tmp_path)
    assert programs.run("-m", "tests.engine.killed_summary", root, number, when).returncode == -signal.SIGKILL
    if (number, when) != (2, "before"):  # then there are no tables yet
        with closing(sqlite3.connect(root / "summary.sqlite")) as summary:
            rows_by_name = dict(summary.execute("SELECT key, value FROM unobtanium_database_info"))
            written = summary.execute("SELECT coalesce(max(upto), 0) FROM windrow_settled").fetchone()
        assert written == (int(rows_by_name.get(ATTEMPT, 0)),), "a session has not written more than was settled"
    unlock(root)
    assert summarised_tables(root) == whole


def test_killed_again_and_again(visited, whole, tmp_path):
    root = copy_workspace(visited, tmp_path)
    for _ in range(4):
        assert programs.run("-m", "tests.engine.killed_summary", root, 2, "after").returncode == -signal.SIGKILL
        unlock(root)
    assert summarised_tables(root) == whole


def test_page_by_page_as_in_large_batches(visited, whole, tmp_path, monkeypatch):
    monkeypatch.setattr(settling, "BATCH_SIZE", 7)
    monkeypatch.setattr(settled_batches, "BATCH_SIZE", 7)
    monkeypatch.setattr(settling, "READ_AHEAD", 20)
    assert summarised_tables(copy_workspace(visited, tmp_path))[0] == whole[0]
