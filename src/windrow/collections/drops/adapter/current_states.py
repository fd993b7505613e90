"""Where the zips and XML files of a ledger stand now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from windrow.collections.drops.collection import COLLECTION, ZIP
from windrow.collections.drops.states import StateEvent, ZipStates, xml_state, zip_states
from windrow.contract import State
from windrow.ledger import Ledger
from windrow.ledger.typed.items import SeenItem

TOGETHER = 1_000
"""Items whose events are looked up together."""


class CurrentStates(NamedTuple):
    """Where zips and XML files stand, by their numbers on the ledger."""

    zips: dict[int, ZipStates]
    xmls: dict[int, State]


def current_states(ledger: Ledger) -> CurrentStates:
    """Return where every zip and XML file stands, as it follows from the facts."""
    items = ledger.items.seen(COLLECTION.name)
    xmls = {}
    members: dict[int, dict[int, Counter[State]]] = {}
    for item, events in _events(ledger, [item for item in items if item.kind != ZIP]):
        state = xmls[item.item] = xml_state(item.reason, events)
        members.setdefault(item.file or 0, {}).setdefault(item.attempt, Counter())[state] += 1
    zips = {
        item.item: zip_states(item.reason, events, members.get(item.item, {}))
        for item, events in _events(ledger, [item for item in items if item.kind == ZIP])
    }
    return CurrentStates(zips, xmls)


def _events(ledger: Ledger, items: Sequence[SeenItem]) -> Iterator[tuple[SeenItem, list[StateEvent]]]:
    """Yield items with what changed where they stand, in order."""
    for first in range(0, len(items), TOGETHER):
        page = items[first : first + TOGETHER]
        rows = groupby(ledger.items.events([item.item for item in page]), attrgetter("item"))
        events = {number: [StateEvent(*row[1:]) for row in group] for number, group in rows}
        for item in page:
            yield item, events.get(item.item, [])
