"""A pool of worker processes that run steps; a document that ends its process fails, and the run goes on."""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from multiprocessing.connection import Connection as Pipe
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import ForkingPickler
from typing import Any, NamedTuple, TypeVar

from windrow.engine.fetchers.message import Done, Job
from windrow.engine.heartbeat import ASLEEP, ReadingClock
from windrow.engine.runtime import CONTEXT, start
from windrow.engine.steps import worker
from windrow.errors import ReaderFailed
from windrow.model import Finding, Reading
from windrow.reasons import Reason

AnyJob = TypeVar("AnyJob", bound=worker.AnyJob)
Subject = TypeVar("Subject")

BATCH = 16
STOPPED = frozenset({Reason.TIME_LIMIT, Reason.MEMORY_LIMIT, Reason.WORKER_DIED, Reason.STEP_FAILED})
"""Reasons after which a step may be repeated, doing less."""
AHEAD = 4
"""The most batches that a worker has at a time: this bounds memory."""
QUICK = 0.2
"""A worker whose batch took longer, in seconds, gets no further batch until it is idle."""
UNREAD = 1 << 15
"""The most bytes of jobs that wait in a worker's pipe: it buffers these without a reader."""


class _Batch:
    """Jobs that are sent together, and their results so far."""

    def __init__(self, number: int, jobs: tuple[Any, ...]) -> None:
        self.number = number
        self.jobs = [*jobs]
        self.done: dict[int, Done] = {}
        self.suspect: int | None = None  # its worker died at this job: it is sent alone

    def next(self) -> list[int]:
        """Return the jobs to send now: all that remain, but a suspect alone and after the others."""
        remaining = [index for index in range(len(self.jobs)) if index not in self.done]
        if self.suspect not in remaining or len(remaining) == 1:
            return remaining
        earlier = remaining[: remaining.index(self.suspect)]
        return earlier or [self.suspect]

    def end(self, at: int, done: Done) -> None:
        """Store the result of a job; a stopped step is run again as long as it may be repeated."""
        job, result = self.jobs[at], done.result
        if isinstance(job, Job) and isinstance(result, Reading) and result.reason in STOPPED:
            if len(job.stopped) < job.retakes:
                self.jobs[at] = job._replace(stopped=(*job.stopped, result))
                return
            if job.stopped:
                done = done._replace(result=job.stopped[0])
        self.done[at] = done

    def blame(self, sent: list[int], at: int, code: int | None, limit: float) -> None:
        """Record that a worker died at the `at`-th job sent: `code` is its exit code, None if it was overdue."""
        culprit = sent[max(0, min(at, len(sent) - 1))]
        if code == -signal.SIGPROF:
            self.end(culprit, _make_failure(Reason.TIME_LIMIT, f"stopped after {limit:g} seconds of CPU time", limit))
        elif code is None:
            message = f"stopped after {limit * ASLEEP:g} seconds by the clock: it sleeps"
            self.end(culprit, _make_failure(Reason.TIME_LIMIT, message, limit * ASLEEP))
        elif sent == [culprit] and culprit == self.suspect:
            self.end(culprit, _make_failure(Reason.WORKER_DIED, f"its process ended twice, with {code}", 0.0))
        else:
            self.suspect = culprit


def _make_failure(reason: Reason, message: str, seconds: float) -> Done:
    return Done(Reading(reason, (Finding(reason.class_name, message),)), seconds)


class _Sent(NamedTuple):
    """A batch that was sent: its jobs, the number of the first among all that the worker got, and its size."""

    batch: _Batch
    jobs: list[int]
    first: int
    size: int  # bytes


class _Worker:
    """A worker process, and the batches that it was sent: it processes them in order."""

    def __init__(self, config: worker.WorkerConfig) -> None:
        self.pipe, worker_pipe = CONTEXT.Pipe()
        self.at = worker.counter()
        self.process: BaseProcess = CONTEXT.Process(
            target=worker.main, args=(worker_pipe, config, self.at), daemon=True
        )
        start(self.process)
        worker_pipe.close()
        self.in_hand: deque[_Sent] = deque()
        self.is_quick = False
        self._count = 0  # jobs sent so far
        self._clock = ReadingClock()
        self._was_overdue = False  # it was killed for it

    @property
    def is_open(self) -> bool:
        """Whether the worker may be sent more: always if it is idle, up to AHEAD batches if it is quick."""
        return not self.in_hand or (self.is_quick and len(self.in_hand) < AHEAD)

    def has_room(self, message: bytes) -> bool:
        """Return whether the message fits in the pipe: an idle worker reads it at once."""
        return not self.in_hand or sum(sent.size for sent in self.in_hand) + len(message) <= UNREAD

    def send(self, batch: _Batch, jobs: list[int], message: bytes) -> None:
        """Send jobs of a batch; a dead worker is noticed later, in `receive`."""
        if not self.in_hand:
            self._clock = ReadingClock()  # an idle worker has no job that takes time
        self.in_hand.append(_Sent(batch, jobs, self._count, len(message)))
        self._count += len(jobs)
        with suppress(OSError):
            self.pipe.send_bytes(message)

    def watch(self, limit: float) -> None:
        """Kill a worker that is overdue: its CPU limit does not end one that sleeps."""
        self._clock.look(self.process.pid or 0, self.at.value)
        if self.in_hand and self.at.value >= 0 and self._clock.asleep_seconds > limit * ASLEEP:
            self._was_overdue = True
            self.process.kill()

    def receive(self) -> _Batch:
        """Receive the results of the oldest batch sent, and return it; EOFError or OSError if the worker died."""
        if not self.in_hand:
            raise EOFError
        batch, jobs, _, _ = self.in_hand[0]
        results = worker.receive_results(self.pipe, len(jobs))
        self.in_hand.popleft()
        for at, done in zip(jobs, results, strict=True):
            batch.end(at, done)
        self.is_quick = sum(done.seconds for done in results) < QUICK
        return batch

    def collect_after_death(self, limit: float) -> list[_Batch]:
        """Record the job at which the worker died; return the batches that it had.

        Raises ReaderFailed if it had not begun any: another worker would die too.
        """
        self.pipe.close()
        self.process.join()
        code = self.process.exitcode
        if self.at.value < 0 and self.in_hand:
            raise ReaderFailed(f"a process that reads documents ended with {code} before its first document")
        if self.in_hand:
            batch, jobs, first, _ = self.in_hand[0]
            batch.blame(jobs, self.at.value - first, None if self._was_overdue else code, limit)
        return [sent.batch for sent in self.in_hand]

    def end(self) -> None:
        """Kill the process, whatever it is doing."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


class Pool:
    """Runs jobs in worker processes, and returns results in the order of the jobs."""

    def __init__(self, config: worker.WorkerConfig, size: int, batch: int = BATCH) -> None:
        """Use up to `size` workers; each is started when there is work for it."""
        self._config = config
        self._size = size
        self._batch = batch
        self._workers: dict[Pipe, _Worker] = {}
        self._is_running = False

    def run(
        self, jobs: Iterable[AnyJob], *, batch: int | None = None, pulse: Callable[[], object] | None = None
    ) -> Iterator[tuple[AnyJob, Done]]:
        """Yield each job with its result, in order; `jobs` is consumed as room allows.

        `pulse` is called at least once a second while waiting for results. Asserts
        that no other run is in progress: all its results must be taken, or it must be closed.
        """
        assert not self._is_running, (
            "another run of the pool is in progress: take all of its results, or close it, first"
        )
        self._is_running = True
        try:
            yield from self._results(iter(jobs), batch, pulse)
        finally:
            self._kill_busy()
            self._is_running = False

    def _results(
        self, stream: Iterator[AnyJob], batch: int | None, pulse: Callable[[], object] | None
    ) -> Iterator[tuple[AnyJob, Done]]:
        for reader in self._workers.values():
            reader.is_quick = False  # these may be of another kind
        waiting: deque[_Batch] = deque()
        ready: dict[int, list[tuple[AnyJob, Done]]] = {}
        drawn = submitted = 0
        ended = False
        while True:
            while not ended and drawn - submitted < self._size * AHEAD:
                jobs = tuple(islice(stream, batch or self._batch_size()))
                ended = not jobs
                if jobs:
                    waiting.append(_Batch(drawn, jobs))
                    drawn += 1
            self._hand_out(waiting)
            while submitted in ready:
                yield from ready.pop(submitted)
                submitted += 1
            if ended and submitted == drawn:
                return
            if submitted not in ready:
                if pulse is not None:
                    pulse()
                for finished in self._collect(waiting):
                    ready[finished.number] = [(job, finished.done[index]) for index, job in enumerate(finished.jobs)]

    def resolve(
        self, pairs: Iterable[tuple[Subject, Any]], *, batch: int | None = None, pulse: Callable[[], object]
    ) -> Iterator[tuple[Subject, Any]]:
        """Yield each subject with the result of its job, in order; a pair may have a result in place of a job.

        Subjects without a job wait until those before them have their results.
        """
        waiting: deque[tuple[Subject, Any]] = deque()

        def jobs() -> Iterator[Job]:
            for pair in pairs:
                waiting.append(pair)
                if isinstance(pair[1], Job):
                    yield pair[1]

        for _, done in self.run(jobs(), batch=batch, pulse=pulse):
            while not isinstance(waiting[0][1], Job):
                yield waiting.popleft()
            yield waiting.popleft()[0], done.result
        yield from waiting

    def run_alone(self, job: AnyJob, pulse: Callable[[], object] | None = None) -> Done:
        """Return the result of a job that is run while the workers do nothing else."""
        ((_, done),) = self.run([job], batch=1, pulse=pulse)
        return done

    def _batch_size(self) -> int:
        """Return the number of jobs in a batch: twice as many if jobs are quick, since every message costs the same."""
        are_quick = bool(self._workers) and all(reader.is_quick for reader in self._workers.values())
        return 2 * self._batch if are_quick else self._batch

    def _hand_out(self, waiting: deque[_Batch]) -> None:
        """Send batches to the workers that have the fewest, and start workers that are missing."""
        while waiting:
            member = min(self._workers.values(), key=lambda reader: len(reader.in_hand), default=None)
            if (member is None or member.in_hand) and len(self._workers) < self._size:
                member = _Worker(self._config)
                self._workers[member.pipe] = member
            if member is None or not member.is_open:
                return
            jobs = waiting[0].next()
            message = bytes(ForkingPickler.dumps([waiting[0].jobs[index] for index in jobs]))
            if not member.has_room(message):
                return
            member.send(waiting.popleft(), jobs, message)

    def _collect(self, waiting: deque[_Batch]) -> Iterator[_Batch]:
        """Yield batches that are complete; the others go back to the front of `waiting`."""
        for reader in self._workers.values():
            reader.watch(self._config.limits.cpu_time)
        for pipe in wait(list(self._workers), 1.0):
            reader = self._workers[pipe]  # type: ignore[index]
            try:
                batches = [reader.receive()]
            except (EOFError, OSError):
                del self._workers[reader.pipe]
                batches = reader.collect_after_death(self._config.limits.cpu_time)
            for batch in reversed(batches):
                if len(batch.done) == len(batch.jobs):
                    yield batch
                else:
                    waiting.appendleft(batch)

    def _kill_busy(self) -> None:
        """Kill the workers whose results are no longer needed."""
        for reader in [busy for busy in self._workers.values() if busy.in_hand]:
            del self._workers[reader.pipe]
            reader.end()

    def close(self, *, at_once: bool = False) -> None:
        """End the workers; with `at_once`, kill them."""
        self._kill_busy()
        for reader in self._workers.values():
            if at_once:
                reader.process.kill()
                continue
            with suppress(OSError):
                reader.pipe.send(None)
        for reader in self._workers.values():
            reader.process.join(timeout=5)
            reader.end()
        self._workers.clear()
