"""The parts of a generation: its description, file, redirect, present and past links, and past descriptions.

A wording is what a page says about itself: title, headline, description and so on. For each crawl that read a page,
the column `said` of `windrow_observation` contains a hash of the wording. The latest content of a generation describes
it; earlier wordings are versions in `windrow_past`.

The column `linked` contains a hash of the page's links. A set of links that differs from the generation's present links
is stored once for each address in `windrow_past_link`.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from windrow.collections.pages.database.entries import TextSummary, hash_link_set
from windrow.collections.pages.database.writer import IdFinder

TABLES = ("link_summary", "document_description", "file_summary", "redirect_summary")
"""The tables with the parts of a generation."""

MAX_LINK_SHAPES = 20_000
"""The maximum number of entries in `_LinkShapes`. The cache is emptied before it exceeds this number."""
# Positions in a link of `TextSummary.links`; 2 to 9 are the shape, which is a key of `_LinkShapes`.
_URL: Final = 0
_FRAGMENT: Final = 1
_TEXT: Final = 10

# The flags of a link are bound as bits of one number, and empty texts are bound instead of None: that is faster.
_FLAGS = ",".join(f"?5 >> {bit} & 1" for bit in (15, 16, 17, *range(15), 18))
_INSERT_LINK = (
    f"INSERT INTO link_summary VALUES (?1, ?2, ?3, nullif(?4, ''), {_FLAGS}, nullif(?6, -1), ?7, nullif(?8, ''), ?9)"
)


class _LinkShapes(dict[tuple[Any, ...], tuple[int, int, int, str]]):
    """A cache of parameters for `_INSERT_LINK`: (flags, destination or -1, locality, HTML tag).

    The keys are links without address, fragment and text; most links of a site share a few keys.
    """

    def __missing__(self, shape: tuple[Any, ...]) -> tuple[int, int, int, str]:
        nofollow, is_me, is_tag, location, contains_headline, destination, locality, html_tag = shape
        flags = location | nofollow << 15 | is_me << 16 | is_tag << 17 | contains_headline << 18
        parameters = (flags, -1 if destination is None else int(destination), int(locality), html_tag)
        if len(self) >= MAX_LINK_SHAPES:
            self.clear()
        self[shape] = parameters
        return parameters


def list_named_urls(summaries: Iterable[TextSummary]) -> Iterator[str]:
    """Yield the addresses in summaries: targets of links, canonical addresses and targets of redirects."""
    for summary in summaries:
        for link in summary.links:
            yield link[0]
        if summary.canonical:
            yield summary.canonical
        if summary.move:
            yield summary.move.url


class PartsWriter:
    """Writes and deletes the rows of generations in `TABLES`."""

    def __init__(self, connection: sqlite3.Connection, id_finder: IdFinder) -> None:
        self._connection = connection
        self._id_finder = id_finder
        self._shapes = _LinkShapes()

    def write(self, summaries: Mapping[int, TextSummary], url_ids: Mapping[str, int]) -> None:
        """Write the rows of generations. They must not have rows yet.

        `summaries` is a dict from generation id to summary; `url_ids` has the id of each address in the summaries.
        """
        link_id = self._connection.execute("SELECT coalesce(max(link_summary_id), 0) FROM link_summary").fetchone()[0]
        descriptions, files, redirects, links = [], [], [], []
        shapes = self._shapes
        for generation_id, summary in summaries.items():
            if summary.described:
                descriptions.append((generation_id, *summary.described))
            if summary.file:
                mime_id = self._id_finder.get_mime_id(summary.mime) if summary.mime else None
                canonical_id = url_ids[summary.canonical] if summary.canonical else None
                files.append((generation_id, summary.size, mime_id, canonical_id))
            if summary.move:
                target_id = url_ids[summary.move.url]
                redirects.append((generation_id, target_id, summary.move.source, 0, summary.move.fragment))
            for link in summary.links:
                link_id += 1
                parameters = shapes[link[2:10]]
                links.append(
                    (link_id, generation_id, url_ids[link[_URL]], link[_FRAGMENT] or "", *parameters, link[_TEXT])
                )
        execute_many = self._connection.executemany
        execute_many("INSERT INTO document_description VALUES (?, ?, ?, ?, ?, ?, ?, ?)", descriptions)
        execute_many("INSERT INTO file_summary VALUES (?, ?, ?, ?)", files)
        execute_many("INSERT INTO redirect_summary VALUES (?, ?, ?, ?, ?)", redirects)
        execute_many(_INSERT_LINK, links)

    def clear(self, generation_ids: Iterable[int]) -> None:
        """Delete the rows of these generations in `TABLES`."""
        rows = [(generation_id,) for generation_id in generation_ids]
        for table in TABLES:
            self._connection.executemany(f"DELETE FROM {table} WHERE entity_generation_id = ?", rows)


VERSION_BYTES = 8
"""The number of leading bytes of a wording hash that identify a version. Other bytes may differ within a version."""

_INSERT_WORDING = "INSERT INTO windrow_wording VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
_SELECT_PAST_VERSIONS = """
SELECT version_id, entity_generation_id, first_seen_unix_utc, last_seen_unix_utc, confirmed_end_unix_utc, said
FROM windrow_past WHERE entity_generation_id IN (SELECT value FROM json_each(?))
"""


class PastVersion(NamedTuple):
    """A row of `windrow_past`: a version of a generation before its latest version. Times are UNIX seconds."""

    version: int
    generation: int
    first: int
    last: int
    end: int
    wording_hash: bytes


class WordingSeen(NamedTuple):
    """One crawl of a generation: the number of its attempt, its time (UNIX seconds), and the hash of the wording.

    The hash is empty if the page was not read, or if its summary has no description.
    """

    attempt: int
    seen_at: int
    wording_hash: bytes


def hash_wording(summary: TextSummary | None) -> bytes:
    """Return the hash of a page's wording, or empty bytes if `summary` is None or has no description.

    >>> hash_wording(TextSummary(b"", described=(None, None, None, "Tea", None, None, 0))).hex()
    'c7594fa4ae62fdcf1912050123e581b2'
    """
    if summary is None or summary.described is None:
        return b""
    *times, language, title, headline, description, indexiness = summary.described
    mime = summary.mime[:3] if summary.mime else None
    version_parts = (title, headline, description, language, mime, summary.canonical)
    return b"".join(
        blake2b(repr(parts).encode("utf-8", "backslashreplace"), digest_size=VERSION_BYTES).digest()
        for parts in (version_parts, (version_parts, (*times, indexiness)))
    )


def write_wordings(
    connection: sqlite3.Connection, summaries: Iterable[TextSummary], url_ids: Mapping[str, int], id_finder: IdFinder
) -> None:
    """Insert the wordings of summaries that the table `windrow_wording` does not contain yet."""
    rows = []
    for summary in summaries:
        if summary.described is not None:
            *times, language, title, headline, description, indexiness = summary.described
            mime_id = id_finder.get_mime_id(summary.mime) if summary.mime else None
            canonical_id = url_ids[summary.canonical] if summary.canonical else None
            rows.append((
                hash_wording(summary), title, headline, description, canonical_id, *times, language, indexiness, mime_id
            ))  # fmt: skip
    connection.executemany(_INSERT_WORDING, rows)


def find_past_versions(generation_id: int, crawls: Sequence[WordingSeen]) -> Iterator[PastVersion]:
    """Yield the versions of a generation before its latest version; `crawls` are its crawls, oldest first.

    >>> crawls = [WordingSeen(1, 10, b"title A"), WordingSeen(2, 20, b"title A"), WordingSeen(3, 30, b"title B")]
    >>> list(find_past_versions(7, crawls))
    [PastVersion(version=1, generation=7, first=10, last=20, end=30, wording_hash=b'title A')]
    """
    if len({crawl.wording_hash[:VERSION_BYTES] for crawl in crawls if crawl.wording_hash}) < 2:
        return
    first_crawl: WordingSeen | None = None
    last_seen, wording_hash = 0, b""
    for crawl in crawls:
        if (
            first_crawl is not None
            and crawl.wording_hash
            and wording_hash
            and crawl.wording_hash[:VERSION_BYTES] != wording_hash[:VERSION_BYTES]
        ):
            yield PastVersion(
                first_crawl.attempt, generation_id, first_crawl.seen_at, last_seen, crawl.seen_at, wording_hash
            )
            first_crawl = crawl
        first_crawl, last_seen = first_crawl or crawl, crawl.seen_at
        wording_hash = crawl.wording_hash or wording_hash


def read_past_versions(connection: sqlite3.Connection, generation_ids: Iterable[int]) -> set[PastVersion]:
    """Return the rows of `windrow_past` for these generations."""
    return {PastVersion(*row) for row in connection.execute(_SELECT_PAST_VERSIONS, (json.dumps(list(generation_ids)),))}


def update_past_versions(connection: sqlite3.Connection, old: set[PastVersion], new: set[PastVersion]) -> None:
    """Delete the rows of `windrow_past` that are only in `old`, and insert the versions that are only in `new`."""
    connection.executemany(
        "DELETE FROM windrow_past WHERE version_id = ?", [(version.version,) for version in old - new]
    )
    connection.executemany("INSERT INTO windrow_past VALUES (?, ?, ?, ?, ?, ?)", sorted(new - old))


_INSERT_PAST_LINK = "INSERT OR IGNORE INTO windrow_past_link VALUES (?, ?, ?, ?)"
_SELECT_DESCRIBING_CRAWL = """
SELECT o.url_id, o.linked FROM windrow_reading r JOIN windrow_observation o ON o.attempt = r.attempt
WHERE r.entity_generation_id = ?
"""
_SELECT_PRESENT_LINKS = """
SELECT link_to_url, coalesce(text, '') FROM link_summary WHERE entity_generation_id = ?
"""
_SELECT_PAST_LINK_HASHES = (
    "SELECT DISTINCT url_id, linked FROM windrow_past_link WHERE url_id IN (SELECT value FROM json_each(?))"
)
_DELETE_NEEDLESS_PAST_LINKS = """
DELETE FROM windrow_past_link WHERE url_id = ?1 AND linked NOT IN (
  SELECT o.linked FROM windrow_observation o
  LEFT JOIN windrow_reading r ON r.entity_generation_id = o.entity_generation_id
  LEFT JOIN windrow_observation d ON d.attempt = r.attempt
  WHERE o.url_id = ?1 AND o.sight IN ('content', 'part') AND o.entity_generation_id IS NOT NULL
    AND o.linked <> coalesce(d.linked, x''))
"""


def hash_links(summary: TextSummary | None) -> bytes:
    """Return the hash of a summary's links, or empty bytes if `summary` is None."""
    if summary is None:
        return b""
    return summary.linked or hash_link_set((link[_URL], link[_TEXT] or "") for link in summary.links)


def copy_present_links(connection: sqlite3.Connection, generation_ids: Iterable[int]) -> None:
    """Copy the present links of generations to `windrow_past_link`, before another reading replaces them.

    A generation that no reading describes is skipped.
    """
    for generation_id in generation_ids:
        row = connection.execute(_SELECT_DESCRIBING_CRAWL, (generation_id,)).fetchone()
        if row is None:
            continue
        url_id, links_hash = row
        links = connection.execute(_SELECT_PRESENT_LINKS, (generation_id,)).fetchall()
        connection.executemany(_INSERT_PAST_LINK, [(url_id, links_hash, target_id, text) for target_id, text in links])


def write_past_links(
    connection: sqlite3.Connection, summaries: Iterable[tuple[int, TextSummary]], url_ids: Mapping[str, int]
) -> None:
    """Write the links of summaries to `windrow_past_link`; each summary is given with the id of its page's address."""
    for url_id, summary in summaries:
        links_hash = hash_links(summary)
        rows = [(url_id, links_hash, url_ids[link[_URL]], link[_TEXT] or "") for link in summary.links]
        connection.executemany(_INSERT_PAST_LINK, rows)


def prune_past_links(connection: sqlite3.Connection, url_ids: Iterable[int]) -> None:
    """Delete past links of these addresses that are also present links, or that no crawl refers to."""
    connection.executemany(_DELETE_NEEDLESS_PAST_LINKS, [(url_id,) for url_id in url_ids])


def read_past_link_hashes(connection: sqlite3.Connection, url_ids: Iterable[int]) -> dict[int, set[bytes]]:
    """Return a dict from the id of each address that has past links to the hashes of these links."""
    hashes: dict[int, set[bytes]] = {}
    for url_id, links_hash in connection.execute(_SELECT_PAST_LINK_HASHES, (json.dumps(list(url_ids)),)):
        hashes.setdefault(url_id, set()).add(links_hash)
    return hashes
