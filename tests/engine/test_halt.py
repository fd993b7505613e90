"""A crawl that a person or an accident ends: what was in hand is finished or still due, and nothing is asked twice."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.engine.roaming import faults, roam, source, told
from tests.servers.sites import HOSTS

HERE = Path(__file__).parents[2]
PATIENCE = 120
"""Seconds that a busy machine has for anything."""
FEW = 60
"""Requests that a crawl does not make any more: with its delay they would take three seconds."""


@pytest.fixture
def begun(sites, tmp_path):
    """Start a crawl of one host with a delay, wait until it is under way, and give its process."""
    seed = f"{sites.origin('tree')}/p/0.html"
    command = [sys.executable, "-m", "tests.engine.roaming", str(tmp_path), "0.05", seed]
    process = subprocess.Popen(command, cwd=HERE, start_new_session=True, stderr=subprocess.DEVNULL)
    until = time.monotonic() + PATIENCE
    while visits(tmp_path) < 10:
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.02)
    yield process
    if process.poll() is None:
        process.kill()
        process.wait()


def visits(root):
    if not (root / "ledger.sqlite").exists():
        return 0
    try:
        return told(root, "SELECT count(*) FROM attempt WHERE status = 200")[0][0]
    except sqlite3.OperationalError:
        return 0


def asked(sites, before):
    return [line.path for line in sites.lines()[before:] if line.host == HOSTS["tree"] and line.path != "/robots.txt"]


def test_the_first_wish_to_stop_finishes_what_is_in_hand(sites, begun, tmp_path):
    before = len(sites.lines())
    begun.send_signal(signal.SIGINT)
    assert begun.wait(PATIENCE) == 130
    assert len(asked(sites, before)) < FEW, "the rest of the addresses in hand is not asked"
    done = told(tmp_path, "SELECT count(*) FROM attempt WHERE kind = 0")[0][0]
    assert 10 <= done < 128
    assert told(tmp_path, "SELECT count(*) FROM address WHERE due = 0")[0][0] > 10
    assert told(tmp_path, "SELECT DISTINCT failed FROM task_end") == [(0,)]
    assert faults(tmp_path) == []


def test_the_second_wish_stops_at_once(sites, begun, tmp_path):
    before = len(sites.lines())
    begun.send_signal(signal.SIGINT)
    begun.send_signal(signal.SIGINT)
    time.sleep(0.01)
    begun.send_signal(signal.SIGINT)
    assert begun.wait(PATIENCE) != 0
    assert len(asked(sites, before)) < FEW
    assert told(tmp_path, "SELECT count(*) FROM address WHERE due = 0")[0][0] > 0


def test_a_fetcher_that_dies_loses_nothing(sites, begun, tmp_path):
    before = len(sites.lines())
    children = Path(f"/proc/{begun.pid}/task/{begun.pid}/children").read_text().split()
    forks = [int(one) for child in children for one in grandchildren(int(child))]
    working = [pid for pid in forks if connected(pid, sites.port)]
    assert len(working) == 1, "one process walks the host"
    os.kill(working[0], signal.SIGKILL)
    known = visits(tmp_path)
    until = time.monotonic() + PATIENCE
    while visits(tmp_path) < known + 20:
        assert begun.poll() is None
        assert time.monotonic() < until, "the walk goes on in another process"
        time.sleep(0.05)
    begun.send_signal(signal.SIGINT)
    assert begun.wait(PATIENCE) == 130
    paths = asked(sites, before)
    assert len(paths) - len(set(paths)) <= 6, "what it had not told of yet is asked again"
    lost = told(
        tmp_path, "SELECT count(*) FROM attempt WHERE kind = 0 AND address <> 0 GROUP BY address HAVING count(*) > 1"
    )
    assert lost == [], "and is on record once"
    assert faults(tmp_path) == []


def grandchildren(pid):
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def connected(pid, port):
    """Tell whether a process has a connection to a port."""
    inodes = set()
    for path in Path(f"/proc/{pid}/fd").iterdir():
        try:
            name = str(path.readlink())
        except OSError:
            continue
        if name.startswith("socket:["):
            inodes.add(name[8:-1])
    for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]:
        words = line.split()
        if words[9] in inodes and words[2].endswith(f":{port:04X}"):
            return True
    return False


def test_the_next_run_goes_on(sites, begun, tmp_path):
    begun.send_signal(signal.SIGTERM)
    assert begun.wait(PATIENCE) == 130
    before = len(sites.lines())
    first = {url for (url,) in told(tmp_path, "SELECT a.url FROM attempt v JOIN address a ON a.digest = v.address")}
    assert roam(tmp_path, source([f"{sites.origin('tree')}/p/0.html"])) == 0
    again = {f"{sites.origin('tree')}{path}" for path in asked(sites, before)}
    assert again & first == set()
    assert len(again | first) == 1501
