"""Take in WARC files of other makers: their records become visits, as if this workspace had asked.

A file is an item of its own. How far its records are on record stands in the transaction that puts them there, so that
a killed run goes on where the last one ended. Addresses that are known from elsewhere are never due by that alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from windrow.archive.erase import ErasedSpan, about, erase
from windrow.archive.import_file import ImportedFile, sweep, take
from windrow.archive.warc_reader import WarcRecord, met
from windrow.clock import now
from windrow.digest import NOTHING, digest
from windrow.engine.captures.foreign_records import ImportedRecord, look, with_methods
from windrow.engine.requests.origin_rules import walked
from windrow.engine.run import HarvestRun, WarcFile
from windrow.errors import ArchiveError, DiskFull
from windrow.formats.text import counted
from windrow.formats.url import parts
from windrow.ledger import LedgerWriter
from windrow.model import ArchivePlace, Attempt, Finding, FoundUrl, KeptResponse, Level, Reading
from windrow.reasons import Reason

BATCH = 256
"""Records that are put on record in one transaction."""

FINDINGS = 1_000
"""Findings of one file that are kept; the rest are counted."""

KIND = "warc"
_ORIGINS = 10_000  # hosts remembered
_NAMED = 8  # kinds of records that a line names


_Batch = list[tuple[WarcRecord, str]]
_NOTES = frozenset({"warcinfo", "metadata", "request", "metadata address", "urn address", "dns address", "robots.txt"})
"""Records in which a crawler tells of itself and of its hosts: a file of nothing else is in order."""


class _File(NamedTuple):
    """A file of the archive, and the source that it came in by."""

    item: int
    source: str
    warc: str


@dataclass(slots=True)
class _Tally:
    """What a source's files came to."""

    task: int
    files: int = 0
    held: int = 0
    visits: int = 0
    wrong: Counter[str] = field(default_factory=Counter)
    waiting: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)

    def add(self, other: _Tally) -> None:
        """Count what one file came to."""
        self.visits += other.visits
        self.waiting += other.waiting
        self.wrong += other.wrong
        self.skipped += other.skipped

    def gave_nothing(self) -> bool:
        """Tell of a file whether nothing came of it, though it is not only a crawler's notes about itself."""
        return not self.visits and not (
            self.skipped and not self.wrong and not self.waiting and self.skipped.keys() <= _NOTES
        )

    def left_something(self, waiting: int) -> bool:
        """Tell whether records of documents gave nothing, or nothing yet."""
        return bool(waiting or self.wrong or self.skipped.keys() - _NOTES)

    def told(self, name: str, waiting: int) -> str:
        """Say it in one line."""
        parts_ = [f"{name}: {counted(self.files, 'file')}, {counted(self.visits, 'capture')}"]
        parts_ += [f"{self.held} held already"] if self.held else []
        if self.wrong:
            parts_.append(f"{counted(self.wrong.total(), 'record')} wrong: {_counted(self.wrong)}")
        if waiting:
            parts_.append(f"{counted(waiting, 'revisit')} without what they repeat ({Reason.NO_ORIGINAL})")
        parts_ += [f"left out: {_counted(self.skipped)}"] if self.skipped else []
        return "; ".join([*parts_, *self.broken])


def _counted(words: Counter[str]) -> str:
    """Name the most frequent, and count the rest together.

    >>> _counted(Counter({str(number): 9 - number for number in range(9)} | {"x": 0}))
    '0 9, 1 8, 2 7, 3 6, 4 5, 5 4, 6 3, 7 2, of other kinds 1'
    """
    rest = words.total() - sum(count for _, count in words.most_common(_NAMED))
    named = [f"{word} {count}" for word, count in words.most_common(_NAMED)]
    return ", ".join([*named, f"of other kinds {rest}"] if rest else named)


class WarcImporter:
    """Imports the WARC files of a harvest, one after the other."""

    def __init__(self, run: HarvestRun) -> None:
        """Work within a run whose collection crawls."""
        crawl = walked(run.collection)
        assert crawl is not None
        self._run = run
        self._page = crawl.page
        self._phase = 1
        self._host = lru_cache(_ORIGINS)(self._host_of)
        self._tallies: dict[str, _Tally] = {}
        self._taken_down = run.ledger.takedowns.addresses()
        self._empty: list[tuple[_Tally, Path, int, int]] = []  # files that gave nothing yet, and their waiting revisits

    def run(self) -> None:
        """Take everything in, then give revisits the bytes that came after them."""
        run = self._run
        sweep(run.archive)
        run.progress.begin("taking in")
        for lot in run.harvest.warc_files:
            if run.stopping():
                break
            tally = self._tallies.get(lot.source)
            if tally is None:
                tally = self._tallies[lot.source] = _Tally(run.open_task(self._phase, lot.source))
            try:
                self._take(lot, tally)
            except DiskFull:
                raise
            except ArchiveError as error:
                tally.broken.append(f"{lot.path}: {error}")
        if not run.stopping():
            self._resolve()
        self._close_tasks()
        run.progress.end()

    def _close_tasks(self) -> None:
        """Put on record what the files of each source gave, and what they did not."""
        run = self._run
        for tally, path, item, waited in self._empty:
            waiting = run.ledger.imports.count_waiting_in(item)
            if waiting == waited:
                why = f": {counted(waiting, 'revisit')} of what is not here ({Reason.NO_ORIGINAL})" if waiting else ""
                tally.broken.append(f"{path} gave nothing{why}")
        for name, tally in self._tallies.items():
            waiting = run.ledger.imports.count_waiting(name)
            told = tally.told(name, waiting)
            run.close_task(tally.task, told, failed=bool(tally.broken))
            if not tally.broken and tally.left_something(waiting):
                run.close_task(run.open_task(self._phase), told)  # the session's own, so that its summary shows it

    def _take(self, lot: WarcFile, tally: _Tally) -> None:
        """Take one file in, from where it was left."""
        run = self._run
        taken = take(run.archive, lot.path, run.limits)
        tally.files += 1
        if taken.trouble:
            tally.broken.append(f"{lot.path} {taken.trouble}")
        item, offset, source = self._item(lot, taken)
        if not taken.size:
            tally.broken.append(f"{lot.path} gave nothing: it is empty")
            return
        if offset >= taken.size:
            tally.held += 1
            return
        counts = _Tally(tally.task)
        for batch in _batches(with_methods(met(run.archive / taken.warc, offset, run.limits))):
            last = batch[-1][0].next
            with run.ledger.writing() as writer:
                wrong = counts.wrong.total()
                found = self._write(writer, _File(item, source, taken.warc), batch, counts)
                writer.items.find(run.session, item, self._phase, found[: max(0, FINDINGS - wrong)])
                writer.imports.read_to(item, last)
                if last >= taken.size:
                    read = Reading(count=counts.visits)
                    writer.items.read(run.session, item, (run.collection.phases[0], ""), "", read, then="")
            run.progress.step(len(batch), len(found))
            run.tick()
            if run.stopping():
                break
        else:
            if offset == 0 and counts.gave_nothing():
                self._empty.append((tally, lot.path, item, counts.waiting))
        tally.add(counts)

    def _item(self, lot: WarcFile, taken: ImportedFile) -> tuple[int, int, str]:
        """Return the item of a file, how far it is on record, and the source that it came in by."""
        run = self._run
        known = run.ledger.imports.get(taken.warc)
        with run.ledger.writing() as writer:
            if known:
                item, source, offset = known
            else:
                item = writer.items.add(
                    run.session, run.collection.name, KIND, taken.warc, step=run.collection.phases[0],
                    owner=lot.source, size=taken.size,
                )  # fmt: skip
                source, offset = lot.source, 0
                writer.imports.add(item, source, taken.warc, taken.size)
            writer.imports.name(item, lot.name)
        return item, offset, source

    def _write(self, writer: LedgerWriter, file: _File, batch: _Batch, tally: _Tally) -> list[Finding]:
        """Put a batch on record, and return what is wrong with it."""
        found: list[Finding] = []
        fresh: dict[str, KeptResponse] = {}
        for one, method in batch:
            if self._taken_down and self._taken_down.hold(about(one.fields)):
                # Before it is told here: a run that is killed in between finds nothing left to take in.
                erase(self._run.archive, file.warc, [ErasedSpan(one.offset, one.length)], now())
                tally.skipped["taken down"] += 1
                continue
            sight = look(one, file.warc, self._page, method)
            if sight.finding:
                found.append(sight.finding)
                tally.wrong[str(sight.wrong)] += 1
            elif sight.attempt is None:
                tally.skipped[sight.skipped] += 1
            elif self._see(writer, file, one, sight, fresh):
                tally.visits += 1
            else:
                tally.waiting += 1
        return found

    def _see(
        self, writer: LedgerWriter, file: _File, one: WarcRecord, sight: ImportedRecord, fresh: dict[str, KeptResponse]
    ) -> bool:
        """Put one visit on record; False where it has to wait for its bytes."""
        attempt, spelled = sight.attempt, sight.payload
        assert attempt is not None
        if sight.refers:
            repeated = fresh.get(spelled) or self._payload(spelled)
            if repeated is None:
                writer.imports.wait(file.item, one.offset, spelled)
                return False
            attempt = attempt._replace(kept=_repeat(repeated, file.warc, one))
        elif attempt.kept and spelled and attempt.kept.size and spelled not in fresh:
            fresh[spelled] = attempt.kept
            writer.imports.payload(spelled, attempt.kept)
        self._put(writer, file.source, attempt)
        return True

    def _payload(self, spelled: str) -> KeptResponse | None:
        if spelled in NOTHING:
            return KeptResponse(digest(b""), 0, ArchivePlace("", 0, 0))  # the place is the revisit's own
        return self._run.ledger.imports.payload(spelled) if spelled else None

    def _put(self, writer: LedgerWriter, source: str, attempt: Attempt) -> None:
        origin = parts(attempt.url).origin
        host = self._host(origin)
        if host is None:
            host = writer.addresses.add_host(self._run.session, self._run.collection.name, source, origin)
            writer.flush()
            self._host.cache_clear()
        writer.addresses.add_known(host, FoundUrl(attempt.target, origin, attempt.url))
        writer.attempts.record_attempt(self._run.session, host, attempt)

    def _host_of(self, origin: str) -> int | None:
        return self._run.ledger.addresses.host(origin, self._run.collection.name)

    def _resolve(self) -> None:
        """Put revisits on record whose bytes have come since."""
        run, last = self._run, (0, -1)
        while not run.stopping() and (rows := run.ledger.imports.resolved(last, BATCH)):
            with run.ledger.writing() as writer:
                for item, offset, warc, source in rows:
                    self._late(writer, item, offset, warc, source)
            last = (rows[-1].item, rows[-1].offset)
            run.tick()

    def _late(self, writer: LedgerWriter, item: int, offset: int, warc: str, source: str) -> None:
        one = _one(self._run, warc, offset)
        sight = look(one, warc, self._page)
        repeated = self._payload(sight.payload)
        if sight.attempt is None or repeated is None:
            gone = Finding("Corrupt", f"at byte {offset}: the record cannot be read any more", Level.WARN)
            writer.items.find(self._run.session, item, self._phase, [sight.finding or gone])
        else:
            self._put(writer, source, sight.attempt._replace(kept=_repeat(repeated, warc, one)))
        writer.imports.resolve(item, offset)


def _batches(records: Iterable[tuple[WarcRecord, str]]) -> Iterator[_Batch]:
    """Yield records that are put on record together: none ends with a request, which may say how its answer was had."""
    batch: _Batch = []
    for record in records:
        batch.append(record)
        if len(batch) >= BATCH and record[0].kind != "request":
            yield batch
            batch = []
    if batch:
        yield batch


def _repeat(repeated: KeptResponse, warc: str, one: WarcRecord) -> KeptResponse:
    """Return what a revisit kept: its own record, which says that the bytes are others'."""
    return repeated._replace(place=ArchivePlace(warc, one.offset, one.length), revisit=True)


def _one(run: HarvestRun, warc: str, offset: int) -> WarcRecord:
    """Read one record once more."""
    nothing = WarcRecord(offset, 0, offset, reason=Reason.NOT_FOUND, message="the file is not in the archive")
    path: Path = run.archive / warc
    try:
        records: Iterator[WarcRecord] = met(path, offset, run.limits)
        return next(records, nothing)
    except ArchiveError as error:
        return nothing._replace(message=str(error))
