"""Exact duplicates (specification, section 3.5): open generations of one origin that have the same text.

The address that comes first in the order of text stands for its group; of the others each has a row that
says of which generation it is a duplicate, since when that is known, and until when it was one.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence

_MEMBERS = """
SELECT g.text_pile_id, u.origin_id, u.str_url, g.entity_generation_id
FROM entity_generation g JOIN url u ON u.url_id = g.url_id
WHERE g.text_pile_id IN (SELECT value FROM json_each(?)) AND g.confirmed_end_unix_utc IS NULL
ORDER BY g.text_pile_id, u.origin_id, u.str_url, g.entity_generation_id
"""
_CLAIMED = """
SELECT d.subject_entity_generation_id, d.duplicate_of_entity_generation_id FROM duplicate_summary d
WHERE d.duplicate_status_end_unix_utc IS NULL AND (
  d.subject_entity_generation_id IN (SELECT value FROM json_each(?1)) OR
  d.subject_entity_generation_id IN (
    SELECT entity_generation_id FROM entity_generation WHERE text_pile_id IN (SELECT value FROM json_each(?2))))
"""
_END = """
UPDATE duplicate_summary SET duplicate_status_end_unix_utc = max(?, duplicate_status_start_unix_utc)
WHERE subject_entity_generation_id = ? AND duplicate_of_entity_generation_id = ?
AND duplicate_status_end_unix_utc IS NULL
"""


def detect(link: sqlite3.Connection, piles: Sequence[int], at: int) -> None:
    """Look at the groups of these text piles again; rows begin and end at the time `at`."""
    wanted = _wanted(link.execute(_MEMBERS, (json.dumps(list(piles)),)))
    asked = (json.dumps(list(wanted)), json.dumps(list(piles)))
    claimed = dict(link.execute(_CLAIMED, asked).fetchall())
    ended = [(subject, original) for subject, original in claimed.items() if wanted.get(subject) != original]
    begun = [(subject, original) for subject, original in wanted.items() if claimed.get(subject) != original]
    link.executemany(_END, [(at, *one) for one in ended])
    link.executemany("INSERT INTO duplicate_summary VALUES (?, ?, ?, NULL)", [(*one, at) for one in begun])
    mark = "UPDATE entity_generation SET marked_duplicate = ? WHERE entity_generation_id = ?"
    link.executemany(mark, [(0, subject) for subject, _ in ended if subject not in wanted])
    link.executemany(mark, [(1, subject) for subject, _ in begun])


def _wanted(members: Iterable[tuple[int, int, str, int]]) -> dict[int, int]:
    """Return the generation that each one repeats: at most one is open at an address, so all have other addresses."""
    found: dict[int, int] = {}
    group: tuple[int, int] | None = None
    original = 0
    for pile, origin, _, generation in members:
        if group != (pile, origin):
            group, original = (pile, origin), generation
        else:
            found[generation] = original
    return found
