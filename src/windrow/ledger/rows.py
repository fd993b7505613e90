"""Classes of rows that are not generated in `typed`, and functions that make one value from several columns."""

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


class SourceCounts(NamedTuple):
    """The numbers of all ended attempts at a source's listed files, and of the failed ones.

    `received` is the number of bytes received in the successful attempts, `seconds` the time that these took.
    """

    source: str
    attempts: int
    failures: int
    received: int
    seconds: float

    @property
    def speed(self) -> float | None:
        """Bytes per second, or None if no attempt was successful or the time is 0."""
        return self.received / self.seconds if self.seconds else None


class RobotsAttempt(NamedTuple):
    """A request for a host's robots.txt, which took `seconds`. `warc` is empty if the response was not kept."""

    url: str
    started: datetime
    seconds: float
    status: int | None
    location: str
    warc: str
    offset: int | None
    length: int | None
    reason: Reason | None

    @property
    def place(self) -> ArchivePlace | None:
        """The place of the response in the archive, or None if it was not kept."""
        return ArchivePlace(self.warc, self.offset or 0, self.length or 0) if self.warc else None


class RequestRow(NamedTuple):
    """A request as its table stores it. Headers and attachments are JSON."""

    digest: int
    method: str
    headers: str
    body: bytes
    context: str
    attachments: str
    seconds: float

    def request(self) -> HttpRequest:
        """Return the request that the row stores."""
        headers = tuple(map(tuple, json.loads(self.headers)))
        attachments = tuple(Attachment(*part) for part in json.loads(self.attachments))
        return HttpRequest(self.method, headers, self.body, self.context, attachments, self.seconds)


class LoggedAttempt(NamedTuple):
    """An attempt, and the process that ran its session, as `SessionOpened.holder` names it."""

    recorded: RecordedAttempt
    holder: str


def logged(row: tuple[Any, ...]) -> LoggedAttempt:
    """Return a logged attempt from the columns of the part `recorded` in attempts.sql."""
    return LoggedAttempt(recorded(row), row[-1])


def recorded(row: tuple[Any, ...]) -> RecordedAttempt:
    """Return a recorded attempt from the first 23 columns of the part `recorded` in attempts.sql."""
    number, session, opened, source, address, url, kind, allowed, started, seconds, status, reason, message = row[:13]
    digest, size, warc, offset, length, revisit, mime, etag, modified, location = row[13:23]
    kept = KeptResponse(digest, size, ArchivePlace(warc, offset, length), bool(revisit), mime=mime) if warc else None
    attempt = Attempt(
        address, url, kind, bool(allowed), parse(started), seconds, status, kept,
        Reason(reason) if reason else None, message, (etag, modified), location,
    )  # fmt: skip
    return RecordedAttempt(number, session, parse(opened), source, attempt)


class CapturedRow(NamedTuple):
    """A capture that `attempt` took from another attempt, `original`, or (`original` is 0) from another program.

    `collection` and `source` are those of `original`, and empty if it is 0. `found_in` names the index in which the
    capture was found, and is empty if the capture was used instead of a request, if another source of its collection
    took it before, or if its file was replaced since then. `line` is the index line of another program's capture, made
    from the record if there is no index. `line` is None for captures of this workspace, for those that were taken down,
    and in rows of old versions.
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
    """Return a CapturedRow from its columns. The last column, the line, is JSON or empty."""
    *values, line = row
    return CapturedRow._make((*values, CdxLine(*json.loads(line)) if line else None))


def kept_response(row: tuple[Any, ...]) -> KeptResponse:
    """Return a kept response from the columns digest, size, and place (file, offset, length)."""
    digest, size, *place = row
    return KeptResponse(digest, size, ArchivePlace(*place))


class ItemKey(NamedTuple):
    """The number and the key of a listed file, a member or an imported WARC file."""

    item: int
    key: str


class Followed(NamedTuple):
    """The result of following the response of `attempt`: the numbers of requests, offers and new offers (`fresh`).

    `reason` is why the response could not be followed or was not used (None also if the attempt had failed). `ending`
    is the message of the discovery, or "". `findings` are JSON. `seconds` is how long following took.
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
        """Return the findings, from JSON."""
        return [Finding(kind, message, Level(level)) for kind, message, level in json.loads(self.findings)]


def offering(row: tuple[Any, ...]) -> Offering:
    """Return an offer from the columns name, offset, length and URL. A length of -1 means the whole response."""
    name, offset, length, url = row
    return Offering(name, () if length < 0 else (offset, length), url)


class SessionRow(NamedTuple):
    """A session: `seq` is the number of its first fact, `last` that of its end or, without an end, of the latest fact.

    `number` is shown to people. `outcome` is the exit code, or None if the session is running or was killed.
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
        """The numbers `seq` and `last`."""
        return self.seq, self.last


class TargetCapture(NamedTuple):
    """The capture of an attempt that a takedown removes. `borrowed` is true if another attempt made the capture."""

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
        """The place of the capture in the archive."""
        return ArchivePlace(self.warc, self.offset, self.length)


def finding(row: tuple[Any, ...]) -> Finding:
    """Return a finding from the columns kind, message, level, line and column."""
    kind, message, level, line, column = row
    return Finding(kind, message, Level(level), line, column)
