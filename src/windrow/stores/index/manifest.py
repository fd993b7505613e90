"""The manifest of an index: its documents, with stamps that show whether one has changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple, Self

from windrow.errors import IndexDamaged, StoreDamaged
from windrow.stores.index.folder import MANIFEST
from windrow.stores.sqlite import close_on_failure, open_read_only, store_errors, transaction

_TABLE = """
CREATE TABLE IF NOT EXISTS entry (
  id INTEGER PRIMARY KEY,
  own INTEGER NOT NULL,      -- stamp of the document's own content
  whole INTEGER NOT NULL,    -- stamp of that and what other pages say of it
  links INTEGER NOT NULL,    -- how many pages link to it
  anchors TEXT NOT NULL      -- their link texts as JSON, most frequent first
)
"""
_DUE = "CREATE TEMP TABLE IF NOT EXISTS due (id INTEGER PRIMARY KEY)"
_CHUNK = 500  # ids per query


class ManifestEntry(NamedTuple):
    """A document of the index; `own` and `whole` are stamps, numbers of 63 bits."""

    id: int
    own: int
    whole: int
    links: int
    anchors: str


class IndexManifest:
    """The rows of `entries.sqlite` in an index's folder."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        """Open or create the file; with `read_only` it must exist and is not changed. Raises StoreError."""
        self._guarded = partial(_manifest_errors, path)
        with self._guarded():
            self._connection = open_read_only(path, "mode=rw", "mode=ro") if read_only else _open_manifest(path)

    def __enter__(self) -> Self:
        """Return the open manifest."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._connection.close()

    def stamps(self) -> Iterator[tuple[int, int]]:
        """Yield id and own stamp of all documents, in the order of ids."""
        with self._guarded():
            yield from self._connection.execute("SELECT id, own FROM entry ORDER BY id")

    def mark_due(self, ids: Iterable[int]) -> None:
        """Mark documents that may have to be written again, until the manifest is closed."""
        with self._guarded(), transaction(self._connection):
            self._connection.executemany("INSERT OR IGNORE INTO due VALUES (?)", [(id_,) for id_ in ids])

    def due(self, most: int) -> list[int]:
        """Return the first of the marked documents."""
        return [row[0] for row in self._connection.execute("SELECT id FROM due ORDER BY id LIMIT ?", (most,))]

    def clear_due(self, ids: Sequence[int]) -> None:
        """Unmark documents up to the last of these."""
        self._connection.execute("DELETE FROM due WHERE id <= ?", (ids[-1],))

    def read_entries(self, ids: Sequence[int]) -> dict[int, ManifestEntry]:
        """Return the entries with these ids."""
        entries: dict[int, ManifestEntry] = {}
        for start in range(0, len(ids), _CHUNK):
            chunk = ids[start : start + _CHUNK]
            marks = ",".join("?" * len(chunk))
            sql = f"SELECT id, own, whole, links, anchors FROM entry WHERE id IN ({marks})"
            with self._guarded():
                entries |= {row[0]: ManifestEntry(*row) for row in self._connection.execute(sql, chunk)}
        return entries

    def write(self, rows: Iterable[ManifestEntry], gone: Iterable[int] = ()) -> None:
        """Record written and removed documents in one transaction."""
        with self._guarded(), transaction(self._connection):
            self._connection.executemany("DELETE FROM entry WHERE id = ?", [(id_,) for id_ in gone])
            self._connection.executemany("INSERT OR REPLACE INTO entry VALUES (?, ?, ?, ?, ?)", rows)


@contextmanager
def _manifest_errors(path: Path) -> Iterator[None]:
    try:
        with store_errors(path):
            yield
    except StoreDamaged as error:
        raise IndexDamaged(str(error)) from error


def _open_manifest(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    with close_on_failure(connection.close):
        connection.execute("PRAGMA journal_mode = WAL").close()
        connection.execute(_TABLE)
        connection.execute(_DUE)
    return connection


def manifest_path(folder: Path) -> Path:
    """Return the path of an index's manifest."""
    return folder / MANIFEST
