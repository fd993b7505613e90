"""Notice that a list or source gives far less than usual, as when its site has changed but still answers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from statistics import median
from typing import NamedTuple

from windrow.ledger.typed.requests import DailyYield
from windrow.model import Source

_COMPARED_TIME = timedelta(days=60)
_MIN_DAYS = 5  # the minimum number of days with earlier answers
_MIN_SPAN = timedelta(days=7)  # from the first of them, so that a weekend is among them
_MIN_USUAL = 10  # a list that usually offers less may offer nothing at all
MAX_SHARE_OF_USUAL, _MAX_SHARE_OF_FEWEST = 0.25, 0.5


class YieldWords(NamedTuple):
    """The words for a message of `describe_fall`: the verb for `now`, the verb for `before`, and the unit."""

    now: str
    before: str
    unit: str = ""


LISTED = YieldWords("lists", "listed")
PAGES = YieldWords("returns", "returned", " pages per 100 responses")
CAPTURES = YieldWords("gives", "gave", " captures")


def compared_since(source: Source, at: datetime) -> datetime:
    """Return the time since which the answers, captures or pages of a source are compared with those at a time."""
    since = at - _COMPARED_TIME
    if not source.usual_since:
        return since
    return max(since, datetime.fromisoformat(source.usual_since).replace(tzinfo=UTC))


def describe_drift(drift: str) -> str:
    """Return the problem of a source with this drift, and what to set if nothing is wrong."""
    return f"drift: {drift}; if that is right, set `usual_since` for the source"


def describe_fall(offers: int, today: date, earlier: Sequence[DailyYield], words: YieldWords = LISTED) -> str:
    """Return a message if there are far fewer `offers` than on the `earlier` days, otherwise "".

    In `earlier`, the oldest day is first. Offers are far fewer if they are less than a quarter of the median of the
    days, and less than half of those on the day with the fewest offers, such as a Sunday. There must be enough days,
    and the median must not be small.

    >>> days = [DailyYield(f"2026-09-{day:02}", 40) for day in range(1, 9)]
    >>> describe_fall(2, date(2026, 9, 9), days)
    'it lists 2; on the 8 earlier days compared, it usually listed 40, and never fewer than 40'
    >>> describe_fall(12, date(2026, 9, 9), days), describe_fall(2, date(2026, 9, 9), days[4:])
    ('', '')
    """
    if len(earlier) < _MIN_DAYS or today - date.fromisoformat(earlier[0].day) < _MIN_SPAN:
        return ""
    usual, fewest = median(day.fewest for day in earlier), min(day.fewest for day in earlier)
    if not _is_far_less(offers, usual) or offers >= fewest * _MAX_SHARE_OF_FEWEST:
        return ""
    days = f"on the {len(earlier)} earlier days compared"
    now, before, unit = words
    return f"it {now} {offers:,}{unit}; {days}, it usually {before} {usual:,.0f}, and never fewer than {fewest:,}"


def describe_loss(files: int, before: int) -> str:
    """Return a message if a folder lists far fewer `files` than `before`, otherwise "".

    Files stay in a folder until they are removed, so it needs no history, unlike a list of news (`describe_fall`).

    >>> describe_loss(9, 40), describe_loss(10, 40), describe_loss(0, 9)
    ('it lists 9; before, it listed 40', '', '')
    """
    return f"it {LISTED.now} {files:,}; before, it {LISTED.before} {before:,}" if _is_far_less(files, before) else ""


def _is_far_less(number: int, usual: float) -> bool:
    return usual >= _MIN_USUAL and number < usual * MAX_SHARE_OF_USUAL
