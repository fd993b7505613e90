"""The killable pool: steps run in worker processes; a document that ends its process fails, and the run goes on."""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from multiprocessing.connection import Connection as Pipe
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

from windrow.engine.fetchers.message import Done, Job
from windrow.engine.runtime import CONTEXT, start
from windrow.engine.steps import worker
from windrow.model import Finding, Reading
from windrow.reasons import Reason

AnyJob = TypeVar("AnyJob", bound=worker.AnyJob)

BATCH = 16
STOPPED = frozenset({Reason.TIME_LIMIT, Reason.MEMORY_LIMIT, Reason.WORKER_DIED, Reason.STEP_FAILED})
"""Why a step was ended that may be taken once more, doing less."""
AHEAD = 4
"""Batches in hand per worker, at most: what memory holds stays the same however long the run."""


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
        """Note what came of a job; a step that was stopped is taken again, as often as it says that it can do less."""
        job, result = self.jobs[at], done.result
        if isinstance(job, Job) and isinstance(result, Reading) and result.reason in STOPPED:
            if len(job.stopped) < job.retakes:
                self.jobs[at] = job._replace(stopped=(*job.stopped, result))
                return
            if job.stopped:
                done = done._replace(result=job.stopped[0])
        self.done[at] = done

    def blame(self, sent: list[int], at: int, code: int | None, limit: float) -> None:
        """Note the death of a worker over the `at`-th job sent: `code` is its exit code."""
        culprit = sent[max(0, min(at, len(sent) - 1))]
        if code == -signal.SIGALRM:
            self.end(culprit, _failed(Reason.TIME_LIMIT, f"stopped after {limit:g} seconds", limit))
        elif sent == [culprit] and culprit == self.suspect:
            self.end(culprit, _failed(Reason.WORKER_DIED, f"its process ended twice, with {code}", 0.0))
        else:
            self.suspect = culprit


def _failed(reason: Reason, message: str, seconds: float) -> Done:
    return Done(Reading(reason, (Finding(reason.name.title().replace("_", ""), message),)), seconds)


class _Worker:
    def __init__(self, config: worker.WorkerConfig) -> None:
        self.pipe, theirs = CONTEXT.Pipe()
        self.at = worker.counter()
        self.process: BaseProcess = CONTEXT.Process(target=worker.main, args=(theirs, config, self.at), daemon=True)
        start(self.process)
        theirs.close()
        self.batch: _Batch | None = None
        self.sent: list[int] = []


class Pool:
    """Run jobs in worker processes and give results in the order of the jobs."""

    def __init__(self, config: worker.WorkerConfig, size: int, batch: int = BATCH) -> None:
        """Have `size` workers; each is started when there is work for it."""
        self._config = config
        self._size = size
        self._batch = batch
        self._workers: dict[Pipe, _Worker] = {}

    def run(
        self, jobs: Iterable[AnyJob], *, batch: int | None = None, pulse: Callable[[], object] | None = None
    ) -> Iterator[tuple[AnyJob, Done]]:
        """Yield each job with its result, in order; `jobs` is drawn from as room allows.

        `pulse` is called at least once a second while results are waited for: a document may take its time.
        """
        stream = iter(jobs)
        waiting: deque[_Batch] = deque()
        ready: dict[int, list[tuple[AnyJob, Done]]] = {}
        drawn = given = 0
        ended = False
        while True:
            while not ended and drawn - given < self._size * AHEAD:
                part = tuple(islice(stream, batch or self._batch))
                ended = not part
                if part:
                    waiting.append(_Batch(drawn, part))
                    drawn += 1
            self._hand_out(waiting)
            while given in ready:
                yield from ready.pop(given)
                given += 1
            if ended and given == drawn:
                return
            if given not in ready:
                if pulse is not None:
                    pulse()
                for whole in self._collect(waiting):
                    ready[whole.number] = [(job, whole.done[index]) for index, job in enumerate(whole.jobs)]

    def _hand_out(self, waiting: deque[_Batch]) -> None:
        while waiting:
            idle = next((one for one in self._workers.values() if one.batch is None), None)
            if idle is None:
                if len(self._workers) >= self._size:
                    return
                idle = _Worker(self._config)
                self._workers[idle.pipe] = idle
            batch = waiting.popleft()
            idle.batch, idle.sent, idle.at.value = batch, batch.next(), 0
            try:
                idle.pipe.send([batch.jobs[index] for index in idle.sent])
            except OSError:
                continue  # its death is noticed by `_collect`, which gives the batch back

    def _collect(self, waiting: deque[_Batch]) -> Iterator[_Batch]:
        """Yield batches that are complete; the others go back to the front of `waiting`."""
        for pipe in wait(list(self._workers), 1.0):
            one = self._workers[pipe]  # type: ignore[index]
            batch, one.batch = one.batch, None
            try:
                results = worker.received(one.pipe, len(one.sent))
            except (EOFError, OSError):
                self._remove_dead(one, batch)
            else:
                if batch is not None:
                    for at, done in zip(one.sent, results, strict=True):
                        batch.end(at, done)
            if batch is None:
                continue
            if len(batch.done) == len(batch.jobs):
                yield batch
            else:
                waiting.appendleft(batch)

    def _remove_dead(self, one: _Worker, batch: _Batch | None) -> None:
        """Remove a dead worker, and note its death at the job that it had in hand."""
        del self._workers[one.pipe]
        one.pipe.close()
        one.process.join()
        if batch is not None:
            batch.blame(one.sent, one.at.value, one.process.exitcode, self._config.limits.seconds)

    def close(self, *, at_once: bool = False) -> None:
        """End the workers; with `at_once`, whatever they are at."""
        for one in self._workers.values():
            if at_once:
                one.process.kill()
                continue
            try:
                one.pipe.send(None)
            except OSError:
                continue
        for one in self._workers.values():
            one.process.join(timeout=5)
            if one.process.is_alive():
                one.process.kill()
                one.process.join()
            one.pipe.close()
        self._workers.clear()
