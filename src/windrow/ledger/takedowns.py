"""Takedowns of addresses and origins: queries on them, and the removal of their rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Sequence

from windrow.digest import hash64
from windrow.formats.url import normalise, parts
from windrow.ledger.batch import LedgerBatch
from windrow.ledger.typed.takedowns import TakenDown, TargetCount, TypedTakedowns
from windrow.model import ArchivePlace


class TakenDownAddresses:
    """The addresses and origins that were taken down, in memory to check thousands of others quickly."""

    def __init__(self, taken_down: Iterable[TakenDown]) -> None:
        tombstones = [*taken_down]
        self._addresses = {tombstone.address for tombstone in tombstones if tombstone.origin is None}
        self._origins = {tombstone.origin for tombstone in tombstones if tombstone.origin is not None}

    def __bool__(self) -> bool:
        return bool(self._addresses or self._origins)

    def hold(self, uri: str) -> bool:
        """Return whether an address, in any spelling, was taken down."""
        url = normalise(uri).url
        return bool(url) and (hash64(url) in self._addresses or parts(url).origin in self._origins)


class TakedownQueries(TypedTakedowns):
    """Queries on takedowns; a target is an address, or with `host` an origin, by their numbers."""

    def addresses(self) -> TakenDownAddresses:
        """Return the addresses and origins of tombstones that are not lifted."""
        return TakenDownAddresses(self.taken_down())

    def count(self, address: int, host: int) -> TargetCount:
        """Count the attempts, captures and bytes of a target."""
        return self.count_attempts(self.attempts(address, host))

    def overwrite_what_is_deleted(self) -> None:
        """Have SQLite overwrite deleted data in the ledger's file from now on."""
        self._database.overwrite_what_is_deleted()

    def empty_log(self, pulse: Callable[[], object]) -> bool:
        """Empty the log beside the ledger's file; return whether it is empty. `pulse` is called often."""
        return self._database.empty_log(pulse)


class TakedownWriter:
    """Writes takedowns."""

    def __init__(self, batch: LedgerBatch) -> None:
        self._batch = batch

    def begin(
        self, session: int, collection: str, target: tuple[str, int, int], holder: str, reason: str
    ) -> int:  # fmt: skip
        """Record that a target (name, address, host) is taken down, and stop requests for it; return its number."""
        seq = self._batch.fact("tombstone", session, collection, *target, holder, reason)
        self._batch.flush()
        _, address, host = target
        name, target_number = ("take_down_host", host) if host else ("take_down_address", address)
        self._batch.database.execute(name, target_number)
        return seq

    def mark(self, tombstone: int, places: Iterable[ArchivePlace]) -> None:
        """Record which records of the archive must be erased."""
        self._batch.database.execute_many("takedown_mark_span", [(tombstone, *place) for place in places])

    def clear(self, tombstone: int, host: int, attempts: Sequence[int], kept: Collection[int]) -> None:
        """Clear the results of attempts at a target, and its origin's requests; captures of `kept` attempts stay."""
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
        """Clear requests to services for attempts; those shared with other attempts are assigned to these."""
        database, queries = self._batch.database, TypedTakedowns(self._batch.database)
        for request in queries.asked(attempts):
            database.execute("takedown_clear_request", request.digest, request.host)
            database.execute("takedown_clear_address", request.digest, request.host)
        for shared in queries.asked_too(attempts):
            attachments = [[at, shared.attempt, *part] for at, _, *part in json.loads(shared.attachments)]
            database.execute("takedown_send_from", json.dumps(attachments), shared.digest, shared.host)
            database.execute("takedown_found_from", shared.attempt, shared.digest, shared.host)

    def done(self, session: int, tombstone: int, counts: tuple[int, int, int]) -> int:
        """Record that a target was removed, with counts of captures, their bytes, and records."""
        return self._batch.fact("tombstone_end", session, tombstone, "done", *counts)

    def lift(self, session: int, tombstone: int) -> int:
        """Record that a target may be requested again."""
        return self._batch.fact("tombstone_end", session, tombstone, "lifted", 0, 0, 0)

    def due_again(self, address: int, host: int) -> None:
        """Make the addresses of a lifted tombstone due."""
        self._batch.flush()
        name, target = ("lift_host", host) if host else ("lift_address", address)
        self._batch.database.execute(name, target)
