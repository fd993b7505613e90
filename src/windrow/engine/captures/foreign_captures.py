"""Captures of other makers: WARC files and the CDX files that index them, looked through, and what is wanted copied.

A record that is wanted is read from end to end in the pool, verified, and copied into the archive as it lies there.
From then on it is a capture like any other: it can be read again, checked and taken down.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from itertools import groupby, islice
from operator import attrgetter
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

from windrow.archive import ArchiveWriter, read_blocks
from windrow.archive.warc_reader import ENDINGS
from windrow.contract import CAPTURED, Inputs
from windrow.digest import NOTHING, Hasher, digest, number
from windrow.engine.captures.capture_ledger import THROUGH, CaptureLedger, CaptureTally, LookedThrough, TakenCapture
from windrow.engine.captures.foreign_records import BlockJob, ChosenLines, RecordJob, ScanJob, VerifiedRecord
from windrow.engine.captures.remote_records import RemoteRecords
from windrow.engine.captures.rules import PARTS, LeftOutLines, added, left_out_by_fault
from windrow.errors import ArchiveError
from windrow.formats.url import normalise
from windrow.ledger import LedgerWriter
from windrow.ledger.typed.captures import FailedRow, IndexRow
from windrow.model import ArchivePlace, Attempt, CdxLine, Finding, KeptResponse, Reading
from windrow.reasons import PASSING, Reason

CDX_NAMES = (".cdx", ".cdx.gz", ".cdxj", ".cdxj.gz")

RETRIED = (
    *sorted(PASSING),
    *(Reason.NOT_FOUND, Reason.NO_ORIGINAL, Reason.PERMISSION_DENIED),
    *(Reason.DNS_FAILED, Reason.CONNECT_FAILED, Reason.TLS_FAILED, Reason.TIMEOUT, Reason.INTERRUPTED),
    *(Reason.SERVER_ERROR, Reason.RATE_LIMITED, Reason.SITE_GIVEN_UP),
    *(Reason.WRONG_PASSWORD, Reason.NO_SECRET, Reason.POLICY_DENIED, Reason.PRIVATE_ADDRESS),
)
"""Why a record could not be had, where every later run tries again; for others an operator has to ask."""

BATCH = 128
"""Records that are copied, and put on record, together."""

ROOM = 256 * 2**20
"""Bytes of records that are fetched together."""

_UNTOLD = ROOM // 64  # bytes that a record counts for whose line says no length

FILES = 8
"""WARC files, or blocks of an index file, that are looked through side by side."""


class _Wanted:
    """A line that is wanted, where its file is (None: not found), and the place that the record is known by.

    `before` is the one by which it is known that it could not be had: its file was not found then, perhaps. `held` is
    the file in which the record lies at `offset`: that file, or one that holds nothing but the record.
    """

    __slots__ = ("before", "held", "key", "line", "offset", "path")

    def __init__(self, line: CdxLine, path: Path | None, before: tuple[str, int] | None = None) -> None:
        self.line = line
        self.path = self.held = path
        self.offset = line.offset
        self.key = ArchivePlace(str(path) if path else line.warc, line.offset or 0, 0)
        self.before = before


class ForeignCapturing:
    """Looks through the WARC files, or their indexes, of one source."""

    def __init__(self, capture_ledger: CaptureLedger, tally: CaptureTally) -> None:
        """Begin with nothing written."""
        self._capture_ledger = capture_ledger
        self._run = capture_ledger.run
        self._source = tally.source
        self._tally = tally
        self._archive: ArchiveWriter | None = None
        self._files: dict[str, Path] = {}
        self._taken_down = capture_ledger.run.ledger.takedowns.addresses()
        self._remote: RemoteRecords | None = None

    def __enter__(self) -> Self:
        """Hold the archive's file that is written, if any is."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        if self._archive is not None:
            self._archive.close()

    def run(self, inputs: Inputs) -> None:
        """Try again what could not be had, then look through what is new."""
        assert self._run.keep is not None
        with RemoteRecords(inputs.remote, self._run.keep.folder) if inputs.remote else nullcontext() as self._remote:
            self._look(inputs)

    def _look(self, inputs: Inputs) -> None:
        files = [*self._found(inputs.warc, ENDINGS)]
        piped = [path for path in inputs.cdx if path.is_fifo()]
        indexes = [*self._found([path for path in inputs.cdx if path not in piped], CDX_NAMES)]
        indexes += self._piped(piped) if piped else ()
        beside = [*self._found({path.parent for path in indexes}, ENDINGS)] if indexes else []
        for path in (*beside, *files):
            self._files[path.name] = path
        self._try_again()
        for path in indexes:
            if not self._capture_ledger.full():
                self._look_through(path)
        if not inputs.cdx:
            self._scan(files)

    def _found(self, paths: Iterable[Path], names: tuple[str, ...]) -> Iterator[Path]:
        """Yield the files that are named, or lie in a folder that is, by their endings."""
        for path in sorted(paths):
            if path.is_dir():
                yield from sorted(one for one in path.rglob("*") if one.name.lower().endswith(names) and one.is_file())
            elif path.is_file():
                yield path
            else:
                self._tally.broken.append(f"{path} is not there")

    def _piped(self, pipes: Iterable[Path]) -> list[Path]:
        """Write what comes through pipes, such as /dev/stdin, into files; return these and those of earlier runs."""
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

    def _index(self, path: Path) -> IndexRow:
        stat = path.stat()
        return self._capture_ledger.index(self._source, str(path), f"{stat.st_size} {stat.st_mtime_ns}")

    def _chosen(self, jobs: Sequence[BlockJob] | Sequence[ScanJob]) -> list[ChosenLines | Reading]:
        return [done.result for _, done in self._run.pool.run(jobs, batch=1, pulse=self._run.tick)]

    def _look_through(self, path: Path) -> None:
        """Look through an index file, from where that was left off."""
        run, index = self._run, self._index(path)
        if index.place == THROUGH:
            return
        blocks = read_blocks(path, index.place)
        try:
            while not self._capture_ledger.full():
                some = [*islice(blocks, FILES)]
                if not some:
                    self._reach(index, THROUGH, ChosenLines((), (), 0))
                    return
                jobs = [
                    BlockJob(self._capture_ledger.captures, self._source, run.harvest.options, one.content, one.legend)
                    for one in some
                ]
                for one, job, chosen in zip(some, jobs, self._chosen(jobs), strict=True):
                    lines = chosen if isinstance(chosen, ChosenLines) else self._search_fault(job, chosen)
                    last = one.first + one.content.count(b"\n")
                    if not self._take(index, last, lines):
                        return
        except ArchiveError as error:
            self._tally.broken.append(str(error))

    def _search_fault(self, job: BlockJob, failed: Reading) -> ChosenLines:
        """Run the rules on smaller parts, down to the line over which their process was ended: it alone is left out."""
        lines = job.content.split(b"\n")
        if len(lines) == 1:
            url = lines[0][:200].decode("utf-8", "replace")
            return ChosenLines((), (left_out_by_fault(failed, url),), 1)
        size = -(-len(lines) // PARTS)
        jobs = [job._replace(content=b"\n".join(lines[at : at + size])) for at in range(0, len(lines), size)]
        wanted: list[CdxLine] = []
        left: list[LeftOutLines] = []
        count = 0
        for part, found in zip(jobs, self._chosen(jobs), strict=True):
            one = found if isinstance(found, ChosenLines) else self._search_fault(part, found)
            wanted += one.wanted
            left += one.left_out
            count += one.lines
        return ChosenLines(tuple(wanted), tuple(added(left)), count)

    def _scan(self, files: Sequence[Path]) -> None:
        """Look through WARC files from end to end, some side by side."""
        run, waiting = self._run, list(reversed(files))
        open_: list[tuple[Path, IndexRow, int]] = []
        while not self._capture_ledger.full():
            while waiting and len(open_) < FILES:
                path = waiting.pop()
                index = self._index(path)
                if index.place != THROUGH:
                    open_.append((path, index, index.place))
            if not open_:
                return
            jobs = [
                ScanJob(self._capture_ledger.captures, self._source, run.harvest.options, path, place)
                for path, _, place in open_
            ]
            results = self._chosen(jobs)
            left = []
            for (path, index, _), chosen in zip(open_, results, strict=True):
                if isinstance(chosen, Reading):
                    told = chosen.findings[0].message if chosen.findings else ""
                    self._tally.broken.append(f"{path}: {chosen.reason} {told}".rstrip())
                elif not self._take(index, chosen.next, chosen, path):
                    return
                elif chosen.next != THROUGH:
                    left.append((path, index, chosen.next))
            open_ = left

    def _take(self, index: IndexRow, place: int, chosen: ChosenLines, path: Path | None = None) -> bool:
        """Copy what is wanted of some lines, and put on record how far that got; False where there is no more room."""
        capture_ledger = self._capture_ledger
        for batch in _batches(chosen.wanted):
            if capture_ledger.full():
                return False
            some = batch
            if self._run.limit is not None:
                some = some[: self._run.limit - capture_ledger.taken]
            self._keep(index.id, [_Wanted(one, path or self._files.get(_name(one.warc))) for one in some])
            if len(some) < len(batch):
                return False
        self._reach(index, place, chosen)
        return True

    def _reach(self, index: IndexRow, place: int, chosen: ChosenLines) -> None:
        with self._run.ledger.writing() as writer:
            self._capture_ledger.reach(writer, index, LookedThrough(place, chosen.lines, chosen.left_out), self._tally)
        self._run.progress.step(chosen.lines, 0)
        self._run.tick()

    def _try_again(self) -> None:
        """Try what could not be had before, where that may pass, or where an operator asked for it."""
        run, last = self._run, ("", -1)
        while not self._capture_ledger.full():
            rows = run.ledger.captures.failed(run.collection.name, self._source.name, last, RETRIED, BATCH)
            if not rows:
                return
            last = (rows[-1].warc, rows[-1].offset)
            for index, some in groupby(rows, key=attrgetter("found_in")):
                failed = [*some]
                before = iter(failed)
                for batch in _batches([CdxLine(*json.loads(one.line)) for one in failed]):
                    known = [(one.warc, one.offset) for one in islice(before, len(batch))]
                    pairs = zip(batch, known, strict=True)
                    self._keep(index, [_Wanted(one, self._files.get(_name(one.warc)), key) for one, key in pairs])
            with run.ledger.writing() as writer:
                writer.addresses.due_at(run.collection.name, [row.address for row in rows], None)

    def _keep(self, index: int, wanted: Iterable[_Wanted]) -> None:
        """Read records and verify them, copy them into the archive, and put that on record."""
        run, name, ledger = self._run, self._run.collection.name, self._run.ledger
        fresh: dict[tuple[ArchivePlace, str], _Wanted] = {}
        for one in wanted:
            if self._taken_down.hold(one.line.url):
                self._tally.left_out[Reason.FORGOTTEN] += 1
                continue
            claim = (one.key, one.line.digest)
            if claim in fresh or ledger.captures.taken(name, one.key) or self._refuted(one):
                self._tally.known += 1
            else:
                fresh[claim] = one
        results: dict[_Wanted, Any] = self._fetch([one for one in fresh.values() if one.path is None])
        there = [one for one in fresh.values() if one.held and one.offset is not None]
        jobs = [RecordJob(cast("Path", one.held), one.line._replace(offset=one.offset)) for one in there]
        results |= dict(zip(there, (done.result for _, done in run.pool.run(jobs, pulse=run.tick)), strict=True))
        payloads: dict[str, KeptResponse] = {}
        visits = [(one, self._copied(one, results.get(one), payloads)) for one in fresh.values()]
        if self._archive is not None:
            self._archive.sync()
        taken: set[ArchivePlace] = set()
        with ledger.writing() as writer:
            for one, attempt in visits:
                if attempt is None:
                    continue
                if one.key in taken:
                    self._tally.known += 1
                    continue
                if attempt.kept is None:
                    self._fail(writer, index, one, attempt)
                    continue
                taken.add(one.key)
                line = one.line._replace(length=results[one].length)
                self._capture_ledger.take(writer, TakenCapture(attempt, one.key, index, line=line), self._tally)
                writer.captures.mend(name, one.before or (one.key.warc, one.key.offset))
            for spelled, kept in payloads.items():
                writer.imports.payload(spelled, kept)

    def _refuted(self, one: _Wanted) -> bool:
        """Tell whether a line's record could not be had before; a mismatch speaks against the line's digest only."""
        if one.before is not None:
            return False
        name, place = self._run.collection.name, (one.key.warc, one.key.offset)
        reason = self._run.ledger.captures.failure(name, place)
        if reason != Reason.DIGEST_MISMATCH:
            return bool(reason)
        line = self._run.ledger.captures.failed_line(name, place)
        return CdxLine(*json.loads(line)).digest == one.line.digest

    def _fetch(self, wanted: Sequence[_Wanted]) -> dict[_Wanted, Any]:
        """Fetch records that lie on other machines; return why some could not be had."""
        failed: dict[_Wanted, Any] = {}
        if self._remote is None or not wanted:
            return failed
        largest = self._run.limits.transfer
        found = self._remote.fetch([one.line for one in wanted], largest, self._run.tick)
        for one, held in zip(wanted, found, strict=True):
            if isinstance(held, Path):
                one.held, one.offset = held, 0
            else:
                failed[one] = held
        return failed

    def _copied(self, one: _Wanted, result: Any, payloads: dict[str, KeptResponse]) -> Attempt | None:
        """Copy a record that is as its index says, and return its visit; one without bytes says why there are none."""
        if not isinstance(result, VerifiedRecord):
            return self._failed(one, result)
        told = result.told
        attempt = told.attempt
        if attempt is None or attempt.reason is not None:
            reason = told.wrong or (attempt.reason if attempt else None)
            if reason is None:
                self._tally.left_out[Reason.NOT_WANTED] += 1
                return None
            message = told.finding.message if told.finding else attempt.message if attempt else ""
            return self._failed(one, Reading(reason, (Finding("Record", message),)))
        repeated: KeptResponse | None = None
        if told.refers:
            repeated = payloads.get(told.payload) or self._payload(told.payload)
            if repeated is None:
                return self._failed(one, Reading(Reason.NO_ORIGINAL))
        assert one.held is not None
        place = self._opened().copy(one.held, result.offset, result.length, packed=result.packed, arc=result.arc)
        if repeated is not None:
            return attempt._replace(kept=repeated._replace(place=place, revisit=True))
        assert attempt.kept is not None
        kept = attempt.kept._replace(place=place)
        if told.payload and kept.size:
            payloads.setdefault(told.payload, kept)
        return attempt._replace(kept=kept)

    def _payload(self, spelled: str) -> KeptResponse | None:
        if spelled in NOTHING:
            return KeptResponse(digest(b""), 0, ArchivePlace("", 0, 0))
        return self._run.ledger.imports.payload(spelled) if spelled else None

    def _opened(self) -> ArchiveWriter:
        if self._archive is None:
            run, keep = self._run, self._run.keep
            assert keep is not None
            prefix = f"windrow-{run.session:06}-0"
            self._archive = ArchiveWriter(keep.folder, prefix, keep.limits, keep.rotate, keep.agent)
        return self._archive

    def _failed(self, one: _Wanted, result: Reading | None) -> Attempt | None:
        """Return a visit that says why a record could not be had; None where its line names no address."""
        url = normalise(one.line.url).url
        if not url:
            self._tally.left_out[Reason.BAD_ADDRESS] += 1
            return None
        reason, message = Reason.NOT_FOUND, f"{one.line.warc[:200]} is in none of the folders that the source names"
        if one.line.offset is None:
            reason, message = Reason.BAD_LINE, "the line says not where in its file the record lies"
        if result is not None:
            reason = result.reason or Reason.STEP_FAILED
            message = result.findings[0].message if result.findings else reason.meaning
        at = datetime.strptime(one.line.timestamp, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
        return Attempt(number(url), url, CAPTURED, True, at, 0.0, reason=reason, message=message[:1000])

    def _fail(self, writer: LedgerWriter, index: int, one: _Wanted, attempt: Attempt) -> None:
        """Put on record that a wanted record could not be had; once for each reason."""
        name, reason = self._run.collection.name, attempt.reason or Reason.STEP_FAILED
        self._tally.failed[reason] += 1
        if one.before is not None:
            if self._run.ledger.captures.failure(name, one.before) == reason:
                return
            writer.captures.mend(name, one.before)
        seq = self._capture_ledger.record_attempt(writer, self._source, attempt)
        row = FailedRow(index, one.key.warc, one.key.offset, json.dumps([*one.line]), reason, attempt.target)
        writer.captures.fail(seq, name, self._source.name, row)


def _batches(lines: Sequence[CdxLine]) -> Iterator[list[CdxLine]]:
    """Yield some lines at a time, whose records together take no more room than one batch may."""
    some: list[CdxLine] = []
    room = ROOM
    for line in lines:
        length = _UNTOLD if line.length is None else line.length
        if some and (len(some) == BATCH or length > room):
            yield some
            some, room = [], ROOM
        some.append(line)
        room -= length
    if some:
        yield some


def _name(warc: str) -> str:
    """Return the name of a WARC file, without the folders that its index puts before it.

    >>> _name("crawl-7/a.warc.gz")
    'a.warc.gz'
    """
    return warc.rpartition("/")[2]
