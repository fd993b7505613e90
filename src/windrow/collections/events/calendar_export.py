"""Write events as iCalendar (RFC 5545)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from windrow.collections.events.documents import web_address
from windrow.collections.events.export_texts import (
    categories_of,
    conferences_of,
    describe_notes,
    documents_of,
    recordings_of,
)
from windrow.collections.events.readers.expressions import json_to_text
from windrow.collections.events.times import day_after, parse_utc

_ICAL_STATUSES = {
    "cancelled": "CANCELLED", "withdrawn": "CANCELLED", "missing": "TENTATIVE", "tentative": "TENTATIVE",
    "postponed": "TENTATIVE", "confirmed": "CONFIRMED",
}  # fmt: skip
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x85\u2028\u2029\ud800-\udfff]")
_MAX_LINE_OCTETS = 75


def icalendar(events: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the parts of an iCalendar file (RFC 5545) with a VEVENT for each event."""
    yield "".join(map(_fold_line, (
        "BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//windrow//events//EN", "CALSCALE:GREGORIAN", "METHOD:PUBLISH",
        "X-WR-CALNAME:Events",
    )))  # fmt: skip
    for event in events:
        yield "".join(map(_fold_line, _event_lines(event)))
    yield _fold_line("END:VCALENDAR")


def _event_lines(event: Mapping[str, Any]) -> Iterator[str]:
    yield "BEGIN:VEVENT"
    yield f"UID:{escape_value(event['uid'])}"
    yield f"DTSTAMP:{_ical_utc(event['changed'])}"
    yield f"LAST-MODIFIED:{_ical_utc(event['changed'])}"
    yield f"CREATED:{_ical_utc(event['first_seen'])}"
    yield f"SEQUENCE:{event['revision']}"
    if status := _ICAL_STATUSES.get(event["status"]):
        yield f"STATUS:{status}"
    yield from _start_and_end(event)
    yield f"SUMMARY:{escape_value(event['title'])}"
    for key, name in (("description", "DESCRIPTION"), ("location", "LOCATION")):
        if text := event.get(key):
            yield f"{name}:{escape_value(str(text))}"
    if notes := describe_notes(event):
        yield f"COMMENT:{escape_value(notes)}"
    if url := web_address(event.get("event_url")):
        yield f"URL:{_one_line(url)}"
    if url := web_address(event["source_url"]):
        yield f"LINK;LINKREL=via;VALUE=URI:{_one_line(url)}"
    yield from _organizer_lines(event)
    yield from _link_lines(event)
    yield f"CATEGORIES:{','.join(map(escape_value, categories_of(event)))}"
    yield "END:VEVENT"


_CALENDAR_ADDRESS = re.compile(r"(?:mailto:|https?://)\S+", re.IGNORECASE)


def _organizer_lines(event: Mapping[str, Any]) -> Iterator[str]:
    """Yield ORGANIZER, which needs an address; an organizer without one is a CONTACT."""
    address, name = (json_to_text(event.get(key)) or "" for key in ("organizer", "organizer_name"))
    if _CALENDAR_ADDRESS.fullmatch(address):
        yield f"ORGANIZER{_parameter('CN', name)}:{_one_line(address)}"
    elif address or name:
        yield f"CONTACT:{escape_value(address or name)}"


_MEDIA_TYPE = re.compile(r"[\w!#$&.+-]+/[\w!#$&.+-]+", re.ASCII)


def _link_lines(event: Mapping[str, Any]) -> Iterator[str]:
    """Yield ATTACH for each document and for the recording, with its name, and CONFERENCE (RFC 7986)."""
    for name, url, media_type in [*documents_of(event), *recordings_of(event)]:
        format_type = f";FMTTYPE={media_type}" if _MEDIA_TYPE.fullmatch(media_type) else ""
        yield f"ATTACH{format_type}{_parameter('FILENAME', name)}:{_one_line(url)}"
    for conference in conferences_of(event):
        yield f"CONFERENCE;VALUE=URI:{_one_line(conference.url)}"


def _parameter(name: str, text: str) -> str:
    """Return a parameter of a property, quoted; a quotation mark, which it cannot have, becomes an apostrophe."""
    return f';{name}="{_one_line(text).replace(chr(34), chr(39))}"' if text else ""


def _one_line(text: str) -> str:
    return _CONTROL_CHARACTERS.sub("", text).replace("\n", "").replace("\t", " ")


def _start_and_end(event: Mapping[str, Any]) -> Iterator[str]:
    """Yield DTSTART and, if the event ends after its start, DTEND.

    An all-day event has a DTEND even if it has no end: the day after its last day, if the year is below 10000.
    """
    start = parse_utc(event["datetime"])
    end = parse_utc(event["end_datetime"]) if event["end_datetime"] else None
    if event["all_day"]:
        following_day = day_after(max(start, end or start))
        yield f"DTSTART;VALUE=DATE:{_ical_date(start)}"
        if following_day.date() > start.date():  # without a DTEND the event lasts one day (RFC 5545, section 3.6.1)
            yield f"DTEND;VALUE=DATE:{_ical_date(following_day)}"
        return
    yield f"DTSTART:{_ical_utc(event['datetime'])}"
    if end is not None and end > start:
        yield f"DTEND:{_ical_utc(event['end_datetime'])}"


def _ical_date(day: datetime) -> str:
    return f"{day:%Y%m%d}".zfill(8)  # Linux writes the year 1 as one digit


def _ical_utc(text: str) -> str:
    return text.replace("-", "").replace(":", "")


def escape_value(text: str) -> str:
    r"""Escape a text for a TEXT value (RFC 5545, section 3.3.11); control characters become spaces.

    >>> escape_value("a, b; c\\d\r\ne")
    'a\\, b\\; c\\\\d\\ne'
    """
    plain = _CONTROL_CHARACTERS.sub(" ", text.replace("\r\n", "\n").replace("\r", "\n"))
    return plain.replace("\\", "\\\\").replace(";", "\\;").replace(",", "\\,").replace("\n", "\\n")


def _fold_line(line: str) -> str:
    """Fold a line into pieces of at most 75 octets (RFC 5545, section 3.1), with CRLF at the end."""
    content = line.encode("utf-8", "replace")
    if len(content) <= _MAX_LINE_OCTETS:
        return f"{line}\r\n"
    pieces: list[bytes] = []
    start, max_octets = 0, _MAX_LINE_OCTETS
    while start < len(content):
        end = min(start + max_octets, len(content))
        while end < len(content) and content[end] & 0xC0 == 0x80:
            end -= 1
        pieces.append(content[start:end])
        start, max_octets = end, _MAX_LINE_OCTETS - 1
    return b"\r\n ".join(pieces).decode("utf-8", "replace") + "\r\n"
