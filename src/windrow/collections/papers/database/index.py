"""The index of the catalogue, which finds works by identifier and by slug: an SQLite file made from JSON lines."""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from isal import igzip
from isal.igzip_lib import error as IsalError  # noqa: N812

from windrow.collections.papers.catalogue import CatalogueRecord, parse_record
from windrow.collections.papers.verdict import MAX_SAME_SLUG, Paper, matched_slug
from windrow.errors import StepError, UsageError
from windrow.stores.sqlite import SqliteStore, close_on_failure

_SCHEMA = """
CREATE TABLE IF NOT EXISTS record (
    id INTEGER PRIMARY KEY, name INTEGER NOT NULL, slug INTEGER, json TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS identifier (value INTEGER NOT NULL, record INTEGER NOT NULL, PRIMARY KEY (value, record))
    STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX IF NOT EXISTS record_by_name ON record (name);
CREATE INDEX IF NOT EXISTS record_by_slug ON record (slug) WHERE slug IS NOT NULL;
"""
_LINES_PER_TRANSACTION = 20_000
_MAX_LINE_SIZE = 16 << 20  # bytes
_open_gzip = cast("Callable[[Path], BinaryIO]", igzip.open)


class Imported(NamedTuple):
    """The number of works that were imported from lines, and of lines that were refused, by reason."""

    works: int
    refused: Counter[str]


class CatalogueIndex(SqliteStore):
    """The works of a catalogue in a file; works with a title among `stubs` are not found by it."""

    def __init__(self, path: Path, *, stubs: frozenset[str]) -> None:
        super().__init__(path, _SCHEMA)
        self._stubs = stubs
        with close_on_failure(self.close), self._guarded():
            self._connection.execute("PRAGMA cache_size = -131072")

    def version(self) -> int:
        """Return a number that rises with each import."""
        with self._guarded():
            row = self._connection.execute("SELECT value FROM meta WHERE name = 'version'").fetchone()
        return int(row[0]) if row else 0

    def count(self) -> int:
        """Return the number of works."""
        with self._guarded():
            return int(self._connection.execute("SELECT count(*) FROM record").fetchone()[0])

    def import_lines(self, lines: Iterable[bytes]) -> Imported:
        """Import works from lines of JSON; a work that was imported before is replaced."""
        imported, refused = 0, Counter[str]()
        remaining = iter(lines)
        while page := list(islice(remaining, _LINES_PER_TRANSACTION)):
            with self._writing():
                imported += sum(self._import_line(line, refused) for line in page)
                self._connection.execute(
                    "INSERT INTO meta VALUES ('version', 1) ON CONFLICT DO UPDATE SET value = value + 1"
                )
        return Imported(imported, refused)

    def _import_line(self, line: bytes, refused: Counter[str]) -> bool:
        """Import a line and return True; if it has no usable work, count the reason in `refused` and return False."""
        if not line.strip():
            return False
        try:
            self._store_work(parse_record(line))
        except StepError as error:
            refused[str(error.reason)] += 1
            return False
        return True

    def _store_work(self, work: CatalogueRecord) -> None:
        """Store a work and its identifiers; replace the work with the same name."""
        run = self._connection.execute
        name_hash = _hash_text(work.name or work.identifiers[0])
        slug = matched_slug(work.title, self._stubs)
        slug_hash = _hash_text(slug) if slug else None
        text = json.dumps(work, ensure_ascii=False, separators=(",", ":"))
        stored = run("SELECT id, json FROM record WHERE name = ?", (name_hash,)).fetchone()
        if stored is None:
            id_ = run("INSERT INTO record (name, slug, json) VALUES (?,?,?)", (name_hash, slug_hash, text)).lastrowid
        else:
            id_, former_text = stored
            for identifier in _parse_work(former_text).identifiers:
                run("DELETE FROM identifier WHERE value = ? AND record = ?", (_hash_text(identifier), id_))
            run("UPDATE record SET slug = ?, json = ? WHERE id = ?", (slug_hash, text, id_))
        for identifier in work.identifiers:
            run("INSERT INTO identifier VALUES (?, ?) ON CONFLICT DO NOTHING", (_hash_text(identifier), id_))

    def candidates(self, paper: Paper) -> Sequence[CatalogueRecord]:
        """Return the works with an identifier or the slug of a paper, at most MAX_SAME_SLUG + 1 for each of these."""
        works: dict[int, str] = {}  # JSON by id
        run = self._connection.execute
        with self._guarded():
            for identifier in paper.identifiers:
                query = "SELECT r.id, r.json FROM identifier i JOIN record r ON r.id = i.record WHERE i.value = ?"
                works.update(run(f"{query} LIMIT {MAX_SAME_SLUG + 1}", (_hash_text(identifier),)))
            if paper.slug:
                query = f"SELECT id, json FROM record WHERE slug = ? LIMIT {MAX_SAME_SLUG + 1}"
                works.update(run(query, (_hash_text(paper.slug),)))
        return [_parse_work(text) for text in works.values()]


def read_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a plain or gzipped file, long ones in pieces; raise UsageError if it cannot be read."""
    try:
        with path.open("rb") as start:
            is_gzip = start.read(2) == b"\x1f\x8b"
        with _open_gzip(path) if is_gzip else path.open("rb") as file:
            while line := file.readline(_MAX_LINE_SIZE):
                yield line
    except (OSError, EOFError, zlib.error, IsalError) as error:  # type: ignore[misc]
        raise UsageError(f"{path} cannot be read: {error}") from None


def _hash_text(text: str) -> int:
    """Return the hash of a text as a signed 64-bit integer, which takes less space in the index than the text."""
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "big", signed=True)


def _parse_work(text: str) -> CatalogueRecord:
    name, title, authors, year, journal, kind, identifiers = json.loads(text)
    return CatalogueRecord(name, title, tuple(authors), year, journal, kind, tuple(identifiers))
