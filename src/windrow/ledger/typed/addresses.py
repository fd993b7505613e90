"""Written by `make queries` from addresses.sql: edit that file, and run `make queries` again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from windrow.clock import parse
from windrow.ledger.database import LedgerQueries
from windrow.ledger.rows import RequestRow
from windrow.reasons import Reason


class HostRow(NamedTuple):
    """A host: an origin as one source of a collection requests it."""

    seq: int
    source: str
    origin: str


class DueAddress(NamedTuple):
    """An address to request, with the validators of its last response with a body.

    `last` is the digest of that body, or empty; `at` is the date of the archive record with the body, and `warc`,
    `offset` and `length` are its place. `unread_links` is whether the body was received before a certain fact, and its
    links were not read after it.
    """

    digest: int
    url: str
    kind: int
    place: int
    due: int
    interval: int
    failures: int
    etag: str
    modified: str
    last: str
    at: datetime | None
    warc: str
    offset: int
    length: int
    unread_links: bool


class FoundAddress(NamedTuple):
    """An address and its `position`, a number that increases in the order in which addresses were found."""

    position: int
    url: str


class AddressCount(NamedTuple):
    """Counts of a source's addresses of one kind: `known`, `pages` (had, and not failing), `failing` and `due`.

    `next_due` is the earliest due time of those that were requested, which may have passed.
    """

    collection: str
    source: str
    kind: int
    known: int
    pages: int
    failing: int
    due: int
    next_due: int | None


class NeverRequested(NamedTuple):
    """The number of a host's addresses that were never requested, and one of them (empty: none)."""

    number: int
    example: str


class KnownPage(NamedTuple):
    """An address that is known and not requested here, with its kind and order number."""

    url: str
    kind: int
    place: int


class DueCount(NamedTuple):
    """The number of a host's addresses that are due."""

    source: str
    origin: str
    number: int


class AddressRow(NamedTuple):
    """An address with its origin and source.

    `via` is the digest of the address at which it was found, or 0 for a seed. `due` is 0 if it was never requested, 1
    if it is next, and None if it is never due. `interval` is in seconds, `ELSEWHERE` if the address is known only from
    captures of others, or below that if it is taken down.
    """

    digest: int
    url: str
    origin: str
    source: str
    collection: str
    via: int
    via_url: str | None
    due: int | None
    interval: int
    capture: int
    failures: int
    host: int
    kind: int


class HostState(NamedTuple):
    """A host with counts of its addresses, and the next time when one is due.

    `asked` is the time of the last attempt at one of them or at robots.txt.
    """

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
    """An address of a source, when it is due (0: never requested; 1: next; None: never), and its failures in a row."""

    digest: int
    source: str
    url: str
    due: int | None
    failures: int


class FailingAddresses(NamedTuple):
    """The number of a source's addresses whose last attempt failed for a reason."""

    source: str
    reason: Reason
    number: int


class InconsistentAddress(NamedTuple):
    """An address whose due time or `capture` does not agree with its attempts.

    `attempts` is the number of its attempts, `last` the number of the last one that captured it, or 0.
    """

    url: str
    due: int
    capture: int
    attempts: int
    last: int


def _make_due_address(row: tuple[Any, ...]) -> DueAddress:
    digest, url, kind, place, due, interval, failures, etag, modified, last, at, warc, offset, length, unread_links = (
        row
    )
    return DueAddress(
        digest,
        url,
        kind,
        place,
        due,
        interval,
        failures,
        etag,
        modified,
        last,
        None if at is None else parse(at),
        warc,
        offset,
        length,
        bool(unread_links),
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


def _make_failing_addresses(row: tuple[Any, ...]) -> FailingAddresses:
    source, reason, number = row
    return FailingAddresses(source, Reason(reason), number)


class TypedAddresses(LedgerQueries):
    """The queries of addresses.sql."""

    def hosts(self, collection: str) -> list[HostRow]:
        """Return the hosts of a collection, in the order in which they were added."""
        return self._database.rows(HostRow._make, "addresses.hosts", collection)

    def hosts_crawled(self, collection: str) -> list[HostRow]:
        """Return the hosts of a collection, except those known only from captures of others."""
        return self._database.rows(HostRow._make, "addresses.hosts_crawled", collection)

    def own_or_captured_host(self, origin: str, collection: str, source: str) -> int | None:
        """Return the number of a source's host with this origin. If it has none, return a captured host's, or None.

        A captured host has the same collection and origin, and is known only from captures of others.
        """
        value: int | None = self._database.value("addresses.own_or_captured_host", origin, collection, source)
        return value

    def host(self, origin: str, collection: str, source: str = "") -> int | None:
        """Return the number of the host of `source` with this origin, or None. An empty `source` means any source."""
        value: int | None = self._database.value("addresses.host", origin, collection, source)
        return value

    def due_between(self, host: int, times: tuple[int, int], below: int, limit: int, rules: int) -> list[DueAddress]:
        """Return addresses of a host that are due between two `times`, in the order of due time and `place`.

        Only the first `limit` addresses with a `place` (order number) below `below` are returned. If the last response
        was a revisit, `at` and the place are those of the last record with the bytes. If the kind of an address changed
        after that response, its validators and `last` are empty, and `at` is None. The validators of a body that could
        not be used are empty: a 304 would say that it is still the same. So are those of an address that failed and is
        next, as after `retry`: windrow may have been unable to use what it got. What is known of a response whose bytes
        are damaged is left out, so that the bytes are received and kept anew. `rules` is the fact since which the
        present rules for links are in force.
        """
        return self._database.rows(
            _make_due_address, "addresses.due_between", rules, host, times[0], times[1], below, limit
        )

    def rests(self, now: int) -> dict[str, int]:
        """Return a dict from origin to the time, after `now`, until which it asked not to be requested."""
        return dict(self._database.rows(tuple, "addresses.rests", now))

    def found_after(self, collection: str, after: int, limit: int) -> list[FoundAddress]:
        """Return a collection's addresses after the position `after`, in the order in which they were found."""
        return self._database.rows(FoundAddress._make, "addresses.found_after", collection, after, limit)

    def count_upto(self, collection: str, position: int) -> int:
        """Count a collection's addresses up to and including a position (`FoundAddress`).

        An address that several sources have counts once. Addresses that were ever taken down are left out.
        """
        value: int = self._database.value("addresses.count_upto", collection, position)
        return value

    def last_position(self) -> int:
        """Return the position of the address that was found last, in any collection, or 0."""
        value: int = self._database.value("addresses.last_position")
        return value

    def by_source(self, now: int, gone_at_once: Sequence[str] = ()) -> list[AddressCount]:
        """Count the addresses of each source by kind.

        The table is read once in its own order, which takes less than half the time of a join with each address's host.
        Those that are due at the time `now` or before are counted as due, except those that each run requests.
        Documents that are gone are not failing: a first 404 means that in the collections `gone_at_once`, and a second
        one in all. An address known only from captures of others is a page if its last capture, except those that say
        that nothing changed, has a status from 200 to 299.
        """
        return self._database.rows(AddressCount._make, "addresses.by_source", json.dumps([*gone_at_once]), now)

    def known_by_source(self, now: int) -> list[AddressCount]:
        """Count the addresses of each source by kind; in the rows of kind 0, also all that are due at `now`.

        Those that each run requests are not counted as due, and nothing else is counted. Most addresses are of kind 0:
        the others are counted in the table, and all of them in an index, which is shorter.
        """
        return self._database.rows(AddressCount._make, "addresses.known_by_source", now)

    def never_requested(self, host: int) -> NeverRequested:
        """Count the addresses of a host that were never requested, and return one of them as an example."""
        (row,) = self._database.rows(NeverRequested._make, "addresses.never_requested", host)
        return row

    def known_only(self, host: int) -> list[KnownPage]:
        """Return the addresses of a host that are known, but never requested by this workspace."""
        return self._database.rows(KnownPage._make, "addresses.known_only", host)

    def due_by_host(self, collection: str, until: int) -> list[DueCount]:
        """Count the addresses of each host of a collection that are due at the time `until` or before."""
        return self._database.rows(DueCount._make, "addresses.due_by_host", until, collection)

    def next_of_source(self, collection: str, source: str, until: int, limit: int) -> list[str]:
        """Return the addresses of a source that are due at the time `until` or before, ordered by host and due time."""
        return self._database.column("addresses.next_of_source", until, collection, source, limit)

    def is_known(self, collection: str, digest: int) -> bool:
        """Return whether a collection has the address with this digest."""
        return bool(self._database.value("addresses.is_known", collection, digest))

    def get(self, collection: str, digest: int) -> AddressRow | None:
        """Return the address of a collection with this digest, or None if it is not known.

        If several sources have it, the row is that of the source that fetched it last.
        """
        return self._database.first(AddressRow._make, "addresses.get", collection, digest)

    def of_sources(self, collection: str, digest: int) -> list[AddressRow]:
        """Return an address once for each source of a collection that has it.

        The row of the source that fetched it last is the first.
        """
        return self._database.rows(AddressRow._make, "addresses.of_sources", collection, digest)

    def host_states(self, source: str, host_name: str, now: int) -> list[HostState]:
        """Return the hosts of `source` (empty: of all sources) whose host name is `host_name` (empty: all hosts).

        A host name means all of its ports, and the schemes HTTP and HTTPS. Addresses are counted as due or not at
        `now`.
        """
        return self._database.rows(_make_host_state, "addresses.host_states", now, source, host_name)

    def chosen(self, collection: str, digests: Sequence[int]) -> list[ChosenAddress]:
        """Return a collection's addresses with these digests that are not taken down, one for each source."""
        return self._database.rows(ChosenAddress._make, "addresses.chosen", collection, json.dumps([*digests]))

    def count_partial(self) -> dict[str, int]:
        """Return a dict from source to the number of its addresses whose last attempt received only a part."""
        return dict(self._database.rows(tuple, "addresses.count_partial"))

    def failing(self, collection: str, source: str, reason: str, excluded: Sequence[str] = ()) -> list[ChosenAddress]:
        """Return the addresses of a source whose last attempt failed for `reason` (empty: any source or reason).

        An attempt that received only a part of the body counts as failed, with the reason `truncated`. An attempt
        without a reason has that of its status (`reason_of_status`), or the reason why its answer was not used.
        Addresses of the sources `excluded`, and those that are never due, are left out.
        """
        return self._database.rows(
            ChosenAddress._make, "addresses.failing", collection, source, json.dumps([*excluded]), reason
        )

    def failing_reasons(self, gone_at_once: Sequence[str] = ()) -> list[FailingAddresses]:
        """Count by source and reason the addresses that `failing` lists, without those that are gone (`by_source`)."""
        return self._database.rows(_make_failing_addresses, "addresses.failing_reasons", json.dumps([*gone_at_once]))

    def failed_captures(
        self, collection: str, source: str, reason: str, excluded: Sequence[str]
    ) -> list[ChosenAddress]:
        """Return the addresses of wanted captures whose record could not be read, for `reason` (empty: any), as failed.

        They are those of a source; an empty `source` means any source except those in `excluded`.
        """
        return self._database.rows(
            ChosenAddress._make, "addresses.failed_captures", collection, source, reason, json.dumps([*excluded])
        )

    def waiting(self, collection: str, source: str, reason: str, excluded: Sequence[str] = ()) -> list[ChosenAddress]:
        """Return the addresses of a source (empty: any) that are requested next or were never requested.

        Addresses of the sources `excluded` are left out, and so are those that are never due. If `reason` is not empty,
        the addresses whose last attempt failed for this reason are returned instead.
        """
        return self._database.rows(
            ChosenAddress._make, "addresses.waiting", collection, source, json.dumps([*excluded]), reason
        )

    def inconsistent(self) -> Iterator[InconsistentAddress]:
        """Yield addresses whose due time or last capture does not agree with their attempts.

        Addresses that are never due are left out, and so are attempts of other programs, whose duration is not known.
        """
        return self._database.stream(InconsistentAddress._make, "addresses.inconsistent")

    def next_due(self, host: int) -> int | None:
        """Return the earliest time when an address of a host is due, or None if none will ever be due."""
        value: int | None = self._database.value("addresses.next_due", host)
        return value

    def request_rows(self, host: int, digests: Sequence[int]) -> dict[int, RequestRow]:
        """Return a dict from digest to the stored request of the address of a host with this digest.

        An address that is not in the dict is requested by a plain GET.
        """
        rows = self._database.rows(RequestRow._make, "addresses.request_rows", host, json.dumps([*digests]))
        return {row[0]: row for row in rows}
