"""Remove addresses from a Summary Database: their versions with all details, and texts that no other version has.

Links of other pages to them stay: they are part of those pages.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable

from windrow.stores.sqlite import empty_wal

_AMONG = "IN (SELECT value FROM json_each(?))"
_BY_URL = f"SELECT url_id FROM url WHERE str_url {_AMONG}"
_BY_ORIGIN = f"SELECT url_id FROM url JOIN origin USING (origin_id) WHERE str_origin {_AMONG}"
_GENERATIONS = (
    "CREATE TEMP TABLE removed AS SELECT entity_generation_id AS id, text_pile_id AS pile FROM entity_generation"
)
_REMOVED = "(SELECT id FROM temp.removed)"
# Rows that refer to a generation are removed before it. Our own tables need not exist.
_DEPENDENT = (
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
    ("windrow_past", f"entity_generation_id IN {_REMOVED}"),
)
_ORIGINALS = f"""
UPDATE entity_generation SET marked_duplicate = 0 WHERE entity_generation_id IN (
  SELECT subject_entity_generation_id FROM duplicate_summary
  WHERE duplicate_of_entity_generation_id IN {_REMOVED} AND duplicate_status_end_unix_utc IS NULL)
"""
_UNUSED_PILES = """
CREATE TEMP TABLE unused_pile AS SELECT DISTINCT pile FROM temp.removed
WHERE pile IS NOT NULL AND pile NOT IN (SELECT text_pile_id FROM entity_generation WHERE text_pile_id IS NOT NULL)
"""
_WORDS = """
CREATE TEMP TABLE word AS SELECT DISTINCT token_id AS id FROM token_statistics
WHERE text_pile_id IN (SELECT pile FROM temp.unused_pile)
"""
_LINKED = f"""
CREATE TEMP TABLE linked AS
SELECT link_to_url AS id FROM link_summary WHERE entity_generation_id IN {_REMOVED}
UNION SELECT canonical_url_id FROM file_summary WHERE entity_generation_id IN {_REMOVED}
  AND canonical_url_id IS NOT NULL
UNION SELECT to_url_id FROM redirect_summary WHERE entity_generation_id IN {_REMOVED}
"""
_UNUSED_URLS = """
DELETE FROM url WHERE url_id IN (SELECT id FROM temp.linked)
AND NOT EXISTS (SELECT 1 FROM entity_generation g WHERE g.url_id = url.url_id)
AND NOT EXISTS (SELECT 1 FROM link_summary l WHERE l.link_to_url = url.url_id)
AND url_id NOT IN (SELECT canonical_url_id FROM file_summary WHERE canonical_url_id IS NOT NULL)
AND url_id NOT IN (SELECT to_url_id FROM redirect_summary)
"""
_WORDINGS = f"""
CREATE TEMP TABLE wording AS SELECT DISTINCT said FROM windrow_observation WHERE url_id {_AMONG} AND said <> x''
"""
_NAMED = (
    "INSERT INTO temp.linked SELECT canonical_url_id FROM windrow_wording WHERE said IN (SELECT said FROM temp.wording)"
)
_UNUSED_WORDINGS = """
DELETE FROM windrow_wording
WHERE said IN (SELECT said FROM temp.wording EXCEPT SELECT said FROM windrow_observation)
"""
_UNNAMED = "AND url_id NOT IN (SELECT canonical_url_id FROM windrow_wording WHERE canonical_url_id IS NOT NULL)"
_UNSEEN = "AND NOT EXISTS (SELECT 1 FROM windrow_observation o WHERE o.url_id = url.url_id)"
_UNLINKED = "AND NOT EXISTS (SELECT 1 FROM windrow_past_link p WHERE p.link_to_url = url.url_id)"
_EMPTY_ORIGINS = "DELETE FROM origin WHERE origin_id NOT IN (SELECT origin_id FROM url)"


def forget(connection: sqlite3.Connection, *, urls: Iterable[str] = (), origins: Iterable[str] = ()) -> int:
    """Remove all versions of addresses, and of all addresses of origins; return the number of versions.

    Works within the open transaction of `connection`, and notes for which generations and piles duplicates must be
    updated.
    """
    execute = connection.execute
    url_ids = _find_ids(connection, urls, origins)
    for table in ("removed", "linked", "unused_pile", "word", "wording"):
        execute(f"DROP TABLE IF EXISTS temp.{table}")
    execute(f"{_GENERATIONS} WHERE url_id {_AMONG}", url_ids)
    count = int(execute("SELECT count(*) FROM temp.removed").fetchone()[0])
    execute(_LINKED)
    execute(f"INSERT OR IGNORE INTO temp.linked SELECT url_id FROM url WHERE url_id {_AMONG}", url_ids)
    table_names = {row[0] for row in execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if "windrow_touched" in table_names:
        execute("INSERT OR IGNORE INTO windrow_touched SELECT id FROM temp.removed")
        execute("INSERT OR IGNORE INTO windrow_regroup SELECT pile FROM temp.removed WHERE pile IS NOT NULL")
        _remove_observations(connection, url_ids, wordings="windrow_wording" in table_names)
    if "windrow_past_link" in table_names:
        execute(f"INSERT INTO temp.linked SELECT link_to_url FROM windrow_past_link WHERE url_id {_AMONG}", url_ids)
        execute(f"DELETE FROM windrow_past_link WHERE url_id {_AMONG}", url_ids)
    execute(_ORIGINALS)
    for table, condition in _DEPENDENT:
        if table in table_names:
            execute(f"DELETE FROM {table} WHERE {condition}")
    execute(f"DELETE FROM entity_generation WHERE entity_generation_id IN {_REMOVED}")
    _remove_texts(connection)
    conditions = {"windrow_observation": _UNSEEN, "windrow_wording": _UNNAMED, "windrow_past_link": _UNLINKED}
    execute(_UNUSED_URLS + "".join(unless for table, unless in conditions.items() if table in table_names))
    execute(_EMPTY_ORIGINS)
    return count


def _find_ids(connection: sqlite3.Connection, urls: Iterable[str], origins: Iterable[str]) -> tuple[str]:
    """Return the ids of addresses, and of all addresses of origins, as the one parameter of a query."""
    named = (json.dumps(list(urls)), json.dumps(list(origins)))
    return (json.dumps([row[0] for row in connection.execute(f"{_BY_URL} UNION {_BY_ORIGIN}", named)]),)


def _remove_observations(connection: sqlite3.Connection, url_ids: tuple[str], *, wordings: bool) -> None:
    """Remove the observations of addresses, and wordings that no other address has."""
    if wordings:
        connection.execute(_WORDINGS, url_ids)
        connection.execute(_NAMED)
    connection.execute(f"DELETE FROM windrow_observation WHERE url_id {_AMONG}", url_ids)
    if wordings:
        connection.execute(_UNUSED_WORDINGS)


def _remove_texts(connection: sqlite3.Connection) -> None:
    """Remove texts that no version has any more, with their words and their rows in the full-text table."""
    execute = connection.execute
    execute(_UNUSED_PILES)
    execute(_WORDS)
    execute("DELETE FROM full_text_entity_index WHERE rowid IN (SELECT pile FROM temp.unused_pile)")
    execute("DELETE FROM token_statistics WHERE text_pile_id IN (SELECT pile FROM temp.unused_pile)")
    execute(
        "DELETE FROM token WHERE token_id IN (SELECT id FROM temp.word EXCEPT SELECT token_id FROM token_statistics)"
    )
    execute("DELETE FROM text_pile WHERE text_pile_id IN (SELECT pile FROM temp.unused_pile)")


def forget_crawls(connection: sqlite3.Connection, *, urls: Iterable[str] = (), origins: Iterable[str] = ()) -> int:
    """Remove files, redirects, ETags and messages of addresses from a crawler database; return the number of files.

    The rows of the crawl log stay.
    """
    execute = connection.execute
    url_ids = _find_ids(connection, urls, origins)
    execute(f"DELETE FROM file_text WHERE file_id IN (SELECT file_id FROM file WHERE url_id {_AMONG})", url_ids)
    count = execute(f"DELETE FROM file WHERE url_id {_AMONG}", url_ids).rowcount
    execute(f"DELETE FROM redirect WHERE url_id {_AMONG}", url_ids)
    execute(
        "UPDATE crawl_candidate SET last_contentful_crawl_time_unix_utc = NULL, last_contentful_http_etag = NULL"
        f" WHERE url_id {_AMONG}",
        url_ids,
    )
    execute(f"UPDATE request SET http_etag = NULL, server_last_modified_unix_utc = NULL WHERE url_id {_AMONG}", url_ids)
    execute(f"UPDATE crawl_log SET message = NULL WHERE url_id {_AMONG}", url_ids)
    return count


def vacuum(connection: sqlite3.Connection, pulse: Callable[[], object] = lambda: None) -> bool:
    """Rewrite a database file so that it contains no remains of removed texts.

    Returns False if another process keeps reading so long that old pages stay in the write-ahead log. Takes the time
    and, temporarily, the disk space of a copy. No transaction may be open on `connection`; `pulse` is called while
    waiting.
    """
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'full_text_entity_index'").fetchone():
        connection.execute("INSERT INTO full_text_entity_index (full_text_entity_index) VALUES ('optimize')")
    connection.execute("VACUUM")
    return empty_wal(connection, pulse)
