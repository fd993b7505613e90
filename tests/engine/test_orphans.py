"""A run that is killed leaves no process behind: neither what others are forked from, nor readers, nor fetchers."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.crash.place import RUN, make
from tests.engine.test_harm import village
from tests.servers.hostile import BAD, answering
from tests.waiting import PATIENCE, until

HERE = Path(__file__).parents[2]
MARK = "WINDROW_TEST_RUN"
READS = """
import sys
from pathlib import Path
from tests.engine.test_pool import pooled
for _, reading in pooled(Path(sys.argv[1]), ["spin", "sleep", "spin", "sleep"], batch=1, seconds=1000):
    print(reading.reason)
"""


def start(mark: str, *words: str) -> subprocess.Popen[bytes]:
    """Start a run whose processes all have a mark in their environment."""
    around = os.environ | {MARK: mark}
    return subprocess.Popen([sys.executable, *words], cwd=HERE, env=around, stderr=subprocess.DEVNULL)


def marked(mark: str) -> set[int]:
    """Return the processes that have a mark; one that has ended has no environment, whoever is to collect it."""
    found = set()
    for place in Path("/proc").glob("[0-9]*"):
        try:
            environment = (place / "environ").read_bytes()
        except OSError:
            continue  # it has ended meanwhile, or is another user's
        if f"{MARK}={mark}".encode() in environment.split(b"\0"):
            found.add(int(place.name))
    return found


def kill(process: subprocess.Popen[bytes], mark: str) -> set[int]:
    """Kill the first process of a run and no other; return those of it that do not end."""
    process.kill()
    process.wait()
    end = time.monotonic() + PATIENCE
    while (left := marked(mark)) and time.monotonic() < end:
        time.sleep(0.02)
    for pid in left:
        os.kill(pid, 9)
    return left


@pytest.fixture
def mark(request: pytest.FixtureRequest) -> Iterator[str]:
    """Give a mark, and see to it that no process keeps it."""
    name = f"{os.getpid()}.{time.monotonic_ns()}"
    yield name
    assert marked(name) == set()


def until_busy(process: subprocess.Popen[bytes], mark: str, number: int) -> None:
    """Wait until so many processes of a run have had CPU time for a second after they began."""
    until = time.monotonic() + 120
    while len(marked(mark)) < number:
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.02)
    time.sleep(1.0)


@pytest.mark.parametrize("seconds", [0.05, 0.2, 0.5, 0.8, 1.1, 1.5, 2.0, 3.0])
def test_a_run_that_is_killed_at_any_moment(tmp_path: Path, mark: str, seconds: float) -> None:
    root = make(tmp_path / "w")
    process = start(mark, "-c", RUN, str(root))
    time.sleep(seconds)
    assert kill(process, mark) == set()


def test_a_run_that_is_killed_while_a_reader_is_in_a_library_and_another_sleeps(tmp_path: Path, mark: str) -> None:
    process = start(mark, "-c", READS, str(tmp_path))
    until_busy(process, mark, 5)  # with what is forked from, and what tracks its resources
    assert kill(process, mark) == set()


def test_a_run_that_is_killed_while_a_fetcher_hangs(tmp_path: Path, mark: str) -> None:
    answers: Any = village(b"hang")
    with answering(answers) as server:
        process = start(mark, "-m", "tests.engine.harming", str(tmp_path), f"{server.origin(BAD)}/0")
        until(lambda: (BAD, "/harm") in server.asked)
        assert kill(process, mark) == set()
