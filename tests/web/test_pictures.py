"""Pictures are made from values: what is drawn, where, and with which class."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from lxml import etree

from windrow.app.session_details import SessionTask, SourceRun, group_failures
from windrow.web.pictures import run_bars, timeline

BEGAN = datetime(2026, 11, 21, 8, tzinfo=UTC)


def later(seconds: float) -> datetime:
    return BEGAN + timedelta(seconds=seconds)


def task(
    source: str, phase: str, began: float, ended: float | None, *, failed: bool | None = False, **said
) -> SessionTask:
    end = None if ended is None else later(ended)
    return SessionTask(
        "pages", source, phase, later(began), end, failed, said.get("reason", ""), said.get("comment", "")
    )


def test_the_runs_of_a_source_are_bars_and_a_bad_one_is_not_told_by_colour_alone() -> None:
    runs = [
        SourceRun(1, BEGAN, later(100), 0, ""),
        SourceRun(2, BEGAN, later(25), 1, "timeout"),
        SourceRun(4, BEGAN, None, 1, ""),
    ]
    picture = etree.fromstring(run_bars(runs))
    assert picture.get("aria-label") == "3 runs, 2 failed; the newest is on the right"
    good, bad, unfinished = picture
    assert [group.get("class") for group in picture] == ["good", "bad", "open"]
    assert [len(group.findall("rect")) for group in picture] == [1, 2, 2]
    assert [float(group[-1].get("height")) for group in (good, bad)] == [20, 10]  # as the square roots of 100 and 25
    assert bad.findtext("title") == "session 2, timeout, 25.0 s"
    assert unfinished.findtext("title") == "session 4, not ended"
    assert run_bars([]) == ""


def test_the_tasks_of_a_session_are_rows_on_one_scale_of_time() -> None:
    tasks = [
        task("town", "fetch", 0, 50), task("town", "read", 50, 75), task("harbour", "fetch", 25, 50, failed=True),
        task("town", "fetch", 80, 100), task("", "index", 90, None, failed=None),
    ]  # fmt: skip
    rows = timeline(tasks, BEGAN, later(100))
    assert [(row.name, row.seconds) for row in rows] == [
        ("town, fetch", 70), ("town, read", 25), ("harbour, fetch", 25), ("pages, index", 10)
    ]  # fmt: skip
    bars = [
        [(bar.get("class"), float(bar.get("x")), float(bar.get("width"))) for bar in etree.fromstring(row.picture)]
        for row in rows
    ]
    assert bars == [
        [("good", 0, 500), ("good", 800, 200)], [("good", 500, 250)], [("bad", 250, 250)], [("open", 900, 100)]
    ]  # fmt: skip
    assert timeline([], BEGAN, None) == []


def test_tasks_that_failed_for_one_reason_are_one_group() -> None:
    tasks = [
        task("a", "fetch", 0, 1, failed=True, comment="no space"),
        task("b", "fetch", 0, 1, failed=True, reason="timeout", comment="b did not answer"),
        task("c", "fetch", 0, 1, failed=True, reason="timeout", comment="c did not answer"),
        task("d", "fetch", 0, 1),
    ]
    groups = group_failures(tasks)
    assert [(group.tasks, group.sources, group.example or group.meaning) for group in groups] == [
        (2, ("b", "c"), "b did not answer"), (1, ("a",), "no space")
    ]  # fmt: skip
