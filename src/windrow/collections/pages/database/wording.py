"""What a page says of itself beside its text: it may change while the text stays, and with it the generation.

Each crawl that read the page has a hash of it, `said`. What a generation is described by is that of its last crawl;
what it was before is a version in `windrow_past`.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from windrow.collections.pages.database.catalogue import Catalogue
from windrow.collections.pages.database.entries import TextSummary

HALF = 8
"""Bytes of `said` that tell versions apart; the others are of what may differ within one."""

_KEEP = "INSERT INTO windrow_wording VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
_PAST = """
SELECT version_id, entity_generation_id, first_seen_unix_utc, last_seen_unix_utc, confirmed_end_unix_utc, said
FROM windrow_past WHERE entity_generation_id IN (SELECT value FROM json_each(?))
"""


class PastVersion(NamedTuple):
    """A version of a generation before its present one, as a row of `windrow_past`."""

    version: int
    generation: int
    first: int
    last: int
    end: int
    said: bytes


class WordingSeen(NamedTuple):
    """One crawl of a generation: the number of its visit, its time, and the hash of what it read."""

    visit: int
    at: int
    said: bytes


def said(one: TextSummary | None) -> bytes:
    """Return the hash of what a page says of itself; empty where it was not read or may not be found.

    >>> said(TextSummary(b"", described=(None, None, None, "Tea", None, None, 0))).hex()
    'c7594fa4ae62fdcf1912050123e581b2'
    """
    if one is None or one.described is None:
        return b""
    *times, language, title, headline, description, indexiness = one.described
    mime = one.mime[:3] if one.mime else None
    return hashed((title, headline, description, language, mime, one.canonical), (*times, indexiness))


def hashed(shown: tuple[Any, ...], rest: tuple[Any, ...]) -> bytes:
    """Return the hash of what makes a version, and of everything."""
    return b"".join(
        blake2b(repr(told).encode("utf-8", "backslashreplace"), digest_size=HALF).digest()
        for told in (shown, (shown, rest))
    )


def keep(
    link: sqlite3.Connection, summaries: Iterable[TextSummary], urls: Mapping[str, int], catalogue: Catalogue
) -> None:
    """Put wordings on record; those that are known stay as they are."""
    rows = []
    for one in summaries:
        if one.described is not None:
            *times, language, title, headline, description, indexiness = one.described
            mime = catalogue.mime(one.mime) if one.mime else None
            canonical = urls[one.canonical] if one.canonical else None
            rows.append((said(one), title, headline, description, canonical, *times, language, indexiness, mime))
    link.executemany(_KEEP, rows)


def past(generation: int, seen: Sequence[WordingSeen]) -> Iterator[PastVersion]:
    """Yield the versions of a generation before its present one, from its crawls in the order of time.

    >>> seen = [WordingSeen(1, 10, b"title A"), WordingSeen(2, 20, b"title A"), WordingSeen(3, 30, b"title B")]
    >>> list(past(7, seen))
    [PastVersion(version=1, generation=7, first=10, last=20, end=30, said=b'title A')]
    """
    if len({one.said[:HALF] for one in seen if one.said}) < 2:
        return
    begin: WordingSeen | None = None
    latest, told = 0, b""
    for one in seen:
        if begin is not None and one.said and told and one.said[:HALF] != told[:HALF]:
            yield PastVersion(begin.visit, generation, begin.at, latest, one.at, told)
            begin = one
        begin, latest, told = begin or one, one.at, one.said or told


def known_past(link: sqlite3.Connection, generations: Iterable[int]) -> set[PastVersion]:
    """Return what is on record of some generations."""
    return {PastVersion(*row) for row in link.execute(_PAST, (json.dumps(list(generations)),))}


def record(link: sqlite3.Connection, before: set[PastVersion], now: set[PastVersion]) -> None:
    """Put the difference between two states on record."""
    link.executemany("DELETE FROM windrow_past WHERE version_id = ?", [(one.version,) for one in before - now])
    link.executemany("INSERT INTO windrow_past VALUES (?, ?, ?, ?, ?, ?)", sorted(now - before))
