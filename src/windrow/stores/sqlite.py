"""SQLite files without SQLAlchemy: transactions, errors, and scratch folders in which a new file is built."""

from __future__ import annotations

import os
import re
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from functools import cache
from itertools import chain
from pathlib import Path
from time import monotonic, sleep

from windrow.errors import DiskFull, StoreDamaged, StoreError, StoreUnreachable
from windrow.reasons import Reason

SIDECARS = ("-wal", "-shm", "-journal")
"""Suffixes of the names of files that SQLite writes beside a database."""


DISK_FULL_ERRORS = ("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE")
"""SQLite's names for the errors that mean a full disk; SQLite counts the second one among the I/O errors."""


@contextmanager
def store_errors(path: Path, *, is_written: bool = False) -> Iterator[None]:
    """Raise DiskFull or StoreError about the file `path` for an error of SQLite in the block.

    If `is_written`, the file's own store has it open for writing, and has made the tables that were missing.
    """
    try:
        yield
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorname", "") in DISK_FULL_ERRORS:
            raise DiskFull(f"the disk is full: {path} cannot be written") from error
        if is_written and str(error).startswith(_MISSING_TABLES):
            raise StoreDamaged(f"{path}: {error}, so windrow did not make this file") from error
        raise store_error(error, f"{path}: {error}") from error


def store_error(error: BaseException, message: str) -> StoreError:
    """Return the StoreError for an error of SQLite: StoreDamaged if the file is damaged or not a database."""
    if str(error).startswith(_MISSING_TABLES):  # an earlier version wrote the file, and it is only read here
        return StoreError(f"{message} yet; the next run adds it", hint="windrow run")
    return StoreDamaged(message) if is_damaged(error) else StoreError(message)


_MISSING_TABLES = ("no such table", "no such column")


def is_damaged(error: BaseException) -> bool:
    """Return whether SQLite reports that a file is damaged or not a database."""
    return str(getattr(error, "sqlite_errorname", None) or "").startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB"))


@contextmanager
def close_on_failure(close: Callable[[], object]) -> Iterator[None]:
    """Call `close` if the block raises an error, so that a database that cannot be prepared is not left open."""
    try:
        yield
    except BaseException:
        close()
        raise


def open_database(path: Path, *, read_only: bool = False, page_size: int = 4096) -> sqlite3.Connection:
    """Open a database file in autocommit mode, with a write-ahead log; committed transactions survive a power cut.

    A missing file is created, with its folder and with pages of `page_size` bytes. With `read_only` the file must exist
    and is not changed.
    """
    if read_only:
        return open_read_only(path, "mode=ro")
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, isolation_level=None, timeout=30)
    with close_on_failure(connection.close):
        connection.execute(f"PRAGMA page_size = {page_size}")
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
        connection.execute("PRAGMA synchronous = FULL")
    return connection


_thread = threading.local()


class _ReusedConnection(sqlite3.Connection):
    """A connection of a block of `reads_only`. If it is closed there, the next one who opens the file gets it."""

    opened: tuple[Path, tuple[str, ...]]

    def close(self) -> None:
        """Keep the connection for the rest of the block, or close it after the block."""
        idle = getattr(_thread, "idle", None)
        if idle is None:
            super().close()
        elif self not in (connections := idle.setdefault(self.opened, [])):
            connections.append(self)


_STEPS_PER_CHECK = 100_000  # instructions of SQLite, about a millisecond


@contextmanager
def reads_only() -> Iterator[None]:
    """In the block, in this thread, open existing files read-only, so that no mistake of a reader can change them.

    A file that is opened several times in the block is opened once: that takes longer than most queries. A query fails
    once the block's `time_limit` is over, so that it does not keep the thread.
    """
    if getattr(_thread, "idle", None) is not None:
        yield
        return
    _thread.idle = idle = dict[tuple[Path, tuple[str, ...]], list[_ReusedConnection]]()
    try:
        yield
    finally:
        _thread.idle = None
        for connection in chain.from_iterable(idle.values()):
            connection.close()


def open_or_read(
    path: Path, open_for_writing: Callable[[Path], sqlite3.Connection] = open_database
) -> tuple[sqlite3.Connection, sqlite3.Error | None]:
    """Open a file for writing, or read-only if it exists and cannot be written, or in a block of `reads_only`.

    Return the connection, and the error that prevents writing, or None if the file was opened for writing. A file
    cannot be written without permission, or if its disk is read-only or full. In a block of `reads_only`, raise
    StoreError (NOT_FOUND) for a file that does not exist.
    """
    refusal: sqlite3.Error | None = None
    only_reads = getattr(_thread, "idle", None) is not None
    if only_reads and not path.is_file() and str(path) != ":memory:":
        raise StoreError(f"{path} does not exist yet", hint="windrow run", reason=Reason.NOT_FOUND)
    if not path.is_file() or (not only_reads and os.access(path, os.W_OK)):
        try:
            return open_for_writing(path), None
        except sqlite3.Error as error:
            if not path.is_file() or not is_unwritable(error):
                raise
            refusal = error
    connection = open_read_only(path, "mode=ro")
    return connection, refusal or sqlite3.OperationalError("this user may not write the file")


_UNWRITABLE_ERRORS = ("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", *DISK_FULL_ERRORS)
"""SQLite's names for the errors that mean that a database, or a file beside it, cannot be written."""


def is_unwritable(error: BaseException) -> bool:
    """Return whether SQLite reports that a database, or a file beside it, cannot be written."""
    return str(getattr(error, "sqlite_errorname", None) or "").startswith(_UNWRITABLE_ERRORS)


def open_read_only(path: Path, *modes: str) -> sqlite3.Connection:
    """Open a file in autocommit mode with the first of `modes` (`mode=rw`, `mode=ro`) in which it can be read.

    If all modes fail because files beside it cannot be written, it is opened as immutable: changes by other processes
    are then not noticed. If a crash left a log beside it, StoreError is raised instead.
    """
    idle = getattr(_thread, "idle", None)
    if idle and (connections := idle.get((path, modes))):
        kept: sqlite3.Connection = connections.pop()
        return kept
    for mode in (*modes, "immutable=1"):
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?{mode}", isolation_level=None, timeout=30, uri=True, check_same_thread=False,
            factory=sqlite3.Connection if idle is None else _ReusedConnection,
        )  # fmt: skip
        if isinstance(connection, _ReusedConnection):
            from windrow.stores.time_limit import is_over  # noqa: PLC0415 only a web view has a limit

            connection.opened = path, modes
            connection.set_progress_handler(is_over, _STEPS_PER_CHECK)
        try:
            connection.execute("SELECT 1 FROM sqlite_master").fetchone()
        except sqlite3.Error as error:
            sqlite3.Connection.close(connection)  # it is of no use to anyone else in a block of `reads_only`
            if is_unwritable(error) and mode == modes[-1] and _has_log(path):
                raise StoreError(
                    f"{path} cannot be read: a killed run left a log beside it, and SQLite reads the log only if it can"
                    " write files there",
                    hint="copy the workspace to a disk on which you may write and that is not full, and read it there",
                    reason=Reason.PERMISSION_DENIED,
                ) from error
            if not is_unwritable(error) or mode == "immutable=1":
                raise
        else:
            return connection
    raise AssertionError(path)


def _has_log(path: Path) -> bool:
    log = Path(f"{path}-wal")
    return log.exists() and log.stat().st_size > 0


_CREATES = re.compile(r"\bCREATE (TABLE|VIEW) IF NOT EXISTS (\w+)")


def create_or_stand_in(connection: sqlite3.Connection, script: str, *, read_only: bool) -> None:
    """Create the missing tables of a script; if the file is only read, as empty temporary tables of the connection.

    So an older file is read as if it had been opened for writing, which would add the same empty tables.
    """
    if not read_only:
        connection.executescript(script)
        return
    existing = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
    for name, statement in _temporary_tables(script):
        if name not in existing:
            connection.execute(statement)


@cache
def _temporary_tables(script: str) -> tuple[tuple[str, str], ...]:
    """Return the name of each table and view that a script creates, and the statement for an empty temporary one."""
    tables, statement = [], ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            if created := _CREATES.search(statement):
                tables.append((created[2], _CREATES.sub(r"CREATE TEMP \1 IF NOT EXISTS \2", statement)))
            statement = ""
    return tuple(tables)


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit the block's writes, or roll them back if it raises an error; `connection` is in autocommit mode."""
    try:  # around BEGIN and COMMIT too: Ctrl-C may raise KeyboardInterrupt right after the one or before the other
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:  # if the disk is full or failed, SQLite has rolled back already
            connection.execute("ROLLBACK")


def make_scratch(folder: Path, databases: Iterable[str]) -> None:
    """Create an empty folder for `databases`. If a killed run left one, remove that first, as `remove_scratch` does."""
    remove_scratch(folder, databases)
    folder.mkdir(parents=True)


def remove_scratch(folder: Path, databases: Iterable[str]) -> None:
    """Remove the databases with these file names from a folder, and then the folder.

    Raises StoreError, and removes nothing, if the folder contains anything else, or is a symbolic link or a file.
    """
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise StoreError(f"{folder} is a link or a file, but must be a folder", hint=f"move {folder} elsewhere")
    if not folder.exists():
        return
    own_names = {name + suffix for name in databases for suffix in ("", *SIDECARS)}
    paths = list(folder.iterdir())
    foreign = sorted(
        path.name for path in paths if path.name not in own_names or (path.is_dir() and not path.is_symlink())
    )
    if foreign:
        raise StoreError(
            f"{folder} contains {foreign[0]!r}, which windrow did not put there; nothing in it was touched",
            hint=f"move this file elsewhere, or remove {folder}",
        )
    for path in paths:
        path.unlink()
    folder.rmdir()


LOCK_TIMEOUT = 30.0
"""The number of seconds that `empty_wal` waits for other processes to end their transactions."""
_POLL_INTERVAL = 0.2  # seconds


def empty_wal(connection: sqlite3.Connection, pulse: Callable[[], object] = lambda: None) -> bool:
    """Copy the write-ahead log into the database and truncate the log; return False if other processes prevent that.

    While another process reads the database, the log cannot be truncated; `pulse` is then called about five times a
    second. A transaction must not be open on `connection`.
    """
    (old_timeout,) = connection.execute("PRAGMA busy_timeout").fetchone()
    connection.execute("PRAGMA busy_timeout = 0")
    deadline = monotonic() + LOCK_TIMEOUT
    try:
        while connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:  # 1: another process reads
            if monotonic() >= deadline:
                return False
            pulse()
            sleep(_POLL_INTERVAL)
    finally:
        connection.execute(f"PRAGMA busy_timeout = {old_timeout}")
    return True


_COLUMNS_QUERY = """
SELECT t.name, c.name, upper(c.type) FROM sqlite_schema t, pragma_table_info(t.name) c
WHERE t.type = 'table' AND t.sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY t.name, c.cid
"""
_VALUE_TYPES = {"INT": "'integer'", "CHAR": "'text'", "TEXT": "'text'", "DOUBLE": "'real', 'integer'"}
"""SQLite's types for the values in a column, by a part of the column's declared type."""


def find_wrong_values(connection: sqlite3.Connection) -> Iterator[str]:
    """Yield a message for each column of a table that has values of a type other than its declared one.

    SQLite stores such values, but only a program other than windrow can have written them.
    """
    columns_by_table: dict[str, dict[str, str]] = {}
    for table, column, declared in connection.execute(_COLUMNS_QUERY):
        types = next((types for part, types in _VALUE_TYPES.items() if part in declared), None)
        if types is not None:
            columns_by_table.setdefault(table, {})[column] = types
    for table, columns in columns_by_table.items():
        counts = ", ".join(f"total(typeof({column}) NOT IN ('null', {types}))" for column, types in columns.items())
        for column, count in zip(columns, connection.execute(f"SELECT {counts} FROM {table}").fetchone(), strict=True):
            if count:
                yield f"{int(count)} rows of the table {table} have a value of the wrong type in {column}"


class SqliteStore:
    """An SQLite file with one connection; messages of errors contain its path."""

    def __init__(self, path: Path, schema: str = "", *, read_only: bool = False) -> None:
        """Open the file and create the tables of `schema`; with `read_only` the file must exist and is not changed.

        An existing file that cannot be written is opened read-only; `_writing` then raises a StoreError. If it is only
        read, tables that it lacks are there, and empty.
        """
        self.path = path
        self._refusal: sqlite3.Error | None = None
        self._read_only = read_only
        with self._guarded():
            if read_only:
                self._connection = open_database(path, read_only=True)
            else:
                self._connection, self._refusal = open_or_read(path)
            self._read_only = read_only or self._refusal is not None
            with close_on_failure(self.close):
                create_or_stand_in(self._connection, schema, read_only=self._read_only)

    def _guarded(self) -> AbstractContextManager[None]:
        return store_errors(self.path, is_written=not self._read_only)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._guarded():
            if self._refusal is not None:
                raise self._refusal
            with transaction(self._connection):
                yield

    def generation(self) -> int:
        """Return the number that `set_generation` stored in the file, or 0 (see `windrow.stores.generations`)."""
        with self._guarded():
            return int(self._connection.execute("PRAGMA user_version").fetchone()[0])

    def set_generation(self, generation: int) -> None:
        """Store a number in the file."""
        with self._writing():
            self._connection.execute(f"PRAGMA user_version = {generation:d}")

    def _integrity_faults(self) -> Iterator[str]:
        with self._guarded():
            for (message,) in self._connection.execute("PRAGMA integrity_check"):
                if message != "ok":
                    yield str(message)

    def erase_deleted(self, pulse: Callable[[], object]) -> bool:
        """Erase removed data from the file's log, as `empty_wal` does; return False if other processes prevent that."""
        with self._guarded():
            return empty_wal(self._connection, pulse)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def close_into_file(path: Path) -> None:
    """Copy the write-ahead log into the database and remove the log; raise StoreError if that fails."""
    try:
        with closing(sqlite3.connect(path, timeout=30)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            connection.execute("PRAGMA journal_mode = DELETE").fetchall()
    except sqlite3.Error as error:
        raise StoreError(
            f"the log beside {path} cannot be copied into it: {error}",
            hint="end the program that has it open; then: windrow replay",
        ) from error


_BUSY_TIMEOUT = 30_000  # milliseconds that SQLite waits for another writer
_PRAGMAS = (f"busy_timeout = {_BUSY_TIMEOUT}", "cache_size = -16384", "temp_store = MEMORY", "query_only = ON")
_BUSY_ERRORS = ("SQLITE_BUSY", "SQLITE_LOCKED")
_REASONS_BY_ERROR = {
    "SQLITE_CANTOPEN": Reason.PERMISSION_DENIED,
    "SQLITE_READONLY": Reason.PERMISSION_DENIED,
    "SQLITE_PERM": Reason.PERMISSION_DENIED,
    **dict.fromkeys(DISK_FULL_ERRORS, Reason.DISK_FULL),
    "SQLITE_IOERR": Reason.DISK_FAILED,
}


class SqliteReader:
    """Reads an SQLite file; each thread has a connection, which stays open until `close`."""

    def __init__(self, path: Path, functions: Mapping[str, Callable[..., str | int]] | None = None) -> None:
        """Prepare to read a file, which `reading` opens. SQL may call `functions` by their names."""
        self.path = path
        self._functions = functions or {}
        self._local = threading.local()
        self._connections: list[sqlite3.Connection] = []

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Read in one transaction. The block, and the blocks nested in it, read one state of the file."""
        with self._guarded():
            if getattr(self._local, "is_reading", False):
                yield self._local.connection
                return
            connection = self._connection()
            try:
                connection.execute("BEGIN")
                self._local.is_reading = True
                yield connection
            finally:
                self._local.is_reading = False
                connection.rollback()

    def close(self) -> None:
        """Close the connections of all threads."""
        while self._connections:
            self._connections.pop().close()
        self._local = threading.local()

    def _connection(self) -> sqlite3.Connection:
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = open_read_only(self.path, "mode=rw", "mode=ro")  # `rw` can recover a log after a crash
            self._connections.append(connection)
            for pragma in _PRAGMAS:
                connection.execute(f"PRAGMA {pragma}").close()
            for name, function in self._functions.items():
                connection.create_function(name, -1, function, deterministic=True)
            self._local.connection = connection
        return connection

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Raise StoreError, with a reason if one fits, for errors of SQLite and for values of the wrong type."""
        try:
            yield
        except (sqlite3.Error, OverflowError) as error:
            code = str(getattr(error, "sqlite_errorname", None) or "")
            if code.startswith(_BUSY_ERRORS):
                raise StoreUnreachable(f"{self.path}: {error}") from error
            reason = next((mapped for name, mapped in _REASONS_BY_ERROR.items() if code.startswith(name)), None)
            if reason is None:
                raise store_error(error, f"{self.path}: {error}") from error
            raise StoreError(f"{self.path}: {error}", reason=reason) from error
        except (TypeError, ValueError) as error:
            wrong_values = [*find_wrong_values(self._connection())]
            if not wrong_values:
                raise
            raise StoreError(f"{self.path} was not written by windrow alone: {wrong_values[0]}") from error
