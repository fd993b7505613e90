"""Read the versions of an address from a Summary Database, in chronological order, with their details."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from itertools import groupby, islice
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from windrow.collections.pages.database.search_view import BESIDE, LATEST, ORIGINAL, PAST, version_relation
from windrow.collections.pages.database.soft_404s import HAS_TABLE
from windrow.stores.settled import ALL_NUMBERS, WRITTEN_ATTEMPTS
from windrow.stores.sqlite import SqliteReader


class PageVersion(NamedTuple):
    """A version of one address, with its details.

    Times are UNIX seconds; `end` is None until the version ends. `id` is the generation's id if the version is the
    latest one of the generation, otherwise negative. `kind` is the media type, `size` is in bytes, `redirect` is the
    target of a redirect. `original` is the address of the original if the version is marked as a duplicate.
    `copy_count` is the number of other addresses with the same text now. `word_count` is the number of different words
    in the text. `is_indexed` tells whether the full-text table has the text.
    """

    id: int
    generation: int
    uuid: bytes
    first_seen: int
    last_seen: int
    end: int | None
    pile_id: int | None
    title: str | None
    headline: str | None
    description: str | None
    language: str | None
    kind: str | None
    size: int | None
    canonical: str | None
    redirect: str | None
    original: str | None
    copy_count: int
    crawl_count: int
    link_count: int
    word_count: int
    is_indexed: bool

    @property
    def end_or_never(self) -> int:
        """The end, or a number greater than all times if the version has not ended."""
        return 2**62 if self.end is None else self.end


_VERSIONS = f"""
SELECT g.version_id, g.entity_generation_id, g.entity_generation_uuid, g.first_seen_unix_utc, g.last_seen_unix_utc,
  g.confirmed_end_unix_utc, g.text_pile_id, g.title, g.primary_headline, g.description, g.primary_language,
  m.mime_type || '/' || m.mime_subtype || coalesce('+' || m.mime_suffix, ''), g.file_size, c.str_url, t.str_url,
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
_SELECT_WITHOUT_COUNTS = f"""
SELECT g.url_id, g.version_id, g.entity_generation_id, g.entity_generation_uuid, g.first_seen_unix_utc,
  g.last_seen_unix_utc, g.confirmed_end_unix_utc, g.text_pile_id, g.title, g.primary_headline, g.description,
  g.primary_language,
  m.mime_type || '/' || m.mime_subtype || coalesce('+' || m.mime_suffix, ''), g.file_size, c.str_url, t.str_url,
  NULL, 0, 0, 0, 0, 0
FROM {{versions}} g
{BESIDE}
WHERE g.url_id IN (SELECT value FROM json_each(?)) AND g.url_fragment IS NULL
"""
"""Selects the versions of addresses, without originals and with 0 in the counted columns."""
_SELECT_TEXTS = (
    "SELECT text_pile_id, text, secondary_text FROM text_pile WHERE text_pile_id IN (SELECT value FROM json_each(?))"
)
# The first addresses in alphabetical order that now have a given text, except a given address.
_SELECT_URLS_WITH_TEXT = """
SELECT DISTINCT u.str_url FROM entity_generation g JOIN url u ON u.url_id = g.url_id
WHERE g.text_pile_id = ? AND g.confirmed_end_unix_utc IS NULL AND u.str_url <> ? ORDER BY 1 LIMIT ?
"""
# Pages with nearly the same text; either of two near-duplicates may be the one that was joined to the other.
_SELECT_NEAR_DUPLICATES = """
SELECT u.str_url, n.similarity FROM windrow_near_duplicate n
JOIN entity_generation g ON g.entity_generation_id = n.other_id JOIN url u ON u.url_id = g.url_id
WHERE n.generation_id = ?1
UNION SELECT u.str_url, n.similarity FROM windrow_near_duplicate n
JOIN entity_generation g ON g.entity_generation_id = n.generation_id JOIN url u ON u.url_id = g.url_id
WHERE n.other_id = ?1 ORDER BY 2 DESC, 1 LIMIT ?2
"""
_SELECT_REPRESENTATIVE = """
SELECT u.str_url FROM windrow_representative r JOIN entity_generation g ON g.entity_generation_id = r.representative_id
JOIN url u ON u.url_id = g.url_id WHERE r.generation_id = ? AND r.representative_id <> r.generation_id
"""
_COUNT_NEAR_TABLES = (
    "SELECT count(*) FROM sqlite_master WHERE name IN ('windrow_near_duplicate', 'windrow_representative')"
)
_SELECT_REASONS = """
SELECT o.entity_generation_id, o.attempt, o.reason FROM windrow_observation o
WHERE o.url_id = (SELECT url_id FROM url WHERE str_url = ?) AND (o.sight IN ('content', 'part') OR o.reason <> '')
ORDER BY o.at, o.crawl_uuid
"""
_SELECT_SUSPECT = "SELECT 1 FROM windrow_soft_404 WHERE (generation_id, text_pile_id) = (?, ?)"
_HAS_OBSERVATIONS = "SELECT count(*) FROM sqlite_master WHERE name = 'windrow_observation'"
_SELECT_URL_ID = "SELECT url_id FROM url WHERE str_url = ?"
_COUNT_BY_ORIGIN = """
SELECT count(DISTINCT g.url_id), coalesce(sum(g.confirmed_end_unix_utc IS NULL), 0), count(*),
  coalesce(sum(g.marked_duplicate AND g.confirmed_end_unix_utc IS NULL), 0)
FROM origin o JOIN url u ON u.origin_id = o.origin_id JOIN entity_generation g ON g.url_id = u.url_id
WHERE o.str_origin IN (SELECT value FROM json_each(?))
"""
_COUNT_ALL_ORIGINS = """
SELECT o.str_origin, c.open, c.versions FROM (
    SELECT u.origin_id, sum(g.confirmed_end_unix_utc IS NULL) AS open, count(*) AS versions
    FROM entity_generation g JOIN url u ON u.url_id = g.url_id GROUP BY u.origin_id
) c JOIN origin o ON o.origin_id = c.origin_id
"""


class NearDuplicate(NamedTuple):
    """A page with nearly the same text; `similarity` is from 0 to 1."""

    url: str
    similarity: float


class OriginCounts(NamedTuple):
    """Counts of addresses, present generations, all generations, and present generations marked as duplicates."""

    addresses: int
    open: int
    versions: int
    duplicates: int


class OriginCount(NamedTuple):
    """The numbers of present generations (`open`) and of all generations of an origin."""

    origin: str
    open: int
    versions: int


class VersionReader:
    """Reads the versions in one Summary Database."""

    def __init__(self, reader: SqliteReader) -> None:
        self._reader = reader

    def read_versions(self, url: str) -> list[PageVersion]:
        """Return the versions of a normalised address, oldest first; the list is empty for an unknown address."""
        with self._reader.reading() as connection:
            # The id is looked up first: with a join, SQLite would compute the versions of all addresses.
            url_id = connection.execute(_SELECT_URL_ID, (url,)).fetchone() or (None,)
            rows = connection.execute(_VERSIONS.format(versions=version_relation(connection)), url_id).fetchall()
        return [PageVersion._make((*row[:-1], bool(row[-1]))) for row in rows]

    def read_texts(self, pile_ids: list[int]) -> dict[int, tuple[str, str]]:
        """Return a dict from the id of each pile to its main text and its other text."""
        return {
            pile_id: (text, secondary_text)
            for pile_id, text, secondary_text in self._rows(_SELECT_TEXTS, (str(pile_ids),))
        }

    def list_copies(self, pile_id: int, url: str, limit: int) -> list[str]:
        """Return at most `limit` addresses other than `url` that now have the text of a pile."""
        return [row[0] for row in self._rows(_SELECT_URLS_WITH_TEXT, (pile_id, url, limit))]

    def find_near_duplicates(self, generation_id: int, limit: int) -> tuple[list[NearDuplicate], str]:
        """Return at most `limit` near-duplicates, the most similar first, and the address of the representative.

        The address is empty if the generation is not in a group, or is the representative itself.
        """
        if self._rows(_COUNT_NEAR_TABLES, ())[0][0] != 2:
            return [], ""
        near_duplicates = [NearDuplicate(*row) for row in self._rows(_SELECT_NEAR_DUPLICATES, (generation_id, limit))]
        representatives = self._rows(_SELECT_REPRESENTATIVE, (generation_id,))
        return near_duplicates, representatives[0][0] if representatives else ""

    def is_suspected(self, version: PageVersion) -> bool:
        """Return whether the latest version of a present page is suspected of being a soft 404 (`soft_404s`)."""
        if not self._rows(HAS_TABLE, ())[0][0]:
            return False
        return bool(self._rows(_SELECT_SUSPECT, (version.generation, version.pile_id)))

    def read_reasons(self, url: str) -> tuple[dict[int, str], dict[int, str]]:
        """Return the reasons of an address: those of its generations, by id, and those of other answers, by attempt.

        The reason of a generation is that of its last document: why the text is missing or incomplete, or why it is not
        the page that was requested; it may be empty. That of another answer tells why it is no document.
        """
        rows = self._rows(_SELECT_REASONS, (url,)) if self._rows(_HAS_OBSERVATIONS, ())[0][0] else []
        of_generations = {generation: reason for generation, _, reason in rows if generation is not None}
        return of_generations, {attempt: reason for generation, attempt, reason in rows if generation is None}

    def count_generations(self, origins: list[str]) -> OriginCounts:
        """Count the addresses and generations of `origins`, such as `https://a.example`."""
        return OriginCounts(*self._rows(_COUNT_BY_ORIGIN, (json.dumps(origins),))[0])

    def count_by_origin(self) -> list[OriginCount]:
        """Count the generations of each origin that has any."""
        return [OriginCount._make(row) for row in self._rows(_COUNT_ALL_ORIGINS, ())]

    def _rows(self, sql: str, parameters: tuple[object, ...]) -> list[tuple[Any, ...]]:
        with self._reader.reading() as connection:
            return connection.execute(sql, parameters).fetchall()


_URLS_PER_QUERY = 200
"""The maximum number of addresses whose versions are read at once."""

# Times are whole seconds: of two attempts in one second that saw the same version, only the first counts.
# Most visits see what the one before saw: only those at whose time a version begins or ends are read further.
_IS_SELECTED = """
o.attempt BETWEEN ?7 AND ?8 AND ({where}) AND EXISTS (
  SELECT 1 FROM entity_generation g WHERE g.url_id = o.url_id AND (
    o.at IN (g.first_seen_unix_utc, g.confirmed_end_unix_utc) OR EXISTS (
      SELECT 1 FROM windrow_past p WHERE p.entity_generation_id = g.entity_generation_id
      AND o.at IN (p.first_seen_unix_utc, p.confirmed_end_unix_utc))))
AND NOT EXISTS (
  SELECT 1 FROM windrow_observation earlier WHERE earlier.url_id = o.url_id AND earlier.at = o.at
  AND earlier.attempt < o.attempt AND earlier.entity_generation_id IS o.entity_generation_id)
"""
_SELECT_VISITS = f"""
SELECT o.url_id, u.str_url, o.at, o.entity_generation_id, o.attempt
FROM windrow_observation o JOIN url u ON u.url_id = o.url_id WHERE {_IS_SELECTED} ORDER BY o.url_id
"""
_FIRST_OF_NEWEST = f"""
SELECT o.attempt FROM windrow_observation o WHERE {_IS_SELECTED} ORDER BY o.attempt DESC LIMIT 1 OFFSET {{offset}}
"""
_COMPLETED_RANGE = "SELECT min(attempt), max(attempt) FROM windrow_completed WHERE session BETWEEN ? AND ?"
_HAS_SESSIONS = "SELECT count(*) FROM sqlite_master WHERE name = 'windrow_settled'"
HAS_COMPLETED = "SELECT count(*) FROM sqlite_master WHERE name = 'windrow_completed'"
"""The query for 1 if a database has the table of attempts that sessions read later than they were written, or 0."""
# Conditions for the attempts ?3 to ?4, which the sessions ?5 to ?6 wrote, in a database without and with that table.
_WRITTEN = "o.attempt BETWEEN ?3 AND ?4 AND ?5 <= ?6"
_WRITTEN_OR_COMPLETED = f"""
{_WRITTEN} AND NOT EXISTS (SELECT 1 FROM windrow_completed c WHERE c.attempt = o.attempt AND c.session > ?6)
OR o.attempt IN (SELECT attempt FROM windrow_completed WHERE session BETWEEN ?5 AND ?6)
"""


NO_NUMBERS = (1, 0)
"""An empty range: its first number is greater than its last."""


Period = tuple[int | None, int | None]
"""From when on and before when attempts are selected (UNIX seconds).

If the first is None, the period selects no attempts; if the second is None, it has no end.
"""
NO_PERIOD: Period = (None, None)


class Timeline(NamedTuple):
    """The versions of an address in chronological order, and the selected attempts.

    `visits` has each attempt by its time (UNIX seconds) and the generation that it saw, or None if it saw none.
    Attempts at whose time no version began or ended are not selected. If several attempts in one second saw the same
    version, only the first of them is selected.
    """

    url: str
    versions: list[PageVersion]
    visits: dict[tuple[int, int | None], int]


def _select_visits(
    connection: sqlite3.Connection, period: Period, attempts: tuple[int, int], sessions: tuple[int, int],
    shown_by: tuple[int, int],
) -> tuple[str, tuple[int, ...]]:  # fmt: skip
    """Return the condition of `_IS_SELECTED` for a choice of attempts, and the parameters of the query."""
    written = connection.execute(WRITTEN_ATTEMPTS, sessions).fetchone()
    has_completed = connection.execute(HAS_COMPLETED).fetchone()[0]
    condition = f"o.attempt BETWEEN ?1 AND ?2 OR {_WRITTEN_OR_COMPLETED if has_completed else _WRITTEN}"
    since, until = period
    if since is None:  # so that the index is read in the range of the wanted attempts alone
        completed = connection.execute(_COMPLETED_RANGE, sessions).fetchone() if has_completed else NO_NUMBERS
        ranges = [
            (first, last) for first, last in (attempts, written, completed) if first is not None and first <= last
        ]
        wanted = (min(first for first, _ in ranges), max(last for _, last in ranges)) if ranges else NO_NUMBERS
        shown_by = max(shown_by[0], wanted[0]), min(shown_by[1], wanted[1])
    parameters = [*attempts, *written, *sessions, *shown_by]
    if since is not None:
        parameters.append(since)
        condition += f" OR o.at >= ?{len(parameters)}"
    if until is not None:
        parameters.append(until)
        condition = f"({condition}) AND o.at < ?{len(parameters)}"
    return condition, tuple(parameters)


def first_of_newest(
    reader: SqliteReader, period: Period, sessions: tuple[int, int], shown_by: tuple[int, int], most: int
) -> int:
    """Return the first of the last `most` attempts that `read_timelines` selects, or 0 if there are fewer."""
    with reader.reading() as connection:
        if not connection.execute(_HAS_SESSIONS).fetchone()[0]:
            return 0
        condition, parameters = _select_visits(connection, period, NO_NUMBERS, sessions, shown_by)
        query = _FIRST_OF_NEWEST.format(where=condition, offset=most - 1)
        row = connection.execute(query, parameters).fetchone()
    return int(row[0]) if row else 0


def read_timelines(
    reader: SqliteReader,
    *,
    period: Period = NO_PERIOD,
    attempts: tuple[int, int] = NO_NUMBERS,
    sessions: tuple[int, int] = NO_NUMBERS,
    shown_by: tuple[int, int] = ALL_NUMBERS,
) -> Iterator[Timeline]:
    """Yield the timeline of each address that changed in an attempt in `period`, or in a range.

    `attempts` is a range of attempts, `sessions` is a range of sessions that wrote attempts. A range is (first, last)
    numbers, both included. An attempt that one session could not read, and a later one read, belongs to the later one.
    Of all these attempts, only those in `shown_by` and before the end of `period` are selected.
    For a database of another tool, nothing is yielded.
    """
    with reader.reading() as connection:
        if not connection.execute(_HAS_SESSIONS).fetchone()[0]:
            return
        condition, parameters = _select_visits(connection, period, attempts, sessions, shown_by)
        groups = groupby(connection.execute(_SELECT_VISITS.format(where=condition), parameters), itemgetter(0))
        visits_by_url = ((url_id, [row[1:] for row in rows]) for url_id, rows in groups)
        while visits_of_chunk := dict(islice(visits_by_url, _URLS_PER_QUERY)):
            url_ids = (json.dumps(list(visits_of_chunk)),)
            rows = [
                row
                for relation in (PAST, LATEST)
                for row in connection.execute(_SELECT_WITHOUT_COUNTS.format(versions=relation), url_ids)
            ]
            versions: dict[int, list[PageVersion]] = {}
            for url_id, *columns in rows:
                versions.setdefault(url_id, []).append(PageVersion._make(columns))
            for url_id, visits in visits_of_chunk.items():
                ordered_versions = sorted(versions.get(url_id, []), key=attrgetter("first_seen", "end_or_never", "id"))
                yield Timeline(visits[0][0], ordered_versions, {visit[1:3]: visit[3] for visit in visits})


def count_ended_attempts(reader: SqliteReader, attempts: tuple[int, int], code: int) -> int:
    """Count the attempts that ended with an `ExitCode`; `attempts` are (first number, last number), both included."""
    with reader.reading() as connection:
        sql = "SELECT count(*) FROM windrow_observation WHERE attempt BETWEEN ? AND ? AND exit_code = ?"
        return int(connection.execute(sql, (*attempts, code)).fetchone()[0])


# The last answer with a document, or in place of one, decides. A 304 has no reason of its own.
_COUNT_UNREAD = """
SELECT o.reason, count(*) FROM windrow_observation o
LEFT JOIN entity_generation g ON g.entity_generation_id = o.entity_generation_id
WHERE o.reason <> '' AND g.confirmed_end_unix_utc IS NULL AND NOT EXISTS (
  SELECT 1 FROM windrow_observation later
  WHERE later.url_id = o.url_id AND (later.at, later.crawl_uuid) > (o.at, o.crawl_uuid)
  AND (later.reason <> '' OR later.sight = 'content'
    OR o.entity_generation_id IS NULL AND later.sight IN ('missing', 'gone')))
GROUP BY o.reason
"""


def count_unread_documents(reader: SqliteReader) -> dict[str, int]:
    """Return the number of present documents for each reason.

    A reason tells why a document has no text or only a part of it, or why it is not the one that was requested. The
    result is empty for a database from another tool, which does not contain reasons.
    """
    with reader.reading() as connection:
        if not connection.execute(_HAS_OBSERVATIONS).fetchone()[0]:
            return {}
        return dict(connection.execute(_COUNT_UNREAD))
