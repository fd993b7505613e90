"""Convert the times of events to UTC, to the second, and find out whether they have a time of day.

A date without a time of day becomes 00:00:00Z on that date in every zone, as in VotersDaily's standard.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache
from typing import NamedTuple
from unicodedata import normalize
from zoneinfo import ZoneInfo

from windrow.collections.events.day_ranges import find_days, has_range_within
from windrow.formats.moment import read_page_time
from windrow.formats.time_of_day import has_date, split_time_of_day
from windrow.formats.utc_offset import is_utc_offset

_UTC_NAMES = frozenset({"UTC", "Etc/UTC", "GMT", "Etc/GMT", "Zulu", "Etc/Zulu", "Universal", "UCT"})
_DIGITS = re.compile(r"\d{9,14}", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_YEARS_OF_DIGITS = range(1900, 2101)
"""The years with which a number of 10, 12 or 14 digits may begin if it is a date."""

_OTHER_SIGNS = str.maketrans({"\u2236": ":", "\ua789": ":", "\u2212": "-", "\u2010": "-", "\u2011": "-"})
_INTERVAL = re.compile(r"\s+(?:-|to|bis|until|till|through)\s+|\s*[\u2013\u2014/]\s*", re.IGNORECASE)
_MAX_CHARACTERS = 200  # of a time
_SPACES = re.compile(r"\s+")
_MAIL_DATE = re.compile(r"(?:[a-z]{3}, )?\d{1,2} [a-z]{3} \d{4} \d\d:\d\d:\d\d [ecmp][sd]t", re.ASCII | re.IGNORECASE)
"""Matches a date as mail and feeds write it, with the name of a zone, whose offset is the same all year in RFC 5322."""

_LOOSE_ISO = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})(?:(T\d\d:\d\d(?::\d\d)?)(?:([+-])(\d{1,2}):(\d\d)(?::00)?)?)?", re.ASCII
)
_ISO = re.compile(
    r"(\d{4}-?(?:\d\d-?\d\d|W\d\d-?\d)"
    r"(?:(?:T\d\d|[T ]\d\d:?[0-5]\d(?::?[0-5]\d(?:[.,]\d+)?)?))?)\s?((?:Z|[+-]\d\d(?::?\d\d(?::?\d\d)?)?)?)",
    re.ASCII,
)
"""Matches a day or a time in ISO 8601. Its groups are the local part, and the offset from UTC, which may be empty."""

_RANGE_AFTER_BLANK = re.compile(r"\S{8,10} \d\d:?\d\d-\d\d(?::?\d\d)?", re.ASCII)
"""Matches `2026-10-05 09:00-10:00`, which people write as a range; after a `T`, `-10:00` is an offset from UTC."""

_ISO_DAY = re.compile(r"\d{4}-?(?:\d\d-?\d\d|W\d\d-?\d|\d{3})", re.ASCII)

UNKNOWN_ZONE = "unknown_zone"
"""The note for a time with an unknown zone, in place of which another zone was used."""

GUESSED_YEAR = "guessed_year"
"""The note for a time that is written without a year."""

_YEAR_DIRECTIVE, _DAY_DIRECTIVE = re.compile("%[YyGcx]"), re.compile("%[djcxu]")
_UTC_WORD = re.compile(r"\b(?:UTC|GMT)\b", re.IGNORECASE)


class EventTime(NamedTuple):
    """A time in UTC, or a day (`all_day`).

    `note` is UNKNOWN_ZONE if the zone is not known, or GUESSED_YEAR. Otherwise it is "ambiguous" if the local time
    occurs twice because the clocks change, "nonexistent" if it never occurs, and else empty. `local` is the local time
    in ISO 8601, without its zone; it may be empty for an end. `zone` is the IANA name of the zone of `local`, and empty
    if that is the zone of the source. `own_zone` is the zone or the offset from UTC that the text of the time names, or
    None.
    """

    utc: datetime
    all_day: bool = False
    note: str = ""
    local: str = ""
    zone: str = ""
    own_zone: tzinfo | None = None


def format_utc(moment: datetime) -> str:
    """Format a time as the standard does, in UTC and to the second; a time without a zone is taken to be in UTC.

    >>> format_utc(datetime(2009, 8, 19, 13, 43, 21, 999, tzinfo=UTC))
    '2009-08-19T13:43:21Z'
    """
    utc = moment.astimezone(UTC) if moment.tzinfo else moment
    return utc.replace(tzinfo=None, microsecond=0).isoformat() + "Z"


def parse_utc(text: str) -> datetime:
    """Parse a time that `format_utc` wrote; raise ValueError if the text is not a time."""
    return datetime.fromisoformat(text)


def day_after(moment: datetime) -> datetime:
    """Return the same time on the next day, or the last moment of `date.max`, which has no next day.

    >>> day_after(datetime(2026, 11, 30)).day, day_after(datetime(9999, 12, 31)).hour
    (1, 23)
    """
    return moment + timedelta(days=1) if moment.date() < date.max else datetime.combine(moment, time.max, moment.tzinfo)


@lru_cache(256)
def zone_of(name: str) -> ZoneInfo | None:
    """Return the zone with an IANA name, which may have spaces in place of underscores; None if it is not known."""
    try:
        return ZoneInfo(name.replace(" ", "_"))
    except (ValueError, OSError, KeyError):
        return None


def from_day(day: date) -> EventTime:
    """Return a day as the time of an event that lasts the whole day."""
    return EventTime(datetime(day.year, day.month, day.day, tzinfo=UTC), all_day=True, local=day.isoformat())


def from_local(local: datetime, zone: ZoneInfo) -> EventTime | None:
    """Convert a local time to UTC; return None if the year in UTC is not 1 to 9999.

    A local time that occurs twice is taken to be the earlier one.

    >>> from_local(datetime(2026, 11, 1, 1, 30), ZoneInfo("America/New_York")).note
    'ambiguous'
    >>> from_local(datetime(2026, 3, 8, 2, 30), ZoneInfo("America/New_York")).note
    'nonexistent'
    """
    naive = local.replace(tzinfo=None, microsecond=0, fold=0)
    try:
        utc = naive.replace(tzinfo=zone).astimezone(UTC)
        later = naive.replace(tzinfo=zone, fold=1).astimezone(UTC)
        round_trip = utc.astimezone(zone).replace(tzinfo=None)
    except OverflowError:
        return None
    note = "" if utc == later else "ambiguous" if round_trip == naive else "nonexistent"
    return EventTime(utc, note=note, local=naive.isoformat())


def from_zoned(moment: datetime, zone: ZoneInfo) -> EventTime | None:
    """Convert a time with a zone of its own; return None if the year, in UTC or in local time, is not 1 to 9999.

    `local` is in the time's own zone or, if that is UTC or only an offset from UTC, in `zone`. The note of the result
    is set if the time is ambiguous or nonexistent in its own zone.

    >>> from_zoned(datetime(2027, 3, 28, 2, 30, tzinfo=ZoneInfo("Europe/Berlin")), ZoneInfo("America/New_York")).note
    'nonexistent'
    """
    own_zone = moment.tzinfo if isinstance(moment.tzinfo, ZoneInfo) and moment.tzinfo.key not in _UTC_NAMES else zone
    event_time = from_aware(moment, own_zone)
    if event_time is None or moment.tzinfo is None:
        return event_time
    event_time = event_time._replace(zone=own_zone.key if own_zone.key != zone.key else "")
    try:
        other_utc = moment.replace(fold=1 - moment.fold).astimezone(UTC).replace(microsecond=0)
        round_trip = event_time.utc.astimezone(moment.tzinfo).replace(tzinfo=None)
    except (OverflowError, ValueError):
        return event_time
    if other_utc == event_time.utc:
        return event_time
    return event_time._replace(
        note="ambiguous"
        if round_trip == moment.replace(tzinfo=None, microsecond=0, fold=round_trip.fold)
        else "nonexistent"
    )


def from_aware(moment: datetime, zone: ZoneInfo) -> EventTime | None:
    """Convert a time with a zone; the result's `local` is in `zone`, and its `note` is empty.

    Return None if the year, in UTC or in `zone`, is not 1 to 9999.
    """
    try:
        utc = moment.astimezone(UTC).replace(microsecond=0)
        return EventTime(utc, local=utc.astimezone(zone).replace(tzinfo=None).isoformat())
    except (OverflowError, ValueError):
        return None


class EventSpan(NamedTuple):
    """A time or a day, and the time or the last day at which the range that it begins ends; None if it is no range."""

    start: EventTime
    end: EventTime | None = None


def read_span(
    text: str, zone: ZoneInfo, formats: Sequence[str] = (), naive_zone: str = "", visited: datetime | None = None
) -> EventSpan | None:
    """Parse a time, a day or a range of them as a source writes it; return None if it cannot be parsed.

    `formats` are strptime patterns, which are tried first. If one has no year, the year is chosen that is nearest to
    `visited`, and the note is GUESSED_YEAR; one without a day is not used. A time without a zone is in UTC if
    `naive_zone` is "UTC", and otherwise in `zone`. A number of 12 or 14 digits is read as a date and a time if
    possible. Any other number of 9 or 10 digits is in seconds since 1970, and one of 12 or 13 digits in milliseconds;
    but ten digits that can also be a day and an hour cannot be parsed. In ISO 8601, the end of a range is not taken for
    an offset from UTC.

    >>> ny = ZoneInfo("America/New_York")
    >>> format_utc(read_span("29-JUL-2026 08:30 AM", ny, ["%d-%b-%Y %I:%M %p"]).start.utc)
    '2026-07-29T12:30:00Z'
    >>> [time.local for time in read_span("July 29, 2026, 10 PM - 1 AM", ny)]
    ['2026-07-29T22:00:00', '2026-07-30T01:00:00']
    """
    plain = _plain_text(text)
    if not plain or len(plain) > _MAX_CHARACTERS:
        return None
    for pattern in formats:
        if (parsed := _parse_with(pattern, plain, visited)) is None:
            continue
        has_time = any(directive in pattern for directive in ("%H", "%I", "%X", "%c"))
        event_time = _event_time(parsed, zone, naive_zone, has_time=has_time)
        if event_time and not _YEAR_DIRECTIVE.search(pattern):
            event_time = event_time._replace(note=event_time.note or GUESSED_YEAR)
        return _span_of(event_time)
    if (days := find_days(plain)) or has_range_within(plain):
        return EventSpan(from_day(days.first), from_day(days.last)) if days else None
    if _DIGITS.fullmatch(plain):
        return _span_of(_read_digits(plain, zone, naive_zone))
    if loose := _LOOSE_ISO.fullmatch(plain):  # EventON writes months, days and zones with one digit
        year, month, day, clock, sign, hours, minutes = loose.groups(default="")
        plain = f"{year}-{month:0>2}-{day:0>2}{clock}" + (f"{sign}{hours:0>2}:{minutes}" if sign else "")
    moment = read_page_time(plain) if _MAIL_DATE.fullmatch(plain) else None
    if moment is None and (iso := _ISO.fullmatch(plain)) and not _RANGE_AFTER_BLANK.fullmatch(plain):
        with suppress(ValueError):  # such as the hour 24
            moment = datetime.fromisoformat(iso[1] + iso[2])
    if moment is None or not is_utc_offset(moment.utcoffset()):
        return _read_interval(plain, zone, naive_zone) or _read_written_time(plain, zone, naive_zone)
    return _span_of(_event_time(moment, zone, naive_zone, has_time=_ISO_DAY.fullmatch(plain) is None))


def _parse_with(pattern: str, text: str, visited: datetime | None) -> datetime | None:
    """Parse a text by a strptime pattern, in the year nearest to `visited` if it has none; return None if it cannot be.

    Python accepts the names of the machine's own zone for `%Z`; only UTC and GMT are, and they are UTC.
    """
    if not _DAY_DIRECTIVE.search(pattern) or ("%Z" in pattern and not _UTC_WORD.search(text)):
        return None
    years = [""] if _YEAR_DIRECTIVE.search(pattern) else [f" {visited.year + step}" for step in (0, 1, -1) if visited]
    parsed_times = []
    for year in years:
        with suppress(ValueError):
            parsed_times.append(datetime.strptime(text + year, pattern + (" %Y" if year else "")))  # noqa: DTZ007
    near = visited.replace(tzinfo=None) if visited else datetime.min  # noqa: DTZ901
    parsed = min(parsed_times, key=lambda moment: abs(moment.replace(tzinfo=None) - near), default=None)
    if parsed is None:
        return None
    return parsed.replace(tzinfo=UTC) if "%Z" in pattern and parsed.tzinfo is None else parsed


def _span_of(time: EventTime | None) -> EventSpan | None:
    return EventSpan(time) if time else None


def _plain_text(text: str) -> str:
    r"""Return a text on one line, with digits, colons, hyphens and spaces in their usual form.

    >>> _plain_text("Nov 24,\n 2026\u202f7\uff1a00 PM")
    'Nov 24, 2026 7:00 PM'
    """
    if not text.isascii() and len(text) <= 2 * _MAX_CHARACTERS:
        text = normalize("NFKC", text).translate(_OTHER_SIGNS)
    return _SPACES.sub(" ", text).strip()


def _read_digits(digits: str, zone: ZoneInfo, naive_zone: str) -> EventTime | None:
    """Read a number of 12 or 14 digits as a date and a time if possible, and any other number as time since 1970.

    Return None if it can be neither, or has ten digits that can be a day and an hour as well as a time since 1970.

    >>> ny = ZoneInfo("America/New_York")
    >>> [_read_digits(digits, ny, "").local for digits in ("1795563000", "202611241830")]
    ['2026-11-24T18:30:00', '2026-11-24T18:30:00']
    >>> _read_digits("2026112409", ny, "")
    """
    local = None
    if len(digits) in {10, 12, 14} and int(digits[:4]) in _YEARS_OF_DIGITS:
        with suppress(ValueError):
            local = datetime.strptime(f"{digits:0<14}", "%Y%m%d%H%M%S")  # noqa: DTZ007 the zone is the source's
    if local:
        return None if len(digits) == 10 else _event_time(local, zone, naive_zone, has_time=True)
    divisor = {9: 1, 10: 1, 12: 1000, 13: 1000}.get(len(digits))
    return from_aware(_EPOCH + timedelta(seconds=int(digits) / divisor), zone) if divisor else None


def _read_interval(text: str, zone: ZoneInfo, naive_zone: str) -> EventSpan | None:
    """Return two times that both have a date and are joined by a dash, a slash or a word such as `to`.

    Return None if the text is not such a pair, or if the first time is after the second.

    >>> span = _read_interval("Nov 24, 2026 9 AM - Nov 25, 2026 5 PM", ZoneInfo("America/New_York"), "")
    >>> span.start.local, span.end.local
    ('2026-11-24T09:00:00', '2026-11-25T17:00:00')
    """
    for separator in _INTERVAL.finditer(text):
        first_text, last_text = text[: separator.start()], text[separator.end() :]
        if has_date(first_text) and has_date(last_text):
            spans = [read_span(part, zone, (), naive_zone) for part in (first_text, last_text)]
            first, last = (span.start if span else None for span in spans)
            if first and last and (first.local[:10], first.utc) <= (last.local[:10], last.utc):
                return EventSpan(first, (spans[1] and spans[1].end) or last)
    return None


def _read_written_time(text: str, zone: ZoneInfo, naive_zone: str) -> EventSpan | None:
    """Parse a date as people write it, with or without a time of day; return None if a part cannot be read.

    The end of a range of times is on the next day if it is earlier in the day than the start.

    >>> clocks, ny = ("2 p.m.", "11 - 1:30 PM", "noon", "9am PT", "18.00 Uhr"), ZoneInfo("America/New_York")
    >>> [format_utc(_read_written_time(f"Oct 5, 2026 {clock}", ny, "").start.utc)[11:16] for clock in clocks]
    ['18:00', '15:00', '16:00', '16:00', '22:00']
    """
    day_and_time = split_time_of_day(text)
    day = read_page_time(day_and_time.day) if day_and_time else None
    if day_and_time is None or day is None:
        return None
    if day_and_time.time is None:
        return EventSpan(from_day(day.date()))
    start, end = day_and_time.time
    times = []
    for clock in (start, end) if end else (start,):
        try:
            local_time = clock.on_day(day + timedelta(days=clock.minutes < start.minutes), zone)
        except OverflowError:
            return None
        event_time = _event_time(local_time, zone, naive_zone, has_time=True) if local_time else None
        if event_time is None:
            return None
        times.append(event_time)
    return EventSpan(*times)


def _event_time(parsed: datetime, zone: ZoneInfo, naive_zone: str, *, has_time: bool) -> EventTime | None:
    """Return a parsed time, or its day if `has_time` is False; None if its year in UTC is not 1 to 9999."""
    if not has_time:
        return from_day(parsed.date())
    if parsed.tzinfo is not None:
        event_time = from_zoned(parsed, zone)
        return event_time._replace(own_zone=parsed.tzinfo) if event_time else None
    return from_aware(parsed.replace(tzinfo=UTC), zone) if naive_zone == "UTC" else from_local(parsed, zone)
