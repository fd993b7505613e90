"""Make pages findable: the tables of the Summary Database first, then the index beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import sqlalchemy as sa

from windrow.collections.pages.search.entry import FIELDS, VERSION, entry, stamp
from windrow.collections.pages.search.word import counted
from windrow.stores.index.beside import Beside, current, there
from windrow.stores.index.clause import Entry
from windrow.stores.index.fulltext import Filled, fill
from windrow.stores.index.generation import NO_LINKS, Links
from windrow.stores.index.roll import Roll, Rolled
from windrow.stores.index.summary import Summary

BATCH = 1_000
"""Pages that are read at once."""
COMMIT = 50
"""Batches that are committed together."""


class Indexed(NamedTuple):
    """What the index phase did: rows of the full-text table, then pages put into the index beside and removed."""

    filled: Filled
    put: int
    removed: int


def index_pages(engine: sa.Engine, folder: Path) -> Indexed:
    """Bring full text and index up to date with a Summary Database; doing it again changes nothing.

    `folder` may be removed at any time, and is made anew; without the extra `search` it is not made, and
    searches use the full-text table.
    """
    filled = fill(engine, counted)
    if not there():
        return Indexed(filled, 0, 0)
    beside = open_index(folder)
    with Roll(roll_path(folder)) as roll:
        return Indexed(filled, *_renew(Summary(engine), beside, roll))


def open_index(folder: Path) -> Beside:
    """Open the index of pages."""
    return Beside(folder, FIELDS, VERSION)


def is_current(folder: Path) -> bool:
    """Say whether an index of pages that this version can ask is in the folder."""
    return there() and roll_path(folder).exists() and current(folder, FIELDS, VERSION)


def roll_path(folder: Path) -> Path:
    """Return where the roll of an index is."""
    return folder / "entries.sqlite"


def links_of(rolled: Rolled) -> Links:
    """Read the links that the roll remembers of a page."""
    if rolled.anchors == "[]":
        return NO_LINKS
    return Links(rolled.links, tuple((text, count) for text, count in json.loads(rolled.anchors)))


def _renew(summary: Summary, beside: Beside, roll: Roll) -> tuple[int, int]:
    before = roll.stamps()
    own = {page.id: stamp(page) for page in summary.states()}
    gone = sorted(set(before) - set(own))
    changed = {one for one, number in own.items() if one not in before or before[one][0] != number}
    touched: set[int] = set()
    for some in _chunks(sorted(changed), BATCH):
        touched |= summary.targets(some)
    due = sorted(changed | (touched & set(own)))
    put = 0
    if gone:
        beside.write((), gone)
        roll.write((), gone)
    for some in _chunks(due, BATCH * COMMIT):
        rows: list[Rolled] = []
        put += beside.write(_entries(summary, some, own, before, rows))
        roll.write(rows)
    return put, len(gone)


def _entries(
    summary: Summary, due: list[int], own: dict[int, int], before: dict[int, tuple[int, int]], rows: list[Rolled]
) -> Iterator[Entry]:
    """Yield what must be written again, and note it in `rows`."""
    for some in _chunks(due, BATCH):
        pages = summary.generations(some)
        links = summary.links({page.url_id for page in pages})
        for page in pages:
            called = links[page.url_id]
            whole = stamp(page, called)
            if before.get(page.id) == (own[page.id], whole):
                continue
            rows.append(Rolled(page.id, own[page.id], whole, called.pages, json.dumps(called.texts)))
            yield entry(page, called)


def _chunks(ids: list[int], size: int) -> list[list[int]]:
    return [ids[start : start + size] for start in range(0, len(ids), size)]
