"""Stopping, locking and running again by the clock, with real processes and signals."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest

from tests import programs
from tests.cli.conftest import Start, put, setting
from tests.waiting import PATIENCE, until
from windrow.demo.partner import drop


@pytest.fixture
def slow(workspace, partner):
    """Add 40 zips to the partner, to be fetched at one in a second."""
    for number in range(10, 50):
        name, content = drop("H", "2026-01-15", number)
        put(partner, f"add/{name}", content)
    source = workspace / "sources" / "harwell.toml"
    source.write_text(source.read_text() + "delay = 1\nconnections = 1\n")
    return workspace


def until_it_fetches(workspace) -> None:
    def fetches() -> bool:
        with (
            contextlib.suppress(sqlite3.Error),
            contextlib.closing(sqlite3.connect(f"file:{workspace}/ledger.sqlite?mode=ro", uri=True)) as ledger,
        ):
            return bool(ledger.execute("SELECT count(*) FROM attempt WHERE end_seq > 0").fetchone()[0])
        return False

    until(fetches)


def facts(workspace, text: str) -> list[tuple]:
    ledger = sqlite3.connect(workspace / "ledger.sqlite")
    try:
        return ledger.execute(text).fetchall()
    finally:
        ledger.close()


def test_the_first_interrupt_finishes_what_is_in_hand(slow, windrow, start: Start) -> None:
    run = start("run", cwd=slow)
    until_it_fetches(slow)
    output = windrow("status")  # reading goes on while a run writes
    assert output.code == 0
    assert f"pid {run.pid}" in output.err
    output = windrow("check")  # the tracker may be behind a run, which is no fault
    assert (output.code, output.out) in {(0, ""), (5, "")}
    os.kill(run.pid, signal.SIGINT)
    _, err = run.read_rest(PATIENCE)
    assert run.returncode == 130
    assert "finishing the items in progress; Ctrl-C again stops at once" in err
    assert "stopped" in err
    assert "Traceback" not in err
    assert facts(slow, "SELECT outcome FROM session_end") == [(130,)]
    assert facts(slow, "SELECT count(*) FROM attempt WHERE end_seq IS NULL") == [(0,)]
    assert facts(slow, "SELECT count(*) FROM lease") == [(0,)]
    done = facts(slow, "SELECT count(*) FROM attempt WHERE end_seq > 0")[0][0]
    assert 0 < done < 43
    source = slow / "sources" / "harwell.toml"
    source.write_text(source.read_text().replace("delay = 1", "delay = 0"))
    assert windrow("run").code == 0
    assert facts(slow, "SELECT count(*) FROM attempt WHERE end_seq > 0") == [(43,)]


def test_the_second_interrupt_stops_at_once(slow, windrow, start: Start) -> None:
    source = slow / "sources" / "harwell.toml"
    source.write_text(source.read_text().replace("delay = 1", "delay = 2"))
    run = start("run", cwd=slow)
    until_it_fetches(slow)
    os.kill(run.pid, signal.SIGINT)
    assert any("finishing the items in progress" in line for line in run.stderr)
    os.kill(run.pid, signal.SIGINT)
    began = time.monotonic()
    err = run.stderr.read()
    assert run.wait(PATIENCE) == 130
    assert "Traceback" not in err
    assert time.monotonic() - began < 40  # what is left takes 80
    assert facts(slow, "SELECT outcome FROM session_end") == [(130,)]
    source.write_text(source.read_text().replace("delay = 2", "delay = 0"))
    assert windrow("run").code == 0
    assert facts(slow, "SELECT count(*) FROM member m JOIN pending_step p ON p.item = m.seq") == [(0,)]


INTERRUPTED_AT_THE_END = """
import atexit, signal, sys
from windrow.cli import main
atexit.register(signal.raise_signal, signal.SIGINT)
main(["status"])
"""


def test_an_interrupt_while_the_process_ends_changes_nothing(workspace) -> None:
    program = programs.run("-c", INTERRUPTED_AT_THE_END, cwd=workspace)
    assert (program.returncode, "Traceback" in program.stderr) == (0, False)


def test_a_locked_workspace_gives_5_and_names_the_holder(slow, windrow, start: Start) -> None:
    run = start("run", cwd=slow)
    try:
        until_it_fetches(slow)
        output = windrow("run")
        assert output.code == 5
        assert f"pid {run.pid}" in output.err
        assert "has been in use by" in output.err
        assert "try: windrow status" in output.err
        assert windrow("run", "--dry-run").code == 0
        assert json.loads(windrow("run", "--json").err)["exit_code"] == 5
    finally:
        os.kill(run.pid, signal.SIGINT)
        run.read_rest(PATIENCE)


def test_a_killed_run_is_gone_on_with(slow, windrow, start: Start) -> None:
    run = start("run", cwd=slow)
    until_it_fetches(slow)
    os.kill(run.pid, signal.SIGKILL)
    run.read_rest(PATIENCE)
    assert "was interrupted" in windrow("status").err or "running now" in windrow("status").err
    source = slow / "sources" / "harwell.toml"
    source.write_text(source.read_text().replace("delay = 1", "delay = 0"))
    assert windrow("run").code == 0
    assert facts(slow, "SELECT count(*) FROM attempt WHERE end_seq > 0 AND reason IS NULL") == [(43,)]


def test_every_runs_again_until_stopped(workspace, windrow, start: Start) -> None:
    setting(workspace, '[run]\nnotify = "tee -a told.jsonl"')
    run = start("run", "--every", "1s", cwd=workspace)
    path = workspace / "told.jsonl"
    until(lambda: path.exists() and len(path.read_text().splitlines()) >= 3)
    while (
        run.poll() is None
    ):  # if SIGINT is ignored, as in background jobs of a script, one between run and wait has no effect
        os.kill(run.pid, signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            run.wait(10)
    err = run.stderr.read()
    run.stderr.close()
    run.stdout.close()
    assert run.returncode == 130
    assert "the next run starts 1.0 s after the start of this one" in err
    assert "Traceback" not in err
    sessions = [json.loads(line)["session"] for line in path.read_text().splitlines()]
    assert len(sessions) >= 3
    assert sessions == sorted(set(sessions))
    assert facts(workspace, "SELECT count(*) FROM lease") == [(0,)]


def test_a_reader_that_goes_away_is_no_error(harvested, start: Start) -> None:
    run = start("why", "H.2026-01-12.1.impc.zip", cwd=harvested)
    assert run.stdout is not None
    run.stdout.close()
    run.wait(timeout=PATIENCE)
    assert "Traceback" not in run.stderr.read()
    run.stderr.close()


def catches(pid: int, number: int) -> bool:
    """Return whether a process has a handler of its own for a signal."""
    (mask,) = re.findall(r"SigCgt:\s*(\w+)", Path(f"/proc/{pid}/status").read_text())
    return bool(int(mask, 16) >> (number - 1) & 1)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_waiting_for_the_next_run_ends_at_a_signal(number, workspace, start: Start) -> None:
    run = start("run", "--every", "1h", cwd=workspace, ignores_interrupts=True)
    for line in run.stderr:
        if "the next run starts" in line:
            break
    until(lambda: catches(run.pid, number))
    os.kill(run.pid, number)
    _, err = run.read_rest(PATIENCE)
    assert (run.returncode, "Traceback" in err) == (130, False)
