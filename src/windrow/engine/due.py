"""What is due: items in a state, drawn from the ledger some hundred at a time, in the order of work."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from windrow.contract import Collection, State
from windrow.engine.ledger import Ledger
from windrow.model import Item, Status
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
            rows = ledger.ask("due", collection.name, kind, phase, int(status), place, last, PAGE)
            for row in rows:
                yield _due(collection.name, kind, row)
            if len(rows) < PAGE:
                break
            place, last = rows[-1][3], rows[-1][0]


def _due(collection: str, kind: str, row: tuple[object, ...]) -> Due:
    seq, key, parent, rank, phase, status, fetch, digest, member, owner, reason, since, capture, size, source = row
    item = Item(seq, collection, kind, key, parent, rank, phase, Status(status), fetch, digest or capture or "", member)  # type: ignore[arg-type]
    return Due(item, owner, Reason(reason) if reason else None, since, capture or "", size, source or "")  # type: ignore[arg-type]


def count(ledger: Ledger, collection: Collection, kind: str, states: Iterable[State]) -> int:
    """Count the items of a kind in the states."""
    return sum(ledger.ask("due_count", collection.name, kind, phase, int(status))[0][0] for phase, status in states)
