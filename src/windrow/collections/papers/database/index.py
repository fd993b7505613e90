"""The catalogue's index: an SQLite file made from JSON lines, queried by identifier and by slug."""

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

from windrow.collections.papers.catalogue import CatalogueRecord, parse
from windrow.collections.papers.verdict import CROWD, Paper, matched_slug
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
_PAGE = 20_000
_LONGEST = 16 << 20  # bytes of a line
_open_packed = cast("Callable[[Path], BinaryIO]", igzip.open)


class Imported(NamedTuple):
    """How many works were imported from a file's lines, and how many lines were refused, by reason."""

    taken: int
    refused: Counter[str]


class CatalogueIndex(SqliteStore):
    """The works of a catalogue."""

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

    def take(self, lines: Iterable[bytes]) -> Imported:
        """Import lines, `_PAGE` in a transaction; a work that is known already is replaced."""
        imported, refused = 0, Counter[str]()
        stream = iter(lines)
        while page := list(islice(stream, _PAGE)):
            with self._writing():
                imported += sum(self._take_line(line, refused) for line in page)
                self._connection.execute(
                    "INSERT INTO meta VALUES ('version', 1) ON CONFLICT DO UPDATE SET value = value + 1"
                )
        return Imported(imported, refused)

    def _take_line(self, line: bytes, refused: Counter[str]) -> bool:
        """Import a line and return True; if it does not contain a usable work, count it as refused and return False."""
        if not line.strip():
            return False
        try:
            self._put(parse(line))
        except StepError as error:
            refused[str(error.reason)] += 1
            return False
        return True

    def _put(self, work: CatalogueRecord) -> None:
        run = self._connection.execute
        name = _number(work.name or work.identifiers[0])
        slug = matched_slug(work.title, self._stubs)
        key = _number(slug) if slug else None
        text = json.dumps(work, ensure_ascii=False, separators=(",", ":"))
        known_row = run("SELECT id FROM record WHERE name = ?", (name,)).fetchone()
        if known_row is None:
            number = run("INSERT INTO record (name, slug, json) VALUES (?,?,?)", (name, key, text)).lastrowid
        else:
            number = int(known_row[0])
            old = run("SELECT json FROM record WHERE id = ?", (number,)).fetchone()[0]
            for identifier in _work(old).identifiers:
                run("DELETE FROM identifier WHERE value = ? AND record = ?", (_number(identifier), number))
            run("UPDATE record SET slug = ?, json = ? WHERE id = ?", (key, text, number))
        for identifier in work.identifiers:
            run("INSERT INTO identifier VALUES (?, ?) ON CONFLICT DO NOTHING", (_number(identifier), number))

    def candidates(self, paper: Paper) -> Sequence[CatalogueRecord]:
        """Return the works that share an identifier or the slug with a paper, at most `CROWD` + 1 for each of these."""
        works: dict[int, str] = {}
        run = self._connection.execute
        with self._guarded():
            for identifier in paper.identifiers:
                query = "SELECT r.id, r.json FROM identifier i JOIN record r ON r.id = i.record WHERE i.value = ?"
                works.update(run(f"{query} LIMIT {CROWD + 1}", (_number(identifier),)))
            if paper.slug:
                query = f"SELECT id, json FROM record WHERE slug = ? LIMIT {CROWD + 1}"
                works.update(run(query, (_number(paper.slug),)))
        return [_work(text) for text in works.values()]


def read_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a plain or gzipped file; a line that is too long is yielded in pieces."""
    try:
        with path.open("rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
        with _open_packed(path) if packed else path.open("rb") as file:
            while line := file.readline(_LONGEST):
                yield line
    except (OSError, EOFError, zlib.error, IsalError) as error:  # type: ignore[misc]
        raise UsageError(f"{path} cannot be read: {error}") from None


def _number(text: str) -> int:
    """Hash a text to a signed 64-bit integer, which takes less space in the index."""
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "big", signed=True)


def _work(text: str) -> CatalogueRecord:
    name, title, authors, year, journal, kind, identifiers = json.loads(text)
    return CatalogueRecord(name, title, tuple(authors), year, journal, kind, tuple(identifiers))
