"""The ledger's SQLite file: opening, migrations, transactions, and the queries of the .sql files."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

from windrow.errors import DiskFull, LedgerError
from windrow.ledger.sql_file import read_blocks
from windrow.stores.sqlite import DISK_FULL_ERRORS, close_on_failure, empty_wal, is_unwritable, open_database


@cache
def queries() -> dict[str, str]:
    """Return the SQL of every statement by its name: FILE.METHOD of those that `typed` has methods for.

    >>> queries()["last_seq"].startswith("SELECT value")
    True
    """
    entries = [entry for entry in files(__package__).iterdir() if entry.name.endswith(".sql")]
    blocks = read_blocks({entry.name[:-4]: entry.read_text(encoding="utf-8") for entry in entries})
    return {block.name: block.text for block in blocks if block.text}


@cache
def migrations() -> list[tuple[int, str]]:
    """Return the schema that a ledger began with and every migration since: its number and its SQL, in order."""
    folder = files(__package__).joinpath("migrations")
    texts = [(entry.name, entry.read_text(encoding="utf-8")) for entry in folder.iterdir()]
    return sorted((int(name[:4]), text) for name, text in texts if name.endswith(".sql"))


Value = TypeVar("Value")


class LedgerDatabase:
    """One SQLite file, in which `queries()` are run by name."""

    def __init__(self, path: Path) -> None:
        """Open the file, making or upgrading its tables; a copy is kept before an upgrade."""
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        with self.guarded():
            self.connection = sqlite3.connect(path, isolation_level=None, timeout=30)
            if not self._is_writable():
                return
            with close_on_failure(self.connection.close):
                self.connection.execute("PRAGMA synchronous = FULL")
                self.connection.execute("PRAGMA wal_autocheckpoint = 10000")
                self.connection.execute("PRAGMA cache_size = -8192")  # keys of addresses are spread over the whole file
                self._migrate()

    def _is_writable(self) -> bool:
        """Return whether the ledger can be written; if not, it is opened to read, which takes the newest schema."""
        try:
            self.connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.Error as error:
            self.connection.close()
            if not is_unwritable(error) or not self.path.is_file():
                raise
            self.connection = open_database(self.path, read_only=True)
            with close_on_failure(self.connection.close):
                if self.connection.execute("PRAGMA user_version").fetchone()[0] != newest_schema():
                    raise
            return False
        return True

    def _migrate(self) -> None:
        steps = migrations()
        newest = newest_schema()
        version = self.connection.execute("PRAGMA user_version").fetchone()[0]
        if version > newest:
            raise LedgerError(
                f"{self.path} was written by a newer windrow (schema {version}, this one knows {newest})",
                hint="pip install --upgrade windrow",
            )
        if 0 < version < steps[0][0]:
            raise LedgerError(
                f"{self.path} was made by a windrow from before its first release (schema {version})",
                hint="windrow init FOLDER makes a new workspace; the old one is not changed",
            )
        if 0 < version < newest:
            # Not a copy of the file: while another process reads, part of the data is in the log beside it.
            with closing(sqlite3.connect(self.path.with_suffix(f".before-{version + 1:04}.db"))) as copy:
                self.connection.backup(copy)
        for number, text in steps:
            if number > version:
                script = f"BEGIN IMMEDIATE;\n{text}\nPRAGMA user_version = {number};\nCOMMIT;"
                self.connection.executescript(script)

    def rows(self, make: Callable[[tuple[Any, ...]], Value], name: str, *values: Any) -> list[Value]:
        """Run a query and return `make(row)` of each row."""
        with self.guarded():
            return [*map(make, self.connection.execute(queries()[name], values))]

    def stream(self, make: Callable[[tuple[Any, ...]], Value], name: str, *values: Any) -> Iterator[Value]:
        """Run a query and yield `make(row)` of each row while they are read."""
        with self.guarded():
            yield from map(make, self.connection.execute(queries()[name], values))

    def first(self, make: Callable[[tuple[Any, ...]], Value], name: str, *values: Any) -> Value | None:
        """Run a query and return `make(row)` of the first row, or None if it returns no row."""
        with self.guarded():
            row = self.connection.execute(queries()[name], values).fetchone()
        return None if row is None else make(row)

    def column(self, name: str, *values: Any) -> list[Any]:
        """Run a query and return the first column of its rows."""
        with self.guarded():
            return [row[0] for row in self.connection.execute(queries()[name], values)]

    def value(self, name: str, *values: Any) -> Any:
        """Run a query and return the first column of its first row, or None if it returns no row."""
        with self.guarded():
            row = self.connection.execute(queries()[name], values).fetchone()
        return None if row is None else row[0]

    def execute(self, name: str, *values: Any) -> int:
        """Run a query that writes, and return how many rows it changed; a transaction is open."""
        with self.guarded():
            return self.connection.execute(queries()[name], values).rowcount

    def execute_many(self, name: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a query that writes for each of some rows of values; a transaction is open."""
        with self.guarded():
            self.connection.executemany(queries()[name], rows)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run the body in a transaction, which is rolled back on any exception."""
        with self.guarded():
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self.connection.execute("ROLLBACK")
                raise
            self.connection.execute("COMMIT")

    def overwrite_what_is_deleted(self) -> None:
        """Have SQLite write zeros over what is deleted or changed from now on."""
        self.connection.execute("PRAGMA secure_delete = ON").fetchall()

    def empty_log(self, pulse: Callable[[], object]) -> bool:
        """Move the log beside the file into it, and return whether the log is empty; see `empty_wal`."""
        return empty_wal(self.connection, pulse)

    def copy(self, path: Path, *then: str) -> None:
        """Copy the database to another file, and run the queries `then` on the copy."""
        path.unlink(missing_ok=True)
        with closing(sqlite3.connect(path)) as into:
            self.connection.backup(into)
            for name in then:
                into.execute(queries()[name])
            into.commit()

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Raise LedgerError or DiskFull for errors of SQLite and of the disk."""
        try:
            yield
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorname", "") in DISK_FULL_ERRORS:
                raise DiskFull(f"no room for the ledger {self.path}") from error
            raise LedgerError(f"the ledger {self.path} does not answer: {error}") from error
        except OSError as error:
            raise LedgerError(f"the ledger {self.path} cannot be opened: {error}") from error


class LedgerQueries:
    """The queries on one subject; `make queries` writes the methods of its subclasses."""

    def __init__(self, database: LedgerDatabase) -> None:
        self._database = database


def schema(path: Path) -> int | None:
    """Return the number of a ledger's last migration, or None if the file does not exist.

    It is 0 for a file that is not a database: opening it raises the ledger's own error.
    """
    if not path.is_file():
        return None
    with closing(sqlite3.connect(path)) as connection:
        try:
            return int(connection.execute("PRAGMA user_version").fetchone()[0])
        except sqlite3.Error:
            return 0


def newest_schema() -> int:
    """Return the number of the last migration that this version of windrow knows."""
    return migrations()[-1][0]
