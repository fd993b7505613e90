"""Events that arrive quickly are recorded in one transaction."""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from windrow.engine.fetchers.message import BatchEnded, TransferProgress
from windrow.engine.listed import fetching


@pytest.fixture
def dispatcher_of(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that makes a dispatcher of given events, and a list of those recorded together."""

    def make_dispatcher(*batches: list[Any]) -> tuple[fetching.Fetching, list[list[Any]]]:
        waiting, together = list(batches), []

        @contextmanager
        def writing() -> Any:
            together.append([])
            yield None

        dispatcher = fetching.Fetching.__new__(fetching.Fetching)
        dispatcher._run = SimpleNamespace(  # type: ignore[assignment]
            fetchers=SimpleNamespace(events=lambda _: waiting.pop(0)), ledger=SimpleNamespace(writing=writing)
        )
        dispatcher._events, dispatcher._batches, dispatcher._recorded_at = [], {1: ("partner", 0)}, 0.0
        monkeypatch.setattr(dispatcher, "_record_event", lambda _, event: together[-1].append(event), raising=False)
        return dispatcher, together

    return make_dispatcher


def test_events_wait_for_others_and_the_end_of_a_batch_does_not(
    dispatcher_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, end = TransferProgress(1, 5), TransferProgress(2, 5), BatchEnded(1)
    dispatcher, together = dispatcher_of([first], [second], [end], [first])
    monkeypatch.setattr(fetching, "GATHER_SECONDS", float("inf"))
    for _ in range(4):
        dispatcher._gather_events()
    assert together == [[first, second, end]]  # the last one waits
    dispatcher._record_gathered()
    assert together == [[first, second, end], [first]]


def test_events_wait_no_longer_than_they_may(dispatcher_of: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    event = TransferProgress(1, 5)
    dispatcher, together = dispatcher_of([event], [])
    monkeypatch.setattr(fetching, "GATHER_SECONDS", -1.0)
    dispatcher._gather_events()
    dispatcher._gather_events()
    assert together == [[event]]
