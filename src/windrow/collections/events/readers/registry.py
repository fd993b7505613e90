"""The readers by name, as a source's `reader` has it; each is loaded when it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from windrow.collections.events.parser import ParserInput, RawEvent, Unread
from windrow.contract import Request, later


def no_page(given: ParserInput) -> str:  # noqa: ARG001 the shape of `EventReader.next_page`
    """Return no address: documents of this kind lead to no others."""
    return ""


def no_details(given: ParserInput) -> tuple[Request, ...]:  # noqa: ARG001 the shape of `EventReader.details`
    """Ask for nothing: documents of this kind have their events in them."""
    return ()


class EventReader(NamedTuple):
    """What reads one kind of document; `complete` where such a document usually has all that is to come.

    `growing` says that new events come at the end of a row of documents: each is asked again.
    """

    read: Callable[[ParserInput], Iterator[RawEvent | Unread]]
    complete: bool
    next_page: Callable[[ParserInput], str] = no_page
    details: Callable[[ParserInput], tuple[Request, ...]] = no_details
    growing: bool = False


_ROOM = "windrow.collections.events.readers"

READERS = {
    "icalendar": EventReader(later(f"{_ROOM}.icalendar:read"), complete=True),
    "feed": EventReader(later(f"{_ROOM}.by_path:read_feed"), complete=False),
    "json": EventReader(
        later(f"{_ROOM}.by_fields:read_json"),
        complete=True,
        next_page=later(f"{_ROOM}.by_fields:next_page"),
        details=later(f"{_ROOM}.by_fields:details"),
    ),
    "xml": EventReader(later(f"{_ROOM}.by_path:read_xml"), complete=True),
    "senate-votes": EventReader(later(f"{_ROOM}.publishers:read_senate"), complete=False),
    "house-votes": EventReader(
        later(f"{_ROOM}.publishers:read_house"),
        complete=False,
        next_page=later(f"{_ROOM}.publishers:next_vote"),
        growing=True,
    ),
    "house-calendar": EventReader(
        later(f"{_ROOM}.publishers:read_house_calendar"),
        complete=False,
        details=later(f"{_ROOM}.publishers:house_meetings"),
    ),
    "html": EventReader(
        later(f"{_ROOM}.by_path:read_html"), complete=True, next_page=later(f"{_ROOM}.by_path:next_html_page")
    ),
    "schema.org": EventReader(later(f"{_ROOM}.publishers:read_schema_org"), complete=False),
    "legistar": EventReader(
        later(f"{_ROOM}.publishers:read_legistar"),
        complete=True,
        next_page=later(f"{_ROOM}.publishers:next_legistar_page"),
    ),
}
