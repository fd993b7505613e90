"""The queries of a search on the Summary Database: versions of pages, their texts, links to them."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

from windrow.stores.sqlite import SqliteReader

ORIGINAL = """
(SELECT ou.str_url FROM duplicate_summary x
 JOIN entity_generation og ON og.entity_generation_id = x.duplicate_of_entity_generation_id
 JOIN url ou ON ou.url_id = og.url_id
 WHERE x.subject_entity_generation_id = g.entity_generation_id AND x.duplicate_status_end_unix_utc IS NULL LIMIT 1)
"""
"""The address of which the version is marked as a duplicate, or null."""

BESIDE = """
LEFT JOIN mimetype m ON m.mimetype_id = g.mimetype_id
LEFT JOIN url c ON c.url_id = g.canonical_url_id
LEFT JOIN redirect_summary r ON r.entity_generation_id = g.entity_generation_id
LEFT JOIN url t ON t.url_id = r.to_url_id
"""
"""The media type `m`, canonical address `c`, and redirect `r` with target `t` of a version `g`."""

_DESCRIBED = """
  n.marked_duplicate, n.text_pile_id, {said}.title, {said}.primary_headline, {said}.description,
  {said}.primary_language, {said}.time_created_unix_utc, {said}.time_updated_unix_utc,
  coalesce({said}.indexiness, 0) AS indexiness, {file}.mimetype_id, {file}.canonical_url_id
"""
_OWN = "n.entity_generation_id, n.entity_generation_uuid, n.url_id, n.url_fragment"
_LAST = f"""
(SELECT n.entity_generation_id AS version_id, {_OWN}, {{first}} AS first_seen_unix_utc, n.last_seen_unix_utc,
  n.confirmed_end_unix_utc, {_DESCRIBED.format(said="d", file="f")}, f.file_size
FROM entity_generation n LEFT JOIN document_description d ON d.entity_generation_id = n.entity_generation_id
LEFT JOIN file_summary f ON f.entity_generation_id = n.entity_generation_id)
"""
PLAIN = _LAST.format(first="n.first_seen_unix_utc")
"""The latest version of every generation, in the columns of the view `windrow_version`, from its first sight on."""
LATEST = _LAST.format(
    first="coalesce((SELECT max(p.confirmed_end_unix_utc) FROM windrow_past p"
    " WHERE p.entity_generation_id = n.entity_generation_id), n.first_seen_unix_utc)"
)
"""The latest version of every generation, from the end of the version before on."""
PAST = f"""
(SELECT -p.version_id AS version_id, {_OWN}, p.first_seen_unix_utc, p.last_seen_unix_utc, p.confirmed_end_unix_utc,
  {_DESCRIBED.format(said="w", file="w")}, NULL AS file_size
FROM windrow_past p JOIN entity_generation n ON n.entity_generation_id = p.entity_generation_id
JOIN windrow_wording w ON w.said = p.said)
"""
"""The versions before the latest. Query `PAST` and `LATEST` one by one: SQLite would materialise a view of both."""

_PAST = "SELECT count(*) FROM sqlite_master WHERE name = 'windrow_past'"


def versions(connection: sqlite3.Connection) -> str:
    """Return the SQL relation of versions; in a database of another tool, it does not contain past versions."""
    return "windrow_version" if connection.execute(_PAST).fetchone()[0] else PLAIN


class IndexedGeneration(NamedTuple):
    """A version with everything that is indexed. Times are UNIX seconds; `kind` is `type/subtype`."""

    id: int
    uuid: bytes
    url_id: int
    url: str
    host: str
    first: int
    last: int
    end: int | None
    duplicate: bool
    pile: int | None
    kind: str | None
    suffix: str | None
    canonical: int | None
    language: str | None
    title: str | None
    headline: str | None
    description: str | None
    created: int | None
    updated: int | None
    indexiness: int
    text: str
    secondary: str
    big: str
    small: str
    code: str
    quote: str


class IncomingLinks(NamedTuple):
    """Links to a URL: the number of pages, and the link texts with their counts, most frequent first."""

    pages: int
    texts: tuple[tuple[str, int], ...]


NO_LINKS = IncomingLinks(0, ())


LINKS = 1_000
"""Most links to one URL that are read."""
CALLED = 12
"""Most texts of links to one URL that are kept."""

_FROM = """
FROM {versions} g
JOIN url u ON u.url_id = g.url_id
JOIN origin o ON o.origin_id = u.origin_id
LEFT JOIN mimetype m ON m.mimetype_id = g.mimetype_id
LEFT JOIN text_pile p ON p.text_pile_id = g.text_pile_id
"""
_COLUMNS = """
g.version_id, g.entity_generation_uuid, g.url_id, u.str_url, coalesce(o.host, ''),
g.first_seen_unix_utc, g.last_seen_unix_utc, g.confirmed_end_unix_utc, g.marked_duplicate, g.text_pile_id,
m.mime_type || '/' || m.mime_subtype, m.mime_suffix, g.canonical_url_id, g.primary_language, g.title,
g.primary_headline, g.description, g.time_created_unix_utc, g.time_updated_unix_utc, g.indexiness
"""
_WHOLE = ", ".join(
    f"coalesce(p.{name}, '')"
    for name in ("text", "secondary_text", "big_headlines", "small_headlines", "code_text", "quote_text")
)
_SHORT, _NONE = _FROM.partition("LEFT JOIN text_pile")[0], "'', '', '', '', '', ''"
_STATES = f"""SELECT {_COLUMNS}, {_NONE} {_SHORT} WHERE g.text_pile_id IS NOT NULL OR g.title IS NOT NULL
ORDER BY g.version_id"""
_TEXTS = "SELECT text_pile_id, substr(text, 1, ?) FROM text_pile WHERE text_pile_id IN (SELECT value FROM json_each(?))"
_AMONG = "WHERE g.version_id IN (SELECT value FROM json_each(?))"
# Link texts on present pages; links of a page to itself are ignored.
_LINKS = """
SELECT l.text FROM link_summary l
JOIN entity_generation g ON g.entity_generation_id = l.entity_generation_id
WHERE l.link_to_url = ? AND g.confirmed_end_unix_utc IS NULL AND NOT g.marked_duplicate AND g.url_id <> l.link_to_url
AND l.text <> '' AND NOT l.rel_nofollow LIMIT ?
"""
_TARGETS = """
SELECT DISTINCT g.entity_generation_id FROM link_summary l JOIN entity_generation g ON g.url_id = l.link_to_url
WHERE l.entity_generation_id IN (SELECT value FROM json_each(?))
"""
_ALIKE = """
SELECT g.text_pile_id, count(DISTINCT g.url_id) FROM entity_generation g
WHERE g.text_pile_id IN (SELECT value FROM json_each(?)) AND {known} GROUP BY 1
"""


_HAS_TABLE = "SELECT 1 FROM sqlite_master WHERE name = ?"
_REPRESENTATIVES = """
SELECT generation_id, representative_id FROM windrow_representative
WHERE generation_id IN (SELECT value FROM json_each(?))
"""
# Pages whose last attempt before a time found nothing.
_ABSENT = """
SELECT v.value FROM json_each(?1) v WHERE (
  SELECT o.sight FROM windrow_observation o WHERE o.url_id = v.value AND o.at <= ?2 AND o.sight <> 'unknown'
  ORDER BY o.at DESC, o.crawl_uuid DESC LIMIT 1) IN ('missing', 'gone')
"""
_GROUP_SIZES = """
SELECT r.representative_id, count(DISTINCT g.url_id) FROM windrow_representative r
JOIN entity_generation g ON g.entity_generation_id = r.generation_id
WHERE r.representative_id IN (SELECT value FROM json_each(?)) AND g.confirmed_end_unix_utc IS NULL GROUP BY 1
"""


def is_findable(page: IndexedGeneration) -> bool:
    """Tell whether a generation has a text or title by which it can be found."""
    return page.pile is not None or page.title is not None


class SummaryReader:
    """A reader of one Summary Database."""

    def __init__(self, path: Path, functions: Mapping[str, Callable[..., str | int]] | None = None) -> None:
        """Read the file `path`; `functions` of one or two texts are registered for the SQL of searches."""
        self._file = SqliteReader(path, functions)
        self._tables: set[str] = set()

    def held(self) -> AbstractContextManager[sqlite3.Connection]:
        """Run all queries of this thread within the block in one read transaction."""
        return self._file.reading()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _read(self) -> AbstractContextManager[sqlite3.Connection]:
        return self._file.reading()

    def states(self) -> Iterator[IndexedGeneration]:
        """Yield every version that can be found, without its texts; first past ones, each part sorted by id."""
        with self._read() as connection:
            for relation in self._relations(connection):
                for row in connection.execute(_STATES.format(versions=relation)):
                    yield IndexedGeneration._make(row)

    def generations(self, ids: Sequence[int], *, texts: bool = True) -> list[IndexedGeneration]:
        """Return versions, with or without their texts; past versions of a generation have negative ids."""
        sql = f"SELECT {_COLUMNS}, {_WHOLE} {_FROM}" if texts else f"SELECT {_COLUMNS}, {_NONE} {_SHORT}"
        versions = []
        with self._read() as connection:
            for relation in self._relations(connection):
                ids_in_relation = [id_ for id_ in ids if (id_ < 0) is (relation is PAST)]
                if ids_in_relation:
                    rows = connection.execute(f"{sql.format(versions=relation)} {_AMONG}", (str(ids_in_relation),))
                    versions += [IndexedGeneration._make(row) for row in rows]
        return versions

    def relations(self) -> tuple[str, ...]:
        """Return the relations to select versions from: past versions, then the latest ones."""
        with self._read() as connection:
            return self._relations(connection)

    def _relations(self, connection: sqlite3.Connection) -> tuple[str, ...]:
        return (PAST, LATEST) if self._has(connection, "windrow_past") else (PLAIN,)

    def texts(self, piles: Iterable[int], most: int) -> dict[int, str]:
        """Return the first `most` characters of the main text of each pile."""
        with self._read() as connection:
            return {row[0]: row[1] for row in connection.execute(_TEXTS, (most, str(list(piles))))}

    def links(self, urls: Iterable[int]) -> dict[int, IncomingLinks]:
        """Return the links of other pages to these URLs."""
        incoming = {}
        with self._read() as connection:
            for url in urls:
                called = Counter(" ".join(row[0].split()) for row in connection.execute(_LINKS, (url, LINKS)))
                ordered = sorted(called.items(), key=lambda pair: (-pair[1], pair[0]))
                incoming[url] = IncomingLinks(called.total(), tuple(ordered[:CALLED]))
        return incoming

    def targets(self, ids: Sequence[int]) -> set[int]:
        """Return the generations that these generations link to."""
        with self._read() as connection:
            return {int(row[0]) for row in connection.execute(_TARGETS, (str(list(ids)),))}

    def alike(self, piles: Iterable[int], is_open: str, parameters: tuple[object, ...]) -> dict[int, int]:
        """Count the URLs with each of these texts, among generations that match the condition `is_open`."""
        with self._read() as connection:
            rows = connection.execute(_ALIKE.format(known=is_open), (str(list(piles)), *parameters))
            return {row[0]: row[1] for row in rows}

    def standing(self, ids: Iterable[int]) -> dict[int, int]:
        """Return the representative of each generation that is in a group."""
        return self._paired(_REPRESENTATIVES, ids)

    def sizes(self, representatives: Iterable[int]) -> dict[int, int]:
        """Count the URLs of the groups that these generations represent."""
        return self._paired(_GROUP_SIZES, representatives)

    def absent(self, urls: Iterable[int], at: int) -> set[int]:
        """Return those URLs that were missing or gone at their last attempt before a time."""
        with self._read() as connection:
            if not self._has(connection, "windrow_observation"):
                return set()
            return {row[0] for row in connection.execute(_ABSENT, (str(list(urls)), at))}

    def keeps_links(self) -> bool:
        """Tell whether the database has past links; a database of another tool has only present ones."""
        with self._read() as connection:
            return self._has(connection, "windrow_past_link")

    def _paired(self, sql: str, ids: Iterable[int]) -> dict[int, int]:
        with self._read() as connection:
            if not self._has(connection, "windrow_representative"):
                return {}
            return {row[0]: row[1] for row in connection.execute(sql, (str(sorted(ids)),))}

    def _has(self, connection: sqlite3.Connection, table: str) -> bool:
        """Tell whether one of our own tables exists; databases of other tools do not have them."""
        if table not in self._tables and connection.execute(_HAS_TABLE, (table,)).fetchone() is not None:
            self._tables.add(table)
        return table in self._tables

    def numbers(self, sql: str, parameters: tuple[object, ...]) -> tuple[int, ...]:
        """Run a search's SQL, which selects ids of versions."""
        with self._read() as connection:
            return tuple(row[0] for row in connection.execute(sql, parameters))
