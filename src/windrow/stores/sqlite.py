"""SQLite files: transactions, errors, a scratch folder for one built beside another; read by the driver alone."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from time import monotonic, sleep

from windrow.errors import DiskFull, StoreDamaged, StoreError, StoreUnreachable
from windrow.reasons import Reason

SIDECARS = ("-wal", "-shm", "-journal")
"""What SQLite puts behind a database's name for the files beside it."""


FULL = ("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE")
"""SQLite's names of errors that mean a full disk; of the second it says only that it is an error of the disk."""


@contextmanager
def store_errors(path: Path) -> Iterator[None]:
    """Raise DiskFull or StoreError, which name the file, where SQLite raises errors of its own."""
    try:
        yield
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorname", "") in FULL:
            raise DiskFull(f"no room for {path}") from error
        raise store_error(error, f"{path}: {error}") from error


def store_error(error: BaseException, told: str) -> StoreError:
    """Return what an error of SQLite becomes: another where the file is broken, which has to be made anew."""
    return StoreDamaged(told) if is_damaged(error) else StoreError(told)


def is_damaged(error: BaseException) -> bool:
    """Tell whether SQLite says that a file is broken, or no database."""
    return str(getattr(error, "sqlite_errorname", None) or "").startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB"))


@contextmanager
def close_on_failure(close: Callable[[], object]) -> Iterator[None]:
    """Call `close` where a block fails: a database that cannot be made ready is not left open."""
    try:
        yield
    except BaseException:
        close()
        raise


def open_database(path: Path, *, read_only: bool = False, page: int = 4096) -> sqlite3.Connection:
    """Open a file in autocommit mode, with a log beside it whose every transaction survives a loss of power.

    It is made where it is not there, with pages of `page` bytes. One that is `read_only` is left as it is, and must be
    there.
    """
    if read_only:
        return open_to_read(path, "mode=ro")
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, isolation_level=None, timeout=30)
    with close_on_failure(connection.close):
        connection.execute(f"PRAGMA page_size = {page}")
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
        connection.execute("PRAGMA synchronous = FULL")
    return connection


_UNWRITABLE = ("SQLITE_READONLY", "SQLITE_CANTOPEN")
"""How SQLite says that the files beside a database, without which no log is read, can be neither made nor written."""


def is_unwritable(error: BaseException) -> bool:
    """Tell whether SQLite says that a file, or one beside it, cannot be written here."""
    return str(getattr(error, "sqlite_errorname", None) or "").startswith(_UNWRITABLE)


def open_to_read(path: Path, *ways: str) -> sqlite3.Connection:
    """Open a file in autocommit mode by the first of some ways (`mode=rw`, `mode=ro`) in which it can be read here.

    Where none will do, since nothing can be written beside it, and there is no log of a crash, it is read as it is
    without one: who may not write there cannot see that others do meanwhile.
    """
    for way in (*ways, "immutable=1"):
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?{way}", isolation_level=None, timeout=30, uri=True, check_same_thread=False
        )
        try:
            connection.execute("SELECT 1 FROM sqlite_master").fetchone()
        except sqlite3.Error as error:
            connection.close()
            if not is_unwritable(error) or way == "immutable=1" or (way == ways[-1] and _has_log(path)):
                raise
        else:
            return connection
    raise AssertionError(path)


def _has_log(path: Path) -> bool:
    log = Path(f"{path}-wal")
    return log.exists() and log.stat().st_size > 0


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Write all of a block or nothing of it; `connection` is in autocommit mode."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def make_scratch(folder: Path, databases: Iterable[str]) -> None:
    """Make the folder anew; of what a killed run left in it, only these databases are removed."""
    remove_scratch(folder, databases)
    folder.mkdir(parents=True)


def remove_scratch(folder: Path, databases: Iterable[str]) -> None:
    """Remove these databases and the folder. Raises StoreError where it holds anything else, and then removes nothing.

    A link is not followed: what it leads to is not ours.
    """
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise StoreError(f"{folder} is in the way: it is not a folder of windrow's", hint=f"move {folder} elsewhere")
    if not folder.exists():
        return
    ours = {name + suffix for name in databases for suffix in ("", *SIDECARS)}
    paths = list(folder.iterdir())
    strange = sorted(path.name for path in paths if path.name not in ours or (path.is_dir() and not path.is_symlink()))
    if strange:
        raise StoreError(
            f"{folder} holds {strange[0]!r}, which windrow did not put there; nothing in it was touched",
            hint=f"move that elsewhere, or remove {folder}",
        )
    for path in paths:
        path.unlink()
    folder.rmdir()


PATIENCE = 30.0
"""Seconds that other processes are given to end their transactions."""
_PAUSE = 0.2


def empty_wal(connection: sqlite3.Connection, pulse: Callable[[], object] = lambda: None) -> bool:
    """Bring the log into the database's file and cut it to nothing; False where another process prevented that.

    A read transaction of another process keeps the pages that it began with: SQLite then leaves the log as it is,
    and raises nothing. `pulse` is called about five times a second. No transaction may be open on `connection`.
    """
    before = connection.execute("PRAGMA busy_timeout").fetchone()[0]
    connection.execute("PRAGMA busy_timeout = 0")
    until = monotonic() + PATIENCE
    try:
        while connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
            if monotonic() >= until:
                return False
            pulse()
            sleep(_PAUSE)
    finally:
        connection.execute(f"PRAGMA busy_timeout = {before}")
    return True


class SqliteStore:
    """A file that one connection reads and writes; its errors name the file."""

    def __init__(self, path: Path, schema: str = "", *, read_only: bool = False) -> None:
        """Open the file, making it and the tables of `schema`, unless it is only read and so must be there."""
        self.path = path
        with self._guarded():
            self._connection = open_database(path, read_only=read_only)
            with close_on_failure(self.close):
                if not read_only:
                    self._connection.executescript(schema)

    def _guarded(self) -> AbstractContextManager[None]:
        return store_errors(self.path)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._guarded(), transaction(self._connection):
            yield

    def scour(self, pulse: Callable[[], object]) -> bool:
        """Leave nothing of what was removed in the file's log; False where another process holds it."""
        return empty_wal(self._connection, pulse)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def close_into_file(path: Path) -> None:
    """Bring what is written beside a database into its file, so that the file alone is all of it."""
    try:
        with closing(sqlite3.connect(path, timeout=30)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            connection.execute("PRAGMA journal_mode = DELETE").fetchall()
    except sqlite3.Error as error:
        raise StoreError(
            f"{path} cannot be closed: {error}", hint="end what has it open; then: windrow replay"
        ) from error


_WAIT = 30_000  # milliseconds that SQLite waits for another writer
_PRAGMAS = (f"busy_timeout = {_WAIT}", "cache_size = -16384", "temp_store = MEMORY", "query_only = ON")
_PASSING = ("SQLITE_BUSY", "SQLITE_LOCKED")
_REASONS = {
    "SQLITE_CANTOPEN": Reason.PERMISSION_DENIED,
    "SQLITE_READONLY": Reason.PERMISSION_DENIED,
    "SQLITE_PERM": Reason.PERMISSION_DENIED,
    "SQLITE_FULL": Reason.DISK_FULL,
    "SQLITE_IOERR": Reason.DISK_FAILED,
}


class SqliteReader:
    """Reads one file; each thread has a connection of its own, kept until `close`."""

    def __init__(self, path: Path, functions: Mapping[str, Callable[..., str | int]] | None = None) -> None:
        """Take the file, and functions that its SQL may call; nothing is opened yet."""
        self.path = path
        self._functions = functions or {}
        self._here = threading.local()
        self._links: list[sqlite3.Connection] = []

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Read in one transaction, so that all within the block sees one state; a block within a block joins it."""
        with self._guarded():
            if getattr(self._here, "within", False):
                yield self._here.link
                return
            link = self._link()
            link.execute("BEGIN")
            self._here.within = True
            try:
                yield link
            finally:
                self._here.within = False
                link.rollback()

    def close(self) -> None:
        """Close the connections of all threads."""
        while self._links:
            self._links.pop().close()
        self._here = threading.local()

    def _link(self) -> sqlite3.Connection:
        link = getattr(self._here, "link", None)
        if link is None:
            link = open_to_read(self.path, "mode=rw", "mode=ro")  # a reader too may have to mend the log of a crash
            self._links.append(link)
            for pragma in _PRAGMAS:
                link.execute(f"PRAGMA {pragma}").close()
            for name, function in self._functions.items():
                link.create_function(name, -1, function, deterministic=True)
            self._here.link = link
        return link

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OverflowError) as error:
            code = str(getattr(error, "sqlite_errorname", None) or "")
            if code.startswith(_PASSING):
                raise StoreUnreachable(f"{self.path}: {error}") from error
            if is_damaged(error):
                raise StoreDamaged(f"{self.path}: {error}") from error
            reason = next((one for name, one in _REASONS.items() if code.startswith(name)), None)
            raise StoreError(f"{self.path}: {error}", reason=reason) from error
