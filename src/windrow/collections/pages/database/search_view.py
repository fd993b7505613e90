"""What a search reads of the Summary Database: generations, texts of pages, links to them."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

from windrow.collections.pages.database.version_sql import LATEST, PAST, PLAIN
from windrow.stores.sqlite import SqliteReader


class IndexedGeneration(NamedTuple):
    """Times are UNIX seconds; `kind` is `type/subtype`; texts are empty where there are none."""

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
    """Links to a URL: from how many pages, and what they call it, most frequent first."""

    pages: int
    texts: tuple[tuple[str, int], ...]


NO_LINKS = IncomingLinks(0, ())


LINKS = 1_000
"""Links to one URL that are looked at."""
CALLED = 12
"""Texts of links to one URL that are kept."""

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
# Pages as they are now, that call a URL something; their links to themselves say nothing.
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


_TOLD = "SELECT 1 FROM sqlite_master WHERE name = ?"
_GROUPED = """
SELECT generation_id, representative_id FROM windrow_representative
WHERE generation_id IN (SELECT value FROM json_each(?))
"""
# Pages that were asked for in vain between their last confirmation and a time.
_ABSENT = """
SELECT v.value FROM json_each(?1) v WHERE (
  SELECT o.sight FROM windrow_observation o WHERE o.url_id = v.value AND o.at <= ?2 AND o.sight <> 'unknown'
  ORDER BY o.at DESC, o.crawl_uuid DESC LIMIT 1) IN ('missing', 'gone')
"""
_OF_GROUP = """
SELECT r.representative_id, count(DISTINCT g.url_id) FROM windrow_representative r
JOIN entity_generation g ON g.entity_generation_id = r.generation_id
WHERE r.representative_id IN (SELECT value FROM json_each(?)) AND g.confirmed_end_unix_utc IS NULL GROUP BY 1
"""


def findable(page: IndexedGeneration) -> bool:
    """Say whether there is anything by which a generation can be found."""
    return page.pile is not None or page.title is not None


class SummaryReader:
    """A reader of one Summary Database."""

    def __init__(self, path: Path, functions: Mapping[str, Callable[..., str | int]] | None = None) -> None:
        """Take the file, and functions of one or two texts that the SQL of searches may call."""
        self._file = SqliteReader(path, functions)
        self._tables: set[str] = set()

    def held(self) -> AbstractContextManager[sqlite3.Connection]:
        """Read all that this thread asks within the block in one transaction, so that it sees one state."""
        return self._file.reading()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _read(self) -> AbstractContextManager[sqlite3.Connection]:
        return self._file.reading()

    def states(self) -> Iterator[IndexedGeneration]:
        """Yield every version that can be found, without its texts, in the order of ids."""
        with self._read() as link:
            for relation in self._relations(link):
                for row in link.execute(_STATES.format(versions=relation)):
                    yield IndexedGeneration._make(row)

    def generations(self, ids: Sequence[int], *, texts: bool = True) -> list[IndexedGeneration]:
        """Return versions, with or without their texts; those before the latest of a generation have ids below 0."""
        sql = f"SELECT {_COLUMNS}, {_WHOLE} {_FROM}" if texts else f"SELECT {_COLUMNS}, {_NONE} {_SHORT}"
        found = []
        with self._read() as link:
            for relation in self._relations(link):
                some = [id_ for id_ in ids if (id_ < 0) is (relation is PAST)]
                if some:
                    rows = link.execute(f"{sql.format(versions=relation)} {_AMONG}", (str(some),))
                    found += [IndexedGeneration._make(row) for row in rows]
        return found

    def relations(self) -> tuple[str, ...]:
        """Return what versions are selected from: those before the latest of each generation, then the latest."""
        with self._read() as link:
            return self._relations(link)

    def _relations(self, link: sqlite3.Connection) -> tuple[str, ...]:
        return (PAST, LATEST) if self._has(link, "windrow_past") else (PLAIN,)

    def texts(self, piles: Iterable[int], most: int) -> dict[int, str]:
        """Return the first `most` characters of the main text of each pile."""
        with self._read() as link:
            return {row[0]: row[1] for row in link.execute(_TEXTS, (most, str(list(piles))))}

    def links(self, urls: Iterable[int]) -> dict[int, IncomingLinks]:
        """Return what other pages call these URLs."""
        found = {}
        with self._read() as link:
            for url in urls:
                called = Counter(" ".join(row[0].split()) for row in link.execute(_LINKS, (url, LINKS)))
                ordered = sorted(called.items(), key=lambda pair: (-pair[1], pair[0]))
                found[url] = IncomingLinks(called.total(), tuple(ordered[:CALLED]))
        return found

    def targets(self, ids: Sequence[int]) -> set[int]:
        """Return the generations that these generations link to."""
        with self._read() as link:
            return {int(row[0]) for row in link.execute(_TARGETS, (str(list(ids)),))}

    def alike(self, piles: Iterable[int], known: str, values: tuple[object, ...]) -> dict[int, int]:
        """Count the URLs that have each of these texts, among the generations that the condition names."""
        with self._read() as link:
            rows = link.execute(_ALIKE.format(known=known), (str(list(piles)), *values))
            return {row[0]: row[1] for row in rows}

    def standing(self, ids: Iterable[int]) -> dict[int, int]:
        """Return which generation stands for the group of each, of those that are in one."""
        return self._paired(_GROUPED, ids)

    def sizes(self, standing: Iterable[int]) -> dict[int, int]:
        """Count the URLs of the groups that these generations stand for."""
        return self._paired(_OF_GROUP, standing)

    def absent(self, urls: Iterable[int], at: int) -> set[int]:
        """Return those of some URLs that were not there when they were asked for last before a time."""
        with self._read() as link:
            if not self._has(link, "windrow_observation"):
                return set()
            return {row[0] for row in link.execute(_ABSENT, (str(list(urls)), at))}

    def keeps_links(self) -> bool:
        """Say whether links of pages are kept as they were: a database of another maker has those of now."""
        with self._read() as link:
            return self._has(link, "windrow_past_link")

    def _paired(self, sql: str, ids: Iterable[int]) -> dict[int, int]:
        with self._read() as link:
            if not self._has(link, "windrow_representative"):
                return {}
            return {row[0]: row[1] for row in link.execute(sql, (str(sorted(ids)),))}

    def _has(self, link: sqlite3.Connection, table: str) -> bool:
        """Say whether a table of our own is there: a database of another maker has none."""
        if table not in self._tables and link.execute(_TOLD, (table,)).fetchone() is not None:
            self._tables.add(table)
        return table in self._tables

    def numbers(self, sql: str, values: tuple[object, ...]) -> tuple[int, ...]:
        """Run a search's SQL, which selects ids of versions."""
        with self._read() as link:
            return tuple(row[0] for row in link.execute(sql, values))
