"""Take down what a crawl kept of an address or an origin: a tombstone on the ledger first, then its bytes.

The tombstone is written before anything is removed, and its end when all is gone: what a killed run left is
gone on with by the next one, from the start; every part may be repeated. In between, `remove` takes the
records out of the stores, whatever they are.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterable
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from windrow.engine.indexing import index_name
from windrow.engine.ledger import Ledger
from windrow.engine.ledger.lease import holder
from windrow.engine.ledger.moment import now
from windrow.engine.ledger.query import queries
from windrow.engine.session import Session
from windrow.errors import ArchiveError
from windrow.model import Place
from windrow.stores.archive.erase import Span, erase, with_request


class Target(NamedTuple):
    """What is taken down: how it is called, and its address, or the origin's number on the ledger."""

    name: str
    address: int = 0
    host: int = 0


class Kept(NamedTuple):
    """What the ledger has of a target; sizes in bytes, as they lie in the archive."""

    addresses: int
    visits: int
    captures: int
    bytes: int


class Buried(NamedTuple):
    """What was removed: captures and their bytes, and records of the stores; `trouble` where something stayed."""

    target: str
    captures: int
    bytes: int
    records: int
    trouble: tuple[str, ...] = ()


Remove = Callable[[Target], int]
"""Removes a target's records from the stores, and returns how many; it may be asked again for what is gone."""


def kept(ledger: Ledger, target: Target) -> Kept:
    """Count what there is of a target."""
    row = ledger.ask("buried_counts", target.address, target.host)[0]
    return Kept(row[0], row[1], row[2] or 0, row[3])


def bury(session: Session, collection: str, targets: Iterable[Target], reason: str, remove: Remove) -> list[Buried]:
    """Take targets down, and before them what an earlier run left undone."""
    ledger = session.ledger
    with ledger.writing() as pen:
        for one in targets:
            pen.tombstone_set(session.number, collection, (one.name, one.address, one.host), (holder(), reason))
            pen.flush()
            _leave(ledger, one)
    ledger.connection.execute("PRAGMA secure_delete = ON")
    done = [
        _finish(session, seq, Target(name, address, host), remove)
        for seq, _, name, address, host in ledger.ask("tombstones_open")
    ]
    ledger.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return done


def lift(session: Session, targets: Iterable[Target]) -> int:
    """Let targets be asked for again, and return how many tombstones that lifts; what is gone stays gone."""
    ledger, count = session.ledger, 0
    with ledger.writing() as pen:
        for one in targets:
            for seq, _, _, host, *_, lifted in ledger.ask("tombstones", one.address, one.host or -1):
                if lifted is None and (host == one.host):
                    pen.tombstone_ended(session.number, seq, "lifted")
                    count += 1
            pen.flush()
            name, value = ("unbury_host", one.host) if one.host else ("unbury_address", one.address)
            ledger.connection.execute(queries()[name], (value,))
    return count


def _leave(ledger: Ledger, target: Target) -> None:
    """Have nothing of a target asked for again; within the transaction that is open."""
    name, value = ("bury_host", target.host) if target.host else ("bury_address", target.address)
    ledger.connection.execute(queries()[name], (value,))


def _finish(session: Session, tombstone: int, target: Target, remove: Remove) -> Buried:
    """Remove all of a target, and say on the ledger that it is gone."""
    ledger, which = session.ledger, (target.address, target.host)
    lent = {row[0] for row in ledger.ask("lent_captures", *which)}
    rows = ledger.ask("buried_captures", *which)
    trouble = [f"{len(lent)} captures stay, since other addresses refer to their bytes"] if lent else []
    count = size = 0
    for warc, some in groupby((row for row in rows if row[5] not in lent), key=itemgetter(2)):
        found = [Place(warc, row[3], row[4]) for row in some]
        try:
            size += _erase(session, warc, found)
            count += len(found)
        except ArchiveError as error:
            trouble.append(str(error))
        session.lease.beat()
    records = remove(target)
    for number in {row[1] for row in rows}:
        (session.setup.archive / index_name(number)).unlink(missing_ok=True)  # made anew when the session closes
    with ledger.writing() as pen:
        ledger.connection.execute(queries()["clear_visits"], (*which, json.dumps(sorted(lent))))
        pen.tombstone_ended(session.number, tombstone, "done", (count, size, records))
    return Buried(target.name, count, size, records, tuple(trouble))


def _erase(session: Session, warc: str, places: list[Place]) -> int:
    """Overwrite captures of one file, each with its request."""
    folder = session.setup.archive
    known: list[tuple[Any, ...]] = session.ledger.ask("places_of", warc)
    ends = sorted(offset + length for offset, length in known)
    spans: list[Span] = []
    for place in places:
        before = bisect_right(ends, place.offset)
        spans += with_request(folder, place, ends[before - 1] if before else 0)
    return erase(folder, warc, spans, now())
