"""Near-duplicates: open generations, on any site, whose main texts are nearly equal. They are marked, never removed.

All generations stand in an order that a hash of text and address gives them. The first of those that have a band
in common is the band's hub. Looked at in that order, a generation is joined to the most similar of its bands'
hubs, or of those that these are joined to, if that one is similar enough and not joined itself; else it
stands alone, and later ones may be joined to it. So all of a cluster are similar to its first, whom they are
joined to, and what is joined to what depends on the generations alone, not on the order in which they came.

When a generation comes or goes, those are looked at again whose hub it was or is, and those that depend on
one that changed. As the order is a hash's, that is seldom: a newcomer is the first of n with probability 1/n,
and then n have to be looked at.
"""

from __future__ import annotations

import heapq
import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple

from windrow.formats.near import ALIKE, LONGEST, bands, similarity, sketch

_OPEN = f"""
SELECT g.entity_generation_id, p.blake2b512_digest, u.str_url, substr(p.text, 1, {LONGEST})
FROM entity_generation g JOIN text_pile p ON p.text_pile_id = g.text_pile_id JOIN url u ON u.url_id = g.url_id
WHERE g.entity_generation_id IN (SELECT value FROM json_each(?)) AND g.confirmed_end_unix_utc IS NULL
"""
_SIGNED = """
SELECT generation_id, rank, sketch FROM windrow_signature WHERE generation_id IN (SELECT value FROM json_each(?))
"""
_HUB = "SELECT rank, generation_id FROM windrow_band WHERE band = ? LIMIT 1"
_REST = "SELECT rank, generation_id FROM windrow_band WHERE band = ? AND rank > ?"
_JOIN = "INSERT OR REPLACE INTO windrow_near_duplicate VALUES (?, ?, ?)"

Place = tuple[int, int]
"""A generation's place in the order: its rank and its id."""


class SignedText(NamedTuple):
    """A generation that can be compared."""

    id: int
    rank: int
    sketch: bytes

    @property
    def place(self) -> Place:
        """Where it stands in the order."""
        return self.rank, self.id


def compare(link: sqlite3.Connection, touched: Iterable[int]) -> set[int]:
    """Bring near-duplicates up to date after these generations changed; return those that others may see changed.

    Works within the transaction that is open on `link`.
    """
    asked = json.dumps(sorted(touched))
    before = {row[0]: SignedText(*row) for row in link.execute(_SIGNED, (asked,))}
    coming, staying = _read(link, asked, before)
    leaving = [one for one in before.values() if one.id not in staying]
    return _Comparison(link).run(leaving, coming)


def _read(link: sqlite3.Connection, asked: str, before: dict[int, SignedText]) -> tuple[list[SignedText], set[int]]:
    """Return what is new or has another text now, and the ids of what is as it was."""
    coming, staying = [], set()
    for number, digest, url, text in link.execute(_OPEN, (asked,)):
        rank = _rank(digest, url)
        if number in before and before[number].rank == rank:
            staying.add(number)
        elif found := sketch(text):
            coming.append(SignedText(number, rank, found))
    return coming, staying


def _rank(digest: bytes, url: str) -> int:
    return int.from_bytes(blake2b(digest + url.encode("utf-8", "replace"), digest_size=8).digest(), "big") >> 1


class _Comparison:
    """One batch: what is to be looked at again, in its order."""

    def __init__(self, link: sqlite3.Connection) -> None:
        self._link = link
        self._signed: dict[int, SignedText] = {}
        self._joined: dict[int, int | None] = {}
        self._hubs: dict[int, Place | None] = {}
        self._waiting: list[Place] = []
        self._queued: set[Place] = set()
        self.changed: set[int] = set()

    def run(self, leaving: list[SignedText], coming: list[SignedText]) -> set[int]:
        """Take some away, add others, and look at all that this can change."""
        affected = {band for one in (*leaving, *coming) for band in bands(one.sketch)}
        hubs = {band: self._hub(band) for band in affected}
        self._hubs.clear()
        many = self._link.executemany
        for one in leaving:
            rows = [(band, *one.place) for band in bands(one.sketch)]
            many("DELETE FROM windrow_band WHERE band = ? AND rank = ? AND generation_id = ?", rows)
            self._apart(one.id)
        many("DELETE FROM windrow_signature WHERE generation_id = ?", [(one.id,) for one in leaving])
        many("INSERT INTO windrow_signature VALUES (?, ?, ?)", coming)
        rows = sorted((band, *one.place) for one in coming for band in bands(one.sketch))
        many("INSERT INTO windrow_band VALUES (?, ?, ?)", rows)
        self._signed = {one.id: one for one in coming}
        for one in coming:
            self._push(one.place)
        for band, hub in hubs.items():
            first = self._hub(band)
            if first is not None and first != hub:
                self._push(first)
                self._push_rest(band, first)
        while self._waiting:
            self._look(self._one(heapq.heappop(self._waiting)[1]))
        return self.changed

    def _push(self, place: Place) -> None:
        if place not in self._queued:
            self._queued.add(place)
            heapq.heappush(self._waiting, place)

    def _push_rest(self, band: int, hub: Place) -> None:
        for rank, number in self._link.execute(_REST, (band, hub[0])):
            self._push((rank, number))

    def _look(self, one: SignedText) -> None:
        """Join one generation to the most similar it may be joined to, or to none."""
        own = bands(one.sketch)
        hubs = {hub for band in own if (hub := self._hub(band)) is not None and hub < one.place}
        firsts = {self._other(number) or number for _, number in hubs}
        alike = [(similarity(one.sketch, other.sketch), -other.rank, other.id) for other in map(self._one, firsts)]
        best = max((found for found in alike if found[0] >= ALIKE), default=None)
        before = self._other(one.id)
        if best is None:
            self._apart(one.id)
        else:
            self._link.execute(_JOIN, (one.id, best[2], round(best[0], 4)))
            self._joined[one.id] = best[2]
        if self._other(one.id) != before:
            self.changed |= {one.id} if before is None else {one.id, before}
            for band in own:
                if self._hub(band) == one.place:
                    self._push_rest(band, one.place)

    def _apart(self, number: int) -> None:
        before = self._other(number)
        if before is not None:
            self._link.execute("DELETE FROM windrow_near_duplicate WHERE generation_id = ?", (number,))
            self.changed |= {number, before}
        self._joined[number] = None

    def _hub(self, band: int) -> Place | None:
        if band not in self._hubs:
            self._hubs[band] = self._link.execute(_HUB, (band,)).fetchone()
        return self._hubs[band]

    def _other(self, number: int) -> int | None:
        if number not in self._joined:
            sql = "SELECT other_id FROM windrow_near_duplicate WHERE generation_id = ?"
            row = self._link.execute(sql, (number,)).fetchone()
            self._joined[number] = row[0] if row else None
        return self._joined[number]

    def _one(self, number: int) -> SignedText:
        if number not in self._signed:
            sql = "SELECT generation_id, rank, sketch FROM windrow_signature WHERE generation_id = ?"
            self._signed[number] = SignedText(*self._link.execute(sql, (number,)).fetchone())
        return self._signed[number]


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
        for member in sorted(self.members):
            groups.setdefault(self._root(member), []).append(self.members[member])
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


_DUPLICATE_MEMBERS = """
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
    wanted = _wanted(link.execute(_DUPLICATE_MEMBERS, (json.dumps(list(piles)),)))
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


BATCH = 1_000
"""Generations that are followed in one transaction."""


def follow(link: sqlite3.Connection, limit: int = BATCH) -> int:
    """Follow some of the generations that were touched, and return how many.

    Works within the transaction that is open on `link`: a generation is no longer touched in the same
    transaction that has what follows from it.
    """
    rows = link.execute("SELECT generation_id FROM windrow_touched ORDER BY generation_id LIMIT ?", (limit,)).fetchall()
    touched = {row[0] for row in rows}
    if touched:
        represent(link, touched | compare(link, touched))
        link.executemany("DELETE FROM windrow_touched WHERE generation_id = ?", rows)
    return len(rows)
