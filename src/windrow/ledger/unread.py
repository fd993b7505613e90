"""What was not read, and not by its own fault: attempts and items that a later run reads again."""

from __future__ import annotations

from collections.abc import Iterable

from windrow.clock import spell
from windrow.ledger.batch import LedgerBatch
from windrow.ledger.typed.unread import TypedUnread, UnreadDocument
from windrow.reasons import OWN_FAULTS


class UnreadQueries(TypedUnread):
    """Queries on what was not read."""

    def items(self, collection: str, step: str) -> list[UnreadDocument]:
        """Return the items that a step did not read."""
        return self.items_failed(collection, step, OWN_FAULTS)


class UnreadWriter:
    """Writes attempts that were not read."""

    def __init__(self, batch: LedgerBatch) -> None:
        self._batch = batch

    def put(self, collection: str, phase: int, rows: Iterable[UnreadDocument]) -> None:
        """Note attempts that a step did not read."""
        columns = [(row.number, collection, phase, *row[1:4], spell(row.at)) for row in rows]
        self._batch.database.execute_many("unread_put", columns)

    def remove(self, attempts: Iterable[tuple[int, int]]) -> None:
        """Note that steps have read attempts: the numbers of their phases, and of the attempts."""
        self._batch.database.execute_many("unread_remove", attempts)

    def ask(self, attempts: Iterable[tuple[int, int]]) -> None:
        """Have attempts read by the next run, whatever came of them: the numbers of phases, and of the attempts."""
        self._batch.database.execute_many("unread_ask", attempts)
