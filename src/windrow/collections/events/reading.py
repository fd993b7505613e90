"""Read a document's events with its parser, and find those that are missing from a whole listing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from windrow.collections.events.collection import PARSER
from windrow.collections.events.documents import MISSING, WITHDRAWN, end_of_event
from windrow.collections.events.parser import EventParser, RawEvent, SkippedPart, SourceDocument, left_out
from windrow.collections.events.readers.registry import READERS
from windrow.collections.events.times import EventTime, format_utc, zone_of
from windrow.contract import Observation, Skip, Task, WholeListing
from windrow.digest import digest
from windrow.errors import StepError
from windrow.model import Source
from windrow.reasons import Reason

MAX_LINE = 1000
"""Characters of a title and of a unique key that are kept."""

MAX_UID = 480
"""Characters of a uid."""

_LISTED_NAMES = ("branch", "entity")
_SEARCHED = ("title", "description", "location", "entity")

MAX_TEXT = 64_000_000
"""Characters in the `text` of all events of a document together."""


UNKNOWN = EventParser("unknown", "Other", "Other", zone="UTC")
"""The parser, which reads iCalendar, of an address that is not in the configuration."""


class ReadEvent(NamedTuple):
    """An event by its uid, `PARSER/ID`. `aside` has what is kept but not compared: address, text, parser version."""

    uid: str
    value: dict[str, Any]
    aside: dict[str, Any]

    @property
    def text(self) -> str:
        """The text by which the event is found in a search."""
        return text_of_event(self.value)


def text_of_event(event: Mapping[str, Any]) -> str:
    """Return the text by which an event is found in a search."""
    return " ".join(str(event[name]) for name in _SEARCHED if event.get(name))


class WithdrawnEvent(NamedTuple):
    """The uid of an event that its source withdrew."""

    uid: str


def read_document(parser: EventParser, document: SourceDocument) -> Iterator[ReadEvent | WithdrawnEvent | SkippedPart]:
    """Yield the events of a document, each once, and the parts that could not be read, with the reason."""
    parts = _limit(document, READERS[document.rules.reader].read(document))
    events = [part for part in parts if isinstance(part, RawEvent)]
    skipped = [part for part in parts if isinstance(part, SkippedPart)]
    ids = _usable_ids([*(event.id for event in events), *(part.key for part in skipped)])
    for part in skipped:
        yield part._replace(key=_uid(parser, part.key.strip()) if part.key.strip() in ids else "")
    known: dict[str, ReadEvent] = {}
    keys: Counter[str] = Counter()
    for event in events:
        if not event.title.strip() and not event.id:
            yield SkippedPart(Reason.INCOMPLETE_RECORD, f"an event has neither title nor id: {event.text[:100]!r}")
            continue
        source_id = event.id.strip() if event.id.strip() in ids else ""
        if event.start is None:
            if source_id:
                yield WithdrawnEvent(_uid(parser, source_id))
            continue
        read_event = _build_event(document, event, event.start, source_id)
        earlier = known.get(read_event.uid)
        if earlier and earlier.value == read_event.value:
            yield SkippedPart(Reason.DUPLICATE_RECORD, "the document lists it twice", read_event.uid)
            continue
        if earlier:
            # The same id with other content: if the start differs, it is another event.
            read_event = read_event._replace(uid=f"{read_event.uid} {read_event.value['datetime']}")
            if read_event.uid in known:
                message = "the document lists it twice, with different content"
                yield SkippedPart(Reason.DUPLICATE_RECORD, message, read_event.uid)
                continue
        known[read_event.uid] = read_event
        name = f"{read_event.value['datetime']} {read_event.value['unique_key']}"
        keys[name] += 1
        if keys[name] > 1:
            read_event.value["unique_key"] = f"{read_event.value['unique_key']} - {keys[name]}"
        yield read_event


def _limit(document: SourceDocument, parts: Iterable[RawEvent | SkippedPart]) -> list[RawEvent | SkippedPart]:
    """Return parts without the events beyond `most_events` and MAX_TEXT; coming events are kept first."""
    parts = list(_up_to(4 * MAX_TEXT, parts))
    events = [(number, part) for number, part in enumerate(parts) if isinstance(part, RawEvent)]
    most = document.parser.most_events
    if len(events) <= most and sum(len(event.text) for _, event in events) <= MAX_TEXT:
        return parts
    size, kept_numbers = 0, set[int]()
    for number, event in sorted(events, key=lambda numbered: _distance(numbered[1].start, document.visited)):
        size += len(event.text)
        if len(kept_numbers) == most or (kept_numbers and size > MAX_TEXT):
            break
        kept_numbers.add(number)
    limit = f"most_events is {most}" if len(kept_numbers) == most else f"their texts have {MAX_TEXT} characters"
    limited = [part for number, part in enumerate(parts) if isinstance(part, SkippedPart) or number in kept_numbers]
    return [*limited, SkippedPart(Reason.TOO_LARGE, left_out(len(events), len(kept_numbers), limit))]


def _up_to(size: int, parts: Iterable[RawEvent | SkippedPart]) -> Iterator[RawEvent | SkippedPart]:
    """Yield parts until the texts of their events have `size` characters: nested elements multiply the text."""
    for part in parts:
        yield part
        size -= len(part.text) if isinstance(part, RawEvent) else 0
        if size < 0:
            return


def _distance(start: EventTime | None, now: datetime) -> tuple[bool, timedelta]:
    """Return a key that sorts coming events first, the nearest first, and then past ones, the latest first."""
    if start is None:
        return False, timedelta(0)
    return start.utc < now - timedelta(days=1), abs(start.utc - now)


def _usable_ids(ids: list[str]) -> set[str]:
    """Return the ids that identify events: all but those that half of the events or more share."""
    counted = Counter(id_.strip() for id_ in ids if id_.strip())
    most = max(2, len(ids) // 2)
    return {name for name, number in counted.items() if number == 1 or number < most or len(ids) <= 2}


def _build_event(document: SourceDocument, raw: RawEvent, start: EventTime, source_id: str) -> ReadEvent:
    """Build an event with the standard's keys, except those that depend on its history."""
    parser = document.parser
    title = _one_line(raw.title) or "(without a title)"
    signature = " ".join((title.casefold(), format_utc(start.utc)[:10], _one_line(raw.location or "").casefold()))
    identity = source_id or digest(signature.encode("utf-8", "replace")).partition(":")[2][:24]
    end = raw.end
    value: dict[str, Any] = {
        "datetime": format_utc(start.utc),
        "title": title,
        "description": raw.description,
        "end_datetime": format_utc(end.utc) if isinstance(end, EventTime) else end,
        "branch": raw.branch if raw.branch in parser.branches else parser.branch,
        "entity": raw.entity if raw.entity in parser.entities else parser.entity,
        "parser_name": parser.name,
        "event_url": raw.url,
        "source_timezone": start.zone or parser.zone,
        "unique_key": _one_line(source_id) or title,
        "all_day": start.all_day,
        "local_datetime": start.local,
        "status": raw.status or "scheduled",
    }
    if raw.location is not None:
        value["location"] = raw.location
    if start.note:
        value["time_note"] = start.note
    # A name that is not on the list is kept in a key of its own, as the source writes it.
    source_names = {name: getattr(raw, name) for name in _LISTED_NAMES}
    value |= {f"source_{key}": _one_line(name) for key, name in source_names.items() if name not in {"", value[key]}}
    # A source's own key never replaces one of the standard.
    value |= {name: extra for name, extra in raw.extra.items() if name not in value and not name.startswith("_")}
    text = raw.text.encode("utf-8", "replace").decode()  # CouchDB refuses half of a surrogate pair
    aside = {"source_url": document.url, "source_text": text, "parser_version": document.rules.version}
    return ReadEvent(_uid(parser, identity), value, aside)


def _uid(parser: EventParser, identity: str) -> str:
    """Return an event's uid; if it has more than MAX_UID characters, it is cut and ends in a digest."""
    uid = f"{parser.name}/{identity}"
    if len(uid) <= MAX_UID:
        return uid
    return f"{uid[: MAX_UID - 25]} {digest(uid.encode('utf-8', 'replace')).partition(':')[2][:24]}"


def _one_line(text: str) -> str:
    return " ".join(text.replace("\x00", " ").split())[:MAX_LINE]


def source_document(parser: EventParser, content: bytes, url: str, visited: Any, media: str) -> SourceDocument:
    """Build the input of a reader, with the rules in force at `visited`; raise StepError for an invalid zone."""
    zone = zone_of(parser.zone)
    if zone is None:
        raise StepError(f"{parser.zone!r} is not a time zone", Reason.STEP_FAILED)
    return SourceDocument(content, url, visited, media, parser, parser.rules_at(visited), zone)


_SETTLED = frozenset({MISSING, WITHDRAWN, "cancelled"})


def parser_of(source: Source | None) -> EventParser:
    """Return a source's parser, or `UNKNOWN` for a source without one."""
    parser = source.options.get(PARSER) if source else None
    if isinstance(parser, EventParser):
        return parser
    return replace(UNKNOWN, name=source.name if source else UNKNOWN.name)


def read_events(task: Task) -> list[Observation | Skip]:
    """Return an observation of each event, by its uid, and a skip for each part that could not be read."""
    if task.source is None:
        return [Skip(Reason.SOURCE_INACTIVE, "", "its source is not configured, so its parser is not known")]
    assert task.visited is not None
    parser = parser_of(task.source)
    media = task.fields.get("content-type", "")
    document = source_document(parser, task.view.read(), task.item.key, task.visited, media)
    observations: list[Observation | Skip] = []
    skipped = 0
    for part in read_document(parser, document):
        if isinstance(part, ReadEvent):
            observations.append(Observation(part.uid, part.value, part.text, aside=part.aside))
        elif isinstance(part, WithdrawnEvent):
            observations.append(Observation(part.uid, None))
        else:
            skipped += 1
            observations.append(Skip(part.reason, part.key or f"{parser.name}/part {skipped}", part.message))
    return observations


def missing_events(listing: WholeListing) -> Iterator[Observation]:
    """Yield an observation with the status missing for each future event that `missing_after` listings in a row lack.

    An event that was cancelled before stays cancelled.
    """
    if listing.source is None or not (parser := parser_of(listing.source)).complete:
        return
    for record in listing.missing:
        event = record.value
        if not event or event["status"] in _SETTLED or record.listings < parser.missing_after:
            continue
        if end_of_event(event) > listing.at:
            yield Observation(record.key, {**event, "status": MISSING}, text_of_event(event))
