"""Written by `make queries` from unread.sql: edit that file, and run `make queries` again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from windrow.clock import parse
from windrow.ledger.database import LedgerQueries
from windrow.reasons import Reason


class UnreadDocument(NamedTuple):
    """An attempt or an item that `version` of a step failed to read: the reason, how often in a row, and when last."""

    number: int
    version: str
    reason: Reason
    times: int
    at: datetime


class CappedSession(NamedTuple):
    """A phase, and a session in which a cap left out parts of documents in this phase."""

    phase: int
    session: int


class UnreadAddress(NamedTuple):
    """An attempt that must be read again, the phase of the step, why, and the address as digest, source and URL."""

    attempt: int
    phase: int
    reason: str
    address: int
    source: str
    url: str


def _make_unread_document(row: tuple[Any, ...]) -> UnreadDocument:
    number, version, reason, times, at = row
    return UnreadDocument(number, version, Reason(reason), times, parse(at))


class TypedUnread(LedgerQueries):
    """The queries of unread.sql."""

    def attempts(self, collection: str, phase: int) -> list[UnreadDocument]:
        """Return the attempts that the step of a phase failed to read, in order.

        An attempt that is unread because of a cap, or because the server sent another page, is not returned if a later
        attempt at its address received other bytes, or is unread for the same reason.
        """
        return self._database.rows(_make_unread_document, "unread.attempts", collection, phase)

    def capped_in(self, collection: str, source: str) -> list[CappedSession]:
        """Return the phases and sessions that read those documents of a source of which caps leave out parts now."""
        return self._database.rows(CappedSession._make, "unread.capped_in", collection, source)

    def items_failed(self, collection: str, step: str, reasons: Iterable[str]) -> list[UnreadDocument]:
        """Return the items that failed at a step for one of these reasons, with the last reading of each item.

        `times` is the number of readings by the last version after the last reading that did not fail.
        """
        return self._database.rows(
            _make_unread_document, "unread.items_failed", collection, step, json.dumps([*reasons])
        )

    def changed(self, collection: str, facts: tuple[int, int], by_session: bool) -> dict[str, int]:
        """Count by source the attempts that brought other bytes than before, and that windrow itself failed to read.

        `facts` are the first and the last of the attempts or, if `by_session`, of their sessions.
        """
        return dict(self._database.rows(tuple, "unread.changed", collection, by_session, facts[0], facts[1]))

    def addresses(
        self, collection: str, source: str = "", reason: str = "", among: Sequence[int] | None = None
    ) -> list[UnreadAddress]:
        """Return the attempts of a source that must be read again because reading them failed for a reason.

        An empty text means any source or any reason. Those that `attempts` leaves out are left out here, too. `among`
        has digests of addresses: only attempts at these are returned, unless it is None.
        """
        return self._database.rows(
            UnreadAddress._make,
            "unread.addresses",
            collection,
            source,
            reason,
            None if among is None else json.dumps([*among]),
        )

    def substitutes_before(self, attempt: int, phase: int, reasons: Iterable[str]) -> int:
        """Count the answers in a row at its address, before an attempt, that were another page than the document."""
        value: int = self._database.value("unread.substitutes_before", phase, json.dumps([*reasons]), attempt)
        return value
