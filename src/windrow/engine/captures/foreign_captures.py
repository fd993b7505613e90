"""Foreign captures: read WARC files or the CDX files that index them, and copy wanted records into the archive.

A wanted record is read completely in the pool, verified, and copied unchanged. From then on it is a capture like any
other: it can be read again, checked and taken down.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from itertools import groupby, islice
from operator import attrgetter
from pathlib import Path
from typing import Any, cast

from windrow.archive import ArchiveWriter, read_blocks
from windrow.archive.warc_reader import WARC_SUFFIXES
from windrow.contract import CAPTURED, Inputs
from windrow.digest import EMPTY_DIGESTS, Hasher, digest, hash64
from windrow.engine.captures.capture_ledger import THROUGH, CaptureLedger, CaptureTally, IndexProgress, TakenCapture
from windrow.engine.captures.foreign_records import BlockJob, ChosenLines, RecordJob, ScanJob, VerifiedRecord
from windrow.engine.captures.remote_records import RemoteRecords
from windrow.engine.captures.rules import PARTS, LeftOutLines, left_out_by_fault, sum_left_out
from windrow.errors import ArchiveError
from windrow.formats.url import normalise
from windrow.ledger import LedgerWriter
from windrow.ledger.typed.captures import FailedRow, IndexRow
from windrow.model import ArchivePlace, Attempt, CdxLine, Finding, KeptResponse, Reading
from windrow.reasons import TRANSIENT_REASONS, Reason

CDX_NAMES = (".cdx", ".cdx.gz", ".cdxj", ".cdxj.gz")

RETRIED = (
    *sorted(TRANSIENT_REASONS),
    *(Reason.NOT_FOUND, Reason.NO_ORIGINAL, Reason.PERMISSION_DENIED),
    *(Reason.DNS_FAILED, Reason.CONNECT_FAILED, Reason.TLS_FAILED, Reason.TIMEOUT, Reason.INTERRUPTED),
    *(Reason.SERVER_ERROR, Reason.RATE_LIMITED, Reason.SITE_GIVEN_UP),
    *(Reason.LOGIN_FAILED, Reason.NO_SECRET, Reason.POLICY_DENIED, Reason.PRIVATE_ADDRESS),
)
"""Reasons of failure after which each run tries a record again; after others an operator has to ask for it."""

BATCH = 128
"""Records that are copied, and stored, together."""

ROOM = 256 * 2**20
"""Bytes of records that are fetched together."""

_ASSUMED_LENGTH = ROOM // 64  # bytes assumed for a record whose line has no length

FILES = 8
"""WARC files, or blocks of an index file, that are read in parallel."""


class _WantedRecord:
    """A wanted line, the path of its file (None: not found), and the `key` of the record in the ledger.

    `before` is the key under which an earlier failure is stored. `held` is the file that has the record at `offset`:
    the WARC file itself, or one with this record only.
    """

    __slots__ = ("before", "held", "key", "line", "offset", "path")

    def __init__(self, line: CdxLine, path: Path | None, before: tuple[str, int] | None = None) -> None:
        self.line = line
        self.path = self.held = path
        self.offset = line.offset
        self.key = ArchivePlace(str(path) if path else line.warc, line.offset or 0, 0)
        self.before = before


class ForeignCapturing:
    """Reads the WARC files, or their indexes, of one source."""

    def __init__(self, capture_ledger: CaptureLedger, tally: CaptureTally) -> None:
        self._capture_ledger = capture_ledger
        self._run = capture_ledger.run
        self._source = tally.source
        self._tally = tally
        self._archive: ArchiveWriter | None = None
        self._files: dict[str, Path] = {}
        self._taken_down = capture_ledger.run.ledger.takedowns.addresses()
        self._remote: RemoteRecords | None = None

    def close(self) -> None:
        """Close the archive's file, if one was written."""
        if self._archive is not None:
            self._archive.close()

    def run(self, inputs: Inputs) -> None:
        """Retry records that failed before, then read what is new."""
        assert self._run.keep is not None
        with RemoteRecords(inputs.remote, self._run.keep.folder) if inputs.remote else nullcontext() as self._remote:
            self._look_through_all(inputs)

    def _look_through_all(self, inputs: Inputs) -> None:
        files = [*self._find_files(inputs.warc, WARC_SUFFIXES)]
        pipes = [path for path in inputs.cdx if path.is_fifo()]
        indexes = [*self._find_files([path for path in inputs.cdx if path not in pipes], CDX_NAMES)]
        indexes += self._store_piped(pipes) if pipes else ()
        neighbours = [*self._find_files({path.parent for path in indexes}, WARC_SUFFIXES)] if indexes else []
        for path in (*neighbours, *files):
            self._files[path.name] = path
        self._try_again()
        for path in indexes:
            if not self._capture_ledger.full():
                self._look_through_index(path)
        if not inputs.cdx:
            self._scan_files(files)

    def _find_files(self, paths: Iterable[Path], names: tuple[str, ...]) -> Iterator[Path]:
        """Yield the files of some paths; of a folder, those with one of the endings."""
        for path in sorted(paths):
            if path.is_dir():
                yield from sorted(
                    file for file in path.rglob("*") if file.name.lower().endswith(names) and file.is_file()
                )
            elif path.is_file():
                yield path
            else:
                self._tally.broken.append(f"{path} is not there")

    def _store_piped(self, pipes: Iterable[Path]) -> list[Path]:
        """Copy pipes, such as /dev/stdin, into files; return these and those of earlier runs."""
        assert self._run.keep is not None
        folder = self._run.keep.folder / "indexes"
        folder.mkdir(parents=True, exist_ok=True)
        for pipe in pipes:
            part = folder / ".part"
            with pipe.open("rb") as source, part.open("wb") as target:
                hasher = Hasher()
                while block := source.read(1 << 20):
                    hasher.update(block)
                    target.write(block)
                    self._run.tick()
            if hasher.size:
                part.replace(folder / f"{hasher.digest().partition(':')[2]}.cdx")
        return sorted(folder.glob("*.cdx"))

    def _index_row(self, path: Path) -> IndexRow:
        stat = path.stat()
        return self._capture_ledger.index(self._source, str(path), f"{stat.st_size} {stat.st_mtime_ns}")

    def _run_jobs(self, jobs: Sequence[BlockJob] | Sequence[ScanJob]) -> list[ChosenLines | Reading]:
        return [done.result for _, done in self._run.pool.run(jobs, batch=1, pulse=self._run.tick)]

    def _look_through_index(self, path: Path) -> None:
        """Read an index file, from its stored position."""
        run, index = self._run, self._index_row(path)
        if index.place == THROUGH:
            return
        blocks = read_blocks(path, index.place)
        try:
            while not self._capture_ledger.full():
                batch = [*islice(blocks, FILES)]
                if not batch:
                    self._store_position(index, THROUGH, ChosenLines((), (), 0))
                    return
                jobs = [
                    BlockJob(
                        self._capture_ledger.captures, self._source, run.harvest.options, block.content, block.legend
                    )
                    for block in batch
                ]
                for block, job, chosen in zip(batch, jobs, self._run_jobs(jobs), strict=True):
                    lines = chosen if isinstance(chosen, ChosenLines) else self._search_fault(job, chosen)
                    last_line = block.first + block.content.count(b"\n")
                    if not self._take_chosen(index, last_line, lines):
                        return
        except ArchiveError as error:
            self._tally.broken.append(str(error))

    def _search_fault(self, job: BlockJob, failed: Reading) -> ChosenLines:
        """Run the rules on smaller parts, down to the line that killed their process: it alone is left out."""
        lines = job.content.split(b"\n")
        if len(lines) == 1:
            url = lines[0][:200].decode("utf-8", "replace")
            return ChosenLines((), (left_out_by_fault(failed, url),), 1)
        size = -(-len(lines) // PARTS)
        jobs = [job._replace(content=b"\n".join(lines[at : at + size])) for at in range(0, len(lines), size)]
        wanted: list[CdxLine] = []
        left_out: list[LeftOutLines] = []
        count = 0
        for part, outcome in zip(jobs, self._run_jobs(jobs), strict=True):
            chosen = outcome if isinstance(outcome, ChosenLines) else self._search_fault(part, outcome)
            wanted += chosen.wanted
            left_out += chosen.left_out
            count += chosen.lines
        return ChosenLines(tuple(wanted), tuple(sum_left_out(left_out)), count)

    def _scan_files(self, files: Sequence[Path]) -> None:
        """Read WARC files completely, FILES in parallel."""
        run, waiting = self._run, list(reversed(files))
        under_way: list[tuple[Path, IndexRow, int]] = []
        while not self._capture_ledger.full():
            while waiting and len(under_way) < FILES:
                path = waiting.pop()
                index = self._index_row(path)
                if index.place != THROUGH:
                    under_way.append((path, index, index.place))
            if not under_way:
                return
            jobs = [
                ScanJob(self._capture_ledger.captures, self._source, run.harvest.options, path, place)
                for path, _, place in under_way
            ]
            outcomes = self._run_jobs(jobs)
            unfinished = []
            for (path, index, _), chosen in zip(under_way, outcomes, strict=True):
                if isinstance(chosen, Reading):
                    fault = chosen.findings[0].message if chosen.findings else ""
                    self._tally.broken.append(f"{path}: {chosen.reason} {fault}".rstrip())
                elif not self._take_chosen(index, chosen.next, chosen, path):
                    return
                elif chosen.next != THROUGH:
                    unfinished.append((path, index, chosen.next))
            under_way = unfinished

    def _take_chosen(self, index: IndexRow, place: int, chosen: ChosenLines, path: Path | None = None) -> bool:
        """Copy the wanted records of some lines, and store the position; return False if the run's limit is reached."""
        capture_ledger = self._capture_ledger
        for batch in _batches(chosen.wanted):
            if capture_ledger.full():
                return False
            lines = batch
            if self._run.limit is not None:
                lines = lines[: self._run.limit - capture_ledger.taken]
            self._copy_records(
                index.id, [_WantedRecord(line, path or self._files.get(_file_name(line.warc))) for line in lines]
            )
            if len(lines) < len(batch):
                return False
        self._store_position(index, place, chosen)
        return True

    def _store_position(self, index: IndexRow, place: int, chosen: ChosenLines) -> None:
        with self._run.ledger.writing() as writer:
            self._capture_ledger.reach(writer, index, IndexProgress(place, chosen.lines, chosen.left_out), self._tally)
        self._run.progress.step(chosen.lines, 0)
        self._run.tick()

    def _try_again(self) -> None:
        """Retry failed records whose reason may pass, or for which an operator asked."""
        run, last_place = self._run, ("", -1)
        while not self._capture_ledger.full():
            rows = run.ledger.captures.failed(run.collection.name, self._source.name, last_place, RETRIED, BATCH)
            if not rows:
                return
            last_place = (rows[-1].warc, rows[-1].offset)
            for index, group in groupby(rows, key=attrgetter("found_in")):
                failed = [*group]
                earlier_rows = iter(failed)
                for batch in _batches([CdxLine(*json.loads(row.line)) for row in failed]):
                    keys = [(row.warc, row.offset) for row in islice(earlier_rows, len(batch))]
                    pairs = zip(batch, keys, strict=True)
                    self._copy_records(
                        index, [_WantedRecord(line, self._files.get(_file_name(line.warc)), key) for line, key in pairs]
                    )
            with run.ledger.writing() as writer:
                writer.addresses.due_at(run.collection.name, [row.address for row in rows], None)

    def _copy_records(self, index: int, wanted: Iterable[_WantedRecord]) -> None:
        """Read records and verify them, copy them into the archive, and store them as attempts."""
        run, name, ledger = self._run, self._run.collection.name, self._run.ledger
        fresh: dict[tuple[ArchivePlace, str], _WantedRecord] = {}
        for record in wanted:
            if self._taken_down.hold(record.line.url):
                self._tally.left_out[Reason.FORGOTTEN] += 1
                continue
            claim = (record.key, record.line.digest)
            if claim in fresh or ledger.captures.taken(name, record.key) or self._failed_before(record):
                self._tally.known += 1
            else:
                fresh[claim] = record
        outcomes: dict[_WantedRecord, Any] = self._fetch_records(
            [candidate for candidate in fresh.values() if candidate.path is None]
        )
        readable = [candidate for candidate in fresh.values() if candidate.held and candidate.offset is not None]
        jobs = [
            RecordJob(cast("Path", candidate.held), candidate.line._replace(offset=candidate.offset))
            for candidate in readable
        ]
        outcomes |= dict(zip(readable, (done.result for _, done in run.pool.run(jobs, pulse=run.tick)), strict=True))
        payloads: dict[str, KeptResponse] = {}
        attempts = [
            (candidate, self._copy_record(candidate, outcomes.get(candidate), payloads)) for candidate in fresh.values()
        ]
        if self._archive is not None:
            self._archive.sync()
        taken: set[ArchivePlace] = set()
        with ledger.writing() as writer:
            for record, attempt in attempts:
                if attempt is None:
                    continue
                if record.key in taken:
                    self._tally.known += 1
                    continue
                if attempt.kept is None:
                    self._record_failure(writer, index, record, attempt)
                    continue
                taken.add(record.key)
                line = record.line._replace(length=outcomes[record].length)
                self._capture_ledger.take(writer, TakenCapture(attempt, record.key, index, line=line), self._tally)
                writer.captures.remove_failure(name, record.before or (record.key.warc, record.key.offset))
            for spelled, kept in payloads.items():
                writer.imports.payload(spelled, kept)

    def _failed_before(self, record: _WantedRecord) -> bool:
        """Return whether a line's record failed before; a mismatch counts for the same digest only."""
        if record.before is not None:
            return False
        name, key = self._run.collection.name, (record.key.warc, record.key.offset)
        reason = self._run.ledger.captures.failure(name, key)
        if reason != Reason.DIGEST_MISMATCH:
            return bool(reason)
        line = self._run.ledger.captures.failed_line(name, key)
        return CdxLine(*json.loads(line)).digest == record.line.digest

    def _fetch_records(self, records: Sequence[_WantedRecord]) -> dict[_WantedRecord, Any]:
        """Fetch records from other machines; return the failures."""
        failed: dict[_WantedRecord, Any] = {}
        if self._remote is None or not records:
            return failed
        largest = self._run.limits.transfer_size
        outcomes = self._remote.fetch([record.line for record in records], largest, self._run.tick)
        for record, outcome in zip(records, outcomes, strict=True):
            if isinstance(outcome, Path):
                record.held, record.offset = outcome, 0
            else:
                failed[record] = outcome
        return failed

    def _copy_record(self, record: _WantedRecord, outcome: Any, payloads: dict[str, KeptResponse]) -> Attempt | None:
        """Copy a verified record and return its attempt, with a reason if the record failed; None if not wanted."""
        if not isinstance(outcome, VerifiedRecord):
            return self._failed_attempt(record, outcome)
        imported = outcome.imported
        attempt = imported.attempt
        if attempt is None or attempt.reason is not None:
            reason = imported.wrong or (attempt.reason if attempt else None)
            if reason is None:
                self._tally.left_out[Reason.NOT_WANTED] += 1
                return None
            message = imported.finding.message if imported.finding else attempt.message if attempt else ""
            return self._failed_attempt(record, Reading(reason, (Finding("Record", message),)))
        repeated: KeptResponse | None = None
        if imported.refers:
            repeated = payloads.get(imported.payload) or self._original_response(imported.payload)
            if repeated is None:
                return self._failed_attempt(record, Reading(Reason.NO_ORIGINAL))
        assert record.held is not None
        place = self._open_archive().copy(
            record.held, outcome.offset, outcome.length, packed=outcome.packed, arc=outcome.arc
        )
        if repeated is not None:
            return attempt._replace(kept=repeated._replace(place=place, revisit=True))
        assert attempt.kept is not None
        kept = attempt.kept._replace(place=place)
        if imported.payload and kept.size:
            payloads.setdefault(imported.payload, kept)
        return attempt._replace(kept=kept)

    def _original_response(self, spelled: str) -> KeptResponse | None:
        if spelled in EMPTY_DIGESTS:
            return KeptResponse(digest(b""), 0, ArchivePlace("", 0, 0))
        return self._run.ledger.imports.payload(spelled) if spelled else None

    def _open_archive(self) -> ArchiveWriter:
        if self._archive is None:
            run, keep = self._run, self._run.keep
            assert keep is not None
            prefix = f"windrow-{run.session:06}-0"
            self._archive = ArchiveWriter(keep.folder, prefix, keep.limits, keep.rotate, keep.agent)
        return self._archive

    def _failed_attempt(self, record: _WantedRecord, fault: Reading | None) -> Attempt | None:
        """Return an attempt with the reason of a failure; None if the line has no valid address."""
        url = normalise(record.line.url).url
        if not url:
            self._tally.left_out[Reason.BAD_ADDRESS] += 1
            return None
        reason, message = Reason.NOT_FOUND, f"{record.line.warc[:200]} is not in any folder of the source"
        if record.line.offset is None:
            reason, message = Reason.BAD_LINE, "the line has no offset of the record in its file"
        if fault is not None:
            reason = fault.reason or Reason.STEP_FAILED
            message = fault.findings[0].message if fault.findings else reason.meaning
        at = datetime.strptime(record.line.timestamp, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
        return Attempt(hash64(url), url, CAPTURED, True, at, 0.0, reason=reason, message=message[:1000])

    def _record_failure(self, writer: LedgerWriter, index: int, record: _WantedRecord, attempt: Attempt) -> None:
        """Store the failure of a wanted record; once for each reason."""
        name, reason = self._run.collection.name, attempt.reason or Reason.STEP_FAILED
        self._tally.failed[reason] += 1
        if record.before is not None:
            if self._run.ledger.captures.failure(name, record.before) == reason:
                return
            writer.captures.remove_failure(name, record.before)
        attempt_number = self._capture_ledger.record_attempt(writer, self._source, attempt)
        row = FailedRow(index, record.key.warc, record.key.offset, json.dumps([*record.line]), reason, attempt.target)
        writer.captures.fail(attempt_number, name, self._source.name, row)


def _batches(lines: Sequence[CdxLine]) -> Iterator[list[CdxLine]]:
    """Yield batches of at most BATCH lines whose records take at most ROOM bytes."""
    batch: list[CdxLine] = []
    room = ROOM
    for line in lines:
        length = _ASSUMED_LENGTH if line.length is None else line.length
        if batch and (len(batch) == BATCH or length > room):
            yield batch
            batch, room = [], ROOM
        batch.append(line)
        room -= length
    if batch:
        yield batch


def _file_name(warc: str) -> str:
    """Return the name of a WARC file, without the folders that its index puts before it.

    >>> _file_name("crawl-7/a.warc.gz")
    'a.warc.gz'
    """
    return warc.rpartition("/")[2]
