"""The fetcher processes: batches are handed out, events come in, a dead one is replaced."""

from __future__ import annotations

import threading
import time
from collections import Counter
from contextlib import suppress
from multiprocessing.connection import Connection as Pipe
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from queue import SimpleQueue
from typing import Any

from windrow.engine.fetchers.message import (
    ArchiveSettings,
    BatchBroken,
    BatchEnded,
    CloseConnection,
    Event,
    Halt,
    MoreAddresses,
    TransferBatch,
    Visited,
    WalkEnded,
    WalkOrigin,
)
from windrow.engine.heartbeat import Watch
from windrow.engine.listed.connection_pool import host
from windrow.engine.runtime import CONTEXT, start
from windrow.formats.url import parts
from windrow.model import Fetched, Site
from windrow.reasons import Reason

FetcherMessage = TransferBatch | CloseConnection | Halt | WalkOrigin | MoreAddresses | None
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
        self.batches: dict[int, set[int]] = {}
        self.sites: dict[int, Site] = {}  # by batch
        self.resting: Counter[Site] = Counter()  # connections that wait for the next batch there
        self.walks: dict[int, set[int]] = {}  # addresses in hand, by host

    @property
    def load(self) -> int:
        """Batches that run here or may soon."""
        return len(self.batches) + self.resting.total() + len(self.walks)

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

    def hand(self, batch: TransferBatch) -> None:
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
        member.batches[batch.number] = {request.number for request in batch.requests}
        member.sites[batch.number] = batch.site
        member.send(batch)

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

    def walk(self, walk: WalkOrigin) -> None:
        """Give an origin to the process that has others of its host, else to the one with the least to do."""
        self._fill()
        member = self._owner(parts(f"{walk.origin}/").host, min(self._members.values(), key=lambda one: one.load))
        member.walks[walk.host] = set()
        member.send(walk)

    def feed(self, feed: MoreAddresses) -> None:
        """Give addresses to the process that walks their host."""
        member = next(one for one in self._members.values() if feed.host in one.walks)
        member.walks[feed.host].update(known.digest for known in feed.known)
        member.send(feed)

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
                member.batches.pop(event.batch, None)
                site = member.sites.pop(event.batch)
                member.resting[site] += event.broken is None
            elif isinstance(event, Visited):
                member.walks[event.host].discard(event.visit.digest)
            elif isinstance(event, WalkEnded):
                del member.walks[event.host]
            elif isinstance(event, Fetched):
                for requests in member.batches.values():
                    requests.discard(event.number)
        return events

    def _remove_dead(self, member: _Member) -> list[Event]:
        """Give back what a dead process had in hand, with what it was reading when it ended."""
        del self._members[member.pipe]
        member.pipe.close()
        member.send(None)
        member.process.join()
        why = BatchBroken(Reason.INTERRUPTED, f"a fetcher process ended with {member.process.exitcode}", "", True, None)
        found: list[Event] = [
            BatchEnded(batch, tuple(sorted(requests)), why) for batch, requests in member.batches.items()
        ]
        guilty, culprit = member.watch.reading() or (0, 0)
        for seq, known in member.walks.items():
            left = tuple(sorted(known - {culprit} if seq == guilty and member.overdue else known))
            if seq != guilty:
                found.append(WalkEnded(seq, left, why, spared=guilty in member.walks))
                continue
            mine = why._replace(reason=Reason.TIME_LIMIT, message=_ENDED) if member.overdue else why
            found.append(WalkEnded(seq, left, mine, culprit))
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
