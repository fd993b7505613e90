"""The ledger's file: opening, migrating and reading it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from windrow.engine.ledger.moment import spell
from windrow.engine.ledger.pen import Pen
from windrow.engine.ledger.query import migrations, queries
from windrow.errors import DiskFull, LedgerError

CHUNK = 400
"""Most values in one `IN (...)`."""


class Ledger:
    """One workspace's ledger in an SQLite file.

    Reading is open to many processes at once; writing goes through `writing()`, one at a time.
    """

    def __init__(self, path: Path) -> None:
        """Open the file, making or upgrading its tables; a copy is kept before an upgrade."""
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        with _mapped(path):
            self.connection = sqlite3.connect(path, isolation_level=None, timeout=30)
            self.connection.execute("PRAGMA journal_mode = WAL")
            self.connection.execute("PRAGMA synchronous = FULL")
            self.connection.execute("PRAGMA wal_autocheckpoint = 10000")
            self.connection.execute("PRAGMA cache_size = -8192")  # the keys of addresses lie everywhere
            self._migrate()

    def _migrate(self) -> None:
        steps = migrations()
        newest = steps[-1][0]
        version = self.connection.execute("PRAGMA user_version").fetchone()[0]
        if version > newest:
            raise LedgerError(
                f"{self.path} was written by a newer windrow (schema {version}, this one knows {newest})",
                hint="pip install --upgrade windrow",
            )
        if 0 < version < newest:
            # Not a copy of the file: what another process that reads keeps in the log beside it belongs to it too.
            with closing(sqlite3.connect(self.path.with_suffix(f".before-{version + 1:04}.db"))) as copy:
                self.connection.backup(copy)
        for number, text in steps:
            if number > version:
                script = f"BEGIN IMMEDIATE;\n{text}\nPRAGMA user_version = {number};\nCOMMIT;"
                self.connection.executescript(script)

    def ask(self, name: str, *values: Any) -> list[tuple[Any, ...]]:
        """Run a named query and return all its rows."""
        with _mapped(self.path):
            return self.connection.execute(queries()[name], values).fetchall()

    def ask_many(self, name: str, values: Sequence[Any], *before: Any) -> Iterator[tuple[Any, ...]]:
        """Run a named query over many values, some hundred at a time."""
        for start in range(0, len(values), CHUNK):
            part = values[start : start + CHUNK]
            text = queries()[name].replace("{marks}", ",".join("?" * len(part)))
            with _mapped(self.path):
                yield from self.connection.execute(text, (*before, *part)).fetchall()

    @contextmanager
    def writing(self) -> Iterator[Pen]:
        """Open one transaction; what the pen wrote is there wholly or not at all."""
        with _mapped(self.path):
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                pen = Pen(self.connection)
                yield pen
                pen.flush()
            except BaseException:
                self.connection.execute("ROLLBACK")
                raise
            self.connection.execute("COMMIT")

    def cursor(self, text: str, values: Iterable[Any] = ()) -> sqlite3.Cursor:
        """Run SQL that another module of the ledger composed, for reading."""
        with _mapped(self.path):
            return self.connection.execute(text, tuple(values))

    def close(self) -> None:
        """Close the file."""
        self.connection.close()

    def __repr__(self) -> str:
        """Name the file."""
        return f"Ledger({str(self.path)!r})"


@contextmanager
def _mapped(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        if "disk is full" in str(error):
            raise DiskFull(f"no room for the ledger {path}") from error
        raise LedgerError(f"the ledger {path} does not answer: {error}") from error
    except OSError as error:
        raise LedgerError(f"the ledger {path} cannot be opened: {error}") from error


__all__ = ["Ledger", "spell"]
