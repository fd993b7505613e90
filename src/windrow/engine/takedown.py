"""Take down an address or an origin: first a tombstone on the ledger, then the removal of all its bytes.

The tombstone is written before anything is removed, and closed when no file contains any of the target's bytes, except
those that captures of other targets use. If the run is killed in between, the next `windrow forget` repeats the whole
removal, which does no harm.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from windrow.archive.erase import ErasedSpan, erase, related_records
from windrow.clock import now
from windrow.digest import hash64
from windrow.engine.archive_losses import describe_lost_files
from windrow.engine.check import index_name
from windrow.engine.session import Session
from windrow.errors import ArchiveError
from windrow.formats.text import counted
from windrow.formats.url import normalise, parts
from windrow.ledger import Ledger
from windrow.ledger.lease import name_this_process
from windrow.ledger.rows import TargetCapture
from windrow.ledger.typed.takedowns import OpenTombstone, StandingTakedown, TargetCount
from windrow.model import ArchivePlace


class TakedownTarget(NamedTuple):
    """An address or a host to take down: its name, and the digest of the address or the number of the host.

    One of `address` and `host` is 0. A host whose name is its origin is taken down for all sources. A host with another
    name is taken down only for the source that has it. If `shared`, the address has other content too: its captures are
    removed, and it is requested again.
    """

    name: str
    address: int = 0
    host: int = 0
    collection: str = ""
    shared: bool = False


class TakedownResult(NamedTuple):
    """The numbers of captures removed, of bytes overwritten in the archive, and of records removed from stores.

    `errors` say what remains. Bytes that other captures use remain. `done` is false if other bytes remain too, for
    example because another process reads a database. The tombstone then stays open, and `windrow forget` continues the
    takedown.
    """

    target: str
    captures: int
    bytes: int
    records: int
    errors: tuple[str, ...] = ()
    done: bool = True


class CollectionStores(NamedTuple):
    """How a target is removed from a collection's stores.

    `remove` removes the records of a target that the given attempts fetched, and returns their number. It may be
    repeated. `clean` overwrites removed records in the files of the stores, and returns a message for each file in
    which some bytes remain. It often calls its argument, which renews the lease.
    """

    remove: Callable[[TakedownTarget, Sequence[int]], int]
    clean: Callable[[Callable[[], None]], tuple[str, ...]]


class _Takedown(NamedTuple):
    """A target, the attempts to remove, and the URLs and attempts of asks that were made only for these attempts."""

    tombstone: int  # its number on the ledger
    target: TakedownTarget
    attempts: list[int]
    service_urls: list[str]
    service_attempts: list[int]
    collections: set[str]

    @property
    def all_attempts(self) -> list[int]:
        """The attempts at the target, and the attempts at asks that were made only for them."""
        return [*self.attempts, *self.service_attempts]


def take_down_targets(
    session: Session, targets: Iterable[TakedownTarget], reason: str, stores: Mapping[str, CollectionStores]
) -> list[TakedownResult]:
    """Take down targets, and continue interrupted takedowns. Return a result for each takedown.

    `stores` is a dict from collection to its stores.
    """
    ledger = session.ledger
    _record_tombstones(session, targets, reason)
    ledger.takedowns.overwrite_what_is_deleted()
    takedowns = [_read_takedown(ledger, tombstone) for tombstone in ledger.takedowns.open()]
    if not takedowns:
        return []
    removed_attempts = {attempt for takedown in takedowns for attempt in takedown.all_attempts}
    results = {
        takedown.tombstone: _remove_target(session, takedown, removed_attempts, stores) for takedown in takedowns
    }
    errors: tuple[str, ...] = ()
    for name in sorted({name for takedown in takedowns for name in takedown.collections}):
        if name in stores:
            errors += stores[name].clean(session.lease.beat)
        else:
            errors += (
                f"not removed completely: the collection {name} is not installed; install it, then: windrow forget",
            )
    if not ledger.takedowns.empty_log(session.lease.beat):
        errors += (kept_by_reader(ledger.path),)
    if errors:
        return [result._replace(errors=(*result.errors, *errors), done=False) for result in results.values()]
    with ledger.writing() as writer:
        for takedown in takedowns:
            result = results[takedown.tombstone]
            if not result.done:
                continue
            counts = (result.captures, result.bytes, result.records)
            writer.takedowns.record_done(session.number, takedown.tombstone, counts)
            if takedown.target.shared:
                writer.takedowns.make_due_again(takedown.target.address, takedown.target.host)
    return list(results.values())


def count_targets(ledger: Ledger, targets: Iterable[TakedownTarget]) -> list[TargetCount]:
    """Count the addresses and attempts of each target, and the captures that its takedown would remove.

    Nothing is changed. `bytes` is the size of the records of these captures. Captures whose bytes other captures use
    are left out. A takedown also overwrites other WARC records about its target.
    """
    takedowns = [_with_attempts(ledger, 0, target) for target in targets]
    removed_attempts = {attempt for takedown in takedowns for attempt in takedown.all_attempts}
    counts = []
    for takedown in takedowns:
        captures = ledger.takedowns.captures(takedown.all_attempts)
        kept_ids, _ = _find_shared_bytes(ledger, takedown.all_attempts, removed_attempts, captures)
        removed = [capture for capture in captures if capture.attempt not in kept_ids]
        size = sum(place.length for place in {capture.place for capture in removed})
        count = ledger.takedowns.count_attempts(takedown.attempts)
        counts.append(count._replace(captures=sum(not capture.borrowed for capture in removed), bytes=size))
    return counts


def _record_tombstones(session: Session, targets: Iterable[TakedownTarget], reason: str) -> None:
    with session.ledger.writing() as writer:
        for target in targets:
            tombstone = writer.takedowns.begin(
                session.number, target.collection, target[:3], name_this_process(), reason
            )
            if target.shared:
                writer.takedowns.lift(session.number, tombstone)


def _read_takedown(ledger: Ledger, tombstone: OpenTombstone) -> _Takedown:
    target = TakedownTarget(
        tombstone.target, tombstone.address, tombstone.host, tombstone.collection, bool(tombstone.shared)
    )
    return _with_attempts(ledger, tombstone.seq, target)


def _with_attempts(ledger: Ledger, tombstone: int, target: TakedownTarget) -> _Takedown:
    attempts = ledger.takedowns.attempts(target.address, target.host)
    requests = ledger.takedowns.asked(attempts)
    return _Takedown(
        tombstone,
        target,
        attempts,
        [request.url for request in requests],
        [attempt for request in requests for attempt in ledger.takedowns.attempts(request.digest, 0)],
        {target.collection, *ledger.takedowns.collections(attempts)},
    )


def kept_by_reader(path: Path) -> str:
    """Return the message for a database whose log still contains removed bytes, with the command that helps."""
    return (
        f"not removed completely: another process kept reading {path}, so old bytes remain in"
        f" {path.name}-wal; end that process, then: windrow forget"
    )


def lift(session: Session, targets: Sequence[TakedownTarget]) -> int:
    """Lift the takedowns of the targets that one name has, and make them due again. Return the number of tombstones.

    A takedown that was ordered under another name is lifted only if it covered all of these hosts. One of a single port
    of a host, or of what one source requests from it, is not lifted with the host.
    """
    keys = {(target.address, target.host) for target in targets}
    with session.ledger.writing() as writer:
        takedowns = [
            takedown
            for takedown in find_standing(session.ledger, targets)
            if (takedown.address, takedown.host) in keys and not takedown.narrower
        ]
        for takedown in takedowns:
            writer.takedowns.lift(session.number, takedown.seq)
        for address, host in dict.fromkeys((takedown.address, takedown.host) for takedown in takedowns):
            writer.takedowns.make_due_again(address, host)
    return len(takedowns)


def find_standing(ledger: Ledger, targets: Sequence[TakedownTarget]) -> list[StandingTakedown]:
    """Return the takedowns that keep something of these targets from being requested."""
    hosts = [target.host for target in targets if target.host]
    return ledger.takedowns.standing([target.address for target in targets if not target.host], hosts)


def _remove_target(
    session: Session, takedown: _Takedown, removed: set[int], stores: Mapping[str, CollectionStores]
) -> TakedownResult:
    """Remove a target from the archive, stores and ledger. `removed` has the attempts of all takedowns under way.

    If some bytes cannot be erased, the captures remain on the ledger, and the result is not `done`. The indexes of the
    archive that list the captures are deleted.
    """
    ledger, target = session.ledger, takedown.target
    captures = ledger.takedowns.captures(takedown.all_attempts)
    kept_ids, errors = _find_shared_bytes(ledger, takedown.all_attempts, removed, captures)
    archive, size = session.settings.archive, 0
    marked_files = {place.warc for place in ledger.takedowns.spans(takedown.tombstone)}
    removed_places = [capture.place for capture in captures if capture.attempt not in kept_ids]
    ends = {place.warc: place.offset + place.length for place in removed_places}  # the last place of each file is last
    lost_files = describe_lost_files(archive, ends)  # their bytes would return with them
    errors += lost_files.values()
    is_erased = not lost_files
    try:
        unmarked_places = [place for place in removed_places if place.warc not in {*marked_files, *lost_files}]
        errors += _mark_records(session, takedown, unmarked_places)
    except ArchiveError as error:  # none of these is marked, so that the next takedown searches again
        is_erased = False
        errors.append(str(error))
    for warc, group in groupby(ledger.takedowns.spans(takedown.tombstone), key=attrgetter("warc")):
        path = archive / warc
        end = path.stat().st_size if path.exists() and warc not in lost_files else 0  # a loss may be accepted
        spans = [ErasedSpan(place.offset, place.length) for place in group if place.offset < end]
        try:
            size += erase(archive, warc, spans, now()) if spans else 0
        except ArchiveError as error:
            is_erased = False
            errors.append(str(error))
        session.lease.beat()
    records = sum(
        stores[name].remove(target, takedown.attempts) for name in sorted(takedown.collections) if name in stores
    )
    for session_number in {capture.session for capture in captures}:
        # A missing index is rebuilt when the session closes.
        (archive / index_name(session_number)).unlink(missing_ok=True)
    if not is_erased:  # the captures remain on the ledger until their bytes are gone
        errors.append("not removed completely: correct these errors, then: windrow forget")
        return TakedownResult(target.name, 0, size, records, tuple(errors), done=False)
    own_kept_ids = {capture.attempt for capture in captures if capture.attempt in kept_ids and not capture.borrowed}
    with ledger.writing() as writer:
        writer.takedowns.clear(takedown.tombstone, target.host, takedown.all_attempts, own_kept_ids)
    count = sum(capture.attempt not in kept_ids and not capture.borrowed for capture in captures)
    return TakedownResult(target.name, count, size, records, tuple(errors))


def _find_shared_bytes(
    ledger: Ledger, attempts: Sequence[int], removed_attempts: set[int], captures: Iterable[TargetCapture]
) -> tuple[set[int], list[str]]:
    """Return the attempts whose bytes must be kept for other attempts that are kept, and messages that say so."""
    shared_digests = ledger.takedowns.lent(attempts, removed_attempts)
    shared_captures = ledger.takedowns.shared(attempts, removed_attempts)
    kept_attempts = {capture.attempt for capture in captures if capture.digest in shared_digests} | {
        capture.attempt for capture in shared_captures
    }
    attempts_by_source: dict[tuple[str, str], set[int]] = {}
    for capture in shared_captures:
        if capture.same_address:
            attempts_by_source.setdefault((capture.collection, capture.source), set()).add(capture.attempt)
    errors = [
        f"{counted(len(group), 'capture')} not removed, since {collection} uses the bytes for its source {source},"
        f" which keeps them; only if that source is to lose them too: windrow forget {source}"
        for (collection, source), group in sorted(attempts_by_source.items())
    ]
    if unnamed := kept_attempts - set[int]().union(*attempts_by_source.values()):
        capture_count = counted(len(unnamed), "capture")
        errors.append(f"{capture_count} cannot be removed, since captures of other addresses refer to their bytes")
    return kept_attempts, errors


def _mark_records(session: Session, takedown: _Takedown, places: list[ArchivePlace]) -> list[str]:
    """Record the places of the records to erase; return a message for each file with parts that cannot be searched.

    Raises ArchiveError, and records nothing, if a file exists and cannot be read.
    """
    spans: list[tuple[str, ErasedSpan]] = []
    messages = []
    for warc, group in groupby(places, key=attrgetter("warc")):
        target_spans = [ErasedSpan(place.offset, place.length) for place in group]
        spans += [(warc, span) for span in target_spans]
        broken_offsets: list[int] = []
        try:
            spans += [(warc, span) for span in _find_related(session, warc, target_spans, takedown, broken_offsets)]
        except ArchiveError:
            if (session.settings.archive / warc).exists():  # a missing file has no records
                raise
        if broken_offsets:
            parts_text = f"{counted(len(broken_offsets), 'part')} of {warc}, such as that at byte {broken_offsets[0]:,}"
            messages.append(f"{parts_text}, cannot be read, so records about the target may be left there")
        session.lease.beat()
    with session.ledger.writing() as writer:
        writer.takedowns.record_spans(
            takedown.tombstone, [ArchivePlace(warc, *span) for warc, span in dict.fromkeys(spans)]
        )
    return messages


def _find_related(
    session: Session, warc: str, target_spans: list[ErasedSpan], takedown: _Takedown, broken_offsets: list[int]
) -> Iterator[ErasedSpan]:
    """Yield the spans of records in a WARC file that are about the target, or about asks for its attempts.

    Records of attempts that are kept are left out. An imported file is searched completely, any other file only between
    each of `target_spans` and the record before it. The offsets of broken parts are added to `broken_offsets`.
    """
    path, ledger = session.settings.archive / warc, session.ledger
    places = ledger.takedowns.records_of(warc)
    shared = {place.offset for place in places} - {span.offset for span in target_spans}
    target, urls = takedown.target, {takedown.target.name, *takedown.service_urls}
    if target.host and not target.name.startswith(("http://", "https://")):  # only what one source requested
        requested = {recorded.attempt.url for recorded in ledger.attempts.by_numbers(takedown.attempts)}
        urls |= requested | {f"{parts(url).origin}/robots.txt" for url in requested}

    def is_about_target(uri: str) -> bool:
        url = normalise(uri).url
        return url in urls or (
            bool(url) and (parts(url).origin == target.name if target.host else hash64(url) == target.address)
        )

    if ledger.imports.get(warc):
        search_ranges = [(0, path.stat().st_size if path.is_file() else 0)]
    else:
        ends = sorted(offset + length for offset, length in places)
        preceding = (bisect_right(ends, span.offset) for span in target_spans)
        starts = [ends[count - 1] if count else 0 for count in preceding]
        search_ranges = [(start, span.offset) for start, span in zip(starts, target_spans, strict=True)]
    for search_range in search_ranges:
        for span in related_records(
            path, search_range, session.settings.limits, is_about_target, broken_offsets.append
        ):
            if span.offset not in shared:
                yield span
