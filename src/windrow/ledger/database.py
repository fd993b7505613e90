"""Open and migrate the ledger's SQLite file, and run the queries of the .sql files in it by name."""

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
from windrow.stores.sqlite import (
    DISK_FULL_ERRORS,
    close_on_failure,
    empty_wal,
    find_wrong_values,
    is_damaged,
    is_unwritable,
    open_or_read,
    open_read_only,
    transaction,
)


@cache
def queries() -> dict[str, str]:
    """Return a dict from names to SQL statements. The name of a query that is a method in `typed` is FILE.METHOD.

    >>> queries()["last_seq"].startswith("SELECT value")
    True
    """
    sql_files = [sql_file for sql_file in files(__package__).iterdir() if sql_file.name.endswith(".sql")]
    blocks = read_blocks({sql_file.name[:-4]: sql_file.read_text(encoding="utf-8") for sql_file in sql_files})
    return {block.name: block.text for block in blocks if block.text}


@cache
def migrations() -> list[tuple[int, str]]:
    """Return the (number, SQL) of all migrations in order. The first one creates the tables."""
    folder = files(__package__).joinpath("migrations")
    texts = [(entry.name, entry.read_text(encoding="utf-8")) for entry in folder.iterdir()]
    return sorted((int(name[:4]), text) for name, text in texts if name.endswith(".sql"))


_RowValue = TypeVar("_RowValue")


class LedgerDatabase:
    """The ledger's SQLite file, in which `queries()` run. SQLite's errors are raised as LedgerError or DiskFull."""

    def __init__(self, path: Path) -> None:
        """Open the file, read-only if it is not writable. Create its tables, or copy the file and upgrade old tables.

        Raises LedgerError if the file cannot be opened, if its tables must be upgraded but the file cannot be written,
        if the tables are too new or too old, or if windrow did not make them alone.
        """
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        with self.guarded():
            self.connection, self._refusal = open_or_read(path, _open_for_writing)
            with close_on_failure(self.connection.close):
                self._refuse_foreign()
                if self._refusal is None:
                    self._migrate()
                elif self.connection.execute("PRAGMA user_version").fetchone()[0] != newest_schema():
                    message = f"{path} has the tables of another windrow, and is only read here: {self._refusal}"
                    raise LedgerError(message, hint="windrow init, which upgrades it") from self._refusal

    def _refuse_foreign(self) -> None:
        """Raise LedgerError for tables of another program, and for a trigger or view, which can alter rows unseen."""
        tables, own_tables, planted = self.connection.execute(
            "SELECT count(*), total(type = 'table' AND name IN ('session', 'attempt', 'lease')),"
            " max(CASE WHEN type IN ('trigger', 'view') THEN type || ' ' || name END) FROM sqlite_schema"
        ).fetchone()
        if tables and own_tables < 2:  # in any schema of windrow, whatever its `user_version`
            hint = "set ledger.path to another file"
            raise LedgerError(f"{self.path} is a database of another program; nothing in it was changed", hint=hint)
        if planted:
            raise LedgerError(
                f"{self.path} has a {planted[:80]!r}, which windrow did not make and which can alter its rows unseen",
                hint="restore a copy of the ledger or, if you made this yourself, drop it with sqlite3",
            )

    def _migrate(self) -> None:
        all_migrations = migrations()
        newest_version = newest_schema()
        version = self.connection.execute("PRAGMA user_version").fetchone()[0]
        if version > newest_version:
            raise LedgerError(
                f"{self.path} was written by a newer windrow (schema {version}; this one has schema {newest_version})",
                hint="pip install --upgrade windrow",
            )
        if 0 < version < all_migrations[0][0]:
            raise LedgerError(
                f"{self.path} was made by a windrow from before the first release (schema {version})",
                hint="windrow init FOLDER makes a new workspace; the old one is not changed",
            )
        if 0 < version < newest_version:
            # Copying the file would not be enough: while another process reads, some data is in the log beside it.
            path = self.path.with_suffix(f".before-{version + 1:04}.db")
            path.unlink(missing_ok=True)  # a link of this name is not followed
            with closing(sqlite3.connect(path)) as copy:
                self.connection.backup(copy)
        for number, migration in all_migrations:
            if number > version:
                script = f"BEGIN IMMEDIATE;\n{migration}\nPRAGMA user_version = {number};\nCOMMIT;"
                self.connection.executescript(script)

    def rows(self, make: Callable[[tuple[Any, ...]], _RowValue], name: str, *values: Any) -> list[_RowValue]:
        """Run a query and return `make(row)` for each row."""
        with self.guarded(name):
            return [*map(make, self.connection.execute(queries()[name], values))]

    def stream(self, make: Callable[[tuple[Any, ...]], _RowValue], name: str, *values: Any) -> Iterator[_RowValue]:
        """Run a query and yield `make(row)` for each row as it is read."""
        with self.guarded(name):
            yield from map(make, self.connection.execute(queries()[name], values))

    def first(self, make: Callable[[tuple[Any, ...]], _RowValue], name: str, *values: Any) -> _RowValue | None:
        """Run a query and return `make(row)` for the first row, or None if there are no rows."""
        with self.guarded(name):
            row = self.connection.execute(queries()[name], values).fetchone()
            return None if row is None else make(row)

    def column(self, name: str, *values: Any) -> list[Any]:
        """Run a query and return the first value of each of its rows."""
        with self.guarded():
            return [row[0] for row in self.connection.execute(queries()[name], values)]

    def value(self, name: str, *values: Any) -> Any:
        """Run a query and return the first value of its first row, or None if there are no rows."""
        with self.guarded():
            row = self.connection.execute(queries()[name], values).fetchone()
        return None if row is None else row[0]

    def execute(self, name: str, *values: Any) -> int:
        """Run a statement that writes, in an open transaction. Return the number of rows that it changed."""
        with self.guarded():
            return self.connection.execute(queries()[name], values).rowcount

    def execute_many(self, name: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement that writes, once with the values of each of `rows`, in an open transaction."""
        with self.guarded():
            self.connection.executemany(queries()[name], rows)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run the block in a transaction, which an error rolls back. Raises LedgerError if the file is read-only."""
        with self.guarded():
            if self._refusal is not None:
                raise self._refusal
            with transaction(self.connection):
                yield

    def wrong_values(self) -> list[str]:
        """Return a message for each column that has values of the wrong type, which windrow cannot have written."""
        with self.guarded():
            return [*find_wrong_values(self.connection)]

    def overwrite_what_is_deleted(self) -> None:
        """From now on, let SQLite overwrite deleted and replaced data with zeros."""
        with self.guarded():
            self.connection.execute("PRAGMA secure_delete = ON").fetchall()

    def empty_log(self, pulse: Callable[[], object]) -> bool:
        """Move the log into the database, calling `pulse` while waiting. Return whether the log is empty."""
        with self.guarded():
            return empty_wal(self.connection, pulse)

    def copy(self, path: Path, *queries_to_run: str) -> None:
        """Copy the database to the file `path`, which is replaced, and run `queries_to_run` (names) in the copy."""
        path.unlink(missing_ok=True)
        with self.guarded(), closing(sqlite3.connect(path)) as copied:
            self.connection.backup(copied)
            for name in queries_to_run:
                copied.execute(queries()[name])
            copied.commit()

    @contextmanager
    def guarded(self, query: str = "") -> Iterator[None]:
        """In the block, raise LedgerError or DiskFull in place of errors of SQLite and of the disk.

        If `query` is the name of a query, a ValueError or TypeError becomes a LedgerError too: the result of the query
        has a value that windrow cannot have written.
        """
        try:
            yield
        except (ValueError, TypeError) as error:
            if not query:
                raise
            message = f"the ledger {self.path} has a value that windrow did not write, in a row of {query}: {error}"
            raise LedgerError(message, hint="windrow check") from error
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorname", "") in DISK_FULL_ERRORS:
                raise DiskFull(f"the disk is full: the ledger {self.path} cannot be written") from error
            if error is getattr(self, "_refusal", None) or is_unwritable(error):
                raise LedgerError(
                    f"the ledger {self.path} cannot be written: {error}",
                    hint="run this command as the user who owns the workspace, on a disk that can be written",
                ) from error
            if not is_damaged(error):
                hint = "end the other program that uses the file, or check its disk; then repeat the command"
                raise LedgerError(f"the ledger {self.path} cannot be read or written: {error}", hint=hint) from error
            raise LedgerError(f"the ledger {self.path} cannot be read or written: {error}") from error
        except OSError as error:
            raise LedgerError(f"the ledger {self.path} cannot be opened: {error}") from error


def _open_for_writing(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, timeout=30)
    with close_on_failure(connection.close):
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA wal_autocheckpoint = 10000")
        connection.execute("PRAGMA cache_size = -8192")  # keys of addresses are spread over the whole file
    return connection


class LedgerQueries:
    """The queries on one subject. Its direct subclasses are generated by `make queries`."""

    def __init__(self, database: LedgerDatabase) -> None:
        self._database = database


def schema(path: Path) -> int | None:
    """Return the number of a ledger's last migration, 0 if the file is not a ledger, or None if there is no file."""
    if not path.is_file():
        return None
    try:
        with closing(open_read_only(path, "mode=rw", "mode=ro")) as connection:
            return int(connection.execute("PRAGMA user_version").fetchone()[0])
    except sqlite3.Error:
        return 0


def newest_schema() -> int:
    """Return the number of the last migration that this version of windrow knows."""
    return migrations()[-1][0]
