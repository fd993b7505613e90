"""The forms by name, as `windrow export events --as` and the API's `format` have them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from html import escape
from typing import Any, NamedTuple

from windrow.collections.events.documents import completed
from windrow.collections.events.exports.feeds import atom, json_feed, page_of, told
from windrow.collections.events.exports.icalendar import icalendar
from windrow.collections.events.exports.tables import csv_rows, ocd_events
from windrow.formats.terminal import json_text

Writer = Callable[[Iterable[Mapping[str, Any]]], Iterator[str]]


class EventForm(NamedTuple):
    """A form of events: its media type, and what writes it in pieces of text."""

    media: str
    write: Writer


def legacy_json(events: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the object that VotersDaily's API answered with: documents by id, without their source_text."""
    results = {
        one["_id"]: {name: value for name, value in one.items() if name[0] != "_" and name != "source_text"}
        for one in events
    }
    yield json_text({"count": len(results), "results": results})


def html(events: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a page with a table."""
    yield '<!doctype html><meta charset="utf-8"><title>Events</title><table><tr><th>When<th>Entity<th>Event<th>Status'
    for one in events:
        url = page_of(one)
        title = escape(one["title"])
        linked = f'<a href="{escape(url)}">{title}</a>' if url.startswith(("http://", "https://")) else title
        cells = (escape(told(one).splitlines()[0]), escape(one["entity"]), linked, escape(one["status"]))
        yield f"<tr><td>{'<td>'.join(cells)}\n"
    yield "</table>\n"


def _form(media: str, write: Writer) -> EventForm:
    """Make a form that every document can be written in, also one that another program put into the database."""
    return EventForm(media, lambda events: write(whole for one in events if (whole := completed(one)) is not None))


FORMS = {
    "json": EventForm("application/json", legacy_json),
    "ical": _form("text/calendar; charset=utf-8", icalendar),
    "html": _form("text/html; charset=utf-8", html),
    "atom": _form("application/atom+xml", atom),
    "jsonfeed": _form("application/feed+json", json_feed),
    "csv": _form("text/csv; charset=utf-8", csv_rows),
    "ocd": _form("application/json", ocd_events),
}
