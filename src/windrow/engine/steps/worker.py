"""A worker process: it runs pure steps on kept bytes, one document at a time, within limits."""

from __future__ import annotations

import gc
import io
import pickle
import resource
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from ctypes import c_longlong
from dataclasses import replace
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol, cast

from windrow.archive import Capture, open_response
from windrow.contract import NOT_MODIFIED, Answer, Collection, Derive, Settle, Step, Summarise, Task
from windrow.engine.fetchers.message import Done, Job
from windrow.engine.requests.answers import FollowedAnswer, FollowJob, KeptAnswer, body_of, follow
from windrow.engine.runtime import CONTEXT, end_with_parent, lower_limit
from windrow.errors import MissingExtra, StepError, WindrowError
from windrow.model import ArchivePlace, Finding, Level, Limits, Reading, Resource
from windrow.reasons import Reason


class CaptureJob(Protocol):
    """Work on captures: their modules are loaded by who has captures looked through, and by the job that comes."""

    def run(self, limits: Limits) -> Any:
        """Run one job."""


AnyJob = Job | FollowJob | CaptureJob

_PART = 1 << 16
"""Bytes of results that are joined into one message."""
_FEW = 64
"""Findings, members and questions of a result that is small."""
_RARELY = 20_000
"""Objects made between two collections of cyclic garbage: there is little of it, and a collection costs time."""


LEAST = 32 << 20
"""Bytes of memory beside its own without which a worker does not begin: every document would fail."""


class WorkerConfig(NamedTuple):
    """What every job of a worker has in common."""

    collection: Collection
    folder: Path
    limits: Limits
    resources: Mapping[str, Resource]


class CaptureReader:
    """Opens captures; the last one stays open, since documents of one archive come in a row."""

    def __init__(self, folder: Path) -> None:
        """Read from the archive in `folder`."""
        self._folder = folder
        self._place: ArchivePlace | None = None
        self._capture: Capture | None = None

    def open(self, place: ArchivePlace) -> Capture:
        """Return a capture, its body at the start."""
        if self._capture is None or place != self._place:
            if self._capture is not None:
                self._capture.view.close()
                self._capture = None
            self._capture, self._place = open_response(self._folder, place), place
        self._capture.view.seek(0)
        return self._capture

    def fields(self, place: ArchivePlace, before: Mapping[str, str]) -> Mapping[str, str]:
        """Return the fields of an answer that refers to earlier bytes; a 304 adds its own to those `before`."""
        answer = open_response(self._folder, place)
        answer.view.close()
        return {**before, **answer.fields} if answer.status == NOT_MODIFIED else answer.fields


class JobRunner:
    """Runs jobs one by one; what is the same for all of them is looked up once."""

    def __init__(self, config: WorkerConfig) -> None:
        """Serve one collection."""
        self._config = config
        self._reader = CaptureReader(config.folder)
        self._resources = [_resources_of(step, config.resources) for step in config.collection.steps]

    def run(self, job: AnyJob) -> Any:
        """Run one step on one document, or follow one answer; whatever goes wrong becomes a reading with a reason."""
        try:
            if isinstance(job, Job):
                return self._take_step(job)
            return self._follow(job) if isinstance(job, FollowJob) else self._look_at_captures(job)
        except WindrowError as error:
            return Reading(error.reason or Reason.STEP_FAILED, (_finding(error),))
        except MemoryError:
            return _too_much(self._config)
        except RecursionError as error:
            return Reading(Reason.STEP_FAILED, (_finding(error),))
        except Exception as error:  # noqa: BLE001 a step's own fault must not end the run, nor be silent
            return Reading(Reason.STEP_FAILED, (_finding(error),))

    def _look_at_captures(self, job: CaptureJob) -> Any:
        return job.run(self._config.limits)

    def _follow(self, job: FollowJob) -> FollowedAnswer:
        kept = job.answer
        assert kept.place is not None
        view, fields, _ = self._reader.open(kept.place)
        if kept.head is not None:  # the same bytes may lead elsewhere than before: a field may say where the next is
            fields = self._reader.fields(kept.head, fields)
        return follow(self._config.collection, job, view, fields, self._config.limits)

    def _take_step(self, job: Job) -> Any:
        collection, limits = self._config.collection, self._config.limits
        step = collection.steps[job.step]
        answers = {name: self._answered(kept) for name, kept in job.answers.items()}
        view, fields, _ = self._reader.open(job.place)
        if job.head is not None:
            fields = self._reader.fields(job.head, fields)
        if job.item.member:
            view = collection.members.open(view, job.item.member, limits)
        if isinstance(step, Settle) and step.takes_answers:
            view = body_of(view, fields, limits)
        assert not isinstance(step, Summarise | Derive)
        return step.run(
            Task(
                job.item,
                view,
                limits,
                self._resources[job.step],
                job.options,
                fields=fields,
                source=job.source,
                visited=job.visited,
                offers=job.offers,
                answers=answers,
                request=job.request,
                stopped=job.stopped,
            )
        )

    def _answered(self, kept: KeptAnswer) -> Answer:
        """Open what a service answered, apart from what is opened next; the body of one with a reason is not read."""
        content, reason = io.BytesIO(), kept.reason
        fields: Mapping[str, str] = {}
        if kept.place is not None:
            view, fields, _ = self._reader.open(kept.place)
            try:
                if reason is None:
                    content = io.BytesIO(body_of(view, fields, self._config.limits).read())
            except StepError as error:  # the answer's fault is not the document's
                reason = error.reason
        return Answer(kept.request, kept.status, fields, cast(BinaryIO, content), kept.at, reason=reason)


def _resources_of(step: Step, resources: Mapping[str, Resource]) -> Mapping[str, Resource]:
    """Return the files that a step names; one that takes visits, or many documents at once, names none."""
    names = () if isinstance(step, Settle | Summarise | Derive) else step.resources
    return {name: resources[name] for name in names if name in resources}


class Outbox:
    """The results of a batch of jobs, pickled: what is small together, what is large at once and by itself."""

    def __init__(self, config: WorkerConfig) -> None:
        """Start empty."""
        self._config = config
        self._small: list[Done] = []
        self._pickles: list[bytes] = []

    def add(self, result: Any, began: float) -> None:
        """Take one job's result; one that the memory limit leaves no room to send is that document's failure."""
        done = Done(result, time.monotonic() - began)
        if type(result) is Reading and len(result.findings) + len(result.members) + len(result.lookups) < _FEW:
            self._small.append(done)
            return
        try:
            content = pickle.dumps([done], pickle.HIGHEST_PROTOCOL)
        except MemoryError:
            del result, done
            self._small.append(Done(_too_much(self._config), time.monotonic() - began))
            return
        self._close()
        self._pickles.append(content)

    def _close(self) -> None:
        if self._small:
            self._pickles.append(pickle.dumps(self._small, pickle.HIGHEST_PROTOCOL))
            self._small.clear()

    def messages(self) -> Iterator[bytes]:
        """Yield what is to be sent, small pickles joined, in the order of the jobs."""
        self._close()
        part: list[bytes] = []
        size = 0
        for pickled in self._pickles:
            if part and size + len(pickled) > _PART:
                yield b"".join(part)
                part, size = [], 0
            part.append(pickled)
            size += len(pickled)
        if part:
            yield b"".join(part) if len(part) > 1 else part[0]


def _too_much(config: WorkerConfig) -> Reading:
    return Reading(Reason.MEMORY_LIMIT, (Finding("MemoryLimit", f"over {config.limits.memory} bytes"),))


def _finding(error: BaseException) -> Finding:
    message = f"{error}: {error.hint}" if isinstance(error, MissingExtra) else str(error)
    return Finding(type(error).__name__, message[:2000], Level.ERROR)


def main(pipe: Pipe, config: WorkerConfig, at: Any) -> None:
    """Run batches of jobs until the pipe ends; `at` shows the engine which job is in hand.

    The time limit is the kernel's, of CPU time: it ends the process whatever library it is in, and a machine that is
    busy or pauses ends none. The memory limit is the kernel's too. Either way the engine sees which document it was.
    """
    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    config = config._replace(limits=replace(config.limits, memory=_limit_memory(config.limits.memory)))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    runner = JobRunner(config)
    gc.freeze()
    gc.set_threshold(_RARELY)
    while True:
        try:
            jobs: list[AnyJob] | None = pipe.recv()
        except (EOFError, OSError):
            return
        if jobs is None:
            return
        outbox = Outbox(config)
        for job in jobs:
            began = time.monotonic()
            signal.setitimer(signal.ITIMER_PROF, config.limits.cpu_time)
            at.value += 1  # after the time of the one before can no more run out
            outbox.add(runner.run(job), began)
        signal.setitimer(signal.ITIMER_PROF, 0)
        try:
            for message in outbox.messages():
                pipe.send_bytes(message)
        except OSError:
            return


def received(pipe: Pipe, count: int) -> list[Done]:
    """Receive the results of a batch of `count` jobs."""
    results: list[Done] = []
    while len(results) < count:
        message = pipe.recv_bytes()
        stream = io.BytesIO(message)
        while stream.tell() < len(message):
            results += pickle.load(stream)  # noqa: S301 of our own worker
    return results


def _limit_memory(most: int) -> int:
    """Limit this process to so many bytes more than it has now, or to its own limit if that is lower.

    Returns how many. Ends the process where that is too little to read anything with.
    """
    mine = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    room = lower_limit(resource.RLIMIT_AS, mine + most) - mine
    if room < min(most, LEAST):
        sys.exit(f"windrow: a process that reads documents may have {max(0, room) >> 20} MB of memory for them")
    return room


def counter() -> Any:
    """Make the shared number that shows which of all the jobs that a worker gets is in hand."""
    return CONTEXT.Value(c_longlong, -1, lock=False)
