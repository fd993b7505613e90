"""Takedowns: what of an address or an origin is to be gone, and what became of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from windrow.digest import number
from windrow.formats.url import normalise, parts
from windrow.ledger.batch import LedgerBatch
from windrow.ledger.database import LedgerDatabase
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


class TakenDown(NamedTuple):
    """An address of which nothing may be kept, or where there is one, an origin."""

    address: int
    origin: str | None


class TakenDownAddresses:
    """The addresses and origins of which nothing may be kept, held in memory while others come in by the thousand."""

    def __init__(self, taken_down: Iterable[TakenDown]) -> None:
        """Take the tombstones that stand."""
        standing = [*taken_down]
        self._addresses = {one.address for one in standing if one.origin is None}
        self._origins = {one.origin for one in standing if one.origin is not None}

    def __bool__(self) -> bool:
        """Tell whether there are any."""
        return bool(self._addresses or self._origins)

    def hold(self, uri: str) -> bool:
        """Tell whether an address, however it is written, was taken down."""
        url = normalise(uri).url
        return bool(url) and (number(url) in self._addresses or parts(url).origin in self._origins)


class TargetCapture(NamedTuple):
    """What was kept in one visit to a target; `borrowed` where another collection had it made."""

    visit: int
    session: int
    warc: str
    offset: int
    length: int
    digest: str
    revisit: bool
    borrowed: bool

    @property
    def place(self) -> ArchivePlace:
        """Where it lies."""
        return ArchivePlace(self.warc, self.offset, self.length)


class RecordSpan(NamedTuple):
    """Where a record lies in its file."""

    offset: int
    length: int


class SharedRecord(NamedTuple):
    """A visit whose record another visit names too: whether that is one to the same address, and whose it is."""

    visit: int
    same_address: bool
    collection: str
    source: str


class TargetCount(NamedTuple):
    """What the ledger has of a target; sizes in bytes, as they lie in the archive."""

    addresses: int
    visits: int
    captures: int
    bytes: int


class AskedRequest(NamedTuple):
    """What a step asked of a service for a document: the number of the request, and where it went."""

    digest: int
    host: int
    url: str


class _SharedRequest(NamedTuple):
    digest: int
    host: int
    visit: int
    attachments: str


class TakedownQueries:
    """What is asked of takedowns; a target is an address, or with `host` an origin, by their numbers."""

    def __init__(self, database: LedgerDatabase) -> None:
        """Ask this database."""
        self._database = database

    def of(self, address: int, host: int) -> list[TombstoneRow]:
        """Return the tombstones of an address, and those of its origin."""
        return self._database.rows(TombstoneRow, "tombstones", address, host)

    def open(self) -> list[OpenTombstone]:
        """Return those that were begun and are not done: a run was killed over them."""
        return self._database.rows(OpenTombstone, "tombstones_open")

    def addresses(self) -> TakenDownAddresses:
        """Return the addresses and origins of tombstones that stand now, since they are not lifted."""
        return TakenDownAddresses(self._database.rows(TakenDown, "taken_down"))

    def hosts(self) -> set[int]:
        """Return the origins of which nothing may be asked."""
        return {*self._database.column("hosts_taken_down")}

    def visits(self, address: int, host: int) -> list[int]:
        """Return the visits to a target, and those of other collections that took their captures."""
        return self._database.column("takedown_visits", address, host)

    def collections(self, visits: Iterable[int]) -> list[str]:
        """Return the collections that made visits."""
        return self._database.column("takedown_collections", json.dumps([*visits]))

    def captures(self, visits: Iterable[int]) -> list[TargetCapture]:
        """Return what was kept in visits, file by file."""
        return self._database.rows(TargetCapture, "takedown_captures", json.dumps([*visits]))

    def lent(self, visits: Iterable[int], gone: Iterable[int]) -> set[str]:
        """Return digests of visits whose bytes a visit that is not `gone` has only by a revisit of them."""
        return {*self._database.column("takedown_lent", json.dumps([*visits]), json.dumps([*gone]))}

    def shared(self, visits: Iterable[int], gone: Iterable[int]) -> list[SharedRecord]:
        """Return visits whose record a visit that is not `gone` names as its own."""
        return self._database.rows(SharedRecord, "takedown_shared", json.dumps([*visits]), json.dumps([*gone]))

    def asked(self, visits: Sequence[int]) -> list[AskedRequest]:
        """Return what steps asked of services for visits, and for no other: it goes with them."""
        return self._database.rows(AskedRequest, "takedown_asked_only", json.dumps(visits))

    def spans(self, tombstone: int) -> list[ArchivePlace]:
        """Return the records that are to be erased, file by file."""
        return self._database.rows(ArchivePlace, "takedown_spans", tombstone)

    def records_of(self, warc: str) -> list[RecordSpan]:
        """Return the places of all records of a file that are on the ledger, in order."""
        return self._database.rows(RecordSpan, "takedown_places", warc)

    def count(self, address: int, host: int) -> TargetCount:
        """Count what there is of a target."""
        found = self._database.first(TargetCount, "takedown_counts", json.dumps(self.visits(address, host)))
        assert found is not None  # it counts, so there is always a row
        return found

    def overwrite_what_is_deleted(self) -> None:
        """Leave nothing of what is taken down in free places of the ledger's file, from now on."""
        self._database.overwrite_what_is_deleted()

    def empty_log(self, pulse: Callable[[], object]) -> bool:
        """Tell whether the log beside the ledger's file has nothing left of what is gone; `pulse` is called often."""
        return self._database.empty_log(pulse)


class TakedownWriter:
    """What is written of takedowns."""

    def __init__(self, batch: LedgerBatch) -> None:
        """Gather with the other parts of a writer."""
        self._batch = batch

    def begin(
        self, session: int, collection: str, target: tuple[str, int, int], holder: str, reason: str
    ) -> int:  # fmt: skip
        """Say that a target (its name, its address, its host) is taken down, and have nothing of it asked again."""
        seq = self._batch.fact("tombstone", session, collection, *target, holder, reason)
        self._batch.flush()
        _, address, host = target
        name, value = ("take_down_host", host) if host else ("take_down_address", address)
        self._batch.database.execute(name, value)
        return seq

    def mark(self, tombstone: int, places: Iterable[ArchivePlace]) -> None:
        """Note which records are to be erased."""
        self._batch.database.execute_many("takedown_mark_span", [(tombstone, *place) for place in places])

    def clear(self, tombstone: int, host: int, visits: Sequence[int], kept: Collection[int]) -> None:
        """Clear what came of visits to a target, and its origin's requests; the captures of those `kept` stay."""
        self._batch.database.execute("takedown_clear_payloads", tombstone)
        self._clear_services(visits)
        run, every = self._batch.database.execute, json.dumps(visits)
        for ending in self._batch.database.column("takedown_endings", every):
            run("takedown_clear_comments", ending)
        for query in (
            "takedown_clear_followed",
            "takedown_clear_learned",
            "takedown_clear_offered",
            "takedown_clear_unread",
            "takedown_clear_listings",
            "takedown_clear_known",
            "takedown_clear_asked",
        ):
            run(query, every)
        run("takedown_clear_requests", host)
        cleared = json.dumps([one for one in visits if one not in kept])
        run("takedown_clear_visits", cleared)
        run("takedown_clear_lines", cleared)

    def _clear_services(self, visits: Sequence[int]) -> None:
        """Clear what services were asked for visits; what they were asked for others too is sent from those now."""
        database, every = self._batch.database, json.dumps(visits)
        for one in database.rows(AskedRequest, "takedown_asked_only", every):
            database.execute("takedown_clear_request", one.digest, one.host)
            database.execute("takedown_clear_address", one.digest, one.host)
        for other in database.rows(_SharedRequest, "takedown_asked_too", every):
            attachments = [[at, other.visit, *rest] for at, _, *rest in json.loads(other.attachments)]
            database.execute("takedown_send_from", json.dumps(attachments), other.digest, other.host)
            database.execute("takedown_found_from", other.visit, other.digest, other.host)

    def done(self, session: int, tombstone: int, counts: tuple[int, int, int]) -> int:
        """Say that a target is gone, with counts of captures, their bytes, and records."""
        return self._batch.fact("tombstone_end", session, tombstone, "done", *counts)

    def lift(self, session: int, tombstone: int) -> int:
        """Say that a target may be asked for again."""
        return self._batch.fact("tombstone_end", session, tombstone, "lifted", 0, 0, 0)

    def due_again(self, address: int, host: int) -> None:
        """Make what a lifted tombstone held due."""
        self._batch.flush()
        name, value = ("lift_host", host) if host else ("lift_address", address)
        self._batch.database.execute(name, value)
