"""A pool of fetcher processes: it hands out batches, collects events and replaces dead processes."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection as Pipe
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from operator import attrgetter
from queue import SimpleQueue
from typing import Any

from windrow.engine.fetchers.message import (
    ArchiveSettings,
    AttemptEnded,
    BatchBroken,
    BatchEnded,
    CloseConnection,
    CrawlOrigin,
    Event,
    Halt,
    MoreJobs,
    TransferBatch,
)
from windrow.engine.heartbeat import FetcherWatch
from windrow.engine.listed.connection_pool import host
from windrow.engine.runtime import CONTEXT, start
from windrow.formats.url import parts
from windrow.model import FetchJob, Site
from windrow.reasons import Reason

FetcherMessage = TransferBatch | CloseConnection | Halt | CrawlOrigin | MoreJobs | None
"""What is sent to a fetcher process; None ends it."""

_ENDED = "a fetcher process was ended: reading the host's response took too long"
_GRACE = 10.0  # seconds that all processes together have to finish their files


def _run_fetcher(pipe: Pipe, prefix: str, keep: ArchiveSettings, board: Any) -> None:
    from windrow.engine.fetchers import fetcher  # noqa: PLC0415 only its own process loads the transports' libraries

    fetcher.main(pipe, prefix, keep, board)


class _RunningFetcher:
    """One fetcher process and its unfinished batches."""

    def __init__(self, keep: ArchiveSettings, number: int) -> None:
        self.pipe, far_end = CONTEXT.Pipe()
        prefix = f"windrow-{keep.session:06}-{number}"
        self.watch = FetcherWatch()
        arguments = (far_end, prefix, keep, self.watch.board)
        self.process: BaseProcess = CONTEXT.Process(target=_run_fetcher, args=arguments, daemon=True)
        self.killed = False  # since it stopped reporting
        self.overdue = False  # killed while reading a response, not because the run stops
        start(self.process)
        far_end.close()
        self._outbox: SimpleQueue[FetcherMessage] = SimpleQueue()
        threading.Thread(target=self._send_queued, daemon=True).start()
        self.batches: dict[
            int, set[int]
        ] = {}  # targets of unfinished jobs, by batch; a walk of an origin counts as a batch
        self.sites: dict[int, Site] = {}  # by batch, where the batch uses one connection
        self.resting: Counter[Site] = Counter()  # idle connections by site

    @property
    def load(self) -> int:
        """Batches that run here, and idle connections whose site may get another."""
        return len(self.batches) + self.resting.total()

    def begin(self, batch: TransferBatch | CrawlOrigin, jobs: Sequence[FetchJob] = ()) -> None:
        self.batches[batch.number] = {job.target for job in jobs}
        self.send(batch)

    def send(self, message: FetcherMessage) -> None:
        """Queue a message; a direct send could deadlock while the process sends to us."""
        self._outbox.put(message)

    def _send_queued(self) -> None:
        """Send queued messages until None; `FetcherPool.events` notices a dead process and returns its jobs."""
        with suppress(OSError):
            while True:
                message = self._outbox.get()
                self.pipe.send(message)
                if message is None:
                    return


class FetcherPool:
    """Fetcher processes, started when first needed."""

    def __init__(self, keep: ArchiveSettings, size: int) -> None:
        """Use `size` processes, all writing to one archive."""
        self._keep = keep
        self._size = size
        self._members: dict[Pipe, _RunningFetcher] = {}
        self._started = 0
        self._owners: dict[str, Pipe] = {}  # the process that alone asks a host which has a pace, by host
        self._halted = False

    def submit_batch(self, batch: TransferBatch) -> None:
        """Give a batch to a process with an idle connection to its site, else to the least loaded one.

        A site never sees more connections than batches at one time: if the process with the idle connection is
        much busier than another, that connection is closed.
        """
        self._start_missing()
        member = idle = min(self._members.values(), key=attrgetter("load"))
        with_idle_connection = [candidate for candidate in self._members.values() if candidate.resting[batch.site]]
        if batch.pace:
            member = self._owner_of(host(batch.site), idle)
            member.resting[batch.site] -= member.resting[batch.site] > 0
        elif with_idle_connection:
            member = min(with_idle_connection, key=lambda candidate: len(candidate.batches))
            member.resting[batch.site] -= 1
            if len(member.batches) > len(idle.batches) + 1:
                member.send(CloseConnection(batch.site))
                member = idle
        member.sites[batch.number] = batch.site
        member.begin(batch, batch.jobs)

    def _owner_of(self, name: str, idle: _RunningFetcher) -> _RunningFetcher:
        """Return the one process that asks a host, so that its pace holds over all connections."""
        pipe = self._owners.get(name)
        if pipe not in self._members:
            pipe = self._owners[name] = idle.pipe
        return self._members[pipe]

    def halt(self) -> None:
        """Finish the jobs that have begun; the others come back as untouched."""
        self._halted = True
        for member in self._members.values():
            member.send(Halt())

    def _start_missing(self) -> None:
        while len(self._members) < self._size:
            self._started += 1
            member = _RunningFetcher(self._keep, self._started)
            self._members[member.pipe] = member

    def start_walk(self, walk: CrawlOrigin) -> None:
        """Give an origin to the process that walks others of its host, else to the least loaded one."""
        self._start_missing()
        member = self._owner_of(parts(f"{walk.origin}/").host, min(self._members.values(), key=attrgetter("load")))
        member.begin(walk)

    def submit(self, batch: int, jobs: Sequence[FetchJob]) -> None:
        """Give more jobs to the process that walks their origin."""
        member = next(member for member in self._members.values() if batch in member.batches)
        member.batches[batch].update(job.target for job in jobs)
        member.send(MoreJobs(batch, tuple(jobs)))

    def events(self, timeout: float) -> list[Event]:
        """Return the events of at most `timeout` seconds; kill processes that stopped reporting."""
        received: list[Event] = []
        for member in self._members.values():
            if not member.killed and member.watch.overdue(member.process.pid or 0, stopping=self._halted):
                member.killed, member.overdue = True, not self._halted
                member.process.kill()
        for pipe in wait(list(self._members), timeout) if self._members else []:
            member = self._members[pipe]  # type: ignore[index]
            try:
                while member.pipe.poll():
                    received += self._track_events(member, member.pipe.recv())
            except (EOFError, OSError):
                received += self._remove_dead(member)
        return received

    def _track_events(self, member: _RunningFetcher, events: list[Event]) -> list[Event]:
        """Update the unfinished jobs of a process, and return its events."""
        for event in events:
            if isinstance(event, BatchEnded):
                del member.batches[event.batch]
                if site := member.sites.pop(event.batch, None):
                    member.resting[site] += event.broken is None
            elif isinstance(event, AttemptEnded):
                member.batches[event.batch].discard(event.attempt.target)
        return events

    def _remove_dead(self, member: _RunningFetcher) -> list[Event]:
        """Return the unfinished batches of a dead process, and which target it was reading when it died."""
        del self._members[member.pipe]
        member.pipe.close()
        member.send(None)
        member.process.join()
        failure = BatchBroken(
            Reason.INTERRUPTED, f"a fetcher process ended with {member.process.exitcode}", "", True, None
        )
        received: list[Event] = []
        culprit_batch, culprit = member.watch.reading() or (0, 0)
        for batch, targets in member.batches.items():
            untouched = tuple(sorted(targets - {culprit} if batch == culprit_batch and member.overdue else targets))
            if batch != culprit_batch:
                received.append(BatchEnded(batch, untouched, failure, spared=culprit_batch in member.batches))
                continue
            batch_failure = failure._replace(reason=Reason.TIME_LIMIT, message=_ENDED) if member.overdue else failure
            received.append(BatchEnded(batch, untouched, batch_failure, culprit))
        return received

    def close(self, *, at_once: bool = False) -> None:
        """End the processes once their files are finished; with `at_once`, kill them."""
        until = time.monotonic() + (0.0 if at_once else _GRACE)
        for member in self._members.values():
            member.send(None)
        for member in self._members.values():
            member.process.join(timeout=max(0.0, until - time.monotonic()))
            if member.process.is_alive():
                member.process.kill()
                member.process.join()
            member.pipe.close()
        self._members.clear()
