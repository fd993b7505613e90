"""The one step of events: read a document that came, and return what it says of each event."""

from __future__ import annotations

from windrow.collections.events.discover import parser_of
from windrow.collections.events.reading import ReadEvent, WithdrawnEvent, input_of, read_document
from windrow.contract import Observation, Skip, Task
from windrow.reasons import Reason


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
