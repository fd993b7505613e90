"""Written by `make queries` from sessions.sql: change that, and run it again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from windrow.clock import parse, spell
from windrow.ledger.database import LedgerQueries
from windrow.ledger.rows import SessionRow
from windrow.reasons import Reason


class LeaseRow(NamedTuple):
    """Who holds the workspace, since when, and until when unless renewed."""

    token: str
    holder: str
    since: datetime
    expires: datetime
    beat: int


class TaskRow(NamedTuple):
    """One phase of one source; all that says how it ended is None while it runs."""

    seq: int
    collection: str
    source: str
    phase: int
    began: datetime
    ended: datetime | None
    failed: bool | None
    reason: Reason | None
    comment: str | None


class SourceSession(NamedTuple):
    """What a session did at one source: how many of its tasks failed or never ended, and when the last one did.

    `first_phase` is the first phase of its tasks: a session that only read what is kept has none of those that ask.
    """

    source: str
    session: int
    began: datetime
    ended: datetime | None
    failed: int
    reason: Reason | None
    first_phase: int


class SourceTask(NamedTuple):
    """A task of one source, and the session it was part of."""

    seq: int
    session: int
    phase: int
    began: datetime
    ended: datetime | None
    failed: bool | None
    reason: Reason | None
    comment: str | None


class SessionEnd(NamedTuple):
    """A row of `ended`."""

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


def _make_source_session(row: tuple[Any, ...]) -> SourceSession:
    source, session, began, ended, failed, reason, first_phase = row
    return SourceSession(
        source,
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


def _make_session_end(row: tuple[Any, ...]) -> SessionEnd:
    session, at = row
    return SessionEnd(session, parse(at))


class TypedSessions(LedgerQueries):
    """The queries of sessions.sql."""

    def last_at(self) -> str:
        """Return when the last session began or ended, as the ledger spells times; empty for never."""
        value: str = self._database.value("sessions.last_at")
        return value

    def lease(self) -> LeaseRow | None:
        """Return who holds the workspace, or held it when it was killed."""
        return self._database.first(_make_lease_row, "sessions.lease")

    def get(self, session: int) -> SessionRow | None:
        """Return a session by its number among the facts, None where there is none."""
        return self._database.first(_make_session_row, "sessions.get", session)

    def numbered(self, number: int) -> int | None:
        """Return the session that people know by a number: 1 is the first."""
        value: int | None = self._database.value("sessions.numbered", number)
        return value

    def numbers(self) -> dict[int, int]:
        """Return what people call each session."""
        return dict(self._database.rows(tuple, "sessions.numbers"))

    def first(self) -> str:
        """Return when the first session began and who held it: what no other ledger has; empty before it.

        The archive that the ledger writes to is marked with it.
        """
        value: str = self._database.value("sessions.first")
        return value

    def latest(self) -> int | None:
        """Return the number of the last session."""
        value: int | None = self._database.value("sessions.latest")
        return value

    def tasks(self, facts: tuple[int, int]) -> list[TaskRow]:
        """Return the tasks between two facts, in their order."""
        return self._database.rows(_make_task_row, "sessions.tasks", facts[0], facts[1])

    def by_source(self) -> list[SourceSession]:
        """Return every session of every source, in the order of sessions."""
        return self._database.rows(_make_source_session, "sessions.by_source")

    def ends_of_phase(self, collection: str, phase: int, before: int) -> dict[int, int]:
        """Return of the sessions before one those that ended tasks of a phase, and the last fact that ended one."""
        return dict(self._database.rows(tuple, "sessions.ends_of_phase", collection, phase, before))

    def last_before(self, at: datetime) -> int:
        """Return the last session that began before a time, by its number among the facts; 0 for none."""
        value: int = self._database.value("sessions.last_before", spell(at))
        return value

    def has_task(self, facts: tuple[int, int]) -> bool:
        """Tell whether there is a task between two facts."""
        return bool(self._database.value("sessions.has_task", facts[0], facts[1]))

    def last_reported_before(self, session: int) -> int:
        """Return the end of the last session with a task that ended before one, 0 for none."""
        value: int = self._database.value("sessions.last_reported_before", session)
        return value

    def collection_of(self, source: str) -> str:
        """Return the collection that a source was last harvested for, declared or not; empty for an unknown one."""
        value: str = self._database.value("sessions.collection_of", source)
        return value

    def tasks_of_source(self, source: str) -> list[SourceTask]:
        """Return every task of a source, in their order."""
        return self._database.rows(_make_source_task, "sessions.tasks_of_source", source)

    def has_ended(self, session: int) -> bool:
        """Tell whether a session has ended."""
        return bool(self._database.value("sessions.has_ended", session))

    def ended(self, sessions: Sequence[int]) -> list[SessionEnd]:
        """Return when these sessions ended, without those that have not."""
        return self._database.rows(_make_session_end, "sessions.ended", json.dumps([*sessions]))

    def running(self) -> bool:
        """Tell whether the latest session has not ended."""
        return bool(self._database.value("sessions.running"))

    def collections(self) -> set[str]:
        """Return the collections that were harvested here ever, or took what others kept."""
        return {*self._database.column("sessions.collections")}
