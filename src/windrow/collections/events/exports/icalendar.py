"""Events as iCalendar (RFC 5545): what calendar programs subscribe to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from windrow.collections.events.times import day_after, read_back

_STATUSES = {
    "cancelled": "CANCELLED", "withdrawn": "CANCELLED", "missing": "TENTATIVE", "tentative": "TENTATIVE",
    "postponed": "TENTATIVE",
}  # fmt: skip
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x85\u2028\u2029\ud800-\udfff]")
_WIDTH = 75


def icalendar(events: Iterable[Mapping[str, Any]], name: str = "Events") -> Iterator[str]:
    """Yield a calendar, piece by piece."""
    yield "".join(map(_folded, (
        "BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//windrow//events//EN", "CALSCALE:GREGORIAN", "METHOD:PUBLISH",
        f"X-WR-CALNAME:{escaped(name)}",
    )))  # fmt: skip
    for one in events:
        yield "".join(map(_folded, _lines(one)))
    yield _folded("END:VCALENDAR")


def _lines(event: Mapping[str, Any]) -> Iterator[str]:
    yield "BEGIN:VEVENT"
    yield f"UID:{escaped(event['uid'])}"
    yield f"DTSTAMP:{_utc(event['changed'])}"
    yield f"LAST-MODIFIED:{_utc(event['changed'])}"
    yield f"CREATED:{_utc(event['first_seen'])}"
    yield f"SEQUENCE:{event['revision']}"
    yield f"STATUS:{_STATUSES.get(event['status'], 'CONFIRMED')}"
    yield from _span(event)
    yield f"SUMMARY:{escaped(event['title'])}"
    for key, name in (("description", "DESCRIPTION"), ("location", "LOCATION")):
        if text := event.get(key):
            yield f"{name}:{escaped(str(text))}"
    if url := event.get("event_url") or event.get("source_url"):
        yield f"URL:{_CONTROL.sub('', url).replace(chr(10), '')}"
    yield f"CATEGORIES:{escaped(event['branch'])},{escaped(event['entity'])}"
    yield "END:VEVENT"


def _span(event: Mapping[str, Any]) -> Iterator[str]:
    """Yield when an event begins and ends; the end of whole days is the day after the last one."""
    start = read_back(event["datetime"])
    end = read_back(event["end_datetime"]) if event["end_datetime"] else None
    if event["all_day"]:
        after = day_after(max(start, end or start))
        yield f"DTSTART;VALUE=DATE:{_day(start)}"
        if after.date() > start.date():  # without an end an event of whole days has the one
            yield f"DTEND;VALUE=DATE:{_day(after)}"
        return
    yield f"DTSTART:{_utc(event['datetime'])}"
    if end is not None and end > start:
        yield f"DTEND:{_utc(event['end_datetime'])}"


def _day(at: datetime) -> str:
    return f"{at:%Y%m%d}".zfill(8)  # Linux writes the year 1 as one digit


def _utc(text: str) -> str:
    return text.replace("-", "").replace(":", "")


def escaped(text: str) -> str:
    r"""Escape a text for a value, without characters that have no place in one.

    >>> escaped("a, b; c\\d\r\ne")
    'a\\, b\\; c\\\\d\\ne'
    """
    plain = _CONTROL.sub(" ", text.replace("\r\n", "\n").replace("\r", "\n"))
    return plain.replace("\\", "\\\\").replace(";", "\\;").replace(",", "\\,").replace("\n", "\\n")


def _folded(line: str) -> str:
    """Return a line in pieces of at most 75 octets, none of which cuts a character, with its end."""
    content = line.encode("utf-8", "replace")
    if len(content) <= _WIDTH:
        return f"{line}\r\n"
    pieces: list[bytes] = []
    start, width = 0, _WIDTH
    while start < len(content):
        end = min(start + width, len(content))
        while end < len(content) and content[end] & 0xC0 == 0x80:
            end -= 1
        pieces.append(content[start:end])
        start, width = end, _WIDTH - 1
    return b"\r\n ".join(pieces).decode("utf-8", "replace") + "\r\n"
