"""Tables, in the file of the records, of the articles that were written, by all their addresses.

They can be rebuilt from the ledger: if they are lost, writing starts with the first run again and finds its files.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from windrow.stores.sqlite import SqliteStore

_SCHEMA = """
CREATE TABLE IF NOT EXISTS written (
    id INTEGER PRIMARY KEY, file TEXT NOT NULL UNIQUE, url TEXT NOT NULL, first_seen INTEGER NOT NULL,
    kind TEXT NOT NULL, hash TEXT NOT NULL, revisions TEXT NOT NULL, site TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS written_alias (alias TEXT PRIMARY KEY, article INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS written_run (
    session INTEGER NOT NULL, kind TEXT NOT NULL, epoch INTEGER NOT NULL UNIQUE, PRIMARY KEY (session, kind)
) WITHOUT ROWID;
CREATE TEMP TABLE name_of_run (name TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS written_upto (one INTEGER PRIMARY KEY CHECK (one = 1), attempt INTEGER NOT NULL);
"""


class WrittenArticle(NamedTuple):
    """An article that has a file: `file` is its path in the tree, `hash` the `standard.content_hash` of its content.

    `site` is the domain of the response from which that content was read.
    """

    id: int
    file: str
    url: str
    first_seen: int
    kind: str
    hash: str
    revisions: list[dict[str, Any]]
    site: str


class TreeIndex(SqliteStore):
    """The tables of written articles, runs and the last attempt."""

    def __init__(self, path: Path) -> None:
        """Open the file, and create the tables if they are missing."""
        super().__init__(path, _SCHEMA)

    @contextmanager
    def run(self) -> Iterator[None]:
        """Write one run in one transaction."""
        with self._writing():
            self._connection.execute("DELETE FROM name_of_run")
            yield

    def is_first(self, name: str) -> bool:
        """Add a name to the current run; return whether it is new."""
        return (
            self._connection.execute("INSERT INTO name_of_run VALUES (?) ON CONFLICT DO NOTHING", (name,)).rowcount > 0
        )

    def upto(self) -> int:
        """Return the last attempt that was written, or 0 before the first run."""
        row = self._connection.execute("SELECT attempt FROM written_upto").fetchone()
        return int(row[0]) if row else 0

    def reach(self, attempt: int) -> None:
        """Set the last attempt that was written."""
        self._connection.execute(
            "INSERT INTO written_upto VALUES (1, ?) ON CONFLICT DO UPDATE SET attempt = excluded.attempt", (attempt,)
        )

    def find(self, aliases: Iterable[str]) -> WrittenArticle | None:
        """Return the article of the first of these aliases that is known, or None if all are unknown."""
        for alias in aliases:
            row = self._connection.execute(
                "SELECT w.* FROM written_alias a JOIN written w ON w.id = a.article WHERE a.alias = ?", (alias,)
            ).fetchone()
            if row:
                number, file, url, first_seen, kind, name, revisions, site = row
                return WrittenArticle(number, file, url, first_seen, kind, name, json.loads(revisions), site)
        return None

    def add(self, article: WrittenArticle, aliases: Iterable[str]) -> None:
        """Add an article whose file was written, with its aliases."""
        row = self._connection.execute(
            "INSERT INTO written (file, url, first_seen, kind, hash, revisions, site) VALUES (?,?,?,?,?,?,?)"
            " ON CONFLICT (file) DO UPDATE SET kind = excluded.kind RETURNING id",
            (
                article.file,
                article.url,
                article.first_seen,
                article.kind,
                article.hash,
                json.dumps(article.revisions),
                article.site,
            ),
        ).fetchone()
        self.name(int(row[0]), aliases)

    def name(self, article: int, aliases: Iterable[str]) -> None:
        """Add aliases of an article, except those that another article has."""
        rows = [(alias, article) for alias in aliases]
        self._connection.executemany("INSERT INTO written_alias VALUES (?,?) ON CONFLICT DO NOTHING", rows)

    def revise(self, article: WrittenArticle) -> None:
        """Update an article whose content changed."""
        self._connection.execute(
            "UPDATE written SET hash = ?, kind = ?, revisions = ?, first_seen = ?, site = ? WHERE id = ?",
            (article.hash, article.kind, json.dumps(article.revisions), article.first_seen, article.site, article.id),
        )

    def files(self) -> Iterator[str]:
        """Yield the paths of all articles in the tree, in order."""
        for (file,) in self._connection.execute("SELECT file FROM written ORDER BY file"):
            yield file

    def remove(self, article: int) -> None:
        """Remove an article and its aliases."""
        self._connection.execute("DELETE FROM written_alias WHERE article = ?", (article,))
        self._connection.execute("DELETE FROM written WHERE id = ?", (article,))

    def epoch(self, session: int, kind: str, epoch: int) -> int:
        """Return the number of a run's directory: `epoch`, the time at which the run began, or the next free one."""
        query = "SELECT epoch FROM written_run WHERE session = ? AND kind = ?"
        row = self._connection.execute(query, (session, kind)).fetchone()
        if row:
            return int(row[0])
        while self._connection.execute("SELECT 1 FROM written_run WHERE epoch = ?", (epoch,)).fetchone():
            epoch += 1
        return epoch

    def take(self, session: int, kind: str, epoch: int) -> None:
        """Add the directory of a run."""
        self._connection.execute(
            "INSERT INTO written_run VALUES (?,?,?) ON CONFLICT DO NOTHING", (session, kind, epoch)
        )
