"""Searches of a Summary Database by its index."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings

from tests.collections.pages.place import Page, fill, schema
from tests.query.test_parse import TYPED
from windrow.collections.pages.adapter.search import Search
from windrow.collections.pages.adapter.search_index import index_pages
from windrow.query.tree import SourceOrigins

NOW = 1_750_000_000
DAY = 86_400
SHARED = ("https://big.example",)
PAGES = [
    Page("https://tea.example/", "Welcome. Shop. Prices.", "Tea House", indexiness=80, created=NOW - 900 * DAY),
    Page(
        "https://tea.example/green",
        "How to brew a cup of green leaves. " * 3 + "The café is open. Brewing green tea needs patience.",
        "Green tea",
        description="All about the leaf",
        language="en",
        created=NOW - 400 * DAY,
    ),
    Page("https://tea.example/black", "Tea that is black. The green of its tin is odd.", "Black tea", language="en-GB"),
    Page("https://copy.example/green", "One text on two sites, about zebras.", "Zebra one"),
    Page("https://mirror.example/green", "One text on two sites, about zebras.", "Zebra two"),
    Page("https://mirror.example/again", "One text on two sites, about zebras.", "Zebra three", duplicate=True),
    Page("https://old.example/", "The mayor is Smith.", "Mayor", first=1_000, last=2_000, end=5_000),
    Page("https://old.example/", "The mayor is Jones.", "Mayor", first=5_000, last=9_000),
    Page("https://news.example/old", "Storm report for the coast, last autumn.", "Storm", created=NOW - 800 * DAY),
    Page("https://news.example/new", "Storm report for the coast, just now.", "Storm", created=NOW - DAY),
    Page("https://links.example/", "A list.", links=(("https://hidden.example/x", "the quiet harbour"),)),
    Page("https://hidden.example/x", "Nothing here says what it is."),
    Page("https://jp.example/", "東京都の天気", "天気", language="ja"),
    *(Page(f"https://big.example/{n}", f"walrus number {n} walrus", f"Walrus {n}") for n in range(30)),
    Page("https://small.example/", "one walrus, among many other animals that live in the sea", "Animals"),
]


class SearchedDatabase:
    """A filled Summary Database, and its search."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "summary.sqlite"
        with closing(sqlite3.connect(self.path)) as link, link:
            link.executescript(schema())
            self.ids = fill(link, PAGES)
        link.close()
        self.indexed = index_pages(self.path, folder / "index")
        origins = {"gazette": ("https://news.example", "https://tea.example")}
        self.search = Search(
            self.path,
            folder / "index",
            lambda source: SourceOrigins(source, origins.get(source, ()), SHARED if source in {"odd", "even"} else ()),
            lambda url: "odd" if int(url[-1]) % 2 else "even",
        )

    def close(self) -> None:
        self.search.close()


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SearchedDatabase]:
    searched = SearchedDatabase(tmp_path_factory.mktemp("search"))
    yield searched
    searched.close()


@pytest.fixture
def search(database: SearchedDatabase) -> Search:
    return database.search


def urls(search: Search, text: str, **more: int) -> list[str]:
    return [result.url.partition("://")[2] for result in search(text, now=NOW, **more).results]


def test_a_query_with_more_matches_than_are_ranked_has_a_note(search: Search, monkeypatch: pytest.MonkeyPatch) -> None:
    assert search("walrus", now=NOW, limit=50).notes == ()
    monkeypatch.setattr("windrow.collections.pages.adapter.search.MAX_BLOCKS", 2)
    monkeypatch.setattr("windrow.collections.pages.adapter.search.BLOCK_SIZE", 5)
    assert search("walrus", now=NOW, limit=3).notes == (), "the first results are complete"
    (note,) = search("walrus", now=NOW, limit=50).notes
    assert note.startswith("the query matches at least 10 versions of pages; others are not ranked")
    assert search("mayor", now=NOW, limit=50).notes == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("green tea", ["tea.example/green", "tea.example/black"]),
        ("cafe", ["tea.example/green"]),
        ('"green tea"', ["tea.example/green"]),
        ("tea green -brewing", ["tea.example/black"]),
        ("brew* patience", ["tea.example/green"]),
        ("tea lang:en-gb", ["tea.example/black"]),
        ("tea (lang:ja OR lang:en) -black", ["tea.example/green"]),
        ("title:black", ["tea.example/black"]),
        ("inurl:black", ["tea.example/black"]),
        ("links-to:hidden.example", ["links.example/"]),
        ('link-text:"quiet harbour"', ["links.example/"]),
        ("mayor", ["old.example/"]),
        ("mayor smith as-of:1970-01-01T00:30", ["old.example/"]),
        ("mayor jones as-of:1970-01-01T00:30", []),
        ("storm after:2025-01", ["news.example/new"]),
        ("report before:2025-01", ["news.example/old"]),
        ("zebras host:mirror.", ["mirror.example/green"]),
        ("is:duplicate zebras", ["mirror.example/again"]),
        ("title:zebra url:https://mirror.example/again", ["mirror.example/again"]),
        ("site:news.example", ["news.example/new", "news.example/old"]),
        ("storm year:2025", ["news.example/new"]),
        ("storm year:2023..2024", ["news.example/old"]),
        ("storm year:2025-06..", ["news.example/new"]),
        ("storm author:smith", []),
        ("storm source:gazette", ["news.example/old", "news.example/new"]),
        ("storm source:other", []),
        ("!!! ...", []),
        ("", None),
        ("any", []),
    ],
)
def test_found(search: Search, text: str, expected: list[str] | None) -> None:
    hits = urls(search, text, limit=50)
    if expected is None:
        assert len(hits) > 30
    elif expected == [] and not search(text, now=NOW).relaxed:
        assert hits == []
    else:
        assert hits == expected or (expected == [] and search(text, now=NOW).relaxed)


def test_of_an_origin_that_sources_share_each_has_its_own_pages(search: Search) -> None:
    odd = {f"big.example/{number}" for number in range(1, 30, 2)}
    assert set(urls(search, "walrus source:odd", limit=50)) == odd
    assert set(urls(search, "source:even", limit=50)) == {f"big.example/{number}" for number in range(0, 30, 2)}
    assert set(urls(search, "walrus -source:even", limit=50)) == {*odd, "small.example/"}
    assert search("source:odd", now=NOW, facets=True).counts.documents == len(odd)


def test_in_link_text_brings_the_page(search: Search) -> None:
    answer = search("quiet harbour", now=NOW, explain=True)
    assert [result.url for result in answer.results] == ["https://hidden.example/x"]
    hit = answer.results[0].details
    assert {part.name for part in hit.parts} >= {"text", "called", "linked"}
    assert hit.score == pytest.approx(sum(part.points for part in hit.parts), abs=1e-3)


def test_a_letter_of_chinese_is_a_word(search: Search) -> None:
    answer = search("東京", now=NOW)
    assert [result.url for result in answer.results] == ["https://jp.example/"]
    assert [text for text, hit in answer.results[0].snippet if hit] == ["東京"]


def test_equal_texts_are_folded(search: Search) -> None:
    (only,) = search("zebras", now=NOW).results
    assert only.details.more == 2
    assert only.url != "https://mirror.example/again"


def test_new_pages_come_first_where_that_is_wanted(search: Search) -> None:
    assert urls(search, "latest storm report", limit=1) == ["news.example/new"]
    hit = search("storm report", now=NOW, explain=True).results[0].details
    assert {"text"} <= {part.name for part in hit.parts}
    assert "fresh" not in {part.name for part in hit.parts}


def test_the_home_of_a_site_comes_first_for_its_name(search: Search) -> None:
    assert urls(search, "tea", limit=1) == ["tea.example/"]


def test_hits_are_marked(search: Search) -> None:
    answer = search("cafe patience", now=NOW)
    assert [text for text, hit in answer.results[0].snippet if hit] == ["café", "patience"]
    assert [text for text, hit in search("tea black", now=NOW).results[0].title if hit] == ["Black", "tea"]


def test_what_was_known_then_is_told_with_its_doubt(search: Search) -> None:
    sure = search("mayor as-of:1970-01-01T00:30", now=NOW).results[0].details
    doubtful = search("mayor as-of:1970-01-01T01:00", now=NOW).results[0].details
    assert (sure.uncertain, doubtful.uncertain) == (False, True)
    assert [hit.end for hit in (sure, doubtful)] == [datetime.fromtimestamp(5_000, UTC)] * 2
    assert not search("mayor", now=NOW).results[0].details.uncertain
    hits = [result.details for result in search("tea as-of:2020", now=NOW).results]
    standing = [hit for hit in hits if hit.end is None]
    assert standing
    assert not [hit for hit in standing if hit.uncertain], "nobody found it changed or gone"


def test_one_host_does_not_push_all_others_away(search: Search) -> None:
    assert "small.example/" in urls(search, "walrus", limit=10)


def test_pages_do_not_overlap_and_leave_nothing_out(search: Search) -> None:
    whole = urls(search, "walrus", limit=100)
    pages = [search("walrus", now=NOW, offset=start, limit=7) for start in range(0, 35, 7)]
    assert [result.url.partition("://")[2] for page in pages for result in page.results] == whole
    assert len(set(whole)) == 31
    assert [page.further for page in pages] == [True, True, True, True, False]


def test_words_that_no_page_has_together_are_loosened_and_told(search: Search) -> None:
    answer = search("zebras patience unheardof", now=NOW)
    assert answer.relaxed
    assert not search("zebras", now=NOW).relaxed


@settings(max_examples=150)
@given(TYPED)
def test_every_text_can_be_searched_for(database: SearchedDatabase, text: str) -> None:
    assert database.search(text, now=NOW).offset == 0


def test_a_feed_and_a_listing_stand_below_the_page_whose_words_they_repeat(tmp_path: Path) -> None:
    words = "Of the crossing of the strait in winter, by an old ferry."
    others = "".join(f"\nOf another thing, number {n}, that was seen from the shore." for n in range(6))
    pages = [
        Page("https://a.example/blog/", words + others, "Blog", indexiness=60),
        Page("https://a.example/feed", others + words, "Blog feed", kind=("application", "rss", "xml")),
        Page(
            "https://a.example/ferry", f"{words} It took a day. " + "The sea was calm, the sky was grey. " * 9, "Notes"
        ),
    ]
    path = tmp_path / "summary.sqlite"
    with closing(sqlite3.connect(path)) as link, link:
        link.executescript(schema())
        fill(link, pages)
    link.close()
    index_pages(path, tmp_path / "index")
    with closing(Search(path, tmp_path / "index")) as search:
        for text in ("crossing strait", "ferry crossing winter"):
            results = search(text, now=NOW, explain=True).results
            assert results[0].url == "https://a.example/ferry", (text, results)
            assert {"listing"} <= {part.name for part in results[-1].details.parts}
