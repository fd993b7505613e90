"""Record the results of following responses (offers, learned values, complete listings), and requests to services."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from windrow.contract import Offering
from windrow.ledger.batch import LedgerBatch
from windrow.ledger.rows import Followed
from windrow.ledger.typed.requests import TypedRequests, UnarchivedAnswer, WholeListingRow
from windrow.model import HttpRequest

_ADDRESS_NAME, _LISTING_NAME = "windrow.address", "windrow.listing"
"""Names of learned values that are not passed to discoveries.

The first value is a source's address, the second the attempt that began the listing under way.
"""


class RequestQueries(TypedRequests):
    """Queries on responses that were followed, and on values learned about sources."""

    def learned(self, collection: str, source: str) -> dict[str, Any]:
        """Return a dict from name to value: what a discovery learned about a source."""
        return {name: json.loads(text) for name, text in self.learned_texts(collection, source).items()}

    def learned_as(self, collection: str, name: str) -> dict[str, Any]:
        """Return a dict from source to the value learned under `name`. It has sources that are not configured, too."""
        return {source: json.loads(text) for source, text in self.learned_texts_as(collection, name).items()}

    def address(self, collection: str, source: str) -> str | None:
        """Return the address of a source that `begin_at` recorded last, or None if it recorded none."""
        address: str | None = self.learned_as(collection, _ADDRESS_NAME).get(source)
        return address

    def listing_begun(self, collection: str, source: str) -> int:
        """Return the first attempt of the complete listing of a source that is under way, or 0 if none is."""
        return int(self.learned_as(collection, _LISTING_NAME).get(source) or 0)

    def of_attempt(self, attempt: int) -> HttpRequest | None:
        """Return the request of an attempt, or None if it was a plain GET of its URL or is not stored any more."""
        row = self.request_row(attempt)
        return row.request() if row else None


class RequestWriter:
    """Writes the results of following responses, and the requests that steps make to services."""

    def __init__(self, batch: LedgerBatch) -> None:
        self._batch = batch

    def record_followed(self, collection: str, source: str, followed: Followed) -> None:
        """Record the result of following the response of an attempt. The next run follows only later responses."""
        self._batch.row("followed", followed.attempt, collection, source, *followed[1:])

    def learn(self, collection: str, source: str, learned: Mapping[str, Any], attempt: int) -> None:
        """Record values learned about a source from a response. They replace earlier values of the same names."""
        for name, learned_value in learned.items():
            self._batch.row("learned", collection, source, name, json.dumps(learned_value), attempt)

    def begin_listing(self, collection: str, source: str, attempt: int) -> None:
        """Record the attempt with which a complete listing of a source begins, or 0 if no listing is under way."""
        self.learn(collection, source, {_LISTING_NAME: attempt}, attempt)

    def end_listing(self, listing: WholeListingRow) -> None:
        """Record that a complete listing of a source has ended."""
        self._batch.row("whole_listing", *listing)

    def begin_at(self, collection: str, source: str, address: str) -> None:
        """Record the address of a source in the present configuration."""
        self.learn(collection, source, {_ADDRESS_NAME: address}, 0)

    def offer(self, collection: str, source: str, attempt: int, offers: Iterable[Offering]) -> None:
        """Record the offers in the response of an attempt, and that the source has offered their keys."""
        for number, offering in enumerate(offers):
            offset, length = offering.part or (0, -1)
            self._batch.row("offered", attempt, number, offering.key, offset, length, offering.url)
            self._batch.row("offer_known", collection, source, offering.key, attempt)

    def ask(self, attempt: int, host: int, digest: int) -> None:
        """Record that the step of an attempt makes the request with this digest to the service at `host`."""
        self._batch.row("asked", attempt, digest, host)

    def drop_bytes(self, answers: Sequence[UnarchivedAnswer]) -> None:
        """Record that the bytes of answers are deleted, so that later answers are not compared with them.

        The attempts are kept.
        """
        self._batch.flush()
        self._batch.database.execute_many("answer_bytes_dropped", [(answer.attempt,) for answer in answers])
        self._batch.database.execute_many("answer_without_bytes", [(answer.address, answer.host) for answer in answers])

    def ask_again(self, host: int, digests: Iterable[int]) -> None:
        """Make addresses of a host due as if they had never been requested, unless they are taken down."""
        for digest in digests:
            self._batch.row("asked_again", digest, host)

    def ask_when_named(self, host: int, digest: int, session: int) -> None:
        """Make an address due, unless it is taken down or was requested since the session `session` began.

        Without the second condition, pages that link in a circle would be requested without end.
        """
        self._batch.row("asked_when_named", digest, host, session)
