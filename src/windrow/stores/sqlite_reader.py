"""An SQLite file that is only read, by the driver alone: a search is over before SQLAlchemy is loaded."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from windrow.errors import StoreDamaged, StoreError, StoreUnreachable
from windrow.reasons import Reason
from windrow.stores.sqlite_file import is_damaged

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
            where = f"{self.path.absolute().as_uri()}?mode=rw"  # a reader too may have to mend the log of a crash
            link = sqlite3.connect(where, isolation_level=None, uri=True, check_same_thread=False)
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
