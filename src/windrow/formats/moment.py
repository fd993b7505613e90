"""Times as web documents spell them: HTTP and mail dates, ISO 8601, and dates written out for readers."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_LONGEST = 80
_ISO = re.compile(
    r"(\d{4})([-/.]?)(\d\d)\2(\d\d)(?!\d)"
    r"(?:[T\s]+(\d\d):?(\d\d)(?::?(\d\d))?(?:[.,]\d+)?\s*(Z|UTC|GMT|[+-]\d\d:?\d\d|[+-]\d\d)?)?",
    re.ASCII | re.IGNORECASE,
)  # fmt: skip
_NUMBERS = re.compile(r"(\d{1,2})([/.])(\d{1,2})\2(\d{4})(?!\d)", re.ASCII)
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_NAME = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_SPOKEN = (
    re.compile(rf"\b{_NAME}\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<year>\d{{4}})\b", re.ASCII | re.IGNORECASE),
    re.compile(rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?[\s-]+(?:of\s+)?{_NAME},?[\s-]+(?P<year>\d{{4}})\b",
               re.ASCII | re.IGNORECASE),
    re.compile(rf"\b(?P<year>\d{{4}})[\s-]+{_NAME}[\s-]+(?P<day>\d{{1,2}})\b", re.ASCII | re.IGNORECASE),
)  # fmt: skip
_WITHIN = re.compile(r"(?<![\w/.-])(?=\d{4}([-/.])\d\d\1\d\d(?!\d))", re.ASCII)
_CLOCK = re.compile(r"\b(\d{1,2}):(\d\d)(?::(\d\d))?\s*([ap])?\.?m?\b", re.ASCII | re.IGNORECASE)
_HALF = re.compile(r"\d\s*[ap]\.?m\b", re.ASCII | re.IGNORECASE)
_FIRST_YEAR = 1_500
_NOON = 12
_LAST_HOUR = 23
_SHORT = re.compile(r"(\d{4})(?:-(\d{2}))?", re.ASCII)


def moment(text: str) -> datetime | None:
    """Read a time as UTC; one without a zone is taken as UTC, one that is none as None.

    A year or a month alone is its first moment, as W3C dates allow them.

    >>> moment("Sun, 06 Nov 1994 08:49:37 GMT").isoformat(), moment("1997-07-16T19:20+01:00").isoformat()
    ('1994-11-06T08:49:37+00:00', '1997-07-16T18:20:00+00:00')
    >>> moment("2024-02").isoformat(), moment("soon")
    ('2024-02-01T00:00:00+00:00', None)
    """
    text = text.strip()
    if not text or len(text) > _LONGEST or not text.isascii():
        return None
    try:
        if short := _SHORT.fullmatch(text):
            return datetime(int(short[1]), int(short[2] or 1), 1, tzinfo=UTC)
        if text[:4].isdigit():
            read = datetime.fromisoformat(text)
        else:
            from email.utils import parsedate_to_datetime  # noqa: PLC0415 it loads sockets, and few texts are of mail

            read = parsedate_to_datetime(text)
        return read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def written(text: str) -> datetime | None:
    """Read a time as a page states it, with its zone where it tells one; None where it is none.

    ISO 8601, also with other signs between its numbers, or none where it begins the text; dates of HTTP and mail, and
    English dates, wherever in the text they stand. `3/4/2024` may mean two days and is none; `13.4.2024` is one.

    >>> written("2024-03-01T23:30:00-05:00").isoformat(), written("Updated March 5th, 2024 at 9:05 pm").isoformat()
    ('2024-03-01T23:30:00-05:00', '2024-03-05T21:05:00')
    """
    text = text.strip()
    if len(text) > _LONGEST:
        return None
    try:
        found = _iso(text) or _mail(text) or _numbers(text) or _spoken(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return found if found and found.year >= _FIRST_YEAR else None


def _iso(text: str) -> datetime | None:
    found = _ISO.match(text)
    if not found and (within := _WITHIN.search(text)):
        found = _ISO.match(text, within.start())
    if not found:
        return None
    year, _, month, day, hour, minute, second, zone = found.groups()
    time = f"T{hour}:{minute}:{second or '00'}" if hour else ""
    zone = "" if zone is None else "+00:00" if zone.upper() in {"Z", "UTC", "GMT"} else zone
    return datetime.fromisoformat(f"{year}-{month}-{day}{time}{zone if time else ''}")


def _mail(text: str) -> datetime | None:
    # The clock of a mail has 24 hours; its reader takes 9:05 pm for 9:05.
    if not text.isascii() or text.isdigit() or _HALF.search(text):
        return None
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 it loads sockets, and most pages spell ISO 8601

    try:
        return parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _numbers(text: str) -> datetime | None:
    found = _NUMBERS.search(text)
    if not found:
        return None
    first, sign, second, year = found.groups()
    day, month = int(first), int(second)
    if sign == "/":
        if day <= _NOON and month <= _NOON and day != month:
            return None
        if day <= _NOON:
            day, month = month, day
    return datetime(int(year), month, day)  # noqa: DTZ001 - no zone is told


def _spoken(text: str) -> datetime | None:
    for pattern in _SPOKEN:
        if found := pattern.search(text):
            month = _MONTHS.index(found[1 if pattern is _SPOKEN[0] else 2][:3].lower()) + 1
            day = datetime(int(found["year"]), month, int(found["day"]))  # noqa: DTZ001 - no zone is told
            clock = _CLOCK.search(text, found.end())
            if clock is None or int(clock[1]) > _LAST_HOUR:
                return day
            hour = int(clock[1]) % _NOON + _NOON * (clock[4].lower() == "p") if clock[4] else int(clock[1])
            return day.replace(hour=hour, minute=int(clock[2]), second=int(clock[3] or 0))
    return None
