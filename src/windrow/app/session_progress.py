"""How far a session is that runs now, read from the ledger; a later reading adds only what came since."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from windrow.app.summary import phase_name
from windrow.clock import now
from windrow.contract.registry import phases
from windrow.engine.source_counts import classify_attempts
from windrow.errors import WindrowError
from windrow.formats.text import spell_duration, spell_size
from windrow.ledger import Ledger
from windrow.ledger.lease import running_process
from windrow.reasons import Reason


class SessionProgress(NamedTuple):
    """How far a session was at the time `at`: which phases were under way, and counts of what had ended.

    `attempts` are requests and transfers, of which `failed` failed or found nothing (404, 410); they received
    `received` bytes. `upto` is the number of the last fact that is counted. If it is not `running`, it has ended or was
    killed.
    """

    session: int
    at: datetime
    began: datetime
    running: bool
    under_way: tuple[str, ...]
    ended_phases: int
    attempts: int
    failed: int
    received: int
    upto: int

    def texts(self) -> Mapping[str, str]:
        """Return the progress as names and texts for people."""
        shown = ", ".join(self.under_way[:_SHOWN_PHASES])
        more = len(self.under_way) - _SHOWN_PHASES
        return {
            "under way": (f"{shown} and {more:,} more" if more > 0 else shown) or "between two phases",
            "phases ended": f"{self.ended_phases:,}",
            "requests": f"{self.attempts:,}, of which {self.failed:,} failed",
            "received": spell_size(self.received),
            "for": spell_duration((self.at - self.began).total_seconds()),
        }


_SHOWN_PHASES = 6  # of those that are under way, one for each source


def read_progress(ledger: Ledger, number: int, earlier: SessionProgress | None = None) -> SessionProgress:
    """Return how far a session is; raise WindrowError if there is none with this number.

    With an `earlier` progress of it, only the facts after that one are read.
    """
    session = ledger.sessions.numbered(number)
    row = ledger.sessions.get(session) if session else None
    if row is None:
        raise WindrowError(f"no session has the number {number}", hint="windrow status", reason=Reason.NOT_FOUND)
    first = earlier.upto + 1 if earlier else row.seq
    counts = ledger.attempts.ended_between((first, row.last)) if first <= row.last else []
    outcomes = [(count.number, classify_attempts(count)) for count in counts]
    outcomes = [(number, outcome) for number, outcome in outcomes if outcome != "refused"]  # as by robots.txt
    tasks = ledger.sessions.tasks(row.span)
    names = phases()
    is_running = row.ended is None and row.seq == ledger.sessions.latest() and bool(running_process(ledger))
    under_way = (
        f"{task.source or task.collection}: {phase_name(names, task.collection, task.phase)}"
        for task in tasks
        if task.ended is None
    )
    return SessionProgress(
        number, now(), row.began, is_running, tuple(under_way) if is_running else (),
        sum(task.ended is not None for task in tasks),
        sum(number for number, _ in outcomes) + (earlier.attempts if earlier else 0),
        sum(number for number, outcome in outcomes if outcome in {"failed", "gone", "still_gone"})
        + (earlier.failed if earlier else 0),
        sum(count.received for count in counts if not count.taken) + (earlier.received if earlier else 0), row.last,
    )  # fmt: skip


def running_session(ledger: Ledger) -> SessionProgress | None:
    """Return the progress of the session that runs now, or None if none does."""
    session = ledger.sessions.latest()
    row = ledger.sessions.get(session) if session else None
    if row is None or row.ended is not None:
        return None
    progress = read_progress(ledger, row.number)
    return progress if progress.running else None
