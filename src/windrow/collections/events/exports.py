"""The forms of events for other programs, by name: JSON, feeds, iCalendar, tables, a page."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from html import escape
from typing import Any, NamedTuple
from uuid import NAMESPACE_URL, uuid5
from xml.sax.saxutils import escape as escape_xml
from xml.sax.saxutils import quoteattr

from windrow.collections.events.documents import completed
from windrow.collections.events.times import day_after, read_back
from windrow.formats.text import json_text

_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def atom(events: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield an Atom feed, piece by piece."""
    pending = list(events)
    updated = max((one["changed"] for one in pending), default="1970-01-01T00:00:00Z")
    yield (
        '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n'
        f"<id>{identity('Events')}</id><title>Events</title><updated>{updated}</updated>\n"
        "<author><name>windrow</name></author><generator>windrow</generator>\n"
    )
    for one in pending:
        yield (
            f"<entry><id>{identity(one['uid'])}</id><title>{_text(one['title'])}</title>"
            f"<updated>{one['changed']}</updated><published>{one['first_seen']}</published>"
            f"<link href={quoteattr(_NO_XML.sub('', page_of(one)))}/>"
            f"<category term={quoteattr(one['branch'])}/><category term={quoteattr(one['entity'])}/>"
            f"<author><name>{_text(one['entity'])}</name></author>"
            f'<content type="text">{_text(told(one))}</content></entry>\n'
        )
    yield "</feed>\n"


def json_feed(events: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a JSON Feed."""
    items = [
        {
            "id": identity(event["uid"]),
            "url": page_of(event),
            "title": event["title"],
            "content_text": told(event),
            "date_published": event["first_seen"],
            "date_modified": event["changed"],
            "authors": [{"name": event["entity"]}],
            "tags": [event["branch"], event["entity"]],
            "_event": {
                name: event.get(name) for name in ("datetime", "end_datetime", "all_day", "status", "location", "uid")
            },
        }
        for event in events
    ]
    told_ = {"version": "https://jsonfeed.org/version/1.1", "title": "Events", "items": items}
    yield json.dumps(told_, ensure_ascii=False, indent=1) + "\n"


def identity(uid: str) -> str:
    """Return an address that names an event, and nothing else, for ever.

    >>> identity("senate/1") == identity("senate/1") != identity("senate/2")
    True
    """
    return f"urn:uuid:{uuid5(NAMESPACE_URL, 'windrow:event:' + uid.encode('utf-8', 'replace').decode())}"


def page_of(event: Mapping[str, Any]) -> str:
    """Return the page of an event, else that of its source."""
    return str(event.get("event_url") or event["source_url"])


def told(event: Mapping[str, Any]) -> str:
    """Say in a few lines when and where an event is, how it stands, and what it is."""
    when = event.get("local_datetime") or event["datetime"]
    zone = "" if event["all_day"] else f" ({event['source_timezone']})"
    lines = [f"{str(when).replace('T', ' ')}{zone}"]
    lines += [str(event["location"])] if event.get("location") else []
    lines += [f"Status: {event['status']}"] if event["status"] != "scheduled" else []
    lines += [str(event["description"])] if event["description"] else []
    return "\n".join(lines)


def _text(text: str) -> str:
    return escape_xml(_NO_XML.sub("", text))


_STATUSES = {
    "cancelled": "CANCELLED", "withdrawn": "CANCELLED", "missing": "TENTATIVE", "tentative": "TENTATIVE",
    "postponed": "TENTATIVE",
}  # fmt: skip
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x85\u2028\u2029\ud800-\udfff]")
_WIDTH = 75


def icalendar(events: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a calendar, piece by piece."""
    yield "".join(map(_folded, (
        "BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//windrow//events//EN", "CALSCALE:GREGORIAN", "METHOD:PUBLISH",
        "X-WR-CALNAME:Events",
    )))  # fmt: skip
    for event in events:
        yield "".join(map(_folded, _lines(event)))
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


COLUMNS = (
    "_id", "uid", "datetime", "end_datetime", "all_day", "title", "description", "location", "status", "branch",
    "entity", "event_url", "source_url", "source_timezone", "local_datetime", "parser_name", "parser_version",
    "access_datetime", "first_seen", "changed", "revision",
)  # fmt: skip
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_rows(events: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a heading, then a row for each event.

    A text that a spreadsheet would take for a formula has an apostrophe before it.
    """
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    for event in events:
        writer.writerow([_cell(event.get(name)) for name in COLUMNS])
        yield out.getvalue()
        out.seek(0)
        out.truncate()
    yield out.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return "" if value is None else value


_OCD_STATUSES = {"cancelled": "cancelled", "withdrawn": "cancelled", "scheduled": "confirmed", "confirmed": "confirmed"}


def ocd_events(events: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a list of events as Open Civic Data has them (OCDEP 4)."""
    first = True
    for event in events:
        yield ("[\n" if first else ",\n") + json_text(ocd_event(event))
        first = False
    yield "[]\n" if first else "\n]\n"


def ocd_event(event: Mapping[str, Any]) -> dict[str, Any]:
    """Make an event of Open Civic Data of a document."""
    cut = slice(0, 10) if event["all_day"] else slice(None)
    standard = {*COLUMNS, "source_text", "access_datetime", "history", "unique_key", "source", "_rev"}
    return {
        "_type": "event",
        "name": event["title"],
        "description": event["description"] or "",
        "classification": "event",
        "start_date": event["datetime"][cut],
        "end_date": (event["end_datetime"] or "")[cut],
        "timezone": event["source_timezone"],
        "all_day": event["all_day"],
        "status": _OCD_STATUSES.get(event["status"], "tentative"),
        "location": {"name": event.get("location") or "", "url": "", "coordinates": None},
        "participants": [{"name": event["entity"], "entity_type": "organization", "note": "host"}],
        "agenda": [],
        "documents": [],
        "media": [],
        "links": [{"url": event["event_url"], "note": "event"}] if event["event_url"] else [],
        "sources": [{"url": event["source_url"], "note": event["parser_name"]}],
        "created_at": event["first_seen"],
        "updated_at": event["changed"],
        "extras": {"uid": event["uid"], "branch": event["branch"], "windrow_status": event["status"]}
        | {name: value for name, value in event.items() if name not in standard},
    }


Writer = Callable[[Iterable[Mapping[str, Any]]], Iterator[str]]


class EventForm(NamedTuple):
    """A form of events: its media type, and what writes it in pieces of text."""

    media: str
    write: Writer


def legacy_json(events: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the object that VotersDaily's API answered with: documents by id, without their source_text."""
    results = {
        event["_id"]: {name: value for name, value in event.items() if name[0] != "_" and name != "source_text"}
        for event in events
    }
    yield json_text({"count": len(results), "results": results})


def html(events: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a page with a table."""
    yield '<!doctype html><meta charset="utf-8"><title>Events</title><table><tr><th>When<th>Entity<th>Event<th>Status'
    for event in events:
        url = page_of(event)
        title = escape(event["title"])
        linked = f'<a href="{escape(url)}">{title}</a>' if url.startswith(("http://", "https://")) else title
        cells = (escape(told(event).splitlines()[0]), escape(event["entity"]), linked, escape(event["status"]))
        yield f"<tr><td>{'<td>'.join(cells)}\n"
    yield "</table>\n"


def _form(media: str, write: Writer) -> EventForm:
    """Make a form that every document can be written in, also one that another program put into the database."""
    return EventForm(media, lambda events: write(whole for event in events if (whole := completed(event)) is not None))


FORMS = {
    "json": EventForm("application/json", legacy_json),
    "ical": _form("text/calendar; charset=utf-8", icalendar),
    "html": _form("text/html; charset=utf-8", html),
    "atom": _form("application/atom+xml", atom),
    "jsonfeed": _form("application/feed+json", json_feed),
    "csv": _form("text/csv; charset=utf-8", csv_rows),
    "ocd": _form("application/json", ocd_events),
}
