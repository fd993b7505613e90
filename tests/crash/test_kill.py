"""kill -9 in every phase, then run again: the tables are the same as without the kill."""

import sqlite3
import subprocess
import time

import pytest

from tests.crash.place import finish, kill, kill_when, make, start, tables
from windrow.collections.drops.phase import PHASES
from windrow.digest import digest
from windrow.model import Place, Status
from windrow.stores.archive import open_capture

MOMENTS = [
    ("download", Status.PENDING), ("download", Status.DONE), ("unzip", Status.RUNNING), ("unzip", Status.DONE),
    ("xsd", Status.RUNNING), ("xsd", Status.DONE), ("upload", Status.RUNNING), ("upload", Status.DONE),
    ("data", Status.RUNNING), ("data", Status.DONE), ("context", Status.DONE), ("overview", Status.DONE),
]  # fmt: skip


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """What an undisturbed run leaves."""
    root = make(tmp_path_factory.mktemp("whole"))
    assert finish(root) == 0
    found = tables(root)
    assert len(found["zip_action"]) == 16
    assert len(found["entity"]) > 500
    return found


@pytest.mark.parametrize(("phase", "status"), MOMENTS, ids=lambda value: getattr(value, "name", value))
def test_killed_at_a_phase(tmp_path, expected, phase, status):
    root = make(tmp_path / "w")
    assert kill_when(root, PHASES.index(phase) + 1, status)
    finish(root)
    assert tables(root) == expected


@pytest.mark.parametrize("seconds", [0.6, 1.2, 1.8, 2.4, 3.0])
def test_killed_again_and_again(tmp_path, expected, seconds):
    root = make(tmp_path / "w")
    for turn in range(3):
        process = start(root)
        try:
            process.wait(timeout=seconds + turn * 0.35)
        except subprocess.TimeoutExpired:
            kill(process)
        else:
            process.communicate()
    finish(root)
    assert tables(root) == expected


def test_every_capture_the_ledger_promises_is_in_the_archive(tmp_path):
    root = make(tmp_path / "w")
    process = start(root)
    time.sleep(2.0)
    kill(process)
    finish(root)
    with sqlite3.connect(root / "ledger.sqlite") as ledger:
        rows = ledger.execute(
            "SELECT warc, place_offset, place_length, digest FROM fetch_end WHERE reason IS NULL AND revisit = 0"
        ).fetchall()
    assert len(rows) == 15
    for *place, name in rows:
        with open_capture(root / "archive", Place(*place)) as view:
            assert digest(view.read()) == name


def test_a_run_that_is_not_disturbed_changes_nothing_when_repeated(tmp_path, expected):
    root = make(tmp_path / "w")
    finish(root)
    finish(root)
    assert tables(root) == expected
