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
    """A source's record so far: attempts, failures, and bytes and seconds of the successful ones."""

    source: str
    attempts: int
    failures: int
    received: int
    seconds: float

    @property
    def speed(self) -> float | None:
        """Bytes per second, or None if it is not known."""
        return self.received / self.seconds if self.seconds else None


class RobotsAttempt(NamedTuple):
    """A request for a host's robots.txt; `warc` is empty if the response was not kept."""

    started: datetime
    status: int | None
    warc: str
    offset: int | None
    length: int | None
    reason: Reason | None

    @property
    def place(self) -> ArchivePlace | None:
        """The place of the robots.txt, or None if the response was not kept."""
        return ArchivePlace(self.warc, self.offset or 0, self.length or 0) if self.warc else None


class RequestRow(NamedTuple):
    """A request as a row of its table: headers and attachments are JSON."""

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
    """An attempt, and the holder of its session."""

    recorded: RecordedAttempt
    holder: str


def logged(row: tuple[Any, ...]) -> LoggedAttempt:
    """Return a logged attempt from the columns of `recorded` and the holder after them."""
    return LoggedAttempt(recorded(row), row[-1])


def recorded(row: tuple[Any, ...]) -> RecordedAttempt:
    """Return an attempt from the columns that the queries share."""
    number, session, opened, source, address, url, kind, allowed, started, seconds, status, reason, message = row[:13]
    digest, size, warc, offset, length, revisit, mime, etag, modified, location = row[13:23]
    kept = KeptResponse(digest, size, ArchivePlace(warc, offset, length), bool(revisit), mime=mime) if warc else None
    attempt = Attempt(
        address, url, kind, bool(allowed), parse(started), seconds, status, kept,
        Reason(reason) if reason else None, message, (etag, modified), location,
    )  # fmt: skip
    return RecordedAttempt(number, session, parse(opened), source, attempt)


class CapturedRow(NamedTuple):
    """A capture that an attempt took: of the attempt `original` of a collection's source, or for 0 of another program.

    `found_in` names the index in which it was found; it is empty if the capture existed when the address was to be
    requested. `line` is the index line of another program's capture, with the record's own length; for a
    file without an index, a line made from the record. It is None if the capture was taken down, and in older rows.
    """

    attempt: int
    original: int
    collection: str
    source: str
    found_in: str
    warc: str
    offset: int
    line: CdxLine | None = None


def captured_row(row: tuple[Any, ...]) -> CapturedRow:
    """Return a captured row from its columns, the last of which is a line as JSON."""
    *values, line = row
    return CapturedRow._make((*values, CdxLine(*json.loads(line)) if line else None))


def kept_response(row: tuple[Any, ...]) -> KeptResponse:
    """Return a kept response from digest, size and place."""
    digest, size, *place = row
    return KeptResponse(digest, size, ArchivePlace(*place))


class ItemKey(NamedTuple):
    """The number of an item and its key: a listed file's, a member's or an imported WARC file's."""

    item: int
    key: str


class Followed(NamedTuple):
    """The result of following a response: the numbers of requests, offers and new offers; `ending` says why it ends.

    `seconds` is the time that this took.
    """

    attempt: int
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
    """Return an offer from name, offset, length and address; a length of -1 means the whole response."""
    name, offset, length, url = row
    return Offering(name, () if length < 0 else (offset, length), url)


class SessionRow(NamedTuple):
    """A session: `number` is shown to people; `last` is its last fact, so far if it has not ended.

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
    """The capture of an attempt at a target; `borrowed` if another collection made it."""

    attempt: int
    session: int
    warc: str
    offset: int
    length: int
    digest: str
    revisit: bool
    borrowed: bool

    @property
    def place(self) -> ArchivePlace:
        """Its place in the archive."""
        return ArchivePlace(self.warc, self.offset, self.length)


def finding(row: tuple[Any, ...]) -> Finding:
    """Return a finding from its columns."""
    kind, message, level, line, column = row
    return Finding(kind, message, Level(level), line, column)
