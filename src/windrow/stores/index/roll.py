"""The roll of an index: which documents are in it, as what."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Self

from windrow.errors import StoreError
from windrow.reasons import Reason

_TABLE = """
CREATE TABLE IF NOT EXISTS entry (
  id INTEGER PRIMARY KEY,
  own INTEGER NOT NULL,      -- stamp of what the document says of itself
  whole INTEGER NOT NULL,    -- the same with what others say of it
  links INTEGER NOT NULL,    -- how many pages link to it
  anchors TEXT NOT NULL      -- what they call it, a line each, most frequent first
)
"""
_DUE = "CREATE TEMP TABLE IF NOT EXISTS due (id INTEGER PRIMARY KEY)"
_MANY = 500  # ids in one question


class ManifestEntry(NamedTuple):
    """A document of the index; stamps are whole numbers of 63 bits."""

    id: int
    own: int
    whole: int
    links: int
    anchors: str


class IndexManifest:
    """The rows of `entries.sqlite` in an index's folder."""

    def __init__(self, path: Path) -> None:
        """Open or make the file. Raises StoreError."""
        try:
            self._link = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self._link.execute("PRAGMA journal_mode = WAL").close()
            self._link.execute(_TABLE)
            self._link.execute(_DUE)
        except sqlite3.Error as error:
            raise StoreError(f"{path}: {error}", reason=Reason.DISK_FAILED) from error

    def __enter__(self) -> Self:
        """Give the open roll."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._link.close()

    def distrust(self, ids: Iterable[int]) -> None:
        """Take documents for changed: they are put in again."""
        self._link.execute("BEGIN IMMEDIATE")
        with self._link:
            self._link.executemany("UPDATE entry SET own = -1, whole = -1 WHERE id = ?", [(one,) for one in ids])

    def stamps(self) -> Iterator[tuple[int, int]]:
        """Yield id and own stamp of all documents, in the order of ids."""
        yield from self._link.execute("SELECT id, own FROM entry ORDER BY id")

    def need(self, ids: Iterable[int]) -> None:
        """Note documents that may have to be written again; as long as the roll is open, and no longer."""
        self._link.execute("BEGIN")
        with self._link:
            self._link.executemany("INSERT OR IGNORE INTO due VALUES (?)", [(one,) for one in ids])

    def due(self, most: int) -> list[int]:
        """Return the first of those that were noted."""
        return [row[0] for row in self._link.execute("SELECT id FROM due ORDER BY id LIMIT ?", (most,))]

    def done(self, ids: Sequence[int]) -> None:
        """Forget the first of those that were noted, up to the last of these."""
        self._link.execute("DELETE FROM due WHERE id <= ?", (ids[-1],))

    def named(self, ids: Sequence[int]) -> dict[int, ManifestEntry]:
        """Return the documents of these ids."""
        found: dict[int, ManifestEntry] = {}
        for start in range(0, len(ids), _MANY):
            some = ids[start : start + _MANY]
            marks = ",".join("?" * len(some))
            rows = self._link.execute(f"SELECT id, own, whole, links, anchors FROM entry WHERE id IN ({marks})", some)
            found |= {row[0]: ManifestEntry(*row) for row in rows}
        return found

    def write(self, rows: Iterable[ManifestEntry], gone: Iterable[int] = ()) -> None:
        """Note documents that were put in and those that were removed, in one transaction."""
        self._link.execute("BEGIN IMMEDIATE")
        with self._link:
            self._link.executemany("DELETE FROM entry WHERE id = ?", [(one,) for one in gone])
            self._link.executemany("INSERT OR REPLACE INTO entry VALUES (?, ?, ?, ?, ?)", rows)
