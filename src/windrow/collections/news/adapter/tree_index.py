"""The tables of the articles that have files in the tree, of their aliases, and of the runs that were written.

The tables are in the file of the records. If the tables are lost, the publisher begins with the first run again, finds
the files of its articles and fills the tables.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from windrow.collections.news import standard
from windrow.private_files import published_files, write_whole
from windrow.stores.sqlite import SqliteStore
from windrow.stores.store_mark import StoreMark

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
    """An article that has a file in the tree.

    `file` is its path in the tree, and `hash` is the `standard.content_hash` of its content. `first_seen` is in seconds
    since 1970. The content was read from a site of `kind` with the domain `site`. `revisions` is as in the file's
    metadata.
    """

    id: int
    file: str
    url: str
    first_seen: int
    kind: str
    hash: str
    revisions: list[dict[str, Any]]
    site: str


def claimed_aliases(canonical: str) -> tuple[str, ...]:
    """Return two aliases for the canonical address whose alias is `canonical`; () if that is empty.

    The first belongs to the article at the address, the second to an article whose page states the address as
    canonical.
    """
    return (canonical, f"canonical {canonical}") if canonical else ()


class TreeMark(NamedTuple):
    """The generation of a tree (see `windrow.stores.generations`), and its mark, in a file of the tree."""

    tree: Path

    @property
    def _path(self) -> Path:
        return self.tree / "_windrow_generation"  # programs that read the tree skip names that begin with "_"

    def generation(self) -> int:
        """Return the number in the file, or 0 if the tree is new, lost, or was written by an earlier windrow."""
        first_word = self._read().partition(" ")[0]
        return int(first_word) if first_word.isdecimal() else 0

    def set_generation(self, generation: int) -> None:
        """Store a number in the file."""
        self._write(generation, self.mark())

    def mark(self) -> StoreMark:
        """Return of which ledger the articles are, and the number of the last attempt whose articles may be there."""
        return StoreMark.read(self._read().partition(" ")[2])

    def set_mark(self, mark: StoreMark) -> None:
        """Store a mark in the file."""
        self._write(self.generation(), mark)

    def _read(self) -> str:
        return self._path.read_text(encoding="utf-8", errors="replace") if self._path.is_file() else ""

    @published_files()
    def _write(self, generation: int, mark: StoreMark) -> None:
        write_whole(self._path, (f"{generation} {mark.spell()}",))


class TreeIndex(SqliteStore):
    """The tables of articles that have files, of runs, and of the last attempt that was written.

    Outside `writing_run`, only `last_attempt`, `files` and `rewritten` may be called, and `find` in `store_errors`.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, _SCHEMA)

    @contextmanager
    def writing_run(self) -> Iterator[None]:
        """Write in one transaction until the block ends. `is_first` forgets the names of earlier transactions."""
        with self._writing():
            self._connection.execute("DELETE FROM name_of_run")
            yield

    def is_first(self, name: str) -> bool:
        """Remember a name, and return whether it occurs for the first time in the current transaction."""
        return (
            self._connection.execute("INSERT INTO name_of_run VALUES (?) ON CONFLICT DO NOTHING", (name,)).rowcount > 0
        )

    def last_attempt(self) -> int:
        """Return the number of the last attempt that was written, or 0 before the first run."""
        with self._guarded():
            row = self._connection.execute("SELECT attempt FROM written_upto").fetchone()
        return int(row[0]) if row else 0

    def set_last_attempt(self, attempt: int) -> None:
        """Store the number of the last attempt that was written."""
        self._connection.execute(
            "INSERT INTO written_upto VALUES (1, ?) ON CONFLICT DO UPDATE SET attempt = excluded.attempt", (attempt,)
        )

    def find(self, url: str, aliases: Iterable[str], name: str = "") -> WrittenArticle | None:
        """Return the article of the record `url`, or else the one with the lasting name `name`; None if neither exists.

        If `name` is empty, the article with the first known alias is returned instead. With a name, aliases are not
        used, because another article may have them, too.
        """
        file = f"{standard.domain(url)}/{standard.file_name(url)}"
        query = "SELECT w.* FROM written_alias a JOIN written w ON w.id = a.article WHERE a.alias = ?"
        row = self._connection.execute("SELECT * FROM written WHERE file = ?", (file,)).fetchone()
        rows = (self._connection.execute(query, (alias,)).fetchone() for alias in ([name] if name else aliases))
        row = row or next(filter(None, rows), None)
        if row is None:
            return None
        id_, file, url, first_seen, kind, hash_, revisions, site = row
        return WrittenArticle(id_, file, url, first_seen, kind, hash_, json.loads(revisions), site)

    def add(self, article: WrittenArticle, aliases: Iterable[str]) -> None:
        """Add an article (its `id` is ignored) and its aliases. If its file has a row already, only `kind` changes."""
        row = self._connection.execute(
            "INSERT INTO written (file, url, first_seen, kind, hash, revisions, site) VALUES (?,?,?,?,?,?,?)"
            " ON CONFLICT (file) DO UPDATE SET kind = excluded.kind RETURNING id",
            (article.file, article.url, article.first_seen, article.kind, article.hash,
             json.dumps(article.revisions), article.site),
        ).fetchone()  # fmt: skip
        self.add_aliases(int(row[0]), aliases)

    def add_aliases(self, article_id: int, aliases: Iterable[str]) -> None:
        """Add aliases to an article. An alias of another article stays with that article."""
        rows = [(alias, article_id) for alias in aliases]
        self._connection.executemany("INSERT INTO written_alias VALUES (?,?) ON CONFLICT DO NOTHING", rows)

    def revise(self, article: WrittenArticle) -> None:
        """Store an article whose file was rewritten; its id, file and url do not change."""
        self._connection.execute(
            "UPDATE written SET hash = ?, kind = ?, revisions = ?, first_seen = ?, site = ? WHERE id = ?",
            (article.hash, article.kind, json.dumps(article.revisions), article.first_seen, article.site, article.id),
        )

    def files(self) -> Iterator[str]:
        """Yield the path in the tree of each article that was written, in order."""
        with self._guarded():
            for (file,) in self._connection.execute("SELECT file FROM written ORDER BY file"):
                yield file

    def rewritten(self) -> Iterator[tuple[str, list[str]]]:
        """Yield (path, the hash of each version of its content, the latest last) of each article that was rewritten."""
        query = "SELECT file, revisions FROM written WHERE revisions <> '[]' ORDER BY file"
        with self._guarded():
            for file, revisions in self._connection.execute(query):
                yield file, [revision["hash"] for revision in json.loads(revisions)]

    def remove(self, article_id: int) -> None:
        """Remove an article and its aliases."""
        self._connection.execute("DELETE FROM written_alias WHERE article = ?", (article_id,))
        self._connection.execute("DELETE FROM written WHERE id = ?", (article_id,))

    def epoch_of_run(self, session: int, kind: str, began: int) -> int:
        """Return the stored number of a run's directory, or else the first free one from `began` (Unix time) on."""
        query = "SELECT epoch FROM written_run WHERE session = ? AND kind = ?"
        row = self._connection.execute(query, (session, kind)).fetchone()
        if row:
            return int(row[0])
        epoch = began
        while self._connection.execute("SELECT 1 FROM written_run WHERE epoch = ?", (epoch,)).fetchone():
            epoch += 1
        return epoch

    def add_run(self, session: int, kind: str, epoch: int) -> None:
        """Store the number of a run's directory, unless one is stored already."""
        self._connection.execute(
            "INSERT INTO written_run VALUES (?,?,?) ON CONFLICT DO NOTHING", (session, kind, epoch)
        )
