"""Import WARC files of other tools: their records become attempts, as if this workspace had made the requests.

The position in a file is stored in the transaction that stores its records, so that a killed run continues there. An
address that is known from such a file alone is never due.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from windrow.archive.erase import ErasedSpan, erase, target_address
from windrow.archive.import_file import ImportedFile, import_warc_file, remove_leftovers
from windrow.archive.warc_reader import WarcRecord, read_records
from windrow.clock import now
from windrow.digest import EMPTY_DIGESTS, digest
from windrow.engine.captures.foreign_records import ImportedRecord, interpret_record, with_methods
from windrow.engine.requests.origin_rules import walked
from windrow.engine.run import HarvestRun, WarcFile
from windrow.errors import ArchiveError, DiskFull
from windrow.formats.text import counted
from windrow.formats.url import parts
from windrow.ledger import LedgerWriter
from windrow.model import ArchivePlace, Attempt, Finding, FoundUrl, KeptResponse, Level, Reading
from windrow.reasons import Reason

BATCH = 256
"""Records stored in one transaction."""

FINDINGS = 1_000
"""Findings of one file that are stored; the rest are counted."""

_ORIGINS = 10_000  # hosts remembered
_NAMED = 8  # kinds of records named in a comment


_Batch = list[tuple[WarcRecord, str]]
_NOTES = frozenset({"warcinfo", "metadata", "request", "metadata address", "urn address", "dns address", "robots.txt"})
"""Records about the crawler and its hosts: a file may consist of them alone."""


class _File(NamedTuple):
    """A file of the archive, and the source that it was imported for."""

    intake: int
    source: str
    warc: str


@dataclass(slots=True)
class _Tally:
    """The counts of a source's files."""

    task: int
    files: int = 0
    held: int = 0
    attempts: int = 0
    wrong: Counter[str] = field(default_factory=Counter)
    waiting: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)

    def add(self, tally: _Tally) -> None:
        self.attempts += tally.attempts
        self.waiting += tally.waiting
        self.wrong += tally.wrong
        self.skipped += tally.skipped

    def gave_nothing(self) -> bool:
        """Return whether a file gave no capture though it has more than a crawler's notes about itself."""
        return not self.attempts and not (
            self.skipped and not self.wrong and not self.waiting and self.skipped.keys() <= _NOTES
        )

    def left_something(self, waiting: int) -> bool:
        """Return whether some records of documents gave no capture, or none yet."""
        return bool(waiting or self.wrong or self.skipped.keys() - _NOTES)

    def summary(self, name: str, waiting: int) -> str:
        clauses = [f"{name}: {counted(self.files, 'file')}, {counted(self.attempts, 'capture')}"]
        clauses += [f"{self.held} held already"] if self.held else []
        if self.wrong:
            clauses.append(f"{counted(self.wrong.total(), 'record')} wrong: {_join_counts(self.wrong)}")
        if waiting:
            clauses.append(f"{counted(waiting, 'revisit')} without their originals ({Reason.NO_ORIGINAL})")
        clauses += [f"left out: {_join_counts(self.skipped)}"] if self.skipped else []
        return "; ".join([*clauses, *self.broken])


def _join_counts(words: Counter[str]) -> str:
    """Return the most frequent words with their counts, and the sum of the others.

    >>> _join_counts(Counter({str(number): 9 - number for number in range(9)} | {"x": 0}))
    '0 9, 1 8, 2 7, 3 6, 4 5, 5 4, 6 3, 7 2, of other kinds 1'
    """
    other_count = words.total() - sum(count for _, count in words.most_common(_NAMED))
    words_shown = [f"{word} {count}" for word, count in words.most_common(_NAMED)]
    return ", ".join([*words_shown, f"of other kinds {other_count}"] if other_count else words_shown)


class WarcImporter:
    """Imports the WARC files of a harvest, one after the other."""

    def __init__(self, run: HarvestRun) -> None:
        crawl = walked(run.collection)
        assert crawl is not None
        self._run = run
        self._page = crawl.page
        self._phase = 1
        self._host = lru_cache(_ORIGINS)(self._find_host)
        self._tallies: dict[str, _Tally] = {}
        self._taken_down = run.ledger.takedowns.addresses()
        self._empty: list[tuple[_Tally, Path, int, int]] = []  # files without captures, and their waiting revisits

    def run(self) -> None:
        """Import all files, then resolve revisits whose originals came later."""
        run = self._run
        remove_leftovers(run.archive)
        run.progress.begin("taking in")
        for warc_file in run.harvest.warc_files:
            if run.stopping():
                break
            tally = self._tallies.get(warc_file.source)
            if tally is None:
                tally = self._tallies[warc_file.source] = _Tally(run.open_task(self._phase, warc_file.source))
            try:
                self._import_file(warc_file, tally)
            except DiskFull:
                raise
            except ArchiveError as error:
                tally.broken.append(f"{warc_file.path}: {error}")
        if not run.stopping():
            self._resolve_revisits()
        self._close_tasks()
        run.progress.end()

    def _close_tasks(self) -> None:
        run = self._run
        for tally, path, intake, waiting_before in self._empty:
            waiting = run.ledger.imports.count_waiting_in(intake)
            if waiting == waiting_before:
                explanation = (
                    f": {counted(waiting, 'revisit')} without their originals ({Reason.NO_ORIGINAL})" if waiting else ""
                )
                tally.broken.append(f"{path} gave nothing{explanation}")
        for name, tally in self._tallies.items():
            waiting = run.ledger.imports.count_waiting(name)
            summary = tally.summary(name, waiting)
            run.close_task(tally.task, summary, failed=bool(tally.broken))
            if not tally.broken and tally.left_something(waiting):
                run.close_task(run.open_task(self._phase), summary)  # the session's own, so that its summary shows it

    def _import_file(self, warc_file: WarcFile, tally: _Tally) -> None:
        """Import one file, from its stored position."""
        run = self._run
        imported = import_warc_file(run.archive, warc_file.path, run.limits)
        tally.files += 1
        if imported.trouble:
            tally.broken.append(f"{warc_file.path} {imported.trouble}")
        intake, offset, source = self._add_file(warc_file, imported)
        if not imported.size:
            tally.broken.append(f"{warc_file.path} gave nothing: it is empty")
            return
        if offset >= imported.size:
            tally.held += 1
            return
        counts = _Tally(tally.task)
        for batch in _batches(with_methods(read_records(run.archive / imported.warc, offset, run.limits))):
            position = batch[-1][0].next
            with run.ledger.writing() as writer:
                wrong = counts.wrong.total()
                findings = self._write_batch(writer, _File(intake, source, imported.warc), batch, counts)
                writer.items.add_findings(run.session, intake, self._phase, findings[: max(0, FINDINGS - wrong)])
                writer.imports.read_to(intake, position)
                if position >= imported.size:
                    reading = Reading(count=counts.attempts)
                    writer.items.add_reading(run.session, intake, (run.collection.phases[0], ""), "", reading, then="")
            run.progress.step(len(batch), len(findings))
            run.tick()
            if run.stopping():
                break
        else:
            if offset == 0 and counts.gave_nothing():
                self._empty.append((tally, warc_file.path, intake, counts.waiting))
        tally.add(counts)

    def _add_file(self, warc_file: WarcFile, imported: ImportedFile) -> tuple[int, int, str]:
        """Return the number of a file, its position in bytes, and the source that it was imported for."""
        run = self._run
        row = run.ledger.imports.get(imported.warc)
        with run.ledger.writing() as writer:
            if row:
                intake, source, offset = row
            else:
                source, offset = warc_file.source, 0
                name, step = run.collection.name, run.collection.phases[0]
                intake = writer.imports.add(run.session, name, source, imported.warc, imported.size, step)
            writer.imports.name(intake, warc_file.name)
        return intake, offset, source

    def _write_batch(self, writer: LedgerWriter, file: _File, batch: _Batch, tally: _Tally) -> list[Finding]:
        findings: list[Finding] = []
        fresh: dict[str, KeptResponse] = {}
        for record, method in batch:
            if self._taken_down and self._taken_down.hold(target_address(record.fields)):
                # Erased before it is counted: a run killed in between finds nothing left to import.
                erase(self._run.archive, file.warc, [ErasedSpan(record.offset, record.length)], now())
                tally.skipped["taken down"] += 1
                continue
            imported = interpret_record(record, file.warc, self._page, method)
            if imported.finding:
                findings.append(imported.finding)
                tally.wrong[str(imported.wrong)] += 1
            elif imported.attempt is None:
                tally.skipped[imported.skipped] += 1
            elif self._add_record(writer, file, record, imported, fresh):
                tally.attempts += 1
            else:
                tally.waiting += 1
        return findings

    def _add_record(
        self,
        writer: LedgerWriter,
        file: _File,
        record: WarcRecord,
        imported: ImportedRecord,
        fresh: dict[str, KeptResponse],
    ) -> bool:
        """Store one attempt; return False for a revisit that waits for its original."""
        attempt, spelled = imported.attempt, imported.payload
        assert attempt is not None
        if imported.refers:
            repeated = fresh.get(spelled) or self._original_response(spelled)
            if repeated is None:
                writer.imports.add_waiting_revisit(file.intake, record.offset, spelled)
                return False
            attempt = attempt._replace(kept=_as_revisit(repeated, file.warc, record))
        elif attempt.kept and spelled and attempt.kept.size and spelled not in fresh:
            fresh[spelled] = attempt.kept
            writer.imports.payload(spelled, attempt.kept)
        self._record_attempt(writer, file.source, attempt)
        return True

    def _original_response(self, spelled: str) -> KeptResponse | None:
        if spelled in EMPTY_DIGESTS:
            return KeptResponse(digest(b""), 0, ArchivePlace("", 0, 0))  # the caller sets the place
        return self._run.ledger.imports.payload(spelled) if spelled else None

    def _record_attempt(self, writer: LedgerWriter, source: str, attempt: Attempt) -> None:
        origin = parts(attempt.url).origin
        host = self._host(origin)
        if host is None:
            host = writer.addresses.add_host(self._run.session, self._run.collection.name, source, origin)
            writer.flush()
            self._host.cache_clear()
        writer.addresses.add_known(host, FoundUrl(attempt.target, origin, attempt.url))
        writer.attempts.record_attempt(self._run.session, host, attempt)

    def _find_host(self, origin: str) -> int | None:
        return self._run.ledger.addresses.host(origin, self._run.collection.name)

    def _resolve_revisits(self) -> None:
        """Store revisits whose originals have been imported since."""
        run, last_position = self._run, (0, -1)
        while not run.stopping() and (rows := run.ledger.imports.resolved(last_position, BATCH)):
            with run.ledger.writing() as writer:
                for intake, offset, warc, source in rows:
                    self._resolve_revisit(writer, intake, offset, warc, source)
            last_position = (rows[-1].intake, rows[-1].offset)
            run.tick()

    def _resolve_revisit(self, writer: LedgerWriter, intake: int, offset: int, warc: str, source: str) -> None:
        record = _read_record(self._run, warc, offset)
        imported = interpret_record(record, warc, self._page)
        repeated = self._original_response(imported.payload)
        if imported.attempt is None or repeated is None:
            unreadable = Finding("Corrupt", f"at byte {offset}: the record cannot be read any more", Level.WARN)
            writer.items.add_findings(self._run.session, intake, self._phase, [imported.finding or unreadable])
        else:
            self._record_attempt(writer, source, imported.attempt._replace(kept=_as_revisit(repeated, warc, record)))
        writer.imports.remove_waiting_revisit(intake, offset)


def _batches(records: Iterable[tuple[WarcRecord, str]]) -> Iterator[_Batch]:
    """Yield batches; none ends with a request, whose response may follow it."""
    batch: _Batch = []
    for record in records:
        batch.append(record)
        if len(batch) >= BATCH and record[0].kind != "request":
            yield batch
            batch = []
    if batch:
        yield batch


def _as_revisit(repeated: KeptResponse, warc: str, record: WarcRecord) -> KeptResponse:
    """Return the response of a revisit: the bytes of the original at the place of the revisit's record."""
    return repeated._replace(place=ArchivePlace(warc, record.offset, record.length), revisit=True)


def _read_record(run: HarvestRun, warc: str, offset: int) -> WarcRecord:
    unreadable = WarcRecord(offset, 0, offset, reason=Reason.NOT_FOUND, message="the file is not in the archive")
    path: Path = run.archive / warc
    try:
        records: Iterator[WarcRecord] = read_records(path, offset, run.limits)
        return next(records, unreadable)
    except ArchiveError as error:
        return unreadable._replace(message=str(error))
