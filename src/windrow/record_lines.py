"""Lines of `windrow why` about records: how one stands, what an answer gave, and what was taken down."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from windrow.display import show
from windrow.engine.ledger.addresses import AddressRow
from windrow.engine.ledger.takedowns import TombstoneRow
from windrow.stores.record_versions import RecordVersion


class RecordAddress(NamedTuple):
    """An address that a collection of records asked or took, and where it was found.

    `due` is when it is asked next, None for never; one that is due now may have been so since 1970.
    """

    url: str
    origin: str
    source: str
    collection: str
    via_url: str | None
    due: datetime | None
    failures: int


def address_told(row: AddressRow) -> RecordAddress:
    """Return what programs are told of an address."""
    due = None if row.due is None else datetime.fromtimestamp(row.due, UTC)
    return RecordAddress(row.url, row.origin, row.source, row.collection, row.via_url, due, row.failures)


def standing(last: RecordVersion) -> str:
    """Say how a record stands by its last version."""
    return "gone" if last.change == "gone" or not last.json else "there when it was last looked at"


def made_lines(keys: Sequence[str], most: int) -> Iterator[str]:
    """Name the records that were made of an answer, up to some."""
    for key in keys[:most]:
        yield f"      made of it: {key}"
    if len(keys) > most:
        yield "      made of it: further records"


def takedown_lines(one: TombstoneRow) -> Iterator[str]:
    """Tell of a takedown of an address, or of all of its origin."""
    why = f": {one.reason}" if one.reason else ""
    yield f"  {show(one.at)}  {one.target} taken down by {one.holder}{why}"
    if one.lifted is not None:
        yield f"  {show(one.lifted)}  lifted: it may be asked for again"
    elif one.done is None:
        yield f"  taking {one.target} down was cut short: windrow forget finishes it"
