"""What waits to be fetched: a bounded window on the ledger, sorted by source."""

from __future__ import annotations

import heapq
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from windrow.archive.capture_sink import SMALL
from windrow.clock import now, spell
from windrow.digest import combine, short
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
"""Most and least files of a batch, where there are as many: between two batches a connection stands idle."""

BATCH_BYTES = 64 << 20


@dataclass(slots=True)
class WantedFile:
    """A file to fetch, and where it can be had: best host first."""

    due: Due
    hosts: list[tuple[Source, FetchJob]]
    attempts: int = 0  # on the first host
    attempt: int = 0  # seq of the attempt that is open on the ledger
    conflict: Finding | None = None  # to be put on record with the next attempt

    @property
    def source(self) -> Source:
        """Where to try next."""
        return self.hosts[0][0]


@dataclass(slots=True)
class FetchQueue:
    """Files by source, those that wait for a later try, and the ledger behind."""

    run: HarvestRun
    down: set[str]
    ready: dict[str, deque[WantedFile]] = field(default_factory=dict)
    later: list[tuple[float, int, WantedFile]] = field(default_factory=list)
    held: int = 0  # files in memory, in hand or waiting
    drawn: int = 0
    nowhere: int = 0  # files that no available source lists
    resting: list[RestingFile] = field(default_factory=list)  # what failed too often to be asked for now
    _stream: Iterator[Due] | None = None
    _ended: bool = False
    _open: dict[int, OpenAttempt] = field(default_factory=dict)

    def fill(self) -> None:
        """Draw from the ledger until the window is full, and bring back those whose wait is over."""
        while self.later and self.later[0][0] <= time.monotonic():
            self.put(heapq.heappop(self.later)[2])
        if self._stream is None:
            self._open = {attempt.file: attempt for attempt in self.run.ledger.attempts.open()}
            self._stream = _stream(self.run, self.resting)
        while not self._ended and self.held < WINDOW:
            limit = self.run.limit
            room = WINDOW if limit is None else limit - self.drawn
            part = list(islice(self._stream, max(0, min(PART, room))))
            self._ended = not part
            for wanted in _hosted(self.run, part):
                wanted.hosts = [host for host in wanted.hosts if host[0].name not in self.down]
                if not wanted.hosts:
                    self.nowhere += 1
                    continue
                cut = self._open.pop(wanted.due.item.id, None)
                if cut and any(source.name == cut.source for source, _ in wanted.hosts):
                    wanted.attempt = cut.seq
                    wanted.hosts.sort(key=lambda host: host[0].name != cut.source)
                self.held += 1
                self.drawn += 1
                self.put(wanted)

    def put(self, wanted: WantedFile) -> None:
        """Queue a file for its first host."""
        self.ready.setdefault(wanted.source.name, deque()).append(wanted)

    def put_later(self, wanted: WantedFile, seconds: float) -> None:
        """Queue a file after some seconds."""
        heapq.heappush(self.later, (time.monotonic() + seconds, wanted.due.item.id, wanted))

    def batch(self, source: str) -> list[WantedFile]:
        """Take the files of one batch for a source."""
        row: list[WantedFile] = []
        size = 0
        waiting = self.ready.get(source, deque())
        # The last files are shared out among the connections, so that all end at about one time.
        most = max(FEW, min(BATCH, len(waiting) // 4 + 1))
        while waiting and len(row) < most and size < BATCH_BYTES:
            row.append(waiting.popleft())
            size += row[-1].hosts[0][1].file.size or 0
        return row

    def leave(self, source: str) -> list[WantedFile]:
        """Remove and return all files queued for a source that is down."""
        self.down.add(source)
        waiting = list(self.ready.pop(source, ()))
        late = [entry for entry in self.later if entry[2].source.name == source]
        self.later = [entry for entry in self.later if entry[2].source.name != source]
        heapq.heapify(self.later)
        return waiting + [entry[2] for entry in late]

    @property
    def empty(self) -> bool:
        """Whether no file is left, here or on the ledger."""
        return self._ended and not self.held


def _stream(run: HarvestRun, resting: list[RestingFile]) -> Iterator[Due]:
    """Yield what should be fetched: new, cut, and failed in earlier sessions for a passing reason."""
    collection = run.collection
    step = collection.listing.fetch_phase
    yield from due(run.ledger, collection, step)
    failed = (due_item for due_item in due(run.ledger, collection, step, Status.FAILED) if _earlier(run, due_item))
    at = now()
    while part := list(islice(failed, PART)):
        wanted, rest = divide(run.ledger, part, at)
        resting += rest
        yield from wanted


def _earlier(run: HarvestRun, failed: Due) -> bool:
    return failed.reason in AGAIN and failed.since < run.session


def _hosted(run: HarvestRun, part: list[Due]) -> list[WantedFile]:
    """Find who lists these files, best first."""
    sources = {source.name: source for source in run.harvest.sources if source.active}
    record = run.ledger.attempts.by_source() if part else {}
    last = run.ledger.attempts.latest_captures([due_item.item.id for due_item in part])
    mirrors: dict[int, dict[str, Mirror]] = {}
    for mirror in run.ledger.mirrors.of_files([due_item.item.id for due_item in part]):
        if mirror.source in sources:
            mirrors.setdefault(mirror.file, {})[mirror.source] = mirror
    wanted = []
    for due_item in part:
        by_source = mirrors.get(due_item.item.id, {})
        hosts = [offering_host(sources[name], record.get(name)) for name in by_source]
        best = run.collection.listing.prefer(due_item.owner, hosts)
        before = last.get(due_item.item.id)
        pairs = [
            (
                sources[host.source],
                _job(due_item, sources[host.source], by_source[host.source], before),
            )
            for host in best
            if not _older(run, by_source[host.source])
        ]
        wanted.append(WantedFile(due_item, pairs, conflict=_conflict(due_item.item.key, pairs)))
    return wanted


def _job(due_item: Due, source: Source, mirror: Mirror, last: LatestCapture | None) -> FetchJob:
    # A part belongs to one version of one file at one source: another size or time is another part, and so
    # is another attempt at what was kept before. Where nothing tells versions apart, none is gone on with.
    before = KnownCapture(last.digest, spell(last.at), last.address) if last else KnownCapture()
    # HTTP tells versions apart by itself, the others by the time of the file. What is small has no part.
    part = ""
    large = mirror.size is None or mirror.size > SMALL
    if large and (mirror.modified is not None or source.site.scheme in {"http", "https"}):
        dated = spell(mirror.modified) if mirror.modified else None
        part = short(combine([source.name, mirror.path, str(mirror.size), str(dated), before.digest]))
    file = ListedFile(mirror.path, mirror.size, mirror.modified, mirror.sidecar, part)
    return FetchJob(due_item.item.id, source.site.address(mirror.path), last=before, file=file)


def _older(run: HarvestRun, mirror: Mirror) -> bool:
    """Return whether a file is older than asked for; one without a date is not."""
    return run.since is not None and mirror.modified is not None and mirror.modified < run.since


def _conflict(key: str, hosts: list[tuple[Source, FetchJob]]) -> Finding | None:
    """Return a finding if sources offer different sizes under one name; the first host's bytes win."""
    offered = [(source.name, job.file.size) for source, job in hosts]
    if len({size for _, size in offered} - {None}) < 2:
        return None
    sizes = ", ".join(f"{name} {size}" for name, size in offered)
    first, second = offered[0][0], next(name for name, size in offered if size != offered[0][1])
    message = f"offered in different sizes: {sizes}; {first} is asked first; {take_from(key, second)}"
    return Finding("ContentDiffers", message, Level.WARN)


def take_from(key: str, source: str) -> str:
    """Say how a person takes the bytes of one of several sources: a retry alone asks the best one, as before."""
    return f"to have those of {source}: windrow retry {key}, then: windrow run {source}"


def names(sources: Mapping[str, object]) -> str:
    """Join the names of some sources for a message."""
    return ", ".join(sorted(sources))
