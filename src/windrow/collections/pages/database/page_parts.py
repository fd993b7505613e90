"""What hangs on a generation: description, file, redirect, links of now and of before, its wording.

Each crawl that read the page has a hash of it, `said`. What a generation is described by is that of its last crawl;
what it was before is a version in `windrow_past`.

Each crawl that read a page has a hash of its links, `linked`. A set that a crawl of a generation saw and that is not
the generation's present one is kept in `windrow_past_link`, by its page, once however many crawls saw it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from windrow.collections.pages.database.entries import TextSummary, hash_of_links
from windrow.collections.pages.database.writer import Catalogue

TABLES = ("link_summary", "document_description", "file_summary", "redirect_summary")
"""What a reading fills, a generation's rows in each."""

_ROOM = 20_000
"""Kinds of links that are remembered."""

# A link's yes and no travel as the bits of one number, and empty texts for none: sqlite3 binds these fast.
_FLAGS = ",".join(f"?5 >> {bit} & 1" for bit in (15, 16, 17, *range(15), 18))
_LINK = (
    f"INSERT INTO link_summary VALUES (?1, ?2, ?3, nullif(?4, ''), {_FLAGS}, nullif(?6, -1), ?7, nullif(?8, ''), ?9)"
)


class _Shapes(dict[tuple[Any, ...], tuple[int, int, int, str]]):
    """What links are like, apart from their addresses and texts, as they are bound; the same again and again."""

    def __missing__(self, shape: tuple[Any, ...]) -> tuple[int, int, int, str]:
        nofollow, me, tag, location, headline, sort, locality, html = shape
        flags = location | nofollow << 15 | me << 16 | tag << 17 | headline << 18
        bound = (flags, -1 if sort is None else int(sort), int(locality), html)
        if len(self) >= _ROOM:
            self.clear()
        self[shape] = bound
        return bound


def addresses(summaries: Iterable[TextSummary]) -> Iterator[str]:
    """Yield every address that these readings name."""
    for summary in summaries:
        for link in summary.links:
            yield link[0]
        if summary.canonical:
            yield summary.canonical
        if summary.move:
            yield summary.move.url


class Readings:
    """Writes the rows of readings, gathered by table."""

    def __init__(self, link: sqlite3.Connection, catalogue: Catalogue) -> None:
        """Work within the transactions of this connection."""
        self._link = link
        self._catalogue = catalogue
        self._shapes = _Shapes()

    def write(self, told: Mapping[int, TextSummary], urls: Mapping[str, int]) -> None:
        """Write what stands for each of these generations, which have no such rows."""
        number = self._link.execute("SELECT coalesce(max(link_summary_id), 0) FROM link_summary").fetchone()[0]
        described, files, moves, links = [], [], [], []
        shapes = self._shapes
        for generation, one in told.items():
            if one.described:
                described.append((generation, *one.described))
            if one.file:
                mime = self._catalogue.mime(one.mime) if one.mime else None
                files.append((generation, one.size, mime, urls[one.canonical] if one.canonical else None))
            if one.move:
                moves.append((generation, urls[one.move.url], one.move.source, 0, one.move.fragment))
            for link in one.links:
                number += 1
                links.append((number, generation, urls[link[0]], link[1] or "", *shapes[link[2:10]], link[10]))
        run = self._link.executemany
        run("INSERT INTO document_description VALUES (?, ?, ?, ?, ?, ?, ?, ?)", described)
        run("INSERT INTO file_summary VALUES (?, ?, ?, ?)", files)
        run("INSERT INTO redirect_summary VALUES (?, ?, ?, ?, ?)", moves)
        run(_LINK, links)

    def clear(self, generations: Iterable[int]) -> None:
        """Remove the rows of these generations."""
        rows = [(generation,) for generation in generations]
        for table in TABLES:
            self._link.executemany(f"DELETE FROM {table} WHERE entity_generation_id = ?", rows)


HALF = 8
"""Bytes of `said` that tell versions apart; the others are of what may differ within one."""

_KEEP = "INSERT INTO windrow_wording VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
_PAST = """
SELECT version_id, entity_generation_id, first_seen_unix_utc, last_seen_unix_utc, confirmed_end_unix_utc, said
FROM windrow_past WHERE entity_generation_id IN (SELECT value FROM json_each(?))
"""


class PastVersion(NamedTuple):
    """A version of a generation before its present one, as a row of `windrow_past`."""

    version: int
    generation: int
    first: int
    last: int
    end: int
    said: bytes


class WordingSeen(NamedTuple):
    """One crawl of a generation: the number of its visit, its time, and the hash of what it read."""

    visit: int
    at: int
    said: bytes


def said(one: TextSummary | None) -> bytes:
    """Return the hash of what a page says of itself; empty where it was not read or may not be found.

    >>> said(TextSummary(b"", described=(None, None, None, "Tea", None, None, 0))).hex()
    'c7594fa4ae62fdcf1912050123e581b2'
    """
    if one is None or one.described is None:
        return b""
    *times, language, title, headline, description, indexiness = one.described
    mime = one.mime[:3] if one.mime else None
    return hashed((title, headline, description, language, mime, one.canonical), (*times, indexiness))


def hashed(shown: tuple[Any, ...], rest: tuple[Any, ...]) -> bytes:
    """Return the hash of what makes a version, and of everything."""
    return b"".join(
        blake2b(repr(told).encode("utf-8", "backslashreplace"), digest_size=HALF).digest()
        for told in (shown, (shown, rest))
    )


def keep(
    link: sqlite3.Connection, summaries: Iterable[TextSummary], urls: Mapping[str, int], catalogue: Catalogue
) -> None:
    """Put wordings on record; those that are known stay as they are."""
    rows = []
    for summary in summaries:
        if summary.described is not None:
            *times, language, title, headline, description, indexiness = summary.described
            mime = catalogue.mime(summary.mime) if summary.mime else None
            canonical = urls[summary.canonical] if summary.canonical else None
            rows.append((said(summary), title, headline, description, canonical, *times, language, indexiness, mime))
    link.executemany(_KEEP, rows)


def past(generation: int, seen: Sequence[WordingSeen]) -> Iterator[PastVersion]:
    """Yield the versions of a generation before its present one, from its crawls in the order of time.

    >>> seen = [WordingSeen(1, 10, b"title A"), WordingSeen(2, 20, b"title A"), WordingSeen(3, 30, b"title B")]
    >>> list(past(7, seen))
    [PastVersion(version=1, generation=7, first=10, last=20, end=30, said=b'title A')]
    """
    if len({one.said[:HALF] for one in seen if one.said}) < 2:
        return
    begin: WordingSeen | None = None
    latest, told = 0, b""
    for one in seen:
        if begin is not None and one.said and told and one.said[:HALF] != told[:HALF]:
            yield PastVersion(begin.visit, generation, begin.at, latest, one.at, told)
            begin = one
        begin, latest, told = begin or one, one.at, one.said or told


def known_past(link: sqlite3.Connection, generations: Iterable[int]) -> set[PastVersion]:
    """Return what is on record of some generations."""
    return {PastVersion(*row) for row in link.execute(_PAST, (json.dumps(list(generations)),))}


def record(link: sqlite3.Connection, before: set[PastVersion], now: set[PastVersion]) -> None:
    """Put the difference between two states on record."""
    link.executemany("DELETE FROM windrow_past WHERE version_id = ?", [(one.version,) for one in before - now])
    link.executemany("INSERT INTO windrow_past VALUES (?, ?, ?, ?, ?, ?)", sorted(now - before))


_INSERT = "INSERT OR IGNORE INTO windrow_past_link VALUES (?, ?, ?, ?)"
_DESCRIBED_BY = """
SELECT o.url_id, o.linked FROM windrow_reading r JOIN windrow_observation o ON o.visit = r.visit
WHERE r.entity_generation_id = ?
"""
_PRESENT = """
SELECT link_to_url, coalesce(text, '') FROM link_summary WHERE entity_generation_id = ?
"""
_HELD = "SELECT DISTINCT url_id, linked FROM windrow_past_link WHERE url_id IN (SELECT value FROM json_each(?))"
_PRUNE = """
DELETE FROM windrow_past_link WHERE url_id = ?1 AND linked NOT IN (
  SELECT o.linked FROM windrow_observation o
  LEFT JOIN windrow_reading r ON r.entity_generation_id = o.entity_generation_id
  LEFT JOIN windrow_observation d ON d.visit = r.visit
  WHERE o.url_id = ?1 AND o.sight = 'content' AND o.entity_generation_id IS NOT NULL
    AND o.linked <> coalesce(d.linked, x''))
"""


def linked(one: TextSummary | None) -> bytes:
    """Return the hash of a reading's links, empty where it was not read."""
    return b"" if one is None else one.linked or hash_of_links((link[0], link[10] or "") for link in one.links)


def keep_present(link: sqlite3.Connection, generations: Iterable[int]) -> None:
    """Keep the present links of generations before another reading takes their place."""
    for number in generations:
        row = link.execute(_DESCRIBED_BY, (number,)).fetchone()
        if row is None:
            continue
        url_id, known = row
        links = link.execute(_PRESENT, (number,)).fetchall()
        link.executemany(_INSERT, [(url_id, known, target, text) for target, text in links])


def keep_read(link: sqlite3.Connection, told: Iterable[tuple[int, TextSummary]], urls: Mapping[str, int]) -> None:
    """Keep the links of readings, each with the number of the address that was read."""
    for url_id, one in told:
        mark = linked(one)
        link.executemany(_INSERT, [(url_id, mark, urls[each[0]], each[10] or "") for each in one.links])


def prune(link: sqlite3.Connection, url_ids: Iterable[int]) -> None:
    """Remove the sets of links of addresses that are the present ones, or that no crawl has."""
    link.executemany(_PRUNE, [(url_id_,) for url_id_ in url_ids])


def held(link: sqlite3.Connection, url_ids: Iterable[int]) -> dict[int, set[bytes]]:
    """Return the hashes of past links that are kept of addresses; those without any are left out."""
    found: dict[int, set[bytes]] = {}
    for url_id, mark in link.execute(_HELD, (json.dumps(list(url_ids)),)):
        found.setdefault(url_id, set()).add(mark)
    return found
