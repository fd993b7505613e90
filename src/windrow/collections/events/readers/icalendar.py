"""iCalendar (RFC 5545): each VEVENT by itself, so that a broken one costs no other; repeated ones one by one."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from typing import Any

from windrow.collections.events.parser import ParserInput, RawEvent, Unread
from windrow.collections.events.readers.by_fields import text_of
from windrow.collections.events.times import EventTime, at_local, at_zoned, on_day, spelled
from windrow.errors import MissingExtra, StepError
from windrow.reasons import Reason

MOST = 10_000
"""Events of one calendar, and repetitions of one event, that are read."""


def _part(name: str) -> re.Pattern[str]:
    """Match one part of a calendar: it ends before the next of its kind, so that one without an end takes no other."""
    line = r"[ \t]*+\r?"
    return re.compile(
        rf"^BEGIN:{name}{line}\n(?:(?!(?:BEGIN|END):{name}{line}$)[^\n]*+\n)*+END:{name}{line}$",
        re.MULTILINE | re.IGNORECASE,
    )


_BLOCK = _part("VEVENT")
_ZONES = _part("VTIMEZONE")
_STATUSES = {"TENTATIVE": "tentative", "CONFIRMED": "confirmed", "CANCELLED": "cancelled", "CANCELED": "cancelled"}
_FOLDED = re.compile(r"\r?\n[ \t]")
_UID = re.compile(r"^UID(?:;[^:\n]*)?:([^\r\n]+)", re.MULTILINE | re.IGNORECASE)
_REPEATED = re.compile(r"^(?:RRULE|RDATE|RECURRENCE-ID)[;:]", re.MULTILINE | re.IGNORECASE)
_ADDRESS = re.compile(r"https?://\S+")
_EXCEPTIONS = (ValueError, TypeError, KeyError, AttributeError, IndexError, OverflowError, ArithmeticError)
"""What the library raises for a property that is none; each costs one event."""


def read(given: ParserInput) -> Iterator[RawEvent | Unread]:
    """Yield the events of a calendar."""
    text = text_of(given.content, given.media)
    if not re.search(r"^BEGIN:(VCALENDAR|VEVENT)[ \t]*\r?$", text, re.MULTILINE | re.IGNORECASE):
        raise StepError("this is no iCalendar", Reason.WRONG_ROOT)
    _define_zones(text)
    event_type = _library().Event
    blocks = [found[0].rstrip("\r") for found in islice(_BLOCK.finditer(text), MOST)]
    events: list[tuple[str, Any]] = []
    for number, block in enumerate(blocks, 1):
        try:
            events.append((block, event_type.from_ical(f"{block}\r\n")))
        except _EXCEPTIONS as error:
            yield Unread(Reason.NOT_WELL_FORMED, f"event {number}: {error}"[:500], _single(block))
    upper = text.upper()
    if (begun := upper.count("BEGIN:VEVENT")) > len(blocks):
        yield Unread(Reason.TRUNCATED, f"events without an end: {begun - len(blocks)}")
    elif upper.count("BEGIN:VCALENDAR") > upper.count("END:VCALENDAR"):
        yield Unread(Reason.TRUNCATED, "the calendar has no end: there may be more events")
    moved = _overrides(given, (event for _, event in events))
    count = 0
    for number, (block, event) in enumerate(events, 1):
        try:
            for one in islice(_told(given, block, event, moved), MOST):
                yield one
                count += 1
                if count >= MOST * 2:
                    yield Unread(Reason.TOO_LARGE, f"more than {MOST * 2} events and repetitions")
                    return
        except _EXCEPTIONS as error:
            yield Unread(Reason.NOT_WELL_FORMED, f"event {number}: {error}"[:500], _single(block))


def _single(block: str) -> str:
    r"""Return the UID of an event that cannot be read; empty where it is one of those that share theirs.

    >>> _single("BEGIN:VEVENT\r\nUID:budget@exam\r\n ple.org\r\nEND:VEVENT")
    'budget@example.org'
    >>> _single("UID:weekly@example.org\r\nRRULE:FREQ=WEEKLY")
    ''
    """
    whole = _FOLDED.sub("", block)
    found = _UID.search(whole)
    return "" if found is None or _REPEATED.search(whole) else found[1].strip()


def _library() -> Any:
    try:
        import icalendar  # noqa: PLC0415 an extra
    except ImportError:
        raise MissingExtra("reading iCalendar", "events") from None
    # What it guesses of the names of zones is nothing to tell on the screen of whoever runs this.
    warnings.filterwarnings("ignore", module=r"icalendar\b")
    return icalendar


def _define_zones(text: str) -> None:
    """Let the library know the zones that a calendar defines, and forget those of earlier calendars."""
    library = _library()
    library.timezone.tzp.use_zoneinfo()
    zones = "\r\n".join(found[0].rstrip("\r") for found in islice(_ZONES.finditer(text), 50))
    if zones:
        # Zones that the library cannot read are those of their names, or that of the source.
        with suppress(*_EXCEPTIONS):
            library.Calendar.from_ical(f"BEGIN:VCALENDAR\r\n{zones}\r\nEND:VCALENDAR\r\n")


def _overrides(given: ParserInput, events: Iterable[Any]) -> set[tuple[str, str]]:
    """Return which repetitions are told by an event of their own: uid and original start."""
    found = set()
    for event in events:
        try:
            original = _when(given, event.get("RECURRENCE-ID"))
        except _EXCEPTIONS:
            original = None
        if original:
            found.add((_text(event, "UID"), spelled(original.utc)))
    return found


def _told(given: ParserInput, block: str, event: Any, moved: set[tuple[str, str]]) -> Iterator[RawEvent | Unread]:
    """Yield an event, or its repetitions within the window."""
    uid = _text(event, "UID")
    start = _when(given, event.get("DTSTART"))
    if start is None:
        why = f"{_text(event, 'SUMMARY')[:80]!r} has no start that can be read"
        yield Unread(Reason.INCOMPLETE_RECORD, why, _single(block))
        return
    length = _length(given, event, start)
    one = RawEvent(
        uid, _text(event, "SUMMARY"), start, block, _end(start, length), _text(event, "DESCRIPTION"), _url(event),
        _STATUSES.get(_text(event, "STATUS").strip().upper(), ""), _text(event, "LOCATION"), _extra(event),
    )  # fmt: skip
    original = _when(given, event.get("RECURRENCE-ID"))
    if original:
        yield one._replace(id=f"{uid} {spelled(original.utc)}" if uid else "")
        return
    if event.get("RRULE") is None and event.get("RDATE") is None:
        yield one
        return
    for at, lasts in _repeated(given, event, start):
        if at is None:
            why = f"{one.title[:80]!r} has more than {MOST * 10} repetitions before the time that is looked at is over"
            yield Unread(Reason.TOO_LARGE, why, _single(block))
        elif (uid, spelled(at.utc)) not in moved:
            end = _end(at, length if lasts is None else lasts)
            yield one._replace(id=f"{uid} {spelled(at.utc)}" if uid else "", start=at, end=end)


def _repeated(given: ParserInput, event: Any, start: EventTime) -> Iterator[tuple[EventTime | None, timedelta | None]]:
    """Yield the starts of a repeated event within the window around the visit, by the clock of its own zone.

    Beside a start is how long that repetition lasts, where it says so by itself. None in place of a start: there are
    too many to get through the window.
    """
    zone = getattr(event.get("DTSTART").dt, "tzinfo", None)
    repetitions, lengths = _repetitions(event, zone)
    # A day among times leaves out what begins on it, as those who write it mean.
    left_out = {each for each in _listed(event, "EXDATE") if not isinstance(each, datetime | tuple)}
    begin = given.visited.replace(tzinfo=None) - timedelta(seconds=given.parser.past)
    end = given.visited.replace(tzinfo=None) + timedelta(seconds=given.parser.ahead)
    for number, at in enumerate(islice(repetitions, MOST * 10 + 1)):
        if at > end:
            return
        if number >= MOST * 10:
            yield None, None
        elif at >= begin and at.date() not in left_out:
            made = on_day(at.date()) if start.all_day else _local(given, at, zone)
            if made:
                yield made, lengths.get(at)


def _repetitions(event: Any, zone: Any) -> tuple[Iterable[datetime], dict[datetime, timedelta]]:
    """Return the starts that the rules of an event make, by the clock of its zone, and the lengths of some."""
    from dateutil.rrule import rruleset, rrulestr  # noqa: PLC0415 comes with the library

    rules, base = rruleset(), _bare(event.get("DTSTART").dt, None)
    for rule in _several(event.get("RRULE")):
        spelt = re.sub(r"UNTIL=(\d{8})(T\d{6})?Z?", lambda found: _until(found, zone), rule.to_ical().decode())
        rules.rrule(rrulestr(spelt, dtstart=base, ignoretz=True))
    if event.get("RRULE") is None:
        rules.rdate(base)
    lengths: dict[datetime, timedelta] = {}
    for each in _listed(event, "RDATE"):
        begin, end = each if isinstance(each, tuple) else (each, None)
        rules.rdate(_bare(begin, zone))
        if end is not None:
            lengths[_bare(begin, zone)] = end if isinstance(end, timedelta) else end - begin
    for each in _listed(event, "EXDATE"):
        rules.exdate(_bare(each[0] if isinstance(each, tuple) else each, zone))
    return rules, lengths


def _listed(event: Any, name: str) -> list[Any]:
    """Return the days, times and periods of a property, which may stand there more than once."""
    return [each.dt for listed in _several(event.get(name)) for each in listed.dts]


def _until(found: re.Match[str], zone: Any) -> str:
    """Spell the end of a repetition in the event's own zone, where it is told in UTC."""
    if not found[2] or not found[0].endswith("Z") or zone is None:
        return f"UNTIL={found[1]}{found[2] or 'T235959'}"
    at = datetime.strptime(found[1] + found[2], "%Y%m%dT%H%M%S").replace(tzinfo=UTC).astimezone(zone)
    return at.strftime("UNTIL=%Y%m%dT%H%M%S")


def _bare(at: date | datetime, zone: Any) -> datetime:
    if not isinstance(at, datetime):
        return datetime(at.year, at.month, at.day)  # noqa: DTZ001 a clock's time, as all of a rule are
    return (at.astimezone(zone) if at.tzinfo and zone else at).replace(tzinfo=None)


def _local(given: ParserInput, at: datetime, zone: Any) -> EventTime | None:
    return at_local(at, given.zone) if zone is None else at_zoned(at.replace(tzinfo=zone), given.zone)


def _several(value: Any) -> list[Any]:
    return [] if value is None else list(value) if isinstance(value, list) else [value]


def _when(given: ParserInput, value: Any) -> EventTime | None:
    """Return a time of the calendar; one without a zone is in that of the source."""
    at = _dated(value)
    if isinstance(at, datetime):
        return at_zoned(at, given.zone) if at.tzinfo else at_local(at, given.zone)
    return on_day(at) if isinstance(at, date) else None


def _dated(value: Any) -> Any:
    """Return the date, time or duration of a property; None for one that is none, which raises when it is looked at."""
    try:
        return getattr(value, "dt", None)
    except _EXCEPTIONS:
        return None


def _length(given: ParserInput, event: Any, start: EventTime) -> timedelta | None:
    """Return how long an event lasts; of whole days, until its last day. None where it does not say."""
    end, lasts = _when(given, event.get("DTEND")), _dated(event.get("DURATION"))
    length = end.utc - start.utc if end else lasts if isinstance(lasts, timedelta) else None
    if length is None or length < timedelta(0):
        return None
    if not start.all_day:
        return length
    return max(timedelta(0), timedelta(days=length.days) - timedelta(days=1))


def _end(start: EventTime, length: timedelta | None) -> EventTime | str:
    if length is None:
        return ""
    return EventTime(start.utc + length, all_day=start.all_day)


def _text(event: Any, name: str) -> str:
    """Return a property as text: of several, the first one."""
    value = event.get(name)
    first = value[0] if isinstance(value, list) and value else value
    return "" if first is None else str(first).strip()


def _url(event: Any) -> str:
    """Return the page of an event: its URL, else nothing."""
    found = _ADDRESS.match(_text(event, "URL"))
    return found[0] if found else ""


def _extra(event: Any) -> dict[str, Any]:
    """Return what a calendar says beyond: categories, organizer, sequence; and that an event repeats."""
    extra: dict[str, Any] = {}
    categories = [str(word) for one in _several(event.get("CATEGORIES")) for word in getattr(one, "cats", [one])]
    if categories:
        extra["categories"] = categories
    if organizer := _text(event, "ORGANIZER"):
        extra["organizer"] = organizer
    if event.get("RRULE") is not None:
        extra["recurring"] = True
    return extra
