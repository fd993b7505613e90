"""What is found by requests: what answers led to, what was learned of sources, and what they offered."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from windrow.contract import Offering
from windrow.ledger.batch import LedgerBatch
from windrow.ledger.database import LedgerDatabase
from windrow.ledger.rows import RequestRow, recorded
from windrow.model import Finding, HttpRequest, Level, Recorded
from windrow.reasons import Reason


class Followed(NamedTuple):
    """What an answer led to: how many requests and offers, how many of these were not known; `ending` says why none.

    `seconds` is how long reading it for that took.
    """

    visit: int
    requests: int
    offers: int
    fresh: int
    reason: Reason | None
    ending: str
    findings: str
    seconds: float = 0.0

    def told(self) -> list[Finding]:
        """Return its findings."""
        return [Finding(kind, message, Level(level)) for kind, message, level in json.loads(self.findings)]


class _LearnedRow(NamedTuple):
    name: str
    value: str


class _OfferRow(NamedTuple):
    key: str
    offset: int
    length: int
    url: str


class _KnownRow(NamedTuple):
    name: str


class RequestAttempt(NamedTuple):
    """An attempt at a request, and what was asked: `kept` where there are bytes of an answer.

    One that is not archived has its digest, and no bytes any more once it was read.
    """

    visit: int
    source: str
    status: int | None
    reason: Reason | None
    kept: bool
    digest: str


class UnarchivedAnswer(NamedTuple):
    """An answer whose bytes are there only until no step waits for them: what was asked, and the file they lie in."""

    visit: int
    address: int
    host: int
    warc: str


_ADDRESS, _LISTING = "windrow.address", "windrow.listing"
"""What the address of a source, and the answer that began a listing of all it has, are called among what was learned
of it; its discovery is not told."""


class WholeListingRow(NamedTuple):
    """A listing of all that a source has: the visits that its first and last answer came in."""

    collection: str
    source: str
    began: int
    ended: int


class RequestQueries:
    """What is asked of requests."""

    def __init__(self, database: LedgerDatabase) -> None:
        """Ask this database."""
        self._database = database

    def followed_upto(self, collection: str, source: str) -> int:
        """Return the last visit of a source that was followed, 0 before the first."""
        return int(self._database.value("followed_last", collection, source))

    def followed(self, visit: int) -> Followed | None:
        """Return what an answer led to."""
        return self._database.first(Followed, "followed_of", visit)

    def latest(self, collection: str, source: str, limit: int) -> list[Followed]:
        """Return what the last answers of a source led to, the latest first."""
        return self._database.rows(Followed, "followed_latest", collection, source, limit)

    def learned(self, collection: str, source: str) -> dict[str, Any]:
        """Return what was learned of a source."""
        rows = self._database.rows(_LearnedRow, "learned", collection, source)
        return {one.name: json.loads(one.value) for one in rows}

    def learned_as(self, collection: str, name: str) -> dict[str, Any]:
        """Return what was learned under a name of each source that has it, whether it is configured still or not."""
        rows = self._database.rows(_LearnedRow, "learned_as", collection, name)
        return {one.name: json.loads(one.value) for one in rows}

    def address(self, collection: str, source: str) -> str | None:
        """Return the address that a source had when it was asked last; None where that was never put on record."""
        found: str | None = self.learned_as(collection, _ADDRESS).get(source)
        return found

    def listing_begun(self, collection: str, source: str) -> int:
        """Return the visit with which a listing of all that a source has began; 0 where none is under way."""
        return int(self.learned_as(collection, _LISTING).get(source) or 0)

    def whole_listing(self, ended: int) -> WholeListingRow | None:
        """Return the listing that ended with a visit."""
        return self._database.first(WholeListingRow, "whole_listing", ended)

    def whole_listings_before(self, one: WholeListingRow, limit: int) -> list[WholeListingRow]:
        """Return the listings of a source that ended before one did, the latest first."""
        return self._database.rows(
            WholeListingRow, "whole_listings_before", one.collection, one.source, one.ended, limit
        )

    def missing(self, one: WholeListingRow) -> list[str]:
        """Return the keys of what a source had offered before a listing, and did not offer in it."""
        return self._database.column("listing_missing", *one)

    def listed(self, one: WholeListingRow) -> int:
        """Count what a listing had."""
        return int(self._database.value("listing_offers", *one))

    def visits(self, collection: str, source: str, after: int, kinds: Iterable[int], limit: int) -> list[Recorded]:
        """Return visits of a source after a given one, of some kinds."""
        return self._database.mapped(
            recorded, "visits_of_source", collection, source, after, json.dumps([*kinds]), limit
        )

    def offers(self, visit: int) -> tuple[Offering, ...]:
        """Return what an answer offered, in its order."""
        rows = self._database.rows(_OfferRow, "offers_of", visit)
        return tuple(Offering(one.key, () if one.length < 0 else (one.offset, one.length), one.url) for one in rows)

    def known(self, collection: str, source: str, keys: Sequence[str]) -> set[str]:
        """Return those of the keys that a source offered before."""
        return {one.name for one in self._database.rows_of(_KnownRow, "offers_known", keys, collection, source)}

    def asked(self, visit: int) -> HttpRequest | None:
        """Return what a visit asked, where that is not the URL alone."""
        one = self._database.first(RequestRow, "visit_request", visit)
        return one.request() if one else None

    def attempts(self, collection: str, address: int, limit: int) -> list[RequestAttempt]:
        """Return the last attempts at a request, the latest first."""
        rows = self._database.rows(RequestAttempt, "attempts_at", collection, address, limit)
        return [one._replace(reason=Reason(one.reason) if one.reason else None) for one in rows]

    def unarchived(self, collection: str) -> list[UnarchivedAnswer]:
        """Return the answers to a collection that are not archived and whose bytes are there still."""
        return self._database.rows(UnarchivedAnswer, "answers_unarchived", collection)

    def files_needed(self, files: Sequence[str]) -> set[str]:
        """Return those of some files of the archive in which bytes lie that the ledger names."""
        return {one.name for one in self._database.rows_of(_KnownRow, "unarchived_files", files)}


class RequestWriter:
    """What is written of requests."""

    def __init__(self, batch: LedgerBatch) -> None:
        """Gather with the other parts of a writer."""
        self._batch = batch

    def follow(self, collection: str, source: str, followed: Followed) -> None:
        """Put on record what an answer led to: the source's following got as far as this."""
        self._batch.row("followed", followed.visit, collection, source, *followed[1:])

    def learn(self, collection: str, source: str, learned: Mapping[str, Any], visit: int) -> None:
        """Put on record what was learned of a source from an answer, over what was learned before."""
        for name, value in learned.items():
            self._batch.row("learned", collection, source, name, json.dumps(value), visit)

    def begin_listing(self, collection: str, source: str, visit: int) -> None:
        """Put on record the visit with which a listing of all that a source has begins; 0: none is under way."""
        self.learn(collection, source, {_LISTING: visit}, visit)

    def end_listing(self, listing: WholeListingRow) -> None:
        """Put on record that a listing came to its end."""
        self._batch.row("whole_listing", *listing)

    def begin_at(self, collection: str, source: str, address: str) -> None:
        """Put on record the address of a source."""
        self.learn(collection, source, {_ADDRESS: address}, 0)

    def offer(self, collection: str, source: str, visit: int, offers: Iterable[Offering]) -> None:
        """Put on record what an answer offers."""
        for number, one in enumerate(offers):
            offset, length = one.part or (0, -1)
            self._batch.row("offered", visit, number, one.key, offset, length, one.url)
            self._batch.row("offer_known", collection, source, one.key, visit)

    def ask(self, visit: int, host: int, digest: int) -> None:
        """Put on record that the step taken on a visit asks this of a service."""
        self._batch.row("asked", visit, digest, host)

    def drop_bytes(self, answers: Sequence[UnarchivedAnswer]) -> None:
        """Note that the bytes of answers are not there any more; that they came stays a fact."""
        self._batch.flush()
        self._batch.database.execute_many("answer_bytes_dropped", [(one.visit,) for one in answers])
        self._batch.database.execute_many("answer_without_bytes", [(one.address, one.host) for one in answers])

    def ask_again(self, host: int, digests: Iterable[int]) -> None:
        """Have addresses of a host asked next, once what was gathered is written."""
        for one in digests:
            self._batch.row("asked_again", one, host)

    def ask_when_named(self, host: int, digest: int, session: int) -> None:
        """Have an address asked next that an answer leads to, once what was gathered is written.

        Not one that was asked in this session: pages may lead to one another in a ring.
        """
        self._batch.row("asked_when_named", digest, host, session)
