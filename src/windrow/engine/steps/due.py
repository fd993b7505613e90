"""Yield what is due at a step, read from the ledger some hundred at a time, in one of two orders.

By rank: items that wait for a step. A new item may come first, so that a checkpoint cannot say how far a
step got; each item is marked on the ledger when the step is done.

By arrival: attempts after the checkpoint of the collection's version store. The checkpoint advances in the
transaction that writes their results, so that each attempt is written exactly once, without marks on the ledger.
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
    """An item that waits for a step, with its data from the ledger."""

    item: Item
    owner: str
    reason: Reason | None
    since: int  # seq of the fact by which it waits
    capture: str  # digest of the capture that contains it, empty without one
    size: int | None
    source: str  # the source that it was fetched from, empty if it was not fetched yet


def due(ledger: Ledger, collection: Collection, step: str, status: Status = Status.PENDING) -> Iterator[Due]:
    """Yield the items with a status at a step; items that change meanwhile may be missed or repeated."""
    last_rank, last_item = "", 0
    while True:
        rows = ledger.items.due(collection.name, step, status, (last_rank, last_item), PAGE)
        for row in rows:
            yield _make_due(collection.name, row)
        if len(rows) < PAGE:
            break
        last_rank, last_item = rows[-1].rank, rows[-1].item


def _make_due(collection: str, row: DueRow) -> Due:
    digest = row.digest or row.capture
    item = Item(row.item, collection, row.kind, row.key, row.rank, row.attempt, digest, row.member)
    return Due(item, row.owner, row.reason, row.since, row.capture, row.size, row.source)


def due_attempts(ledger: Ledger, collection: Collection, checkpoint: int) -> Iterator[RecordedAttempt]:
    """Yield the attempts of a collection after a checkpoint, in order of arrival."""
    while attempts := ledger.attempts.after(collection.name, checkpoint, PAGE):
        yield from attempts
        checkpoint = attempts[-1].seq


def count(ledger: Ledger, collection: Collection, step: str) -> int:
    """Count the items that wait for a step."""
    return ledger.items.count_due(collection.name).get(step, 0)
