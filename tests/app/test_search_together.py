"""One search over several collections: one order, the same filters, and no partial hits if there are full ones."""

import json
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from windrow.adapters.search_answer import SearchAnswer, SearchResult
from windrow.app import search as together
from windrow.cli.command import Console
from windrow.cli.search import search_command
from windrow.errors import UsageError, WindrowError
from windrow.query.clause import NO_FACETS, FacetCounts
from windrow.reasons import Reason


class Hit(NamedTuple):
    url: str


def result(title, snippet="", year=2026, url="https://a.example/"):
    return SearchResult(((title, False),), url, "", ((snippet, False),), (), "page_result", Hit(url),
                        datetime(year, 1, 1, tzinfo=UTC))  # fmt: skip


def collection(*results: SearchResult, relaxed=False, frequency=None, note="", counts=NO_FACETS):
    def search(_workspace: Any, text: str, *, offset: int, limit: int, explain: bool, facets: bool) -> SearchAnswer:
        del explain
        shown = results[offset : offset + limit]
        notes = (note,) if note else ()
        return SearchAnswer(
            text, offset, shown, notes, len(results) > offset + limit, relaxed, frequency or {}, 10,
            counts=counts if facets else NO_FACETS,
        )  # fmt: skip

    return SimpleNamespace(search=search)


@pytest.fixture
def ask(monkeypatch):
    def run(makers, text="green tea", used=(), **more):
        def capable(_verb, names=None):
            return {name: maker for name, maker in makers.items() if names is None or name in names}

        monkeypatch.setattr(together, "capable", capable)
        monkeypatch.setattr(together, "harvested_collections", lambda _workspace: set(used or makers))
        return together.search(None, text, **more)

    return run


def titles(answer):
    return ["".join(piece for piece, _ in result.title) for result in answer.results]


GREEN, NEAR = result("Green tea"), result("Drinks", "there is green and there is also black tea")
FAR = result("Weather", "green fields, and much later in the same long day somebody drank some tea")


def test_results_of_several_collections_are_in_one_order_by_how_the_words_stand(ask):
    answer = ask({"one": collection(NEAR, FAR), "two": collection(GREEN)})
    assert titles(answer) == ["Green tea", "Drinks", "Weather"]
    assert (answer.query, answer.offset, len(answer.results)) == ("green tea", 0, 3)


def test_messages_of_several_collections_count_on_from_page_to_page(ask, monkeypatch, capsys):
    makers = {"one": collection(NEAR, FAR, note="of one"), "two": collection(GREEN)}
    opened = SimpleNamespace(search=lambda text, **more: ask(makers, text, offset=more["offset"], limit=more["limit"]))
    monkeypatch.setattr(Console, "open", lambda _console: opened)
    arguments = ["green", "tea", "--json", "--limit", "2", "--page", "2"]
    search_command.main(arguments, obj=Console(), standalone_mode=False)
    messages = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert messages == [
        {"type": "page_result", "rank": 3, "url": "https://a.example/"},
        {"type": "search", "query": "green tea", "offset": 2, "results": 1, "further": False, "relaxed": False,
         "notes": ["of one"], "did_you_mean": ""},
    ]  # fmt: skip


def test_each_collection_keeps_its_own_order_among_the_results_of_others(ask):
    answer = ask({"one": collection(FAR, GREEN), "two": collection(NEAR)})
    assert [title for title in titles(answer) if title != "Drinks"] == ["Weather", "Green tea"]


def test_pages_of_results_of_several_collections_never_overlap_nor_leave_one_out(ask):
    results = [result(f"Green {number}", "tea") for number in range(7)]
    two = [result(f"tea number {number}", "is green") for number in range(5)]
    makers = {"one": collection(*results), "two": collection(*two)}
    whole = titles(ask(makers, limit=12))
    assert sorted(whole) == sorted("".join(text for text, _ in found_result.title) for found_result in (*results, *two))
    cut = [title for start in range(0, 12, 3) for title in titles(ask(makers, offset=start, limit=3))]
    assert cut == whole
    assert ask(makers, offset=9, limit=3).further is False
    assert ask(makers, offset=6, limit=3).further is True


def test_results_with_some_words_are_left_out_where_another_collection_has_all(ask):
    makers = {"one": collection(NEAR, relaxed=True), "two": collection(FAR)}
    assert titles(ask(makers)) == ["Weather"]
    assert ask(makers).relaxed is False
    both = ask({"one": collection(NEAR, relaxed=True), "two": collection(FAR, relaxed=True)})
    assert (titles(both), both.relaxed) == (["Drinks", "Weather"], True)


def test_a_search_by_filters_alone_lists_the_newest_of_all_collections_first(ask):
    makers = {
        "one": collection(result("a", year=2026), result("b", year=2020)),
        "two": collection(result("c", year=2023)),
    }
    assert titles(ask(makers, "site:a.example")) == ["a", "c", "b"]


def test_a_rare_word_counts_more_over_all_collections_together(ask):
    rare = {"green": 9, "tea": 1}
    makers = {
        "one": collection(result("Green"), frequency=rare), "two": collection(result("Tea"), frequency=rare),
    }  # fmt: skip
    assert titles(ask(makers)) == ["Tea", "Green"]


def test_what_the_order_of_several_collections_is_made_of_is_told(ask):
    answer = ask({"one": collection(GREEN), "two": collection(NEAR)}, explain=True)
    assert "among collections" in answer.results[0].remarks[-1]
    assert "title 1.00 x 0.7" in answer.results[0].remarks[-1]


def test_only_the_collections_named_are_searched_and_an_unknown_one_is_refused(ask):
    makers = {"one": collection(GREEN, note="of one"), "two": collection(NEAR)}
    assert titles(ask(makers, collections=["two"])) == ["Drinks"]
    assert ask(makers).notes == ("of one",)
    with pytest.raises(UsageError, match="three"):
        ask(makers, collections=["three"])


def test_a_collection_that_cannot_be_searched_yet_hides_no_other(ask):
    def fail(*_: Any, **__: Any) -> SearchAnswer:
        raise WindrowError("nothing yet")

    def find_nothing(*_: Any, **__: Any) -> SearchAnswer:
        raise WindrowError("no records yet", reason=Reason.NOT_FOUND)

    broken = SimpleNamespace(search=fail)
    answer = ask({"one": broken, "two": collection(GREEN)})
    assert titles(answer) == ["Green tea"]
    assert answer.notes == ("one is not searched: nothing yet",)
    empty = SimpleNamespace(search=find_nothing)
    assert ask({"one": empty, "two": collection(GREEN)}).notes == (), "it has no records that could be missed"
    with pytest.raises(WindrowError, match="nothing yet"):
        ask({"one": broken, "two": broken})


def test_a_collection_that_cannot_be_counted_hides_no_counts_of_others(ask):
    def fail(*_: Any, **__: Any) -> SearchAnswer:
        raise WindrowError("the store is broken")

    counted = collection(GREEN, counts=FacetCounts(3, {"year": {"2026": 3}}))
    counts = ask({"one": SimpleNamespace(search=fail), "two": counted}, facets=True).counts
    assert (counts.documents, counts.relaxed) == (3, False)
    assert (counts.facets["collection"], counts.facets["year"]) == ({"two": 3}, {"2026": 3})
    assert ask({"two": counted}).counts == NO_FACETS, "they were not asked for"


def test_counts_leave_out_a_collection_that_has_only_some_of_the_words(ask):
    some, all_words = (FacetCounts(9, {"year": {"2025": 9}}, relaxed=True), FacetCounts(1, {"year": {"2026": 1}}))
    makers = {"one": collection(GREEN, counts=some), "two": collection(GREEN, counts=all_words)}
    assert ask(makers, facets=True).counts.facets["collection"] == {"two": 1}


def test_only_collections_that_have_sources_are_searched_and_missed(ask):
    def search(*_args, **_more):
        raise WindrowError("there are no records of events yet")

    makers = {"events": SimpleNamespace(search=search)}
    with pytest.raises(UsageError, match="drops cannot be searched"):
        ask(makers, used=["drops"])
    with pytest.raises(WindrowError, match="no records of events"):
        ask(makers, used=["drops", "events"])
