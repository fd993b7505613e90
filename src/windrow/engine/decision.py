"""Write an operator's decisions `retry` and `cancel` on the ledger."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from windrow.contract import Collection
from windrow.engine.frontier import Chosen, frontier_of
from windrow.ledger import Lease, Ledger, LedgerWriter
from windrow.ledger.lease import name_this_process

MAX_NAMED = 20
"""The maximum number of items or addresses that are named in the command of a decision on the ledger."""


def write_decision(ledger: Ledger, collection: Collection, act: str, chosen: Sequence[Chosen]) -> int:
    """Let the next run fetch items or addresses again (`act` is RETRY), or cancel them (CANCEL). Return their number.

    If an item is retried, its loaded records remain, and its unfinished documents are ended, since the next attempt has
    new ones. Cancelled items can be retried too. If an address is retried, the next run also reads again its attempts
    that a step could not read. If an item is cancelled, it ends in its present phase, with its unfinished documents; a
    cancelled address is not requested again. Kept captures remain.

    Everything is written in one transaction, in a session of its own, which takes the lease. The session's command
    names the first MAX_NAMED items.
    """
    and_more = f" and {len(chosen) - MAX_NAMED} more" if len(chosen) > MAX_NAMED else ""
    names = " ".join(choice.key for choice in chosen[:MAX_NAMED]) + and_more
    with decision_session(ledger, f"{act} {collection.name} {names}") as (writer, session):
        frontier_of(ledger, collection).decide(writer, session, act, chosen)
    return len(chosen)


@contextmanager
def decision_session(ledger: Ledger, command: str) -> Iterator[tuple[LedgerWriter, int]]:
    """Take the lease, and open a session. Yield a writer and the session's number to the block that writes a decision.

    The session is closed, and the lease is released, when the block ends.
    """
    lease = Lease(ledger)
    try:
        with ledger.writing() as writer:
            session = writer.sessions.open(name_this_process(), command)
            yield writer, session
            writer.sessions.close(session, 0)
    finally:
        lease.release()
