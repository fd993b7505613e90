"""Items, whatever they are: what steps made of them, and the step that each waits for."""

from __future__ import annotations

from collections.abc import Iterable

from windrow.ledger.batch import LedgerBatch
from windrow.model import Finding, Reading, Status
from windrow.reasons import Reason


class ItemWriter:
    """Writes items."""

    def __init__(self, batch: LedgerBatch) -> None:
        self._batch = batch

    def start(self, session: int, item: int, step: str) -> int:
        """Note that a step was begun for an item."""
        return self._batch.fact("step_start", session, item, step)

    def read(self, session: int, item: int, step: tuple[str, str], digest: str, reading: Reading, then: str) -> int:  # noqa: PLR0917
        """Note what a step (its phase and version) made of a document.

        It waits for the step `then` unless it failed; it is through where that is empty.
        """
        phase, version = step
        outcome = (reading.reason, reading.count, reading.md5)
        seq = self._batch.fact("reading", session, item, phase, version, digest, *outcome)
        if reading.reason:
            self.fail(item, phase, reading.reason, seq)
        elif then:
            self._batch.row("item_waits", item, then, Status.PENDING, None, None, seq)
        else:
            self._batch.row("item_through", item)
        return seq

    def retry(self, session: int, item: int, step: str, message: str = "") -> int:
        """Note that an item is to be fetched again: it waits for `step`, whatever became of it."""
        seq = self._batch.fact("decision", session, item, Reason.RETRIED, message)
        self._batch.row("item_waits", item, step, Status.PENDING, None, Reason.RETRIED, seq)
        return seq

    def end(self, session: int, item: int, reason: Reason, message: str = "") -> int:
        """Note that an item ends where it stands: by an operator, or since another attempt brings its successor."""
        seq = self._batch.fact("decision", session, item, reason, message)
        self._batch.row("item_ends", item, reason, seq)
        return seq

    def arrive(self, item: int, step: str, attempt: int, since: int) -> None:
        """Make a file wait for its first step with what an attempt brought; without steps it has finished."""
        if step:
            self._batch.row("item_waits", item, step, Status.PENDING, attempt, None, since)
        else:
            self._batch.row("item_through", item)

    def fail(self, item: int, step: str, reason: Reason, since: int) -> None:
        """Mark an item failed at a step, since a fact."""
        self._batch.row("item_waits", item, step, Status.FAILED, None, reason, since)

    def find(self, session: int, item: int, phase: int, findings: Iterable[Finding]) -> None:
        """Record findings."""
        for finding in findings:
            place = (finding.line, finding.column)
            self._batch.fact("finding", session, item, phase, finding.kind, finding.level, finding.message, *place)
