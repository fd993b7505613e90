"""Fetch: get what is wanted, from the best host, with retries, until nothing is left that can be had."""

from __future__ import annotations

import math
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime

from windrow.clock import now
from windrow.engine.fetchers.message import (
    AttemptEnded,
    BatchBroken,
    BatchEnded,
    Event,
    TransferBatch,
    TransferBegun,
    TransferProgress,
)
from windrow.engine.listed.connection_pool import host as site_host
from windrow.engine.listed.connection_pool import paces
from windrow.engine.listed.queue import FetchQueue, WantedFile
from windrow.engine.listed.rest import OriginPauses, told_left_alone, told_pause, wait_before, worth_waiting
from windrow.engine.run import HarvestRun
from windrow.ledger import LedgerWriter
from windrow.model import Attempt, Finding, Level, Source
from windrow.reasons import Reason

GATHERED = 0.25
"""Seconds for which events may wait, to be put on record with others in one transaction; the end of a batch may not."""

NAMED = 5
"""Files that are named where several rest."""


@dataclass(slots=True)
class _Host:
    """A source while it is fetched from."""

    source: Source
    task: int
    number: int  # its origin's, on the ledger
    batches: int = 0
    breaks: int = 0  # ever
    broken: int = 0  # in a row
    due: float = 0.0  # when it may be asked again
    done: int = 0
    failed: Counter[Reason] = field(default_factory=Counter)
    why: BatchBroken | None = None  # the last of its breaks
    closed: bool = False


class Fetching:
    """The dispatcher: batches out to the crew, events in, every attempt on the ledger."""

    def __init__(self, run: HarvestRun, down: set[str]) -> None:
        """Fetch what is due from the sources that are not down."""
        self._run = run
        self._queue = FetchQueue(run, down)
        self._hosts: dict[str, _Host] = {}
        self._in_hand: dict[int, WantedFile] = {}
        self._paces = paces(run.harvest.sources)
        self._pauses = OriginPauses(run.ledger)
        self._halted = False
        self._ends: dict[int, tuple[str, Reason]] = {}  # files that failed at their last host: key and reason
        self._batches: dict[int, tuple[str, int]] = {}  # source, and its breaks when the batch began
        self._events: list[Event] = []  # what happened and is not on record yet
        self._recorded = 0.0

    def run(self) -> None:
        """Run until the queue is empty or the run is stopped."""
        run, queue = self._run, self._queue
        queue.fill()
        run.progress.begin("fetching", None)
        within = run.harvest.download_deadline or math.inf
        end = time.monotonic() + within
        while not queue.empty:
            if time.monotonic() > end:
                self._record()
                self._leave(within)
                break
            if not run.stopping():
                queue.fill()
                self._hand_out()
            elif not self._in_hand:
                break
            elif not self._halted:
                self._halted = True
                run.crew.halt()
            self._listen()
            run.tick()
        run.grown.clear()
        self._tell_pauses()
        for host in self._hosts.values():
            self._close(host)
        run.progress.end()

    def _listen(self) -> None:
        """Wait briefly for events and record them, in one transaction if they come fast."""
        events = self._run.crew.events(0.05)
        self._events += events
        if not events and not self._batches:
            time.sleep(0.05)  # everything waits for its next try
        ended = any(isinstance(event, BatchEnded) for event in events)
        if ended or time.monotonic() - self._recorded > GATHERED:
            self._record()

    def _record(self) -> None:
        """Record the gathered events."""
        if self._events:
            with self._run.ledger.writing() as writer:
                for event in self._events:
                    self._note(writer, event)
            self._events.clear()
            self._recorded = time.monotonic()

    def _tell_pauses(self) -> None:
        """Record which files rest from now on, and which are not tried again by themselves."""
        run = self._run
        phase = run.collection.fetch_phase
        tried = run.ledger.attempts.failed_sessions(list(self._ends))
        with run.ledger.writing() as writer:
            for file, (key, reason) in self._ends.items():
                sessions = tried[file].number if file in tried else 0
                message = told_pause(key, reason, sessions, now())
                if message:
                    writer.items.find(run.session, file, phase, [message])
            if resting := self._queue.resting:
                soonest = min(rest.until for rest in resting)
                names = ", ".join(rest.key for rest in resting[:NAMED]) + (", ..." if len(resting) > NAMED else "")
                comment = f"{names}, {len(resting)} in all; the first is asked"
                comment += f" for again after {soonest:%Y-%m-%d %H:%M} UTC, at once with: windrow retry NAME"
                task = writer.sessions.open_task(run.session, run.collection.name, "", phase)
                run.close_task(task, comment, Reason.RESTING, writer=writer)

    def _leave(self, within: float) -> None:
        """Record which sources are left behind; the next run resumes their transfers."""
        with self._run.ledger.writing() as writer:
            for name, host in self._hosts.items():
                mine = [queued for queued in self._in_hand.values() if queued.source.name == name]
                left = len(mine) + len(self._queue.leave(name))
                if not left:
                    continue
                message = f"left behind with {left} transfers after {within:g} seconds "
                message += f"({self._run.collection.name}.download_deadline)"
                why = BatchBroken(Reason.TIMEOUT, message, "", retry=True, wait=None)
                for wanted in mine:
                    if wanted.attempt:
                        self._cut(writer, wanted, why)
                self._close(host, why, writer)

    def _hand_out(self) -> None:
        """Submit batches for every source, as many as it may have."""
        run = self._run
        for name in list(self._queue.ready):
            host = self._hosts.get(name) or self._open(name)
            if host.due > time.monotonic():
                continue
            if left := self._pauses.left(host.source.site):
                host.due = time.monotonic() + left
                if not worth_waiting(left):
                    message = told_left_alone(host.source.site, left)
                    with run.ledger.writing() as writer:
                        self._leave_host(
                            writer, host, BatchBroken(Reason.RATE_LIMITED, message, "", retry=False, wait=left)
                        )
                continue
            while host.batches < min(host.source.connections, run.harvest.downloaders):
                row = self._queue.batch(name)
                if not row:
                    break
                number = run.next_batch()
                for wanted in row:
                    self._in_hand[wanted.due.item.id] = wanted
                self._batches[number] = (name, host.breaks)
                host.batches += 1
                jobs = tuple(wanted.hosts[0][1] for wanted in row)
                abreast = 16 if host.source.site.scheme == "sftp" else 1
                pace = self._paces[site_host(host.source.site)]
                run.crew.submit_batch(TransferBatch(number, host.source.site, jobs, pace=pace, abreast=abreast))

    def _open(self, name: str) -> _Host:
        source = next(known for known in self._run.harvest.sources if known.name == name)
        run = self._run
        task = run.open_task(run.collection.fetch_phase, name)
        with run.ledger.writing() as writer:
            number = writer.addresses.host_of(run.session, run.collection.name, name, source.site.origin)
        host = _Host(source, task, number)
        self._hosts[name] = host
        return host

    def _close(self, host: _Host, why: BatchBroken | None = None, writer: LedgerWriter | None = None) -> None:
        if host.closed:
            return
        host.closed = True
        failed = sum(host.failed.values())
        comment = f"{host.source.name}: {host.done} fetched, {failed} failed"
        if host.failed:
            comment += " (" + ", ".join(f"{reason} {count}" for reason, count in host.failed.most_common(5)) + ")"
        reason = why.reason if why else next(iter(host.failed), None)
        if why:
            comment += f"; {why.describe(host.source.name)}"
        elif host.why:
            comment += f"; asked again after {host.breaks} breaks, the last: {host.why.message}"
        self._run.close_task(host.task, comment, reason, failed=bool(why or failed), writer=writer)

    def _note(self, writer: LedgerWriter, event: Event) -> None:
        """Record an event."""
        run = self._run
        if isinstance(event, AttemptEnded):
            wanted = self._in_hand.pop(event.attempt.target)
            self._record_attempt(writer, wanted, event.attempt)
        elif isinstance(event, BatchEnded) and event.batch in self._batches:  # else that of a listing left behind
            name, breaks = self._batches.pop(event.batch)
            self._ended(writer, self._hosts[name], event, breaks)
        elif isinstance(event, TransferBegun) and event.target in self._in_hand:
            wanted = self._in_hand[event.target]
            self._begin(writer, wanted, event.at)
        elif isinstance(event, TransferProgress) and event.target in self._in_hand:
            run.grown[self._in_hand[event.target].attempt] = event.size

    def _begin(self, writer: LedgerWriter, wanted: WantedFile, at: datetime) -> None:
        if not wanted.attempt:
            source, job = wanted.hosts[0]
            wanted.attempt = writer.attempts.begin(
                self._run.session, self._hosts[source.name].number, wanted.due.item.id, job.url, at
            )
            if wanted.conflict:
                phase = self._run.collection.fetch_phase
                writer.items.find(self._run.session, wanted.due.item.id, phase, [wanted.conflict])
                wanted.conflict = None

    def _record_attempt(self, writer: LedgerWriter, wanted: WantedFile, attempt: Attempt) -> None:
        """Record an attempt, and decide whether the file is done, tried again or failed."""
        run, source, file = self._run, wanted.source, wanted.due.item.id
        host = self._hosts[source.name]
        self._begin(writer, wanted, attempt.started)
        begun, wanted.attempt = wanted.attempt, 0
        ended = writer.attempts.record_attempt(run.session, host.number, attempt, begun=begun)
        run.grown.pop(begun, None)
        run.progress.step(1, attempt.reason is not None)
        if attempt.reason is None:
            host.done += 1
            host.broken = 0
            self._queue.held -= 1
            if attempt.message and not attempt.checksum:
                finding = Finding("NotCompared", attempt.message, Level.WARN)
                writer.items.find(run.session, file, run.collection.fetch_phase, [finding])
            writer.items.arrive(file, run.collection.step_after(run.collection.listing.kind), begun, ended)
            return
        writer.items.fail(file, run.collection.listing.fetch_phase, attempt.reason, ended)
        wanted.attempts += 1
        self._rest(writer, host, attempt)
        if attempt.retry and self._more(wanted) and not run.stopping() and source.name not in self._queue.down:
            self._queue.put_later(wanted, wait_before(wanted.attempts, attempt.wait))
            return
        host.failed[attempt.reason] += 1
        self._next_host(wanted)
        if not wanted.hosts:
            self._ends[file] = (wanted.due.item.key, attempt.reason)

    def _cut(self, writer: LedgerWriter, wanted: WantedFile, why: BatchBroken) -> None:
        """Record that an attempt under way failed because its batch broke."""
        run, file = self._run, wanted.due.item.id
        job = wanted.hosts[0][1]
        received = run.grown.pop(wanted.attempt, 0)
        cut = job.attempt(now())._replace(received=received, reason=why.reason, message=why.message)
        host = self._hosts[wanted.source.name].number
        ended = writer.attempts.record_attempt(run.session, host, cut, begun=wanted.attempt)
        writer.items.fail(file, run.collection.listing.fetch_phase, why.reason, ended)
        wanted.attempt = 0
        wanted.attempts += 1

    def _more(self, wanted: WantedFile) -> bool:
        """Return whether a file may be tried again on its host."""
        return wanted.attempts < min(wanted.source.attempts, self._run.harvest.attempts)

    def _rest(self, writer: LedgerWriter, host: _Host, attempt: Attempt) -> None:
        """Pause all requests to a source that asks for it; a long pause lasts until the next run."""
        if attempt.wait is None:
            return
        host.due = max(host.due, time.monotonic() + attempt.wait)
        self._pauses.note(writer, host.source.site, attempt.wait)
        if not worth_waiting(attempt.wait):
            reason = attempt.reason or Reason.RATE_LIMITED
            why = BatchBroken(reason, attempt.message, "", retry=False, wait=attempt.wait)
            self._leave_host(writer, host, why)

    def _leave_host(self, writer: LedgerWriter, host: _Host, why: BatchBroken) -> None:
        """Stop asking a source in this run: its queued files go to their next hosts."""
        self._close(host, why, writer)
        for queued in self._queue.leave(host.source.name):
            if queued.attempt:
                self._cut(writer, queued, why)
            self._next_host(queued)

    def _next_host(self, wanted: WantedFile) -> None:
        """Try the next host that is up, or let the file rest."""
        wanted.attempts = 0
        wanted.hosts = [host for host in wanted.hosts[1:] if host[0].name not in self._queue.down]
        if wanted.hosts:
            self._queue.put(wanted)
        else:
            self._queue.held -= 1

    def _ended(self, writer: LedgerWriter, host: _Host, event: BatchEnded, breaks: int) -> None:
        """Take a batch back; what was not tried waits again, unless its source is down.

        Batches that were at work when one of them broke, and break too, are one break: a server that is
        away for a moment is asked again, however many connections it had.
        """
        host.batches -= 1
        back = [self._in_hand.pop(number) for number in event.untouched if number in self._in_hand]
        why = event.broken
        if why is not None:
            host.why = why
            self._pauses.note(writer, host.source.site, why.wait)
            if breaks == host.breaks:
                host.breaks += 1
                host.broken += 1
                host.due = max(host.due, time.monotonic() + wait_before(host.broken, why.wait))
            if host.broken >= host.source.attempts or not (why.retry and worth_waiting(why.wait)):
                self._close(host, why, writer)
                back += self._queue.leave(host.source.name)
        gone = host.source.name in self._queue.down
        cut = why or BatchBroken(Reason.INTERRUPTED, "the source is down", "", retry=True, wait=None)
        for wanted in back:
            # An attempt that a crash left open goes on; one that is open since this session broke just now.
            if wanted.attempt and (gone or wanted.attempt in self._run.grown):
                self._cut(writer, wanted, cut)
            if gone:
                self._next_host(wanted)
            elif self._more(wanted):
                self._queue.put(wanted)
            else:
                host.failed[cut.reason] += 1
                self._next_host(wanted)
