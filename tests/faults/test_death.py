"""Processes of the run that die: others do their work, or it is refused with its reason."""

import os
import random
import signal
import time
from contextlib import suppress

import pytest

from tests.faults.lineage import descendants, has_open, is_fetcher, is_reader, workers
from tests.faults.server import rogue_server
from tests.faults.workspace import DAY, put
from tests.waiting import PATIENCE, until
from windrow.archive.capture_sink import OVERLAP_BYTES
from windrow.demo.partner import drop, pack, specimens
from windrow.model import Status

LARGE = pack({f"H.{DAY}.1.specimen.impc.xml": specimens("H", 1, 3), "plot.png": random.Random(5).randbytes(4 << 20)})
KEY = f"add/H.{DAY}.5.impc.zip"
SECRET = {"secret": "env:HOME", "timeout": 60}
# A pattern that takes for ever on some names, and a zip with such a name.
HANGING = r"""[drops]
xml_name = '(?P<centre>([A-Za-z_]+)+)\.(?P<date>\d{4}-\d\d-\d\d)\.(?P<inc>\d+)\.(?P<kind>\w+)\.impc\.xml'
"""
SOUND = f"H.{DAY}.1.specimen.impc.xml"
HANGED = pack({SOUND: specimens("H", 1, 3), f"{'x' * 60}!.xml": b"<x/>"})


def test_a_fetcher_that_is_killed_in_mid_transfer(make_workspace):
    """Another fetcher takes over, and resumes at the byte where the first one died."""
    workspace = make_workspace()
    good = workspace.add_healthy()
    others = {f"add/{name}": content for name, content in (drop("H", DAY, number) for number in range(10, 20))}
    with rogue_server(files={KEY: LARGE, **others}, rate=2e6) as server:
        workspace.add_source("slow", server.url(), attempts=3, connections=2, **SECRET)
        process = workspace.start()
        dead = None
        while dead is None:
            assert process.poll() is None
            dead = next((pid for pid in workers(process.pid) if has_open(pid, "/parts/")), None)
            time.sleep(0.01)
        time.sleep(0.7)  # the transfer is on record as begun, and some of it is here
        os.kill(dead, signal.SIGKILL)
        assert workspace.finish(process) == 0
        starts = sorted(set(server.started))
        assert len(starts) == 2
        assert 0 < starts[1] < len(LARGE)
    workspace.assert_complete(good, KEY, *others)
    assert [row[1] for row in workspace.attempts(KEY)] == ["interrupted", None]
    assert "a fetcher process ended with exit code -9" in workspace.attempts(KEY)[0][3]
    assert workspace.attempts(KEY)[-1][2] == len(LARGE) - starts[1] - OVERLAP_BYTES
    assert "a fetcher process ended with exit code -9" in workspace.tasks("slow")[1][2]


def test_a_worker_that_is_killed(make_workspace):
    """Another worker reads its document; nothing is lost, and nothing counts as failed."""
    workspace = make_workspace()
    good = workspace.add_healthy()
    folder = workspace.add_folder("own")
    keys = [put(folder, *drop("H", DAY, number, 8)) for number in range(10, 40)]
    process = workspace.start()
    killed = []

    until(lambda: workspace.has_reached("xsd", Status.RUNNING))
    for pid in workers(process.pid):
        if not is_fetcher(pid):
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)
    assert killed
    assert workspace.finish(process) == 0
    workspace.assert_complete(good, *keys)


def test_a_zip_over_which_workers_die_again_and_again(make_workspace):
    """It is refused after two deaths and its task fails; the others are loaded; a retry succeeds."""
    workspace = make_workspace(HANGING)
    good = workspace.add_healthy()
    key = put(workspace.add_folder("own"), f"H.{DAY}.7.impc.zip", HANGED)
    process = workspace.start()
    deaths = 0
    while process.poll() is None and deaths < 5:
        for pid in [pid for pid in workers(process.pid) if is_reader(pid)]:
            time.sleep(0.3)  # it is at victims takes for ever by now
            if pid in workers(process.pid):
                with suppress(ProcessLookupError):  # it ends meanwhile
                    os.kill(pid, signal.SIGKILL)
                    deaths += 1
    assert deaths >= 2  # a busy machine lets it meet a worker at another document too
    assert workspace.finish(process) == 3
    assert workspace.item_state(key) == ("unzip", "failed", "worker_died")
    assert workspace.zip_log(key) == [("WorkerDied", "its process ended twice, the last time with exit code -9")]
    assert workspace.session_status() > 0
    workspace.assert_complete(good)

    workspace.configure()
    workspace.retry(key)
    assert workspace.run().code == 0
    assert workspace.item_state(f"{key}/{SOUND}") == ("overview", "done", None)
    assert workspace.action_state(key) == ("xml_name", "failed")
    workspace.assert_complete(good)


def test_a_zip_that_hangs(make_workspace):
    workspace = make_workspace(f"[limits]\ncpu_time = 1.5\n{HANGING}")
    good = workspace.add_healthy()
    key = put(workspace.add_folder("own"), f"H.{DAY}.7.impc.zip", HANGED)
    began = time.monotonic()
    assert workspace.run().code == 3
    assert time.monotonic() - began < PATIENCE
    assert workspace.item_state(key) == ("unzip", "failed", "time_limit")
    assert workspace.zip_log(key) == [("TimeLimit", "stopped after 1.5 seconds of CPU time")]
    assert workspace.tasks("own")[-1][0] == 1
    workspace.assert_complete(good)
    assert [workspace.run().code, workspace.run().code] == [3, 0]  # it is tried once more, and then it rests
    (count,) = workspace.status().unread
    assert (count.phase, count.reason, count.documents) == ("unzip", "time_limit", 1)

    workspace.configure()
    workspace.retry(key)
    assert workspace.run().code == 0
    assert workspace.status().unread == ()
    assert workspace.item_state(f"{key}/{SOUND}") == ("overview", "done", None)
    assert workspace.action_state(key) == ("xml_name", "failed")
    workspace.assert_complete(good)


@pytest.mark.parametrize("victims", ["fork server", "everything"])
def test_all_below_the_run_is_killed(make_workspace, victims):
    workspace = make_workspace()
    good = workspace.add_healthy()
    folder = workspace.add_folder("own")
    keys = [put(folder, *drop("H", DAY, number, 2)) for number in range(10, 20)]
    process = workspace.start()
    until(lambda: len(workers(process.pid)) > 0)
    every = descendants(process.pid)
    server = {every[pid] for pid in workers(process.pid) if pid in every}  # some have ended since
    for pid in server if victims == "fork server" else [*server, *every]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    workspace.finish(process)
    assert workspace.run().code == 0
    workspace.assert_complete(good, *keys)
