"""Pages found by words and filters in a Summary Database: those of the index, and those of the database alone."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import given, settings

from tests.collections.pages.place import Page, fill, schema
from tests.query.test_parse import TYPED
from windrow.collections.pages.adapter.search import Search
from windrow.collections.pages.search.index_query import at_query_time, make_clause, unindexed_filters
from windrow.query import parse

JUNE, JULY = 1717200000, 1719792000  # 2024
PAGES = [
    Page("https://a.example/one", "red green any", "First Page", language="de-AT", created=JUNE, indexiness=5),
    Page("https://b.a.example/two?x=1", "red blue", 'Say "any"', code="red()", kind=("application", "pdf", None)),
    Page("http://other.example/", "green tea and Café", headline="Big Day", quote="to be", updated=JULY),
    Page("https://a.example/gone", "red old", end=3_000),
    Page(
        "https://a.example/links", "x", links=(("https://other.example/", "Tea House"), ("https://a.example/one", None))
    ),
    Page("https://copy.example/", "another copy", duplicate=True),
]


@pytest.fixture(scope="module")
def search(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Search]:
    folder = tmp_path_factory.mktemp("found")
    with closing(sqlite3.connect(folder / "summary.sqlite")) as link, link:
        link.executescript(schema())
        fill(link, PAGES)
    link.close()
    with closing(Search(folder / "summary.sqlite", folder / "index")) as opened:
        yield opened


def find_ids(search: Search, text: str, share: float = 1.0) -> list[int]:
    query = at_query_time(parse(text))
    among = {leaf: search._find_matches(leaf) for leaf in unindexed_filters(query)}
    return sorted(hit.id for hit in search._index.search(make_clause(query, among, share=share), 50))


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("red", [1, 2]),
        ("any", [1, 2]),
        ("cafe", [3]),
        ("red green", [1]),
        ("blue OR tea", [2, 3]),
        ('-"red"', [3, 5]),
        ('green -"red"', [3]),
        ("red -blue", [1]),
        ('blue OR -"red"', [2, 3, 5]),
        ('"green tea"', [3]),
        ('"tea green"', []),
        ("gre*", [1, 3]),
        ("red (green OR site:b.a.example)", [1, 2]),
        ("tea OR lang:de", [1, 3]),
        ("-(tea OR lang:de)", [2, 5]),
        ("site:a.example", [1, 2, 5]),
        ("host:a.example", [1, 5]),
        ("host:.a.example", [2]),
        ("host:other.", [3]),
        ("-site:a.example", [3, 6]),
        ("url:a.example/one", [1]),
        ("url:http://other.example", [3]),
        ("inurl:TWO", [2]),
        ("title:first", [1]),
        ('title:"page first"', []),
        ("headline:big", [3]),
        ("lang:de", [1]),
        ("-lang:de", [2, 3, 5]),
        ("type:pdf", [2]),
        ("type:text/*", [1, 3, 5]),
        ("type:html red", [1]),
        ("after:2024-06 lang:de", [1]),
        ("after:2024-06", [1]),
        ("before:2024-06", [2, 3, 5]),
        ("updated-after:2024-07", [3]),
        ("links-to:other.example", [5]),
        ("links-to:https://other.example/", [5]),
        ("links-to:a.example", [5]),
        ("link-text:tea", [5]),
        ("code:red", [2]),
        ("quote:be", [3]),
        ("is:duplicate", [6]),
        ("copy", []),
        ("copy site:copy.example", [6]),
        ("is:index", [1]),
        ("red seen:1970", [1, 2, 4]),
        ("red as-of:1970-01-01T00:30", [1, 2, 4]),
        ("red as-of:1970-01-01", [1, 2]),
        ("+++", [1, 2, 3, 5]),
    ],
)
def test_found(search: Search, text: str, ids: list[int]) -> None:
    assert find_ids(search, text) == ids


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("red missing", [1, 2]),
        ("red (missing OR absent)", [1, 2]),
        ("red (missing OR site:b.a.example)", [2]),
        ('red (missing OR -"green")', [2]),
        ("red missing site:b.a.example", [2]),
    ],
)
def test_some_words_are_enough_but_every_filter_is_required(search: Search, text: str, ids: list[int]) -> None:
    assert find_ids(search, text, share=0.3) == ids


@settings(max_examples=300)
@given(TYPED)
def test_no_text_is_an_error(search: Search, text: str) -> None:
    assert all(1 <= page <= len(PAGES) for page in find_ids(search, text))
