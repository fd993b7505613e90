"""Collect the rows that one transaction writes, and write them together by named statements."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from windrow.clock import now, spell
from windrow.ledger.database import LedgerDatabase, queries
from windrow.ledger.typed import WIDTHS

_FACT_TABLES = (
    "session", "session_end", "task", "task_end", "listed_file", "member", "intake", "listing", "refusal", "step_start",
    "reading", "decision", "finding", "host", "tombstone", "tombstone_end",
)  # fmt: skip


def _insert(table: str, verb: str = "INSERT") -> str:
    return f"{verb} INTO {table} VALUES ({','.join('?' * WIDTHS[table])})"


# Rows are written in this order, so that a row is written after the rows to which it refers.
_STATEMENTS = {table: _insert(table) for table in _FACT_TABLES}
_STATEMENTS["refusal"] += " ON CONFLICT DO NOTHING"
_STATEMENTS |= {
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
    # An address known only from captures of others (interval -1) becomes due when a crawl finds it. So does a file kept
    # beside a page (kind ?7) that is found as a page, unless it is never due. Both get the newly found kind.
    "address": (
        "INSERT INTO address VALUES (?1,?2,?3,?4,?5,0,0,0,0,?6) ON CONFLICT (digest, host) DO UPDATE SET"
        " via = excluded.via, place = excluded.place, due = 0, interval = 0,"
        " kind = CASE WHEN kind = ?7 OR interval = -1 THEN excluded.kind ELSE kind END"
        " WHERE interval = -1 OR (kind = ?7 AND due IS NOT NULL)"
    ),
    "known": (
        "INSERT INTO address (digest, host, url, via, place, due, interval, capture, failures, kind)"
        " VALUES (?,?,?,0,?,NULL,-1,0,0,?) ON CONFLICT DO NOTHING"
    ),
    "intake_at": "UPDATE intake SET place_offset = ? WHERE seq = ?",
    "intake_named": f"{_insert('intake_name')} ON CONFLICT DO NOTHING",
    "intake_waits": f"{_insert('intake_waiting')} ON CONFLICT DO NOTHING",
    "intake_waited": "DELETE FROM intake_waiting WHERE intake = ? AND place_offset = ?",
    "payload": f"{_insert('payload')} ON CONFLICT DO NOTHING",
    "host_taken": "UPDATE host SET source = ? WHERE seq = ?",
    # An address that became a page while it was requested as a file beside pages is requested as a page next.
    "visited": "UPDATE address SET due = CASE WHEN ?1 = ?2 AND kind <> ?1 THEN 0 ELSE ?3 END, interval = ?4,"
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
    """The rows that a transaction writes. They are collected, and written together by `flush`.

    Every fact gets the next number and, unless it has a time of its own, the time of the transaction.
    """

    def __init__(self, database: LedgerDatabase) -> None:
        """Continue the numbering of facts in an open transaction."""
        self.database = database
        self._seq: int = database.value("last_seq")
        self._rows_by_statement: dict[str, list[Any]] = {name: [] for name in _STATEMENTS}
        self.at = now()

    @property
    def at(self) -> datetime:
        """The time of the facts of this transaction that have no time of their own."""
        return self._at_time

    @at.setter
    def at(self, moment: datetime) -> None:
        self._at_time, self._at_text = moment, spell(moment)

    def fact(self, table: str, *values: Any, at: datetime | None = None) -> int:
        """Collect a fact for a table with these values, and return its number. Its time is `at` (None: `self.at`)."""
        self._seq += 1
        self._rows_by_statement[table].append((self._seq, spell(at) if at else self._at_text, *values))
        return self._seq

    def row(self, name: str, *values: Any) -> None:
        """Collect the values for one run of the statement `name`, which inserts, changes or deletes rows."""
        self._rows_by_statement[name].append(values)

    def rows(self, name: str, new_rows: list[Any]) -> None:
        """Collect the values for several runs of the statement `name`."""
        self._rows_by_statement[name] += new_rows

    def flush(self) -> None:
        """Write the collected rows, so that queries in the same transaction see them."""
        with self.database.guarded():
            for statement_name, rows in self._rows_by_statement.items():
                if rows:
                    self.database.connection.executemany(_STATEMENTS[statement_name], rows)
                    rows.clear()
            self.database.connection.execute(queries()["set_seq"], (self._seq,))
