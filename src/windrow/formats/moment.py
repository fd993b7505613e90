"""Read times in web documents: dates of HTTP and mail, ISO 8601, dates in numbers or with the name of a month."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from windrow.formats.utc_offset import is_utc_offset

_MAX_CHARACTERS = 80
_ISO = re.compile(
    r"(\d{4})([-/.]?)(\d\d)\2(\d\d)"
    r"(?:[T\s]+(\d\d)(?::?(\d\d)(?::?(\d\d))?(?:[.,]\d+)?)?\s*(Z|UTC|GMT|[+-]\d\d:?\d\d|[+-]\d\d)?)?",
    re.ASCII | re.IGNORECASE,
)  # fmt: skip
_ISO_DAY = re.compile(
    r"(?<![\w/.-])(\d{4})([-/.])(\d\d)\2(\d\d)(?!\d)|^(\d{4})()(\d\d)(\d\d)(?!\d)", re.ASCII
)  # fmt: skip
_DAY_MONTH_YEAR = re.compile(r"(\d{1,2})([/.])(\d{1,2})\2(\d{4})(?!\d)", re.ASCII)
_CLOCK = re.compile(r"\d[:.]\d")
_OFFSET = re.compile(
    r"(?:(?<=:\d\d:\d\d)|\s+|\s*(?:GMT|UTC?)\s*)([+-]\d\d):?(\d\d)(?=\s*(?:\([^()]*\))?\Z)", re.ASCII | re.IGNORECASE
)
"""Matches a zone such as +01:00 or GMT+01:00 at the end of a date of mail, in forms that the parser does not know."""
_END_OF_MAIL_DATE = re.compile(
    r"(?<![+-])(?<![+-]\d)\d[:.]\d\d(?:[:.]\d\d)?(?:\s*(?:[+-]\d{4}|Z|UTC?|GMT|[AECMP][SD]T))?(?:\s+\d{4})?(?:\s*\([^()]*\))?\Z",
    re.ASCII | re.IGNORECASE,
)
"""Matches the end of a date of mail, from its minutes on: its zone, if any, is one that the parser for mail knows."""
_TIME_SIGN = re.compile(
    r"\d\s?[:.h]\s?\d|\d(?:\s?(?:[ap]\.?\s?m|h|hrs?|uhr|o'?clock)|[ap])\b|\bnoon\b|\d{4}\s*(?:Z|UTC|GMT|[+-]\d\d:?\d\d)",
    re.ASCII | re.IGNORECASE,
)
"""Matches what may be a part of a time of day."""
_WORDS_AFTER = re.compile(r"(?:\s*[|\u00b7\u2022\u2013\u2014]|\s+(?=by\b))(?!\W*[A-Z]{1,5}\W*$)\D*$")
"""Matches the words after a time and a separator, except one word in capitals, which may be the name of a zone."""
_FIRST_YEAR = 1_500
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
            time: datetime | None = datetime.fromisoformat(text)
        else:
            time = _read_mail_date(text)
        if time is None:
            return None
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def read_page_time(text: str) -> datetime | None:
    """Read a time in one of the forms that pages use. The result is aware if the text has a zone, and otherwise naive.

    The forms are ISO 8601 (also with `/` or `.` as separators, or without separators), dates of HTTP and mail, numbers
    such as `13.4.2024`, and English dates. A date may be among other words; but if a text has a time of day, all of it
    must be understood, apart from words at its beginning and its end. Return None for a text that has no date or more
    than 80 characters, whose time of day or zone is not understood, for an ambiguous date such as `3/4/2024`, for an
    offset from UTC that no zone has, and for a year before 1500.

    >>> read_page_time("2024-03-01T23:30:00-05:00").isoformat()
    '2024-03-01T23:30:00-05:00'
    >>> read_page_time("Updated March 5th, 2024 at 9:05 pm").isoformat(), read_page_time("5 March 2024 at 9:05 XYZT")
    ('2024-03-05T21:05:00', None)
    """
    text = text.strip()
    if len(text) > _MAX_CHARACTERS:
        return None
    try:
        time = _read_iso(text) or _read_mail_date(text) or _read_written_time(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return time if time and time.year >= _FIRST_YEAR and is_utc_offset(time.utcoffset()) else None


def has_day(text: str) -> bool:
    """Return whether a text has a valid date, even if `read_page_time` does not understand its time of day or its zone.

    >>> has_day("Thu, 20 Nov 2025 14:30:00 IST"), has_day("30 Feb 2025")
    (True, False)
    """
    try:
        return _find_day(text) is not None
    except ValueError:
        return False


def _read_iso(text: str) -> datetime | None:
    match = _ISO.fullmatch(text)
    if not match:
        return None
    year, _, month, day, hour, minute, second, zone = match.groups()
    time = f"T{hour}:{minute or '00'}:{second or '00'}" if hour else ""
    zone = "" if zone is None else "+00:00" if zone.upper() in {"Z", "UTC", "GMT"} else zone
    return datetime.fromisoformat(f"{year}-{month}-{day}{time}{zone if time else ''}")


def _read_mail_date(text: str) -> datetime | None:
    """Read a date of HTTP or mail; return None for another text, and for one with a time or a zone of another form."""
    if not text.isascii() or text.isdigit():
        return None
    text = _OFFSET.sub(r" \1\2", text)
    # The parser for mail ignores what it does not know: it reads 9:05 pm as 9:05, and an unknown zone as none.
    if _CLOCK.search(text) and not _END_OF_MAIL_DATE.search(text):
        return None
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 it imports sockets, and most pages use ISO 8601

    try:
        time = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return time.replace(tzinfo=UTC) if "-0000" in text else time  # UTC, of a sender that does not state its own zone


def _find_day(text: str) -> tuple[datetime, int, int] | None:
    """Return the first date in a text, with its start and its end; None if it is missing, or a number that is unclear.

    In numbers with dots the day is first: 13.4.2024. With slashes, the number that is more than 12 is the day.
    """
    if iso := _ISO_DAY.search(text):
        year, _, month, day = (group for group in iso.groups() if group is not None)
        return datetime(int(year), int(month), int(day)), iso.start(), iso.end()  # noqa: DTZ001 - it has no zone
    if numeric := _DAY_MONTH_YEAR.search(text):
        first_number, separator, second_number, year = numeric.groups()
        day, month = int(first_number), int(second_number)
        if separator == "/":
            if day <= 12 and month <= 12 and day != month:
                return None
            if day <= 12:
                day, month = month, day
        return datetime(int(year), month, day), numeric.start(), numeric.end()  # noqa: DTZ001 - it has no zone
    from windrow.formats.months import find_named_day  # noqa: PLC0415 few texts need its large patterns

    return find_named_day(text)


def _read_written_time(text: str) -> datetime | None:
    """Read a date as people write it, with or without a time of day; return None if the time is not understood."""
    dated_span = _find_day(text)
    if dated_span is None:
        return None
    day, start, end = dated_span
    if not _TIME_SIGN.search(f"{text[:start]};{text[end:]}"):
        return day
    from windrow.formats.months import remove_words_before  # noqa: PLC0415 few texts need its large patterns
    from windrow.formats.time_of_day import split_time_of_day  # noqa: PLC0415 the same

    dated_text = _WORDS_AFTER.sub("", remove_words_before(text))
    parts = split_time_of_day(" ".join(dated_text.split()))  # JavaScript writes narrow spaces
    return parts.time.start.on_day(day, None) if parts and parts.time else None
