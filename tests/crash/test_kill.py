"""kill -9 in every phase, then run again: the tables are the same as without the kill."""

import sqlite3
from contextlib import closing

import pytest

from tests.crash.workspace import (
    LISTING,
    STEPPED,
    find_faults,
    finish_run,
    kill_when,
    make_workspace,
    reached_query,
    read_tables,
)
from windrow.archive import open_capture
from windrow.demo.partner import drop
from windrow.digest import digest
from windrow.model import ArchivePlace, Status

# A zip's name is judged when it is listed (bad) or stamped after its transfer (good). `qc` is for others to write.
MOMENTS = [
    ("download", Status.PENDING), ("download", Status.DONE), ("zip_name", Status.FAILED), ("zip_name", Status.DONE),
    ("zip_md5", Status.DONE), ("unzip", Status.RUNNING), ("unzip", Status.DONE), ("unzip", Status.FAILED),
    ("xml_name", Status.DONE), ("xsd", Status.RUNNING), ("xsd", Status.FAILED), ("xsd", Status.DONE), ("upload", Status.RUNNING), ("upload", Status.DONE),
    ("data", Status.RUNNING), ("data", Status.DONE), ("context", Status.DONE), ("overview", Status.DONE),
]  # fmt: skip
QC = 11


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """Return the tables after a run that is not killed."""
    root = make_workspace(tmp_path_factory.mktemp("whole"))
    assert finish_run(root) == 0
    rows_by_table = read_tables(root)
    assert len(rows_by_table["zip_action"]) == 10
    assert len(rows_by_table["entity"]) > 300
    return rows_by_table


@pytest.mark.parametrize(("phase", "status"), MOMENTS, ids=lambda value: getattr(value, "name", value))
def test_killed_at_a_phase(tmp_path, expected, phase, status):
    root = make_workspace(tmp_path / "w")
    kill_when(root, reached_query(phase, status))
    finish_run(root)
    assert read_tables(root) == expected
    assert find_faults(root) == []


def test_killed_while_listing(tmp_path, expected):
    root = make_workspace(tmp_path / "w")
    kill_when(root, LISTING)
    with closing(sqlite3.connect(root / "ledger.sqlite")) as ledger, ledger:
        assert ledger.execute("SELECT count(*) FROM attempt").fetchone() == (0,)
    finish_run(root)
    assert read_tables(root) == expected
    assert find_faults(root) == []


def test_what_others_moved_to_qc_stays_there(tmp_path, expected):
    """Quality control is another program's phase: neither a crash nor the next run takes its rows back."""
    root = make_workspace(tmp_path / "w")
    finish_run(root)
    chosen = "id IN (SELECT min(id) FROM xml_file WHERE phase_id = 10 UNION SELECT max(id) FROM xml_file WHERE phase_id = 10)"
    with closing(sqlite3.connect(root / "tracker.sqlite")) as tracker, tracker:
        tracker.execute(f"UPDATE xml_file SET phase_id = {QC}, status_id = 2 WHERE {chosen}")
    name, content = drop("H", "2026-01-14", 3, 2)
    (root / "drop/H/add" / name).write_bytes(content)
    through = sum(row[4:] == (10, 3) for row in expected["xml_file"])
    loads = "SELECT count(*) FROM reading WHERE step = 'upload'"
    with closing(sqlite3.connect(root / "ledger.sqlite")) as ledger, ledger:
        (before,) = ledger.execute(loads).fetchone()
    kill_when(root, f"SELECT ({loads}) > {before}")
    finish_run(root)
    with closing(sqlite3.connect(root / "tracker.sqlite")) as tracker, tracker:
        rows = tracker.execute("SELECT phase_id, status_id, count(*) FROM xml_file WHERE phase_id >= 10 GROUP BY 1, 2")
        assert rows.fetchall() == [(10, 3, through + 4 - 2), (QC, 2, 2)]
    assert find_faults(root) == []


@pytest.mark.parametrize("steps", [5, 35, 65])
def test_killed_again_and_again(tmp_path, expected, steps):
    """A run begins or ends the steps of its zips and documents more than 240 times."""
    root = make_workspace(tmp_path / "w")
    for kill in range(1, 4):
        kill_when(root, f"SELECT {STEPPED} >= {kill * steps}")
    finish_run(root)
    assert read_tables(root) == expected


def test_every_capture_the_ledger_promises_is_in_the_archive(tmp_path):
    root = make_workspace(tmp_path / "w")
    for captures in (1, 5, 9):
        kill_when(root, f"SELECT count(*) >= {captures} FROM attempt WHERE end_seq > 0")
    finish_run(root)
    with closing(sqlite3.connect(root / "ledger.sqlite")) as ledger, ledger:
        rows = ledger.execute(
            "SELECT warc, place_offset, place_length, digest FROM attempt WHERE end_seq > 0 AND reason IS NULL AND revisit = 0"
        ).fetchall()
    assert len(rows) == 9
    for *place, name in rows:
        with open_capture(root / "archive", ArchivePlace(*place)) as view:
            assert digest(view.read()) == name


def test_a_run_that_is_not_disturbed_changes_nothing_when_repeated(tmp_path, expected):
    root = make_workspace(tmp_path / "w")
    finish_run(root)
    finish_run(root)
    assert read_tables(root) == expected
