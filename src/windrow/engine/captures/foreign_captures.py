"""Captures of other programs: read WARC files or the CDX files that index them, and copy the wanted records.

A wanted record is read completely in the pool, verified, and copied into the archive: a WARC record unchanged, an ARC
record converted to WARC. From then on it is a capture like any other: it can be read again, checked and taken down.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from itertools import groupby, islice, repeat
from operator import attrgetter
from pathlib import Path
from typing import Any, cast

from windrow.archive import ArchiveWriter, read_blocks
from windrow.archive.indexed import last_legend
from windrow.archive.warc_reader import WARC_SUFFIXES
from windrow.contract import CAPTURED, Inputs
from windrow.digest import hash64
from windrow.engine.captures.capture_ledger import (
    END_OF_FILE,
    RETRIED_REASONS,
    CaptureLedger,
    CaptureTally,
    CollectedCapture,
    IndexProgress,
    Original,
    TakenCapture,
    find_original,
    identify_file,
)
from windrow.engine.captures.foreign_records import (
    BATCH_RECORDS,
    BlockJob,
    ChosenLines,
    RecordJob,
    ScanJob,
    VerifiedRecord,
    WantedRecord,
    batch_lines,
)
from windrow.engine.captures.piped_indexes import piped_folder, store_piped
from windrow.engine.captures.remote_records import RemoteRecords
from windrow.engine.captures.rules import LeftOutLines, left_out_by_fault, search_fault, sum_left_out
from windrow.engine.captures.warc_names import CDX_NAMES, WarcNames, describe_unread, files_below, with_utf_8_names
from windrow.errors import ArchiveError
from windrow.formats.cdx import Layout
from windrow.formats.text import replace_lone_surrogates
from windrow.formats.url import normalise
from windrow.ledger import LedgerWriter
from windrow.ledger.captures import FailedLine, failed_key, failed_line
from windrow.ledger.typed.captures import FailedRow, IndexRow
from windrow.model import ArchivePlace, Attempt, CdxLine, Finding, Reading
from windrow.reasons import Reason

PARALLEL_FILES = 8
"""The maximum number of WARC files, or of blocks of an index file, that are read in parallel."""


class ForeignCapturing:
    """Reads the WARC files of one source, or their indexes.

    An `index` is the ledger's row for an index file or a WARC file. Its `place` is how far the file was read: the
    number of the last line read in an index file, the offset of the next record in a WARC file, or END_OF_FILE.
    """

    def __init__(self, capture_ledger: CaptureLedger, tally: CaptureTally) -> None:
        self._capture_ledger = capture_ledger
        self._run = capture_ledger.run
        self._source = tally.source
        self._tally = tally
        self._archive: ArchiveWriter | None = None
        self._warc_names = WarcNames()
        self._taken_down = capture_ledger.run.ledger.takedowns.addresses()
        self._remote: RemoteRecords | None = None
        self._changed: set[str] = set()  # files in which records failed, and that were changed since

    def close(self) -> None:
        """Close the WARC files into which records were copied, if there are any."""
        if self._archive is not None:
            self._archive.close()

    def run(self, inputs: Inputs) -> None:
        """Retry failed records (`_retry_failed`), then read the new lines of the indexes and copy the wanted records.

        If the source has no indexes, the new records of its WARC files are read instead.
        """
        files = [*self._find_files(inputs.warc, WARC_SUFFIXES, optional=bool(inputs.cdx))]
        pipes = [path for path in inputs.cdx if path.is_fifo()]
        indexes = [*self._find_files([path for path in inputs.cdx if path not in pipes], CDX_NAMES)]
        indexes += self._store_piped(pipes) if pipes else ()
        for folder in sorted({path.parent for path in indexes}):
            self._warc_names.add(files_below(folder, WARC_SUFFIXES, lambda _: None))  # missing files are reported
        self._warc_names.add(files)
        settings = self._run.settings
        remote = RemoteRecords(inputs.remote, settings.archive, settings.limits) if inputs.remote else nullcontext()
        with remote as self._remote:
            self._retry_failed()
            for path in indexes:
                if not self._capture_ledger.must_stop():
                    self._read_index(path)
            if not inputs.cdx:
                self._scan_files(files)

    def _find_files(self, paths: Iterable[Path], endings: tuple[str, ...], *, optional: bool = False) -> Iterator[Path]:
        """Yield each path that is a file, and the files with these `endings` below each path that is a folder.

        A folder without such files is an error unless `optional` is true.
        """
        for path in sorted(paths):
            if path.is_dir():
                files = files_below(path, endings, self._report_unread)
                if not files and not optional:  # its disk may not be mounted
                    self._tally.errors.append(f"{path} contains no file whose name ends in {', '.join(endings)}")
                yield from with_utf_8_names(files, self._report_unread)
            elif path.is_file():
                yield path
            else:
                self._tally.errors.append(f"{path} does not exist")

    def _report_unread(self, error: OSError) -> None:
        if (message := describe_unread(error)) not in self._tally.errors:
            self._tally.errors.append(message)

    def _store_piped(self, pipes: Iterable[Path]) -> list[Path]:
        """Store pipes for all sources of this session that read them; return the indexes piped for this source.

        Those of earlier runs are returned, too.
        """
        run = self._run
        stored_pipes = run.session_requests.stored_pipes
        spellings = {path.resolve(): path for path in pipes}
        for pipe in spellings.keys() - stored_pipes:  # each can be read only once
            stored_pipes.add(pipe)
            readers = run.harvest.pipe_readers.get(pipe, [self._source.name])
            # /dev/fd/3 can be opened, but not its real path, such as /proc/8/fd/pipe:[9]
            if problem := store_piped(run, spellings[pipe], readers):
                self._tally.errors.append(f"{spellings[pipe]}: {problem}")
        return sorted(piped_folder(run.settings.archive, self._source.name).glob("*.cdx"))

    def _index_row(self, path: Path) -> IndexRow:
        return self._capture_ledger.index_row(self._source, str(path), identify_file(path))

    def _run_jobs(self, jobs: Sequence[BlockJob] | Sequence[ScanJob]) -> list[ChosenLines | Reading]:
        return [done.result for _, done in self._run.pool.run(jobs, batch_size=1, pulse=self._run.tick)]

    def _read_index(self, path: Path) -> None:
        run, index = self._run, self._index_row(path)
        if index.place == END_OF_FILE:
            self._capture_ledger.note_unusable(index, self._tally)
            return
        blocks = read_blocks(path, index.place)
        try:
            while not self._capture_ledger.must_stop():
                batch = [*islice(blocks, PARALLEL_FILES)]
                if not batch:
                    self._store_position(index, END_OF_FILE, ChosenLines((), (), 0))
                    self._capture_ledger.note_unusable(index, self._tally)
                    return
                jobs = [
                    BlockJob(
                        self._capture_ledger.captures, self._source, run.harvest.options, block.content, block.legend
                    )
                    for block in batch
                ]
                for block, job, chosen in zip(batch, jobs, self._run_jobs(jobs), strict=True):
                    last_line = block.first + block.content.count(b"\n")
                    if not self._take_chosen(index, last_line, self._choose(job, chosen)):
                        return
        except ArchiveError as error:
            self._tally.errors.append(str(error))

    def _choose(self, job: BlockJob, chosen: ChosenLines | Reading) -> ChosenLines:
        """Return the lines that a job chose. A failed job is run again on parts of its lines, down to single lines."""
        if isinstance(chosen, ChosenLines):
            return chosen
        wanted, left_out, count = list[CdxLine](), list[LeftOutLines](), 0
        lines: list[tuple[Layout | None, bytes]] = []  # each with the layout that is declared before it
        legend = job.legend
        for line in job.content.split(b"\n"):
            lines.append((legend, line))
            legend = last_legend([line], legend)

        def run_parts(parts: Sequence[Sequence[tuple[Layout | None, bytes]]]) -> list[ChosenLines | Reading]:
            contents = [b"\n".join(line for _, line in part) for part in parts]
            jobs = [job._replace(content=text, legend=part[0][0]) for text, part in zip(contents, parts, strict=True)]
            return self._run_jobs(jobs)

        for start, outcome in search_fault(lines, chosen, run_parts):
            if isinstance(outcome, ChosenLines):
                wanted += outcome.wanted
                left_out += outcome.left_out
                count += outcome.lines
            else:
                left_out.append(left_out_by_fault(outcome, lines[start][1][:200].decode("utf-8", "replace")))
                count += 1
        return ChosenLines(tuple(wanted), tuple(sum_left_out(left_out)), count)

    def _scan_files(self, files: Sequence[Path]) -> None:
        run, waiting = self._run, list(reversed(files))
        under_way: list[tuple[Path, IndexRow, int]] = []
        while not self._capture_ledger.must_stop():
            while waiting and len(under_way) < PARALLEL_FILES:
                path = waiting.pop()
                index = self._index_row(path)
                if index.place == END_OF_FILE:
                    self._capture_ledger.note_unusable(index, self._tally)
                else:
                    under_way.append((path, index, index.place))
            if not under_way:
                return
            jobs = [
                ScanJob(self._capture_ledger.captures, self._source, run.harvest.options, path, place)
                for path, _, place in under_way
            ]
            unfinished = []
            for (path, index, _), chosen in zip(under_way, self._run_jobs(jobs), strict=True):
                if isinstance(chosen, Reading):
                    reason = chosen.reason or Reason.STEP_FAILED
                    message = chosen.findings[0].message if chosen.findings else reason.meaning
                    self._tally.errors.append(f"{path}: {reason}: {message}")
                elif not self._take_chosen(index, chosen.next, chosen, path):
                    return
                elif chosen.next == END_OF_FILE:
                    self._capture_ledger.note_unusable(index, self._tally)
                else:
                    unfinished.append((path, index, chosen.next))
            under_way = unfinished

    def _take_chosen(self, index: IndexRow, position: int, chosen: ChosenLines, path: Path | None = None) -> bool:
        """Copy the records of the chosen lines, and store that the index was read up to `position`.

        Returns False, without storing the position, if the run is stopped or reaches its limit before the last record.
        `path` is the WARC file if it is read without an index, otherwise None.
        """
        capture_ledger = self._capture_ledger
        for batch in batch_lines(chosen.wanted):
            if capture_ledger.must_stop():
                return False
            lines = batch[: capture_ledger.count_allowed(BATCH_RECORDS)]
            are_copied = self._copy_records(index, [self._locate(line, index, path) for line in lines])
            if not are_copied or len(lines) < len(batch):
                return False
        self._store_position(index, position, chosen)
        return True

    def _locate(
        self, line: CdxLine, index: IndexRow, path: Path | None, failed_key: FailedLine | None = None
    ) -> WantedRecord:
        """Return the wanted record of a line of `index`. If `path` is None, the line names the WARC file."""
        index_path = Path(index.name)
        elsewhere = line.warc
        if self._remote is None:  # two indexes may use one name for two files, both missing
            elsewhere = str(index_path.parent / line.warc)
        elif "/" not in line.warc:  # another machine may have another file of this name
            elsewhere = f"{self._remote.address}{line.warc}"
        return WantedRecord(line, path or self._warc_names.find(line.warc, index_path), elsewhere, failed_key)

    def _store_position(self, index: IndexRow, position: int, chosen: ChosenLines) -> None:
        with self._run.ledger.writing() as writer:
            progress = IndexProgress(position, chosen.lines, chosen.left_out)
            self._capture_ledger.store_progress(writer, index, progress, self._tally)
        self._run.progress.step(chosen.lines, 0)
        self._run.tick()

    def _retry_failed(self) -> None:
        """Try again to copy records that failed for one of RETRIED_REASONS, or whose file was changed since.

        So are those whose retry an operator ordered.
        """
        run, last_key = self._run, ("", -1, "")
        self._changed = self._capture_ledger.changed_files(self._source)
        indexes = {row.id: row for row in run.ledger.captures.indexes(run.collection.name, self._source.name)}
        while not self._capture_ledger.must_stop():
            source, name = self._source.name, run.collection.name
            count = self._capture_ledger.count_allowed(BATCH_RECORDS)
            failures = run.ledger.captures.failed((name, source), last_key, RETRIED_REASONS, self._changed, count)
            if not failures:
                return
            last_key = failed_key(failures[-1])
            for number, group in groupby(failures, key=attrgetter("found_in")):
                failed, index = [*group], indexes[number]
                earlier_rows = iter(failed)
                for batch in batch_lines([CdxLine(*json.loads(failure.line)) for failure in failed]):
                    keys = [failed_key(failure) for failure in islice(earlier_rows, len(batch))]
                    if not self._copy_records(index, map(self._locate, batch, repeat(index), repeat(None), keys)):
                        return
            with run.ledger.writing() as writer:
                writer.captures.end_retries(failure.attempt for failure in failures)

    def _copy_records(self, index: IndexRow, wanted: Iterable[WantedRecord]) -> bool:
        """Copy records into the archive. Return False if some were not fetched because the run is stopped."""
        name, ledger = self._run.collection.name, self._run.ledger
        wanted = [*wanted]
        collected: list[CollectedCapture] = []
        records, known_failures = self._new_records(index, wanted, collected)
        outcomes = self._fetch_records(records)
        unrequested = {record for record, failure in outcomes.items() if failure is None}
        records = [record for record in records if record not in unrequested]
        outcomes |= self._read_records(records)
        payloads: dict[str, Original] = {}
        attempts: list[tuple[WantedRecord, Attempt]] = []
        taken_keys: set[ArchivePlace] = set()
        for record in records:
            if record.key in taken_keys and isinstance(outcomes.get(record), VerifiedRecord):
                self._tally.known += 1
            elif record.replaced and self._is_taken(record, outcomes.get(record)):
                collected.append(CollectedCapture(record.replaced, record.key, record.line))
            elif attempt := self._copy_record(index, record, outcomes.get(record), payloads):
                attempts.append((record, attempt))
                taken_keys.update([record.key] if attempt.kept else [])
        if self._archive is not None:
            self._archive.sync()
        with ledger.writing() as writer:
            self._end_failures(writer, (record for record in wanted if record not in unrequested), attempts)
            for key in known_failures:
                writer.captures.meet_failure(name, key)
            self._capture_ledger.share_captures(writer, collected, index, self._tally)
            for record, attempt in attempts:
                if attempt.kept is None:
                    self._record_failure(writer, index.id, record, attempt)
                    continue
                line = record.line._replace(length=outcomes[record].length)
                self._capture_ledger.take_capture(
                    writer, TakenCapture(attempt, record.key, index.id, 0, line, record.replaced), self._tally
                )
            for payload_digest, original in payloads.items():
                writer.imports.add_payload(payload_digest, original.response)
        return not unrequested

    def _read_records(self, records: Iterable[WantedRecord]) -> dict[WantedRecord, Any]:
        """Read in the pool the records that have a file and an offset, and return their results."""
        readable = [record for record in records if record.source_path and record.offset is not None]
        jobs = [
            RecordJob(cast("Path", record.source_path), record.line._replace(offset=record.offset))
            for record in readable
        ]
        done_jobs = self._run.pool.run(jobs, pulse=self._run.tick)
        return dict(zip(readable, (done.result for _, done in done_jobs), strict=True))

    def _new_records(
        self, index: IndexRow, wanted: Iterable[WantedRecord], collected: list[CollectedCapture]
    ) -> tuple[Sequence[WantedRecord], Sequence[FailedLine]]:
        """Return the wanted records to read, and the failures for which other wanted records are not read again.

        Captures that the collection has, maybe for another source, are added to `collected`.
        """
        name, failure = self._run.collection.name, self._run.ledger.captures.failure
        known_failures: list[FailedLine] = []
        new_records: dict[CdxLine, WantedRecord] = {}
        for record in wanted:
            if self._taken_down.contains(record.line.url):
                self._tally.left_out[Reason.FORGOTTEN] += 1
                continue
            record.replaced, may_be_new = self._capture_ledger.find_taken(record.key, record.line)
            key = failed_line(index.id, record.key, record.line)
            if record.line in new_records:
                self._tally.known += 1
            elif record.replaced and not may_be_new:
                collected.append(CollectedCapture(record.replaced, record.key, record.line))
            elif record.failed_key is None and failure(name, key):
                self._tally.known += 1
                known_failures.append(key)
            else:
                new_records[record.line] = record
        return [*new_records.values()], known_failures

    def _is_taken(self, record: WantedRecord, outcome: Any) -> bool:
        """Return whether a record that may have replaced an earlier one is the earlier one, spelled in another way."""
        attempt = outcome.imported.attempt if isinstance(outcome, VerifiedRecord) else None
        return attempt is not None and self._capture_ledger.has_taken(record.replaced, attempt)

    def _fetch_records(self, records: Sequence[WantedRecord]) -> dict[WantedRecord, Any]:
        """Fetch records from remote folders, and set their source paths. Return a failed reading for each failure.

        The result for a record that was not fetched, because the run is stopped, is None.
        """
        failures: dict[WantedRecord, Any] = {}
        records = [record for record in records if record.warc_path is None]
        if self._remote is None or not records:
            return failures
        outcomes = self._remote.fetch([record.line for record in records], self._run.tick, self._run.stopping)
        for record, outcome in zip(records, outcomes, strict=True):
            if isinstance(outcome, Path):
                record.source_path, record.offset = outcome, 0
            else:
                failures[record] = outcome
        return failures

    def _copy_record(
        self, index: IndexRow, record: WantedRecord, outcome: Any, payloads: dict[str, Original]
    ) -> Attempt | None:
        """Copy a record into the archive if it was verified and is wanted, and return its attempt.

        Returns a failed attempt if the record cannot be used. If it is left out, counts it and returns None. `outcome`
        is a VerifiedRecord, a failed reading with the reason for the attempt, or None if the record has no file or no
        offset. `payloads` maps the digest of a body to the response that was copied with it in this batch. The response
        of this record is added, unless it is empty or a revisit, or its digest is not known.
        """
        if not isinstance(outcome, VerifiedRecord):
            return self._failed_attempt(index, record, outcome)
        imported = outcome.imported
        attempt = imported.attempt
        reason = imported.wrong or (attempt.reason if attempt else None)
        if reason is None and (attempt is None or self._taken_down.contains(attempt.url)):
            self._tally.left_out[Reason.FORGOTTEN if attempt else Reason.NOT_WANTED] += 1
            return None
        if attempt is None or reason is not None:
            message = imported.finding.message if imported.finding else attempt.message if attempt else ""
            return self._failed_attempt(index, record, Reading(reason, (Finding("Record", message),)))
        original: Original | None = None
        if imported.refers:
            original = payloads.get(imported.payload) or find_original(self._run.ledger, imported.payload)
            if original is None:
                return self._failed_attempt(index, record, Reading(Reason.NO_ORIGINAL))
        if self._is_unwanted(attempt, original):
            self._tally.left_out[Reason.NOT_WANTED] += 1
            return None
        assert record.source_path is not None
        place = self._open_archive().copy(
            record.source_path, outcome.offset, outcome.length, packed=outcome.packed, arc=outcome.arc
        )
        if original is not None:
            attempt = original.as_revisit(attempt, place)
        elif attempt.kept is not None:
            response = attempt.kept._replace(place=place)
            attempt = attempt._replace(kept=response)
            if imported.payload and response.size:
                payloads.setdefault(imported.payload, Original(response, attempt.status))
        return attempt

    def _is_unwanted(self, attempt: Attempt, original: Original | None) -> bool:
        """Return whether a record has no bytes (304), or a revisit without a head has an original with another status.

        The rules have seen only the index line, which need not state the status of a revisit.
        """
        if original is None:
            return attempt.kept is None
        status = attempt.status or original.status or 0
        return status // 100 != 2 and status not in self._capture_ledger.captures.statuses

    def _open_archive(self) -> ArchiveWriter:
        if self._archive is None:
            run, settings = self._run, self._run.settings
            prefix = f"windrow-{run.session:06}-0"
            self._archive = ArchiveWriter(
                settings.archive, prefix, settings.limits, settings.rollover_size, settings.agent
            )
        return self._archive

    def _failed_attempt(self, index: IndexRow, record: WantedRecord, failure: Reading | None) -> Attempt | None:
        """Return an attempt that failed for the reason of `failure`; if that is None, for BAD_LINE or NOT_FOUND.

        Returns None and counts the line as left out if its address is not valid.
        """
        url = normalise(record.line.url).url
        if not url:
            self._tally.left_out[Reason.BAD_ADDRESS] += 1
            self._tally.rules.add(Reason.BAD_ADDRESS, Reason.BAD_ADDRESS.meaning, 1, index.name)
            return None
        reason, message = Reason.NOT_FOUND, self._warc_names.describe_missing(record.line.warc, Path(index.name))
        if record.line.offset is None:
            reason, message = Reason.BAD_LINE, "the index line does not have the record's offset in its WARC file"
        if failure is not None:
            reason = failure.reason or Reason.STEP_FAILED
            message = failure.findings[0].message if failure.findings else reason.meaning
        elif record.warc_path is None and reason is Reason.NOT_FOUND:
            self._tally.missing.add(replace_lone_surrogates(message, "backslashreplace"))
        captured_at = datetime.strptime(record.line.timestamp, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
        message = replace_lone_surrogates(message, "backslashreplace")[:1000]
        return Attempt(hash64(url), url, CAPTURED, True, captured_at, 0.0, reason=reason, message=message)

    def _end_failures(
        self, writer: LedgerWriter, records: Iterable[WantedRecord], attempts: Iterable[tuple[WantedRecord, Attempt]]
    ) -> None:
        """Remove the failures of retried records that did not fail again: taken ones, and those not wanted any more."""
        failed = {record for record, attempt in attempts if attempt.kept is None}
        for record in records:
            if record.failed_key and record not in failed:
                writer.captures.remove_failure(self._run.collection.name, record.failed_key)

    def _record_failure(self, writer: LedgerWriter, index: int, record: WantedRecord, attempt: Attempt) -> None:
        name, reason = self._run.collection.name, attempt.reason or Reason.STEP_FAILED
        self._tally.failed[reason] += 1
        if record.failed_key is not None:
            same_reason = self._run.ledger.captures.failure(name, record.failed_key) == reason
            if same_reason and record.failed_key[0] not in self._changed:
                return
            writer.captures.remove_failure(name, record.failed_key)
        attempt_number = self._capture_ledger.record_attempt(writer, self._source, attempt)
        failed_row = FailedRow(
            index, *failed_line(index, record.key, record.line), reason, attempt.target, attempt_number
        )
        writer.captures.fail(name, self._source.name, failed_row)
