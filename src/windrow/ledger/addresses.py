"""Hosts and addresses of crawls: what may be asked, and when."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence

from windrow.clock import spell
from windrow.ledger.batch import LedgerBatch
from windrow.ledger.typed.addresses import DueAddress, TypedAddresses
from windrow.model import FoundUrl, HttpRequest, RecordedAttempt

NEVER_ASKED = 0
"""When an address is due that was never asked. What an operator wants asked is due at 1, all else by the clock."""

EVERY = 2**62
"""Above every order number."""


ELSEWHERE = -1
"""The pause of an address that only a WARC file of another maker names: it is never due."""


class AddressQueries(TypedAddresses):
    """Queries on hosts and addresses."""

    def due(self, host: int, at: int, limit: int, below: int = EVERY) -> list[DueAddress]:
        """Return what to ask of a host next: new addresses first, of these only what stands `below` in their order."""
        if below == EVERY:
            return self.due_between(host, NEVER_ASKED, at, EVERY, limit)
        new = self.due_between(host, NEVER_ASKED, NEVER_ASKED, below, limit)
        return new + self.due_between(host, NEVER_ASKED + 1, at, EVERY, limit - len(new))

    def requests(self, host: int, digests: Sequence[int]) -> dict[int, HttpRequest]:
        """Return the requests of a host's addresses that are not a plain GET, by digest."""
        return {digest: row.request() for digest, row in self.request_rows(host, digests).items()}


class AddressWriter:
    """Writes hosts and addresses."""

    def __init__(self, batch: LedgerBatch) -> None:
        self._batch = batch

    def add_host(self, session: int, collection: str, source: str, origin: str) -> int:
        """Put an origin on record that a source's crawl may ask."""
        return self._batch.fact("host", session, collection, source, origin)

    def host_of(self, session: int, collection: str, source: str, origin: str) -> int:
        """Return the number of an origin as a source asks it; it is put on record the first time."""
        known = TypedAddresses(self._batch.database).host(origin, collection, source)
        if known is None:
            known = self.add_host(session, collection, source, origin)
            self._batch.flush()
        return known

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
            if (asked := url.request) is not None:
                attached = json.dumps([part[:4] for part in asked.attachments])
                columns = (asked.method, json.dumps(asked.headers), asked.body, asked.context, attached, asked.seconds)
                self._batch.row("request", url.digest, host, *columns)

    def add_known(self, host: int, url: FoundUrl) -> None:
        """Put an address on record that is never due."""
        self._batch.row("known", url.digest, host, url.url, url.place, url.kind)

    def hint(self, host: int, urls: Iterable[FoundUrl], rest: int) -> None:
        """Make hinted addresses due, at least `rest` seconds after their last attempt."""
        self._batch.rows("hinted", [(url.digest, host, rest, spell(url.hinted)) for url in urls if url.hinted])

    def rest(self, origin: str, until: int) -> None:
        """Note until when an origin asked to be left alone by all collections, in seconds since 1970."""
        self._batch.row("rest", origin, until)

    def due_again(self, hosts: Iterable[int]) -> int:
        """Make the addresses of hosts due, after those that were never asked; return how many."""
        self._batch.flush()
        return sum(self._batch.database.execute("addresses_due_again", host) for host in hosts)

    def due_at(self, collection: str, digests: Iterable[int], due: int | None) -> None:
        """Have addresses of a collection asked at a time (seconds since 1970; 1: next), or never again."""
        self._batch.flush()
        self._batch.database.execute_many("address_due_at", [(due, digest, collection) for digest in digests])

    def begin_anew(
        self, collection: str, source: str, kind: int, digests: Collection[int], origins: Collection[str]
    ) -> None:
        """Make a source's seeds, and addresses outside these origins, never due again, except those of `digests`."""
        self._batch.flush()
        kept = (json.dumps([*digests]), json.dumps([*origins]))
        self._batch.database.execute("begun_never_again", kind, collection, source, *kept)

    def pace(self, recorded: RecordedAttempt, pause: int) -> None:
        """Put the interval of an address on record, in seconds, if this attempt to it is its last."""
        self._batch.flush()
        self._batch.database.execute("address_paced", int(recorded.attempt.started.timestamp()), pause, recorded.seq)

    def due_by(self, recorded: RecordedAttempt, until: int) -> None:
        """Have an address asked at a time (seconds since 1970) at the latest, if this attempt to it is its last."""
        self._batch.flush()
        self._batch.database.execute("address_due_by", until, recorded.seq)
