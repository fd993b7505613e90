"""The readers by name, as a source's `reader` has it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from windrow.collections.events.parser import ParserInput, RawEvent, Unread
from windrow.collections.events.readers import (
    feed,
    html_selector,
    icalendar,
    json_path,
    legistar,
    roll_calls,
    schema_org,
    xml_path,
)


def no_page(given: ParserInput) -> str:  # noqa: ARG001 the shape of `EventReader.next_page`
    """Return no address: documents of this kind lead to no others."""
    return ""


def no_details(given: ParserInput) -> tuple[str, ...]:  # noqa: ARG001 the shape of `EventReader.details`
    """Return no addresses: documents of this kind have their events in them."""
    return ()


class EventReader(NamedTuple):
    """What reads one kind of document; `complete` where such a document usually has all that is to come.

    `growing` says that new events come at the end of a row of documents: each is asked again.
    """

    read: Callable[[ParserInput], Iterator[RawEvent | Unread]]
    complete: bool
    next_page: Callable[[ParserInput], str] = no_page
    details: Callable[[ParserInput], tuple[str, ...]] = no_details
    growing: bool = False


READERS = {
    "icalendar": EventReader(icalendar.read, complete=True),
    "feed": EventReader(feed.read, complete=False),
    "json": EventReader(json_path.read, complete=True, next_page=json_path.next_page, details=json_path.details),
    "xml": EventReader(xml_path.read, complete=True),
    "senate-votes": EventReader(roll_calls.read_senate, complete=False),
    "house-votes": EventReader(roll_calls.read_house, complete=False, next_page=roll_calls.next_vote, growing=True),
    "html": EventReader(html_selector.read, complete=True, next_page=html_selector.next_page),
    "schema.org": EventReader(schema_org.read, complete=False),
    "legistar": EventReader(legistar.read, complete=True, next_page=legistar.next_page),
}
