"""A crawl that is stopped or killed: requests under way are finished or still due, and nothing is requested twice."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests import programs
from tests.engine.site_crawl import crawl_sites, faults, query_ledger, source
from tests.servers.sites import HOSTS

HERE = Path(__file__).parents[2]
PATIENCE = 120
"""Seconds that a busy machine may take for anything."""
FEW = 60
"""More requests than a stopping crawl sends: with its delay they would take three seconds."""


@pytest.fixture
def crawl(sites, tmp_path):
    """Start a crawl of one host with a delay, wait until it is under way, and yield its process."""
    seed = f"{sites.origin('tree')}/p/0.html"
    process = programs.start("-m", "tests.engine.site_crawl", tmp_path, "0.05", seed, cwd=HERE)
    until = time.monotonic() + PATIENCE
    while count_pages(tmp_path) < 10:
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.02)
    yield process
    if process.poll() is None:
        process.kill()
        process.wait()


def count_pages(root):
    if not (root / "ledger.sqlite").exists():
        return 0
    try:
        return query_ledger(root, "SELECT count(*) FROM attempt WHERE status = 200")[0][0]
    except sqlite3.OperationalError:
        return 0


def requested_paths(sites, before):
    return [line.path for line in sites.lines()[before:] if line.host == HOSTS["tree"] and line.path != "/robots.txt"]


def test_the_first_wish_to_stop_finishes_what_is_in_hand(sites, crawl, tmp_path):
    before = len(sites.lines())
    crawl.send_signal(signal.SIGINT)
    assert crawl.wait(PATIENCE) == 130
    assert len(requested_paths(sites, before)) < FEW, "the rest of the addresses in hand is not asked"
    done = query_ledger(tmp_path, "SELECT count(*) FROM attempt WHERE kind = 0")[0][0]
    assert 10 <= done < 128
    assert query_ledger(tmp_path, "SELECT count(*) FROM address WHERE due = 0")[0][0] > 10
    assert query_ledger(tmp_path, "SELECT DISTINCT failed FROM task_end") == [(0,)]
    assert faults(tmp_path) == []


def test_the_second_wish_stops_at_once(sites, crawl, tmp_path):
    before = len(sites.lines())
    crawl.send_signal(signal.SIGINT)
    crawl.send_signal(signal.SIGINT)
    time.sleep(0.01)
    crawl.send_signal(signal.SIGINT)
    assert crawl.wait(PATIENCE) != 0
    assert len(requested_paths(sites, before)) < FEW
    assert query_ledger(tmp_path, "SELECT count(*) FROM address WHERE due = 0")[0][0] > 0


def test_a_fetcher_that_dies_loses_nothing(sites, crawl, tmp_path):
    before = len(sites.lines())
    working = [
        int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit() and connected(each, sites.port)
    ]
    assert len(working) == 1, "one process walks the host"
    os.kill(working[0], signal.SIGKILL)
    known = count_pages(tmp_path)
    until = time.monotonic() + PATIENCE
    while count_pages(tmp_path) < known + 20:
        assert crawl.poll() is None
        assert time.monotonic() < until, "the walk goes on in another process"
        time.sleep(0.05)
    crawl.send_signal(signal.SIGINT)
    assert crawl.wait(PATIENCE) == 130
    paths = requested_paths(sites, before)
    assert len(paths) - len(set(paths)) <= 6, "what it had not told of yet is asked again"
    lost = query_ledger(
        tmp_path, "SELECT count(*) FROM attempt WHERE kind = 0 AND address <> 0 GROUP BY address HAVING count(*) > 1"
    )
    assert lost == [], "and is on record once"
    assert faults(tmp_path) == []


def connected(process, port):
    """Return whether a process, a folder of /proc, has a connection to a port."""
    inodes = set()
    with suppress(OSError):  # it is another user's, or has ended
        for path in (process / "fd").iterdir():
            with suppress(OSError):
                name = str(path.readlink())
                if name.startswith("socket:["):
                    inodes.add(name[8:-1])
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:] if inodes else ():
        words = line.split()
        if words[9] in inodes and words[2].endswith(f":{port:04X}"):
            return True
    return False


def test_the_next_run_goes_on(sites, crawl, tmp_path):
    crawl.send_signal(signal.SIGTERM)
    assert crawl.wait(PATIENCE) == 130
    before = len(sites.lines())
    first = {
        url for (url,) in query_ledger(tmp_path, "SELECT a.url FROM attempt v JOIN address a ON a.digest = v.address")
    }
    assert crawl_sites(tmp_path, source([f"{sites.origin('tree')}/p/0.html"])) == 0
    again = {f"{sites.origin('tree')}{path}" for path in requested_paths(sites, before)}
    assert again & first == set()
    assert len(again | first) == 1501
