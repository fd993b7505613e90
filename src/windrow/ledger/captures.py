"""Where kept bytes lie, and the WARC files of other makers that were taken in."""

from __future__ import annotations

import json

from windrow.ledger.batch import LedgerBatch
from windrow.ledger.rows import CapturedRow
from windrow.ledger.typed.captures import FailedRow, RuleRow, TypedCaptures
from windrow.model import KeptResponse, Status


class CaptureWriter:
    """Writes captures that others made."""

    def __init__(self, batch: LedgerBatch) -> None:
        self._batch = batch

    def begin(self, collection: str, source: str, name: str, rules: str) -> None:
        """Begin to look through an index; from its beginning, with no counts."""
        self._batch.database.execute("capture_index_begin", collection, source, name, rules)
        index = TypedCaptures(self._batch.database).index(collection, source, name)
        assert index is not None
        self._batch.database.execute("capture_index_forget_counts", index.id)

    def reach(self, index: int, place: int, seen: int) -> None:
        """Note that an index was looked through up to a place: so many lines more."""
        self._batch.database.execute("capture_index_reach", index, place, seen)

    def count(self, index: int, taken: int) -> None:
        """Add to the count of what was taken of an index."""
        self._batch.database.execute("capture_index_count", index, taken)

    def leave_out(self, index: int, rule: RuleRow) -> None:
        """Add to the count of what a rule left out."""
        self._batch.database.execute("capture_leave_out", index, *rule)

    def fail(self, attempt: int, collection: str, source: str, row: FailedRow) -> None:
        """Record that a wanted record could not be read."""
        where = (row.found_in, row.warc, row.offset, row.line, row.reason, row.address)
        self._batch.row("capture_failed", collection, source, *where, attempt)

    def mend(self, collection: str, place: tuple[str, int]) -> None:
        """Record that a failed record could be read after all."""
        self._batch.database.execute("capture_mended", collection, *place)

    def take(self, attempt: int, collection: str, source: str, row: CapturedRow, index: int) -> None:
        """Record whose capture an attempt took."""
        line = json.dumps([*row.line]) if row.line else ""
        self._batch.row("captured", attempt, collection, source, row.original, index, row.warc, row.offset, line)


class ImportWriter:
    """Writes WARC files of other makers."""

    def __init__(self, batch: LedgerBatch) -> None:
        self._batch = batch

    def add(self, session: int, collection: str, source: str, warc: str, size: int, step: str) -> int:  # noqa: PLR0917
        """Put a file on record, none of its records yet: it waits for the step that reads them."""
        intake = self._batch.fact("intake", session, collection, source, warc, size, 0)
        self._batch.row("pending_step", intake, collection, step, Status.PENDING, "", 0, None, intake)
        return intake

    def read_to(self, intake: int, offset: int) -> None:
        """Note that all its records before a place are on record."""
        self._batch.row("intake_at", offset, intake)

    def name(self, intake: int, name: str) -> None:
        """Add another name of a file, cut to 1,024 characters."""
        self._batch.row("intake_named", intake, name[:1024])

    def payload(self, spelled: str, kept: KeptResponse) -> None:
        """Note where bytes lie that revisits may refer to; the first place counts."""
        self._batch.row("payload", spelled, kept.digest, kept.size, *kept.place)

    def wait(self, intake: int, offset: int, spelled: str) -> None:
        """Record that a revisit waits for its bytes."""
        self._batch.row("intake_waits", intake, offset, spelled)

    def resolve(self, intake: int, offset: int) -> None:
        """Record that a revisit has its bytes."""
        self._batch.row("intake_waited", intake, offset)
