"""Comparing the offers of several hosts: only events of its own batches count."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from windrow.engine.fetchers.message import AttemptEnded, BatchEnded
from windrow.engine.listed.comparing import _Comparison
from windrow.model import Attempt

AT = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_transfer_that_was_left_behind_is_not_taken_for_a_comparison() -> None:
    """A transfer has its item's number, a comparison its own: they may be equal."""
    run: Any = SimpleNamespace(harvest=SimpleNamespace(sources=()))
    comparing: Any = _Comparison(run)
    comparing._mirrors[7] = compared = object()
    comparing._record_event(None, AttemptEnded(3, Attempt(7, "ftp://h/7.zip", 0, True, AT, 0.1, 226)))
    comparing._record_event(None, BatchEnded(3, (7,)))
    assert comparing._mirrors == {7: compared}
