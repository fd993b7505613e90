"""The parser of a source of events, as data: its name, branch and entity, and dated versions of its rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, tzinfo
from difflib import get_close_matches
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from windrow.collections.events.times import EventTime
from windrow.errors import ConfigError
from windrow.reasons import Reason

BRANCHES = ("Executive", "Legislative", "Judicial", "Other")
ENTITIES = (
    "White House", "Senate", "House of Representatives", "Supreme Court", "Federal Election Commission",
    "Office of the Federal Register",
)  # fmt: skip


def check_name(name: str, known_names: tuple[str, ...], setting: str) -> str:
    """Return a name that is in `known_names`; raise ConfigError for any other name, with a hint about `setting`.

    >>> check_name("Senate", ENTITIES, "events.entities")
    'Senate'
    """
    if name in known_names:
        return name
    similar_names = get_close_matches(name, known_names, n=1)
    suggestion = f"; did you mean {similar_names[0]}?" if similar_names else ""
    message = f"{name!r} is not one of {', '.join(known_names)}{suggestion}; {setting} in windrow.toml adds names"
    raise ConfigError(message, hint=f"add it to {setting} in windrow.toml")


FEDERAL_ZONE = "America/New_York"  # of the parsers for the US federal government
_EARLIEST = date(1, 1, 1)


@dataclass(frozen=True, slots=True)
class ParserRules:
    """One version of a parser's rules, for documents that were fetched on the day `since` (UTC) or later.

    `items` selects the events in a document. `fields` selects the values in an event (id, title, start, end, all_day,
    description, url, status, location, branch, entity), also `start_time` and `end_time` if the time of day is in a
    field of its own; `extra` selects the values of further keys. Their syntax
    depends on the `reader`. `time_formats` are strptime patterns of times. `naive_timezone` is "UTC" if times without a
    zone are in UTC, and empty if they are in the source's zone. `statuses` is a dict from the source's words to
    windrow's statuses. `next_page` selects the address of the next page; `?NAME` counts up a parameter. `root` is the
    root element of valid documents, one of their keys, or a selector: a document without it, or in which it selects
    nothing, is an error page. `placeholders` are the titles of entries which only say that there are no events.
    `html_fields` are the fields that are HTML. `exclusive_end` means that the end of an event of whole days is the day
    after its last one.

    If each event has a document of its own, `details` is `LIST:URL:CHANGED`. LIST is the path of the list of these
    documents. URL is the path of the address in an entry of the list. CHANGED is the path of a value in the entry that
    changes when the document changes. For JSON-LD, `details` is ITEM_LIST alone: its lists have one form.
    """

    version: str = "1"
    reader: str = "icalendar"
    since: date = _EARLIEST
    items: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, str] = field(default_factory=dict)
    time_formats: tuple[str, ...] = ()
    naive_timezone: str = ""
    statuses: Mapping[str, str] = field(default_factory=dict)
    next_page: str = ""
    root: str = ""
    placeholders: tuple[str, ...] = ()
    html_fields: tuple[str, ...] = ()
    details: str = ""
    exclusive_end: bool = False


ITEM_LIST = "itemListElement"
"""The value of the rule `details` with which the pages are requested whose addresses an ItemList in JSON-LD has."""

UID_FIELDS = ("id", "title", "start", "start_time", "location")
UID_RULES = ("reader", "time_formats", "naive_timezone", "html_fields")
"""The rules of a parser on which the uids of events depend, besides its zone and its rules for UID_FIELDS."""


@dataclass(frozen=True, slots=True)
class EventParser:
    """The parser of one source of events.

    `source` is the name of the source, which begins the uid of each event, because sources with the same parser may use
    the same ids. If it is empty, the name of the parser is used. `zone` is the IANA name of the source's zone.
    `complete` means that a listing has all future events; a future event that is absent from `missing_after` listings
    in a row is missing. If `complete` is None, this depends on the reader (`lists_all_events`). The source is requested
    again after `every` seconds. `url` is the address of a built-in parser's source, and empty for other parsers. A
    recurring event is expanded from `recurrence_past` seconds before the request to `recurrence_ahead` seconds after
    it, or to its next or last repetition if it has none in that time. At most `most_events` events of a document are
    read, future ones first. `may_be_empty` means that a list without events is right.
    `branches` and `entities` are the names that an event may have.
    """

    name: str
    branch: str
    entity: str
    zone: str = FEDERAL_ZONE
    versions: tuple[ParserRules, ...] = (ParserRules(),)
    url: str = ""
    complete: bool | None = True
    every: float = 6 * 3600.0
    missing_after: int = 3
    recurrence_past: float = 30 * 86400.0
    recurrence_ahead: float = 180 * 86400.0
    most_events: int = 100_000
    may_be_empty: bool = False
    branches: tuple[str, ...] = BRANCHES
    entities: tuple[str, ...] = ENTITIES
    source: str = ""

    def rules_at(self, fetched_at: datetime) -> ParserRules:
        """Return the rules in force at a time, or the earliest rules if all are from later days."""
        day = fetched_at.astimezone(UTC).date()
        by_day = sorted(self.versions, key=lambda rules: rules.since)
        return next((rules for rules in reversed(by_day) if rules.since <= day), by_day[0])


class SourceDocument(NamedTuple):
    """A document to be read: its bytes, its address, its parser, and the rules that were in force at `visited`."""

    content: bytes
    url: str
    visited: datetime  # when it was fetched
    media: str  # the Content-Type header
    parser: EventParser
    rules: ParserRules
    zone: ZoneInfo  # of the source
    calendar_zone: tzinfo | None = None  # for times without a zone, if the document names one
    has_unknown_zone: bool = False  # whether the document names a zone that is not known
    headers: Mapping[str, str] = {}  # of the response, when it is followed; the names are in lower case
    base: str = ""  # the address with which relative ones are joined, if it is not `url`


def describe_left_out(event_count: int, read_count: int, limit: str, *, is_complete: bool = True) -> str:
    """Return the message for a document that was not read completely. `limit` is a clause that says why.

    Unless `is_complete`, the document has more events than were counted.
    """
    number = f"{event_count}" if is_complete else f"more than {event_count}"
    return f"the document has {number} events; only {read_count} were read, future ones first, as {limit}"


class RawEvent(NamedTuple):
    """An event as a reader returns it.

    A field is None if this kind of source never has it, and empty if this event does not have it. `text` is the part of
    the document from which the event was read.
    """

    id: str
    title: str
    start: EventTime | None  # None if the source withdrew the event
    text: str
    end: EventTime | str | None = None
    description: str | None = None
    url: str | None = None
    status: str = ""
    location: str | None = None
    extra: Mapping[str, Any] = {}
    branch: str = ""
    entity: str = ""


class SkippedPart(NamedTuple):
    """A part of a document that was not read as an event, and the reason.

    `key` is the source's id for the event; it is empty if the id is not known. `read_document` replaces it with the
    uid. `series` is the id of the series to which the event belongs, or that it is; then `key` is empty. If the reason
    is CAPPED, the events are read without `number` things, and `message` is the rule of the cap.
    """

    reason: Reason
    message: str
    key: str = ""
    series: str = ""
    number: int = 1
