"""Sessions, their tasks, and the lease by which one run at a time works in a workspace."""

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
"""The name under which further rules are counted together if there are too many."""

_RULE_COMMENT = re.compile(r"(\d+) left out, such as (\S*): (.*)", re.DOTALL)


class RuleCount(NamedTuple):
    """How many addresses of a source one rule left out in a session; `example` is the first of them."""

    source: str
    reason: str
    rule: str
    addresses: int
    example: str

    def spelt(self) -> str:
        """Return the count as the comment of a task.

        >>> RuleCount("blog", "query_denied", "q", 3, "https://a.example/?q").spelt()
        '3 left out, such as https://a.example/?q: q'
        """
        return f"{self.addresses} left out, such as {self.example[:500]}: {self.rule}"

    @classmethod
    def read(cls, source: str, reason: str, comment: str) -> Self | None:
        """Read such a comment; None if it is a different comment.

        >>> RuleCount.read("blog", "query_denied", "3 left out, such as https://a.example/?q: q")
        RuleCount(source='blog', reason='query_denied', rule='q', addresses=3, example='https://a.example/?q')
        """
        match = _RULE_COMMENT.fullmatch(comment)
        return cls(source, reason, match[3], int(match[1]), match[2]) if match else None


class SessionQueries(TypedSessions):
    """Queries on sessions."""

    def telling(self, session: int) -> tuple[int, int]:
        """Return the first and last fact of the changes that a session reports; if none, the last is smaller.

        It reports its own changes and the unreported ones of killed sessions right before it. A killed session
        that another one follows reports nothing, nor does one without a task: an operator's decision.
        """
        row = self.get(session)
        assert row is not None
        reported_before = self.last_told_before(session)
        reports = row.ended is None and session == self.latest()
        reports = reports or (row.ended is not None and self.has_task(row.span))
        return reported_before + 1, row.last if reports else reported_before


class SessionWriter:
    """Writes sessions."""

    def __init__(self, batch: LedgerBatch) -> None:
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
        """End a task."""
        return self._batch.fact("task_end", task, int(failed), reason, comment)


LENGTH = timedelta(seconds=60)
"""How long a lease lasts without renewal; it is renewed every third of that."""


def holder() -> str:
    """Return the name of this process: host, boot, pid and start, so that others on this host can see if it lives."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    mark = boot.read_text().strip()[:8] if boot.exists() else "?"
    return f"{socket.gethostname()}/{mark} pid {os.getpid()} {_start_tick(os.getpid())}"


def _start_tick(pid: int) -> str:
    """Return a process's start tick, which distinguishes it from a later process with its pid; empty if unknown."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    return text.rpartition(")")[2].split()[19]


def is_dead(name: str) -> bool:
    """Return whether a holder is certainly dead: it is of this host and boot, and its process has ended."""
    host, _, process = name.partition(" pid ")
    own_host, _, _ = holder().partition(" pid ")
    pid, _, started = process.partition(" ")
    return host == own_host and pid.isdigit() and _start_tick(int(pid)) != started


class Lease:
    """The right to write to a workspace, as long as it is renewed."""

    def __init__(self, ledger: Ledger, clock: Callable[[], datetime] = now) -> None:
        """Take the lease; raise Locked, naming its holder, if it is held."""
        self._ledger = ledger
        self._clock = clock
        self.token = secrets.token_hex(16)
        self.taken_from = ""
        database = ledger.database
        with database.transaction():
            current = ledger.sessions.lease()
            if current is not None:
                self._refuse_if_held(current)
                self.taken_from = current.holder
                database.execute("lease_drop")
            at = clock()
            database.execute("lease_take", self.token, holder(), spell(at), spell(at + LENGTH))
        self._renewed = at

    def _refuse_if_held(self, lease: LeaseRow) -> None:
        remaining = lease.expires - self._clock()
        # A lease that ends later than any lease can was taken by a clock that has gone back since.
        is_held = timedelta(0) < remaining <= LENGTH + timedelta(seconds=5)
        if is_held and not is_dead(lease.holder):
            raise Locked(
                f"this workspace is in use by {lease.holder} since {spell(lease.since)};"
                f" its lease ends in {remaining.seconds} s unless renewed"
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
        """Release the lease."""
        database = self._ledger.database
        with database.transaction():
            database.execute("lease_release", self.token)
