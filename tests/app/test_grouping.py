"""Searches fold pages with the same or nearly the same text, and name the page that represents them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.collections.pages.database.test_near import prose
from tests.collections.pages.place import Page, fill, schema
from windrow.collections.pages.adapter.search import Search
from windrow.collections.pages.adapter.search_index import index_pages
from windrow.collections.pages.database.near_duplicates import update_duplicates, update_touched
from windrow.collections.pages.database.writer import schema as made

NOW = 1_750_000_000
TEXT = f"All about zebras. {prose(1, 90)}"
PAGES = [
    Page("http://copy.example/zebras?from=1", TEXT, "Zebras"),
    Page("https://copy.example/zebras", TEXT, "Zebras"),
    Page("https://dated.example/zebras/monday", f"{TEXT} Monday the third", "Zebras"),
    Page("https://other.example/z", f"All about zebras. {prose(2, 90)}", "Other zebras"),
    Page("https://dated.example/zebras/friday", f"{TEXT} Friday the seventh", "Zebras"),
    Page("https://gone.example/z", TEXT, "Zebras", end=5_000),
    Page("https://video.example/1", "Watch the player.", "Debate on herons"),
    Page("https://video.example/2", "Watch the player.", "Debate on badgers", description="Recorded in the town hall"),
    Page("https://video.example/3", "Watch the player.", "Debate on badgers", description="Recorded in the old school"),
    Page("https://video.example/4?print=1", "Watch the player.", "Debate on herons"),
]


@pytest.fixture(scope="module")
def search(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Search]:
    folder = tmp_path_factory.mktemp("group")
    with closing(sqlite3.connect(folder / "summary.sqlite")) as link, link:
        link.executescript(schema() + made("near", "representative"))
        link.execute("CREATE TABLE windrow_touched (generation_id INTEGER PRIMARY KEY)")
        link.executemany("INSERT INTO windrow_touched VALUES (?)", [(key,) for key in fill(link, PAGES)])
        update_duplicates(link, [row[0] for row in link.execute("SELECT text_pile_id FROM text_pile")], NOW)
        update_touched(link)
    summary = folder / "summary.sqlite"
    index_pages(summary, folder / "index")
    with closing(Search(summary, folder / "index")) as opened:
        yield opened


def grouped_hits(search: Search, text: str) -> list[tuple[str, int, int, str | None]]:
    hits = [result.details for result in search(text, now=NOW).results]
    return [(hit.url, hit.more, hit.near, hit.standing) for hit in hits]


def test_one_result_for_all_that_say_the_same(search: Search) -> None:
    results = grouped_hits(search, "zebras")
    assert sorted(results) == [
        ("https://copy.example/zebras", 3, 2, None),
        ("https://other.example/z", 0, 0, None),
    ]


def test_what_was_searched_for_is_shown_where_it_stands(search: Search) -> None:
    assert grouped_hits(search, "zebras Monday third") == [
        ("https://dated.example/zebras/monday", 3, 3, "https://copy.example/zebras"),
    ]


def test_a_copy_is_found_by_the_words_of_its_own_address(search: Search) -> None:
    answer = search("4 print", now=NOW)
    assert not answer.relaxed, "it has all words"
    assert [(hit.details.url, hit.details.more) for hit in answer.results] == [("https://video.example/1", 3)]


def test_a_filter_is_kept_to(search: Search) -> None:
    assert grouped_hits(search, "zebras inurl:from") == [
        ("http://copy.example/zebras?from=1", 3, 2, "https://copy.example/zebras"),
    ]
    assert sorted(grouped_hits(search, "zebras site:dated.example")) == [
        ("https://dated.example/zebras/friday", 3, 3, "https://copy.example/zebras"),
        ("https://dated.example/zebras/monday", 3, 3, "https://copy.example/zebras"),
    ]
    assert [hit[0] for hit in grouped_hits(search, "zebras site:copy.example")] == ["https://copy.example/zebras"]


def test_the_past_is_folded_by_its_texts_alone(search: Search) -> None:
    results = search("zebras as-of:1970-01-01", now=NOW).results
    assert all(result.details.standing is None for result in results)


def test_pages_of_one_text_are_found_by_their_own_titles(search: Search) -> None:
    herons, badgers = "https://video.example/1", ["https://video.example/2", "https://video.example/3"]
    assert [hit[:2] for hit in grouped_hits(search, "herons")] == [(herons, 3)]
    assert [hit[:2] for hit in grouped_hits(search, "old school")] == [(badgers[1], 3)]
    for query in ("badgers", "badgers player", "title:badgers"):
        (hit,) = grouped_hits(search, query)
        assert hit[0] in badgers
    assert len(grouped_hits(search, "debate")) == len(grouped_hits(search, "debate as-of:1970-01-01")) == 2
