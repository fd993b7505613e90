"""The fetcher processes: batches are handed out, events come in, a dead one is replaced."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection as Pipe
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from queue import SimpleQueue
from typing import Any

from windrow.engine.fetchers.message import (
    ArchiveSettings,
    AttemptEnded,
    BatchBroken,
    BatchEnded,
    CloseConnection,
    Event,
    Halt,
    MoreJobs,
    TransferBatch,
    WalkOrigin,
)
from windrow.engine.heartbeat import Watch
from windrow.engine.listed.connection_pool import host
from windrow.engine.runtime import CONTEXT, start
from windrow.formats.url import parts
from windrow.model import FetchJob, Site
from windrow.reasons import Reason

FetcherMessage = TransferBatch | CloseConnection | Halt | WalkOrigin | MoreJobs | None
"""What is sent to a fetcher process; None ends it."""

_ENDED = "a fetcher process was ended: to read what came from the host took too long"
_GRACE = 10.0  # seconds that all processes together have to finish their files


def _fetch(pipe: Pipe, prefix: str, keep: ArchiveSettings, board: Any) -> None:
    from windrow.engine.fetchers import fetcher  # noqa: PLC0415 the transports' libraries are for its process alone

    fetcher.main(pipe, prefix, keep, board)


class _Member:
    """One fetcher process and the batches it has in hand."""

    def __init__(self, keep: ArchiveSettings, number: int) -> None:
        self.pipe, theirs = CONTEXT.Pipe()
        prefix = f"windrow-{keep.session:06}-{number}"
        self.watch = Watch()
        told = (theirs, prefix, keep, self.watch.board)
        self.process: BaseProcess = CONTEXT.Process(target=_fetch, args=told, daemon=True)
        self.killed = False  # since it did not report any more
        self.overdue = False  # for what it read: the run was not to stop
        start(self.process)
        theirs.close()
        self._outbox: SimpleQueue[FetcherMessage] = SimpleQueue()
        threading.Thread(target=self._post, daemon=True).start()
        self.batches: dict[int, set[int]] = {}  # targets of the jobs in hand, by batch; an origin that is walked is one
        self.sites: dict[int, Site] = {}  # of those batches that go over one connection
        self.resting: Counter[Site] = Counter()  # connections that wait for the next batch there

    @property
    def load(self) -> int:
        """Batches that run here or may soon."""
        return len(self.batches) + self.resting.total()

    def begin(self, batch: TransferBatch | WalkOrigin, jobs: Sequence[FetchJob] = ()) -> None:
        """Give it a batch."""
        self.batches[batch.number] = {job.target for job in jobs}
        self.send(batch)

    def send(self, told: FetcherMessage) -> None:
        """Tell it something, without waiting: it may itself be waiting for us to hear it."""
        self._outbox.put(told)

    def _post(self) -> None:
        """Send what there is until the end; its death is noticed, and its work given back, by `Crew.events`."""
        with suppress(OSError):
            while True:
                told = self._outbox.get()
                self.pipe.send(told)
                if told is None:
                    return


class Crew:
    """Fetcher processes, started when first needed."""

    def __init__(self, keep: ArchiveSettings, size: int) -> None:
        """Have `size` processes keep into one archive."""
        self._keep = keep
        self._size = size
        self._members: dict[Pipe, _Member] = {}
        self._started = 0
        self._owners: dict[str, Pipe] = {}  # of hosts that have a pace
        self._halted = False

    def submit_batch(self, batch: TransferBatch) -> None:
        """Give a batch to the process that has a connection at rest there, else to the one with the least to do.

        A site never sees more connections than it was given batches at one time: where the process with
        the connection has too much in hand, that connection is closed.
        """
        self._fill()
        member = idle = min(self._members.values(), key=lambda one: one.load)
        resting = [one for one in self._members.values() if one.resting[batch.site]]
        if batch.pace:
            member = self._owner(host(batch.site), idle)
            member.resting[batch.site] -= member.resting[batch.site] > 0
        elif resting:
            member = min(resting, key=lambda one: len(one.batches))
            member.resting[batch.site] -= 1
            if len(member.batches) > len(idle.batches) + 1:
                member.send(CloseConnection(batch.site))
                member = idle
        member.sites[batch.number] = batch.site
        member.begin(batch, batch.jobs)

    def _owner(self, name: str, idle: _Member) -> _Member:
        """Return the process that alone asks a host, so that its pace holds over all connections."""
        pipe = self._owners.get(name)
        if pipe not in self._members:
            pipe = self._owners[name] = idle.pipe
        return self._members[pipe]

    def halt(self) -> None:
        """Let every batch finish what it is at; what it had not begun comes back untouched."""
        self._halted = True
        for member in self._members.values():
            member.send(Halt())

    def _fill(self) -> None:
        while len(self._members) < self._size:
            self._started += 1
            member = _Member(self._keep, self._started)
            self._members[member.pipe] = member

    def start_walk(self, walk: WalkOrigin) -> None:
        """Give an origin to the process that has others of its host, else to the one with the least to do."""
        self._fill()
        member = self._owner(parts(f"{walk.origin}/").host, min(self._members.values(), key=lambda one: one.load))
        member.begin(walk)

    def submit(self, batch: int, jobs: Sequence[FetchJob]) -> None:
        """Give more jobs to the process that walks their origin."""
        member = next(member for member in self._members.values() if batch in member.batches)
        member.batches[batch].update(job.target for job in jobs)
        member.send(MoreJobs(batch, tuple(jobs)))

    def events(self, timeout: float) -> list[Event]:
        """Return what happened, after at most `timeout` seconds; a process that does not report is ended."""
        found: list[Event] = []
        for member in self._members.values():
            if not member.killed and member.watch.overdue(member.process.pid or 0, stopping=self._halted):
                member.killed, member.overdue = True, not self._halted
                member.process.kill()
        for pipe in wait(list(self._members), timeout) if self._members else []:
            member = self._members[pipe]  # type: ignore[index]
            try:
                while member.pipe.poll():
                    found += self._noted(member, member.pipe.recv())
            except (EOFError, OSError):
                found += self._remove_dead(member)
        return found

    def _noted(self, member: _Member, events: list[Event]) -> list[Event]:
        """Keep the account of what a process still has in hand."""
        for event in events:
            if isinstance(event, BatchEnded):
                del member.batches[event.batch]
                if site := member.sites.pop(event.batch, None):
                    member.resting[site] += event.broken is None
            elif isinstance(event, AttemptEnded):
                member.batches[event.batch].discard(event.attempt.target)
        return events

    def _remove_dead(self, member: _Member) -> list[Event]:
        """Give back what a dead process had in hand, with what it was reading when it ended."""
        del self._members[member.pipe]
        member.pipe.close()
        member.send(None)
        member.process.join()
        why = BatchBroken(Reason.INTERRUPTED, f"a fetcher process ended with {member.process.exitcode}", "", True, None)
        found: list[Event] = []
        guilty, culprit = member.watch.reading() or (0, 0)
        for batch, targets in member.batches.items():
            left = tuple(sorted(targets - {culprit} if batch == guilty and member.overdue else targets))
            if batch != guilty:
                found.append(BatchEnded(batch, left, why, spared=guilty in member.batches))
                continue
            mine = why._replace(reason=Reason.TIME_LIMIT, message=_ENDED) if member.overdue else why
            found.append(BatchEnded(batch, left, mine, culprit))
        return found

    def close(self, *, at_once: bool = False) -> None:
        """Let the processes finish their files and end; with `at_once`, end them as they are."""
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
