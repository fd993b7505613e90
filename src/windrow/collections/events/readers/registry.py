"""The readers by name, as a source's `reader` has it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from windrow.collections.events.parser import ParserInput, RawEvent, Unread
from windrow.collections.events.readers import feed, html_selector, icalendar, json_path, legistar, schema_org, xml_path


def no_page(given: ParserInput) -> str:  # noqa: ARG001 the shape of `EventReader.next_page`
    """Return no address: documents of this kind lead to no others."""
    return ""


class EventReader(NamedTuple):
    """What reads one kind of document; `complete` where such a document usually has all that is to come."""

    read: Callable[[ParserInput], Iterator[RawEvent | Unread]]
    complete: bool
    next_page: Callable[[ParserInput], str] = no_page


READERS = {
    "icalendar": EventReader(icalendar.read, complete=True),
    "feed": EventReader(feed.read, complete=False),
    "json": EventReader(json_path.read, complete=True, next_page=json_path.next_page),
    "xml": EventReader(xml_path.read, complete=True),
    "html": EventReader(html_selector.read, complete=True, next_page=html_selector.next_page),
    "schema.org": EventReader(schema_org.read, complete=False),
    "legistar": EventReader(legistar.read, complete=True, next_page=legistar.next_page),
}
