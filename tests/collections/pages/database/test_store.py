"""The Summary Database depends only on the events, not on their order and batches."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.collections.pages.database.crawl_events import (
    TEXTS,
    URLS,
    Event,
    digest,
    is_content,
    query,
    read_owed,
    rows,
    settle_events,
    tables,
    title,
    uuid,
)
from windrow.collections.pages.database.entries import CrawlObservation, Sight, fold_observations
from windrow.collections.pages.database.store import SCHEMA_KEY, SummaryStore
from windrow.errors import StoreError

WHAT = st.sampled_from([*TEXTS, *TEXTS, "file", "move", "same", "missing", "gone", "unknown"])
EVENTS = st.lists(st.tuples(st.sampled_from(URLS), st.integers(0, 9), WHAT), max_size=14).map(
    lambda entries: [Event(*entry, number) for number, entry in enumerate(entries, 1)]
)


@contextmanager
def open_store() -> Iterator[SummaryStore]:
    store = SummaryStore(Path(":memory:"))
    try:
        yield store
    finally:
        store.close()


def write_events(events: list[Event], size: int = 100) -> dict[str, Any]:
    """Write events to a new store, and return its tables."""
    with open_store() as store:
        settle_events(store, events, size)
        read_owed(store, events)
        store.finish(1_000)
        assert_invariants(store)
        return tables(store)


def assert_invariants(store: SummaryStore) -> None:
    """Assert the invariants of the specification, section 9."""
    assert query(store, "SELECT url_id FROM entity_generation WHERE confirmed_end_unix_utc IS NULL"
               " GROUP BY url_id, url_fragment HAVING count(*) > 1") == []  # fmt: skip
    assert query(store, "SELECT 1 FROM entity_generation WHERE confirmed_end_unix_utc < last_seen_unix_utc") == []
    overlap = (
        "SELECT 1 FROM entity_generation a JOIN entity_generation b ON a.url_id = b.url_id"
        " AND a.entity_generation_id < b.entity_generation_id WHERE a.first_seen_unix_utc <"
        " coalesce(b.confirmed_end_unix_utc, 1e9) AND b.first_seen_unix_utc < coalesce(a.confirmed_end_unix_utc, 1e9)"
    )
    assert query(store, overlap) == []
    marked = query(store, "SELECT entity_generation_id FROM entity_generation WHERE marked_duplicate ORDER BY 1")
    claimed = query(store, "SELECT subject_entity_generation_id, duplicate_of_entity_generation_id FROM duplicate_summary"
                  " WHERE duplicate_status_end_unix_utc IS NULL ORDER BY 1")  # fmt: skip
    assert marked == [row[:1] for row in claimed]
    assert not {row[0] for row in claimed} & {row[1] for row in claimed}, "no chains"
    assert query(store, "SELECT 1 FROM crawl_summary JOIN entity_generation USING (entity_generation_id)"
               " GROUP BY crawl_uuid, url_id HAVING count(*) > 1") == []  # fmt: skip
    assert query(store, "PRAGMA foreign_key_check") == []


def expected(events: list[Event]) -> list[tuple[Any, ...]]:
    """Fold the events by hand: address, times, text, latest title, link, and the crawls of each generation."""
    generations = []
    for url in URLS:
        mine = [event for event in events if event.url == url]
        seen = []
        for event in mine:
            sight = Sight.CONTENT if is_content(event) else Sight(event.kind)
            identity = {"file": b"f" * 32, "move": b"m" * 32}.get(event.kind) or digest(event.kind)
            there = identity if is_content(event) else b""
            seen.append(CrawlObservation(event.at, uuid(event), sight, there, has_body=event.kind != "move"))
        by_crawl = {uuid(crawled): crawled for crawled in mine}
        for generation in fold_observations(seen):
            last = by_crawl[generation.describing_crawl]
            text = last.kind if last.kind in TEXTS else None
            called = title(last) if text else None
            link = [f"{called}11"] if text else []
            span = (generation.first_seen, generation.last_seen, generation.confirmed_end)
            generations.append((url, *span, text, called, link, {crawl.hex().upper() for crawl in generation.crawls}))
    return sorted(generations, key=repr)


@settings(max_examples=150)
@given(EVENTS)
def test_generations_are_those_of_the_fold_described_by_their_last_confirming_crawl(events):
    files = write_events(events)["generations"]
    descriptions = [(*row[:4], row[5], row[6], row[10], {file_row[:32] for file_row in row[11]}) for row in files]
    assert sorted(descriptions, key=repr) == expected(events)


@settings(max_examples=150)
@given(EVENTS, st.randoms(use_true_random=False), st.integers(1, 5))
def test_order_and_batches_make_no_difference(events, random, size):
    shuffled = random.sample(events, len(events))
    assert write_events(shuffled, size) == write_events(events)


def test_past_links_of_a_page_are_the_same_in_whatever_order_its_crawls_are_told():
    events = [
        Event(URLS[0], *entry, number) for number, entry in enumerate([(1, "A"), (0, "A"), (0, "A"), (0, "B")], 1)
    ]
    for shuffled in permutations(events):
        assert write_events([*shuffled], 1) == write_events(events)


def test_a_304_that_was_first_says_nothing_more_once_the_page_itself_is_known():
    named = ((0, "A", 1), (0, "move", 2), (1, "A", 4), (1, "same", 5))  # odd and even ones have other titles
    events = [Event(URLS[0], *entry) for entry in named]
    late = [events[0], events[1], events[3], events[2]]
    assert write_events(late, 1) == write_events(events)


@settings(max_examples=60)
@given(EVENTS, st.integers(0, 14))
def test_in_two_halves_is_as_once(events, half):
    with open_store() as store:
        for part in (events[:half], events[half:]):
            settle_events(store, part, 3)
            read_owed(store, events)
            store.finish(1_000)
            assert_invariants(store)
        assert tables(store) == write_events(events)


@settings(max_examples=60)
@given(EVENTS)
def test_telling_everything_again_changes_no_row(events):
    with open_store() as store:
        for _ in range(2):
            settle_events(store, events, 4)
            read_owed(store, events)
            store.finish(1_000)
        before = rows(store)
        settle_events(store, events[::-1], 3)
        read_owed(store, events)
        store.finish(2_000)
        assert rows(store) == before


@pytest.mark.parametrize(
    ("urls", "copies"),
    [
        (URLS[:2], [(URLS[1], URLS[0])]),
        ((URLS[0], URLS[2]), []),
        ((URLS[0], URLS[3]), []),
        (("http://a.example/1", "http://a.example/2", "http://a.example/0"),
         [("http://a.example/1", "http://a.example/0"), ("http://a.example/2", "http://a.example/0")]),
    ],
)  # fmt: skip
def test_copies_are_those_of_one_origin_and_repeat_the_first_address(urls, copies):
    events = [Event(url, 5, "A", number) for number, url in enumerate(urls, 1)]
    assert write_events(events)["duplicates"] == copies


def test_a_copy_begins_and_ends_when_that_is_found_out():
    first, second = Event(URLS[0], 5, "A", 1), Event(URLS[1], 6, "A", 2)
    with open_store() as store:
        settle_events(store, [first, second])
        store.finish(100)
        settle_events(store, [Event(URLS[1], 200, "B", 3)])
        store.finish(300)
        settle_events(store, [Event(URLS[1], 400, "A", 4)])
        store.finish(500)
        stored = query(
            store, "SELECT duplicate_status_start_unix_utc, duplicate_status_end_unix_utc FROM duplicate_summary"
        )
        assert stored == [(100, 300), (500, None)]
        assert_invariants(store)


def test_a_to_b_to_a_at_one_address_is_no_copy():
    events = [Event(URLS[0], at, text, at) for at, text in ((1, "A"), (2, "B"), (3, "A"))]
    entries = write_events(events)
    assert [row[1:4] for row in entries["generations"]] == [(1, 1, 2), (2, 2, 3), (3, 3, None)]
    assert entries["duplicates"] == []


def test_a_page_that_says_after_a_redirect_that_it_did_not_change_is_told_as_before():
    events = [Event(URLS[0], at, event_kind, at) for at, event_kind in ((1, "A"), (2, "move"), (3, "same"))]
    looks = write_events(events)["generations"]
    assert [row[1:4] for row in looks] == [(1, 1, 2), (2, 2, 3), (3, 3, None)]
    assert [row[5:9] for row in looks] == [("A", "A 1", 6, "text"), (None,) * 4, ("A", "A 1", 6, "text")]
    assert looks[0][10] == looks[2][10] != []


@pytest.mark.parametrize("layout", ["3", "5", None])
def test_tables_of_another_layout_are_refused_and_left_alone(tmp_path: Path, layout: str | None) -> None:
    path = tmp_path / "summary.sqlite"
    SummaryStore(path).close()
    with closing(sqlite3.connect(tmp_path / "summary.sqlite")) as link, link:
        link.execute("UPDATE unobtanium_database_info SET value = ? WHERE key = ?", (layout or "", SCHEMA_KEY))
        if layout is None:
            link.execute("DELETE FROM unobtanium_database_info WHERE key = ?", (SCHEMA_KEY,))
    with pytest.raises(StoreError, match="was made by another version of windrow") as refused:
        SummaryStore(path)
    assert "windrow run --from summarise" in (refused.value.hint or "")
