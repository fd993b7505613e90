"""Who stands for a group of pages that say the same: for search, beside the standard's own table of duplicates.

A page belongs together with the one that it names as canonical, where that is one of its own origin, was crawled,
and does not say something quite different; else with the one that it is a near-duplicate of; else, where its text is
too short to be compared, with those of exactly its text. What is connected is a group.

For a group stands a page that others of it name as canonical, then one with https, with the fewest parameters, the
shortest address, the one seen first. Once chosen it stays as long as it belongs to the group, unless another one
is named as canonical and it is not.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from windrow.formats.near import similarity

BELIEVED = 0.2
"""Least similarity of a page to the one that it names as canonical: many sites name their front page everywhere."""

_AMONG = "IN (SELECT value FROM json_each(?))"
_MEMBERS = f"""
SELECT g.entity_generation_id, g.url_id, u.origin_id, u.str_url, coalesce(u.query, ''), g.first_seen_unix_utc,
  g.text_pile_id, f.canonical_url_id, n.other_id, s.sketch
FROM entity_generation g JOIN url u ON u.url_id = g.url_id
LEFT JOIN file_summary f ON f.entity_generation_id = g.entity_generation_id
LEFT JOIN windrow_near_duplicate n ON n.generation_id = g.entity_generation_id
LEFT JOIN windrow_signature s ON s.generation_id = g.entity_generation_id
WHERE g.{{}} {_AMONG} AND g.confirmed_end_unix_utc IS NULL AND g.text_pile_id IS NOT NULL AND g.url_fragment IS NULL
"""
_BY_ID, _BY_URL = _MEMBERS.format("entity_generation_id"), _MEMBERS.format("url_id")
_FIRST = f"""
SELECT text_pile_id, min(entity_generation_id) FROM entity_generation
WHERE text_pile_id {_AMONG} AND confirmed_end_unix_utc IS NULL AND url_fragment IS NULL GROUP BY text_pile_id
"""
_NEAR = f"SELECT generation_id FROM windrow_near_duplicate WHERE other_id {_AMONG}"
_NAMING = f"""
SELECT f.entity_generation_id FROM entity_generation g JOIN file_summary f ON f.canonical_url_id = g.url_id
WHERE g.entity_generation_id {_AMONG}
"""
_EQUAL = f"""
SELECT o.entity_generation_id FROM entity_generation g
JOIN entity_generation o ON o.text_pile_id = g.text_pile_id AND o.confirmed_end_unix_utc IS NULL
WHERE g.entity_generation_id {_AMONG}
AND g.entity_generation_id NOT IN (SELECT generation_id FROM windrow_signature)
"""
_TOGETHER = f"""
SELECT generation_id, representative_id FROM windrow_representative WHERE representative_id IN
  (SELECT representative_id FROM windrow_representative WHERE generation_id {_AMONG})
"""


class GroupMember(NamedTuple):
    """An open generation with what decides where it belongs, and whether it may stand for others."""

    id: int
    url_id: int
    origin_id: int
    url: str
    query: str
    first: int
    pile: int
    canonical: int | None
    near: int | None
    sketch: bytes | None

    def preference(self) -> tuple[bool, int, int, int, str]:
        """Return what is least for the one that is best."""
        count = self.query.count("&") + 1 if self.query else 0
        return (not self.url.startswith("https:"), count, len(self.url), self.first, self.url)


def represent(link: sqlite3.Connection, changed: Iterable[int]) -> int:
    """Choose anew who stands for the groups of these generations, or stood; return how many rows changed.

    Works within the transaction that is open on `link`.
    """
    groups, before, fresh = _Groups(link), dict[int, int](), set(changed)
    while fresh:
        # Whoever was in a group with one that moved is looked at too: who stood for them may have left.
        known = before.keys() | groups.members.keys() | fresh
        groups.gather(fresh)
        asked = (json.dumps(sorted(groups.members.keys() | known)),)
        before |= dict(link.execute(_TOGETHER, asked).fetchall())
        fresh = before.keys() - known - groups.members.keys()
    now: dict[int, int] = {}
    for group in groups.connected():
        if len(group) > 1:
            chosen = _chosen(group, {before[one.id] for one in group if one.id in before})
            now |= dict.fromkeys((one.id for one in group), chosen)
    gone = [(one,) for one in before if one not in now]
    made = [(one, other) for one, other in now.items() if before.get(one) != other]
    link.executemany("DELETE FROM windrow_representative WHERE generation_id = ?", gone)
    link.executemany("INSERT OR REPLACE INTO windrow_representative VALUES (?, ?)", sorted(made))
    return len(gone) + len(made)


def _chosen(group: list[GroupMember], before: set[int]) -> int:
    """Return the one that stands for a group; `before` did so for some of it."""
    named = {one.canonical for one in group if one.canonical not in {None, one.url_id}}
    staying = [one for one in group if one.id in before]
    if not any(one.url_id in named for one in staying):
        staying = [one for one in group if one.url_id in named] or staying
    return min(staying or group, key=lambda one: (one.url_id not in named, one.preference())).id


class _Groups:
    """What belongs together, followed in both directions from some generations."""

    def __init__(self, link: sqlite3.Connection) -> None:
        self._link = link
        self._parents: dict[int, int] = {}
        self.members: dict[int, GroupMember] = {}

    def gather(self, ids: set[int]) -> None:
        """Follow from these generations whatever they are connected with."""
        fresh = self._take(self._read(ids), ids)
        while fresh:
            above = {self._parents[one] for one in fresh if one in self._parents} - self.members.keys()
            asked = (json.dumps(sorted(fresh)),)
            below = {row[0] for sql in (_NEAR, _NAMING, _EQUAL) for row in self._link.execute(sql, asked)}
            found = self._read(above | (below - self.members.keys()))
            fresh = self._take(found, above | {one.id for one, parent in found if parent in fresh})

    def _take(self, found: list[tuple[GroupMember, int | None]], wanted: set[int]) -> set[int]:
        taken = [(one, parent) for one, parent in found if one.id in wanted]
        self.members |= {one.id: one for one, _ in taken}
        self._parents |= {one.id: parent for one, parent in taken if parent is not None}
        return {one.id for one, _ in taken}

    def connected(self) -> list[list[GroupMember]]:
        """Return the groups, each in the order of ids."""
        groups: dict[int, list[GroupMember]] = {}
        for one in sorted(self.members):
            groups.setdefault(self._root(one), []).append(self.members[one])
        return list(groups.values())

    def _root(self, one: int) -> int:
        """Follow who belongs to whom to its end; where it goes round, the least of the round is the end."""
        path: list[int] = []
        while one not in path:
            path.append(one)
            if one not in self._parents:
                return one
            one = self._parents[one]
        return min(path[path.index(one) :])

    def _read(self, ids: Collection[int]) -> list[tuple[GroupMember, int | None]]:
        """Read those that are open and have a text, and to whom each belongs."""
        some = [GroupMember(*row) for row in self._link.execute(_BY_ID, (json.dumps(sorted(ids)),))]
        named = {one.canonical for one in some if one.canonical is not None}
        rows = self._link.execute(_BY_URL, (json.dumps(sorted(named)),))
        targets = {one.url_id: one for one in (GroupMember(*row) for row in rows)}
        short = {one.pile for one in some if one.sketch is None}
        firsts: dict[int, int] = dict(self._link.execute(_FIRST, (json.dumps(sorted(short)),)))
        return [(one, _parent(one, targets, firsts)) for one in some]


def _parent(one: GroupMember, targets: Mapping[int, GroupMember], firsts: Mapping[int, int]) -> int | None:
    """Return the generation that this one belongs together with."""
    target = targets.get(one.canonical) if one.canonical is not None else None
    if target is not None and target.id != one.id and target.origin_id == one.origin_id and _believed(one, target):
        return target.id
    other = one.near if one.sketch is not None else firsts.get(one.pile)
    return other if other != one.id else None


def _believed(one: GroupMember, target: GroupMember) -> bool:
    return one.sketch is None or target.sketch is None or similarity(one.sketch, target.sketch) >= BELIEVED
