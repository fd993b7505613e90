"""Compare a file in the archive with the same file at other sources, once, by its last bytes.

A difference is recorded as a finding. Most differences show in the sizes of the listing. If sizes are equal, the last
64 kB are fetched and compared with those in the archive. A zip has its table of contents there, with a checksum of
every member, so that files which differ anywhere differ there too. The fetched bytes are not kept.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from os import SEEK_END

from windrow.archive import open_response
from windrow.caps import COMPARED_FILES
from windrow.digest import digest
from windrow.engine.fetchers.message import AttemptEnded, BatchEnded, Event, TransferBatch
from windrow.engine.listed.connection_pool import host_name, paces_by_host
from windrow.engine.listed.queue import describe_choice
from windrow.engine.listed.rest import OriginPauses
from windrow.engine.run import HarvestRun
from windrow.errors import WindrowError
from windrow.ledger import LedgerWriter
from windrow.ledger.typed.mirrors import UncomparedMirror
from windrow.model import COMPARED_SIZE, Attempt, FetchJob, Finding, Level, ListedFile, Offer, Source

MAX_COMPARED = COMPARED_FILES.number
"""The most mirrors that one run compares; the next run compares further ones."""
BATCH_SIZE = 64
"""Mirrors that are compared in one batch over a connection."""


@dataclass(slots=True)
class _Host:
    """A source while its mirrors are compared."""

    source: Source
    task: int
    waiting: deque[UncomparedMirror] = field(default_factory=deque)
    same: int = 0
    differing: int = 0
    failed: int = 0
    received: int = 0  # bytes

    @property
    def summary(self) -> str:
        """The comment for its task: how many mirrors were the same, differed or failed."""
        message = f"{self.source.name}: compared with the same files from other sources: {self.same} equal"
        message += f", {self.differing} different, {self.failed} not compared"
        return f"{message}; {self.received:,} bytes fetched for this"


def compare_hosts(run: HarvestRun, down: set[str]) -> None:
    """Compare each archived file with its mirrors of equal size, once; sources that are `down` are not asked."""
    pauses = OriginPauses(run.ledger)
    reachable = [source for source in run.harvest.sources if source.active and source.name not in down]
    sources = {source.name: source for source in reachable if not pauses.left(source.site)}
    hosts: dict[str, _Host] = {}
    uncompared = run.ledger.mirrors.uncompared(run.collection.name, MAX_COMPARED)
    mirrors = [mirror for mirror in uncompared if mirror.source in sources]
    for mirror in mirrors:
        if mirror.source not in hosts:
            task = run.open_task(run.collection.fetch_phase, mirror.source)
            hosts[mirror.source] = _Host(sources[mirror.source], task)
        hosts[mirror.source].waiting.append(mirror)
    if hosts:
        run.progress.begin("comparing", len(mirrors))
        _Comparison(run).run(list(hosts.values()))
        run.progress.end()


class _Comparison:
    """Compares mirrors. Its jobs have their own numbers, since a file may be compared with several sources."""

    def __init__(self, run: HarvestRun) -> None:
        self._run = run
        self._pace = paces_by_host(run.harvest.sources)
        self._batches: dict[int, _Host] = {}  # by number
        self._mirrors: dict[int, tuple[_Host, UncomparedMirror]] = {}  # by job
        self._last_job = 0  # its number

    def run(self, hosts: list[_Host]) -> None:
        """Compare the mirrors of all sources, until each is done or its connection breaks, or the run is stopped."""
        run = self._run
        for host in hosts:
            self._submit_batch(host)
        while self._batches:
            if events := run.fetchers.events(0.1):
                with run.ledger.writing() as writer:
                    for event in events:
                        self._record_event(writer, event)
            run.tick()
        for host in hosts:
            run.close_task(host.task, host.summary)

    def _submit_batch(self, host: _Host) -> None:
        """Submit the next batch of a source's mirrors."""
        jobs: list[FetchJob] = []
        while host.waiting and len(jobs) < BATCH_SIZE:
            mirror = host.waiting.popleft()
            self._last_job += 1
            self._mirrors[self._last_job] = host, mirror
            file = ListedFile(mirror.path, mirror.size, mirror.modified, compared=True)
            jobs.append(FetchJob(self._last_job, host.source.site.address(mirror.path), file=file))
        if jobs:
            batch = self._run.next_batch()
            self._batches[batch] = host
            pace = self._pace[host_name(host.source.site)]
            self._run.fetchers.submit_batch(TransferBatch(batch, host.source.site, tuple(jobs), pace=pace))

    def _record_event(self, writer: LedgerWriter, event: Event) -> None:
        """Record the outcome of a comparison, or the end of a batch."""
        if isinstance(event, AttemptEnded) and event.batch in self._batches:
            self._record_comparison(writer, *self._mirrors.pop(event.attempt.target), event.attempt)
            self._run.progress.step(1, event.attempt.reason is not None)
        elif isinstance(event, BatchEnded) and event.batch in self._batches:
            host = self._batches.pop(event.batch)
            for number in event.untouched:
                self._mirrors.pop(number, None)
                host.failed += 1
            if event.broken is None and not self._run.stopping():
                self._submit_batch(host)

    def _record_comparison(self, writer: LedgerWriter, host: _Host, mirror: UncomparedMirror, attempt: Attempt) -> None:
        """Record the outcome of a comparison; after a failure that may pass, only count it: the next run compares."""
        host.received += attempt.received or 0
        held_digest = self._held_digest(mirror) if attempt.reason is None else ""
        if attempt.retry or (attempt.reason is None and not held_digest):
            host.failed += 1
            return
        kind = message = ""
        if attempt.reason is not None:
            host.failed += 1
            kind, message = "NotCompared", f"{host.source.name} offers it too; not compared: {attempt.message}"
        elif attempt.checksum != held_digest:
            host.differing += 1
            size = "" if mirror.size is None else f" in the same size, {mirror.size} bytes"
            kind = "ContentDiffers"
            message = (
                f"{host.source.name} offers other bytes under this name{size} than {mirror.held_from}, whose file"
                f" is in the archive; {describe_choice(mirror.key, host.source.name)}"
            )
        else:
            host.same += 1
        if kind:
            phase = self._run.collection.fetch_phase
            writer.items.add_findings(self._run.session, mirror.file, phase, [Finding(kind, message, Level.WARN)])
        offer = Offer(mirror.key, mirror.path, mirror.size, mirror.modified, sidecar=mirror.sidecar)
        writer.mirrors.add(self._run.session, host.source.name, mirror.file, offer, "compared")

    def _held_digest(self, mirror: UncomparedMirror) -> str:
        """Return the digest of the last bytes of the archived file, or an empty text if it cannot be read."""
        place = self._run.ledger.captures.of_digest(mirror.digest)
        try:
            if place is None:
                return ""
            with open_response(self._run.archive, place).view as view:
                view.seek(0, SEEK_END)
                view.seek(max(0, view.tell() - COMPARED_SIZE))
                return digest(view.read(COMPARED_SIZE))
        except WindrowError:
            return ""
