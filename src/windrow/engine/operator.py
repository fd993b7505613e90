"""What an operator decides about items and addresses: try again, or end it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from windrow.contract import Collection, State
from windrow.digest import number
from windrow.engine.requests.origin_rules import walked
from windrow.ledger import Lease, Ledger, LedgerWriter
from windrow.ledger.sessions import holder
from windrow.ledger.typed.addresses import ChosenAddress
from windrow.ledger.typed.unread import UnreadAddress
from windrow.model import Finding, Level, Status
from windrow.reasons import Reason

NAMED = 20
"""Items or addresses that a decision names on the ledger."""

RETRY, CANCEL = "retry", "cancel"


class Chosen(NamedTuple):
    """An item as it stands, and the children of its latest fetch; or an address, by its number.

    The children of an address are its visits that a step did not read, and not by their fault. One that was chosen only
    for these stands at the phase of the first step, not at that of requests.
    """

    item: int
    key: str
    state: State
    children: tuple[tuple[int, State], ...]


def choose(ledger: Ledger, collection: Collection, names: Iterable[str]) -> list[Chosen]:
    """Find what is named: items by key (`add/NAME`) or by the name alone, or addresses.

    What is not there is left out, and so is an address that was taken down.
    """
    if crawl := walked(collection):
        digests = [number(url) for name in names if (url := crawl.normal(name))]
        known = ledger.addresses.chosen(collection.name, digests)
        return _addresses(collection, known, ledger.unread.addresses(collection.name, among=digests))
    listing = collection.listing
    wanted = sorted({spelled for key in names for spelled in (key, *(f"{one}/{key}" for one in listing.folders))})
    found = []
    for one in ledger.items.listed(collection.name, listing.kind, wanted) if wanted else ():
        rows = ledger.items.children_of_fetch(one.item, one.fetch) if one.fetch else []
        children = tuple((child.item, (child.phase, child.status)) for child in rows)
        found.append(Chosen(one.item, one.key, (one.phase, one.status), children))
    return found


def choose_for(ledger: Ledger, collection: Collection, act: str, source: str, reason: str) -> list[Chosen]:
    """Find what failed (for `retry`) or waits (for `cancel`), of a source and for a reason; empty means any."""
    if walked(collection):
        rows = ledger.addresses.failing if act == RETRY else ledger.addresses.waiting
        unread = ledger.unread.addresses(collection.name, source, reason)
        return _addresses(collection, rows(collection.name, source, reason), unread)
    statuses = (Status.FAILED, Status.CANCELLED) if act == RETRY else (Status.PENDING, Status.RUNNING)
    keys = ledger.items.keys_by_status(collection.name, collection.listing.kind, statuses, source, reason)
    return choose(ledger, collection, keys)


def _addresses(collection: Collection, rows: Iterable[ChosenAddress], unread: Iterable[UnreadAddress]) -> list[Chosen]:
    """Join addresses with their visits that were not read; those that have nothing but such visits come last."""
    visits: dict[int, list[UnreadAddress]] = {}
    for one in unread:
        visits.setdefault(one.address, []).append(one)
    found = []
    for row in rows:
        status = Status.FAILED if row.failures else Status.PENDING if (row.due or 0) <= 1 else Status.DONE
        state = (1, Status.CANCELLED if row.due is None else status)
        found.append(Chosen(row.digest, row.url, state, _visits(visits.pop(row.digest, ()))))
    rest = [(some[0].address, some[0].url, some) for some in visits.values()]
    state = (collection.phase(collection.steps[0].phase), Status.FAILED) if rest else (1, Status.FAILED)
    return found + [Chosen(address, url, state, _visits(some)) for address, url, some in rest]


def _visits(unread: Iterable[UnreadAddress]) -> tuple[tuple[int, State], ...]:
    return tuple((one.visit, (one.phase, Status.FAILED)) for one in unread)


def retry(ledger: Ledger, collection: Collection, chosen: Iterable[Chosen]) -> int:
    """Have the next run fetch items or addresses again, and return how many; what was loaded of items stays.

    Visits to addresses that a step did not read are read again by it, whatever their pause.

    Documents of an item's earlier fetch that are not through yet are ended: those of the new one take
    their place. A cancelled item comes back too.
    """
    return _decide(ledger, RETRY, collection, [*chosen])


def cancel(ledger: Ledger, collection: Collection, chosen: Iterable[Chosen]) -> int:
    """End items where they stand, with what is not through of their documents, and have addresses never asked again.

    What was kept of them stays. Returns how many.
    """
    return _decide(ledger, CANCEL, collection, [*chosen])


ACTS = {RETRY: retry, CANCEL: cancel}


def _decide(ledger: Ledger, act: str, collection: Collection, chosen: Sequence[Chosen]) -> int:
    """Act in one transaction of a session of its own, which names the first of them, while nothing else runs."""
    more = f" and {len(chosen) - NAMED} more" if len(chosen) > NAMED else ""
    named = " ".join(one.key for one in chosen[:NAMED]) + more
    lease = Lease(ledger)
    try:
        with ledger.writing() as writer:
            session = writer.sessions.open(holder(), f"{act} {collection.name} {named}")
            if walked(collection):
                due = 1 if act == RETRY else None
                writer.addresses.due_at(collection.name, [one.item for one in chosen if one.state[0] == 1], due)
                visits = [(phase, visit) for one in chosen for visit, (phase, _) in one.children]
                (writer.unread.ask if act == RETRY else writer.unread.remove)(visits)
            else:
                for one in chosen:
                    _move(writer, session, act, collection, one)
            writer.sessions.close(session, 0)
    finally:
        lease.release()
    return len(chosen)


def _move(writer: LedgerWriter, session: int, act: str, collection: Collection, one: Chosen) -> None:
    """Move an item, and those documents of it that are not through."""
    reason = Reason.RETRIED if act == RETRY else Reason.CANCELLED
    message = "" if act == RETRY else reason.meaning
    last = len(collection.steps) and collection.phase(collection.steps[-1].phase)
    for child, (phase, status) in one.children:
        if status not in {Status.FAILED, Status.CANCELLED} and (phase, status) != (last, Status.DONE):
            writer.items.move(session, child, (phase, Status.CANCELLED), reason, message)
            if act == CANCEL:
                writer.items.find(session, child, phase, [Finding("Cancelled", message, Level.WARN)])
    if act == RETRY:
        asked = "an operator asked for another attempt"
        writer.items.move(session, one.item, collection.listing.first, reason, asked)
    else:
        writer.items.move(session, one.item, (one.state[0], Status.CANCELLED), reason, message)
