"""What was not read, and not by its own fault: visits and items that a later run reads again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from windrow.clock import spell
from windrow.ledger.batch import LedgerBatch
from windrow.ledger.database import LedgerDatabase
from windrow.reasons import OWN_FAULTS, Reason


class UnreadDocument(NamedTuple):
    """A visit or an item that a version of a step did not read: so many times in a row, and when last."""

    number: int
    version: str
    reason: Reason
    times: int
    at: datetime


class UnreadAddress(NamedTuple):
    """A visit that is to be read again, the phase of its step, and the address."""

    visit: int
    phase: int
    address: int
    url: str


class UnreadQueries:
    """What is asked of what was not read."""

    def __init__(self, database: LedgerDatabase) -> None:
        """Ask this database."""
        self._database = database

    def visits(self, collection: str, phase: int) -> list[UnreadDocument]:
        """Return the visits that a step did not read, in the order of the ledger."""
        return self._database.rows(UnreadDocument, "unread_visits", collection, phase)

    def items(self, collection: str, kind: str, phase: int, step: str) -> list[UnreadDocument]:
        """Return the items that a step did not read, by the number of its phase and its name."""
        reasons = json.dumps(sorted(OWN_FAULTS))
        return self._database.rows(UnreadDocument, "unread_items", collection, kind, phase, step, reasons)

    def addresses(
        self, collection: str, source: str = "", reason: str = "", among: Sequence[int] | None = None
    ) -> list[UnreadAddress]:
        """Return the visits of a source, for a reason and to some addresses, where these are given."""
        digests = "" if among is None else json.dumps([*among])
        return self._database.rows(UnreadAddress, "unread_addresses", collection, source, reason, digests)


class UnreadWriter:
    """What is written of visits that were not read."""

    def __init__(self, batch: LedgerBatch) -> None:
        """Gather with the other parts of a writer."""
        self._batch = batch

    def put(self, collection: str, phase: int, rows: Iterable[UnreadDocument]) -> None:
        """Note visits that a step did not read."""
        told = [(one.number, collection, phase, *one[1:4], spell(one.at)) for one in rows]
        self._batch.database.execute_many("unread_put", told)

    def remove(self, visits: Iterable[tuple[int, int]]) -> None:
        """Note that steps have read visits: the numbers of their phases, and of the visits."""
        self._batch.database.execute_many("unread_remove", visits)

    def ask(self, visits: Iterable[tuple[int, int]]) -> None:
        """Have visits read by the next run, whatever came of them: the numbers of phases, and of the visits."""
        self._batch.database.execute_many("unread_ask", visits)
