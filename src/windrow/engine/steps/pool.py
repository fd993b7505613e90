"""A pool of workers, which run steps. A document that kills its process fails, and the run continues."""

from __future__ import annotations

import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import ForkingPickler
from typing import Any, NamedTuple, TypeVar

from windrow.engine.fetchers.message import Done, Job
from windrow.engine.heartbeat import SLEEP_FACTOR, ReadingClock
from windrow.engine.message_pipe import MessagePipe
from windrow.engine.plain_values import MessageRefused, package_names, step_modules, unpack_values
from windrow.engine.runtime import CONTEXT, start_process
from windrow.engine.steps import worker
from windrow.errors import ReaderFailed
from windrow.model import Finding, Reading
from windrow.reasons import Reason

AnyJob = TypeVar("AnyJob", bound=worker.AnyJob)
Subject = TypeVar("Subject")

BATCH_SIZE = 16
"""The number of jobs that are sent to a worker together. It is doubled if the jobs of all workers are quick."""
STOPPED_REASONS = frozenset({Reason.TIME_LIMIT, Reason.MEMORY_LIMIT, Reason.WORKER_DIED, Reason.STEP_FAILED})
"""Reasons for a failure after which a step is repeated, if the step allows that.

The step gets the failed reading, so that it can do less.
"""
MAX_BATCHES_AHEAD = 4
"""The maximum number of batches that a worker has at a time, which bounds memory."""
QUICK_SECONDS = 0.2
"""The time in seconds below which a batch is quick. After a slower batch, a worker must be idle to get the next one."""
MAX_EXTRA_WORKERS = 6
"""The maximum number of workers beyond the pool's size. They are started if all others are at long jobs."""
MAX_PIPE_BYTES = 1 << 15
"""The maximum number of bytes of jobs sent to a busy worker. Its pipe buffers them, so sending does not block."""
END_SECONDS = 10.0
"""The time in which a worker that has closed its pipe must end, in seconds. After this time it is killed."""
START_SECONDS = 60.0
"""The lowest limit on CPU time for a worker that is not ready to read documents yet, in seconds."""
MESSAGE_SECONDS = 60.0
"""The time for sending the remainder of a message, in seconds. It is also added to the limit on a worker's CPU time."""
MESSAGE_SHARE = 4
"""A worker's message may be as long as its memory limit divided by this number. Unpacked, it takes more memory."""
_END_MESSAGE = bytes(ForkingPickler.dumps(None))
RUN_IN_PROGRESS = "another run of the pool is in progress: take all of its results, or close it, first"


class _Batch:
    """Jobs that are sent together, and their results so far, by the job's index."""

    def __init__(self, number: int, jobs: Sequence[Any], *, may_queue: bool = True) -> None:
        self.number = number
        self.jobs = [*jobs]
        self.may_queue = may_queue  # whether it may be sent to a worker that has another batch
        self.done: dict[int, Done] = {}  # by index
        self.suspect: int | None = None  # the job at which a worker died: it is sent alone

    def jobs_to_send(self) -> list[int]:
        """Return the indexes of the jobs to send. Jobs before a suspect are sent first, then the suspect alone."""
        remaining = [index for index in range(len(self.jobs)) if index not in self.done]
        if self.suspect not in remaining or len(remaining) == 1:
            return remaining
        earlier = remaining[: remaining.index(self.suspect)]
        return earlier or [self.suspect]

    def store_result(self, index: int, done: Done) -> None:
        """Store the result of a job. If the step was stopped and may be repeated, the job gets the failure instead.

        If the last repetition was stopped too, the failure of the first try is stored.
        """
        job, result = self.jobs[index], done.result
        if isinstance(job, Job) and isinstance(result, Reading) and result.reason in STOPPED_REASONS:
            if len(job.stopped) < job.retakes:
                self.jobs[index] = job._replace(stopped=(*job.stopped, result))
                return
            if job.stopped:
                done = done._replace(result=job.stopped[0])
        self.done[index] = done

    def record_death(
        self, sent_jobs: list[int], position: int, exit_code: int | None, cpu_limit: float, problem: str = ""
    ) -> None:
        """Record that a worker died at the job at `position` in `sent_jobs`, which are indexes of jobs.

        The job fails if it exceeded its time, or if it was sent alone and a worker died at it again. Otherwise it is
        suspected, and sent again. `exit_code` is None if the worker was killed because it slept too long. `cpu_limit`
        is in seconds. `problem` is why the engine killed the worker for another reason, such as a refused message, or
        empty; any of `sent_jobs` may then be the cause.
        """
        culprit = sent_jobs[max(0, min(position, len(sent_jobs) - 1))]
        if exit_code == -signal.SIGPROF:
            message = f"stopped after {cpu_limit:g} seconds of CPU time"
            self.store_result(culprit, _make_failure(Reason.TIME_LIMIT, message, cpu_limit))
        elif exit_code is None:
            message = f"stopped after {cpu_limit * SLEEP_FACTOR:g} seconds by the clock, during which it was asleep"
            self.store_result(culprit, _make_failure(Reason.TIME_LIMIT, message, cpu_limit * SLEEP_FACTOR))
        elif sent_jobs == [culprit] and culprit == self.suspect and exit_code == -signal.SIGABRT:
            # A process ends like this if a library in C++, such as PDFium, gets no more memory.
            message = "its process was aborted twice, probably because a library needs more than limits.memory allows"
            self.store_result(culprit, _make_failure(Reason.MEMORY_LIMIT, message, 0.0))
        elif sent_jobs == [culprit] and culprit == self.suspect:
            message = f"its process ended twice, the last time with exit code {exit_code}"
            message = f"its process was ended twice: {problem}" if problem else message
            self.store_result(culprit, _make_failure(Reason.WORKER_DIED, message, 0.0))
        else:
            self.suspect = culprit


def _make_failure(reason: Reason, message: str, seconds: float) -> Done:
    return Done(Reading(reason, (Finding(reason.class_name, message),)), seconds)


class _Sent(NamedTuple):
    batch: _Batch
    jobs: list[int]  # the indexes of its jobs that were sent
    first: int  # the number of jobs that were sent to the worker before them
    size: int  # of the message, in bytes


_NOTHING_SENT = _Sent(_Batch(0, ()), [], 0, 0)


class _Worker:
    """A worker (reader process), the batches that it was sent (`in_hand`), and the number of the job that it runs."""

    def __init__(self, config: worker.WorkerConfig) -> None:
        own_pipe, worker_pipe = CONTEXT.Pipe()
        self._max_bytes = config.limits.memory // MESSAGE_SHARE
        self.pipe = MessagePipe(own_pipe, self._max_bytes)
        self._current_job = worker.counter()
        self.process: BaseProcess = CONTEXT.Process(
            target=worker.main, args=(worker_pipe, config, self._current_job), daemon=True
        )
        start_process(self.process)
        worker_pipe.close()
        self.in_hand: deque[_Sent] = deque()
        self.is_quick = False
        self._has_begun = False  # it sent its first message
        self._sent_jobs = self._received_messages = 0
        self._shown_job = -1  # the last number seen in `_current_job` that could be true
        self._results: list[Done] = []  # of the oldest batch, so far
        self._busy_since = 0.0  # by time.monotonic
        self._clock, self._message_clock = ReadingClock(), ReadingClock()
        self._was_asleep = False  # it was killed because it slept too long
        self._problem = ""  # why it was killed otherwise
        self._collection = config.collection
        self._packages = package_names(step_modules(config.collection))

    @property
    def is_open(self) -> bool:
        """Whether the worker may get another batch."""
        return not self.in_hand or (self.is_quick and len(self.in_hand) < MAX_BATCHES_AHEAD)

    @property
    def is_at_long_job(self) -> bool:
        return bool(self.in_hand) and time.monotonic() - self._busy_since > QUICK_SECONDS

    def has_room(self, message: bytes) -> bool:
        """Return whether a message can be sent without blocking: the worker is idle or the message fits in the pipe."""
        return not self.in_hand or sum(sent.size for sent in self.in_hand) + len(message) <= MAX_PIPE_BYTES

    def send(self, batch: _Batch, jobs: list[int], message: bytes) -> None:
        """Send the `jobs` (indexes) of a batch, pickled in `message`. Kill the worker if it does not read them."""
        if not self.in_hand:
            self._clock = ReadingClock()  # the time when the worker was idle does not count
            self._busy_since = time.monotonic()
        self.in_hand.append(_Sent(batch, jobs, self._sent_jobs, len(message)))
        self._sent_jobs += len(jobs)
        try:
            self.pipe.send(message)
        except TimeoutError as error:
            self._kill_since(str(error))
        except OSError:
            pass  # `receive` will notice that the worker is dead

    def watch(self, cpu_limit: float) -> None:
        """Kill a worker that works or sleeps too long, or that does not complete a message.

        Its own timer limits the CPU time of each job to `cpu_limit` seconds. But the timer does not end a worker that
        sleeps, and a worker that was taken over can stop the timer and show the number of another job.
        """
        pid = self.process.pid or 0
        self._clock.look(pid, self._find_current_job())
        self._message_clock.look(pid, self._received_messages if self.pipe.has_part else -1)
        if not self.in_hand:
            return
        limit = cpu_limit if self._has_begun else max(cpu_limit, START_SECONDS)
        if self.pipe.has_part and self._message_clock.wall_seconds > MESSAGE_SECONDS:
            self._kill_since("a process did not send the remainder of a message")
        elif self._clock.asleep_seconds > limit * SLEEP_FACTOR:
            self._was_asleep = True
            self.process.kill()
        elif self._clock.cpu_seconds > 2 * limit + MESSAGE_SECONDS:
            self._kill_since("it used more CPU time than allowed")

    def _kill_since(self, problem: str) -> None:
        self._problem = problem
        self.process.kill()

    def _find_current_job(self) -> int:
        """Return the number of the job that the worker shows, or the previous number if the new one cannot be true."""
        number = self._current_job.numbers[0]
        if self._shown_job < number < self._sent_jobs:
            self._shown_job = number
        return self._shown_job

    def receive(self) -> Iterator[_Batch]:
        """Receive results, and yield each batch once the results of all jobs that were sent have arrived.

        Raises EOFError or OSError if the worker is dead, and MessageRefused if it sent something other than results.
        """
        for message in self.pipe.receive():
            self._received_messages += 1
            values = [*unpack_values(message, self._packages, self._max_bytes)]
            if not self._has_begun and not values:
                self._has_begun = True
                continue
            batch, jobs, _, _ = self.in_hand[0] if self.in_hand else _NOTHING_SENT
            results = worker.check_results(values, len(jobs) - len(self._results))
            for index, done in zip(jobs[len(self._results) :], results):  # noqa: B905 others may follow
                if not worker.is_result_of(batch.jobs[index], self._collection, done.result):
                    raise MessageRefused("a process that reads documents sent a result of the wrong class")
            self._results += results
            if len(self._results) < len(jobs):
                continue
            results, self._results = self._results, []
            self.in_hand.popleft()
            for index, done in zip(jobs, results, strict=True):
                batch.store_result(index, done)
            self.is_quick = sum(done.seconds for done in results) < QUICK_SECONDS
            yield batch

    def take_batches_after_death(self, cpu_limit: float, problem: str) -> list[_Batch]:
        """End a worker that is dead or sent a refused message. Record at which job it died, and return its batches.

        `problem` says why a message of the worker was refused; it is empty if none was. Raises ReaderFailed if the
        worker had jobs but was not ready to read documents.
        """
        self.pipe.close()
        self.process.join(0 if problem else END_SECONDS)
        self.process.kill()  # it may have closed the pipe and gone on
        self.process.join()
        exit_code = self.process.exitcode
        if not self._has_begun and self.in_hand:
            raise ReaderFailed(
                f"a process that reads documents ended with exit code {exit_code} before its first document"
            )
        if self.in_hand:
            batch, jobs, first, _ = self.in_hand[0]
            position, exit_code = self._find_current_job() - first, None if self._was_asleep else exit_code
            batch.record_death(jobs, position, exit_code, cpu_limit, problem or self._problem)
        return [sent.batch for sent in self.in_hand]

    def kill(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


class Pool:
    """Runs jobs in worker processes: a sequence of jobs with results in order (`run`), or single jobs (`submit`)."""

    def __init__(self, config: worker.WorkerConfig, size: int, batch_size: int = BATCH_SIZE) -> None:
        """`size` is the maximum number of workers. Each is started when there is work for it."""
        self._config = config
        self._size = size
        self._base_batch_size = batch_size
        self._workers: dict[MessagePipe, _Worker] = {}
        self._unsent: deque[_Batch] = deque()
        self._last_number = 0  # of a batch
        self._is_running = False

    def submit(self, job: AnyJob) -> int:
        """Queue a job for the next idle worker. Return its number, which `collect` returns with the result.

        If every worker is at a long job, another one is started, up to MAX_EXTRA_WORKERS beyond the pool's size.
        """
        assert not self._is_running, RUN_IN_PROGRESS
        number = self._add_batch([job], may_queue=False)
        self._hand_out()
        return number

    def collect(self, timeout: float = 0.0) -> list[tuple[int, Done]]:
        """Wait for up to `timeout` seconds, and return the numbers and results of the submitted jobs that are complete.

        This must be called several times a second while there are submitted jobs.
        """
        results = [(batch.number, batch.done[0]) for batch in self._receive(timeout)]
        self._hand_out()
        return results

    @property
    def pipes(self) -> list[MessagePipe]:
        """The pipes of the workers. One of them can be read when a submitted job is complete."""
        return [*self._workers]

    def run(
        self, jobs: Iterable[AnyJob], *, batch_size: int | None = None, pulse: Callable[[], object] | None = None
    ) -> Iterator[tuple[AnyJob, Done]]:
        """Yield each job with its result, in order. Some batches of `jobs` are read ahead.

        If `batch_size` is None, the batch size of the pool is used, or twice that for quick jobs. `pulse` is called
        at least once a second while waiting for results. Before a run, take all results of the last run or close it,
        and collect all submitted jobs.
        """
        assert not self._is_running, RUN_IN_PROGRESS
        has_jobs = self._unsent or any(reader.in_hand for reader in self._workers.values())
        assert not has_jobs, "jobs were submitted to the pool: collect them first"
        self._is_running = True
        self._end_workers([*self._workers.values()][self._size :])
        try:
            yield from self._results(iter(jobs), batch_size, pulse)
        finally:
            self._give_up_jobs()
            self._is_running = False

    def _results(
        self, jobs: Iterator[AnyJob], batch_size: int | None, pulse: Callable[[], object] | None
    ) -> Iterator[tuple[AnyJob, Done]]:
        """Yield each job with its result, in order. Batches are numbered in the order in which they are read."""
        for reader in self._workers.values():
            reader.is_quick = False  # the jobs of this run may be slower than those of the last one
        ready: dict[int, list[tuple[AnyJob, Done]]] = {}
        next_result = self._last_number + 1
        ended = False
        while True:
            while not ended and self._last_number - next_result + 1 < self._size * MAX_BATCHES_AHEAD:
                batch = tuple(islice(jobs, batch_size or self._batch_size()))
                ended = not batch
                if batch:
                    self._add_batch(batch)
            self._hand_out()
            while next_result in ready:
                yield from ready.pop(next_result)
                next_result += 1
            if ended and next_result > self._last_number:
                return
            if next_result not in ready:
                if pulse is not None:
                    pulse()
                for finished in self._receive(1.0):
                    ready[finished.number] = [(job, finished.done[index]) for index, job in enumerate(finished.jobs)]

    def resolve(
        self, pairs: Iterable[tuple[Subject, Any]], *, batch_size: int | None = None, pulse: Callable[[], object]
    ) -> Iterator[tuple[Subject, Any]]:
        """Yield each subject with the result of its job, in order. A pair without a job is yielded unchanged."""
        waiting: deque[tuple[Subject, Any]] = deque()

        def jobs() -> Iterator[Job]:
            for subject, job in pairs:
                waiting.append((subject, job))
                if isinstance(job, Job):
                    yield job

        for _, done in self.run(jobs(), batch_size=batch_size, pulse=pulse):
            while not isinstance(waiting[0][1], Job):
                yield waiting.popleft()
            yield waiting.popleft()[0], done.result
        yield from waiting

    def run_alone(self, job: AnyJob, pulse: Callable[[], object] | None = None) -> Done:
        """Run a job while the pool has no other job, and return its result."""
        ((_, done),) = self.run([job], batch_size=1, pulse=pulse)
        return done

    def _batch_size(self) -> int:
        """Return the number of jobs in a batch. It is doubled if jobs are quick, since each message costs some time."""
        are_quick = bool(self._workers) and all(reader.is_quick for reader in self._workers.values())
        return 2 * self._base_batch_size if are_quick else self._base_batch_size

    def _add_batch(self, jobs: Sequence[AnyJob], *, may_queue: bool = True) -> int:
        self._last_number += 1
        self._unsent.append(_Batch(self._last_number, jobs, may_queue=may_queue))
        return self._last_number

    def _hand_out(self) -> None:
        while self._unsent:
            batch = self._unsent[0]
            freest = min(self._workers.values(), key=lambda reader: len(reader.in_hand), default=None)
            if (freest is None or freest.in_hand) and len(self._workers) < self._allowed_workers(batch):
                freest = _Worker(self._config)
                self._workers[freest.pipe] = freest
            if freest is None or not freest.is_open or (freest.in_hand and not batch.may_queue):
                return
            jobs = batch.jobs_to_send()
            message = bytes(ForkingPickler.dumps([batch.jobs[index] for index in jobs]))
            if not freest.has_room(message):
                return
            freest.send(self._unsent.popleft(), jobs, message)

    def _allowed_workers(self, batch: _Batch) -> int:
        """Return how many workers there may be: more than the pool's size if a batch would wait for long jobs."""
        would_wait = not batch.may_queue and all(reader.is_at_long_job for reader in self._workers.values())
        return self._size + MAX_EXTRA_WORKERS if would_wait else self._size

    def _receive(self, timeout: float) -> Iterator[_Batch]:
        """Kill workers that hang, and wait for results for up to `timeout` seconds.

        Yield complete batches. Put the incomplete batches of workers at the front of the queue, and remove dead
        workers.
        """
        for reader in self._workers.values():
            reader.watch(self._config.limits.cpu_time)
        pipes: list[Any] = [*self._workers]  # `wait` takes whatever has a `fileno`
        for pipe in wait(pipes, timeout):
            reader = self._workers[pipe]  # type: ignore[index]
            batches: list[_Batch] = []
            try:
                batches.extend(reader.receive())
            except (EOFError, OSError, MessageRefused) as error:
                del self._workers[reader.pipe]
                problem = str(error) if isinstance(error, MessageRefused) else ""
                batches += reader.take_batches_after_death(self._config.limits.cpu_time, problem)
            for batch in reversed(batches):
                if len(batch.done) == len(batch.jobs):
                    yield batch
                else:
                    self._unsent.appendleft(batch)

    def _give_up_jobs(self) -> None:
        self._unsent.clear()
        for reader in [busy for busy in self._workers.values() if busy.in_hand]:
            del self._workers[reader.pipe]
            reader.kill()

    def _end_workers(self, workers: Sequence[_Worker], *, at_once: bool = False) -> None:
        for reader in workers:
            if at_once:
                reader.process.kill()
                continue
            with suppress(OSError):
                reader.pipe.send(_END_MESSAGE)
        for reader in workers:
            reader.process.join(timeout=5)
            reader.kill()
            del self._workers[reader.pipe]

    def close(self, *, at_once: bool = False) -> None:
        """Give up all jobs, and end the workers, or kill them if `at_once`."""
        self._give_up_jobs()
        self._end_workers([*self._workers.values()], at_once=at_once)
