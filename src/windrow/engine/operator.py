"""What an operator decides about items: try again, or end it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from windrow.contract import Collection, State
from windrow.engine.ledger import Lease, Ledger, LedgerWriter
from windrow.engine.ledger.addresses import ChosenAddress
from windrow.engine.ledger.lease import holder
from windrow.model import Finding, Level, Status
from windrow.reasons import Reason

NAMED = 20
"""Addresses that a decision names on the ledger."""


class Chosen(NamedTuple):
    """An item as it stands, and the children of its latest fetch; or an address of a crawl, by its number."""

    item: int
    key: str
    state: State
    children: tuple[tuple[int, State], ...]


def choose(ledger: Ledger, collection: Collection, keys: Iterable[str]) -> list[Chosen]:
    """Find items by key (`add/NAME`) or by the name alone; what is not there is left out."""
    wanted = sorted(
        {spelled for key in keys for spelled in (key, *(f"{one}/{key}" for one in collection.listing.folders))}
    )
    found = []
    if wanted:
        for one in ledger.items.listed(collection.name, collection.listing.kind, wanted):
            rows = ledger.items.children_of_fetch(one.item, one.fetch) if one.fetch else []
            children = tuple((child.item, (child.phase, child.status)) for child in rows)
            found.append(Chosen(one.item, one.key, (one.phase, one.status), children))
    return found


def retry(ledger: Ledger, collection: Collection, chosen: Iterable[Chosen]) -> int:
    """Put items back to be fetched again, and return how many; what was loaded of them stays.

    Documents of the earlier fetch that are not through yet are ended: those of the new one take
    their place. A cancelled item comes back too.
    """

    def again(writer: LedgerWriter, session: int, one: Chosen) -> None:
        last = len(collection.steps) and collection.phase(collection.steps[-1].phase)
        for child, (phase, status) in one.children:
            if status not in {Status.FAILED, Status.CANCELLED} and (phase, status) != (last, Status.DONE):
                writer.items.move(session, child, (phase, Status.CANCELLED), Reason.RETRIED)
        writer.items.move(
            session, one.item, collection.listing.first, Reason.RETRIED, "an operator asked for another attempt"
        )

    return _decide(ledger, f"retry {collection.name}", chosen, again)


def cancel(ledger: Ledger, collection: Collection, chosen: Iterable[Chosen], why: str = "") -> int:
    """End items where they stand, with what is not through of their documents; return how many."""
    message = why or Reason.CANCELLED.meaning

    def end(writer: LedgerWriter, session: int, one: Chosen) -> None:
        last = collection.phase(collection.steps[-1].phase)
        for child, (phase, status) in one.children:
            if status not in {Status.FAILED, Status.CANCELLED} and (phase, status) != (last, Status.DONE):
                writer.items.move(session, child, (phase, Status.CANCELLED), Reason.CANCELLED, message)
                writer.items.find(session, child, phase, [Finding("Cancelled", message, Level.WARN)])
        writer.items.move(session, one.item, (one.state[0], Status.CANCELLED), Reason.CANCELLED, message)

    return _decide(ledger, f"cancel {collection.name}", chosen, end)


def _decide(
    ledger: Ledger, command: str, chosen: Iterable[Chosen], act: Callable[[LedgerWriter, int, Chosen], None]
) -> int:
    """Act on every item in one transaction of a session of its own, while nothing else runs."""
    items = list(chosen)
    lease = Lease(ledger)
    try:
        with ledger.writing() as writer:
            session = writer.sessions.open(holder(), command)
            for one in items:
                act(writer, session, one)
            writer.sessions.close(session, 0)
    finally:
        lease.release()
    return len(items)


def choose_addresses(ledger: Ledger, collection: Collection, digests: Sequence[int]) -> list[Chosen]:
    """Find addresses of a crawl by their numbers; what is not known, or was taken down, is left out."""
    return [_address(row) for row in ledger.addresses.chosen(collection.name, digests)]


def addresses(ledger: Ledger, collection: Collection, act: str, source: str, reason: str) -> list[Chosen]:
    """Find addresses that fail (for `retry`) or wait (for `cancel`), of a source and for a reason; empty means any."""
    choose_those = {"retry": ledger.addresses.failing, "cancel": ledger.addresses.waiting}[act]
    return [_address(row) for row in choose_those(collection.name, source, reason)]


def _address(row: ChosenAddress) -> Chosen:
    return Chosen(row.digest, row.url, (1, _state(row.due, row.failures)), ())


def _state(due: int | None, failures: int) -> Status:
    if due is None:
        return Status.CANCELLED
    return Status.FAILED if failures else Status.PENDING if due <= 1 else Status.DONE


def retry_addresses(ledger: Ledger, collection: Collection, chosen: Iterable[Chosen]) -> int:
    """Have addresses asked by the next run, and return how many."""
    return _put(ledger, "retry", collection, chosen, 1)


def cancel_addresses(ledger: Ledger, collection: Collection, chosen: Iterable[Chosen]) -> int:
    """Have addresses never asked again until an operator says so; what was kept of them stays."""
    return _put(ledger, "cancel", collection, chosen, None)


def _put(ledger: Ledger, act: str, collection: Collection, chosen: Iterable[Chosen], due: int | None) -> int:
    """Say when addresses are due, in a session whose command names the first of them."""
    some = list(chosen)
    named = " ".join(one.key for one in some[:NAMED]) + (f" and {len(some) - NAMED} more" if len(some) > NAMED else "")
    lease = Lease(ledger)
    try:
        with ledger.writing() as writer:
            session = writer.sessions.open(holder(), f"{act} {collection.name} {named}")
            writer.addresses.due_at(collection.name, [one.item for one in some], due)
            writer.sessions.close(session, 0)
    finally:
        lease.release()
    return len(some)
