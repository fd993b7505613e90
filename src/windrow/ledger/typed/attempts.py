"""Written by `make queries` from attempts.sql: edit that file, and run `make queries` again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from windrow.clock import parse, spell
from windrow.ledger.database import LedgerQueries
from windrow.ledger.rows import LoggedAttempt, RobotsAttempt, SourceCounts, logged, recorded
from windrow.model import ArchivePlace, RecordedAttempt
from windrow.reasons import Reason


class AttemptRow(NamedTuple):
    """An attempt to fetch an address or a listed file.

    `at` is when its beginning was written, and `started` the date of its archive record or, without one, when it began.
    `end` (the number of the fact of its end) and `ended` are None if it is running or was interrupted. `warc` is empty
    if nothing was kept.
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


class OpenAttempt(NamedTuple):
    """An attempt to fetch a listed file that is running or was interrupted."""

    seq: int
    file: int
    source: str


class AttemptCount(NamedTuple):
    """The number of attempts at a source with the same outcome, and the bytes that they received.

    Of the attempts at a listed file, `number` counts only the last one at the source: it is the number of files.
    `listed` is true for listed files. For addresses, `kind` is the collection's own number for their kind. `earlier` is
    true if the address had a body before, and `taken` if a capture was used instead of a request. `misses` is how often
    the address had answered 404 since its last answer with content (at most 2; 410 counts as 2), for an answer 404 or
    410, and `seed` is whether such an address is one of the source's own: nothing else led to it. `guess` is whether
    nothing named the address, for any answer from 400 on.
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
    misses: int
    seed: bool
    guess: bool
    taken: bool
    number: int
    received: int


class LatestCapture(NamedTuple):
    """The latest complete capture of a file: its digest, and the date and address of the record with the bytes."""

    file: int
    digest: str
    at: datetime
    address: str
    warc: str


class FailedSessions(NamedTuple):
    """The number of sessions with a failed attempt at a file, and when the last failed attempt ended."""

    file: int
    number: int
    last: datetime


class SessionCapture(NamedTuple):
    """A complete capture of a file, and the session that began it."""

    session: int
    opened: datetime
    file: int
    attempt: int
    checksum: str


class RulesFailure(NamedTuple):
    """A failed request for the robots.txt of an origin."""

    source: str
    origin: str
    status: int | None
    reason: Reason | None
    message: str


class AttemptOutcome(NamedTuple):
    """The number of attempts at a host's addresses and robots.txt with the same status and reason.

    `latest` is the address of the last of them, or "" if all of them were for robots.txt.
    """

    reason: Reason | None
    status: int | None
    number: int
    latest: str


def _make_attempt_row(row: tuple[Any, ...]) -> AttemptRow:
    (
        seq,
        at,
        session,
        source,
        url,
        kind,
        allowed,
        started,
        end,
        ended,
        seconds,
        status,
        received,
        reason,
        message,
        digest,
        size,
        warc,
        offset,
        length,
        revisit,
        etag,
        modified,
        location,
        checksum,
    ) = row
    return AttemptRow(
        seq,
        parse(at),
        session,
        source,
        url,
        kind,
        bool(allowed),
        parse(started),
        end,
        None if ended is None else parse(ended),
        seconds,
        status,
        received,
        None if reason is None else Reason(reason),
        message,
        digest,
        size,
        warc,
        offset,
        length,
        bool(revisit),
        etag,
        modified,
        location,
        checksum,
    )


def _make_attempt_count(row: tuple[Any, ...]) -> AttemptCount:
    (
        collection,
        source,
        listed,
        kind,
        status,
        reason,
        mime,
        revisit,
        earlier,
        misses,
        seed,
        guess,
        taken,
        number,
        received,
    ) = row
    return AttemptCount(
        collection,
        source,
        bool(listed),
        kind,
        status,
        None if reason is None else Reason(reason),
        mime,
        bool(revisit),
        bool(earlier),
        misses,
        bool(seed),
        bool(guess),
        bool(taken),
        number,
        received,
    )


def _make_latest_capture(row: tuple[Any, ...]) -> LatestCapture:
    file, digest, at, address, warc = row
    return LatestCapture(file, digest, parse(at), address, warc)


def _make_failed_sessions(row: tuple[Any, ...]) -> FailedSessions:
    file, number, last = row
    return FailedSessions(file, number, parse(last))


def _make_session_capture(row: tuple[Any, ...]) -> SessionCapture:
    session, opened, file, attempt, checksum = row
    return SessionCapture(session, parse(opened), file, attempt, checksum)


def _make_rules_failure(row: tuple[Any, ...]) -> RulesFailure:
    source, origin, status, reason, message = row
    return RulesFailure(source, origin, status, None if reason is None else Reason(reason), message)


def _make_robots_attempt(row: tuple[Any, ...]) -> RobotsAttempt:
    url, started, seconds, status, location, warc, offset, length, reason = row
    return RobotsAttempt(
        url, parse(started), seconds, status, location, warc, offset, length, None if reason is None else Reason(reason)
    )


def _make_attempt_outcome(row: tuple[Any, ...]) -> AttemptOutcome:
    reason, status, number, latest = row
    return AttemptOutcome(None if reason is None else Reason(reason), status, number, latest)


class TypedAttempts(LedgerQueries):
    """The queries of attempts.sql."""

    def of_file(self, file: int) -> list[AttemptRow]:
        """Return the attempts to fetch a listed file, in order."""
        return self._database.rows(_make_attempt_row, "attempts.of_file", file)

    def of_address(self, host: int, address: int) -> list[AttemptRow]:
        """Return the attempts to fetch an address of a host, in order."""
        return self._database.rows(_make_attempt_row, "attempts.of_address", address, host)

    def get(self, attempt: int) -> AttemptRow | None:
        """Return one attempt, or None if no attempt has this number."""
        return self._database.first(_make_attempt_row, "attempts.get", attempt)

    def open(self) -> list[OpenAttempt]:
        """Return the last attempt at each listed file whose last attempt has no end."""
        return self._database.rows(OpenAttempt._make, "attempts.open")

    def count_ahead(self, at: datetime) -> int:
        """Count the attempts at addresses with a time later than `at`, the present time."""
        value: int = self._database.value("attempts.count_ahead", spell(at))
        return value

    def ended_between(self, facts: tuple[int, int]) -> list[AttemptCount]:
        """Count by outcome the attempts that ended between two facts, without requests for robots.txt."""
        return self._database.rows(_make_attempt_count, "attempts.ended_between", facts[0], facts[1])

    def latest_captures(self, files: Sequence[int]) -> dict[int, LatestCapture]:
        """Return a dict from file to its latest complete capture. Files without one are left out, as is a damaged one.

        `at`, `address` and `warc` are those of the last record with its bytes.
        """
        rows = self._database.rows(_make_latest_capture, "attempts.latest_captures", json.dumps([*files]))
        return {row[0]: row for row in rows}

    def by_source(self) -> dict[str, SourceCounts]:
        """Return a dict from source to the counts of its ended attempts at listed files."""
        rows = self._database.rows(SourceCounts._make, "attempts.by_source")
        return {row[0]: row for row in rows}

    def failed_sessions(self, files: Sequence[int]) -> dict[int, FailedSessions]:
        """Return a dict from file to the counts of the sessions with a failed attempt at it.

        Attempts that began before the last decision to retry the file do not count. A file without such a session is
        left out.
        """
        rows = self._database.rows(_make_failed_sessions, "attempts.failed_sessions", json.dumps([*files]))
        return {row[0]: row for row in rows}

    def captures_by_session(self, collection: str) -> list[SessionCapture]:
        """Return the complete captures of a collection's listed files, in the order of sessions.

        Cancelled files are left out.
        """
        return self._database.rows(_make_session_capture, "attempts.captures_by_session", collection)

    def after(self, collection: str, after: int, limit: int) -> list[RecordedAttempt]:
        """Return the attempts at a collection's addresses after the attempt `after`, in order."""
        return self._database.rows(recorded, "attempts.after", collection, after, limit)

    def logged_after(self, collection: str, after: int, limit: int) -> list[LoggedAttempt]:
        """Return the attempts at a collection's addresses and robots.txt after the attempt `after`, in order."""
        return self._database.rows(logged, "attempts.logged_after", collection, after, limit)

    def at_place(self, place: ArchivePlace) -> list[int]:
        """Return the attempts whose response is at a place in the archive, at most 100."""
        return self._database.column("attempts.at_place", place.warc, place.offset)

    def status_at(self, place: ArchivePlace) -> int | None:
        """Return the status of the response at a place in the archive, or None if it has none."""
        value: int | None = self._database.value("attempts.status_at", place.warc, place.offset)
        return value

    def by_numbers(self, attempts: Sequence[int]) -> list[RecordedAttempt]:
        """Return the attempts at addresses (not at robots.txt or listed files) with these numbers, in order."""
        return self._database.rows(recorded, "attempts.by_numbers", json.dumps([*attempts]))

    def count_after(self, attempt: int) -> int:
        """Count the attempts at addresses after an attempt, in all collections."""
        value: int = self._database.value("attempts.count_after", attempt)
        return value

    def last_number(self) -> int:
        """Return the number of the last attempt at an address or robots.txt, not at a listed file, or 0."""
        value: int = self._database.value("attempts.last_number")
        return value

    def count_upto(self, collection: str, attempt: int) -> int:
        """Count the attempts at a collection's addresses and robots.txt, up to and including an attempt."""
        value: int = self._database.value("attempts.count_upto", collection, attempt)
        return value

    def rules_failed_between(self, facts: tuple[int, int], collection: str, kind: int) -> list[RulesFailure]:
        """Return the last request for each robots.txt between two facts if it failed.

        A status below 500, except 429, is not a failure, and neither is a robots.txt that is too large or was taken
        down later. `kind` is the kind of a request for robots.txt.
        """
        return self._database.rows(
            _make_rules_failure, "attempts.rules_failed_between", facts[0], facts[1], collection, kind
        )

    def seconds_by_origin(self, collection: str) -> dict[str, float]:
        """Return a dict from origin to the average time, in seconds, of its latest responses to a collection.

        They are those among the last 100 attempts of each source at the origin.
        """
        return dict(self._database.rows(tuple, "attempts.seconds_by_origin", collection))

    def of_rules(self, origin: str, collection: str, kind: int, limit: int) -> list[RobotsAttempt]:
        """Return the last requests of a collection for the robots.txt of an origin, the latest first.

        `kind` is the kind of a request for robots.txt.
        """
        return self._database.rows(_make_robots_attempt, "attempts.of_rules", origin, collection, kind, limit)

    def outcomes(self, host: int) -> list[AttemptOutcome]:
        """Count the attempts at a host by outcome, the most frequent first."""
        return self._database.rows(_make_attempt_outcome, "attempts.outcomes", host)
