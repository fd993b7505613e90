"""Read iCalendar (RFC 5545), each VEVENT alone, so that a broken one does not lose others; expand repetitions."""

from __future__ import annotations

import re
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from operator import itemgetter
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from windrow.collections.events.parser import RawEvent, SkippedPart, SourceDocument, left_out
from windrow.collections.events.readers.by_fields import decode_text
from windrow.collections.events.times import (
    UNKNOWN_ZONE,
    EventTime,
    format_utc,
    from_day,
    from_local,
    from_zoned,
    zone_of,
)
from windrow.errors import MissingExtra, StepError
from windrow.reasons import Reason

MAX_REPETITIONS = 10_000
"""Repetitions of one event within the window around an attempt; ten times as many are counted before the window."""


def _component(name: str) -> re.Pattern[str]:
    """Return a pattern for one component; one without an END does not extend into the next of its kind."""
    line = r"[ \t]*+\r?"
    return re.compile(
        rf"^BEGIN:{name}{line}\n(?:(?!(?:BEGIN|END):{name}{line}$)[^\n]*+\n)*+END:{name}{line}$",
        re.MULTILINE | re.IGNORECASE,
    )


_BLOCK = _component("VEVENT")
_ZONES = _component("VTIMEZONE")
_STATUSES = {"TENTATIVE": "tentative", "CONFIRMED": "confirmed", "CANCELLED": "cancelled", "CANCELED": "cancelled"}
_FOLDED = re.compile(r"\r?\n[ \t]")
_UID = re.compile(r"^UID(?:;[^:\n]*)?:([^\r\n]+)", re.MULTILINE | re.IGNORECASE)
_REPEATED = re.compile(r"^(?:RRULE|RDATE|RECURRENCE-ID)[;:]", re.MULTILINE | re.IGNORECASE)
_DATES = re.compile(r"^(?:EXDATE|RDATE)[;:][^\n]*\n(?:[ \t][^\n]*\n)*", re.MULTILINE | re.IGNORECASE)
_LONG = 10_000
"""Characters of an event above which the text of its repetitions lacks its lists of dates: each repeats all of them."""

_START = re.compile(r"^DTSTART(?:;[^:\n]*)?:[ \t]*(\d{8})", re.MULTILINE | re.IGNORECASE | re.ASCII)
_CANCEL = re.compile(r"^METHOD:[ \t]*CANCEL[ \t]*\r?$", re.MULTILINE | re.IGNORECASE)
_FILTERS = frozenset({"BYMONTH", "BYMONTHDAY", "BYYEARDAY", "BYWEEKNO", "BYSETPOS", "BYEASTER"})
_CALENDAR_ZONE = re.compile(r"^X-WR-TIMEZONE(?:;[^:\n]*)?:([^\r\n]+)", re.MULTILINE | re.IGNORECASE)
_ADDRESS = re.compile(r"https?://\S+")
_EXCEPTIONS = (StepError, ValueError, TypeError, KeyError, AttributeError, IndexError, OverflowError, ArithmeticError)
"""What the library raises for an invalid property; the event is skipped."""


def read(document: SourceDocument) -> Iterator[RawEvent | SkippedPart]:
    """Yield the events of a calendar; StepError if it has neither a VCALENDAR nor a VEVENT."""
    text = decode_text(document.content, document.media)
    if not re.search(r"^BEGIN:(VCALENDAR|VEVENT)[ \t]*\r?$", text, re.MULTILINE | re.IGNORECASE):
        raise StepError("this is not an iCalendar", Reason.WRONG_ROOT)
    _define_zones(text)
    document = document._replace(calendar_zone=_calendar_zone(text))
    event_type = _library().Event
    blocks = [match[0].rstrip("\r") for match in _BLOCK.finditer(text)]
    block_count, most = len(blocks), document.parser.most_events
    if block_count > most:
        blocks = sorted(blocks, key=lambda block: _distance(block, document.visited))[:most]
        yield SkippedPart(Reason.TOO_LARGE, left_out(block_count, most, f"most_events is {most}"))
    cancelled = _CANCEL.search(text) is not None
    events: list[tuple[str, Any]] = []
    for number, block in enumerate(blocks, 1):
        try:
            events.append((block, event_type.from_ical(f"{block}\r\n")))
        except _EXCEPTIONS as error:
            yield SkippedPart(Reason.NOT_WELL_FORMED, f"event {number}: {error}"[:500], _uid_of_single(block))
    upper = text.upper()
    if (begin_count := upper.count("BEGIN:VEVENT")) > block_count:
        yield SkippedPart(Reason.TRUNCATED, f"events without an end: {begin_count - block_count}")
    elif upper.count("BEGIN:VCALENDAR") > upper.count("END:VCALENDAR"):
        yield SkippedPart(Reason.TRUNCATED, "the calendar does not end: there may be more events")
    overrides = _overrides(document, events)
    for number, (block, event) in enumerate(events, 1):
        try:
            for part in _expand(document, block, event, overrides):
                yield part._replace(status="cancelled") if cancelled and isinstance(part, RawEvent) else part
        except _EXCEPTIONS as error:
            yield SkippedPart(Reason.NOT_WELL_FORMED, f"event {number}: {error}"[:500], _uid_of_single(block))


def _uid_of_single(block: str) -> str:
    r"""Return the UID of an event that cannot be read, or an empty text if its repetitions share it.

    >>> _uid_of_single("BEGIN:VEVENT\r\nUID:budget@exam\r\n ple.org\r\nEND:VEVENT")
    'budget@example.org'
    >>> _uid_of_single("UID:weekly@example.org\r\nRRULE:FREQ=WEEKLY")
    ''
    """
    unfolded = _FOLDED.sub("", block)
    uid = _UID.search(unfolded)
    return "" if uid is None or _REPEATED.search(unfolded) else uid[1].strip()


def _library() -> Any:
    try:
        import icalendar  # noqa: PLC0415 an extra
    except ImportError:
        raise MissingExtra("reading iCalendar", "events") from None
    # It warns of zone names that it guesses, which a user cannot act on.
    warnings.filterwarnings("ignore", module=r"icalendar\b")
    return icalendar


def _define_zones(text: str) -> None:
    """Register the VTIMEZONEs of a calendar with the library, and remove those of earlier calendars."""
    library = _library()
    library.timezone.tzp.use_zoneinfo()
    zones = "\r\n".join(match[0].rstrip("\r") for match in islice(_ZONES.finditer(text), 50))
    if zones:
        # A zone that the library cannot parse is looked up by its name, or is that of the source.
        with suppress(*_EXCEPTIONS):
            library.Calendar.from_ical(f"BEGIN:VCALENDAR\r\n{zones}\r\nEND:VCALENDAR\r\n")


def _calendar_zone(text: str) -> ZoneInfo | None:
    r"""Return the zone of times without one, which Google, Apple and others give in X-WR-TIMEZONE; None if not valid.

    >>> _calendar_zone("BEGIN:VCALENDAR\r\nX-WR-TIMEZONE:America/Chicago\r\n")
    zoneinfo.ZoneInfo(key='America/Chicago')
    """
    name = _CALENDAR_ZONE.search(text)
    return zone_of(name[1].strip()) if name else None


def _distance(block: str, visited: datetime) -> tuple[bool, int]:
    """Return a key that sorts coming events first, the nearest first, and then past ones, the latest first.

    An event that is repeated may come again.
    """
    start = _START.search(block)
    day = int(start[1]) if start else 0
    today = int(f"{visited - timedelta(days=1):%Y%m%d}")
    return day < today and not _REPEATED.search(block), abs(day - today)


class _Overrides(NamedTuple):
    """Repetitions that have a VEVENT of their own, by UID and original start (RECURRENCE-ID).

    `onward` has, by UID and in order of time, those which also change what follows them (RANGE=THISANDFUTURE).
    """

    moved: set[tuple[str, str]]
    onward: dict[str, list[tuple[datetime, RawEvent]]]


def _overrides(document: SourceDocument, events: Iterable[tuple[str, Any]]) -> _Overrides:
    moved = set[tuple[str, str]]()
    onward = defaultdict[str, list[tuple[datetime, RawEvent]]](list)
    for block, event in events:
        with suppress(*_EXCEPTIONS):
            original = _event_time(document, event.get("RECURRENCE-ID"))
            if original is None:
                continue
            uid = _text(event, "UID")
            moved.add((uid, format_utc(original.utc)))
            changed = _raw_event(document, block, event)
            if event.get("RECURRENCE-ID").params.get("RANGE", "").upper() == "THISANDFUTURE" and changed:
                onward[uid].append((original.utc, changed))
    return _Overrides(moved, {uid: sorted(changes, key=itemgetter(0)) for uid, changes in onward.items()})


def _raw_event(document: SourceDocument, block: str, event: Any) -> RawEvent | None:
    start = _event_time(document, event.get("DTSTART"))
    return None if start is None else RawEvent(
        _text(event, "UID"), _text(event, "SUMMARY"), start, block, _end(start, _length(document, event, start)),
        _text(event, "DESCRIPTION"), _url(event), _STATUSES.get(_text(event, "STATUS").strip().upper(), ""),
        _text(event, "LOCATION"), _extra(event),
    )  # fmt: skip


def _expand(
    document: SourceDocument, block: str, event: Any, overrides: _Overrides
) -> Iterator[RawEvent | SkippedPart]:
    """Yield an event, or its repetitions in the window around the attempt, except those with a VEVENT of their own."""
    raw_event = _raw_event(document, block, event)
    if raw_event is None or raw_event.start is None:
        message = f"{_text(event, 'SUMMARY')[:80]!r} has no start that can be read"
        yield SkippedPart(Reason.INCOMPLETE_RECORD, message, _uid_of_single(block))
        return
    uid, start = raw_event.id, raw_event.start
    original = _event_time(document, event.get("RECURRENCE-ID"))
    if original:
        yield raw_event._replace(id=f"{uid} {format_utc(original.utc)}" if uid else "")
        return
    if event.get("RRULE") is None and event.get("RDATE") is None:
        yield raw_event
        return
    if len(block) > _LONG:
        raw_event = raw_event._replace(text=_DATES.sub("", block))
    length = _length(document, event, start)
    for at, own_length in _repetitions_in_window(document, event, start):
        if at is None:
            message = f"{raw_event.title[:80]!r} has too many repetitions: more than {MAX_REPETITIONS}"
            yield SkippedPart(Reason.TOO_LARGE, message, _uid_of_single(block))
        elif (uid, format_utc(at.utc)) not in overrides.moved:
            end = _end(at, length if own_length is None else own_length)
            repetition = raw_event._replace(id=f"{uid} {format_utc(at.utc)}" if uid else "", start=at, end=end)
            yield _apply_override(repetition, at, overrides.onward.get(uid, ()))


def _apply_override(repetition: RawEvent, at: EventTime, changes: Sequence[tuple[datetime, RawEvent]]) -> RawEvent:
    """Return a repetition changed by the latest earlier override for this and future ones (RFC 5545, 3.2.13)."""
    for original, changed in reversed(changes):
        if original <= at.utc and changed.start:
            start = _shift_time(at, changed.start.utc - original)._replace(all_day=changed.start.all_day)
            length = changed.end.utc - changed.start.utc if isinstance(changed.end, EventTime) else None
            repetition = changed._replace(id=repetition.id, start=start, end=_end(start, length))
            break
    return repetition


def _shift_time(at: EventTime, shift: timedelta) -> EventTime:
    """Return a time shifted by a duration, also its local time."""
    local = (datetime.fromisoformat(at.local) + shift).isoformat() if at.local else ""
    return at._replace(utc=at.utc + shift, local=local[:10] if at.all_day else local)


def _repetitions_in_window(
    document: SourceDocument, event: Any, start: EventTime
) -> Iterator[tuple[EventTime | None, timedelta | None]]:
    """Yield the starts of a repeated event within the window around the attempt, in its own zone.

    Beside a start is the duration of that repetition, if an RDATE gives one. A start of None means that there are too
    many repetitions.
    """
    prop = event.get("DTSTART")
    zone = getattr(prop.dt, "tzinfo", None)
    repetitions, lengths = _all_repetitions(event, zone)
    # An EXDATE with a day alone, although the event has times, is meant to exclude all that starts on that day.
    excluded_days = {day for day in _dates_of(event, "EXDATE") if not isinstance(day, datetime | tuple)}
    begin = document.visited.replace(tzinfo=None) - timedelta(seconds=document.parser.recurrence_past)
    end = document.visited.replace(tzinfo=None) + timedelta(seconds=document.parser.recurrence_ahead)
    count = 0
    for number, at in enumerate(islice(repetitions, MAX_REPETITIONS * 10 + 1)):
        if at > end:
            return
        if number >= MAX_REPETITIONS * 10 or count >= MAX_REPETITIONS:
            yield None, None
            return
        if at >= begin and at.date() not in excluded_days:
            count += 1
            start_time = from_day(at.date()) if start.all_day else _local(document, prop, at, zone)
            if start_time:
                yield start_time, lengths.get(at)


def _all_repetitions(event: Any, zone: Any) -> tuple[Iterable[datetime], dict[datetime, timedelta]]:
    """Return the starts by an event's RRULE, RDATE and EXDATE, in its zone, and the durations that an RDATE gives."""
    from dateutil.rrule import rruleset, rrulestr  # noqa: PLC0415 comes with the library

    rules, base = rruleset(), _naive(event.get("DTSTART").dt, None)
    for rule in _as_list(event.get("RRULE")):
        _refuse_endless(rule)
        rule_text = re.sub(r"UNTIL=(\d{8})(T\d{6})?Z?", lambda until: _until(until, zone), rule.to_ical().decode())
        rules.rrule(rrulestr(rule_text, dtstart=base, ignoretz=True))
    rules.rdate(base)  # the first repetition, also where the rule does not fit it (RFC 5545, section 3.8.5.3)
    lengths: dict[datetime, timedelta] = {}
    for period in _dates_of(event, "RDATE"):
        begin, end = period if isinstance(period, tuple) else (period, None)
        rules.rdate(_naive(begin, zone))
        if end is not None:
            lengths[_naive(begin, zone)] = end if isinstance(end, timedelta) else end - begin
    for period in _dates_of(event, "EXDATE"):
        rules.exdate(_naive(period[0] if isinstance(period, tuple) else period, zone))
    return rules, lengths


def _refuse_endless(rule: Any) -> None:
    """Raise StepError for a rule that the library would need very long, or forever, to expand.

    By hours, minutes or seconds, the library tries each of them until it finds one in the right month, if any.
    """
    frequency = str((rule.get("FREQ") or [""])[0]).upper()
    if 0 in rule.get("INTERVAL", ()):
        raise StepError("the RRULE has INTERVAL=0", Reason.NOT_WELL_FORMED)
    filters = _FILTERS & {name.upper() for name in rule}
    if frequency in {"SECONDLY", "MINUTELY", "HOURLY"} and filters:
        problem = f"the RRULE has FREQ={frequency} and {', '.join(sorted(filters))}"
        raise StepError(problem, Reason.NOT_WELL_FORMED)


def _dates_of(event: Any, name: str) -> list[Any]:
    return [date.dt for prop in _as_list(event.get(name)) for date in prop.dts]


def _until(until: re.Match[str], zone: Any) -> str:
    """Convert an UNTIL in UTC to the event's own zone; a day alone becomes the end of that day."""
    if not until[2] or not until[0].endswith("Z") or zone is None:
        return f"UNTIL={until[1]}{until[2] or 'T235959'}"
    at = datetime.strptime(until[1] + until[2], "%Y%m%dT%H%M%S").replace(tzinfo=UTC).astimezone(zone)
    return at.strftime("UNTIL=%Y%m%dT%H%M%S")


def _naive(at: date | datetime, zone: Any) -> datetime:
    if not isinstance(at, datetime):
        return datetime(at.year, at.month, at.day)  # noqa: DTZ001 the rule is evaluated in local times
    return (at.astimezone(zone) if at.tzinfo and zone else at).replace(tzinfo=None)


def _local(document: SourceDocument, prop: Any, at: datetime, zone: Any) -> EventTime | None:
    """Return a local time in its own zone, the calendar's or the source's; with a note if it names an unknown zone."""
    zone = zone or document.calendar_zone
    event_time = from_local(at, document.zone) if zone is None else from_zoned(at.replace(tzinfo=zone), document.zone)
    if event_time and at.tzinfo is None and prop.dt.tzinfo is None and prop.params.get("TZID"):
        return event_time._replace(note=UNKNOWN_ZONE)
    return event_time


def _as_list(entries: Any) -> list[Any]:
    return [] if entries is None else list(entries) if isinstance(entries, list) else [entries]


def _event_time(document: SourceDocument, prop: Any) -> EventTime | None:
    """Return a property as a time, or None; a time without a zone is in that of the calendar or source."""
    at = _date_or_duration(prop)
    if isinstance(at, datetime):
        return from_zoned(at, document.zone) if at.tzinfo else _local(document, prop, at, None)
    return from_day(at) if isinstance(at, date) else None


def _date_or_duration(prop: Any) -> Any:
    """Return the date, time or duration of a property; None for any other, for which the library raises."""
    try:
        return getattr(prop, "dt", None)
    except _EXCEPTIONS:
        return None


def _length(document: SourceDocument, event: Any, start: EventTime) -> timedelta | None:
    """Return an event's duration (until its last day, if it lasts whole days); None if missing or negative."""
    end, duration = _event_time(document, event.get("DTEND")), _date_or_duration(event.get("DURATION"))
    length = end.utc - start.utc if end else duration if isinstance(duration, timedelta) else None
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
    """Return a property as text, the first if there are several, or an empty text if the event lacks it."""
    prop = event.get(name)
    first = prop[0] if isinstance(prop, list) and prop else prop
    return "" if first is None else str(first).strip()


def _url(event: Any) -> str:
    """Return the URL of an event, or an empty text if it is not an http or https address."""
    address = _ADDRESS.match(_text(event, "URL"))
    return address[0] if address else ""


def _extra(event: Any) -> dict[str, Any]:
    """Return an event's categories and organizer, and `recurring` if it has an RRULE."""
    extra: dict[str, Any] = {}
    categories = [str(word) for entry in _as_list(event.get("CATEGORIES")) for word in getattr(entry, "cats", [entry])]
    if categories:
        extra["categories"] = categories
    if organizer := _text(event, "ORGANIZER"):
        extra["organizer"] = organizer
    if event.get("RRULE") is not None:
        extra["recurring"] = True
    return extra
