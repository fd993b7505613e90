"""The full text of the standard, filled in bulk.

A text pile that some generation uses has one row in the full-text table, with the title and description
of one of these generations: an open one before a closed one, one that is no duplicate before one that is,
then the one first seen last. Its words are counted in the same transaction, so the full-text table alone
says which piles are done: an interrupted run goes on, and a repeated one changes nothing.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple, cast

import sqlalchemy as sa

from windrow.collections.pages.database.writer import statements
from windrow.stores.databases import guarded

if TYPE_CHECKING:
    import sqlite3

_MADE = "CREATE TABLE IF NOT EXISTS windrow_text_version (name TEXT PRIMARY KEY, version TEXT NOT NULL)"
_VERSION = "SELECT version FROM windrow_text_version WHERE name = ?"
_NOTE = "INSERT OR REPLACE INTO windrow_text_version VALUES (?, ?)"


def renewed(link: sa.Connection, name: str, version: str) -> bool:
    """Say whether what `name` holds is of another version, and note that it is of this one from now on."""
    link.exec_driver_sql(_MADE)
    same = link.exec_driver_sql(_VERSION, (name,)).scalar() == version
    if not same:
        link.exec_driver_sql(_NOTE, (name, version))
    return not same


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
_NAMED = "SELECT token_text, token_id FROM token WHERE token_text IN (SELECT value FROM json_each(?))"
_STATED = """
SELECT s.text_pile_id, t.token_text, s.occurances
FROM token_statistics s LEFT JOIN token t USING (token_id) ORDER BY s.text_pile_id
"""
_INDEX_BY_WORD = "windrow_token_statistics_by_token"
_INDEXED = "SELECT rowid, text, secondary_text FROM full_text_entity_index ORDER BY rowid"


class Spelling(NamedTuple):
    """How texts are written into the full-text table, so that it finds the words that every other index finds.

    Another `version` makes the three tables anew; without one, they stay as they are.
    """

    write: Callable[[str], str]
    version: str = ""


AS_IT_IS = Spelling(lambda text: text)


class Filled(NamedTuple):
    """How many rows of the full-text table were added, written again with another title, and removed."""

    added: int
    changed: int
    removed: int


def go_on() -> bool:
    """Say that work goes on: for who is not asked in between."""
    return True


def fill(engine: sa.Engine, count: Count, pulse: Pulse = go_on, spelling: Spelling = AS_IT_IS) -> Filled:
    """Bring the three tables up to date. `count` counts the words of a pile's main and other text.

    `spelling` says how texts are written. `pulse` is called after each batch, and ends the work there where it says
    False. Raises StoreError; what was committed before stays, and the next call goes on from there.
    """
    with guarded(engine), engine.connect() as link, _unchecked(link):
        _teach(link, spelling)
        with link.begin():
            if spelling.version and renewed(link, "full_text_entity_index", spelling.version):
                _empty(link)
            _describe(link)
            gone, changed, missing = (_ids(link, sql) for sql in (_GONE, _CHANGED, _MISSING))
        with link.begin():
            tokens = _Tokens(count, link)
            if outdated := [(pile,) for pile in (*gone, *changed)]:
                link.exec_driver_sql("DELETE FROM full_text_entity_index WHERE rowid = ?", outdated)
            for pile in gone:
                link.exec_driver_sql("DELETE FROM token_statistics WHERE text_pile_id = ?", (pile,))
            for pile in changed:
                link.exec_driver_sql(_ADD, (pile, pile))
        added = 0
        with _without_token_index(link) if tokens.is_first_fill and missing else nullcontext():
            while added < len(missing) and pulse():
                some = missing[added : added + BATCH]
                with link.begin():
                    link.exec_driver_sql(_ADD, (some[0], some[-1]))
                    tokens.add(link, some)
                added += len(some)
    return Filled(added, len(changed), len(gone))


def rebuild(engine: sa.Engine, count: Count) -> Filled:
    """Empty the three tables and fill them anew, as after a change of how words are counted."""
    with guarded(engine), engine.begin() as link:
        _empty(link)
    return fill(engine, count)


def _empty(link: sa.Connection) -> None:
    for table in ("full_text_entity_index", "token_statistics", "token"):
        link.exec_driver_sql(f"DELETE FROM {table}")


def _teach(link: sa.Connection, spelling: Spelling) -> None:
    """Give the connection the function by which texts are written."""
    plain = link.connection.dbapi_connection
    cast("sqlite3.Connection", plain).create_function(
        "windrow_readable", 1, lambda text: None if text is None else spelling.write(text), deterministic=True
    )


def recount(engine: sa.Engine, count: Count, spelling: Spelling = AS_IT_IS) -> list[str]:
    """Count everything again and say what differs, a line each; an empty list is good."""
    wrong: list[str] = []
    with guarded(engine), engine.connect() as link, link.begin():
        _teach(link, spelling)
        _describe(link)
        told = (
            (_GONE, "is indexed but used by no page"),
            (_CHANGED, "has another title"),
            (_MISSING, "is not indexed"),
        )
        for sql, words in told:
            wrong += [f"text pile {pile} {words}" for pile in _ids(link, sql)]
        wrong += _miscounted(link, count, spelling)
    return wrong


def _miscounted(link: sa.Connection, count: Count, spelling: Spelling) -> Iterator[str]:
    """Count the words of every pile again, beside what is stated; both in the order of piles.

    They are counted in the texts of the index: a word that is written otherwise there is compared as it is there.
    """
    stated = groupby(link.exec_driver_sql(_STATED), key=itemgetter(0))
    head = next(stated, None)
    for pile, text, secondary in link.exec_driver_sql(_INDEXED):
        while head is not None and head[0] < pile:
            yield f"text pile {head[0]} has words counted but is not indexed"
            head = next(stated, None)
        told: Counter[str] = Counter()
        if head is not None and head[0] == pile:
            for _, word, times in head[1]:
                if word is None:  # its token was deleted
                    told[""] += times
                    continue
                for spelt in count(spelling.write(word)) if not word.isascii() else (word,):
                    told[spelt] += times
            head = next(stated, None)
        if told != count(text, secondary):
            yield f"text pile {pile} has other words than token_statistics tells"
    while head is not None:
        yield f"text pile {head[0]} has words counted but is not indexed"
        head = next(stated, None)


@contextmanager
def _unchecked(link: sa.Connection) -> Iterator[None]:
    """Look no references up meanwhile: ids that were read a moment ago need not be looked for again, row by row.

    What is gathered beside goes to a file: it grows with the database, and memory need not.
    """
    plain = link.connection.dbapi_connection
    assert plain is not None
    for pragma in ("foreign_keys = OFF", "temp_store = FILE"):
        plain.cursor().execute(f"PRAGMA {pragma}")
    try:
        yield
    finally:
        for pragma in ("foreign_keys = ON", "temp_store = MEMORY"):
            plain.cursor().execute(f"PRAGMA {pragma}")


@contextmanager
def _without_token_index(link: sa.Connection) -> Iterator[None]:
    """Make the index of `token_statistics` by word at the end, by one sort: row by row it grows at random places.

    Where the process is killed meanwhile, the next one that opens the database to write makes it.
    """
    with link.begin():
        link.exec_driver_sql(f"DROP INDEX IF EXISTS {_INDEX_BY_WORD}")
    try:
        yield
    finally:
        with link.begin():
            link.exec_driver_sql(next(sql for sql in statements("beside") if _INDEX_BY_WORD in sql))


def _describe(link: sa.Connection) -> None:
    """Note which generation describes each pile."""
    link.exec_driver_sql("DROP TABLE IF EXISTS temp.described")
    link.exec_driver_sql(_DESCRIBED)
    link.exec_driver_sql("CREATE UNIQUE INDEX temp.described_pile ON described (pile)")


def _ids(link: sa.Connection, sql: str) -> list[int]:
    return [int(row[0]) for row in link.exec_driver_sql(sql)]


def _insert(link: sa.Connection, values: list[int]) -> None:
    """Write counts, many rows in one statement: that takes half the time of a statement for each."""
    step = 3 * ROWS
    for start in range(0, len(values), step):
        some = tuple(values[start : start + step])
        rows = ", ".join(["(?, ?, ?)"] * (len(some) // 3))
        link.exec_driver_sql(f"INSERT INTO token_statistics VALUES {rows}", some)


class _Tokens:
    """Writes words and their counts; remembers the ids of words."""

    def __init__(self, count: Count, link: sa.Connection) -> None:
        self._count, self._ids = count, dict[str, int]()
        self.is_first_fill = link.exec_driver_sql("SELECT 1 FROM token LIMIT 1").first() is None
        self._all = self.is_first_fill  # whether all are remembered

    def add(self, link: sa.Connection, piles: list[int]) -> None:
        for start in range(0, len(piles), COUNTED):
            texts = link.exec_driver_sql(_TEXTS, (str(piles[start : start + COUNTED]),))
            counts = [(pile, self._count(text, secondary)) for pile, text, secondary in texts]
            if len(self._ids) > REMEMBERED:
                self._ids.clear()
                self._all = False
            self._name(link, sorted({word for _, words in counts for word in words if word not in self._ids}))
            values: list[int] = []
            for pile, words in counts:
                for token, number in zip(map(self._ids.__getitem__, words), words.values(), strict=True):
                    values += (token, pile, number)
            _insert(link, values)

    def _name(self, link: sa.Connection, unknown: list[str]) -> None:
        """Learn the ids of words, making those that are new."""
        if unknown and not self._all:
            known = link.exec_driver_sql(_NAMED, (json.dumps(unknown),))
            self._ids.update((word, number) for word, number in known)
            unknown = [word for word in unknown if word not in self._ids]
        if unknown:
            last = link.exec_driver_sql("SELECT coalesce(max(token_id), 0) FROM token").scalar_one()
            rows = list(enumerate(unknown, last + 1))
            link.exec_driver_sql("INSERT INTO token (token_id, token_text) VALUES (?, ?)", rows)
            self._ids.update((word, number) for number, word in rows)
