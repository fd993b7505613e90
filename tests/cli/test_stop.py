"""Stopping, locking and running again by the clock, with real processes and signals."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import time

import pytest

from tests.cli.conftest import put, setting, start
from windrow.demo.document import drop


@pytest.fixture
def slow(workspace, partner):
    """Make the partner have 40 zips more and take them one in 0.2 s."""
    for number in range(10, 50):
        name, content = drop("H", "2026-01-15", number)
        put(partner, f"add/{name}", content)
    source = workspace / "sources" / "harwell.toml"
    source.write_text(source.read_text() + "pace = 0.2\nconnections = 1\n")
    return workspace


def until_it_fetches(workspace) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            with sqlite3.connect(f"file:{workspace}/ledger.sqlite?mode=ro", uri=True) as ledger:
                if ledger.execute("SELECT count(*) FROM attempt WHERE end_seq > 0").fetchone()[0]:
                    return
        except sqlite3.Error:
            pass
        finally:
            ledger.close()
        time.sleep(0.05)
    pytest.fail("nothing was fetched")


def facts(workspace, text: str) -> list[tuple]:
    ledger = sqlite3.connect(workspace / "ledger.sqlite")
    try:
        return ledger.execute(text).fetchall()
    finally:
        ledger.close()


def test_the_first_interrupt_finishes_what_is_in_hand(slow, windrow) -> None:
    run = start("run", cwd=slow)
    until_it_fetches(slow)
    said = windrow("status")  # reading goes on while a run writes
    assert said.code == 0
    assert f"pid {run.pid}" in said.err
    said = windrow("check")  # the tracker may be behind a run, which is no fault
    assert (said.code, said.out) in {(0, ""), (5, "")}
    os.kill(run.pid, signal.SIGINT)
    _, err = run.communicate(timeout=60)
    assert run.returncode == 130
    assert "finishing what is in hand; Ctrl-C again stops at once" in err
    assert "stopped" in err
    assert "Traceback" not in err
    assert facts(slow, "SELECT outcome FROM session_end") == [(130,)]
    assert facts(slow, "SELECT count(*) FROM attempt WHERE end_seq IS NULL") == [(0,)]
    assert facts(slow, "SELECT count(*) FROM lease") == [(0,)]
    done = facts(slow, "SELECT count(*) FROM attempt WHERE end_seq > 0")[0][0]
    assert 0 < done < 43
    source = slow / "sources" / "harwell.toml"
    source.write_text(source.read_text().replace("pace = 0.2", "pace = 0"))
    assert windrow("run").code == 0
    assert facts(slow, "SELECT count(*) FROM attempt WHERE end_seq > 0") == [(43,)]


def test_the_second_interrupt_stops_at_once(slow, windrow) -> None:
    source = slow / "sources" / "harwell.toml"
    source.write_text(source.read_text().replace("pace = 0.2", "pace = 2"))
    run = start("run", cwd=slow)
    until_it_fetches(slow)
    os.kill(run.pid, signal.SIGINT)
    time.sleep(0.3)
    os.kill(run.pid, signal.SIGINT)
    began = time.monotonic()
    _, err = run.communicate(timeout=60)
    assert run.returncode == 130
    assert "Traceback" not in err
    assert time.monotonic() - began < 15
    assert facts(slow, "SELECT outcome FROM session_end") == [(130,)]
    source.write_text(source.read_text().replace("pace = 2", "pace = 0"))
    assert windrow("run").code == 0
    assert facts(slow, "SELECT count(*) FROM standing WHERE kind = 'xml' AND status <> 3") == [(0,)]


def test_a_locked_workspace_gives_5_and_names_the_holder(slow, windrow) -> None:
    run = start("run", cwd=slow)
    try:
        until_it_fetches(slow)
        said = windrow("run")
        assert said.code == 5
        assert f"pid {run.pid}" in said.err
        assert "is in use by" in said.err
        assert "try: windrow status" in said.err
        assert windrow("run", "--dry-run").code == 0
        assert json.loads(windrow("run", "--json").err)["exit_code"] == 5
    finally:
        os.kill(run.pid, signal.SIGINT)
        run.communicate(timeout=60)


def test_a_killed_run_is_gone_on_with(slow, windrow) -> None:
    run = start("run", cwd=slow)
    until_it_fetches(slow)
    os.kill(run.pid, signal.SIGKILL)
    run.communicate(timeout=60)
    assert "was cut short" in windrow("status").err or "running now" in windrow("status").err
    source = slow / "sources" / "harwell.toml"
    source.write_text(source.read_text().replace("pace = 0.2", "pace = 0"))
    assert windrow("run").code == 0
    assert facts(slow, "SELECT count(*) FROM attempt WHERE end_seq > 0 AND reason IS NULL") == [(43,)]


def test_every_runs_again_until_stopped(workspace, windrow) -> None:
    setting(workspace, '[run]\nnotify = "tee -a told.jsonl"')
    run = start("run", "--every", "1s", cwd=workspace)
    deadline = time.monotonic() + 60
    told = workspace / "told.jsonl"
    while time.monotonic() < deadline and (not told.exists() or len(told.read_text().splitlines()) < 3):
        time.sleep(0.05)
    while run.poll() is None:  # where Ctrl-C is ignored, as for jobs of a script, none is heard between run and wait
        os.kill(run.pid, signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            run.wait(10)
    err = run.stderr.read()
    run.stderr.close()
    run.stdout.close()
    assert run.returncode == 130
    assert "the next run is due in 1.0 s" in err
    assert "Traceback" not in err
    sessions = [json.loads(line)["session"] for line in told.read_text().splitlines()]
    assert len(sessions) >= 3
    assert sessions == sorted(set(sessions))
    assert facts(workspace, "SELECT count(*) FROM lease") == [(0,)]


def test_a_reader_that_goes_away_is_no_error(workspace, windrow) -> None:
    windrow("run")
    run = start("why", "H.2026-01-12.1.impc.zip", cwd=workspace)
    assert run.stdout is not None
    run.stdout.close()
    run.wait(timeout=30)
    assert "Traceback" not in run.stderr.read()
    run.stderr.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_waiting_for_the_next_run_ends_at_a_signal(number, workspace) -> None:
    run = start("run", "--every", "1h", cwd=workspace, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    assert run.stderr
    for line in run.stderr:
        if "the next run is due" in line:
            break
    time.sleep(0.3)
    os.kill(run.pid, number)
    _, err = run.communicate(timeout=30)
    assert (run.returncode, "Traceback" in err) == (130, False)
