"""What is missing from a listing that is whole."""

from __future__ import annotations

from datetime import datetime

from windrow.contract import MissingOffer, WholeListing
from windrow.engine.run import ValueStore, VersionStore
from windrow.ledger import Ledger
from windrow.ledger.typed.requests import WholeListingRow
from windrow.model import Source

LISTINGS = 99
"""Earlier listings that are looked at to count those in a row that did not have a thing."""


def whole_listing(
    ledger: Ledger, listing: WholeListingRow, source: Source | None, at: datetime, store: VersionStore
) -> WholeListing:
    """Return what is missing from a listing, but for what the store knew to be gone before it.

    What the visit that ended it said, and later ones, does not count: settled once more it says the same.
    """
    keys = ledger.requests.missing(listing)
    values = store.latest(keys, listing.ended) if keys and isinstance(store, ValueStore) else {}
    counts = {key: 1 for key in keys if key not in values or values[key] is not None}
    still = set(counts)
    for earlier in ledger.requests.whole_listings_before(listing, LISTINGS) if still else ():
        still &= {*ledger.requests.missing(earlier)}
        if not still:
            break
        for key in still:
            counts[key] += 1
    missing = tuple(MissingOffer(key, values.get(key), count) for key, count in counts.items())
    return WholeListing(source, at, ledger.requests.listed(listing), missing)
