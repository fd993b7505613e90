"""The rows that one reading leaves with its generation: description, file, redirect, links."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from windrow.stores.summary.catalogue import Catalogue
from windrow.stores.summary.entry import Summary

TABLES = ("link_summary", "document_description", "file_summary", "redirect_summary")
"""What a reading fills, a generation's rows in each."""

_FLAGS = 15


@lru_cache(maxsize=4096)
def flags(location: int) -> tuple[int, ...]:
    """Spread a location signature over its columns.

    >>> flags(0b101)[:4]
    (1, 0, 1, 0)
    """
    return tuple(location >> bit & 1 for bit in range(_FLAGS))


def addresses(summaries: Iterable[Summary]) -> Iterator[str]:
    """Yield every address that these readings name."""
    for one in summaries:
        for link in one.links:
            yield link[0]
        if one.canonical:
            yield one.canonical
        if one.move:
            yield one.move.url


class Readings:
    """Writes the rows of readings, gathered by table."""

    def __init__(self, link: sqlite3.Connection, catalogue: Catalogue) -> None:
        """Work within the transactions of this connection."""
        self._link = link
        self._catalogue = catalogue

    def write(self, told: Mapping[int, Summary], urls: Mapping[str, int]) -> None:
        """Write what stands for each of these generations, which have no such rows."""
        number = self._link.execute("SELECT coalesce(max(link_summary_id), 0) FROM link_summary").fetchone()[0]
        described, files, moves, links = [], [], [], []
        for generation, one in told.items():
            if one.described:
                described.append((generation, *one.described))
            if one.file:
                mime = self._catalogue.mime(one.mime) if one.mime else None
                files.append((generation, one.size, mime, urls[one.canonical] if one.canonical else None))
            if one.move:
                moves.append((generation, urls[one.move.url], one.move.source, 0, one.move.fragment))
            for url, fragment, nofollow, me, tag, location, headline, sort, locality, html, text in one.links:
                number += 1
                links.append((
                    number, generation, urls[url], fragment, nofollow, me, tag, *flags(location), headline, sort,
                    locality, html or None, text,
                ))  # fmt: skip
        run = self._link.executemany
        run("INSERT INTO document_description VALUES (?, ?, ?, ?, ?, ?, ?, ?)", described)
        run("INSERT INTO file_summary VALUES (?, ?, ?, ?)", files)
        run("INSERT INTO redirect_summary VALUES (?, ?, ?, ?, ?)", moves)
        run(f"INSERT INTO link_summary VALUES ({','.join('?' * 27)})", links)

    def clear(self, generations: Iterable[int]) -> None:
        """Remove the rows of these generations."""
        rows = [(one,) for one in generations]
        for table in TABLES:
            self._link.executemany(f"DELETE FROM {table} WHERE entity_generation_id = ?", rows)
