"""Times of events: what a source writes -> UTC to the second, and whether it has a time of day at all.

A date without a time of day keeps its date, with zero hours, whatever the zone: that is the standard's rule.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

from windrow.formats.moment import written

_CLOCK = re.compile(r"\d:\d\d|\dT\d\d|\d\s*[ap]\.?m\b", re.IGNORECASE)
_TWELVE = re.compile(
    r"(?<![\d/.-])(?:(?P<from>\d{1,2})(?:[:.](?P<from_minute>\d\d))?\s*(?:-|\u2013|\u2014|to)\s*)?"
    r"(?P<hour>\d{1,2})(?:[:.](?P<minute>\d\d)(?::(?P<second>\d\d))?)?\s*(?P<half>noon|[ap]\.?\s?m)\b\.?"
    r"(?:\s*\(?(?P<zone>[ecmp][sd]?t|utc|gmt)\b\)?)?",
    re.IGNORECASE | re.ASCII,
)
"""A clock of twelve hours, or the first one of a span (`2:00 - 3:30 p.m.`), and the zone behind it."""

_ZONES = {
    "e": "America/New_York", "c": "America/Chicago", "m": "America/Denver", "p": "America/Los_Angeles",
    "u": "UTC", "g": "UTC",
}  # fmt: skip
_NOON = re.compile(r"(?<!12 )(?<!12)\bnoon\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d{9,13}")
_MILLISECONDS = 100_000_000_000
_SPACES = re.compile(r"\s+")


class EventTime(NamedTuple):
    """When: in UTC, and whether only the day is known. `note` says of a local time that it is none or two.

    `local` is the time in the zone of the event, without zone, as the source told it.
    """

    utc: datetime
    all_day: bool = False
    note: str = ""
    local: str = ""


def spelled(at: datetime) -> str:
    """Spell a time as the standard wants it; one without a zone is UTC.

    >>> spelled(datetime(2009, 8, 19, 13, 43, 21, 999, tzinfo=UTC))
    '2009-08-19T13:43:21Z'
    """
    aware = at.astimezone(UTC) if at.tzinfo else at
    return aware.replace(tzinfo=None, microsecond=0).isoformat() + "Z"


def read_back(text: str) -> datetime:
    """Read a time that `spelled` wrote."""
    return datetime.fromisoformat(text)


def day_after(at: datetime) -> datetime:
    """Return the same time on the next day; of the last day that there is, its own last moment.

    >>> day_after(datetime(2026, 11, 30)).day, day_after(datetime(9999, 12, 31)).hour
    (1, 23)
    """
    return at + timedelta(days=1) if at.date() < date.max else datetime.combine(at, time.max, at.tzinfo)


@lru_cache(256)
def zone_of(name: str) -> ZoneInfo | None:
    """Return a zone by its IANA name, a space for an underscore allowed; None for what is none."""
    try:
        return ZoneInfo(name.replace(" ", "_"))
    except (ValueError, OSError, KeyError):
        return None


def on_day(day: date) -> EventTime:
    """Return a day without a time of day."""
    return EventTime(datetime(day.year, day.month, day.day, tzinfo=UTC), all_day=True, local=day.isoformat())


def at_local(local: datetime, zone: ZoneInfo) -> EventTime | None:
    """Return a local time as UTC: the earlier of two where the clocks go back, noted; None beyond the calendar.

    >>> at_local(datetime(2026, 11, 1, 1, 30), ZoneInfo("America/New_York")).note
    'ambiguous'
    >>> at_local(datetime(2026, 3, 8, 2, 30), ZoneInfo("America/New_York")).note
    'nonexistent'
    """
    naive = local.replace(tzinfo=None, microsecond=0, fold=0)
    try:
        utc = naive.replace(tzinfo=zone).astimezone(UTC)
        other = naive.replace(tzinfo=zone, fold=1).astimezone(UTC)
        back = utc.astimezone(zone).replace(tzinfo=None)
    except OverflowError:
        return None
    note = "" if utc == other else "ambiguous" if back == naive else "nonexistent"
    return EventTime(utc, note=note, local=naive.isoformat())


def at_zoned(at: datetime, zone: ZoneInfo) -> EventTime | None:
    """Return a time that is told in a zone of its own, noted where the clocks there repeat or skip it.

    >>> at_zoned(datetime(2027, 3, 28, 2, 30, tzinfo=ZoneInfo("Europe/Berlin")), ZoneInfo("America/New_York")).note
    'nonexistent'
    """
    found = at_aware(at, zone)
    if found is None or at.tzinfo is None:
        return found
    try:
        other = at.replace(fold=1 - at.fold).astimezone(UTC).replace(microsecond=0)
        back = found.utc.astimezone(at.tzinfo).replace(tzinfo=None)
    except (OverflowError, ValueError):
        return found
    if other == found.utc:
        return found
    return found._replace(
        note="ambiguous" if back == at.replace(tzinfo=None, microsecond=0, fold=back.fold) else "nonexistent"
    )


def at_aware(at: datetime, zone: ZoneInfo) -> EventTime | None:
    """Return a time that has a zone."""
    try:
        utc = at.astimezone(UTC).replace(microsecond=0)
        return EventTime(utc, local=utc.astimezone(zone).replace(tzinfo=None).isoformat())
    except (OverflowError, ValueError):
        return None


def read_time(text: str, zone: ZoneInfo, formats: Sequence[str] = (), assumed: str = "") -> EventTime | None:
    """Read a time or a day as a source writes it; None for what is none.

    `formats` are patterns of strptime, tried first; `assumed` is what a naive time is in: "UTC", or the zone.

    >>> ny = ZoneInfo("America/New_York")
    >>> spelled(read_time("29-JUL-2026 08:30 AM", ny, ["%d-%b-%Y %I:%M %p"]).utc)
    '2026-07-29T12:30:00Z'
    >>> read_time("July 29, 2026", ny).all_day, read_time("soon", ny)
    (True, None)
    """
    plain = _SPACES.sub(" ", text).strip()
    if not plain or len(plain) > 200:
        return None
    for pattern in formats:
        try:
            found = datetime.strptime(plain, pattern)  # noqa: DTZ007 the zone is the source's
        except ValueError:
            continue
        return _made(found, zone, assumed, clock=any(mark in pattern for mark in ("%H", "%I", "%X", "%c")))
    if _NUMBER.fullmatch(plain):
        seconds = int(plain)
        return at_aware(_EPOCH + timedelta(seconds=seconds / (1000 if seconds > _MILLISECONDS else 1)), zone)
    if at := _twelve(plain, zone, assumed):
        return at
    try:
        known = datetime.fromisoformat(plain)
    except ValueError:
        known = None
    found_ = known or written(plain)
    if found_ is None:
        return None
    return _made(found_, zone, assumed, clock=_CLOCK.search(plain) is not None)


def _twelve(plain: str, zone: ZoneInfo, assumed: str) -> EventTime | None:
    """Read a day with a clock of twelve hours, of which no other reader here knows; None where there is none.

    >>> clocks, ny = ("2 p.m.", "11 - 1:30 PM", "noon", "9am PT"), ZoneInfo("America/New_York")
    >>> [spelled(_twelve(f"Oct 5, 2026 {one}", ny, "").utc)[11:16] for one in clocks]
    ['18:00', '15:00', '16:00', '16:00']
    """
    text = _NOON.sub("12 noon", plain)
    clock = _TWELVE.search(text)
    day = written(_TWELVE.sub(" ", text).strip(" ,-\u2013\u2014@")) if clock else None
    if clock is None or day is None:
        return None
    late = clock["half"][0].lower() != "a"
    hour, minute = _of_day(clock["hour"], late=late), int(clock["minute"] or 0)
    if clock["from"]:
        first = _of_day(clock["from"], late=late)
        hour = first if first <= hour else _of_day(clock["from"], late=not late)
        minute = int(clock["from_minute"] or 0)
    try:
        at = day.replace(hour=hour, minute=minute, second=int((not clock["from"] and clock["second"]) or 0))
        named = (clock["zone"] or "").lower()
        if named and at.tzinfo is None and (at.replace(tzinfo=zone).tzname() or "")[:1].lower() != named[0]:
            at = at.replace(tzinfo=ZoneInfo(_ZONES[named[0]]))
    except (ValueError, OverflowError):
        return None
    return _made(at, zone, assumed, clock=True)


def _of_day(hour: str, *, late: bool) -> int:
    """Return an hour of the day; one beyond twelve is that already."""
    return int(hour) if int(hour) > 12 else int(hour) % 12 + 12 * late


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _made(found: datetime, zone: ZoneInfo, assumed: str, *, clock: bool) -> EventTime | None:
    if not clock:
        return on_day(found.date())
    if found.tzinfo is not None:
        return at_aware(found, zone)
    return at_aware(found.replace(tzinfo=UTC), zone) if assumed == "UTC" else at_local(found, zone)
