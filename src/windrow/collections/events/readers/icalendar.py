"""Read iCalendar (RFC 5545) and expand repetitions. Each VEVENT is parsed alone, so that only invalid ones are lost."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, tzinfo
from itertools import islice
from operator import itemgetter
from typing import Any, NamedTuple

from windrow.caps import CALENDAR_ZONES, EVENT_REPETITIONS
from windrow.collections.events.parser import RawEvent, SkippedPart, SourceDocument, describe_left_out
from windrow.collections.events.readers.by_fields import count_invalid_bytes
from windrow.collections.events.readers.calendar_heads import (
    LIBRARY_ERRORS,
    LINE_FOLD,
    EventText,
    define_zones,
    describe_truncation,
    icalendar_library,
    join_broken_texts,
    parse_event,
    split_calendars,
)
from windrow.collections.events.readers.calendar_properties import event_url, extra_keys, property_text
from windrow.collections.events.readers.html_text import decode_references
from windrow.collections.events.readers.repetitions import CUT_SERIES, UNTIL, all_repetitions, as_list, dates_of
from windrow.collections.events.readers.vcalendar import decode_calendar, find_untranslated_rules, translate_event
from windrow.collections.events.status_words import note_text, read_status
from windrow.collections.events.times import (
    UNKNOWN_ZONE,
    EventTime,
    format_utc,
    from_day,
    from_local,
    from_zoned,
)
from windrow.errors import StepError
from windrow.formats.text import counted
from windrow.reasons import Reason

MAX_REPETITIONS = EVENT_REPETITIONS.number
"""The maximum number of repetitions of an event that are read. At most ten times as many are examined."""

_CUT_MESSAGES = {
    Reason.TOO_LARGE: f"has too many repetitions; at most {MAX_REPETITIONS} are read",
    Reason.NOT_WANTED: CUT_SERIES,
}

_STATUSES = {"tentative": "tentative", "confirmed": "confirmed", "cancelled": "cancelled", "canceled": "cancelled"}
_UID_LINE = re.compile(r"^UID(?:;[^:\n]*)?:([^\r\n]+)", re.MULTILINE | re.IGNORECASE)
_REPETITION_LINE = re.compile(r"^(?:RRULE|RDATE|RECURRENCE-ID)[;:]", re.MULTILINE | re.IGNORECASE)
_DATE_LISTS = re.compile(r"^(?:EXDATE|RDATE)[;:][^\n]*\n(?:[ \t][^\n]*\n)*", re.MULTILINE | re.IGNORECASE)
_ZONE_OF_UTC = re.compile(
    r"^([A-Z-]+(?:;[^:\n]*?)?);TZID=(?:\"[^\"\n]*\"|[^;:\n]+)((?:;[^:\n]*)?:\d{8}T\d{6}Z(?:,\d{8}T\d{6}Z)*[ \t]*\r?)$",
    re.MULTILINE | re.IGNORECASE | re.ASCII,
)
"""Matches a property with times in UTC and a zone, which does not apply to them (RFC 5545, section 3.2.19)."""
_SINGLE = ("SUMMARY", "DESCRIPTION", "LOCATION", "STATUS", "URL", "DTSTART", "DTEND")
"""Properties that an event may have once (RFC 5545, section 3.6.1)."""
_MESSAGE_CHARACTERS = 200  # of the message for an unread line
_MAX_WHOLE_TEXT = 10_000  # characters
"""The maximum length of a recurring event's text that is kept whole; a longer text loses its lists of dates."""

_START_DAY = re.compile(r"^DTSTART(?:;[^:\n]*)?:[ \t]*(\d{8})", re.MULTILINE | re.IGNORECASE | re.ASCII)
_DURATION_DAYS = re.compile(
    r"^DURATION(?:;[^:\n]*)?:[ \t]*\+?P(?:(\d+)W)?(?:(\d+)D)?", re.MULTILINE | re.IGNORECASE | re.ASCII
)
_ALARM = re.compile(r"^BEGIN:VALARM", re.MULTILINE | re.IGNORECASE)


def read_icalendar(document: SourceDocument) -> Iterator[RawEvent | SkippedPart]:
    """Yield the events of a calendar, and SkippedParts for what is not used.

    There is one SkippedPart for each event that cannot be read or has a later revision, one for each event with more
    than MAX_REPETITIONS, one for all events beyond `most_events`, one for all zones beyond CALENDAR_ZONES, and one if
    the calendar is truncated. Raise StepError if the document is not a calendar.
    """
    text = decode_calendar(document.content, document.media)
    if not re.search(r"^BEGIN:(VCALENDAR|VEVENT)[ \t]*\r?$", text, re.MULTILINE | re.IGNORECASE):
        raise StepError("the document is not an iCalendar file", Reason.WRONG_ROOT)
    yield from count_invalid_bytes(document.content, text)
    define_zones(())
    event_texts = list(split_calendars(text))
    zones_left_out = {id(event_text.calendar): event_text.calendar.zones_left_out for event_text in event_texts}
    if left_out := sum(zones_left_out.values()):
        yield SkippedPart(Reason.CAPPED, CALENDAR_ZONES.rule, number=left_out)
    event_count, max_events = len(event_texts), document.parser.most_events
    if event_count > max_events:
        event_texts.sort(key=lambda event_text: _order_by_start(event_text.text, document.visited))
        del event_texts[max_events:]
        message = describe_left_out(event_count, max_events, f"the setting `most_events` is {max_events}")
        yield SkippedPart(Reason.TOO_LARGE, message)
    parsed = _parse_events(document, event_texts)
    yield from (part for part in parsed if isinstance(part, SkippedPart))
    events = [part for part in parsed if isinstance(part, _CalendarEvent)]
    if truncation := describe_truncation(text, event_count):
        yield SkippedPart(Reason.TRUNCATED, truncation)
    superseded = _find_superseded(events)
    overrides = _find_overrides([event for number, event in enumerate(events) if number not in superseded])
    for number, event in enumerate(events):
        if number in superseded:
            yield superseded[number]
            continue
        try:
            for part in _expand_event(event, overrides):
                yield part._replace(status="cancelled") if event.is_cancelled and isinstance(part, RawEvent) else part
        except LIBRARY_ERRORS as error:
            yield _skip_event(Reason.NOT_WELL_FORMED, f"event {number + 1}: {error}"[:500], event.text)


_LEAP_SECOND = re.compile(r"(?<=[:,]\d{8}T\d\d[25]9)60(?=Z?(?:,|\s|$))", re.ASCII)
"""Matches the second of 23:59:60 UTC in any zone; it is read as 59 (RFC 5545, section 3.3.12)."""


class _CalendarEvent(NamedTuple):
    """A VEVENT: its text, its properties, and its document with the zone of its VCALENDAR.

    `is_cancelled` means that its VCALENDAR cancels all its events. `joined_lines` had no fold (`join_broken_texts`).
    `unread_rules` are the values of rules of vCalendar 1.0 that iCalendar does not have.
    """

    text: str
    properties: Any
    document: SourceDocument
    is_cancelled: bool
    joined_lines: int
    unread_rules: Sequence[str]


def _parse_events(document: SourceDocument, event_texts: Iterable[EventText]) -> list[_CalendarEvent | SkippedPart]:
    event_type = icalendar_library().Event
    parts: list[_CalendarEvent | SkippedPart] = []
    zones: tuple[str, ...] = ()
    for number, (event_text, calendar) in enumerate(event_texts, 1):
        if calendar.zones != zones:
            zones = calendar.zones
            define_zones(zones)
        try:
            joined_text, joined_lines = join_broken_texts(translate_event(event_text, calendar.is_version_1))
            joined_text = _ZONE_OF_UTC.sub(r"\1\2", joined_text)
            rules = find_untranslated_rules(joined_text)
            properties = parse_event(event_type, joined_text)
            if properties.errors and (corrected_text := _LEAP_SECOND.sub("59", joined_text)) != joined_text:
                properties = parse_event(event_type, corrected_text)
        except LIBRARY_ERRORS as error:
            message = f"event {number}: {error}"[:500]
            parts.append(_skip_event(Reason.NOT_WELL_FORMED, message, event_text))
            continue
        of_calendar = document._replace(calendar_zone=calendar.zone, has_unknown_zone=calendar.has_unknown_zone)
        parts.append(_CalendarEvent(event_text, properties, of_calendar, calendar.is_cancelled, joined_lines, rules))
    return parts


def _find_superseded(events: Sequence[_CalendarEvent]) -> dict[int, SkippedPart]:
    """Find the VEVENTs of which the file has a later revision; return a dict from their indices to SkippedParts.

    Of VEVENTs with the same UID and RECURRENCE-ID, the one with the highest SEQUENCE is the latest (RFC 5545, section
    3.8.7.4). If several have this SEQUENCE, those that their VCALENDAR cancels count as later than the others.
    """
    numbers_by_name = defaultdict[tuple[str, str], list[int]](list)
    for number, event in enumerate(events):
        if uid := property_text(event.properties, "UID"):
            recurrence = event.properties.get("RECURRENCE-ID")
            with suppress(*LIBRARY_ERRORS):
                numbers_by_name[uid, recurrence.to_ical().decode() if recurrence is not None else ""].append(number)
    superseded: dict[int, SkippedPart] = {}
    for (uid, _), numbers in numbers_by_name.items():
        if len(numbers) == 1:
            continue
        revisions = {number: (_sequence(events[number].properties), events[number].is_cancelled) for number in numbers}
        last = max(revisions.values())
        for number, revision in revisions.items():
            if revision < last:
                message = f"the file has a later revision of {uid[:100]!r}: SEQUENCE {last[0]}, not {revision[0]}"
                key = f"{uid} SEQUENCE {revision[0]}"
                superseded[number] = SkippedPart(Reason.DUPLICATE_RECORD, message, key)
    return superseded


def _sequence(properties: Any) -> int:
    digits = property_text(properties, "SEQUENCE")
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 18 else 0


def _skip_event(reason: Reason, message: str, event_text: str) -> SkippedPart:
    r"""Return the SkippedPart for an event. If it recurs, its UID is that of a series, which all repetitions share.

    >>> _skip_event(Reason.NOT_VALID, "", "BEGIN:VEVENT\r\nUID:budget@exam\r\n ple.org\r\nEND:VEVENT")[2:4]
    ('budget@example.org', '')
    >>> _skip_event(Reason.NOT_VALID, "", "UID:weekly@example.org\r\nRRULE:FREQ=WEEKLY")[2:4]
    ('', 'weekly@example.org')
    """
    unfolded = LINE_FOLD.sub("", event_text)
    line = _UID_LINE.search(unfolded)
    uid = line[1].strip() if line else ""
    return SkippedPart(reason, message, *(("", uid) if _REPETITION_LINE.search(unfolded) else (uid, "")))


def _order_by_start(event_text: str, visited: datetime) -> tuple[bool, timedelta]:
    """Return a sort key that puts events older than the day before `visited` after all others.

    In both groups, the event nearest to that day is first. A recurring event that began before that day counts as an
    event of that day or, if its rule ended earlier, of the day of its UNTIL.
    """
    start, until = _START_DAY.search(event_text), UNTIL.search(event_text)
    first_day, day = visited.date() - timedelta(days=1), _read_day(start[1]) if start else date.min
    if day < first_day and _REPETITION_LINE.search(event_text):
        day = min(first_day, _read_day(until[1])) if until else first_day
    return day < first_day, abs(day - first_day)


def _read_day(digits: str) -> date:
    try:
        return date.fromisoformat(digits)
    except ValueError:
        return date.min


class _Overrides(NamedTuple):
    """The repetitions in a file that have a VEVENT of their own.

    `replaced_starts` has (UID, original start in UTC) for each of them. `changes_of_following` is a dict from UID to
    the VEVENTs that also change the repetitions after them (RANGE=THISANDFUTURE), as (original start, event) in order
    of time. `first_starts` is a dict from UID to the DTSTART of the VEVENT that repeats.
    """

    replaced_starts: set[tuple[str, str]]
    changes_of_following: dict[str, list[tuple[datetime, RawEvent]]]
    first_starts: dict[str, Any]


def _find_overrides(events: Sequence[_CalendarEvent]) -> _Overrides:
    first_starts = {
        property_text(event.properties, "UID"): event.properties.get("DTSTART")
        for event in events
        if event.properties.get("RECURRENCE-ID") is None
    }
    replaced_starts = set[tuple[str, str]]()
    changes_of_following = defaultdict[str, list[tuple[datetime, RawEvent]]](list)
    for event in events:
        with suppress(*LIBRARY_ERRORS):
            original_start, uid = _original_start(event, first_starts), property_text(event.properties, "UID")
            if original_start is None or not uid:  # without a UID, it is not known of which event it is a repetition
                continue
            replaced_starts.add((uid, format_utc(original_start.utc)))
            override = _raw_event(event)
            recurrence = event.properties.get("RECURRENCE-ID")
            if recurrence.params.get("RANGE", "").upper() == "THISANDFUTURE" and override:
                changes_of_following[uid].append((original_start.utc, override))
    changes = {uid: sorted(changes, key=itemgetter(0)) for uid, changes in changes_of_following.items()}
    return _Overrides(replaced_starts, changes, first_starts)


def _original_start(event: _CalendarEvent, first_starts: Mapping[str, Any]) -> EventTime | None:
    """Return the start of the repetition that a VEVENT replaces, from its RECURRENCE-ID; None if it has no valid one.

    A RECURRENCE-ID without a zone, or with a day alone, is completed from the DTSTART of the VEVENT that repeats.
    """
    recurrence = event.properties.get("RECURRENCE-ID")
    first_start = first_starts.get(property_text(event.properties, "UID"))
    moment, first = _date_or_duration(recurrence), _date_or_duration(first_start)
    if not isinstance(moment, date) or not isinstance(first, date):
        return _event_time(event.document, recurrence)
    if not isinstance(first, datetime):
        return from_day(moment.date() if isinstance(moment, datetime) else moment)
    if not isinstance(moment, datetime):
        moment = datetime.combine(moment, first.time())
    if moment.tzinfo is None and not recurrence.params.get("TZID"):
        return _from_naive(event.document, first_start, moment, first.tzinfo)
    return _event_time(event.document, recurrence)


def _raw_event(calendar_event: _CalendarEvent) -> RawEvent | None:
    event_text, event, document, _, joined_lines, _ = calendar_event
    start = _event_time(document, event.get("DTSTART"))
    status, status_note = read_status(property_text(event, "STATUS"), _STATUSES)
    extra = extra_keys(event, document.rules.extra) | ({"status_note": status_note} if status_note else {})
    duration = _duration(calendar_event, start) if start else None
    end_moment = _date_or_duration(event.get("DTEND"))
    is_unread = duration is None or (start is not None and start.all_day and isinstance(end_moment, datetime))
    if is_unread and (ends := as_list(event.get("DTEND") or event.get("DURATION"))):
        extra["end_note"] = note_text(ends[0].to_ical().decode("utf-8", "replace"))
    if note := _describe_lines(event, joined_lines):
        extra["text_note"] = note
    return None if start is None else RawEvent(
        property_text(event, "UID"), decode_references(property_text(event, "SUMMARY")), start, event_text,
        _end_time(start, duration), property_text(event, "DESCRIPTION"), event_url(event),
        status, decode_references(property_text(event, "LOCATION")), extra,
    )  # fmt: skip


def _describe_lines(event: Any, joined_lines: int) -> str:
    """Return which lines of a VEVENT are not as the standard has them, or "" if there are none."""
    notes = [f"{counted(joined_lines, 'line')} of a text had no fold"] if joined_lines else []
    # The library names no property for a line that it cannot parse. Of other properties, the values are kept or noted.
    if unread := [str(message) for name, message in event.errors if name in {None, "", "RECURRENCE-ID"}]:
        notes.append(f"{counted(len(unread), 'line')} cannot be read: {unread[0][:_MESSAGE_CHARACTERS]}")
    if repeated := [name for name in _SINGLE if isinstance(event.get(name), list)]:
        notes.append(f"of several {', '.join(repeated)} the first is used")
    return "; ".join(notes)


def _expand_event(calendar_event: _CalendarEvent, overrides: _Overrides) -> Iterator[RawEvent | SkippedPart]:
    """Yield an event or, if it recurs, those of its repetitions in the window that have no VEVENT of their own.

    Yield only a SkippedPart if the start cannot be read, and one at the end if there are too many repetitions, or any
    after the window.
    """
    event_text, event, document, *_ = calendar_event
    raw_event = _raw_event(calendar_event)
    if raw_event is None or raw_event.start is None:
        message = f"{property_text(event, 'SUMMARY')[:80]!r} has no start that can be read"
        yield _skip_event(Reason.INCOMPLETE_RECORD, message, event_text)
        return
    uid, start = raw_event.id, raw_event.start
    original_start = _original_start(calendar_event, overrides.first_starts)
    if original_start:
        yield raw_event._replace(id=f"{uid} {format_utc(original_start.utc)}" if uid else "")
        return
    if event.get("RRULE") is None and event.get("RDATE") is None:
        yield raw_event
        return
    if rules := calendar_event.unread_rules:
        yield raw_event._replace(id=f"{uid} {format_utc(start.utc)}" if uid else "")
        message = f"{raw_event.title[:80]!r} has a rule of repetition that is not read: {'; '.join(rules)[:200]!r}"
        yield _skip_event(Reason.UNSUPPORTED, message, event_text)
        return
    if len(event_text) > _MAX_WHOLE_TEXT:
        raw_event = raw_event._replace(text=_DATE_LISTS.sub("", event_text))
    duration = _duration(calendar_event, start)
    for repeated_start, own_duration in _repetitions_in_window(document, event, start):
        if isinstance(repeated_start, Reason):
            yield SkippedPart(repeated_start, f"{raw_event.title[:80]!r} {_CUT_MESSAGES[repeated_start]}")
        elif (uid, start_text := format_utc(repeated_start.utc)) not in overrides.replaced_starts:
            end = _end_time(repeated_start, duration if own_duration is None else _Duration(own_duration))
            repetition = raw_event._replace(id=f"{uid} {start_text}" if uid else "", start=repeated_start, end=end)
            yield _apply_override(repetition, repeated_start, overrides.changes_of_following.get(uid, ()))


def _apply_override(repetition: RawEvent, start: EventTime, overrides: Sequence[tuple[datetime, RawEvent]]) -> RawEvent:
    """Return a repetition with the content of the last override that begins at or before `start`.

    Without an override the repetition is unchanged. `overrides` are as in `_Overrides.changes_of_following`; see RFC
    5545, section 3.2.13.
    """
    for original_start, override in reversed(overrides):
        if original_start <= start.utc and override.start:
            new_start = _shift_time(start, override.start.utc - original_start)
            new_start = new_start._replace(all_day=override.start.all_day)
            duration = _Duration(override.end.utc - override.start.utc) if isinstance(override.end, EventTime) else None
            changed: RawEvent = override._replace(id=repetition.id, start=new_start, end=_end_time(new_start, duration))
            return changed
    return repetition


def _shift_time(time: EventTime, shift: timedelta) -> EventTime:
    local = (datetime.fromisoformat(time.local) + shift).isoformat() if time.local else ""
    return time._replace(utc=time.utc + shift, local=local[:10] if time.all_day else local)


def _repetitions_in_window(
    document: SourceDocument, event: Any, start: EventTime
) -> Iterator[tuple[EventTime | Reason, timedelta | None]]:
    """Yield (start, duration) for each repetition in the parser's window around `visited`, in order of time.

    If there is none, yield the next one after the window or, if the event does not repeat again, the last one before
    it. The duration is None unless an RDATE has one. At the end, a key of _CUT_MESSAGES in place of a start says why
    there are further repetitions.
    """

    def time_of(local_start: datetime) -> EventTime | None:
        day = from_day(local_start.date()) if start.all_day else None
        return day or _from_naive(document, start_property, local_start, zone)

    start_property = event.get("DTSTART")
    zone = getattr(start_property.dt, "tzinfo", None)
    local_zone = zone or document.calendar_zone or document.zone
    repetitions, durations = all_repetitions(event, zone, local_zone)
    # An EXDATE with only a day, although the event has times, is meant to exclude all repetitions on that day.
    excluded_days = {day for day in dates_of(event, "EXDATE") if not isinstance(day, datetime | tuple)}
    begin = document.visited.replace(tzinfo=None) - timedelta(seconds=document.parser.recurrence_past)
    end = document.visited.replace(tzinfo=None) + timedelta(seconds=document.parser.recurrence_ahead)
    count, last_before = 0, None
    for number, local_start in enumerate(islice(repetitions, MAX_REPETITIONS * 10 + 1)):
        if local_start > end and count:
            yield Reason.NOT_WANTED, None
            return
        if number >= MAX_REPETITIONS * 10 or count >= MAX_REPETITIONS:
            yield Reason.TOO_LARGE, None
            return
        if local_start.date() in excluded_days:
            continue
        if local_start < begin:
            last_before = local_start
            continue
        count += 1
        if start_time := time_of(local_start):
            yield start_time, durations.get(local_start)
    if not count and last_before and (start_time := time_of(last_before)):
        yield start_time, durations.get(last_before)


def _from_naive(document: SourceDocument, ical_property: Any, naive: datetime, zone: tzinfo | None) -> EventTime | None:
    """Convert a time without a zone. It is in `zone` or, if that is None, in the zone of its calendar or its source.

    The result has the note UNKNOWN_ZONE if its property, or else its VCALENDAR, names a zone that is not known.
    """
    zone = zone or document.calendar_zone
    is_local = zone is None
    event_time = from_local(naive, document.zone) if is_local else from_zoned(naive.replace(tzinfo=zone), document.zone)
    names_unknown_zone = document.has_unknown_zone or ical_property.params.get("TZID")
    if event_time and naive.tzinfo is None and ical_property.dt.tzinfo is None and names_unknown_zone:
        return event_time._replace(note=UNKNOWN_ZONE)
    return event_time


def _event_time(document: SourceDocument, ical_property: Any) -> EventTime | None:
    time = _date_or_duration(ical_property)
    if isinstance(time, datetime):
        return from_zoned(time, document.zone) if time.tzinfo else _from_naive(document, ical_property, time, None)
    return from_day(time) if isinstance(time, date) else None


def _date_or_duration(ical_property: Any) -> Any:
    try:
        return getattr(ical_property, "dt", None)
    except LIBRARY_ERRORS:
        return None


class _Duration(NamedTuple):
    """A duration: an exact part, and days and weeks, which are added in the local time of `zone`.

    By RFC 5545, section 3.3.6, a day is not always 24 hours.
    """

    exact: timedelta
    days: timedelta = timedelta(0)
    zone: tzinfo = UTC


def _duration(calendar_event: _CalendarEvent, start: EventTime) -> _Duration | None:
    """Return the duration of an event; None if it is not stated or is negative, or if its end alone has no time of day.

    An all-day event is taken to end at the beginning of its last day. An end without a zone has that of the start.
    """
    event_text, event, document, *_ = calendar_event
    end_property, zone = event.get("DTEND"), getattr(_date_or_duration(event.get("DTSTART")), "tzinfo", None)
    end_moment = _date_or_duration(end_property)
    if isinstance(end_moment, datetime) and end_moment.tzinfo is None and not end_property.params.get("TZID"):
        end = _from_naive(document, end_property, end_moment, zone)
    else:
        end = _event_time(document, end_property)
    stated_duration = _date_or_duration(event.get("DURATION"))
    duration = end.utc - start.utc if end else stated_duration if isinstance(stated_duration, timedelta) else None
    if duration is None or duration < timedelta(0) or (end and end.all_day and not start.all_day):
        return None
    if start.all_day:
        if end and not end.all_day:  # the event lasts until this time of its last day
            duration = datetime.fromisoformat(end.local) - datetime.fromisoformat(start.local)
        full_days = -(-duration // timedelta(days=1))
        return _Duration(timedelta(days=max(0, full_days - 1)))
    if end:
        return _Duration(duration)
    written = _DURATION_DAYS.search(_ALARM.split(LINE_FOLD.sub("", event_text), 1)[0])
    days = timedelta(weeks=int(written[1] or 0), days=int(written[2] or 0)) if written else timedelta(0)
    return _Duration(duration - days, days, zone or document.calendar_zone or document.zone)


def _end_time(start: EventTime, duration: _Duration | None) -> EventTime | str:
    if duration is None:
        return ""
    end = start.utc
    if duration.days:
        local_end = start.utc.astimezone(duration.zone).replace(tzinfo=None, fold=0) + duration.days
        end = local_end.replace(tzinfo=duration.zone).astimezone(UTC)
    return EventTime(end + duration.exact, all_day=start.all_day)
