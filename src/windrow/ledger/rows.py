"""Rows that do something, and rows that are made of several columns each; all others are written into `typed`."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, NamedTuple

from windrow.clock import parse
from windrow.contract import Offering
from windrow.model import (
    ArchivePlace,
    Attachment,
    Attempt,
    CdxLine,
    Finding,
    HttpRequest,
    KeptResponse,
    Level,
    RecordedAttempt,
)
from windrow.reasons import Reason


class SourceRecord(NamedTuple):
    """How a source did so far: attempts, failures, and bytes and seconds of the good ones."""

    source: str
    attempts: int
    failures: int
    received: int
    seconds: float

    @property
    def speed(self) -> float | None:
        """Bytes a second, None where that is not known."""
        return self.received / self.seconds if self.seconds else None


class RobotsAttempt(NamedTuple):
    """A question for the rules of a host; `warc` is empty where nothing was kept."""

    started: datetime
    status: int | None
    warc: str
    offset: int | None
    length: int | None
    reason: Reason | None

    @property
    def place(self) -> ArchivePlace | None:
        """Where the rules lie, None where nothing was kept."""
        return ArchivePlace(self.warc, self.offset or 0, self.length or 0) if self.warc else None


class RequestRow(NamedTuple):
    """What is asked at an address, as its table has it: headers and attachments are JSON."""

    digest: int
    method: str
    headers: str
    body: bytes
    context: str
    attachments: str
    seconds: float

    def request(self) -> HttpRequest:
        """Return the request."""
        headers = tuple(map(tuple, json.loads(self.headers)))
        attachments = tuple(Attachment(*part) for part in json.loads(self.attachments))
        return HttpRequest(self.method, headers, self.body, self.context, attachments, self.seconds)


class LoggedAttempt(NamedTuple):
    """A visit, and who made it: the holder of its session."""

    recorded: RecordedAttempt
    holder: str


def logged(row: tuple[Any, ...]) -> LoggedAttempt:
    """Make a visit of the same columns, and who made it of the one after them."""
    return LoggedAttempt(recorded(row), row[-1])


def recorded(row: tuple[Any, ...]) -> RecordedAttempt:
    """Make a visit of the columns that the queries have in common."""
    seq, session, opened, source, address, url, kind, allowed, started, seconds, status, reason, message = row[:13]
    digest, size, warc, offset, length, revisit, mime, etag, modified, location = row[13:23]
    kept = KeptResponse(digest, size, ArchivePlace(warc, offset, length), bool(revisit), mime=mime) if warc else None
    attempt = Attempt(
        address, url, kind, bool(allowed), parse(started), seconds, status, kept,
        Reason(reason) if reason else None, message, (etag, modified), location,
    )  # fmt: skip
    return RecordedAttempt(seq, session, parse(opened), source, attempt)


class CapturedRow(NamedTuple):
    """Whose capture a visit took: that of the visit `original`, which a collection's source made; 0: another maker's.

    `found_in` names the index that it was found by; it is empty where the capture was there when the address was to be
    asked. `line` is what the index said of another maker's capture, but for its length, which is the record's own; of a
    file without an index, what stands for a line. It is None where the capture was taken down, and in older rows.
    """

    visit: int
    original: int
    collection: str
    source: str
    found_in: str
    warc: str
    offset: int
    line: CdxLine | None = None


def captured_row(row: tuple[Any, ...]) -> CapturedRow:
    """Make it of its columns, the line as JSON."""
    *values, line = row
    return CapturedRow._make((*values, CdxLine(*json.loads(line)) if line else None))


def kept_response(row: tuple[Any, ...]) -> KeptResponse:
    """Make it of digest, size and place."""
    digest, size, *place = row
    return KeptResponse(digest, size, ArchivePlace(*place))


class ItemKey(NamedTuple):
    """The number of an item and its key: a listed file's, a member's or an imported WARC file's."""

    item: int
    key: str


class Followed(NamedTuple):
    """What an answer led to: how many requests and offers, how many of these were not known; `ending` says why none.

    `seconds` is how long reading it for that took.
    """

    visit: int
    requests: int
    offers: int
    fresh: int
    reason: Reason | None
    ending: str
    findings: str
    seconds: float = 0.0

    def read_findings(self) -> list[Finding]:
        """Return its findings."""
        return [Finding(kind, message, Level(level)) for kind, message, level in json.loads(self.findings)]


def offering(row: tuple[Any, ...]) -> Offering:
    """Make it of name, place and address; a length of -1 is the whole answer."""
    name, offset, length, url = row
    return Offering(name, () if length < 0 else (offset, length), url)


class SessionRow(NamedTuple):
    """One run: `number` is what people call it; `last` its last fact, so far where it has not ended.

    `outcome` is its exit code.
    """

    seq: int
    number: int
    began: datetime
    holder: str
    command: str
    ended: datetime | None
    outcome: int | None
    last: int

    @property
    def span(self) -> tuple[int, int]:
        """The numbers of its first and its last fact."""
        return self.seq, self.last


class TargetCapture(NamedTuple):
    """What was kept in one visit to a target; `borrowed` where another collection had it made."""

    visit: int
    session: int
    warc: str
    offset: int
    length: int
    digest: str
    revisit: bool
    borrowed: bool

    @property
    def place(self) -> ArchivePlace:
        """Where it lies."""
        return ArchivePlace(self.warc, self.offset, self.length)


def finding(row: tuple[Any, ...]) -> Finding:
    """Make it of its columns, which are in its own order."""
    kind, message, level, line, column = row
    return Finding(kind, message, Level(level), line, column)
