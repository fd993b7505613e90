"""The write-ahead log beside an SQLite database, which may hold what is removed from the database itself."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from time import monotonic, sleep

from windrow.errors import StoreError

PATIENCE = 30.0
"""Seconds that other processes are given to end their transactions."""
_PAUSE = 0.2


def empty_wal(link: sqlite3.Connection, pulse: Callable[[], object] = lambda: None, patience: float = PATIENCE) -> bool:
    """Bring the log into the database's file and cut it to nothing; False where another process prevented that.

    A read transaction of another process keeps the pages that it began with: SQLite then leaves the log as it is,
    and raises nothing. `pulse` is called about five times a second. No transaction may be open on `link`.
    """
    before = link.execute("PRAGMA busy_timeout").fetchone()[0]
    link.execute("PRAGMA busy_timeout = 0")
    until = monotonic() + patience
    try:
        while link.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
            if monotonic() >= until:
                return False
            pulse()
            sleep(_PAUSE)
    finally:
        link.execute(f"PRAGMA busy_timeout = {before}")
    return True


def close_into_file(path: Path) -> None:
    """Bring what is written beside a database into its file, so that the file alone is all of it."""
    try:
        with closing(sqlite3.connect(path, timeout=30)) as link:
            link.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            link.execute("PRAGMA journal_mode = DELETE").fetchall()
    except sqlite3.Error as error:
        raise StoreError(
            f"{path} cannot be closed: {error}", hint="end what has it open; then: windrow replay"
        ) from error
