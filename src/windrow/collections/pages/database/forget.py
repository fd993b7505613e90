"""Remove addresses from a Summary Database: their versions with all details, and texts that no other version has.

Links of other pages to these addresses are kept, because they are parts of those pages. In a crawler database, the
files and redirects that the addresses returned are removed.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable

from windrow.collections.pages.database.fulltext_table import remove_texts
from windrow.stores.sqlite import empty_wal

_IN_IDS = "IN (SELECT value FROM json_each(?))"
_SELECT_BY_URL = f"SELECT url_id FROM url WHERE str_url {_IN_IDS}"
_SELECT_BY_ORIGIN = f"SELECT url_id FROM url JOIN origin USING (origin_id) WHERE str_origin {_IN_IDS}"
_COLLECT_REMOVED = (
    "CREATE TEMP TABLE removed AS SELECT entity_generation_id AS id, text_pile_id AS pile FROM entity_generation"
)
_REMOVED = "(SELECT id FROM temp.removed)"
# Tables with conditions: rows that refer to a generation are deleted before it. Windrow's own tables may be missing.
_DEPENDENT_ROWS = (
    (
        "http_summary",
        f"crawl_summary_id IN (SELECT crawl_summary_id FROM crawl_summary WHERE entity_generation_id IN {_REMOVED})",
    ),
    ("crawl_summary", f"entity_generation_id IN {_REMOVED}"),
    ("file_summary", f"entity_generation_id IN {_REMOVED}"),
    ("redirect_summary", f"entity_generation_id IN {_REMOVED}"),
    ("link_summary", f"entity_generation_id IN {_REMOVED}"),
    ("document_description", f"entity_generation_id IN {_REMOVED}"),
    (
        "duplicate_summary",
        f"subject_entity_generation_id IN {_REMOVED} OR duplicate_of_entity_generation_id IN {_REMOVED}",
    ),
    ("windrow_owed", f"entity_generation_id IN {_REMOVED}"),
    ("windrow_reading", f"entity_generation_id IN {_REMOVED}"),
    ("windrow_soft_404", f"generation_id IN {_REMOVED}"),
    ("windrow_past", f"entity_generation_id IN {_REMOVED}"),
)
_UNMARK_DUPLICATES = f"""
UPDATE entity_generation SET marked_duplicate = 0 WHERE entity_generation_id IN (
  SELECT subject_entity_generation_id FROM duplicate_summary
  WHERE duplicate_of_entity_generation_id IN {_REMOVED} AND duplicate_status_end_unix_utc IS NULL)
"""
_COLLECT_UNUSED_PILES = """
CREATE TEMP TABLE unused_pile AS SELECT DISTINCT pile FROM temp.removed
WHERE pile IS NOT NULL AND pile NOT IN (SELECT text_pile_id FROM entity_generation WHERE text_pile_id IS NOT NULL)
"""
_COLLECT_WORDS = """
CREATE TEMP TABLE word AS SELECT DISTINCT token_id AS id FROM token_statistics
WHERE text_pile_id IN (SELECT pile FROM temp.unused_pile)
"""
_COLLECT_LINKED_URLS = f"""
CREATE TEMP TABLE linked AS
SELECT link_to_url AS id FROM link_summary WHERE entity_generation_id IN {_REMOVED}
UNION SELECT canonical_url_id FROM file_summary WHERE entity_generation_id IN {_REMOVED}
  AND canonical_url_id IS NOT NULL
UNION SELECT to_url_id FROM redirect_summary WHERE entity_generation_id IN {_REMOVED}
"""
_DELETE_UNUSED_URLS = """
DELETE FROM url WHERE url_id IN (SELECT id FROM temp.linked)
AND NOT EXISTS (SELECT 1 FROM entity_generation g WHERE g.url_id = url.url_id)
AND NOT EXISTS (SELECT 1 FROM link_summary l WHERE l.link_to_url = url.url_id)
AND url_id NOT IN (SELECT canonical_url_id FROM file_summary WHERE canonical_url_id IS NOT NULL)
AND url_id NOT IN (SELECT to_url_id FROM redirect_summary)
"""
_COLLECT_WORDINGS = f"""
CREATE TEMP TABLE wording AS SELECT DISTINCT said FROM windrow_observation WHERE url_id {_IN_IDS} AND said <> x''
"""
_COLLECT_CANONICAL_URLS = (
    "INSERT INTO temp.linked SELECT canonical_url_id FROM windrow_wording WHERE said IN (SELECT said FROM temp.wording)"
)
_DELETE_UNUSED_WORDINGS = """
DELETE FROM windrow_wording
WHERE said IN (SELECT said FROM temp.wording EXCEPT SELECT said FROM windrow_observation)
"""
_UNLESS_CANONICAL = (
    "AND url_id NOT IN (SELECT canonical_url_id FROM windrow_wording WHERE canonical_url_id IS NOT NULL)"
)
_UNLESS_OBSERVED = "AND NOT EXISTS (SELECT 1 FROM windrow_observation o WHERE o.url_id = url.url_id)"
_UNLESS_LINKED = "AND NOT EXISTS (SELECT 1 FROM windrow_past_link p WHERE p.link_to_url = url.url_id)"
_DELETE_UNUSED_ORIGINS = "DELETE FROM origin WHERE origin_id NOT IN (SELECT origin_id FROM url)"


def forget_versions(connection: sqlite3.Connection, *, urls: Iterable[str] = (), origins: Iterable[str] = ()) -> int:
    """Remove all versions of `urls` and of all addresses at `origins`; return the number of removed generations.

    Their observations, and the texts, words, wordings, addresses and origins to which nothing refers any more, are
    removed too. Works within the open transaction of `connection`. The ids of the generations and their text piles are
    recorded, so that the next run updates duplicates.
    """
    execute = connection.execute
    url_ids = _find_ids(connection, urls, origins)
    for table in ("removed", "linked", "unused_pile", "word", "wording"):
        execute(f"DROP TABLE IF EXISTS temp.{table}")
    execute(f"{_COLLECT_REMOVED} WHERE url_id {_IN_IDS}", url_ids)
    count = int(execute("SELECT count(*) FROM temp.removed").fetchone()[0])
    execute(_COLLECT_LINKED_URLS)
    execute(f"INSERT OR IGNORE INTO temp.linked SELECT url_id FROM url WHERE url_id {_IN_IDS}", url_ids)
    table_names = {row[0] for row in execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if "windrow_touched" in table_names:
        execute("INSERT OR IGNORE INTO windrow_touched SELECT id FROM temp.removed")
        execute("INSERT OR IGNORE INTO windrow_regroup SELECT pile FROM temp.removed WHERE pile IS NOT NULL")
        _remove_observations(connection, url_ids, has_wordings="windrow_wording" in table_names)
    if "windrow_past_link" in table_names:
        execute(f"INSERT INTO temp.linked SELECT link_to_url FROM windrow_past_link WHERE url_id {_IN_IDS}", url_ids)
        execute(f"DELETE FROM windrow_past_link WHERE url_id {_IN_IDS}", url_ids)
    execute(_UNMARK_DUPLICATES)
    for table, condition in _DEPENDENT_ROWS:
        if table in table_names:
            execute(f"DELETE FROM {table} WHERE {condition}")
    execute(f"DELETE FROM entity_generation WHERE entity_generation_id IN {_REMOVED}")
    _remove_texts(connection)
    conditions = {
        "windrow_observation": _UNLESS_OBSERVED,
        "windrow_wording": _UNLESS_CANONICAL,
        "windrow_past_link": _UNLESS_LINKED,
    }
    execute(_DELETE_UNUSED_URLS + "".join(sql for table, sql in conditions.items() if table in table_names))
    execute(_DELETE_UNUSED_ORIGINS)
    return count


def _find_ids(connection: sqlite3.Connection, urls: Iterable[str], origins: Iterable[str]) -> tuple[str]:
    """Return the ids of addresses and of all addresses of origins, as the parameters of a query: one JSON list."""
    names = (json.dumps(list(urls)), json.dumps(list(origins)))
    rows = connection.execute(f"{_SELECT_BY_URL} UNION {_SELECT_BY_ORIGIN}", names)
    return (json.dumps([row[0] for row in rows]),)


def _remove_observations(connection: sqlite3.Connection, url_ids: tuple[str], *, has_wordings: bool) -> None:
    """Remove the observations of addresses, and wordings that no other address has."""
    if has_wordings:
        connection.execute(_COLLECT_WORDINGS, url_ids)
        connection.execute(_COLLECT_CANONICAL_URLS)
    connection.execute(f"DELETE FROM windrow_observation WHERE url_id {_IN_IDS}", url_ids)
    if has_wordings:
        connection.execute(_DELETE_UNUSED_WORDINGS)


def _remove_texts(connection: sqlite3.Connection) -> None:
    execute = connection.execute
    execute(_COLLECT_UNUSED_PILES)
    execute(_COLLECT_WORDS)
    remove_texts(connection, [row[0] for row in execute("SELECT pile FROM temp.unused_pile")])
    execute("DELETE FROM token_statistics WHERE text_pile_id IN (SELECT pile FROM temp.unused_pile)")
    execute(
        "DELETE FROM token WHERE token_id IN (SELECT id FROM temp.word EXCEPT SELECT token_id FROM token_statistics)"
    )
    execute("DELETE FROM text_pile WHERE text_pile_id IN (SELECT pile FROM temp.unused_pile)")


def forget_crawls(connection: sqlite3.Connection, *, urls: Iterable[str] = (), origins: Iterable[str] = ()) -> int:
    """Remove from a crawler database what addresses and origins returned. Return the number of removed files.

    Files, redirects, messages, the headers ETag and Last-Modified, and the times of the last content are removed. The
    log of the requests is kept.
    """
    execute = connection.execute
    url_ids = _find_ids(connection, urls, origins)
    execute(f"DELETE FROM file_text WHERE file_id IN (SELECT file_id FROM file WHERE url_id {_IN_IDS})", url_ids)
    count = execute(f"DELETE FROM file WHERE url_id {_IN_IDS}", url_ids).rowcount
    execute(f"DELETE FROM redirect WHERE url_id {_IN_IDS}", url_ids)
    execute(
        "UPDATE crawl_candidate SET last_contentful_crawl_time_unix_utc = NULL, last_contentful_http_etag = NULL"
        f" WHERE url_id {_IN_IDS}",
        url_ids,
    )
    execute(
        f"UPDATE request SET http_etag = NULL, server_last_modified_unix_utc = NULL WHERE url_id {_IN_IDS}", url_ids
    )
    execute(f"UPDATE crawl_log SET message = NULL WHERE url_id {_IN_IDS}", url_ids)
    return count


def vacuum(connection: sqlite3.Connection, pulse: Callable[[], object]) -> bool:
    """Rewrite a database file so that it contains no remains of removed texts.

    Return False if another process reads for so long that the remains are still in the write-ahead log, otherwise True.
    The call takes as much time and temporary disk space as a copy. No transaction may be open on `connection`. `pulse`
    is called repeatedly while other processes read.
    """
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'full_text_entity_index'").fetchone():
        connection.execute("INSERT INTO full_text_entity_index (full_text_entity_index) VALUES ('optimize')")
    connection.execute("VACUUM")
    return empty_wal(connection, pulse)
