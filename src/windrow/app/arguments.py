"""Arguments of methods that may have several forms: names, and days."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from pathlib import Path

Names = str | Path | Sequence[str | Path]
"""One name or several: of sources, collections, items or addresses, as the method says."""

Day = date | datetime
"""A time, in UTC if it has no zone; a date means the beginning of that day."""


def as_tuple(names: Names) -> tuple[str, ...]:
    """Return a name, or several names, as a tuple.

    >>> as_tuple("blog")
    ('blog',)
    """
    return (str(names),) if isinstance(names, str | Path) else tuple(str(name) for name in names)


def utc_time(day: Day | None) -> datetime | None:
    """Return a day as a time with a zone, which is UTC if the day has none. None is returned unchanged.

    >>> utc_time(date(2026, 11, 21))
    datetime.datetime(2026, 11, 21, 0, 0, tzinfo=datetime.timezone.utc)
    """
    if day is None:
        return None
    moment = day if isinstance(day, datetime) else datetime.combine(day, time())
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def format_day(day: Day | str) -> str:
    """Return a day as it is written in a search: a date, or a time in UTC; a text is returned unchanged."""
    if not isinstance(day, datetime):
        return str(day)
    return (day.astimezone(UTC) if day.tzinfo else day).strftime("%Y-%m-%dT%H:%M:%S")
