"""Processes of the run that die: what they had in hand is done by others, or refused with its reason."""

import os
import random
import signal
import time

import pytest

from tests.faults.lineage import below, fetches, forked, holds, reads
from tests.faults.place import DAY, put
from tests.faults.server import rogue
from tests.waiting import PATIENCE, until
from windrow.demo.partner import drop, pack, specimens
from windrow.model import Status

LARGE = pack({f"H.{DAY}.1.specimen.impc.xml": specimens("H", 1, 3), "plot.png": random.Random(5).randbytes(4 << 20)})
KEY = f"add/H.{DAY}.5.impc.zip"
SECRET = {"secret": "env:HOME", "timeout": 60}
# A pattern of the workspace's own that never comes to an end on some names, and a zip with such a name.
HANGING = r"""[drops]
xml_name = '(?P<centre>([A-Za-z_]+)+)\.(?P<date>\d{4}-\d\d-\d\d)\.(?P<inc>\d+)\.(?P<kind>\w+)\.impc\.xml'
"""
SOUND = f"H.{DAY}.1.specimen.impc.xml"
HANGED = pack({SOUND: specimens("H", 1, 3), f"{'x' * 60}!.xml": b"<x/>"})


def test_a_fetcher_that_is_killed_in_mid_transfer(place):
    """Its lanes go to another one, which goes on at the byte where the first one died."""
    made = place()
    good = made.healthy()
    others = {f"add/{name}": content for name, content in (drop("H", DAY, number) for number in range(10, 20))}
    with rogue(files={KEY: LARGE, **others}, rate=2e6) as server:
        made.source("slow", server.url(), attempts=3, connections=2, **SECRET)
        process = made.start()
        dead = None
        while dead is None:
            assert process.poll() is None
            dead = next((pid for pid in forked(process.pid) if holds(pid, "/parts/")), None)
            time.sleep(0.01)
        time.sleep(0.7)  # the transfer is on record as begun, and some of it is here
        os.kill(dead, signal.SIGKILL)
        assert made.finish(process) == 0
        starts = sorted(set(server.started))
        assert len(starts) == 2
        assert 0 < starts[1] < len(LARGE)
    made.whole(good, KEY, *others)
    assert [row[1] for row in made.fetches(KEY)] == ["interrupted", None]
    assert "a fetcher process ended with -9" in made.fetches(KEY)[0][3]
    assert made.fetches(KEY)[-1][2] == len(LARGE) - starts[1]
    assert "a fetcher process ended with -9" in made.tasks("slow")[1][2]


def test_a_worker_that_is_killed(place):
    """The document it had in hand is read by another one; nothing of it is lost, and nobody is blamed."""
    made = place()
    good = made.healthy()
    folder = made.folder("own")
    keys = [put(folder, *drop("H", DAY, number, 8)) for number in range(10, 40)]
    process = made.start()
    killed = []

    until(lambda: made.reached("xsd", Status.RUNNING))
    for pid in forked(process.pid):
        if not fetches(pid):
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)
    assert killed
    assert made.finish(process) == 0
    made.whole(good, *keys)


def test_a_zip_over_which_workers_die_again_and_again(place):
    """It is refused after two deaths and its task has failed; the others are loaded; a retry heals it."""
    made = place(HANGING)
    good = made.healthy()
    key = put(made.folder("own"), f"H.{DAY}.7.impc.zip", HANGED)
    process = made.start()
    deaths = 0
    while process.poll() is None and deaths < 5:
        for pid in [pid for pid in forked(process.pid) if reads(pid)]:
            time.sleep(0.3)  # it is at what takes for ever by now
            if pid in forked(process.pid):
                os.kill(pid, signal.SIGKILL)
                deaths += 1
    assert deaths >= 2  # a busy machine lets it meet a worker at another document too
    assert made.finish(process) == 3
    assert made.item(key) == ("unzip", "failed", "worker_died")
    assert made.zip_log(key) == [("WorkerDied", "its process ended twice, with -9")]
    assert made.session() > 0
    made.whole(good)

    made.configure()
    made.retry(key)
    assert made.run().code == 0
    assert made.item(f"{key}/{SOUND}") == ("overview", "done", None)
    assert made.action(key) == ("xml_name", "failed")
    made.whole(good)


def test_a_zip_that_hangs(place):
    made = place(f"[limits]\ncpu_time = 1.5\n{HANGING}")
    good = made.healthy()
    key = put(made.folder("own"), f"H.{DAY}.7.impc.zip", HANGED)
    began = time.monotonic()
    assert made.run().code == 3
    assert time.monotonic() - began < PATIENCE
    assert made.item(key) == ("unzip", "failed", "time_limit")
    assert made.zip_log(key) == [("TimeLimit", "stopped after 1.5 seconds of CPU time")]
    assert made.tasks("own")[-1][0] == 1
    made.whole(good)
    assert [made.run().code, made.run().code] == [3, 0]  # it is tried once more, and then it rests
    (count,) = made.status().unread
    assert (count.phase, count.reason, count.documents) == ("unzip", "time_limit", 1)

    made.configure()
    made.retry(key)
    assert made.run().code == 0
    assert made.status().unread == ()
    assert made.item(f"{key}/{SOUND}") == ("overview", "done", None)
    assert made.action(key) == ("xml_name", "failed")
    made.whole(good)


@pytest.mark.parametrize("what", ["fork server", "everything"])
def test_all_below_the_run_is_killed(place, what):
    made = place()
    good = made.healthy()
    folder = made.folder("own")
    keys = [put(folder, *drop("H", DAY, number, 2)) for number in range(10, 20)]
    process = made.start()
    until(lambda: len(forked(process.pid)) > 0)
    every = below(process.pid)
    server = {every[pid] for pid in forked(process.pid) if pid in every}  # some have ended since
    for pid in server if what == "fork server" else [*server, *every]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    made.finish(process)
    assert made.run().code == 0
    made.whole(good, *keys)
