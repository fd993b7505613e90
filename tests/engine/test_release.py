"""A session releases all it holds, even if parts fail, and raises the first error."""

import os
from pathlib import Path

import pytest

from windrow.engine.run import SessionSettings, close_all, closing_all
from windrow.engine.session import Session
from windrow.errors import StoreError
from windrow.ledger import Lease, Ledger
from windrow.ledger.lease import name_this_process, running_process
from windrow.model import Limits


class FailingProjection:
    """A projection that logs its calls and fails at the named one."""

    def __init__(self, name: str, log: list[str], failing: str = "") -> None:
        self.name, self.log, self.failing = name, log, failing

    def catch_up(self, _ledger: Ledger) -> None:
        self._do("catch up")

    def close(self) -> None:
        self._do("close")

    def _do(self, call: str) -> None:
        self.log.append(f"{self.name}: {call}")
        if call == self.failing:
            raise StoreError(f"{self.name} cannot {call}")


def open_session(root: Path) -> Session:
    return Session(SessionSettings(root / "ledger.sqlite", root / "archive", Limits()), "test")


def test_a_session_closes_all_books_and_gives_the_lease_back_though_one_fails(tmp_path: Path) -> None:
    log: list[str] = []
    session = open_session(tmp_path)
    session._projections = [
        FailingProjection("first", log, "catch up"),
        FailingProjection("second", log, "close"),
        FailingProjection("third", log),
    ]
    with pytest.raises(StoreError, match="first cannot catch up") as error:
        session.close()
    assert error.value.__notes__ == ["and then: StoreError: second cannot close"]
    assert log == [f"{name}: {call}" for name in ("first", "second", "third") for call in ("catch up", "close")]
    assert session.ledger.sessions.lease() is None
    assert session.ledger.sessions.has_ended(session.number)
    session.ledger.close()
    with open_session(tmp_path) as again:
        assert again.ordinal == 2


def test_a_session_that_ends_with_an_error_is_closed_and_the_error_is_told(tmp_path: Path) -> None:
    log: list[str] = []
    with pytest.raises(StoreError, match="the disk is gone") as error, open_session(tmp_path) as session:
        session._projections = [FailingProjection("tracker", log, "catch up")]
        raise StoreError("the disk is gone")
    assert error.value.__notes__ == ["and then: StoreError: tracker cannot catch up"]
    ledger = Ledger(tmp_path / "ledger.sqlite")
    assert ledger.sessions.lease() is None
    row = ledger.sessions.get(1)
    assert row is not None
    assert row.outcome == 1
    ledger.close()


def test_all_parts_are_called_and_the_first_error_is_raised() -> None:
    called = []

    def call_part(name: str, error: str = "") -> None:
        called.append(name)
        if error:
            raise ValueError(error)

    with pytest.raises(ValueError, match="one") as error:
        close_all([lambda: call_part("a", "one"), lambda: call_part("b"), lambda: call_part("c", "two")])
    assert (called, error.value.__notes__) == (["a", "b", "c"], ["and then: ValueError: two"])
    with pytest.raises(KeyError) as inner, closing_all(lambda: call_part("d", "three")):
        raise KeyError("block")
    assert inner.value.__notes__ == ["and then: ValueError: three"]


def test_status_does_not_say_that_a_dead_process_is_running(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    Lease(ledger)
    assert f"pid {os.getpid()} " in running_process(ledger)
    with ledger.database.transaction():
        dead = name_this_process().replace(f"pid {os.getpid()} ", "pid 999999 ")
        ledger.database.connection.execute("UPDATE lease SET holder = ?", (dead,))
    assert running_process(ledger) == ""
    ledger.close()
