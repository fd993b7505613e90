"""The killable pool: steps run in worker processes; a document that ends its process fails, and the run goes on."""

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
"""Why a step was ended that may be taken once more, doing less."""
AHEAD = 4
"""Batches in hand per worker, at most: what memory holds stays the same however long the run."""
QUICK = 0.2
"""Seconds of a batch after which its worker is given no other before it is idle: another one may be sooner."""
UNREAD = 1 << 15
"""Bytes of jobs that wait for a worker in its pipe, at most: it takes them without anybody reading."""


class _Batch:
    """Jobs that travel together, and what is known of them so far."""

    def __init__(self, number: int, jobs: tuple[Any, ...]) -> None:
        self.number = number
        self.jobs = [*jobs]
        self.done: dict[int, Done] = {}
        self.suspect: int | None = None  # its worker died over this one: it travels alone

    def next(self) -> list[int]:
        """Return the jobs to send now: all that are left, but a suspect by itself and after the others."""
        left = [index for index in range(len(self.jobs)) if index not in self.done]
        if self.suspect not in left or len(left) == 1:
            return left
        before = left[: left.index(self.suspect)]
        return before or [self.suspect]

    def end(self, at: int, done: Done) -> None:
        """Note the outcome of a job; a stopped step is run again as long as it can do less."""
        job, result = self.jobs[at], done.result
        if isinstance(job, Job) and isinstance(result, Reading) and result.reason in STOPPED:
            if len(job.stopped) < job.retakes:
                self.jobs[at] = job._replace(stopped=(*job.stopped, result))
                return
            if job.stopped:
                done = done._replace(result=job.stopped[0])
        self.done[at] = done

    def blame(self, sent: list[int], at: int, code: int | None, limit: float) -> None:
        """Note the death of a worker over the `at`-th job sent: `code` is its exit code, None where it was overdue."""
        culprit = sent[max(0, min(at, len(sent) - 1))]
        if code == -signal.SIGPROF:
            self.end(culprit, _failed(Reason.TIME_LIMIT, f"stopped after {limit:g} seconds of CPU time", limit))
        elif code is None:
            asleep = f"stopped after {limit * ASLEEP:g} seconds by the clock: it sleeps"
            self.end(culprit, _failed(Reason.TIME_LIMIT, asleep, limit * ASLEEP))
        elif sent == [culprit] and culprit == self.suspect:
            self.end(culprit, _failed(Reason.WORKER_DIED, f"its process ended twice, with {code}", 0.0))
        else:
            self.suspect = culprit


def _failed(reason: Reason, message: str, seconds: float) -> Done:
    return Done(Reading(reason, (Finding(reason.class_name, message),)), seconds)


class _Sent(NamedTuple):
    """A batch on its way: which of its jobs were sent, and the number of the first among all that the worker got."""

    batch: _Batch
    jobs: list[int]
    first: int
    size: int  # bytes


class _Worker:
    """A worker process, and the batches that it has in hand: it takes them in their order."""

    def __init__(self, config: worker.WorkerConfig) -> None:
        self.pipe, theirs = CONTEXT.Pipe()
        self.at = worker.counter()
        self.process: BaseProcess = CONTEXT.Process(target=worker.main, args=(theirs, config, self.at), daemon=True)
        start(self.process)
        theirs.close()
        self.hand: deque[_Sent] = deque()
        self.is_quick = False
        self._count = 0  # jobs sent so far
        self._clock = ReadingClock()
        self._overdue = False  # it was killed for it

    @property
    def is_open(self) -> bool:
        """Return whether the worker may be sent more: an idle one always, a quick one some batches ahead."""
        return not self.hand or (self.is_quick and len(self.hand) < AHEAD)

    def has_room(self, message: bytes) -> bool:
        """Return whether the message fits in the pipe: an idle worker reads it at once."""
        return not self.hand or sum(sent.size for sent in self.hand) + len(message) <= UNREAD

    def send(self, batch: _Batch, jobs: list[int], message: bytes) -> None:
        """Send jobs of a batch; that the worker is dead is noticed when its results are asked for."""
        if not self.hand:
            self._clock = ReadingClock()  # while it had nothing in hand no job took any time
        self.hand.append(_Sent(batch, jobs, self._count, len(message)))
        self._count += len(jobs)
        with suppress(OSError):
            self.pipe.send_bytes(message)

    def watch(self, limit: float) -> None:
        """Kill a worker that is overdue: its CPU limit does not end one that sleeps."""
        self._clock.look(self.process.pid or 0, self.at.value)
        if self.hand and self.at.value >= 0 and self._clock.asleep_seconds > limit * ASLEEP:
            self._overdue = True
            self.process.kill()

    def receive(self) -> _Batch:
        """Receive the results of the oldest batch in hand; raises EOFError or OSError where the worker died."""
        if not self.hand:
            raise EOFError
        batch, jobs, _, _ = self.hand[0]
        results = worker.received(self.pipe, len(jobs))
        self.hand.popleft()
        for at, done in zip(jobs, results, strict=True):
            batch.end(at, done)
        self.is_quick = sum(done.seconds for done in results) < QUICK
        return batch

    def bury(self, limit: float) -> list[_Batch]:
        """Note the worker's death at the job that it was at; return the batches that it had in hand.

        Raises ReaderFailed where it was at none yet: another worker would end as this one did.
        """
        self.pipe.close()
        self.process.join()
        code = self.process.exitcode
        if self.at.value < 0 and self.hand:
            raise ReaderFailed(f"a process that reads documents ended with {code} before its first document")
        if self.hand:
            batch, jobs, first, _ = self.hand[0]
            batch.blame(jobs, self.at.value - first, None if self._overdue else code, limit)
        return [sent.batch for sent in self.hand]

    def end(self) -> None:
        """Kill the process, whatever it is doing."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


class Pool:
    """Run jobs in worker processes and give results in the order of the jobs."""

    def __init__(self, config: worker.WorkerConfig, size: int, batch: int = BATCH) -> None:
        """Have `size` workers; each is started when there is work for it."""
        self._config = config
        self._size = size
        self._batch = batch
        self._workers: dict[Pipe, _Worker] = {}
        self._is_running = False

    def run(
        self, jobs: Iterable[AnyJob], *, batch: int | None = None, pulse: Callable[[], object] | None = None
    ) -> Iterator[tuple[AnyJob, Done]]:
        """Yield each job with its result, in order; `jobs` is drawn from as room allows.

        `pulse` is called at least once a second while results are waited for: a document may take its time. Asserts
        that the results of another run are all taken, or that it is closed: the two would share the workers.
        """
        assert not self._is_running, "the pool is at another run: take all of its results, or close it, before the next"
        self._is_running = True
        try:
            yield from self._results(iter(jobs), batch, pulse)
        finally:
            self._abandon()
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
                part = tuple(islice(stream, batch or self._together()))
                ended = not part
                if part:
                    waiting.append(_Batch(drawn, part))
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
                for whole in self._collect(waiting):
                    ready[whole.number] = [(job, whole.done[index]) for index, job in enumerate(whole.jobs)]

    def resolve(
        self, pairs: Iterable[tuple[Subject, Any]], *, batch: int | None = None, pulse: Callable[[], object]
    ) -> Iterator[tuple[Subject, Any]]:
        """Yield each subject with the result of its job, in order; where a result stands in place of a job, with that.

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

    def _together(self) -> int:
        """Return how many jobs travel together: twice as many while they are quick, since a message costs as much."""
        are_quick = bool(self._workers) and all(reader.is_quick for reader in self._workers.values())
        return 2 * self._batch if are_quick else self._batch

    def _hand_out(self, waiting: deque[_Batch]) -> None:
        """Send batches to the workers that have the fewest in hand, starting those that are not there yet."""
        while waiting:
            chosen = min(self._workers.values(), key=lambda reader: len(reader.hand), default=None)
            if (chosen is None or chosen.hand) and len(self._workers) < self._size:
                chosen = _Worker(self._config)
                self._workers[chosen.pipe] = chosen
            if chosen is None or not chosen.is_open:
                return
            jobs = waiting[0].next()
            message = bytes(ForkingPickler.dumps([waiting[0].jobs[index] for index in jobs]))
            if not chosen.has_room(message):
                return
            chosen.send(waiting.popleft(), jobs, message)

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
                batches = reader.bury(self._config.limits.cpu_time)
            for batch in reversed(batches):
                if len(batch.done) == len(batch.jobs):
                    yield batch
                else:
                    waiting.appendleft(batch)

    def _abandon(self) -> None:
        """Kill the workers whose results are no longer needed."""
        for reader in [busy for busy in self._workers.values() if busy.hand]:
            del self._workers[reader.pipe]
            reader.end()

    def close(self, *, at_once: bool = False) -> None:
        """End the workers; with `at_once`, kill them."""
        self._abandon()
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
