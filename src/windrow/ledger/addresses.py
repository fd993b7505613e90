"""Hosts and addresses that crawls may request, and when each address is due.

A host, an origin as one source requests it, is identified by its number. An address is identified by its host and its
digest, a 64-bit hash of the request. Times are UNIX times.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from windrow.clock import spell
from windrow.ledger.batch import LedgerBatch
from windrow.ledger.typed.addresses import DueAddress, TypedAddresses
from windrow.model import FoundUrl, HttpRequest, RecordedAttempt
from windrow.reasons import Reason

NEVER_REQUESTED = 0
"""The due time of an address that was never requested, or must be requested as if it never had been.

The due time 1 means next, as after `windrow retry`; greater ones are UNIX times.
"""

ABOVE_EVERY_ORDER = 2**62
"""A number that is greater than the order number of every address."""

ELSEWHERE = -1
"""The `interval` of addresses that are not requested, and known only from captures of others, such as WARC files."""


class AddressQueries(TypedAddresses):
    """Queries on hosts and addresses."""

    def due(
        self, host: int, until: int, limit: int, below: int = ABOVE_EVERY_ORDER, rules: int = 0
    ) -> list[DueAddress]:
        """Return at most `limit` addresses of a host that are due at the time `until` or before, in order of due time.

        Addresses that were never requested come first. Of these, only those with an order number below `below` are
        returned. `rules` is the fact since which the present rules for links are in force.
        """
        if below == ABOVE_EVERY_ORDER:
            return self.due_between(host, (NEVER_REQUESTED, until), ABOVE_EVERY_ORDER, limit, rules)
        never_requested = self.due_between(host, (NEVER_REQUESTED, NEVER_REQUESTED), below, limit, rules)
        return never_requested + self.due_between(
            host, (NEVER_REQUESTED + 1, until), ABOVE_EVERY_ORDER, limit - len(never_requested), rules
        )

    def requests(self, host: int, digests: Sequence[int]) -> dict[int, HttpRequest]:
        """Return a dict from digest to request, for those addresses of a host that are not requested by a plain GET."""
        return {digest: row.request() for digest, row in self.request_rows(host, digests).items()}


class AddressWriter:
    """Writes hosts and addresses."""

    def __init__(self, batch: LedgerBatch) -> None:
        self._batch = batch

    def add_host(self, session: int, collection: str, source: str, origin: str) -> int:
        """Record a host: an origin that a source may request. Return the number of the host."""
        return self._batch.fact("host", session, collection, source, origin)

    def host_of(self, session: int, collection: str, source: str, origin: str) -> int:
        """Return the number of a source's host with this origin. Record the host if it is not known."""
        number = TypedAddresses(self._batch.database).host(origin, collection, source)
        if number is None:
            number = self.add_host(session, collection, source, origin)
            self._batch.flush()
        return number

    def assign_host(self, host: int, source: str) -> None:
        """Assign a host that was known only from captures of others to a source that found its origin."""
        self._batch.row("host_taken", source, host)

    def add(self, host: int, via: int, urls: Iterable[FoundUrl], *, page: int = 0, beside: int | None = None) -> None:
        """Add addresses, with their requests, that were found at the address with the digest `via` (0: seeds).

        A known address changes in two cases. An address of the kind `beside` (a file kept beside a page) that is found
        with the kind `page` becomes a page and is due, unless it is never due. An address that was known only from
        captures of others becomes due, and gets the kind with which it was found.
        """
        found_urls = [*urls]
        rows = [
            (url.digest, host, url.url, via, url.order, url.kind, beside if url.kind == page else None)
            for url in found_urls
        ]
        self._batch.rows("address", rows)
        for url in found_urls:
            if (request := url.request) is not None:
                attachments = json.dumps([attachment[:4] for attachment in request.attachments])
                request_columns = (
                    request.method,
                    json.dumps(request.headers),
                    request.body,
                    request.context,
                    attachments,
                    request.seconds,
                )
                self._batch.row("request", url.digest, host, *request_columns)

    def add_known(self, host: int, url: FoundUrl) -> None:
        """Record an address known only from captures of others, which is never due. A known address is not changed."""
        self._batch.row("known", url.digest, host, url.url, url.order, url.kind)

    def release_host(self, host: int, beside: int | None) -> None:
        """Mark the addresses of a host as known only, as if never requested here, except those of the kind `beside`."""
        self._batch.flush()
        self._batch.database.execute("host_released", host, beside)

    def apply_hints(self, host: int, urls: Iterable[FoundUrl], min_pause: int) -> None:
        """Make addresses due earlier if their hints are later than their last attempts.

        Each is then due no later than `min_pause` seconds after its last attempt.
        """
        self._batch.rows("hinted", [(url.digest, host, min_pause, spell(url.hinted)) for url in urls if url.hinted])

    def record_pause(self, origin: str, until: int) -> None:
        """Record the UNIX time until which an origin asks all collections to pause, unless a later time is recorded."""
        self._batch.row("rest", origin, until)

    def make_due_again(self, hosts: Iterable[int]) -> int:
        """Of the addresses of hosts, make all that were requested before due next, except those that are never due.

        Addresses that were never requested still come first. Return how many addresses were changed.
        """
        self._batch.flush()
        return sum(self._batch.database.execute("addresses_due_again", host) for host in hosts)

    def make_far_due(self, latest: int) -> int:
        """Make the addresses next that would be due after the UNIX time `latest`. Return their number."""
        self._batch.flush()
        return self._batch.database.execute("far_due_again", latest)

    def make_ahead_due(self, at: datetime) -> int:
        """Make the addresses next that were requested in a session that began after the present time `at`.

        Pauses of origins that end after the first such session began are removed. Return the number of addresses.
        """
        self._batch.flush()
        self._batch.database.execute("rests_ahead_end", spell(at))
        return self._batch.database.execute("ahead_due_again", spell(at))

    def make_refused_due(self, host: int, reasons: Iterable[Reason]) -> int:
        """Make the addresses of a host next that were not requested for one of the `reasons`. Return their number."""
        self._batch.flush()
        return self._batch.database.execute("refused_due_again", host, json.dumps(sorted(reasons)))

    def set_due(self, collection: str, digests: Iterable[int], due: int | None, source: str = "") -> None:
        """Set when the addresses with `digests` are due, at a source of a collection, or at all if `source` is empty.

        `due` is a UNIX time, 1 for next, or None for never again.
        """
        self._batch.flush()
        self._batch.database.execute_many("address_due_at", [(due, digest, collection, source) for digest in digests])

    def begin_anew(
        self, collection: str, source: str, kind: int, digests: Collection[int], origins: Collection[str]
    ) -> None:
        """Make the seeds of a source, the targets of their redirects, and addresses at other `origins`, never due.

        Only addresses of the kind `kind` are changed, and not those with `digests`.
        """
        self._batch.flush()
        json_lists = (json.dumps([*digests]), json.dumps([*origins]))
        self._batch.database.execute("begun_never_again", kind, collection, source, *json_lists)

    def set_interval(self, recorded: RecordedAttempt, interval: int) -> None:
        """Set the interval of the address of an attempt, and make it due `interval` seconds after that attempt.

        Nothing is changed if the address has a later attempt, is failing, is never due, or is due before its old
        interval has passed.
        """
        self._batch.flush()
        self._batch.database.execute("address_paced", int(recorded.attempt.started.timestamp()), interval, recorded.seq)

    def set_every(self, collection: str, source: str, digest: int, every: int) -> None:
        """Set the seconds between two requests to an address of a source.

        If they changed, or if only redirects led to the address so far, it is due at most `every` seconds after its
        last attempt, unless that failed. An address that would never be due, as after a request that was made only
        once, is due next.
        """
        self._batch.flush()
        values = (every, digest, collection, source)
        if self._batch.database.execute("request_every", *values):
            self._batch.database.execute("address_due_sooner", *values)

    def set_redirected_every(self, collection: str, source: str, digest: int, every: int) -> None:
        """Set what an address of a source, to which only redirects lead, tells of the repeated request before them."""
        self._batch.flush()
        self._batch.database.execute("redirected_every", every, digest, collection, source)

    def abandon(self, collection: str, source: str, digests: Iterable[int]) -> None:
        """Make addresses of a source never due to which no redirect leads any more.

        An address that is also requested by itself is not changed.
        """
        self._batch.flush()
        self._batch.database.execute_many("address_abandoned", [(digest, collection, source) for digest in digests])

    def mark_unused(self, recorded: RecordedAttempt, failures: int, due: int) -> None:
        """Record that the answer of an attempt was not used, as the latest of `failures` in a row.

        The address of the attempt is due at the UNIX time `due`, unless it is due before that. An address that has a
        later attempt is not changed.
        """
        self._batch.flush()
        self._batch.database.execute("address_unused", failures, due, recorded.seq)

    def make_due_by(self, attempt: int, until: int) -> None:
        """Make the address of an attempt due at the UNIX time `until`, unless it is due before that.

        Nothing is changed if the address is never due or has a later attempt.
        """
        self._batch.flush()
        self._batch.database.execute("address_due_by", until, attempt)
