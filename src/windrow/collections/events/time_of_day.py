"""Find the time of day and its zone in a text that also has a date.

A text with a time of day or a zone in an unknown form is not read: if it were ignored, the event would move to midnight
or into the zone of its source.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone, tzinfo
from typing import NamedTuple
from zoneinfo import ZoneInfo

_IANA_ZONES = {
    "ET": "America/New_York", "CT": "America/Chicago", "MT": "America/Denver", "PT": "America/Los_Angeles",
    "AKT": "America/Anchorage", "HT": "Pacific/Honolulu", "AT": "America/Halifax", "NT": "America/St_Johns",
    "UTC": "UTC", "GMT": "UTC", "Z": "UTC", "BST": "Europe/London", "WET": "Europe/Lisbon", "CET": "Europe/Berlin",
    "EET": "Europe/Athens", "MSK": "Europe/Moscow", "SAST": "Africa/Johannesburg", "JST": "Asia/Tokyo",
    "KST": "Asia/Seoul", "HKT": "Asia/Hong_Kong", "AET": "Australia/Sydney", "AWT": "Australia/Perth",
    "NZT": "Pacific/Auckland", "EASTERN": "America/New_York", "CENTRAL": "America/Chicago",
    "MOUNTAIN": "America/Denver", "PACIFIC": "America/Los_Angeles", "ALASKA": "America/Anchorage",
    "HAWAII": "Pacific/Honolulu",
}  # fmt: skip
"""IANA zones by their usual names without the letter S or D: many sources write EST in summer, too."""

_SEASONAL_NAME = re.compile(r"(E|C|M|P|AK|H|A|N|AE|AW|NZ)[SD]T|(CE|EE|WE)ST")
_GERMAN_NAMES = {"MEZ": "CET", "MESZ": "CET"}
_FULL_ZONE_NAMES = r"(?:eastern|central|mountain|pacific|alaska|hawaii)(?: (?:standard|daylight))?(?: time)?"
_ZONE_NAMES = (
    r"(?:[cmp][sd]t|edt|est(?=\W*$)|[ahn][sd]t|(?:ak|ae|aw|nz)[sd]?t|utc|gmt|bst|mes?z|msk|sast|jst|kst|hkt|z"
    r"|(?-i:EST|[ECMP]T|[CEW]ES?T|(?!(?:SAT|OCT|SEPT|AT)\b)[A-Z]{2,3}T|WIB|WITA))"
)
"""Matches names of zones, also in lower case if that is not another word; it also matches unknown names of this
form."""
_IANA_NAME = (
    r"(?-i:(?:Africa|America|Antarctica|Arctic|Asia|Atlantic|Australia|Brazil|Canada|Chile|Etc|Europe|Indian|Mexico|Pacific"
    r"|US)(?:/[A-Z][A-Za-z_+-]+){1,2}\d*)"
)
_ZONE = (
    r"\s*[(\[]?(?P<zone>(?:(?:utc|gmt)\s?[+\u2212-]|\+)\d{1,2}(?::?[0-5]\d)?(?![\d:.])|[\u2212-]\d{4}(?![\d:.])"
    rf"|(?:{_FULL_ZONE_NAMES}|{_ZONE_NAMES})\b(?![-/.]\w)|{_IANA_NAME})?[)\]]?"
)
_HOUR_UNIT = r"(?:\s?(?:uhr|uur|hrs?\b|hours\b|h\b))?"
_CLOCK_TIME = re.compile(
    r"(?<![\d/.:])(?<!\d\s[:.])(?:"
    # on the twelve-hour clock, or a range of two such hours
    r"(?:(?P<from>\d{1,2})(?:[:.](?P<from_minute>[0-5]\d))?\s*(?:-|\u2013|\u2014|to)\s*)?"
    r"(?P<hour>\d{1,2})(?:[:.](?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d))?)?\s*(?P<meridiem>noon|[ap]\.?\s?m)\b\.?"
    # 18:00, 18:00:30.5, 18h00, 18 h, 18.00 Uhr, 18 Uhr, 1800 hrs
    r"|(?:(?<=\d)t)?(?P<hour_24>\d{1,2})(?:"
    rf":(?P<minute_24>[0-5]\d)(?::(?P<second_24>[0-5]\d)(?:[.,]\d{{1,9}})?)?{_HOUR_UNIT}"
    r"|\s?h\s?(?P<minute_h>[0-5]\d)?(?:\s?min)?\b"
    r"|(?:\.(?P<minute_dot>[0-5]\d))?\s?(?:uhr|uur)\b"
    r"|[:.]?(?P<minute_hrs>[0-5]\d)\s?(?:hrs?|hours)\b)"
    rf"){_ZONE}",
    re.IGNORECASE | re.ASCII,
)
_FOUR_DIGIT_TIME = re.compile(
    r"(?:(?<=^)|(?<=[,\d]\s)|(?<=\bum\s)|(?<=\bat\s)|(?<=\bkl\.\s)|(?<=@\s))"
    r"(?P<hour_24>[01]\d|2[0-4])\.?(?P<minute_24>[0-5]\d)(?![\d.:/-])"
    rf"(?=\s*$|,|\s*[(\[]?(?:{_ZONE_NAMES})\b){_ZONE}",
    re.IGNORECASE | re.ASCII,
)
"""Matches a time of four digits, with or without a dot, where the digits cannot have another meaning."""

_RANGE_WORD = re.compile(r"\s*(?:-|\u2013|\u2014|to|bis|until|till|und|and|&)?\s*", re.IGNORECASE)
_REMAINING_TIME = re.compile(
    r"\d\s*:\s*\d\d|\d\s*[ap]\.?\s?m\b|\d\s?h\s?\d\d|\d\s*(?:uhr|uur|o.?clock|hrs)\b|\bmidnight\b|\bnoon\b|\bmitternacht\b",
    re.IGNORECASE | re.ASCII,
)
_YEAR = re.compile(r"\d{4}", re.ASCII)
_NOON = re.compile(r"(?<!12 )(?<!12)\bnoon\b", re.IGNORECASE)
_OFFSET = re.compile(r"(?:UTC|GMT)?\s?([+-])(\d{1,2}):?(\d\d)?", re.ASCII)


class TimeOfDay(NamedTuple):
    """A time of day. `zone` is its zone as written, or empty. Hour 24 is the end of the day."""

    hour: int
    minute: int = 0
    second: int = 0
    zone: str = ""

    def on_day(self, day: datetime, zone: ZoneInfo) -> datetime | None:
        """Return this time on a day as a datetime, or None if the time or its zone is not valid.

        The datetime has no zone if the time has none, or has `zone`.
        """
        if self.hour > 24 or (self.hour == 24 and self.minute + self.second):
            return None
        local_time = day.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None) + timedelta(
            hours=self.hour, minutes=self.minute, seconds=self.second
        )
        if not self.zone:
            return local_time
        name_of_zone = _without_season((local_time.replace(tzinfo=zone).tzname() or "").upper())
        if _without_season(self.zone.upper()) == name_of_zone:
            return local_time
        named_zone = _find_zone(self.zone)
        return local_time.replace(tzinfo=named_zone) if named_zone else None


class DayAndTime(NamedTuple):
    """The date in a text, as written, and the time of day, which is None if the text has only a date."""

    day: str
    time: TimeOfDay | None


def split_time_of_day(text: str) -> DayAndTime | None:
    """Split a text into its date and its time of day, or the first of a range; return None if it cannot be read.

    >>> split_time_of_day("18:00 - 20:00 Uhr CET, 24.11.2026")
    DayAndTime(day='24.11.2026', time=TimeOfDay(hour=18, minute=0, second=0, zone='CET'))
    >>> split_time_of_day("Nov 24, 2026"), split_time_of_day("Nov 24, 2026 at 6 o'clock")
    (DayAndTime(day='Nov 24, 2026', time=None), None)
    """
    text = _NOON.sub("12 noon", text)
    times = list(_CLOCK_TIME.finditer(text))
    if not times:
        times = [time for time in _FOUR_DIGIT_TIME.finditer(text) if _YEAR.search(_remove_times(text, [time]))]
    if len(times) > 2:
        return None
    day = _remove_times(text, times)
    if _REMAINING_TIME.search(day):
        return None
    time_of_day = _read_time_of_day(times[0]) if times else None
    if len(times) == 2 and time_of_day:
        text_between = text[times[0].end() : times[1].start()]
        time_of_day = _start_of_range(time_of_day, times[0], _read_time_of_day(times[1]), text_between)
        if time_of_day is None:
            return None
    return DayAndTime(day.strip(" ,;|@-\u2013\u2014"), time_of_day)


def _remove_times(text: str, times: Sequence[re.Match[str]]) -> str:
    for time in reversed(times):
        text = f"{text[: time.start()]} {text[time.end() :]}"
    return text


def _start_of_range(
    first: TimeOfDay, first_match: re.Match[str], second: TimeOfDay, text_between: str
) -> TimeOfDay | None:
    """Return the first of two times, with the second one's zone if it has none; None if their meaning is not clear."""
    if second.zone and first.zone and second.zone.upper() != first.zone.upper():
        return None
    if text_between == "-" and second.hour < 13:
        if first_match.groupdict().get("second_24"):  # 18:00:00-05:00: the second one is the offset from UTC
            return first._replace(zone=f"-{second.hour:02}{second.minute:02}")
        if (second.hour, second.minute) < (first.hour, first.minute):
            return None
    return first if not _RANGE_WORD.fullmatch(text_between) else first._replace(zone=first.zone or second.zone)


def _read_time_of_day(time: re.Match[str]) -> TimeOfDay:
    """Return the time of day in a match of `_CLOCK_TIME` or `_FOUR_DIGIT_TIME`; for a range of hours, its start."""
    fields = time.groupdict()
    zone = (fields["zone"] or "").strip()
    if not fields.get("meridiem"):
        minute = next((fields[name] for name in fields if name.startswith("minute_") and fields[name]), "0")
        return TimeOfDay(int(fields["hour_24"]), int(minute), int(fields.get("second_24") or 0), zone)
    is_afternoon = fields["meridiem"][0].lower() != "a"
    hour = _hour_of_day(fields["hour"], is_afternoon=is_afternoon)
    if not fields["from"]:
        return TimeOfDay(hour, int(fields["minute"] or 0), int(fields["second"] or 0), zone)
    start_hour = _hour_of_day(fields["from"], is_afternoon=is_afternoon)
    if start_hour > hour:
        start_hour = _hour_of_day(fields["from"], is_afternoon=not is_afternoon)
    return TimeOfDay(start_hour, int(fields["from_minute"] or 0), 0, zone)


def _hour_of_day(hour: str, *, is_afternoon: bool) -> int:
    return int(hour) if int(hour) > 12 else int(hour) % 12 + 12 * is_afternoon


def _without_season(name: str) -> str:
    """Return the name of a zone without the letter for summer or winter, in its English form.

    >>> [_without_season(name) for name in ("EST", "CEST", "AKDT", "MEZ", "JST")]
    ['ET', 'CET', 'AKT', 'CET', 'JST']
    """
    season = _SEASONAL_NAME.fullmatch(name)
    return _GERMAN_NAMES.get(name, name) if season is None else f"{season[1]}T" if season[1] else f"{season[2]}T"


def _find_zone(name: str) -> tzinfo | None:
    upper_name = name.upper().replace("\u2212", "-")
    if offset := _OFFSET.fullmatch(upper_name):
        minutes = int(offset[2]) * 60 + int(offset[3] or 0)
        return timezone(timedelta(minutes=minutes if offset[1] == "+" else -minutes)) if minutes <= 14 * 60 else None
    iana_name = _IANA_ZONES.get(_without_season(upper_name)) or _IANA_ZONES.get(upper_name.split()[0])
    try:
        return ZoneInfo(iana_name or name)
    except (ValueError, OSError, KeyError):
        return None
