"""What an operator decides about items and addresses: try again, or end it."""

from __future__ import annotations

from collections.abc import Sequence

from windrow.contract import Collection
from windrow.engine.frontier import Chosen, frontier_of
from windrow.ledger import Lease, Ledger
from windrow.ledger.sessions import holder

NAMED = 20
"""Items or addresses that a decision names on the ledger."""


def decide(ledger: Ledger, collection: Collection, act: str, chosen: Sequence[Chosen]) -> int:
    """Have the next run fetch items or addresses again (`retry`), or end them (`cancel`); return how many.

    Retry: what was loaded of an item stays, and its documents of an earlier fetch that are not through yet are ended,
    for those of the new one take their place; a cancelled item comes back too. Visits to addresses that a step did not
    read are read again by it, whatever their pause. Cancel: items end where they stand, with what is not through of
    their documents, and addresses are never asked again; what was kept of them stays.

    This is one transaction of a session of its own, which names the first of them, while nothing else runs.
    """
    more = f" and {len(chosen) - NAMED} more" if len(chosen) > NAMED else ""
    named = " ".join(choice.key for choice in chosen[:NAMED]) + more
    lease = Lease(ledger)
    try:
        with ledger.writing() as writer:
            session = writer.sessions.open(holder(), f"{act} {collection.name} {named}")
            frontier_of(ledger, collection).decide(writer, session, act, chosen)
            writer.sessions.close(session, 0)
    finally:
        lease.release()
    return len(chosen)
