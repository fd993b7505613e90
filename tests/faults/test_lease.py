"""Two runs on one workspace, lease holders that died, and clocks that go back."""

import os
import re
import signal
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

import windrow
from tests.clock import Clock, pass_time
from tests.faults.server import rogue_server
from tests.faults.workspace import DAY, put
from tests.waiting import PATIENCE, until
from windrow import clock
from windrow.cli import main
from windrow.demo.partner import drop
from windrow.engine.listed.rest import OriginPauses
from windrow.errors import Locked
from windrow.ledger import Lease, Ledger
from windrow.ledger.lease import LEASE_LENGTH
from windrow.model import Site, Status

NAME, CONTENT = drop("H", DAY, 5)
KEY = f"add/{NAME}"
SECRET = {"secret": "env:HOME", "timeout": 60}


def test_the_second_run_says_who_holds_the_workspace_and_since_when(make_workspace, capfd, monkeypatch):
    workspace = make_workspace()
    good = workspace.add_healthy()
    with rogue_server(files={KEY: CONTENT}, hang={"add": 0}) as server:
        workspace.add_source("slow", server.url(), **SECRET)
        process = workspace.start()
        until(lambda: workspace.has_reached("download", Status.PENDING))
        before = workspace.query_ledger("SELECT count(*) FROM session")
        outcome = workspace.run()
        assert outcome.code == 5
        assert isinstance(outcome.error, Locked)
        assert f"pid {process.pid}" in str(outcome.error)
        assert re.search(r"since 20\d\d-\d\d-\d\dT\d\d:\d\d", str(outcome.error))
        monkeypatch.chdir(workspace.root)
        with pytest.raises(SystemExit) as ended:
            main(["run"])
        assert ended.value.code == 5
        assert f"pid {process.pid}" in capfd.readouterr().err
        assert workspace.query_ledger("SELECT count(*) FROM session") == before
        # A holder that was killed on this machine is known to be dead: its lease need not expire.
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=PATIENCE)
        server.hang.clear()
        assert workspace.run().code == 0
    workspace.assert_complete(good, KEY)


def test_the_lease_of_a_machine_that_crashed_expires(make_workspace):
    workspace = make_workspace()
    good = workspace.add_healthy()
    Ledger(workspace.root / "ledger.sqlite").close()
    time_left = timedelta(seconds=50)
    at = datetime.now(UTC)
    set_lease(workspace, "elsewhere/0123abcd pid 77 1234", at + time_left - LEASE_LENGTH, at + time_left)
    outcome = workspace.run()
    assert outcome.code == 5
    assert "elsewhere" in str(outcome.error)
    assert clock.spell(at + time_left - LEASE_LENGTH) in str(outcome.error)
    pass_time(time_left.total_seconds())
    assert workspace.run().code == 0
    workspace.assert_complete(good)


def set_lease(workspace, holder, since, until):
    ledger = Ledger(workspace.root / "ledger.sqlite")
    lease = Lease(ledger)
    with ledger.writing():
        ledger.database.connection.execute(
            "UPDATE lease SET holder = ?, since = ?, expires = ? WHERE token = ?",
            (holder, clock.spell(since), clock.spell(until), lease.token),
        )
    ledger.close()


def test_a_clock_that_went_back_between_runs_is_shown(make_workspace, monkeypatch):
    workspace = make_workspace()
    good = workspace.add_healthy()
    folder = workspace.add_folder("own")
    put(folder, NAME, CONTENT)
    with monkeypatch.context() as patch:
        patch.setattr(clock, "datetime", Clock(lambda: timedelta(hours=72)))
        assert workspace.run().code == 0
    workspace.assert_complete(good, KEY)
    ahead = workspace.query_ledger("SELECT max(at) FROM session_end")[0][0]
    name, content = drop("H", DAY, 5, shift=2.0)
    edit = put(folder, name.replace(DAY, "2026-01-13"), content, "edit")
    outcome = workspace.run()
    assert outcome.code == 0
    assert outcome.notes == (
        f"the machine's clock went back: an earlier session was under way at {ahead}, later than now",
    )
    workspace.assert_complete(good, KEY, edit)
    clock_ends = workspace.query_ledger("SELECT e.failed, e.comment FROM task_end e WHERE e.reason = 'clock_went_back'")
    assert clock_ends == [(0, f"an earlier session was under way at {ahead}, later than now")]
    # The ledger is ordered by number, and no validity in the store ends before it began.
    times = workspace.query_ledger("SELECT at FROM session ORDER BY seq")
    assert times[1] < times[0]
    wrong = workspace.query_store("SELECT count(*) FROM entity WHERE valid_to < valid_from")
    assert wrong == [(0,)]
    current_count = workspace.query_store(
        "SELECT count(*) FROM entity WHERE valid_to IS NULL AND valid_from IS NOT NULL AND kind = ?", "experiment"
    )
    assert current_count[0][0] > 0
    assert workspace.run().code == 0
    assert len(workspace.query_ledger("SELECT seq FROM task WHERE source = '' AND phase = 1")) <= 2


def test_a_clock_that_goes_back_while_it_runs(make_workspace, monkeypatch):
    """The lease is kept, and an end before its beginning does no harm."""
    workspace = make_workspace()
    good = workspace.add_healthy()
    put(workspace.add_folder("own"), NAME, CONTENT)
    began = time.monotonic()

    monkeypatch.setattr(clock, "datetime", Clock(lambda: timedelta(hours=-5 if time.monotonic() - began > 0.4 else 0)))
    assert workspace.run().code == 0
    workspace.assert_complete(good, KEY)


@pytest.mark.parametrize("days", [300, 3650])
def test_addresses_and_pauses_of_a_clock_that_was_years_ahead_do_not_wait_for_years(tmp_path, monkeypatch, days):
    workspace = windrow.init(tmp_path)
    workspace.new_source("town", "http://127.0.0.1:1/", collection="pages")
    settings = 'contact = "https://town.example/"\n[pages]\noperator = "town"\nprivate_hosts = ["127.0.0.1"]\n'
    (tmp_path / "windrow.toml").write_text(settings)
    workspace = windrow.open(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(clock, "datetime", Clock(lambda: timedelta(days=days)))
        workspace.run()
    years_later = int(time.time()) + (days + 1) * 86400
    with closing(workspace.ledger()) as ledger, ledger.writing() as writer:
        writer.addresses.record_pause("http://127.0.0.1:1", years_later)
        ledger.database.connection.execute("UPDATE address SET due = ?", (years_later,))
        ledger.database.connection.execute("UPDATE attempt SET address = (SELECT digest FROM address)")
    notes = workspace.run().notes
    assert any("made due: 1 address that would wait" in note for note in notes), notes
    assert any("what 2 requests gave then stands before what is received until then" in note for note in notes), notes
    with closing(workspace.ledger()) as ledger:
        (due,) = ledger.database.connection.execute("SELECT due FROM address").fetchone()
        assert due < time.time() + 2 * 86400
        assert OriginPauses(ledger).remaining(Site("http", "127.0.0.1", 1)) < 60
