"""Written by `make queries` from requests.sql: edit that file, and run `make queries` again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from windrow.clock import spell
from windrow.contract import Offering
from windrow.ledger.database import LedgerQueries
from windrow.ledger.rows import Followed, RequestRow, offering, recorded
from windrow.model import RecordedAttempt
from windrow.reasons import Reason


class UnusedAnswers(NamedTuple):
    """The number of a source's addresses whose last answer was not used for a reason, and one of them."""

    reason: str
    number: int
    example: str


class DailyYield(NamedTuple):
    """A day (YYYY-MM-DD), and the fewest things that an answer or a session gave on this day.

    For `daily_shares`, `fewest` is a percentage of documents instead.
    """

    day: str
    fewest: int


class WholeListingRow(NamedTuple):
    """A complete listing of a source: the attempts of its first and its last answer."""

    collection: str
    source: str
    began: int
    ended: int


class RequestAttempt(NamedTuple):
    """An attempt at a request. `kept` is true if the bytes of its answer are still stored."""

    attempt: int
    source: str
    status: int | None
    reason: Reason | None
    kept: bool
    digest: str


class EarlierAnswer(NamedTuple):
    """The status of an answer, and where it redirects to, or empty."""

    status: int
    location: str


class SentRedirect(NamedTuple):
    """An attempt at a source that was answered with a permanent redirect: its address, and the Location as sent."""

    source: str
    url: str
    location: str


class UnarchivedAnswer(NamedTuple):
    """An answer whose bytes are kept only as long as a step needs them, and the file with the bytes."""

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
        """Return the latest answer of a source among those that were followed, or 0."""
        value: int = self._database.value("requests.followed_upto", collection, source)
        return value

    def followed(self, attempt: int) -> Followed | None:
        """Return the result of following an answer, or None if it was not followed."""
        return self._database.first(_make_followed, "requests.followed", attempt)

    def latest(self, collection: str, source: str, limit: int) -> list[Followed]:
        """Return the results of following the last answers of a source, the latest first."""
        return self._database.rows(_make_followed, "requests.latest", collection, source, limit)

    def has_document(self, collection: str, source: str) -> bool:
        """Return whether a source ever returned a document that leads nowhere, and so is no list."""
        return bool(self._database.value("requests.has_document", collection, source))

    def count_failing(self, collection: str, source: str) -> int:
        """Count the addresses of a source whose last request failed, except those that were not found or are gone."""
        value: int = self._database.value("requests.count_failing", collection, source)
        return value

    def count_unused_before(self, attempt: int) -> int:
        """Count the answers in a row, before an attempt at the same address, that were followed and not used."""
        value: int = self._database.value("requests.count_unused_before", attempt)
        return value

    def unused(self, collection: str, source: str) -> list[UnusedAnswers]:
        """Count the addresses of a source whose last answer has a status below 400 and was not used, by reason.

        Addresses that are never due are left out.
        """
        return self._database.rows(UnusedAnswers._make, "requests.unused", collection, source)

    def unreplaced(self, collection: str, source: str, until: int, read_to: int, robots: int) -> str | None:
        """Return an address of a source whose last document up to the fact `until` has not been replaced, or None.

        It is replaced if a later answer, up to the fact `read_to`, has other bytes and is not unread. Attempts of the
        kind `robots` are left out.
        """
        value: str | None = self._database.value("requests.unreplaced", until, robots, collection, source, read_to)
        return value

    def daily_yields(
        self, collection: str, source: str, address: int, before: int, since: datetime
    ) -> list[DailyYield]:
        """Return for each day the fewest offers in an answer of the list at `address`.

        Only answers since `since` and before the attempt `before` count. Answers with drift or a reason do not count.
        """
        return self._database.rows(
            DailyYield._make, "requests.daily_yields", address, before, spell(since), collection, source
        )

    def daily_captures(self, collection: str, source: str, before: int, since: datetime) -> list[DailyYield]:
        """Return for each day the fewest captures that one session took for a source.

        Only sessions before `before` and since `since` count, if the source's task in phase 1 did not fail. Tasks with
        a reason do not count, since they count what a rule left out.
        """
        return self._database.rows(
            DailyYield._make, "requests.daily_captures", collection, source, before, spell(since)
        )

    def daily_shares(self, source: str, kind: int, before: int, since: datetime, least: int) -> list[DailyYield]:
        """Return for each day the lowest percentage of documents among a source's responses in one session.

        Only responses of the `kind` count, and only sessions before `before` and since `since` in which the source's
        task in phase 1 did not fail and got at least `least` responses. Each `+` keeps SQLite from reading the tasks of
        all sources, and from making an index of all attempts.
        """
        return self._database.rows(DailyYield._make, "requests.daily_shares", source, before, spell(since), kind, least)

    def learned_texts(self, collection: str, source: str) -> dict[str, str]:
        """Return a dict from name to value, as JSON: what a discovery learned about a source.

        The values that windrow itself stores are left out.
        """
        return dict(self._database.rows(tuple, "requests.learned_texts", collection, source))

    def learned_texts_as(self, collection: str, name: str) -> dict[str, str]:
        """Return a dict from source to the value, as JSON, that was learned about it under a name."""
        return dict(self._database.rows(tuple, "requests.learned_texts_as", collection, name))

    def answers(
        self, collection: str, source: str, after: int, kinds: Iterable[int], limit: int
    ) -> list[RecordedAttempt]:
        """Return a source's attempts of these `kinds`, at addresses, after the attempt `after`, in order."""
        return self._database.rows(recorded, "requests.answers", collection, after, json.dumps([*kinds]), source, limit)

    def offers(self, attempt: int) -> list[Offering]:
        """Return the offers of an answer, in their order."""
        return self._database.rows(offering, "requests.offers", attempt)

    def known(self, collection: str, source: str, keys: Sequence[str]) -> set[str]:
        """Return those of the `keys` that a source has ever offered."""
        return {*self._database.column("requests.known", collection, source, json.dumps([*keys]))}

    def listed_keys(self, collection: str, source: str, began: int) -> set[str]:
        """Return the keys that a source offered in the answer `began` and later ones."""
        return {*self._database.column("requests.listed_keys", collection, source, began)}

    def listed_addresses(self, collection: str, source: str, began: int) -> set[int]:
        """Return the digests of the addresses of the followed answers of a source, from the answer `began` on."""
        return {*self._database.column("requests.listed_addresses", collection, source, began)}

    def whole_listing(self, ended: int) -> WholeListingRow | None:
        """Return the complete listing that ended with an attempt, or None."""
        return self._database.first(WholeListingRow._make, "requests.whole_listing", ended)

    def whole_listings_before(self, listing: WholeListingRow, limit: int) -> list[WholeListingRow]:
        """Return earlier complete listings of the same source, the latest first."""
        return self._database.rows(
            WholeListingRow._make,
            "requests.whole_listings_before",
            listing.collection,
            listing.source,
            listing.ended,
            limit,
        )

    def listed(self, listing: WholeListingRow) -> int:
        """Count the different keys that were offered in a complete listing."""
        value: int = self._database.value(
            "requests.listed", listing.collection, listing.source, listing.began, listing.ended
        )
        return value

    def missing(self, listing: WholeListingRow) -> list[str]:
        """Return the keys that a source offered before a complete listing, but not in it."""
        return self._database.column(
            "requests.missing", listing.collection, listing.source, listing.began, listing.ended
        )

    def request_row(self, attempt: int) -> RequestRow | None:
        """Return the request of an attempt, or None if it was a plain GET of its URL or is not stored any more."""
        return self._database.first(RequestRow._make, "requests.request_row", attempt)

    def attempts(self, collection: str, address: int, limit: int) -> list[RequestAttempt]:
        """Return the last attempts at a request, the latest first, with the source or service that was requested."""
        return self._database.rows(_make_request_attempt, "requests.attempts", collection, address, limit)

    def answer_before(self, collection: str, source: str, address: int, attempt: int) -> EarlierAnswer | None:
        """Return the last answer of an address of a source before an attempt, without those that failed."""
        return self._database.first(EarlierAnswer._make, "requests.answer_before", collection, source, address, attempt)

    def permanent_redirects(self, collection: str, session: int) -> list[SentRedirect]:
        """Return the permanent redirects (301, 308) that the sources of a collection sent in a session."""
        return self._database.rows(SentRedirect._make, "requests.permanent_redirects", collection, session)

    def unarchived(self, collection: str) -> list[UnarchivedAnswer]:
        """Return a collection's answers that are not archived and whose bytes still exist.

        The names of their files begin with `unarchived-`, which is a range of the index since '.' follows '-'.
        """
        return self._database.rows(UnarchivedAnswer._make, "requests.unarchived", collection)

    def files_needed(self, files: Sequence[str]) -> set[str]:
        """Return those `files` of the archive that have bytes to which the ledger refers."""
        return {*self._database.column("requests.files_needed", json.dumps([*files]))}
