"""Written by `make queries` from listings.sql: change that, and run it again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from windrow.clock import parse
from windrow.ledger.database import LedgerQueries
from windrow.model import Status
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


class ListingCount(NamedTuple):
    """How often listings of a source said something: listed, refused, changed or gone."""

    source: str
    event: str
    number: int


class RefusalCount(NamedTuple):
    """A row of `refused_between`."""

    source: str
    reason: Reason
    number: int


class RefusalRow(NamedTuple):
    """An entry of a listing whose name fits no table."""

    seq: int
    at: datetime
    session: int
    source: str
    path: str
    reason: Reason


class Offerer(NamedTuple):
    """A source that offers or offered an item."""

    source: str
    path: str
    present: bool
    size: int | None
    modified: datetime | None


class ListingRow(NamedTuple):
    """A source began to offer an item, changed what it says of it, or stopped: listed or refused, changed, gone."""

    seq: int
    at: datetime
    session: int
    source: str
    path: str
    event: str
    size: int | None
    modified: datetime | None


class WaitingOffer(NamedTuple):
    """An item that waits for a step or failed at it, and a source that offers it now."""

    item: int
    key: str
    owner: str
    source: str
    path: str
    size: int | None
    modified: datetime | None
    reason: Reason | None


class WrongOffer(NamedTuple):
    """A row of `wrong`."""

    source: str
    item: int
    present: int
    event: str


class ListedChange(NamedTuple):
    """What a source said of an item, with the item's name and the size that it had there before."""

    at: datetime
    source: str
    event: str
    key: str
    path: str
    size: int | None
    before: int | None


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


def _make_offer_row(row: tuple[Any, ...]) -> OfferRow:
    item, key, path, present, size, modified, sidecar = row
    return OfferRow(item, key, path, bool(present), size, None if modified is None else parse(modified), sidecar)


def _make_item_offer(row: tuple[Any, ...]) -> ItemOffer:
    item, source, path, size, modified, sidecar = row
    return ItemOffer(item, source, path, size, None if modified is None else parse(modified), sidecar)


def _make_refusal_count(row: tuple[Any, ...]) -> RefusalCount:
    source, reason, number = row
    return RefusalCount(source, Reason(reason), number)


def _make_refusal_row(row: tuple[Any, ...]) -> RefusalRow:
    seq, at, session, source, path, reason = row
    return RefusalRow(seq, parse(at), session, source, path, Reason(reason))


def _make_offerer(row: tuple[Any, ...]) -> Offerer:
    source, path, present, size, modified = row
    return Offerer(source, path, bool(present), size, None if modified is None else parse(modified))


def _make_listing_row(row: tuple[Any, ...]) -> ListingRow:
    seq, at, session, source, path, event, size, modified = row
    return ListingRow(seq, parse(at), session, source, path, event, size, None if modified is None else parse(modified))


def _make_waiting_offer(row: tuple[Any, ...]) -> WaitingOffer:
    item, key, owner, source, path, size, modified, reason = row
    return WaitingOffer(
        item,
        key,
        owner,
        source,
        path,
        size,
        None if modified is None else parse(modified),
        None if reason is None else Reason(reason),
    )


def _make_listed_change(row: tuple[Any, ...]) -> ListedChange:
    at, source, event, key, path, size, before = row
    return ListedChange(parse(at), source, event, key, path, size, before)


def _make_uncompared_offer(row: tuple[Any, ...]) -> UncomparedOffer:
    item, key, source, path, size, modified, sidecar, digest, held_from = row
    return UncomparedOffer(
        item, key, source, path, size, None if modified is None else parse(modified), sidecar, digest, held_from
    )


class TypedListings(LedgerQueries):
    """The queries of listings.sql."""

    def of_source(self, source: str) -> list[OfferRow]:
        """Return what a source offered when it was last listed, and what it offered before."""
        return self._database.rows(_make_offer_row, "listings.of_source", source)

    def of_items(self, items: Sequence[int]) -> list[ItemOffer]:
        """Return who offers these items now."""
        return self._database.rows(_make_item_offer, "listings.of_items", json.dumps([*items]))

    def sources(self) -> set[str]:
        """Return every source that ever offered something."""
        return {*self._database.column("listings.sources")}

    def listed_between(self, span: tuple[int, int]) -> list[ListingCount]:
        """Count what listings said between two facts."""
        return self._database.rows(ListingCount._make, "listings.listed_between", span[0], span[1])

    def refused_between(self, span: tuple[int, int]) -> list[RefusalCount]:
        """Count what was refused between two facts."""
        return self._database.rows(_make_refusal_count, "listings.refused_between", span[0], span[1])

    def count(self) -> dict[str, int]:
        """Count what each source offers now."""
        return dict(self._database.rows(tuple, "listings.count"))

    def count_failing(self) -> dict[str, int]:
        """Count what each source offers that failed, or of which a document did."""
        return dict(self._database.rows(tuple, "listings.count_failing"))

    def refused(self, name: str) -> list[RefusalRow]:
        """Return refused entries by path, by the last part of it, or by source and path; and lines that end with it.

        A line that could not be read is a path as it came: what it ends with may be the name.
        """
        return self._database.rows(_make_refusal_row, "listings.refused", name)

    def offerers(self, item: int) -> list[Offerer]:
        """Return who offers or offered an item."""
        return self._database.rows(_make_offerer, "listings.offerers", item)

    def of_item(self, item: int) -> list[ListingRow]:
        """Return what listings said of an item, in order."""
        return self._database.rows(_make_listing_row, "listings.of_item", item)

    def waiting(self, collection: str, step: str, status: Status) -> list[WaitingOffer]:
        """Return items that wait for a step, or failed at it, with who offers them now, in the order of work."""
        return self._database.rows(_make_waiting_offer, "listings.waiting", collection, step, status)

    def wrong(self) -> Iterator[WrongOffer]:
        """Yield offers that are there or not, other than the last listing says."""
        return self._database.stream(WrongOffer._make, "listings.wrong")

    def changes(self, collection: str, span: tuple[int, int]) -> Iterator[ListedChange]:
        """Yield what the sources of a collection said between two facts, in order."""
        return self._database.stream(_make_listed_change, "listings.changes", span[0], span[1], collection)

    def uncompared(self, collection: str, limit: int) -> list[UncomparedOffer]:
        """Return who offers what is held from another source in the same size, and was not compared with it yet.

        That is, not since it was listed and the bytes were fetched.
        """
        return self._database.rows(_make_uncompared_offer, "listings.uncompared", collection, limit)
