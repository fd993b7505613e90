"""What comes fast is put on record together."""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from windrow.engine.fetchers.message import BatchEnded, TransferProgress
from windrow.engine.listed import fetching


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a dispatcher whose events are given, with the rows of events that went on record together."""

    def made(*rows: list[Any]) -> tuple[fetching.Fetching, list[list[Any]]]:
        waiting, together = list(rows), []

        @contextmanager
        def writing() -> Any:
            together.append([])
            yield None

        one = fetching.Fetching.__new__(fetching.Fetching)
        one._run = SimpleNamespace(  # type: ignore[assignment]
            crew=SimpleNamespace(events=lambda _: waiting.pop(0)), ledger=SimpleNamespace(writing=writing)
        )
        one._events, one._batches, one._recorded = [], {1: ("partner", 0)}, 0.0
        monkeypatch.setattr(one, "_note", lambda _, event: together[-1].append(event), raising=False)
        return one, together

    return made


def test_events_wait_for_others_and_the_end_of_a_batch_does_not(noted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    one, another, end = TransferProgress(1, 5), TransferProgress(2, 5), BatchEnded(1)
    dispatcher, together = noted([one], [another], [end], [one])
    monkeypatch.setattr(fetching, "GATHERED", float("inf"))
    for _ in range(4):
        dispatcher._listen()
    assert together == [[one, another, end]]  # the last one waits
    dispatcher._record()
    assert together == [[one, another, end], [one]]


def test_events_wait_no_longer_than_they_may(noted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    one = TransferProgress(1, 5)
    dispatcher, together = noted([one], [])
    monkeypatch.setattr(fetching, "GATHERED", -1.0)
    dispatcher._listen()
    dispatcher._listen()
    assert together == [[one]]
