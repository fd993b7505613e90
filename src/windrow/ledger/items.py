"""Items: what moves through the phases of a collection, where it stands, and what steps made of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from windrow.ledger.batch import LedgerBatch
from windrow.ledger.typed.items import TypedItems
from windrow.model import Finding, Member, Reading, Status
from windrow.reasons import Reason


class ItemQueries(TypedItems):
    """What is asked of items."""

    def states(self, items: Sequence[int]) -> dict[int, tuple[int, Status]]:
        """Return phase and status of each item."""
        return {row.item: (row.phase, row.status) for row in self.standings(items)}


class ItemWriter:
    """What is written of items."""

    def __init__(self, batch: LedgerBatch) -> None:
        """Gather with the other parts of a writer."""
        self._batch = batch

    def add(
        self, session: int, collection: str, kind: str, key: str, *, rank: str = "", owner: str = "",
        parent: int | None = None, fetch: int = 0, member: Member | None = None,
        size: int | None = None, state: tuple[int, Status] = (1, Status.PENDING),
        reason: Reason | None = None,
    ) -> int:  # fmt: skip
        """Put a thing on record with its first state."""
        digest, name, md5 = (member.digest, member.name, member.md5) if member else ("", "", "")
        size = member.size if member else size
        values = (collection, kind, key, parent, owner, fetch, digest, name, size, md5, rank, reason)
        item = self._batch.fact("item", session, *values)
        self._batch.row("standing", item, collection, kind, parent, fetch, rank, *state, reason, item)
        self._batch.fact("move", session, item, *state, reason, "")
        return item

    def start(self, session: int, item: int, step: str) -> int:
        """Note that a step was begun for an item."""
        return self._batch.fact("step_start", session, item, step)

    def decide(self, session: int, item: int, act: Reason, message: str = "") -> int:
        """Note that an item is to be fetched again (RETRIED), or ends where it stands (CANCELLED)."""
        return self._batch.fact("decision", session, item, act, message)

    def read(self, session: int, item: int, step: tuple[str, str], digest: str, reading: Reading) -> int:
        """Note what a step (its phase and version) made of a document."""
        made = (reading.reason, reading.count, reading.md5)
        return self._batch.fact("reading", session, item, *step, digest, *made)

    def move(
        self, session: int, item: int, state: tuple[int, Status], reason: Reason | None = None, message: str = ""
    ) -> int:
        """Move an item to a state."""
        seq = self._batch.fact("move", session, item, *state, reason, message)
        self._batch.row("moved", *state, reason, seq, item)
        return seq

    def stands_for(self, item: int, fetch: int) -> None:
        """Let an item be what an attempt of its brought, at once."""
        self._batch.flush()
        self._batch.database.execute("standing_fetched", fetch, item)

    def find(self, session: int, item: int, phase: int, findings: Iterable[Finding]) -> None:
        """Put findings on record."""
        for one in findings:
            self._batch.fact(
                "finding", session, item, phase, one.kind, one.level, one.message, one.line, one.column
            )  # fmt: skip
