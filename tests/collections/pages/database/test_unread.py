"""Documents without text or with a reason: what they do to the texts before them, and how they are counted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.collections.pages.database.crawl_events import URLS, Event, entry, query
from windrow.collections.pages.database.entries import Sight, SummaryEntry
from windrow.collections.pages.database.page_versions import VersionReader, count_unread_documents
from windrow.collections.pages.database.store import SummaryStore
from windrow.stores.sqlite import SqliteReader


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SummaryStore]:
    with closing(SummaryStore(tmp_path / "summary.sqlite")) as opened:
        yield opened


def crawl(at: int, kind: str, reason: str = "", sight: Sight | None = None) -> SummaryEntry:
    crawled = entry(Event(URLS[0], at, kind, 2 * at))
    summary = crawled.summary and crawled.summary._replace(reason=reason, until=None)
    return SummaryEntry(crawled.crawl._replace(sight=sight or crawled.crawl.sight), summary)


def unread(store: SummaryStore, tmp_path: Path) -> dict[str, int]:
    with closing(SqliteReader(tmp_path / "summary.sqlite")) as reader:
        return count_unread_documents(reader)


def test_an_answer_in_place_of_a_text_leaves_the_text_and_is_counted_until_the_next(
    store: SummaryStore, tmp_path: Path
) -> None:
    store.settle([crawl(1, "A"), crawl(2, "file", "no_text", Sight.UNKNOWN), crawl(3, "same")], 3)
    generations = query(store, "SELECT last_seen_unix_utc, confirmed_end_unix_utc FROM entity_generation")
    assert generations == [(1, None)], "a 304 after an empty answer says that it is still empty"
    assert unread(store, tmp_path) == {"no_text": 1}
    store.settle([crawl(4, "A")], 4)
    assert unread(store, tmp_path) == {}


def test_a_document_that_was_mended_is_not_counted_any_more(store: SummaryStore, tmp_path: Path) -> None:
    store.settle([crawl(1, "A", "truncated"), crawl(2, "same")], 2)
    assert unread(store, tmp_path) == {"truncated": 1}
    store.settle([crawl(3, "A")], 3)  # the same text with another script, which is whole now
    assert unread(store, tmp_path) == {}
    store.settle([crawl(4, "file", "no_text", Sight.UNKNOWN)], 4)
    with closing(SqliteReader(tmp_path / "summary.sqlite")) as reader:
        assert VersionReader(reader).read_reasons(URLS[0]) == ({1: ""}, {8: "no_text"})
    store.settle([crawl(5, "B", "corrupt"), crawl(6, "gone")], 6)
    assert unread(store, tmp_path) == {}


def test_attempts_of_one_moment_are_apart_and_in_order(store: SummaryStore) -> None:
    texts, failure = [crawl(5, "A"), crawl(5, "B")], crawl(5, "unknown")
    entries = [
        SummaryEntry(crawled.crawl._replace(attempt=number, uuid=texts[0].crawl.uuid), crawled.summary)
        for number, crawled in enumerate((*texts, failure), start=1)
    ]
    store.settle(entries, 3)
    store.settle(entries[:2], 3)  # read again
    seen = query(store, "SELECT attempt, sight, status_code FROM windrow_observation ORDER BY at, crawl_uuid")
    assert seen == [(1, "content", 200), (2, "content", 200), (3, "unknown", 503)]
    texts_and_ends = """SELECT text, confirmed_end_unix_utc FROM entity_generation JOIN text_pile USING (text_pile_id)
        ORDER BY entity_generation_id"""
    assert query(store, texts_and_ends) == [("A", 5), ("B", None)]
