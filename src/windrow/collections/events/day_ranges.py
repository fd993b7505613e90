"""Find the first and the last day in a text that is a range of days, such as `December 3-5, 2026`."""

from __future__ import annotations

import re
from datetime import date
from typing import NamedTuple

from windrow.formats.moment import read_page_time

_BETWEEN = r"\s*(?:-|\u2013|\u2014|/|\b(?:to|through|thru|until|till|and|bis|und|al|a|au|tot)\b|&)\s*"
_WEEKDAY = r"(?:[^\W\d_]{2,12}\.?,?\s+){0,2}"
_MONTH = r"[^\W\d_]{3,12}\.?"
_OF = r"\s+(?:del?\s+)?"
"""Matches what is before a month and a year after a day: `5 de marzo de 2026`."""
_DAY = r"\d{1,2}(?:st|nd|rd|th|\.)?"
_NUMERIC_DAY = r"\d{4}-\d\d-\d\d|\d{1,2}[/.]\d{1,2}[/.]\d{4}"
_MONTH_FIRST = re.compile(
    rf"{_WEEKDAY}(?P<month>{_MONTH})\s+(?P<day>{_DAY})(?:,?\s+(?P<year>\d{{4}}))?{_BETWEEN}"
    rf"(?:{_WEEKDAY}(?P<last_month>{_MONTH})\s+)?(?P<last_day>{_DAY}),?\s+(?P<last_year>\d{{4}})"
)
_DAY_FIRST = re.compile(
    rf"{_WEEKDAY}(?P<day>{_DAY})(?:{_OF}(?P<month>{_MONTH}))?(?:,?{_OF}(?P<year>\d{{4}}))?{_BETWEEN}"
    rf"{_WEEKDAY}(?P<last_day>{_DAY}){_OF}(?P<last_month>{_MONTH}),?{_OF}(?P<last_year>\d{{4}})"
)
_NUMERIC = re.compile(rf"({_NUMERIC_DAY}){_BETWEEN}({_NUMERIC_DAY})")
_NUMERIC_PART = re.compile(
    rf"(?P<day>\d{{1,2}})\.(?:(?P<month>\d{{1,2}})\.)?{_BETWEEN}"
    r"(?P<last_day>\d{1,2})\.(?P<last_month>\d{1,2})\.(?P<last_year>\d{4})"
)
_LISTED = re.compile(r"&|\b(?:and|und)\b")
_RANGE_WITHIN = re.compile(
    rf"(?<![\d:.])\b{_DAY}{_BETWEEN}{_WEEKDAY}{_DAY}{_OF}{_MONTH},?{_OF}\d{{4}}|\d{{4}}{_BETWEEN}{_WEEKDAY}{_MONTH}\s+{_DAY},?\s+\d{{4}}"
    rf"|\b{_MONTH}\s+{_DAY}{_BETWEEN}{_WEEKDAY}{_MONTH}\s+{_DAY},?\s+\d{{4}}"
)


class DayRange(NamedTuple):
    """The first and the last day of a range, both inclusive."""

    first: date
    last: date


def find_days(text: str) -> DayRange | None:
    """Return the first and the last day of a text that is a range of days and nothing else; None for any other text.

    Two days that are joined by a word such as `and`, or by `&`, are a range only if the second is the day after the
    first.

    >>> [day.isoformat() for day in find_days("December 30 - January 2, 2027")]
    ['2026-12-30', '2027-01-02']
    >>> find_days("December 5, 2026")
    """
    if numeric := _NUMERIC.fullmatch(text):
        return _in_order(_read_day(numeric[1]), _read_day(numeric[2]), text)
    if part := _NUMERIC_PART.fullmatch(text):
        month, year = part["month"] or part["last_month"], part["last_year"]
        last = _read_day(f"{part['last_day']}.{part['last_month']}.{year}")
        return _in_order(_read_day(f"{part['day']}.{month}.{year}"), last, text)
    written = _MONTH_FIRST.fullmatch(text) or _DAY_FIRST.fullmatch(text)
    if written is None:
        return None
    last_month, last_year = written["last_month"] or written["month"], int(written["last_year"])
    month, day = written["month"] or last_month, _day_number(written["day"])
    last = _read_day(f"{_day_number(written['last_day'])} {last_month} {last_year}")
    first = _read_day(f"{day} {month} {written['year'] or last_year}")
    if first and last and first > last and month != last_month and not written["year"]:
        first = _read_day(f"{day} {month} {last_year - 1}")
    return _in_order(first, last, text)


def has_range_within(text: str) -> bool:
    """Return whether a text contains, perhaps among other words, a range of days with the month written as a word.

    >>> has_range_within("3-5 December 2026, 10:00"), has_range_within("5 December 2026, 10:00 - 12:00")
    (True, False)
    """
    return _RANGE_WITHIN.search(text) is not None


def _day_number(day: str) -> int:
    return int(re.sub(r"\D", "", day))


def _read_day(text: str) -> date | None:
    moment = read_page_time(text)
    return moment.date() if moment else None


def _in_order(first: date | None, last: date | None, text: str) -> DayRange | None:
    if first is None or last is None or first >= last or (_LISTED.search(text) and (last - first).days > 1):
        return None
    return DayRange(first, last)
