"""Parse the times of events: to UTC, to the second, and whether there is a time of day.

A date without a time of day becomes 00:00:00Z of that date, whatever the zone (VotersDaily's standard).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

from windrow.formats.moment import written

_TIME_OF_DAY = re.compile(r"\d:\d\d|\dT\d\d|\d\s*[ap]\.?m\b", re.IGNORECASE)
_TWELVE_HOURS = re.compile(
    r"(?<![\d/.-])(?:(?P<from>\d{1,2})(?:[:.](?P<from_minute>\d\d))?\s*(?:-|\u2013|\u2014|to)\s*)?"
    r"(?P<hour>\d{1,2})(?:[:.](?P<minute>\d\d)(?::(?P<second>\d\d))?)?\s*(?P<meridiem>noon|[ap]\.?\s?m)\b\.?"
    r"(?:\s*\(?(?P<zone>[ecmp][sd]?t|utc|gmt)\b\)?)?",
    re.IGNORECASE | re.ASCII,
)
"""A time on the twelve-hour clock, or the start of a range (`2:00 - 3:30 p.m.`), and the zone after it."""

_ZONES_BY_LETTER = {
    "e": "America/New_York", "c": "America/Chicago", "m": "America/Denver", "p": "America/Los_Angeles",
    "u": "UTC", "g": "UTC",
}  # fmt: skip
_NOON = re.compile(r"(?<!12 )(?<!12)\bnoon\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d{9,13}")
_MAX_SECONDS = 100_000_000_000  # a number above it is in milliseconds
_SPACES = re.compile(r"\s+")


class EventTime(NamedTuple):
    """A time in UTC, or a day (`all_day`).

    `note` is "ambiguous" or "nonexistent" where the local time occurs twice or not at all because the clocks change.
    `local` is the local time in ISO 8601, without its zone.
    """

    utc: datetime
    all_day: bool = False
    note: str = ""
    local: str = ""


def format_utc(at: datetime) -> str:
    """Format a time as the standard does, in UTC to the second; one without a zone is taken as UTC.

    >>> format_utc(datetime(2009, 8, 19, 13, 43, 21, 999, tzinfo=UTC))
    '2009-08-19T13:43:21Z'
    """
    aware = at.astimezone(UTC) if at.tzinfo else at
    return aware.replace(tzinfo=None, microsecond=0).isoformat() + "Z"


def parse_utc(text: str) -> datetime:
    """Parse a time that `format_utc` wrote; ValueError if it is not one."""
    return datetime.fromisoformat(text)


def day_after(at: datetime) -> datetime:
    """Return the same time on the next day; on `date.max`, the last moment of that day.

    >>> day_after(datetime(2026, 11, 30)).day, day_after(datetime(9999, 12, 31)).hour
    (1, 23)
    """
    return at + timedelta(days=1) if at.date() < date.max else datetime.combine(at, time.max, at.tzinfo)


@lru_cache(256)
def zone_of(name: str) -> ZoneInfo | None:
    """Return a zone by its IANA name, in which spaces may stand for underscores; None if it is not a zone."""
    try:
        return ZoneInfo(name.replace(" ", "_"))
    except (ValueError, OSError, KeyError):
        return None


def from_day(day: date) -> EventTime:
    """Return an all-day time."""
    return EventTime(datetime(day.year, day.month, day.day, tzinfo=UTC), all_day=True, local=day.isoformat())


def from_local(local: datetime, zone: ZoneInfo) -> EventTime | None:
    """Convert a local time to UTC; None if it is out of range. An ambiguous time is the earlier of the two.

    >>> from_local(datetime(2026, 11, 1, 1, 30), ZoneInfo("America/New_York")).note
    'ambiguous'
    >>> from_local(datetime(2026, 3, 8, 2, 30), ZoneInfo("America/New_York")).note
    'nonexistent'
    """
    naive = local.replace(tzinfo=None, microsecond=0, fold=0)
    try:
        utc = naive.replace(tzinfo=zone).astimezone(UTC)
        second = naive.replace(tzinfo=zone, fold=1).astimezone(UTC)
        back = utc.astimezone(zone).replace(tzinfo=None)
    except OverflowError:
        return None
    note = "" if utc == second else "ambiguous" if back == naive else "nonexistent"
    return EventTime(utc, note=note, local=naive.isoformat())


def from_zoned(at: datetime, zone: ZoneInfo) -> EventTime | None:
    """Convert a time with a zone; its note says if it is ambiguous or nonexistent there. None if it is out of range.

    >>> from_zoned(datetime(2027, 3, 28, 2, 30, tzinfo=ZoneInfo("Europe/Berlin")), ZoneInfo("America/New_York")).note
    'nonexistent'
    """
    event_time = from_aware(at, zone)
    if event_time is None or at.tzinfo is None:
        return event_time
    try:
        second = at.replace(fold=1 - at.fold).astimezone(UTC).replace(microsecond=0)
        back = event_time.utc.astimezone(at.tzinfo).replace(tzinfo=None)
    except (OverflowError, ValueError):
        return event_time
    if second == event_time.utc:
        return event_time
    return event_time._replace(
        note="ambiguous" if back == at.replace(tzinfo=None, microsecond=0, fold=back.fold) else "nonexistent"
    )


def from_aware(at: datetime, zone: ZoneInfo) -> EventTime | None:
    """Convert a time with a zone, without a note; None if it is out of range. `zone` is that of `local`."""
    try:
        utc = at.astimezone(UTC).replace(microsecond=0)
        return EventTime(utc, local=utc.astimezone(zone).replace(tzinfo=None).isoformat())
    except (OverflowError, ValueError):
        return None


def read_time(text: str, zone: ZoneInfo, formats: Sequence[str] = (), assumed: str = "") -> EventTime | None:
    """Parse a time or a day as a source writes it; None if it cannot be parsed.

    `formats` are strptime patterns, tried first. A time that names no zone is in UTC if `assumed` is "UTC", else in
    `zone`. A number of 9 to 13 digits is seconds or milliseconds since 1970.

    >>> ny = ZoneInfo("America/New_York")
    >>> format_utc(read_time("29-JUL-2026 08:30 AM", ny, ["%d-%b-%Y %I:%M %p"]).utc)
    '2026-07-29T12:30:00Z'
    >>> read_time("July 29, 2026", ny).all_day, read_time("soon", ny)
    (True, None)
    """
    plain = _SPACES.sub(" ", text).strip()
    if not plain or len(plain) > 200:
        return None
    for pattern in formats:
        try:
            parsed = datetime.strptime(plain, pattern)  # noqa: DTZ007 the zone is the source's
        except ValueError:
            continue
        return _event_time(parsed, zone, assumed, clock=any(mark in pattern for mark in ("%H", "%I", "%X", "%c")))
    if _NUMBER.fullmatch(plain):
        seconds = int(plain)
        return from_aware(_EPOCH + timedelta(seconds=seconds / (1000 if seconds > _MAX_SECONDS else 1)), zone)
    if at := _read_twelve_hour(plain, zone, assumed):
        return at
    try:
        moment: datetime | None = datetime.fromisoformat(plain)
    except ValueError:
        moment = written(plain)
    if moment is None:
        return None
    return _event_time(moment, zone, assumed, clock=_TIME_OF_DAY.search(plain) is not None)


def _read_twelve_hour(plain: str, zone: ZoneInfo, assumed: str) -> EventTime | None:
    """Parse a day with a time on the twelve-hour clock, which `written` does not know; None where there is none.

    >>> clocks, ny = ("2 p.m.", "11 - 1:30 PM", "noon", "9am PT"), ZoneInfo("America/New_York")
    >>> [format_utc(_read_twelve_hour(f"Oct 5, 2026 {clock}", ny, "").utc)[11:16] for clock in clocks]
    ['18:00', '15:00', '16:00', '16:00']
    """
    text = _NOON.sub("12 noon", plain)
    clock = _TWELVE_HOURS.search(text)
    day = written(_TWELVE_HOURS.sub(" ", text).strip(" ,-\u2013\u2014@")) if clock else None
    if clock is None or day is None:
        return None
    afternoon = clock["meridiem"][0].lower() != "a"
    hour, minute = _hour_of_day(clock["hour"], afternoon=afternoon), int(clock["minute"] or 0)
    if clock["from"]:
        first = _hour_of_day(clock["from"], afternoon=afternoon)
        hour = first if first <= hour else _hour_of_day(clock["from"], afternoon=not afternoon)
        minute = int(clock["from_minute"] or 0)
    try:
        at = day.replace(hour=hour, minute=minute, second=int((not clock["from"] and clock["second"]) or 0))
        zone_name = (clock["zone"] or "").lower()
        if zone_name and at.tzinfo is None and (at.replace(tzinfo=zone).tzname() or "")[:1].lower() != zone_name[0]:
            at = at.replace(tzinfo=ZoneInfo(_ZONES_BY_LETTER[zone_name[0]]))
    except (ValueError, OverflowError):
        return None
    return _event_time(at, zone, assumed, clock=True)


def _hour_of_day(hour: str, *, afternoon: bool) -> int:
    """Convert an hour to the 24-hour clock; one above 12 is already on it."""
    return int(hour) if int(hour) > 12 else int(hour) % 12 + 12 * afternoon


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _event_time(at: datetime, zone: ZoneInfo, assumed: str, *, clock: bool) -> EventTime | None:
    if not clock:
        return from_day(at.date())
    if at.tzinfo is not None:
        return from_aware(at, zone)
    return from_aware(at.replace(tzinfo=UTC), zone) if assumed == "UTC" else from_local(at, zone)
