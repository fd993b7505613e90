"""The readers by name, as a source's `reader` has it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from windrow.collections.events.parser import ParserInput, RawEvent, Unread
from windrow.collections.events.readers import feed, icalendar, json_path


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
}
