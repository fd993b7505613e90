"""Record which captures of other collections and programs a collection takes, and imported WARC files.

An index lists captures, one on each line. A source reads indexes and takes the captures that its rules allow. A
collection of this ledger, or a WARC file without an index, is read like an index.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from windrow.ledger.batch import LedgerBatch
from windrow.ledger.rows import CapturedRow
from windrow.ledger.typed.captures import FailedRow, IndexRow, RuleRow, TypedCaptures
from windrow.model import ArchivePlace, Attempt, CdxLine, KeptResponse, Status

PARTIAL_BODY = "the record has only a part of the body"
"""The rule that counts captures that were taken with only a part of their body."""


FailedLine = tuple[str, int, str]
"""The key of a failure: (WARC file, offset, index line as JSON). Each index has failures of its own (`failed_line`)."""


def failed_line(index: int, place: ArchivePlace, line: CdxLine) -> FailedLine:
    """Return the key of the failure to read the record at `place`, which a `line` of the index `index` names.

    If indexes shared a failure, it would be lost with the source that recorded it, and another one at a missing file of
    the same name would replace it. If lines shared one, the lines without an offset would all be counted as one.
    """
    return f"{index}:{place.warc}", place.offset, json.dumps([*line])


def failed_key(row: FailedRow) -> FailedLine:
    """Return the key of a failure."""
    return row.warc, row.offset, row.line


def failed_file(warc: str) -> str:
    """Return the name of the WARC file in the key of a failure.

    >>> failed_file("7:/data/1.warc")
    '/data/1.warc'
    """
    return warc.lstrip("0123456789").removeprefix(":")


def _range_of_failures(index: int) -> tuple[str, str]:
    return f"{index}:", f"{index};"  # ";" is the character after ":"


class CaptureQueries(TypedCaptures):
    """Queries on captures."""

    def place_of(self, attempt: Attempt) -> ArchivePlace | None:
        """Return where the bytes of an attempt are in the archive, or None if the attempt kept nothing.

        For a revisit, this is the place of the record with the bytes or, if that is not known, of the revisit itself.
        """
        response = attempt.kept
        if response is None or not response.revisit:
            return response.place if response else None
        return self.original(attempt.target, response.digest) or self.payload(response.digest) or response.place


class CaptureWriter:
    """Writes how far indexes are read, and which captures are taken from them."""

    def __init__(self, batch: LedgerBatch) -> None:
        self._batch = batch

    def begin(self, collection: str, source: str, index_name: str, rules: str) -> None:
        """Record that an index is read from its beginning, with counts of 0, by the rules identified by `rules`.

        The captures that were taken with only a part of their body stay counted: they are not taken again. A failure
        stays until the index has been read without its line.
        """
        self._batch.database.execute("capture_index_begin", collection, source, index_name, rules)
        index = TypedCaptures(self._batch.database).index(collection, source, index_name)
        assert index is not None
        self._batch.database.execute("capture_index_forget_counts", index.id, PARTIAL_BODY)
        self._batch.database.execute("capture_failures_unmet", collection, *_range_of_failures(index.id))

    def move(self, index: IndexRow, name: str, rules: str, folders: tuple[str, str]) -> None:
        """Record that an index has the path `name` now, because a folder was moved: `folders` are its old and new path.

        The places of the captures that were taken by it, and of its failures, change in the same way.
        """
        old_folder, new_folder = folders
        run = self._batch.database.execute
        run("capture_index_move", index.id, name, rules)
        run("captured_move", index.id, f"{old_folder}/", f"{new_folder}/")
        old_start, new_start = (f"{_range_of_failures(index.id)[0]}{folder}/" for folder in folders)
        run("capture_failures_move", index.collection, index.source, old_start, new_start)

    def forget(self, collection: str, index: int) -> None:
        """Delete the counts of the lines of an index that rules left out, and its failures."""
        self._batch.database.execute("capture_index_forget_counts", index, "")
        self._batch.database.execute("capture_failures_forget", collection, *_range_of_failures(index), True)

    def forget_unmet(self, collection: str, index: int) -> None:
        """Delete the failures at lines that an index no longer has, after it was read to its end."""
        self._batch.database.execute("capture_failures_forget", collection, *_range_of_failures(index), False)

    def meet_failure(self, collection: str, key: FailedLine) -> None:
        """Record that an index that is read again still has the line of a failure."""
        self._batch.database.execute("capture_failure_met", collection, *key)

    def record_progress(self, index: int, position: int, seen: int) -> None:
        """Record the position up to which an index was read, and add `seen` to the number of lines read."""
        self._batch.database.execute("capture_index_reach", index, position, seen)

    def add_taken(self, index: int, taken: int) -> None:
        """Add `taken` to the number of captures taken from an index."""
        self._batch.database.execute("capture_index_count", index, taken)

    def leave_out(self, index: int, rule: RuleRow) -> None:
        """Add `rule.lines` to the number of lines of an index that this rule has left out."""
        self._batch.database.execute("capture_leave_out", index, *rule)

    def fail(self, collection: str, source: str, row: FailedRow) -> None:
        """Record that an attempt failed to read the WARC record of a wanted index line."""
        self._batch.row("capture_failed", collection, source, *row)

    def end_retries(self, attempts: Iterable[int]) -> None:
        """Record that what these failed attempts could not read was read again, as an operator may have ordered.

        Addresses that are requested keep their due time.
        """
        self._batch.flush()
        self._batch.database.execute_many("capture_retried", [(attempt,) for attempt in attempts])

    def remove_failure(self, collection: str, key: FailedLine) -> None:
        """Remove the record of a failure to read a WARC record."""
        self._batch.database.execute("capture_mended", collection, *key)

    def free_place(self, attempt: int) -> None:
        """Record that the file from which an attempt took a capture was replaced: its place has another record now."""
        self._batch.database.execute("capture_replaced", attempt)

    def record_taken(self, attempt: int, collection: str, source: str, row: CapturedRow, index: int) -> None:
        """Record that an attempt took the capture `row`, found in the index with the number `index` (0: in none)."""
        line = json.dumps([*row.line]) if row.line else ""
        self._batch.row("captured", attempt, collection, source, row.original, index, row.warc, row.offset, line)


class ImportWriter:
    """Writes imported WARC files and what is known of their records. `intake` is the number of such a file."""

    def __init__(self, batch: LedgerBatch) -> None:
        self._batch = batch

    def add(self, session: int, collection: str, source: str, warc: str, size: int, step: str) -> int:  # noqa: PLR0917
        """Record an imported file, which waits for the step that reads its records. Return the number of the file."""
        intake = self._batch.fact("intake", session, collection, source, warc, size, 0)
        self._batch.row("pending_step", intake, collection, step, Status.PENDING, "", 0, None, intake)
        return intake

    def read_to(self, intake: int, offset: int) -> None:
        """Record that all records before an offset of an imported file are on the ledger."""
        self._batch.row("intake_at", offset, intake)

    def add_name(self, intake: int, name: str) -> None:
        """Add a name under which a file was imported, cut to 1,024 characters."""
        self._batch.row("intake_named", intake, name[:1024])

    def add_payload(self, spelled: str, kept: KeptResponse) -> None:
        """Record that revisits with the digest `spelled` refer to the response `kept`, unless this digest is known."""
        self._batch.row("payload", spelled, kept.digest, kept.size, *kept.place)

    def add_waiting_revisit(self, intake: int, offset: int, spelled: str) -> None:
        """Record that the revisit at an offset waits until bytes with the digest `spelled` are imported."""
        self._batch.row("intake_waits", intake, offset, spelled)

    def remove_waiting_revisit(self, intake: int, offset: int) -> None:
        """Record that the revisit at an offset does not wait for its bytes any more."""
        self._batch.row("intake_waited", intake, offset)
