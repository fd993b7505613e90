"""Parsers of sources of events, as data: a name, whose events they are, and dated versions of the rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
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


def check_name(name: str, known: tuple[str, ...], setting: str) -> str:
    """Return a name that is in `known`; ConfigError otherwise, which suggests the nearest one.

    >>> check_name("Senate", ENTITIES, "events.entities")
    'Senate'
    """
    if name in known:
        return name
    guess = get_close_matches(name, known, 1, 0.6)
    suggestion = f"; did you mean {guess[0]}?" if guess else ""
    message = f"{name!r} is not one of {', '.join(known)}{suggestion}"
    raise ConfigError(message, hint=f"add it to {setting} in windrow.toml")


EARLIEST = date(1, 1, 1)


@dataclass(frozen=True, slots=True)
class ParserRules:
    """One version of a parser's rules, for documents that were fetched on `since` or later.

    `items` selects the events in a document, and `fields` the values in an event (id, title, start, end, description,
    url, status, location, branch, entity); `extra` selects further keys. Their syntax depends on the `reader`.
    `time_formats` are strptime patterns of times. `naive_timezone` is "UTC" if times without a zone are in UTC, and
    empty if they are in the source's zone. `statuses` maps the source's words to ours. `next_page` selects the next
    page. `root` is what the document must have; one without it is an error page. `placeholders` are titles of entries
    which say that there are no events, `html_fields` the fields that are HTML. `details` is `LIST:URL:CHANGED` if
    events have documents of their own: the path of their list, and in an entry those of the address and of what differs
    when it changed.
    """

    version: str = "1"
    reader: str = "icalendar"
    since: date = EARLIEST
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


@dataclass(frozen=True, slots=True)
class EventParser:
    """A parser of one source of events.

    `complete` says that a document lists all future events, so that one which is no longer in it is missing. `url` is
    the address of a built-in parser. A recurring event is expanded from `recurrence_past` seconds before the request to
    `recurrence_ahead` seconds after it. At most `most_events` are read from a document, future ones first. `branches`
    and `entities` are the names that an event may have.
    """

    name: str
    branch: str
    entity: str
    zone: str = "America/New_York"
    versions: tuple[ParserRules, ...] = (ParserRules(),)
    url: str = ""
    complete: bool = True
    every: float = 6 * 3600.0
    missing_after: int = 3
    recurrence_past: float = 30 * 86400.0
    recurrence_ahead: float = 180 * 86400.0
    most_events: int = 100_000
    branches: tuple[str, ...] = BRANCHES
    entities: tuple[str, ...] = ENTITIES

    def rules_at(self, when: datetime) -> ParserRules:
        """Return the rules for a document that was fetched at a time: the latest in force then, or the first of all."""
        day = when.astimezone(UTC).date()
        by_day = sorted(self.versions, key=lambda rules: rules.since)
        return next((rules for rules in reversed(by_day) if rules.since <= day), by_day[0])


class SourceDocument(NamedTuple):
    """A document to be parsed: its bytes, its address, when it was fetched, and the rules for it."""

    content: bytes
    url: str
    visited: datetime
    media: str  # the Content-Type header
    parser: EventParser
    rules: ParserRules
    zone: ZoneInfo  # the source's
    calendar_zone: ZoneInfo | None = None  # the zone of times that do not name one, if the document gives another one


def left_out(listed: int, read: int, limit: str) -> str:
    """Return a message which says that events of a document were left out."""
    return f"the document has {listed} events; only {read} were read, the coming ones first: {limit}"


class RawEvent(NamedTuple):
    """An event as a reader returns it.

    A field is None if this kind of source never has it, and empty if this event does not have it. `text` is the
    part of the document that the event was read from.
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
    """A part of a document that is not read as an event, and why.

    `key` is the source's id of the event, or its uid once `read_document` has replaced it; empty if not known.
    """

    reason: Reason
    message: str
    key: str = ""
