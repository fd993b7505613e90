"""Read the versions of an address from a Summary Database, in the order of time, with their details."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby, islice
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from windrow.collections.pages.database.search_view import BESIDE, LATEST, ORIGINAL, PAST, versions
from windrow.stores.settled import WRITTEN_ATTEMPTS
from windrow.stores.sqlite import SqliteReader


class PageVersion(NamedTuple):
    """A version of one address: a text with a description. Times are UNIX seconds.

    `id` is the generation's for its latest version, and negative for past versions.

    `kind` is `type/subtype`, `redirect` the target of a redirect, `original` the address of which it is marked as a
    duplicate; `copies`, `crawls` and `links` are the numbers of other addresses with the same text now, of crawls and
    of links. `words` is the number of rows of its text in token_statistics; `indexed` tells whether the full-text
    table has it.
    """

    id: int
    generation: int
    uuid: bytes
    first: int
    last: int
    end: int | None
    pile: int | None
    title: str | None
    headline: str | None
    description: str | None
    language: str | None
    kind: str | None
    size: int | None
    canonical: str | None
    redirect: str | None
    original: str | None
    copies: int
    crawls: int
    links: int
    words: int
    indexed: bool

    @property
    def end_or_never(self) -> int:
        """Return the end; for an open version, a number greater than all times."""
        return 2**62 if self.end is None else self.end


_VERSIONS = f"""
SELECT g.version_id, g.entity_generation_id, g.entity_generation_uuid, g.first_seen_unix_utc, g.last_seen_unix_utc,
  g.confirmed_end_unix_utc, g.text_pile_id, g.title, g.primary_headline, g.description, g.primary_language,
  m.mime_type || '/' || m.mime_subtype, g.file_size, c.str_url, t.str_url,
  {ORIGINAL},
  (SELECT count(DISTINCT k.url_id) FROM entity_generation k
   WHERE k.text_pile_id = g.text_pile_id AND k.confirmed_end_unix_utc IS NULL AND k.url_id <> g.url_id),
  (SELECT count(*) FROM crawl_summary s WHERE s.entity_generation_id = g.entity_generation_id
   AND s.time_started_unix_utc BETWEEN g.first_seen_unix_utc AND g.last_seen_unix_utc),
  (SELECT count(*) FROM link_summary l WHERE l.entity_generation_id = g.entity_generation_id),
  (SELECT count(*) FROM token_statistics w WHERE w.text_pile_id = g.text_pile_id),
  EXISTS (SELECT 1 FROM full_text_entity_index_docsize z WHERE z.id = g.text_pile_id)
FROM {{versions}} g
{BESIDE}
WHERE g.url_id = ? AND g.url_fragment IS NULL
ORDER BY g.first_seen_unix_utc, coalesce(g.confirmed_end_unix_utc, 1 << 62), g.entity_generation_id, g.version_id > 0
"""
LIGHT = f"""
SELECT g.url_id, g.version_id, g.entity_generation_id, g.entity_generation_uuid, g.first_seen_unix_utc,
  g.last_seen_unix_utc, g.confirmed_end_unix_utc, g.text_pile_id, g.title, g.primary_headline, g.description,
  g.primary_language, m.mime_type || '/' || m.mime_subtype, g.file_size, c.str_url, t.str_url, NULL, 0, 0, 0, 0, 0
FROM {{versions}} g
{BESIDE}
WHERE g.url_id IN (SELECT value FROM json_each(?)) AND g.url_fragment IS NULL
"""
"""The versions of addresses without the counted columns."""
_TEXTS = (
    "SELECT text_pile_id, text, secondary_text FROM text_pile WHERE text_pile_id IN (SELECT value FROM json_each(?))"
)
# The first addresses, by name, that have a text now.
_ALIKE = """
SELECT DISTINCT u.str_url FROM entity_generation g JOIN url u ON u.url_id = g.url_id
WHERE g.text_pile_id = ? AND g.confirmed_end_unix_utc IS NULL AND u.str_url <> ? ORDER BY 1 LIMIT ?
"""
# Pages with nearly the same text, whichever of the two was joined to the other.
_NEAR = """
SELECT u.str_url, n.similarity FROM windrow_near_duplicate n
JOIN entity_generation g ON g.entity_generation_id = n.other_id JOIN url u ON u.url_id = g.url_id
WHERE n.generation_id = ?1
UNION SELECT u.str_url, n.similarity FROM windrow_near_duplicate n
JOIN entity_generation g ON g.entity_generation_id = n.generation_id JOIN url u ON u.url_id = g.url_id
WHERE n.other_id = ?1 ORDER BY 2 DESC, 1 LIMIT ?2
"""
_REPRESENTATIVE = """
SELECT u.str_url FROM windrow_representative r JOIN entity_generation g ON g.entity_generation_id = r.representative_id
JOIN url u ON u.url_id = g.url_id WHERE r.generation_id = ? AND r.representative_id <> r.generation_id
"""
_BESIDE = "SELECT count(*) FROM sqlite_master WHERE name IN ('windrow_near_duplicate', 'windrow_representative')"
_REASONS = """
SELECT o.entity_generation_id, o.reason FROM windrow_observation o
WHERE o.url_id = (SELECT url_id FROM url WHERE str_url = ?) AND o.reason <> '' AND o.entity_generation_id IS NOT NULL
ORDER BY o.at, o.crawl_uuid
"""
_OBSERVED = "SELECT count(*) FROM sqlite_master WHERE name = 'windrow_observation'"
_URL = "SELECT url_id FROM url WHERE str_url = ?"
_OF_ORIGIN = """
SELECT count(DISTINCT g.url_id), coalesce(sum(g.confirmed_end_unix_utc IS NULL), 0), count(*),
  coalesce(sum(g.marked_duplicate AND g.confirmed_end_unix_utc IS NULL), 0)
FROM origin o JOIN url u ON u.origin_id = o.origin_id JOIN entity_generation g ON g.url_id = u.url_id
WHERE o.str_origin IN (SELECT value FROM json_each(?))
"""


class NearDuplicate(NamedTuple):
    """A page with nearly the same text; `similarity` is from 0 to 1."""

    url: str
    similarity: float


class OriginCounts(NamedTuple):
    """Counts for some origins: addresses with a version, open versions, all versions, open duplicates."""

    addresses: int
    open: int
    versions: int
    duplicates: int


class Versions:
    """Reads the versions in one Summary Database."""

    def __init__(self, reader: SqliteReader) -> None:
        self._reader = reader

    def of(self, url: str) -> list[PageVersion]:
        """Return the versions of a normal address, oldest first; empty if the address is unknown."""
        with self._reader.reading() as connection:
            # The id is looked up first: with a join SQLite would compute the versions of all addresses.
            number = connection.execute(_URL, (url,)).fetchone()
            rows = connection.execute(_VERSIONS.format(versions=versions(connection)), number or (None,)).fetchall()
        return [PageVersion._make((*row[:-1], bool(row[-1]))) for row in rows]

    def texts(self, piles: list[int]) -> dict[int, tuple[str, str]]:
        """Return the main and the other text of each pile."""
        return {row[0]: (row[1], row[2]) for row in self._rows(_TEXTS, (str(piles),))}

    def alike(self, pile: int, url: str, most: int) -> list[str]:
        """Return at most `most` other addresses that have this text now."""
        return [row[0] for row in self._rows(_ALIKE, (pile, url, most))]

    def near(self, generation: int, most: int) -> tuple[list[NearDuplicate], str]:
        """Return near-duplicates, the most similar first, and the address of the representative, or an empty text."""
        if self._rows(_BESIDE, ())[0][0] != 2:
            return [], ""
        representatives = self._rows(_REPRESENTATIVE, (generation,))
        return [NearDuplicate(*row) for row in self._rows(_NEAR, (generation, most))], representatives[0][
            0
        ] if representatives else ""

    def reasons(self, url: str) -> dict[int, str]:
        """Return the ids of an address's generations without text, with the reason as named in the ledger."""
        return dict(self._rows(_REASONS, (url,))) if self._rows(_OBSERVED, ())[0][0] else {}

    def count(self, origins: list[str]) -> OriginCounts:
        """Count the addresses and versions of origins."""
        return OriginCounts(*self._rows(_OF_ORIGIN, (json.dumps(origins),))[0])

    def _rows(self, sql: str, parameters: tuple[object, ...]) -> list[tuple[Any, ...]]:
        with self._reader.reading() as connection:
            return connection.execute(sql, parameters).fetchall()


_CHUNK = 200
"""Addresses whose versions are read at once."""

# Times are whole seconds: of two attempts in one second that saw the same version, only the first counts.
_SEEN = """
SELECT o.url_id, u.str_url, o.at FROM windrow_observation o JOIN url u ON u.url_id = o.url_id
WHERE ({where}) AND NOT EXISTS (
  SELECT 1 FROM windrow_observation earlier WHERE earlier.url_id = o.url_id AND earlier.at = o.at
  AND earlier.attempt < o.attempt AND earlier.entity_generation_id IS o.entity_generation_id)
ORDER BY o.url_id
"""
_SETTLED = "SELECT count(*) FROM sqlite_master WHERE name = 'windrow_settled'"


NONE = (1, 0)
"""A range that contains no number."""


class Timeline(NamedTuple):
    """The versions of an address in the order of time, and the times (UNIX seconds) of its attempts in question.

    Of several attempts in one second that saw the same version, only the first counts.
    """

    url: str
    versions: list[PageVersion]
    visited: set[int]


def timelines(
    reader: SqliteReader,
    *,
    since: int | None = None,
    attempts: tuple[int, int] = NONE,
    sessions: tuple[int, int] = NONE,
) -> Iterator[Timeline]:
    """Yield the addresses visited since a time (UNIX seconds), or by an attempt in the range of numbers `attempts`.

    Attempts written by a session in the range `sessions` are included. For a database of another tool, nothing is
    yielded.
    """
    with reader.reading() as connection:
        if not connection.execute(_SETTLED).fetchone()[0]:
            return
        attempt_range = connection.execute(WRITTEN_ATTEMPTS, sessions).fetchone()
        parameters = (*attempts, *attempt_range, *(() if since is None else (since,)))
        condition = "o.attempt BETWEEN ? AND ? OR o.attempt BETWEEN ? AND ?" + (
            "" if since is None else " OR o.at >= ?"
        )
        groups = groupby(connection.execute(_SEEN.format(where=condition), parameters), itemgetter(0))
        visited = ((number, [(row[1], row[2]) for row in rows]) for number, rows in groups)
        while chunk := dict(islice(visited, _CHUNK)):
            url_ids = (json.dumps(list(chunk)),)
            rows = [
                row
                for relation in (PAST, LATEST)
                for row in connection.execute(LIGHT.format(versions=relation), url_ids)
            ]
            versions: dict[int, list[PageVersion]] = {}
            for row in rows:
                versions.setdefault(row[0], []).append(PageVersion._make(row[1:]))
            for number, attempts_seen in chunk.items():
                ordered = sorted(versions.get(number, []), key=attrgetter("first", "end_or_never", "id"))
                yield Timeline(attempts_seen[0][0], ordered, {at for _, at in attempts_seen})


def count_ended_attempts(reader: SqliteReader, attempts: tuple[int, int], code: int) -> int:
    """Count the attempts in a range of numbers that ended with an exit code."""
    with reader.reading() as connection:
        sql = "SELECT count(*) FROM windrow_observation WHERE attempt BETWEEN ? AND ? AND exit_code = ?"
        return int(connection.execute(sql, (*attempts, code)).fetchone()[0])
