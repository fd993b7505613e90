"""Take down what a crawl kept of an address or an origin: a tombstone on the ledger first, then its bytes.

The tombstone is written before anything is removed, and its end when no file keeps anything of it: what a killed
run left is gone on with by the next one, from the start; every part may be repeated. In between, `remove` takes the
records out of the stores, whatever they are, and `clean` what the stores' files keep of them.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from windrow.digest import number
from windrow.engine.indexing import index_name
from windrow.engine.ledger import Ledger
from windrow.engine.ledger.lease import holder
from windrow.engine.ledger.moment import now
from windrow.engine.ledger.query import queries
from windrow.engine.session import Session
from windrow.errors import ArchiveError
from windrow.formats.url import normalise, parts
from windrow.model import Place
from windrow.stores.archive.erase import Span, erase, related
from windrow.stores.wal import empty_wal


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
    """What was removed: captures and their bytes, and records of the stores; `trouble` where something stayed.

    It is not `done` where another process keeps old bytes in a file; the tombstone is open then.
    """

    target: str
    captures: int
    bytes: int
    records: int
    trouble: tuple[str, ...] = ()
    done: bool = True


Remove = Callable[[Target], int]
"""Removes a target's records from the stores, and returns how many; it may be asked again for what is gone."""

Clean = Callable[[], tuple[str, ...]]
"""Leaves nothing of what was removed in the files of the stores; returns, in a sentence each, where something stays."""


def kept(ledger: Ledger, target: Target) -> Kept:
    """Count what there is of a target."""
    row = ledger.ask("buried_counts", target.address, target.host)[0]
    return Kept(row[0], row[1], row[2] or 0, row[3])


def bury(
    session: Session, collection: str, targets: Iterable[Target], reason: str, *, remove: Remove, clean: Clean
) -> list[Buried]:
    """Take targets down, and with them what an earlier run left undone.

    That it is done is put on record when no file keeps anything of it, and not before.
    """
    ledger = session.ledger
    with ledger.writing() as pen:
        for one in targets:
            pen.tombstone_set(session.number, collection, (one.name, one.address, one.host), (holder(), reason))
            pen.flush()
            _leave(ledger, one)
    ledger.connection.execute("PRAGMA secure_delete = ON")
    removed = {
        seq: _remove(session, seq, Target(name, address, host), remove)
        for seq, _, name, address, host in ledger.ask("tombstones_open")
    }
    if not removed:
        return []
    left = clean()
    if not empty_wal(ledger.connection, session.lease.beat):
        left += (kept_by_reader(ledger.path),)
    if left:
        return [one._replace(trouble=(*one.trouble, *left), done=False) for one in removed.values()]
    with ledger.writing() as pen:
        for seq, gone in removed.items():
            pen.tombstone_ended(session.number, seq, "done", (gone.captures, gone.bytes, gone.records))
    return list(removed.values())


def kept_by_reader(path: Path) -> str:
    """Say that old pages stay in the log of a database, and what to do."""
    return (
        f"not gone for good yet: another process has been reading {path} all the while, so old bytes stay in"
        f" {path.name}-wal; end it, then: windrow forget"
    )


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


def _remove(session: Session, tombstone: int, target: Target, remove: Remove) -> Buried:
    """Remove all of a target from the archive, the stores and the ledger."""
    ledger, which = session.ledger, (target.address, target.host)
    rows = ledger.ask("buried_captures", *which)
    lent = _lent(ledger, which, rows)
    spans = ledger.ask("tombstone_spans", tombstone)
    if not spans:
        _mark(session, tombstone, target, [Place(*row[2:5]) for row in rows if row[0] not in lent])
        spans = ledger.ask("tombstone_spans", tombstone)
    trouble = [f"{len(lent)} captures stay: other addresses have their bytes by reference only"] if lent else []
    size = 0
    for warc, some in groupby(spans, key=itemgetter(0)):
        try:
            size += erase(session.setup.archive, warc, [Span(*row[1:]) for row in some], now())
        except ArchiveError as error:
            trouble.append(str(error))
        session.lease.beat()
    records = remove(target)
    for opened in {row[1] for row in rows}:
        (session.setup.archive / index_name(opened)).unlink(missing_ok=True)  # made anew when the session closes
    with ledger.writing():
        ledger.connection.execute(queries()["clear_payloads"], (tombstone,))
        ledger.connection.execute(queries()["clear_visits"], (*which, json.dumps(sorted(lent))))
    return Buried(target.name, len(rows) - len(lent), size, records, tuple(trouble))


def _lent(ledger: Ledger, which: tuple[int, int], rows: list[tuple[Any, ...]]) -> set[int]:
    """Return the visits whose bytes other addresses have too, by a reference to them."""
    shared = {row[0] for row in ledger.ask("shared_captures", *which)}
    digests = {row[0] for row in ledger.ask("lent_captures", *which)}
    return shared | {row[0] for row in rows if row[5] in digests}


def _mark(session: Session, tombstone: int, target: Target, places: list[Place]) -> None:
    """Note which records are to be erased: captures, and what else their files have about the same addresses."""
    found: list[tuple[str, Span]] = []
    for warc, some in groupby(places, key=itemgetter(0)):
        mine = [Span(place.offset, place.length) for place in some]
        found += [(warc, span) for span in mine]
        with suppress(ArchiveError):  # a file that is not there holds nothing
            found += [(warc, span) for span in _beside(session, warc, mine, target)]
        session.lease.beat()
    rows = [(tombstone, warc, *span) for warc, span in dict.fromkeys(found)]
    with session.ledger.writing():
        session.ledger.connection.executemany(queries()["mark_span"], rows)


def _beside(session: Session, warc: str, mine: list[Span], target: Target) -> Iterator[Span]:
    """Yield what a file has about a target beside its captures.

    A request of ours stands just before its response. Other makers put what belongs together anywhere.
    """
    path, ledger = session.setup.archive / warc, session.ledger
    known = ledger.ask("places_of", warc)
    shared = {row[0] for row in known} - {span.offset for span in mine}

    def ours(uri: str) -> bool:
        url = normalise(uri).url
        return bool(url) and (parts(url).origin == target.name if target.host else number(url) == target.address)

    if ledger.ask("intake", warc):
        bounds = [(0, path.stat().st_size if path.is_file() else 0)]
    else:
        ends = sorted(offset + length for offset, length in known)
        before = (bisect_right(ends, span.offset) for span in mine)
        bounds = [(ends[at - 1] if at else 0, span.offset) for at, span in zip(before, mine, strict=True)]
    for bound in bounds:
        for span in related(path, bound, session.setup.limits, ours):
            if span.offset not in shared:
                yield span
