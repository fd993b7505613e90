"""The full-text tables of a Summary Database: filled, updated and rebuilt."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.collections.pages.place import Page, fill, schema
from windrow.collections.pages.database import fulltext_table
from windrow.collections.pages.database.fulltext_table import FillCounts
from windrow.errors import StoreError
from windrow.query.word import MAX_WORD_LENGTH, count_words

PAGES = [
    Page("https://a.example/1", "red red Green", "First", secondary="menu red"),
    Page("https://a.example/2", "blue", "Closed", end=3_000),
    Page("https://b.example/2", "blue", "Open", description="a colour"),
    Page("https://b.example/3", "", "No text"),
    Page("https://b.example/4", "...", "No words"),
]


class SummaryDatabase:
    """A database, with its engine and a plain connection to it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "summary.sqlite"
        self.connection = sqlite3.connect(self.path, isolation_level=None)
        self.connection.executescript(schema())
        self.add(PAGES)

    def add(self, pages: list[Page]) -> None:
        fill(self.connection, pages)

    def query(self, sql: str) -> list[tuple[object, ...]]:
        return self.connection.execute(sql).fetchall()

    def find(self, words: str) -> list[int]:
        """Return the numbers of the text piles that the full-text table finds."""
        sql = "SELECT rowid FROM full_text_entity_index WHERE full_text_entity_index MATCH ? ORDER BY rowid"
        return [row[0] for row in self.connection.execute(sql, (words,))]

    def index_rows(self) -> list[list[tuple[object, ...]]]:
        tables = ("full_text_entity_index", "token_statistics JOIN token USING (token_id)")
        return [sorted(self.query(f"SELECT * FROM {table}"), key=repr) for table in tables]


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SummaryDatabase]:
    database = SummaryDatabase(tmp_path)
    yield database
    database.connection.close()


def test_rows_and_words(database: SummaryDatabase) -> None:
    assert fulltext_table.fill(database.path, count_words) == FillCounts(3, 0, 0)
    rows = database.query('SELECT rowid, text_pile_id, "any", title, description, text FROM full_text_entity_index')
    assert rows == [
        (1, 1, "any", "First", None, "red red Green"),
        (2, 2, "any", "Open", "a colour", "blue"),
        (3, 3, "any", "No words", None, "..."),
    ]
    words = (
        "SELECT token_text, text_pile_id, occurances FROM token_statistics JOIN token USING (token_id) ORDER BY 2, 1"
    )
    assert database.query(words) == [("green", 1, 1), ("menu", 1, 1), ("red", 1, 3), ("blue", 2, 1)]
    assert fulltext_table.recount(database.path, count_words) == []


@pytest.mark.parametrize("goes_on", [True, False])
def test_a_first_fill_ends_with_the_index_by_word(database: SummaryDatabase, goes_on: bool) -> None:
    indexes = "SELECT name FROM sqlite_master WHERE name = 'windrow_token_statistics_by_token'"
    seen: list[list[tuple[object, ...]]] = []

    def pulse() -> bool:
        seen.append(database.query(indexes))
        return goes_on

    fulltext_table.fill(database.path, count_words, pulse)
    assert seen[0] == []
    assert database.query(indexes) == [("windrow_token_statistics_by_token",)]


def test_doing_it_again_changes_nothing(database: SummaryDatabase) -> None:
    fulltext_table.fill(database.path, count_words)
    before = database.index_rows()
    assert fulltext_table.fill(database.path, count_words) == FillCounts(0, 0, 0)
    assert database.index_rows() == before


def test_in_steps_is_as_at_once(database: SummaryDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fulltext_table, "PILES_PER_TRANSACTION", 1)
    monkeypatch.setattr(fulltext_table, "MAX_REMEMBERED_WORDS", 1)
    fulltext_table.fill(database.path, count_words)
    more = [Page(f"https://c.example/{number}", f"red blue word{number}", f"Page {number}") for number in range(5)]
    database.add(more)
    assert fulltext_table.fill(database.path, count_words) == FillCounts(5, 0, 0)
    steps = database.index_rows()
    fulltext_table.fill(database.path, count_words, version="2")  # another version: all is filled anew
    once = database.index_rows()
    assert once[0] == steps[0]
    assert {row[1:] for row in once[1]} == {row[1:] for row in steps[1]}
    assert fulltext_table.recount(database.path, count_words) == []


def test_a_new_title_is_taken_over(database: SummaryDatabase) -> None:
    fulltext_table.fill(database.path, count_words)
    database.query("UPDATE document_description SET title = 'Changed' WHERE title = 'First'")
    assert fulltext_table.recount(database.path, count_words) == [
        "text pile 1 has an outdated title or description in the full-text table"
    ]
    assert fulltext_table.fill(database.path, count_words) == FillCounts(0, 1, 0)
    assert (database.find("title:changed"), database.find("title:first")) == ([1], [])
    assert fulltext_table.recount(database.path, count_words) == []


def test_what_is_gone_goes(database: SummaryDatabase) -> None:
    fulltext_table.fill(database.path, count_words)
    database.query("DELETE FROM entity_generation WHERE text_pile_id = 1")
    database.query("DELETE FROM text_pile WHERE text_pile_id = 1")
    assert fulltext_table.recount(database.path, count_words)[0] == (
        "text pile 1 is in the full-text table, but no page uses it"
    )
    assert fulltext_table.fill(database.path, count_words) == FillCounts(0, 0, 1)
    assert database.query("SELECT * FROM token_statistics WHERE text_pile_id = 1") == []
    assert database.find("green") == []
    assert database.find("blue") == [2]
    assert fulltext_table.recount(database.path, count_words) == []


def test_a_stop_between_two_batches_is_made_good(database: SummaryDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fulltext_table, "PILES_PER_TRANSACTION", 1)
    calls: list[str] = []

    def counted_until_stop(*texts: str) -> dict[str, int]:
        calls.append(texts[0])
        if len(calls) == 2:
            raise KeyboardInterrupt
        return count_words(*texts)

    with pytest.raises(KeyboardInterrupt):
        fulltext_table.fill(database.path, counted_until_stop)
    assert database.query("SELECT rowid FROM full_text_entity_index") == [(1,)]
    assert fulltext_table.fill(database.path, count_words) == FillCounts(2, 0, 0)
    assert fulltext_table.recount(database.path, count_words) == []


def test_wrong_counts_are_told(database: SummaryDatabase) -> None:
    fulltext_table.fill(database.path, count_words)
    database.query("UPDATE token_statistics SET occurances = 9 WHERE text_pile_id = 2")
    assert fulltext_table.recount(database.path, count_words) == [
        "text pile 2 has words or counts that differ from token_statistics"
    ]


def test_a_database_without_the_tables_is_our_error(tmp_path: Path) -> None:
    summary = tmp_path / "empty.sqlite"
    with pytest.raises(StoreError):
        fulltext_table.fill(summary, count_words)


def test_words_that_an_index_cuts_or_writes_otherwise_are_counted_alike_in_both(tmp_path: Path) -> None:
    odd = ["x" * 100, "a\u0301" * 5_000, "y" * MAX_WORD_LENGTH, "\U0001e900\U0001e901", "\u0df2 caf\u00e9 \u6771\u4eac"]
    path = tmp_path / "odd.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(schema())
        fill(connection, [Page(f"https://a.example/{at}", f"tea {text} tea", "T") for at, text in enumerate(odd)])
    connection.close()
    fulltext_table.fill(path, count_words)
    assert fulltext_table.recount(path, count_words) == []


def test_texts_are_stored_once(database: SummaryDatabase) -> None:
    fulltext_table.fill(database.path, count_words)
    tables = {row[0] for row in database.query("SELECT name FROM sqlite_master")}
    assert "full_text_entity_index_docsize" in tables
    assert "full_text_entity_index_content" not in tables
    rows = database.query("SELECT * FROM windrow_full_text_row")
    assert rows == [(1, "First", None), (2, "Open", "a colour"), (3, "No words", None)]


def test_other_programs_find_the_words_of_the_texts_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "letters.sqlite"
    text, title = "Die Größe der Straße bei Ørsted, ½ Liter 東京タワー", "Größe bei Ørsted"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(schema())
        fill(connection, [Page("https://a.example/", text, title)])
    connection.close()
    fulltext_table.fill(path, count_words)
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT title, text FROM full_text_entity_index").fetchall()
        assert rows == [(title, text)]
        sql = "SELECT count(*) FROM full_text_entity_index WHERE full_text_entity_index MATCH ?"
        for word in ("größe", "STRASSE", "straße", "ørsted", "東京タワー", "½"):
            expected = 0 if word == "STRASSE" else 1
            assert connection.execute(sql, (f'"{word}"',)).fetchone() == (expected,), word


def test_a_full_text_table_with_texts_of_its_own_is_made_anew(database: SummaryDatabase) -> None:
    fulltext_table.fill(database.path, count_words)
    rows = database.index_rows()
    (sql,) = database.query("SELECT sql FROM sqlite_master WHERE name = 'full_text_entity_index'")
    before, _, after = str(sql[0]).partition("content = ")
    database.query("DROP TABLE full_text_entity_index")
    database.query("DROP VIEW windrow_full_text")
    database.query("DROP TABLE windrow_full_text_row")
    database.query(before + after.partition("'text_pile_id',")[2])
    database.query("INSERT INTO full_text_entity_index (rowid, text_pile_id, text) VALUES (1, 1, 'red red Green')")
    assert fulltext_table.recount(database.path, count_words) == [
        "the full-text table was made by another program, or by an earlier version of windrow"
    ]
    assert fulltext_table.fill(database.path, count_words) == FillCounts(3, 0, 0)
    assert database.index_rows() == rows
    assert fulltext_table.recount(database.path, count_words) == []
    assert database.find("blue") == [2]


def test_rows_that_another_program_removed_are_written_again(database: SummaryDatabase) -> None:
    fulltext_table.fill(database.path, count_words)
    database.query("DELETE FROM full_text_entity_index WHERE rowid < 3")
    database.query("DELETE FROM entity_generation WHERE text_pile_id = 2")
    assert database.find("blue OR red") == []
    database.query("DELETE FROM token_statistics")
    assert fulltext_table.fill(database.path, count_words) == FillCounts(1, 0, 1)
    assert (database.find("red"), database.find("blue")) == ([1], [])
    assert fulltext_table.recount(database.path, count_words) == []
    database.query("INSERT INTO full_text_entity_index (full_text_entity_index) VALUES ('integrity-check')")
