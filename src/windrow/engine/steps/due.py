"""Read from the ledger what is due at a step, a few hundred items or attempts at a time, in one of two orders.

By rank: items that wait for a step. A new item may have a lower rank than items that are done, so a checkpoint cannot
describe the progress of a step. Instead, the ledger records for each item that the step is done.

By number: attempts after the checkpoint of the collection's version store. The store moves its checkpoint in the
transaction that writes the results of attempts, so the ledger need not record for each attempt that it is done.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from windrow.contract import Collection
from windrow.ledger import Ledger
from windrow.ledger.typed.items import DueRow
from windrow.model import Item, RecordedAttempt, Status
from windrow.reasons import Reason

PAGE_SIZE = 500
"""The number of items or attempts that are read from the ledger at a time."""


class Due(NamedTuple):
    """An item that waits for a step, failed at it or was cancelled before it, with its data from the ledger."""

    item: Item
    owner: str  # who made a listed file, according to its key; empty for a member
    reason: Reason | None  # why it failed or ended; if it waits, RETRIED or None
    since: int  # the number of the fact that gave it this status
    capture: str  # the digest of the capture that contains it, empty if it was not fetched yet
    size: int | None  # the size of this capture in bytes, None if it was not fetched yet
    source: str  # the name of the source that it was fetched from, empty if it was not fetched yet


def due(ledger: Ledger, collection: Collection, step: str, status: Status = Status.PENDING) -> Iterator[Due]:
    """Yield the items that have a status at a step, in the order of their ranks.

    Items that change meanwhile may be missed or repeated.
    """
    last_rank, last_item = "", 0
    while True:
        due_rows = ledger.items.due(collection.name, step, status, (last_rank, last_item), PAGE_SIZE)
        for due_row in due_rows:
            yield _make_due(collection.name, due_row)
        if len(due_rows) < PAGE_SIZE:
            break
        last_rank, last_item = due_rows[-1].rank, due_rows[-1].item


def _make_due(collection: str, row: DueRow) -> Due:
    digest = row.digest or row.capture
    item = Item(row.item, collection, row.kind, row.key, row.rank, row.attempt, digest, row.member)
    return Due(item, row.owner, row.reason, row.since, row.capture, row.size, row.source)


def due_attempts(ledger: Ledger, collection: Collection, checkpoint: int) -> Iterator[RecordedAttempt]:
    """Yield the attempts of a collection with numbers above `checkpoint`, in the order of their numbers."""
    while attempts := ledger.attempts.after(collection.name, checkpoint, PAGE_SIZE):
        yield from attempts
        checkpoint = attempts[-1].seq
