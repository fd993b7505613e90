"""`windrow search`: queries, output, and messages if there is nothing to search yet."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import programs
from tests.app.test_search import PAGES
from tests.cli.test_start import HEAVY, loaded
from tests.collections.pages.place import fill, schema
from tests.unwritable import unwritable
from windrow.app import Windrow
from windrow.app.begin import prepare
from windrow.cli.search import search_command
from windrow.collections.pages.adapter import search
from windrow.collections.pages.adapter.search import TEMPORARY_INDEX_NOTE
from windrow.collections.pages.adapter.search_index import find_index_faults, index_pages
from windrow.ledger import Ledger


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("pages")
    prepare(root)
    Windrow(root).new_source("tea", "https://tea.example/", collection="pages")
    with closing(sqlite3.connect(root / "summary.sqlite")) as link, link:
        link.executescript(schema())
        fill(link, PAGES)
    link.close()
    summary = root / "summary.sqlite"
    index_pages(summary, root / "index")
    return root


@pytest.fixture
def root(filled: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(filled)
    return filled


def test_a_result_has_title_address_date_and_snippet(root: Path, windrow) -> None:
    output = windrow("search", "green", "tea", "-black")
    assert output.code == 0
    first, second, third = output.out.splitlines()[:3]
    assert first == "  1. Green tea"
    assert second == "     https://tea.example/green  (published 2024-05-11 en)"
    assert "Brewing green tea" in third
    assert "\x1b" not in output.out
    assert output.err.splitlines()[-1] == "1 to 1, and that is all"


def test_hits_are_bold_for_a_person(root: Path, windrow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert "\x1b[1mzebras\x1b[0m" in windrow("search", "zebras").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in windrow("search", "zebras").out


def test_pages_follow_each_other(root: Path, windrow) -> None:
    first = windrow("search", "walrus", "--limit", "20")
    assert first.err.endswith("1 to 20, and there are more; next page: --page 2\n")
    second = windrow("search", "walrus", "--limit", "20", "--page", "2", "--json")
    assert [hit["rank"] for hit in second.of("page_result")] == list(range(21, 32))
    assert second.of("search") == [
        {"type": "search", "query": "walrus", "offset": 20, "results": 11, "further": False, "relaxed": False}
        | {"notes": [], "did_you_mean": ""}
    ]
    assert windrow("search", "walrus", "--page", "9").err.endswith("no more results\n")


def test_json_tells_marks_times_and_parts(root: Path, windrow) -> None:
    (hit,) = windrow("search", "cafe patience", "--json", "--explain").of("page_result")
    shown = [hit["snippet"][mark["start"] : mark["end"]] for mark in hit["marks"]]
    assert shown == ["café", "patience"]
    assert hit["published"] == "2024-05-11T15:06:40Z"
    assert hit["end"] is None
    assert {part["name"] for part in hit["parts"]} >= {"text"}
    assert windrow("search", "cafe", "--json").of("page_result")[0]["parts"] == []
    assert "score " in windrow("search", "cafe", "--explain").out


def test_folded_copies_and_doubt_are_told(root: Path, windrow) -> None:
    assert "     and 2 more addresses with the same text" in windrow("search", "zebras").out
    then = windrow("search", "mayor as-of:1970-01-01T01:00").out
    assert "The mayor is Smith." in then
    assert "uncertain: " in then
    assert ", until 1970-01-01)" in then


def test_words_may_begin_with_a_dash(root: Path, windrow) -> None:
    assert windrow("search", "tea", "-black").out == windrow("search", "tea -black").out
    assert windrow("search", "tea", "-workspace").code == 0
    assert windrow("search", "-tea").out == windrow("search", "--", "-tea").out
    assert windrow("search", "--", "--json").code == 0
    assert windrow("search", "--zebras are not").code == 0
    mistyped = windrow("search", "zebras", "--jsno")
    assert mistyped.code == 2
    assert "Did you mean '--json'?" in mistyped.err


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(st.text(max_size=12), min_size=1, max_size=4))
def test_any_words_are_a_query(root: Path, words: list[str]) -> None:
    context = search_command.make_context("search", ["--", *words])
    answer = search.search(_config(root), " ".join(context.params["words"]))
    assert [hit.details.url for hit in answer.results] == [hit.url for hit in answer.results]


def _config(root: Path):
    return Windrow(root).config


def test_a_terminal_is_safe_from_what_pages_say(tmp_path: Path, windrow, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(tmp_path)
    page = PAGES[1].__class__("https://bad.example/\x1b[2J", "red \x1b[31m herring\r\nhere", "Title \x07\u202e")
    with closing(sqlite3.connect(tmp_path / "summary.sqlite")) as link, link:
        link.executescript(schema())
        fill(link, [page])
    link.close()
    summary = tmp_path / "summary.sqlite"
    index_pages(summary, tmp_path / "index")
    monkeypatch.chdir(tmp_path)
    out = windrow("search", "herring").out
    assert "herring" in out
    assert not set(out) & set("\x1b\x07\r\u202e")


def test_without_pages_it_says_what_makes_them(tmp_path: Path, windrow, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    output = windrow("search", "tea", "--collection", "pages")
    assert (output.code, output.out) == (1, "")
    assert output.err.startswith("windrow: there are no pages yet: ")
    assert output.err.endswith("try: windrow run pages\n")
    assert not (tmp_path / "summary.sqlite").exists()
    sqlite3.connect(tmp_path / "summary.sqlite").close()
    (tmp_path / "summary.sqlite").touch()
    assert windrow("search", "tea", "--collection", "pages").err.endswith("try: windrow run pages\n")


def test_without_the_index_a_search_makes_it_and_finds_the_same(
    root: Path, windrow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = [windrow("search", *words).out for words in (["zebras"], ["tea", "--explain"], ["walrus", "--json"])]
    copy = tmp_path / "copy"
    shutil.copytree(root, copy, ignore=shutil.ignore_patterns("index"))
    monkeypatch.chdir(copy)
    for _ in range(2):
        for old, words in zip(before, (["zebras"], ["tea", "--explain"], ["walrus", "--json"]), strict=True):
            assert windrow("search", *words).out == old
    output = windrow("search", "zebras")
    assert "https://copy.example/green" in output.out
    assert output.err.splitlines() == ["1 to 1, and that is all"]
    assert windrow("search", "zebras", "--json").of("search")[0]["notes"] == []
    assert (copy / "index" / "index.json").exists()


SEARCHED = """
from tests.unwritable import become_ordinary
become_ordinary()
import sys
from windrow.cli import main
sys.argv = ["windrow", "search", "zebras", "--json"]
main()
"""


@pytest.mark.parametrize("index", ["there", "gone"])
def test_a_workspace_that_cannot_be_written_is_searched(root: Path, windrow, tmp_path: Path, index: str) -> None:
    """The ledger, the pages and the index are only read, and nothing is left there."""
    expected = windrow("search", "zebras", "--json").of("page_result")
    copy = tmp_path / "copy"
    shutil.copytree(root, copy)
    Ledger(copy / "ledger.sqlite").close()
    if index == "gone":
        shutil.rmtree(copy / "index")
    before = sorted(copy.rglob("*"))
    with unwritable(copy):
        done = programs.run("-c", SEARCHED, cwd=copy)
    assert done.returncode == 0, done.stderr
    *hits, end = [json.loads(line) for line in done.stdout.splitlines()]
    assert hits == expected
    assert end["notes"] == ([] if index == "there" else [TEMPORARY_INDEX_NOTE])
    assert sorted(copy.rglob("*")) == before


def test_check_misses_a_search_index_that_is_gone_or_behind(root: Path, tmp_path: Path) -> None:
    shutil.copytree(root, tmp_path / "copy")
    path, folder = tmp_path / "copy" / "summary.sqlite", tmp_path / "copy" / "index"
    assert list(find_index_faults(path, folder)) == []
    with closing(sqlite3.connect(path)) as link, link:
        fill(link, [PAGES[1].__class__("https://late.example/", "late", "Late")])
    link.close()
    lines = "; ".join(find_index_faults(path, folder))
    assert "1 pages are missing or have changed" in lines
    index_pages(path, folder)
    assert list(find_index_faults(path, folder)) == []
    shutil.rmtree(folder)
    assert len(list(find_index_faults(path, folder))) == 1


def test_a_search_asks_only_collections_that_have_sources(root: Path, tmp_path: Path, windrow, monkeypatch) -> None:
    output = windrow("search", "zebras", "--json")
    assert output.code == 0
    assert "records of events" not in output.err
    prepare(tmp_path / "drops")
    Windrow(tmp_path / "drops").new_source("H", "ftp://h.example/", collection="drops", centre="H")
    monkeypatch.chdir(tmp_path / "drops")
    assert windrow("search", "zebras").err.startswith("windrow: drops cannot be searched")


def test_a_search_of_pages_loads_neither_sqlalchemy_nor_a_reader(root: Path) -> None:
    code, modules = loaded("search", "green", "tea", workspace=root)
    assert code == 0
    assert modules & HEAVY == set()
    assert "windrow.collections.pages.adapter.lookup" in modules
    pure = {"windrow.fetch", *(name for name in modules if name.startswith("windrow.fetch.politeness"))}
    assert [
        module
        for module in modules - pure
        if module.startswith(("windrow.engine.session", "windrow.fetch", "windrow.app.run"))
    ] == []


def test_results_are_counted_by_facet(root: Path, windrow) -> None:
    output = windrow("search", "tea", "--facets")
    assert output.out.splitlines()[-5:-1] == [
        "collection  pages 3",
        "source      https://tea.example 3",
        "language    en 2, und 1",
        "type        html 3",
    ]
    (message,) = windrow("search", "tea", "--facets", "--json").of("facets")
    counts = message["counts"]
    assert (counts["collection"], counts["source"]) == ({"pages": 3}, {"https://tea.example": 3})
    assert Windrow(root).search("tea", facets=True).counts.facets["language"] == {"en": 2, "und": 1}
