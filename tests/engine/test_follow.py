"""A step derived from the store: a task of its own, stopped between batches, continued by the next run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.engine.toy_steps import TOY_COLLECTION
from windrow.contract import Derive
from windrow.engine.run import Derived, Harvest, SessionSettings
from windrow.engine.session import Session
from windrow.errors import StoreError
from windrow.ledger import Ledger
from windrow.model import Limits
from windrow.reasons import Reason

STEP = Derive("index")
WITH_INDEX = replace(TOY_COLLECTION, phases=("get", "obey", "index"), steps=(STEP,))


def open_session(root: Path) -> Session:
    return Session(SessionSettings(root / "ledger.sqlite", root / "archive", Limits()), "test")


def tasks(ledger: Ledger) -> list[tuple]:
    text = "SELECT t.phase, t.source, e.failed, e.reason, e.comment FROM task t JOIN task_end e ON e.task = t.seq"
    return ledger.database.connection.execute(text).fetchall()


def test_a_follower_is_called_and_told_of(tmp_path: Path) -> None:
    session, calls = open_session(tmp_path), []

    def derive(pulse):
        calls.append(pulse())
        return "12 added"

    session.run_harvest(Harvest(WITH_INDEX, (), derivations={"index": derive}), fetch=False)
    session.run_harvest(Harvest(WITH_INDEX, ()), fetch=False)
    session.run_harvest(Harvest(WITH_INDEX, (), derivations={"index": derive}), fetch=False, phases=frozenset({"obey"}))
    assert session.close() == 0
    assert calls == [True]
    assert tasks(session.ledger) == [(3, "", 0, None, "12 added")]
    session.ledger.close()


def test_sources_that_a_follower_finds_to_give_nothing_fail_and_the_run_ends_with_3(tmp_path: Path) -> None:
    session = open_session(tmp_path)
    derive = Derived("12 added", {"paper": "no list came"})
    session.run_harvest(Harvest(WITH_INDEX, (), derivations={"index": lambda _: derive}), fetch=False)
    assert session.close() == 3
    assert tasks(session.ledger) == [(3, "", 0, None, "12 added"), (3, "paper", 1, None, "paper: no list came")]
    session.ledger.close()


def test_a_stop_is_heard_between_batches(tmp_path: Path) -> None:
    session, calls = open_session(tmp_path), []

    def derive(pulse):
        while pulse():
            calls.append(1)
            session.stops = len(calls) // 3
        return "some"

    session.run_harvest(Harvest(WITH_INDEX, (), derivations={"index": derive}), fetch=False)
    assert session.close() == 130
    assert len(calls) == 3
    session.ledger.close()


def test_a_store_that_fails_fails_the_task(tmp_path: Path) -> None:
    session = open_session(tmp_path)

    def derive(pulse):
        raise StoreError("the index: no room", reason=Reason.DISK_FULL)

    with pytest.raises(StoreError, match="no room"):
        session.run_harvest(Harvest(WITH_INDEX, (), derivations={"index": derive}), fetch=False)
    assert session.close(1) == 1
    assert tasks(session.ledger) == [(3, "", 1, "disk_full", "index: the index: no room")]
    session.ledger.close()
