"""Fetch the files that are due, each from its best host, with retries."""

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
from windrow.engine.listed.rest import OriginPauses, describe_pause, describe_rest, wait_before, worth_waiting
from windrow.engine.run import HarvestRun
from windrow.fetch.transport import transport_for
from windrow.ledger import LedgerWriter
from windrow.model import Attempt, Finding, Level, Source
from windrow.reasons import Reason

GATHERED = 0.25
"""Seconds for which events wait to be recorded in one transaction; the end of a batch is recorded at once."""

NAMED = 5
"""The most files named in a message on resting files."""


@dataclass(slots=True)
class _Host:
    """A source and the state of its transfers in this run."""

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
    """Sends batches to the fetchers, and records every attempt on the ledger."""

    def __init__(self, run: HarvestRun, down: set[str]) -> None:
        """Fetch the files that are due from the sources that are not `down`."""
        self._run = run
        self._queue = FetchQueue(run, down)
        self._hosts: dict[str, _Host] = {}
        self._in_hand: dict[int, WantedFile] = {}
        self._paces = paces(run.harvest.sources)
        self._pauses = OriginPauses(run.ledger)
        self._halted = False
        self._ends: dict[int, tuple[str, Reason]] = {}  # files that failed at their last host: key and reason
        self._batches: dict[int, tuple[str, int]] = {}  # source, and its breaks when the batch began
        self._events: list[Event] = []  # events that are not recorded yet
        self._recorded = 0.0

    def run(self) -> None:
        """Run until the queue is empty or the run is stopped."""
        run, queue = self._run, self._queue
        queue.fill()
        run.progress.begin("fetching", None)
        deadline = run.harvest.download_deadline or math.inf
        end = time.monotonic() + deadline
        while not queue.empty:
            if time.monotonic() > end:
                self._record_gathered()
                self._leave_sources(deadline)
                break
            if not run.stopping():
                queue.fill()
                self._hand_out()
            elif not self._in_hand:
                break
            elif not self._halted:
                self._halted = True
                run.crew.halt()
            self._gather_events()
            run.tick()
        run.grown.clear()
        self._record_pauses()
        for host in self._hosts.values():
            self._close_host(host)
        run.progress.end()

    def _gather_events(self) -> None:
        """Wait briefly for events and record them, in one transaction if they come fast."""
        events = self._run.crew.events(0.05)
        self._events += events
        if not events and not self._batches:
            time.sleep(0.05)  # everything waits for its next try
        ended = any(isinstance(event, BatchEnded) for event in events)
        if ended or time.monotonic() - self._recorded > GATHERED:
            self._record_gathered()

    def _record_gathered(self) -> None:
        """Record the gathered events."""
        if self._events:
            with self._run.ledger.writing() as writer:
                for event in self._events:
                    self._record_event(writer, event)
            self._events.clear()
            self._recorded = time.monotonic()

    def _record_pauses(self) -> None:
        """Record which files rest from now on, and which are only tried again on request."""
        run = self._run
        phase = run.collection.fetch_phase
        failed_sessions = run.ledger.attempts.failed_sessions(list(self._ends))
        with run.ledger.writing() as writer:
            for file, (key, reason) in self._ends.items():
                sessions = failed_sessions[file].number if file in failed_sessions else 0
                finding = describe_rest(key, reason, sessions, now())
                if finding:
                    writer.items.add_findings(run.session, file, phase, [finding])
            if resting := self._queue.resting:
                soonest = min(rest.until for rest in resting)
                names = ", ".join(rest.key for rest in resting[:NAMED]) + (", ..." if len(resting) > NAMED else "")
                comment = f"{names}, {len(resting)} in all; the first is asked"
                comment += f" for again after {soonest:%Y-%m-%d %H:%M} UTC, at once with: windrow retry NAME"
                task = writer.sessions.open_task(run.session, run.collection.name, "", phase)
                run.close_task(task, comment, Reason.RESTING, writer=writer)

    def _leave_sources(self, deadline: float) -> None:
        """Record which sources are left behind; the next run resumes their transfers."""
        with self._run.ledger.writing() as writer:
            for name, host in self._hosts.items():
                in_progress = [queued for queued in self._in_hand.values() if queued.source.name == name]
                count = len(in_progress) + len(self._queue.leave(name))
                if not count:
                    continue
                message = f"left behind with {count} transfers after {deadline:g} seconds "
                message += f"({self._run.collection.name}.download_deadline)"
                broken = BatchBroken(Reason.TIMEOUT, message, "", retry=True, wait=None)
                for file in in_progress:
                    if file.attempt:
                        self._record_cut(writer, file, broken)
                self._close_host(host, broken, writer)

    def _hand_out(self) -> None:
        """Submit batches for every source, up to its number of connections."""
        run = self._run
        for name in list(self._queue.ready):
            host = self._hosts.get(name) or self._open_host(name)
            if host.due > time.monotonic():
                continue
            if wait := self._pauses.left(host.source.site):
                host.due = time.monotonic() + wait
                if not worth_waiting(wait):
                    message = describe_pause(host.source.site, wait)
                    with run.ledger.writing() as writer:
                        self._leave_host(
                            writer, host, BatchBroken(Reason.RATE_LIMITED, message, "", retry=False, wait=wait)
                        )
                continue
            while host.batches < min(host.source.connections, run.harvest.downloaders):
                files = self._queue.batch(name)
                if not files:
                    break
                number = run.next_batch()
                for file in files:
                    self._in_hand[file.due.item.id] = file
                self._batches[number] = (name, host.breaks)
                host.batches += 1
                jobs = tuple(wanted.hosts[0][1] for wanted in files)
                parallel_requests = transport_for(host.source.site.scheme).abreast
                pace = self._paces[site_host(host.source.site)]
                run.crew.submit_batch(
                    TransferBatch(number, host.source.site, jobs, pace=pace, abreast=parallel_requests)
                )

    def _open_host(self, name: str) -> _Host:
        source = next(known for known in self._run.harvest.sources if known.name == name)
        run = self._run
        task = run.open_task(run.collection.fetch_phase, name)
        with run.ledger.writing() as writer:
            number = writer.addresses.host_of(run.session, run.collection.name, name, source.site.origin)
        host = _Host(source, task, number)
        self._hosts[name] = host
        return host

    def _close_host(self, host: _Host, broken: BatchBroken | None = None, writer: LedgerWriter | None = None) -> None:
        if host.closed:
            return
        host.closed = True
        failed = sum(host.failed.values())
        comment = f"{host.source.name}: {host.done} fetched, {failed} failed"
        if host.failed:
            comment += " (" + ", ".join(f"{reason} {count}" for reason, count in host.failed.most_common(5)) + ")"
        reason = broken.reason if broken else next(iter(host.failed), None)
        if broken:
            comment += f"; {broken.describe(host.source.name)}"
        elif host.why:
            comment += f"; asked again after {host.breaks} breaks, the last: {host.why.message}"
        self._run.close_task(host.task, comment, reason, failed=bool(broken or failed), writer=writer)

    def _record_event(self, writer: LedgerWriter, event: Event) -> None:
        """Record an event."""
        run = self._run
        if isinstance(event, AttemptEnded):
            file = self._in_hand.pop(event.attempt.target)
            self._record_attempt(writer, file, event.attempt)
        elif isinstance(event, BatchEnded) and event.batch in self._batches:  # else that of a listing left behind
            name, breaks = self._batches.pop(event.batch)
            self._end_batch(writer, self._hosts[name], event, breaks)
        elif isinstance(event, TransferBegun) and event.target in self._in_hand:
            file = self._in_hand[event.target]
            self._begin_attempt(writer, file, event.at)
        elif isinstance(event, TransferProgress) and event.target in self._in_hand:
            run.grown[self._in_hand[event.target].attempt] = event.size

    def _begin_attempt(self, writer: LedgerWriter, file: WantedFile, at: datetime) -> None:
        if not file.attempt:
            source, job = file.hosts[0]
            file.attempt = writer.attempts.begin(
                self._run.session, self._hosts[source.name].number, file.due.item.id, job.url, at
            )
            if file.conflict:
                phase = self._run.collection.fetch_phase
                writer.items.add_findings(self._run.session, file.due.item.id, phase, [file.conflict])
                file.conflict = None

    def _record_attempt(self, writer: LedgerWriter, file_: WantedFile, attempt: Attempt) -> None:
        """Record an attempt, and decide whether the file is done, tried again or failed."""
        run, source, file = self._run, file_.source, file_.due.item.id
        host = self._hosts[source.name]
        self._begin_attempt(writer, file_, attempt.started)
        fact, file_.attempt = file_.attempt, 0
        ended = writer.attempts.record_attempt(run.session, host.number, attempt, begun=fact)
        run.grown.pop(fact, None)
        run.progress.step(1, attempt.reason is not None)
        if attempt.reason is None:
            host.done += 1
            host.broken = 0
            self._queue.held -= 1
            if attempt.message and not attempt.checksum:
                finding = Finding("NotCompared", attempt.message, Level.WARN)
                writer.items.add_findings(run.session, file, run.collection.fetch_phase, [finding])
            writer.items.arrive(file, run.collection.step_after(run.collection.listing.kind), fact, ended)
            return
        writer.items.fail(file, run.collection.listing.fetch_phase, attempt.reason, ended)
        file_.attempts += 1
        self._pause_host(writer, host, attempt)
        if attempt.retry and self._may_retry(file_) and not run.stopping() and source.name not in self._queue.down:
            self._queue.put_later(file_, wait_before(file_.attempts, attempt.wait))
            return
        host.failed[attempt.reason] += 1
        self._next_host(file_)
        if not file_.hosts:
            self._ends[file] = (file_.due.item.key, attempt.reason)

    def _record_cut(self, writer: LedgerWriter, wanted: WantedFile, broken: BatchBroken) -> None:
        """Record that an attempt under way failed because its batch broke."""
        run, file = self._run, wanted.due.item.id
        job = wanted.hosts[0][1]
        received = run.grown.pop(wanted.attempt, 0)
        attempt = job.attempt(now())._replace(received=received, reason=broken.reason, message=broken.message)
        host = self._hosts[wanted.source.name].number
        ended = writer.attempts.record_attempt(run.session, host, attempt, begun=wanted.attempt)
        writer.items.fail(file, run.collection.listing.fetch_phase, broken.reason, ended)
        wanted.attempt = 0
        wanted.attempts += 1

    def _may_retry(self, file: WantedFile) -> bool:
        """Return whether a file may be tried again on its host."""
        return file.attempts < min(file.source.attempts, self._run.harvest.attempts)

    def _pause_host(self, writer: LedgerWriter, host: _Host, attempt: Attempt) -> None:
        """Pause all requests to a source that asks for it; a long pause lasts until the next run."""
        if attempt.wait is None:
            return
        host.due = max(host.due, time.monotonic() + attempt.wait)
        self._pauses.note(writer, host.source.site, attempt.wait)
        if not worth_waiting(attempt.wait):
            reason = attempt.reason or Reason.RATE_LIMITED
            broken = BatchBroken(reason, attempt.message, "", retry=False, wait=attempt.wait)
            self._leave_host(writer, host, broken)

    def _leave_host(self, writer: LedgerWriter, host: _Host, broken: BatchBroken) -> None:
        """Stop asking a source in this run: its queued files go to their next hosts."""
        self._close_host(host, broken, writer)
        for queued in self._queue.leave(host.source.name):
            if queued.attempt:
                self._record_cut(writer, queued, broken)
            self._next_host(queued)

    def _next_host(self, file: WantedFile) -> None:
        """Try the next host that is up, or let the file rest."""
        file.attempts = 0
        file.hosts = [host for host in file.hosts[1:] if host[0].name not in self._queue.down]
        if file.hosts:
            self._queue.put(file)
        else:
            self._queue.held -= 1

    def _end_batch(self, writer: LedgerWriter, host: _Host, event: BatchEnded, breaks: int) -> None:
        """Record the end of a batch; its untried files wait again, unless their source is down.

        Several batches that break at the same time count as one break: a server that is
        away for a moment is tried again, however many connections it had.
        """
        host.batches -= 1
        returned = [self._in_hand.pop(number) for number in event.untouched if number in self._in_hand]
        broken = event.broken
        if broken is not None:
            host.why = broken
            self._pauses.note(writer, host.source.site, broken.wait)
            if breaks == host.breaks:
                host.breaks += 1
                host.broken += 1
                host.due = max(host.due, time.monotonic() + wait_before(host.broken, broken.wait))
            if host.broken >= host.source.attempts or not (broken.retry and worth_waiting(broken.wait)):
                self._close_host(host, broken, writer)
                returned += self._queue.leave(host.source.name)
        is_down = host.source.name in self._queue.down
        failure = broken or BatchBroken(Reason.INTERRUPTED, "the source is down", "", retry=True, wait=None)
        for file in returned:
            # An attempt that a crash left open goes on; one that is open since this session broke just now.
            if file.attempt and (is_down or file.attempt in self._run.grown):
                self._record_cut(writer, file, failure)
            if is_down:
                self._next_host(file)
            elif self._may_retry(file):
                self._queue.put(file)
            else:
                host.failed[failure.reason] += 1
                self._next_host(file)
