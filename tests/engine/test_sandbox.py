"""Processes that read documents: what the kernel refuses them, and what the engine refuses to unpickle."""

import json
import pickle
import struct
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import partial
from multiprocessing import Pipe
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo

import pytest
from click.testing import CliRunner

from tests.engine.test_pool import keep_words
from tests.engine.toy_steps import TOY_COLLECTION, NoValue
from windrow.cli.root import root as command_line
from windrow.contract.collection import Later
from windrow.engine.fetchers.fetcher_pool import _receive_events
from windrow.engine.fetchers.message import Done, TransferProgress
from windrow.engine.plain_values import (
    MessageRefused,
    pack_values,
    package_names,
    receive_values,
    step_modules,
    unpack_values,
)
from windrow.engine.steps import pool, worker
from windrow.engine.steps.pool import Pool
from windrow.engine.steps.sandbox import try_sandbox
from windrow.engine.steps.worker import WorkerConfig
from windrow.model import Finding, Level, Limits, Reading
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


def read_words(folder, words, **config):
    """Return the readings of words in a pool with one worker."""
    jobs = keep_words(folder, words)
    readers = Pool(WorkerConfig(TOY_COLLECTION, folder, Limits(cpu_time=5), {}, **config), size=1)
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


def test_given_files_may_be_read(tmp_path):
    (reading,) = read_words(tmp_path, ["read passwd"], readable=(Path("/etc/passwd"),))
    assert reading.reason is None


def test_check_shows_what_holds(trial):
    process = CliRunner().invoke(command_line, ["check", "--sandbox", "--json"])
    shown = json.loads(process.output.splitlines()[0])
    assert shown == {"type": "sandbox", **trial.sandbox._asdict(), "allowed": [*trial.allowed]}
    assert process.exit_code == (1 if trial.allowed else 0)


@pytest.mark.parametrize("attack", ["take over", "take over by length", "take over by size"])
def test_a_worker_that_was_taken_over_is_ended_and_runs_nothing_in_the_engine(tmp_path, monkeypatch, attack):
    monkeypatch.chdir(tmp_path)
    if attack == "take over by size":
        monkeypatch.setattr(worker, "receive_values", partial(receive_at_most, 2 << 20))
    readings = read_words(tmp_path / "archive", ["a", attack, "bb"])
    assert [reading.reason for reading in readings] == [None, Reason.WORKER_DIED, None]
    assert "its process was ended twice: a process sent" in readings[1].findings[0].message
    assert not (tmp_path / "taken-over").exists()


def receive_at_most(max_bytes, pipe, packages, _max_bytes):
    return receive_values(pipe, packages, max_bytes)


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
        Pair(Single({"a": {1, 2}}), [1.5, None, True]), frozenset({"x"}), bytearray(b"y"),
    ]  # fmt: skip
    message = pack_values(values) * 3
    assert [*unpack_values(message, package_names(["tests.engine"]))] == values * 3
    assert package_names(step_modules(TOY_COLLECTION)) == {"windrow", "tests"}


class Adding(NamedTuple):
    """A class with a method that a pickle could call."""

    number: int

    def append(self, other: object) -> None:
        raise AssertionError(other)


def test_a_class_with_methods_that_a_pickle_calls_is_not_one_of_values():
    message = b"\x80\x04](ctests.engine.test_sandbox\nAdding\nK\x01\x85RK\x02ae."
    with pytest.raises(MessageRefused, match="Adding, which is not a class of values"):
        [*unpack_values(message, package_names(["tests.engine"]))]


class Calling:
    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def reason_then(opcodes):
    """Return a pickle that makes a list of the enum member TIME_LIMIT after `opcodes` were applied to it."""
    return b"\x80\x04](cwindrow.reasons\nReason\nX\x0a\0\0\0time_limit\x85R" + opcodes + b"e."


ATTACKS = {
    "system": pickle.dumps([Calling(__import__("os").system, "true")]),
    "eval": pickle.dumps([Calling(eval, "1")]),
    "getattr": pickle.dumps([Calling(getattr, 1, "real")]),
    "import": pickle.dumps([Calling(__import__, "os")]),
    "later": pickle.dumps([Later("os:system")]),
    "class of tests": pickle.dumps([NoValue()]),
    "value of another package": pickle.dumps([Pair(1)]),
    "function of windrow": b"\x80\x04](cwindrow.digest\ndigest\nC\x01x\x85Re.",
    "module in a class": b"\x80\x04](cwindrow.reasons\n__builtins__\ne.",
    "attribute of a class": b"\x80\x04]\x8c\x0dwindrow.model\x8c\x10Reading.__init__\x93a.",
    "new object": b"\x80\x04](cwindrow.model\nFinding\nX\x01\0\0\0aX\x01\0\0\0b\x86\x81e.",
    "state of a class": b"\x80\x04](cwindrow.model\nStoreLookUp\nN}X\x04\0\0\0_makeK\x01s\x86be.",
    "state of an enum": reason_then(b"}X\x07\0\0\0_value_X\x01\0\0\0xsb"),
    "slots of an enum": reason_then(b"N}X\x07\0\0\0_value_X\x01\0\0\0xs\x86b"),
    "unknown member of an enum": b"\x80\x04](cwindrow.reasons\nReason\nX\x01\0\0\0x\x85Re.",
    "not a list": pickle.dumps({"a": 1}),
    "persistent id": b"\x80\x04](X\x01\0\0\0aQe.",
    "extension": b"\x80\x04](\x82\x01e.",
    "buffer": b"\x80\x05](\x97e.",
    "long length": b"\x80\x05\x8e" + struct.pack("<Q", 4 << 30) + b"x",
    "longest length": b"\x80\x05\x8d" + struct.pack("<Q", 2**64 - 1) + b"x",
    "marks": b"\x80\x04" + b"(" * 1_000_000,
    "cut": pickle.dumps([1, 2, 3])[:-3],
    "frame": b"\x80\x04\x95" + struct.pack("<Q", 2**62) + b"].",
    "nothing": b"\0",
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_message_that_is_not_of_values_is_refused(attack):
    with pytest.raises(MessageRefused, match="a process sent"):
        [*unpack_values(ATTACKS[attack], OWN)]
    assert Reason.TIME_LIMIT.value == "time_limit"


@pytest.mark.parametrize("message", [ATTACKS["system"], pack_values([Reading()]), pack_values([None])])
def test_a_message_of_a_fetcher_that_has_other_values_than_events_is_refused(message):
    ours, theirs = Pipe()
    with ours, theirs:
        theirs.send_bytes(pack_values([TransferProgress(1, 2)]))
        assert _receive_events(ours) == [TransferProgress(1, 2)]
        theirs.send_bytes(message)
        with pytest.raises(MessageRefused):
            _receive_events(ours)
