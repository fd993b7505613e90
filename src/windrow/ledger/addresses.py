"""Hosts and addresses of crawls: what may be asked, and when."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence

from windrow.clock import spell
from windrow.ledger.batch import LedgerBatch
from windrow.ledger.typed.addresses import DueAddress, TypedAddresses
from windrow.model import FoundUrl, HttpRequest, RecordedAttempt

NEVER_ASKED = 0
"""The due time of an address that was never requested; `windrow retry` sets 1, all others are UNIX times."""

EVERY = 2**62
"""Above every order number."""


ELSEWHERE = -1
"""The pause of an address that is only known from a WARC file of another program: it is never due."""


class AddressQueries(TypedAddresses):
    """Queries on hosts and addresses."""

    def due(self, host: int, at: int, limit: int, below: int = EVERY) -> list[DueAddress]:
        """Return the due addresses of a host, new ones first; of these only those with an order below `below`."""
        if below == EVERY:
            return self.due_between(host, NEVER_ASKED, at, EVERY, limit)
        new_addresses = self.due_between(host, NEVER_ASKED, NEVER_ASKED, below, limit)
        return new_addresses + self.due_between(host, NEVER_ASKED + 1, at, EVERY, limit - len(new_addresses))

    def requests(self, host: int, digests: Sequence[int]) -> dict[int, HttpRequest]:
        """Return the requests of a host's addresses that are not a plain GET, by digest."""
        return {digest: row.request() for digest, row in self.request_rows(host, digests).items()}


class AddressWriter:
    """Writes hosts and addresses."""

    def __init__(self, batch: LedgerBatch) -> None:
        self._batch = batch

    def add_host(self, session: int, collection: str, source: str, origin: str) -> int:
        """Record an origin that a source's crawl may request; return its number."""
        return self._batch.fact("host", session, collection, source, origin)

    def host_of(self, session: int, collection: str, source: str, origin: str) -> int:
        """Return the number of an origin of a source; it is recorded the first time."""
        number = TypedAddresses(self._batch.database).host(origin, collection, source)
        if number is None:
            number = self.add_host(session, collection, source, origin)
            self._batch.flush()
        return number

    def give_host(self, host: int, source: str) -> None:
        """Let a source crawl an origin that was only known from elsewhere."""
        self._batch.row("host_taken", source, host)

    def add(self, host: int, via: int, urls: Iterable[FoundUrl], *, page: int = 0, beside: int | None = None) -> None:
        """Add addresses; known ones stay as they are, except those of the kind `beside`.

        An address kept beside a page becomes a page if it is found as one, that is of the kind `page`.
        """
        urls_found = [*urls]
        rows = [
            (url.digest, host, url.url, via, url.place, url.kind, beside if url.kind == page else None)
            for url in urls_found
        ]
        self._batch.rows("address", rows)
        for url in urls_found:
            if (request := url.request) is not None:
                attached = json.dumps([part[:4] for part in request.attachments])
                columns = (
                    request.method,
                    json.dumps(request.headers),
                    request.body,
                    request.context,
                    attached,
                    request.seconds,
                )
                self._batch.row("request", url.digest, host, *columns)

    def add_known(self, host: int, url: FoundUrl) -> None:
        """Record an address that is never due."""
        self._batch.row("known", url.digest, host, url.url, url.place, url.kind)

    def hint(self, host: int, urls: Iterable[FoundUrl], rest: int) -> None:
        """Make hinted addresses due, at least `rest` seconds after their last attempt."""
        self._batch.rows("hinted", [(url.digest, host, rest, spell(url.hinted)) for url in urls if url.hinted])

    def rest(self, origin: str, until: int) -> None:
        """Record the UNIX time until which an origin asked all collections to pause."""
        self._batch.row("rest", origin, until)

    def due_again(self, hosts: Iterable[int]) -> int:
        """Make the addresses of hosts due, after those that were never requested; return their number."""
        self._batch.flush()
        return sum(self._batch.database.execute("addresses_due_again", host) for host in hosts)

    def due_at(self, collection: str, digests: Iterable[int], due: int | None) -> None:
        """Make addresses of a collection due at a UNIX time (1: next; None: never again)."""
        self._batch.flush()
        self._batch.database.execute_many("address_due_at", [(due, digest, collection) for digest in digests])

    def begin_anew(
        self, collection: str, source: str, kind: int, digests: Collection[int], origins: Collection[str]
    ) -> None:
        """Make a source's seeds, and addresses outside these origins, never due again, except those of `digests`."""
        self._batch.flush()
        parameters = (json.dumps([*digests]), json.dumps([*origins]))
        self._batch.database.execute("begun_never_again", kind, collection, source, *parameters)

    def pace(self, recorded: RecordedAttempt, pause: int) -> None:
        """Record the interval of an address, in seconds, if this is its last attempt."""
        self._batch.flush()
        self._batch.database.execute("address_paced", int(recorded.attempt.started.timestamp()), pause, recorded.seq)

    def due_by(self, recorded: RecordedAttempt, until: int) -> None:
        """Make an address due at a UNIX time at the latest, if this is its last attempt."""
        self._batch.flush()
        self._batch.database.execute("address_due_by", until, recorded.seq)
