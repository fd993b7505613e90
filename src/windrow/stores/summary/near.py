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
from collections.abc import Iterable
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
