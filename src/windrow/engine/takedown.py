"""Take down what a crawl kept of an address or an origin: a tombstone on the ledger first, then its bytes.

The tombstone is written before anything is removed, and its end when no file keeps anything of it: what a killed
run left is gone on with by the next one, from the start; every part may be repeated. In between, `remove` takes the
records out of the stores, whatever they are, and `clean` what the stores' files keep of them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from windrow.digest import number
from windrow.engine.indexing import index_name
from windrow.engine.ledger import Ledger
from windrow.engine.ledger.lease import holder
from windrow.engine.ledger.moment import now
from windrow.engine.ledger.takedowns import TargetCapture
from windrow.engine.session import Session
from windrow.errors import ArchiveError
from windrow.formats.url import normalise, parts
from windrow.model import ArchivePlace
from windrow.stores.archive.erase import ErasedSpan, erase, related


class TakedownTarget(NamedTuple):
    """What is taken down: how it is called, and its address, or the origin's number on the ledger."""

    name: str
    address: int = 0
    host: int = 0


class TakedownResult(NamedTuple):
    """What was removed: captures and their bytes, and records of the stores; `trouble` where something stayed.

    It is not `done` where another process keeps old bytes in a file; the tombstone is open then.
    """

    target: str
    captures: int
    bytes: int
    records: int
    trouble: tuple[str, ...] = ()
    done: bool = True


Remove = Callable[[TakedownTarget], int]
"""Removes a target's records from the stores, and returns how many; it may be asked again for what is gone."""

Clean = Callable[[], tuple[str, ...]]
"""Leaves nothing of what was removed in the files of the stores; returns, in a sentence each, where something stays."""


def take_down_target(
    session: Session, collection: str, targets: Iterable[TakedownTarget], reason: str, *, remove: Remove, clean: Clean
) -> list[TakedownResult]:
    """Take targets down, and with them what an earlier run left undone.

    That it is done is put on record when no file keeps anything of it, and not before.
    """
    ledger = session.ledger
    with ledger.writing() as writer:
        for one in targets:
            writer.takedowns.begin(session.number, collection, one, holder(), reason)
    ledger.takedowns.overwrite_what_is_deleted()
    removed = {
        one.seq: _remove(session, one.seq, TakedownTarget(one.target, one.address, one.host), remove)
        for one in ledger.takedowns.open()
        if one.collection == collection  # what another one began is its own to finish: it alone knows its stores
    }
    if not removed:
        return []
    left = clean()
    if not ledger.takedowns.empty_log(session.lease.beat):
        left += (kept_by_reader(ledger.path),)
    if left:
        return [one._replace(trouble=(*one.trouble, *left), done=False) for one in removed.values()]
    with ledger.writing() as writer:
        for seq, gone in removed.items():
            writer.takedowns.done(session.number, seq, (gone.captures, gone.bytes, gone.records))
    return list(removed.values())


def kept_by_reader(path: Path) -> str:
    """Say that old pages stay in the log of a database, and what to do."""
    return (
        f"not gone for good yet: another process has been reading {path} all the while, so old bytes stay in"
        f" {path.name}-wal; end it, then: windrow forget"
    )


def lift(session: Session, targets: Iterable[TakedownTarget]) -> int:
    """Let targets be asked for again, and return how many tombstones that lifts; what is gone stays gone."""
    ledger, count = session.ledger, 0
    with ledger.writing() as writer:
        for one in targets:
            for tombstone in ledger.takedowns.of(one.address, one.host or -1):
                if tombstone.lifted is None and tombstone.host == one.host:
                    writer.takedowns.lift(session.number, tombstone.seq)
                    count += 1
            writer.takedowns.due_again(one.address, one.host)
    return count


def _remove(session: Session, tombstone: int, target: TakedownTarget, remove: Remove) -> TakedownResult:
    """Remove all of a target from the archive, the stores and the ledger."""
    ledger, which = session.ledger, (target.address, target.host)
    captures = ledger.takedowns.captures(*which)
    lent = _lent(ledger, which, captures)
    asked = ledger.takedowns.asked(*which)  # of services, for these documents alone: that goes too
    for one in asked:
        answers = ledger.takedowns.captures(one.digest, 0)
        captures += answers
        lent |= _lent(ledger, (one.digest, 0), answers)
    places = ledger.takedowns.spans(tombstone)
    if not places:
        urls = frozenset({target.name, *(one.url for one in asked)})
        _mark(session, tombstone, target, urls, [one.place for one in captures if one.visit not in lent])
        places = ledger.takedowns.spans(tombstone)
    trouble = [f"{len(lent)} captures stay: other addresses have their bytes by reference only"] if lent else []
    size = 0
    for warc, some in groupby(places, key=attrgetter("warc")):
        try:
            spans = [ErasedSpan(place.offset, place.length) for place in some]
            size += erase(session.setup.archive, warc, spans, now())
        except ArchiveError as error:
            trouble.append(str(error))
        session.lease.beat()
    records = remove(target)
    for opened in {one.session for one in captures}:
        (session.setup.archive / index_name(opened)).unlink(missing_ok=True)  # made anew when the session closes
    with ledger.writing() as writer:
        writer.takedowns.clear(tombstone, which, lent)
    return TakedownResult(target.name, len(captures) - len(lent), size, records, tuple(trouble))


def _lent(ledger: Ledger, which: tuple[int, int], captures: Iterable[TargetCapture]) -> set[int]:
    """Return the visits whose bytes other addresses have too, by a reference to them."""
    digests = ledger.takedowns.lent(*which)
    return ledger.takedowns.shared(*which) | {one.visit for one in captures if one.digest in digests}


def _mark(
    session: Session, tombstone: int, target: TakedownTarget, urls: frozenset[str], places: list[ArchivePlace]
) -> None:
    """Note which records are to be erased: captures, and what else their files have about the same addresses."""
    found: list[tuple[str, ErasedSpan]] = []
    for warc, some in groupby(places, key=attrgetter("warc")):
        mine = [ErasedSpan(place.offset, place.length) for place in some]
        found += [(warc, span) for span in mine]
        with suppress(ArchiveError):  # a file that is not there holds nothing
            found += [(warc, span) for span in _beside(session, warc, mine, target, urls)]
        session.lease.beat()
    with session.ledger.writing() as writer:
        writer.takedowns.mark(tombstone, [ArchivePlace(warc, *span) for warc, span in dict.fromkeys(found)])


def _beside(
    session: Session, warc: str, mine: list[ErasedSpan], target: TakedownTarget, urls: frozenset[str]
) -> Iterator[ErasedSpan]:
    """Yield what a file has about a target, or one of the URLs, beside its captures.

    A request of ours stands just before its response. Other makers put what belongs together anywhere.
    """
    path, ledger = session.setup.archive / warc, session.ledger
    known = ledger.takedowns.records_of(warc)
    shared = {one.offset for one in known} - {span.offset for span in mine}

    def ours(uri: str) -> bool:
        url = normalise(uri).url
        return url in urls or (
            bool(url) and (parts(url).origin == target.name if target.host else number(url) == target.address)
        )

    if ledger.imports.get(warc):
        bounds = [(0, path.stat().st_size if path.is_file() else 0)]
    else:
        ends = sorted(offset + length for offset, length in known)
        before = (bisect_right(ends, span.offset) for span in mine)
        bounds = [(ends[at - 1] if at else 0, span.offset) for at, span in zip(before, mine, strict=True)]
    for bound in bounds:
        for span in related(path, bound, session.setup.limits, ours):
            if span.offset not in shared:
                yield span
