"""Rows of facts gathered within one transaction, and the statements by which they are written."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from windrow.clock import now, spell
from windrow.ledger.database import LedgerDatabase, queries
from windrow.ledger.typed import WIDTHS

_FACTS = (
    "session", "session_end", "task", "task_end", "listed_file", "member", "intake", "listing", "refusal", "step_start",
    "reading", "decision", "finding", "host", "tombstone", "tombstone_end",
)  # fmt: skip


def _insert(table: str, verb: str = "INSERT") -> str:
    """Return the statement that writes all columns of a table."""
    return f"{verb} INTO {table} VALUES ({','.join('?' * WIDTHS[table])})"


# The order is that in which rows are written: what refers to something comes after it.
_WRITE = {table: _insert(table) for table in _FACTS}
_WRITE["refusal"] += " ON CONFLICT DO NOTHING"
_WRITE |= {
    "attempt": queries()["attempt_made"],
    "attempt_begun": queries()["attempt_begun"],
    "attempt_ended": queries()["attempt_ended"],
    "pending_step": _insert("pending_step"),
    "item_waits": queries()["item_waits"],
    "item_ends": queries()["item_ends"],
    "item_through": queries()["item_through"],
    "mirror": (
        f"{_insert('mirror')} ON CONFLICT (source, listed_file) DO UPDATE SET"
        " path = excluded.path, present = excluded.present, size = excluded.size,"
        " modified = excluded.modified, sidecar = excluded.sidecar"
    ),
    # what was only known from elsewhere (a pause of -1) becomes due when a crawl or a request of ours finds it, as what
    # it is to that; and so does what was only kept beside a page
    "address": (
        "INSERT INTO address VALUES (?1,?2,?3,?4,?5,0,0,0,0,?6) ON CONFLICT (digest, host) DO UPDATE SET"
        " via = excluded.via, place = excluded.place, due = 0, pause = 0,"
        " kind = CASE WHEN kind = ?7 OR pause = -1 THEN excluded.kind ELSE kind END"
        " WHERE pause = -1 OR (kind = ?7 AND due IS NOT NULL)"
    ),
    "known": (
        "INSERT INTO address (digest, host, url, via, place, due, pause, capture, failures, kind)"
        " VALUES (?,?,?,0,?,NULL,-1,0,0,?) ON CONFLICT DO NOTHING"
    ),
    "intake_at": "UPDATE intake SET place_offset = ? WHERE seq = ?",
    "intake_named": f"{_insert('intake_name')} ON CONFLICT DO NOTHING",
    "intake_waits": f"{_insert('intake_waiting')} ON CONFLICT DO NOTHING",
    "intake_waited": "DELETE FROM intake_waiting WHERE intake = ? AND place_offset = ?",
    "payload": f"{_insert('payload')} ON CONFLICT DO NOTHING",
    "host_taken": "UPDATE host SET source = ? WHERE seq = ?",
    # what became a page while it was asked as what is kept beside pages is asked as a page next
    "visited": "UPDATE address SET due = CASE WHEN ?1 = ?2 AND kind <> ?1 THEN 0 ELSE ?3 END, pause = ?4,"
    " failures = ?5, capture = coalesce(?6, capture) WHERE digest = ?7 AND host = ?8",
    "hinted": queries()["address_hinted"],
    "rest": f"{_insert('rest')} ON CONFLICT (origin) DO UPDATE SET until = max(until, excluded.until)",
    "request": f"{_insert('request')} ON CONFLICT DO NOTHING",
    "asked": f"{_insert('asked')} ON CONFLICT DO NOTHING",
    "followed": _insert("followed", "INSERT OR REPLACE"),
    "learned": f"{_insert('learned')} ON CONFLICT DO UPDATE SET value = excluded.value, attempt = excluded.attempt",
    "whole_listing": f"{_insert('whole_listing')} ON CONFLICT DO NOTHING",
    "offered": f"{_insert('offered')} ON CONFLICT DO NOTHING",
    "offer_known": f"{_insert('offer_known')} ON CONFLICT DO NOTHING",
    "asked_again": queries()["ask_again"],
    "asked_when_named": queries()["ask_when_named"],
    "capture_failed": _insert("capture_failed", "INSERT OR REPLACE"),
    "captured": _insert("captured"),
}


class LedgerBatch:
    """The rows that a transaction writes, collected and written together at `flush`.

    Every fact gets the next number, and the moment of the transaction.
    """

    def __init__(self, database: LedgerDatabase) -> None:
        """Continue the numbering of facts; a transaction is open."""
        self.database = database
        self._seq: int = database.value("last_seq")
        self._rows: dict[str, list[Any]] = {name: [] for name in _WRITE}
        self.at = now()

    @property
    def at(self) -> datetime:
        """The time of all facts of this transaction."""
        return self._moment

    @at.setter
    def at(self, moment: datetime) -> None:
        self._moment, self._at = moment, spell(moment)

    def fact(self, table: str, *values: Any, at: datetime | None = None) -> int:
        """Collect a fact and return its number; `at` is its time if not that of the transaction."""
        self._seq += 1
        self._rows[table].append((self._seq, spell(at) if at else self._at, *values))
        return self._seq

    def row(self, name: str, *values: Any) -> None:
        """Collect a row, or a change of one."""
        self._rows[name].append(values)

    def rows(self, name: str, rows: list[Any]) -> None:
        """Collect rows."""
        self._rows[name] += rows

    def flush(self) -> None:
        """Write the collected rows, so that queries within the transaction see it."""
        with self.database.guarded():
            for name, rows in self._rows.items():
                if rows:
                    self.database.connection.executemany(_WRITE[name], rows)
                    rows.clear()
            self.database.connection.execute(queries()["set_seq"], (self._seq,))
