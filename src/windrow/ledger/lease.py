"""The lease of a workspace: only one process at a time may run in it."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

from windrow.clock import now, spell
from windrow.errors import Locked
from windrow.ledger.ledger import Ledger
from windrow.ledger.typed.sessions import LeaseRow

LEASE_LENGTH = timedelta(seconds=60)
"""How long a lease lasts without renewal. A run renews it after a third of this time."""


def name_this_process() -> str:
    """Return a name for this process, by which `is_certainly_dead` can tell on this machine that the process has ended.

    The name consists of machine, boot, process number and start time.
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
    """Return whether the process `holder` ran on this machine since the last boot, and has ended."""
    machine, _, pid_and_start = holder.partition(" pid ")
    this_machine, _, _ = name_this_process().partition(" pid ")
    pid, _, start_tick = pid_and_start.partition(" ")
    return machine == this_machine and pid.isdigit() and _start_tick(int(pid)) != start_tick


class Lease:
    """The exclusive right to run in a workspace, valid for `LEASE_LENGTH` after it was last renewed."""

    def __init__(self, ledger: Ledger, clock: Callable[[], datetime] = now) -> None:
        """Take the lease. Raises Locked, which names the holder, if a lease is valid and its holder may still run."""
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
        # If a lease ends later than any lease can, the clock has been set back since it was taken.
        is_held = timedelta(0) < remaining <= LEASE_LENGTH + timedelta(seconds=5)
        if is_held and not is_certainly_dead(lease.holder):
            raise Locked(
                f"this workspace has been in use by {lease.holder} since {spell(lease.since)};"
                f" its lease ends in {remaining.seconds} s unless renewed"
            )

    def beat(self) -> None:
        """Renew the lease if a third of its time has passed; raise Locked if another run has taken the lease over."""
        at = self._clock()
        if timedelta(0) <= at - self._renewed < LEASE_LENGTH / 3:
            return
        database = self._ledger.database
        with database.transaction():
            if not database.execute("lease_beat", spell(at + LEASE_LENGTH), self.token):
                raise Locked("another run has taken over the lease of this workspace", hint="windrow status")
        self._renewed = at

    def release(self) -> None:
        """Release the lease, unless another run has taken it over."""
        database = self._ledger.database
        with database.transaction():
            database.execute("lease_release", self.token)


def running_process(ledger: Ledger) -> str:
    """Return the holder of the lease; empty if there is no lease, if it has expired, or if its process is dead."""
    lease = ledger.sessions.lease()
    return lease.holder if lease and lease.expires > now() and not is_certainly_dead(lease.holder) else ""


def killed_session(ledger: Ledger) -> int:
    """Return the number of the last session if it was killed (it is neither ended nor running), or else 0."""
    last_session = ledger.sessions.latest()
    row = ledger.sessions.get(last_session) if last_session and not running_process(ledger) else None
    return row.number if row is not None and row.ended is None else 0
