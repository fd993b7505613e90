"""Hosts and addresses of crawls: what may be asked, and when."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from windrow.clock import spell
from windrow.ledger.batch import LedgerBatch
from windrow.ledger.database import LedgerDatabase
from windrow.model import Attachment, FoundUrl, HttpRequest, Recorded

NEVER_ASKED = 0
"""When an address is due that was never asked. What an operator wants asked is due at 1, all else by the clock."""

EVERY = 2**62
"""What every order number is below."""


class HostRow(NamedTuple):
    """An origin that a source's crawl may ask."""

    seq: int
    source: str
    origin: str


class HostState(NamedTuple):
    """An origin and its addresses: all, with a body, failing, due, when the next is due (UNIX seconds), last asked."""

    seq: int
    origin: str
    source: str
    collection: str
    addresses: int
    pages: int
    failing: int
    due: int
    next_due: int | None
    asked: datetime | None


class DueAddress(NamedTuple):
    """What to ask of a host, and what it said last.

    `last` is the digest of its last body, empty for none, and `at` the date of the record that holds it.
    """

    digest: int
    url: str
    kind: int
    place: int
    pause: int
    failures: int
    etag: str
    modified: str
    last: str
    at: datetime | None


class AddressRow(NamedTuple):
    """An address, the origin and source it belongs to, and where it was found: `via`, 0 for a seed.

    `due` is in UNIX seconds: 0 for never asked, 1 for next, None for never; `pause` in seconds, `ELSEWHERE` where
    only a WARC file of another maker names it.
    """

    digest: int
    url: str
    origin: str
    source: str
    collection: str
    via: int
    via_url: str | None
    due: int | None
    pause: int
    capture: int
    failures: int
    host: int
    kind: int


class ChosenAddress(NamedTuple):
    """An address that an operator decides about."""

    digest: int
    url: str
    due: int | None
    failures: int


class FoundAddress(NamedTuple):
    """An address, and its place in the order in which addresses were found."""

    place: int
    url: str


class AddressCount(NamedTuple):
    """How a source's addresses of one kind stand: all, with a body, failing, due, and when the next is due."""

    collection: str
    source: str
    kind: int
    known: int
    pages: int
    failing: int
    due: int
    next_due: int | None


class DueCount(NamedTuple):
    """How many addresses of a host are due."""

    source: str
    origin: str
    number: int


class NeverAsked(NamedTuple):
    """How many addresses of a host were never asked, and one of them."""

    number: int
    example: str


class WrongAddress(NamedTuple):
    """An address that is due, or has a last capture, other than its visits say."""

    url: str
    due: int
    capture: int
    visits: int
    last: int


class RequestRow(NamedTuple):
    """What is asked at an address, as its table has it: headers and attachments are JSON."""

    digest: int
    method: str
    headers: str
    body: bytes
    context: str
    attachments: str
    seconds: float

    def request(self) -> HttpRequest:
        """Return the request."""
        headers = tuple(map(tuple, json.loads(self.headers)))
        attachments = tuple(Attachment(*one) for one in json.loads(self.attachments))
        return HttpRequest(self.method, headers, self.body, self.context, attachments, self.seconds)


class _Rest(NamedTuple):
    origin: str
    until: int


ELSEWHERE = -1
"""The pause of an address that only a WARC file of another maker names: it is never due."""


class AddressQueries:
    """What is asked of hosts and addresses."""

    def __init__(self, database: LedgerDatabase) -> None:
        """Ask this database."""
        self._database = database

    def hosts(self, collection: str) -> list[HostRow]:
        """Return the origins that a collection's crawls may ask."""
        return self._database.rows(HostRow, "hosts", collection)

    def hosts_crawled(self, collection: str) -> list[HostRow]:
        """Return the same without those that are only known from WARC files of other makers."""
        return self._database.rows(HostRow, "hosts_crawled", collection)

    def host(self, origin: str, collection: str, source: str = "") -> int | None:
        """Return the number of a collection's origin, as one of its sources asks it; empty: whichever did so first."""
        found: int | None = self._database.value("host_named", origin, collection, source)
        return found

    def host_states(self, source: str, host: str, at: int) -> list[HostState]:
        """Return origins with how their addresses stand at a time (UNIX seconds): of a source, or at a host; not both.

        A port may stand behind the host; an empty text means any.
        """
        return self._database.rows(HostState, "hosts_counted", source, host, at)

    def rests(self, at: int) -> dict[str, int]:
        """Return until when origins asked to be left alone, in UNIX seconds: those that still do at a time.

        It holds for all collections, whichever of them an origin said that to.
        """
        return {one.origin: one.until for one in self._database.rows(_Rest, "rests", at)}

    def due(self, host: int, at: int, limit: int, below: int = EVERY) -> list[DueAddress]:
        """Return what to ask of a host next: new addresses first, of these only what stands `below` in their order."""
        if below == EVERY:
            return self._database.rows(DueAddress, "addresses_due", host, NEVER_ASKED, at, EVERY, limit)
        new = self._database.rows(DueAddress, "addresses_due", host, NEVER_ASKED, NEVER_ASKED, below, limit)
        again = self._database.rows(DueAddress, "addresses_due", host, NEVER_ASKED + 1, at, EVERY, limit - len(new))
        return new + again

    def never_asked(self, host: int) -> NeverAsked:
        """Count the addresses of a host that were never asked, and name one of them."""
        (found,) = self._database.rows(NeverAsked, "addresses_never_asked", host)
        return found

    def next_due(self, host: int) -> int | None:
        """Return when the next address of a host is due, in seconds since 1970; None where none ever is."""
        found: int | None = self._database.value("host_next_due", host)
        return found

    def requests(self, host: int, digests: Sequence[int]) -> dict[int, HttpRequest]:
        """Return what is asked at those of a host's addresses where that is no plain GET, by their digests."""
        return {one.digest: one.request() for one in self._database.rows_of(RequestRow, "requests", digests, host)}

    def get(self, collection: str, digest: int) -> AddressRow | None:
        """Return an address of a collection, None where it is not known."""
        return self._database.first(AddressRow, "address", collection, digest)

    def of_sources(self, collection: str, digest: int) -> list[AddressRow]:
        """Return an address as each source of a collection has it that asks it."""
        return self._database.rows(AddressRow, "address", collection, digest)

    def is_known(self, collection: str, digest: int) -> bool:
        """Tell whether a collection knows an address."""
        return self._database.value("address_known", collection, digest) is not None

    def found_after(self, collection: str, after: int, limit: int) -> list[FoundAddress]:
        """Return a collection's addresses in the order in which they were found."""
        return self._database.rows(FoundAddress, "addresses_after", collection, after, limit)

    def count_upto(self, collection: str, place: int) -> int:
        """Count a collection's addresses up to a place in that order, without those that were taken down."""
        return int(self._database.value("addresses_counted", collection, place))

    def last_place(self) -> int:
        """Return the last place in that order, 0 before the first."""
        return int(self._database.value("address_last"))

    def by_source(self, at: int) -> list[AddressCount]:
        """Count how the addresses of each source stand at a time."""
        return self._database.rows(AddressCount, "addresses_by_source", at)

    def due_by_host(self, collection: str, at: int) -> list[DueCount]:
        """Count the addresses of each host that are due at a time."""
        return self._database.rows(DueCount, "addresses_due_by_host", at, collection)

    def next_of_source(self, collection: str, source: str, at: int, limit: int) -> list[str]:
        """Return addresses of a source that would be asked first at a time."""
        return self._database.column("addresses_next", at, collection, source, limit)

    def chosen(self, collection: str, digests: Sequence[int]) -> Iterator[ChosenAddress]:
        """Yield those of some addresses that a collection knows, and that were not taken down."""
        return self._database.rows_of(ChosenAddress, "addresses_chosen", digests, collection)

    def failing(self, collection: str, source: str, reason: str) -> list[ChosenAddress]:
        """Return those that fail now, of a source and for the reason of their last visit; empty means any."""
        return self._database.rows(ChosenAddress, "addresses_failing", collection, source, reason)

    def waiting(self, collection: str, source: str, reason: str) -> list[ChosenAddress]:
        """Return those that wait: never asked so far, or failing for a reason."""
        return self._database.rows(ChosenAddress, "addresses_waiting", collection, source, reason)

    def wrong(self) -> Iterator[WrongAddress]:
        """Yield addresses that are due, or have a last capture, other than their visits say."""
        return self._database.stream(WrongAddress, "addresses_wrong")


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
        known: int | None = self._batch.database.value("host_named", origin, collection, source)
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
        self._batch.database.execute_many("address_due_at", [(due, one, collection) for one in digests])

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
        self._batch.database.execute("address_paced", int(visit.visit.started.timestamp()), pause, visit.seq)

    def due_by(self, visit: Recorded, until: int) -> None:
        """Have an address asked at a time (seconds since 1970) at the latest, if this visit to it is its last."""
        self._batch.flush()
        self._batch.database.execute("address_due_by", until, visit.seq)
