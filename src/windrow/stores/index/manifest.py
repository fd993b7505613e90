"""The manifest of the search index of pages: its documents, with stamps that show which have changed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple, Self

from windrow.errors import IndexDamaged, StoreDamaged
from windrow.stores.index.folder import MANIFEST_FILE
from windrow.stores.sqlite import close_on_failure, open_read_only, store_errors, transaction

_ENTRY_TABLE = """
CREATE TABLE IF NOT EXISTS entry (
  id INTEGER PRIMARY KEY,
  own INTEGER NOT NULL,      -- stamp of the document's own content
  whole INTEGER NOT NULL,    -- stamp of the content, and of the links to it on other pages
  links INTEGER NOT NULL,    -- how many pages link to it
  anchors TEXT NOT NULL      -- their link texts as JSON, most frequent first
)
"""
_DUE_TABLE = "CREATE TEMP TABLE IF NOT EXISTS due (id INTEGER PRIMARY KEY)"


class ManifestEntry(NamedTuple):
    """The manifest's entry for a document of the index. `own` and `whole` are 63-bit hashes.

    `own` is the hash of the document's content; `whole` is the hash of its content and of the links to it. `links` is
    the number of pages that link to it. `anchors` are the texts of the links as JSON, the most frequent first.
    """

    id: int
    own: int
    whole: int
    links: int
    anchors: str


class IndexManifest:
    """The manifest in the file `entries.sqlite` of an index's folder."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        """Open or create the file; with `read_only` it must exist and is not changed.

        Raises StoreError if it cannot be opened, and IndexDamaged if it is damaged.
        """
        self._guarded = partial(_manifest_errors, path)
        with self._guarded():
            self._connection = open_read_only(path, "mode=rw", "mode=ro") if read_only else _open_manifest(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def stamps(self) -> Iterator[tuple[int, int]]:
        """Yield the id and the `own` stamp of each document, in the order of ids."""
        with self._guarded():
            yield from self._connection.execute("SELECT id, own FROM entry ORDER BY id")

    def mark_due(self, ids: Iterable[int]) -> None:
        """Mark documents as due: they may have to be indexed again. Closing the manifest removes the marks."""
        with self._guarded(), transaction(self._connection):
            self._connection.executemany("INSERT OR IGNORE INTO due VALUES (?)", [(id_,) for id_ in ids])

    def due(self, limit: int) -> list[int]:
        """Return the ids of the first `limit` documents that are due."""
        with self._guarded():
            return [id_ for (id_,) in self._connection.execute("SELECT id FROM due ORDER BY id LIMIT ?", (limit,))]

    def clear_due(self, ids: Sequence[int]) -> None:
        """Remove the marks of all due documents whose ids are at most the last of `ids`, which are sorted."""
        with self._guarded():
            self._connection.execute("DELETE FROM due WHERE id <= ?", (ids[-1],))

    def read_entries(self, ids: Sequence[int]) -> dict[int, ManifestEntry]:
        """Return the entries of documents by id; ids without an entry are left out."""
        sql = "SELECT id, own, whole, links, anchors FROM entry WHERE id IN (SELECT value FROM json_each(?))"
        with self._guarded():
            entries = map(ManifestEntry._make, self._connection.execute(sql, (json.dumps([*ids]),)))
            return {entry.id: entry for entry in entries}

    def write(self, entries: Iterable[ManifestEntry], removed: Iterable[int] = ()) -> None:
        """Write entries, and remove entries with the ids `removed`, in one transaction."""
        with self._guarded(), transaction(self._connection):
            self._connection.executemany("DELETE FROM entry WHERE id = ?", [(id_,) for id_ in removed])
            self._connection.executemany("INSERT OR REPLACE INTO entry VALUES (?, ?, ?, ?, ?)", entries)


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
        connection.execute(_ENTRY_TABLE)
        connection.execute(_DUE_TABLE)
    return connection


def manifest_path(folder: Path) -> Path:
    """Return the path of an index's manifest."""
    return folder / MANIFEST_FILE
