"""Written by `make queries` from captures.sql: change that, and run it again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from windrow.ledger.database import LedgerQueries
from windrow.ledger.rows import CapturedRow, captured_row, recorded
from windrow.model import ArchivePlace, RecordedAttempt
from windrow.reasons import Reason


class CaptureRow(NamedTuple):
    """A capture for an index: the address, the record's date as the ledger spells it, and where it lies."""

    address: str
    at: str
    digest: str
    status: int | None
    warc: str
    offset: int
    length: int
    revisit: bool
    mime: str


class HeldCapture(NamedTuple):
    """A record that holds bytes of its own; `key` is what it is a capture of."""

    warc: str
    offset: int
    length: int
    digest: str
    size: int
    key: str


class IndexRow(NamedTuple):
    """How far a source looked for captures in one place: lines up to `place` were seen, and some of them taken."""

    id: int
    collection: str
    source: str
    name: str
    rules: str
    place: int
    seen: int
    taken: int


class RuleRow(NamedTuple):
    """How many lines of an index were left out by a rule, and the address of the first one."""

    reason: Reason
    rule: str
    lines: int
    url: str


class FailedRow(NamedTuple):
    """A wanted line of an index whose record could not be had; `line` is JSON, `address` that of what it captured."""

    found_in: int
    warc: str
    offset: int
    line: str
    reason: Reason
    address: int


class FailedClaim(NamedTuple):
    """A line, as JSON, whose record could not be had, why, and what was said of the record then."""

    line: str
    reason: Reason
    message: str


def _make_capture_row(row: tuple[Any, ...]) -> CaptureRow:
    address, at, digest, status, warc, offset, length, revisit, mime = row
    return CaptureRow(address, at, digest, status, warc, offset, length, bool(revisit), mime)


def _make_rule_row(row: tuple[Any, ...]) -> RuleRow:
    reason, rule, lines, url = row
    return RuleRow(Reason(reason), rule, lines, url)


def _make_failed_row(row: tuple[Any, ...]) -> FailedRow:
    found_in, warc, offset, line, reason, address = row
    return FailedRow(found_in, warc, offset, line, Reason(reason), address)


def _make_failed_claim(row: tuple[Any, ...]) -> FailedClaim:
    line, reason, message = row
    return FailedClaim(line, Reason(reason), message)


class TypedCaptures(LedgerQueries):
    """The queries of captures.sql."""

    def of_digest(self, digest: str) -> ArchivePlace | None:
        """Return where the bytes of a fetched file lie."""
        return self._database.first(ArchivePlace._make, "captures.of_digest", digest)

    def original(self, address: int, digest: str) -> ArchivePlace | None:
        """Return where the bytes lie that a later attempt to the same address brought again."""
        return self._database.first(ArchivePlace._make, "captures.original", address, digest)

    def payload(self, digest: str) -> ArchivePlace | None:
        """Return where bytes lie that only another address has."""
        return self._database.first(ArchivePlace._make, "captures.payload", digest)

    def promised(self) -> dict[str, int]:
        """Return how far the ledger promises each file of the archive: the end of its last record.

        Of answers that are not archived no erased record need stay.
        """
        return dict(self._database.rows(tuple, "captures.promised"))

    def sessions(self) -> list[int]:
        """Return the sessions in which captures were put on record, whichever began their attempts."""
        return self._database.column("captures.sessions")

    def of_session(self, session: int) -> Iterator[CaptureRow]:
        """Yield the captures put on record from one session's begin to the next one's."""
        return self._database.stream(_make_capture_row, "captures.of_session", session)

    def held(self) -> Iterator[HeldCapture]:
        """Yield every record of the archive that holds bytes of its own, file by file."""
        return self._database.stream(HeldCapture._make, "captures.held")

    def after(
        self, attempt: int, limit: int, origins: Sequence[tuple[str, str]], statuses: Iterable[int] = ()
    ) -> list[RecordedAttempt]:
        """Return answers kept after a given attempt, or that said that known bytes are still there, in their order.

        `origins` are the collections and sources whose answers are wanted, a source empty for all of a collection;
        `statuses` those without a document that are wanted too. The last one's `seq` is where to go on.
        """
        return self._database.rows(
            recorded, "captures.after", attempt, json.dumps([*statuses]), json.dumps([*origins]), limit
        )

    def of_address(self, collection: str, address: int) -> list[RecordedAttempt]:
        """Return the answers that a collection kept of an address."""
        return self._database.rows(recorded, "captures.of_address", address, collection)

    def index(self, collection: str, source: str, name: str) -> IndexRow | None:
        """Return how far a source looked through an index."""
        return self._database.first(IndexRow._make, "captures.index", collection, source, name)

    def indexes(self, collection: str, source: str) -> list[IndexRow]:
        """Return the indexes that a source looked through."""
        return self._database.rows(IndexRow._make, "captures.indexes", collection, source)

    def left_out(self, index: int) -> list[RuleRow]:
        """Return what rules left out of an index, the most frequent first."""
        return self._database.rows(_make_rule_row, "captures.left_out", index)

    def taken(self, collection: str, place: ArchivePlace) -> int:
        """Return the attempt in which a collection took the record at a place, 0 where it did not."""
        value: int = self._database.value("captures.taken", collection, place.warc, place.offset)
        return value

    def captured(self, attempt: int) -> CapturedRow | None:
        """Return whose capture an attempt took; None where it asked for itself."""
        return self._database.first(captured_row, "captures.captured", attempt)

    def failed(
        self, collection: str, source: str, after: tuple[str, int], reasons: Iterable[str], limit: int
    ) -> list[FailedRow]:
        """Return wanted lines whose record could not be had: for these reasons, or asked for again by an operator."""
        return self._database.rows(
            _make_failed_row, "captures.failed", collection, source, after[0], after[1], json.dumps([*reasons]), limit
        )

    def failed_by_source(self) -> dict[str, int]:
        """Count the wanted lines of each source whose record could not be had."""
        return dict(self._database.rows(tuple, "captures.failed_by_source"))

    def failure(self, collection: str, place: tuple[str, int]) -> str:
        """Return why the record at a place could not be had, empty where it could or was not wanted."""
        value: str = self._database.value("captures.failure", collection, place[0], place[1])
        return value

    def failed_line(self, collection: str, place: tuple[str, int]) -> str:
        """Return the line, as JSON, whose record at a place could not be had; empty where there is none."""
        value: str = self._database.value("captures.failed_line", collection, place[0], place[1])
        return value

    def failed_of_digest(self, collection: str, digest: str, limit: int) -> list[FailedClaim]:
        """Return wanted lines whose record could not be had and that name a digest, or whose record has that one."""
        return self._database.rows(_make_failed_claim, "captures.failed_of_digest", collection, digest, limit)

    def newest(self, address: int, since: int, collection: str) -> RecordedAttempt | None:
        """Return the latest answer that another collection kept of an address since a fact.

        `address` is the digest of what is asked. With a session's number, two collections on one site ask for each page
        once.
        """
        return self._database.first(recorded, "captures.newest", address, since, collection)

    def newest_rules(self, origin: str, since: int, collection: str) -> RecordedAttempt | None:
        """Return the latest robots.txt that another collection got of an origin since a fact."""
        return self._database.first(recorded, "captures.newest_rules", origin, since, collection)
