"""Written by `make queries` from takedowns.sql: change that, and run it again."""

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
    """What was said of taking a target down: when, by whom and why; when it was done, and lifted."""

    seq: int
    at: datetime
    target: str
    host: int
    holder: str
    reason: str
    done: datetime | None
    lifted: datetime | None


class OpenTombstone(NamedTuple):
    """A takedown that was begun and is not done; a `shared` address is asked for again when it is."""

    seq: int
    collection: str
    target: str
    address: int
    host: int
    shared: bool


class SharedRecord(NamedTuple):
    """An attempt whose record another attempt names too: whether that is one to the same address, and whose it is."""

    attempt: int
    same_address: bool
    collection: str
    source: str


class RecordSpan(NamedTuple):
    """Where a record lies in its file."""

    offset: int
    length: int


class TargetCount(NamedTuple):
    """What the ledger has of a target; sizes in bytes, as they lie in the archive."""

    addresses: int
    attempts: int
    captures: int
    bytes: int


class TakenDown(NamedTuple):
    """An address of which nothing may be kept, or where there is one, an origin."""

    address: int
    origin: str | None


class AskedRequest(NamedTuple):
    """What a step asked of a service for a document: the number of the request, and where it went."""

    digest: int
    host: int
    url: str


class SharedRequest(NamedTuple):
    """What a step asked of a service for a document and for others too.

    `attempt` is the first of those; attachments are JSON.
    """

    digest: int
    host: int
    attempt: int
    attachments: str


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
        """Return the tombstones of an address, and those of its origin."""
        return self._database.rows(_make_tombstone_row, "takedowns.of", address, host)

    def open(self) -> list[OpenTombstone]:
        """Return those that were begun and are not done: a run was killed over them.

        One that was lifted by the session that began it is of an address that has other things too: it is to be done
        all the same, and then asked for again.
        """
        return self._database.rows(_make_open_tombstone, "takedowns.open")

    def hosts(self) -> set[int]:
        """Return the origins of which nothing may be asked."""
        return {*self._database.column("takedowns.hosts")}

    def attempts(self, address: int, host: int) -> list[int]:
        """Return the attempts to a target, and those of other collections that took their captures.

        Their bytes may be gone already.
        """
        return self._database.column("takedowns.attempts", host, address)

    def collections(self, attempts: Iterable[int]) -> list[str]:
        """Return the collections that made attempts."""
        return self._database.column("takedowns.collections", json.dumps([*attempts]))

    def captures(self, attempts: Iterable[int]) -> list[TargetCapture]:
        """Return what was kept in attempts, file by file."""
        return self._database.rows(_make_target_capture, "takedowns.captures", json.dumps([*attempts]))

    def lent(self, attempts: Iterable[int], gone: Iterable[int]) -> set[str]:
        """Return digests of attempts whose bytes an attempt that is not `gone` has only by a revisit of them."""
        return {*self._database.column("takedowns.lent", json.dumps([*attempts]), json.dumps([*gone]))}

    def shared(self, attempts: Iterable[int], gone: Iterable[int]) -> list[SharedRecord]:
        """Return attempts whose record an attempt that is not `gone` names as its own."""
        return self._database.rows(
            _make_shared_record, "takedowns.shared", json.dumps([*attempts]), json.dumps([*gone])
        )

    def spans(self, tombstone: int) -> list[ArchivePlace]:
        """Return the records that are to be erased, file by file."""
        return self._database.rows(ArchivePlace._make, "takedowns.spans", tombstone)

    def records_of(self, warc: str) -> list[RecordSpan]:
        """Return the places of all records of a file that are on the ledger, in order."""
        return self._database.rows(RecordSpan._make, "takedowns.records_of", warc)

    def count_attempts(self, attempts: Sequence[int]) -> TargetCount:
        """Count what some attempts are of, and what they brought."""
        (row,) = self._database.rows(TargetCount._make, "takedowns.count_attempts", json.dumps([*attempts]))
        return row

    def taken_down(self) -> list[TakenDown]:
        """Return the addresses and origins of tombstones that are not lifted.

        What one source alone asked of an origin is not among them.
        """
        return self._database.rows(TakenDown._make, "takedowns.taken_down")

    def asked(self, attempts: Sequence[int]) -> list[AskedRequest]:
        """Return what steps asked of services for attempts, and for no other: it goes with them."""
        return self._database.rows(AskedRequest._make, "takedowns.asked", json.dumps([*attempts]))

    def asked_too(self, attempts: Sequence[int]) -> list[SharedRequest]:
        """Return what was asked for one of some attempts, and for others too."""
        return self._database.rows(SharedRequest._make, "takedowns.asked_too", json.dumps([*attempts]))

    def endings(self, attempts: Sequence[int]) -> list[str]:
        """Return why answers of some attempts led to nothing."""
        return self._database.column("takedowns.endings", json.dumps([*attempts]))
