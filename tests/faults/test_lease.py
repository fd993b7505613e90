"""Two runs on one workspace, holders that died, and clocks that go back."""

import os
import re
import signal
import time
from datetime import UTC, datetime, timedelta

import pytest

from tests.clock import Clock, pass_time
from tests.faults.place import DAY, put
from tests.faults.server import rogue
from tests.waiting import PATIENCE, until
from windrow import clock
from windrow.cli import main
from windrow.demo.partner import drop
from windrow.errors import Locked
from windrow.ledger import Lease, Ledger
from windrow.ledger.sessions import LENGTH
from windrow.model import Status

NAME, CONTENT = drop("H", DAY, 5)
KEY = f"add/{NAME}"
SECRET = {"secret": "env:HOME", "timeout": 60}


def test_the_second_run_says_who_holds_the_workspace_and_since_when(place, capfd, monkeypatch):
    made = place()
    good = made.healthy()
    with rogue(files={KEY: CONTENT}, hang={"add": 0}) as server:
        made.source("slow", server.url(), **SECRET)
        process = made.start()
        until(lambda: made.reached("download", Status.PENDING))
        before = made.ask("SELECT count(*) FROM session")
        went = made.run()
        assert went.code == 5
        assert isinstance(went.error, Locked)
        assert f"pid {process.pid}" in str(went.error)
        assert re.search(r"since 20\d\d-\d\d-\d\dT\d\d:\d\d", str(went.error))
        monkeypatch.chdir(made.root)
        with pytest.raises(SystemExit) as ended:
            main(["run"])
        assert ended.value.code == 5
        assert f"pid {process.pid}" in capfd.readouterr().err
        assert made.ask("SELECT count(*) FROM session") == before
        # A holder that is killed on this machine is known to be dead: nobody waits for its lease to expire.
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=PATIENCE)
        server.hang.clear()
        assert made.run().code == 0
    made.whole(good, KEY)


def test_the_lease_of_a_machine_that_crashed_expires(place):
    made = place()
    good = made.healthy()
    Ledger(made.root / "ledger.sqlite").close()
    left = timedelta(seconds=50)
    at = datetime.now(UTC)
    with_lease(made, "elsewhere/0123abcd pid 77 1234", at + left - LENGTH, at + left)
    went = made.run()
    assert went.code == 5
    assert "elsewhere" in str(went.error)
    assert clock.spell(at + left - LENGTH) in str(went.error)
    pass_time(left.total_seconds())
    assert made.run().code == 0
    made.whole(good)


def with_lease(made, holder, since, until):
    ledger = Ledger(made.root / "ledger.sqlite")
    lease = Lease(ledger)
    with ledger.writing():
        ledger.database.connection.execute(
            "UPDATE lease SET holder = ?, since = ?, expires = ? WHERE token = ?",
            (holder, clock.spell(since), clock.spell(until), lease.token),
        )
    ledger.close()


def test_a_clock_that_went_back_between_runs_is_shown(place, monkeypatch):
    made = place()
    good = made.healthy()
    folder = made.folder("own")
    put(folder, NAME, CONTENT)
    with monkeypatch.context() as patch:
        patch.setattr(clock, "datetime", Clock(lambda: timedelta(hours=72)))
        assert made.run().code == 0
    made.whole(good, KEY)
    ahead = made.ask("SELECT max(at) FROM session_end")[0][0]
    name, content = drop("H", DAY, 5, shift=2.0)
    edit = put(folder, name.replace(DAY, "2026-01-13"), content, "edit")
    went = made.run()
    assert went.code == 0
    assert went.notes == (f"the machine's clock stood earlier than the last entry: the last session ended at {ahead}",)
    made.whole(good, KEY, edit)
    told = made.ask("SELECT e.failed, e.comment FROM task_end e WHERE e.reason = 'clock_went_back'")
    assert told == [(0, f"the last session ended at {ahead}")]
    # Order on the ledger is by number, and no validity in the store ends before it began.
    times = made.ask("SELECT at FROM session ORDER BY seq")
    assert times[1] < times[0]
    wrong = made.stored("SELECT count(*) FROM entity WHERE valid_to < valid_from")
    assert wrong == [(0,)]
    values = made.stored(
        "SELECT count(*) FROM entity WHERE valid_to IS NULL AND valid_from IS NOT NULL AND kind = ?", "experiment"
    )
    assert values[0][0] > 0
    assert made.run().code == 0
    assert len(made.ask("SELECT seq FROM task WHERE source = '' AND phase = 1")) <= 2


def test_a_clock_that_goes_back_while_it_runs(place, monkeypatch):
    """The lease is kept, and what was begun later than it ended does no harm."""
    made = place()
    good = made.healthy()
    put(made.folder("own"), NAME, CONTENT)
    began = time.monotonic()

    monkeypatch.setattr(clock, "datetime", Clock(lambda: timedelta(hours=-5 if time.monotonic() - began > 0.4 else 0)))
    assert made.run().code == 0
    made.whole(good, KEY)
