"""Attempts to get something: an address that was found, or an item that a source lists."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from windrow.clock import parse, spell
from windrow.ledger.batch import LedgerBatch
from windrow.ledger.database import LedgerDatabase
from windrow.model import ArchivePlace, Fetched, KeptResponse, Recorded, Visit
from windrow.reasons import Reason


class OpenAttempt(NamedTuple):
    """An attempt to get an item that was cut before its end, and after which none was made."""

    seq: int
    item: int
    source: str


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


class LatestCapture(NamedTuple):
    """An item's latest good capture: its digest, and date and address of the record that holds the bytes."""

    item: int
    digest: str
    at: datetime
    address: str


class AttemptRow(NamedTuple):
    """An attempt to get an address, or an item that a source lists.

    `at` is when its begin was put on record, `started` the date of the record in the archive. `end` and `ended` are
    None for one that was cut or is under way; `warc` is empty where nothing was kept. `received` are bytes.
    """

    seq: int
    at: datetime
    session: int
    source: str
    url: str
    kind: int
    allowed: bool
    started: datetime
    end: int | None
    ended: datetime | None
    seconds: float
    status: int | None
    received: int
    reason: Reason | None
    message: str
    digest: str
    size: int | None
    warc: str
    offset: int | None
    length: int | None
    revisit: bool
    etag: str
    modified: str
    location: str
    checksum: str


class AttemptCount(NamedTuple):
    """How many attempts at a source ended in one way, and the bytes that came.

    `listed` for items that the source lists, else they were addresses: `kind` is their collection's own word,
    `earlier` where the address had a body before, `taken` where nobody was asked, since the capture was there.
    """

    collection: str
    source: str
    listed: bool
    kind: int
    status: int | None
    reason: Reason | None
    mime: str
    revisit: bool
    earlier: bool
    taken: bool
    number: int
    received: int


class SessionCapture(NamedTuple):
    """A good capture of an item, and the session that made it."""

    session: int
    opened: datetime
    item: int
    fetch: int
    checksum: str


class LoggedVisit(NamedTuple):
    """A visit, and who made it: the holder of its session."""

    recorded: Recorded
    holder: str


class RulesFailure(NamedTuple):
    """A host whose rules could not be had."""

    source: str
    origin: str
    status: int | None
    reason: Reason | None
    message: str


class RulesVisit(NamedTuple):
    """A question for the rules of a host; `warc` is empty where nothing was kept."""

    started: datetime
    status: int | None
    warc: str
    offset: int
    length: int
    reason: Reason | None

    @property
    def place(self) -> ArchivePlace:
        """Where the rules lie."""
        return ArchivePlace(self.warc, self.offset, self.length)


class AttemptOutcome(NamedTuple):
    """How many questions to a host had a status, or failed for a reason; `latest` is the address of the last one."""

    reason: Reason | None
    status: int | None
    number: int
    latest: str


class FailedSessions(NamedTuple):
    """How many sessions in a row tried an item without success, and when the last attempt ended."""

    item: int
    number: int
    last: datetime


class _OriginSeconds(NamedTuple):
    origin: str
    seconds: float


class AttemptQueries:
    """What is asked of attempts."""

    def __init__(self, database: LedgerDatabase) -> None:
        """Ask this database."""
        self._database = database

    def of_item(self, item: int) -> list[AttemptRow]:
        """Return the attempts to get an item, in order."""
        return self._database.rows(AttemptRow, "attempts_of_item", item)

    def of_address(self, host: int, address: int) -> list[AttemptRow]:
        """Return the attempts to get an address of a host, in order."""
        return self._database.rows(AttemptRow, "attempts_of_address", address, host)

    def get(self, attempt: int) -> AttemptRow | None:
        """Return one attempt, None where there is none of this number."""
        return self._database.first(AttemptRow, "attempt", attempt)

    def ended_between(self, span: tuple[int, int]) -> list[AttemptCount]:
        """Count what came of the attempts that ended between two facts, without questions for the rules of hosts."""
        return self._database.rows(AttemptCount, "attempts_counted", *span)

    def open(self) -> list[OpenAttempt]:
        """Return attempts that were cut before their end, and after which none was made."""
        return self._database.rows(OpenAttempt, "attempts_open")

    def by_source(self) -> dict[str, SourceRecord]:
        """Return how each source did so far."""
        return {one.source: one for one in self._database.rows(SourceRecord, "source_records")}

    def failed_sessions(self, items: Sequence[int]) -> dict[int, FailedSessions]:
        """Return how many sessions in a row tried each item without success, and when the last one did."""
        return {one.item: one for one in self._database.rows_of(FailedSessions, "failed_sessions", items)}

    def latest_captures(self, items: Sequence[int]) -> dict[int, LatestCapture]:
        """Return the latest good capture of each item that has one."""
        return {one.item: one for one in self._database.rows_of(LatestCapture, "captures_latest", items)}

    def captures_by_session(self, collection: str, cancelled: int) -> list[SessionCapture]:
        """Return every good capture of a collection, in the order of work; not of items of one status."""
        return self._database.rows(SessionCapture, "captures_by_session", collection, cancelled)

    def visits_after(self, collection: str, after: int, limit: int) -> list[Recorded]:
        """Return visits to a collection's addresses after a given one, in the order of the ledger."""
        return self._database.mapped(recorded, "visits_after", collection, after, limit)

    def visits_named(self, visits: Sequence[int]) -> list[Recorded]:
        """Return visits by their numbers."""
        return [*self._database.mapped_of(recorded, "visits_named", visits)]

    def visits_logged(self, collection: str, after: int, limit: int) -> list[LoggedVisit]:
        """Return the visits of a collection after a given one, those to the rules of hosts too."""
        return self._database.mapped(_logged, "visits_logged", collection, after, limit)

    def count_after(self, visit: int) -> int:
        """Count the visits to addresses after a given one, of all collections."""
        return int(self._database.value("visit_count", visit))

    def count_upto(self, collection: str, visit: int) -> int:
        """Count a collection's visits up to a given one."""
        return int(self._database.value("visits_counted", collection, visit))

    def last_visit(self) -> int:
        """Return the number of the last visit, 0 before the first."""
        return int(self._database.value("visit_last"))

    def rules_failed_between(self, span: tuple[int, int], collection: str, kind: int) -> list[RulesFailure]:
        """Return hosts whose rules could not be had; `kind` is the collection's word for a question for rules."""
        return self._database.rows(RulesFailure, "session_rules", *span, collection, kind)

    def seconds_by_origin(self, collection: str) -> dict[str, float]:
        """Return how long each origin took for an answer, in seconds."""
        return {one.origin: one.seconds for one in self._database.rows(_OriginSeconds, "host_seconds", collection)}

    def of_rules(self, origin: str, collection: str, kind: int, limit: int) -> list[RulesVisit]:
        """Return the last questions for the rules of an origin, the latest first."""
        return self._database.rows(RulesVisit, "rules_visits", origin, collection, kind, limit)

    def outcomes(self, host: int) -> list[AttemptOutcome]:
        """Count what came of the questions to a host, the most frequent first."""
        return self._database.rows(AttemptOutcome, "host_outcomes", host)


class AttemptWriter:
    """What is written of attempts."""

    def __init__(self, batch: LedgerBatch) -> None:
        """Gather with the other parts of a writer."""
        self._batch = batch

    def begin(self, session: int, host: int, item: int, url: str, at: datetime) -> int:
        """Begin an attempt to get an item; its children are from now on those of this attempt."""
        attempt = self._batch.fact("attempt_begun", session, host, item, url, spell(at), at=at)
        self._batch.row("fetched", attempt, item)
        return attempt

    def end(self, attempt: int, got: Fetched) -> int:
        """End it, with the capture where there is one."""
        kept = got.kept
        dated = spell(kept.at or self._batch.at) if kept else None
        line = (dated, round(got.seconds, 6), got.status, got.received, got.reason, got.message)
        said = (*got.validators, got.checksum, kept.mime if kept else "")
        return self._batch.fact("attempt_ended", *line, *_place_of(kept), *said, attempt)

    def visited(
        self, session: int, host: int, visit: Visit, again: tuple[int | None, int, int] | None,
        beside: int | None = None,
    ) -> int:  # fmt: skip
        """Put a visit on record; `again` is when its address is due, its pause and its failures in a row.

        Where it was asked as what is kept `beside` pages, and became a page meanwhile, it is due at once.
        """
        kept = visit.kept
        came = (spell(visit.started), round(visit.seconds, 6), visit.status, visit.reason, visit.message)
        url = "" if visit.digest else visit.url
        asked = (host, visit.digest, url, visit.kind, int(visit.allowed))
        said = (*visit.validators, visit.location, kept.mime if kept else "")
        seq = self._batch.fact("attempt", session, *asked, *came, *_place_of(kept), *said)
        if again is not None:
            contentful = seq if kept and visit.status == 200 else None
            self._batch.row("visited", visit.kind, beside, *again, contentful, visit.digest, host)
        return seq


def _place_of(kept: KeptResponse | None) -> tuple[Any, ...]:
    """Spell what was kept, and where."""
    if kept is None:
        return ("", None, "", None, None, 0)
    return (kept.digest, kept.size, *kept.place, int(kept.revisit))


def _logged(row: tuple[Any, ...]) -> LoggedVisit:
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
