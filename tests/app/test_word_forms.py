"""Searches that also find other forms of a word, by the page's language; and the numbers of results by facet."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.app.test_search import NOW
from tests.collections.pages.place import Page, fill, schema
from windrow.collections.pages.adapter.search import Search
from windrow.collections.pages.adapter.search_index import index_pages

YEAR_2025, YEAR_2024 = 1_740_000_000, 1_710_000_000
PAGES = [
    Page("https://a.example/plural", "harbours harbours harbours", "Harbours", language="en", created=YEAR_2025),
    Page("https://a.example/one", "A long text about many things, and one harbour.", "Things", language="en-GB",
         created=YEAR_2024),
    Page("https://a.example/unknown", "Two harbours of the coast", "Coast", created=YEAR_2024),
    Page("https://a.example/de", "Die Universitäten", "Hochschulen", language="de", created=YEAR_2024),
    Page("https://b.example/en", "The Universitäten of Germany", "Germany", language="en", created=YEAR_2025),
    Page("http://A.example/as another tool wrote it", "yachts", "Yachts"),
    Page("https://b.example/phrase", "green harbours", "Green", language="en", created=YEAR_2025, kind=("application", "pdf", None)),
]  # fmt: skip


@pytest.fixture(scope="module")
def search(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Search]:
    folder = tmp_path_factory.mktemp("forms")
    with closing(sqlite3.connect(folder / "summary.sqlite")) as link, link:
        link.executescript(schema())
        fill(link, PAGES)
    index_pages(folder / "summary.sqlite", folder / "index")
    opened = Search(folder / "summary.sqlite", folder / "index")
    yield opened
    opened.close()


def urls(search: Search, text: str, **more: int) -> list[str]:
    return [result.url.rpartition("/")[2] for result in search(text, now=NOW, **more).results]


def test_a_word_as_typed_is_first_and_its_other_forms_follow(search: Search) -> None:
    assert urls(search, "harbour")[0] == "one"
    assert set(urls(search, "harbour")) == {"one", "plural", "unknown", "phrase"}
    assert urls(search, "harbour things") == ["one"]
    assert not search("harbour coast", now=NOW).relaxed


def test_pages_of_results_follow_each_other_without_gap(search: Search) -> None:
    whole = urls(search, "harbour")
    assert [urls(search, "harbour", offset=number, limit=1) for number in range(5)] == [*([url] for url in whole), []]


def test_a_form_is_found_in_the_language_of_its_page(search: Search) -> None:
    assert urls(search, "universität") == ["de"]


def test_phrases_prefixes_and_excluded_words_have_no_other_forms(search: Search) -> None:
    assert urls(search, '"green harbour"') == []
    assert urls(search, '"harbour"') == ["one"]
    assert "one" in urls(search, "things -harbours")
    assert urls(search, "coast -harbour") == ["unknown"]


def test_forms_are_marked_in_snippets(search: Search) -> None:
    (found,) = search("universität", now=NOW).results
    assert [piece.text for piece in found.snippet if piece.hit] == ["Universitäten"]


def test_results_are_counted_by_facet(search: Search) -> None:
    counts = search("harbour", now=NOW, facets=True).counts
    assert (counts.documents, counts.relaxed) == (4, False)
    assert counts.facets == {
        "source": {"https://a.example": 3, "https://b.example": 1},
        "language": {"en": 3, "und": 1},
        "type": {"html": 3, "pdf": 1},
        "year": {"2024": 2, "2025": 2},
    }
    assert search("green walrus", now=NOW, facets=True).counts.relaxed
    assert search("walrus", now=NOW, facets=True).counts.documents == 0
    assert search("yachts", now=NOW, facets=True).counts.facets["source"] == {"http://A.example": 1}
    assert search("lang:und", now=NOW, facets=True).counts.facets["language"] == {"und": 2}
