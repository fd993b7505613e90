"""Fill `full_text_entity_index`, `token` and `token_statistics` of a Summary Database in bulk.

A text pile that some generation uses has one row in the full-text table, with the title and description
of one of these generations: an open one before a closed one, one that is no duplicate before one that is,
then the one first seen last. Its words are counted in the same transaction, so the full-text table alone
says which piles are done: an interrupted run goes on, and a repeated one changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import sqlalchemy as sa

from windrow.stores.connect import guarded

BATCH = 5_000
"""Piles in one transaction."""
REMEMBERED = 400_000
"""Words whose ids are kept in memory."""

Count = Callable[..., Mapping[str, int]]
"""Counts the words of texts together."""

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
WHERE f.title IS NOT d.title OR f.description IS NOT d.description
"""
_ADD = """
INSERT INTO full_text_entity_index (rowid, text_pile_id, "any", title, description, text, secondary_text,
  big_headlines, small_headlines, code_text, quote_text)
SELECT p.text_pile_id, p.text_pile_id, 'any', d.title, d.description, p.text, p.secondary_text,
  p.big_headlines, p.small_headlines, p.code_text, p.quote_text
FROM described x
JOIN text_pile p ON p.text_pile_id = x.pile
LEFT JOIN document_description d ON d.entity_generation_id = x.generation
WHERE x.pile BETWEEN ? AND ? AND x.pile NOT IN (SELECT id FROM full_text_entity_index_docsize)
"""
_TEXTS = (
    "SELECT text_pile_id, text, secondary_text FROM text_pile WHERE text_pile_id IN (SELECT value FROM json_each(?))"
)


class Filled(NamedTuple):
    """How many rows of the full-text table were added, written again with another title, and removed."""

    added: int
    changed: int
    removed: int


def fill(engine: sa.Engine, count: Count) -> Filled:
    """Bring the three tables up to date. `count` counts the words of a pile's main and other text.

    Raises StoreError; what was committed before stays, and the next call goes on from there.
    """
    with guarded(engine), engine.connect() as link:
        with link.begin():
            _describe(link)
            gone, changed, missing = (_ids(link, sql) for sql in (_GONE, _CHANGED, _MISSING))
        tokens = _Tokens(count)
        with link.begin():
            for pile in gone:
                tokens.remove(link, pile)
            _delete(link, [*gone, *changed])
            for pile in changed:
                link.exec_driver_sql(_ADD, (pile, pile))
        for start in range(0, len(missing), BATCH):
            some = missing[start : start + BATCH]
            with link.begin():
                link.exec_driver_sql(_ADD, (some[0], some[-1]))
                tokens.add(link, some)
    return Filled(len(missing), len(changed), len(gone))


def rebuild(engine: sa.Engine, count: Count) -> Filled:
    """Empty the three tables and fill them anew, as after a change of how words are counted."""
    with guarded(engine), engine.begin() as link:
        for table in ("full_text_entity_index", "token_statistics", "token"):
            link.exec_driver_sql(f"DELETE FROM {table}")
    return fill(engine, count)


def recount(engine: sa.Engine, count: Count) -> list[str]:
    """Count everything again and say what differs, a line each; an empty list is good."""
    wrong: list[str] = []
    with guarded(engine), engine.connect() as link, link.begin():
        _describe(link)
        told = (
            (_GONE, "is indexed but used by no page"),
            (_CHANGED, "has another title"),
            (_MISSING, "is not indexed"),
        )
        for sql, words in told:
            wrong += [f"text pile {pile} {words}" for pile in _ids(link, sql)]
        rows = link.exec_driver_sql(
            "SELECT text_pile_id, token_text, occurances FROM token_statistics LEFT JOIN token USING (token_id)"
            " ORDER BY text_pile_id"
        )
        stated: dict[int, dict[str, int]] = {}
        for pile, text, number in rows:
            stated.setdefault(pile, {})[text] = number
        for pile, text, secondary in link.exec_driver_sql(
            "SELECT rowid, text, secondary_text FROM full_text_entity_index"
        ):
            if stated.pop(pile, {}) != dict(count(text, secondary)):
                wrong.append(f"text pile {pile} has other words than token_statistics tells")
        wrong += [f"text pile {pile} has words counted but is not indexed" for pile in stated]
    return wrong


def _describe(link: sa.Connection) -> None:
    """Note which generation describes each pile."""
    link.exec_driver_sql("DROP TABLE IF EXISTS temp.described")
    link.exec_driver_sql(_DESCRIBED)
    link.exec_driver_sql("CREATE UNIQUE INDEX temp.described_pile ON described (pile)")


def _ids(link: sa.Connection, sql: str) -> list[int]:
    return [int(row[0]) for row in link.exec_driver_sql(sql)]


def _delete(link: sa.Connection, piles: list[int]) -> None:
    if piles:
        link.exec_driver_sql("DELETE FROM full_text_entity_index WHERE rowid = ?", [(pile,) for pile in piles])


class _Tokens:
    """Writes words and their counts; remembers the ids of words."""

    def __init__(self, count: Count) -> None:
        self._count, self._ids = count, dict[str, int]()

    def add(self, link: sa.Connection, piles: list[int]) -> None:
        counts: dict[str, list[tuple[int, int]]] = {}
        for pile, text, secondary in link.exec_driver_sql(_TEXTS, (str(piles),)):
            for word, number in self._count(text, secondary).items():
                counts.setdefault(word, []).append((pile, number))
        self._name(link, counts)
        ordered = sorted((self._ids[word], pairs) for word, pairs in counts.items())
        rows = [(token, pile, number) for token, pairs in ordered for pile, number in sorted(pairs)]
        if rows:
            link.exec_driver_sql("INSERT INTO token_statistics VALUES (?, ?, ?)", rows)

    def _name(self, link: sa.Connection, words: Mapping[str, object]) -> None:
        """Learn the id of every word, making those that are new."""
        if len(self._ids) > REMEMBERED:
            self._ids.clear()
        unknown = sorted(word for word in words if word not in self._ids)
        if unknown:
            link.exec_driver_sql("INSERT OR IGNORE INTO token (token_text) VALUES (?)", [(word,) for word in unknown])
            for start in range(0, len(unknown), BATCH):
                marks = ",".join("?" * len(unknown[start : start + BATCH]))
                sql = f"SELECT token_text, token_id FROM token WHERE token_text IN ({marks})"
                rows = link.exec_driver_sql(sql, tuple(unknown[start : start + BATCH]))
                self._ids |= {row[0]: row[1] for row in rows}

    def remove(self, link: sa.Connection, pile: int) -> None:
        """Remove the counts of a pile that may be gone itself: its words still stand in the full-text table."""
        row = link.exec_driver_sql(
            "SELECT text, secondary_text FROM full_text_entity_index WHERE rowid = ?", (pile,)
        ).one()
        words = [(pile, word) for word in self._count(*row)]
        if words:
            link.exec_driver_sql(
                "DELETE FROM token_statistics WHERE text_pile_id = ?"
                " AND token_id = (SELECT token_id FROM token WHERE token_text = ?)",
                words,
            )
