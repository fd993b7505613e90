"""Attempts to get something: an address that was found, or an item that a source lists."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from windrow.clock import spell
from windrow.ledger.batch import LedgerBatch
from windrow.model import Fetched, KeptResponse, Visit


class AttemptWriter:
    """What is written of attempts."""

    def __init__(self, batch: LedgerBatch) -> None:
        """Gather with the other parts of a writer."""
        self._batch = batch

    def begin(self, session: int, host: int, item: int, url: str, at: datetime) -> int:
        """Begin an attempt to get an item; its children are from now on those of this attempt."""
        return self._batch.fact("attempt_begun", session, host, item, url, spell(at), at=at)

    def end(self, attempt: int, got: Fetched) -> int:
        """End it, with the capture where there is one."""
        kept = got.kept
        dated = spell(kept.at or self._batch.at) if kept else None
        line = (dated, round(got.seconds, 6), got.status, got.received, got.reason, got.message)
        said = (*got.validators, got.checksum, kept.mime if kept else "")
        return self._batch.fact("attempt_ended", *line, *_place_of(kept), *said, attempt)

    def visited(
        self, session: int, host: int, visit: Visit, again: tuple[int | None, int, int] | None,
        beside: int | None = None,
    ) -> int:  # fmt: skip
        """Put a visit on record; `again` is when its address is due, its pause and its failures in a row.

        Where it was asked as what is kept `beside` pages, and became a page meanwhile, it is due at once.
        """
        kept = visit.kept
        came = (spell(visit.started), round(visit.seconds, 6), visit.status, visit.reason, visit.message)
        url = "" if visit.digest else visit.url
        asked = (host, visit.digest, url, visit.kind, int(visit.allowed))
        said = (*visit.validators, visit.location, kept.mime if kept else "")
        seq = self._batch.fact("attempt", session, *asked, *came, *_place_of(kept), *said)
        if again is not None:
            contentful = seq if kept and visit.status == 200 else None
            self._batch.row("visited", visit.kind, beside, *again, contentful, visit.digest, host)
        return seq


def _place_of(kept: KeptResponse | None) -> tuple[Any, ...]:
    """Spell what was kept, and where."""
    if kept is None:
        return ("", None, "", None, None, 0)
    return (kept.digest, kept.size, *kept.place, int(kept.revisit))
