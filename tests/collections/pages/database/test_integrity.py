"""A check finds what does not agree in the tables of copies."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.collections.pages.database.test_near import prose
from tests.collections.pages.database.test_wording import NOW, crawl
from windrow.collections.pages.database.fulltext_table import fill, recount
from windrow.collections.pages.database.integrity import find_faults
from windrow.collections.pages.database.store import SummaryStore
from windrow.collections.pages.reading import Pile
from windrow.query.word import count_words
from windrow.stores.sqlite import SqliteReader

URLS = [f"https://{name}.example/" for name in "abc"]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SummaryStore]:
    summary_store = SummaryStore(tmp_path / "summary.sqlite")
    summary_store.settle([crawl(NOW + n, "T", url=url, text=f"{prose(1, 90)} {n}") for n, url in enumerate(URLS)], 3)
    summary_store.finish(NOW)
    yield summary_store
    summary_store.close()


def list_faults(store: SummaryStore) -> list[str]:
    with closing(SqliteReader(store.path)) as reader:
        return list(find_faults(reader, lambda fields: Pile(*fields).digest()))


def spoil(store: SummaryStore, sql: str) -> None:
    with closing(sqlite3.connect(store.path)) as link, link:
        link.execute("PRAGMA foreign_keys = ON")
        link.execute(sql)


def test_nothing_is_found_where_all_agrees(store: SummaryStore) -> None:
    with closing(sqlite3.connect(store.path)) as link:
        assert link.execute("SELECT count(*) FROM windrow_near_duplicate").fetchone() == (2,)
        assert link.execute("SELECT count(*) FROM windrow_representative").fetchone() == (3,)
    assert list_faults(store) == []


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE windrow_near_duplicate SET other_id = 99",
        "UPDATE windrow_near_duplicate SET other_id = generation_id",
        "UPDATE windrow_representative SET representative_id = 99 WHERE generation_id = 1",
        "DELETE FROM windrow_representative WHERE generation_id = representative_id",
        "INSERT INTO windrow_representative VALUES (99, 1)",
    ],
)
def test_what_was_spoilt_is_found(store: SummaryStore, sql: str) -> None:
    spoil(store, sql)
    assert len(list_faults(store)) == 1


def test_what_a_stopped_run_left_is_no_fault(store: SummaryStore) -> None:
    spoil(store, "UPDATE windrow_near_duplicate SET other_id = 99")
    spoil(store, "INSERT INTO windrow_touched VALUES (1)")
    assert list_faults(store) == []


@pytest.mark.parametrize(
    ("sql", "fault"),
    [
        ("DELETE FROM crawl_summary", "have a version without a crawl"),
        ("DELETE FROM http_summary", "have a crawl without an answer"),
        ("DELETE FROM file_summary", "have a version without the row of its file or redirect"),
        ("DELETE FROM document_description", "have a text without a description"),
        ("UPDATE windrow_observation SET linked = x'01'", "have a version whose links are missing"),
    ],
)
def test_a_table_that_was_emptied_is_found(store: SummaryStore, sql: str, fault: str) -> None:
    with closing(sqlite3.connect(store.path)) as link, link:  # which looks no references up
        link.execute(sql)
    assert f"addresses that {fault}: {', '.join(URLS)}" in list_faults(store)


def test_words_whose_tokens_were_deleted_are_told_as_other_words(store: SummaryStore) -> None:
    fill(store.path, count_words)
    assert recount(store.path, count_words) == []
    with closing(sqlite3.connect(store.path)) as link, link:
        link.execute("DELETE FROM token WHERE token_id = 1")
    assert any("words or counts that differ" in line for line in recount(store.path, count_words))
