"""What is found by requests: what answers led to, what was learned of sources, and what they offered."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from windrow.contract import Offering
from windrow.ledger.batch import LedgerBatch
from windrow.ledger.rows import Followed
from windrow.ledger.typed.requests import TypedRequests, UnarchivedAnswer, WholeListingRow
from windrow.model import HttpRequest

_ADDRESS, _LISTING = "windrow.address", "windrow.listing"
"""Names, among what was learned of a source, of its address and of the answer that began a whole listing; its discovery
does not get them."""


class RequestQueries(TypedRequests):
    """Queries on requests."""

    def learned(self, collection: str, source: str) -> dict[str, Any]:
        """Return what was learned of a source."""
        return {name: json.loads(text) for name, text in self.learned_texts(collection, source).items()}

    def learned_as(self, collection: str, name: str) -> dict[str, Any]:
        """Return what was learned under a name of each source that has it, whether it is configured still or not."""
        return {source: json.loads(text) for source, text in self.learned_texts_as(collection, name).items()}

    def address(self, collection: str, source: str) -> str | None:
        """Return the address that a source had when it was asked last; None where that was never put on record."""
        address: str | None = self.learned_as(collection, _ADDRESS).get(source)
        return address

    def listing_begun(self, collection: str, source: str) -> int:
        """Return the attempt with which a listing of all that a source has began; 0 where none is under way."""
        return int(self.learned_as(collection, _LISTING).get(source) or 0)

    def asked(self, attempt: int) -> HttpRequest | None:
        """Return what an attempt asked, where that is not the URL alone."""
        row = self.asked_row(attempt)
        return row.request() if row else None


class RequestWriter:
    """Writes requests."""

    def __init__(self, batch: LedgerBatch) -> None:
        self._batch = batch

    def follow(self, collection: str, source: str, followed: Followed) -> None:
        """Record what an answer led to: the source's following got as far as this."""
        self._batch.row("followed", followed.visit, collection, source, *followed[1:])

    def learn(self, collection: str, source: str, learned: Mapping[str, Any], attempt: int) -> None:
        """Record what was learned of a source from an answer, over what was learned before."""
        for name, value in learned.items():
            self._batch.row("learned", collection, source, name, json.dumps(value), attempt)

    def begin_listing(self, collection: str, source: str, attempt: int) -> None:
        """Record the attempt with which a listing of all that a source has begins; 0: none is under way."""
        self.learn(collection, source, {_LISTING: attempt}, attempt)

    def end_listing(self, listing: WholeListingRow) -> None:
        """Record that a listing came to its end."""
        self._batch.row("whole_listing", *listing)

    def begin_at(self, collection: str, source: str, address: str) -> None:
        """Record the address of a source."""
        self.learn(collection, source, {_ADDRESS: address}, 0)

    def offer(self, collection: str, source: str, attempt: int, offers: Iterable[Offering]) -> None:
        """Record what an answer offers."""
        for number, offering in enumerate(offers):
            offset, length = offering.part or (0, -1)
            self._batch.row("offered", attempt, number, offering.key, offset, length, offering.url)
            self._batch.row("offer_known", collection, source, offering.key, attempt)

    def ask(self, attempt: int, host: int, digest: int) -> None:
        """Record that the step taken on an attempt asks this of a service."""
        self._batch.row("asked", attempt, digest, host)

    def drop_bytes(self, answers: Sequence[UnarchivedAnswer]) -> None:
        """Note that the bytes of answers are not there any more; that they came stays a fact."""
        self._batch.flush()
        self._batch.database.execute_many("answer_bytes_dropped", [(answer.visit,) for answer in answers])
        self._batch.database.execute_many("answer_without_bytes", [(answer.address, answer.host) for answer in answers])

    def ask_again(self, host: int, digests: Iterable[int]) -> None:
        """Have addresses of a host asked next, once what was gathered is written."""
        for digest in digests:
            self._batch.row("asked_again", digest, host)

    def ask_when_named(self, host: int, digest: int, session: int) -> None:
        """Have an address asked next that an answer leads to, once what was gathered is written.

        Not one that was asked in this session: pages may lead to one another in a ring.
        """
        self._batch.row("asked_when_named", digest, host, session)
