"""What an operator decides about items: try again, or end it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from windrow.engine.ledger import Lease, Ledger, Pen
from windrow.engine.ledger.lease import holder
from windrow.model import Finding, Level, Status
from windrow.reasons import Reason
from windrow.spec import Collection, State


class Chosen(NamedTuple):
    """An item as it stands, and the children of its latest fetch."""

    item: int
    key: str
    state: State
    children: tuple[tuple[int, State], ...]


def choose(ledger: Ledger, collection: Collection, keys: Iterable[str]) -> list[Chosen]:
    """Find items by key (`add/NAME`) or by the name alone; what is not there is left out."""
    wanted = sorted({spelled for key in keys for spelled in (key, *(f"{one}/{key}" for one in collection.folders))})
    found = []
    if wanted:
        for item, known, phase, status, fetch in ledger.ask_many("items_of", wanted, collection.name, collection.kind):
            rows = ledger.ask("children_of", item, fetch) if fetch else []
            children = tuple((child, (number, Status(word))) for child, number, word in rows)
            found.append(Chosen(item, known, (phase, Status(status)), children))
    return found


def retry(ledger: Ledger, collection: Collection, chosen: Iterable[Chosen]) -> int:
    """Put items back to be fetched again, and return how many; what was loaded of them stays.

    Documents of the earlier fetch that are not through yet are ended: those of the new one take
    their place. A cancelled item comes back too.
    """

    def again(pen: Pen, session: int, one: Chosen) -> None:
        last = len(collection.steps) and collection.phase(collection.steps[-1].phase)
        for child, (phase, status) in one.children:
            if status not in {Status.FAILED, Status.CANCELLED} and (phase, status) != (last, Status.DONE):
                pen.moved(session, child, (phase, Status.CANCELLED), Reason.RETRIED)
        pen.moved(session, one.item, collection.first, Reason.RETRIED, "an operator asked for another attempt")

    return _decide(ledger, f"retry {collection.name}", chosen, again)


def cancel(ledger: Ledger, collection: Collection, chosen: Iterable[Chosen], why: str = "") -> int:
    """End items where they stand, with what is not through of their documents; return how many."""
    message = why or Reason.CANCELLED.meaning

    def end(pen: Pen, session: int, one: Chosen) -> None:
        last = collection.phase(collection.steps[-1].phase)
        for child, (phase, status) in one.children:
            if status not in {Status.FAILED, Status.CANCELLED} and (phase, status) != (last, Status.DONE):
                pen.moved(session, child, (phase, Status.CANCELLED), Reason.CANCELLED, message)
                pen.found(session, child, phase, [Finding("Cancelled", message, Level.WARN)])
        pen.moved(session, one.item, (one.state[0], Status.CANCELLED), Reason.CANCELLED, message)

    return _decide(ledger, f"cancel {collection.name}", chosen, end)


def _decide(ledger: Ledger, command: str, chosen: Iterable[Chosen], act: Callable[[Pen, int, Chosen], None]) -> int:
    """Act on every item in one transaction of a session of its own, while nothing else runs."""
    items = list(chosen)
    lease = Lease(ledger)
    try:
        with ledger.writing() as pen:
            session = pen.session_opened(holder(), command)
            for one in items:
                act(pen, session, one)
            pen.session_closed(session, 0)
    finally:
        lease.release()
    return len(items)
