"""Suspected soft 404s in the Summary Database: kept up to date, found in older databases, and removed with their pages."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from hashlib import blake2b
from pathlib import Path

from windrow.collections.pages.code import Mime
from windrow.collections.pages.database.entries import CrawlEntry, Sight, SummaryEntry, TextSummary
from windrow.collections.pages.database.forget import forget_versions
from windrow.collections.pages.database.search_view import DAYS_KEPT, SummaryReader
from windrow.collections.pages.database.soft_404s import count_suspects, find_doubtful
from windrow.collections.pages.database.store import SummaryStore

NOW = 1_750_000_000
SHELL = "Welcome to the town."
NAMES = ("harbour", "boats", "fish")


def crawl(number: int, name: str, text: str, canonical: str = "") -> SummaryEntry:
    """Return a crawl of the page with this name: its text and canonical address."""
    uuid = blake2b(repr(number).encode(), digest_size=16).digest()
    entry = CrawlEntry(
        number, f"https://a.example/{name}", NOW + number, uuid, Sight.CONTENT, b"agent-of-16-byte", 0, True, 20, 7,
        200, None, f"sha256:{blake2b(f'{name} {number}'.encode()).hexdigest()}",
    )  # fmt: skip
    described = (None, None, "en", "Town", None, None, -1)
    identity, pile = blake2b(text.encode()).digest(), (text, "", "", "", "", "")
    mime = Mime("text", "html")
    return SummaryEntry(entry, TextSummary(identity, "", pile, described, (), True, 5, mime, canonical))


def written(store: SummaryStore, *entries: SummaryEntry) -> SummaryStore:
    store.settle(entries, entries[-1].crawl.attempt)
    store.finish(NOW)
    return store


def suspects(path: Path) -> list[tuple[int, str]]:
    """Return the number of suspected pages of each origin, and the first of them."""
    with closing(sqlite3.connect(path)) as connection:
        return [(count.pages, count.example) for count in count_suspects(connection)]


def test_suspects_change_with_the_pages(tmp_path: Path) -> None:
    path = tmp_path / "summary.sqlite"
    with closing(SummaryStore(path)) as store:
        written(store, crawl(1, "harbour", SHELL), crawl(2, "boats", SHELL))
        assert suspects(path) == [], "two pages with the same text may be the same page"
        written(store, crawl(3, "fish", SHELL), crawl(4, "canonical", SHELL, "https://a.example/"))
        assert suspects(path) == [(3, "https://a.example/boats")], "a page that names its address is not suspected"
        written(store, crawl(5, "harbour", "All about the harbour."))
        assert suspects(path) == []


def test_suspects_of_a_database_of_an_earlier_windrow_are_found_by_the_next_run(tmp_path: Path) -> None:
    path = tmp_path / "summary.sqlite"
    with closing(SummaryStore(path)) as store:
        written(store, *(crawl(number, name, SHELL) for number, name in enumerate(NAMES, 1)))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TABLE windrow_soft_404")
    assert suspects(path) == []
    with closing(SummaryStore(path)) as store:
        store.finish(NOW)
    assert suspects(path) == [(3, "https://a.example/boats")]


def test_a_page_that_is_taken_down_is_no_suspect_any_more(tmp_path: Path) -> None:
    path = tmp_path / "summary.sqlite"
    with closing(SummaryStore(path)) as store:
        written(store, *(crawl(number, name, SHELL) for number, name in enumerate((*NAMES, "nets"), 1)))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        forget_versions(connection, urls=["https://a.example/boats"])
        assert connection.execute("SELECT count(*) FROM windrow_soft_404").fetchone() == (3,)
    with closing(SummaryStore(path)) as store:
        store.finish(NOW)
    assert suspects(path) == [(3, "https://a.example/fish")]


def found(path: Path) -> list[tuple[str, bool]]:
    """Return the name of each version that is present, for searches, and whether it is suspected."""
    with closing(SummaryReader(path)) as reader:
        versions = reader.read_versions([version.id for version in reader.read_findable() if version.end is None])
    return [(version.text, version.is_suspect) for version in versions]


def test_texts_that_one_text_replaces_are_still_found_for_some_days_and_requested_again(tmp_path: Path) -> None:
    path = tmp_path / "summary.sqlite"
    texts = ["the boats", "the nets", "the fish"]
    with closing(SummaryStore(path)) as store:
        written(store, *(crawl(number, f"n/{number}", text) for number, text in enumerate(texts, 1)))
        written(store, *(crawl(number + 10, f"n/{number}", SHELL) for number in (1, 2)))
        assert sorted(found(path)) == [(SHELL, False), (SHELL, False), ("the fish", False)], "two are no evidence"
        written(store, crawl(13, "n/3", SHELL))
        assert suspects(path) == [(3, "https://a.example/n/1")]
        assert sorted(found(path)) == [*[(SHELL, True)] * 3, *((text, False) for text in sorted(texts))]
        with closing(sqlite3.connect(path)) as connection:
            assert find_doubtful(connection) == {number: NOW + number + 3_600 for number in (11, 12, 13)}
        written(store, crawl(DAYS_KEPT * 86_400 + 13, "n/3", SHELL))
        assert sorted(found(path)) == [*[(SHELL, True)] * 3, ("the boats", False), ("the nets", False)]


def test_texts_stay_found_behind_notices_that_change_each_day(tmp_path: Path) -> None:
    path = tmp_path / "summary.sqlite"
    texts = ["the boats", "the nets", "the fish"]
    with closing(SummaryStore(path)) as store:
        written(store, *(crawl(number, f"n/{number}", text) for number, text in enumerate(texts, 1)))
        for day in range(1, 4):
            notice = f"Closed until day {day}."
            written(store, *(crawl(day * 86_400 + number, f"n/{number}", notice) for number in (1, 2, 3)))
            assert suspects(path) == [(3, "https://a.example/n/1")]
            assert sorted(found(path)) == [*[(notice, True)] * 3, *((text, False) for text in sorted(texts))]
        with closing(sqlite3.connect(path)) as connection:
            assert len(find_doubtful(connection)) == 3
        written(store, *(crawl(DAYS_KEPT * 86_400 + number, f"n/{number}", "Closed.") for number in (1, 2, 3)))
        assert sorted(found(path))[:3] == [("Closed.", True)] * 3
        written(store, *(crawl((DAYS_KEPT + 2) * 86_400 + number, f"n/{number}", "Gone.") for number in (1, 2, 3)))
        assert sorted(found(path)) == [("Gone.", False)] * 3, "after some days the notice is what the site says"
