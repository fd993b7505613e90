"""schema.org events in the JSON-LD of a page, however they are nested."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import unescape
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from windrow.collections.events.parser import ParserInput, RawEvent, Unread
from windrow.collections.events.readers.by_fields import time_of
from windrow.collections.events.readers.decoded import text_of
from windrow.collections.events.readers.json_path import shown
from windrow.errors import StepError
from windrow.reasons import Reason

MOST = 2_000
"""Events of one page that are read."""

_DEEP = 40
_CAP = 32 << 20
_KINDS = frozenset({"Festival", "Hackathon", "CourseInstance", "EventSeries", "ExhibitionEvent"})
_STATUSES = {
    "eventcancelled": "cancelled", "eventpostponed": "postponed", "eventrescheduled": "rescheduled",
    "eventscheduled": "scheduled", "eventmovedonline": "scheduled",
}  # fmt: skip


def read(given: ParserInput) -> Iterator[RawEvent | Unread]:
    """Yield the events of a page; of a page without any, nothing."""
    if len(given.content) > _CAP:
        raise StepError(f"{len(given.content)} bytes, at most {_CAP} allowed", Reason.TOO_LARGE)
    count = 0
    for script in LexborHTMLParser(text_of(given.content, given.media)).css('script[type="application/ld+json"]'):
        text = script.text(strip=True).removeprefix("<!--").removesuffix("-->")
        try:
            tree = json.loads(text, strict=False)
        except (ValueError, RecursionError):
            if "startDate" in text:
                yield Unread(Reason.NOT_WELL_FORMED, "a block of JSON-LD with a start is no JSON")
            continue
        for one in _events(tree, 0):
            count += 1
            if count > MOST:
                yield Unread(Reason.TOO_LARGE, f"more than {MOST} events")
                return
            yield _event(given, one)


def _events(tree: Any, depth: int) -> Iterator[dict[str, Any]]:
    """Yield the objects that are events; what is within an event belongs to it, but for its sub-events."""
    if depth > _DEEP:
        return
    if isinstance(tree, list):
        for one in tree:
            yield from _events(one, depth + 1)
    elif isinstance(tree, dict):
        kinds = tree.get("@type")
        names = [kinds] if isinstance(kinds, str) else kinds if isinstance(kinds, list) else []
        plain = [str(name).rpartition("/")[2].rpartition(":")[2] for name in names]
        if any(name.endswith("Event") or name in _KINDS for name in plain) and "startDate" in tree:
            yield tree
            yield from _events(tree.get("subEvent"), depth + 1)
            return
        for value in tree.values():
            if isinstance(value, dict | list):
                yield from _events(value, depth + 1)


def _event(given: ParserInput, one: dict[str, Any]) -> RawEvent | Unread:
    """Make an event of an object."""

    def told(name: str) -> str:
        value = one.get(name)
        if isinstance(value, list):
            value = value[0] if value else None
        if isinstance(value, dict):
            value = value.get("@value") or value.get("name") or value.get("url") or value.get("@id")
        return " ".join(unescape(shown(value) or "").split())

    title, text = told("name"), json.dumps(one, ensure_ascii=False)
    start = time_of(given, told("startDate"))
    if start is None:
        written = told("startDate")[:60]
        why = f"{title[:80]!r} has no start that can be read: {written!r}"
        return Unread(Reason.INCOMPLETE_RECORD, why, told("@id") or told("identifier"))
    url = told("url")
    extra: dict[str, Any] = {}
    for name, key in (("organizer", "organizer"), ("previousStartDate", "previous_start"), ("doorTime", "doors")):
        if value := told(name):
            extra[key] = value
    status = _STATUSES.get(told("eventStatus").rpartition("/")[2].lower(), "")
    end = time_of(given, told("endDate"))
    return RawEvent(
        told("@id") or told("identifier"), title, start, text, end or "", told("description"),
        url if url.startswith(("http://", "https://")) else "", status, _place(one.get("location")), extra,
    )  # fmt: skip


def _place(value: Any) -> str:
    """Spell a place: its name and address, or its address on the web."""
    if isinstance(value, list):
        return "; ".join(filter(None, map(_place, value[:5])))
    if not isinstance(value, dict):
        return unescape(shown(value) or "")
    address = value.get("address")
    if isinstance(address, dict):
        names = ("streetAddress", "addressLocality", "addressRegion", "postalCode")
        address = ", ".join(filter(None, (shown(address.get(name)) for name in names)))
    parts = [shown(value.get("name")), shown(address), shown(value.get("url"))]
    return ", ".join(unescape(part) for part in parts[:2] if part) or unescape(parts[2] or "")
