"""One writer's hold of a database of pages: transactions, the numbers it knows, and how far it has come."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import sqlalchemy as sa

from windrow.collections.pages.database.catalogue import Catalogue
from windrow.collections.pages.database.schema import statements
from windrow.stores.connect import PAGE, guarded, reach
from windrow.stores.sqlite_file import close_on_failure

VERSIONS = {"base": "0.1.0", "summary": "0.0.0", "crawler": "0.0.0"}
"""Of the seed's schemas, as `unobtanium_database_info` tells them."""

VISIT, ADDRESS = "windrow.visit", "windrow.address"
"""Keys in `unobtanium_database_info`: the last visit of the ledger, and the last address, that are in the tables."""

_INFO = "INSERT INTO unobtanium_database_info VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
_MADE = "SELECT 1 FROM sqlite_master WHERE name = 'unobtanium_database_info'"


class SummaryWriter:
    """A database in an SQLite file, written by one process at a time."""

    def __init__(self, url: str, schemas: Sequence[str], pragmas: Sequence[str] = (), *, page: int = PAGE) -> None:
        """Open the database at `url` (`sqlite:///FILE`), making the tables of `schemas` where it has none.

        `page` is the size of the pages of a file that is made.
        """
        self.engine: sa.Engine = reach(url, page=page)
        with guarded(self.engine):
            self._held = self.engine.raw_connection()
        with close_on_failure(self.close), guarded(self.engine):
            self._link = cast(sqlite3.Connection, self._held.driver_connection)
            for pragma in pragmas:
                self._link.execute(f"PRAGMA {pragma}").close()
            self._catalogue = Catalogue(self._link)
            with self._writing():
                if self._link.execute(_MADE).fetchone() is None:
                    self._make(schemas)
                for statement in statements("kind"):
                    self._link.execute(statement)

    def _make(self, schemas: Sequence[str]) -> None:
        for statement in statements(*schemas):
            self._link.execute(statement)
        told = {f"schema.{name}": VERSIONS[name] for name in schemas}
        told |= {"tool": "windrow", "created_unix_utc": str(int(time.time()))}
        self._link.executemany(_INFO, list(told.items()))

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Open one transaction; all of it is written or nothing."""
        with guarded(self.engine):
            self._link.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._link.execute("COMMIT")
            except BaseException:
                self._catalogue.forget()
                self._link.rollback()
                raise

    def checkpoint(self, key: str = VISIT) -> int:
        """Return how far the ledger's visits (or with `ADDRESS`, its addresses) are in the tables, 0 at first."""
        rows = self._ask("SELECT value FROM unobtanium_database_info WHERE key = ?", key)
        return int(rows[0][0]) if rows else 0

    def _come(self, key: str, number: int) -> None:
        """Note within the transaction how far the tables have come."""
        self._link.execute(_INFO, (key, str(number)))

    def _ask(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        with guarded(self.engine):
            return self._link.execute(sql, values).fetchall()

    def close(self) -> None:
        """Close the connection."""
        self._held.close()
        self.engine.dispose()
