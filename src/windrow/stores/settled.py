"""Record which session wrote which attempts to a version store; a change belongs to the session that wrote it.

Attempts are written in the order of their numbers, so the table `windrow_settled` has one row for each session, with
the last attempt that it wrote.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping

WRITTEN_ATTEMPTS = """
SELECT coalesce((SELECT max(upto) FROM windrow_settled WHERE session < ?1), 0) + 1,
    coalesce((SELECT max(upto) FROM windrow_settled WHERE session <= ?2), 0)
"""
"""The query for the first and last attempt that a range of sessions wrote, as `attempts_of_sessions` returns them."""

ALL_NUMBERS = (0, 2**62)
"""A range that has the number of every attempt and session."""
_RECORD_LAST_ATTEMPT = (
    "INSERT INTO windrow_settled VALUES (?, ?) ON CONFLICT DO UPDATE SET upto = max(upto, excluded.upto)"
)


def note_sessions(connection: sqlite3.Connection, sessions: Mapping[int, int]) -> None:
    """Record the last attempt of each session, unless a later one is recorded; ignore session 0, and do not commit."""
    rows = [(session, last_attempt) for session, last_attempt in sessions.items() if session]
    connection.executemany(_RECORD_LAST_ATTEMPT, rows)


def note_earlier_sessions(connection: sqlite3.Connection, read_last_attempts: Callable[[], Mapping[int, int]]) -> None:
    """If no session is recorded yet, record those that `read_last_attempts` returns, each with its last attempt."""
    if connection.execute("SELECT 1 FROM windrow_settled").fetchone() is None:
        note_sessions(connection, read_last_attempts())


def copy_sessions(connection: sqlite3.Connection, old_connection: sqlite3.Connection) -> None:
    """Copy the rows of earlier sessions from the replaced store, if it has any; do not commit.

    Of the sessions recorded in this store, only the last one is kept.
    """
    if old_connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'windrow_settled'").fetchone() is None:
        return
    earlier_rows = old_connection.execute("SELECT session, upto FROM windrow_settled").fetchall()
    latest_session = "SELECT max(session) FROM windrow_settled"
    connection.execute(f"DELETE FROM windrow_settled WHERE session < ({latest_session})")
    connection.executemany("INSERT OR IGNORE INTO windrow_settled VALUES (?, ?)", earlier_rows)


def attempts_of_sessions(connection: sqlite3.Connection, sessions: tuple[int, int]) -> tuple[int, int]:
    """Return the first and last attempt that a range of sessions (first, last) wrote.

    If they wrote none, the last attempt is less than the first.
    """
    first, last = connection.execute(WRITTEN_ATTEMPTS, sessions).fetchone()
    return int(first), int(last)
