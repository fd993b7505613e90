"""A worker process: run pure steps on archived bytes, one document at a time, within limits of time and memory."""

from __future__ import annotations

import gc
import io
import resource
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol, cast

from windrow.archive import Capture, open_response
from windrow.contract import NOT_MODIFIED, Answer, Collection, Derive, Load, Rows, Settle, Step, Summarise, Task
from windrow.digest import Hasher
from windrow.engine.fetchers.message import Done, Job
from windrow.engine.field_types import result_type
from windrow.engine.plain_values import MessageRefused, pack_values
from windrow.engine.requests.answers import FollowedAnswer, FollowJob, KeptAnswer, body_of, follow
from windrow.engine.runtime import SharedNumbers, end_with_parent, lower_limit
from windrow.engine.steps.nul_characters import replace_in_results
from windrow.engine.steps.sandbox import forget_variables, restrict_process
from windrow.errors import ArchiveError, MissingExtra, StepError, WindrowError
from windrow.formats.inflate import BLOCK_BYTES
from windrow.formats.text import replace_lone_surrogates
from windrow.model import MAX_INTEGER, ArchivePlace, Finding, Level, Limits, Member, Reading, Resource
from windrow.reasons import Reason


class CaptureJob(Protocol):
    """A job about captures, such as rules to run on index lines. A worker loads its module when the job arrives."""

    def run(self, limits: Limits) -> Any:
        """Run the job, and return its result."""


AnyJob = Job | FollowJob | CaptureJob

_MESSAGE_BYTES = 1 << 16
"""The maximum number of bytes of results that are joined into one message."""
_SMALL_RESULT = 64
"""The number of findings, members and lookups in a result below which the result is small."""
_GC_THRESHOLD = 20_000
"""The number of new objects before the next garbage collection. It is high, since there are few cycles to collect."""

REFUSED_RIGHT = (
    "processes that read documents may not open sockets, or files other than captures; run.sandbox = false allows it"
)
MIN_MEMORY = 32 << 20
"""The minimum memory for documents, in bytes, with which a worker starts. With less, every document would fail."""


_REMEMBERED_CAPTURES = 1_000  # that a worker remembers, so that the steps of one document read its bytes once for all


class WorkerConfig(NamedTuple):
    """The configuration of a worker, which is the same for all its jobs."""

    collection: Collection
    folder: Path  # of the archive
    limits: Limits
    resources: Mapping[str, Resource]
    readable: tuple[Path, ...] = ()  # files and folders outside the archive that it may read
    sandbox: bool = True  # whether the kernel forbids it anything else (`restrict_process`)
    secret_variables: tuple[str, ...] = ()  # environment variables with secrets, which it must not have


class CaptureReader:
    """Opens captures. The last one stays open, since the members of a file are read one after another."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._place: ArchivePlace | None = None
        self._capture: Capture | None = None
        self._verified: dict[ArchivePlace, None] = {}

    def open(self, place: ArchivePlace) -> Capture:
        """Return a capture, with its body positioned at the start."""
        if self._capture is None or place != self._place:
            if self._capture is not None:
                self._capture.view.close()
                self._capture = None
            self._capture, self._place = open_response(self._folder, place), place
        self._capture.view.seek(0)
        return self._capture

    def verify(self, digest: str) -> None:
        """Compare the open capture with its digest on the ledger, once; raise ArchiveError if its bytes have changed.

        So damage of the disk is not taken for a fault of the document, and is not read as its content. A compressed
        record has a checksum, which was compared when it was opened.
        """
        assert self._capture is not None
        assert self._place is not None
        if not digest or self._place in self._verified or isinstance(self._capture.view, io.BytesIO):
            return
        hasher = Hasher()
        while block := self._capture.view.read(BLOCK_BYTES):
            hasher.update(block)
        if hasher.digest() != digest:
            place = f"byte {self._place.offset:,} of {self._place.warc}"
            raise ArchiveError(f"the record at {place} has changed since it was written: restore it from a backup")
        self._capture.view.seek(0)
        self._verified[self._place] = None
        for oldest in [*self._verified][:-_REMEMBERED_CAPTURES]:
            self._verified.pop(oldest)

    def fields(self, place: ArchivePlace, earlier: Mapping[str, str]) -> Mapping[str, str]:
        """Return the header fields of a response. Those of a 304 are added to `earlier`, the fields of the original."""
        answer = open_response(self._folder, place)
        answer.view.close()
        return {**earlier, **answer.fields} if answer.status == NOT_MODIFIED else answer.fields


class JobRunner:
    """Runs jobs one by one."""

    def __init__(self, config: WorkerConfig) -> None:
        self._config = config
        self._reader = CaptureReader(config.folder)
        self._resources = [_resources_of(step, config.resources) for step in config.collection.steps]

    def run(self, job: AnyJob) -> Any:
        """Run a step on a document, follow a response or run a CaptureJob; an error becomes a failed reading."""
        try:
            return self._run_job(job)
        except WindrowError as error:
            return Reading(error.reason or Reason.STEP_FAILED, (self._finding_of(error),))
        except MemoryError:
            return _memory_failure(self._config)
        except Exception as error:  # noqa: BLE001 a bug of a step must be reported, and not end the run
            return Reading(Reason.STEP_FAILED, (self._finding_of(error),))

    def _run_job(self, job: AnyJob) -> Any:
        if isinstance(job, Job):
            result = self._take_step(job)
        else:
            result = self._follow_answer(job) if isinstance(job, FollowJob) else job.run(self._config.limits)
        if not is_result_of(job, self._config.collection, result):
            raise StepError(f"the step returned {type(result).__name__}, which is not its result", Reason.STEP_FAILED)
        return result

    def _finding_of(self, error: Exception) -> Finding:
        finding = _finding_of(error)
        is_refusal = isinstance(error, OSError) or isinstance(error.__cause__, PermissionError)
        return replace(finding, message=f"{finding.message}; {REFUSED_RIGHT}") if is_refusal else finding

    def _follow_answer(self, job: FollowJob) -> FollowedAnswer:
        answer = job.answer
        assert answer.place is not None
        view, fields, _ = self._reader.open(answer.place)
        if answer.head is not None:  # a header may contain the address of the next page, even if the bytes are known
            fields = self._reader.fields(answer.head, fields)
        return follow(self._config.collection, job, view, fields, self._config.limits)

    def _take_step(self, job: Job) -> Any:
        collection, limits = self._config.collection, self._config.limits
        step = collection.steps[job.step]
        answers = {name: self._open_answer(answer) for name, answer in job.answers.items()}
        view, fields, _ = self._reader.open(job.place)
        if not job.item.member:  # a member has the digest of its own content
            self._reader.verify(job.item.digest)
        if job.head is not None:
            fields = self._reader.fields(job.head, fields)
        if job.item.member:
            view = collection.members.open(view, job.item.member, limits)
        sent = view
        if isinstance(step, Settle) and step.takes_answers:
            view = body_of(sent, fields, limits)
        assert not isinstance(step, Summarise | Derive)
        task = Task(
            job.item, view, limits, self._resources[job.step], job.options, fields=fields, source=job.source,
            visited=job.visited, offers=job.offers, answers=answers, request=job.request, stopped=job.stopped,
            sent=None if view is sent else sent,
        )  # fmt: skip
        result = step.run(task)
        return replace_in_results(result) if isinstance(step, Settle) and step.takes_answers else result

    def _open_answer(self, answer: KeptAnswer) -> Answer:
        """Return a service's answer with its body in memory. An answer with a `reason` has an empty body."""
        content, reason = io.BytesIO(), answer.reason
        fields: Mapping[str, str] = {}
        if answer.place is not None:
            view, fields, _ = self._reader.open(answer.place)
            try:
                if reason is None:
                    content = io.BytesIO(body_of(view, fields, self._config.limits).read())
            except StepError as error:  # a fault of the answer, and not of the document
                reason = error.reason
        return Answer(
            answer.request, answer.status, fields, cast(BinaryIO, content), answer.requested_at, reason=reason
        )


def _resources_of(step: Step, resources: Mapping[str, Resource]) -> Mapping[str, Resource]:
    names = () if isinstance(step, Settle | Summarise | Derive) else step.resources
    return {name: resources[name] for name in names if name in resources}


class Outbox:
    """The packed results of a batch of jobs. Small results are packed together; a large result is packed alone."""

    def __init__(self, config: WorkerConfig) -> None:
        self._config = config
        self._small: list[Done] = []
        self._packets: list[bytes] = []

    def add_result(self, result: Any, began: float) -> None:
        """Add the result of a job that began at the monotonic time `began`, or a failure if it cannot be packed."""
        done = Done(result, time.monotonic() - began)
        if type(result) is Reading and len(result.findings) + len(result.members) + len(result.lookups) < _SMALL_RESULT:
            self._small.append(done)
            return
        del result
        content = self._pack_one(done)
        self._pack_small()
        self._packets.append(content)

    def _pack_one(self, done: Done) -> bytes:
        try:
            return pack_values([done])
        except MemoryError:
            failure = _memory_failure(self._config)
        except Exception as error:  # noqa: BLE001 a result that is not a value is a bug of its step
            failure = Reading(Reason.STEP_FAILED, (_finding_of(error),))
        return pack_values([Done(failure, done.seconds)])

    def _pack_small(self) -> None:
        if self._small:
            try:
                self._packets.append(pack_values(self._small))
            except Exception:  # noqa: BLE001 one of them cannot be packed
                self._packets += map(self._pack_one, self._small)
            self._small.clear()

    def messages(self) -> Iterator[bytes]:
        """Yield the messages to send, in the order of the jobs. Each has one or more packed lists of `Done`."""
        self._pack_small()
        part: list[bytes] = []
        size = 0
        for packet in self._packets:
            if part and size + len(packet) > _MESSAGE_BYTES:
                yield b"".join(part)
                part, size = [], 0
            part.append(packet)
            size += len(packet)
        if part:
            yield b"".join(part) if len(part) > 1 else part[0]


def _memory_failure(config: WorkerConfig) -> Reading:
    return Reading(
        Reason.MEMORY_LIMIT,
        (Finding("MemoryLimit", f"reading it needs more than {config.limits.memory} bytes of memory"),),
    )


def _finding_of(error: BaseException) -> Finding:
    message = f"{error}: {error.hint}" if isinstance(error, MissingExtra) else str(error)
    return Finding(type(error).__name__, message[:2000], Level.ERROR)


def main(pipe: Pipe, config: WorkerConfig, current_job: SharedNumbers) -> None:
    """Run batches of jobs until the engine sends None or closes the pipe.

    `current_job`, from `counter`, tells the engine which job runs. The first message to the engine has no values. It
    shows that the process is ready to read documents.

    The kernel limits memory and CPU time. If a job exceeds the time, the kernel ends the process, even within a
    library, and from `current_job` the engine knows at which document it ended. Time on a busy or suspended machine
    does not count.
    """
    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    config = config._replace(limits=replace(config.limits, memory=_limit_memory(config.limits.memory)))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    forget_variables(config.secret_variables)
    if config.sandbox:
        restrict_process([config.folder, *config.readable])
    runner = JobRunner(config)
    gc.freeze()
    gc.set_threshold(_GC_THRESHOLD)
    pipe.send_bytes(pack_values([]))
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
            current_job.numbers[0] += 1  # after the timer is set, which would otherwise be that of the previous job
            outbox.add_result(runner.run(job), began)
        signal.setitimer(signal.ITIMER_PROF, 0)
        try:
            for message in outbox.messages():
                pipe.send_bytes(message)
        except OSError:
            return


def check_results(values: list[Any], count: int) -> list[Done]:
    """Return the values of a message if they are 1 to `count` results. Raises MessageRefused otherwise."""
    if not 0 < len(values) <= count or not all(map(_is_result, values)):
        raise MessageRefused("a process that reads documents sent values other than the results of its jobs")
    return values


def is_result_of(job: AnyJob, collection: Collection, result: object) -> bool:
    """Return whether a value is of a class that a job's result may have. A Settle step may return anything."""
    if isinstance(result, Reading):
        return True
    if isinstance(job, FollowJob):
        return type(result) is FollowedAnswer
    if isinstance(job, Job):
        step = collection.steps[job.step]
        return isinstance(step, Settle) or (isinstance(step, Load) and type(result) is Rows)
    return result_type(type(job))(result)


def _is_result(done: object) -> bool:
    """Return whether a received value is a result whose numbers and texts the ledger can store."""
    if type(done) is not Done or type(done.seconds) is not float or not 0 <= done.seconds <= MAX_INTEGER:
        return False
    reading = done.result
    if type(reading) is Rows:
        return _are_numbers(reading.count, reading.repeated) and all(map(_is_finding, reading.findings))
    return type(reading) is not Reading or (
        isinstance(reading.reason, Reason | None)
        and _are_numbers(reading.count)
        and isinstance(reading.md5, str)
        and all(map(_is_finding, reading.findings))
        and all(map(_is_member, reading.members))
        and all(map(_is_count, reading.left_out))
    )


def _is_finding(finding: object) -> bool:
    return (
        type(finding) is Finding
        and isinstance(finding.kind, str)
        and isinstance(finding.message, str)
        and isinstance(finding.level, Level)
        and _are_numbers(finding.line, finding.column)
    )


def _is_count(count: object) -> bool:
    return type(count) is tuple and len(count) == 2 and isinstance(count[0], Reason) and _are_numbers(count[1] or -1)


def _is_member(member: object) -> bool:
    if type(member) is not Member:
        return False
    texts = (member.name, member.digest, member.md5, member.kind, member.rank)
    has_texts = all(isinstance(text, str) and replace_lone_surrogates(text) == text for text in texts)
    return has_texts and isinstance(member.reason, Reason | None) and _are_numbers(member.size)


def _are_numbers(*numbers: object) -> bool:
    """Return whether each is None or a number that the ledger can store, not less than 0."""
    return all(number is None or (isinstance(number, int) and 0 <= number <= MAX_INTEGER) for number in numbers)


def _limit_memory(max_bytes: int) -> int:
    """Allow this process `max_bytes` more memory, or less if the system requires it. Return the number of bytes.

    The process ends if the number is less than MIN_MEMORY, or than `max_bytes` if that is smaller.
    """
    current = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    granted = lower_limit(resource.RLIMIT_AS, current + max_bytes) - current
    if granted < min(max_bytes, MIN_MEMORY):
        sys.exit(
            f"windrow: a process may use only {max(0, granted):,} more bytes of memory, too few to read documents;"
            " raise the limit of the system (ulimit -v)"
        )
    return granted


def counter() -> SharedNumbers:
    """Return shared memory in which a worker shows the number of its job: -1 before the first job, 0 at the first."""
    return SharedNumbers.make(-1)
