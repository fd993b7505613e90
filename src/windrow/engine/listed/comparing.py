"""Compare archived files with files that have the same key at other sources.

If the sizes are equal or one is unknown, the last 64 KiB of a file are fetched and compared with the end of the
archived file. The fetched bytes are not kept. A zip has its table of contents there, with a checksum of each member, so
zips that differ usually differ there too. A difference is recorded as a finding. A mirror is compared again only if it
changes.
If the archived file differs from that of a source which its collection prefers, such as the one that made it, and it
was never fetched from there, the next run fetches it from there.

A file is also compared at its own source: with a checksum file that appears or changes after the transfer, and, if the
source lists neither sizes nor times, like a file of another source, after pauses that grow from a day to a month. If
its checksum file contradicts it, the next run fetches it again.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import islice
from os import SEEK_END
from typing import BinaryIO

from windrow.archive import open_response
from windrow.caps import COMPARED_FILES
from windrow.clock import now
from windrow.digest import digest
from windrow.engine.fetchers.message import AttemptEnded, BatchEnded, Event, TransferBatch
from windrow.engine.listed.connection_pool import host_name, paces_by_host
from windrow.engine.listed.queue import describe_choice
from windrow.engine.listed.rest import OriginPauses
from windrow.engine.run import HarvestRun
from windrow.errors import WindrowError
from windrow.ledger import LedgerWriter
from windrow.ledger.typed.mirrors import HeldMirror, UncomparedMirror
from windrow.model import COMPARED_SIZE, Attempt, FetchJob, Finding, Level, ListedFile, Offer, OfferingSource, Source

MAX_COMPARED = COMPARED_FILES.number
"""The maximum number of mirrors that one run compares. Later runs compare further mirrors."""
BATCH_SIZE = 64
"""The maximum number of mirrors in a batch, which is compared over one connection."""

_MIN_PAUSE, _MAX_PAUSE = timedelta(days=1), timedelta(days=30)
"""The bounds of the time between two comparisons of a file whose source lists neither its size nor its time."""


@dataclass(slots=True)
class _ComparedSource:
    source: Source
    task: int
    waiting: deque[UncomparedMirror | HeldMirror] = field(default_factory=deque)
    same: int = 0
    differing: int = 0
    failed: int = 0
    received: int = 0  # the number of bytes

    @property
    def summary(self) -> str:
        message = f"{self.source.name}: compared with the same files in the archive: {self.same} equal"
        message += f", {self.differing} different, {self.failed} not compared"
        return f"{message}; {self.received:,} bytes fetched for this"


SAME_NAME = "SameNameDiffers"
"""The kind of the finding that a file has other bytes than one of the same name in another folder."""


def compare_folders(run: HarvestRun) -> None:
    """Record a finding about each fetched file with other bytes than one of the same name in another folder.

    A standard may know both under one name, such as the `zip_file` of drops, whose size and digest are those of one.
    """
    pairs = run.ledger.listed_files.with_same_name(run.collection.name, run.collection.listing.folders, SAME_NAME)
    if pairs:
        with run.ledger.writing() as writer:
            for file, key, other_key in pairs:
                finding = Finding(SAME_NAME, f"{key} has other bytes than {other_key}; both are read", Level.WARN)
                writer.items.add_findings(run.session, file, run.collection.fetch_phase, [finding])


def compare_mirrors(run: HarvestRun, down: set[str]) -> None:
    """Compare at most MAX_COMPARED mirrors with archived files, except at sources that are `down` or paused."""
    pauses = OriginPauses(run.ledger)
    reachable = [source for source in run.harvest.sources if source.active and source.name not in down]
    sources = {source.name: source for source in reachable if not pauses.remaining(source.site)}
    compared_sources: dict[str, _ComparedSource] = {}
    mirrors: list[UncomparedMirror | HeldMirror] = [
        *run.ledger.mirrors.uncompared(run.collection.name, [*sources], MAX_COMPARED)
    ]
    mirrors += islice(_due_at_own_source(run, [*sources]), MAX_COMPARED - len(mirrors))
    for mirror in mirrors:
        if mirror.source not in compared_sources:
            task = run.open_task(run.collection.fetch_phase, mirror.source)
            compared_sources[mirror.source] = _ComparedSource(sources[mirror.source], task)
        compared_sources[mirror.source].waiting.append(mirror)
    if compared_sources:
        run.progress.begin("comparing", len(mirrors))
        _Comparison(run).run(list(compared_sources.values()))
        run.progress.end()


def _due_at_own_source(run: HarvestRun, sources: list[str]) -> Iterator[HeldMirror]:
    """Yield the files to compare at the sources from which they were fetched.

    A file that was compared at a time to come is due: the clock was ahead.
    """
    at = now()
    for mirror in run.ledger.mirrors.held(run.collection.name, sources):
        pause = min(max((mirror.compared or mirror.fetched) - mirror.fetched, _MIN_PAUSE), _MAX_PAUSE)
        is_due = not mirror.is_stated and not timedelta() <= at - (mirror.compared or mirror.fetched) < pause
        if is_due or (mirror.is_changed and mirror.sidecar):
            yield mirror


class _Comparison:
    """Compares mirrors. Jobs have numbers of their own, since a file may be compared with several sources."""

    def __init__(self, run: HarvestRun) -> None:
        self._run = run
        self._owners = {source.name: source.owner for source in run.harvest.sources}
        self._pace = paces_by_host(run.harvest.sources)
        self._batches: dict[int, _ComparedSource] = {}  # by number
        self._mirrors: dict[int, tuple[_ComparedSource, UncomparedMirror | HeldMirror]] = {}  # by job
        self._last_job = 0  # its number

    def run(self, compared_sources: list[_ComparedSource]) -> None:
        """Compare the mirrors of each source until all are done, its connection breaks, or the run is stopped."""
        run = self._run
        with run.ledger.writing() as writer:
            for compared in compared_sources:
                self._compare_sizes(writer, compared)
        for compared in compared_sources:
            self._submit_batch(compared)
        while self._batches:
            if events := run.fetchers.events(0.1):
                with run.ledger.writing() as writer:
                    for event in events:
                        self._record_event(writer, event)
            run.tick()
        for compared in compared_sources:
            run.close_task(compared.task, compared.summary)

    def _compare_sizes(self, writer: LedgerWriter, compared: _ComparedSource) -> None:
        """Record the mirrors that list another size, and remove them from those to compare."""
        mirrors, compared.waiting = compared.waiting, deque()
        for mirror in mirrors:
            if isinstance(mirror, HeldMirror) or mirror.size is None or mirror.held_size in {None, mirror.size}:
                compared.waiting.append(mirror)
                continue
            sizes = f": it has {mirror.size:,} bytes, not {mirror.held_size:,}"
            self._record_finding(writer, compared, mirror, self._describe_difference(writer, compared, mirror, sizes))
            self._run.progress.step(1)

    def _submit_batch(self, compared: _ComparedSource) -> None:
        jobs: list[FetchJob] = []
        while compared.waiting and len(jobs) < BATCH_SIZE:
            mirror = compared.waiting.popleft()
            self._last_job += 1
            self._mirrors[self._last_job] = compared, mirror
            file = ListedFile(mirror.path, mirror.size, mirror.modified, compared=True)
            job = FetchJob(self._last_job, compared.source.site.address(mirror.path), file=file)
            if isinstance(mirror, HeldMirror):
                file = file._replace(size=mirror.held_size, sidecar=mirror.sidecar)
                job = job._replace(validators=(mirror.etag, mirror.last_modified), file=file)
            jobs.append(job)
        if jobs:
            batch = self._run.next_batch()
            self._batches[batch] = compared
            pace = self._pace[host_name(compared.source.site)]
            self._run.fetchers.submit_batch(TransferBatch(batch, compared.source.site, tuple(jobs), pace=pace))

    def _record_event(self, writer: LedgerWriter, event: Event) -> None:
        if isinstance(event, AttemptEnded) and event.batch in self._batches:
            self._record_comparison(writer, *self._mirrors.pop(event.attempt.target), event.attempt)
            self._run.progress.step(1, event.attempt.reason is not None)
        elif isinstance(event, BatchEnded) and event.batch in self._batches:
            compared = self._batches.pop(event.batch)
            for number in event.untouched:
                self._mirrors.pop(number, None)
                compared.failed += 1
            if event.broken is None and not self._run.stopping():
                self._submit_batch(compared)

    def _record_comparison(
        self, writer: LedgerWriter, compared: _ComparedSource, mirror: UncomparedMirror | HeldMirror, attempt: Attempt
    ) -> None:
        """Record the outcome of a comparison. A failure that may pass is only counted, and the next run tries again."""
        compared.received += attempt.received or 0
        held_checksum = self._held_checksum(mirror, attempt.checksum) if attempt.checksum else ""
        if attempt.retry or (attempt.checksum and not held_checksum):
            compared.failed += 1
            return
        finding = None
        if not attempt.checksum:
            compared.failed += 1
            message = f"the file of {compared.source.name} was not compared: {attempt.message}"
            finding = Finding("NotCompared", message, Level.WARN)
        elif attempt.checksum == held_checksum:
            compared.same += 1
        elif isinstance(mirror, HeldMirror):
            finding = self._describe_change(writer, compared, mirror, attempt.checksum, held_checksum)
        else:
            size = "" if mirror.size is None else f", although both have {mirror.size:,} bytes"
            finding = self._describe_difference(writer, compared, mirror, size)
        self._record_finding(writer, compared, mirror, finding)

    def _record_finding(
        self, writer: LedgerWriter, compared: _ComparedSource, mirror: UncomparedMirror | HeldMirror,
        finding: Finding | None,
    ) -> None:  # fmt: skip
        """Record that a mirror was compared, and the finding about it, if there is one."""
        if finding is not None:
            writer.items.add_findings(self._run.session, mirror.file, self._run.collection.fetch_phase, [finding])
        offer = Offer(mirror.key, mirror.path, mirror.size, mirror.modified, sidecar=mirror.sidecar)
        writer.mirrors.add(self._run.session, compared.source.name, mirror.file, offer, "compared")

    def _describe_change(
        self, writer: LedgerWriter, compared: _ComparedSource, mirror: HeldMirror, checksum: str, held_checksum: str
    ) -> Finding:
        """Return the finding for a file that differs at its own source; order a retry if its checksum file says so."""
        compared.differing += 1
        source = compared.source.name
        if not mirror.sidecar:
            message = f"{source} now offers other bytes; to fetch them: windrow retry {mirror.key}"
            return Finding("ContentChanged", message, Level.WARN)
        message = f"the archived file has {held_checksum}, but its checksum file at {source} now states {checksum}"
        writer.items.retry(self._run.session, mirror.file, self._run.collection.listing.fetch_phase, message)
        return Finding("DigestMismatch", f"{message}; the next run fetches it again", Level.WARN)

    def _describe_difference(
        self, writer: LedgerWriter, compared: _ComparedSource, mirror: UncomparedMirror, sizes: str
    ) -> Finding:
        """Return the finding for a mirror that differs, and order a retry if its source is preferred."""
        compared.differing += 1
        message = (
            f"the file of {compared.source.name} differs from that of {mirror.held_from}, which is in the archive"
            f"{sizes}; {describe_choice(mirror.key, compared.source.name)}"
        )
        if self._is_preferred(mirror):
            message += f" (the next run of all sources does so, since {compared.source.name} is preferred)"
            writer.items.retry(self._run.session, mirror.file, self._run.collection.listing.fetch_phase, message)
        return Finding("ContentDiffers", message, Level.WARN)

    def _is_preferred(self, mirror: UncomparedMirror) -> bool:
        """Return whether the collection prefers a mirror to the source of the archived file.

        If the file was fetched from both sources, an operator has chosen the archived one, and False is returned.
        """
        if mirror.was_fetched or mirror.held_from not in self._owners:
            return False
        owners = (self._owners[mirror.held_from], self._owners[mirror.source])
        sources = [
            OfferingSource(str(place), owner) for place, owner in enumerate(owners)
        ]  # 0 is first if both are equal
        return self._run.collection.listing.prefer(mirror.owner, sources)[0] is sources[1]

    def _held_checksum(self, mirror: UncomparedMirror | HeldMirror, checksum: str) -> str:
        """Return the checksum of the archived file to compare with `checksum`, or "" if the file cannot be read.

        It is that of the whole file for one from a checksum file, otherwise that of the end of the file.
        """
        place = self._run.ledger.captures.of_digest(mirror.digest)
        try:
            if place is None:
                return ""
            with open_response(self._run.settings.archive, place).view as view:
                if isinstance(mirror, HeldMirror) and mirror.sidecar:
                    return _compute_checksum(view, checksum.partition(":")[0])
                view.seek(0, SEEK_END)
                view.seek(max(0, view.tell() - COMPARED_SIZE))
                return digest(view.read(COMPARED_SIZE))
        except (WindrowError, OSError):
            return ""


def _compute_checksum(view: BinaryIO, algorithm: str) -> str:
    hasher = hashlib.new(algorithm, usedforsecurity=False)
    while block := view.read(1 << 20):
        hasher.update(block)
    return f"{algorithm}:{hasher.hexdigest()}"
