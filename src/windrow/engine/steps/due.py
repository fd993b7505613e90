"""What is due at a step, drawn from the ledger some hundred at a time, in one of two orders.

By rank: items that wait for a step, as the ledger says. What arrives last may come first, so no number says how far a
step got, and each item is marked on the ledger when the step is through with it.

By arrival: visits after the checkpoint of the collection's version store. It rises in the transaction that writes what
they say, so that each visit is written exactly once, and the ledger marks nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from windrow.contract import Collection
from windrow.ledger import Ledger
from windrow.ledger.typed.items import DueRow
from windrow.model import Item, RecordedAttempt, Status
from windrow.reasons import Reason

PAGE = 500


class Due(NamedTuple):
    """An item that waits, and what the ledger knows of it."""

    item: Item
    owner: str
    reason: Reason | None
    since: int  # seq of the fact by which it waits
    capture: str  # digest of the capture it lies in, empty for none
    size: int | None
    source: str  # where it was fetched from, empty for nowhere yet


def due(ledger: Ledger, collection: Collection, step: str, status: Status = Status.PENDING) -> Iterator[Due]:
    """Yield the items that wait for a step, or failed at it; what changes meanwhile may be missed or met again."""
    place, last = "", 0
    while True:
        rows = ledger.items.due(collection.name, step, status, (place, last), PAGE)
        for row in rows:
            yield _due(collection.name, row)
        if len(rows) < PAGE:
            break
        place, last = rows[-1].rank, rows[-1].item


def _due(collection: str, row: DueRow) -> Due:
    digest = row.digest or row.capture
    item = Item(row.item, collection, row.kind, row.key, row.rank, row.attempt, digest, row.member)
    return Due(item, row.owner, row.reason, row.since, row.capture, row.size, row.source)


def due_visits(ledger: Ledger, collection: Collection, checkpoint: int) -> Iterator[RecordedAttempt]:
    """Yield the visits of a collection after a checkpoint, as they arrived."""
    while visits := ledger.attempts.after(collection.name, checkpoint, PAGE):
        yield from visits
        checkpoint = visits[-1].seq


def count(ledger: Ledger, collection: Collection, step: str) -> int:
    """Count the items that wait for a step."""
    return ledger.items.count_due(collection.name).get(step, 0)
