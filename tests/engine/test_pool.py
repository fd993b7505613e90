import os
import signal
import sys
from datetime import UTC, datetime
from itertools import pairwise
from multiprocessing.connection import wait
from pathlib import Path
from subprocess import PIPE, Popen, run
from threading import Thread
from time import monotonic, sleep
from types import MappingProxyType, SimpleNamespace
from typing import NamedTuple

import pytest

from tests.engine.toy_steps import TOY_COLLECTION
from windrow.archive import ArchiveWriter, CaptureSink
from windrow.engine.fetchers.message import Job
from windrow.engine.heartbeat import SLEEP_FACTOR
from windrow.engine.message_pipe import MessagePipe
from windrow.engine.plain_values import unpack_values
from windrow.engine.runtime import CONTEXT
from windrow.engine.steps.pool import MAX_EXTRA_WORKERS, Pool
from windrow.engine.steps.worker import Outbox, WorkerConfig
from windrow.model import FetchJob, Finding, Item, Limits, Reading
from windrow.reasons import Reason

HERE = Path(__file__).parents[2]


def keep_words(folder, words, *, retakes=0, **options):
    """Write words into an archive; return the jobs that read them."""
    archive = ArchiveWriter(folder, "test", Limits(), 1 << 30, "test")
    jobs = []
    for number, word in enumerate(words):
        sink = CaptureSink(archive, FetchJob(number, f"file:///{number}"), datetime.now(UTC))
        sink.write(word.encode())
        jobs.append(Job(0, Item(number, "toy", "thing", word), sink.finish().place, options, retakes=retakes))
    archive.close()
    return jobs


def read_in_pool(folder, words, pulse=None, *, retakes=0, options=MappingProxyType({}), batch=4, **limits):
    """Write words into an archive, and yield their readings from a pool with tight limits."""
    jobs = keep_words(folder, words, retakes=retakes, **options)
    pool = Pool(WorkerConfig(TOY_COLLECTION, folder, Limits(**limits), {}), size=2, batch_size=batch)
    try:
        for job, done in pool.run(iter(jobs), pulse=pulse):
            yield job.item.key, done.result
    finally:
        pool.close()


@pytest.fixture
def read(tmp_path):
    """Return a function that reads words in a pool."""

    def run(words, pulse=None, **options):
        return [*read_in_pool(tmp_path, words, pulse, **options)]

    return run


def test_results_come_in_order(read):
    words = [f"word{number}" for number in range(100)]
    readings = read(words)
    assert [word for word, _ in readings] == words
    assert all(reading.done and reading.count == len(word) for word, reading in readings)


@pytest.mark.parametrize(
    ("word", "limit_text"),
    [("spin", "after 0.5 seconds of CPU time"), ("sleep", "after 5 seconds by the clock, during which it was asleep")],
)
def test_a_hanging_document_is_stopped_and_the_others_are_read(read, word, limit_text):
    words = ["a", word, "b", "c", word, "d", "e"]
    readings = read(words, cpu_time=0.5)
    assert [name for name, _ in readings] == words
    for name, reading in readings:
        assert reading.reason == (Reason.TIME_LIMIT if name == word else None)
        assert [finding.message for finding in reading.findings] == ([f"stopped {limit_text}"] if name == word else [])


STOPPED = """
import sys
from pathlib import Path
from tests.engine.test_pool import keep_words, read_in_pool
for _, reading in read_in_pool(Path(sys.argv[1]), ["spin for a second"] * 4, batch=1, cpu_time=2):
    print(reading.reason, reading.count, flush=True)
"""


def test_a_pause_of_all_processes_is_not_the_document_that_was_read(tmp_path):
    """As on a suspended machine: the clock goes on, and no CPU time passes."""
    command = [sys.executable, "-c", STOPPED, str(tmp_path)]
    with Popen(command, cwd=HERE, start_new_session=True, stdout=PIPE, text=True) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        os.killpg(process.pid, signal.SIGSTOP)
        sleep(3)  # longer than a document may take
        os.killpg(process.pid, signal.SIGCONT)
        assert [first, *process.stdout] == ["None 17\n"] * 4


LIMITED = """
import resource, sys
from multiprocessing import forkserver
from pathlib import Path
from tests.engine.test_pool import read_in_pool
folder, room = Path(sys.argv[1]), int(sys.argv[2])
assert [reading.reason for _, reading in read_in_pool(folder / "before", ["a"])] == [None]
server = forkserver._forkserver._forkserver_pid
most = int(Path(f"/proc/{server}/statm").read_text().split()[0]) * resource.getpagesize() + room
resource.prlimit(server, resource.RLIMIT_AS, (most, most))
for key, reading in read_in_pool(folder / "after", ["a", "eat", "b"]):
    print(key, reading.reason, flush=True)
"""


def read_with_hard_limit(folder, room):
    """Read words with a hard limit of memory: so many bytes more than readers start with."""
    command = [sys.executable, "-c", LIMITED, str(folder), str(room)]
    return run(command, cwd=HERE, capture_output=True, text=True, check=False)


def test_a_hard_limit_of_memory_that_is_there_is_kept(tmp_path):
    process = read_with_hard_limit(tmp_path, 256 << 20)
    assert process.stdout.splitlines() == ["a None", "eat memory_limit", "b None"]
    assert process.returncode == 0


def test_a_reader_that_ends_before_its_first_document_is_no_documents_fault(tmp_path):
    process = read_with_hard_limit(tmp_path, 8 << 20)
    assert "bytes of memory, too few to read documents" in process.stderr
    assert (
        "ReaderFailed: a process that reads documents ended with exit code 1 before its first document"
        in process.stderr
    )
    assert (process.stdout, process.returncode) == ("", 1)


def test_while_a_document_takes_its_time_the_lease_can_be_renewed(read):
    beats = []
    read(["spin"], pulse=lambda: beats.append(monotonic()), cpu_time=3.5)
    assert beats[-1] - beats[0] > 2
    assert max(later - earlier for earlier, later in pairwise(beats)) < 2


def test_a_worker_that_a_library_aborts_had_too_little_memory(read):
    readings = read(["a", "abort", "b"])
    assert [reading.reason for _, reading in readings] == [None, Reason.MEMORY_LIMIT, None]


def test_a_worker_that_dies_twice_over_a_document_gives_it_up(read):
    readings = read(["a", "b", "die", "c", "d", "die"])
    for word, reading in readings:
        assert reading.reason == (Reason.WORKER_DIED if word == "die" else None)


def test_of_batches_that_a_dying_worker_had_ahead_only_the_one_at_fault_fails(read):
    words = [f"word{number}" for number in range(200)]
    for number in (50, 51, 97, 150, 199):
        words[number] = "die"
    readings = read(words)
    assert [word for word, _ in readings] == words
    for word, reading in readings:
        assert (reading.reason, reading.count) == (Reason.WORKER_DIED, 0) if word == "die" else (None, len(word))


def test_jobs_larger_than_what_a_pipe_holds_are_sent_to_who_waits_for_them(read):
    words = [f"word{number}" for number in range(60)]
    readings = read(words, options={"long": "x" * 200_000})
    assert [(word, reading.done) for word, reading in readings] == [(word, True) for word in words]


def test_a_pool_whose_results_are_left_serves_the_next_run(tmp_path):
    jobs = keep_words(tmp_path, [f"word{number}" for number in range(100)])
    pool = Pool(WorkerConfig(TOY_COLLECTION, tmp_path, Limits(), {}), size=2, batch_size=4)
    left = pool.run(iter(jobs))
    assert next(left)[0].item.key == "word0"
    left.close()
    assert [job.item.key for job, _ in pool.run(iter(jobs[50:]))] == [job.item.key for job in jobs[50:]]
    pool.close()


def test_a_pool_whose_results_are_not_all_taken_refuses_another_run(tmp_path):
    """Both would use the same workers: the second would end those that the first waits for."""
    jobs = keep_words(tmp_path, [f"word{number}" for number in range(100)])
    pool = Pool(WorkerConfig(TOY_COLLECTION, tmp_path, Limits(), {}), size=2, batch_size=4)
    first = pool.run(iter(jobs))
    taken = [next(first)]
    with pytest.raises(AssertionError, match="another run of the pool is in progress"):
        pool.run_alone(jobs[0])
    taken += first
    assert [job.item.key for job, _ in taken] == [job.item.key for job in jobs]
    assert pool.run_alone(jobs[0]).result.count == len("word0")
    pool.close()


def test_the_time_that_a_worker_was_idle_is_no_documents(tmp_path):
    jobs = keep_words(tmp_path, ["a", "b"])
    pool = Pool(WorkerConfig(TOY_COLLECTION, tmp_path, Limits(cpu_time=0.5), {}), size=1)
    assert pool.run_alone(jobs[0]).result.reason is None
    (worker,) = pool._workers.values()
    worker.watch(0.5)
    worker._clock.asleep_seconds = 0.5 * SLEEP_FACTOR + 1  # as if another worker had worked for so long
    os.kill(worker.process.pid, signal.SIGSTOP)  # this is noticed before it takes the job
    beats = []

    def pulse():
        beats.append(monotonic())
        if len(beats) == 2:
            os.kill(worker.process.pid, signal.SIGCONT)

    assert pool.run_alone(jobs[1], pulse).result.reason is None
    assert len(beats) >= 2
    pool.close()


def test_memory_is_bounded(read):
    readings = read(["a", "eat", "b"], memory=256 << 20)
    assert [reading.reason for _, reading in readings] == [None, Reason.MEMORY_LIMIT, None]


def test_a_steps_own_fault_is_a_finding(read):
    readings = read(["a", "fail", "b"])
    assert [reading.reason for _, reading in readings] == [None, Reason.STEP_FAILED, None]
    assert readings[1][1].findings[0].kind == "KeyError"


def test_a_step_that_was_stopped_is_taken_again_and_told_why(read):
    words = ["a", "sleep unless stopped", "b", "die unless stopped", "eat unless stopped", "fail unless stopped", "c"]
    readings = read(words, retakes=1, cpu_time=0.3, memory=256 << 20)
    assert [word for word, _ in readings] == words
    reasons = {word.split()[0]: reading.findings[0].message for word, reading in readings if reading.findings}
    assert reasons == {"sleep": "time_limit", "die": "worker_died", "eat": "memory_limit", "fail": "step_failed"}


def test_a_step_that_is_stopped_each_time_has_its_first_end_as_its_reason(read):
    readings = read(["a", "sleep, then die", "b", "die", "sleep"], retakes=2, cpu_time=0.2)
    reasons = [reading.reason for _, reading in readings]
    assert reasons == [None, Reason.TIME_LIMIT, None, Reason.WORKER_DIED, Reason.TIME_LIMIT]


def test_small_and_large_results_are_sent_in_the_order_of_their_jobs(tmp_path):
    outbox = Outbox(WorkerConfig(TOY_COLLECTION, tmp_path, Limits(), {}))
    findings = tuple(Finding("Odd", f"{number:02}" * 1000) for number in range(70))
    readings = [Reading(count=number, findings=findings if number % 3 == 0 else ()) for number in range(10)]
    for reading in readings:
        outbox.add_result(reading, 0.0)
    messages = [*outbox.messages()]
    assert 1 < len(messages) < len(readings)
    ours, theirs = CONTEXT.Pipe()
    pipe = MessagePipe(ours, 1 << 30)
    Thread(target=lambda: [*map(theirs.send_bytes, messages)]).start()
    results = []
    while len(results) < len(readings):
        wait([pipe])
        for message in pipe.receive():
            results += [done.result for done in unpack_values(message, frozenset({"windrow"}))]
    assert results == readings
    pipe.close()
    theirs.close()


def test_a_result_that_no_memory_is_left_to_send_is_that_documents_failure(tmp_path):
    class Bulky(NamedTuple):
        def __iter__(self):
            raise MemoryError

    outbox = Outbox(WorkerConfig(TOY_COLLECTION, tmp_path, Limits(), {}))
    for reading in (Reading(count=1), Bulky(), Reading(count=2)):
        outbox.add_result(reading, 0.0)
    (message,) = outbox.messages()
    assert [done.result.reason for done in unpack_values(message, {"windrow"})] == [None, Reason.MEMORY_LIMIT, None]


def test_twice_as_many_jobs_travel_together_while_every_worker_is_quick(tmp_path):
    pool = Pool(WorkerConfig(TOY_COLLECTION, tmp_path, Limits(), {}), size=2, batch_size=4)
    assert pool._batch_size() == 4
    pool._workers = {number: SimpleNamespace(is_quick=True) for number in range(2)}
    assert pool._batch_size() == 8
    pool._workers[1].is_quick = False
    assert pool._batch_size() == 4


def collect_all(pool, words):
    """Collect the results of submitted jobs, given by their numbers, until none is left; return their words in turn."""
    collected = []
    while len(collected) < len(words):
        collected += [(words[number], done.result.reason) for number, done in pool.collect(0.1)]
    return collected


@pytest.mark.parametrize(("long", "size"), [(1, 2), (1, 1), (2, 2), (MAX_EXTRA_WORKERS, 1)])
def test_submitted_jobs_are_not_queued_behind_long_ones(tmp_path, long, size):
    words = [*["sleep"] * long, "a", "bb", "die", "ccc"]
    jobs = keep_words(tmp_path, words)
    pool = Pool(WorkerConfig(TOY_COLLECTION, tmp_path, Limits(cpu_time=0.5), {}), size=size)
    numbers = {pool.submit(job): job.item.key for job in jobs}
    collected = collect_all(pool, numbers)
    quick, stopped = collected[:-long], collected[-long:]
    assert sorted(quick) == sorted([("a", None), ("bb", None), ("ccc", None), ("die", Reason.WORKER_DIED)])
    assert stopped == [("sleep", Reason.TIME_LIMIT)] * long
    pool.close()


def test_workers_beyond_the_size_are_bounded_and_ended_before_the_next_run(tmp_path):
    jobs = keep_words(tmp_path, ["sleep"] * (MAX_EXTRA_WORKERS + 2) + ["a"])
    pool = Pool(WorkerConfig(TOY_COLLECTION, tmp_path, Limits(cpu_time=0.3), {}), size=1)
    numbers = {pool.submit(job): job.item.key for job in jobs}
    most_workers = 0
    while numbers:
        most_workers = max(most_workers, len(pool.pipes))
        for number, _ in pool.collect(0.1):
            del numbers[number]
    assert 1 < most_workers <= MAX_EXTRA_WORKERS + 1
    assert [done.result.count for _, done in pool.run([jobs[-1]] * 3)] == [1, 1, 1]
    assert len(pool.pipes) <= 1
    pool.close()


def test_a_run_is_refused_while_submitted_jobs_are_not_collected(tmp_path):
    jobs = keep_words(tmp_path, ["a", "b"])
    pool = Pool(WorkerConfig(TOY_COLLECTION, tmp_path, Limits(), {}), size=1)
    number = pool.submit(jobs[0])
    with pytest.raises(AssertionError, match="collect them first"):
        pool.run_alone(jobs[1])
    assert collect_all(pool, {number: "a"}) == [("a", None)]
    assert pool.run_alone(jobs[1]).result.reason is None
    pool.close()
