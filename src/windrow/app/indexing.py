"""Make pages findable: the tables of the Summary Database first, then the index beside it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import sqlalchemy as sa

from windrow.collections.pages.search.entry import FIELDS, VERSION, entry, stamp
from windrow.collections.pages.search.word import counted
from windrow.stores.connect import connect
from windrow.stores.index.beside import Beside, current, there
from windrow.stores.index.clause import Entry
from windrow.stores.index.folder import ROLL
from windrow.stores.index.fulltext import Filled, Pulse, fill, go_on
from windrow.stores.index.generation import NO_LINKS, Links
from windrow.stores.index.roll import Roll, Rolled
from windrow.stores.index.summary import Summary, findable

BATCH = 1_000
"""Pages that are read at once."""
COMMIT = 20
"""Batches that are committed together; the next ones are begun when work goes on."""


class Indexed(NamedTuple):
    """What the index phase did: rows of the full-text table, then pages put into the index beside and removed."""

    filled: Filled
    put: int
    removed: int


def index_pages(engine: sa.Engine, folder: Path, pulse: Pulse = go_on) -> Indexed:
    """Bring full text and index up to date with a Summary Database; doing it again changes nothing.

    `folder` may be removed at any time, and is made anew; one that holds something else is refused. Without the
    extra `search` it is not made, and searches use the full-text table. `pulse` is called between batches, and
    ends the work where it says False; the next call goes on there, as it does after a crash.
    """
    filled = fill(engine, counted, pulse)
    if not there() or not pulse():
        return Indexed(filled, 0, 0)
    beside = open_index(folder)
    with Roll(roll_path(folder)) as roll:
        return Indexed(filled, *_renew(Summary(engine), beside, roll, pulse))


def follower(place: Path, folder: Path) -> Callable[[Pulse], str]:
    """Return the index phase of a session: it indexes the Summary Database in a file, and says what it did."""

    def follow(pulse: Pulse) -> str:
        if not place.is_file():
            return ""
        engine = connect(f"sqlite:///{place}", durable=False)
        try:
            done = index_pages(engine, folder, pulse)
        finally:
            engine.dispose()
        texts = done.filled
        told = f"texts: {texts.added} added, {texts.changed} changed, {texts.removed} removed"
        return f"{told}; pages: {done.put} put into the index, {done.removed} removed"

    return follow


def open_index(folder: Path) -> Beside:
    """Open the index of pages."""
    return Beside(folder, FIELDS, VERSION)


def is_current(folder: Path) -> bool:
    """Say whether an index of pages that this version can ask is in the folder."""
    return there() and roll_path(folder).exists() and current(folder, FIELDS, VERSION)


def roll_path(folder: Path) -> Path:
    """Return where the roll of an index is."""
    return folder / ROLL


def links_of(rolled: Rolled) -> Links:
    """Read the links that the roll remembers of a page."""
    if rolled.anchors == "[]":
        return NO_LINKS
    return Links(rolled.links, tuple((text, count) for text, count in json.loads(rolled.anchors)))


def _renew(summary: Summary, beside: Beside, roll: Roll, pulse: Pulse) -> tuple[int, int]:
    """Put what changed into the index, and what those pages link to: they may call it by another name now."""
    gone = _compare(summary, roll)
    if gone:
        beside.write((), gone)
        roll.write((), gone)
    put = 0
    while pulse() and (due := roll.due(BATCH * COMMIT)):
        rows: list[Rolled] = []
        put += beside.write(_entries(summary, due, roll, rows, pulse))
        roll.write(rows)
        roll.done(due)
    return put, len(gone)


def _compare(summary: Summary, roll: Roll) -> list[int]:
    """Note in the roll what has another stamp than there, and return what is not there any more."""
    gone: list[int] = []
    rolled = roll.stamps()
    head = next(rolled, None)
    changed: list[int] = []
    for page in summary.states():
        while head is not None and head[0] < page.id:
            gone.append(head[0])
            head = next(rolled, None)
        if head is None or head[0] != page.id or head[1] != stamp(page):
            changed.append(page.id)
        if head is not None and head[0] == page.id:
            head = next(rolled, None)
        if len(changed) == BATCH:
            _note(summary, roll, changed)
            changed = []
    _note(summary, roll, changed)
    while head is not None:
        gone.append(head[0])
        head = next(rolled, None)
    return gone


def _note(summary: Summary, roll: Roll, changed: list[int]) -> None:
    roll.need(changed)
    roll.need(summary.targets(changed))


def _entries(summary: Summary, due: list[int], roll: Roll, rows: list[Rolled], pulse: Pulse) -> Iterator[Entry]:
    """Yield what must be written again, and note it in `rows`."""
    for start in range(0, len(due), BATCH):
        some = due[start : start + BATCH]
        before = roll.named(some)
        pages = [page for page in summary.generations(some) if findable(page)]
        links = summary.links({page.url_id for page in pages})
        for page in pages:
            called, own = links[page.url_id], stamp(page)
            whole = stamp(page, called)
            if page.id in before and before[page.id][1:3] == (own, whole):
                continue
            rows.append(Rolled(page.id, own, whole, called.pages, json.dumps(called.texts)))
            yield entry(page, called)
        pulse()
