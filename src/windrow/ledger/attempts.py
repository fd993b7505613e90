"""Attempts to get something: an address that was found, or a file that a source lists."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from windrow.clock import spell
from windrow.ledger.batch import LedgerBatch
from windrow.model import Attempt, KeptResponse


class AttemptWriter:
    """Writes attempts."""

    def __init__(self, batch: LedgerBatch) -> None:
        self._batch = batch

    def begin(self, session: int, host: int, file: int, url: str, at: datetime) -> int:
        """Begin an attempt to get a listed file; its members are from now on those of this attempt."""
        return self._batch.fact("attempt_begun", session, host, file, url, spell(at), at=at)

    def record_attempt(
        self, session: int, host: int, attempt: Attempt, *, begun: int = 0,
        again: tuple[int | None, int, int] | None = None, beside: int | None = None,
    ) -> int:  # fmt: skip
        """Put the end of an attempt on record, with its begin as one fact; alone where that is on record as `begun`.

        `again` is when its address is due, its pause and its failures in a row. Where the address was asked as what is
        kept `beside` pages, and became a page meanwhile, it is due at once.
        """
        kept, target = attempt.kept, attempt.target
        came = (round(attempt.seconds, 6), attempt.status, attempt.received, attempt.reason, attempt.message)
        about = (*attempt.validators, attempt.location, kept.mime if kept else "", attempt.checksum)
        end = (*came, *_place_of(kept), *about)
        if begun:
            # What went on with an earlier transfer has the date of its record, which began with that one.
            dated = spell(kept.at or self._batch.at) if kept else None
            return self._batch.fact("attempt_ended", dated, *end, begun)
        asked = (host, target, "" if target else attempt.url, attempt.kind, int(attempt.allowed))
        seq = self._batch.fact("attempt", session, *asked, spell(attempt.started), *end)
        if again is not None:
            contentful = seq if kept and attempt.status == 200 else None
            self._batch.row("visited", attempt.kind, beside, *again, contentful, target, host)
        return seq


def _place_of(kept: KeptResponse | None) -> tuple[Any, ...]:
    """Spell what was kept, and where."""
    if kept is None:
        return ("", None, "", None, None, 0)
    return (kept.digest, kept.size, *kept.place, int(kept.revisit))
