"""Take addresses out of a Summary Database: their versions, what hangs on these, and texts that nobody else has.

Links that other pages have to them stay: they are part of those pages.
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
    "CREATE TEMP TABLE buried AS SELECT entity_generation_id AS id, text_pile_id AS pile FROM entity_generation"
)
_OURS = "(SELECT id FROM temp.buried)"
# Before the generation itself, what refers to it. Tables of followers need not be there.
_HANGING = (
    (
        "http_summary",
        f"crawl_summary_id IN (SELECT crawl_summary_id FROM crawl_summary WHERE entity_generation_id IN {_OURS})",
    ),
    ("crawl_summary", f"entity_generation_id IN {_OURS}"),
    ("file_summary", f"entity_generation_id IN {_OURS}"),
    ("redirect_summary", f"entity_generation_id IN {_OURS}"),
    ("link_summary", f"entity_generation_id IN {_OURS}"),
    ("document_description", f"entity_generation_id IN {_OURS}"),
    ("duplicate_summary", f"subject_entity_generation_id IN {_OURS} OR duplicate_of_entity_generation_id IN {_OURS}"),
    ("windrow_owed", f"entity_generation_id IN {_OURS}"),
    ("windrow_reading", f"entity_generation_id IN {_OURS}"),
    ("windrow_past", f"entity_generation_id IN {_OURS}"),
)
_ORIGINALS = f"""
UPDATE entity_generation SET marked_duplicate = 0 WHERE entity_generation_id IN (
  SELECT subject_entity_generation_id FROM duplicate_summary
  WHERE duplicate_of_entity_generation_id IN {_OURS} AND duplicate_status_end_unix_utc IS NULL)
"""
_LONELY = """
CREATE TEMP TABLE lonely AS SELECT DISTINCT pile FROM temp.buried
WHERE pile IS NOT NULL AND pile NOT IN (SELECT text_pile_id FROM entity_generation WHERE text_pile_id IS NOT NULL)
"""
_WORDS = """
CREATE TEMP TABLE spoken AS SELECT DISTINCT token_id AS id FROM token_statistics
WHERE text_pile_id IN (SELECT pile FROM temp.lonely)
"""
_LINKED = f"""
CREATE TEMP TABLE linked AS
SELECT link_to_url AS id FROM link_summary WHERE entity_generation_id IN {_OURS}
UNION SELECT canonical_url_id FROM file_summary WHERE entity_generation_id IN {_OURS} AND canonical_url_id IS NOT NULL
UNION SELECT to_url_id FROM redirect_summary WHERE entity_generation_id IN {_OURS}
"""
_UNUSED = """
DELETE FROM url WHERE url_id IN (SELECT id FROM temp.linked)
AND NOT EXISTS (SELECT 1 FROM entity_generation g WHERE g.url_id = url.url_id)
AND NOT EXISTS (SELECT 1 FROM link_summary l WHERE l.link_to_url = url.url_id)
AND url_id NOT IN (SELECT canonical_url_id FROM file_summary WHERE canonical_url_id IS NOT NULL)
AND url_id NOT IN (SELECT to_url_id FROM redirect_summary)
"""
_WORDED = f"""
CREATE TEMP TABLE worded AS SELECT DISTINCT said FROM windrow_observation WHERE url_id {_AMONG} AND said <> x''
"""
_NAMED = (
    "INSERT INTO temp.linked SELECT canonical_url_id FROM windrow_wording WHERE said IN (SELECT said FROM temp.worded)"
)
_UNSAID = """
DELETE FROM windrow_wording
WHERE said IN (SELECT said FROM temp.worded EXCEPT SELECT said FROM windrow_observation)
"""
_UNNAMED = "AND url_id NOT IN (SELECT canonical_url_id FROM windrow_wording WHERE canonical_url_id IS NOT NULL)"
_UNSEEN = "AND NOT EXISTS (SELECT 1 FROM windrow_observation o WHERE o.url_id = url.url_id)"
_UNLINKED = "AND NOT EXISTS (SELECT 1 FROM windrow_past_link p WHERE p.link_to_url = url.url_id)"
_EMPTY = "DELETE FROM origin WHERE origin_id NOT IN (SELECT origin_id FROM url)"


def forget(link: sqlite3.Connection, *, urls: Iterable[str] = (), origins: Iterable[str] = ()) -> int:
    """Remove all versions of addresses, or of all addresses of origins; return how many versions that were.

    Works within the transaction that is open on `link`, and notes what followers must look at again.
    """
    run = link.execute
    ids = [row[0] for row in run(f"{_BY_URL} UNION {_BY_ORIGIN}", (json.dumps(list(urls)), json.dumps(list(origins))))]
    asked = (json.dumps(ids),)
    for table in ("buried", "linked", "lonely", "spoken", "worded"):
        run(f"DROP TABLE IF EXISTS temp.{table}")
    run(f"{_GENERATIONS} WHERE url_id {_AMONG}", asked)
    count = int(run("SELECT count(*) FROM temp.buried").fetchone()[0])
    run(_LINKED)
    run(f"INSERT OR IGNORE INTO temp.linked SELECT url_id FROM url WHERE url_id {_AMONG}", asked)
    known = {row[0] for row in run("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if "windrow_touched" in known:
        run("INSERT OR IGNORE INTO windrow_touched SELECT id FROM temp.buried")
        run("INSERT OR IGNORE INTO windrow_regroup SELECT pile FROM temp.buried WHERE pile IS NOT NULL")
        _observations(link, asked, worded="windrow_wording" in known)
    if "windrow_past_link" in known:
        run(f"INSERT INTO temp.linked SELECT link_to_url FROM windrow_past_link WHERE url_id {_AMONG}", asked)
        run(f"DELETE FROM windrow_past_link WHERE url_id {_AMONG}", asked)
    run(_ORIGINALS)
    for table, which in _HANGING:
        if table in known:
            run(f"DELETE FROM {table} WHERE {which}")
    run(f"DELETE FROM entity_generation WHERE entity_generation_id IN {_OURS}")
    _texts(link)
    beside = {"windrow_observation": _UNSEEN, "windrow_wording": _UNNAMED, "windrow_past_link": _UNLINKED}
    run(_UNUSED + "".join(unless for table, unless in beside.items() if table in known))
    run(_EMPTY)
    return count


def _observations(link: sqlite3.Connection, asked: tuple[str], *, worded: bool) -> None:
    """Remove what was seen of addresses, and what they called themselves where no other did."""
    if worded:
        link.execute(_WORDED, asked)
        link.execute(_NAMED)
    link.execute(f"DELETE FROM windrow_observation WHERE url_id {_AMONG}", asked)
    if worded:
        link.execute(_UNSAID)


def _texts(link: sqlite3.Connection) -> None:
    """Remove texts that no version has any more, with their words and their rows of the full-text table."""
    run = link.execute
    run(_LONELY)
    run(_WORDS)
    run("DELETE FROM full_text_entity_index WHERE rowid IN (SELECT pile FROM temp.lonely)")
    run("DELETE FROM token_statistics WHERE text_pile_id IN (SELECT pile FROM temp.lonely)")
    run("DELETE FROM token WHERE token_id IN (SELECT id FROM temp.spoken EXCEPT SELECT token_id FROM token_statistics)")
    run("DELETE FROM text_pile WHERE text_pile_id IN (SELECT pile FROM temp.lonely)")


def forget_crawls(link: sqlite3.Connection, *, urls: Iterable[str] = (), origins: Iterable[str] = ()) -> int:
    """Remove from a crawler database what crawls brought of addresses; the log of them stays. Return the files."""
    run = link.execute
    ids = [row[0] for row in run(f"{_BY_URL} UNION {_BY_ORIGIN}", (json.dumps(list(urls)), json.dumps(list(origins))))]
    asked = (json.dumps(ids),)
    run(f"DELETE FROM file_text WHERE file_id IN (SELECT file_id FROM file WHERE url_id {_AMONG})", asked)
    count = run(f"DELETE FROM file WHERE url_id {_AMONG}", asked).rowcount
    run(f"DELETE FROM redirect WHERE url_id {_AMONG}", asked)
    run(
        "UPDATE crawl_candidate SET last_contentful_crawl_time_unix_utc = NULL, last_contentful_http_etag = NULL"
        f" WHERE url_id {_AMONG}",
        asked,
    )
    run(f"UPDATE request SET http_etag = NULL, server_last_modified_unix_utc = NULL WHERE url_id {_AMONG}", asked)
    run(f"UPDATE crawl_log SET message = NULL WHERE url_id {_AMONG}", asked)
    return count


def scour(link: sqlite3.Connection, pulse: Callable[[], object] = lambda: None) -> bool:
    """Write a database anew without what was removed from it: no page of its files keeps an old text.

    Returns False where another process reads it so long that old pages stay in the log beside it. Takes the time
    and, for a while, the room of a copy. No transaction may be open on `link`; `pulse` is called while it waits.
    """
    if link.execute("SELECT 1 FROM sqlite_master WHERE name = 'full_text_entity_index'").fetchone():
        link.execute("INSERT INTO full_text_entity_index (full_text_entity_index) VALUES ('optimize')")
    link.execute("VACUUM")
    return empty_wal(link, pulse)
