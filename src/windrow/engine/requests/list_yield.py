"""Notice that a list offers far less than usual, because its site changed although it answers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from statistics import median

from windrow.ledger.typed.requests import DailyYield

COMPARED_TIME = timedelta(days=60)
"""How far back the earlier answers are with which an answer of a list is compared."""

_MIN_DAYS = 5  # the minimum number of days with earlier answers
_MIN_SPAN = timedelta(days=7)  # the minimum time since the first of these days, so that a weekend is among them
_MIN_USUAL = 10  # offers; a list that usually has fewer may be empty at times
_MAX_SHARE_OF_USUAL, _MAX_SHARE_OF_FEWEST = 0.25, 0.5


def describe_fall(offers: int, today: date, earlier: Sequence[DailyYield]) -> str:
    """Return a message if a list offers much less than on the `earlier` days, which are in order, otherwise "".

    That is less than a quarter of the median of the days, and less than half of what it offered on the day with the
    fewest offers, such as a Sunday. There must be enough days, and the median must not be small.

    >>> days = [DailyYield(f"2026-09-{day:02}", 40) for day in range(1, 9)]
    >>> describe_fall(2, date(2026, 9, 9), days)
    'it lists 2; on the 8 earlier days compared, it usually listed 40, and never fewer than 40'
    >>> describe_fall(12, date(2026, 9, 9), days), describe_fall(2, date(2026, 9, 9), days[4:])
    ('', '')
    """
    if len(earlier) < _MIN_DAYS or today - date.fromisoformat(earlier[0].day) < _MIN_SPAN:
        return ""
    usual, fewest = median(day.fewest for day in earlier), min(day.fewest for day in earlier)
    if usual < _MIN_USUAL or offers >= usual * _MAX_SHARE_OF_USUAL or offers >= fewest * _MAX_SHARE_OF_FEWEST:
        return ""
    days = f"on the {len(earlier)} earlier days compared"
    return f"it lists {offers:,}; {days}, it usually listed {usual:,.0f}, and never fewer than {fewest:,}"
