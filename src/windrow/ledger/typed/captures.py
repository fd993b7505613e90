"""Written by `make queries` from captures.sql: edit that file, and run `make queries` again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from windrow.clock import parse
from windrow.ledger.database import LedgerQueries
from windrow.ledger.rows import CapturedRow, captured_row, recorded
from windrow.model import ArchivePlace, RecordedAttempt
from windrow.reasons import Reason


class CaptureRow(NamedTuple):
    """A capture to be listed in an index of the archive: its address, date (as the ledger writes it) and place."""

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
    """A capture whose record has its bytes. `key` is the key of the captured file, or the captured address."""

    warc: str
    offset: int
    length: int
    digest: str
    size: int
    key: str


class IndexRow(NamedTuple):
    """How far a source has read an index.

    `place` is the position up to which it was read (-1: the end of a file), `seen` the number of lines (of a WARC file:
    records) read, `taken` the number of captures taken.
    """

    id: int
    collection: str
    source: str
    name: str
    rules: str
    place: int
    seen: int
    taken: int


class RuleRow(NamedTuple):
    """The number of lines of an index that a rule left out, and the address of the first one."""

    reason: Reason
    rule: str
    lines: int
    url: str


class LeftOutRow(NamedTuple):
    """How many lines of a source's indexes, and records of its WARC files, a rule left out, and the first of them."""

    collection: str
    source: str
    reason: Reason
    rule: str
    lines: int
    url: str


class FailedRow(NamedTuple):
    """A wanted index line, as JSON, whose record could not be read.

    `warc` begins with the number of its index, `found_in`. `address` is the digest of the line's address, `attempt` the
    number of the last attempt to read the record.
    """

    found_in: int
    warc: str
    offset: int
    line: str
    reason: Reason
    address: int
    attempt: int


class FailedFile(NamedTuple):
    """A WARC file with wanted records that could not be read, and when the first run began in which one failed.

    `warc` begins with the number of an index.
    """

    warc: str
    since: datetime


class FailedCount(NamedTuple):
    """How many wanted index lines of a source failed for a reason in a session (the number of its first fact)."""

    source: str
    reason: Reason
    session: int
    lines: int


class FailedClaim(NamedTuple):
    """An index line, as JSON, whose record could not be read, with the reason and the message."""

    line: str
    reason: Reason
    message: str


def _make_capture_row(row: tuple[Any, ...]) -> CaptureRow:
    address, at, digest, status, warc, offset, length, revisit, mime = row
    return CaptureRow(address, at, digest, status, warc, offset, length, bool(revisit), mime)


def _make_rule_row(row: tuple[Any, ...]) -> RuleRow:
    reason, rule, lines, url = row
    return RuleRow(Reason(reason), rule, lines, url)


def _make_left_out_row(row: tuple[Any, ...]) -> LeftOutRow:
    collection, source, reason, rule, lines, url = row
    return LeftOutRow(collection, source, Reason(reason), rule, lines, url)


def _make_failed_row(row: tuple[Any, ...]) -> FailedRow:
    found_in, warc, offset, line, reason, address, attempt = row
    return FailedRow(found_in, warc, offset, line, Reason(reason), address, attempt)


def _make_failed_file(row: tuple[Any, ...]) -> FailedFile:
    warc, since = row
    return FailedFile(warc, parse(since))


def _make_failed_count(row: tuple[Any, ...]) -> FailedCount:
    source, reason, session, lines = row
    return FailedCount(source, Reason(reason), session, lines)


def _make_failed_claim(row: tuple[Any, ...]) -> FailedClaim:
    line, reason, message = row
    return FailedClaim(line, Reason(reason), message)


class TypedCaptures(LedgerQueries):
    """The queries of captures.sql."""

    def of_digest(self, digest: str) -> ArchivePlace | None:
        """Return the place of the last complete capture of a listed file with this digest, or None.

        There are several if the file with the earlier one is lost.
        """
        return self._database.first(ArchivePlace._make, "captures.of_digest", digest)

    def original(self, address: int, digest: str) -> ArchivePlace | None:
        """Return the place of the last record of an address that has bytes with this digest, or None."""
        return self._database.first(ArchivePlace._make, "captures.original", address, digest)

    def payload(self, digest: str) -> ArchivePlace | None:
        """Return the place of imported bytes with this digest, or None."""
        return self._database.first(ArchivePlace._make, "captures.payload", digest)

    def promised(self) -> dict[str, int]:
        """Return a dict from file of the archive to its minimum length: the end of its last record on the ledger.

        Erased records count too, unless they are in a file of responses that are not archived.
        """
        return dict(self._database.rows(tuple, "captures.promised"))

    def sessions(self) -> list[int]:
        """Return the sessions in which captures were recorded, even if another session began the attempts, in order."""
        return self._database.column("captures.sessions")

    def of_session(self, session: int) -> Iterator[CaptureRow]:
        """Yield the captures that were recorded from the beginning of a session to that of the next one.

        304 responses of addresses, bytes that are not archived, and captures of other collections are left out.
        """
        return self._database.stream(_make_capture_row, "captures.of_session", session)

    def held(self) -> Iterator[HeldCapture]:
        """Yield the captures whose record has bytes, file by file.

        Captures of failed attempts at listed files are left out, and so are those that were taken from another attempt.
        """
        return self._database.stream(HeldCapture._make, "captures.held")

    def after(
        self, attempt: int, limit: int, origins: Sequence[tuple[str, str]], statuses: Iterable[int] = ()
    ) -> list[RecordedAttempt]:
        """Return the archived responses of attempts after `attempt`, in order, with status 2xx, or 304 for known bytes.

        `origins` has pairs of the collection and source whose responses are wanted; an empty source means any.
        Responses with a status in `statuses` are returned too. To continue, pass the last `seq` as `attempt`.
        """
        return self._database.rows(
            recorded, "captures.after", attempt, json.dumps([*statuses]), json.dumps([*origins]), limit
        )

    def of_address(self, collection: str, address: int) -> list[RecordedAttempt]:
        """Return the responses that a collection kept from an address, in order."""
        return self._database.rows(recorded, "captures.of_address", address, collection)

    def index(self, collection: str, source: str, name: str) -> IndexRow | None:
        """Return how far a source has read an index, or None if it has not begun."""
        return self._database.first(IndexRow._make, "captures.index", collection, source, name)

    def indexes(self, collection: str, source: str) -> list[IndexRow]:
        """Return how far a source has read each of its indexes."""
        return self._database.rows(IndexRow._make, "captures.indexes", collection, source)

    def left_out(self, index: int) -> list[RuleRow]:
        """Return how many lines of an index each rule left out, the greatest number first."""
        return self._database.rows(_make_rule_row, "captures.left_out", index)

    def left_out_by_source(self) -> list[LeftOutRow]:
        """Count by source and rule the lines of indexes, and the records of WARC files, that were left out."""
        return self._database.rows(_make_left_out_row, "captures.left_out_by_source")

    def taken(self, collection: str, place: ArchivePlace) -> int:
        """Return the attempt in which a collection took the record at a place, or 0."""
        value: int = self._database.value("captures.taken", collection, place.warc, place.offset)
        return value

    def is_taken_by(self, attempt: int, source: str) -> bool:
        """Return whether a source has the capture that an attempt took: it made the attempt, or shares its capture."""
        return bool(self._database.value("captures.is_taken_by", attempt, source))

    def captured(self, attempt: int) -> CapturedRow | None:
        """Return the capture that an attempt took, or None if it made a request of its own."""
        return self._database.first(captured_row, "captures.captured", attempt)

    def borrowers(self, host: int, source: str) -> set[str]:
        """Return the other sources whose captures are stored at a host of `source`.

        Only an earlier windrow stored them there: now each source has a host of its own.
        """
        return {*self._database.column("captures.borrowers", host, source)}

    def failed(
        self,
        source: tuple[str, str],
        after: tuple[str, int, str],
        reasons: Iterable[str],
        files: Iterable[str],
        limit: int,
    ) -> list[FailedRow]:
        """Return at most `limit` failed index lines of a source (collection, name), after the line with key `after`.

        They failed for one of `reasons`, or in one of the WARC `files`, or their address is due next (1).
        """
        return self._database.rows(
            _make_failed_row,
            "captures.failed",
            source[0],
            source[1],
            after[0],
            after[1],
            after[2],
            json.dumps([*reasons]),
            json.dumps([*files]),
            limit,
        )

    def failed_by_source(self) -> dict[str, int]:
        """Return a dict from source to the number of its wanted index lines whose record could not be read."""
        return dict(self._database.rows(tuple, "captures.failed_by_source"))

    def failed_files(self, collection: str, source: str) -> list[FailedFile]:
        """Return the WARC files of a source with wanted records that could not be read."""
        return self._database.rows(_make_failed_file, "captures.failed_files", collection, source)

    def failed_by_reason(self) -> list[FailedCount]:
        """Count the wanted index lines whose record could not be read, by source, reason and session."""
        return self._database.rows(_make_failed_count, "captures.failed_by_reason")

    def failure(self, collection: str, key: tuple[str, int, str]) -> str:
        """Return the reason why the record of an index line could not be read, or ""."""
        value: str = self._database.value("captures.failure", collection, key[0], key[1], key[2])
        return value

    def failed_of_digest(self, collection: str, digest: str, limit: int) -> list[FailedClaim]:
        """Return at most `limit` index lines whose record could not be read, and that refer to a digest.

        The digest is in the line, or in the message of the failure.
        """
        return self._database.rows(_make_failed_claim, "captures.failed_of_digest", collection, digest, limit)

    def newest(self, address: int, since: int, collection: str) -> RecordedAttempt | None:
        """Return the latest response that another collection kept from an address, numbered above `since`, or None.

        If `since` is the number of a session, a collection can use the response that another one got in this session.
        """
        return self._database.first(recorded, "captures.newest", address, since, collection)

    def newest_rules(self, origin: str, since: int, collection: str) -> RecordedAttempt | None:
        """Return the latest robots.txt of an origin that another collection fetched, numbered above `since`, or None.

        A kept response with status 4xx counts too.
        """
        return self._database.first(recorded, "captures.newest_rules", origin, since, collection)
