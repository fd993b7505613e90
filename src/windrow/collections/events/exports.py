"""The formats in which events are exported: JSON, feeds, iCalendar, CSV, HTML, Open Civic Data and City Scrapers."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple
from uuid import NAMESPACE_URL, uuid5

from windrow.collections.events.calendar_export import icalendar
from windrow.collections.events.documents import complete_document, web_address
from windrow.collections.events.export_texts import (
    NOTES,
    categories_of,
    conferences_of,
    describe_event,
    describe_notes,
    documents_of,
    links_of,
    page_of,
    recordings_of,
)
from windrow.collections.events.times import parse_utc, zone_of
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
        categories = "".join(f'<category term="{xml_text(name)}"/>' for name in categories_of(event))
        yield (
            f"<entry><id>{event_urn(event['uid'])}</id><title>{xml_text(event['title'])}</title>"
            f"<updated>{event['changed']}</updated><published>{event['first_seen']}</published>"
            f"{link}"
            f"{categories}"
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
            "tags": categories_of(event),
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


CSV_COLUMNS = (
    "_id", "uid", "datetime", "end_datetime", "all_day", "title", "description", "location", "status", "branch",
    "entity", "event_url", "source_url", "source_timezone", "local_datetime", "parser_name", "parser_version",
    "access_datetime", "first_seen", "changed", "revision",
)  # fmt: skip
_NOT_EXTRA = frozenset((*CSV_COLUMNS, "source_text", "unique_key", "source", "_rev", "history", "history_left_out"))
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def csv_lines(events: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the parts of a CSV file: a header row, and a row for each event; `extra` has its other keys as JSON."""
    out = io.StringIO()
    writer = csv.writer(out)
    columns = (*CSV_COLUMNS, *NOTES)
    writer.writerow((*columns, "extra"))
    for event in events:
        extra = {name: value for name, value in _extra_of(event).items() if name not in NOTES}
        cells = [*(event.get(name) for name in columns), json_text(extra) if extra else ""]
        writer.writerow(map(_cell_value, cells))
        yield out.getvalue()
        out.seek(0)
        out.truncate()
    yield out.getvalue()


def _extra_of(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of an event that are neither in CSV_COLUMNS nor about its document."""
    return {name: value for name, value in event.items() if name not in _NOT_EXTRA}


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


def _ocd_documents(event: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "note": name or "attachment",
            "date": event["datetime"][:10],
            "links": [{"url": url, "media_type": media_type}],
        }
        for name, url, media_type in documents_of(event)
    ]


def _ocd_links(event: Mapping[str, Any]) -> list[dict[str, Any]]:
    urls = [("event", web_address(event["event_url"])), *(("conference", link.url) for link in conferences_of(event))]
    return [{"url": url, "note": note} for note, url in urls if url]


def _ocd_media(event: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {"note": "Recording", "date": event["datetime"][:10], "links": [{"url": url, "media_type": ""}], "offset": None}
        for _, url, _ in recordings_of(event)
    ]


def ocd_event(event: Mapping[str, Any]) -> dict[str, Any]:
    """Convert an event's document to an event of Open Civic Data (OCDEP 4)."""
    date_part = slice(0, 10) if event["all_day"] else slice(None)
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
        | _extra_of(event),
    }


def city_scrapers(events: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a line of JSON for each event: a `Meeting` of City Scrapers, in the local time of its source."""
    for event in events:
        yield json_text(meeting_item(event)) + "\n"


_SLUG_SEPARATORS = re.compile(r"[^a-z0-9]+")


def meeting_item(event: Mapping[str, Any]) -> dict[str, Any]:
    """Convert an event's document to a `Meeting` of City Scrapers. Its times have no zone.

    The status of a cancelled or withdrawn event is `cancelled`. Any other event is `confirmed` if its source says so or
    it has an agenda, and otherwise `tentative`. The status is never `passed`, which would depend on the present time.
    """
    start, end = (_local_text(event, name) for name in ("datetime", "end_datetime"))
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
        "time_notes": "; ".join(event[name] for name in ("time_note", "end_note", "status_note") if event.get(name)),
        "location": {"name": event.get("location") or "", "address": ""},
        "links": [{"href": link.url, "title": link.name} for link in links_of(event)],
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
