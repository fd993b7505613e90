"""Near-duplicates: present generations, on any site, whose main texts are nearly equal. They are marked, never removed.

All generations are ordered by a hash of text and address. Of all generations that share a band (see
`windrow.formats.sketch`), the first is the hub of the band. In this order, each generation is compared with the hubs of
its bands, or with the generations that these hubs are joined to. It is joined to the most similar of them that is
similar enough and not joined itself; otherwise it is not joined, and generations after it may be joined to it. So all
generations of a cluster are joined to its first generation and similar to it, and the result depends only on the set of
generations, not on the order in which they were added.

When a generation is added or removed, all generations of the bands of which it is or was the hub are compared again,
and so are all that depend on a changed generation. That is rare, because the order is that of a hash: a new generation
is the first of n with probability 1/n, and only then must n be compared again.

This module also marks exact duplicates within an origin, and chooses the representatives of groups.
"""

from __future__ import annotations

import heapq
import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple

from windrow.formats.sketch import (
    MAX_CHARACTERS,
    NEAR_DUPLICATE_SIMILARITY,
    estimate_similarity,
    make_sketch,
    split_bands,
)

_SELECT_OPEN = f"""
SELECT g.entity_generation_id, p.blake2b512_digest, u.str_url, substr(p.text, 1, {MAX_CHARACTERS})
FROM entity_generation g JOIN text_pile p ON p.text_pile_id = g.text_pile_id JOIN url u ON u.url_id = g.url_id
WHERE g.entity_generation_id IN (SELECT value FROM json_each(?)) AND g.confirmed_end_unix_utc IS NULL
"""
_SELECT_SKETCHES = """
SELECT generation_id, rank, sketch FROM windrow_signature WHERE generation_id IN (SELECT value FROM json_each(?))
"""
_SELECT_HUB = "SELECT rank, generation_id FROM windrow_band WHERE band = ? LIMIT 1"
_SELECT_AFTER_HUB = "SELECT rank, generation_id FROM windrow_band WHERE band = ? AND rank > ?"
_SET_JOINED = "INSERT OR REPLACE INTO windrow_near_duplicate VALUES (?, ?, ?)"

OrderKey = tuple[int, int]
"""The sort key of a generation: a hash of its text and address, and its id."""


class SketchedText(NamedTuple):
    """A generation with the sketch of its text; `order_hash` is a hash of its text and address."""

    id: int
    order_hash: int
    sketch: bytes

    @property
    def order_key(self) -> OrderKey:
        """The sort key; the generation with the lowest key in a band is the band's hub."""
        return self.order_hash, self.id


def update_near_duplicates(connection: sqlite3.Connection, touched: Iterable[int]) -> set[int]:
    """Update near-duplicates after generations changed; return the ids of generations whose near-duplicates changed.

    `touched` are the ids of generations that were added, changed, ended or removed. Works within the open transaction.
    """
    touched_ids = json.dumps(sorted(touched))
    former_texts = {row[0]: SketchedText(*row) for row in connection.execute(_SELECT_SKETCHES, (touched_ids,))}
    added_texts, unchanged_ids = _read_changes(connection, touched_ids, former_texts)
    removed_texts = [text for text in former_texts.values() if text.id not in unchanged_ids]
    return _Comparison(connection).run(removed_texts, added_texts)


def _read_changes(
    connection: sqlite3.Connection, touched_ids: str, former_texts: dict[int, SketchedText]
) -> tuple[list[SketchedText], set[int]]:
    """Return the new or changed texts that are long enough for a sketch, and the ids of unchanged texts.

    `former_texts` is a dict from the id of each touched generation that has a sketch to its recorded text.
    """
    added_texts, unchanged_ids = [], set()
    for id_, digest, url, text in connection.execute(_SELECT_OPEN, (touched_ids,)):
        order_hash = _hash_order(digest, url)
        if id_ in former_texts and former_texts[id_].order_hash == order_hash:
            unchanged_ids.add(id_)
        elif text_sketch := make_sketch(text):
            added_texts.append(SketchedText(id_, order_hash, text_sketch))
    return added_texts, unchanged_ids


def _hash_order(digest: bytes, url: str) -> int:
    return int.from_bytes(blake2b(digest + url.encode("utf-8", "replace"), digest_size=8).digest(), "big") >> 1


class _Comparison:
    """Compares the texts of one batch. Generations to compare again are queued in the order of their keys."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._sketched_texts: dict[int, SketchedText] = {}  # a cache, by id
        self._joined: dict[int, int | None] = {}  # a cache: the id of the generation that each id is joined to
        self._hubs: dict[int, OrderKey | None] = {}  # a cache, by band
        self._queue: list[OrderKey] = []
        self._queued: set[OrderKey] = set()
        self.changed: set[int] = set()

    def run(self, removed_texts: list[SketchedText], added_texts: list[SketchedText]) -> set[int]:
        """Remove and add texts, and compare affected texts again.

        Return the ids of the generations that were joined or detached, and of the generations that they were joined to
        before.
        """
        affected_bands = {band for text in (*removed_texts, *added_texts) for band in split_bands(text.sketch)}
        former_hubs = {band: self._find_hub(band) for band in affected_bands}
        self._hubs.clear()
        execute_many = self._connection.executemany
        for text in removed_texts:
            rows = [(band, *text.order_key) for band in split_bands(text.sketch)]
            execute_many("DELETE FROM windrow_band WHERE band = ? AND rank = ? AND generation_id = ?", rows)
            self._detach(text.id)
        execute_many("DELETE FROM windrow_signature WHERE generation_id = ?", [(text.id,) for text in removed_texts])
        execute_many("INSERT INTO windrow_signature VALUES (?, ?, ?)", added_texts)
        rows = sorted((band, *new.order_key) for new in added_texts for band in split_bands(new.sketch))
        execute_many("INSERT INTO windrow_band VALUES (?, ?, ?)", rows)
        self._sketched_texts = {new.id: new for new in added_texts}
        for text in added_texts:
            self._enqueue(text.order_key)
        for band, former_hub in former_hubs.items():
            hub = self._find_hub(band)
            if hub is not None and hub != former_hub:
                self._enqueue(hub)
                self._enqueue_band(band, hub)
        while self._queue:
            self._join_nearest(self._load(heapq.heappop(self._queue)[1]))
        return self.changed

    def _enqueue(self, order_key: OrderKey) -> None:
        if order_key not in self._queued:
            self._queued.add(order_key)
            heapq.heappush(self._queue, order_key)

    def _enqueue_band(self, band: int, hub: OrderKey) -> None:
        for order_hash, id_ in self._connection.execute(_SELECT_AFTER_HUB, (band, hub[0])):
            self._enqueue((order_hash, id_))

    def _join_nearest(self, text: SketchedText) -> None:
        """Join a generation to the most similar earlier hub of its bands; detach it if none is similar enough.

        For a hub that is itself joined to another generation, that generation is compared instead. Generations that may
        depend on a change are queued.
        """
        own_bands = split_bands(text.sketch)
        hubs = {hub for band in own_bands if (hub := self._find_hub(band)) is not None and hub < text.order_key}
        hub_ids = {self._find_joined(hub_id) or hub_id for _, hub_id in hubs}
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
            self._connection.execute(_SET_JOINED, (text.id, best_id, round(best_similarity, 4)))
            self._joined[text.id] = best_id
        if self._find_joined(text.id) != previous:
            self.changed |= {text.id} if previous is None else {text.id, previous}
            for band in own_bands:
                if self._find_hub(band) == text.order_key:
                    self._enqueue_band(band, text.order_key)

    def _detach(self, id_: int) -> None:
        previous = self._find_joined(id_)
        if previous is not None:
            self._connection.execute("DELETE FROM windrow_near_duplicate WHERE generation_id = ?", (id_,))
            self.changed |= {id_, previous}
        self._joined[id_] = None

    def _find_hub(self, band: int) -> OrderKey | None:
        if band not in self._hubs:
            self._hubs[band] = self._connection.execute(_SELECT_HUB, (band,)).fetchone()
        return self._hubs[band]

    def _find_joined(self, id_: int) -> int | None:
        if id_ not in self._joined:
            sql = "SELECT other_id FROM windrow_near_duplicate WHERE generation_id = ?"
            row = self._connection.execute(sql, (id_,)).fetchone()
            self._joined[id_] = row[0] if row else None
        return self._joined[id_]

    def _load(self, id_: int) -> SketchedText:
        if id_ not in self._sketched_texts:
            sql = "SELECT generation_id, rank, sketch FROM windrow_signature WHERE generation_id = ?"
            self._sketched_texts[id_] = SketchedText(*self._connection.execute(sql, (id_,)).fetchone())
        return self._sketched_texts[id_]


SECONDS_PER_DAY = 86_400

MIN_CANONICAL_SIMILARITY = 0.2
"""The minimum similarity of a page to its canonical page. Some sites name the front page as canonical on every page."""

_IN_IDS = "IN (SELECT value FROM json_each(?))"
_SELECT_MEMBERS = f"""
SELECT g.entity_generation_id, g.url_id, u.origin_id, u.str_url, coalesce(u.query, ''), g.first_seen_unix_utc,
  g.text_pile_id, f.canonical_url_id, n.other_id, s.sketch
FROM entity_generation g JOIN url u ON u.url_id = g.url_id
LEFT JOIN file_summary f ON f.entity_generation_id = g.entity_generation_id
LEFT JOIN windrow_near_duplicate n ON n.generation_id = g.entity_generation_id
LEFT JOIN windrow_signature s ON s.generation_id = g.entity_generation_id
WHERE g.{{}} {_IN_IDS} AND g.confirmed_end_unix_utc IS NULL AND g.text_pile_id IS NOT NULL AND g.url_fragment IS NULL
"""
_SELECT_BY_ID, _SELECT_BY_URL = _SELECT_MEMBERS.format("entity_generation_id"), _SELECT_MEMBERS.format("url_id")
_SELECT_FIRST_OF_PILES = f"""
SELECT g.text_pile_id, g.entity_generation_id, min(u.str_url) FROM entity_generation g JOIN url u ON u.url_id = g.url_id
WHERE g.text_pile_id {_IN_IDS} AND g.confirmed_end_unix_utc IS NULL AND g.url_fragment IS NULL GROUP BY g.text_pile_id
"""
_SELECT_NEAR = f"SELECT generation_id FROM windrow_near_duplicate WHERE other_id {_IN_IDS}"
_SELECT_NAMING = f"""
SELECT f.entity_generation_id FROM entity_generation g JOIN file_summary f ON f.canonical_url_id = g.url_id
WHERE g.entity_generation_id {_IN_IDS}
"""
_SELECT_EQUAL = f"""
SELECT o.entity_generation_id FROM entity_generation g
JOIN entity_generation o ON o.text_pile_id = g.text_pile_id AND o.confirmed_end_unix_utc IS NULL
WHERE g.entity_generation_id {_IN_IDS}
AND g.entity_generation_id NOT IN (SELECT generation_id FROM windrow_signature)
"""
_SELECT_GROUPS = f"""
SELECT generation_id, representative_id FROM windrow_representative WHERE representative_id IN
  (SELECT representative_id FROM windrow_representative WHERE generation_id {_IN_IDS})
"""


class GroupMember(NamedTuple):
    """A generation that has not ended, with the fields that decide its group and whether it represents the group.

    `canonical_url_id` is the id of the address that it names as canonical. `near_id` is the id of the generation that
    it is joined to. `sketch` is None if its text is too short for a sketch.
    """

    id: int
    url_id: int
    origin_id: int
    url: str
    query: str
    first_seen: int
    pile_id: int
    canonical_url_id: int | None
    near_id: int | None
    sketch: bytes | None

    @property
    def host(self) -> str:
        """The host and port of its address."""
        return self.url.split("/", 3)[2]

    def preference(self) -> tuple[int, bool, int, int, int, str]:
        """Return a sort key: of the members at one host, the one with the lowest key is the best representative.

        The day on which a page was first seen (UTC) comes first, so that a representative stays the same when copies of
        it are found later.
        """
        day = self.first_seen // SECONDS_PER_DAY
        parameter_count = self.query.count("&") + 1 if self.query else 0
        return (day, not self.url.startswith("https:"), parameter_count, len(self.url), self.first_seen, self.url)


def update_representatives(connection: sqlite3.Connection, changed: Iterable[int]) -> int:
    """Choose the representatives of all present and former groups of the generations `changed`.

    Works within the open transaction of `connection`; returns the number of changed rows in `windrow_representative`.
    """
    groups, old_representatives, new_ids = _Groups(connection), dict[int, int](), set(changed)
    while new_ids:
        # Former members of a changed group are included too: their representative may be in another group now.
        known_ids = old_representatives.keys() | groups.members.keys() | new_ids
        groups.gather(new_ids)
        member_ids = (json.dumps(sorted(groups.members.keys() | known_ids)),)
        old_representatives |= dict(connection.execute(_SELECT_GROUPS, member_ids).fetchall())
        new_ids = old_representatives.keys() - known_ids - groups.members.keys()
    new_representatives: dict[int, int] = {}
    for group in groups.list_groups():
        if len(group) > 1:
            new_representatives |= dict.fromkeys((member.id for member in group), _choose_representative(group))
    ungrouped_rows = [(id_,) for id_ in old_representatives if id_ not in new_representatives]
    changed_rows = [
        (id_, chosen_id) for id_, chosen_id in new_representatives.items() if old_representatives.get(id_) != chosen_id
    ]
    connection.executemany("DELETE FROM windrow_representative WHERE generation_id = ?", ungrouped_rows)
    connection.executemany("INSERT OR REPLACE INTO windrow_representative VALUES (?, ?)", sorted(changed_rows))
    return len(ungrouped_rows) + len(changed_rows)


def _choose_representative(group: list[GroupMember]) -> int:
    """Return the id of a group's representative.

    A page that names another member as canonical stands for none, if there are others. Of the rest, the host is chosen
    at which the text was first seen: no copy on another site, and no canonical address there, stands for it. Of the
    pages at this host, it is the one with the lowest `preference` of those that others at the host name as canonical,
    or else of all. Only the members decide, and not who was chosen before, so the result does not depend on the order
    and the number of pages that are processed at a time.
    """
    url_ids = {member.url_id for member in group}
    named_ids = {member.id: {member.canonical_url_id} & (url_ids - {member.url_id}) for member in group}
    remaining = [member for member in group if not named_ids[member.id]] or group
    first_seen = min(member.first_seen for member in remaining)
    first_hosts = {member.host for member in remaining if member.first_seen == first_seen}
    own_pages = [member for member in remaining if member.host in first_hosts]
    canonical_ids = {(member.host, url_id) for member in group for url_id in named_ids[member.id]}
    candidates = [member for member in own_pages if (member.host, member.url_id) in canonical_ids] or own_pages
    return min(candidates, key=GroupMember.preference).id


class _Groups:
    """Groups of generations: a generation is in the group of its parent, which `_find_parent` returns."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._parents: dict[int, int] = {}
        self.members: dict[int, GroupMember] = {}

    def gather(self, ids: set[int]) -> None:
        """Add the generations `ids`, their ancestors, and all descendants of both to `members`."""
        added_ids = self._add(self._read_members(ids), ids)
        while added_ids:
            parent_ids = self._without_members(self._parents[id_] for id_ in added_ids if id_ in self._parents)
            parameters = (json.dumps(sorted(added_ids)),)
            child_queries = (_SELECT_NEAR, _SELECT_NAMING, _SELECT_EQUAL)
            rows = (row for sql in child_queries for row in self._connection.execute(sql, parameters))
            members = self._read_members(parent_ids | self._without_members(id_ for (id_,) in rows))
            added_ids = self._add(
                members, parent_ids | {member.id for member, parent_id in members if parent_id in added_ids}
            )

    def _without_members(self, ids: Iterable[int]) -> set[int]:
        # A difference with the keys of `members` takes time for each member, in each of the rounds.
        return {id_ for id_ in ids if id_ not in self.members}

    def _add(self, members: list[tuple[GroupMember, int | None]], wanted_ids: set[int]) -> set[int]:
        added_members = [(member, parent_id) for member, parent_id in members if member.id in wanted_ids]
        self.members |= {member.id: member for member, _ in added_members}
        self._parents |= {member.id: parent_id for member, parent_id in added_members if parent_id is not None}
        return {member.id for member, _ in added_members}

    def list_groups(self) -> list[list[GroupMember]]:
        groups: dict[int, list[GroupMember]] = {}
        roots: dict[int, int] = {}
        for id_ in sorted(self.members):
            groups.setdefault(self._find_root(id_, roots), []).append(self.members[id_])
        return list(groups.values())

    def _find_root(self, id_: int, roots: dict[int, int]) -> int:
        """Return the id of a generation's last ancestor; if its ancestors form a cycle, return the lowest id in it.

        `roots` has the results for the generations on former paths, and those for this path are added to it.
        """
        path: dict[int, None] = {}  # a set in the order of the path
        while id_ not in path and id_ not in roots and id_ in self._parents:
            path[id_] = None
            id_ = self._parents[id_]
        root = roots.get(id_, id_)
        if id_ in path:
            path_ids = list(path)
            root = min(path_ids[path_ids.index(id_) :])
        roots |= dict.fromkeys(path, root)
        return root

    def _read_members(self, ids: Collection[int]) -> list[tuple[GroupMember, int | None]]:
        """Return (generation, id of its parent or None) for the present generations with these ids that have a text."""
        members = [GroupMember(*row) for row in self._connection.execute(_SELECT_BY_ID, (json.dumps(sorted(ids)),))]
        canonical_ids = {member.canonical_url_id for member in members if member.canonical_url_id is not None}
        rows = self._connection.execute(_SELECT_BY_URL, (json.dumps(sorted(canonical_ids)),))
        targets = {target.url_id: target for target in (GroupMember(*row) for row in rows)}
        short_piles = {member.pile_id for member in members if member.sketch is None}  # too short for a sketch
        rows = self._connection.execute(_SELECT_FIRST_OF_PILES, (json.dumps(sorted(short_piles)),))
        first_of_pile: dict[int, int] = {pile_id: generation_id for pile_id, generation_id, _ in rows}
        return [(member, _find_parent(member, targets, first_of_pile)) for member in members]


def _find_parent(
    member: GroupMember, targets: Mapping[int, GroupMember], first_of_pile: Mapping[int, int]
) -> int | None:
    """Return the id of a generation's parent, or None if it has none.

    The parent is the page that it names as canonical, if that is on the same origin and plausible, otherwise the
    near-duplicate that it is joined to. For a text without a sketch, that of the generations with the same text whose
    address sorts first counts as the near-duplicate.
    """
    target = targets.get(member.canonical_url_id) if member.canonical_url_id is not None else None
    if (
        target is not None
        and target.id != member.id
        and target.origin_id == member.origin_id
        and _is_plausible(member, target)
    ):
        return target.id
    near_id = member.near_id if member.sketch is not None else first_of_pile.get(member.pile_id)
    return near_id if near_id != member.id else None


def _is_plausible(member: GroupMember, target: GroupMember) -> bool:
    """Return whether a page is similar enough to its canonical page; a text without a sketch must be the same."""
    if member.sketch is None or target.sketch is None:
        return member.pile_id == target.pile_id
    return estimate_similarity(member.sketch, target.sketch) >= MIN_CANONICAL_SIMILARITY


_SELECT_EQUAL_TEXTS = """
SELECT g.text_pile_id, u.origin_id, u.str_url, g.entity_generation_id
FROM entity_generation g JOIN url u ON u.url_id = g.url_id
WHERE g.text_pile_id IN (SELECT value FROM json_each(?)) AND g.confirmed_end_unix_utc IS NULL
ORDER BY g.text_pile_id, u.origin_id, u.str_url, g.entity_generation_id
"""
_SELECT_DUPLICATES = """
SELECT d.subject_entity_generation_id, d.duplicate_of_entity_generation_id FROM duplicate_summary d
WHERE d.duplicate_status_end_unix_utc IS NULL AND (
  d.subject_entity_generation_id IN (SELECT value FROM json_each(?1)) OR
  d.subject_entity_generation_id IN (
    SELECT entity_generation_id FROM entity_generation WHERE text_pile_id IN (SELECT value FROM json_each(?2))))
"""
_END_DUPLICATE = """
UPDATE duplicate_summary SET duplicate_status_end_unix_utc = max(?, duplicate_status_start_unix_utc)
WHERE subject_entity_generation_id = ? AND duplicate_of_entity_generation_id = ?
AND duplicate_status_end_unix_utc IS NULL
"""


def update_duplicates(connection: sqlite3.Connection, pile_ids: Sequence[int], now: int) -> None:
    """Update the duplicates among the present generations with the text piles `pile_ids`.

    New duplicates begin and former duplicates end at `now` (UNIX seconds).
    """
    originals = _find_originals(connection.execute(_SELECT_EQUAL_TEXTS, (json.dumps(list(pile_ids)),)))
    ids = (json.dumps(list(originals)), json.dumps(list(pile_ids)))
    recorded_originals = dict(connection.execute(_SELECT_DUPLICATES, ids).fetchall())
    ended_pairs = [pair for pair in recorded_originals.items() if pair not in originals.items()]
    new_pairs = [pair for pair in originals.items() if pair not in recorded_originals.items()]
    connection.executemany(_END_DUPLICATE, [(now, *pair) for pair in ended_pairs])
    connection.executemany("INSERT INTO duplicate_summary VALUES (?, ?, ?, NULL)", [(*pair, now) for pair in new_pairs])
    set_mark = "UPDATE entity_generation SET marked_duplicate = ? WHERE entity_generation_id = ?"
    connection.executemany(set_mark, [(0, duplicate) for duplicate, _ in ended_pairs if duplicate not in originals])
    connection.executemany(set_mark, [(1, duplicate) for duplicate, _ in new_pairs])


def _find_originals(rows: Iterable[tuple[int, int, str, int]]) -> dict[int, int]:
    """Return a dict from the id of each duplicate to that of its original: the first row with its pile and origin."""
    originals: dict[int, int] = {}
    group: tuple[int, int] | None = None  # pile and origin of the previous row
    original_id = 0
    for pile_id, origin_id, _, generation_id in rows:
        if group != (pile_id, origin_id):
            group, original_id = (pile_id, origin_id), generation_id
        else:
            originals[generation_id] = original_id
    return originals


GENERATIONS_PER_TRANSACTION = 1_000
"""The maximum number of generations in `windrow_touched` that are processed in one transaction."""


def update_touched(connection: sqlite3.Connection, limit: int = GENERATIONS_PER_TRANSACTION) -> int:
    """Update near-duplicates and representatives of at most `limit` generations in `windrow_touched`.

    Works within the open transaction of `connection`. Removes these generations from the table; returns their number.
    """
    rows = connection.execute(
        "SELECT generation_id FROM windrow_touched ORDER BY generation_id LIMIT ?", (limit,)
    ).fetchall()
    touched = {row[0] for row in rows}
    if touched:
        update_representatives(connection, touched | update_near_duplicates(connection, touched))
        connection.executemany("DELETE FROM windrow_touched WHERE generation_id = ?", rows)
    return len(rows)
