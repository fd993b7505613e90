"""Attempts to get something: fetches of what is listed, and visits to the addresses of a crawl."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from windrow.engine.ledger.batch import LedgerBatch
from windrow.engine.ledger.database import LedgerDatabase
from windrow.engine.ledger.moment import parse, spell
from windrow.model import ArchivePlace, Fetched, KeptResponse, Recorded, Visit
from windrow.reasons import Reason


class OpenFetch(NamedTuple):
    """An attempt that was cut before its end, and after which none was made."""

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


class FetchRow(NamedTuple):
    """An attempt to get an item; from `end` on all is None for one that was cut or is under way."""

    seq: int
    at: datetime
    session: int
    source: str
    address: str
    end: int | None
    ended: datetime
    seconds: float
    status: int | None
    received: int
    reason: Reason | None
    message: str
    digest: str
    size: int | None
    warc: str
    offset: int
    length: int
    revisit: bool
    checksum: str


class FetchCount(NamedTuple):
    """How many attempts at a source ended for a reason, None for well; and bytes that came, and repeated captures."""

    source: str
    reason: Reason | None
    number: int
    received: int
    revisits: int


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


class VisitCount(NamedTuple):
    """How many visits of one kind ended in one way.

    `earlier` where the address had a body before, `taken` where nobody was asked, since the capture was there.
    """

    collection: str
    source: str
    kind: int
    status: int | None
    reason: Reason | None
    mime: str
    revisit: bool
    earlier: bool
    taken: bool
    number: int
    received: int


class RulesFailure(NamedTuple):
    """A host whose rules could not be had."""

    source: str
    origin: str
    status: int | None
    reason: Reason | None
    message: str


class VisitRow(NamedTuple):
    """A visit to an address; `warc` is empty where nothing was kept."""

    seq: int
    at: datetime
    session: int
    kind: int
    allowed: bool
    started: datetime
    seconds: float
    status: int | None
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
    """How many questions to a host had a status, or failed for a reason."""

    reason: Reason | None
    status: int | None
    number: int


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

    def open_fetches(self) -> list[OpenFetch]:
        """Return attempts that were cut before their end, and after which none was made."""
        return self._database.rows(OpenFetch, "fetches_open")

    def by_source(self) -> dict[str, SourceRecord]:
        """Return how each source did so far."""
        return {one.source: one for one in self._database.rows(SourceRecord, "source_records")}

    def failed_sessions(self, items: Sequence[int]) -> dict[int, FailedSessions]:
        """Return how many sessions in a row tried each item without success, and when the last one did."""
        return {one.item: one for one in self._database.rows_of(FailedSessions, "failed_sessions", items)}

    def latest_captures(self, items: Sequence[int]) -> dict[int, LatestCapture]:
        """Return the latest good capture of each item that has one."""
        return {one.item: one for one in self._database.rows_of(LatestCapture, "captures_latest", items)}

    def of_item(self, item: int) -> list[FetchRow]:
        """Return the attempts to get an item, in order."""
        return self._database.rows(FetchRow, "item_fetches", item)

    def fetch(self, fetch: int) -> list[FetchRow]:
        """Return one attempt, or nothing where there is none of this number."""
        return self._database.rows(FetchRow, "fetch", fetch)

    def fetched_between(self, span: tuple[int, int]) -> list[FetchCount]:
        """Count how attempts ended between two facts."""
        return self._database.rows(FetchCount, "session_fetches", *span)

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

    def visited_between(self, span: tuple[int, int]) -> list[VisitCount]:
        """Count what came of visits between two facts."""
        return self._database.rows(VisitCount, "session_visits", *span)

    def rules_failed_between(self, span: tuple[int, int], collection: str, kind: int) -> list[RulesFailure]:
        """Return hosts whose rules could not be had; `kind` is the collection's word for a question for rules."""
        return self._database.rows(RulesFailure, "session_rules", *span, collection, kind)

    def seconds_by_origin(self, collection: str) -> dict[str, float]:
        """Return how long each origin took for an answer, in seconds."""
        return {one.origin: one.seconds for one in self._database.rows(_OriginSeconds, "host_seconds", collection)}

    def of_address(self, host: int, address: int) -> list[VisitRow]:
        """Return the visits to an address of a host, in order."""
        return self._database.rows(VisitRow, "address_visits", address, host)

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

    def begin(self, session: int, item: int, source: str, address: str, at: datetime) -> int:
        """Begin an attempt to get an item; its children are from now on those of this attempt."""
        fetch = self._batch.fact("fetch", session, item, source, address, at=at)
        self._batch.row("fetched", fetch, item)
        return fetch

    def end(self, fetch: int, item: int, source: str, got: Fetched) -> int:
        """End an attempt, with the capture where there is one."""
        kept = got.kept
        dated = spell(kept.at) if kept and kept.at else ""
        line = (round(got.seconds, 6), got.status, got.received, got.reason, got.message)
        said = (*got.validators, got.checksum, dated, kept.mime if kept else "")
        return self._batch.fact("fetch_end", fetch, item, source, *line, *_place_of(kept), *said)

    def visited(
        self, session: int, host: int, visit: Visit, again: tuple[int | None, int, int] | None,
        beside: int | None = None,
    ) -> int:  # fmt: skip
        """Put a visit on record; `again` is when its address is due, its pause and its failures in a row.

        Where it was asked as what is kept `beside` pages, and became a page meanwhile, it is due at once.
        """
        kept = visit.kept
        came = (spell(visit.started), round(visit.seconds, 6), visit.status, visit.reason, visit.message)
        asked = (host, visit.digest, visit.kind, int(visit.allowed))
        url = "" if visit.digest else visit.url
        said = (*visit.validators, visit.location, url, kept.mime if kept else "")
        seq = self._batch.fact("visit", session, *asked, *came, *_place_of(kept), *said)
        if again is not None:
            contentful = seq if kept and visit.status == 200 else None
            self._batch.row("visited", visit.kind, beside, *again, contentful, visit.digest, host)
        return seq


def _place_of(kept: KeptResponse | None) -> tuple[Any, ...]:
    """Spell what was kept, and where, as fetches and visits have it in their rows."""
    if kept is None:
        return ("", None, "", None, None, 0)
    return (kept.digest, kept.size, *kept.place, int(kept.revisit))


def _logged(row: tuple[Any, ...]) -> LoggedVisit:
    return LoggedVisit(recorded(row[:3] + row[4:]), row[3])


def recorded(row: tuple[Any, ...]) -> Recorded:
    """Make a visit of the columns that `visits_after` has."""
    seq, session, opened, source, address, url, kind, allowed, started, seconds, status, reason, message = row[:13]
    digest, size, warc, offset, length, revisit, mime, etag, modified, location = row[13:]
    kept = KeptResponse(digest, size, ArchivePlace(warc, offset, length), bool(revisit), mime=mime) if warc else None
    visit = Visit(
        address, url, kind, bool(allowed), parse(started), seconds, status, kept,
        Reason(reason) if reason else None, message, (etag, modified), location,
    )  # fmt: skip
    return Recorded(seq, session, parse(opened), source, visit)
