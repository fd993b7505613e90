"""Listings: what sources offer, began and stopped to offer, and what of it was refused."""

from __future__ import annotations

from windrow.clock import spell
from windrow.ledger.batch import LedgerBatch
from windrow.model import Offer
from windrow.reasons import Reason


class ListingWriter:
    """What is written of listings."""

    def __init__(self, batch: LedgerBatch) -> None:
        """Gather with the other parts of a writer."""
        self._batch = batch

    def add(self, session: int, source: str, item: int, offer: Offer, event: str) -> int:
        """Note that a source began to offer an item (`listed`, `refused`), `changed` its word, or stopped (`gone`).

        Or that what it offers was `compared` with what is held from another one.
        """
        modified = spell(offer.modified) if offer.modified else None
        said = (offer.size, modified, offer.sidecar)
        self._batch.row("offering", source, item, offer.path, int(event != "gone"), *said)
        return self._batch.fact("listing", session, source, item, offer.path, event, *said)

    def refuse(self, session: int, source: str, path: str, digest: str, reason: Reason) -> int:
        """Note an entry that no table can hold; once per source, path and reason."""
        return self._batch.fact("refusal", session, source, path, digest, reason)
