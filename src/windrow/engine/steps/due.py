"""What is due: items in a state, drawn from the ledger some hundred at a time, in the order of work."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from windrow.contract import Collection, State
from windrow.engine.ledger import Ledger
from windrow.engine.ledger.items import DueRow
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


FIRST = 0.5
LONGEST = 300.0


def worth_waiting(asked: float | None) -> bool:
    """Tell whether this run waits as long as a server asked; what would take longer is for the next run.

    >>> worth_waiting(None), worth_waiting(7.0), worth_waiting(86400.0)
    (True, True, False)
    """
    return asked is None or asked <= LONGEST


def wait_before(attempt: int, asked: float | None = None) -> float:
    """Return the seconds to wait before the attempt after `attempt` failed ones.

    A server's own wish (`asked`, from Retry-After) is a floor.

    >>> 0.25 <= wait_before(1) <= 0.5, wait_before(1, asked=7.0) >= 7.0
    (True, True)
    """
    backoff: float = min(LONGEST, FIRST * 2 ** (attempt - 1)) * random.uniform(0.5, 1.0)  # noqa: S311 no secret
    return max(backoff, asked or 0.0)
