"""A pool of fetcher processes: send them batches, collect their events, and replace dead processes."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection as Pipe
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import ForkingPickler
from operator import attrgetter
from queue import SimpleQueue
from typing import Any

from windrow.engine.fetchers.event_format import decode_events
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
from windrow.engine.listed.connection_pool import host_name
from windrow.engine.message_pipe import MessagePipe
from windrow.engine.plain_values import MessageRefused
from windrow.engine.runtime import CONTEXT, SharedNumbers, start_process
from windrow.formats.url import parts
from windrow.model import FetchJob, Site
from windrow.private_files import current_mask
from windrow.reasons import Reason

FetcherMessage = TransferBatch | CloseConnection | Halt | CrawlOrigin | MoreJobs | None
"""A message to a fetcher process. None ends the process."""

_END_MESSAGE = bytes(ForkingPickler.dumps(None))
_TOO_SLOW = "a fetcher process was ended: reading the host's response took too long"
_MAX_MESSAGE_BYTES = 1 << 28
_CLOSE_SECONDS = 10.0  # the time that all processes together have to finish their files


def _run_fetcher(pipe: Pipe, prefix: str, settings: ArchiveSettings, board: SharedNumbers, mask: int) -> None:
    from windrow.engine.fetchers import fetcher  # noqa: PLC0415 only its own process loads the transports' libraries

    os.umask(mask)  # the fork server may have an older one
    fetcher.main(pipe, prefix, settings, board)


class _RunningFetcher:
    """One fetcher process and its unfinished batches.

    `batches` maps the number of each batch to the targets of its unfinished jobs; the walk of an origin is a batch too.
    `sites` maps the number of each batch that uses one connection to its site. `idle_connections` counts the idle
    connections to each site.
    """

    def __init__(self, settings: ArchiveSettings, number: int) -> None:
        near_end, far_end = CONTEXT.Pipe()
        self.pipe = MessagePipe(near_end, _MAX_MESSAGE_BYTES)
        prefix = f"windrow-{settings.session:06}-{number}"
        self.watch = FetcherWatch()
        arguments = (far_end, prefix, settings, self.watch.board, current_mask())
        self.process: BaseProcess = CONTEXT.Process(target=_run_fetcher, args=arguments, daemon=True)
        self.is_killed = False  # because it stopped reporting
        self.is_overdue = False  # it was killed because it read a response for too long, and not because the run stops
        start_process(self.process)
        far_end.close()
        self._outbox: SimpleQueue[bytes] = SimpleQueue()
        threading.Thread(target=self._send_queued, daemon=True).start()
        self.batches: dict[int, set[int]] = {}
        self.sites: dict[int, Site] = {}
        self.idle_connections: Counter[Site] = Counter()

    @property
    def load(self) -> int:
        """The number of running batches and idle connections. The sites of idle connections may get batches again."""
        return len(self.batches) + self.idle_connections.total()

    def begin_batch(self, batch: TransferBatch | CrawlOrigin, jobs: Sequence[FetchJob] = ()) -> None:
        self.batches[batch.number] = {job.target for job in jobs}
        self.send(batch)

    def send(self, message: FetcherMessage) -> None:
        """Queue a message for the sending thread. Sending here could deadlock while the process sends to us.

        The message is pickled here: an error in the other thread would end that thread, and the run would wait forever.
        """
        self._outbox.put(bytes(ForkingPickler.dumps(message)))

    def _send_queued(self) -> None:
        with suppress(OSError):
            message = b""
            while message != _END_MESSAGE:
                message = self._outbox.get()
                self.pipe.connection.send_bytes(message)


class FetcherPool:
    """Fetcher processes, each of which is started when all others have work."""

    def __init__(self, settings: ArchiveSettings, size: int) -> None:
        """`size` is the maximum number of processes. They all write to one archive."""
        self._settings = settings
        self._size = size
        self._members: dict[MessagePipe, _RunningFetcher] = {}
        self._started = 0
        self._owners: dict[str, MessagePipe] = {}  # by host that has a pace: the only process that requests it
        self._halted = False

    def submit_batch(self, batch: TransferBatch) -> None:
        """Send a batch to a process.

        A batch with a pace is sent to the only process that requests its host. Any other batch is sent to a process
        with an idle connection to the site, or to the least loaded process. If the process with the idle connection has
        at least two batches more than the least loaded process, the connection is closed, and the least loaded process
        gets the batch. So a site does not get a new connection beside an idle one.
        """
        member = least_loaded = self._find_least_loaded()
        with_idle_connection = [
            candidate for candidate in self._members.values() if candidate.idle_connections[batch.site]
        ]
        if batch.pace:
            member = self._owner_of(host_name(batch.site), least_loaded)
            member.idle_connections[batch.site] -= member.idle_connections[batch.site] > 0
        elif with_idle_connection:
            member = min(with_idle_connection, key=lambda candidate: len(candidate.batches))
            member.idle_connections[batch.site] -= 1
            if len(member.batches) > len(least_loaded.batches) + 1:
                member.send(CloseConnection(batch.site))
                member = least_loaded
        member.sites[batch.number] = batch.site
        member.begin_batch(batch, batch.jobs)

    def _owner_of(self, name: str, least_loaded: _RunningFetcher) -> _RunningFetcher:
        """Return the only process that requests the host `name`. If there is none yet, make it `least_loaded`."""
        pipe = self._owners.get(name)
        if pipe not in self._members:
            pipe = self._owners[name] = least_loaded.pipe
        return self._members[pipe]

    def halt(self) -> None:
        """Tell the processes to finish the jobs that have begun, and to report the other jobs as untouched."""
        self._halted = True
        for member in self._members.values():
            member.send(Halt())

    def _find_least_loaded(self) -> _RunningFetcher:
        """Return the least loaded process, or a new one if all have batches and there may be more processes."""
        if len(self._members) < self._size and all(member.batches for member in self._members.values()):
            self._started += 1
            new_member = _RunningFetcher(self._settings, self._started)
            self._members[new_member.pipe] = new_member
        return min(self._members.values(), key=attrgetter("load"))

    def start_walk(self, walk: CrawlOrigin) -> None:
        """Send an origin to the process that requests its host, or to the least loaded one if none does yet."""
        member = self._owner_of(parts(f"{walk.origin}/").host, self._find_least_loaded())
        member.begin_batch(walk)

    def submit(self, batch: int, jobs: Sequence[FetchJob]) -> None:
        """Send more jobs of a walk to the process that makes the walk; `batch` is the walk's number."""
        member = next(member for member in self._members.values() if batch in member.batches)
        member.batches[batch].update(job.target for job in jobs)
        member.send(MoreJobs(batch, tuple(jobs)))

    def events(self, timeout: float, others: Sequence[MessagePipe] = ()) -> list[Event]:
        """Return the events that arrive within `timeout` seconds, and kill processes that stopped reporting.

        The call also returns if one of the pipes `others` can be read. Batches of a dead process end with an event.
        """
        received: list[Event] = []
        for member in self._members.values():
            if not member.is_killed and member.watch.overdue(member.process.pid or 0, stopping=self._halted):
                member.is_killed, member.is_overdue = True, not self._halted
                member.process.kill()
        pipes: list[Any] = [*self._members, *others]  # `wait` takes whatever has a `fileno`
        for pipe in wait(pipes, timeout) if pipes else ():
            member = self._members.get(pipe)  # type: ignore[call-overload]
            if member is None:
                continue
            try:
                for message in member.pipe.receive():
                    received += self._track_events(member, decode_events(message))
            except MessageRefused as error:
                member.process.kill()
                received += self._remove_dead(member, str(error))
            except (EOFError, OSError):
                received += self._remove_dead(member)
        return received

    def _track_events(self, member: _RunningFetcher, events: list[Event]) -> list[Event]:
        for event in events:
            if isinstance(event, AttemptEnded | BatchEnded) and event.batch not in member.batches:
                raise MessageRefused("a fetcher process sent an event for a batch that it does not have")
            if isinstance(event, BatchEnded):
                del member.batches[event.batch]
                if site := member.sites.pop(event.batch, None):
                    member.idle_connections[site] += event.broken is None
            elif isinstance(event, AttemptEnded):
                member.batches[event.batch].discard(event.attempt.target)
        return events

    def _remove_dead(self, member: _RunningFetcher, problem: str = "") -> list[Event]:
        """Remove a dead process, and return the end of each of its unfinished batches."""
        del self._members[member.pipe]
        member.pipe.close()
        member.send(None)
        member.process.join(_CLOSE_SECONDS)
        member.process.kill()  # it may have closed the pipe and gone on
        member.process.join()
        message = problem or f"a fetcher process ended with exit code {member.process.exitcode}"
        failure = BatchBroken(Reason.INTERRUPTED, message, hint="", retry=True, wait=None)
        received: list[Event] = []
        read_batch, culprit = member.watch.reading() or (0, 0)
        for batch, targets in member.batches.items():
            untouched = tuple(sorted(targets - {culprit} if batch == read_batch and member.is_overdue else targets))
            if batch != read_batch:
                received.append(BatchEnded(batch, untouched, failure, spared=read_batch in member.batches))
                continue
            too_slow = failure._replace(reason=Reason.TIME_LIMIT, message=_TOO_SLOW)
            received.append(BatchEnded(batch, untouched, too_slow if member.is_overdue else failure, culprit))
        return received

    def close(self, *, at_once: bool = False) -> None:
        """End the processes. Kill those that have not ended after _CLOSE_SECONDS; if `at_once`, kill them all now."""
        deadline = time.monotonic() + (0.0 if at_once else _CLOSE_SECONDS)
        for member in self._members.values():
            member.send(None)
        for member in self._members.values():
            member.process.join(timeout=max(0.0, deadline - time.monotonic()))
            if member.process.is_alive():
                member.process.kill()
                member.process.join()
            member.pipe.close()
        self._members.clear()
        self._halted = False
