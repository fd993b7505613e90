"""The rows that one reading leaves with its generation: description, file, redirect, links."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from windrow.collections.pages.database.catalogue import Catalogue
from windrow.collections.pages.database.entries import TextSummary

TABLES = ("link_summary", "document_description", "file_summary", "redirect_summary")
"""What a reading fills, a generation's rows in each."""

_ROOM = 20_000
"""Kinds of links that are remembered."""

# A link's yes and no travel as the bits of one number, and empty texts for none: sqlite3 binds these fast.
_FLAGS = ",".join(f"?5 >> {bit} & 1" for bit in (15, 16, 17, *range(15), 18))
_LINK = (
    f"INSERT INTO link_summary VALUES (?1, ?2, ?3, nullif(?4, ''), {_FLAGS}, nullif(?6, -1), ?7, nullif(?8, ''), ?9)"
)


class _Shapes(dict[tuple[Any, ...], tuple[int, int, int, str]]):
    """What links are like, apart from their addresses and texts, as they are bound; the same again and again."""

    def __missing__(self, shape: tuple[Any, ...]) -> tuple[int, int, int, str]:
        nofollow, me, tag, location, headline, sort, locality, html = shape
        flags = location | nofollow << 15 | me << 16 | tag << 17 | headline << 18
        bound = (flags, -1 if sort is None else int(sort), int(locality), html)
        if len(self) >= _ROOM:
            self.clear()
        self[shape] = bound
        return bound


def addresses(summaries: Iterable[TextSummary]) -> Iterator[str]:
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
        self._shapes = _Shapes()

    def write(self, told: Mapping[int, TextSummary], urls: Mapping[str, int]) -> None:
        """Write what stands for each of these generations, which have no such rows."""
        number = self._link.execute("SELECT coalesce(max(link_summary_id), 0) FROM link_summary").fetchone()[0]
        described, files, moves, links = [], [], [], []
        shapes = self._shapes
        for generation, one in told.items():
            if one.described:
                described.append((generation, *one.described))
            if one.file:
                mime = self._catalogue.mime(one.mime) if one.mime else None
                files.append((generation, one.size, mime, urls[one.canonical] if one.canonical else None))
            if one.move:
                moves.append((generation, urls[one.move.url], one.move.source, 0, one.move.fragment))
            for link in one.links:
                number += 1
                links.append((number, generation, urls[link[0]], link[1] or "", *shapes[link[2:10]], link[10]))
        run = self._link.executemany
        run("INSERT INTO document_description VALUES (?, ?, ?, ?, ?, ?, ?, ?)", described)
        run("INSERT INTO file_summary VALUES (?, ?, ?, ?)", files)
        run("INSERT INTO redirect_summary VALUES (?, ?, ?, ?, ?)", moves)
        run(_LINK, links)

    def clear(self, generations: Iterable[int]) -> None:
        """Remove the rows of these generations."""
        rows = [(one,) for one in generations]
        for table in TABLES:
            self._link.executemany(f"DELETE FROM {table} WHERE entity_generation_id = ?", rows)
