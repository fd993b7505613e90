"""Fill the standard's full-text table in bulk.

Each text pile that a generation uses has one row in the full-text table, with the title and description of one
generation that uses it. Generations that have not ended are preferred, then generations that are not duplicates, then
the one that was first seen most recently; of several seen at that time, the one with the lowest UUID. The words of a
pile are counted in the transaction that writes its row, so an interrupted run continues with the piles without a row,
and a repeated run changes nothing.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from windrow.collections.pages.database.writer import statements
from windrow.stores.sqlite import open_or_read, store_errors, transaction

_CREATE_VERSIONS = "CREATE TABLE IF NOT EXISTS windrow_text_version (name TEXT PRIMARY KEY, version TEXT NOT NULL)"
_SELECT_VERSION = "SELECT version FROM windrow_text_version WHERE name = ?"
_SET_VERSION = "INSERT OR REPLACE INTO windrow_text_version VALUES (?, ?)"


def update_version(connection: sqlite3.Connection, table: str, version: str) -> bool:
    """Record the version of a table; return whether it differs from the version recorded before."""
    connection.execute(_CREATE_VERSIONS)
    is_current = connection.execute(_SELECT_VERSION, (table,)).fetchone() == (version,)
    if not is_current:
        connection.execute(_SET_VERSION, (table, version))
    return not is_current


PILES_PER_TRANSACTION = 5_000
"""The maximum number of piles that are added in one transaction."""
PILES_PER_COUNT = 250
"""The maximum number of piles whose words are counted before the counts are written."""
ROWS_PER_STATEMENT = 200
"""The maximum number of rows that one INSERT statement writes."""
MAX_REMEMBERED_WORDS = 200_000
"""The number of words in memory above which all of them are removed before others are added."""

CountWords = Callable[..., Mapping[str, int]]
"""A function that takes one or more texts, and returns how often each word occurs in all texts together."""
Pulse = Callable[[], bool]
"""A function that is called between batches, and returns whether to continue the work."""

_CREATE_DESCRIBED = """
CREATE TEMP TABLE described AS
SELECT text_pile_id AS pile, entity_generation_id AS generation FROM (
  SELECT text_pile_id, entity_generation_id, row_number() OVER (
    PARTITION BY text_pile_id
    ORDER BY confirmed_end_unix_utc IS NOT NULL, marked_duplicate, first_seen_unix_utc DESC, entity_generation_uuid
  ) AS position
  FROM entity_generation WHERE text_pile_id IS NOT NULL
) WHERE position = 1
"""
_SELECT_MISSING = """
SELECT pile FROM described
WHERE pile NOT IN (SELECT id FROM full_text_entity_index_docsize) ORDER BY pile
"""
_SELECT_UNUSED = """
SELECT text_pile_id FROM windrow_full_text_row WHERE text_pile_id NOT IN (SELECT pile FROM described)
UNION SELECT id FROM full_text_entity_index_docsize WHERE id NOT IN (SELECT pile FROM described)
"""
# A title or description that is no longer that of the pile's generation.
_SELECT_CHANGED = """
SELECT r.text_pile_id FROM windrow_full_text_row r
JOIN described x ON x.pile = r.text_pile_id
LEFT JOIN document_description d ON d.entity_generation_id = x.generation
WHERE r.title IS NOT d.title OR r.description IS NOT d.description
"""
_MISSING_BETWEEN = "BETWEEN ? AND ? AND {} NOT IN (SELECT id FROM full_text_entity_index_docsize)"
_WRITE_ROWS = f"""
INSERT OR REPLACE INTO windrow_full_text_row
SELECT x.pile, d.title, d.description FROM described x
LEFT JOIN document_description d ON d.entity_generation_id = x.generation
WHERE x.pile {_MISSING_BETWEEN.format("x.pile")}
"""
_INSERT_TEXTS = f"""
INSERT INTO full_text_entity_index (rowid, text_pile_id, "any", title, description, text, secondary_text,
  big_headlines, small_headlines, code_text, quote_text)
SELECT text_pile_id, * FROM windrow_full_text WHERE text_pile_id {_MISSING_BETWEEN.format("text_pile_id")}
"""
_SELECT_INDEXED = "SELECT id FROM full_text_entity_index_docsize WHERE id IN (SELECT value FROM json_each(?))"
_SELECT_WITHOUT_TEXT = """
SELECT 1 FROM json_each(?) WHERE value NOT IN (SELECT text_pile_id FROM windrow_full_text) LIMIT 1
"""
_VIEW_NAME = "windrow_full_text"
_SELECT_FORM = "SELECT coalesce(max(instr(sql, 'windrow_full_text')), 0) FROM sqlite_master WHERE name = ?"
_SELECT_TEXTS = (
    "SELECT text_pile_id, text, secondary_text FROM text_pile WHERE text_pile_id IN (SELECT value FROM json_each(?))"
)
_SELECT_WORD_IDS = "SELECT token_text, token_id FROM token WHERE token_text IN (SELECT value FROM json_each(?))"
_SELECT_WORD_COUNTS = """
SELECT s.text_pile_id, t.token_text, s.occurances
FROM token_statistics s LEFT JOIN token t USING (token_id) ORDER BY s.text_pile_id
"""
_WORD_INDEX_NAME = "windrow_token_statistics_by_token"
_NO_GROUP: tuple[int, Iterator[tuple[int, str | None, int]]] = (1 << 63, iter(()))  # after the ids of all piles
_SELECT_INDEXED_TEXTS = "SELECT rowid, text, secondary_text FROM full_text_entity_index ORDER BY rowid"


class FillCounts(NamedTuple):
    """The numbers of rows of the full-text table that were added, changed and removed."""

    added: int
    changed: int
    removed: int


def never_stop() -> bool:
    """Return True: a `Pulse` that never stops the work."""
    return True


def fill(summary: Path, count_words: CountWords, pulse: Pulse = never_stop, version: str = "") -> FillCounts:
    """Update the full-text table and the word counts of a Summary Database.

    `count_words` counts the words of a pile's main and other text. `pulse` is called before each batch of piles to add;
    if it returns False, the work stops. If `version` is not empty and not that of the last call, both tables are filled
    anew. Raises StoreError if the database fails. The next call continues after the committed batches.
    """
    with _open_unchecked(summary) as connection:
        with transaction(connection):
            _empty_if_outdated(connection, version)
            _create_described(connection)
            unused_ids, changed_ids, missing_ids = (
                _read_ids(connection, sql) for sql in (_SELECT_UNUSED, _SELECT_CHANGED, _SELECT_MISSING)
            )
        with transaction(connection):
            tokens = _Tokens(count_words, connection)
            remove_texts(connection, (*unused_ids, *changed_ids))
            for pile_id in unused_ids:
                connection.execute("DELETE FROM token_statistics WHERE text_pile_id = ?", (pile_id,))
            for pile_id in changed_ids:
                _add_texts(connection, pile_id, pile_id)
        added_count = 0
        with _without_token_index(connection) if tokens.is_first_fill and missing_ids else nullcontext():
            while added_count < len(missing_ids) and pulse():
                batch_ids = missing_ids[added_count : added_count + PILES_PER_TRANSACTION]
                with transaction(connection):
                    _add_texts(connection, batch_ids[0], batch_ids[-1])
                    tokens.add(connection, batch_ids)
                added_count += len(batch_ids)
    return FillCounts(added_count, len(changed_ids), len(unused_ids))


def _empty_if_outdated(connection: sqlite3.Connection, version: str) -> None:
    """Make the full-text table anew, and empty the tables of words, if its form or the version of the words is old.

    A full-text table that another program made, or an earlier version of windrow, stores all texts a second time.
    """
    is_other_version = bool(version) and update_version(connection, "full_text_entity_index", version)
    if _has_present_form(connection) and not is_other_version:
        return
    for kind, name in (("TABLE", "full_text_entity_index"), ("VIEW", _VIEW_NAME), ("TABLE", f"{_VIEW_NAME}_row")):
        connection.execute(f"DROP {kind} IF EXISTS {name}")
    for statement in statements("summary"):
        if _VIEW_NAME in statement:
            connection.execute(statement)
    for table in ("token_statistics", "token"):
        connection.execute(f"DELETE FROM {table}")


def _has_present_form(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute(_SELECT_FORM, ("full_text_entity_index",)).fetchone()[0])


def _add_texts(connection: sqlite3.Connection, first_id: int, last_id: int) -> None:
    """Add the piles from `first_id` to `last_id` that a generation uses and the full-text table does not have."""
    connection.execute(_WRITE_ROWS, (first_id, last_id))
    connection.execute(_INSERT_TEXTS, (first_id, last_id))


def remove_texts(connection: sqlite3.Connection, pile_ids: Collection[int]) -> None:
    """Remove piles from the full-text table; a database of another program may have one of another form.

    FTS5 must read the texts of a row to remove its words, so this must be done before the piles are deleted. If another
    program deleted a pile, all words are indexed anew.
    """
    indexed_ids = _read_ids(connection, _SELECT_INDEXED, json.dumps([*pile_ids]))
    has_rows = _has_present_form(connection)
    is_incomplete = has_rows and connection.execute(_SELECT_WITHOUT_TEXT, (json.dumps(indexed_ids),)).fetchone()
    connection.executemany("DELETE FROM full_text_entity_index WHERE rowid = ?", [(id_,) for id_ in indexed_ids])
    if has_rows:
        connection.executemany("DELETE FROM windrow_full_text_row WHERE text_pile_id = ?", [(id_,) for id_ in pile_ids])
    if is_incomplete:
        connection.execute("INSERT INTO full_text_entity_index (full_text_entity_index) VALUES ('rebuild')")


def recount(summary: Path, count_words: CountWords) -> list[str]:
    """Count all words again; return a message for each text pile whose row or word counts are wrong."""
    faults: list[str] = []
    with _open_unchecked(summary) as connection, transaction(connection):
        if not _has_present_form(connection):
            return ["the full-text table was made by another program, or by an earlier version of windrow"]
        _create_described(connection)
        checks = (
            (_SELECT_UNUSED, "is in the full-text table, but no page uses it"),
            (_SELECT_CHANGED, "has an outdated title or description in the full-text table"),
            (_SELECT_MISSING, "is not in the full-text table"),
        )
        for sql, problem in checks:
            faults += [f"text pile {pile_id} {problem}" for pile_id in _read_ids(connection, sql)]
        faults += _find_miscounted(connection, count_words)
    return faults


def _find_miscounted(connection: sqlite3.Connection, count_words: CountWords) -> Iterator[str]:
    """Yield a message for each pile whose words or counts differ from token_statistics."""
    groups = groupby(connection.execute(_SELECT_WORD_COUNTS), key=itemgetter(0))
    counted_id, rows = next(groups, _NO_GROUP)
    for pile_id, text, secondary in connection.execute(_SELECT_INDEXED_TEXTS):
        while counted_id < pile_id:
            yield f"text pile {counted_id} has counted words but is not in the full-text table"
            counted_id, rows = next(groups, _NO_GROUP)
        stored_counts: dict[str, int] = {}
        if counted_id == pile_id:
            stored_counts = {word or "": count for _, word, count in rows}  # "": its token was deleted
            counted_id, rows = next(groups, _NO_GROUP)
        if stored_counts != count_words(text, secondary):
            yield f"text pile {pile_id} has words or counts that differ from token_statistics"
    while counted_id < _NO_GROUP[0]:
        yield f"text pile {counted_id} has counted words but is not in the full-text table"
        counted_id, rows = next(groups, _NO_GROUP)


@contextmanager
def _open_unchecked(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a database without checking foreign keys: the ids were just read, and a check of each row is slow.

    Temporary tables are stored in a file, because they grow with the database.
    """
    with store_errors(path), closing(open_or_read(path)[0]) as connection:
        for pragma in ("synchronous = NORMAL", "cache_size = -16384", "temp_store = FILE"):
            connection.execute(f"PRAGMA {pragma}")
        yield connection


@contextmanager
def _without_token_index(connection: sqlite3.Connection) -> Iterator[None]:
    """Drop the index of `token_statistics` by word during the block, because creating it at the end is faster.

    If the process is killed meanwhile, the next writer that opens the database creates the index.
    """
    with transaction(connection):
        connection.execute(f"DROP INDEX IF EXISTS {_WORD_INDEX_NAME}")
    try:
        yield
    finally:
        with transaction(connection):
            connection.execute(next(sql for sql in statements("beside") if _WORD_INDEX_NAME in sql))


def _create_described(connection: sqlite3.Connection) -> None:
    connection.execute("DROP TABLE IF EXISTS temp.described")
    connection.execute(_CREATE_DESCRIBED)
    connection.execute("CREATE UNIQUE INDEX temp.described_pile ON described (pile)")


def _read_ids(connection: sqlite3.Connection, sql: str, *parameters: str) -> list[int]:
    return [int(row[0]) for row in connection.execute(sql, parameters)]


def _insert_counts(connection: sqlite3.Connection, numbers: list[int]) -> None:
    """Write rows of `token_statistics`. `numbers` has the word id, pile id and count of each row in turn."""
    max_parameters = 3 * ROWS_PER_STATEMENT
    for start in range(0, len(numbers), max_parameters):
        parameters = tuple(numbers[start : start + max_parameters])
        placeholders = ", ".join(["(?, ?, ?)"] * (len(parameters) // 3))
        connection.execute(f"INSERT INTO token_statistics VALUES {placeholders}", parameters)


class _Tokens:
    """Writes words and their counts, and remembers the ids of words."""

    def __init__(self, count_words: CountWords, connection: sqlite3.Connection) -> None:
        self._count_words, self._ids = count_words, dict[str, int]()
        self.is_first_fill = connection.execute("SELECT 1 FROM token LIMIT 1").fetchone() is None
        self._is_complete = self.is_first_fill  # whether `_ids` contains all words of the database

    def add(self, connection: sqlite3.Connection, pile_ids: list[int]) -> None:
        for start in range(0, len(pile_ids), PILES_PER_COUNT):
            texts = connection.execute(_SELECT_TEXTS, (str(pile_ids[start : start + PILES_PER_COUNT]),))
            counts = [(pile_id, self._count_words(text, secondary)) for pile_id, text, secondary in texts]
            if len(self._ids) > MAX_REMEMBERED_WORDS:
                self._ids.clear()
                self._is_complete = False
            self._remember_word_ids(
                connection, sorted({word for _, words in counts for word in words if word not in self._ids})
            )
            numbers: list[int] = []
            for pile_id, words in counts:
                for word_id, count in zip(map(self._ids.__getitem__, words), words.values(), strict=True):
                    numbers += (word_id, pile_id, count)
            _insert_counts(connection, numbers)

    def _remember_word_ids(self, connection: sqlite3.Connection, unknown_words: list[str]) -> None:
        if unknown_words and not self._is_complete:
            known_rows = connection.execute(_SELECT_WORD_IDS, (json.dumps(unknown_words),))
            self._ids.update((word, word_id) for word, word_id in known_rows)
            unknown_words = [word for word in unknown_words if word not in self._ids]
        if unknown_words:
            last_id = connection.execute("SELECT coalesce(max(token_id), 0) FROM token").fetchone()[0]
            rows = list(enumerate(unknown_words, last_id + 1))
            connection.executemany("INSERT INTO token (token_id, token_text) VALUES (?, ?)", rows)
            self._ids.update((word, word_id) for word_id, word in rows)
