"""From a document to events: read by its parser, and what is missing since."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from windrow.collections.events.documents import MISSING, WITHDRAWN, ends
from windrow.collections.events.parser import EventParser, ParserInput, RawEvent, Unread
from windrow.collections.events.readers.registry import READERS
from windrow.collections.events.settings import PARSER
from windrow.collections.events.times import EventTime, spelled, zone_of
from windrow.contract import Observation, Skip, Task, WholeListing
from windrow.digest import digest
from windrow.errors import StepError
from windrow.model import Source
from windrow.reasons import Reason

LONGEST = 1000
"""Characters of a title and of a unique key that are kept."""

LONGEST_UID = 480

_NAMED = ("branch", "entity")
_SEARCHED = ("title", "description", "location", "entity")

MOST_TEXT = 64_000_000
"""Characters of all events of a document, each with the part of the document that it was read from."""


UNKNOWN = EventParser("unknown", "Other", "Other", zone="UTC")
"""What an address is read by that no source names: as a calendar."""


class ReadEvent(NamedTuple):
    """An event under its uid, `PARSER/ID`: what it says, and beside it what it was read from."""

    uid: str
    value: dict[str, Any]
    aside: dict[str, Any]

    @property
    def text(self) -> str:
        """What is searched for."""
        return text_of_event(self.value)


def text_of_event(value: Mapping[str, Any]) -> str:
    """Return what of an event is searched for."""
    return " ".join(str(value[name]) for name in _SEARCHED if value.get(name))


class WithdrawnEvent(NamedTuple):
    """An event, by its uid, that its source took back and says nothing more of."""

    uid: str


def read_document(parser: EventParser, given: ParserInput) -> Iterator[ReadEvent | WithdrawnEvent | Unread]:
    """Yield the events of a document, each once, and what no event could be made of."""
    found = list(_bounded(READERS[given.rules.reader].read(given)))
    events = [one for one in found if isinstance(one, RawEvent)]
    unread = [one for one in found if isinstance(one, Unread)]
    ids = _usable_ids([*(event.id for event in events), *(one.key for one in unread)])
    for each in unread:
        yield each._replace(key=_uid(parser, each.key.strip()) if each.key.strip() in ids else "")
    known: dict[str, ReadEvent] = {}
    keys: Counter[str] = Counter()
    for event in events:
        if not event.title.strip() and not event.id:
            yield Unread(Reason.INCOMPLETE_RECORD, f"it has neither title nor id: {event.text[:100]!r}")
            continue
        source_id = event.id.strip() if event.id.strip() in ids else ""
        if event.start is None:
            if source_id:
                yield WithdrawnEvent(_uid(parser, source_id))
            continue
        made = _event(parser, given, event, event.start, source_id)
        same = known.get(made.uid)
        if same and same.value == made.value:
            yield Unread(Reason.DUPLICATE_RECORD, "the document has it twice", made.uid)
            continue
        if same:
            # One id twice, with two contents at two times: the later start is another event.
            made = made._replace(uid=f"{made.uid} {made.value['datetime']}")
            if made.uid in known:
                yield Unread(Reason.DUPLICATE_RECORD, "the document has it twice, with two contents", made.uid)
                continue
        known[made.uid] = made
        name = f"{made.value['datetime']} {made.value['unique_key']}"
        keys[name] += 1
        if keys[name] > 1:
            made.value["unique_key"] = f"{made.value['unique_key']} - {keys[name]}"
        yield made


def _bounded(found: Iterable[RawEvent | Unread]) -> Iterator[RawEvent | Unread]:
    """Yield what was found until its texts are too much: in a page, events may lie in one another without end."""
    size = 0
    for one in found:
        yield one
        size += len(one.text) if isinstance(one, RawEvent) else 0
        if size > MOST_TEXT:
            yield Unread(Reason.TOO_LARGE, f"the texts of its events have more than {MOST_TEXT} characters")
            return


def _usable_ids(told: list[str]) -> set[str]:
    """Return the ids that tell events apart; one that most events share is none."""
    counted = Counter(one.strip() for one in told if one.strip())
    most = max(2, len(told) // 2)
    return {name for name, number in counted.items() if number == 1 or number < most or len(told) <= 2}


def _event(parser: EventParser, given: ParserInput, one: RawEvent, start: EventTime, source_id: str) -> ReadEvent:
    """Make an event as the standard has it, but for what depends on its history."""
    title = _line(one.title) or "(without a title)"
    spelt = " ".join((title.casefold(), spelled(start.utc)[:10], _line(one.location or "").casefold()))
    identity = source_id or digest(spelt.encode("utf-8", "replace")).partition(":")[2][:24]
    end = one.end
    value: dict[str, Any] = {
        "datetime": spelled(start.utc),
        "title": title,
        "description": one.description,
        "end_datetime": spelled(end.utc) if isinstance(end, EventTime) else end,
        "branch": one.branch if one.branch in parser.branches else parser.branch,
        "entity": one.entity if one.entity in parser.entities else parser.entity,
        "parser_name": parser.name,
        "event_url": one.url,
        "source_timezone": parser.zone,
        "unique_key": _line(source_id) or title,
        "all_day": start.all_day,
        "local_datetime": start.local,
        "status": one.status or "scheduled",
    }
    if one.location is not None:
        value["location"] = one.location
    if start.note:
        value["time_note"] = start.note
    # What is on no list of names is a key of its own, as the source spells it.
    value |= {f"source_{name}": _line(told) for name in _NAMED if (told := getattr(one, name)) not in {"", value[name]}}
    # A source's own key never takes the place of one of the standard's.
    value |= {name: extra for name, extra in one.extra.items() if name not in value and not name.startswith("_")}
    text = one.text.encode("utf-8", "replace").decode()  # half of a surrogate pair is no text, to a CouchDB neither
    aside = {"source_url": given.url, "source_text": text, "parser_version": given.rules.version}
    return ReadEvent(_uid(parser, identity), value, aside)


def _uid(parser: EventParser, identity: str) -> str:
    """Return what an event is known by; one that would be too long ends in a digest of itself."""
    uid = f"{parser.name}/{identity}"
    if len(uid) <= LONGEST_UID:
        return uid
    return f"{uid[: LONGEST_UID - 25]} {digest(uid.encode('utf-8', 'replace')).partition(':')[2][:24]}"


def _line(text: str) -> str:
    return " ".join(text.replace("\x00", " ").split())[:LONGEST]


def input_of(parser: EventParser, content: bytes, url: str, visited: Any, media: str) -> ParserInput:
    """Put together what a reader is given, with the rules that were in force at the time of the visit."""
    zone = zone_of(parser.zone)
    if zone is None:
        raise StepError(f"{parser.zone!r} is no zone", Reason.STEP_FAILED)
    return ParserInput(content, url, visited, media, parser, parser.at(visited), zone)


_SETTLED = frozenset({MISSING, WITHDRAWN, "cancelled"})


def parser_of(source: Source | None) -> EventParser:
    """Return a source's parser; of one that is asked by nobody's configuration, that of a calendar."""
    found = source.options.get(PARSER) if source else None
    if isinstance(found, EventParser):
        return found
    return replace(UNKNOWN, name=source.name if source else UNKNOWN.name)


def read_events(task: Task) -> list[Observation | Skip]:
    """Return an observation of each event, by its uid, and a skip for what could not be read."""
    if task.source is None:
        return [Skip(Reason.SOURCE_INACTIVE, "", "its source is not in the configuration, which says how it is read")]
    assert task.visited is not None
    parser = parser_of(task.source)
    given = input_of(parser, task.view.read(), task.item.key, task.visited, task.fields.get("content-type", ""))
    results: list[Observation | Skip] = []
    unread = 0
    for one in read_document(parser, given):
        if isinstance(one, ReadEvent):
            results.append(Observation(one.uid, one.value, one.text, aside=one.aside))
        elif isinstance(one, WithdrawnEvent):
            results.append(Observation(one.uid, None))
        else:
            unread += 1
            results.append(Skip(one.reason, one.key or f"{parser.name}/part {unread}", one.message))
    return results


def missing_events(listing: WholeListing) -> Iterator[Observation]:
    """Yield as missing the events still to come that as many whole listings in a row as are wanted leave out.

    One that its source cancelled before it left it out stays cancelled.
    """
    if listing.source is None or not (parser := parser_of(listing.source)).complete:
        return
    for one in listing.missing:
        value = one.value
        if not value or value["status"] in _SETTLED or one.listings < parser.missing_after:
            continue
        if ends(value) > listing.at:
            yield Observation(one.key, {**value, "status": MISSING}, text_of_event(value))
