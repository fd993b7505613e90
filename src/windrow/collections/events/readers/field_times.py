"""Read the time in a field of an event, or in two: some sources have the day and the time of day in separate fields.

People write into such a field for the time: `5:30 PM or immediately after the Budget Committee`, `Cancelled`, `TBD`.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from zoneinfo import ZoneInfo

from windrow.collections.events.parser import SourceDocument
from windrow.collections.events.status_words import note_text, read_status
from windrow.collections.events.times import EventSpan, EventTime, from_aware, read_span

_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)", re.ASCII)
"""Matches a time without a zone in a field for the time of day; its date is that of the event, or of year 1899."""

_MAX_CHARACTERS = 200  # of a field for the time of day in which a time is looked for
_MIDNIGHT = "T00:00:00"
_CLOCK_IN_WORDS = re.compile(r"\b(?:midnight|noon|o'?\s?clock|[ap]\.?m)\b", re.IGNORECASE)
_MERIDIEM = re.compile(r"[ap]\.?\s?m\b", re.IGNORECASE)
_BEFORE_WORDS = re.compile(r"[\s,;*(\[\u2013\u2014-]+")
_CONDITION = re.compile(
    r"(?:or\s+)?(?:immediately|directly|upon|following|after|as soon as|when|at the (?:call|conclusion|end|close|rise"
    r"|adjournment|chair))\b|or (?:call|conclusion|adjournment)\b",
    re.IGNORECASE,
)
"""Matches words after a time that say on what else the beginning of a meeting depends."""


def span_of(document: SourceDocument, text: str) -> EventSpan | None:
    """Parse a time or a range with the rules for its document; return None if it is empty or cannot be parsed."""
    rules = document.rules
    return read_span(text, document.zone, rules.time_formats, rules.naive_timezone, document.visited) if text else None


class JoinedTime(NamedTuple):
    """The text of a time for `read_span`, and what the words in the field for the time of day say besides it.

    `note` is a note with the text of that field if it has other words than a time, and `status` is the status that
    these words state; both may be empty.
    """

    text: str
    note: str = ""
    status: str = ""


def join_day_and_time(document: SourceDocument, day_text: str, time_text: str) -> JoinedTime:
    """Return the time of day in `time_text` on the day in `day_text`, whose own clock then does not count.

    Without a time of day in `time_text`, a `day_text` that is midnight without a zone means the whole day: sources with
    a field for the time write a day so. With one, a midnight with a zone is such a day too. If `time_text` may have a
    time that is not understood, the result is both texts, which `read_span` refuses.
    """
    time_text = " ".join(time_text.split())
    timestamp = _TIMESTAMP.fullmatch(time_text)
    clock = timestamp[1] if timestamp else time_text
    span = span_of(document, day_text)
    if span is None:
        return JoinedTime(f"{day_text} {time_text}".strip())
    if span.start.own_zone and span.end is None:
        return _join_zoned(document, day_text, clock, span.start) if clock else JoinedTime(day_text)
    is_utc = document.rules.naive_timezone == "UTC" and not span.start.all_day
    local = span.start.utc.replace(tzinfo=None).isoformat() if is_utc else span.start.local
    day, is_midnight = local[:10], local[10:] in {"", _MIDNIGHT}
    day_text = day if is_midnight and span.end is None else day_text
    if not clock or span.end:  # a range of days has no one time of day
        return JoinedTime(day_text, note_text(time_text) if clock else "")
    joined = _join_clock(document, day, clock) or JoinedTime(f"{day_text} {clock}")
    return joined._replace(text=day_text) if joined.text == day else joined


def _join_zoned(document: SourceDocument, day_text: str, clock: str, start: EventTime) -> JoinedTime:
    """Return the time of day in `clock` on a day that is written as midnight in its own zone or in the source's.

    Any other time with a zone counts as it is written, and so does one that the clock repeats. The note has both texts
    if they state two times, or if the zone is neither that of the source nor UTC.
    """
    moment = start.utc.astimezone(start.own_zone)
    local = from_aware(moment, ZoneInfo("UTC") if document.rules.naive_timezone == "UTC" else document.zone)
    written_text = moment.replace(tzinfo=None).isoformat()
    local_text = local.local if local else written_text
    joined = _join_clock(document, local_text[:10], clock)
    if joined and joined.text == local_text[:10]:  # only words
        return joined._replace(text=day_text)
    if local_text.endswith(_MIDNIGHT):
        return joined or JoinedTime(f"{day_text} {clock}")
    span, is_midnight = span_of(document, joined.text) if joined else None, written_text.endswith(_MIDNIGHT)
    both_texts = note_text(f"{day_text} {clock}")
    if joined and span and span.start.utc == start.utc:
        return joined._replace(text=day_text, note=both_texts if is_midnight else joined.note)
    if not is_midnight:
        return JoinedTime(day_text, both_texts, joined.status if joined else "")
    joined = _join_clock(document, written_text[:10], clock) or JoinedTime(f"{day_text} {clock}")
    return joined._replace(note=both_texts) if moment.utcoffset() else joined


def _join_clock(document: SourceDocument, day: str, clock: str) -> JoinedTime | None:
    """Return a day with the time at the beginning of `clock`, or alone if `clock` has only words that are no time.

    Return None if `clock` may have a time that is not understood.
    """
    if _has_time(document, f"{day} {clock}"):
        return JoinedTime(f"{day} {clock}")
    for separator in _BEFORE_WORDS.finditer(clock[:_MAX_CHARACTERS]):
        clock_before, remaining = clock[: separator.start()], clock[separator.end() : 2 * _MAX_CHARACTERS]
        status = read_status(remaining.split(maxsplit=1)[0], {}).status if remaining else ""
        is_half_known = _MERIDIEM.search(clock_before) or not _MERIDIEM.search(remaining)
        is_understood = is_half_known and (status or _CONDITION.match(remaining))
        if is_understood and clock_before and _has_time(document, f"{day} {clock_before}"):
            return JoinedTime(f"{day} {clock_before}", note_text(clock), status)
    if any(map(str.isdigit, clock)) or _CLOCK_IN_WORDS.search(clock):
        return None
    return JoinedTime(day, note_text(clock), read_status(clock, {}).status)


def _has_time(document: SourceDocument, text: str) -> bool:
    span = span_of(document, text)
    return span is not None and not span.start.all_day
