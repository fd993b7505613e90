"""Take down what a crawl kept of an address or an origin: a tombstone on the ledger first, then its bytes.

The tombstone is written before anything is removed, and its end when no file keeps anything of it: what a killed
run left is gone on with by the next one, from the start; every part may be repeated. In between, `remove` takes the
records out of the stores, whatever they are, and `clean` what the stores' files keep of them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from windrow.archive.erase import ErasedSpan, erase, related
from windrow.clock import now
from windrow.digest import number
from windrow.engine.check import index_name
from windrow.engine.session import Session
from windrow.errors import ArchiveError
from windrow.formats.text import counted
from windrow.formats.url import normalise, parts
from windrow.ledger import Ledger
from windrow.ledger.rows import TargetCapture
from windrow.ledger.sessions import holder
from windrow.ledger.typed.takedowns import OpenTombstone
from windrow.model import ArchivePlace


class TakedownTarget(NamedTuple):
    """What is taken down, for which collection: its name, and its address, or the origin's number on the ledger.

    An origin has its address as name. Another name says that it is what one source asked there: others may be asked.

    What came of a `shared` address goes, but it has more than what is taken down: it is asked for again.
    """

    name: str
    address: int = 0
    host: int = 0
    collection: str = ""
    shared: bool = False


class TakedownResult(NamedTuple):
    """What was removed: captures and their bytes, and records of the stores; `errors` where something stayed.

    It is not `done` where another process keeps old bytes in a file; the tombstone is open then.
    """

    target: str
    captures: int
    bytes: int
    records: int
    errors: tuple[str, ...] = ()
    done: bool = True


class CollectionStores(NamedTuple):
    """How a target is removed from a collection's stores.

    `remove` takes out the records of a target, and of these visits, and returns how many those were; it may be asked
    again for what is gone. `clean` leaves nothing of them in the stores' files, calls what it is given often, and
    returns, in a sentence each, where something stays.
    """

    remove: Callable[[TakedownTarget, Sequence[int]], int]
    clean: Callable[[Callable[[], None]], tuple[str, ...]]


class _Takedown(NamedTuple):
    """A target, the visits of which nothing stays, and the collections that may have records of them.

    `asked` are the addresses of requests to services that were made for these visits alone, `answers` the visits to
    them: they go with the target.
    """

    seq: int
    target: TakedownTarget
    visits: list[int]
    asked: list[str]
    answers: list[int]
    collections: set[str]

    @property
    def every(self) -> list[int]:
        """The visits to the target, and those to services for them."""
        return [*self.visits, *self.answers]


def take_down_targets(
    session: Session, targets: Iterable[TakedownTarget], reason: str, stores: Mapping[str, CollectionStores]
) -> list[TakedownResult]:
    """Take targets down, and with them what an earlier run left undone, out of all collections that have some of it.

    That it is done is put on record when no file keeps anything of it, and not before.
    """
    ledger = session.ledger
    _begin(session, targets, reason)
    ledger.takedowns.overwrite_what_is_deleted()
    begun = [_begun(ledger, row) for row in ledger.takedowns.open()]
    if not begun:
        return []
    gone = {visit for takedown in begun for visit in takedown.every}
    removed = {takedown.seq: _remove(session, takedown, gone, stores) for takedown in begun}
    left: tuple[str, ...] = ()
    for name in sorted({name for takedown in begun for name in takedown.collections}):
        if name in stores:
            left += stores[name].clean(session.lease.beat)
        else:
            left += (f"not gone for good yet: {name} is not installed; install that collection, then: windrow forget",)
    if not ledger.takedowns.empty_log(session.lease.beat):
        left += (kept_by_reader(ledger.path),)
    if left:
        return [result._replace(errors=(*result.errors, *left), done=False) for result in removed.values()]
    with ledger.writing() as writer:
        for seq, result in removed.items():
            writer.takedowns.done(session.number, seq, (result.captures, result.bytes, result.records))
        for taken in begun:
            if taken.target.shared:
                writer.takedowns.due_again(taken.target.address, taken.target.host)
    return list(removed.values())


def _begin(session: Session, targets: Iterable[TakedownTarget], reason: str) -> None:
    """Record the tombstones, and whether a target is shared, for the run that finishes this."""
    with session.ledger.writing() as writer:
        for target in targets:
            tombstone = writer.takedowns.begin(session.number, target.collection, target[:3], holder(), reason)
            if target.shared:
                writer.takedowns.lift(session.number, tombstone)


def _begun(ledger: Ledger, row: OpenTombstone) -> _Takedown:
    visits = ledger.takedowns.attempts(row.address, row.host)
    asked = ledger.takedowns.asked(visits)
    return _Takedown(
        row.seq,
        TakedownTarget(row.target, row.address, row.host, row.collection, bool(row.shared)),
        visits,
        [target.url for target in asked],
        [visit for target in asked for visit in ledger.takedowns.attempts(target.digest, 0)],
        {row.collection, *ledger.takedowns.collections(visits)},
    )


def kept_by_reader(path: Path) -> str:
    """Return the message that old pages stay in the log of a database, and what to do."""
    return (
        f"not gone for good yet: another process has been reading {path} all the while, so old bytes stay in"
        f" {path.name}-wal; end it, then: windrow forget"
    )


def lift(session: Session, targets: Iterable[TakedownTarget]) -> int:
    """Allow requests for targets again, and return how many tombstones are lifted; nothing is restored."""
    ledger, count = session.ledger, 0
    with ledger.writing() as writer:
        for target in targets:
            for tombstone in ledger.takedowns.of(target.address, target.host or -1):
                if tombstone.lifted is None and tombstone.host == target.host:
                    writer.takedowns.lift(session.number, tombstone.seq)
                    count += 1
            writer.takedowns.due_again(target.address, target.host)
    return count


def _remove(
    session: Session, takedown: _Takedown, gone: set[int], stores: Mapping[str, CollectionStores]
) -> TakedownResult:
    """Remove all of a target from the archive, the stores and the ledger."""
    ledger, target = session.ledger, takedown.target
    captures = ledger.takedowns.captures(takedown.every)
    lent, trouble = _lent(ledger, takedown.every, gone, captures)
    places = ledger.takedowns.spans(takedown.seq)
    if not places:
        _mark(session, takedown, [each.place for each in captures if each.visit not in lent])
        places = ledger.takedowns.spans(takedown.seq)
    size = 0
    for warc, group in groupby(places, key=attrgetter("warc")):
        try:
            spans = [ErasedSpan(place.offset, place.length) for place in group]
            size += erase(session.setup.archive, warc, spans, now())
        except ArchiveError as error:
            trouble.append(str(error))
        session.lease.beat()
    records = sum(
        stores[name].remove(target, takedown.visits) for name in sorted(takedown.collections) if name in stores
    )
    for opened in {each.session for each in captures}:
        (session.setup.archive / index_name(opened)).unlink(missing_ok=True)  # made anew when the session closes
    kept = {each.visit for each in captures if each.visit in lent and not each.borrowed}
    with ledger.writing() as writer:
        writer.takedowns.clear(takedown.seq, target.host, takedown.every, kept)
    count = sum(each.visit not in lent and not each.borrowed for each in captures)
    return TakedownResult(target.name, count, size, records, tuple(trouble))


def _lent(
    ledger: Ledger, visits: Sequence[int], gone: set[int], captures: Iterable[TargetCapture]
) -> tuple[set[int], list[str]]:
    """Return the visits whose bytes others have too, by a reference to them; and say whose they are."""
    digests = ledger.takedowns.lent(visits, gone)
    shared = ledger.takedowns.shared(visits, gone)
    lent = {capture.visit for capture in captures if capture.digest in digests} | {capture.visit for capture in shared}
    keepers: dict[tuple[str, str], set[int]] = {}
    for capture in shared:
        if capture.same_address:
            keepers.setdefault((capture.collection, capture.source), set()).add(capture.visit)
    trouble = [
        f"{counted(len(group), 'capture')} stay, since {collection} has them for its source {source};"
        f" to take them down there: windrow forget {source}"
        for (collection, source), group in sorted(keepers.items())
    ]
    others = lent - {visit for keeper in keepers.values() for visit in keeper}
    if others:
        number = counted(len(others), "capture")
        trouble.append(f"{number} cannot go: other addresses have their bytes by reference only")
    return lent, trouble


def _mark(session: Session, takedown: _Takedown, places: list[ArchivePlace]) -> None:
    """Note which records are to be erased: captures, and what else their files have about the same addresses."""
    spans: list[tuple[str, ErasedSpan]] = []
    for warc, group in groupby(places, key=attrgetter("warc")):
        mine = [ErasedSpan(place.offset, place.length) for place in group]
        spans += [(warc, span) for span in mine]
        with suppress(ArchiveError):  # a file that is not there holds nothing
            spans += [(warc, span) for span in _beside(session, warc, mine, takedown)]
        session.lease.beat()
    with session.ledger.writing() as writer:
        writer.takedowns.mark(takedown.seq, [ArchivePlace(warc, *span) for warc, span in dict.fromkeys(spans)])


def _beside(session: Session, warc: str, mine: list[ErasedSpan], taken: _Takedown) -> Iterator[ErasedSpan]:
    """Yield what a file has about a target, and about what services were asked for it, beside the captures of both.

    A request of ours stands just before its response. Other makers put what belongs together anywhere.
    """
    path, ledger = session.setup.archive / warc, session.ledger
    known = ledger.takedowns.records_of(warc)
    shared = {place.offset for place in known} - {span.offset for span in mine}
    target, urls = taken.target, {taken.target.name, *taken.asked}
    if target.host and not target.name.startswith(("http://", "https://")):  # what one source asked of an origin
        asked = {recorded.attempt.url for recorded in ledger.attempts.by_numbers(taken.visits)}
        urls |= asked | {f"{parts(url).origin}/robots.txt" for url in asked}

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
