"""The formats in which events are exported: JSON, feeds, iCalendar, CSV, HTML, Open Civic Data and City Scrapers."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import NAMESPACE_URL, uuid5

from windrow.collections.events.documents import complete_document, web_address
from windrow.collections.events.times import day_after, parse_utc, zone_of
from windrow.formats.text import json_text, xml_text


class FeedAddresses(NamedTuple):
    """The addresses of a feed: its own one and that of its next page, or ""; `selection` is what its id is made of."""

    selection: str = ""
    own: str = ""
    further: str = ""


_FILE = FeedAddresses()


def atom(events: Iterable[Mapping[str, Any]], feed: FeedAddresses = _FILE) -> Iterator[str]:
    """Yield the parts of an Atom feed (RFC 4287) with an entry for each event."""
    events = list(events)
    addresses = (("self", feed.own), ("next", feed.further))
    links = "".join(f'<link rel="{name}" href="{xml_text(url)}"/>' for name, url in addresses if url)
    updated = max((event["changed"] for event in events), default="1970-01-01T00:00:00Z")
    yield (
        '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n'
        f"<id>{event_urn(feed.selection)}</id><title>Events</title><updated>{updated}</updated>\n"
        f"{links}"
        "<author><name>windrow</name></author><generator>windrow</generator>\n"
    )
    for event in events:
        url = xml_text(page_of(event))
        link = f'<link href="{url}"/>' if url else ""
        yield (
            f"<entry><id>{event_urn(event['uid'])}</id><title>{xml_text(event['title'])}</title>"
            f"<updated>{event['changed']}</updated><published>{event['first_seen']}</published>"
            f"{link}"
            f'<category term="{xml_text(event["branch"])}"/><category term="{xml_text(event["entity"])}"/>'
            f"<author><name>{xml_text(event['entity'])}</name></author>"
            f'<content type="text">{xml_text(describe_event(event))}</content></entry>\n'
        )
    yield "</feed>\n"


def json_feed(events: Iterable[Mapping[str, Any]], feed: FeedAddresses = _FILE) -> Iterator[str]:
    """Yield a JSON Feed (version 1.1) with an item for each event, as one text."""
    feed_items = [
        {
            "id": event_urn(event["uid"]),
            **({"url": page_of(event)} if page_of(event) else {}),
            "title": event["title"],
            "content_text": describe_event(event),
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
    addresses = {name: url for name, url in (("feed_url", feed.own), ("next_url", feed.further)) if url}
    value = {"version": "https://jsonfeed.org/version/1.1", "title": "Events", **addresses, "items": feed_items}
    yield json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def event_urn(uid: str) -> str:
    """Return a URN for an event: a version 5 UUID (RFC 9562, section 5.5) of its uid.

    >>> event_urn("senate/1") == event_urn("senate/1") != event_urn("senate/2")
    True
    """
    return f"urn:uuid:{uuid5(NAMESPACE_URL, 'windrow:event:' + uid.encode('utf-8', 'replace').decode())}"


def page_of(event: Mapping[str, Any]) -> str:
    """Return the address of an event's page, or else of its source; empty if neither is a web address."""
    return web_address(event.get("event_url")) or web_address(event["source_url"])


NOTES = ("time_note", "end_note", "status_note", "title_note", "text_note")
"""The keys of the notes about what was not read, or may be read otherwise than its source means."""


def describe_notes(event: Mapping[str, Any], names: Sequence[str] = NOTES) -> str:
    """Return the notes of an event on one line; empty if it has none.

    >>> describe_notes({"title": "Fair", "time_note": "unknown_zone", "end_note": "the source writes: late"})
    'time: unknown_zone; end: the source writes: late'
    """
    return "; ".join(f"{name.removesuffix('_note')}: {event[name]}" for name in names if event.get(name))


def describe_event(event: Mapping[str, Any]) -> str:
    """Return an event as lines of text: start, location, status unless it is scheduled, notes and description."""
    time = event.get("local_datetime") or event["datetime"]
    zone = "" if event["all_day"] else f" ({event['source_timezone']})"
    lines = [f"{str(time).replace('T', ' ')}{zone}"]
    lines += [str(event["location"])] if event.get("location") else []
    lines += [f"Status: {event['status']}"] if event["status"] != "scheduled" else []
    lines += [f"Notes: {notes}"] if (notes := describe_notes(event)) else []
    lines += [str(event["description"])] if event["description"] else []
    return "\n".join(lines)


_ICAL_STATUSES = {
    "cancelled": "CANCELLED", "withdrawn": "CANCELLED", "missing": "TENTATIVE", "tentative": "TENTATIVE",
    "postponed": "TENTATIVE",
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
    yield f"STATUS:{_ICAL_STATUSES.get(event['status'], 'CONFIRMED')}"
    yield from _start_and_end(event)
    yield f"SUMMARY:{escape_value(event['title'])}"
    for key, name in (("description", "DESCRIPTION"), ("location", "LOCATION")):
        if text := event.get(key):
            yield f"{name}:{escape_value(str(text))}"
    if notes := describe_notes(event):
        yield f"COMMENT:{escape_value(notes)}"
    if url := page_of(event):
        yield f"URL:{_CONTROL_CHARACTERS.sub('', url).replace(chr(10), '')}"
    yield f"CATEGORIES:{escape_value(event['branch'])},{escape_value(event['entity'])}"
    yield "END:VEVENT"


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


CSV_COLUMNS = (
    "_id", "uid", "datetime", "end_datetime", "all_day", "title", "description", "location", "status", "branch",
    "entity", "event_url", "source_url", "source_timezone", "local_datetime", "parser_name", "parser_version",
    "access_datetime", "first_seen", "changed", "revision",
)  # fmt: skip
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def csv_lines(events: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the parts of a CSV file: a header row, and a row for each event."""
    out = io.StringIO()
    writer = csv.writer(out)
    columns = (*CSV_COLUMNS, *NOTES)
    writer.writerow(columns)
    for event in events:
        writer.writerow([_cell_value(event.get(name)) for name in columns])
        yield out.getvalue()
        out.seek(0)
        out.truncate()
    yield out.getvalue()


def _cell_value(content: Any) -> Any:
    """Return the value for a cell. A text that a spreadsheet may run as a formula gets an apostrophe at its start."""
    if isinstance(content, bool):
        return "true" if content else "false"
    if isinstance(content, str) and content.startswith(_FORMULA_STARTS):
        return f"'{content}"
    return "" if content is None else content


_OCD_STATUSES = {"cancelled": "cancelled", "withdrawn": "cancelled", "scheduled": "confirmed", "confirmed": "confirmed"}


def ocd_events(events: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the parts of a JSON list of Open Civic Data events (OCDEP 4)."""
    is_first = True
    for event in events:
        yield ("[\n" if is_first else ",\n") + json_text(ocd_event(event))
        is_first = False
    yield "[]\n" if is_first else "\n]\n"


_OCD_DOCUMENTS = {"agenda_url": "Agenda", "minutes_url": "Minutes"}
"""A dict from a key of an event, whose value is the address of a document, to the `note` for the document."""


def _ocd_documents(event: Mapping[str, Any]) -> list[dict[str, Any]]:
    documents = [(note, event.get(key), "") for key, note in _OCD_DOCUMENTS.items()]
    attachments = event.get("attachments")
    documents += [
        (attachment.get("name") or "attachment", attachment.get("url"), attachment.get("media_type", ""))
        for attachment in attachments if isinstance(attachment, dict)
    ] if isinstance(attachments, list) else []  # fmt: skip
    return [
        {"note": note, "date": event["datetime"][:10], "links": [{"url": url, "media_type": media_type}]}
        for note, url, media_type in documents if web_address(url)
    ]  # fmt: skip


def _ocd_links(event: Mapping[str, Any]) -> list[dict[str, Any]]:
    conferences = event.get("conference_urls")
    urls = [("event", event["event_url"])]
    urls += [("conference", url) for url in conferences] if isinstance(conferences, list) else []
    return [{"url": url, "note": note} for note, url in urls if web_address(url)]


def _ocd_media(event: Mapping[str, Any]) -> list[dict[str, Any]]:
    url = web_address(event.get("video_url"))
    link = {"url": url, "media_type": ""}
    return [{"note": "Recording", "date": event["datetime"][:10], "links": [link], "offset": None}] if url else []


def ocd_event(event: Mapping[str, Any]) -> dict[str, Any]:
    """Convert an event's document to an event of Open Civic Data (OCDEP 4)."""
    date_part = slice(0, 10) if event["all_day"] else slice(None)
    keys_not_in_extras = {*CSV_COLUMNS, "source_text", "access_datetime", "unique_key", "source", "_rev"}
    keys_not_in_extras |= {"history", "history_left_out"}
    return {
        "_type": "event",
        "name": event["title"],
        "description": event["description"] or "",
        "classification": "event",
        "start_date": event["datetime"][date_part],
        "end_date": (event["end_datetime"] or "")[date_part],
        "timezone": event["source_timezone"],
        "all_day": event["all_day"],
        "status": _OCD_STATUSES.get(event["status"], "tentative"),
        "location": {"name": event["location"], "url": "", "coordinates": None} if event.get("location") else None,
        "participants": [{"name": event["entity"], "entity_type": "organization", "note": "host"}],
        "agenda": [],
        "documents": _ocd_documents(event),
        "media": _ocd_media(event),
        "links": _ocd_links(event),
        "sources": [{"url": web_address(event["source_url"]), "note": event["parser_name"]}],
        "created_at": event["first_seen"],
        "updated_at": event["changed"],
        "extras": {"uid": event["uid"], "branch": event["branch"], "windrow_status": event["status"]}
        | {name: value for name, value in event.items() if name not in keys_not_in_extras},
    }


def city_scrapers(events: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a line of JSON for each event: a `Meeting` of City Scrapers, in the local time of its source."""
    for event in events:
        yield json_text(meeting_item(event)) + "\n"


_LINK_TITLES = {"agenda_url": "Agenda", "minutes_url": "Minutes", "video_url": "Video"}
_SLUG_SEPARATORS = re.compile(r"[^a-z0-9]+")


def meeting_item(event: Mapping[str, Any]) -> dict[str, Any]:
    """Convert an event's document to a `Meeting` of City Scrapers. Its times have no zone.

    The status of a cancelled or withdrawn event is `cancelled`. Any other event is `confirmed` if its source says so or
    it has an agenda, and otherwise `tentative`. The status is never `passed`, which would depend on the present time.
    """
    start, end = (_local_text(event, name) for name in ("datetime", "end_datetime"))
    links = [(title, web_address(event.get(key))) for key, title in _LINK_TITLES.items()]
    is_confirmed = event["status"] == "confirmed" or bool(web_address(event.get("agenda_url")))
    status = _OCD_STATUSES.get(event["status"])
    slug = _SLUG_SEPARATORS.sub("_", event["title"].lower()).strip("_")
    return {
        "id": f"{event.get('source') or event['parser_name']}/{re.sub('[^0-9]', '', start)[:12]}/x/{slug}",
        "title": event["title"],
        "description": event["description"] or "",
        "classification": "Not classified",
        "status": "cancelled" if status == "cancelled" else "confirmed" if is_confirmed else "tentative",
        "start": start,
        "end": end or None,
        "all_day": event["all_day"],
        "time_notes": "; ".join(event[name] for name in ("time_note", "status_note") if event.get(name)),
        "location": {"name": event.get("location") or "", "address": ""},
        "links": [{"href": url, "title": title} for title, url in links if url],
        "source": page_of(event),
    }


def _local_text(event: Mapping[str, Any], name: str) -> str:
    """Return a time of an event in the zone of its source, as YYYY-MM-DD HH:MM:SS; empty if there is none."""
    if not event[name]:
        return ""
    time = parse_utc(event[name])
    zone = None if event["all_day"] else zone_of(event["source_timezone"])
    return f"{time.astimezone(zone) if zone else time:%Y-%m-%d %H:%M:%S}".zfill(19)


EventWriter = Callable[..., Iterator[str]]
"""A function that yields the text of events and, for a feed that is served, has its `FeedAddresses` as well."""


class EventForm(NamedTuple):
    """An export format: its media type, the function that writes events as text, and which documents it can write.

    If `any_document` is false, a document of another program is written only if it can be completed.
    """

    media: str  # the value of a Content-Type header
    write_events: EventWriter
    any_document: bool = False
    is_feed: bool = False

    def complete(self, documents: Iterable[Mapping[str, Any]]) -> Iterable[Mapping[str, Any]]:
        """Return the documents that are written, completed; without those that have no valid start."""
        return documents if self.any_document else filter(None, map(complete_document, documents))

    def write(self, documents: Iterable[Mapping[str, Any]], feed: FeedAddresses = _FILE) -> Iterator[str]:
        """Yield the text of all documents that can be written; a feed has the addresses of `feed`."""
        return self.write_complete(self.complete(documents), feed)

    def write_complete(self, events: Iterable[Mapping[str, Any]], feed: FeedAddresses) -> Iterator[str]:
        """Yield the text of documents that `complete` returned; a feed has the addresses of `feed`."""
        return self.write_events(events, *((feed,) if self.is_feed else ()))


def legacy_json(events: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the JSON of VotersDaily's API: documents by id, without `source_text` and keys that begin with `_`."""
    documents = {
        event["_id"]: {
            name: value for name, value in event.items() if not name.startswith("_") and name != "source_text"
        }
        for event in events
    }
    yield json_text({"count": len(documents), "results": documents})


def html(events: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the parts of an HTML page with a table that has a row for each event."""
    yield '<!doctype html><meta charset="utf-8"><title>Events</title><table><tr><th>When<th>Entity<th>Event<th>Status'
    for event in events:
        url = page_of(event)
        title = xml_text(event["title"])
        link = f'<a href="{xml_text(url)}">{title}</a>' if url else title
        time = xml_text(describe_event(event).splitlines()[0])
        notes = describe_notes(event)
        cells = (
            time,
            xml_text(event["entity"]),
            link,
            xml_text(f"{event['status']} ({notes})" if notes else event["status"]),
        )
        yield f"<tr><td>{'<td>'.join(cells)}\n"
    yield "</table>\n"


FORMS = {
    "json": EventForm("application/json", legacy_json, any_document=True),
    "ical": EventForm("text/calendar; charset=utf-8", icalendar),
    "html": EventForm("text/html; charset=utf-8", html),
    "atom": EventForm("application/atom+xml", atom, is_feed=True),
    "jsonfeed": EventForm("application/feed+json", json_feed, is_feed=True),
    "csv": EventForm("text/csv; charset=utf-8", csv_lines),
    "city-scrapers": EventForm("application/jsonl; charset=utf-8", city_scrapers),
    "ocd": EventForm("application/json", ocd_events),
}
