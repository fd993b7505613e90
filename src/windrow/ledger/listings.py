"""Listings: what sources offer, began and stopped to offer, and what of it was refused."""

from __future__ import annotations

from windrow.clock import spell
from windrow.ledger.batch import LedgerBatch
from windrow.model import Offer
from windrow.reasons import Reason


class ListingWriter:
    """Writes listings."""

    def __init__(self, batch: LedgerBatch) -> None:
        self._batch = batch

    def add(self, session: int, source: str, item: int, offer: Offer, event: str) -> int:
        """Note that a source began to offer an item (`listed`, `refused`), `changed` it, or stopped (`gone`).

        `compared`: its file was compared with the one held from another source.
        """
        modified = spell(offer.modified) if offer.modified else None
        columns = (offer.size, modified, offer.sidecar)
        self._batch.row("offering", source, item, offer.path, int(event != "gone"), *columns)
        return self._batch.fact("listing", session, source, item, offer.path, event, *columns)

    def refuse(self, session: int, source: str, path: str, digest: str, reason: Reason) -> int:
        """Record an entry whose name does not fit the tables; once per source, path and reason."""
        return self._batch.fact("refusal", session, source, path, digest, reason)
