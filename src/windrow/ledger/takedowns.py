"""Record takedowns of addresses and origins, and delete the rows of what is taken down.

A target is an address, given by the digest of its request, or all addresses of a host, given by the host's number.
`host` is 0 if the target is an address.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Sequence

from windrow.digest import hash64
from windrow.formats.url import normalise, parts
from windrow.ledger.batch import LedgerBatch
from windrow.ledger.sessions import RuleCount
from windrow.ledger.typed.takedowns import TakenDown, TypedTakedowns
from windrow.model import ArchivePlace, FoundUrl


class TakenDownAddresses:
    """The addresses and origins that are taken down, in memory, to compare thousands of addresses with them."""

    def __init__(self, taken_down: Iterable[TakenDown]) -> None:
        tombstones = [*taken_down]
        self._addresses = {tombstone.address for tombstone in tombstones if tombstone.origin is None}
        self._origins = {tombstone.origin for tombstone in tombstones if tombstone.origin is not None}

    def __bool__(self) -> bool:
        return bool(self._addresses or self._origins)

    def contains(self, uri: str) -> bool:
        """Return whether an address, in any spelling, is taken down, by itself or with its origin.

        An address that is not valid is not taken down.
        """
        url = normalise(uri).url
        return bool(url) and (hash64(url) in self._addresses or parts(url).origin in self._origins)

    def has_origin(self, origin: str) -> bool:
        """Return whether a whole origin is taken down."""
        return origin in self._origins

    def has_found(self, url: FoundUrl) -> bool:
        """Return whether an address in its normal spelling is taken down, by itself or with its origin."""
        return url.digest in self._addresses or url.origin in self._origins


class TakedownQueries(TypedTakedowns):
    """Queries on takedowns."""

    def addresses(self) -> TakenDownAddresses:
        """Return the addresses and origins that are taken down now."""
        return TakenDownAddresses(self.taken_down())

    def overwrite_what_is_deleted(self) -> None:
        """Let SQLite overwrite deleted data in the ledger's file with zeros from now on."""
        self._database.overwrite_what_is_deleted()

    def empty_log(self, pulse: Callable[[], object]) -> bool:
        """Empty SQLite's log beside the ledger, calling `pulse` while waiting. Return whether the log is empty."""
        return self._database.empty_log(pulse)


class TakedownWriter:
    """Writes takedowns, and deletes what the ledger has about their targets."""

    def __init__(self, batch: LedgerBatch) -> None:
        self._batch = batch

    def begin(
        self, session: int, collection: str, target: tuple[str, int, int], process: str, reason: str
    ) -> int:  # fmt: skip
        """Record that `process` takes down a target (name, address, host). Return the number of the tombstone.

        The addresses of the target are never due from now on, and no longer refer to captures.
        """
        seq = self._batch.fact("tombstone", session, collection, *target, process, reason)
        self._batch.flush()
        _, address, host = target
        name, target_number = ("take_down_host", host) if host else ("take_down_address", address)
        self._batch.database.execute(name, target_number)
        return seq

    def record_spans(self, tombstone: int, places: Iterable[ArchivePlace]) -> None:
        """Record the places of the records in the archive that must be erased for a tombstone."""
        self._batch.database.execute_many("takedown_mark_span", [(tombstone, *place) for place in places])

    def clear(self, tombstone: int, host: int, attempts: Sequence[int], attempts_to_keep: Collection[int]) -> None:
        """Delete what the attempts of a takedown led to, and clear their outcomes.

        The outcomes of `attempts_to_keep` remain. If `host` is not 0, the stored requests of its addresses are deleted.
        """
        self._batch.database.execute("takedown_clear_payloads", tombstone)
        self._clear_services(attempts)
        execute, attempts_json = self._batch.database.execute, json.dumps(attempts)
        queries = TypedTakedowns(self._batch.database)
        for ending in queries.endings(attempts):
            execute("takedown_clear_comments", ending)
        taken_down = TakenDownAddresses(queries.taken_down())
        for url in filter(taken_down.contains, queries.left_out()):
            execute("takedown_clear_left_out", url)
        for task, comment in queries.comments_with_examples():
            count = RuleCount.read("", "", comment)
            if count is not None and taken_down.contains(count.example):
                execute("takedown_clear_example", task, count.example)
        for query_name in (
            "takedown_clear_followed",
            "takedown_clear_learned",
            "takedown_clear_offered",
            "takedown_clear_unread",
            "takedown_clear_listings",
            "takedown_clear_known",
            "takedown_clear_asked",
            "takedown_clear_failed",
            "takedown_clear_messages",
        ):
            execute(query_name, attempts_json)
        execute("takedown_clear_requests", host)
        cleared_json = json.dumps([attempt for attempt in attempts if attempt not in attempts_to_keep])
        execute("takedown_clear_attempts", cleared_json)
        execute("takedown_clear_lines", cleared_json)

    def _clear_services(self, attempts: Sequence[int]) -> None:
        """Delete the requests to services that only `attempts` made; assign the others to their first other attempt."""
        database, queries = self._batch.database, TypedTakedowns(self._batch.database)
        for request in queries.asked(attempts):
            database.execute("takedown_clear_request", request.digest, request.host)
            database.execute("takedown_clear_address", request.digest, request.host)
        for shared in queries.asked_too(attempts):
            attachments = [
                [body_offset, shared.attempt, *span] for body_offset, _, *span in json.loads(shared.attachments)
            ]
            database.execute("takedown_send_from", json.dumps(attachments), shared.digest, shared.host)
            database.execute("takedown_found_from", shared.attempt, shared.digest, shared.host)

    def record_done(self, session: int, tombstone: int, counts: tuple[int, int, int]) -> int:
        """Record that a takedown is done. `counts` are the numbers of deleted captures, bytes and records."""
        return self._batch.fact("tombstone_end", session, tombstone, "done", *counts)

    def lift(self, session: int, tombstone: int) -> int:
        """Record that the target of a tombstone may be requested again. Return the number of the fact."""
        return self._batch.fact("tombstone_end", session, tombstone, "lifted", 0, 0, 0)

    def make_due_again(self, address: int, host: int) -> None:
        """Make due again the addresses of a lifted tombstone that the takedown made never due.

        Addresses that another tombstone, of the address or its host, still covers are not changed.
        """
        self._batch.flush()
        name, target = ("lift_host", host) if host else ("lift_address", address)
        self._batch.database.execute(name, target)
