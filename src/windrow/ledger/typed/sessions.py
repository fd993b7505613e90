"""Written by `make queries` from sessions.sql: edit that file, and run `make queries` again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from windrow.clock import parse, spell
from windrow.ledger.database import LedgerQueries
from windrow.ledger.rows import SessionRow
from windrow.reasons import Reason


class LeaseRow(NamedTuple):
    """The lease of a workspace: its holder, since when it is held, and when it expires unless it is renewed."""

    token: str
    holder: str
    since: datetime
    expires: datetime
    beat: int


class ListedSession(NamedTuple):
    """A session in a list. `outcome` is its exit code; it and `ended` are None if it is running or was killed.

    `failed` is the number of its failed requests of documents, files that were not fetched, failed readings, and
    refused names. A file counts once for each host, and a document that answered before and is gone now does not count.
    """

    number: int
    command: str
    holder: str
    began: datetime
    ended: datetime | None
    outcome: int | None
    failed: int


class TaskRow(NamedTuple):
    """A task: one phase of one source, or of the collection if `source` is empty.

    The fields about its end are None if it is running or was interrupted.
    """

    seq: int
    collection: str
    source: str
    phase: int
    began: datetime
    ended: datetime | None
    failed: bool | None
    reason: Reason | None
    comment: str | None


class LeftOutTask(NamedTuple):
    """A task without a source that counts what was left out, in the form of `RuleCount`."""

    collection: str
    reason: Reason
    comment: str


class SourceSession(NamedTuple):
    """A session at one source.

    `failed` is the number of its tasks that failed or never ended, `ended` the time when the latest one ended, and
    `reason` the reason of one of them. `first_phase` is the lowest phase of its tasks, which is that of a step if the
    session fetched nothing.
    """

    session: int
    began: datetime
    ended: datetime | None
    failed: int
    reason: Reason | None
    first_phase: int


class SourceTask(NamedTuple):
    """A task of one source, and its session."""

    seq: int
    session: int
    phase: int
    began: datetime
    ended: datetime | None
    failed: bool | None
    reason: Reason | None
    comment: str | None


class LeavingTask(NamedTuple):
    """A task of one source or, if that is empty, of a collection, and its comment, in the form of `RuleCount`."""

    seq: int
    session: int
    collection: str
    source: str
    phase: int
    ended: datetime
    reason: Reason
    comment: str


class SessionEnd(NamedTuple):
    """A session, and the time when it ended."""

    session: int
    at: datetime


def _make_lease_row(row: tuple[Any, ...]) -> LeaseRow:
    token, holder, since, expires, beat = row
    return LeaseRow(token, holder, parse(since), parse(expires), beat)


def _make_session_row(row: tuple[Any, ...]) -> SessionRow:
    seq, number, began, holder, command, ended, outcome, last = row
    return SessionRow(
        seq, number, parse(began), holder, command, None if ended is None else parse(ended), outcome, last
    )


def _make_listed_session(row: tuple[Any, ...]) -> ListedSession:
    number, command, holder, began, ended, outcome, failed = row
    return ListedSession(
        number, command, holder, parse(began), None if ended is None else parse(ended), outcome, failed
    )


def _make_task_row(row: tuple[Any, ...]) -> TaskRow:
    seq, collection, source, phase, began, ended, failed, reason, comment = row
    return TaskRow(
        seq,
        collection,
        source,
        phase,
        parse(began),
        None if ended is None else parse(ended),
        None if failed is None else bool(failed),
        None if reason is None else Reason(reason),
        comment,
    )


def _make_left_out_task(row: tuple[Any, ...]) -> LeftOutTask:
    collection, reason, comment = row
    return LeftOutTask(collection, Reason(reason), comment)


def _make_source_session(row: tuple[Any, ...]) -> SourceSession:
    session, began, ended, failed, reason, first_phase = row
    return SourceSession(
        session,
        parse(began),
        None if ended is None else parse(ended),
        failed,
        None if reason is None else Reason(reason),
        first_phase,
    )


def _make_source_task(row: tuple[Any, ...]) -> SourceTask:
    seq, session, phase, began, ended, failed, reason, comment = row
    return SourceTask(
        seq,
        session,
        phase,
        parse(began),
        None if ended is None else parse(ended),
        None if failed is None else bool(failed),
        None if reason is None else Reason(reason),
        comment,
    )


def _make_leaving_task(row: tuple[Any, ...]) -> LeavingTask:
    seq, session, collection, source, phase, ended, reason, comment = row
    return LeavingTask(seq, session, collection, source, phase, parse(ended), Reason(reason), comment)


def _make_session_end(row: tuple[Any, ...]) -> SessionEnd:
    session, at = row
    return SessionEnd(session, parse(at))


class TypedSessions(LedgerQueries):
    """The queries of sessions.sql."""

    def last_at(self) -> str:
        """Return the latest time when a session began or ended, as the text that the ledger stores, or ""."""
        value: str = self._database.value("sessions.last_at")
        return value

    def lease(self) -> LeaseRow | None:
        """Return the lease, or None if there is none. A killed run leaves its lease behind."""
        return self._database.first(_make_lease_row, "sessions.lease")

    def get(self, session: int) -> SessionRow | None:
        """Return the session that began with the fact `session`, or None.

        The last fact of a session that has not ended is the last one before the next session.
        """
        return self._database.first(_make_session_row, "sessions.get", session)

    def page(self, before: int, limit: int, kinds: Sequence[str], rules: Sequence[str]) -> list[ListedSession]:
        """Return at most `limit` sessions, newest first; with `before`, those with smaller numbers.

        `kinds` are those of requests for documents, each with its collection, and `rules` the reasons for no request.
        """
        return self._database.rows(
            _make_listed_session, "sessions.page", json.dumps([*rules]), json.dumps([*kinds]), before, limit
        )

    def numbered(self, number: int) -> int | None:
        """Return the number of the fact that began the session shown to people as `number`, or None."""
        value: int | None = self._database.value("sessions.numbered", number)
        return value

    def numbers(self) -> dict[int, int]:
        """Return a dict from the number of a session's first fact to the number that is shown to people."""
        return dict(self._database.rows(tuple, "sessions.numbers"))

    def first(self) -> str:
        """Return the time and the holder of the first session, divided by a space, or ""."""
        value: str = self._database.value("sessions.first")
        return value

    def latest(self) -> int | None:
        """Return the number of the fact that began the last session, or None."""
        value: int | None = self._database.value("sessions.latest")
        return value

    def tasks(self, facts: tuple[int, int]) -> list[TaskRow]:
        """Return the tasks that began between two facts (first, last), in order.

        Ends of tasks after the last of these facts are not returned.
        """
        return self._database.rows(_make_task_row, "sessions.tasks", facts[0], facts[1])

    def errors_of_no_source(self, before: int) -> list[str]:
        """Return the comments of failed tasks without a source in sessions before the session `before`.

        A task does not count if a later session had a task of the same collection in the same phase or a later one. The
        failed tasks are selected first: they are few.
        """
        return self._database.column("sessions.errors_of_no_source", before)

    def left_out_of_no_source(self) -> list[LeftOutTask]:
        """Return the tasks without a source that count what was left out.

        A task is not returned if a later session had a task without a source of the same collection and phase.
        """
        return self._database.rows(_make_left_out_task, "sessions.left_out_of_no_source")

    def of_source(self, source: str) -> Iterator[SourceSession]:
        """Yield one row for every session that had a task of a source, the latest session first."""
        return self._database.stream(_make_source_session, "sessions.of_source", source)

    def sources(self) -> set[str]:
        """Return the names of the sources and services that had a task."""
        return {*self._database.column("sessions.sources")}

    def sources_after(self, fact: int) -> set[str]:
        """Return the names of the sources and services that had a task in a session that began after a fact."""
        return {*self._database.column("sessions.sources_after", fact)}

    def ends_of_phase(self, collection: str, phase: int, before: int) -> dict[int, int]:
        """Return a dict from each session before `before` to the last fact in it that ended a task of a phase."""
        return dict(self._database.rows(tuple, "sessions.ends_of_phase", collection, phase, before))

    def last_before(self, at: datetime) -> int:
        """Return the number of the fact that began the last session before a time, or 0."""
        value: int = self._database.value("sessions.last_before", spell(at))
        return value

    def has_task(self, facts: tuple[int, int]) -> bool:
        """Return whether a task began between two facts (first, last)."""
        return bool(self._database.value("sessions.has_task", facts[0], facts[1]))

    def last_reported_before(self, session: int) -> int:
        """Return the fact that ended the last session before `session` that had a task and has ended, or 0."""
        value: int = self._database.value("sessions.last_reported_before", session)
        return value

    def collection_of(self, source: str) -> str:
        """Return the collection of the last task of a source, or ""."""
        value: str = self._database.value("sessions.collection_of", source)
        return value

    def first_failures(self, facts: tuple[int, int]) -> dict[str, str]:
        """Return a dict from reason to the address or key of what first failed or was refused for it, in order.

        What failed without a reason is under its HTTP status. Of 404s and 410s, those at addresses that never had a
        body come first, since others may be gone.
        """
        return dict(self._database.rows(tuple, "sessions.first_failures", facts[0], facts[1]))

    def tasks_of_source(self, source: str) -> Iterator[SourceTask]:
        """Yield the tasks of a source, the latest first."""
        return self._database.stream(_make_source_task, "sessions.tasks_of_source", source)

    def tasks_in_session(self, source: str, session: int) -> list[SourceTask]:
        """Return the tasks of a source in one session."""
        return self._database.rows(_make_source_task, "sessions.tasks_in_session", source, session)

    def counting_tasks(self, source: str) -> Iterator[SourceTask]:
        """Yield the tasks of a source that count what was left out (`RuleCount`), the latest first."""
        return self._database.stream(_make_source_task, "sessions.counting_tasks", source)

    def leaving_out(self, example: str) -> list[LeavingTask]:
        """Return the tasks that count what a rule left out and name `example` as the first of it, in order."""
        return self._database.rows(_make_leaving_task, "sessions.leaving_out", example)

    def has_ended(self, session: int) -> bool:
        """Return whether a session has ended."""
        return bool(self._database.value("sessions.has_ended", session))

    def ended(self, sessions: Sequence[int]) -> list[SessionEnd]:
        """Return the times when these sessions ended. Sessions that have not ended are left out."""
        return self._database.rows(_make_session_end, "sessions.ended", json.dumps([*sessions]))

    def running(self) -> bool:
        """Return whether there is a session and the latest one has no end: it is running or was killed."""
        return bool(self._database.value("sessions.running"))

    def collections(self) -> set[str]:
        """Return the collections that have hosts or had tasks: they were harvested here, or used captures of others."""
        return {*self._database.column("sessions.collections")}
