"""Record sessions and their tasks, and hold the lease with which one run at a time works in a workspace."""

from __future__ import annotations

import os
import re
import secrets
import socket
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

from windrow.clock import now, spell
from windrow.errors import Locked
from windrow.ledger.batch import LedgerBatch
from windrow.ledger.typed.sessions import LeaseRow, TypedSessions
from windrow.reasons import Reason

if TYPE_CHECKING:
    from windrow.ledger.ledger import Ledger


OTHER_RULES = "other rules"
"""The name under which further rules are counted together once the maximum number of rules has been counted."""

_RULE_COMMENT = re.compile(r"(\d+) left out, such as (\S*): (.*)", re.DOTALL)


class RuleCount(NamedTuple):
    """The number of a source's addresses that one rule left out in a session. `example` is the first of them."""

    source: str
    reason: str
    rule: str
    addresses: int
    example: str

    def as_comment(self) -> str:
        """Return the count as the comment of a task stores it.

        >>> RuleCount("blog", "query_denied", "q", 3, "https://a.example/?q").as_comment()
        '3 left out, such as https://a.example/?q: q'
        """
        example = "%20".join(self.example[:500].split())  # a name of a file may have spaces, at which `read` ends it
        return f"{self.addresses} left out, such as {example}: {self.rule}"

    @classmethod
    def read(cls, source: str, reason: str, comment: str) -> Self | None:
        """Return the count from a comment that `as_comment` returned, or None if the comment has another form.

        >>> RuleCount.read("blog", "query_denied", "3 left out, such as https://a.example/?q: q")
        RuleCount(source='blog', reason='query_denied', rule='q', addresses=3, example='https://a.example/?q')
        """
        match = _RULE_COMMENT.fullmatch(comment)
        return cls(source, reason, match[3], int(match[1]), match[2]) if match else None


class SessionQueries(TypedSessions):
    """Queries on sessions."""

    def reported_facts(self, session: int) -> tuple[int, int]:
        """Return the (first, last) number of the facts that a session reports. If it reports none, last < first.

        A session reports its own changes, and the changes of killed sessions directly before it. A killed session that
        is followed by another reports nothing, and neither does a session that only recorded an operator's decision.
        """
        row = self.get(session)
        assert row is not None
        reported_before = self.last_reported_before(session)
        reports_changes = row.ended is None and session == self.latest()
        reports_changes = reports_changes or (row.ended is not None and self.has_task(row.span))
        return reported_before + 1, row.last if reports_changes else reported_before


class SessionWriter:
    """Writes sessions and their tasks."""

    def __init__(self, batch: LedgerBatch) -> None:
        self._batch = batch

    def open(self, holder: str, command: str) -> int:
        """Record that the process `holder` begins a session for `command`. Return its number among the facts."""
        self._batch.flush()
        number = self._batch.database.value("session_next_number")
        return self._batch.fact("session", holder, command, number)

    def close(self, session: int, outcome: int) -> int:
        """Record the end of a session with its exit code, `outcome`. Return the number of the fact."""
        return self._batch.fact("session_end", session, outcome)

    def open_task(self, session: int, collection: str, source: str, phase: int) -> int:
        """Record that a task begins, one phase of one source. Return the number of the task."""
        return self._batch.fact("task", session, collection, source, phase)

    def close_task(self, task: int, reason: Reason | None, comment: str, *, failed: bool) -> int:
        """Record the end of a task: whether and why it `failed`, and a comment. Return the number of the fact."""
        return self._batch.fact("task_end", task, int(failed), reason, comment)


LEASE_LENGTH = timedelta(seconds=60)
"""How long a lease lasts without renewal. A run renews it after a third of this time."""


def name_this_process() -> str:
    """Return a name of this process that shows on this machine whether it still runs.

    It consists of machine, boot, process number and start time.
    """
    boot_file = Path("/proc/sys/kernel/random/boot_id")
    boot_id = boot_file.read_text().strip()[:8] if boot_file.exists() else "?"
    return f"{socket.gethostname()}/{boot_id} pid {os.getpid()} {_start_tick(os.getpid())}"


def _start_tick(pid: int) -> str:
    try:
        process_status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    return process_status.rpartition(")")[2].split()[19]


def is_certainly_dead(holder: str) -> bool:
    """Return whether a lease's holder ran on this machine since its last boot, and its process has ended."""
    machine, _, pid_and_start = holder.partition(" pid ")
    this_machine, _, _ = name_this_process().partition(" pid ")
    pid, _, start_tick = pid_and_start.partition(" ")
    return machine == this_machine and pid.isdigit() and _start_tick(int(pid)) != start_tick


class Lease:
    """The exclusive right to run in a workspace, valid for `LEASE_LENGTH` after it was last renewed."""

    def __init__(self, ledger: Ledger, clock: Callable[[], datetime] = now) -> None:
        """Take the lease. Raises Locked, with the name of the holder, if another process has it and may still run."""
        self._ledger = ledger
        self._clock = clock
        self.token = secrets.token_hex(16)
        database = ledger.database
        with database.transaction():
            existing_lease = ledger.sessions.lease()
            if existing_lease is not None:
                self._refuse_if_held(existing_lease)
                database.execute("lease_drop")
            at = clock()
            database.execute("lease_take", self.token, name_this_process(), spell(at), spell(at + LEASE_LENGTH))
        self._renewed = at

    def _refuse_if_held(self, lease: LeaseRow) -> None:
        remaining = lease.expires - self._clock()
        # If a lease ends later than any lease can, the clock was set back since it was taken.
        is_held = timedelta(0) < remaining <= LEASE_LENGTH + timedelta(seconds=5)
        if is_held and not is_certainly_dead(lease.holder):
            raise Locked(
                f"this workspace has been in use by {lease.holder} since {spell(lease.since)};"
                f" its lease ends in {remaining.seconds} s unless renewed"
            )

    def beat(self) -> None:
        """Renew the lease if a third of its time has passed. Raises Locked if another run has taken it over."""
        at = self._clock()
        if timedelta(0) <= at - self._renewed < LEASE_LENGTH / 3:
            return
        database = self._ledger.database
        with database.transaction():
            if not database.execute("lease_beat", spell(at + LEASE_LENGTH), self.token):
                raise Locked("another run has taken over the lease of this workspace", hint="windrow status")
        self._renewed = at

    def release(self) -> None:
        """Release the lease."""
        database = self._ledger.database
        with database.transaction():
            database.execute("lease_release", self.token)
