"""Make our own tables of a Summary Database, and bring those of earlier versions up to date, within one transaction."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from windrow.collections.pages.database.batch import SummaryBatch
from windrow.collections.pages.database.catalogue import Catalogue
from windrow.collections.pages.database.past_links import SINCE
from windrow.collections.pages.database.reading import Readings
from windrow.collections.pages.database.schema import statements
from windrow.collections.pages.database.wording import hashed

LAYOUT, VERSION = "windrow.layout", 3
"""The key in `unobtanium_database_info` of the version of our own tables, and that version."""
WORDED = 2
"""The version since which a generation is described by its last crawl, and wordings are whole."""

_CHUNK = 500

_LINKS = re.compile(r"^CREATE (?:TABLE|INDEX) link_summary", re.MULTILINE)
_LINK_KEY = """
SELECT group_concat(name) FROM (SELECT name FROM pragma_table_info('link_summary') WHERE pk > 0 ORDER BY pk)
"""

_TOLD = "SELECT value FROM unobtanium_database_info WHERE key = ?"
_TELL = "INSERT INTO unobtanium_database_info VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
_TABLE = "SELECT 1 FROM sqlite_master WHERE name = ? AND type = 'table'"
_COLUMN = "SELECT 1 FROM pragma_table_info('windrow_observation') WHERE name = ?"
_LINKS_SINCE = """
INSERT INTO unobtanium_database_info SELECT ?, 1 + max(at) FROM windrow_observation HAVING count(*)
ON CONFLICT (key) DO NOTHING
"""
_OLD = """
CREATE TEMP TABLE old_wording (
  said BLOB PRIMARY KEY, title TEXT, primary_headline TEXT, description TEXT, canonical_url_id INTEGER
)
"""
# What is known of each wording of each generation: the rest is that of its first crawl.
_SAID = """
SELECT DISTINCT o.entity_generation_id, o.said, w.said IS NULL, w.title, w.primary_headline, w.description,
  wc.str_url, w.canonical_url_id, d.title, d.primary_headline, d.description, dc.str_url, f.canonical_url_id,
  d.time_created_unix_utc, d.time_updated_unix_utc, d.primary_language, d.indexiness,
  m.mime_type, m.mime_subtype, m.mime_suffix, f.mimetype_id
FROM windrow_observation o JOIN document_description d ON d.entity_generation_id = o.entity_generation_id
LEFT JOIN temp.old_wording w ON w.said = o.said LEFT JOIN url wc ON wc.url_id = w.canonical_url_id
LEFT JOIN file_summary f ON f.entity_generation_id = o.entity_generation_id
LEFT JOIN url dc ON dc.url_id = f.canonical_url_id LEFT JOIN mimetype m ON m.mimetype_id = f.mimetype_id
WHERE o.sight = 'content'
"""
_RENAME = """
UPDATE windrow_observation SET said = coalesce((SELECT n.new FROM temp.new_said n
  WHERE n.generation = windrow_observation.entity_generation_id AND n.old = windrow_observation.said), x'')
WHERE said <> x'' OR sight = 'content'
"""
# Until now a generation was described by its first crawl.
_FIRST = """
INSERT OR REPLACE INTO windrow_reading SELECT entity_generation_id, visit FROM (
  SELECT entity_generation_id, visit, sight, row_number() OVER (
    PARTITION BY entity_generation_id ORDER BY at, crawl_uuid) AS place
  FROM windrow_observation WHERE entity_generation_id IS NOT NULL)
WHERE place = 1 AND sight = 'content'
"""
_SEVERAL = """
SELECT o.url_id, u.str_url FROM windrow_observation o JOIN url u ON u.url_id = o.url_id
GROUP BY o.url_id HAVING count(*) > 1 ORDER BY o.url_id
"""


def upgrade(link: sqlite3.Connection, catalogue: Catalogue, readings: Readings) -> None:
    """Make what is missing, and let earlier versions' tables say what they would if this version had made them.

    Where a description must be read again, that is noted as owed: the next run reads it from the archive.
    """
    row = link.execute(_TOLD, (LAYOUT,)).fetchone()
    made = link.execute(_TABLE, ("windrow_observation",)).fetchone() is not None
    _rekey_links(link)
    old = made and (row is None or int(row[0]) < WORDED)
    if old:
        _set_aside(link)
    if made and link.execute(_COLUMN, ("linked",)).fetchone() is None:
        link.execute("ALTER TABLE windrow_observation ADD COLUMN linked BLOB NOT NULL DEFAULT x''")
        link.execute(_LINKS_SINCE, (SINCE,))
    for statement in statements("beside", "near", "representative", "wording"):
        link.execute(statement)
    if old:
        _reword(link)
        link.execute(_FIRST)
        for some in _chunks(link.execute(_SEVERAL).fetchall(), _CHUNK):
            SummaryBatch(link, catalogue, readings).refold(dict(some))
    link.execute(_TELL, (LAYOUT, str(VERSION)))


def _rekey_links(link: sqlite3.Connection) -> None:
    """Give the table of links the key that the standard names, where an earlier version made it with another."""
    if link.execute(_LINK_KEY).fetchone() != ("link_summary_id,entity_generation_id",):
        link.execute("DROP INDEX IF EXISTS link_summary_by_target")
        link.execute("DROP INDEX IF EXISTS windrow_link_by_generation")
        link.execute("ALTER TABLE link_summary RENAME TO windrow_earlier_link")
        for statement in statements("summary"):
            if _LINKS.search(statement):
                link.execute(statement)
        link.execute("INSERT INTO link_summary SELECT * FROM windrow_earlier_link ORDER BY link_summary_id")
        link.execute("DROP TABLE windrow_earlier_link")


def _set_aside(link: sqlite3.Connection) -> None:
    """Take the earlier version's view and wordings out of the way."""
    link.execute("DROP VIEW IF EXISTS windrow_version")
    link.execute(_OLD)
    if link.execute(_COLUMN, ("said",)).fetchone() is None:
        link.execute("ALTER TABLE windrow_observation ADD COLUMN said BLOB NOT NULL DEFAULT x''")
    if link.execute(_TABLE, ("windrow_wording",)).fetchone() is not None:
        columns = "said, title, primary_headline, description, canonical_url_id"
        link.execute(f"INSERT INTO temp.old_wording SELECT {columns} FROM windrow_wording")
        link.execute("DROP TABLE windrow_wording")


def _reword(link: sqlite3.Connection) -> None:
    """Put each wording on record under the hash that it has now."""
    link.execute("CREATE TEMP TABLE new_said (generation INTEGER, old BLOB, new BLOB, PRIMARY KEY (generation, old))")
    rows = link.execute(_SAID)
    for some in _chunks(_worded(rows), _CHUNK * 20):
        link.executemany("INSERT INTO temp.new_said VALUES (?, ?, ?)", [one[:3] for one in some])
        link.executemany(
            "INSERT INTO windrow_wording VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            [one[2:] for one in some],
        )
    link.execute(_RENAME)
    link.execute("DROP TABLE temp.new_said")
    link.execute("DROP TABLE temp.old_wording")


def _chunks(rows: Iterable[tuple[Any, ...]], size: int) -> Iterator[list[tuple[Any, ...]]]:
    rest = iter(rows)
    while some := list(islice(rest, size)):
        yield some


def _worded(rows: sqlite3.Cursor) -> Iterator[tuple[Any, ...]]:
    for generation, old, alone, *said in rows:
        title, headline, description, url, canonical = said[5:10] if alone else said[:5]
        created, updated, language, indexiness, *mime, mimetype = said[10:]
        shown = (title, headline, description, language, tuple(mime) if mime[0] else None, url or "")
        new = hashed(shown, (created, updated, indexiness))
        texts = (title, headline, description, canonical)
        yield generation, old, new, *texts, created, updated, language, indexiness, mimetype
