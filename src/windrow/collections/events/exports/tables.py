"""Events as rows of CSV, and as events of Open Civic Data."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from windrow.formats.terminal import json_text

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
    for one in events:
        writer.writerow([_cell(one.get(name)) for name in COLUMNS])
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
    for one in events:
        yield ("[\n" if first else ",\n") + json_text(ocd_event(one))
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
