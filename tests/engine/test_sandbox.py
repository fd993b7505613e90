"""Processes that read documents: what the kernel refuses them, and what the engine refuses to unpickle."""

import json
import os
import pickle
import struct
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from math import inf
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo

import pytest
from click.testing import CliRunner

from tests.engine.test_pool import keep_words
from tests.engine.toy_steps import TOY_COLLECTION, NoValue
from windrow.cli.root import root as command_line
from windrow.contract.collection import Later
from windrow.engine import message_pipe
from windrow.engine.fetchers.fetcher_pool import FetcherPool
from windrow.engine.fetchers.message import ArchiveSettings, BatchEnded, Done, TransferBatch
from windrow.engine.message_pipe import MessagePipe
from windrow.engine.plain_values import (
    MessageRefused,
    NotValues,
    pack_values,
    package_names,
    step_modules,
    unpack_values,
)
from windrow.engine.runtime import CONTEXT, SharedNumbers
from windrow.engine.steps import pool
from windrow.engine.steps.allowed_calls import ARCHITECTURES, encode_filter, make_filter
from windrow.engine.steps.pool import Pool
from windrow.engine.steps.sandbox import try_sandbox
from windrow.engine.steps.worker import WorkerConfig
from windrow.model import Finding, Level, Limits, Reading, Site
from windrow.reasons import Reason

OWN = frozenset({"windrow"})
ACTS = ["read passwd", "write", "connect", "execute", "change mode", "signal"]


@pytest.fixture(scope="module")
def trial():
    return try_sandbox()


@pytest.fixture
def has_sandbox(trial):
    """Whether this machine's kernel restricts processes; if not, `check --sandbox` must say so."""
    if trial.allowed:
        process = CliRunner().invoke(command_line, ["check", "--sandbox"])
        assert process.exit_code == 1
        assert f"not refused to processes that read documents: {trial.allowed[0]}" in process.output
    return not trial.allowed


def read_words(folder, words, cpu_time=5.0, **config):
    """Return the readings of words in a pool with one worker."""
    jobs = keep_words(folder, words)
    readers = Pool(WorkerConfig(TOY_COLLECTION, folder, Limits(cpu_time=cpu_time), {}, **config), size=1)
    try:
        return [done.result for _, done in readers.run(iter(jobs))]
    finally:
        readers.close()


def test_a_worker_has_no_rights_but_to_read_captures(tmp_path, has_sandbox):
    readings = read_words(tmp_path, [*ACTS, "write a temporary file", "import", "find zone", "word"])
    assert [reading.reason for reading in readings[-4:]] == [None] * 4
    if has_sandbox:
        assert [reading.reason for reading in readings[:-4]] == [Reason.STEP_FAILED] * len(ACTS)
        for reading in readings[:-4]:
            assert reading.findings[0].kind in {"PermissionError", "FileNotFoundError"}
            assert "run.sandbox = false allows it" in reading.findings[0].message


def test_the_setting_gives_a_worker_all_rights(tmp_path):
    readings = read_words(tmp_path, ["read passwd", "write", "execute"], sandbox=False)
    assert [reading.reason for reading in readings] == [None, None, None]


def test_a_worker_does_not_have_the_secrets_of_the_environment(tmp_path):
    (reading,) = read_words(tmp_path, ["read a variable"], sandbox=False)
    assert reading.reason is None
    (reading,) = read_words(tmp_path, ["read a variable"], secret_variables=("PATH", "NO_SUCH"), sandbox=False)
    assert (reading.reason, reading.findings[0].kind) == (Reason.STEP_FAILED, "KeyError")


def test_the_value_of_a_forgotten_variable_is_overwritten():
    program = "from windrow.engine.steps.sandbox import forget_variables; forget_variables(['TOY_SECRET'])"
    program += "; print(open('/proc/self/environ').read())"
    output = subprocess.check_output([sys.executable, "-c", program], env=os.environ | {"TOY_SECRET": "hunter2"})
    assert b"TOY_SECRET" in output
    assert b"hunter2" not in output


def test_given_files_may_be_read(tmp_path):
    (reading,) = read_words(tmp_path, ["read passwd"], readable=(Path("/etc/passwd"),))
    assert reading.reason is None


def test_check_shows_what_holds(trial):
    process = CliRunner().invoke(command_line, ["check", "--sandbox", "--json"])
    shown = json.loads(process.output.splitlines()[0])
    fetchers = try_sandbox(is_fetcher=True)
    allowed = {"allowed": [*trial.allowed], "allowed_to_fetchers": [*fetchers.allowed]}
    assert shown == {"type": "sandbox", **trial.sandbox._asdict(), **allowed}
    assert process.exit_code == (1 if trial.allowed or fetchers.allowed else 0)
    assert fetchers.sandbox.no_new_privs == trial.sandbox.no_new_privs
    assert fetchers.allowed == (() if fetchers.sandbox.landlock else ("write a file", "run a program"))


def test_a_fetcher_restricts_itself(tmp_path, trial):
    fetchers = FetcherPool(ArchiveSettings(tmp_path / "archive", 1, Limits(), 1 << 30, "test"), 1)
    fetchers.submit_batch(TransferBatch(1, Site("file", base=str(tmp_path)), folders=("",)))
    try:
        while not any(isinstance(event, BatchEnded) for event in fetchers.events(1.0)):
            pass
        (fetcher,) = fetchers._members.values()
        restricted = f"NoNewPrivs:\t{int(trial.sandbox.no_new_privs)}"
        assert restricted in Path(f"/proc/{fetcher.process.pid}/status").read_text()
    finally:
        fetchers.close(at_once=True)


def test_a_kernel_with_all_mechanisms_refuses_every_act(trial):
    if trial.sandbox.landlock and trial.sandbox.seccomp:
        assert trial.allowed == ()


def test_readers_write_to_no_terminal_and_have_no_pipe_to_other_processes(tmp_path, has_sandbox):
    (reading,) = read_words(tmp_path, ["list outputs"], readable=(Path("/proc"),))
    outputs = json.loads(reading.findings[0].message) if reading.findings else {}
    assert outputs == ({"1": "/dev/null", "2": "/dev/null"} if has_sandbox else outputs)


ALLOWED, REFUSED, NOT_KNOWN, KILLED = 0x7FFF0000, 0x50001, 0x50026, 0x80000000
OWN_PROCESS = 4711
CALLS = {
    # the numbers on x86_64 and aarch64, the arguments, and what happens
    "read": (0, 63, (), ALLOWED),
    "mmap": (9, 222, (), ALLOWED),
    "restart after a pause": (219, 128, (), ALLOWED),
    "socket": (41, 198, (), REFUSED),
    "setsid": (112, 157, (), REFUSED),
    "ftruncate": (77, 46, (3,), REFUSED),
    "flock": (73, 32, (3, 2), REFUSED),
    "shmget": (29, 194, (), REFUSED),
    "unshare": (272, 97, (0x10000000,), REFUSED),
    "a call of the future": (4000, 4000, (), REFUSED),
    "a call of x32": (0x40000000, 0x40000000, (), REFUSED),
    "clone3": (435, 435, (), NOT_KNOWN),
    "clone of a thread": (56, 220, (0x3D0F00,), ALLOWED),
    "fork": (56, 220, (0x1200011,), REFUSED),
    "vfork": (58, 4000, (), REFUSED),
    "clone with a user namespace": (56, 220, (0x10010000,), REFUSED),
    "F_GETFD": (72, 25, (3, 1), ALLOWED),
    "F_SETFL": (72, 25, (3, 4), REFUSED),
    "F_SETOWN": (72, 25, (3, 8, 1), REFUSED),
    "F_SETSIG": (72, 25, (3, 10, 9), REFUSED),
    "isatty": (16, 29, (0, 0x5401), ALLOWED),
    "TIOCSTI": (16, 29, (0, 0x5412), REFUSED),
    "kill itself": (62, 129, (OWN_PROCESS, 9), ALLOWED),
    "kill another": (62, 129, (OWN_PROCESS + 1, 9), REFUSED),
    "kill a group": (62, 129, (0, 9), REFUSED),
    "abort": (234, 131, (OWN_PROCESS, OWN_PROCESS, 6), ALLOWED),
    "read a limit": (302, 261, (0, 7, 0, 1 << 40), ALLOWED),
    "set a limit": (302, 261, (1, 7, 8), REFUSED),
    "set a limit at a high address": (302, 261, (1, 7, 1 << 40), REFUSED),
}


def run_filter(lines, architecture, number, arguments):
    """Return what the kernel would do with a call."""
    data = struct.pack("<IIQ6Q", number, architecture, 0, *arguments, *[0] * (6 - len(arguments)))
    word = at = 0
    while True:
        code, if_true, if_false, operand = lines[at]
        at += 1
        if code == 0x06:
            return operand
        if code == 0x20:
            (word,) = struct.unpack_from("<I", data, operand)
        elif code == 0x54:
            word &= operand
        else:
            assert code == 0x15
            at += if_true if word == operand else if_false


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_the_filter_allows_what_readers_need(machine):
    lines = make_filter(machine, OWN_PROCESS)
    column = [*ARCHITECTURES].index(machine)
    outcomes = {name: run_filter(lines, ARCHITECTURES[machine], call[column], call[2]) for name, call in CALLS.items()}
    assert outcomes == {name: call[3] for name, call in CALLS.items()}
    assert run_filter(lines, 0x40000003, 11, ()) == KILLED  # execve of 32-bit x86
    assert len(encode_filter(lines)) == 8 * len(lines) < 8 * 4096


TAKEN_OVER = {
    "take over": "its process was ended twice: a process sent a packet that is longer than its message",
    "take over by length": "its process was ended twice: a process sent a packet that is longer than its message",
    "take over by size": "its process was ended twice: a process sent a message of 2,147,483,647 bytes; 536,870,912",
    "take over by half": "its process was ended twice: a process did not send the remainder of a message",
    "take over by nothing": "its process was ended twice: a process that reads documents sent values other than",
    "take over and spin": "its process was ended twice: it used more CPU time than allowed",
    "take over and die": "its process ended twice, the last time with exit code 7",
    "take over by number": "stopped after 1 seconds by the clock, during which it was asleep",
}


@pytest.mark.parametrize("attack", TAKEN_OVER)
def test_a_worker_that_was_taken_over_is_ended_and_its_document_has_the_reason(tmp_path, monkeypatch, attack):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pool, "MESSAGE_SECONDS", 0.5)
    readings = read_words(tmp_path / "archive", [attack, "a", "bb"], cpu_time=0.1)
    reason = Reason.TIME_LIMIT if "asleep" in TAKEN_OVER[attack] else Reason.WORKER_DIED
    assert [reading.reason for reading in readings] == [reason, None, None]
    assert readings[0].findings[0].message.startswith(TAKEN_OVER[attack])
    assert not (tmp_path / "taken-over").exists()


def test_a_shown_number_that_cannot_be_true_is_not_believed():
    worker = object.__new__(pool._Worker)
    worker._shown_job, worker._sent_jobs, worker._current_job = -1, 8, SharedNumbers.make()
    numbers = []
    for worker._current_job.numbers[0] in (-5, 2, 1, 7, 8, 1 << 62, 3):
        numbers.append(worker._find_current_job())
    assert numbers == [-1, 2, 2, 7, 7, 7, 7]


def test_a_message_that_the_process_does_not_read_is_given_up(monkeypatch):
    monkeypatch.setattr(message_pipe, "SEND_SECONDS", 0.1)
    ours, theirs = CONTEXT.Pipe()
    pipe = MessagePipe(ours, 1 << 20)
    pipe.send(b"read")
    assert theirs.recv_bytes() == b"read"
    with pytest.raises(TimeoutError):
        pipe.send(b"x" * (1 << 20))
    pipe.close()
    theirs.close()


def test_a_worker_that_closes_its_pipe_and_goes_on_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(pool, "END_SECONDS", 0.2)
    readings = read_words(tmp_path, ["a", "take over silently", "bb"])
    assert [reading.reason for reading in readings] == [None, Reason.WORKER_DIED, None]


def test_a_result_that_is_no_value_is_a_fault_of_its_step(tmp_path):
    readings = read_words(tmp_path, ["a", "return what is no value", "bb"])
    assert [reading.reason for reading in readings] == [None, Reason.STEP_FAILED, None]
    assert "NoValue is not a class of values" in readings[1].findings[0].message


class Pair(NamedTuple):
    left: object
    right: object = None


@dataclass(frozen=True, slots=True)
class Single:
    only: object


def test_values_are_the_same_on_the_other_side():
    now = datetime(2026, 1, 2, 3, 4, 5, 6, UTC)
    values = [
        Done(Reading(Reason.TIME_LIMIT, (Finding("A", "b", Level.ERROR, 1, 2),)), 0.5), now, date(2026, 1, 2),
        now.astimezone(ZoneInfo("Europe/Berlin")), timedelta(1), Decimal("1.5"), Path("/a/b"), b"x" * 100_000,
        Pair(Single({"a": {"1"}, "b": {}}), [1.5, None, True, (), [], {}]), frozenset({"x"}), "\ud800x" * 200,
        ((1, "a"), (2, "\ud83d\ude00")), (Pair(1, "b"), Pair(None, "c" * 300)), (Pair(1), Pair(())), ["x" * 300] * 2,
        [(1, "a"), (2.5, "b")], [Pair(1, "b"), Pair(2, None)], [(1, inf)], -inf,
        datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Berlin")), now.time(), now.timetz(), 1 << 70,
        "x" * 300, b"x" * 300, Level.WARN, timezone(timedelta(hours=-3)), -0.0, inf,
    ]  # fmt: skip
    lone_surrogates = [[("\ud800", 1)], "\udfff"]
    message = pack_values(values) * 2 + pack_values(lone_surrogates)
    received = [*unpack_values(message, package_names(["tests.engine"]))]
    assert received == (sent := [*values, *values, *lone_surrogates])
    assert [*map(repr, received)] == [*map(repr, sent)]  # also classes, folds and zones
    assert package_names(step_modules(TOY_COLLECTION)) == {"windrow", "tests"}


def packet(names, nodes, lengths=(), contents=b""):
    """Return a packet that a process could send: JSON, and long texts and bytes."""
    text = nodes if isinstance(nodes, bytes) else json.dumps([names, lengths, nodes]).encode()
    return struct.pack("!QQ", len(text), len(contents)) + text + contents


ATTACKS = {
    "pickle": pickle.dumps([1]),
    "function": packet(["os:system"], [[6, "true"]]),
    "function of windrow": packet(["windrow.digest:digest"], [[6, "x"]]),
    "class of tests": packet(["tests.engine.toy_steps:NoValue"], [[6]]),
    "value of another package": packet(["tests.engine.test_sandbox:Pair"], [[6, 1, 2]]),
    "class that is no value": packet(["windrow.contract.collection:Later"], [[6, "os:system"]]),
    "module in a class": packet(["windrow.reasons:__builtins__"], [[6]]),
    "attribute of a class": packet(["windrow.model:Reading.__init__"], [[6]]),
    "unknown module": packet(["windrow.none:Reading"], [[6]]),
    "main module": packet(["windrow.__main__:main"], [[6]]),
    "unknown member of an enum": packet(["windrow.reasons:Reason"], [[6, "x"]]),
    "unknown kind": packet([], [[99]]),
    "kind that is a text": packet([], [["a"]]),
    "too few fields": packet(["windrow.model:Member"], [[6, "a"]]),
    "too many fields": packet(["windrow.model:Finding"], [[6, *"abcdefghi"]]),
    "rows with arrays": packet(["windrow.model:TextChange"], [[4, 0, 6, ["a", "b", [0]]]]),
    "tuples with arrays": packet([], [[4, 1, 0, [1, [0, 1]]]]),
    "rows in no container": packet(["windrow.model:TextChange"], [[4, 2, 6, ["a", "b", "c"]]]),
    "no rows": packet(["windrow.model:TextChange"], [[4, 1, 6]]),
    "NaN": packet([], b"[[],[],[NaN]]"),
    "set of numbers": packet([], [[2, 1]]),
    "date": packet(["datetime:date"], [[6, "2026-02-30"]]),
    "zone": packet(["zoneinfo:ZoneInfo"], [[6, "../../etc/passwd"]]),
    "not a list": packet([], 1),
    "no JSON": packet([], b"[[],[],[x]]"),
    "deep": packet([], b"[[],[],[" + b"[0," * 2_000_000 + b"1" + b"]" * 2_000_001 + b"]"),
    "many values": packet([], b"[[],[],[" + b"[]," * 100_000 + b"1]]"),
    "long number": packet([], b"[[],[],[" + b"1" * 10_000 + b"]]"),
    "cut": pack_values([1, 2, 3])[:-3],
    "length of the JSON": struct.pack("!QQ", 2**64 - 1, 0) + b"[[],[],[]]",
    "length of a text": packet([], [[5, 0]], [4 << 30], b"abc"),
    "texts that overlap": packet([], [[5, 0]], [3, -3], b"abc"),
    "texts left": packet([], [], [1], b"abc"),
    "unknown text": packet([], [[5, 1]], [3], b"abc"),
    "no UTF-8": packet([], [[5, 0]], [1], b"\xff"),
    "nothing": b"\0",
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_message_that_is_not_of_values_is_refused(attack):
    with pytest.raises(MessageRefused, match="a process sent"):
        [*unpack_values(ATTACKS[attack], OWN, 1 << 20)]
    assert Reason.TIME_LIMIT.value == "time_limit"


@pytest.mark.parametrize("value", [{1: 2}, {1, 2}, frozenset({("a",)}), NoValue(), Later("os:system"), bytearray(b"a")])
def test_what_is_no_value_is_not_packed(value):
    with pytest.raises(NotValues):
        pack_values([[value]])
