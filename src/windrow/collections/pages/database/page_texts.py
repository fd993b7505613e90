"""What one page can be found by beside its text, kept in the Summary Database: the table `windrow_page_text`."""

from __future__ import annotations

from collections.abc import Iterable

import sqlalchemy as sa

from windrow.collections.pages.database.search_view import PAGE_TEXTS
from windrow.stores.connect import READS, guarded

_MADE = (
    "CREATE TABLE IF NOT EXISTS windrow_text_version (name TEXT PRIMARY KEY, version TEXT NOT NULL)",
    """CREATE VIRTUAL TABLE IF NOT EXISTS windrow_page_text USING fts5 (
  title, description, headline, address, called, tokenize = 'unicode61 remove_diacritics 2')""",
)
_VERSION = "SELECT version FROM windrow_text_version WHERE name = ?"
_NOTE = "INSERT OR REPLACE INTO windrow_text_version VALUES (?, ?)"
_PUT = """INSERT INTO windrow_page_text (rowid, title, description, headline, address, called)
VALUES (?, ?, ?, ?, ?, ?)"""


def renewed(link: sa.Connection, name: str, version: str) -> bool:
    """Say whether what `name` holds is of another version, and note that it is of this one from now on."""
    link.exec_driver_sql(_MADE[0])
    same = link.exec_driver_sql(_VERSION, (name,)).scalar() == version
    if not same:
        link.exec_driver_sql(_NOTE, (name, version))
    return not same


def page_ids(engine: sa.Engine) -> set[int]:
    """Return the pages that have a row; none where there is no such table."""
    with guarded(engine), engine.connect().execution_options(**READS) as link, link.begin():
        if link.exec_driver_sql("SELECT 1 FROM sqlite_master WHERE name = ?", (PAGE_TEXTS,)).first() is None:
            return set()
        return {int(row[0]) for row in link.exec_driver_sql(f"SELECT id FROM {PAGE_TEXTS}_docsize")}


class PageTexts:
    """The rows of one Summary Database; each call is a transaction of its own."""

    def __init__(self, engine: sa.Engine, version: str) -> None:
        """Make the table where it is missing, and empty it where it was filled by another version."""
        self._engine = engine
        with guarded(engine), engine.begin() as link:
            if renewed(link, PAGE_TEXTS, version):
                link.exec_driver_sql(f"DROP TABLE IF EXISTS {PAGE_TEXTS}")
            link.exec_driver_sql(_MADE[1])

    def put(self, rows: Iterable[tuple[int, str, str, str, str, str]]) -> None:
        """Write pages in the place of those with the same ids: (id, title, description, headline, address, called)."""
        found = list(rows)
        self._write([(row[0],) for row in found], found)

    def remove(self, ids: Iterable[int]) -> None:
        """Remove pages."""
        self._write([(one,) for one in ids], [])

    def _write(self, gone: list[tuple[int]], rows: list[tuple[int, str, str, str, str, str]]) -> None:
        with guarded(self._engine), self._engine.begin() as link:
            if gone:
                link.exec_driver_sql(f"DELETE FROM {PAGE_TEXTS} WHERE rowid = ?", gone)
            if rows:
                link.exec_driver_sql(_PUT, rows)
