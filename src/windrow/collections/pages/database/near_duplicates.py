"""Near-duplicates: open generations, on any site, whose main texts are nearly equal. They are marked, never removed.

All generations are ordered by a hash of text and address. The first of those with a common band is the hub of the
band. In this order, each generation is joined to the most similar of its bands' hubs, or of those that these are
joined to, if it is similar enough and not joined itself; otherwise it stays alone, and later ones may be joined to it.
So all generations of a cluster are joined to its first and similar to it, and the result depends only on the set of
generations, not on the order in which they came.

When a generation comes or goes, those whose hub it was or is are compared again, and those that depend on a changed
one. Since the order is a hash's, that is rare: a new generation is the first of n with probability 1/n, and then n
must be compared again.
"""

from __future__ import annotations

import heapq
import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple

from windrow.formats.near import (
    MAX_CHARACTERS,
    NEAR_DUPLICATE_SIMILARITY,
    estimate_similarity,
    make_sketch,
    split_bands,
)

_OPEN = f"""
SELECT g.entity_generation_id, p.blake2b512_digest, u.str_url, substr(p.text, 1, {MAX_CHARACTERS})
FROM entity_generation g JOIN text_pile p ON p.text_pile_id = g.text_pile_id JOIN url u ON u.url_id = g.url_id
WHERE g.entity_generation_id IN (SELECT value FROM json_each(?)) AND g.confirmed_end_unix_utc IS NULL
"""
_SIGNED = """
SELECT generation_id, rank, sketch FROM windrow_signature WHERE generation_id IN (SELECT value FROM json_each(?))
"""
_HUB = "SELECT rank, generation_id FROM windrow_band WHERE band = ? LIMIT 1"
_REST = "SELECT rank, generation_id FROM windrow_band WHERE band = ? AND rank > ?"
_JOIN = "INSERT OR REPLACE INTO windrow_near_duplicate VALUES (?, ?, ?)"

OrderKey = tuple[int, int]
"""Sort key of a generation: a hash of its text and address, and its id."""


class SignedText(NamedTuple):
    """A generation with the sketch of its text."""

    id: int
    order_hash: int
    sketch: bytes

    @property
    def order_key(self) -> OrderKey:
        """Return the sort key."""
        return self.order_hash, self.id


def update_near_duplicates(connection: sqlite3.Connection, touched: Iterable[int]) -> set[int]:
    """Update near-duplicates after these generations changed; return those whose near-duplicates changed.

    Works within the open transaction of `connection`.
    """
    touched_ids = json.dumps(sorted(touched))
    signed = {row[0]: SignedText(*row) for row in connection.execute(_SIGNED, (touched_ids,))}
    added, staying = _read_changes(connection, touched_ids, signed)
    leaving = [text for text in signed.values() if text.id not in staying]
    return _Comparison(connection).run(leaving, added)


def _read_changes(
    connection: sqlite3.Connection, touched_ids: str, signed: dict[int, SignedText]
) -> tuple[list[SignedText], set[int]]:
    """Return the texts that are new or changed, and the ids of unchanged ones."""
    added, staying = [], set()
    for number, digest, url, text in connection.execute(_OPEN, (touched_ids,)):
        rank = _hash_order(digest, url)
        if number in signed and signed[number].order_hash == rank:
            staying.add(number)
        elif text_sketch := make_sketch(text):
            added.append(SignedText(number, rank, text_sketch))
    return added, staying


def _hash_order(digest: bytes, url: str) -> int:
    return int.from_bytes(blake2b(digest + url.encode("utf-8", "replace"), digest_size=8).digest(), "big") >> 1


class _Comparison:
    """The comparison of one batch: a queue of generations to compare again, in their order."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._signed: dict[int, SignedText] = {}
        self._joined: dict[int, int | None] = {}
        self._hubs: dict[int, OrderKey | None] = {}
        self._queue: list[OrderKey] = []
        self._queued: set[OrderKey] = set()
        self.changed: set[int] = set()

    def run(self, removed: list[SignedText], added: list[SignedText]) -> set[int]:
        """Remove texts, add others, and compare all affected texts again; return the ids of changed ones."""
        affected = {band for text in (*removed, *added) for band in split_bands(text.sketch)}
        hubs = {band: self._hub(band) for band in affected}
        self._hubs.clear()
        execute_many = self._connection.executemany
        for text in removed:
            rows = [(band, *text.order_key) for band in split_bands(text.sketch)]
            execute_many("DELETE FROM windrow_band WHERE band = ? AND rank = ? AND generation_id = ?", rows)
            self._detach(text.id)
        execute_many("DELETE FROM windrow_signature WHERE generation_id = ?", [(text.id,) for text in removed])
        execute_many("INSERT INTO windrow_signature VALUES (?, ?, ?)", added)
        rows = sorted((band, *new.order_key) for new in added for band in split_bands(new.sketch))
        execute_many("INSERT INTO windrow_band VALUES (?, ?, ?)", rows)
        self._signed = {new.id: new for new in added}
        for text in added:
            self._enqueue(text.order_key)
        for band, hub in hubs.items():
            first_id = self._hub(band)
            if first_id is not None and first_id != hub:
                self._enqueue(first_id)
                self._enqueue_band(band, first_id)
        while self._queue:
            self._join_nearest(self._load(heapq.heappop(self._queue)[1]))
        return self.changed

    def _enqueue(self, order_key: OrderKey) -> None:
        if order_key not in self._queued:
            self._queued.add(order_key)
            heapq.heappush(self._queue, order_key)

    def _enqueue_band(self, band: int, hub: OrderKey) -> None:
        for rank, number in self._connection.execute(_REST, (band, hub[0])):
            self._enqueue((rank, number))

    def _join_nearest(self, text: SignedText) -> None:
        """Join a generation to the most similar one that it may be joined to, or to none."""
        own_bands = split_bands(text.sketch)
        hubs = {hub for band in own_bands if (hub := self._hub(band)) is not None and hub < text.order_key}
        hub_ids = {self._find_joined(number) or number for _, number in hubs}
        candidates = [
            (estimate_similarity(text.sketch, hub_text.sketch), -hub_text.order_hash, hub_text.id)
            for hub_text in map(self._load, hub_ids)
        ]
        best = max((candidate for candidate in candidates if candidate[0] >= NEAR_DUPLICATE_SIMILARITY), default=None)
        previous = self._find_joined(text.id)
        if best is None:
            self._detach(text.id)
        else:
            best_similarity, _, best_id = best
            self._connection.execute(_JOIN, (text.id, best_id, round(best_similarity, 4)))
            self._joined[text.id] = best_id
        if self._find_joined(text.id) != previous:
            self.changed |= {text.id} if previous is None else {text.id, previous}
            for band in own_bands:
                if self._hub(band) == text.order_key:
                    self._enqueue_band(band, text.order_key)

    def _detach(self, number: int) -> None:
        previous = self._find_joined(number)
        if previous is not None:
            self._connection.execute("DELETE FROM windrow_near_duplicate WHERE generation_id = ?", (number,))
            self.changed |= {number, previous}
        self._joined[number] = None

    def _hub(self, band: int) -> OrderKey | None:
        if band not in self._hubs:
            self._hubs[band] = self._connection.execute(_HUB, (band,)).fetchone()
        return self._hubs[band]

    def _find_joined(self, number: int) -> int | None:
        if number not in self._joined:
            sql = "SELECT other_id FROM windrow_near_duplicate WHERE generation_id = ?"
            row = self._connection.execute(sql, (number,)).fetchone()
            self._joined[number] = row[0] if row else None
        return self._joined[number]

    def _load(self, number: int) -> SignedText:
        if number not in self._signed:
            sql = "SELECT generation_id, rank, sketch FROM windrow_signature WHERE generation_id = ?"
            self._signed[number] = SignedText(*self._connection.execute(sql, (number,)).fetchone())
        return self._signed[number]


MIN_CANONICAL_SIMILARITY = 0.2
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
    """An open generation with the fields that decide its group and whether it may represent the group."""

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
        """Return a sort key: the lowest one is the best representative."""
        count = self.query.count("&") + 1 if self.query else 0
        return (not self.url.startswith("https:"), count, len(self.url), self.first, self.url)


def update_representatives(connection: sqlite3.Connection, changed: Iterable[int]) -> int:
    """Choose the representatives of these generations' present and former groups; return the number of changed rows.

    Works within the open transaction of `connection`.
    """
    groups, old_representatives, fresh = _Groups(connection), dict[int, int](), set(changed)
    while fresh:
        # Former members of a changed group are included too: their representative may have left.
        known_ids = old_representatives.keys() | groups.members.keys() | fresh
        groups.gather(fresh)
        member_ids = (json.dumps(sorted(groups.members.keys() | known_ids)),)
        old_representatives |= dict(connection.execute(_TOGETHER, member_ids).fetchall())
        fresh = old_representatives.keys() - known_ids - groups.members.keys()
    new_representatives: dict[int, int] = {}
    for group in groups.connected():
        if len(group) > 1:
            representative = _choose_representative(
                group, {old_representatives[member.id] for member in group if member.id in old_representatives}
            )
            new_representatives |= dict.fromkeys((member.id for member in group), representative)
    ungrouped = [(generation,) for generation in old_representatives if generation not in new_representatives]
    changes = [
        (generation, chosen_id)
        for generation, chosen_id in new_representatives.items()
        if old_representatives.get(generation) != chosen_id
    ]
    connection.executemany("DELETE FROM windrow_representative WHERE generation_id = ?", ungrouped)
    connection.executemany("INSERT OR REPLACE INTO windrow_representative VALUES (?, ?)", sorted(changes))
    return len(ungrouped) + len(changes)


def _choose_representative(group: list[GroupMember], before: set[int]) -> int:
    """Return the representative of a group; `old_representatives` are the former ones of its members."""
    named = {member.canonical for member in group if member.canonical not in {None, member.url_id}}
    staying = [member for member in group if member.id in before]
    if not any(member.url_id in named for member in staying):
        staying = [member for member in group if member.url_id in named] or staying
    return min(staying or group, key=lambda member: (member.url_id not in named, member.preference())).id


class _Groups:
    """Groups of generations, found by following connections in both directions."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._parents: dict[int, int] = {}
        self.members: dict[int, GroupMember] = {}

    def gather(self, ids: set[int]) -> None:
        """Add everything that is connected with these generations."""
        fresh = self._add(self._read_members(ids), ids)
        while fresh:
            parent_ids = {
                self._parents[generation] for generation in fresh if generation in self._parents
            } - self.members.keys()
            fresh_ids = (json.dumps(sorted(fresh)),)
            child_ids = {row[0] for sql in (_NEAR, _NAMING, _EQUAL) for row in self._connection.execute(sql, fresh_ids)}
            members = self._read_members(parent_ids | (child_ids - self.members.keys()))
            fresh = self._add(members, parent_ids | {member.id for member, parent in members if parent in fresh})

    def _add(self, members: list[tuple[GroupMember, int | None]], wanted_ids: set[int]) -> set[int]:
        added = [(member, parent) for member, parent in members if member.id in wanted_ids]
        self.members |= {member.id: member for member, _ in added}
        self._parents |= {member.id: parent for member, parent in added if parent is not None}
        return {member.id for member, _ in added}

    def connected(self) -> list[list[GroupMember]]:
        """Return the groups, each sorted by id."""
        groups: dict[int, list[GroupMember]] = {}
        for member in sorted(self.members):
            groups.setdefault(self._root(member), []).append(self.members[member])
        return list(groups.values())

    def _root(self, generation: int) -> int:
        """Follow parents to the last one; of a cycle return the lowest id."""
        path: list[int] = []
        while generation not in path:
            path.append(generation)
            if generation not in self._parents:
                return generation
            generation = self._parents[generation]
        return min(path[path.index(generation) :])

    def _read_members(self, ids: Collection[int]) -> list[tuple[GroupMember, int | None]]:
        """Read those generations that are open and have a text, each with its parent."""
        members = [GroupMember(*row) for row in self._connection.execute(_BY_ID, (json.dumps(sorted(ids)),))]
        named = {member.canonical for member in members if member.canonical is not None}
        rows = self._connection.execute(_BY_URL, (json.dumps(sorted(named)),))
        targets = {target.url_id: target for target in (GroupMember(*row) for row in rows)}
        short = {member.pile for member in members if member.sketch is None}
        first_of_pile: dict[int, int] = dict(self._connection.execute(_FIRST, (json.dumps(sorted(short)),)))
        return [(member, _find_parent(member, targets, first_of_pile)) for member in members]


def _find_parent(
    member: GroupMember, targets: Mapping[int, GroupMember], first_of_pile: Mapping[int, int]
) -> int | None:
    """Return the generation that this one is connected with: its canonical page, or else its near-duplicate."""
    target = targets.get(member.canonical) if member.canonical is not None else None
    if (
        target is not None
        and target.id != member.id
        and target.origin_id == member.origin_id
        and _is_plausible(member, target)
    ):
        return target.id
    near_id = member.near if member.sketch is not None else first_of_pile.get(member.pile)
    return near_id if near_id != member.id else None


def _is_plausible(member: GroupMember, target: GroupMember) -> bool:
    return (
        member.sketch is None
        or target.sketch is None
        or estimate_similarity(member.sketch, target.sketch) >= MIN_CANONICAL_SIMILARITY
    )


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


def update_duplicates(connection: sqlite3.Connection, piles: Sequence[int], at: int) -> None:
    """Update the duplicates of these text piles; `at` is the start or end time of changed rows."""
    originals = _find_originals(connection.execute(_DUPLICATE_MEMBERS, (json.dumps(list(piles)),)))
    ids = (json.dumps(list(originals)), json.dumps(list(piles)))
    claimed = dict(connection.execute(_CLAIMED, ids).fetchall())
    ended = [(subject, original) for subject, original in claimed.items() if originals.get(subject) != original]
    begun = [(subject, original) for subject, original in originals.items() if claimed.get(subject) != original]
    connection.executemany(_END, [(at, *pair) for pair in ended])
    connection.executemany("INSERT INTO duplicate_summary VALUES (?, ?, ?, NULL)", [(*pair, at) for pair in begun])
    mark = "UPDATE entity_generation SET marked_duplicate = ? WHERE entity_generation_id = ?"
    connection.executemany(mark, [(0, subject) for subject, _ in ended if subject not in originals])
    connection.executemany(mark, [(1, subject) for subject, _ in begun])


def _find_originals(members: Iterable[tuple[int, int, str, int]]) -> dict[int, int]:
    """Return the original of each duplicate: the first generation with the same text on the same origin."""
    originals: dict[int, int] = {}
    group: tuple[int, int] | None = None
    original = 0
    for pile, origin, _, generation in members:
        if group != (pile, origin):
            group, original = (pile, origin), generation
        else:
            originals[generation] = original
    return originals


BATCH = 1_000
"""Touched generations that are processed in one transaction."""


def follow(connection: sqlite3.Connection, limit: int = BATCH) -> int:
    """Update near-duplicates and representatives of some touched generations, and return how many.

    Works within the open transaction of `connection`, which removes the generations from `windrow_touched` too.
    """
    rows = connection.execute(
        "SELECT generation_id FROM windrow_touched ORDER BY generation_id LIMIT ?", (limit,)
    ).fetchall()
    touched = {row[0] for row in rows}
    if touched:
        update_representatives(connection, touched | update_near_duplicates(connection, touched))
        connection.executemany("DELETE FROM windrow_touched WHERE generation_id = ?", rows)
    return len(rows)
