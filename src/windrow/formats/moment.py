"""Read times in web documents: dates of HTTP and mail, ISO 8601, dates in numbers or with an English month name."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_MAX_CHARACTERS = 80
_ISO = re.compile(
    r"(\d{4})([-/.]?)(\d\d)\2(\d\d)(?!\d)"
    r"(?:[T\s]+(\d\d):?(\d\d)(?::?(\d\d))?(?:[.,]\d+)?\s*(Z|UTC|GMT|[+-]\d\d:?\d\d|[+-]\d\d)?)?",
    re.ASCII | re.IGNORECASE,
)  # fmt: skip
_DAY_MONTH_YEAR = re.compile(r"(\d{1,2})([/.])(\d{1,2})\2(\d{4})(?!\d)", re.ASCII)
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTH_NAME = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_ENGLISH_DATES = (
    re.compile(rf"\b{_MONTH_NAME}\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<year>\d{{4}})\b",
               re.ASCII | re.IGNORECASE),
    re.compile(rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?[\s-]+(?:of\s+)?{_MONTH_NAME},?[\s-]+(?P<year>\d{{4}})\b",
               re.ASCII | re.IGNORECASE),
    re.compile(rf"\b(?P<year>\d{{4}})[\s-]+{_MONTH_NAME}[\s-]+(?P<day>\d{{1,2}})\b", re.ASCII | re.IGNORECASE),
)  # fmt: skip
_ISO_DATE_INSIDE = re.compile(r"(?<![\w/.-])(?=\d{4}([-/.])\d\d\1\d\d(?!\d))", re.ASCII)
_TIME_OF_DAY = re.compile(r"\b(\d{1,2}):(\d\d)(?::(\d\d))?\s*([ap])?\.?m?\b", re.ASCII | re.IGNORECASE)
_AM_OR_PM = re.compile(r"\d\s*[ap]\.?m\b", re.ASCII | re.IGNORECASE)
_FIRST_YEAR = 1_500
_NOON = 12  # the hour
_LAST_HOUR = 23
_YEAR_OR_MONTH = re.compile(r"(\d{4})(?:-(\d{2}))?", re.ASCII)


def read_utc_time(text: str) -> datetime | None:
    """Read a time and convert it to UTC; a time without a zone is read as UTC. Return None if the text is not a time.

    The formats are ISO 8601 and dates of HTTP and mail, in ASCII and with at most 80 characters. A year or a month
    alone is read as its first moment (W3C-DTF).

    >>> read_utc_time("Sun, 06 Nov 1994 08:49:37 GMT").isoformat(), read_utc_time("1997-07-16T19:20+01:00").isoformat()
    ('1994-11-06T08:49:37+00:00', '1997-07-16T18:20:00+00:00')
    >>> read_utc_time("2024-02").isoformat(), read_utc_time("soon")
    ('2024-02-01T00:00:00+00:00', None)
    """
    text = text.strip()
    if not text or len(text) > _MAX_CHARACTERS or not text.isascii():
        return None
    try:
        if year_or_month := _YEAR_OR_MONTH.fullmatch(text):
            return datetime(int(year_or_month[1]), int(year_or_month[2] or 1), 1, tzinfo=UTC)
        if text[:4].isdigit():
            time = datetime.fromisoformat(text)
        else:
            from email.utils import parsedate_to_datetime  # noqa: PLC0415 it imports sockets, and few texts need it

            time = parsedate_to_datetime(text)
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def read_page_time(text: str) -> datetime | None:
    """Read a time in one of the forms that pages use. The result is aware if the text has a zone, and otherwise naive.

    The forms are ISO 8601 (also with `/` or `.` as separators or, at the start of the text, without separators), dates
    of HTTP and mail, numbers such as `13.4.2024`, and English dates. Return None for a text that has no time or more
    than 80 characters, for an ambiguous date such as `3/4/2024`, and for a year before 1500.

    >>> read_page_time("2024-03-01T23:30:00-05:00").isoformat()
    '2024-03-01T23:30:00-05:00'
    >>> read_page_time("Updated March 5th, 2024 at 9:05 pm").isoformat()
    '2024-03-05T21:05:00'
    """
    text = text.strip()
    if len(text) > _MAX_CHARACTERS:
        return None
    try:
        time = _read_iso(text) or _read_mail_date(text) or _read_numeric_date(text) or _read_english_date(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return time if time and time.year >= _FIRST_YEAR else None


def _read_iso(text: str) -> datetime | None:
    """Read ISO 8601 at the start of a text, or with separators anywhere in it; return None if there is none."""
    match = _ISO.match(text)
    if not match and (date_inside := _ISO_DATE_INSIDE.search(text)):
        match = _ISO.match(text, date_inside.start())
    if not match:
        return None
    year, _, month, day, hour, minute, second, zone = match.groups()
    time = f"T{hour}:{minute}:{second or '00'}" if hour else ""
    zone = "" if zone is None else "+00:00" if zone.upper() in {"Z", "UTC", "GMT"} else zone
    return datetime.fromisoformat(f"{year}-{month}-{day}{time}{zone if time else ''}")


def _read_mail_date(text: str) -> datetime | None:
    # Mail uses a 24-hour clock: the parser for mail reads 9:05 pm as 9:05.
    if not text.isascii() or text.isdigit() or _AM_OR_PM.search(text):
        return None
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 it imports sockets, and most pages use ISO 8601

    try:
        return parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _read_numeric_date(text: str) -> datetime | None:
    """Read a date such as 13.4.2024 (dots: the day is first) or 4/13/2024; return None if it is missing or unclear."""
    match = _DAY_MONTH_YEAR.search(text)
    if not match:
        return None
    first_number, separator, second_number, year = match.groups()
    day, month = int(first_number), int(second_number)
    if separator == "/":
        if day <= len(_MONTHS) and month <= len(_MONTHS) and day != month:
            return None
        if day <= len(_MONTHS):
            day, month = month, day
    return datetime(int(year), month, day)  # noqa: DTZ001 - it has no zone


def _read_english_date(text: str) -> datetime | None:
    for pattern in _ENGLISH_DATES:
        if match := pattern.search(text):
            month = _MONTHS.index(match[1 if pattern is _ENGLISH_DATES[0] else 2][:3].lower()) + 1
            date = datetime(int(match["year"]), month, int(match["day"]))  # noqa: DTZ001 - it has no zone
            time_of_day = _TIME_OF_DAY.search(text, match.end())
            if time_of_day is None or int(time_of_day[1]) > _LAST_HOUR:
                return date
            hour = int(time_of_day[1])
            if time_of_day[4]:
                hour = hour % _NOON + _NOON * (time_of_day[4].lower() == "p")
            return date.replace(hour=hour, minute=int(time_of_day[2]), second=int(time_of_day[3] or 0))
    return None
