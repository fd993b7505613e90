"""Read the fields of an event with the expressions in a parser's rules; read events in JSON."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from urllib.parse import quote, urljoin

from windrow.collections.events.parser import RawEvent, SkippedPart, SourceDocument
from windrow.collections.events.readers.expressions import (
    JsonLookup,
    PathLookup,
    evaluate,
    json_to_text,
    read_extra,
    texts_in_json,
)
from windrow.collections.events.readers.field_times import JoinedTime, join_day_and_time, span_of
from windrow.collections.events.readers.html_text import decode_references, visible_text
from windrow.collections.events.status_words import FieldStatus, note_text, read_status
from windrow.collections.events.times import EventSpan, EventTime, day_after, from_day, from_zoned
from windrow.content.tree import parse
from windrow.contract import Request
from windrow.errors import StepError
from windrow.formats.json_page import find_error, find_repeated_keys, load_json
from windrow.formats.text import counted
from windrow.formats.url import has_web_scheme
from windrow.reasons import Reason

_ELEMENTS_WITHOUT_CONTENT = "script, style, nav, svg, form, button, noscript, iframe, template, head"


def remove_markup(text: str) -> str:
    """Return the text of HTML on one line, without navigation, forms and scripts; plain text is returned unchanged.

    >>> remove_markup("<nav>Menu</nav><p>Tea &amp; <b>milk</b></p>")
    'Tea & milk'
    """
    if "<" not in text and "&" not in text:
        return text
    page = parse(text)
    for node in page.css(_ELEMENTS_WITHOUT_CONTENT):
        if node.tag != "head":
            node.decompose()
    return visible_text(page.body) if page.body else ""


_DAY_SUFFIX = re.compile(r"&day=\d{8}$")

STATUSES = {
    "cancelled": "cancelled", "canceled": "cancelled", "postponed": "postponed", "rescheduled": "rescheduled",
    "tentative": "tentative", "confirmed": "confirmed", "scheduled": "scheduled", "withdrawn": "withdrawn",
    "active": "", "publish": "", "published": "",
}  # fmt: skip
"""A dict from a source's word for the status of an event, in lower case, to windrow's word.

A word for the state of the entry, such as `published`, says nothing about the event.
"""


def build_event(
    document: SourceDocument, lookup: PathLookup, text: str, lookup_json: JsonLookup | None = None
) -> RawEvent | SkippedPart:
    """Return the event whose fields `lookup` finds, or a SkippedPart if it is a placeholder or its start is unreadable.

    A withdrawn event with an id needs no start. `text` is the part of the document that has the event. `lookup_json` is
    given for JSON, so that extra keys keep its numbers, booleans and objects.
    """
    fields = document.rules.fields

    def field(name: str) -> str | None:
        return evaluate(fields[name], lookup) if name in fields else None

    def joined_time(name: str) -> JoinedTime:
        text, time_text = field(name) or "", field(f"{name}_time")
        return JoinedTime(text) if time_text is None else join_day_and_time(document, text, time_text)

    title, source_id = field("title") or "", field("id") or ""
    if title.strip() in document.rules.placeholders:
        return SkippedPart(Reason.PLACEHOLDER, (title or text)[:200], source_id)
    status, status_note = status_of(document, field("status") or "")
    start_text, time_note, written_status = joined_time("start")
    status = written_status or status if status in {"", "scheduled"} else status
    span = span_of(document, start_text)
    start = span.start if span else None
    if start is None and source_id and status == "withdrawn":
        return RawEvent(source_id, title, None, text, status=status)
    if span is None or start is None:
        message = f"{title[:80]!r} has no start that can be read: {start_text[:80]!r}"
        return SkippedPart(Reason.INCOMPLETE_RECORD, message, source_id)
    is_whole_day = (field("all_day") or "").lower() in _YES_WORDS
    start = _whole_day(document, start, start_text) if is_whole_day else start
    is_day_after = document.rules.exclusive_end or bool(lookup_json and _has_day_after(lookup_json("end")))
    end_text, written_end, _ = joined_time("end")
    end, end_note = read_end(
        document, end_text if {"end", "end_time"} & fields.keys() else None, span._replace(start=start),
        is_day_after=is_day_after,
    )  # fmt: skip
    url = field("url")
    url = join_url(document.base or document.url, first_address(url)) if url else url
    extra = read_extra(document.rules.extra, lookup, lookup_json)
    extra = {name: decode_references(value) if isinstance(value, str) else value for name, value in extra.items()}
    if "title" in document.rules.html_fields:
        title = remove_markup(title)
    description, location = field("description"), field("location")
    if location == "" and lookup_json:
        location = _text_of_place(lookup_json, fields["location"])
    if description and "description" in document.rules.html_fields:
        description = remove_markup(description)
    elif description and "<" not in description:  # it may be HTML although the rules do not say so
        description = decode_references(description)
    unknown_time = note_text(start_text) if start.all_day and _UNKNOWN_TIME.search(start_text) else ""
    notes = {
        "time_note": start.note or time_note or unknown_time,
        "status_note": status_note,
        "end_note": written_end or end_note,
    }
    extra |= {name: note for name, note in notes.items() if note}
    return RawEvent(
        source_id, decode_references(title), start, text, end, description,
        url, status, location and decode_references(location), extra,
        field("branch") or "", field("entity") or "",
    )  # fmt: skip


def _text_of_place(lookup_json: JsonLookup, expression: str) -> str:
    """Return the texts of the first object or list with any at the paths in an expression, which have no name.

    Socrata's type Location has its address as a text of JSON in `human_address`.
    """
    for path in expression.split("|"):
        place, human_address = lookup_json(path), None
        if isinstance(place, dict) and (human_address := place.get("human_address")):
            with suppress(ValueError, TypeError, RecursionError):
                human_address = json.loads(human_address)
            place = {**place, "human_address": human_address}
        if text := texts_in_json(human_address) or texts_in_json(place):
            return text
    return ""


def _has_day_after(end: Any) -> bool:
    """Return whether an end is a day as Google Calendar's API writes it: the day after the last one."""
    return isinstance(end, dict) and "date" in end and end.keys() <= {"date", "dateTime", "timeZone"}


_LONGEST_NIGHT = timedelta(hours=12)
_UNKNOWN_TIME = re.compile(r"\b(?:tba|tbd|to be (?:announced|determined|confirmed))\b", re.IGNORECASE)
_YES_WORDS = frozenset({"true", "yes", "y", "1", "on", "all day", "all-day", "allday", "date"})


def read_end(
    document: SourceDocument, end_text: str | None, start_span: EventSpan, *, is_day_after: bool = False
) -> tuple[EventTime | str | None, str]:
    """Return the end of an event, and a note if the end's own field cannot be read or is before the start.

    The end is read from its own field, in which the day may be missing, or else from a start that is a range. Without a
    zone of its own it has that of the start. A day is no end of a start with a time of day. An event that begins with a
    day ends with a day; if the end has a time of day, the note has its text. Midnight ends the day before, and so does
    a later day if `is_day_after`. If neither gives an end, it is None if the rules have no field for the end, and
    otherwise an empty text.
    """
    start, range_end = start_span
    span = span_of(document, end_text or "")
    if end_text and span is None:
        span = _read_end_without_day(document, start, end_text)
    end = _in_zone_of(start, span.end or span.start, document) if span else None
    if range_end and range_end.all_day and not start.all_day:  # such as `Dec 1, 2026 6 PM - Dec 3, 2026`
        if end is None and not end_text:
            return "", note_text(range_end.local)
        range_end = None
    if start.all_day:
        range_end = _last_day(document, range_end, "", start) if range_end else None
        end = _last_day(document, end, end_text or "", start, is_day_after=is_day_after) if end else None
    if end_text and (end is None or not _may_end(start, end)):
        return range_end or "", note_text(end_text)
    return end or range_end or (None if end_text is None else ""), end.note if end and end.all_day else ""


def _read_end_without_day(document: SourceDocument, start: EventTime, end_text: str) -> EventSpan | None:
    """Return an end on the day of the start, or in the next night if its time of day is before that of the start."""
    day = datetime.fromisoformat(_own_local_time(start)[:10])
    span, next_span = (span_of(document, f"{end_day.date()} {end_text}") for end_day in (day, day_after(day)))
    if span and next_span and not (start.all_day or span.start.all_day):
        ends = (end_span.end or end_span.start for end_span in (span, next_span))
        end, next_end = (_in_zone_of(start, time, document).utc for time in ends)
        return next_span if end < start.utc < next_end <= start.utc + _LONGEST_NIGHT else span
    return span


def _own_local_time(start: EventTime) -> str:
    return start.utc.astimezone(start.own_zone).isoformat() if start.own_zone else start.local


def _in_zone_of(start: EventTime, end: EventTime, document: SourceDocument) -> EventTime:
    """Return an end that names no zone in the zone that the start names, unless a rule says that it is in UTC."""
    if start.own_zone is None or end.own_zone or end.all_day or document.rules.naive_timezone:
        return end
    moment = datetime.fromisoformat(end.local).replace(tzinfo=start.own_zone)
    return from_zoned(moment, document.zone) or end


def _may_end(start: EventTime, end: EventTime) -> bool:
    if start.all_day:
        return end.local[:10] >= start.local[:10]
    return not end.all_day and end.utc >= start.utc


def _whole_day(document: SourceDocument, time: EventTime, text: str) -> EventTime:
    """Return the day that a source writes as a time: its first or last minute, in the zone of `text` or of the source.

    If it is neither, the result is the day in the zone of the source, and the note has the text.
    """
    if time.all_day:
        return time
    edge = _edge_of_day(document, time, text)
    day = from_day((edge or datetime.fromisoformat(time.local)).date())
    return day._replace(zone=time.zone, note="" if edge else note_text(text))


_DAY_EDGES = {(0, 0), (23, 59)}


def _edge_of_day(document: SourceDocument, time: EventTime, text: str) -> datetime | None:
    """Return a time in its own zone or in that of the source, if it is the first or last minute of a day there."""
    is_in_utc = document.rules.naive_timezone == "UTC" or text.strip().isdecimal()
    own = time.utc.astimezone(time.own_zone or UTC).replace(tzinfo=None) if time.own_zone or is_in_utc else None
    moments = (own, datetime.fromisoformat(time.local))
    return next((moment for moment in moments if moment and (moment.hour, moment.minute) in _DAY_EDGES), None)


def _last_day(
    document: SourceDocument, end: EventTime, text: str, first_day: EventTime, *, is_day_after: bool = False
) -> EventTime:
    """Return the last day of an event of whole days: that of its end or, if the end is midnight, the day before."""
    day, edge = _whole_day(document, end, text), None if end.all_day else _edge_of_day(document, end, text)
    is_after = is_day_after if end.all_day else edge is not None and edge.hour == 0
    if not is_after or day.utc <= first_day.utc:
        return day
    return from_day(day.utc.date() - timedelta(days=1))._replace(zone=day.zone)


def remove_day(url: str) -> str:
    """Remove the parameter `day` at the end of an address, because it changes each day.

    >>> remove_day("https://a.example/x?id=7&day=20261005")
    'https://a.example/x?id=7'
    """
    return _DAY_SUFFIX.sub("", url)


_NEXT_ADDRESS = re.compile(r", (?=https?://|/)", re.IGNORECASE)
_NO_SCHEME = re.compile(r"www\.[\w-]+\.\w", re.IGNORECASE)


def first_address(text: str) -> str:
    """Return the first of addresses that are joined by commas; one that begins with `www.` has no scheme.

    >>> first_address("/a, http://b.example/"), first_address("www.a.example/x, y.pdf")
    ('/a', 'http://www.a.example/x, y.pdf')
    """
    first = _NEXT_ADDRESS.split(text, maxsplit=1)[0].strip()
    return f"http://{first}" if _NO_SCHEME.match(first) else first


def join_url(base: str, url: str) -> str:
    """Resolve an address against the address `base`, or return an empty text if either is not valid."""
    try:
        return urljoin(base, url)
    except ValueError:
        return ""


def status_of(document: SourceDocument, text: str) -> FieldStatus:
    """Return the status and the note for the text of a status field, using the words in the rules and known words."""
    own_meanings = {word.lower(): status for word, status in document.rules.statuses.items()}
    return read_status(text, {**STATUSES, **own_meanings})


_NOT_CHARSETS = re.compile(r"undefined|idna|punycode|(?:raw_)?unicode_escape")
"""Codecs of Python that are not character sets. Some raise errors other than ValueError, or take quadratic time."""
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9._:-]{1,40})", re.IGNORECASE)


_FOLD_INSIDE_CHARACTER = re.compile(rb"(?<=[\x80-\xff])\r?\n[ \t](?=[\x80-\xbf])")
"""Matches a fold of iCalendar between the bytes of a character in UTF-8 (RFC 5545, section 3.1)."""


def decode_text(content: bytes, media: str = "") -> str:
    r"""Decode bytes by their byte order mark, or else by the charset of `media`, as UTF-8, or as Windows-1252.

    `media` is a Content-Type. The first charset that is known and in which all bytes are valid is used; if there is
    none, the first in which most bytes beyond ASCII are valid. Invalid bytes become U+FFFD. Bytes that are valid in
    UTF-8 are never read as ISO 8859 or Windows-125x, in which any bytes are valid: many servers state one for all.

    >>> decode_text(b"\xef\xbb\xbfcaf\xc3\xa9"), decode_text(b"caf\xe9"), decode_text("café bébé".encode() + b"\xe9")
    ('café', 'café', 'café bébé�')
    >>> decode_text(b"tea", "text/calendar; charset=undefined"), decode_text(b"caf\xc3\r\n \xa9")
    ('tea', 'café')
    >>> decode_text("café".encode(), "text/calendar; charset=iso-8859-1"), decode_text(b"caf\xe9", "charset=latin1")
    ('café', 'café')
    """
    unfolded = _FOLD_INSIDE_CHARACTER.sub(b"", content)  # differs only within characters, if the bytes are UTF-8
    if unfolded.startswith(codecs.BOM_UTF8):
        return unfolded.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace")
    for byte_order_mark, name in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if content.startswith(byte_order_mark):
            return content[len(byte_order_mark) :].decode(name, "replace")
    charset = _CHARSET.search(media)
    names = [name for name in (charset[1] if charset else "", "utf-8") if name and _is_charset(name)]
    if codecs.lookup(names[0]).name.startswith(("iso8859", "cp125")):
        names.reverse()
    for name in names:
        for candidate in (content, unfolded):
            with suppress(ValueError):
                return candidate.decode(name)
    for name in names:
        valid_text = unfolded.decode(name, "ignore")
        text = unfolded.decode(name, "replace")
        if len(valid_text) - len(valid_text.encode("ascii", "ignore")) > text.count("\ufffd"):
            return text
    return unfolded.decode("cp1252", "replace")


def _is_charset(name: str) -> bool:
    try:
        b"a".decode(name, "replace")  # codecs such as hex are refused
        return not _NOT_CHARSETS.fullmatch(codecs.lookup(name).name.replace("-", "_"))
    except (ValueError, LookupError):
        return False


def count_invalid_bytes(content: bytes, text: str) -> Iterator[SkippedPart]:
    """Yield a SkippedPart if bytes of a document became U+FFFD in `text`, its decoded content."""
    count = text.count("\ufffd") - content.count("\ufffd".encode())
    if count > 0:
        places = counted(count, "place")
        message = f"bytes at {places} of the document are not valid in its encoding, and are read as U+FFFD"
        yield SkippedPart(Reason.WRONG_ENCODING, message)


def count_repeated_keys(text: str) -> Iterator[SkippedPart]:
    """Yield a SkippedPart if an object in a JSON document has a key more than once: only the last value is read."""
    if keys := sorted(find_repeated_keys(text)):
        names = ", ".join(map(repr, keys))[:200]
        yield SkippedPart(Reason.NOT_VALID, f"an object has more than one value for {names}; the last one is read")


def read_json(document: SourceDocument) -> Iterator[RawEvent | SkippedPart]:
    """Yield the events of a JSON document. An object at `items` is a single event.

    Yield nothing if the document only lists the events' own documents, or if it has the key that the rule `root` names,
    but neither a value at `items` nor, anywhere, a list with entries under the last key of `items`. Raise StepError if
    there is otherwise no list at `items`, if the document has no events and states an error, or if it is not JSON.
    """
    text = decode_text(document.content, document.media)
    tree = load_tree(text)
    yield from count_invalid_bytes(document.content, text)
    yield from count_repeated_keys(text)
    error = find_error(tree)
    if error and not value_at_path(tree, document.rules.items):
        raise StepError(f"the document has no events, and states an error: {error}", Reason.PROTOCOL_ERROR)
    if error:
        yield SkippedPart(Reason.PROTOCOL_ERROR, f"besides its events, the document states an error: {error}")
    if document.rules.details and isinstance(value_at_path(tree, document.rules.details.partition(":")[0]), list):
        return  # the document only lists the addresses of the events' documents
    listed = value_at_path(tree, document.rules.items)
    if listed is None and isinstance(tree, dict) and document.rules.root and document.rules.root in tree:
        name = document.rules.items.rpartition(".")[2]
        if not _has_list(tree, name):
            return  # some APIs omit the list if it is empty
        message = f"the document has no list at {document.rules.items!r}, but a list {name!r} elsewhere"
        raise StepError(message, Reason.WRONG_ROOT)
    if isinstance(listed, dict):
        listed = [listed]
    if not isinstance(listed, list):
        raise StepError(f"the document has no list at {document.rules.items!r}", Reason.WRONG_ROOT)
    for number, event in enumerate(listed):
        if not isinstance(event, dict):
            yield SkippedPart(Reason.INCOMPLETE_RECORD, f"entry {number + 1} of the list is not an object")
            continue
        text = json.dumps(event, ensure_ascii=False)
        lookup_json = partial(_value_in_event_or_document, tree, event)
        yield build_event(document, lambda path, find=lookup_json: json_to_text(find(path)), text, lookup_json)  # type: ignore[misc]


def _has_list(tree: Any, name: str) -> bool:
    pending = [tree]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            if name in part and isinstance(part[name], list) and part[name]:
                return True
            pending += part.values()
        elif isinstance(part, list):
            pending += part
    return False


def parse_json(document: SourceDocument) -> Any:
    """Parse a document as JSON; raise StepError if it is not JSON."""
    return load_tree(decode_text(document.content, document.media))


def load_tree(text: str) -> Any:
    """Parse a text as JSON; raise StepError if it is not JSON."""
    try:
        return load_json(text)
    except (ValueError, RecursionError):
        raise StepError("the document is not JSON", Reason.NOT_WELL_FORMED) from None


def value_at_path(tree: Any, path: str) -> Any:
    """Return the value at a path of keys and list indices, joined by dots; None if the path does not exist.

    >>> value_at_path({"a": [{"b": 1}]}, "a.0.b"), value_at_path({"a": 1}, "a.b")
    (1, None)
    """
    for name in path.split(".") if path else ():
        if isinstance(tree, dict):
            tree = tree.get(name)
        elif isinstance(tree, list) and name.isdigit() and int(name) < len(tree):
            tree = tree[int(name)]
        else:
            return None
    return tree


def _value_in_event_or_document(tree: Any, event: Any, path: str) -> Any:
    return value_at_path(tree, path[1:]) if path.startswith("/") else value_at_path(event, path)


def detail_requests(document: SourceDocument) -> tuple[Request, ...]:
    """Return requests for the events' own documents, whose addresses are in a list at the path in the rule `details`.

    A document that changed has a new address, because the value that shows the change is added to the address.
    """
    change_path = document.rules.details.partition(":")[2].partition(":")[2]
    requests = []
    for entry in _detail_entries(document):
        if address := _detail_address(document, entry):
            version = quote(json_to_text(value_at_path(entry, change_path)) or "", safe="") if change_path else ""
            address += f"{'&' if '?' in address else '?'}changed={version}" if version else ""
            requests.append(Request(address, "detail", priority=1))
    return tuple(requests)


def count_unaddressed(document: SourceDocument) -> int:
    """Return how many entries of the list at the path in the rule `details` have no valid address of a document."""
    return sum(not _detail_address(document, entry) for entry in _detail_entries(document))


def _detail_entries(document: SourceDocument) -> list[Any]:
    list_path = document.rules.details.partition(":")[0]
    listed = value_at_path(parse_json(document), list_path) if list_path else None
    return listed if isinstance(listed, list) else []


def _detail_address(document: SourceDocument, entry: Any) -> str:
    """Return the address of an event's own document, or an empty text if its entry has no valid one."""
    url_path = document.rules.details.partition(":")[2].partition(":")[0]
    address = json_to_text(value_at_path(entry, url_path)) or ""
    url = join_url(document.url, address) if address else ""
    return url if has_web_scheme(url) else ""
