"""A Summary Database of an earlier version is brought up to date where it lies."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.collections.pages.database.chronicle import URLS, Event, ask, pay, rows, tables, tell
from windrow.collections.pages.database.store import SummaryStore

EARLIER = Path(__file__).with_name("earlier.sql")
"""Made by version 0.1.0 from `EVENTS`, before it told versions apart by their descriptions; without its full text."""

EVENTS = [
    Event(URLS[0], 10, "A", 1),
    Event(URLS[1], 11, "B", 2),
    Event(URLS[2], 12, "A", 3),
    Event(URLS[3], 13, "file", 4),
    Event(URLS[0], 20, "A", 5),
    Event(URLS[0], 30, "A", 6),  # another title
    Event(URLS[0], 40, "same", 7),
    Event(URLS[1], 21, "gone", 8),
    Event(URLS[1], 31, "B", 10),  # back, as it was
    Event(URLS[2], 22, "missing", 11),
    Event(URLS[2], 32, "missing", 13),
    Event(URLS[2], 42, "A", 15),
    Event(URLS[2], 52, "same", 16),
    Event(URLS[3], 23, "move", 17),
    Event(URLS[3], 33, "file", 18),
    Event(URLS[0], 50, "A", 19),  # the first title again
]


def restored(folder: Path) -> SummaryStore:
    path = folder / "summary.sqlite"
    with closing(sqlite3.connect(path)) as link:
        link.executescript(EARLIER.read_text(encoding="utf-8"))
    return SummaryStore(f"sqlite:///{path}")


def fresh(events: list[Event]) -> dict[str, object]:
    store = SummaryStore("sqlite://")
    tell(store, events, 3)
    pay(store, events)
    store.finish(1_000)
    made = comparable(store)
    store.close()
    return made


def comparable(store: SummaryStore) -> dict[str, object]:
    """Return what the tables say, but of past versions only what was on record before: times and titles, no links."""
    found = tables(store)
    return found | {"versions": [row[:5] for row in found["versions"]], "past links": []}


def test_a_summary_database_made_before_says_what_a_fresh_one_would(tmp_path: Path) -> None:
    store = restored(tmp_path)
    pay(store, EVENTS)
    store.finish(1_000)
    assert comparable(store) == fresh(EVENTS)
    spans = ask(store, "SELECT first_seen_unix_utc, confirmed_end_unix_utc FROM entity_generation"
                " JOIN url USING (url_id) WHERE str_url = 'http://a.example/2' ORDER BY 1")  # fmt: skip
    assert spans == [(11, 21), (31, None)], "it was gone in between"
    store.close()


def test_what_comes_after_an_upgrade_goes_on_as_if_it_had_always_been_so(tmp_path: Path) -> None:
    later = [Event(URLS[0], 60, "A", 21), Event(URLS[1], 61, "B", 23), Event(URLS[2], 62, "gone", 24)]
    store = restored(tmp_path)
    tell(store, later, 2)
    pay(store, [*EVENTS, *later])
    store.finish(1_000)
    assert comparable(store) == fresh([*EVENTS, *later])
    store.close()


def test_opening_an_upgraded_database_again_changes_nothing(tmp_path: Path) -> None:
    store = restored(tmp_path)
    pay(store, EVENTS)
    before = rows(store)
    store.close()
    again = SummaryStore(f"sqlite:///{tmp_path / 'summary.sqlite'}")
    assert rows(again) == before
    again.close()


def test_links_made_before_get_the_key_of_the_standard_and_stay_as_they_are(tmp_path: Path) -> None:
    with closing(sqlite3.connect(":memory:")) as link:
        link.executescript(EARLIER.read_text(encoding="utf-8"))
        before = link.execute("SELECT * FROM link_summary ORDER BY link_summary_id").fetchall()
    store = restored(tmp_path)
    assert ask(store, "SELECT * FROM link_summary ORDER BY link_summary_id") == before
    shape = "SELECT type, name, tbl_name FROM sqlite_master WHERE tbl_name LIKE '%link%' ORDER BY name"
    key = "SELECT name FROM pragma_table_info('link_summary') WHERE pk > 0 ORDER BY pk"
    fresh_ = SummaryStore("sqlite://")
    assert ask(store, shape) == ask(fresh_, shape)
    assert ask(store, key) == ask(fresh_, key) == [("link_summary_id",), ("entity_generation_id",)]
    plan = ask(store, "EXPLAIN QUERY PLAN SELECT text FROM link_summary WHERE entity_generation_id = 1")
    assert "windrow_link_by_generation" in plan[0][3], "the links of a page are found without reading all"
    fresh_.close()
    store.close()
