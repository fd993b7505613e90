"""Written by `make queries` from addresses.sql: change that, and run it again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from windrow.clock import parse
from windrow.ledger.database import LedgerQueries
from windrow.ledger.rows import RequestRow


class HostRow(NamedTuple):
    """A row of `hosts`."""

    seq: int
    source: str
    origin: str


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


class FoundAddress(NamedTuple):
    """A row of `found_after`."""

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


class NeverAsked(NamedTuple):
    """A row of `never_asked`."""

    number: int
    example: str


class DueCount(NamedTuple):
    """A row of `due_by_host`."""

    source: str
    origin: str
    number: int


class AddressRow(NamedTuple):
    """An address, the origin and source it belongs to, and where it was found: `via`, 0 for a seed.

    `due` is in UNIX seconds: 0 for never asked, 1 for next, None for never; `pause` in seconds, `ELSEWHERE` where only
    a WARC file of another maker names it.
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


class ChosenAddress(NamedTuple):
    """A row of `chosen`."""

    digest: int
    url: str
    due: int | None
    failures: int


class InconsistentAddress(NamedTuple):
    """A row of `inconsistent`."""

    url: str
    due: int
    capture: int
    attempts: int
    last: int


def _make_due_address(row: tuple[Any, ...]) -> DueAddress:
    digest, url, kind, place, pause, failures, etag, modified, last, at = row
    return DueAddress(
        digest, url, kind, place, pause, failures, etag, modified, last, None if at is None else parse(at)
    )


def _make_host_state(row: tuple[Any, ...]) -> HostState:
    seq, origin, source, collection, addresses, pages, failing, due, next_due, asked = row
    return HostState(
        seq,
        origin,
        source,
        collection,
        addresses,
        pages,
        failing,
        due,
        next_due,
        None if asked is None else parse(asked),
    )


class TypedAddresses(LedgerQueries):
    """The queries of addresses.sql."""

    def hosts(self, collection: str) -> list[HostRow]:
        """Return the origins that a collection's crawls may ask."""
        return self._database.rows(HostRow._make, "addresses.hosts", collection)

    def hosts_crawled(self, collection: str) -> list[HostRow]:
        """Return the same without those that are only known from WARC files of other makers."""
        return self._database.rows(HostRow._make, "addresses.hosts_crawled", collection)

    def host(self, origin: str, collection: str, source: str = "") -> int | None:
        """Return the number of a collection's origin, as one of its sources asks it; empty: whichever did so first."""
        value: int | None = self._database.value("addresses.host", origin, collection, source)
        return value

    def due_between(self, host: int, first: int, last: int, below: int, limit: int) -> list[DueAddress]:
        """Return what to ask of a host, and what it said last: new addresses first.

        A capture of bytes that were known tells the date of the record that holds them. What came of it as something
        else is not asked after: of what was kept beside a page and is one now, the whole answer is wanted.
        """
        return self._database.rows(_make_due_address, "addresses.due_between", host, first, last, below, limit)

    def rests(self, at: int) -> dict[str, int]:
        """Return until when origins asked to be left alone, in UNIX seconds: those that still do at a time.

        It holds for all collections, whichever of them an origin said that to.
        """
        return dict(self._database.rows(tuple, "addresses.rests", at))

    def found_after(self, collection: str, after: int, limit: int) -> list[FoundAddress]:
        """Return a collection's addresses in the order in which they were found."""
        return self._database.rows(FoundAddress._make, "addresses.found_after", collection, after, limit)

    def count_upto(self, collection: str, place: int) -> int:
        """Count a collection's addresses up to a place in that order, without those that were taken down."""
        value: int = self._database.value("addresses.count_upto", collection, place)
        return value

    def last_place(self) -> int:
        """Return the last place in that order, 0 before the first."""
        value: int = self._database.value("addresses.last_place")
        return value

    def by_source(self, at: int) -> list[AddressCount]:
        """Count how the addresses of each source stand at a time."""
        return self._database.rows(AddressCount._make, "addresses.by_source", at)

    def never_asked(self, host: int) -> NeverAsked:
        """Count the addresses of a host that were never asked, and name one of them."""
        (row,) = self._database.rows(NeverAsked._make, "addresses.never_asked", host)
        return row

    def due_by_host(self, collection: str, at: int) -> list[DueCount]:
        """Count the addresses of each host that are due at a time."""
        return self._database.rows(DueCount._make, "addresses.due_by_host", at, collection)

    def next_of_source(self, collection: str, source: str, at: int, limit: int) -> list[str]:
        """Return addresses of a source that would be asked first at a time."""
        return self._database.column("addresses.next_of_source", at, collection, source, limit)

    def is_known(self, collection: str, digest: int) -> bool:
        """Tell whether a collection knows an address."""
        return bool(self._database.value("addresses.is_known", collection, digest))

    def get(self, collection: str, digest: int) -> AddressRow | None:
        """Return an address of a collection, None where it is not known."""
        return self._database.first(AddressRow._make, "addresses.get", collection, digest)

    def of_sources(self, collection: str, digest: int) -> list[AddressRow]:
        """Return an address as each source of a collection has it that asks it."""
        return self._database.rows(AddressRow._make, "addresses.of_sources", collection, digest)

    def host_states(self, source: str, host: str, at: int) -> list[HostState]:
        """Return origins with how their addresses stand at a time (UNIX seconds): of a source, or at a host; not both.

        A port may stand behind the host; an empty text means any.
        """
        return self._database.rows(_make_host_state, "addresses.host_states", at, source, host)

    def chosen(self, collection: str, digests: Sequence[int]) -> list[ChosenAddress]:
        """Return those of some addresses that a collection knows, and that were not taken down."""
        return self._database.rows(ChosenAddress._make, "addresses.chosen", collection, json.dumps([*digests]))

    def failing(self, collection: str, source: str, reason: str) -> list[ChosenAddress]:
        """Return those that fail now, of a source and for the reason of their last attempt; empty means any."""
        return self._database.rows(ChosenAddress._make, "addresses.failing", collection, source, reason)

    def waiting(self, collection: str, source: str, reason: str) -> list[ChosenAddress]:
        """Return those that wait: never asked so far, or failing for a reason."""
        return self._database.rows(ChosenAddress._make, "addresses.waiting", collection, source, reason)

    def inconsistent(self) -> Iterator[InconsistentAddress]:
        """Yield addresses that are due, or have a last capture, other than their attempts say.

        Not those that are never due: they are known from elsewhere, or were taken down. Nor what others asked, which
        took no time that we know of.
        """
        return self._database.stream(InconsistentAddress._make, "addresses.inconsistent")

    def next_due(self, host: int) -> int | None:
        """Return when the next address of a host is due, in seconds since 1970; None where none ever is."""
        value: int | None = self._database.value("addresses.next_due", host)
        return value

    def request_rows(self, host: int, digests: Sequence[int]) -> dict[int, RequestRow]:
        """Return what is asked at those of a host's addresses where that is no plain GET, by their digests."""
        rows = self._database.rows(RequestRow._make, "addresses.request_rows", host, json.dumps([*digests]))
        return {row[0]: row for row in rows}
