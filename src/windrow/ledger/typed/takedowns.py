"""Written by `make queries` from takedowns.sql: edit that file, and run `make queries` again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from windrow.clock import parse
from windrow.ledger.database import LedgerQueries
from windrow.ledger.rows import TargetCapture
from windrow.model import ArchivePlace


class TombstoneRow(NamedTuple):
    """A takedown of a target: when, by which process and why it was ordered.

    `done` and `lifted` are when it was done and when it was lifted (None: not yet).
    """

    seq: int
    at: datetime
    target: str
    host: int
    holder: str
    reason: str
    done: datetime | None
    lifted: datetime | None


class StandingTakedown(NamedTuple):
    """A takedown that is not lifted. `narrower` is whether it covers only some of the hosts that were known to it."""

    seq: int
    target: str
    address: int
    host: int
    narrower: bool


class OpenTombstone(NamedTuple):
    """A takedown that has begun and is not done. `shared` is true if its address is due again afterwards."""

    seq: int
    collection: str
    target: str
    address: int
    host: int
    shared: bool


class TakenDownSource(NamedTuple):
    """A source, of which all hosts are taken down."""

    collection: str
    source: str


class SharedRecord(NamedTuple):
    """An attempt that refers to the same record as another attempt, with the collection and source of the other.

    `same_address` is whether both are at the same address.
    """

    attempt: int
    same_address: bool
    collection: str
    source: str


class ErasedRecord(NamedTuple):
    """A record of the archive that a takedown erased."""

    tombstone: int
    warc: str
    offset: int
    length: int


class RecordSpan(NamedTuple):
    """The offset and length of a record in its file."""

    offset: int
    length: int


class TargetCount(NamedTuple):
    """The numbers of a target's addresses, attempts and captures, and of the bytes of its records in the archive."""

    addresses: int
    attempts: int
    captures: int
    bytes: int


class TakenDown(NamedTuple):
    """An address from which nothing may be kept, or an origin if `origin` is not None."""

    address: int
    origin: str | None


class AskedRequest(NamedTuple):
    """A request to a service that a step made for a document, and its URL."""

    digest: int
    host: int
    url: str


class SharedRequest(NamedTuple):
    """A request to a service that steps made for several documents.

    `attempt` is the first of the other attempts for which the request was made. `attachments` are JSON.
    """

    digest: int
    host: int
    attempt: int
    attachments: str


class TaskComment(NamedTuple):
    """The comment with which a task ended."""

    task: int
    comment: str


def _make_tombstone_row(row: tuple[Any, ...]) -> TombstoneRow:
    seq, at, target, host, holder, reason, done, lifted = row
    return TombstoneRow(
        seq,
        parse(at),
        target,
        host,
        holder,
        reason,
        None if done is None else parse(done),
        None if lifted is None else parse(lifted),
    )


def _make_standing_takedown(row: tuple[Any, ...]) -> StandingTakedown:
    seq, target, address, host, narrower = row
    return StandingTakedown(seq, target, address, host, bool(narrower))


def _make_open_tombstone(row: tuple[Any, ...]) -> OpenTombstone:
    seq, collection, target, address, host, shared = row
    return OpenTombstone(seq, collection, target, address, host, bool(shared))


def _make_target_capture(row: tuple[Any, ...]) -> TargetCapture:
    attempt, session, warc, offset, length, digest, revisit, borrowed = row
    return TargetCapture(attempt, session, warc, offset, length, digest, bool(revisit), bool(borrowed))


def _make_shared_record(row: tuple[Any, ...]) -> SharedRecord:
    attempt, same_address, collection, source = row
    return SharedRecord(attempt, bool(same_address), collection, source)


class TypedTakedowns(LedgerQueries):
    """The queries of takedowns.sql."""

    def of(self, address: int, host: int) -> list[TombstoneRow]:
        """Return the tombstones of an address and of its host (-1: not known), in order."""
        return self._database.rows(_make_tombstone_row, "takedowns.of", address, host)

    def standing(self, addresses: Sequence[int], hosts: Sequence[int]) -> list[StandingTakedown]:
        """Return the takedowns, in order, that keep these addresses or something of these hosts from being requested.

        These are takedowns of the addresses themselves and of their hosts, and of the hosts and of their addresses.
        """
        return self._database.rows(
            _make_standing_takedown, "takedowns.standing", json.dumps([*hosts]), json.dumps([*addresses])
        )

    def open(self) -> list[OpenTombstone]:
        """Return the takedowns that have begun and are not done, for example because a run was killed.

        This includes takedowns that were lifted by the session that began them: their address also has other documents,
        so it is due again when the takedown is done.
        """
        return self._database.rows(_make_open_tombstone, "takedowns.open")

    def hosts(self) -> set[int]:
        """Return the hosts from which nothing may be requested."""
        return {*self._database.column("takedowns.hosts")}

    def sources(self) -> list[TakenDownSource]:
        """Return the sources of which all hosts are taken down."""
        return self._database.rows(TakenDownSource._make, "takedowns.sources")

    def attempts(self, address: int, host: int) -> list[int]:
        """Return the attempts at a target, and those that took captures of these attempts from an index, in order.

        Of a capture that several sources of a collection took, one has the index, and the others refer to its attempt.
        """
        return self._database.column("takedowns.attempts", host, address)

    def collections(self, attempts: Iterable[int]) -> list[str]:
        """Return the collections that made these attempts."""
        return self._database.column("takedowns.collections", json.dumps([*attempts]))

    def captures(self, attempts: Iterable[int]) -> list[TargetCapture]:
        """Return the captures of these attempts, file by file."""
        return self._database.rows(_make_target_capture, "takedowns.captures", json.dumps([*attempts]))

    def lent(self, attempts: Iterable[int], gone: Iterable[int]) -> set[str]:
        """Return the digests of those bytes of these attempts that other attempts need, as they have none of their own.

        Attempts in `gone` need nothing. Bytes that an attempt at the same address, not in `gone`, also has are not
        needed.
        """
        return {*self._database.column("takedowns.lent", json.dumps([*attempts]), json.dumps([*gone]))}

    def shared(self, attempts: Iterable[int], gone: Iterable[int]) -> list[SharedRecord]:
        """Return those `attempts` whose record in the archive is also that of an attempt not in `gone`."""
        return self._database.rows(
            _make_shared_record, "takedowns.shared", json.dumps([*attempts]), json.dumps([*gone])
        )

    def spans(self, tombstone: int) -> list[ArchivePlace]:
        """Return the places of the records to erase for a takedown, file by file."""
        return self._database.rows(ArchivePlace._make, "takedowns.spans", tombstone)

    def first_erased(self) -> list[ErasedRecord]:
        """Return the first record that each finished takedown erased from each WARC file.

        Places to which attempts refer are left out, since the bytes were kept again.
        """
        return self._database.rows(ErasedRecord._make, "takedowns.first_erased")

    def erased_places(self, tombstone: int, warc: str) -> list[ArchivePlace]:
        """Return the places from which a takedown erased records of a WARC file, if no attempt refers to them."""
        return self._database.rows(ArchivePlace._make, "takedowns.erased_places", tombstone, warc)

    def records_of(self, warc: str) -> list[RecordSpan]:
        """Return the places of those records of a WARC file to which attempts refer, in order."""
        return self._database.rows(RecordSpan._make, "takedowns.records_of", warc)

    def count_attempts(self, attempts: Sequence[int]) -> TargetCount:
        """Count these attempts, their addresses and captures, and the bytes of their records."""
        (row,) = self._database.rows(TargetCount._make, "takedowns.count_attempts", json.dumps([*attempts]))
        return row

    def target_sources(self, address: int, host: int, name: str) -> list[str]:
        """Return the sources that have an address, or a host, or the origin of a host if `name` is that origin."""
        return self._database.column("takedowns.target_sources", host, address, name)

    def taken_down(self) -> list[TakenDown]:
        """Return the addresses and origins whose tombstones are not lifted.

        Tombstones for the addresses of one source at an origin, and not for the whole origin, are left out.
        """
        return self._database.rows(TakenDown._make, "takedowns.taken_down")

    def asked(self, attempts: Sequence[int]) -> list[AskedRequest]:
        """Return the requests to services that steps made for these attempts and for no others."""
        return self._database.rows(AskedRequest._make, "takedowns.asked", json.dumps([*attempts]))

    def asked_too(self, attempts: Sequence[int]) -> list[SharedRequest]:
        """Return the requests to services that steps made for one of these attempts and for others too."""
        return self._database.rows(SharedRequest._make, "takedowns.asked_too", json.dumps([*attempts]))

    def endings(self, attempts: Sequence[int]) -> list[str]:
        """Return the messages of the discovery (`Followed.ending`) about the answers of these attempts."""
        return self._database.column("takedowns.endings", json.dumps([*attempts]))

    def left_out(self) -> set[str]:
        """Return the addresses that are examples of what rules left out of indexes."""
        return {*self._database.column("takedowns.left_out")}

    def comments_with_examples(self) -> list[TaskComment]:
        """Return the comments that count what a rule left out, with an example (`RuleCount.as_comment`)."""
        return self._database.rows(TaskComment._make, "takedowns.comments_with_examples")
