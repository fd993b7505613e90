"""A run that is killed leaves no process behind: no fork server, reader or fetcher."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.crash.workspace import RUN, make_workspace
from tests.engine.test_harm import harmful_site
from tests.servers.hostile import BAD, serve_answers
from tests.waiting import PATIENCE, until

HERE = Path(__file__).parents[2]
MARK = "WINDROW_TEST_RUN"
READS = """
import sys
from pathlib import Path
from tests.engine.test_pool import read_in_pool
for _, reading in read_in_pool(Path(sys.argv[1]), ["spin", "sleep", "spin", "sleep"], batch=1, cpu_time=1000):
    print(reading.reason)
"""


def start(mark: str, *words: str) -> subprocess.Popen[bytes]:
    """Start a run whose processes all have a mark in their environment."""
    environment = os.environ | {MARK: mark}
    return subprocess.Popen([sys.executable, *words], cwd=HERE, env=environment, stderr=subprocess.DEVNULL)


def pids_with_mark(mark: str) -> set[int]:
    """Return the pids of processes with a mark; one that has ended has no environment, even before it is reaped."""
    pids = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            environment = (folder / "environ").read_bytes()
        except OSError:
            continue  # it has ended meanwhile, or is another user's
        if f"{MARK}={mark}".encode() in environment.split(b"\0"):
            pids.add(int(folder.name))
    return pids


def kill(process: subprocess.Popen[bytes], mark: str) -> set[int]:
    """Kill only the first process of a run; return the pids of those that do not end."""
    process.kill()
    process.wait()
    end = time.monotonic() + PATIENCE
    while (remaining := pids_with_mark(mark)) and time.monotonic() < end:
        time.sleep(0.02)
    for pid in remaining:
        os.kill(pid, 9)
    return remaining


@pytest.fixture
def mark(request: pytest.FixtureRequest) -> Iterator[str]:
    """Yield a mark, and assert that no process with it is left."""
    name = f"{os.getpid()}.{time.monotonic_ns()}"
    yield name
    assert pids_with_mark(name) == set()


def until_busy(process: subprocess.Popen[bytes], mark: str, number: int) -> None:
    """Wait until a run has so many processes, and a second longer."""
    until = time.monotonic() + 120
    while len(pids_with_mark(mark)) < number:
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.02)
    time.sleep(1.0)


@pytest.mark.parametrize("seconds", [0.05, 0.2, 0.5, 0.8, 1.1, 1.5, 2.0, 3.0])
def test_a_run_that_is_killed_at_any_moment(tmp_path: Path, mark: str, seconds: float) -> None:
    root = make_workspace(tmp_path / "w")
    process = start(mark, "-c", RUN, str(root))
    time.sleep(seconds)
    assert kill(process, mark) == set()


def test_a_run_that_is_killed_while_a_reader_is_in_a_library_and_another_sleeps(tmp_path: Path, mark: str) -> None:
    process = start(mark, "-c", READS, str(tmp_path))
    until_busy(process, mark, 5)  # with the fork server and the resource tracker
    assert kill(process, mark) == set()


def test_a_run_that_is_killed_while_a_fetcher_hangs(tmp_path: Path, mark: str) -> None:
    answers: Any = harmful_site(b"hang")
    with serve_answers(answers) as server:
        process = start(mark, "-m", "tests.engine.harmful_crawl", str(tmp_path), f"{server.origin(BAD)}/0")
        until(lambda: (BAD, "/harm") in server.asked)
        assert kill(process, mark) == set()
