"""The lease: one run at a time, on record in the database, and no lock that outlives a crash."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

from windrow.engine.clock import now
from windrow.engine.ledger.ledger import Ledger
from windrow.engine.ledger.moment import spell
from windrow.engine.ledger.sessions import LeaseRow
from windrow.errors import Locked

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
