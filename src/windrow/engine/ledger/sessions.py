"""Sessions, the tasks in them, and the lease by which one runs at a time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from windrow.engine.ledger.batch import LedgerBatch
from windrow.engine.ledger.database import LedgerDatabase
from windrow.engine.ledger.moment import spell
from windrow.reasons import Reason


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


class SessionEnd(NamedTuple):
    """When a session ended."""

    session: int
    at: datetime


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


class LeaseRow(NamedTuple):
    """Who holds the workspace, since when, and until when unless renewed."""

    token: str
    holder: str
    since: datetime
    expires: datetime
    beat: int


class _SessionNumber(NamedTuple):
    seq: int
    number: int


class SessionQueries:
    """What is asked of sessions."""

    def __init__(self, database: LedgerDatabase) -> None:
        """Ask this database."""
        self._database = database

    def get(self, session: int) -> SessionRow | None:
        """Return a session by its number among the facts, None where there is none."""
        return self._database.first(SessionRow, "session", session)

    def first(self) -> str:
        """Return when the first session began and who held it: what no other ledger has; empty before it."""
        return next(iter(self._database.mapped(" ".join, "first_session")), "")

    def numbered(self, number: int) -> int | None:
        """Return the session that people know by a number: 1 is the first."""
        found: int | None = self._database.value("session_numbered", number)
        return found

    def numbers(self) -> dict[int, int]:
        """Return what people call each session."""
        return {one.seq: one.number for one in self._database.rows(_SessionNumber, "session_numbers")}

    def latest(self) -> int | None:
        """Return the number of the last session."""
        latest: int | None = self._database.value("session_latest")
        return latest

    def running(self) -> bool:
        """Tell whether the latest session has not ended."""
        return self._database.value("session_open") is not None

    def has_ended(self, session: int) -> bool:
        """Tell whether a session has ended."""
        return self._database.value("session_ended", session) is not None

    def ended(self, sessions: Sequence[int]) -> list[SessionEnd]:
        """Return when these sessions ended, without those that have not."""
        return [*self._database.rows_of(SessionEnd, "sessions_ended", sessions)]

    def last_at(self) -> str:
        """Return when the last session began or ended, as the ledger spells times; empty for never."""
        return self._database.value("session_last_at") or ""

    def tasks(self, span: tuple[int, int]) -> list[TaskRow]:
        """Return the tasks between two facts, in their order."""
        return self._database.rows(TaskRow, "session_tasks", *span)

    def by_source(self) -> list[SourceSession]:
        """Return every session of every source, in the order of sessions."""
        return self._database.rows(SourceSession, "source_sessions")

    def tasks_of_source(self, source: str) -> list[SourceTask]:
        """Return every task of a source, in their order."""
        return self._database.rows(SourceTask, "source_tasks", source)

    def ends_of_phase(self, collection: str, phase: int, before: int) -> dict[int, int]:
        """Return of the sessions before one those that ended tasks of a phase, and the last fact that ended one."""
        query = "session_phase_ends"
        return dict(self._database.mapped(lambda row: (int(row[0]), int(row[1])), query, collection, phase, before))

    def last_before(self, at: datetime) -> int:
        """Return the last session that began before a time, by its number among the facts; 0 for none."""
        return int(self._database.value("session_before", spell(at)))

    def telling(self, session: int) -> tuple[int, int]:
        """Return the first and the last fact of whose changes a session tells: of none, the last is less.

        It tells its own, and those of the sessions right before it that were killed: these never ended, and what
        they wrote was told by nobody. A session that was killed tells nothing when another one follows, and one that
        has no task tells nothing: an operator's decision, after which nobody is told anything.
        """
        row = self.get(session)
        assert row is not None
        before = int(self._database.value("session_telling", session) or 0)
        tells = row.ended is None and session == self.latest()
        tells = tells or (row.ended is not None and bool(self._database.value("session_tasked", *row.span)))
        return before + 1, row.last if tells else before

    def collection_of(self, source: str) -> str:
        """Return the collection that a source was last harvested for, declared or not; empty for an unknown one."""
        return self._database.value("source_collection", source) or ""

    def collections(self) -> set[str]:
        """Return the collections that were harvested here ever, or took what others kept."""
        return {*self._database.column("collections_harvested")}

    def lease(self) -> LeaseRow | None:
        """Return who holds the workspace, or held it when it was killed."""
        return self._database.first(LeaseRow, "lease")


class SessionWriter:
    """What is written of sessions."""

    def __init__(self, batch: LedgerBatch) -> None:
        """Gather with the other parts of a writer."""
        self._batch = batch

    def open(self, holder: str, command: str) -> int:
        """Begin a session."""
        self._batch.flush()
        number = self._batch.database.value("session_next_number")
        return self._batch.fact("session", holder, command, number)

    def close(self, session: int, outcome: int) -> int:
        """End a session with its exit code."""
        return self._batch.fact("session_end", session, outcome)

    def open_task(self, session: int, collection: str, source: str, phase: int) -> int:
        """Begin one phase of one source."""
        return self._batch.fact("task", session, collection, source, phase)

    def close_task(self, task: int, reason: Reason | None, comment: str, *, failed: bool) -> int:
        """End it."""
        return self._batch.fact("task_end", task, int(failed), reason, comment)
