"""Split an iCalendar file into its VCALENDARs and their VEVENTs, and read what a VCALENDAR says about its events."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime, tzinfo
from itertools import islice
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from windrow.caps import CALENDAR_ZONES
from windrow.collections.events.parser import SourceDocument
from windrow.collections.events.times import zone_of
from windrow.errors import MissingExtra, StepError
from windrow.formats.text import counted

LIBRARY_ERRORS = (
    StepError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, OSError, AssertionError,
    RuntimeError,
)  # fmt: skip
"""Errors that the library or the reader raises for an invalid property; an event with such a property is skipped."""


def _component_pattern(name: str) -> re.Pattern[str]:
    """Return a pattern for components such as VEVENT. A component without an END does not match.

    The group is not possessive, since Python before 3.11.5 then never matches END after a lookahead that backtracks.
    """
    line = r"[ \t]*+\r?"
    return re.compile(
        rf"^BEGIN:{name}{line}\n(?:(?!(?:BEGIN|END):{name}{line}$)[^\n]*+\n)*END:{name}{line}$",
        re.MULTILINE | re.IGNORECASE,
    )


_EVENT_COMPONENT = _component_pattern("VEVENT")
_ZONE_COMPONENT = _component_pattern("VTIMEZONE")
LINE_FOLD = re.compile(r"\r?\n[ \t]")
_CALENDAR_LINE = re.compile(r"^BEGIN:VCALENDAR[ \t]*\r?$", re.MULTILINE | re.IGNORECASE)
_CANCEL_LINE = re.compile(r"^METHOD:[ \t]*CANCEL[ \t]*\r?$", re.MULTILINE | re.IGNORECASE)
_ZONE_LINE = re.compile(r"^X-WR-TIMEZONE(?:;[^:\n]*)?:([^\r\n]+)", re.MULTILINE | re.IGNORECASE)
_VERSION_1_LINE = re.compile(r"^VERSION:[ \t]*1\.0[ \t]*\r?$", re.MULTILINE | re.IGNORECASE)
_OFFSET_LINE = re.compile(r"^TZ(?:;[^:\n]*)?:([^\r\n]+)", re.MULTILINE | re.IGNORECASE)
_SUMMER_TIME_LINE = re.compile(r"^DAYLIGHT:[ \t]*TRUE", re.MULTILINE | re.IGNORECASE)
"""Match the offset from UTC of vCalendar 1.0 in winter, and the rules for summer time, which are not read."""

_OTHER_COMPONENT = re.compile(rb"^BEGIN:(?:VTODO|VJOURNAL|VFREEBUSY)[ \t]*\r?$", re.MULTILINE | re.IGNORECASE)


def count_other_components(document: SourceDocument) -> int:
    """Return how many tasks, journal entries and lists of busy times a calendar has; they are not read."""
    return len(_OTHER_COMPONENT.findall(document.content))


_COMPONENT_LINE = re.compile(r"^(BEGIN:VEVENT|BEGIN:VCALENDAR|END:VCALENDAR)\b", re.MULTILINE | re.IGNORECASE)
_INDENTED_EVENT = re.compile(r"^[ \t]+BEGIN:VEVENT[ \t]*\r?\n[ \t]", re.MULTILINE | re.IGNORECASE)
"""Matches the beginning of an event whose lines are indented, so that it is not read as an event."""


def describe_truncation(text: str, event_count: int) -> str:
    r"""Return what a calendar lacks, of which `event_count` events can be read; empty if it is whole.

    >>> describe_truncation("BEGIN:VCALENDAR\nX:BEGIN:VEVENT\n BEGIN:VEVENT\nEND:VCALENDAR", 0)
    ''
    >>> describe_truncation("BEGIN:VCALENDAR\nBEGIN:VEVENT\nX:\n END:VCALENDAR", 0)
    '1 event has no END:VEVENT'
    """
    counts = Counter(match[1].upper() for match in _COMPONENT_LINE.finditer(LINE_FOLD.sub("", text)))
    cut_count = counts["BEGIN:VEVENT"] + len(_INDENTED_EVENT.findall(text)) - event_count
    if cut_count > 0:
        return f"{counted(cut_count, 'event')} {'has' if cut_count == 1 else 'have'} no END:VEVENT"
    is_cut = counts["BEGIN:VCALENDAR"] > counts["END:VCALENDAR"]
    return "the calendar has no END:VCALENDAR, so events may be missing" if is_cut else ""


_ZONE_NAME = re.compile(r"(?<=;TZID=)(?:\"[^\"\n]*\"|[^;:\n]+)")


def parse_event(event_type: Any, text: str) -> Any:
    """Parse the text of an event with the library's class for it.

    Zones whose names cannot be looked up, since they are folders of zones (`Europe`) or longer than the name of a file
    may be, become unknown zones. Raises one of LIBRARY_ERRORS if the text is not valid.
    """
    try:
        return event_type.from_ical(f"{text}\r\n")
    except OSError:
        return event_type.from_ical(f"{_ZONE_NAME.sub(_replace_unusable_name, text)}\r\n")


def _replace_unusable_name(zone: re.Match[str]) -> str:
    name = zone[0].strip('"')
    try:
        ZoneInfo(name)
    except OSError:
        return f'"{name[:60]} (no zone)"'
    except (ValueError, KeyError):
        pass  # the library does not know it either, and says so
    return zone[0]


class CalendarHead(NamedTuple):
    """What a VCALENDAR says about all its events.

    `is_cancelled` means that it cancels them. `zone` is the zone for their times without a zone of their own, or None.
    `has_unknown_zone` means that the VCALENDAR names such a zone, but the zone is not known. `zones` are the texts of
    its VTIMEZONEs, which are for its own events alone, without the last `zones_left_out` ones. `is_version_1` means
    that it is a vCalendar 1.0, which separates the entries of a list by semicolons.
    """

    is_cancelled: bool = False
    zone: tzinfo | None = None
    has_unknown_zone: bool = False
    zones: tuple[str, ...] = ()
    zones_left_out: int = 0
    is_version_1: bool = False


class EventText(NamedTuple):
    """The text of a VEVENT, and the head of its VCALENDAR."""

    text: str
    calendar: CalendarHead


def split_calendars(text: str) -> Iterator[EventText]:
    """Yield the VEVENTs of all VCALENDARs of a file, in order; those before the first VCALENDAR have an empty head."""
    starts = [match.start() for match in _CALENDAR_LINE.finditer(text)]
    for number, (start, end) in enumerate(zip([0, *starts], [*starts, len(text)], strict=True)):
        calendar = text[start:end]
        events = list(_EVENT_COMPONENT.finditer(calendar))
        head = CalendarHead()
        if number:
            begins, ends = (
                [0, *(event.end() for event in events)],
                [*(event.start() for event in events), len(calendar)],
            )
            head = read_head("".join(calendar[begin:until] for begin, until in zip(begins, ends, strict=True)))
        for event in events:
            yield EventText(event[0].rstrip("\r"), head)


def read_head(properties: str) -> CalendarHead:
    r"""Return the head of a VCALENDAR from its text without VEVENTs.

    >>> read_head("BEGIN:VCALENDAR\r\nX-WR-TIMEZONE:America/\r\n Chicago\r\n").zone
    zoneinfo.ZoneInfo(key='America/Chicago')
    """
    unfolded = LINE_FOLD.sub("", properties)
    is_cancelled, line = _CANCEL_LINE.search(unfolded) is not None, _ZONE_LINE.search(unfolded)
    name = line[1].strip(' \t"') if line else ""
    zone: tzinfo | None = zone_of(name) or _zone_of_windows(name) if name else None
    if not name and (offset := _OFFSET_LINE.search(unfolded)):
        name, has_summer_time = offset[1].strip(), _SUMMER_TIME_LINE.search(unfolded) is not None
        zone = None if has_summer_time else _zone_of_offset(name)
    components = _ZONE_COMPONENT.finditer(properties)
    zones = tuple(match[0].rstrip("\r") for match in islice(components, CALENDAR_ZONES.number))
    has_unknown_zone, zones_left_out = bool(name) and zone is None, sum(1 for _ in components)
    is_version_1 = _VERSION_1_LINE.search(unfolded) is not None
    return CalendarHead(is_cancelled, zone, has_unknown_zone, zones, zones_left_out, is_version_1)


def _zone_of_offset(text: str) -> tzinfo | None:
    with suppress(ValueError):  # such as the name of a zone
        return datetime.strptime(f"{text}00" if len(text) == 3 else text, "%z").tzinfo
    return None


def _zone_of_windows(name: str) -> ZoneInfo | None:
    with suppress(*LIBRARY_ERRORS):  # such as the name of a folder of zones
        zone = icalendar_library().timezone.tzp.timezone(name)
        return zone if isinstance(zone, ZoneInfo) else None
    return None


_PROPERTY_LINE = re.compile(
    r"([A-Z][A-Z0-9-]*|[a-z][a-z0-9-]*)[;:](?! )"
    r"|(DT(?:START|END|STAMP)|DURATION|RRULE|EXRULE|RDATE|EXDATE|UID|RECURRENCE-ID|SEQUENCE|BEGIN|END):"
)
_TEXT_LINE = re.compile(r"(?:COMMENT|CONTACT|DESCRIPTION|LOCATION|SUMMARY)[;:]")
PROPERTIES = frozenset((
    "ACKNOWLEDGED", "ACTION", "ATTACH", "ATTENDEE", "BEGIN", "CALENDAR-ADDRESS", "CATEGORIES", "CLASS", "COLOR",
    "COMMENT", "COMPLETED", "CONCEPT", "CONFERENCE", "CONTACT", "CREATED", "DESCRIPTION", "DTEND", "DTSTAMP", "DTSTART",
    "DUE", "DURATION", "END", "EXDATE", "EXRULE", "FREEBUSY", "GEO", "IMAGE", "LAST-MODIFIED", "LINK", "LOCATION",
    "LOCATION-TYPE", "NAME", "ORGANIZER", "PARTICIPANT-TYPE", "PERCENT-COMPLETE", "PRIORITY", "PROXIMITY", "RDATE",
    "RECURRENCE-ID", "REFID", "REFRESH-INTERVAL", "RELATED-TO", "REPEAT", "REQUEST-STATUS", "RESOURCE-TYPE",
    "RESOURCES", "RRULE", "SEQUENCE", "SOURCE", "STATUS", "STRUCTURED-DATA", "STYLED-DESCRIPTION", "SUMMARY", "TRANSP",
    "TRIGGER", "UID", "URL",
))  # fmt: skip
"""The properties of RFC 5545, 7986, 9073, 9074 and 9253 that an event or an alarm may have."""


def join_broken_texts(event_text: str) -> tuple[str, int]:
    r"""Return a VEVENT with the lines that continue a text without a fold folded, and their number.

    Some programs write the line ends of a text as they are. The line after such a text is a part of it unless it begins
    with a name in upper case, or with that of a property in lower case, and has the value directly behind the colon; a
    space may be behind names that no text has, such as RRULE.

    >>> join_broken_texts("DESCRIPTION:Bring tea.\nDoors: 6 pm\nStatus: cancelled\nSTATUS:CONFIRMED")
    ('DESCRIPTION:Bring tea.\n \\nDoors: 6 pm\n \\nStatus: cancelled\nSTATUS:CONFIRMED', 2)
    """
    lines, is_text, count = list[str](), False, 0
    for line in event_text.split("\n"):
        if not line.startswith((" ", "\t")):
            match = _PROPERTY_LINE.match(line)
            name = (match[1] or match[2]) if match else ""
            if not is_text or name.isupper() or name.upper() in PROPERTIES or name.startswith("x-"):
                is_text = _TEXT_LINE.match(line) is not None
            elif line.strip():
                lines.append(f" \\n{line}")
                count += 1
                continue
        lines.append(line)
    return "\n".join(lines), count


def icalendar_library() -> Any:
    """Return the module of the library that parses iCalendar; raise MissingExtra if it is not installed."""
    try:
        import icalendar  # noqa: PLC0415 an extra
    except ImportError:
        raise MissingExtra("reading iCalendar", "events") from None
    # The library warns if it guesses the name of a zone; a user can do nothing about such warnings.
    warnings.filterwarnings("ignore", module=r"icalendar\b")
    return icalendar


def define_zones(zones: Iterable[str]) -> None:
    """Register the VTIMEZONEs of a VCALENDAR with the library, in place of all earlier ones.

    A zone that is not registered, or that the library cannot parse, is looked up by its name; if the name is unknown,
    the zone of the calendar or of the source is used, and the event has a `time_note`.
    """
    library = icalendar_library()
    library.timezone.tzp.use_zoneinfo()
    for definition in zones:
        with suppress(*LIBRARY_ERRORS):
            library.Calendar.from_ical(f"BEGIN:VCALENDAR\r\n{definition}\r\nEND:VCALENDAR\r\n")
