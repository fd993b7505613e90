"""The catalogue on disk: one SQLite file, made from JSON lines, asked by identifier and by slug."""

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
    id INTEGER PRIMARY KEY, name INTEGER NOT NULL, slug INTEGER, told TEXT NOT NULL
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
    """What became of the lines of a file: how many were taken, and how many were not, by reason."""

    taken: int
    refused: Counter[str]


class CatalogueIndex(SqliteStore):
    """The works of a catalogue."""

    def __init__(self, path: Path, *, stubs: frozenset[str]) -> None:
        """Open the file, making it."""
        super().__init__(path, _SCHEMA)
        self._stubs = stubs
        with close_on_failure(self.close), self._guarded():
            self._connection.execute("PRAGMA cache_size = -131072")

    def version(self) -> int:
        """Return a number that rises with each import."""
        with self._guarded():
            found = self._connection.execute("SELECT value FROM meta WHERE name = 'version'").fetchone()
        return int(found[0]) if found else 0

    def count(self) -> int:
        """Return how many works there are."""
        with self._guarded():
            return int(self._connection.execute("SELECT count(*) FROM record").fetchone()[0])

    def take(self, lines: Iterable[bytes]) -> Imported:
        """Take lines in, some thousand in a transaction; a work that is known already is replaced."""
        taken, refused = 0, Counter[str]()
        stream = iter(lines)
        while page := list(islice(stream, _PAGE)):
            with self._writing():
                taken += sum(self._taken(line, refused) for line in page)
                self._connection.execute(
                    "INSERT INTO meta VALUES ('version', 1) ON CONFLICT DO UPDATE SET value = value + 1"
                )
        return Imported(taken, refused)

    def _taken(self, line: bytes, refused: Counter[str]) -> bool:
        if not line.strip():
            return False
        try:
            self._put(parse(line))
        except StepError as error:
            refused[str(error.reason)] += 1
            return False
        return True

    def _put(self, one: CatalogueRecord) -> None:
        run = self._connection.execute
        name = _number(one.name or one.identifiers[0])
        spelled = matched_slug(one.title, self._stubs)
        key = _number(spelled) if spelled else None
        told = json.dumps(one, ensure_ascii=False, separators=(",", ":"))
        known = run("SELECT id FROM record WHERE name = ?", (name,)).fetchone()
        if known is None:
            number = run("INSERT INTO record (name, slug, told) VALUES (?,?,?)", (name, key, told)).lastrowid
        else:
            number = int(known[0])
            old = run("SELECT told FROM record WHERE id = ?", (number,)).fetchone()[0]
            for value in _record(old).identifiers:
                run("DELETE FROM identifier WHERE value = ? AND record = ?", (_number(value), number))
            run("UPDATE record SET slug = ?, told = ? WHERE id = ?", (key, told, number))
        for value in one.identifiers:
            run("INSERT INTO identifier VALUES (?, ?) ON CONFLICT DO NOTHING", (_number(value), number))

    def candidates(self, one: Paper) -> Sequence[CatalogueRecord]:
        """Return the works that share an identifier or the slug with a paper; of a crowd, one more than is taken."""
        found: dict[int, str] = {}
        run = self._connection.execute
        with self._guarded():
            for value in one.identifiers:
                text = "SELECT r.id, r.told FROM identifier i JOIN record r ON r.id = i.record WHERE i.value = ?"
                found.update(run(f"{text} LIMIT {CROWD + 1}", (_number(value),)))
            if one.slug:
                text = f"SELECT id, told FROM record WHERE slug = ? LIMIT {CROWD + 1}"
                found.update(run(text, (_number(one.slug),)))
        return [_record(told) for told in found.values()]


def read_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file, plain or gzip; of one that is too long, pieces that are no JSON."""
    try:
        with path.open("rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
        with _open_packed(path) if packed else path.open("rb") as file:
            while line := file.readline(_LONGEST):
                yield line
    except (OSError, EOFError, zlib.error, IsalError) as error:  # type: ignore[misc]
        raise UsageError(f"{path} cannot be read: {error}") from None


def _number(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "big", signed=True)


def _record(told: str) -> CatalogueRecord:
    name, title, authors, year, journal, kind, identifiers = json.loads(told)
    return CatalogueRecord(name, title, tuple(authors), year, journal, kind, tuple(identifiers))
