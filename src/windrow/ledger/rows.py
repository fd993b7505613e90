"""Rows that do something, and rows that are made of several columns each; all others are written into `typed`."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, NamedTuple

from windrow.clock import parse
from windrow.model import ArchivePlace, Attachment, HttpRequest, KeptResponse, Recorded, Visit
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


class RulesVisit(NamedTuple):
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


class LoggedVisit(NamedTuple):
    """A visit, and who made it: the holder of its session."""

    recorded: Recorded
    holder: str


def logged(row: tuple[Any, ...]) -> LoggedVisit:
    """Make a visit of the same columns, and who made it of the one after them."""
    return LoggedVisit(recorded(row), row[-1])


def recorded(row: tuple[Any, ...]) -> Recorded:
    """Make a visit of the columns that the queries have in common."""
    seq, session, opened, source, address, url, kind, allowed, started, seconds, status, reason, message = row[:13]
    digest, size, warc, offset, length, revisit, mime, etag, modified, location = row[13:23]
    kept = KeptResponse(digest, size, ArchivePlace(warc, offset, length), bool(revisit), mime=mime) if warc else None
    visit = Visit(
        address, url, kind, bool(allowed), parse(started), seconds, status, kept,
        Reason(reason) if reason else None, message, (etag, modified), location,
    )  # fmt: skip
    return Recorded(seq, session, parse(opened), source, visit)
