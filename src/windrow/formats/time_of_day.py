"""Find the date, the time of day and the time zone in a text written by people.

A text is read only if all of it is understood: apart from the date, the time and its zone, it may contain only certain
words and punctuation. If an unknown word or number were ignored, the event could move to midnight, to the end of its
range, or into the zone of its source.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone, tzinfo
from typing import NamedTuple
from zoneinfo import ZoneInfo

from windrow.formats.months import AFTER_YEAR, BEFORE_MONTH, BEFORE_YEAR, MONTH_NAME
from windrow.formats.utc_offset import is_utc_offset

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
"""A dict from a zone's usual name to its IANA name. S and D are left out, since many sources write EST in summer."""

_AREAS_OF_OTHER_MEANINGS = {
    "EST": ("Australia/",), "EDT": ("Australia/",), "CDT": ("Australia/",), "CST": ("Asia/", "Australia/"),
    "EASTERN": ("Australia/",), "CENTRAL": ("Australia/",), "SAST": ("Australia/",), "MST": ("Asia/",),
    "PST": ("Asia/",), "AST": ("Asia/",), "ADT": ("Asia/",), "BST": ("Asia/", "Pacific/Bougainville"),
}  # fmt: skip
"""A dict from a name in _IANA_ZONES, with S or D, to the zones where it may mean another one: BST is Bangladesh's, too.
There such a name is only read if it is that of the source's own zone."""

_SEASONAL_NAME = re.compile(r"(E|C|M|P|AK|H|A|N|AE|AW|NZ)[SD]T|(CE|EE|WE)ST")
_GERMAN_NAMES = {"MEZ": "CET", "MESZ": "CET"}
_FULL_ZONE_NAMES = (
    r"(?:eastern|central|mountain|pacific|alaska|hawaii)(?: (?:standard|daylight))?(?: time)?(?: \(us & canada\))?"
)
_ZONE_NAMES = (
    r"(?:[cmp][sd]t|edt|est(?=\W*$)|[ahn][sd]t|(?:ak|ae|aw|nz)[sd]?t|utc|gmt|bst|mes?z|msk|sast|jst|kst|hkt|z"
    r"|(?-i:EST|[ECMP]T|[CEW]ES?T|(?!(?:SAT|OCT|SEPT|AT)\b)[A-Z]{2,3}T|WIB|WITA))"
)
"""Matches what looks like the name of a zone, known or not; in lower case, only if it is not another word."""
_IANA_NAME = (
    r"(?-i:(?:Africa|America|Antarctica|Arctic|Asia|Atlantic|Australia|Brazil|Canada|Chile|Etc|Europe|Indian|Mexico|Pacific"
    r"|US)(?:/[A-Z][A-Za-z_+-]+){1,2}\d*)"
)
_ZONE = (
    r"(?:\s*[(\[]?(?P<offset>(?:(?:utc|gmt)\s?[+-]|\+)\d{1,2}(?::?[0-5]\d)?(?![\d:.])|-\d{4}(?![\d:.]))"
    r"(?:\s+\([a-z &]+\)|\s+(?-i:[A-Z]{2,5})\b)?"  # the name of the zone beside its offset
    rf"|,?\s*[(\[]?(?P<zone>(?:{_FULL_ZONE_NAMES}|{_ZONE_NAMES})(?!\w)(?![-/.]\w)|{_IANA_NAME}))?[)\]]?"
)
_TO = r"(?:-|\u2013|\u2014|to|bis|tot|until|till|\u00e0|a|al|alle|hasta)"
_HOUR_UNIT = r"(?:\s?(?:uhr|uur|hrs?\b|hours\b|h\b))?"
_NO_END = r"(?![\d:.]|\s?(?:[ap]\.?\s?m\b|[ap]\b|h|uhr|uur|noon))"
_HOUR_WORD = r"(?:kl|klo|godz|ore|ora|saat|\u03ce\u03c1\u03b1|plkst)"
"""Matches a word before an hour in languages that write hours up to 24."""
_CLOCK_TIME = re.compile(
    r"(?<![\d/.:])(?<!\d\s[:.])(?:"
    # on the twelve-hour clock, or a range of two such hours
    r"(?:(?P<from>\d{1,2})(?:[:.](?P<from_minute>[0-5]\d))?\s*(?:-|\u2013|\u2014|to)\s*)?"
    r"(?P<hour>\d{1,2})(?:[:.](?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d))?)?\s*"
    r"(?P<meridiem>noon\b|[ap]\.?\s?m\b\.?|(?<=\d)[ap]\b)"
    # 18-20 Uhr, 18:00, 18:00:30.5, 18:30-20, 18h00, 18 h, 18u30, 18.00 Uhr, 18 Uhr, 1800 hrs, 18.00
    rf"|(?:(?P<from_24>\d{{1,2}})(?:[:.](?P<minute_from>[0-5]\d))?\s*{_TO}\s*"
    r"(?=\d{1,2}(?:[:.][0-5]\d)?\s?(?:uhr|uur|h)\b))?"
    r"(?P<hour_24>\d{1,2})(?:"
    rf":(?P<minute_24>[0-5]\d)(?::(?P<second_24>[0-5]\d)(?:[.,]\d{{1,9}})?)?(?!:?\d){_HOUR_UNIT}"
    rf"(?:\s*{_TO}\s*(?P<end>[01]?\d|2[0-4]){_NO_END})?"
    r"|\s?[hu]\s?(?P<minute_h>[0-5]\d)?(?:\s?min)?\b"
    r"|(?:\.(?P<minute_dot>[0-5]\d))?\s?(?:uhr|uur)\b"
    r"|[:.]?(?P<minute_hrs>[0-5]\d)\s?(?:hrs?|hours|h)\b"
    r"|\.(?P<minute_plain>[0-5]\d)(?![\d.])(?!\s?[ap]\b))"
    # 1800, 1800-1930
    r"|(?P<hour_digits>[01]\d|2[0-4])(?P<minute_digits>[0-5]\d)(?![\d.:/]|-\D)"
    r"(?:\s?[-\u2013]\s?(?P<end_digits>(?:[01]\d|2[0-4])[0-5]\d)\b)?"
    # kl 18, godz. 18-20
    rf"|(?<![\w]){_HOUR_WORD}\.?\s?(?P<hour_word>[01]?\d|2[0-4])(?!\d)(?!\s?[:.hu]\s?\d|\s?(?:[ap]\.?\s?m\b|h\b|uhr|\d))"
    rf"(?:\s*{_TO}\s*(?P<end_word>[01]?\d|2[0-4])(?!\d){_NO_END})?"
    rf"){_ZONE}",
    re.IGNORECASE | re.ASCII,
)
_DATE = re.compile(
    r"(?<![\w/.:-])(?:(?<!\d)(?<!\d\s)am\s+)?(?P<date>"
    r"\d{4}(?P<iso_mark>[-/.])\d{1,2}(?P=iso_mark)\d{1,2}(?!\d)(?:t(?=\d))?|\d{8}(?!\d)(?:t(?=\d))?"
    r"|\d{1,2}(?P<mark>[/.])\d{1,2}(?P=mark)\d{4}(?!\d)"
    rf"|{MONTH_NAME}\s+\d{{1,2}}(?:st|nd|rd|th)?,?\s+\d{{4}}\b"
    rf"|\d{{1,2}}(?:st|nd|rd|th|er|\.)?{BEFORE_MONTH}{MONTH_NAME}{BEFORE_YEAR}\d{{4}}\b(?:\s+(?:r\.|r\b|\u0433\.|\u0440\.))?"
    rf"|\d{{4}}{AFTER_YEAR}{MONTH_NAME}[\s-]+\d{{1,2}}\b(?:\s+d\.)?|\d{{4}}\.\s+gada\s+\d{{1,2}}\.\s+{MONTH_NAME})",
    re.IGNORECASE | re.ASCII,
)
_CLOCK_INSIDE = re.compile(
    r"(?:[a-z]{3},? )?([a-z]{3} \d{1,2}) (\d\d:\d\d(?::\d\d)?)((?: [a-z]{1,5}| [+-]\d{4})?) (\d{4})",
    re.IGNORECASE | re.ASCII,
)
"""Matches `Tue Nov 24 18:00:00 EST 2026`, as the program `date` writes it."""

_WEEKDAYS = (
    r"mon(?:day)?|tue(?:s|sday)?|wed(?:s|nesday)?|thu(?:r|rs|rsday)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?"
    r"|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonnabend|sonntag|mo|di|mi|do|fr|sa|so"
    r"|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|lun|mar|mer|jeu|ven|sam|dim"
    r"|lunes|martes|mi\u00e9rcoles|jueves|viernes|s\u00e1bado|domingo|(?:segunda|ter\u00e7a|quarta|quinta|sexta)(?:-feira)?"
    r"|luned\u00ec|marted\u00ec|mercoled\u00ec|gioved\u00ec|venerd\u00ec|sabato|domenica"
    r"|maandag|dinsdag|woensdag|donderdag|vrijdag|zaterdag|zondag|ma|wo|vr|za|zo"
    r"|poniedziałek|wtorek|środa|czwartek|piątek|sobota|niedziela"
    r"|pondělí|úterý|středa|čtvrtek|pátek|neděle|pondelok|utorok|streda|štvrtok|piatok|nedeľa"
    r"|ponedeljek|torek|sreda|četrtek|petek|nedelja|pone(?:dje|de)ljak|utorak|srijeda|četvrtak|petak|subota|nedjelja"
    r"|maanantai(?:na)?|tiistai(?:na)?|keskiviikko(?:na)?|torstai(?:na)?|perjantai(?:na)?|lauantai(?:na)?|sunnuntai(?:na)?"
    r"|esmaspäev|teisipäev|kolmapäev|neljapäev|reede|laupäev|pühapäev"
    r"|hétfő|kedd|szerda|csütörtök|péntek|szombat|vasárnap"
    r"|luni|marți|miercuri|joi|vineri|sâmbătă|duminică"
    r"|pazartesi|sal\u0131|çarşamba|perşembe|cuma|cumartesi|pazar"
    r"|понедельник|вторник|среда|четверг|пятница|суббота|воскресенье"
    r"|понеділок|вівторок|середа|четвер|п[\u2019\u02bc']ятниця|субота|неділя"
    r"|понедељак|уторак|четвртак|петак|недеља|понеделник|сряда|четвъртък|петък|събота|неделя"
    r"|δευτέρα|τρίτη|τετάρτη|πέμπτη|παρασκευή|σάββατο|κυριακή"
    r"|m\u00e5ndag|tisdag|onsdag|torsdag|fredag|l\u00f6rdag|s\u00f6ndag|mandag|tirsdag|l\u00f8rdag|s\u00f8ndag"
)
_FILLER = re.compile(
    rf"\b(?:{_WEEKDAYS}|at|on|the|of|from|beginning|begins|starting|starts|start|when|date|time|day|local"
    r"|all[ -]?day|tba|tbd|(?:to be (?:announced|determined|confirmed))|sharp"
    r"|um|ab|von|den|der|dem|beginn|ganzt\u00e4gig|le|\u00e0|d\u00e8s|\u00e0 partir de|de|del|el|a las|dia|\u00e0s"
    r"|il|ore|ora|locale|alle|dalle|om|van|vanaf|horas|kl|klo|godz|saat|\u03ce\u03c1\u03b1|plkst|od|u|v|o|\u0432|\u043e|\u0443)\b|[\s,;|@()\[\]_.:/\u2013\u2014-]",
    re.IGNORECASE,
)
"""Matches a word or a mark that a text may have besides its date and time, because it does not change their meaning."""

_RANGE_WORD = re.compile(rf"\s*{_TO}\s*", re.IGNORECASE)
_BETWEEN = re.compile(r"\b(?:between|zwischen|entre|tussen)\b(.{1,20}?)\b(?:and|und|et|y|en)\b", re.IGNORECASE)
_JOINED_ZONE = re.compile(r"(?<=[\d\s])([AaPp][Mm])(?=[A-Z]{2,4}\b)")
_NOON = re.compile(r"(?<!12 )(?<!12)(?<!12:00 )(?<!12:00)\bnoon\b", re.IGNORECASE)
_NOON_WITH_MINUTES = re.compile(r"\b12:00\s?noon\b", re.IGNORECASE)
_MAX_HOURS_OVER_MIDNIGHT = 16
"""The longest range, in hours, that ends on the next day, such as 10:00 to 2:00."""

_MINUTES_OF_DAY = 24 * 60

_OFFSET = re.compile(r"(?:UTC|GMT)?\s?([+-])(\d{1,2}):?(\d\d)?", re.ASCII)


class TimeOfDay(NamedTuple):
    """A time of day. `zone` is its zone as written, or empty. Hour 24 is the end of the day."""

    hour: int
    minute: int = 0
    second: int = 0
    zone: str = ""

    @property
    def minutes(self) -> int:
        """The minutes since the beginning of the day."""
        return self.hour * 60 + self.minute

    def on_day(self, day: datetime, zone: ZoneInfo | None) -> datetime | None:
        """Return this time on a day as a datetime, or None if the time or its zone is not valid.

        The datetime has the zone that the time names. It has no zone if the time names none, or names `zone` itself,
        which is the zone of the source, if that is known.
        """
        if self.hour > 24 or (self.hour == 24 and self.minute + self.second):
            return None
        local_time = day.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None) + timedelta(
            hours=self.hour, minutes=self.minute, seconds=self.second
        )
        if not self.zone:
            return local_time
        name_of_zone = _without_season((local_time.replace(tzinfo=zone).tzname() or "").upper())
        is_own_zone = _without_season(self.zone.upper()) == name_of_zone
        named_zone = zone if is_own_zone else _find_zone(self.zone, zone)
        if named_zone is None:
            return local_time if is_own_zone else None
        named_time = local_time.replace(tzinfo=named_zone)
        later = named_time.replace(fold=1)
        if named_time.tzname() != self.zone.upper() == later.tzname() and named_time.timestamp() < later.timestamp():
            return later  # 1:30 AM EST, which is after 1:30 AM EDT
        return local_time if is_own_zone else named_time


class TimeRange(NamedTuple):
    """A time of day, and the end of the range that it begins, which may be on the next day; None if it is no range."""

    start: TimeOfDay
    end: TimeOfDay | None = None


class DayAndTime(NamedTuple):
    """A text's date, in a form that `read_page_time` reads, and its time of day, which is None for a date alone."""

    day: str
    time: TimeRange | None


def has_date(text: str) -> bool:
    """Return whether a text has a date with a day, a month and a year."""
    return _DATE.search(text) is not None


def split_time_of_day(text: str) -> DayAndTime | None:
    """Split a text into its date and time of day; return None if it has no date, or if a part is not understood.

    >>> day, (start, end) = split_time_of_day("18:00 - 20:00 Uhr CET, 24.11.2026")
    >>> day, start, end.hour
    ('24.11.2026', TimeOfDay(hour=18, minute=0, second=0, zone='CET'), 20)
    >>> split_time_of_day("Nov 24, 2026"), split_time_of_day("Nov 24, 2026 at 6 o'clock")
    (DayAndTime(day='Nov 24, 2026', time=None), None)
    """
    if inside := _CLOCK_INSIDE.fullmatch(text):
        text = f"{inside[1]}, {inside[4]} {inside[2]}{inside[3]}"
    date = _DATE.search(text)
    if date is None:
        return None
    text_beside = f"{text[: date.start()]} ; {text[date.end() :]}"
    text_beside = _BETWEEN.sub(r"\1-", _JOINED_ZONE.sub(r"\1 ", text_beside))
    text_beside = _NOON.sub("12 noon", _NOON_WITH_MINUTES.sub("12 noon", text_beside))
    times = list(_CLOCK_TIME.finditer(text_beside))
    if len(times) > 2:
        return None
    time_of_day = _read_time_of_day(times[0]) if times else None
    remaining_text = text_beside
    if times:
        remaining_text = f"{text_beside[: times[0].start()]} {text_beside[times[-1].end() :]}"
    if _FILLER.sub("", remaining_text) or (times and time_of_day is None):
        return None
    if len(times) == 2 and time_of_day:
        text_between, second = text_beside[times[0].end() : times[1].start()], _read_time_of_day(times[1])
        time_of_day = _join_range(time_of_day.start, times[0], second, times[1], text_between) if second else None
        if time_of_day is None:
            return None
    return DayAndTime(_plain_date(date), time_of_day)


def _plain_date(date: re.Match[str]) -> str:
    """Return a matched date in a form that `read_page_time` reads, with numbers of two digits in ISO 8601.

    >>> _plain_date(_DATE.search("24. de noviembre de 2026")), _plain_date(_DATE.search("2026-9-1T18:00"))
    ('24. de noviembre de 2026', '2026-09-01')
    """
    text = date["date"].rstrip("Tt")
    return "-".join(f"{number:0>2}" for number in text.split(date["iso_mark"])) if date["iso_mark"] else text


def _join_range(
    first: TimeOfDay,
    first_match: re.Match[str],
    second_range: TimeRange,
    second_match: re.Match[str],
    text_between: str,
) -> TimeRange | None:
    """Return two times as a range; None if it is not clear that they are a range. The second may be a range itself.

    A time without a zone gets the zone of the other. If the second is an offset from UTC, as in `18:00:00-05:00`, the
    first gets it as its zone, and there is no end.
    """
    second = second_range.start
    if not _RANGE_WORD.fullmatch(text_between):
        return None
    if second.zone and first.zone and second.zone.upper() != first.zone.upper():
        return None
    offset = -timedelta(minutes=second.minutes)
    if text_between == "-" and first_match["second_24"] and is_utc_offset(offset):  # 18:00:00-05:00
        return TimeRange(first._replace(zone=f"-{second.hour:02}{second.minute:02}"))
    if second.hour < 13 and not second_match["meridiem"]:
        may_be_offset = text_between == " -" or (text_between == "-" and second.minutes < first.minutes)
        if may_be_offset or first_match["meridiem"]:
            return None
    if not _is_range(first, second):
        return None
    zone, end = first.zone or second.zone, second_range.end or second
    return TimeRange(first._replace(zone=zone), end._replace(zone=zone))


def _is_range(start: TimeOfDay, end: TimeOfDay) -> bool:
    """Return whether an event may begin and end at these times, perhaps on the next day.

    >>> [_is_range(TimeOfDay(20), TimeOfDay(hour)) for hour in (22, 20, 2, 18)]
    [True, True, True, False]
    """
    return end.minutes >= start.minutes or end.minutes + (24 - _MAX_HOURS_OVER_MIDNIGHT) * 60 <= start.minutes


def _read_time_of_day(time: re.Match[str]) -> TimeRange | None:
    """Return the time of day, or the range of times, in a match of `_CLOCK_TIME`.

    Return None if a range such as `18:00-17`, `1800-1730` or `20-18 Uhr` does not end after its start.
    """
    fields = time.groupdict()
    zone = (fields["offset"] or fields["zone"] or "").strip()
    if fields["meridiem"]:
        return _read_twelve_hours(fields, zone)
    hour = int(fields["hour_24"] or fields["hour_digits"] or fields["hour_word"])
    minute_names = (name for name in fields if name.startswith("minute_") and name != "minute_from" and fields[name])
    minute = next((fields[name] for name in minute_names), "0")
    time_of_day = TimeOfDay(hour, int(minute), int(fields["second_24"] or 0), zone)
    if fields["from_24"]:
        start = TimeOfDay(int(fields["from_24"]), int(fields["minute_from"] or 0), 0, zone)
        return TimeRange(start, time_of_day) if _is_range(start, time_of_day) else None
    end_hour = fields["end"] or fields["end_word"]
    end_digits = fields["end_digits"] or (f"{end_hour:0>2}00" if end_hour else "")
    if not end_digits:
        return TimeRange(time_of_day)
    end = TimeOfDay(int(end_digits[:2]), int(end_digits[2:]), 0, zone)
    return TimeRange(time_of_day, end) if time_of_day.minutes < end.minutes <= _MINUTES_OF_DAY else None


def _read_twelve_hours(fields: dict[str, str], zone: str) -> TimeRange | None:
    is_afternoon = fields["meridiem"][0].lower() != "a"
    hour = _hour_of_day(fields["hour"], is_afternoon=is_afternoon)
    time = TimeOfDay(hour, int(fields["minute"] or 0), int(fields["second"] or 0), zone)
    if not fields["from"]:
        return TimeRange(time)
    same_half, other_half = (
        TimeOfDay(_hour_of_day(fields["from"], is_afternoon=half), int(fields["from_minute"] or 0), 0, zone)
        for half in (is_afternoon, not is_afternoon)
    )
    start = same_half if same_half.minutes <= time.minutes else other_half
    return TimeRange(start, time) if _is_range(start, time) else None


def _hour_of_day(hour: str, *, is_afternoon: bool) -> int:
    return int(hour) if int(hour) > 12 else int(hour) % 12 + 12 * is_afternoon


def _without_season(name: str) -> str:
    """Return the English name of a zone without the letter for summer or winter.

    >>> [_without_season(name) for name in ("EST", "CEST", "AKDT", "MEZ", "JST")]
    ['ET', 'CET', 'AKT', 'CET', 'JST']
    """
    season = _SEASONAL_NAME.fullmatch(name)
    return _GERMAN_NAMES.get(name, name) if season is None else f"{season[1]}T" if season[1] else f"{season[2]}T"


def _find_zone(name: str, zone: ZoneInfo | None) -> tzinfo | None:
    """Return the zone that a name or an offset means in a source with the zone `zone`; None if that is not certain.

    >>> [_find_zone("BST", ZoneInfo(name)) for name in ("America/New_York", "Asia/Dhaka")]
    [zoneinfo.ZoneInfo(key='Europe/London'), None]
    """
    upper_name = name.upper()
    if offset := _OFFSET.fullmatch(upper_name):
        difference = timedelta(hours=int(offset[2]), minutes=int(offset[3] or 0)) * (1 if offset[1] == "+" else -1)
        return timezone(difference) if is_utc_offset(difference) else None
    first_word = upper_name.split()[0]
    other_areas = () if upper_name.endswith("(US & CANADA)") else _AREAS_OF_OTHER_MEANINGS.get(first_word, ())
    if zone and zone.key.startswith(other_areas):
        return None
    iana_name = _IANA_ZONES.get(_without_season(upper_name)) or _IANA_ZONES.get(first_word)
    try:
        return ZoneInfo(iana_name or name)
    except (ValueError, OSError, KeyError):
        return None
