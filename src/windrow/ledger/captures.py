"""Writers for captures that others made, and for imported WARC files."""

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
        """Start reading an index from its beginning, with its counts at 0."""
        self._batch.database.execute("capture_index_begin", collection, source, name, rules)
        index = TypedCaptures(self._batch.database).index(collection, source, name)
        assert index is not None
        self._batch.database.execute("capture_index_forget_counts", index.id)

    def reach(self, index: int, place: int, seen: int) -> None:
        """Record that an index was read up to a place, and add the number of lines."""
        self._batch.database.execute("capture_index_reach", index, place, seen)

    def count(self, index: int, taken: int) -> None:
        """Add to the number of captures taken from an index."""
        self._batch.database.execute("capture_index_count", index, taken)

    def leave_out(self, index: int, rule: RuleRow) -> None:
        """Add to the number of lines that a rule left out."""
        self._batch.database.execute("capture_leave_out", index, *rule)

    def fail(self, attempt: int, collection: str, source: str, row: FailedRow) -> None:
        """Record that a wanted record could not be read."""
        columns = (row.found_in, row.warc, row.offset, row.line, row.reason, row.address)
        self._batch.row("capture_failed", collection, source, *columns, attempt)

    def mend(self, collection: str, place: tuple[str, int]) -> None:
        """Record that a failed record could be read after all."""
        self._batch.database.execute("capture_mended", collection, *place)

    def take(self, attempt: int, collection: str, source: str, row: CapturedRow, index: int) -> None:
        """Record whose capture an attempt took."""
        line = json.dumps([*row.line]) if row.line else ""
        self._batch.row("captured", attempt, collection, source, row.original, index, row.warc, row.offset, line)


class ImportWriter:
    """Writes imported WARC files."""

    def __init__(self, batch: LedgerBatch) -> None:
        self._batch = batch

    def add(self, session: int, collection: str, source: str, warc: str, size: int, step: str) -> int:  # noqa: PLR0917
        """Record a file, which waits for the step that reads its records; return its number."""
        intake = self._batch.fact("intake", session, collection, source, warc, size, 0)
        self._batch.row("pending_step", intake, collection, step, Status.PENDING, "", 0, None, intake)
        return intake

    def read_to(self, intake: int, offset: int) -> None:
        """Record that all records of a file before an offset are recorded."""
        self._batch.row("intake_at", offset, intake)

    def name(self, intake: int, name: str) -> None:
        """Add another name of a file, cut to 1,024 characters."""
        self._batch.row("intake_named", intake, name[:1024])

    def payload(self, spelled: str, kept: KeptResponse) -> None:
        """Record the place of bytes that revisits may refer to; the first place counts."""
        self._batch.row("payload", spelled, kept.digest, kept.size, *kept.place)

    def wait(self, intake: int, offset: int, spelled: str) -> None:
        """Record that a revisit waits for its bytes."""
        self._batch.row("intake_waits", intake, offset, spelled)

    def resolve(self, intake: int, offset: int) -> None:
        """Record that a revisit has its bytes."""
        self._batch.row("intake_waited", intake, offset)
