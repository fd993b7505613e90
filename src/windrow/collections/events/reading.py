"""Read the events of a document with its parser's rules, and find future events that are missing from listings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple

from windrow.caps import EVENT_TEXTS, EVENT_TITLE, Excess
from windrow.collections.events.collection import PARSER
from windrow.collections.events.documents import MISSING, WITHDRAWN, end_of_event, web_address
from windrow.collections.events.parser import (
    EventParser,
    ParserRules,
    RawEvent,
    SkippedPart,
    SourceDocument,
    describe_left_out,
)
from windrow.collections.events.readers.registry import READERS
from windrow.collections.events.status_words import find_status, note_text
from windrow.collections.events.times import EventTime, format_utc, zone_of
from windrow.collections.events.uids import EventUids, date_uid
from windrow.contract import Observation, Skip, Task, WholeListing
from windrow.digest import digest
from windrow.errors import StepError
from windrow.formats.text import replace_lone_surrogates
from windrow.model import Source
from windrow.reasons import Reason

MAX_LINE_CHARACTERS = EVENT_TITLE.number
"""The maximum length of a title, of an id in a `unique_key`, or of a source's name for a branch or an entity."""

LISTED_TWICE = "the document lists the event twice"
"""The message for an event that a document repeats with the same content; if it is skipped, nothing is lost."""

_NO_TITLE = "(without a title)"
_CLEAR_STATUSES = frozenset({"cancelled", "postponed", "rescheduled", WITHDRAWN})
"""If the status field of a source has one of these statuses, title and description are not searched for a status."""

_SEARCHED_KEYS = ("title", "description", "location", "entity", "source_entity", "branch", "parser_name")

MAX_TEXT_CHARACTERS = EVENT_TEXTS.number
"""The maximum total length of the `text` of a document's events, in characters."""

UNKNOWN_PARSER = EventParser("unknown", branch="Other", entity="Other", zone="UTC")
"""The parser for a source without a parser, or for an address that is not configured. It reads iCalendar."""


class ReadEvent(NamedTuple):
    """An event that was read, and its uid, `SOURCE/ID`. `aside` has keys that are not compared between versions."""

    uid: str
    value: dict[str, Any]
    aside: dict[str, Any]


def text_of_event(event: Mapping[str, Any]) -> str:
    """Return the text by which searches find an event; it ends with the day of the event."""
    day = str(event.get("local_datetime") or event["datetime"])[:10]
    return " ".join([*(str(event[name]) for name in _SEARCHED_KEYS if event.get(name)), day])


class WithdrawnEvent(NamedTuple):
    """The uid of an event that its source withdrew."""

    uid: str


def read_document(
    parser: EventParser, document: SourceDocument, uids: EventUids | None = None
) -> Iterator[ReadEvent | WithdrawnEvent | SkippedPart]:
    """Yield each event of a document once, each withdrawn event, and SkippedParts for what is not used.

    `uids` chooses the uids; without it, nothing is known about the source.
    """
    uids = uids or EventUids(uid_prefix(parser), {})
    parts = _limit_parts(document, READERS[document.rules.reader].read(document))
    events = [part for part in parts if isinstance(part, RawEvent)]
    skipped = [part for part in parts if isinstance(part, SkippedPart)]
    part_ids = [event.id.strip() for event in events]
    part_ids += [part.key.strip() for part in skipped if part.reason is not Reason.NOT_WANTED]
    ids = uids.find_usable_ids(part_ids, events, _hash_event)
    for part in skipped:
        key = part.key.strip()
        # If several events share the id, it is not known which of them the part is.
        yield part._replace(key=uids.plain_uid(key) if key in ids and not uids.is_shared(key) else "")
    if cut_characters := sum(excess.number for event in events for excess in _find_title_excess(event.title)):
        yield SkippedPart(Reason.CAPPED, EVENT_TITLE.rule, number=cut_characters)
    built_events: list[tuple[str, dict[str, Any], dict[str, Any]]] = []
    for event in events:
        source_id = event.id.strip() if event.id.strip() in ids else ""
        if not event.title.strip() and not event.id:
            yield SkippedPart(Reason.INCOMPLETE_RECORD, f"the event has neither title nor id: {event.text[:100]!r}")
        elif event.start is not None:
            identity = source_id or _hash_event(event)
            built_events.append((identity, *_build_event(document, event, event.start, source_id)))
        elif source_id:
            yield WithdrawnEvent(uids.plain_uid(source_id))
        else:
            message = f"a withdrawn event cannot be identified: its id {event.id[:100]!r} is empty or not unique"
            yield SkippedPart(Reason.INCOMPLETE_RECORD, message)
    times = [(identity, value["datetime"], format_utc(end_of_event(value))) for identity, value, _ in built_events]
    # The time of an entry in a feed may be that of its last change.
    chosen_uids = uids.choose(times, "" if document.rules.reader == "feed" else format_utc(document.visited))
    yield from _list_once(
        ReadEvent(uid, value, aside) for uid, (_, value, aside) in zip(chosen_uids, built_events, strict=True)
    )


def _list_once(events: Iterable[ReadEvent]) -> Iterator[ReadEvent | SkippedPart]:
    """Yield events with distinct uids and `unique_key`s, and a SkippedPart for each that is listed again."""
    values_by_uid: dict[str, dict[str, Any]] = {}  # as they were read, before a `unique_key` is numbered
    key_counts: Counter[str] = Counter()
    for event in events:
        uid, value = event.uid, event.value
        if uid in values_by_uid and values_by_uid[uid] != value:
            # The same id and start with other content: it is another event.
            uid = date_uid(uid, value["datetime"])
        if uid in values_by_uid:
            message = LISTED_TWICE if values_by_uid[uid] == value else f"{LISTED_TWICE}, with different content"
            yield SkippedPart(Reason.DUPLICATE_RECORD, message, uid)
            continue
        values_by_uid[uid] = value
        time_and_key = f"{value['datetime']} {value['unique_key']}"
        key_counts[time_and_key] += 1
        if key_counts[time_and_key] > 1:
            value = {**value, "unique_key": f"{value['unique_key']} - {key_counts[time_and_key]}"}
        yield event._replace(uid=uid, value=value)


def _limit_parts(document: SourceDocument, parts: Iterable[RawEvent | SkippedPart]) -> list[RawEvent | SkippedPart]:
    """Return the parts, with at most `most_events` events and at most MAX_TEXT_CHARACTERS characters in their texts.

    Past events are left out before future ones. If events are left out, a SkippedPart at the end says how many events
    were read. At least one event is kept.
    """
    remaining_parts = iter(parts)
    parts = list(_take_parts(4 * MAX_TEXT_CHARACTERS, remaining_parts))
    is_cut = next(remaining_parts, None) is not None
    events = [(number, part) for number, part in enumerate(parts) if isinstance(part, RawEvent)]
    max_events = document.parser.most_events
    if len(events) <= max_events and sum(len(event.text) for _, event in events) <= MAX_TEXT_CHARACTERS:
        return parts
    size, kept_numbers = 0, set[int]()
    for number, event in sorted(events, key=lambda numbered: _order_by_time(numbered[1].start, document.visited)):
        size += len(event.text)
        if len(kept_numbers) == max_events or (kept_numbers and size > MAX_TEXT_CHARACTERS):
            break
        kept_numbers.add(number)
    limit = f"the setting `most_events` is {max_events}"
    if len(kept_numbers) < max_events:
        limit = f"the limit for their texts is {MAX_TEXT_CHARACTERS} characters"
    limited = [part for number, part in enumerate(parts) if isinstance(part, SkippedPart) or number in kept_numbers]
    message = describe_left_out(len(events), len(kept_numbers), limit, is_complete=not is_cut)
    return [*limited, SkippedPart(Reason.TOO_LARGE, message)]


def _take_parts(max_characters: int, parts: Iterable[RawEvent | SkippedPart]) -> Iterator[RawEvent | SkippedPart]:
    """Yield parts until the texts of their events exceed `max_characters`: nested elements may repeat much text."""
    remaining = max_characters
    for part in parts:
        yield part
        remaining -= len(part.text) if isinstance(part, RawEvent) else 0
        if remaining < 0:
            return


def _order_by_time(start: EventTime | None, visited: datetime) -> tuple[bool, timedelta]:
    """Return a sort key that puts events older than a day at the time `visited` after all others.

    In both groups, the event nearest to `visited` is first. Withdrawn events, which have no start, are before all
    others.
    """
    if start is None:  # withdrawn
        return False, timedelta(0)
    return start.utc < visited - timedelta(days=1), abs(start.utc - visited)


def _hash_event(raw: RawEvent) -> str:
    """Return a hash of title, day and place, by which an event without an id is recognised."""
    assert raw.start is not None
    title = _one_line(raw.title) or _NO_TITLE
    # An event is recognised by the title without a status, also when it is cancelled.
    written_status = find_status(title) if raw.status not in _CLEAR_STATUSES else None
    title = written_status.title if written_status else title
    signature = " ".join((title.casefold(), format_utc(raw.start.utc)[:10], _one_line(raw.location or "").casefold()))
    return digest(signature.encode("utf-8", "replace")).partition(":")[2][:24]


def _build_event(
    document: SourceDocument, raw: RawEvent, start: EventTime, source_id: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return value and aside of the event that a reader returned. `source_id` is the source's id for it, or empty.

    Keys that depend on attempts, such as `access_datetime` and `revision`, are added by `event_document`.
    """
    parser = document.parser
    title = _one_line(raw.title) or _NO_TITLE
    # A source without a field for the status writes it into the title or text.
    day = date.fromisoformat(start.local[:10]) if start.local else start.utc.date()
    written_status = (
        find_status(title, raw.description or "", day, raw.status) if raw.status not in _CLEAR_STATUSES else None
    )
    end = raw.end
    event: dict[str, Any] = {
        "datetime": format_utc(start.utc),
        "title": title,
        "description": raw.description,
        "end_datetime": format_utc(end.utc) if isinstance(end, EventTime) else end,
        "branch": raw.branch if raw.branch in parser.branches else parser.branch,
        "entity": raw.entity if raw.entity in parser.entities else parser.entity,
        "parser_name": parser.name,
        "event_url": raw.url if raw.url is None else web_address(raw.url),
        "source_timezone": start.zone or parser.zone,
        "unique_key": _one_line(source_id) or title,
        "all_day": start.all_day,
        "local_datetime": start.local,
        "status": (written_status and written_status.status) or raw.status or "scheduled",
    }
    if written_status and (written_status.status or "status_note" not in raw.extra):
        event["status_note"] = note_text(written_status.words)
    if raw.location is not None:
        event["location"] = raw.location
    if start.note:
        event["time_note"] = start.note
    if title_note := _describe_title(raw.title):
        event["title_note"] = title_note
    # A branch or entity that is not among the parser's is kept in a key of its own, as the source writes it.
    source_names = {name: getattr(raw, name) for name in ("branch", "entity")}
    event |= {f"source_{key}": _one_line(name) for key, name in source_names.items() if name not in {"", event[key]}}
    # An extra key never replaces one of the standard.
    event |= {name: extra for name, extra in raw.extra.items() if name not in event and not name.startswith("_")}
    text = replace_lone_surrogates(raw.text)  # CouchDB refuses half of a surrogate pair
    aside = {"source_url": document.url, "source_text": text, "parser_version": document.rules.version}
    return event, aside


def uid_prefix(parser: EventParser) -> str:
    """Return the name that begins the uids of a parser's events."""
    return parser.source or parser.name


def _describe_title(title: str) -> str:
    """Return a note for an event without a title, or with one that is too long; empty for any other title."""
    if _find_title_excess(title):
        return f"the source writes {len(_join_words(title)):,} characters; only {MAX_LINE_CHARACTERS:,} are kept"
    return "" if title.replace("\x00", " ").strip() else "the source writes no title"


def _find_title_excess(title: str) -> tuple[Excess, ...]:
    return EVENT_TITLE.find_excess(len(_join_words(title))) if len(title) > MAX_LINE_CHARACTERS else ()


def _join_words(text: str) -> str:
    return " ".join(text.replace("\x00", " ").split())


def _one_line(text: str) -> str:
    return _join_words(text)[:MAX_LINE_CHARACTERS]


def source_document(parser: EventParser, content: bytes, url: str, visited: datetime, media: str) -> SourceDocument:
    """Return the input of a reader, with the rules in force at `visited`; raise StepError if the zone is not known."""
    zone = zone_of(parser.zone)
    if zone is None:
        raise StepError(f"the timezone of {parser.name}, {parser.zone!r}, is not known", Reason.STEP_FAILED)
    return SourceDocument(content, url, visited, media, parser, parser.rules_at(visited), zone)


def lists_all_events(parser: EventParser, rules: ParserRules) -> bool:
    """Return whether a listing that is read with `rules` has all future events of its source."""
    return READERS[rules.reader].complete if parser.complete is None else parser.complete


_ORIGINAL_START = re.compile(r" (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)$", re.ASCII)
"""Matches the original start of a repetition at the end of its uid."""

_FINAL_STATUSES = frozenset({MISSING, WITHDRAWN, "cancelled"})


def parser_of(source: Source | None) -> EventParser:
    """Return the parser of a source; if it has none, return UNKNOWN_PARSER with the source's name."""
    parser = source.options.get(PARSER) if source else None
    if isinstance(parser, EventParser):
        return parser
    return replace(UNKNOWN_PARSER, name=source.name if source else UNKNOWN_PARSER.name)


def read_events(task: Task) -> list[Observation | Skip]:
    """Return an observation for each event of a document, and skips for what is not used.

    The key of an observation is the uid of the event. A withdrawn event has no value. If the document's source is not
    configured, return only a skip.
    """
    if task.source is None:
        return [Skip(Reason.SOURCE_INACTIVE, "", "the document's source is not configured, so its parser is not known")]
    assert task.visited is not None
    parser = parser_of(task.source)
    media = task.fields.get("content-type", "")
    document = source_document(parser, task.view.read(), task.item.key, task.visited, media)
    observations: list[Observation | Skip] = []
    skipped = 0
    uids = EventUids(uid_prefix(parser), {}, [offer.key for offer in task.offers])
    for part in read_document(parser, document, uids):
        if isinstance(part, ReadEvent):
            observations.append(Observation(part.uid, part.value, text_of_event(part.value), aside=part.aside))
        elif isinstance(part, WithdrawnEvent):
            observations.append(Observation(part.uid, None))
        elif part.reason is not Reason.NOT_WANTED:  # such parts are counted when the answer is followed
            skipped += 1
            key = "" if part.reason is Reason.CAPPED else part.key or f"{parser.name}/part {skipped}"
            observations.append(Skip(part.reason, key, part.message, part.number))
    return observations


def missing_events(listing: WholeListing) -> Iterator[Observation]:
    """Yield an observation with status MISSING for each event that has not ended and that listings no longer have.

    The last `missing_after` listings, or more, did not have the event. An event that is cancelled, withdrawn or missing
    already is left out. Yield nothing if the parser's listings are not complete, or if the source is no longer
    configured.
    """
    parser = parser_of(listing.source)
    if listing.source is None or not lists_all_events(parser, parser.rules_at(listing.at)):
        return
    # A day less, since the window is one of local times.
    listed_until = format_utc(listing.at + timedelta(seconds=parser.recurrence_ahead) - timedelta(days=1))
    for record in listing.missing:
        event = record.value
        if not event or event["status"] in _FINAL_STATUSES or record.listings < parser.missing_after:
            continue
        # Of a series, no listing has what is after the window, which may have become shorter. A repetition that was
        # moved into it is there no more once it is moved back.
        original_start = _ORIGINAL_START.search(record.key)
        starts = (event["datetime"], original_start[1] if original_start else "")
        is_beyond = event.get("recurring") and max(starts) > listed_until
        if end_of_event(event) > listing.at and not is_beyond:
            yield Observation(record.key, {**event, "status": MISSING}, text_of_event(event))
