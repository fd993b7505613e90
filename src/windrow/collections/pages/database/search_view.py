"""The queries of a search on the Summary Database: versions of pages, their texts, and links to them."""

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
"""SQL that selects the address of the original if a version `g` is marked as a duplicate, otherwise null."""

BESIDE = """
LEFT JOIN mimetype m ON m.mimetype_id = g.mimetype_id
LEFT JOIN url c ON c.url_id = g.canonical_url_id
LEFT JOIN redirect_summary r ON r.entity_generation_id = g.entity_generation_id
LEFT JOIN url t ON t.url_id = r.to_url_id
"""
"""SQL that joins a version `g` with its media type `m`, canonical address `c`, redirect `r` and target `t`."""

_DESCRIPTION_COLUMNS = """
  n.marked_duplicate, n.text_pile_id, {said}.title, {said}.primary_headline, {said}.description,
  {said}.primary_language, {said}.time_created_unix_utc, {said}.time_updated_unix_utc,
  coalesce({said}.indexiness, 0) AS indexiness, {suspect} AS is_suspect, {file}.mimetype_id, {file}.canonical_url_id
"""
_ID_COLUMNS = "n.entity_generation_id, n.entity_generation_uuid, n.url_id, n.url_fragment"
_LATEST_VERSIONS = f"""
(SELECT n.entity_generation_id AS version_id, {_ID_COLUMNS}, {{first}} AS first_seen_unix_utc, n.last_seen_unix_utc,
  {{end}} AS confirmed_end_unix_utc, {_DESCRIPTION_COLUMNS.format(said="d", file="f", suspect="{suspect}")}, f.file_size
FROM entity_generation n LEFT JOIN document_description d ON d.entity_generation_id = n.entity_generation_id
LEFT JOIN file_summary f ON f.entity_generation_id = n.entity_generation_id)
"""
DAYS_KEPT = 14
"""The number of days for which searches find the text before one that is suspected (`soft_404s`)."""
MIN_TEXTS = 3
"""The minimum number of different texts that a suspected text must replace."""
_REPLACES_OFTEN = f"""
(SELECT count(*) FROM (SELECT 1 FROM entity_generation b JOIN entity_generation a ON a.url_id = b.url_id
  AND a.confirmed_end_unix_utc = b.first_seen_unix_utc
  WHERE b.text_pile_id = {{0}}.text_pile_id LIMIT {MIN_TEXTS})) = {MIN_TEXTS}
"""
WAS_REPLACED = f"""
(n.url_id = later.url_id AND later.first_seen_unix_utc - n.confirmed_end_unix_utc BETWEEN 0 AND {DAYS_KEPT * 86_400}
AND (n.confirmed_end_unix_utc = later.first_seen_unix_utc OR EXISTS (SELECT 1 FROM entity_generation notice
  WHERE notice.url_id = n.url_id AND notice.first_seen_unix_utc = n.confirmed_end_unix_utc
  AND {_REPLACES_OFTEN.format("notice")}))
AND NOT {_REPLACES_OFTEN.format("n")})
"""
"""SQL that tells whether the generation `later` replaced the text of the generation `n`.

Notices between them are skipped, as a notice that a site is closed may have other words each day. A text is a notice if
it replaced others at `MIN_TEXTS` addresses.
"""
IS_KEPT = f"""
EXISTS (SELECT 1 FROM entity_generation later
JOIN windrow_soft_404 s ON (s.generation_id, s.text_pile_id) = (later.entity_generation_id, later.text_pile_id)
WHERE later.confirmed_end_unix_utc IS NULL
AND later.last_seen_unix_utc - n.confirmed_end_unix_utc < {DAYS_KEPT * 86_400} AND {WAS_REPLACED})
"""
"""SQL that tells whether a generation `n` was replaced by a suspected one less than `DAYS_KEPT` days ago."""
_END = "n.confirmed_end_unix_utc"
PLAIN_GENERATIONS = _LATEST_VERSIONS.format(first="n.first_seen_unix_utc", end=_END, suspect=0)
"""SQL of a relation with the latest version of every generation. Each version begins when its generation began."""
_FIRST_SEEN = (
    "coalesce((SELECT max(p.confirmed_end_unix_utc) FROM windrow_past p"
    " WHERE p.entity_generation_id = n.entity_generation_id), n.first_seen_unix_utc)"
)
LATEST = _LATEST_VERSIONS.format(first=_FIRST_SEEN, end=_END, suspect=0)
"""SQL of a relation with the latest version of every generation.

Each begins when the version before it ended or, if there is none, when its generation began.
"""
_LATEST_WITH_SUSPECTS = _LATEST_VERSIONS.format(
    first=_FIRST_SEEN,
    end=f"CASE WHEN {_END} IS NULL OR {IS_KEPT} THEN NULL ELSE {_END} END",
    suspect="EXISTS (SELECT 1 FROM windrow_soft_404 s"
    " WHERE s.generation_id = n.entity_generation_id AND s.text_pile_id = n.text_pile_id)",
)
PAST = f"""
(SELECT -p.version_id AS version_id, {_ID_COLUMNS}, p.first_seen_unix_utc, p.last_seen_unix_utc,
  p.confirmed_end_unix_utc, {_DESCRIPTION_COLUMNS.format(said="w", file="w", suspect=0)}, NULL AS file_size
FROM windrow_past p JOIN entity_generation n ON n.entity_generation_id = p.entity_generation_id
JOIN windrow_wording w ON w.said = p.said)
"""
"""SQL of a relation with the past versions.

`PAST` and `LATEST` are queried one after the other, because SQLite would copy a view of both.
"""

_HAS_PAST = "SELECT count(*) FROM sqlite_master WHERE name = 'windrow_past'"


def version_relation(connection: sqlite3.Connection) -> str:
    """Return the SQL of a relation with all versions; a database from another tool has only the latest ones."""
    return "windrow_version" if connection.execute(_HAS_PAST).fetchone()[0] else PLAIN_GENERATIONS


class IndexedGeneration(NamedTuple):
    """A version with everything that is indexed. Times are UNIX seconds; `end` is None until the version ends.

    `kind` is its media type, as `type/subtype`, and `suffix` is the part after a `+`; each is None if it is missing.
    `id` is the generation's id if the version is the latest one of the generation, otherwise negative. `is_suspect` is
    true for a page that is suspected of being a soft 404 (`soft_404s`). `end` is also None while the version after it
    is suspected and has been there for less than `DAYS_KEPT` days. `is_retitled` is true for a duplicate that has
    another title, headline or description than its original.
    """

    id: int
    uuid: bytes
    url_id: int
    url: str
    host: str
    first_seen: int
    last_seen: int
    end: int | None
    is_duplicate: bool
    pile_id: int | None
    kind: str | None
    suffix: str | None
    canonical_id: int | None
    language: str | None
    title: str | None
    headline: str | None
    description: str | None
    created: int | None
    updated: int | None
    indexiness: int
    is_suspect: bool
    is_retitled: bool
    text: str
    secondary_text: str
    big_headlines: str
    small_headlines: str
    code_text: str
    quote_text: str


class IncomingLinks(NamedTuple):
    """The number of `pages` that link to a URL, and the `texts` of these links as (text, pages), most pages first."""

    pages: int
    texts: tuple[tuple[str, int], ...]


NO_LINKS = IncomingLinks(0, ())


MAX_LINKS_READ = 1_000
"""The maximum number of links to one URL that are read, chosen by the UUIDs of their pages. 200 pages give the best
score."""
MAX_LINK_TEXTS = 12
"""The maximum number of texts of links to one URL that are indexed."""

_IS_RETITLED = """
(g.marked_duplicate AND EXISTS (SELECT 1 FROM duplicate_summary x LEFT JOIN document_description original
  ON original.entity_generation_id = x.duplicate_of_entity_generation_id
  WHERE x.subject_entity_generation_id = g.entity_generation_id AND x.duplicate_status_end_unix_utc IS NULL
  AND (g.title <> coalesce(original.title, '') OR g.primary_headline <> coalesce(original.primary_headline, '')
    OR g.description <> coalesce(original.description, ''))))
"""
_FROM = """
FROM {versions} g
JOIN url u ON u.url_id = g.url_id
JOIN origin o ON o.origin_id = u.origin_id
LEFT JOIN mimetype m ON m.mimetype_id = g.mimetype_id
LEFT JOIN text_pile p ON p.text_pile_id = g.text_pile_id
"""
_COLUMNS = f"""
g.version_id, g.entity_generation_uuid, g.url_id, u.str_url, coalesce(o.host, ''),
g.first_seen_unix_utc, g.last_seen_unix_utc, g.confirmed_end_unix_utc, g.marked_duplicate, g.text_pile_id,
m.mime_type || '/' || m.mime_subtype, m.mime_suffix, g.canonical_url_id, g.primary_language, g.title,
g.primary_headline, g.description, g.time_created_unix_utc, g.time_updated_unix_utc, g.indexiness, g.is_suspect,
{_IS_RETITLED}
"""
_TEXT_COLUMNS = ", ".join(
    f"coalesce(p.{name}, '')"
    for name in ("text", "secondary_text", "big_headlines", "small_headlines", "code_text", "quote_text")
)
_FROM_WITHOUT_TEXTS, _EMPTY_TEXTS = _FROM.partition("LEFT JOIN text_pile")[0], "'', '', '', '', '', ''"
_SELECT_FINDABLE = f"""
SELECT {_COLUMNS}, {_EMPTY_TEXTS} {_FROM_WITHOUT_TEXTS} WHERE g.text_pile_id IS NOT NULL OR g.title IS NOT NULL
ORDER BY g.version_id"""
_SELECT_TEXTS = (
    "SELECT text_pile_id, substr(text, 1, ?) FROM text_pile WHERE text_pile_id IN (SELECT value FROM json_each(?))"
)
_WHERE_IDS = "WHERE g.version_id IN (SELECT value FROM json_each(?))"
# Texts of links on present pages; duplicates, links with `nofollow` and links of a page to itself are ignored.
_SELECT_LINK_TEXTS = """
SELECT l.text, g.url_id FROM link_summary l
JOIN entity_generation g ON g.entity_generation_id = l.entity_generation_id
WHERE l.link_to_url = ? AND g.confirmed_end_unix_utc IS NULL AND NOT g.marked_duplicate AND g.url_id <> l.link_to_url
AND l.text <> '' AND NOT l.rel_nofollow ORDER BY g.entity_generation_uuid, l.text LIMIT ?
"""
_SELECT_TARGETS = """
SELECT DISTINCT g.entity_generation_id FROM link_summary l JOIN entity_generation g ON g.url_id = l.link_to_url
WHERE l.entity_generation_id IN (SELECT value FROM json_each(?))
"""
_COUNT_COPIES = """
SELECT g.text_pile_id, count(DISTINCT g.url_id) FROM entity_generation g
WHERE g.text_pile_id IN (SELECT value FROM json_each(?)) AND {condition} GROUP BY 1
"""


_HAS_TABLE = "SELECT 1 FROM sqlite_master WHERE name = ?"
_SELECT_REPRESENTATIVES = """
SELECT generation_id, representative_id FROM windrow_representative
WHERE generation_id IN (SELECT value FROM json_each(?))
"""
# The URLs that the last attempt up to a time found missing or gone; attempts with an unknown result are ignored.
_SELECT_ABSENT = """
SELECT v.value FROM json_each(?1) v WHERE (
  SELECT o.sight FROM windrow_observation o WHERE o.url_id = v.value AND o.at <= ?2 AND o.sight <> 'unknown'
  ORDER BY o.at DESC, o.crawl_uuid DESC LIMIT 1) IN ('missing', 'gone')
"""
# The URLs whose first answer after a time differs in its links from their last answer before it. URLs with an answer at
# that time are left out. An answer 304 (same) has the links of the answer before it; the links of some answers are
# unknown. A part that came in place of a whole page is not an answer.
_IS_CONTENT = "(o.sight = 'content' OR o.sight = 'part' AND o.entity_generation_id IS NOT NULL)"
_SELECT_UNCERTAIN_LINKS = f"""
SELECT v.value FROM json_each(?1) v WHERE nullif((
  SELECT CASE o.sight WHEN 'same' THEN x'' ELSE o.linked END FROM windrow_observation o
  WHERE o.url_id = v.value AND o.at > ?2 AND ({_IS_CONTENT} OR o.sight = 'same')
  ORDER BY o.at, o.crawl_uuid LIMIT 1), x'')
<> (
  SELECT o.linked FROM windrow_observation o
  WHERE o.url_id = v.value AND o.at <= ?2 AND {_IS_CONTENT} AND o.linked <> x''
  ORDER BY o.at DESC, o.crawl_uuid DESC LIMIT 1)
AND NOT EXISTS (
  SELECT 1 FROM windrow_observation o WHERE o.url_id = v.value AND o.at = ?2 AND ({_IS_CONTENT} OR o.sight = 'same'))
"""
_COUNT_GROUPS = """
SELECT r.representative_id, count(DISTINCT g.url_id) FROM windrow_representative r
JOIN entity_generation g ON g.entity_generation_id = r.generation_id
WHERE r.representative_id IN (SELECT value FROM json_each(?)) AND g.confirmed_end_unix_utc IS NULL GROUP BY 1
"""


class SummaryReader:
    """Answers the queries of searches from one Summary Database."""

    def __init__(self, path: Path, functions: Mapping[str, Callable[..., str | int]] | None = None) -> None:
        """Open the file `path`. The SQL of searches can call `functions` by their names."""
        self._file = SqliteReader(path, functions)
        self._tables: set[str] = set()

    def read_transaction(self) -> AbstractContextManager[sqlite3.Connection]:
        """Run all queries that this thread makes in a `with` block in one read transaction."""
        return self._file.reading()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def read_findable(self) -> Iterator[IndexedGeneration]:
        """Yield the versions that have a text or a title, without their texts, sorted by id: past versions first."""
        with self._file.reading() as connection:
            for relation in self._list_relations(connection):
                for row in connection.execute(_SELECT_FINDABLE.format(versions=relation)):
                    yield IndexedGeneration._make(row)

    def read_versions(self, ids: Sequence[int], *, texts: bool = True) -> list[IndexedGeneration]:
        """Return the versions with these ids, in any order; without `texts`, their texts are empty."""
        sql = (
            f"SELECT {_COLUMNS}, {_TEXT_COLUMNS} {_FROM}"
            if texts
            else f"SELECT {_COLUMNS}, {_EMPTY_TEXTS} {_FROM_WITHOUT_TEXTS}"
        )
        versions = []
        with self._file.reading() as connection:
            for relation in self._list_relations(connection):
                ids_in_relation = [id_ for id_ in ids if (id_ < 0) is (relation is PAST)]
                if ids_in_relation:
                    rows = connection.execute(f"{sql.format(versions=relation)} {_WHERE_IDS}", (str(ids_in_relation),))
                    versions += [IndexedGeneration._make(row) for row in rows]
        return versions

    def list_relations(self) -> tuple[str, ...]:
        """Return the SQL of the relations with versions: past ones, if the database has them, then latest ones."""
        with self._file.reading() as connection:
            return self._list_relations(connection)

    def _list_relations(self, connection: sqlite3.Connection) -> tuple[str, ...]:
        if not self._has(connection, "windrow_past"):
            return (PLAIN_GENERATIONS,)
        has_suspects = self._has(connection, "windrow_soft_404")
        return (PAST, _LATEST_WITH_SUSPECTS if has_suspects else LATEST)

    def read_texts(self, pile_ids: Iterable[int], max_characters: int) -> dict[int, str]:
        """Return a dict from the id of each pile to the first `max_characters` of its main text."""
        with self._file.reading() as connection:
            return dict(connection.execute(_SELECT_TEXTS, (max_characters, str(list(pile_ids)))).fetchall())

    def read_links(self, url_ids: Iterable[int]) -> dict[int, IncomingLinks]:
        """Return a dict from the id of each URL to the links to it.

        Only links with a text and without `nofollow` count, and only those on other present pages that are not
        duplicates. At most `MAX_LINKS_READ` links to a URL are read.
        """
        links_by_url = {}
        with self._file.reading() as connection:
            for url_id in url_ids:
                rows = connection.execute(_SELECT_LINK_TEXTS, (url_id, MAX_LINKS_READ))
                links = {(" ".join(text.split()), page_url) for text, page_url in rows}
                counts = Counter(text for text, _ in links)
                ordered_texts = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
                page_count = len({page_url for _, page_url in links})
                links_by_url[url_id] = IncomingLinks(page_count, tuple(ordered_texts[:MAX_LINK_TEXTS]))
        return links_by_url

    def find_linked_generations(self, ids: Sequence[int]) -> set[int]:
        """Return the ids of all generations at the addresses to which the generations with these ids link."""
        with self._file.reading() as connection:
            return {int(row[0]) for row in connection.execute(_SELECT_TARGETS, (str(list(ids)),))}

    def count_copies(self, pile_ids: Iterable[int], condition: str, parameters: tuple[object, ...]) -> dict[int, int]:
        """Return a dict from the id of each pile to the number of URLs with its text.

        Only generations that match the SQL `condition` count; in it, they are called `g`. `parameters` are the values
        of its placeholders.
        """
        with self._file.reading() as connection:
            rows = connection.execute(_COUNT_COPIES.format(condition=condition), (str(list(pile_ids)), *parameters))
            return dict(rows.fetchall())

    def find_representatives(self, ids: Iterable[int]) -> dict[int, int]:
        """Return a dict from the id of each generation that is in a group to the id of its representative."""
        return self._query_groups(_SELECT_REPRESENTATIVES, ids)

    def count_group_urls(self, representatives: Iterable[int]) -> dict[int, int]:
        """Return a dict from the id of a representative to the number of URLs of present generations in its group."""
        return self._query_groups(_COUNT_GROUPS, representatives)

    def find_absent(self, url_ids: Iterable[int], as_of: int) -> set[int]:
        """Return the ids of URLs that were missing or gone at the last known result up to `as_of` (UNIX seconds)."""
        with self._file.reading() as connection:
            if not self._has(connection, "windrow_observation"):
                return set()
            return {row[0] for row in connection.execute(_SELECT_ABSENT, (str(list(url_ids)), as_of))}

    def find_uncertain_links(self, url_ids: Iterable[int], as_of: int) -> set[int]:
        """Return the ids of URLs whose links differ between the last crawl before `as_of` and the first one after it.

        `as_of` is in UNIX seconds. Only crawls that found the page count. A URL is left out if it was found at exactly
        this time, if the first crawl after it got a 304, which means the same links, or if its links are unknown.
        """
        with self._file.reading() as connection:
            if not self._has(connection, "windrow_past_link"):
                return set()
            return {row[0] for row in connection.execute(_SELECT_UNCERTAIN_LINKS, (str(list(url_ids)), as_of))}

    def has_past_links(self) -> bool:
        """Return whether the database has a table of past links; a database from another tool has none."""
        with self._file.reading() as connection:
            return self._has(connection, "windrow_past_link")

    def _query_groups(self, sql: str, ids: Iterable[int]) -> dict[int, int]:
        with self._file.reading() as connection:
            if not self._has(connection, "windrow_representative"):
                return {}
            return dict(connection.execute(sql, (str(sorted(ids)),)).fetchall())

    def _has(self, connection: sqlite3.Connection, table: str) -> bool:
        """Return whether one of windrow's own tables exists; databases from other tools do not have them."""
        if table not in self._tables and connection.execute(_HAS_TABLE, (table,)).fetchone() is not None:
            self._tables.add(table)
        return table in self._tables

    def select_ids(self, sql: str, parameters: tuple[object, ...]) -> tuple[int, ...]:
        """Return the ids of versions that an SQL query selects."""
        with self._file.reading() as connection:
            return tuple(row[0] for row in connection.execute(sql, parameters))
