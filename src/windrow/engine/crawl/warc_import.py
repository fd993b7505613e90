"""Import WARC files of other programs: records become attempts, as if this workspace had made the requests.

The records of a batch and the position after them are stored in one transaction. So a run that follows a killed one
continues from there. An address that is known only from such a file is never due.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from windrow.archive import verify_block, verify_stated_digest
from windrow.archive.erase import ErasedSpan, erase, target_address
from windrow.archive.import_file import ImportedFile, import_warc_file, remove_leftovers
from windrow.archive.warc_reader import STATED, WarcRecord, read_records
from windrow.caps import STORED_FINDINGS
from windrow.clock import now
from windrow.engine.captures.capture_ledger import Original, find_original
from windrow.engine.captures.foreign_records import (
    ImportedRecord,
    interpret_record,
    is_ahead,
    mark_cut_body,
    with_methods,
)
from windrow.engine.captures.original_names import name_original, referred_names
from windrow.engine.crawl.left_out import MAX_RULES, LeftOutCounter
from windrow.engine.requests.origin_rules import crawl_of
from windrow.engine.run import HarvestRun, WarcFile
from windrow.errors import ArchiveError, DiskFull
from windrow.formats.text import counted, join_counts
from windrow.formats.url import parts
from windrow.ledger import LedgerWriter
from windrow.ledger.sessions import OTHER_RULES
from windrow.ledger.typed.captures import RuleRow
from windrow.model import ArchivePlace, Attempt, Finding, FoundUrl, Level, Reading
from windrow.reasons import Reason

BATCH_SIZE = 256
"""The approximate number of records that are stored in one transaction."""

MAX_FINDINGS = STORED_FINDINGS.number
"""The maximum number of findings about one file that a run stores. Further findings are only counted."""

_BROKEN_FILE_RULE = "its compressed bytes are broken, so the records after that are missing"
_TAKEN_DOWN = "taken down"
_MAX_HOSTS = 10_000  # the maximum number of hosts whose numbers are remembered

_Batch = list[tuple[WarcRecord, str]]
"""Records, each with the method of its request, or "" if the file does not have the request."""
_CRAWLER_RECORDS = frozenset(
    {"warcinfo", "metadata", "request", "metadata address", "urn address", "dns address", "robots.txt"}
)
"""The kinds of records about the crawler and its hosts. It is not an error if a file has only such records."""


class _File(NamedTuple):
    """A WARC file in the archive: its number on the ledger, and the source for which it is imported."""

    number: int
    source: str
    warc: str  # its name in the archive
    read_before: frozenset[int]  # the offsets of the records that attempts refer to


@dataclass(slots=True)
class _Tally:
    """The counts of one file, or of all files of a source, in this run."""

    task: int  # the number of the source's task
    files: int = 0
    known_files: int = 0  # files that were imported completely before
    other_sources: Counter[str] = field(default_factory=Counter)  # files imported before for other sources, by source
    attempts: int = 0
    faults: Counter[str] = field(default_factory=Counter)  # records with faults, by reason; truncated ones are imported
    waiting: int = 0  # revisits whose original has not been imported yet
    skipped: Counter[str] = field(default_factory=Counter)  # records that are not imported, by kind
    errors: list[str] = field(default_factory=list)  # messages about files
    left_out: LeftOutCounter = field(default_factory=LeftOutCounter)  # the faults, for the summary

    def add_file(self, tally: _Tally) -> None:
        self.attempts += tally.attempts
        self.waiting += tally.waiting
        self.faults += tally.faults
        self.skipped += tally.skipped

    def is_fruitless(self) -> bool:
        """Return whether no capture was imported from a file.

        The result is also False if all records of the file are about its crawler, since then it has no captures.
        """
        return not self.attempts and not (
            self.skipped and not self.faults and not self.waiting and self.skipped.keys() <= _CRAWLER_RECORDS
        )

    def has_omissions(self, waiting: int) -> bool:
        """Return whether some documents in the files were not imported for this source.

        `waiting` is the number of revisits without an original.
        """
        return bool(waiting or self.faults or self.other_sources or self.skipped.keys() - _CRAWLER_RECORDS)

    def summary(self, name: str, waiting: int) -> str:
        """Return the counts of the source `name` as one line. `waiting` counts the revisits without an original."""
        clauses = [f"{name}: {counted(self.files, 'file')}, {counted(self.attempts, 'capture')}"]
        clauses += [f"{counted(self.known_files, 'file')} imported before"] if self.known_files else []
        clauses += [
            f"{counted(files, 'file')} already imported for source {other}"
            for other, files in self.other_sources.items()
        ]
        if self.faults:
            clauses.append(f"{counted(self.faults.total(), 'record')} with faults: {join_counts(self.faults)}")
        if waiting:
            clauses.append(f"{counted(waiting, 'revisit')} without an original ({Reason.NO_ORIGINAL})")
        clauses += [f"left out: {join_counts(self.skipped)}"] if self.skipped else []
        return "; ".join([*clauses, *self.errors])


class WarcImporter:
    """Imports the WARC files of a harvest, one after another."""

    def __init__(self, run: HarvestRun) -> None:
        crawl = crawl_of(run.collection)
        assert crawl is not None
        self._run = run
        self._page = crawl.page
        self._phase = 1
        self._host = lru_cache(_MAX_HOSTS)(lambda origin: run.ledger.addresses.host(origin, run.collection.name))
        self._tallies: dict[str, _Tally] = {}  # by source
        self._taken_down = run.ledger.takedowns.addresses()
        # files from which no capture was imported: (source's tally, name, number, waiting revisits)
        self._fruitless: list[tuple[_Tally, str, int, int]] = []

    def run(self) -> None:
        """Import all files, then the revisits whose originals were imported after them."""
        run = self._run
        remove_leftovers(run.settings.archive)
        run.progress.begin("importing")
        for warc_file in run.harvest.warc_files:
            if run.stopping():
                break
            tally = self._tally_of(warc_file.source)
            try:
                self._import_file(warc_file, tally)
            except DiskFull:
                raise
            except ArchiveError as error:
                tally.errors.append(f"{warc_file.name}: {error}")
        if not run.stopping():
            self._resolve_revisits()
        self._close_tasks()
        run.progress.end()

    def _tally_of(self, source: str) -> _Tally:
        if source not in self._tallies:
            self._tallies[source] = _Tally(self._run.open_task(self._phase, source))
        return self._tallies[source]

    def _close_tasks(self) -> None:
        run = self._run
        for tally, file_name, file_number, waiting_before in self._fruitless:
            waiting = run.ledger.imports.count_waiting_in(file_number)
            if waiting == waiting_before:
                explanation = (
                    f": {counted(waiting, 'revisit')} without an original ({Reason.NO_ORIGINAL})" if waiting else ""
                )
                tally.errors.append(f"no capture was imported from {file_name}{explanation}")
        for name, tally in self._tallies.items():
            waiting = run.ledger.imports.count_waiting(name)
            summary = tally.summary(name, waiting)
            run.close_task(tally.task, summary, failed=bool(tally.errors))
            if not tally.errors and tally.has_omissions(waiting):
                # a task without a source, so that the session's summary shows it
                run.close_task(run.open_task(self._phase), summary, Reason.NO_ORIGINAL if waiting else None)
            with run.ledger.writing() as writer:
                tally.left_out.record(writer, run.session, run.collection.name, name, self._phase)

    def _import_file(self, warc_file: WarcFile, tally: _Tally) -> None:
        run = self._run
        if warc_file.problem:
            raise ArchiveError(warc_file.problem)
        imported = import_warc_file(run.settings.archive, warc_file.path, run.settings.limits)
        tally.files += 1
        number, offset, source = self._add_file(warc_file, imported)
        if source != warc_file.source:
            tally.other_sources[source] += 1
        index = self._begin_counts(source, warc_file.name[:1024], imported.warc)
        if imported.problem:
            self._report_broken_file(index, warc_file, imported.problem, tally)
        if not imported.size:
            tally.errors.append(f"no capture was imported from {warc_file.name}: it is empty")
            return
        is_known = offset >= imported.size
        if is_known and not self._begin_again(index, source, warc_file.name[:1024], imported.warc):
            tally.known_files += 1
            return
        read_before = frozenset(place.offset for place in run.ledger.takedowns.records_of(imported.warc))
        file, counts = _File(number, source, imported.warc, read_before), _Tally(tally.task)
        offset, max_findings = (0, 0) if is_known else (offset, MAX_FINDINGS)  # its findings are stored already
        records = with_methods(read_records(run.settings.archive / imported.warc, offset, run.settings.limits, STATED))
        ahead: list[WarcRecord] = []
        for batch in _batches(_take_past(records, ahead)):
            position, batch_counts = batch[-1][0].next, _Tally(tally.task)
            with run.ledger.writing() as writer:
                faults_before = counts.faults.total()
                findings = self._write_batch(writer, file, batch, batch_counts)
                counts.add_file(batch_counts)
                writer.items.add_findings(
                    run.session, number, self._phase, findings[: max(0, max_findings - faults_before)]
                )
                writer.imports.read_to(number, position)
                _count_faults(writer, index, warc_file.name, batch_counts.faults, tally.left_out)
                self._count_skipped(writer, index, warc_file.name, batch_counts.skipped)
                if position >= imported.size:
                    reading = Reading(count=counts.attempts)
                    writer.items.add_reading(run.session, number, (run.collection.phases[0], ""), "", reading, then="")
            tally.add_file(batch_counts)  # even if the remainder of the file cannot be read
            run.progress.step(len(batch), len(findings))
            run.tick()
            if run.stopping():
                break
        else:
            _report_ahead(ahead)
            if offset == 0 and not is_known and counts.is_fruitless():
                self._fruitless.append((tally, warc_file.name, number, counts.waiting))

    def _add_file(self, warc_file: WarcFile, imported: ImportedFile) -> tuple[int, int, str]:
        """Record a file, and return its number, the offset up to which it was read, and its source."""
        run = self._run
        known_file = run.ledger.imports.get(imported.warc)
        with run.ledger.writing() as writer:
            if known_file:
                file_number, source, offset = known_file
            else:
                source, offset = warc_file.source, 0
                name, step = run.collection.name, run.collection.phases[0]
                file_number = writer.imports.add(run.session, name, source, imported.warc, imported.size, step)
            writer.imports.add_name(file_number, warc_file.name)
        return file_number, offset, source

    def _begin_counts(self, source: str, name: str, warc: str) -> int:
        """Return the number under which the faults of a file are counted until it is imported again without them.

        `name` is the name of the file, and `warc` identifies its content: the counts of another content are deleted.
        """
        run, captures = self._run, self._run.ledger.captures
        index = captures.index(run.collection.name, source, name)
        if index is None or index.rules != warc:
            with run.ledger.writing() as writer:
                writer.captures.begin(run.collection.name, source, name, warc)
            index = captures.index(run.collection.name, source, name)
        assert index is not None
        return index.id

    def _begin_again(self, index: int, source: str, name: str, warc: str) -> bool:
        """If a file that was read has records with wrong times, reset its counts, and return True.

        The clock may have been behind when it was read, so that good times were in the future.
        """
        if all(row.reason != Reason.BAD_DATE for row in self._run.ledger.captures.left_out(index)):
            return False
        with self._run.ledger.writing() as writer:
            writer.captures.begin(self._run.collection.name, source, name, warc)
        return True

    def _report_broken_file(self, index: int, warc_file: WarcFile, problem: str, tally: _Tally) -> None:
        """Report that the end of a file is missing, because its compressed bytes are broken; count that once."""
        tally.errors.append(f"{warc_file.name} {problem}")
        rule = RuleRow(Reason.CORRUPT, _BROKEN_FILE_RULE, 1, warc_file.name)
        tally.left_out.add(*rule)
        if all(known.rule != rule.rule for known in self._run.ledger.captures.left_out(index)):
            with self._run.ledger.writing() as writer:
                writer.captures.leave_out(index, rule)

    def _count_skipped(self, writer: LedgerWriter, index: int, name: str, skipped: Mapping[str, int]) -> None:
        """Add the numbers of records that are not imported for their kind to the counts of the file `name`."""
        known_rules = {row.rule for row in self._run.ledger.captures.left_out(index)}
        for kind, count in skipped.items():
            if kind in _CRAWLER_RECORDS or kind == _TAKEN_DOWN:
                continue
            rule = f"the kind of the record: {kind}"
            if rule not in known_rules and len(known_rules) >= MAX_RULES:  # a file may name any number of kinds
                rule = OTHER_RULES
            known_rules.add(rule)
            writer.captures.leave_out(index, RuleRow(Reason.NOT_WANTED, rule, count, name))

    def _write_batch(self, writer: LedgerWriter, file: _File, batch: _Batch, tally: _Tally) -> list[Finding]:
        """Store and count the records of a batch as attempts, and return a finding for each faulty record."""
        findings: list[Finding] = []
        batch_payloads: dict[str, Original] = {}
        for record, method in batch:
            if self._taken_down and self._taken_down.contains(target_address(record.fields)):
                # Erased before it is counted: if the run is killed in between, the next one imports nothing of it.
                erase(self._run.settings.archive, file.warc, [ErasedSpan(record.offset, record.length)], now())
                tally.skipped[_TAKEN_DOWN] += 1
                continue
            imported = self._verify_payload(file, record, interpret_record(record, file.warc, self._page, method))
            if imported.finding:
                findings.append(imported.finding)
                tally.faults[str(Reason.TRUNCATED if imported.is_truncated else imported.wrong)] += 1
            if imported.skipped:
                tally.skipped[imported.skipped] += 1
            elif record.offset in file.read_before:
                continue
            elif imported.attempt and self._add_record(writer, file, record, imported, batch_payloads):
                tally.attempts += 1
            elif imported.attempt:
                tally.waiting += 1
        return findings

    def _verify_payload(self, file: _File, record: WarcRecord, imported: ImportedRecord) -> ImportedRecord:
        """Compare the bytes of a record with their stated digests, and mark a body that is cut.

        If they differ or cannot be read, the result has a finding and, unless it refers to another, "" as `payload`.
        """
        if imported.attempt is None:
            return imported
        path, limits = self._run.settings.archive / file.warc, self._run.settings.limits
        try:
            verify_block(path, record)
            if imported.refers or imported.attempt.kept is None:
                return imported
            imported = mark_cut_body(path, record, imported, limits)
            verified_digest = verify_stated_digest(path, record, limits)
        except ArchiveError as error:
            reason = error.reason or Reason.DIGEST_MISMATCH
            consequence = "" if imported.refers else "; its bytes are not used for revisits"
            finding = Finding(reason.class_name, f"{error}{consequence}", Level.WARN)
            payload = imported.payload if imported.refers else ""
            return imported._replace(payload=payload, finding=finding, wrong=reason)
        return imported._replace(payload=verified_digest)

    def _add_record(
        self, writer: LedgerWriter, file: _File, record: WarcRecord, imported: ImportedRecord,
        batch_payloads: dict[str, Original],
    ) -> bool:  # fmt: skip
        """Store a record's attempt, and its response in `batch_payloads`. Return False if it waits for its original."""
        attempt, payload_digest = imported.attempt, imported.payload
        assert attempt is not None
        if imported.refers:
            names = referred_names(record, payload_digest)
            original = next((batch_payloads[name] for name in names if name in batch_payloads), None)
            original = original or self._find_original(names)
            if original is None:
                writer.imports.add_waiting_revisit(file.number, record.offset, next(iter(names), ""))
                return False
            attempt = original.as_revisit(attempt, _place_in(file.warc, record))
        elif attempt.kept and payload_digest:
            digests = (payload_digest,) if attempt.kept.size else ()
            for name in {*digests, *name_original(record, attempt)} - batch_payloads.keys():
                batch_payloads[name] = Original(attempt.kept, attempt.status)
                writer.imports.add_payload(name, attempt.kept)
        self._record_attempt(writer, file.source, attempt)
        return True

    def _find_original(self, names: Iterable[str]) -> Original | None:
        return next(filter(None, (find_original(self._run.ledger, name) for name in names)), None)

    def _record_attempt(self, writer: LedgerWriter, source: str, attempt: Attempt) -> None:
        origin = parts(attempt.url).origin
        host = self._host(origin)
        if host is None:
            host = writer.addresses.add_host(self._run.session, self._run.collection.name, source, origin)
            writer.flush()
            self._host.cache_clear()
        writer.addresses.add_known(host, FoundUrl(attempt.target, origin, attempt.url))
        writer.attempts.record_attempt(self._run.session, host, attempt)

    def _resolve_revisits(self) -> None:
        run, last_position = self._run, (0, -1)
        unread: dict[tuple[str, str], None] = {}  # (source, message) of files that cannot be read, in order
        while not run.stopping() and (revisits := run.ledger.imports.resolved(last_position, BATCH_SIZE)):
            with run.ledger.writing() as writer:
                for file_number, offset, warc, source in revisits:
                    try:
                        self._resolve_revisit(writer, file_number, offset, warc, source)
                    except ArchiveError as error:  # the revisit waits until its file can be read
                        unread[source, f"revisits are not imported: {error}"] = None
            last_position = (revisits[-1].intake, revisits[-1].offset)
            run.tick()
        for source, message in unread:
            self._tally_of(source).errors.append(message)

    def _resolve_revisit(self, writer: LedgerWriter, file_number: int, offset: int, warc: str, source: str) -> None:
        record = _read_record(self._run, warc, offset)
        imported = interpret_record(record, warc, self._page)
        original = self._find_original(referred_names(record, imported.payload))
        if imported.attempt is None or original is None:
            unreadable = Finding("Corrupt", f"the record at byte {offset:,} is not a revisit any more", Level.WARN)
            writer.items.add_findings(self._run.session, file_number, self._phase, [imported.finding or unreadable])
        else:
            self._record_attempt(writer, source, original.as_revisit(imported.attempt, _place_in(warc, record)))
        writer.imports.remove_waiting_revisit(file_number, offset)


def _count_faults(
    writer: LedgerWriter, index: int, name: str, faults: Mapping[str, int], left_out: LeftOutCounter
) -> None:
    """Add the numbers of faults by reason to the counts of the file `name`, and to those of the session."""
    for reason, count in faults.items():
        meaning = Reason(reason).meaning
        writer.captures.leave_out(index, RuleRow(Reason(reason), meaning, count, name))
        left_out.add(Reason(reason), meaning, count, name)


def _take_past(records: Iterable[tuple[WarcRecord, str]], ahead: list[WarcRecord]) -> Iterator[tuple[WarcRecord, str]]:
    """Yield records up to the first one whose time is still to come, which is appended to `ahead` instead.

    It would stand before what the crawl itself receives until then. Later runs continue with it.
    """
    for record, method in records:
        if is_ahead(record):
            ahead.append(record)
            return
        yield record, method


def _report_ahead(ahead: list[WarcRecord]) -> None:
    if ahead:
        message = f"the record at byte {ahead[0].offset:,} has a time that is still to come"
        raise ArchiveError(f"{message}; import the file again after that time, to read on")


def _batches(records: Iterable[tuple[WarcRecord, str]]) -> Iterator[_Batch]:
    """Yield batches of about BATCH_SIZE records, none of which ends between a request and its response."""
    batch: _Batch = []
    for record in records:
        batch.append(record)
        if len(batch) >= (BATCH_SIZE if record[0].kind != "request" else 4 * BATCH_SIZE):
            yield batch
            batch = []
    if batch:
        yield batch


def _place_in(warc: str, record: WarcRecord) -> ArchivePlace:
    return ArchivePlace(warc, record.offset, record.length)


def _read_record(run: HarvestRun, warc: str, offset: int) -> WarcRecord:
    missing = WarcRecord(offset, 0, offset, reason=Reason.NOT_FOUND, message="the file ends before it")
    return next(read_records(run.settings.archive / warc, offset, run.settings.limits), missing)
