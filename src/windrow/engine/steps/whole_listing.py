"""Find the offers that are missing from a complete listing, and the listings from which certain records are missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from windrow.contract import (
    KEYS_CHANGED,
    AttemptObservations,
    MissingOffer,
    Observation,
    Skip,
    WholeListing,
    results_of,
)
from windrow.engine.run import SkippingStore, ValueStore, VersionStore
from windrow.engine.steps.settled_batches import SettledAttempt
from windrow.formats.text import replace_lone_surrogates
from windrow.ledger import Ledger
from windrow.ledger.typed.requests import WholeListingRow
from windrow.model import Source
from windrow.reasons import Reason

MAX_LISTINGS = 99
"""The maximum number of other complete listings of a source that are examined for missing offers or records."""


def _find_missing_offers(
    ledger: Ledger, listing: WholeListingRow, source: Source | None, ended_at: datetime, store: VersionStore
) -> WholeListing:
    """Return a complete listing with the offers that are missing from it, except records that were gone before it.

    `ended_at` is the time of the listing's last response. Later attempts are ignored, so settling the listing again has
    the same result. `source` is None if it is not configured any more.
    """
    keys = ledger.requests.missing(listing)
    current_values = store.latest(keys, listing.ended) if keys and isinstance(store, ValueStore) else {}
    counts = {key: 1 for key in keys if key not in current_values or current_values[key] is not None}
    remaining = set(counts)
    earlier_listings = ledger.requests.whole_listings_before(listing, MAX_LISTINGS) if remaining else []
    for earlier in earlier_listings:
        remaining &= {*ledger.requests.missing(earlier)}
        if not remaining:
            break
        for key in remaining:
            counts[key] += 1
    changed = ledger.requests.learned_as(listing.collection, KEYS_CHANGED).get(listing.source, 0) if counts else 0
    # What exactly the listings since then lack may be there under its new key. Both counts are capped alike.
    since = 1 + sum(earlier.began >= changed for earlier in earlier_listings) if 0 < changed <= listing.began else 0
    missing = tuple(
        MissingOffer(key, current_values.get(key), count) for key, count in counts.items() if count != since
    )
    return WholeListing(source, ended_at, ledger.requests.listed(listing), missing)


def find_missing(
    judge: Callable[[WholeListing], Iterable[Observation | Skip]],
    ledger: Ledger, store: VersionStore, listing: WholeListingRow, *, source: Source | None, ended_at: datetime,
) -> list[Observation | Skip]:  # fmt: skip
    """Return what `judge`, of a step, says of a complete listing, and a Skip for each thing that goes without a record.

    Such a thing was left out because it could not be read, and the listing is the first one without it. For the other
    parameters see `_find_missing_offers`.
    """
    complete_listing = _find_missing_offers(ledger, listing, source, ended_at, store)
    if not complete_listing.missing:
        return []
    results = [*judge(complete_listing)]
    without_record = [offer.key for offer in complete_listing.missing if offer.value is None and offer.listings == 1]
    if without_record and isinstance(store, SkippingStore):
        message = "it could not be read, and the list does not have it any more"
        results += [Skip(Reason.NO_LONGER_LISTED, key, message) for key in store.left_out(without_record)]
    return results


def find_never_read(entries: Iterable[Any]) -> Iterator[tuple[int, Skip]]:
    """Yield the Skips of `find_missing` in the entries of attempts, each with the number of its attempt."""
    for entry in entries:
        for result in entry.results if isinstance(entry, AttemptObservations) else ():
            if isinstance(result, Skip) and result.reason is Reason.NO_LONGER_LISTED:
                yield entry.attempt, result


def skip_listed_earlier(ledger: Ledger, collection: str, settled: SettledAttempt) -> SettledAttempt:
    """Return an attempt with a Skip in place of each record that an earlier answer of its listing offered.

    The source has offered the key of such a record, but this attempt has no offer with the key. Without the Skip, the
    record would change twice in each run.
    """
    followed = ledger.requests.followed(settled.recorded.seq) if settled.record_keys else None
    if followed is None or not followed.offers:
        return settled
    offered_keys = [offer.key for offer in ledger.requests.offers(settled.recorded.seq)]
    if followed.offers == len(offered_keys):
        return settled
    keys = {replace_lone_surrogates(key): key for key in settled.record_keys}
    other_keys = sorted(keys.keys() - set(offered_keys))
    repeated_keys = {keys[key] for key in ledger.requests.known(collection, settled.recorded.source, other_keys)}
    results = [
        Skip(Reason.LISTED_TWICE, output.key, "an earlier page of the list has a record with this key")
        if isinstance(output, Observation) and output.key in repeated_keys
        else output
        for output in results_of(settled.result)
    ]
    return settled._replace(result=results)


def find_later_listings(ledger: Ledger, collection: str, page: Sequence[SettledAttempt], checkpoint: int) -> list[int]:
    """Return the last attempt of each complete listing from which records of earlier attempts in `page` are missing.

    For each source, the last MAX_LISTINGS listings up to `checkpoint` are examined.
    """
    attempts_by_source: dict[str, dict[str, int]] = {}  # number of the attempt by key, by source
    for settled in page:
        keys = attempts_by_source.setdefault(settled.recorded.source, {})
        keys |= dict.fromkeys(settled.record_keys, settled.recorded.seq)
    last_attempts = [
        listing.ended
        for source, attempts in attempts_by_source.items() if attempts
        for listing in ledger.requests.whole_listings_before(
            WholeListingRow(collection, source, 0, checkpoint + 1), MAX_LISTINGS
        )
        if listing.ended > min(attempts.values())
        and any(attempts.get(key, listing.ended) < listing.ended for key in ledger.requests.missing(listing))
    ]  # fmt: skip
    return sorted(last_attempts)
