"""Take down an address or an origin: first a tombstone on the ledger, then the removal of all its bytes.

The tombstone is written before anything is removed, and closed when no file has any of it: the next run finishes
what a killed run left, from the start; every part may be repeated. In between, `remove` removes the
records from the stores, and `clean` overwrites them in the stores' files.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from windrow.archive.erase import ErasedSpan, erase, related_records
from windrow.clock import now
from windrow.digest import hash64
from windrow.engine.check import index_name
from windrow.engine.session import Session
from windrow.errors import ArchiveError
from windrow.formats.text import counted
from windrow.formats.url import normalise, parts
from windrow.ledger import Ledger
from windrow.ledger.rows import TargetCapture
from windrow.ledger.sessions import name_this_process
from windrow.ledger.typed.takedowns import OpenTombstone
from windrow.model import ArchivePlace


class TakedownTarget(NamedTuple):
    """A target and its collection: its name, and the number of its address or of its origin on the ledger.

    The name of an origin is its address; with another name, only what one source requested there is taken down.

    A `shared` address also has other content: what came from it is removed, and it is requested again.
    """

    name: str
    address: int = 0
    host: int = 0
    collection: str = ""
    shared: bool = False


class TakedownResult(NamedTuple):
    """What was removed: captures and their bytes, and records of the stores; `errors` says what remains.

    It is not `done` if another process keeps old bytes in a file; then the tombstone stays open.
    """

    target: str
    captures: int
    bytes: int
    records: int
    errors: tuple[str, ...] = ()
    done: bool = True


class CollectionStores(NamedTuple):
    """How a target is removed from a collection's stores.

    `remove` removes the records of a target and of these attempts, and returns their number; it may be repeated.
    `clean` overwrites them in the stores' files, calls its argument often, and
    returns a sentence for each file in which some remain.
    """

    remove: Callable[[TakedownTarget, Sequence[int]], int]
    clean: Callable[[Callable[[], None]], tuple[str, ...]]


class _Takedown(NamedTuple):
    """A target, the attempts that are removed, and the collections that may have records of them.

    `asked` are the addresses of requests to services that were made only for these attempts, `answers` the attempts
    at them: they are removed with the target.
    """

    seq: int
    target: TakedownTarget
    attempts: list[int]
    asked: list[str]
    answers: list[int]
    collections: set[str]

    @property
    def every(self) -> list[int]:
        """The attempts at the target, and those at services for them."""
        return [*self.attempts, *self.answers]


def take_down_targets(
    session: Session, targets: Iterable[TakedownTarget], reason: str, stores: Mapping[str, CollectionStores]
) -> list[TakedownResult]:
    """Take down targets, and those that an earlier run left unfinished, in all collections that have some of them.

    They are recorded as done only when no file has any of them.
    """
    ledger = session.ledger
    _record_tombstones(session, targets, reason)
    ledger.takedowns.overwrite_what_is_deleted()
    takedowns = [_read_takedown(ledger, row) for row in ledger.takedowns.open()]
    if not takedowns:
        return []
    removed_attempts = {attempt for takedown in takedowns for attempt in takedown.every}
    results = {takedown.seq: _remove_target(session, takedown, removed_attempts, stores) for takedown in takedowns}
    errors: tuple[str, ...] = ()
    for name in sorted({name for takedown in takedowns for name in takedown.collections}):
        if name in stores:
            errors += stores[name].clean(session.lease.beat)
        else:
            errors += (
                f"not removed completely: {name} is not installed; install that collection, then: windrow forget",
            )
    if not ledger.takedowns.empty_log(session.lease.beat):
        errors += (kept_by_reader(ledger.path),)
    if errors:
        return [result._replace(errors=(*result.errors, *errors), done=False) for result in results.values()]
    with ledger.writing() as writer:
        for fact, result in results.items():
            writer.takedowns.done(session.number, fact, (result.captures, result.bytes, result.records))
        for takedown in takedowns:
            if takedown.target.shared:
                writer.takedowns.due_again(takedown.target.address, takedown.target.host)
    return list(results.values())


def _record_tombstones(session: Session, targets: Iterable[TakedownTarget], reason: str) -> None:
    """Record the tombstones, and whether a target is shared, for the run that finishes this."""
    with session.ledger.writing() as writer:
        for target in targets:
            tombstone = writer.takedowns.begin(
                session.number, target.collection, target[:3], name_this_process(), reason
            )
            if target.shared:
                writer.takedowns.lift(session.number, tombstone)


def _read_takedown(ledger: Ledger, row: OpenTombstone) -> _Takedown:
    attempts = ledger.takedowns.attempts(row.address, row.host)
    requests = ledger.takedowns.asked(attempts)
    return _Takedown(
        row.seq,
        TakedownTarget(row.target, row.address, row.host, row.collection, bool(row.shared)),
        attempts,
        [target.url for target in requests],
        [attempt for target in requests for attempt in ledger.takedowns.attempts(target.digest, 0)],
        {row.collection, *ledger.takedowns.collections(attempts)},
    )


def kept_by_reader(path: Path) -> str:
    """Return the message that removed data stay in the log of a database, and what to do."""
    return (
        f"not removed completely: another process kept reading {path}, so old bytes stay in"
        f" {path.name}-wal; end it, then: windrow forget"
    )


def lift(session: Session, targets: Iterable[TakedownTarget]) -> int:
    """Allow requests for targets again, and return the number of tombstones lifted; nothing is restored."""
    ledger, count = session.ledger, 0
    with ledger.writing() as writer:
        for target in targets:
            for tombstone in ledger.takedowns.of(target.address, target.host or -1):
                if tombstone.lifted is None and tombstone.host == target.host:
                    writer.takedowns.lift(session.number, tombstone.seq)
                    count += 1
            writer.takedowns.due_again(target.address, target.host)
    return count


def _remove_target(
    session: Session, takedown: _Takedown, gone: set[int], stores: Mapping[str, CollectionStores]
) -> TakedownResult:
    """Remove a target from the archive, the stores and the ledger; return what was removed."""
    ledger, target = session.ledger, takedown.target
    captures = ledger.takedowns.captures(takedown.every)
    lent, errors = _find_shared_bytes(ledger, takedown.every, gone, captures)
    places = ledger.takedowns.spans(takedown.seq)
    if not places:
        _mark_records(session, takedown, [capture.place for capture in captures if capture.attempt not in lent])
        places = ledger.takedowns.spans(takedown.seq)
    size = 0
    for warc, group in groupby(places, key=attrgetter("warc")):
        try:
            spans = [ErasedSpan(place.offset, place.length) for place in group]
            size += erase(session.setup.archive, warc, spans, now())
        except ArchiveError as error:
            errors.append(str(error))
        session.lease.beat()
    records = sum(
        stores[name].remove(target, takedown.attempts) for name in sorted(takedown.collections) if name in stores
    )
    for session_number in {capture.session for capture in captures}:
        (session.setup.archive / index_name(session_number)).unlink(
            missing_ok=True
        )  # made anew when the session closes
    kept_attempts = {capture.attempt for capture in captures if capture.attempt in lent and not capture.borrowed}
    with ledger.writing() as writer:
        writer.takedowns.clear(takedown.seq, target.host, takedown.every, kept_attempts)
    count = sum(capture.attempt not in lent and not capture.borrowed for capture in captures)
    return TakedownResult(target.name, count, size, records, tuple(errors))


def _find_shared_bytes(
    ledger: Ledger, attempts: Sequence[int], gone: set[int], captures: Iterable[TargetCapture]
) -> tuple[set[int], list[str]]:
    """Return the attempts whose bytes must stay, since others refer to them, and messages that say whose they are."""
    digests = ledger.takedowns.lent(attempts, gone)
    shared = ledger.takedowns.shared(attempts, gone)
    lent = {capture.attempt for capture in captures if capture.digest in digests} | {
        capture.attempt for capture in shared
    }
    keepers: dict[tuple[str, str], set[int]] = {}
    for capture in shared:
        if capture.same_address:
            keepers.setdefault((capture.collection, capture.source), set()).add(capture.attempt)
    errors = [
        f"{counted(len(group), 'capture')} stay, since {collection} has them for its source {source};"
        f" to take them down there: windrow forget {source}"
        for (collection, source), group in sorted(keepers.items())
    ]
    others = lent - {attempt for keeper in keepers.values() for attempt in keeper}
    if others:
        number = counted(len(others), "capture")
        errors.append(f"{number} cannot go: other addresses have their bytes by reference only")
    return lent, errors


def _mark_records(session: Session, takedown: _Takedown, places: list[ArchivePlace]) -> None:
    """Mark the records to erase: the captures, and other records about the same addresses in their files."""
    spans: list[tuple[str, ErasedSpan]] = []
    for warc, group in groupby(places, key=attrgetter("warc")):
        target_spans = [ErasedSpan(place.offset, place.length) for place in group]
        spans += [(warc, span) for span in target_spans]
        with suppress(ArchiveError):  # a missing file has no records
            spans += [(warc, span) for span in _find_related(session, warc, target_spans, takedown)]
        session.lease.beat()
    with session.ledger.writing() as writer:
        writer.takedowns.record_spans(takedown.seq, [ArchivePlace(warc, *span) for warc, span in dict.fromkeys(spans)])


def _find_related(
    session: Session, warc: str, target_spans: list[ErasedSpan], takedown: _Takedown
) -> Iterator[ErasedSpan]:
    """Yield the other records of a file about a target, or about requests to services for it.

    Our requests are just before their responses; other programs may put related records anywhere in a file.
    """
    path, ledger = session.setup.archive / warc, session.ledger
    places = ledger.takedowns.records_of(warc)
    shared = {place.offset for place in places} - {span.offset for span in target_spans}
    target, urls = takedown.target, {takedown.target.name, *takedown.asked}
    if target.host and not target.name.startswith(("http://", "https://")):  # what one source asked of an origin
        requested = {recorded.attempt.url for recorded in ledger.attempts.by_numbers(takedown.attempts)}
        urls |= requested | {f"{parts(url).origin}/robots.txt" for url in requested}

    def ours(uri: str) -> bool:
        url = normalise(uri).url
        return url in urls or (
            bool(url) and (parts(url).origin == target.name if target.host else hash64(url) == target.address)
        )

    if ledger.imports.get(warc):
        bounds = [(0, path.stat().st_size if path.is_file() else 0)]
    else:
        ends = sorted(offset + length for offset, length in places)
        preceding = (bisect_right(ends, span.offset) for span in target_spans)
        bounds = [(ends[at - 1] if at else 0, span.offset) for at, span in zip(preceding, target_spans, strict=True)]
    for bound in bounds:
        for span in related_records(path, bound, session.setup.limits, ours):
            if span.offset not in shared:
                yield span
