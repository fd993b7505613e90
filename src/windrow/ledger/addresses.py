"""Hosts and addresses of crawls: what may be asked, and when."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence

from windrow.clock import spell
from windrow.ledger.batch import LedgerBatch
from windrow.ledger.typed.addresses import DueAddress, TypedAddresses
from windrow.model import FoundUrl, HttpRequest, Recorded

NEVER_ASKED = 0
"""When an address is due that was never asked. What an operator wants asked is due at 1, all else by the clock."""

EVERY = 2**62
"""What every order number is below."""


ELSEWHERE = -1
"""The pause of an address that only a WARC file of another maker names: it is never due."""


class AddressQueries(TypedAddresses):
    """What is asked of hosts and addresses."""

    def due(self, host: int, at: int, limit: int, below: int = EVERY) -> list[DueAddress]:
        """Return what to ask of a host next: new addresses first, of these only what stands `below` in their order."""
        if below == EVERY:
            return self.due_between(host, NEVER_ASKED, at, EVERY, limit)
        new = self.due_between(host, NEVER_ASKED, NEVER_ASKED, below, limit)
        return new + self.due_between(host, NEVER_ASKED + 1, at, EVERY, limit - len(new))

    def requests(self, host: int, digests: Sequence[int]) -> dict[int, HttpRequest]:
        """Return what is asked at those of a host's addresses where that is no plain GET, by their digests."""
        return {digest: row.request() for digest, row in self.request_rows(host, digests).items()}


class AddressWriter:
    """What is written of hosts and addresses."""

    def __init__(self, batch: LedgerBatch) -> None:
        """Gather with the other parts of a writer."""
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

    def add(self, host: int, via: int, found: Iterable[FoundUrl], *, page: int = 0, beside: int | None = None) -> None:
        """Put addresses on record; those that are known stay as they are, but what was of the kind `beside`.

        What was kept beside a page becomes one when it is found as a page, of the kind `page`.
        """
        some = [*found]
        rows = [
            (one.digest, host, one.url, via, one.place, one.kind, beside if one.kind == page else None) for one in some
        ]
        self._batch.rows("address", rows)
        for one in some:
            if (asked := one.request) is not None:
                attached = json.dumps([part[:4] for part in asked.attachments])
                told = (asked.method, json.dumps(asked.headers), asked.body, asked.context, attached, asked.seconds)
                self._batch.row("request", one.digest, host, *told)

    def add_known(self, host: int, found: FoundUrl) -> None:
        """Put an address on record that is never due."""
        self._batch.row("known", found.digest, host, found.url, found.place, found.kind)

    def hint(self, host: int, found: Iterable[FoundUrl], rest: int) -> None:
        """Make addresses due that are said to have changed since their last visit, `rest` seconds after it at least."""
        self._batch.rows("hinted", [(url.digest, host, rest, spell(url.hinted)) for url in found if url.hinted])

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
        """Have what a source began with, and what is at none of these origins, not asked again, but for some."""
        self._batch.flush()
        told = (json.dumps([*digests]), json.dumps([*origins]))
        self._batch.database.execute("begun_never_again", kind, collection, source, *told)

    def pace(self, visit: Recorded, pause: int) -> None:
        """Put the interval of an address on record, in seconds, if this visit to it is its last."""
        self._batch.flush()
        self._batch.database.execute("address_paced", int(visit.attempt.started.timestamp()), pause, visit.seq)

    def due_by(self, visit: Recorded, until: int) -> None:
        """Have an address asked at a time (seconds since 1970) at the latest, if this visit to it is its last."""
        self._batch.flush()
        self._batch.database.execute("address_due_by", until, visit.seq)
