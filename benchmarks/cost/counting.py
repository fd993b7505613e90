"""Count calls of functions, SQL statements and bytes written, while a block runs in this process."""

from __future__ import annotations

import cProfile
import gc
import sqlite3
import types
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import windrow

Figures = dict[str, float]
"""Counts by name."""

_OURS = str(Path(windrow.__file__).parent)


class Calls:
    """Count calls of windrow's functions, and calls that these make of other code, within `with` blocks.

    Calls within other libraries are left out: those within Python's own change with its patch releases, those of an
    event loop with how the kernel splits what arrives.
    """

    def __init__(self) -> None:
        """Start at zero."""
        self._profile = cProfile.Profile()

    def __enter__(self) -> None:
        """Start counting, with garbage collection off: it would call finalizers."""
        gc.collect()
        gc.disable()
        self._profile.enable()

    def __exit__(self, *_: object) -> None:
        """Stop counting."""
        self._profile.disable()
        gc.enable()

    @property
    def count(self) -> int:
        """Return the number of calls."""
        entries: list[Any] = self._profile.getstats()
        ours = [entry for entry in entries if _is_ours(entry.code)]
        others = (call for entry in ours for call in entry.calls or () if not _is_ours(call.code))
        return sum(int(entry.callcount) for entry in (*ours, *others))


def _is_ours(code: types.CodeType | str) -> bool:
    """Return whether code is windrow's; built-in functions have only a name."""
    return isinstance(code, types.CodeType) and code.co_filename.startswith(_OURS)


class Statements(Counter[str]):
    """Counts SQL statements by SQLite file, without those that triggers run."""

    def count(self, name: str, text: str) -> None:
        """Count a statement."""
        self[name] += not text.startswith("--")


@contextmanager
def statements() -> Iterator[Statements]:
    """Count the statements of all connections that are opened within the block."""
    counted, connect = Statements(), sqlite3.connect

    def watched(database: Any, *args: Any, **named: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(database, *args, **named)
        name = Path(str(database)).name
        connection.set_trace_callback(lambda text: counted.count(name, text))
        return connection

    sqlite3.connect = watched  # type: ignore[assignment]
    dbapi: Any = sqlite3.dbapi2
    dbapi.connect = watched
    try:
        yield counted
    finally:
        sqlite3.connect = connect
        dbapi.connect = connect


def bytes_written() -> int:
    """Return how many bytes this process has written to files so far; sockets are not counted."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("wchar:"))
