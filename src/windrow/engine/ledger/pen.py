"""The pen that writes facts: one transaction's worth, in order. Here those about items; its families stand below it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from windrow.engine.ledger.intakepen import IntakePen
from windrow.engine.ledger.moment import spell
from windrow.engine.ledger.runpen import place_of
from windrow.model import Fetched, Finding, Member, Offer, Reading, Status
from windrow.reasons import Reason


class Pen(IntakePen):
    """Append facts within a transaction of the ledger; each method returns the new fact's seq."""

    def item_made(
        self, session: int, collection: str, kind: str, key: str, *, rank: str = "", owner: str = "",
        parent: int | None = None, fetch: int = 0, member: Member | None = None,
        size: int | None = None, state: tuple[int, Status] = (1, Status.PENDING),
        reason: Reason | None = None,
    ) -> int:  # fmt: skip
        """Put a thing on record with its first state."""
        digest, name, md5 = (member.digest, member.name, member.md5) if member else ("", "", "")
        size = member.size if member else size
        values = (collection, kind, key, parent, owner, fetch, digest, name, size, md5, rank)
        item = self._add("item", session, *values)
        standing = (item, collection, kind, parent, fetch, rank, *state, reason, item)
        self._rows["standing"].append(standing)
        self._add("move", session, item, *state, reason, "")
        return item

    def listed(self, session: int, source: str, item: int, offer: Offer, event: str) -> int:
        """Note that a source began to offer an item, changed what it says of it, or stopped."""
        modified = spell(offer.modified) if offer.modified else None
        said = (offer.size, modified, offer.sidecar)
        self._rows["offering"].append((source, item, offer.path, int(event != "gone"), *said))
        return self._add("listing", session, source, item, offer.path, event, *said)

    def refused(self, session: int, source: str, path: str, digest: str, reason: Reason) -> int:
        """Note an entry that no table can hold; once per source, path and reason."""
        return self._add("refusal", session, source, path, digest, reason)

    def fetch_begun(self, session: int, item: int, source: str, path: str, at: datetime) -> int:
        """Begin an attempt; the item's children are from now on those of this fetch."""
        self._seq += 1
        self._rows["fetch"].append((self._seq, spell(at), session, item, source, path))
        self._rows["fetched"].append((self._seq, item))
        return self._seq

    def fetch_ended(self, fetch: int, item: int, source: str, got: Fetched) -> int:
        """End an attempt, with the capture where there is one."""
        kept = got.kept
        told: tuple[Any, ...] = ("", "")
        if kept:
            told = (spell(kept.at) if kept.at else "", kept.mime)
        line = (round(got.seconds, 6), got.status, got.received, got.reason, got.message)
        return self._add("fetch_end", fetch, item, source, *line, *place_of(kept), *got.validators, got.checksum, *told)

    def read(self, session: int, item: int, step: tuple[str, str], digest: str, reading: Reading) -> int:
        """Note what a step (its phase and version) made of a document."""
        told = (reading.reason, reading.count, reading.md5)
        return self._add("reading", session, item, *step, digest, *told)

    def moved(
        self,
        session: int,
        item: int,
        state: tuple[int, Status],
        reason: Reason | None = None,
        message: str = "",
    ) -> int:
        """Move an item to a state."""
        seq = self._add("move", session, item, *state, reason, message)
        self._rows["moved"].append((*state, reason, seq, item))
        return seq

    def found(self, session: int, item: int, phase: int, findings: Iterable[Finding]) -> None:
        """Put findings on record."""
        for one in findings:
            self._add("finding", session, item, phase, one.kind, one.level, one.message, one.line, one.column)
