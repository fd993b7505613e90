"""Fetch the files that are due, with retries: each from the best source that lists it and, if that fails, the next."""

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
from windrow.engine.listed.connection_pool import host_name, paces_by_host
from windrow.engine.listed.queue import FetchQueue, WantedFile
from windrow.engine.listed.rest import OriginPauses, describe_pause, describe_rest, wait_after, worth_waiting
from windrow.engine.run import HarvestRun
from windrow.fetch.transports import transport_for
from windrow.formats.text import counted, join_counts
from windrow.ledger import LedgerWriter
from windrow.model import Attempt, Finding, Level, Source
from windrow.reasons import Reason

GATHER_SECONDS = 0.25
"""The time for which events are gathered into one transaction, in seconds. The end of a batch is recorded at once."""

MAX_NAMED = 5
"""The maximum number of files that a message about resting files names."""


@dataclass(slots=True)
class _SourceState:
    source: Source
    task: int
    number: int  # the number of its origin on the ledger
    batches: int = 0  # the number of batches under way
    breaks: int = 0  # how often batches broke in this run; batches that broke together count once
    breaks_in_row: int = 0
    due: float = 0.0  # when it may be requested again, by time.monotonic
    done: int = 0  # the number of files fetched
    failed: Counter[Reason] = field(default_factory=Counter)  # files that failed, by reason
    last_break: BatchBroken | None = None
    is_closed: bool = False  # its task has ended


class Fetching:
    """Sends batches of files to the fetchers, and records every attempt on the ledger."""

    def __init__(self, run: HarvestRun, down: set[str]) -> None:
        """`down` has the names of the sources that are not requested."""
        self._run = run
        self._queue = FetchQueue(run, down)
        self._states: dict[str, _SourceState] = {}  # by source
        self._in_hand: dict[int, WantedFile] = {}  # files that fetchers have, by number
        self._paces = paces_by_host(run.harvest.sources)
        self._pauses = OriginPauses(run.ledger)
        self._halted = False
        self._given_up: dict[int, tuple[str, Reason]] = {}  # files that failed at their last source: (key, reason)
        self._batches: dict[int, tuple[str, int]] = {}  # (source, its breaks when the batch began)
        self._events: list[Event] = []  # events that are not recorded yet
        self._recorded_at = 0.0  # when events were last recorded, by time.monotonic

    def run(self) -> None:
        """Fetch until the queue is empty, the run is stopped, or `Harvest.download_deadline` seconds have passed."""
        run, queue = self._run, self._queue
        queue.fill()
        run.progress.begin("fetching")
        deadline = run.harvest.download_deadline or math.inf
        end_time = time.monotonic() + deadline
        while not queue.is_empty:
            if time.monotonic() > end_time:
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
                run.fetchers.halt()
            self._gather_events()
            run.tick()
        run.received_bytes.clear()
        self._record_resting_files()
        for state in self._states.values():
            self._close_source(state)
        run.progress.end()

    def _gather_events(self) -> None:
        """Wait briefly for events. Record all gathered events if a batch has ended or GATHER_SECONDS have passed."""
        events = self._run.fetchers.events(0.05)
        self._events += events
        if not events and not self._batches:
            time.sleep(0.05)  # all files wait for their next attempt
        ended = any(isinstance(event, BatchEnded) for event in events)
        if ended or time.monotonic() - self._recorded_at > GATHER_SECONDS:
            self._record_gathered()

    def _record_gathered(self) -> None:
        if self._events:
            with self._run.ledger.writing() as writer:
                for event in self._events:
                    self._record_event(writer, event)
            self._events.clear()
            self._recorded_at = time.monotonic()

    def _record_resting_files(self) -> None:
        """Record which files rest until a later run, and which no run requests without an operator's retry."""
        run = self._run
        phase = run.collection.fetch_phase
        failed_sessions = run.ledger.attempts.failed_sessions(list(self._given_up))
        with run.ledger.writing() as writer:
            for file, (key, reason) in self._given_up.items():
                sessions = failed_sessions[file].number if file in failed_sessions else 0
                finding = describe_rest(key, reason, sessions, now())
                if finding:
                    writer.items.add_findings(run.session, file, phase, [finding])
            if resting := self._queue.resting:
                soonest = min(rest.until for rest in resting)
                names = ", ".join(rest.key for rest in resting[:MAX_NAMED])
                names += ", ..." if len(resting) > MAX_NAMED else ""
                comment = f"{names}, {len(resting)} in all; the first is requested again after "
                comment += f"{soonest:%Y-%m-%d %H:%M} UTC; to request a file at once: windrow retry NAME"
                task = writer.sessions.open_task(run.session, run.collection.name, "", phase)
                run.close_task(task, comment, Reason.RESTING, writer=writer)

    def _leave_sources(self, deadline: float) -> None:
        """Close the open sources that have files left after `deadline` seconds. The next run fetches these files."""
        with self._run.ledger.writing() as writer:
            for name, state in self._states.items():
                in_progress = [queued for queued in self._in_hand.values() if queued.source.name == name]
                count = len(in_progress) + len(self._queue.remove_source(name))
                if not count:
                    continue
                message = f"{counted(count, 'transfer')} left to the next run after {deadline:g} seconds "
                message += f"(the setting {self._run.collection.name}.download_deadline)"
                broken = BatchBroken(Reason.TIMEOUT, message, "", retry=True, wait=None)
                for file in in_progress:
                    if file.attempt:
                        self._record_cut(writer, file, broken)
                self._close_source(state, broken, writer)

    def _hand_out(self) -> None:
        run = self._run
        for name in list(self._queue.ready):
            state = self._states.get(name) or self._open_source(name)
            if state.due > time.monotonic():
                continue
            if wait := self._pauses.remaining(state.source.site):
                state.due = time.monotonic() + wait
                if not worth_waiting(wait):
                    message = describe_pause(state.source.site.origin, wait)
                    with run.ledger.writing() as writer:
                        self._leave_source(
                            writer, state, BatchBroken(Reason.RATE_LIMITED, message, "", retry=False, wait=wait)
                        )
                continue
            while state.batches < min(state.source.connections, run.harvest.downloaders):
                files = self._queue.take_batch(name)
                if not files:
                    break
                number = run.next_batch()
                for file in files:
                    self._in_hand[file.due.item.id] = file
                self._batches[number] = (name, state.breaks)
                state.batches += 1
                jobs = tuple(wanted_file.source_jobs[0].job for wanted_file in files)
                parallel_requests = transport_for(state.source.site.scheme).parallel
                pace = self._paces[host_name(state.source.site)]
                run.fetchers.submit_batch(
                    TransferBatch(number, state.source.site, jobs, pace=pace, parallel=parallel_requests)
                )

    def _open_source(self, name: str) -> _SourceState:
        source = next(source for source in self._run.harvest.sources if source.name == name)
        run = self._run
        task = run.open_task(run.collection.fetch_phase, name)
        with run.ledger.writing() as writer:
            number = writer.addresses.host_of(run.session, run.collection.name, name, source.site.origin)
        state = _SourceState(source, task, number)
        self._states[name] = state
        return state

    def _close_source(
        self, state: _SourceState, broken: BatchBroken | None = None, writer: LedgerWriter | None = None
    ) -> None:
        """Close a source's task, if it is open, with its counts. `broken` says why the source was left, or is None."""
        if state.is_closed:
            return
        state.is_closed = True
        failed = sum(state.failed.values())
        comment = f"{state.source.name}: {state.done} fetched, {failed} failed"
        if state.failed:
            comment += f" ({join_counts(state.failed)})"
        reason = broken.reason if broken else next(iter(state.failed), None)
        if broken:
            comment += f"; {broken.describe(state.source.name)}"
        elif state.last_break:
            comment += (
                f"; requested again after {counted(state.breaks, 'interruption')}, the last: {state.last_break.message}"
            )
        self._run.close_task(state.task, comment, reason, failed=bool(broken or failed), writer=writer)

    def _record_event(self, writer: LedgerWriter, event: Event) -> None:
        run = self._run
        if isinstance(event, AttemptEnded):
            file = self._in_hand.pop(event.attempt.target)
            self._record_attempt(writer, file, event.attempt)
        elif isinstance(event, BatchEnded) and event.batch in self._batches:  # otherwise of a late listing
            name, breaks = self._batches.pop(event.batch)
            self._end_batch(writer, self._states[name], event, breaks)
        elif isinstance(event, TransferBegun) and event.target in self._in_hand:
            file = self._in_hand[event.target]
            self._begin_attempt(writer, file, event.at)
        elif isinstance(event, TransferProgress) and event.target in self._in_hand:
            run.received_bytes[self._in_hand[event.target].attempt] = event.size

    def _begin_attempt(self, writer: LedgerWriter, file: WantedFile, started: datetime) -> None:
        if not file.attempt:
            source, job = file.source_jobs[0]
            file.attempt = writer.attempts.begin(
                self._run.session, self._states[source.name].number, file.due.item.id, job.url, started
            )

    def _record_attempt(self, writer: LedgerWriter, wanted_file: WantedFile, attempt: Attempt) -> None:
        """Record an ended attempt. Its file is done, tried again later, queued for its next source, or given up."""
        run, source, file = self._run, wanted_file.source, wanted_file.due.item.id
        state = self._states[source.name]
        self._begin_attempt(writer, wanted_file, attempt.started)
        attempt_number, wanted_file.attempt = wanted_file.attempt, 0
        end_number = writer.attempts.record_attempt(run.session, state.number, attempt, begun=attempt_number)
        run.received_bytes.pop(attempt_number, None)
        run.progress.step(1, attempt.reason is not None)
        if attempt.reason is None:
            state.done += 1
            state.breaks_in_row = 0
            self._queue.in_memory -= 1
            if attempt.message and not attempt.checksum:
                finding = Finding("NotCompared", attempt.message, Level.WARN)
                writer.items.add_findings(run.session, file, run.collection.fetch_phase, [finding])
            writer.items.arrive(
                file, run.collection.step_after(run.collection.listing.kind), attempt_number, end_number
            )
            return
        writer.items.fail(file, run.collection.listing.fetch_phase, attempt.reason, end_number)
        wanted_file.attempts += 1
        self._pause_source(writer, state, attempt)
        may_retry = attempt.retry and self._may_retry(wanted_file) and not run.stopping()
        if may_retry and source.name not in self._queue.down:
            self._queue.put_later(wanted_file, wait_after(wanted_file.attempts, attempt.wait))
            return
        state.failed[attempt.reason] += 1
        self._try_next_source(wanted_file)
        if not wanted_file.source_jobs:
            self._given_up[file] = (wanted_file.due.item.key, attempt.reason)

    def _record_cut(self, writer: LedgerWriter, wanted_file: WantedFile, broken: BatchBroken) -> None:
        run, file = self._run, wanted_file.due.item.id
        job = wanted_file.source_jobs[0].job
        received = run.received_bytes.pop(wanted_file.attempt, 0)
        attempt = job.attempt(now())._replace(received=received, reason=broken.reason, message=broken.message)
        host_number = self._states[wanted_file.source.name].number
        end_number = writer.attempts.record_attempt(run.session, host_number, attempt, begun=wanted_file.attempt)
        writer.items.fail(file, run.collection.listing.fetch_phase, broken.reason, end_number)
        wanted_file.attempt = 0
        wanted_file.attempts += 1

    def _may_retry(self, file: WantedFile) -> bool:
        return file.attempts < min(file.source.attempts, self._run.harvest.attempts)

    def _pause_source(self, writer: LedgerWriter, state: _SourceState, attempt: Attempt) -> None:
        if attempt.wait is None:
            return
        state.due = max(state.due, time.monotonic() + attempt.wait)
        self._pauses.record_pause(writer, state.source.site, attempt.wait)
        if not worth_waiting(attempt.wait):
            reason = attempt.reason or Reason.RATE_LIMITED
            broken = BatchBroken(reason, attempt.message, "", retry=False, wait=attempt.wait)
            self._leave_source(writer, state, broken)

    def _leave_source(self, writer: LedgerWriter, state: _SourceState, broken: BatchBroken) -> None:
        self._close_source(state, broken, writer)
        for file in self._queue.remove_source(state.source.name):
            if file.attempt:
                self._record_cut(writer, file, broken)
            self._try_next_source(file)

    def _try_next_source(self, file: WantedFile) -> None:
        file.attempts = 0
        file.source_jobs = [job for job in file.source_jobs[1:] if job.source.name not in self._queue.down]
        if file.source_jobs:
            self._queue.put(file)
        else:
            self._queue.in_memory -= 1

    def _end_batch(self, writer: LedgerWriter, state: _SourceState, event: BatchEnded, breaks: int) -> None:
        """Record the end of a batch; queue or give up its untried files. `breaks` is `state.breaks` at its start."""
        state.batches -= 1
        untried = [self._in_hand.pop(number) for number in event.untouched if number in self._in_hand]
        broken = event.broken
        if broken is not None:
            state.last_break = broken
            self._pauses.record_pause(writer, state.source.site, broken.wait)
            if breaks == state.breaks:
                state.breaks += 1
                state.breaks_in_row += 1
                state.due = max(state.due, time.monotonic() + wait_after(state.breaks_in_row, broken.wait))
            if state.breaks_in_row >= state.source.attempts or not (broken.retry and worth_waiting(broken.wait)):
                self._close_source(state, broken, writer)
                untried += self._queue.remove_source(state.source.name)
        is_down = state.source.name in self._queue.down
        failure = broken or BatchBroken(Reason.INTERRUPTED, "the source is down", "", retry=True, wait=None)
        for file in untried:
            # An attempt that an earlier session left open remains open unless the source is down; others are closed.
            if file.attempt and (is_down or file.attempt in self._run.received_bytes):
                self._record_cut(writer, file, failure)
            if is_down:
                self._try_next_source(file)
            elif self._may_retry(file):
                self._queue.put(file)
            else:
                state.failed[failure.reason] += 1
                self._try_next_source(file)
