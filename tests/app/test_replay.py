"""A replay with the same readers gives the same tables; with other readers, those of a first run with them."""

import os
import shutil
import signal
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

import windrow
from tests.crash.workspace import STORE, find_faults, finish_run, make_workspace, read_tables
from windrow.collections.drops.adapter.replay import replay
from windrow.collections.drops.settings import Drops
from windrow.contract import Load
from windrow.engine.progress import Progress
from windrow.engine.steps.stepping import take_step
from windrow.errors import ReaderFailed, Stopped, StoreError
from windrow.settings.configuration import DatabaseAddress


@pytest.fixture(scope="module")
def harvested(tmp_path_factory):
    root = make_workspace(tmp_path_factory.mktemp("replay"), zips=2, documents=2)
    assert finish_run(root) == 0
    return root


def run_replay(root):
    workspace = windrow.open(root)
    return replay(workspace.config, workspace.setup, Progress(quiet=True))


def test_the_same_readers_give_the_same_tables(harvested):
    before = read_tables(harvested)
    with closing(sqlite3.connect(harvested / "drops.sqlite")) as reader:  # a reader keeps the old rows meanwhile
        rows = reader.execute("SELECT count(*) FROM submission").fetchone()
        report = run_replay(harvested)
        assert reader.execute("SELECT count(*) FROM submission").fetchone() == rows
    assert report.changes == ()
    assert read_tables(harvested) == before
    with (
        closing(sqlite3.connect(harvested / "drops.sqlite")) as store,
        closing(sqlite3.connect(harvested / "ledger.sqlite")) as ledger,
    ):
        items = {row[0] for row in ledger.execute("SELECT seq FROM member")}
        assert {row[0] for row in store.execute("SELECT item FROM submission")} <= items
    with closing(sqlite3.connect(harvested / "tracker.sqlite")) as tracker, tracker:  # its session is closed there too
        assert tracker.execute("SELECT count(*) FROM crawling_session WHERE finish_time IS NULL").fetchone() == (0,)
    finish_run(harvested)
    assert read_tables(harvested) == before


def test_the_options_of_a_store_are_not_part_of_its_file_name(harvested):
    workspace = windrow.open(harvested)
    store = DatabaseAddress(f"sqlite:///{harvested}/drops.sqlite?timeout=5")
    drops = replace(workspace.config.section(Drops), store=store)
    replay(workspace.config.with_section("drops", drops), workspace.setup, Progress(quiet=True))
    assert [path.name for path in harvested.iterdir() if "?" in path.name] == []


def test_a_replay_without_a_file_of_the_archive_leaves_the_records_where_they_are(harvested, tmp_path):
    before = read_tables(harvested)
    warc = next((harvested / "archive").glob("*.warc*"))
    warc.rename(tmp_path / warc.name)
    with pytest.raises(ReaderFailed, match=r"could not be read again \(disk_failed: \d+\), so drops.sqlite was left"):
        run_replay(harvested)
    assert {name: read_tables(harvested)[name] for name in STORE} == {name: before[name] for name in STORE}
    assert [row.reason for row in windrow.open(harvested).status().reasons].count("disk_failed") == 1, "it is open"
    (tmp_path / warc.name).rename(warc)
    shutil.copytree(harvested, tmp_path / "run")
    finish_run(tmp_path / "run")  # the bytes are the same, so no document is added
    healed = read_tables(tmp_path / "run")
    assert {name: healed[name] for name in (*STORE, "zip_action", "xml_file")} == {
        name: before[name] for name in (*STORE, "zip_action", "xml_file")
    }
    assert find_faults(tmp_path / "run") == []
    with closing(sqlite3.connect(tmp_path / "run/ledger.sqlite")) as ledger:
        assert ledger.execute("SELECT count(*) - count(DISTINCT member_key || attempt) FROM member").fetchone() == (0,)
    assert run_replay(harvested).changes
    assert {name: read_tables(harvested)[name] for name in (*STORE, "zip_action")} == {
        name: before[name] for name in (*STORE, "zip_action")
    }


def count_readings(root):
    with closing(sqlite3.connect(root / "ledger.sqlite")) as ledger:
        return ledger.execute("SELECT count(*) FROM reading").fetchone()


def raise_error(error):
    def fail(*_args):
        raise error

    return fail


@pytest.mark.parametrize(
    ("folder", "database"),
    [(".replay", "store"), (".events.db.replay", "events.db"), ("../.kept.db.replay", "kept.db")],
)
@pytest.mark.parametrize("command", ["run", "replay"])
def test_what_a_killed_replay_left_is_named_until_the_next_session_removes_it(harvested, folder, database, command):
    toml = (harvested / "windrow.toml").read_text()
    (harvested / "windrow.toml").write_text(f'{toml}\n[news]\nstore = "../kept.db"\n')
    left = harvested / folder
    left.mkdir()
    try:
        (left / database).write_bytes(b"half")
        (left / "another").touch()
        workspace = windrow.open(harvested)
        assert "the next run removes it" in workspace.status().problems[0]
        assert [fault.location for fault in workspace.check().faults] == [left.name]
        workspace.run()
        assert left.exists(), "windrow did not put the other file there"
        (left / "another").unlink()
        if command == "run":
            assert f"{left.name} was removed, which a killed replay had left" in workspace.run().repairs
        else:
            workspace.replay()
        assert not left.exists()
        assert workspace.status().problems == ()
    finally:
        shutil.rmtree(left, ignore_errors=True)
        (harvested / "windrow.toml").write_text(toml)


def test_other_readers_give_what_a_first_reading_by_them_would(harvested, tmp_path, monkeypatch):
    schemas = harvested / "schemas"
    shutil.copytree(windrow.__path__[0] + "/collections/drops/schemas", schemas)
    strict = schemas / "specimen_definition.xsd"
    strict.write_text(strict.read_text().replace('name="DOB"', 'name="born"'))
    toml = (harvested / "windrow.toml").read_text() + f'[drops.schemas]\nspecimen = "{strict}"\n'
    (harvested / "windrow.toml").write_text(toml)
    before, readings = read_tables(harvested), count_readings(harvested)
    with monkeypatch.context() as patch, pytest.raises(StoreError, match="kept"):
        patch.setattr("windrow.engine.replay._remove_log", raise_error(StoreError("a reader kept it")))
        run_replay(harvested)
    assert (read_tables(harvested), count_readings(harvested)) == (before, readings), (
        "the ledger has what the store has"
    )
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("windrow.collections.drops.adapter.replay.write_differences", raise_error(KeyboardInterrupt()))
        run_replay(harvested)
    with pytest.raises(StoreError, match="was cut off after it had made the store") as caught:
        windrow.open(harvested).run()
    assert "windrow replay drops" in caught.value.hint
    assert any("was cut off" in fault.problem for fault in windrow.open(harvested).check().faults)
    changes = run_replay(harvested).changes
    assert any(change.after == (6, 5) for change in changes)
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    (fresh / "windrow.toml").write_text(toml)
    shutil.copytree(harvested / "sources", fresh / "sources")
    finish_run(fresh)
    assert {name: read_tables(harvested)[name] for name in STORE} == {name: read_tables(fresh)[name] for name in STORE}
    assert read_tables(harvested)["zip_action"] == read_tables(fresh)["zip_action"]


def test_a_stopped_replay_leaves_store_and_ledger_as_they_were(harvested, monkeypatch):
    def stop(run, step):
        if not isinstance(step, Load):
            take_step(run, step)
        elif not run.stopping():
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr("windrow.engine.replay.take_step", stop)
    before = read_tables(harvested)
    readings = count_readings(harvested)
    with pytest.raises(Stopped, match=r"drops\.sqlite was left unchanged"):
        run_replay(harvested)
    assert count_readings(harvested) == readings
    assert read_tables(harvested) == before
    assert not (harvested / ".replay").exists()
