"""Record attempts that a step could not read for a cause other than their bytes. A later run reads them again."""

from __future__ import annotations

from collections.abc import Iterable

from windrow.clock import spell
from windrow.ledger.batch import LedgerBatch
from windrow.ledger.typed.unread import TypedUnread, UnreadDocument
from windrow.reasons import OWN_FAULTS


class UnreadQueries(TypedUnread):
    """Queries on unread attempts and items."""

    def items(self, collection: str, step: str) -> list[UnreadDocument]:
        """Return the items that a step failed to read for one of OWN_FAULTS."""
        return self.items_failed(collection, step, OWN_FAULTS)


class UnreadWriter:
    """Writes which attempts a step could not read."""

    def __init__(self, batch: LedgerBatch) -> None:
        self._batch = batch

    def put(self, collection: str, phase: int, rows: Iterable[UnreadDocument]) -> None:
        """Record attempts that the step of a phase failed to read."""
        columns = [(row.number, collection, phase, *row[1:4], spell(row.at)) for row in rows]
        self._batch.database.execute_many("unread_put", columns)

    def remove(self, attempts: Iterable[tuple[int, int]]) -> None:
        """Record that attempts were read. Each is given as (phase, number)."""
        self._batch.database.execute_many("unread_remove", attempts)

    def ask(self, attempts: Iterable[tuple[int, int]]) -> None:
        """Let the next run read attempts again at once. Each is given as (phase, number)."""
        self._batch.database.execute_many("unread_ask", attempts)
