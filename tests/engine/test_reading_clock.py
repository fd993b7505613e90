"""The time a process has spent on its document: what counts as work, as sleep, and as a pause of the observer."""

from __future__ import annotations

import pytest

from windrow.engine import heartbeat
from windrow.engine.heartbeat import ReadingClock


@pytest.mark.parametrize(
    ("share", "step", "asleep"),
    [
        (1.0, 0.5, 0.0),
        (0.05, 0.5, 0.0),  # of a core: forty processes share two cores
        (0.05, 0.001, 0.0),  # also observed between its turns
        (0.001, 0.5, 58.0),  # the seconds of its two turns do not count
        (0.0, 0.5, 60.0),
        (0.0, 30.0, 4.0),  # the observer was stopped: of half a minute two seconds count
    ],
)
def test_a_process_sleeps_that_takes_hardly_any_cpu_time(
    monkeypatch: pytest.MonkeyPatch, share: float, step: float, asleep: float
) -> None:
    moment = [0.0]
    monkeypatch.setattr(heartbeat.time, "monotonic", lambda: moment[0])
    # Its turns are of 30 ms each, however large its share.
    turns = 0.03 / share if share else 1.0
    monkeypatch.setattr(heartbeat, "cpu_time", lambda _: 0.03 * (moment[0] // turns) if share else 0.0)
    clock = ReadingClock()
    clock.look(1, 7)
    for _ in range(round(60 / step)):
        moment[0] += step
        clock.look(1, 7)
    assert clock.asleep_seconds == pytest.approx(asleep, abs=1.1)
    clock.look(1, 8)
    assert (clock.asleep_seconds, clock.wall_seconds) == (0.0, 0.0)
