"""Record what happens to items: readings of steps, decisions and findings, and the step that each item waits for.

These items are listed files, members of listed files, and imported WARC files, each identified by its number.
"""

from __future__ import annotations

from collections.abc import Iterable

from windrow.formats.text import replace_lone_surrogates
from windrow.ledger.batch import LedgerBatch
from windrow.model import Finding, Reading, Status
from windrow.reasons import Reason


class ItemWriter:
    """Writes readings, decisions and findings, and the steps for which items wait."""

    def __init__(self, batch: LedgerBatch) -> None:
        self._batch = batch

    def start(self, session: int, item: int, step: str) -> int:
        """Record that a step has begun for an item. Return the number of the fact."""
        return self._batch.fact("step_start", session, item, step)

    def add_reading(  # noqa: PLR0917
        self, session: int, item: int, step: tuple[str, str], digest: str, reading: Reading, then: str
    ) -> int:
        """Record the reading of an item by a step. Return the number of the fact.

        If the reading has a reason, the item has failed. Otherwise it waits for the step `then`, or is done if `then`
        is empty. `step` has the phase and version of the step. `digest` is the digest of the bytes that were read.
        """
        phase, version = step
        outcome = (reading.reason, reading.count, reading.md5)
        number = self._batch.fact("reading", session, item, phase, version, digest, *outcome)
        if reading.reason:
            self.fail(item, phase, reading.reason, number)
        elif then:
            self._batch.row("item_waits", item, then, Status.PENDING, None, None, number)
        else:
            self._batch.row("item_through", item)
        return number

    def retry(self, session: int, item: int, step: str, message: str = "") -> int:
        """Record the decision that an item is fetched again: it waits for `step` now. `message` says why."""
        number = self._batch.fact("decision", session, item, Reason.RETRIED, message)
        self._batch.row("item_waits", item, step, Status.PENDING, None, Reason.RETRIED, number)
        return number

    def end(self, session: int, item: int, reason: Reason, message: str = "") -> int:
        """Record the decision that no further step processes an item. Return the number of the fact.

        `reason` is CANCELLED, or RETRIED if the item is a member of a file that is fetched again.
        """
        number = self._batch.fact("decision", session, item, reason, message)
        self._batch.row("item_ends", item, reason, number)
        return number

    def arrive(self, item: int, step: str, attempt: int, since: int) -> None:
        """Record that the file `item`, which `attempt` fetched, waits for `step`, or is done if `step` is empty.

        `since` is the number of the fact that says so.
        """
        if step:
            self._batch.row("item_waits", item, step, Status.PENDING, attempt, None, since)
        else:
            self._batch.row("item_through", item)

    def fail(self, item: int, step: str, reason: Reason, since: int) -> None:
        """Record that an item failed at `step` for a reason. `since` is the number of the fact that says so."""
        self._batch.row("item_waits", item, step, Status.FAILED, None, reason, since)

    def add_findings(self, session: int, item: int, phase: int, findings: Iterable[Finding]) -> None:
        """Record the findings about an item in the phase with the number `phase`."""
        for finding in findings:
            position = (finding.line, finding.column)
            texts = (finding.kind, finding.level, replace_lone_surrogates(finding.message))
            self._batch.fact("finding", session, item, phase, *texts, *position)
