"""The links of pages as earlier crawls saw them: `link_summary` has only those of the crawl that describes a page now.

Each crawl that read a page has a hash of its links, `linked`. A set that a crawl of a generation saw and that is not
the generation's present one is kept in `windrow_past_link`, by its page, once however many crawls saw it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping

from windrow.collections.pages.database.entries import TextSummary, hash_of_links

_INSERT = "INSERT OR IGNORE INTO windrow_past_link VALUES (?, ?, ?, ?)"
_DESCRIBED_BY = """
SELECT o.url_id, o.linked FROM windrow_reading r JOIN windrow_observation o ON o.visit = r.visit
WHERE r.entity_generation_id = ?
"""
_PRESENT = """
SELECT link_to_url, coalesce(text, '') FROM link_summary WHERE entity_generation_id = ?
"""
_HELD = "SELECT DISTINCT url_id, linked FROM windrow_past_link WHERE url_id IN (SELECT value FROM json_each(?))"
_PRUNE = """
DELETE FROM windrow_past_link WHERE url_id = ?1 AND linked NOT IN (
  SELECT o.linked FROM windrow_observation o
  LEFT JOIN windrow_reading r ON r.entity_generation_id = o.entity_generation_id
  LEFT JOIN windrow_observation d ON d.visit = r.visit
  WHERE o.url_id = ?1 AND o.sight = 'content' AND o.entity_generation_id IS NOT NULL
    AND o.linked <> coalesce(d.linked, x''))
"""


def linked(one: TextSummary | None) -> bytes:
    """Return the hash of a reading's links, empty where it was not read."""
    return b"" if one is None else one.linked or hash_of_links((link[0], link[10] or "") for link in one.links)


def keep_present(link: sqlite3.Connection, generations: Iterable[int]) -> None:
    """Keep the present links of generations before another reading takes their place."""
    for number in generations:
        row = link.execute(_DESCRIBED_BY, (number,)).fetchone()
        if row is None:
            continue
        url_id, known = row
        links = link.execute(_PRESENT, (number,)).fetchall()
        link.executemany(_INSERT, [(url_id, known, target, text) for target, text in links])


def keep_read(link: sqlite3.Connection, told: Iterable[tuple[int, TextSummary]], urls: Mapping[str, int]) -> None:
    """Keep the links of readings, each with the number of the address that was read."""
    for url_id, one in told:
        mark = linked(one)
        link.executemany(_INSERT, [(url_id, mark, urls[each[0]], each[10] or "") for each in one.links])


def prune(link: sqlite3.Connection, url_ids: Iterable[int]) -> None:
    """Remove the sets of links of addresses that are the present ones, or that no crawl has."""
    link.executemany(_PRUNE, [(one,) for one in url_ids])


def held(link: sqlite3.Connection, url_ids: Iterable[int]) -> dict[int, set[bytes]]:
    """Return the hashes of past links that are kept of addresses; those without any are left out."""
    found: dict[int, set[bytes]] = {}
    for url_id, mark in link.execute(_HELD, (json.dumps(list(url_ids)),)):
        found.setdefault(url_id, set()).add(mark)
    return found
