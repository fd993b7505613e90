"""Listings: what sources offer, began and stopped to offer, and what of it was refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from windrow.clock import spell
from windrow.ledger.batch import LedgerBatch
from windrow.ledger.database import LedgerDatabase
from windrow.model import Offer, Status
from windrow.reasons import Reason


class OfferRow(NamedTuple):
    """What a source said of an item when it was last listed; `present` is whether it still offers it."""

    item: int
    key: str
    path: str
    present: bool
    size: int | None
    modified: datetime | None
    sidecar: str


class ItemOffer(NamedTuple):
    """A source that offers an item now."""

    item: int
    source: str
    path: str
    size: int | None
    modified: datetime | None
    sidecar: str


class UncomparedOffer(NamedTuple):
    """A source that offers an item of which bytes are held from another one, `held_from`, by their digest."""

    item: int
    key: str
    source: str
    path: str
    size: int | None
    modified: datetime | None
    sidecar: str
    digest: str
    held_from: str


class Offerer(NamedTuple):
    """A source that offers or offered an item."""

    source: str
    path: str
    present: bool
    size: int | None
    modified: datetime | None


class WaitingOffer(NamedTuple):
    """An item in a state, and a source that offers it now."""

    item: int
    key: str
    owner: str
    source: str
    path: str
    size: int | None
    modified: datetime | None
    reason: Reason | None


class ListingRow(NamedTuple):
    """A source began to offer an item, changed what it says of it, or stopped: listed, changed, gone."""

    seq: int
    at: datetime
    session: int
    source: str
    path: str
    event: str
    size: int | None
    modified: datetime | None


class ListedChange(NamedTuple):
    """What a source said of an item, with the item's name and the size that it had there before."""

    at: datetime
    source: str
    event: str
    key: str
    path: str
    size: int | None
    before: int | None


class RefusalRow(NamedTuple):
    """An entry of a listing whose name fits no table."""

    seq: int
    at: datetime
    session: int
    source: str
    path: str
    reason: Reason


class ListingCount(NamedTuple):
    """How often listings of a source said something: listed, refused, changed or gone."""

    source: str
    event: str
    number: int


class RefusalCount(NamedTuple):
    """How many entries of a source were refused for a reason."""

    source: str
    reason: Reason
    number: int


class WrongOffer(NamedTuple):
    """An offer that is there or not, other than the last listing says."""

    source: str
    item: int
    present: int
    event: str


class _SourceCount(NamedTuple):
    source: str
    number: int


class ListingQueries:
    """What is asked of listings."""

    def __init__(self, database: LedgerDatabase) -> None:
        """Ask this database."""
        self._database = database

    def of_source(self, source: str) -> list[OfferRow]:
        """Return what a source offered when it was last listed, and what it offered before."""
        return self._database.rows(OfferRow, "offers_of_source", source)

    def of_items(self, items: Sequence[int]) -> Iterator[ItemOffer]:
        """Yield who offers these items now."""
        return self._database.rows_of(ItemOffer, "offers_of_items", items)

    def offerers(self, item: int) -> list[Offerer]:
        """Return who offers or offered an item."""
        return self._database.rows(Offerer, "item_offers", item)

    def uncompared(self, collection: str, limit: int) -> list[UncomparedOffer]:
        """Return who offers what is held from another source, and was not compared with it yet."""
        return self._database.rows(UncomparedOffer, "offers_uncompared", collection, limit)

    def sources(self) -> set[str]:
        """Return every source that ever offered something."""
        return {*self._database.column("offering_sources")}

    def waiting(self, collection: str, kind: str, state: tuple[int, Status]) -> list[WaitingOffer]:
        """Return items in one state with who offers them now, in the order of work."""
        phase, status = state
        return self._database.rows(WaitingOffer, "offers_waiting", collection, kind, phase, int(status))

    def count(self) -> dict[str, int]:
        """Count what each source offers now."""
        return {one.source: one.number for one in self._database.rows(_SourceCount, "offers_counted")}

    def count_failing(self) -> dict[str, int]:
        """Count what each source offers that stands failed now."""
        return {one.source: one.number for one in self._database.rows(_SourceCount, "offers_failing")}

    def of_item(self, item: int) -> list[ListingRow]:
        """Return what listings said of an item, in order."""
        return self._database.rows(ListingRow, "item_listings", item)

    def refused(self, name: str) -> list[RefusalRow]:
        """Return refused entries by path, by the last part of it, or by source and path; and lines that end with it."""
        return self._database.rows(RefusalRow, "refusals_named", name, f"/{name}", f" {name}")

    def changes(self, collection: str, span: tuple[int, int]) -> Iterator[ListedChange]:
        """Yield what the sources of a collection said between two facts, in order."""
        return self._database.stream(ListedChange, "listed_changes", *span, collection)

    def listed_between(self, span: tuple[int, int]) -> list[ListingCount]:
        """Count what listings said between two facts."""
        return self._database.rows(ListingCount, "session_listings", *span)

    def refused_between(self, span: tuple[int, int]) -> list[RefusalCount]:
        """Count what was refused between two facts."""
        return self._database.rows(RefusalCount, "session_refusals", *span)

    def wrong(self) -> Iterator[WrongOffer]:
        """Yield offers that are there or not, other than the last listing says."""
        return self._database.stream(WrongOffer, "offers_wrong")


class ListingWriter:
    """What is written of listings."""

    def __init__(self, batch: LedgerBatch) -> None:
        """Gather with the other parts of a writer."""
        self._batch = batch

    def add(self, session: int, source: str, item: int, offer: Offer, event: str) -> int:
        """Note that a source began to offer an item (`listed`), `changed` what it says of it, or stopped (`gone`).

        Or that what it offers was `compared` with what is held from another one.
        """
        modified = spell(offer.modified) if offer.modified else None
        said = (offer.size, modified, offer.sidecar)
        self._batch.row("offering", source, item, offer.path, int(event != "gone"), *said)
        return self._batch.fact("listing", session, source, item, offer.path, event, *said)

    def refuse(self, session: int, source: str, path: str, digest: str, reason: Reason) -> int:
        """Note an entry that no table can hold; once per source, path and reason."""
        return self._batch.fact("refusal", session, source, path, digest, reason)
