"""How much work requests make, and where: statements of SQL, openings of search indexes, and comparisons of words."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import windrow
from tests.web.farm import get
from windrow.engine.source_counts import count_frontiers
from windrow.model import DiffLine, FoundUrl, TextChange
from windrow.stores.index.fulltext_index import FullTextIndex
from windrow.web import app, application
from windrow.web.words import mark_changes, mark_words


@pytest.fixture
def count_statements(monkeypatch) -> Callable[[Any, str], int]:
    """Return a function that requests a page of a view, and returns how many statements of SQL were run for it."""
    statements: list[str] = []
    connect = sqlite3.connect

    def connect_traced(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*arguments, **options)
        connection.set_trace_callback(statements.append)
        return connection

    monkeypatch.setattr(sqlite3, "connect", connect_traced)

    def count(view: Any, target: str) -> int:
        statements.clear()
        assert get(view, target).status == 200
        return len(statements)

    return count


def test_all_sites_are_counted_by_the_same_statements(tmp_path: Path, count_statements) -> None:
    farm = windrow.init(tmp_path / "farm")
    counts = []
    for number in range(3):
        farm.new_source(f"site{number}", f"http://site{number}.example/", collection="pages")
        farm = windrow.open(tmp_path / "farm")
        with closing(farm.ledger()) as ledger, ledger.writing() as writer:
            session = writer.sessions.open("a test", "run")
            host = writer.addresses.add_host(session, "pages", f"site{number}", f"http://site{number}.example")
            writer.addresses.add(host, 0, [FoundUrl(number, "", f"http://site{number}.example/")])
            writer.sessions.close(session, 0)
        counts.append(count_statements(app(farm), "/collections?collection=pages"))
    assert len({*counts}) == 1
    rows = farm.home("pages").parts[0].rows
    assert [(row[0].text, row[3]) for row in rows] == [(f"site{number}", 1) for number in range(3)]


def test_a_session_counts_what_is_known_as_the_state_does(tmp_path: Path) -> None:
    farm = windrow.init(tmp_path / "farm")
    farm.new_source("town", "http://town.example/", collection="pages")
    with closing(farm.ledger()) as ledger:
        with ledger.writing() as writer:
            session = writer.sessions.open("a test", "run")
            for number in range(2):
                host = writer.addresses.add_host(session, "pages", "town", f"http://{number}.example")
                found = [
                    FoundUrl(10 * number + kind, "", f"http://{number}.example/{kind}", kind=kind) for kind in range(4)
                ]
                writer.addresses.add(host, 0, found[number:])
            writer.sessions.close(session, 0)
        known, all_counts = count_frontiers(ledger, {"pages"}), count_frontiers(ledger)
        assert all_counts["town"].due == 7
        assert {name: (count.known, count.due) for name, count in known.items()} == {
            name: (count.known, count.due) for name, count in all_counts.items()
        }


def test_a_search_opens_each_file_once(view, monkeypatch) -> None:
    opened: list[str] = []
    connect = sqlite3.connect

    def connect_noted(path: str, *arguments: Any, **options: Any) -> sqlite3.Connection:
        opened.append(path)
        return connect(path, *arguments, **options)

    monkeypatch.setattr(sqlite3, "connect", connect_noted)
    assert "The ferry" in get(view, "/search?q=harbour").text
    read = [path for path in opened if "ledger" not in path]  # the ledger is read before and in the search
    assert len(read) == len({*read}) > 0
    opened.clear()
    get(view, "/collections?collection=drops&view=zips")
    assert sum("ledger" in path for path in opened) == 1


def test_an_index_stays_open_until_its_files_change(view, monkeypatch) -> None:
    opened: list[Path] = []
    open_index = FullTextIndex.__init__

    def open_noted(self: FullTextIndex, folder: Path, *arguments: Any, **options: Any) -> None:
        opened.append(folder)
        open_index(self, folder, *arguments, **options)

    get(view, "/search?q=ferry")
    monkeypatch.setattr(FullTextIndex, "__init__", open_noted)
    assert "The ferry" in get(view, "/search?q=harbour").text
    assert opened == []


def test_pages_are_rendered_in_a_worker_so_that_others_do_not_wait(view, monkeypatch) -> None:
    threads: list[str] = []
    render = application.render

    def render_noted(*arguments: Any, **values: Any) -> str:
        threads.append(threading.current_thread().name)
        return render(*arguments, **values)

    monkeypatch.setattr(application, "render", render_noted)
    for path in ("/sessions", "/sessions/1", "/help/glossary"):
        get(view, path)
    assert [name.partition("_")[0] for name in threads] == ["windrow-web"] * 3


def test_words_are_marked_until_it_takes_too_long() -> None:
    old = " ".join(f"word{number}" for number in range(450))
    new = old.replace("word7 ", "other ")
    assert [text for line in mark_words([DiffLine("-", old), DiffLine("+", new)]) for text, differs in line.pieces
            if differs] == ["word7", "other"]  # fmt: skip
    repeated = [DiffLine("-", "a " * 490), DiffLine("+", "a b " * 245)]  # ten seconds each
    assert [line.pieces for line in mark_words(repeated * 9)] == [((line.text, False),) for line in repeated * 9]
    marked = mark_changes(TextChange(f"{number}", old, new) for number in range(50))
    assert {len(line.pieces) for field, lines in marked for line in lines if field in {"0", "9"}} == {3}
    assert {len(line.pieces) for field, lines in marked for line in lines if field == "49"} == {1}
