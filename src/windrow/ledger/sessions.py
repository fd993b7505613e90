"""Sessions, their tasks, and the lease by which one run at a time works in a workspace."""

from __future__ import annotations

import os
import re
import secrets
import socket
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

from windrow.clock import now, spell
from windrow.errors import Locked
from windrow.ledger.batch import LedgerBatch
from windrow.ledger.database import LedgerDatabase
from windrow.reasons import Reason

if TYPE_CHECKING:
    from windrow.ledger.ledger import Ledger


OTHER_RULES = "other rules"
"""The name under which all further rules are counted together, where there are too many to count each by itself."""

_RULE_COMMENT = re.compile(r"(\d+) left out, such as (\S*): (.*)", re.DOTALL)


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


class RuleCount(NamedTuple):
    """How many addresses of a source one rule left out in a session; `example` is the first of them."""

    source: str
    reason: str
    rule: str
    addresses: int
    example: str

    def spelt(self) -> str:
        """Spell it as the comment of a task.

        >>> RuleCount("blog", "query_denied", "q", 3, "https://a.example/?q").spelt()
        '3 left out, such as https://a.example/?q: q'
        """
        return f"{self.addresses} left out, such as {self.example[:500]}: {self.rule}"

    @classmethod
    def read(cls, source: str, reason: str, comment: str) -> Self | None:
        """Read such a comment; None where it is another one.

        >>> RuleCount.read("blog", "query_denied", "3 left out, such as https://a.example/?q: q")
        RuleCount(source='blog', reason='query_denied', rule='q', addresses=3, example='https://a.example/?q')
        """
        found = _RULE_COMMENT.fullmatch(comment)
        return cls(source, reason, found[3], int(found[1]), found[2]) if found else None


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


LENGTH = timedelta(seconds=60)
"""How long a lease lasts without a beat; a beat every third of it keeps it."""


def holder() -> str:
    """Name this process: host, boot and pid, so that another on the same host can tell if it lives."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    mark = boot.read_text().strip()[:8] if boot.exists() else "?"
    return f"{socket.gethostname()}/{mark} pid {os.getpid()} {_started(os.getpid())}"


def _started(pid: int) -> str:
    """Return the process's start tick, which tells a pid from its later reuse; empty where unknown."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    return text.rpartition(")")[2].split()[19]


def is_dead(name: str) -> bool:
    """Tell whether a holder is surely dead: same host and boot, and no such process any more."""
    where, _, rest = name.partition(" pid ")
    mine, _, _ = holder().partition(" pid ")
    pid, _, started = rest.partition(" ")
    return where == mine and pid.isdigit() and _started(int(pid)) != started


class Lease:
    """The right to write to a workspace, as long as it is renewed."""

    def __init__(self, ledger: Ledger, clock: Callable[[], datetime] = now) -> None:
        """Take the lease, or raise `Locked` saying who holds it and since when."""
        self._ledger = ledger
        self._clock = clock
        self.token = secrets.token_hex(16)
        self.taken_from = ""
        database = ledger.database
        with database.transaction():
            held = ledger.sessions.lease()
            if held is not None:
                self._refuse_if_held(held)
                self.taken_from = held.holder
                database.execute("lease_drop")
            at = clock()
            database.execute("lease_take", self.token, holder(), spell(at), spell(at + LENGTH))
        self._renewed = at

    def _refuse_if_held(self, lease: LeaseRow) -> None:
        left = lease.expires - self._clock()
        # A lease that ends later than any lease can was taken by a clock that has gone back since.
        held = timedelta(0) < left <= LENGTH + timedelta(seconds=5)
        if held and not is_dead(lease.holder):
            raise Locked(
                f"this workspace is in use by {lease.holder} since {spell(lease.since)};"
                f" its lease ends in {left.seconds} s unless renewed"
            )

    def beat(self) -> None:
        """Renew the lease when a third of it is gone."""
        at = self._clock()
        if timedelta(0) <= at - self._renewed < LENGTH / 3:
            return
        database = self._ledger.database
        with database.transaction():
            if not database.execute("lease_beat", spell(at + LENGTH), self.token):
                raise Locked("another run took this workspace's lease over", hint="windrow status")
        self._renewed = at

    def release(self) -> None:
        """Give the lease back."""
        database = self._ledger.database
        with database.transaction():
            database.execute("lease_release", self.token)
