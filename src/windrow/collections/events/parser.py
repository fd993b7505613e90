"""Parsers as data: a name, whose events they are, and dated versions of how they are read.

A workspace may name more.
"""

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


def checked(name: str, known: tuple[str, ...], setting: str) -> str:
    """Return a name that is on the list; ConfigError for any other, with the nearest one.

    >>> checked("Senate", ENTITIES, "events.entities")
    'Senate'
    """
    if name in known:
        return name
    guess = get_close_matches(name, known, 1, 0.6)
    meant = f"; did you mean {guess[0]}?" if guess else ""
    raise ConfigError(f"{name!r} is none of {', '.join(known)}{meant}", hint=f"add it to {setting} in windrow.toml")


EARLIEST = date(1, 1, 1)


@dataclass(frozen=True, slots=True)
class ParserRules:
    """One version of a parser: what reads documents that came on `since` or later.

    `items` finds the events in a document, and `fields` the values in an event (id, title, start, end, description,
    url, status, location, branch, entity); `extra` has the keys that a source gives beside those of the standard. How
    both are written depends on the `reader`. `formats` are the times' patterns, `naive` the zone of times that name
    none where that is not the source's ("UTC"), `statuses` this project's words for those of the source, `next` finds
    the next page. `root` is what the document must be: anything else is an error page. `placeholders` are titles of
    what says only that there is nothing, `markup` the fields that are HTML. `details` leads to documents of their own,
    one for each event: `LIST:URL:CHANGED`, where CHANGED tells that one has to be asked again.
    """

    version: str = "1"
    reader: str = "icalendar"
    since: date = EARLIEST
    items: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, str] = field(default_factory=dict)
    formats: tuple[str, ...] = ()
    naive: str = ""
    statuses: Mapping[str, str] = field(default_factory=dict)
    next: str = ""
    root: str = ""
    placeholders: tuple[str, ...] = ()
    markup: tuple[str, ...] = ()
    details: str = ""


@dataclass(frozen=True, slots=True)
class EventParser:
    """A parser of one source of events.

    `complete` says that a document has all that is to come, so that a future event that is not in it any more has
    vanished; a feed of the newest has not. `url` is the address of a ready parser. `past` and `ahead` are the
    seconds before and after a visit within which repeated events are told one by one. `branches` and `entities` are the
    names that an event may have.
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
    past: float = 30 * 86400.0
    ahead: float = 180 * 86400.0
    branches: tuple[str, ...] = BRANCHES
    entities: tuple[str, ...] = ENTITIES

    def at(self, when: datetime) -> ParserRules:
        """Return the rules that a document is read by which came at a time: the latest that were in force then."""
        day = when.astimezone(UTC).date()
        told = sorted(self.versions, key=lambda rules: rules.since)
        return next((rules for rules in reversed(told) if rules.since <= day), told[0])


class ParserInput(NamedTuple):
    """A document to be read: its bytes, where and when they came from, and the rules."""

    content: bytes
    url: str
    visited: datetime
    media: str  # the Content-Type, as it was sent
    parser: EventParser
    rules: ParserRules
    zone: ZoneInfo


class RawEvent(NamedTuple):
    """An event as a reader found it.

    None: this kind of source never says it; an empty text: it does, but not for this one. `text` is the part of the
    document that it was read from.
    """

    id: str
    title: str
    start: EventTime | None  # None where the source took it back, and says no more than that
    text: str
    end: EventTime | str | None = None
    description: str | None = None
    url: str | None = None
    status: str = ""
    location: str | None = None
    extra: Mapping[str, Any] = {}
    branch: str = ""
    entity: str = ""


class Unread(NamedTuple):
    """A part of a document of which no event was made, and why.

    `key` is the source's own id of the event that it would be, later its uid; empty where that is not known.
    """

    reason: Reason
    message: str
    key: str = ""
