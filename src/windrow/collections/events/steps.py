"""The one step of events: what a document that came says of each event, and what a whole listing leaves out."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.collections.events.discover import parser_of
from windrow.collections.events.documents import MISSING, WITHDRAWN, ends
from windrow.collections.events.reading import ReadEvent, WithdrawnEvent, input_of, read_document, text_of_event
from windrow.contract import Observation, Skip, Task, WholeListing
from windrow.reasons import Reason

_SETTLED = frozenset({MISSING, WITHDRAWN, "cancelled"})


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
