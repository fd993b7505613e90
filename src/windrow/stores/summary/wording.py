"""What a page calls itself: title, headline, description and canonical address.

They may change while the text stays, and with it the generation. Each crawl that read the page has a hash of them,
`said`, so that every wording can be told for its time. The description of a generation is its latest one.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from hashlib import blake2b

from windrow.stores.summary.entry import Summary

LATEST = """
(SELECT o.said FROM windrow_observation o WHERE o.url_id = g.url_id AND o.entity_generation_id = g.entity_generation_id
 AND o.said <> x'' ORDER BY o.at DESC, o.crawl_uuid DESC LIMIT 1)
"""
_OTHER = f"""
SELECT w.title, w.primary_headline, w.description, w.canonical_url_id, g.entity_generation_id
FROM entity_generation g JOIN windrow_wording w ON w.said = {LATEST}
JOIN document_description d ON d.entity_generation_id = g.entity_generation_id
LEFT JOIN file_summary f ON f.entity_generation_id = g.entity_generation_id
WHERE g.entity_generation_id IN (SELECT value FROM json_each(?)) AND (
  d.title IS NOT w.title OR d.primary_headline IS NOT w.primary_headline OR d.description IS NOT w.description
  OR f.canonical_url_id IS NOT w.canonical_url_id)
"""
_DESCRIBE = """
UPDATE document_description SET title = ?, primary_headline = ?, description = ? WHERE entity_generation_id = ?
"""


def said(one: Summary | None) -> bytes:
    """Return the hash of what a page calls itself, 16 bytes; empty where it was not read or may not be found.

    >>> said(Summary(b"", described=(None, None, None, "Tea", None, None, 0))).hex()[:8]
    'a63271a1'
    """
    if one is None or one.described is None:
        return b""
    told = repr((*one.described[3:6], one.canonical))
    return blake2b(told.encode("utf-8", "backslashreplace"), digest_size=16).digest()


def keep(link: sqlite3.Connection, summaries: Iterable[Summary], urls: Mapping[str, int]) -> None:
    """Put wordings on record; those that are known stay as they are."""
    rows = [
        (said(one), *one.described[3:6], urls[one.canonical] if one.canonical else None)
        for one in summaries
        if one.described is not None
    ]
    link.executemany("INSERT INTO windrow_wording VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", rows)


def renew(link: sqlite3.Connection, generations: Iterable[int]) -> set[int]:
    """Let the latest wording describe each of these generations, and return those that it changes."""
    rows = link.execute(_OTHER, (json.dumps(sorted(generations)),)).fetchall()
    link.executemany(_DESCRIBE, [(*row[:3], row[4]) for row in rows])
    sql = "UPDATE file_summary SET canonical_url_id = ? WHERE entity_generation_id = ?"
    link.executemany(sql, [row[3:] for row in rows])
    changed = {row[4] for row in rows}
    link.executemany("INSERT OR IGNORE INTO windrow_touched VALUES (?)", [(one,) for one in sorted(changed)])
    return changed
