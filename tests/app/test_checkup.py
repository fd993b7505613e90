"""`windrow check` finds each kind of damage, and the advised command repairs it."""

import os
import shutil
import sqlite3
from contextlib import closing

import pytest

import windrow
from tests.crash.workspace import finish_run, make_workspace, open_files, read_tables
from windrow.app.check import check_workspace
from windrow.collections.drops.adapter.replay import replay
from windrow.engine.progress import Progress
from windrow.errors import StoreError


@pytest.fixture(scope="module")
def harvested(tmp_path_factory):
    root = make_workspace(tmp_path_factory.mktemp("harvested") / "w", zips=2, documents=2)
    assert finish_run(root) == 0
    assert faults(root) == []
    return root


@pytest.fixture
def root(harvested, tmp_path):
    """Return the harvested workspace, whose sources have absolute addresses; put it back as it was at the end."""
    shutil.copytree(harvested, tmp_path / "whole")
    yield harvested
    shutil.rmtree(harvested)
    shutil.move(tmp_path / "whole", harvested)


def faults(root):
    workspace = windrow.open(root)
    ledger = workspace.ledger()
    try:
        return check_workspace(workspace.config, ledger).faults
    finally:
        ledger.close()


def change(path, text):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(text)
        assert connection.execute("SELECT changes()").fetchone()[0], "nothing was damaged"
    connection.close()


def read_again(root):
    workspace = windrow.open(root)
    return replay(workspace.config, workspace.setup, Progress(quiet=True))


def test_a_flipped_byte_in_a_capture(root):
    with closing(sqlite3.connect(root / "ledger.sqlite")) as ledger, ledger:
        warc, offset, length = ledger.execute("SELECT warc, place_offset, place_length FROM attempt").fetchone()
    path = root / "archive" / warc
    whole = path.read_bytes()
    damaged = bytearray(whole)
    damaged[offset + length - 20] ^= 1
    path.write_bytes(damaged)
    wrong = faults(root)
    assert [fault.location for fault in wrong] == [f"the record at byte {offset:,} of {warc}"]
    assert f"restore {warc} from a backup" in wrong[0].hint
    path.write_bytes(whole)
    assert faults(root) == []


def test_what_is_named_like_a_warc_file_and_is_no_file(root):
    os.mkfifo(root / "archive" / "pipe.warc")
    (root / "archive" / "folder.warc.gz").mkdir()
    assert [fault.location for fault in faults(root)] == ["folder.warc.gz", "pipe.warc"]


@pytest.mark.parametrize("damage", ["missing", "changed"])
def test_an_index(root, damage):
    index = next((root / "archive").glob("*.cdxj"))
    whole = index.read_bytes()
    if damage == "changed":
        index.write_bytes(whole[1:])
    else:
        index.unlink()
    wrong = faults(root)
    assert [fault.location for fault in wrong] == [index.name]
    assert "windrow run rebuilds it" in wrong[0].hint
    index.unlink(missing_ok=True)
    assert finish_run(root) == 0
    assert index.read_bytes() == whole
    assert faults(root) == []


@pytest.mark.parametrize("table", ["mouse", "submission"])
def test_a_lost_row(root, table):
    before = read_tables(root)
    change(root / "drops.sqlite", f"DELETE FROM {table} WHERE id IN (SELECT min(id) FROM {table})")
    wrong = faults(root)
    assert len(wrong) == 1
    assert wrong[0].hint == "windrow replay"
    assert read_again(root).changes == ()
    assert faults(root) == []
    assert read_tables(root) == before


def test_a_store_that_is_gone(root):
    before = read_tables(root)
    for path in root.glob("drops.sqlite*"):
        path.unlink()
    assert [tuple(fault) for fault in faults(root)] == [("store", "does not exist", "windrow replay")]
    assert "drops.store has no tables" in windrow.open(root).status().problems[0]
    assert not (root / "drops.sqlite").exists()
    for _ in range(2):
        with pytest.raises(StoreError, match="has no tables, although documents were read") as error:
            windrow.open(root).run()
        assert error.value.hint == "windrow replay"
    assert [error for error in windrow.open(root).status().last.errors if "windrow replay" in error]
    assert read_again(root).changes == ()
    assert faults(root) == []
    assert read_tables(root) == before
    assert finish_run(root) == 0


@pytest.mark.parametrize(
    "as_before",
    [
        "DELETE FROM submission WHERE item IN (SELECT max(item) FROM submission)",
        "UPDATE submission SET published_at = NULL WHERE item IN (SELECT max(item) FROM submission)",
    ],
)
def test_a_run_refuses_a_store_that_is_an_older_copy(root, as_before):
    change(root / "drops.sqlite", as_before)
    assert any("drops.store is an older copy: it lacks" in problem for problem in windrow.open(root).status().problems)
    with pytest.raises(StoreError, match=r"is an older copy: it lacks .*xml, the last document") as error:
        windrow.open(root).run()
    assert error.value.hint == "windrow replay"
    assert [error for error in windrow.open(root).status().last.errors if "is an older copy" in error]


def test_a_changed_row_of_the_tracker(root):
    before = read_tables(root)
    change(
        root / "tracker.sqlite",
        "UPDATE zip_action SET status_id = 5 WHERE id IN (SELECT min(id) FROM zip_action WHERE status_id = 3)",
    )
    wrong = faults(root)
    assert {fault.location for fault in wrong} == {"tracker, zip"}
    assert "windrow run" in wrong[0].hint
    for path in root.glob("tracker.sqlite*"):
        path.unlink()
    assert finish_run(root) == 0
    assert faults(root) == []
    assert read_tables(root)["zip_action"] == before["zip_action"]


@pytest.mark.parametrize("table", ["session_task", "crawling_session", "file_source_has_zip", "zip_download"])
def test_a_table_of_the_tracker_that_was_emptied_is_told_and_mended(root, table):
    before = read_tables(root)
    change(root / "tracker.sqlite", f"DELETE FROM {table}")
    wrong = faults(root)
    assert [fault.location for fault in wrong] == [f"tracker, {table}"]
    assert "windrow run" in wrong[0].hint
    for path in root.glob("tracker.sqlite*"):
        path.unlink()
    assert finish_run(root) == 0
    assert faults(root) == []
    assert read_tables(root)["zip_download"] == before["zip_download"]


@pytest.mark.parametrize("table", ["xml_log", "zip_action"])
def test_a_table_of_the_tracker_that_was_dropped_is_told(root, table):
    with closing(sqlite3.connect(root / "tracker.sqlite")) as tracker, tracker:
        tracker.execute(f"DROP TABLE {table}")
    tracker.close()
    assert [(fault.location, fault.problem) for fault in faults(root)] == [(f"tracker, {table}", "does not exist")]
    assert open_files(root) == []


def test_a_row_that_a_person_deleted_from_a_log_of_the_tracker_is_no_fault(root):
    change(root / "tracker.sqlite", "DELETE FROM session_task WHERE id = 1")
    assert faults(root) == []


def test_a_store_of_another_version_is_told_and_mended(root):
    before = read_tables(root)
    change(root / "drops.sqlite", "DELETE FROM context")
    with closing(sqlite3.connect(root / "drops.sqlite")) as store, store:
        for name, text in store.execute("SELECT name, type FROM sqlite_master WHERE type = 'view'").fetchall():
            store.execute(f"DROP {text} {name}")
        store.execute("ALTER TABLE context DROP COLUMN last_change")
    store.close()
    with pytest.raises(
        StoreError, match="the table context was created by another version of windrow and lacks last_change"
    ) as error:
        windrow.open(root).run()
    assert "windrow replay" in error.value.hint
    assert read_again(root).changes == ()
    assert read_tables(root) == before
    assert finish_run(root) == 0


def test_a_store_that_lost_what_was_staged_says_what_brings_it_back(tmp_path):
    root = make_workspace(tmp_path / "w", zips=1, documents=2)
    windrow.open(root).run(last="upload")
    change(root / "drops.sqlite", "DELETE FROM submission WHERE id IN (SELECT min(id) FROM submission)")
    for _ in range(2):
        with pytest.raises(StoreError, match="is missing from the store") as error:
            windrow.open(root).run()
        assert error.value.hint == "windrow replay"
    read_again(root)
    assert finish_run(root) == 0
    assert faults(root) == []
