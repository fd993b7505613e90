"""How much work requests make: statements of SQL, and openings of search indexes."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import windrow
from tests.web.farm import get
from windrow.model import FoundUrl
from windrow.stores.index.fulltext_index import FullTextIndex
from windrow.web import app


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
