"""Written by `make queries` from requests.sql: change that, and run it again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from windrow.contract import Offering
from windrow.ledger.database import LedgerQueries
from windrow.ledger.rows import Followed, RequestRow, offering, recorded
from windrow.model import RecordedAttempt
from windrow.reasons import Reason


class WholeListingRow(NamedTuple):
    """A listing of all that a source has: the attempts that its first and last answer came in."""

    collection: str
    source: str
    began: int
    ended: int


class RequestAttempt(NamedTuple):
    """An attempt at a request, and what was asked: `kept` where there are bytes of an answer.

    One that is not archived has its digest, and no bytes any more once it was read.
    """

    attempt: int
    source: str
    status: int | None
    reason: Reason | None
    kept: bool
    digest: str


class UnarchivedAnswer(NamedTuple):
    """An answer whose bytes are there only until no step waits for them: what was asked, and the file they lie in."""

    attempt: int
    address: int
    host: int
    warc: str


def _make_followed(row: tuple[Any, ...]) -> Followed:
    attempt, requests, offers, fresh, reason, ending, findings, seconds = row
    return Followed(
        attempt, requests, offers, fresh, None if reason is None else Reason(reason), ending, findings, seconds
    )


def _make_request_attempt(row: tuple[Any, ...]) -> RequestAttempt:
    attempt, source, status, reason, kept, digest = row
    return RequestAttempt(attempt, source, status, None if reason is None else Reason(reason), bool(kept), digest)


class TypedRequests(LedgerQueries):
    """The queries of requests.sql."""

    def followed_upto(self, collection: str, source: str) -> int:
        """Return the last attempt of a source that was followed, 0 before the first."""
        value: int = self._database.value("requests.followed_upto", collection, source)
        return value

    def followed(self, attempt: int) -> Followed | None:
        """Return what an answer led to."""
        return self._database.first(_make_followed, "requests.followed", attempt)

    def latest(self, collection: str, source: str, limit: int) -> list[Followed]:
        """Return what the last answers of a source led to, the latest first."""
        return self._database.rows(_make_followed, "requests.latest", collection, source, limit)

    def learned_texts(self, collection: str, source: str) -> dict[str, str]:
        """Return what a discovery learned of a source, as JSON; where that was is the engine's own."""
        return dict(self._database.rows(tuple, "requests.learned_texts", collection, source))

    def learned_texts_as(self, collection: str, name: str) -> dict[str, str]:
        """Return what was learned under a name of each source that has it, as JSON."""
        return dict(self._database.rows(tuple, "requests.learned_texts_as", collection, name))

    def answers(
        self, collection: str, source: str, after: int, kinds: Iterable[int], limit: int
    ) -> list[RecordedAttempt]:
        """Return attempts of a source after a given one, of some kinds, in the order of the ledger."""
        return self._database.rows(recorded, "requests.answers", collection, after, json.dumps([*kinds]), source, limit)

    def offers(self, attempt: int) -> list[Offering]:
        """Return what an answer offered, in its order."""
        return self._database.rows(offering, "requests.offers", attempt)

    def known(self, collection: str, source: str, keys: Sequence[str]) -> set[str]:
        """Return those of the keys that a source offered before."""
        return {*self._database.column("requests.known", collection, source, json.dumps([*keys]))}

    def whole_listing(self, ended: int) -> WholeListingRow | None:
        """Return the listing that ended with an attempt."""
        return self._database.first(WholeListingRow._make, "requests.whole_listing", ended)

    def whole_listings_before(self, listing: WholeListingRow, limit: int) -> list[WholeListingRow]:
        """Return the listings of the same source that ended before one did, the latest first."""
        return self._database.rows(
            WholeListingRow._make,
            "requests.whole_listings_before",
            listing.collection,
            listing.source,
            listing.ended,
            limit,
        )

    def listed(self, listing: WholeListingRow) -> int:
        """Count what a listing had."""
        value: int = self._database.value(
            "requests.listed", listing.collection, listing.source, listing.began, listing.ended
        )
        return value

    def missing(self, listing: WholeListingRow) -> list[str]:
        """Return the keys of what a source had offered before a listing, and did not offer in it."""
        return self._database.column(
            "requests.missing", listing.collection, listing.source, listing.began, listing.ended
        )

    def asked_row(self, attempt: int) -> RequestRow | None:
        """Return what an attempt asked, where that is not the URL alone."""
        return self._database.first(RequestRow._make, "requests.asked_row", attempt)

    def attempts(self, collection: str, address: int, limit: int) -> list[RequestAttempt]:
        """Return the last attempts at a request, the latest first, and the source or service that was asked."""
        return self._database.rows(_make_request_attempt, "requests.attempts", collection, address, limit)

    def unarchived(self, collection: str) -> list[UnarchivedAnswer]:
        """Return the answers to a collection that are not archived and whose bytes are there still.

        In the names of files '.' follows '-'.
        """
        return self._database.rows(UnarchivedAnswer._make, "requests.unarchived", collection)

    def files_needed(self, files: Sequence[str]) -> set[str]:
        """Return those of some files of the archive in which bytes lie that the ledger names."""
        return {*self._database.column("requests.files_needed", json.dumps([*files]))}
