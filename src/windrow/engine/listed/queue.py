"""The files that wait to be fetched: a bounded window on the ledger, sorted by source."""

from __future__ import annotations

import heapq
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from windrow.archive.capture_sink import MAX_BODY_IN_MEMORY
from windrow.clock import now, spell
from windrow.digest import combine_digests, shorten_digest
from windrow.engine.frontier import offering_host
from windrow.engine.listed.rest import AGAIN, RestingFile, divide
from windrow.engine.run import HarvestRun
from windrow.engine.steps.due import Due, due
from windrow.ledger.typed.attempts import LatestCapture, OpenAttempt
from windrow.ledger.typed.mirrors import Mirror
from windrow.model import FetchJob, Finding, KnownCapture, Level, ListedFile, Source, Status

WINDOW = 4096
"""Most files held in memory at a time."""

PART = 500
"""Files that are drawn from the ledger at a time."""

BATCH = 256
FEW = 8
"""The most and fewest files of a batch, if there are enough: between two batches a connection is idle."""

BATCH_BYTES = 64 << 20


@dataclass(slots=True)
class WantedFile:
    """A file to fetch, and the hosts that have it, the best first."""

    due: Due
    hosts: list[tuple[Source, FetchJob]]
    attempts: int = 0  # on the first host
    attempt: int = 0  # seq of the attempt that is open on the ledger
    conflict: Finding | None = None  # to be put on record with the next attempt

    @property
    def source(self) -> Source:
        """The source that is tried next."""
        return self.hosts[0][0]


@dataclass(slots=True)
class FetchQueue:
    """Files by source, and files that wait for another attempt; filled from the ledger."""

    run: HarvestRun
    down: set[str]
    ready: dict[str, deque[WantedFile]] = field(default_factory=dict)
    later: list[tuple[float, int, WantedFile]] = field(default_factory=list)
    held: int = 0  # files in memory, in hand or waiting
    drawn: int = 0
    nowhere: int = 0  # files that no available source lists
    resting: list[RestingFile] = field(default_factory=list)  # files that failed too often to be requested now
    _due_items: Iterator[Due] | None = None
    _ended: bool = False
    _open: dict[int, OpenAttempt] = field(default_factory=dict)

    def fill(self) -> None:
        """Take files from the ledger until the window is full, and queue delayed files that are due again."""
        while self.later and self.later[0][0] <= time.monotonic():
            self.put(heapq.heappop(self.later)[2])
        if self._due_items is None:
            self._open = {attempt.file: attempt for attempt in self.run.ledger.attempts.open()}
            self._due_items = _due_items(self.run, self.resting)
        while not self._ended and self.held < WINDOW:
            limit = self.run.limit
            room = WINDOW if limit is None else limit - self.drawn
            due_items = list(islice(self._due_items, max(0, min(PART, room))))
            self._ended = not due_items
            for file in _find_hosts(self.run, due_items):
                file.hosts = [host for host in file.hosts if host[0].name not in self.down]
                if not file.hosts:
                    self.nowhere += 1
                    continue
                open_attempt = self._open.pop(file.due.item.id, None)
                if open_attempt and any(source.name == open_attempt.source for source, _ in file.hosts):
                    file.attempt = open_attempt.seq
                    file.hosts.sort(key=lambda host: host[0].name != open_attempt.source)
                self.held += 1
                self.drawn += 1
                self.put(file)

    def put(self, wanted: WantedFile) -> None:
        """Queue a file for its first host."""
        self.ready.setdefault(wanted.source.name, deque()).append(wanted)

    def put_later(self, wanted: WantedFile, seconds: float) -> None:
        """Queue a file after `seconds`."""
        heapq.heappush(self.later, (time.monotonic() + seconds, wanted.due.item.id, wanted))

    def batch(self, source: str) -> list[WantedFile]:
        """Take the files of one batch for a source."""
        files: list[WantedFile] = []
        size = 0
        waiting = self.ready.get(source, deque())
        # The last files are shared out among the connections, so that all end at about one time.
        limit = max(FEW, min(BATCH, len(waiting) // 4 + 1))
        while waiting and len(files) < limit and size < BATCH_BYTES:
            files.append(waiting.popleft())
            size += files[-1].hosts[0][1].file.size or 0
        return files

    def leave(self, source: str) -> list[WantedFile]:
        """Remove and return all files queued for a source that is down."""
        self.down.add(source)
        waiting = list(self.ready.pop(source, ()))
        delayed = [entry for entry in self.later if entry[2].source.name == source]
        self.later = [entry for entry in self.later if entry[2].source.name != source]
        heapq.heapify(self.later)
        return waiting + [entry[2] for entry in delayed]

    @property
    def empty(self) -> bool:
        """Whether no file is left, here or on the ledger."""
        return self._ended and not self.held


def _due_items(run: HarvestRun, resting: list[RestingFile]) -> Iterator[Due]:
    """Yield the files to fetch: new, interrupted, and those that failed in earlier sessions and are due again."""
    collection = run.collection
    phase = collection.listing.fetch_phase
    yield from due(run.ledger, collection, phase)
    failed = (
        due_item for due_item in due(run.ledger, collection, phase, Status.FAILED) if _failed_earlier(run, due_item)
    )
    at = now()
    while part := list(islice(failed, PART)):
        due_again, still_resting = divide(run.ledger, part, at)
        resting += still_resting
        yield from due_again


def _failed_earlier(run: HarvestRun, failed: Due) -> bool:
    return failed.reason in AGAIN and failed.since < run.session


def _find_hosts(run: HarvestRun, part: list[Due]) -> list[WantedFile]:
    """Return these files with the sources that list them, the best first."""
    sources = {source.name: source for source in run.harvest.sources if source.active}
    source_records = run.ledger.attempts.by_source() if part else {}
    latest_captures = run.ledger.attempts.latest_captures([due_item.item.id for due_item in part])
    mirrors: dict[int, dict[str, Mirror]] = {}
    for mirror in run.ledger.mirrors.of_files([due_item.item.id for due_item in part]):
        if mirror.source in sources:
            mirrors.setdefault(mirror.file, {})[mirror.source] = mirror
    files = []
    for due_item in part:
        mirrors_by_source = mirrors.get(due_item.item.id, {})
        hosts = [offering_host(sources[name], source_records.get(name)) for name in mirrors_by_source]
        best = run.collection.listing.prefer(due_item.owner, hosts)
        latest = latest_captures.get(due_item.item.id)
        hosts_ = [
            (
                sources[host.source],
                _make_job(due_item, sources[host.source], mirrors_by_source[host.source], latest),
            )
            for host in best
            if not _is_too_old(run, mirrors_by_source[host.source])
        ]
        files.append(WantedFile(due_item, hosts_, conflict=_find_conflict(due_item.item.key, hosts_)))
    return files


def _make_job(due_item: Due, source: Source, mirror: Mirror, latest: LatestCapture | None) -> FetchJob:
    # A part file belongs to one version of one file at one source: another size or time has another part file, and so
    # has an attempt after another kept version. If versions cannot be told apart, transfers are not continued.
    previous = KnownCapture(latest.digest, spell(latest.at), latest.address) if latest else KnownCapture()
    # HTTP has validators for versions, other protocols the time of the file. Small files have no part file.
    part_name = ""
    large = mirror.size is None or mirror.size > MAX_BODY_IN_MEMORY
    if large and (mirror.modified is not None or source.site.scheme in {"http", "https"}):
        modified_text = spell(mirror.modified) if mirror.modified else None
        part_name = shorten_digest(
            combine_digests([source.name, mirror.path, str(mirror.size), str(modified_text), previous.digest])
        )
    file = ListedFile(mirror.path, mirror.size, mirror.modified, mirror.sidecar, part_name)
    return FetchJob(due_item.item.id, source.site.address(mirror.path), last=previous, file=file)


def _is_too_old(run: HarvestRun, mirror: Mirror) -> bool:
    """Return whether a file is older than `--since`; a file without a date is not."""
    return run.since is not None and mirror.modified is not None and mirror.modified < run.since


def _find_conflict(key: str, hosts: list[tuple[Source, FetchJob]]) -> Finding | None:
    """Return a finding if sources offer different sizes under one name; the first host's bytes win."""
    offered = [(source.name, job.file.size) for source, job in hosts]
    if len({size for _, size in offered} - {None}) < 2:
        return None
    sizes = ", ".join(f"{name} {size}" for name, size in offered)
    first_source, other_source = offered[0][0], next(name for name, size in offered if size != offered[0][1])
    message = (
        f"offered in different sizes: {sizes}; {first_source} is asked first; {describe_choice(key, other_source)}"
    )
    return Finding("ContentDiffers", message, Level.WARN)


def describe_choice(key: str, source: str) -> str:
    """Return how to fetch a file from a certain source: a retry alone would ask the best source again."""
    return f"to have those of {source}: windrow retry {key}, then: windrow run {source}"


def names(sources: Mapping[str, object]) -> str:
    """Join the names of some sources for a message."""
    return ", ".join(sorted(sources))
