"""What is due: items in a state, drawn from the ledger some hundred at a time, in the order of work."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from windrow.contract import Collection, State
from windrow.ledger import Ledger
from windrow.ledger.typed.items import DueRow
from windrow.model import Item
from windrow.reasons import Reason

PAGE = 500


class Due(NamedTuple):
    """An item that waits, and what the ledger knows of it."""

    item: Item
    owner: str
    reason: Reason | None
    since: int  # seq of its last move
    capture: str  # digest of the capture it lies in, empty for none
    size: int | None
    source: str  # where it was fetched from, empty for nowhere yet


def due(ledger: Ledger, collection: Collection, kind: str, states: Iterable[State]) -> Iterator[Due]:
    """Yield the items of a kind in each of the states; what moves meanwhile may be missed or met again."""
    for phase, status in states:
        place, last = "", 0
        while True:
            rows = ledger.items.due(collection.name, kind, (phase, status), (place, last), PAGE)
            for row in rows:
                yield _due(collection.name, kind, row)
            if len(rows) < PAGE:
                break
            place, last = rows[-1].rank, rows[-1].item


def _due(collection: str, kind: str, row: DueRow) -> Due:
    item = Item(
        row.item, collection, kind, row.key, row.parent, row.rank, row.phase, row.status, row.fetch,
        row.digest or row.capture, row.member,
    )  # fmt: skip
    return Due(item, row.owner, row.reason, row.since, row.capture, row.size, row.source)


def count(ledger: Ledger, collection: Collection, kind: str, states: Iterable[State]) -> int:
    """Count the items of a kind in the states."""
    return sum(ledger.items.count_due(collection.name, kind, state) for state in states)
