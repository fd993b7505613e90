"""Which session wrote what visits said into a version store: a change belongs to it, whichever session asked.

Visits are written in the order of their numbers, so the table `windrow_settled` of each store has one row for each
session: up to which visit it wrote.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping

VISITS = """
SELECT coalesce((SELECT max(upto) FROM windrow_settled WHERE session < ?1), 0) + 1,
    coalesce((SELECT max(upto) FROM windrow_settled WHERE session <= ?2), 0)
"""
"""Asks for the first and the last visit that sessions from one number to another wrote; of none, the last is less."""

_NOTE = "INSERT INTO windrow_settled VALUES (?, ?) ON CONFLICT DO UPDATE SET upto = max(upto, excluded.upto)"


def note_sessions(connection: sqlite3.Connection, sessions: Mapping[int, int]) -> None:
    """Note up to which visit sessions wrote, within the transaction that is open; number 0 is no session."""
    connection.executemany(_NOTE, [one for one in sessions.items() if one[0]])


def note_earlier_sessions(connection: sqlite3.Connection, read: Callable[[], Mapping[int, int]]) -> None:
    """Note up to which visit earlier sessions wrote, as `read` says it, where this is not known of any."""
    if connection.execute("SELECT 1 FROM windrow_settled").fetchone() is None:
        note_sessions(connection, read())


def adopt_sessions(connection: sqlite3.Connection, before: sqlite3.Connection) -> None:
    """Let a store that replaces another say of earlier sessions what that one said, within an open transaction."""
    if before.execute("SELECT 1 FROM sqlite_master WHERE name = 'windrow_settled'").fetchone() is None:
        return
    earlier = before.execute("SELECT session, upto FROM windrow_settled").fetchall()
    last = "SELECT max(session) FROM windrow_settled"
    connection.execute(f"DELETE FROM windrow_settled WHERE session < ({last})")
    connection.executemany("INSERT OR IGNORE INTO windrow_settled VALUES (?, ?)", earlier)


def visits_of_sessions(connection: sqlite3.Connection, sessions: tuple[int, int]) -> tuple[int, int]:
    """Return the first and the last visit that sessions from one number to another wrote; of none, the last is less."""
    first, last = connection.execute(VISITS, sessions).fetchone()
    return int(first), int(last)
