"""The pen that writes facts about runs; those about other things are written by pens that can do more."""

from __future__ import annotations

import sqlite3
from datetime import datetime
from typing import Any

from windrow.engine.ledger.insert import INSERT
from windrow.engine.ledger.moment import now, spell
from windrow.engine.ledger.query import queries
from windrow.model import Kept
from windrow.reasons import Reason


def place_of(kept: Kept | None) -> tuple[Any, ...]:
    """Spell what was kept, and where, as fetches and visits have it in their rows."""
    if kept is None:
        return ("", None, "", None, None, 0)
    return (kept.digest, kept.size, *kept.place, int(kept.revisit))


class RunPen:
    """Append facts about runs; rows are gathered, and written together at `flush`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Take up the numbering where it stands; `connection` is in a transaction."""
        self._connection = connection
        self._seq: int = connection.execute(queries()["seq"]).fetchone()[0]
        self._rows: dict[str, list[Any]] = {table: [] for table in INSERT}
        self.at = now()

    @property
    def at(self) -> datetime:
        """The moment that all facts of this transaction bear."""
        return self._moment

    @at.setter
    def at(self, moment: datetime) -> None:
        self._moment, self._at = moment, spell(moment)

    def _add(self, table: str, *values: Any) -> int:
        self._seq += 1
        self._rows[table].append((self._seq, self._at, *values))
        return self._seq

    def flush(self) -> None:
        """Write what was gathered."""
        for table, rows in self._rows.items():
            if rows:
                self._connection.executemany(INSERT[table], rows)
                rows.clear()
        self._connection.execute(queries()["set_seq"], (self._seq,))

    def session_opened(self, holder: str, command: str) -> int:
        """Begin a session."""
        return self._add("session", holder, command)

    def session_closed(self, session: int, outcome: int) -> int:
        """End a session with its exit code."""
        return self._add("session_end", session, outcome)

    def task_opened(self, session: int, collection: str, source: str, phase: int) -> int:
        """Begin one phase of one source."""
        return self._add("task", session, collection, source, phase)

    def task_closed(self, task: int, reason: Reason | None, comment: str, *, failed: bool) -> int:
        """End it."""
        return self._add("task_end", task, int(failed), reason, comment)
