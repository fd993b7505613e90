"""Pictures as inline SVG. Colours come from classes of the style sheet, since pages allow no inline style."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from markupsafe import Markup, escape

from windrow.app.captures import SessionEntry
from windrow.app.session_details import SessionTask, SourceRun
from windrow.formats.text import counted, spell_duration

_SESSIONS, _RUNS = (48, 10, 4), (20, 5, 2)  # the height of bars, their width, and the gap between them
_MARK = 4  # the height of the mark above a bar that did not end well, so that colour is not all that tells it
_TRACK = 1_000  # units of a line of time


class Bar(NamedTuple):
    """A bar of a picture: the class of its outcome (good, part, bad, open), its seconds, and its text."""

    outcome: str
    seconds: float
    text: str


class TimelineRow(NamedTuple):
    """The tasks of one phase of one source: their name, their picture, and for how many seconds they ran together.

    `failed` is true if one of them failed.
    """

    name: str
    picture: Markup
    seconds: float
    failed: bool = False


def outcome_class(entry: SessionEntry) -> str:
    """Return the class of a session's outcome: good, part (something failed), bad, or open (not ended)."""
    if entry.exit_code == 0 and entry.failed:
        return "part"
    return {None: "open", 0: "good", 3: "part", 130: "part"}.get(entry.exit_code, "bad")


def session_bars(entries: Sequence[SessionEntry]) -> Markup:
    """Return a bar for each session, the oldest left: its height is how long it took, its class how it ended."""
    bars = [
        _bar(outcome_class(entry), f"session {entry.session}", entry.began, entry.ended) for entry in reversed(entries)
    ]
    return _draw_bars(bars, f"How long the last {len(bars)} sessions took; the newest is on the right", _SESSIONS)


def run_bars(runs: Sequence[SourceRun]) -> Markup:
    """Return a small bar for each run of a source, the oldest left."""
    bars = [
        _bar(
            "bad" if run.ended and run.failed else "good" if run.ended else "open",
            f"session {run.session}{f', {run.reason}' if run.reason else ''}", run.began, run.ended,
        )
        for run in runs
    ]  # fmt: skip
    failed = sum(bar.outcome != "good" for bar in bars)
    return _draw_bars(
        bars, f"{counted(len(bars), 'run')}, {failed or 'none'} failed; the newest is on the right", _RUNS
    )


def _bar(outcome: str, name: str, began: datetime, ended: datetime | None) -> Bar:
    seconds = (ended - began).total_seconds() if ended else 0.0
    return Bar(outcome, seconds, f"{name}, {spell_duration(seconds) if ended else 'not ended'}")


def _draw_bars(bars: Sequence[Bar], label: str, size: tuple[int, int, int]) -> Markup:
    """Return bars whose heights are as the square roots of their seconds; nothing without bars."""
    if not bars:
        return Markup()
    height, width, gap = size
    longest = max([*(bar.seconds for bar in bars), 0.001])
    drawn = []
    for place, bar in enumerate(bars):
        tall = max(3.0, round(height * (bar.seconds / longest) ** 0.5, 1))
        x, name = place * (width + gap), escape(bar.text)
        mark = "" if bar.outcome == "good" else f'<rect x="{x}" y="0" width="{width}" height="{_MARK - 1}"></rect>'
        drawn.append(
            f'<g class="{bar.outcome}"><title>{name}</title>{mark}'
            f'<rect x="{x}" y="{_MARK + height - tall:g}" width="{width}" height="{tall:g}" rx="1"></rect></g>'
        )
    across, down = len(bars) * (width + gap), height + _MARK
    return Markup(  # noqa: S704 numbers, our own words, and escaped text
        f'<svg class="bars" role="img" aria-label="{escape(label)}" viewBox="0 0 {across} {down}" width="{across}" '
        f'height="{down}">{"".join(drawn)}</svg>'
    )


def timeline(tasks: Iterable[SessionTask], began: datetime, ended: datetime | None) -> list[TimelineRow]:
    """Return a row for each phase of each source, in the order of their beginning, on one scale of time.

    The scale reaches from `began` to `ended` or, without it, to the last that is known of the tasks.
    """
    rows: dict[tuple[str, str, str], list[SessionTask]] = {}
    for task in tasks:
        rows.setdefault((task.collection, task.source, task.phase), []).append(task)
    last = max(ended or began, *(task.ended or task.began for row in rows.values() for task in row), began)
    return [
        TimelineRow(
            f"{source or collection}, {phase}",
            _draw_tasks(row, began, last),
            sum(((task.ended or last) - task.began).total_seconds() for task in row),
            any(task.failed for task in row),
        )
        for (collection, source, phase), row in rows.items()
    ]


def _draw_tasks(tasks: Sequence[SessionTask], began: datetime, last: datetime) -> Markup:
    whole = max((last - began).total_seconds(), 0.001)
    drawn = []
    for task in tasks:
        start = _TRACK * (task.began - began).total_seconds() / whole
        width = max(4.0, _TRACK * ((task.ended or last) - task.began).total_seconds() / whole)
        outcome = "open" if task.failed is None else "bad" if task.failed else "good"
        drawn.append(
            f'<rect class="{outcome}" x="{min(start, _TRACK - 4.0):.1f}" y="0" width="{width:.1f}" height="10"></rect>'
        )
    return Markup(  # noqa: S704 numbers and our own words
        f'<svg class="bars track" aria-hidden="true" viewBox="0 0 {_TRACK} 10" preserveAspectRatio="none">'
        f"{''.join(drawn)}</svg>"
    )
