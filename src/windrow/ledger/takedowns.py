"""Takedowns: what of an address or an origin is to be gone, and what became of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Sequence

from windrow.digest import number
from windrow.formats.url import normalise, parts
from windrow.ledger.batch import LedgerBatch
from windrow.ledger.typed.takedowns import TakenDown, TargetCount, TypedTakedowns
from windrow.model import ArchivePlace


class TakenDownAddresses:
    """The addresses and origins of which nothing may be kept, held in memory while others come in by the thousand."""

    def __init__(self, taken_down: Iterable[TakenDown]) -> None:
        standing = [*taken_down]
        self._addresses = {tombstone.address for tombstone in standing if tombstone.origin is None}
        self._origins = {tombstone.origin for tombstone in standing if tombstone.origin is not None}

    def __bool__(self) -> bool:
        return bool(self._addresses or self._origins)

    def hold(self, uri: str) -> bool:
        """Tell whether an address, however it is written, was taken down."""
        url = normalise(uri).url
        return bool(url) and (number(url) in self._addresses or parts(url).origin in self._origins)


class TakedownQueries(TypedTakedowns):
    """Queries on takedowns; a target is an address, or with `host` an origin, by their numbers."""

    def addresses(self) -> TakenDownAddresses:
        """Return the addresses and origins of tombstones that stand now, since they are not lifted."""
        return TakenDownAddresses(self.taken_down())

    def count(self, address: int, host: int) -> TargetCount:
        """Count what there is of a target."""
        return self.count_attempts(self.attempts(address, host))

    def overwrite_what_is_deleted(self) -> None:
        """Leave nothing of what is taken down in free places of the ledger's file, from now on."""
        self._database.overwrite_what_is_deleted()

    def empty_log(self, pulse: Callable[[], object]) -> bool:
        """Tell whether the log beside the ledger's file has nothing left of what is gone; `pulse` is called often."""
        return self._database.empty_log(pulse)


class TakedownWriter:
    """Writes takedowns."""

    def __init__(self, batch: LedgerBatch) -> None:
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

    def clear(self, tombstone: int, host: int, attempts: Sequence[int], kept: Collection[int]) -> None:
        """Clear what came of attempts to a target, and its origin's requests; the captures of those `kept` stay."""
        self._batch.database.execute("takedown_clear_payloads", tombstone)
        self._clear_services(attempts)
        run, every = self._batch.database.execute, json.dumps(attempts)
        for ending in TypedTakedowns(self._batch.database).endings(attempts):
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
        cleared = json.dumps([attempt for attempt in attempts if attempt not in kept])
        run("takedown_clear_attempts", cleared)
        run("takedown_clear_lines", cleared)

    def _clear_services(self, attempts: Sequence[int]) -> None:
        """Clear what services were asked for attempts; what they were asked for others too is sent from those now."""
        database, queries = self._batch.database, TypedTakedowns(self._batch.database)
        for request in queries.asked(attempts):
            database.execute("takedown_clear_request", request.digest, request.host)
            database.execute("takedown_clear_address", request.digest, request.host)
        for shared in queries.asked_too(attempts):
            attachments = [[at, shared.visit, *rest] for at, _, *rest in json.loads(shared.attachments)]
            database.execute("takedown_send_from", json.dumps(attachments), shared.digest, shared.host)
            database.execute("takedown_found_from", shared.visit, shared.digest, shared.host)

    def done(self, session: int, tombstone: int, counts: tuple[int, int, int]) -> int:
        """Say that a target is gone, with counts of captures, their bytes, and records."""
        return self._batch.fact("tombstone_end", session, tombstone, "done", *counts)

    def lift(self, session: int, tombstone: int) -> int:
        """Say that a target may be asked for again."""
        return self._batch.fact("tombstone_end", session, tombstone, "lifted", 0, 0, 0)

    def due_again(self, address: int, host: int) -> None:
        """Make what a lifted tombstone held due."""
        self._batch.flush()
        name, target = ("lift_host", host) if host else ("lift_address", address)
        self._batch.database.execute(name, target)
