"""Read the events in the JSON-LD of a page (https://schema.org/Event).

A value may be a reference, `{"@id": ...}`, to an object elsewhere in the same page. A page may also list only the
addresses of events, in an ItemList; their pages are requested if the source's setting `details` is ITEM_LIST.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from functools import partial
from itertools import chain
from math import ceil
from typing import Any, NamedTuple, TypeGuard

from windrow.collections.events.documents import web_address
from windrow.collections.events.parser import ITEM_LIST, RawEvent, SkippedPart, SourceDocument
from windrow.collections.events.readers.by_fields import first_address, join_url, read_end, value_at_path
from windrow.collections.events.readers.by_path import count_faults, decode_document, joining_address
from windrow.collections.events.readers.expressions import json_to_text, read_extra
from windrow.collections.events.readers.field_times import span_of
from windrow.collections.events.readers.html_text import decode_references
from windrow.collections.events.readers.repetitions import CUT_SERIES
from windrow.collections.events.readers.schedules import ScheduleWindow, find_occurrences, read_duration
from windrow.collections.events.status_words import note_text, read_status
from windrow.collections.events.times import EventTime
from windrow.content.json_ld import decode_json_ld
from windrow.content.linked_names import objects_in, types_of
from windrow.content.tree import parse
from windrow.contract import Request
from windrow.errors import StepError
from windrow.formats.url import has_web_scheme
from windrow.reasons import Reason

_EVENT_TYPES = frozenset({"Festival", "Hackathon", "CourseInstance", "EventSeries", "ExhibitionEvent"})
_EVENTS_OF_OBJECT = frozenset({"event", "events", "subEvent", "subEvents", "superEvent"})
"""The properties with the events of a place, an organizer or a series, which are left out where an event refers to it:
otherwise the text of each of very many events would have all others."""

_PREFIXED_NAME = re.compile(r"[\w.-]+:\w+")
_TEXT_FIELDS = frozenset({"name", "description", "organizer"})
_STATUSES = {
    "eventcancelled": "cancelled", "eventpostponed": "postponed", "eventrescheduled": "rescheduled",
    "eventscheduled": "scheduled", "eventmovedonline": "scheduled", "cancelled": "cancelled", "postponed": "postponed",
    "rescheduled": "rescheduled", "scheduled": "scheduled",
}  # fmt: skip


class _Blocks(NamedTuple):
    """The values in the blocks of JSON-LD of a page, and its objects by `@id`; those with one id are merged.

    A relative id is joined with `base`, the address of the page or the one in its element `base`. `events` has, by
    `@id`, those events that several objects describe in parts.
    """

    base: str
    values: list[Any]
    objects: Mapping[str, Mapping[str, Any]]
    events: Mapping[str, dict[str, Any]]
    faults: list[SkippedPart]

    def find_object(self, reference: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the object to which a reference refers, or None if the page does not have it."""
        return self.objects.get(_join_id(self.base, str(reference["@id"])))

    def find_whole_event(self, part: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the event that an object describes only in part, or None if it is no such object."""
        part_id = part.get("@id")
        is_part = isinstance(part_id, str) and not _is_reference(part) and _is_event(part)
        return self.events.get(_join_id(self.base, str(part_id))) if is_part else None


def read_schema_org(document: SourceDocument) -> Iterator[RawEvent | SkippedPart]:
    """Yield the events in the JSON-LD of a page (https://schema.org/Event), and SkippedParts for what is not read."""
    decoded = decode_document(document)
    yield from count_faults(document, decoded)
    blocks = _read_blocks(document.url, decoded.html)
    document = document._replace(base=blocks.base)
    yield from blocks.faults
    for written_event in _find_events(blocks):
        event = _follow_references(written_event, blocks)
        if "startDate" in event or not event.get("eventSchedule"):
            for occurrence in _occurrences(event):
                yield _read_schema_org_event(document, occurrence)
        if event.get("eventSchedule"):
            yield from _read_schedule(document, event)


def _read_blocks(url: str, html: str) -> _Blocks:
    objects: dict[str, dict[str, Any]] = {}
    event_parts: dict[str, list[dict[str, Any]]] = {}
    events: dict[str, dict[str, Any]] = {}
    page = parse(html)
    base = joining_address(page, url)
    blocks = _Blocks(base, [], objects, events, [])
    for script in page.css("script[type]"):
        if (script.attributes.get("type") or "").partition(";")[0].strip().lower() != "application/ld+json":
            continue
        values, is_whole = decode_json_ld(script.text())
        if not is_whole and "startDate" in script.text():
            message = "a block of JSON-LD with a startDate is not valid JSON"
            blocks.faults.append(SkippedPart(Reason.NOT_WELL_FORMED, message))
        blocks.values.extend(values)
    for node in objects_in(blocks.values):
        node_id = node.get("@id")
        if isinstance(node_id, str) and not _is_reference(node):
            merged = objects.setdefault(_join_id(base, node_id), {})
            for name, value in node.items():
                merged.setdefault(name, value)
            if _is_event(node) or "@type" not in node:
                event_parts.setdefault(_join_id(base, node_id), []).append(node)
    for event_id, parts in event_parts.items():
        if len(parts) > 1 and any(map(_is_event, parts)) and (event := _merge_parts(parts)):
            events[event_id] = event
    return blocks


def _merge_parts(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return an event with all values of the objects that describe it, or an empty dict if they are several events.

    They are if their names or starts differ: there are pages whose events all have the same `@id`. Each that has a
    start then gets the type and the name of the others, in place, unless these have different ones.
    """
    values: dict[str, dict[str, Any]] = {}
    for part in parts:
        for name, value in part.items():
            text = "" if name.startswith("@") else json.dumps(value, sort_keys=True)
            values.setdefault(name, {}).setdefault(text, value)
    if any(len(values.get(name, {})) > 1 for name in ("name", "startDate")):
        for name in ("@type", "name"):
            given = [part[name] for part in parts if name in part]
            for part in parts if given and given.count(given[0]) == len(given) else ():
                if "startDate" in part:
                    part.setdefault(name, given[0])
        return {}
    return {
        name: list(chain.from_iterable(value if isinstance(value, list) else [value] for value in by_text.values()))
        if len(by_text) > 1
        else next(iter(by_text.values()))
        for name, by_text in values.items()
    }


def _join_id(base: str, node_id: str) -> str:
    """Return the `@id` of an object as an absolute address, unless it is a blank node or is not valid."""
    return node_id if node_id.startswith("_:") else join_url(base, node_id) or node_id


def _is_reference(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict) and "@id" in value and value.keys() <= {"@id", "@type"}


def _follow_references(event: Mapping[str, Any], blocks: _Blocks) -> dict[str, Any]:
    """Return an event with the objects to which its values, and the addresses of its places, refer."""

    def follow(value: Any) -> Any:
        if _is_reference(value) and (referred := blocks.find_object(value)):
            value = {name: part for name, part in referred.items() if name not in _EVENTS_OF_OBJECT}
        address = value.get("address") if isinstance(value, dict) else None
        return {**value, "address": blocks.find_object(address) or address} if _is_reference(address) else value

    return {
        name: value if name == "subEvent" else list(map(follow, value)) if isinstance(value, list) else follow(value)
        for name, value in event.items()
    }


def item_list_requests(document: SourceDocument) -> tuple[Request, ...]:
    """Return requests for the pages whose addresses the ItemLists of a page have, if the rule `details` says so."""
    urls = filter(has_web_scheme, _listed_addresses(document) if document.rules.details else ())
    return tuple(Request(url, "detail", priority=1, every=ceil(document.parser.every)) for url in urls)


def count_unaddressed_items(document: SourceDocument) -> int:
    """Return how many addresses in the ItemLists of a page are not valid, if the rule `details` uses them."""
    return sum(not has_web_scheme(url) for url in _listed_addresses(document)) if document.rules.details else 0


def count_listed_items(document: SourceDocument) -> int:
    """Return how many addresses the ItemLists of a page have that are not requested, as `details` does not say so."""
    return 0 if document.rules.details else len(_listed_addresses(document))


def _listed_addresses(document: SourceDocument) -> list[str]:
    """Return the addresses of other pages in the entries of ItemLists that have neither an event nor refer to one."""
    if b"ItemList" not in document.content:
        return []
    blocks, own_page = _read_blocks(document.url, decode_document(document).html), document.url.partition("#")[0]
    addresses: dict[str, None] = {}
    for node in objects_in(blocks.values):
        entries = node.get(ITEM_LIST) if "ItemList" in _type_names(node) else None
        for entry in entries if isinstance(entries, list) else [entries] if entries else []:
            item = entry.get("item", entry) if isinstance(entry, dict) else entry
            if isinstance(item, dict):
                is_read = blocks.find_object(item) is not None if _is_reference(item) else _is_named_event(item)
                item = None if is_read else item.get("url") or item.get("@id")
            url = join_url(blocks.base, item.strip()) if isinstance(item, str) else None
            if url is not None and url.partition("#")[0] != own_page:
                addresses[url] = None
    return list(addresses)


def _type_names(node: Mapping[str, Any]) -> list[str]:
    return [name.rpartition("/")[2].rpartition(":")[2] for name in types_of(node)]


def _is_event(node: Mapping[str, Any]) -> bool:
    return any(name.endswith("Event") or name in _EVENT_TYPES for name in _type_names(node))


def _is_named_event(node: Mapping[str, Any]) -> bool:
    return _is_event(node) and bool("startDate" in node or node.get("name"))


def _read_schedule(document: SourceDocument, event: dict[str, Any]) -> Iterator[RawEvent | SkippedPart]:
    """Yield the occurrences in the parser's window that an event's `eventSchedule` has beside its own start.

    Yield a SkippedPart if it cannot be read, and one at the end if there are occurrences after the window.
    """
    titles = event.get("name")
    title = _value_text(titles[0] if isinstance(titles, list) and titles else titles)[:80]
    past, ahead = document.parser.recurrence_past, document.parser.recurrence_ahead
    window = ScheduleWindow(*((document.visited + timedelta(seconds=seconds)).date() for seconds in (-past, ahead)))
    try:
        occurrences = find_occurrences(event, window)
    except StepError as error:
        message = f"{title!r} has an eventSchedule that is not read, as {error}: "
        message += json.dumps(event["eventSchedule"], ensure_ascii=False)[:500]
        reason = Reason.UNSUPPORTED if "startDate" in event else Reason.INCOMPLETE_RECORD
        yield SkippedPart(reason, message, _value_text(event.get("@id")) or _value_text(event.get("identifier")))
        return
    for start, end in occurrences.spans:
        occurrence = _read_schema_org_event(document, {**event, "startDate": start, "endDate": end or None})
        if isinstance(occurrence, RawEvent):
            occurrence = occurrence._replace(extra={**occurrence.extra, "recurring": True})
        yield occurrence
    if occurrences.is_cut:
        yield SkippedPart(Reason.NOT_WANTED, f"{title!r} {CUT_SERIES}")


def _occurrences(event: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a copy of an event for each start. If there are not as many ends, the copies have them all in one text."""
    starts, ends = event.get("startDate"), event.get("endDate")
    if not isinstance(starts, list) or len(starts) < 2:
        return [event]
    ends = ends if isinstance(ends, list) else [ends] if ends else []
    if len(ends) != len(starts):
        # It is not a time, so each event gets an `end_note`.
        ends = [f"{', '.join(map(str, ends))} (of {len(starts)} starts)" if ends else None] * len(starts)
    return [{**event, "startDate": start, "endDate": end} for start, end in zip(starts, ends, strict=True)]


_STUB_FIELDS = {
    "@type", "@id", "@context", "url", "image", "sameAs", "mainEntityOfPage", "superEvent", "subEvent", "position",
}  # fmt: skip
"""Fields of an object that only refers to an event; an object with further ones is an event, or one that is told."""


def _find_events(blocks: _Blocks) -> Iterator[dict[str, Any]]:
    """Yield the events in JSON-LD, however deep they are. Inside an event with a start, only `subEvent` is searched.

    An event without a start is yielded if it has a name and no `subEvent`: otherwise it only refers to events. An event
    that several objects describe is yielded once.
    """
    yielded_ids: set[int] = set()
    pending: list[Any] = [blocks.values]  # the next one is last
    while pending:
        part = pending.pop()
        if isinstance(part, list):
            pending += reversed(part)
        elif isinstance(part, dict):
            whole, is_event = blocks.find_whole_event(part), _is_event(part)
            event = part if whole is None else whole
            is_described = "startDate" in event or (event.keys() - _STUB_FIELDS and not event.get("subEvent"))
            if is_event and is_described and id(event) not in yielded_ids:
                yielded_ids.add(id(event))
                yield event
            pending += [part.get("subEvent")] if is_event and "startDate" in event else reversed(part.values())


def _read_schema_org_event(document: SourceDocument, event: dict[str, Any]) -> RawEvent | SkippedPart:
    def field(name: str) -> str:
        """Return a field of the event as text with entities decoded.

        Of a list, return the first value or, for a field that people read, all different values.
        """
        contents = event.get(name)
        contents = contents if isinstance(contents, list) else [contents]
        texts = list(dict.fromkeys(filter(None, map(_value_text, contents))))
        return "; ".join(texts if name in _TEXT_FIELDS else texts[:1])

    # A blank node has another number in each document (JSON-LD 1.1, section 3.5).
    node_id = "" if field("@id").startswith("_:") else field("@id")
    title, text, source_id = field("name"), json.dumps(event, ensure_ascii=False), node_id or field("identifier")
    if source_id.startswith("#"):  # each page may have the same, also where they have one `base`
        source_id = join_url(document.url, source_id)
    span = span_of(document, field("startDate"))
    if span is None:
        message = f"{title[:80]!r} has no start that can be read: {field('startDate')[:60]!r}"
        return SkippedPart(Reason.INCOMPLETE_RECORD, message, source_id)
    url = join_url(document.base, first_address(field("url"))) if field("url") else ""
    lookup_json = partial(value_at_path, event)
    extra = read_extra(document.rules.extra, lambda path: json_to_text(lookup_json(path)), lookup_json)
    for name, key in (
        ("organizer", "organizer"), ("superEvent", "super_event"), ("previousStartDate", "previous_start"),
        ("doorTime", "doors"),
    ):  # fmt: skip
        if field_text := field(name):
            extra.setdefault(key, field_text)
    statuses = event.get("eventStatus")
    status, status_note = max(
        (
            read_status(_enumeration_name(_value_text(content)), _STATUSES)
            for content in (statuses if isinstance(statuses, list) and statuses else [statuses])
        ),
        key=lambda field_status: field_status.status not in {"", "scheduled"},
    )
    if status_note:
        extra["status_note"] = status_note
    end, end_note = read_end(document, field("endDate"), span)
    if not end and not end_note and (written_duration := field("duration")):
        duration = read_duration(written_duration)
        if duration is None or span.start.all_day:
            end_note = note_text(written_duration)
        else:
            end = EventTime(span.start.utc + duration)
    if end_note:
        extra["end_note"] = end_note
    return RawEvent(
        source_id, title, span.start, text, end, field("description"),
        web_address(url), status, _location_text(document.base, event.get("location")), extra,
    )  # fmt: skip


def _enumeration_name(text: str) -> str:
    """Return the name of a value of an enumeration, such as `https://schema.org/EventCancelled`, and else the text."""
    return text.rstrip("/#").rpartition(":" if _PREFIXED_NAME.fullmatch(text) else "/")[2]


def _value_text(content: Any) -> str:
    """Return the text of a value of schema.org, which may be an object, with entities decoded."""
    if isinstance(content, dict) and "PropertyValue" in str(content.get("@type")):
        content = content.get("value")  # `name` is that of the property
    elif isinstance(content, dict):
        content = content.get("@value") or content.get("name") or content.get("url") or content.get("@id")
    return " ".join(decode_references(json_to_text(content) or "").split())


def _location_text(url: str, location: Any) -> str:
    if isinstance(location, list):
        return "; ".join(filter(None, (_location_text(url, place) for place in location)))
    if not isinstance(location, dict):
        return decode_references(json_to_text(location) or "")
    address = location.get("address")
    if isinstance(address, dict):
        names = ("streetAddress", "addressLocality", "addressRegion", "postalCode")
        address = ", ".join(filter(None, (json_to_text(address.get(name)) for name in names)))
    parts = (json_to_text(location.get("name")), json_to_text(address))
    place_id = json_to_text(location.get("@id"))
    addresses = (json_to_text(location.get("url")), web_address(_join_id(url, place_id)) if place_id else "")
    return decode_references(", ".join(filter(None, parts)) or next(filter(None, addresses), ""))
