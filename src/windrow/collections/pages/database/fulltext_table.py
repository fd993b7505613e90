"""Fill the standard's full-text table in bulk.

Each text pile that a generation uses has one row in the full-text table, with the title and description of one of
these generations: open ones are preferred to closed ones, then those that are not duplicates, then the one seen first
most recently. Its words are counted in the same transaction, so the full-text table shows which piles are done: an
interrupted run continues, and a repeated run changes nothing.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from windrow.collections.pages.database.writer import statements
from windrow.stores.sqlite import open_database, store_errors, transaction

_CREATE = "CREATE TABLE IF NOT EXISTS windrow_text_version (name TEXT PRIMARY KEY, version TEXT NOT NULL)"
_VERSION = "SELECT version FROM windrow_text_version WHERE name = ?"
_NOTE = "INSERT OR REPLACE INTO windrow_text_version VALUES (?, ?)"


def renewed(connection: sqlite3.Connection, name: str, version: str) -> bool:
    """Set the version of the table `name`; return True if it had another one."""
    connection.execute(_CREATE)
    is_current = connection.execute(_VERSION, (name,)).fetchone() == (version,)
    if not is_current:
        connection.execute(_NOTE, (name, version))
    return not is_current


BATCH = 5_000
"""Piles in one transaction."""
COUNTED = 250
"""Piles whose words are counted together."""
ROWS = 200
"""Rows in one statement."""
REMEMBERED = 200_000
"""Words whose ids are kept in memory."""

Count = Callable[..., Mapping[str, int]]
"""Counts the words of texts together."""
Pulse = Callable[[], bool]
"""Called now and then; says whether work goes on."""

_DESCRIBED = """
CREATE TEMP TABLE described AS
SELECT text_pile_id AS pile, entity_generation_id AS generation FROM (
  SELECT text_pile_id, entity_generation_id, row_number() OVER (
    PARTITION BY text_pile_id
    ORDER BY confirmed_end_unix_utc IS NOT NULL, marked_duplicate, first_seen_unix_utc DESC, entity_generation_id
  ) AS place
  FROM entity_generation WHERE text_pile_id IS NOT NULL
) WHERE place = 1
"""
_MISSING = """
SELECT pile FROM described
WHERE pile NOT IN (SELECT id FROM full_text_entity_index_docsize) ORDER BY pile
"""
_GONE = """
SELECT id FROM full_text_entity_index_docsize WHERE id NOT IN (SELECT pile FROM described)
"""
# A title or description that is no longer that of the pile's generation.
_CHANGED = """
SELECT f.rowid FROM full_text_entity_index f
JOIN described x ON x.pile = f.rowid
LEFT JOIN document_description d ON d.entity_generation_id = x.generation
WHERE (f.title IS NOT d.title AND f.title IS NOT windrow_readable(d.title))
  OR (f.description IS NOT d.description AND f.description IS NOT windrow_readable(d.description))
"""
_ADD = """
INSERT INTO full_text_entity_index (rowid, text_pile_id, "any", title, description, text, secondary_text,
  big_headlines, small_headlines, code_text, quote_text)
SELECT p.text_pile_id, p.text_pile_id, 'any', windrow_readable(d.title), windrow_readable(d.description),
  windrow_readable(p.text), windrow_readable(p.secondary_text), windrow_readable(p.big_headlines),
  windrow_readable(p.small_headlines), windrow_readable(p.code_text), windrow_readable(p.quote_text)
FROM described x
JOIN text_pile p ON p.text_pile_id = x.pile
LEFT JOIN document_description d ON d.entity_generation_id = x.generation
WHERE x.pile BETWEEN ? AND ? AND x.pile NOT IN (SELECT id FROM full_text_entity_index_docsize)
"""
_TEXTS = (
    "SELECT text_pile_id, text, secondary_text FROM text_pile WHERE text_pile_id IN (SELECT value FROM json_each(?))"
)
_KNOWN_WORDS = "SELECT token_text, token_id FROM token WHERE token_text IN (SELECT value FROM json_each(?))"
_STATISTICS = """
SELECT s.text_pile_id, t.token_text, s.occurances
FROM token_statistics s LEFT JOIN token t USING (token_id) ORDER BY s.text_pile_id
"""
_INDEX_BY_WORD = "windrow_token_statistics_by_token"
_INDEXED = "SELECT rowid, text, secondary_text FROM full_text_entity_index ORDER BY rowid"


class Spelling(NamedTuple):
    """How texts are written into the full-text table, so that it finds the same words as every other index.

    The three tables are rebuilt if `version` changed; with an empty version, they are never rebuilt.
    """

    write: Callable[[str], str]
    version: str = ""


AS_IT_IS = Spelling(lambda text: text)


class FillCounts(NamedTuple):
    """The numbers of rows of the full-text table that were added, rewritten with another title, and removed."""

    added: int
    changed: int
    removed: int


def go_on() -> bool:
    """Return True: a `Pulse` that never stops."""
    return True


def fill(summary: Path, count: Count, pulse: Pulse = go_on, spelling: Spelling = AS_IT_IS) -> FillCounts:
    """Update the three tables of a file. `count` counts the words of a pile's main and other text.

    `pulse` is called before each batch; False stops the work. Raises StoreError; committed batches stay, and the next
    call continues after them.
    """
    with _open_unchecked(summary) as connection:
        _register_spelling(connection, spelling)
        with transaction(connection):
            if spelling.version and renewed(connection, "full_text_entity_index", spelling.version):
                _empty(connection)
            _describe(connection)
            removed, changed, missing = (_ids(connection, sql) for sql in (_GONE, _CHANGED, _MISSING))
        with transaction(connection):
            tokens = _Tokens(count, connection)
            if outdated := [(pile,) for pile in (*removed, *changed)]:
                connection.executemany("DELETE FROM full_text_entity_index WHERE rowid = ?", outdated)
            for pile in removed:
                connection.execute("DELETE FROM token_statistics WHERE text_pile_id = ?", (pile,))
            for pile in changed:
                connection.execute(_ADD, (pile, pile))
        added = 0
        with _without_token_index(connection) if tokens.is_first_fill and missing else nullcontext():
            while added < len(missing) and pulse():
                batch = missing[added : added + BATCH]
                with transaction(connection):
                    connection.execute(_ADD, (batch[0], batch[-1]))
                    tokens.add(connection, batch)
                added += len(batch)
    return FillCounts(added, len(changed), len(removed))


def _empty(connection: sqlite3.Connection) -> None:
    for table in ("full_text_entity_index", "token_statistics", "token"):
        connection.execute(f"DELETE FROM {table}")


def _register_spelling(connection: sqlite3.Connection, spelling: Spelling) -> None:
    connection.create_function(
        "windrow_readable", 1, lambda text: None if text is None else spelling.write(text), deterministic=True
    )


def recount(summary: Path, count: Count, spelling: Spelling = AS_IT_IS) -> list[str]:
    """Count all words again; return a line for each difference."""
    faults: list[str] = []
    with _open_unchecked(summary) as connection, transaction(connection):
        _register_spelling(connection, spelling)
        _describe(connection)
        checks = (
            (_GONE, "is indexed but used by no page"),
            (_CHANGED, "has another title"),
            (_MISSING, "is not indexed"),
        )
        for sql, words in checks:
            faults += [f"text pile {pile} {words}" for pile in _ids(connection, sql)]
        faults += _find_miscounted(connection, count, spelling)
    return faults


def _find_miscounted(connection: sqlite3.Connection, count: Count, spelling: Spelling) -> Iterator[str]:
    """Compare the words of every pile with token_statistics; both are read in the order of piles.

    Words are counted in the texts of the index, so stored words are spelt as in the index before the comparison.
    """
    stated = groupby(connection.execute(_STATISTICS), key=itemgetter(0))
    head = next(stated, None)
    for pile, text, secondary in connection.execute(_INDEXED):
        while head is not None and head[0] < pile:
            yield f"text pile {head[0]} has counted words but is not indexed"
            head = next(stated, None)
        stated_counts: Counter[str] = Counter()
        if head is not None and head[0] == pile:
            for _, word, times in head[1]:
                if word is None:  # its token was deleted
                    stated_counts[""] += times
                    continue
                for spelt in count(spelling.write(word)) if not word.isascii() else (word,):
                    stated_counts[spelt] += times
            head = next(stated, None)
        if stated_counts != count(text, secondary):
            yield f"text pile {pile} has other words than token_statistics"
    while head is not None:
        yield f"text pile {head[0]} has counted words but is not indexed"
        head = next(stated, None)


@contextmanager
def _open_unchecked(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a file without foreign key checks: the ids were just read, and checking each row is slow.

    Temporary tables go to a file, because they grow with the database.
    """
    with store_errors(path), closing(open_database(path)) as connection:
        for pragma in ("synchronous = NORMAL", "cache_size = -16384", "temp_store = FILE"):
            connection.execute(f"PRAGMA {pragma}")
        yield connection


@contextmanager
def _without_token_index(connection: sqlite3.Connection) -> Iterator[None]:
    """Drop the index of `token_statistics` by word during the block: building it at the end by one sort is faster.

    If the process is killed meanwhile, the next writer that opens the database creates the index.
    """
    with transaction(connection):
        connection.execute(f"DROP INDEX IF EXISTS {_INDEX_BY_WORD}")
    try:
        yield
    finally:
        with transaction(connection):
            connection.execute(next(sql for sql in statements("beside") if _INDEX_BY_WORD in sql))


def _describe(connection: sqlite3.Connection) -> None:
    """Create the temporary table `described`: which generation describes each pile."""
    connection.execute("DROP TABLE IF EXISTS temp.described")
    connection.execute(_DESCRIBED)
    connection.execute("CREATE UNIQUE INDEX temp.described_pile ON described (pile)")


def _ids(connection: sqlite3.Connection, sql: str) -> list[int]:
    return [int(row[0]) for row in connection.execute(sql)]


def _insert(connection: sqlite3.Connection, numbers: list[int]) -> None:
    """Write counts, many rows in one statement: that takes half the time of one statement for each row."""
    step = 3 * ROWS
    for start in range(0, len(numbers), step):
        bound = tuple(numbers[start : start + step])
        rows = ", ".join(["(?, ?, ?)"] * (len(bound) // 3))
        connection.execute(f"INSERT INTO token_statistics VALUES {rows}", bound)


class _Tokens:
    """Writes words and their counts, and remembers the ids of words."""

    def __init__(self, count: Count, connection: sqlite3.Connection) -> None:
        self._count, self._ids = count, dict[str, int]()
        self.is_first_fill = connection.execute("SELECT 1 FROM token LIMIT 1").fetchone() is None
        self._is_complete = self.is_first_fill  # whether all are remembered

    def add(self, connection: sqlite3.Connection, piles: list[int]) -> None:
        for start in range(0, len(piles), COUNTED):
            texts = connection.execute(_TEXTS, (str(piles[start : start + COUNTED]),))
            counts = [(pile, self._count(text, secondary)) for pile, text, secondary in texts]
            if len(self._ids) > REMEMBERED:
                self._ids.clear()
                self._is_complete = False
            self._find_word_ids(
                connection, sorted({word for _, words in counts for word in words if word not in self._ids})
            )
            numbers: list[int] = []
            for pile, words in counts:
                for token, number in zip(map(self._ids.__getitem__, words), words.values(), strict=True):
                    numbers += (token, pile, number)
            _insert(connection, numbers)

    def _find_word_ids(self, connection: sqlite3.Connection, unknown: list[str]) -> None:
        """Find the ids of words, and insert new words."""
        if unknown and not self._is_complete:
            known_rows = connection.execute(_KNOWN_WORDS, (json.dumps(unknown),))
            self._ids.update((word, number) for word, number in known_rows)
            unknown = [word for word in unknown if word not in self._ids]
        if unknown:
            last = connection.execute("SELECT coalesce(max(token_id), 0) FROM token").fetchone()[0]
            rows = list(enumerate(unknown, last + 1))
            connection.executemany("INSERT INTO token (token_id, token_text) VALUES (?, ?)", rows)
            self._ids.update((word, number) for number, word in rows)
