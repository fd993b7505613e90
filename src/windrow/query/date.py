"""Dates as people type them: a year, a month, a day or a moment, always in UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

_FORM = re.compile(
    r"(?P<year>\d{4})(?:[-/.](?P<month>\d{1,2})(?:[-/.](?P<day>\d{1,2})"
    r"(?:[T_](?P<hour>\d{2}):?(?P<minute>\d{2})(?::?(?P<second>\d{2}))?Z?)?)?)?",
    re.ASCII,
)


class TimeSpan(NamedTuple):
    """A stretch of time in UNIX seconds: `start` belongs to it, `end` does not."""

    start: int
    end: int


def span(text: str) -> TimeSpan | None:
    """Read `2024`, `2024-06`, `2024-06-01`, `2024-06-01T12:30` or `2024-06-01T12:30:15`; None where it is no date.

    >>> span("2024-06-01")
    TimeSpan(start=1717200000, end=1717286400)
    >>> span("2024-13")
    """
    found = _FORM.fullmatch(text)
    if not found:
        return None
    year, month, day, hour, minute, second = (int(part) if part else None for part in found.groups())
    try:
        start = datetime(year or 0, month or 1, day or 1, hour or 0, minute or 0, second or 0, tzinfo=UTC)
        if hour is not None:
            end = start + timedelta(minutes=1) if second is None else start + timedelta(seconds=1)
        elif day is not None:
            end = start + timedelta(days=1)
        elif month is not None:
            end = (start + timedelta(days=31)).replace(day=1)
        else:
            end = start.replace(year=start.year + 1)
    except (ValueError, OverflowError):
        return None
    return TimeSpan(int(start.timestamp()), int(end.timestamp()))
