"""The manifest of an index: what is in it, by stamps that tell whether a document is another one now."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple, Self

from windrow.errors import IndexDamaged, StoreDamaged
from windrow.stores.index.folder import ROLL
from windrow.stores.sqlite import close_on_failure, open_to_read, store_errors, transaction

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

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        """Open or make the file; one that is `read_only` is left as it is, and must be there. Raises StoreError."""
        self._guarded = partial(_roll_errors, path)
        with self._guarded():
            self._connection = open_to_read(path, "mode=rw", "mode=ro") if read_only else _manifest(path)

    def __enter__(self) -> Self:
        """Give the open roll."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._connection.close()

    def stamps(self) -> Iterator[tuple[int, int]]:
        """Yield id and own stamp of all documents, in the order of ids."""
        with self._guarded():
            yield from self._connection.execute("SELECT id, own FROM entry ORDER BY id")

    def need(self, ids: Iterable[int]) -> None:
        """Note documents that may have to be written again; as long as the roll is open, and no longer."""
        with self._guarded(), transaction(self._connection):
            self._connection.executemany("INSERT OR IGNORE INTO due VALUES (?)", [(id_,) for id_ in ids])

    def due(self, most: int) -> list[int]:
        """Return the first of those that were noted."""
        return [row[0] for row in self._connection.execute("SELECT id FROM due ORDER BY id LIMIT ?", (most,))]

    def done(self, ids: Sequence[int]) -> None:
        """Forget the first of those that were noted, up to the last of these."""
        self._connection.execute("DELETE FROM due WHERE id <= ?", (ids[-1],))

    def named(self, ids: Sequence[int]) -> dict[int, ManifestEntry]:
        """Return the documents of these ids."""
        found: dict[int, ManifestEntry] = {}
        for start in range(0, len(ids), _MANY):
            some = ids[start : start + _MANY]
            marks = ",".join("?" * len(some))
            sql = f"SELECT id, own, whole, links, anchors FROM entry WHERE id IN ({marks})"
            with self._guarded():
                found |= {row[0]: ManifestEntry(*row) for row in self._connection.execute(sql, some)}
        return found

    def write(self, rows: Iterable[ManifestEntry], gone: Iterable[int] = ()) -> None:
        """Note documents that were put in and those that were removed, in one transaction."""
        with self._guarded(), transaction(self._connection):
            self._connection.executemany("DELETE FROM entry WHERE id = ?", [(one,) for one in gone])
            self._connection.executemany("INSERT OR REPLACE INTO entry VALUES (?, ?, ?, ?, ?)", rows)


@contextmanager
def _roll_errors(path: Path) -> Iterator[None]:
    try:
        with store_errors(path):
            yield
    except StoreDamaged as error:
        raise IndexDamaged(str(error)) from error


def _manifest(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    with close_on_failure(connection.close):
        connection.execute("PRAGMA journal_mode = WAL").close()
        connection.execute(_TABLE)
        connection.execute(_DUE)
    return connection


def roll_path(folder: Path) -> Path:
    """Return where the manifest of an index is."""
    return folder / ROLL
