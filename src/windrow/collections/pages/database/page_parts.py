"""The parts of a generation: its description, file, redirect, present and past links, and past descriptions.

A wording is what a page says about itself: title, headline, description and so on. Each crawl that read a page has a
hash of the wording, `said`. The last crawl of a generation describes it; earlier wordings are versions in
`windrow_past`.

Each crawl that read a page has a hash of its links too, `linked`. A set of links that differs from the generation's
present one is kept once in `windrow_past_link`.
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
"""The tables that a reading fills with a generation's rows."""

_ROOM = 20_000
"""Most link shapes that are remembered."""

# The flags of a link are bound as bits of one number, and empty texts instead of None: sqlite3 binds these fast.
_FLAGS = ",".join(f"?5 >> {bit} & 1" for bit in (15, 16, 17, *range(15), 18))
_LINK = (
    f"INSERT INTO link_summary VALUES (?1, ?2, ?3, nullif(?4, ''), {_FLAGS}, nullif(?6, -1), ?7, nullif(?8, ''), ?9)"
)


class _LinkShapes(dict[tuple[Any, ...], tuple[int, int, int, str]]):
    """Bound parameters of links without their addresses and texts; most links of a site share a few of these."""

    def __missing__(self, shape: tuple[Any, ...]) -> tuple[int, int, int, str]:
        nofollow, is_own, tag, location, headline, sort, locality, html = shape
        flags = location | nofollow << 15 | is_own << 16 | tag << 17 | headline << 18
        bound = (flags, -1 if sort is None else int(sort), int(locality), html)
        if len(self) >= _ROOM:
            self.clear()
        self[shape] = bound
        return bound


def named_addresses(summaries: Iterable[TextSummary]) -> Iterator[str]:
    """Yield the addresses in summaries: links, canonical addresses and redirects."""
    for summary in summaries:
        for link in summary.links:
            yield link[0]
        if summary.canonical:
            yield summary.canonical
        if summary.move:
            yield summary.move.url


class ReadingWriter:
    """Writes the rows of readings, table by table."""

    def __init__(self, connection: sqlite3.Connection, catalogue: Catalogue) -> None:
        self._connection = connection
        self._catalogue = catalogue
        self._shapes = _LinkShapes()

    def write(self, summaries: Mapping[int, TextSummary], urls: Mapping[str, int]) -> None:
        """Write the rows of generations without rows, each from its summary; `urls` has the ids of all addresses."""
        number = self._connection.execute("SELECT coalesce(max(link_summary_id), 0) FROM link_summary").fetchone()[0]
        described, files, redirects, links = [], [], [], []
        shapes = self._shapes
        for generation, summary in summaries.items():
            if summary.described:
                described.append((generation, *summary.described))
            if summary.file:
                mime = self._catalogue.mime(summary.mime) if summary.mime else None
                files.append((generation, summary.size, mime, urls[summary.canonical] if summary.canonical else None))
            if summary.move:
                redirects.append((generation, urls[summary.move.url], summary.move.source, 0, summary.move.fragment))
            for link in summary.links:
                number += 1
                links.append((number, generation, urls[link[0]], link[1] or "", *shapes[link[2:10]], link[10]))
        execute = self._connection.executemany
        execute("INSERT INTO document_description VALUES (?, ?, ?, ?, ?, ?, ?, ?)", described)
        execute("INSERT INTO file_summary VALUES (?, ?, ?, ?)", files)
        execute("INSERT INTO redirect_summary VALUES (?, ?, ?, ?, ?)", redirects)
        execute(_LINK, links)

    def clear(self, generations: Iterable[int]) -> None:
        """Remove the rows of these generations."""
        rows = [(generation,) for generation in generations]
        for table in TABLES:
            self._connection.executemany(f"DELETE FROM {table} WHERE entity_generation_id = ?", rows)


VERSION_BYTES = 8
"""Leading bytes of a wording hash that tell versions apart; the rest covers what may differ within one version."""

_KEEP = "INSERT INTO windrow_wording VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
_PAST = """
SELECT version_id, entity_generation_id, first_seen_unix_utc, last_seen_unix_utc, confirmed_end_unix_utc, said
FROM windrow_past WHERE entity_generation_id IN (SELECT value FROM json_each(?))
"""


class PastVersion(NamedTuple):
    """A row of `windrow_past`: a version of a generation before its present one. Times are UNIX seconds."""

    version: int
    generation: int
    first: int
    last: int
    end: int
    wording_hash: bytes


class WordingSeen(NamedTuple):
    """One crawl of a generation: the number of its attempt, its time (UNIX seconds), and the hash of the wording."""

    attempt: int
    at: int
    wording_hash: bytes


def hash_wording(summary: TextSummary | None) -> bytes:
    """Return the hash of a page's wording; empty if the page was not read or must not be found.

    >>> hash_wording(TextSummary(b"", described=(None, None, None, "Tea", None, None, 0))).hex()
    'c7594fa4ae62fdcf1912050123e581b2'
    """
    if summary is None or summary.described is None:
        return b""
    *times, language, title, headline, description, indexiness = summary.described
    mime = summary.mime[:3] if summary.mime else None
    return hash_parts((title, headline, description, language, mime, summary.canonical), (*times, indexiness))


def hash_parts(shown: tuple[Any, ...], rest: tuple[Any, ...]) -> bytes:
    """Return the hash of `shown`, the parts that tell versions apart, followed by the hash of all parts."""
    return b"".join(
        blake2b(repr(parts).encode("utf-8", "backslashreplace"), digest_size=VERSION_BYTES).digest()
        for parts in (shown, (shown, rest))
    )


def write_wordings(
    connection: sqlite3.Connection, summaries: Iterable[TextSummary], urls: Mapping[str, int], catalogue: Catalogue
) -> None:
    """Write wordings; known ones stay unchanged."""
    rows = []
    for summary in summaries:
        if summary.described is not None:
            *times, language, title, headline, description, indexiness = summary.described
            mime = catalogue.mime(summary.mime) if summary.mime else None
            canonical = urls[summary.canonical] if summary.canonical else None
            rows.append(
                (hash_wording(summary), title, headline, description, canonical, *times, language, indexiness, mime)
            )
    connection.executemany(_KEEP, rows)


def find_past_versions(generation: int, seen: Sequence[WordingSeen]) -> Iterator[PastVersion]:
    """Yield the versions of a generation before its present one, from its crawls, oldest first.

    >>> seen = [WordingSeen(1, 10, b"title A"), WordingSeen(2, 20, b"title A"), WordingSeen(3, 30, b"title B")]
    >>> list(find_past_versions(7, seen))
    [PastVersion(version=1, generation=7, first=10, last=20, end=30, wording_hash=b'title A')]
    """
    if len({crawl.wording_hash[:VERSION_BYTES] for crawl in seen if crawl.wording_hash}) < 2:
        return
    first_crawl: WordingSeen | None = None
    last_seen, wording = 0, b""
    for crawl in seen:
        if (
            first_crawl is not None
            and crawl.wording_hash
            and wording
            and crawl.wording_hash[:VERSION_BYTES] != wording[:VERSION_BYTES]
        ):
            yield PastVersion(first_crawl.attempt, generation, first_crawl.at, last_seen, crawl.at, wording)
            first_crawl = crawl
        first_crawl, last_seen, wording = first_crawl or crawl, crawl.at, crawl.wording_hash or wording


def read_past_versions(connection: sqlite3.Connection, generations: Iterable[int]) -> set[PastVersion]:
    """Return the recorded past versions of generations."""
    return {PastVersion(*row) for row in connection.execute(_PAST, (json.dumps(list(generations)),))}


def update_past_versions(connection: sqlite3.Connection, before: set[PastVersion], now: set[PastVersion]) -> None:
    """Delete the past versions that are only in `before`, and insert those that are only in `now`."""
    connection.executemany(
        "DELETE FROM windrow_past WHERE version_id = ?", [(version.version,) for version in before - now]
    )
    connection.executemany("INSERT INTO windrow_past VALUES (?, ?, ?, ?, ?, ?)", sorted(now - before))


_INSERT = "INSERT OR IGNORE INTO windrow_past_link VALUES (?, ?, ?, ?)"
_DESCRIBED_BY = """
SELECT o.url_id, o.linked FROM windrow_reading r JOIN windrow_observation o ON o.attempt = r.attempt
WHERE r.entity_generation_id = ?
"""
_PRESENT = """
SELECT link_to_url, coalesce(text, '') FROM link_summary WHERE entity_generation_id = ?
"""
_PAST_LINK_HASHES = (
    "SELECT DISTINCT url_id, linked FROM windrow_past_link WHERE url_id IN (SELECT value FROM json_each(?))"
)
_PRUNE = """
DELETE FROM windrow_past_link WHERE url_id = ?1 AND linked NOT IN (
  SELECT o.linked FROM windrow_observation o
  LEFT JOIN windrow_reading r ON r.entity_generation_id = o.entity_generation_id
  LEFT JOIN windrow_observation d ON d.attempt = r.attempt
  WHERE o.url_id = ?1 AND o.sight = 'content' AND o.entity_generation_id IS NOT NULL
    AND o.linked <> coalesce(d.linked, x''))
"""


def hash_links(summary: TextSummary | None) -> bytes:
    """Return the hash of a summary's links; empty without a summary."""
    return (
        b"" if summary is None else summary.linked or hash_of_links((link[0], link[10] or "") for link in summary.links)
    )


def keep_present_links(connection: sqlite3.Connection, generations: Iterable[int]) -> None:
    """Copy the present links of generations to the past ones, before another reading replaces them."""
    for number in generations:
        row = connection.execute(_DESCRIBED_BY, (number,)).fetchone()
        if row is None:
            continue
        url_id, links_hash = row
        links = connection.execute(_PRESENT, (number,)).fetchall()
        connection.executemany(_INSERT, [(url_id, links_hash, target, text) for target, text in links])


def keep_read_links(
    connection: sqlite3.Connection, summaries: Iterable[tuple[int, TextSummary]], urls: Mapping[str, int]
) -> None:
    """Write the links of readings as past ones; each summary comes with the id of its address."""
    for url_id, summary in summaries:
        links_hash = hash_links(summary)
        connection.executemany(_INSERT, [(url_id, links_hash, urls[link[0]], link[10] or "") for link in summary.links])


def prune_past_links(connection: sqlite3.Connection, url_ids: Iterable[int]) -> None:
    """Remove those past links of addresses that are present ones, or that no crawl refers to."""
    connection.executemany(_PRUNE, [(url_id,) for url_id in url_ids])


def read_past_link_hashes(connection: sqlite3.Connection, url_ids: Iterable[int]) -> dict[int, set[bytes]]:
    """Return the hashes of the past links of addresses; addresses without any are left out."""
    hashes: dict[int, set[bytes]] = {}
    for url_id, links_hash in connection.execute(_PAST_LINK_HASHES, (json.dumps(list(url_ids)),)):
        hashes.setdefault(url_id, set()).add(links_hash)
    return hashes
