"""The ledger read aloud: its facts as values, in the order they were written."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import islice
from typing import Any

from windrow import fact
from windrow.engine.ledger.book import Ledger
from windrow.engine.ledger.moment import parse
from windrow.model import Level, Status
from windrow.reasons import Reason

Row = tuple[Any, ...]


def _time(text: str | None) -> datetime | None:
    return parse(text) if text else None


def _reason(text: str | None) -> Reason | None:
    return Reason(text) if text else None


# Each kind of fact: its columns in the table of its name, and how a row becomes the value.
_KINDS: dict[str, tuple[str, Callable[[Row], fact.Fact]]] = {
    "session": ("holder, command", lambda r: fact.SessionOpened(r[0], parse(r[1]), *r[2:])),
    "session_end": ("session, outcome", lambda r: fact.SessionClosed(r[0], parse(r[1]), *r[2:])),
    "task": ("session, collection, source, phase", lambda r: fact.TaskOpened(r[0], parse(r[1]), *r[2:])),
    "task_end": (
        "task, failed, reason, comment",
        lambda r: fact.TaskClosed(r[0], parse(r[1]), r[2], bool(r[3]), _reason(r[4]), r[5]),
    ),
    "item": (
        "session, collection, kind, item_key, parent, owner, fetch, digest, member, size, md5",
        lambda r: fact.ItemMade._make((r[0], parse(r[1]), *r[2:8], r[8] or None, *r[9:])),
    ),
    "listing": (
        "session, source, item, path, event, size, modified",
        lambda r: fact.Listed._make((r[0], parse(r[1]), *r[2:8], _time(r[8]))),
    ),
    "fetch": ("session, item, source, path", lambda r: fact.FetchBegun(r[0], parse(r[1]), *r[2:])),
    "fetch_end": (
        "fetch, item, source, received, size, digest, reason, message",
        lambda r: fact.FetchEnded._make((r[0], parse(r[1]), *r[2:8], _reason(r[8]), r[9])),
    ),
    "reading": (
        "session, item, step, version, reason, number, md5",
        lambda r: fact.Read._make((r[0], parse(r[1]), *r[2:6], _reason(r[6]), *r[7:])),
    ),
    "move": (
        "session, item, phase, status, reason, message",
        lambda r: fact.Moved(r[0], parse(r[1]), r[2], r[3], r[4], Status(r[5]), _reason(r[6]), r[7]),
    ),
    "finding": (
        "session, item, phase, kind, level, message, line, col",
        lambda r: fact.Found(r[0], parse(r[1]), r[2], r[3], r[4], r[5], Level(r[6]), r[7], r[8], r[9]),
    ),
}


def facts(ledger: Ledger, after: int = 0, upto: int | None = None) -> Iterator[fact.Fact]:
    """Yield every fact with `after < seq <= upto`, in order, holding only a row of each kind."""
    last = upto if upto is not None else ledger.ask("seq")[0][0]

    def rows(table: str) -> Iterator[fact.Fact]:
        columns, make = _KINDS[table]
        text = f"SELECT seq, at, {columns} FROM {table} WHERE seq > ? AND seq <= ? ORDER BY seq"
        return map(make, ledger.cursor(text, (after, last)))

    return heapq.merge(*(rows(table) for table in _KINDS), key=lambda one: one.seq)


def chapters(ledger: Ledger, after: int, size: int = 5000) -> Iterator[list[fact.Fact]]:
    """Yield the facts after a checkpoint in lists of at most `size`."""
    stream = facts(ledger, after)
    while chapter := list(islice(stream, size)):
        yield chapter
