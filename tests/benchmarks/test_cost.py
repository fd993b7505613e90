"""The cost of windrow's work does not rise unnoticed: calls, SQL statements, bytes and modules, without timing."""

from __future__ import annotations

import pytest
from benchmarks.cost.measured import ROOMS
from benchmarks.cost.pins import COMMAND, PYTHON, START, differences, faults, measure, pinned


@pytest.mark.parametrize("room", [*ROOMS, START])
def test_nothing_costs_more_than_is_pinned(room: str) -> None:
    if differing := differences():
        pytest.skip(f"costs are pinned for Python {PYTHON}, requirements/dev.txt and SQLite: {', '.join(differing)}")
    wrong = list(faults(measure(room), pinned()[room]))
    assert wrong == [], "\n".join(wrong)


def test_every_room_is_pinned() -> None:
    assert list(pinned()) == [*ROOMS, START]


PINS = {"calls per page": 100.0, "bytes per page": 1000.0}


@pytest.mark.parametrize(
    ("figures", "wrong"),
    [
        ({"calls per page": 100.0, "bytes per page": 1004.0}, ()),
        ({"calls per page": 96.0, "bytes per page": 951.0}, ()),
        ({"calls per page": 100.01, "bytes per page": 1000.0}, ("calls per page: 100.01, pinned at 100.0 (+0.01%).",)),
        (
            {"calls per page": 100.0, "bytes per page": 1006.0},
            ("bytes per page: 1,006.0, pinned at 1,000.0 (+0.60%).",),
        ),
        ({"calls per page": 90.0, "bytes per page": 1000.0}, ("calls per page: 90.0, pinned at 100.0 (-10.00%).",)),
        ({"calls per page": 100.0}, ("bytes per page: pinned, and not measured any more.",)),
        ({**PINS, "calls per word": 2.0}, ("calls per word: 2.0 and not pinned.",)),
    ],
)
def test_what_is_not_as_pinned_is_named_with_its_pin_and_what_to_do(
    figures: dict[str, float], wrong: tuple[str, ...]
) -> None:
    lines = list(faults(figures, PINS))
    assert [line[: len(expected)] for line, expected in zip(lines, wrong, strict=True)] == list(wrong)
    assert all(f"`{COMMAND}`" in line for line in lines)


def test_another_python_and_other_versions_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.cost.pins.version", lambda name: "0.1")
    monkeypatch.setattr("benchmarks.cost.pins.PYTHON", "3.10")
    strange = differences()
    assert strange[0].startswith("Python is 3.")
    assert any(line.startswith("lxml is 0.1 and not ") for line in strange)
