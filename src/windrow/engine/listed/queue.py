"""The queue of files to fetch. Only a few thousand files are in memory at a time, and these are queued by source."""

from __future__ import annotations

import heapq
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from windrow.archive.capture_sink import MAX_BODY_IN_MEMORY
from windrow.clock import now, spell
from windrow.digest import combine_digests, shorten_digest
from windrow.engine.frontier import offering_source
from windrow.engine.listed.rest import RETRIED_REASONS, RestingFile, split_resting
from windrow.engine.run import HarvestRun
from windrow.engine.steps.due import Due, due
from windrow.ledger.typed.attempts import LatestCapture, OpenAttempt
from windrow.ledger.typed.mirrors import Mirror
from windrow.model import FetchJob, KnownCapture, ListedFile, Source, Status

MAX_IN_MEMORY = 4096
"""While fewer files than this are in memory, a further page of files is read from the ledger."""

PAGE_SIZE = 500
"""The maximum number of files that are read from the ledger at a time."""

MAX_BATCH_FILES = 256
MIN_BATCH_FILES = 8
"""The maximum and the minimum number of files in a batch, which has fewer if MAX_BATCH_BYTES is reached or few wait.

A connection is idle between two batches.
"""

MAX_BATCH_BYTES = 64 << 20
"""The size in bytes after which no further file is added to a batch."""


class SourceJob(NamedTuple):
    """A source that lists a file, and the job to fetch the file from the source."""

    source: Source
    job: FetchJob


@dataclass(slots=True)
class WantedFile:
    """A file to fetch, and the sources that list it, each with its job, the best source first."""

    due: Due
    source_jobs: list[SourceJob]
    attempts: int = 0  # the number of failed attempts in this run at the first source
    attempt: int = 0  # the number of its open attempt on the ledger, 0 if no attempt is open

    @property
    def source(self) -> Source:
        """The source that is requested next."""
        return self.source_jobs[0].source


@dataclass(slots=True)
class FetchQueue:
    """The files in memory that are to be fetched.

    `ready` has files by the source that is requested next. `later` has files that wait for another attempt, as a heap
    of (due time by time.monotonic, number of the file, file). Sources named in `down` are not requested.
    """

    run: HarvestRun
    down: set[str]
    ready: dict[str, deque[WantedFile]] = field(default_factory=dict)
    later: list[tuple[float, int, WantedFile]] = field(default_factory=list)
    in_memory: int = 0  # the number of files that are queued or that fetchers have
    drawn: int = 0  # the number of files that were read from the ledger and queued so far
    resting: list[RestingFile] = field(default_factory=list)  # files that failed too often to be requested now
    _due_items: Iterator[Due] | None = None
    _ended: bool = False
    _open: dict[int, OpenAttempt] = field(default_factory=dict)

    def fill(self) -> None:
        """Queue delayed files that are due again. Then read files from the ledger until MAX_IN_MEMORY are in memory."""
        while self.later and self.later[0][0] <= time.monotonic():
            self.put(heapq.heappop(self.later)[2])
        if self._due_items is None:
            self._open = {attempt.file: attempt for attempt in self.run.ledger.attempts.open()}
            self._due_items = _read_due_items(self.run, self.resting)
        while not self._ended and self.in_memory < MAX_IN_MEMORY:
            limit = self.run.limit
            allowed = MAX_IN_MEMORY if limit is None else limit - self.drawn
            due_items = list(islice(self._due_items, max(0, min(PAGE_SIZE, allowed))))
            self._ended = not due_items
            for file in _make_wanted_files(self.run, due_items):
                file.source_jobs = [job for job in file.source_jobs if job.source.name not in self.down]
                if not file.source_jobs:  # it stays pending, and is counted when the run has ended
                    continue
                open_attempt = self._open.pop(file.due.item.id, None)
                if open_attempt and any(source.name == open_attempt.source for source, _ in file.source_jobs):
                    file.attempt = open_attempt.seq
                    file.source_jobs.sort(key=lambda job: job.source.name != open_attempt.source)
                self.in_memory += 1
                self.drawn += 1
                self.put(file)

    def put(self, wanted: WantedFile) -> None:
        """Queue a file for its first source."""
        self.ready.setdefault(wanted.source.name, deque()).append(wanted)

    def put_later(self, wanted: WantedFile, seconds: float) -> None:
        """Queue a file for its first source once `seconds` have passed."""
        heapq.heappush(self.later, (time.monotonic() + seconds, wanted.due.item.id, wanted))

    def take_batch(self, source: str) -> list[WantedFile]:
        """Remove and return the files of the next batch for the source with this name."""
        files: list[WantedFile] = []
        size = 0
        waiting = self.ready.get(source, deque())
        # The last files are divided among the connections, so that all of these end at about the same time.
        limit = max(MIN_BATCH_FILES, min(MAX_BATCH_FILES, len(waiting) // 4 + 1))
        while waiting and len(files) < limit and size < MAX_BATCH_BYTES:
            files.append(waiting.popleft())
            size += files[-1].source_jobs[0].job.file.size or 0
        return files

    def remove_source(self, source: str) -> list[WantedFile]:
        """Mark a source as down. Remove and return all files that are queued for it."""
        self.down.add(source)
        waiting = list(self.ready.pop(source, ()))
        delayed = [wanted for _, _, wanted in self.later if wanted.source.name == source]
        self.later = [(due, number, wanted) for due, number, wanted in self.later if wanted.source.name != source]
        heapq.heapify(self.later)
        return waiting + delayed

    @property
    def is_empty(self) -> bool:
        """Whether no file is left to fetch, in memory or (up to the run's limit of items) on the ledger."""
        return self._ended and not self.in_memory


def _read_due_items(run: HarvestRun, resting: list[RestingFile]) -> Iterator[Due]:
    """Yield the files that are due: first those that are new or whose retry was ordered, then those that failed before.

    The latter failed in an earlier session for one of RETRIED_REASONS. Files that rest are added to `resting` instead.
    """
    collection = run.collection
    phase = collection.listing.fetch_phase
    yield from due(run.ledger, collection, phase)
    failed_files = (
        due_item
        for due_item in due(run.ledger, collection, phase, Status.FAILED)
        if due_item.reason in RETRIED_REASONS and due_item.since < run.session  # failed in an earlier session
    )
    current_time = now()
    while page := list(islice(failed_files, PAGE_SIZE)):
        due_again, still_resting = split_resting(run.ledger, page, current_time)
        resting += still_resting
        yield from due_again


def _make_wanted_files(run: HarvestRun, due_items: list[Due]) -> list[WantedFile]:
    """Return the files with jobs, the best source first. A source with a file older than `run.since` gets no job."""
    sources = {source.name: source for source in run.harvest.sources if source.active}
    counts_by_source = run.ledger.attempts.by_source() if due_items else {}
    latest_captures = run.ledger.attempts.latest_captures([due_item.item.id for due_item in due_items])
    mirrors: dict[int, dict[str, Mirror]] = {}
    for mirror in run.ledger.mirrors.of_files([due_item.item.id for due_item in due_items]):
        if mirror.source in sources:
            mirrors.setdefault(mirror.file, {})[mirror.source] = mirror
    files = []
    for due_item in due_items:
        mirrors_by_source = mirrors.get(due_item.item.id, {})
        offering_sources = [offering_source(sources[name], counts_by_source.get(name)) for name in mirrors_by_source]
        ranked_sources = run.collection.listing.prefer(due_item.owner, offering_sources)
        latest = latest_captures.get(due_item.item.id)
        if latest and latest.warc in run.lost_files:
            latest = None  # its bytes are kept anew
        source_jobs = []
        for offering in ranked_sources:
            source, mirror = sources[offering.source], mirrors_by_source[offering.source]
            if run.since is None or mirror.modified is None or mirror.modified >= run.since:
                source_jobs.append(SourceJob(source, _make_job(due_item, source, mirror, latest)))
        files.append(WantedFile(due_item, source_jobs))
    return files


def _make_job(due_item: Due, source: Source, mirror: Mirror, latest: LatestCapture | None) -> FetchJob:
    """Return the job to fetch a file from a source. `latest` is the latest capture of the file, or None.

    A partial transfer is kept in a part file, which belongs to one version of one file at one source: its name changes
    with the size, the time or the latest capture. If versions cannot be distinguished, the transfer is not continued.
    """
    previous = KnownCapture(latest.digest, spell(latest.at), latest.address) if latest else KnownCapture()
    # HTTP has validators for versions, other protocols have the time of the file. Small files have no part file.
    part_name = ""
    is_large = mirror.size is None or mirror.size > MAX_BODY_IN_MEMORY
    if is_large and (mirror.modified is not None or source.site.scheme in {"http", "https"}):
        modified_text = spell(mirror.modified) if mirror.modified else None
        part_name = shorten_digest(
            combine_digests([source.name, mirror.path, str(mirror.size), str(modified_text), previous.digest])
        )
    file = ListedFile(mirror.path, mirror.size, mirror.modified, mirror.sidecar, part_name)
    return FetchJob(due_item.item.id, source.site.address(mirror.path), last=previous, file=file)


def describe_choice(key: str, source: str) -> str:
    """Return a text with the commands that fetch a file from this source.

    A retry alone would request the file from the best source again.
    """
    return f"to fetch the file of {source}: windrow retry {key}, then: windrow run {source}"
