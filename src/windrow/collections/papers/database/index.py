"""The index of the catalogue, an SQLite file, which finds works by identifier and by the same or nearly the same slug.

If several files have a work with the same name, the file that was imported last counts. Names of a user's own records
are known in their file only.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from windrow.collections.papers.catalogue import MAX_AUTHORS, CatalogueRecord, is_shared_name, parse_record
from windrow.collections.papers.matching import MAX_SAME_SLUG, Paper, matched_slug, near_keys
from windrow.collections.papers.work_files import DeletedWork, RawWork
from windrow.errors import StepError, UsageError
from windrow.stores.sqlite import SqliteStore, close_on_failure

_SCHEMA = """
CREATE TABLE IF NOT EXISTS record (
    id INTEGER PRIMARY KEY, name INTEGER NOT NULL, file INTEGER NOT NULL, slug INTEGER, json TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS identifier (value INTEGER NOT NULL, record INTEGER NOT NULL, PRIMARY KEY (value, record))
    STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS file (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL, stamp TEXT NOT NULL, works INTEGER NOT NULL, refused TEXT NOT NULL,
    problem TEXT NOT NULL DEFAULT '', problem_stamp TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE UNIQUE INDEX IF NOT EXISTS record_by_name ON record (name, file);
CREATE INDEX IF NOT EXISTS record_by_file ON record (file);
CREATE INDEX IF NOT EXISTS record_by_slug ON record (slug) WHERE slug IS NOT NULL;
"""
_LINES_PER_TRANSACTION = 20_000
_SHORTENED, _DELETED, _REPEATED = (
    "shortened",
    "deleted",
    "repeated",
)  # keys of numbers other than those of refused records
_SLUG = "slug:"  # before the slug of a further title in a key
_IS_WORK = "json <> ''"  # otherwise the record only says that its file deletes the work of this name
_NEWEST = "NOT EXISTS (SELECT 1 FROM record n WHERE n.name = r.name AND n.file > r.file)"


class CatalogueFile(NamedTuple):
    """A file of the catalogue. `works` is the number of its works; `refused` counts its refused records by reason.

    `shortened` is the number of works with more than MAX_AUTHORS authors. `deleted` is the number of works that the
    file declares as deleted: earlier files may have them. `repeated` is the number of records that a later record in
    the file replaces: one with the same name and other content. `stamp` shows whether the file has changed; it is empty
    if the file was never imported. If the file could not be read, works that were imported earlier are kept, `problem`
    is the reason, and `problem_stamp` is the stamp of the file that failed. `problem_stamp` is empty if the next run
    must try again even if the file has not changed.
    """

    path: str
    stamp: str
    works: int
    refused: Counter[str]
    problem: str = ""
    problem_stamp: str = ""
    shortened: int = 0
    deleted: int = 0
    repeated: int = 0


class CatalogueIndex(SqliteStore):
    """The works of a catalogue, in an SQLite file. A work whose slug is in `stubs` is not found by its title."""

    def __init__(self, path: Path, *, stubs: frozenset[str]) -> None:
        super().__init__(path, _SCHEMA)
        self._stubs = stubs
        with close_on_failure(self.close), self._guarded():
            self._connection.execute("PRAGMA cache_size = -131072")

    def files(self) -> list[CatalogueFile]:
        """Return the files that were imported or could not be read, in the order of their paths."""
        columns = "path, stamp, works, refused, problem, problem_stamp"
        with self._guarded():
            rows = self._connection.execute(
                f"SELECT {columns} FROM file WHERE stamp || problem <> '' ORDER BY path, id"
            )
            return [_read_file(row) for row in rows]

    def version(self) -> str:
        """Return a text that changes when files are imported or removed."""
        with self._guarded():
            rows = self._connection.execute("SELECT id, path, stamp, works FROM file ORDER BY id").fetchall()
        return blake2b(json.dumps(rows).encode(), digest_size=8).hexdigest()

    def count(self) -> int:
        """Return the number of works. A work in several files counts once for each file."""
        with self._guarded():
            return int(self._connection.execute(f"SELECT count(*) FROM record WHERE {_IS_WORK}").fetchone()[0])

    def import_file(
        self, path: str, stamp: str, works: Iterable[RawWork], pulse: Callable[[], bool] = lambda: True
    ) -> CatalogueFile | None:
        """Replace the works of a file by `works`; return the file with its counts or its problem.

        If `pulse` returns False, keep the former works and return None. If `works` raises UsageError, keep the former
        works and record the error as the file's problem. Do the same if `works` raises StepError and there are former
        works; if there are none, count the error as a refused record.
        """
        with self._writing():
            self._remove_files("stamp || problem = ''")  # an import that was stopped
            insert = "INSERT INTO file (path, stamp, works, refused) VALUES (?, '', 0, '{}')"
            file_number = self._connection.execute(insert, (path,)).lastrowid
        assert file_number is not None
        counts = Counter[str]()
        remaining = iter(works)
        try:
            while page := list(islice(remaining, _LINES_PER_TRANSACTION)):
                with self._writing():
                    for work in page:
                        self._import_work(work, file_number, counts)
                if not pulse():
                    return None
        except StepError as error:
            if any(file.path == path and file.works for file in self.files()):
                return self._record_problem(path, file_number, str(error), stamp)
            counts[str(error.reason)] += 1
        except UsageError as error:
            return self._record_problem(path, file_number, str(error), stamp if _is_damaged(error) else "")
        with self._writing():
            run = self._connection.execute
            self._remove_files("path = ? AND id <> ?", path, file_number)
            work_count = run(f"SELECT count(*) FROM record WHERE file = ? AND {_IS_WORK}", (file_number,)).fetchone()[0]
            update = "UPDATE file SET stamp = ?, works = ?, refused = ? WHERE id = ?"
            row = (path, stamp, work_count, json.dumps(counts, sort_keys=True))
            run(update, (*row[1:], file_number))
        return _read_file(row)

    def _record_problem(self, path: str, file_number: int, problem: str, stamp: str) -> CatalogueFile:
        with self._writing():
            run = self._connection.execute
            run("INSERT INTO file (path, stamp, works, refused) SELECT ?1, '', 0, '{}'"
                " WHERE NOT EXISTS (SELECT 1 FROM file WHERE path = ?1 AND id <> ?2)", (path, file_number))  # fmt: skip
            self._remove_files("id = ?", file_number)
            run("UPDATE file SET problem = ?, problem_stamp = ? WHERE path = ?", (problem, stamp, path))
        return next(file for file in self.files() if file.path == path)

    def remove_file(self, path: str) -> None:
        """Remove a file and its works."""
        with self._writing():
            self._remove_files("path = ?", path)

    def _remove_files(self, condition: str, *parameters: str | int) -> None:
        run = self._connection.execute
        numbers = [number for (number,) in run(f"SELECT id FROM file WHERE {condition}", parameters)]
        for number in numbers:
            run("DELETE FROM identifier WHERE record IN (SELECT id FROM record WHERE file = ?)", (number,))
            run("DELETE FROM record WHERE file = ?", (number,))
            run("DELETE FROM file WHERE id = ?", (number,))

    def _import_work(self, work: RawWork, file_number: int, counts: Counter[str]) -> None:
        if isinstance(work, bytes) and not work.strip():
            return
        if isinstance(work, DeletedWork):
            counts[_DELETED] += 1
            self._store_row(work.name, file_number, None, "", ())
            return
        try:
            record = parse_record(work)
        except StepError as error:
            counts[str(error.reason)] += 1
            return
        if len(record.authors) > MAX_AUTHORS:
            counts[_SHORTENED] += 1
            record = record._replace(authors=record.authors[:MAX_AUTHORS])
        if self._store_work(record, file_number):
            counts[_REPEATED] += 1

    def _store_work(self, work: CatalogueRecord, file_number: int) -> bool:
        """Store a work, and return whether it replaces a work of the file with the same name and other content."""
        slug = matched_slug(work.title, self._stubs)
        text = json.dumps(work, ensure_ascii=False, separators=(",", ":"))
        name = work.name or work.identifiers[0]
        if not is_shared_name(name, work):
            name = f"{self._path_of(file_number)}\n{name}"
        former_text = self._store_row(name, file_number, _hash_text(slug) if slug else None, text, self._keys(work))
        return former_text not in {"", text}

    def _store_row(self, name: str, file_number: int, slug_hash: int | None, text: str, keys: Iterable[str]) -> str:
        """Store a work and its keys or, if `text` is empty, its deletion; return the text that it replaces, or ""."""
        former_text = ""
        run, name_hash = self._connection.execute, _hash_text(name)
        stored_row = run("SELECT id, json FROM record WHERE name = ? AND file = ?", (name_hash, file_number)).fetchone()
        if stored_row is None:
            row = (name_hash, file_number, slug_hash, text)
            id_ = run("INSERT INTO record (name, file, slug, json) VALUES (?,?,?,?)", row).lastrowid
        else:
            id_, former_text = stored_row
            for key in self._keys(_parse_work(former_text)) if former_text else ():
                run("DELETE FROM identifier WHERE value = ? AND record = ?", (_hash_text(key), id_))
            run("UPDATE record SET slug = ?, json = ? WHERE id = ?", (slug_hash, text, id_))
        for key in keys:
            run("INSERT INTO identifier VALUES (?, ?) ON CONFLICT DO NOTHING", (_hash_text(key), id_))
        return str(former_text)

    def _path_of(self, file_number: int) -> str:
        (path,) = self._connection.execute("SELECT path FROM file WHERE id = ?", (file_number,)).fetchone()
        return str(path)

    def _keys(self, work: CatalogueRecord) -> list[str]:
        """Return the keys that find a work besides its slug.

        They are its identifiers, and for its first author the `near_keys` of each title, and of further titles the
        slugs, too.
        """
        title_slug, *slugs = [matched_slug(title, self._stubs) for title in (work.title, *work.other_titles)]
        near = [key for slug in (title_slug, *slugs) for key in near_keys(slug, work.authors[:1])]
        return [*work.identifiers, *near, *(f"{_SLUG}{slug}" for slug in slugs if slug)]

    def candidates(self, paper: Paper) -> Sequence[CatalogueRecord]:
        """Return the works that have an identifier or the slug of a paper, at most MAX_SAME_SLUG + 1 for each.

        If none has the slug, return those that have one of the paper's `near_keys` (for its first two authors), too,
        again at most MAX_SAME_SLUG + 1 for each key: the identifier may be that of a work which the paper cites.
        """
        with self._guarded():
            works, same_slug = self._find_works(paper.identifiers), dict[int, str]()
            if paper.slug:
                query = f"SELECT r.id, r.json FROM record r WHERE r.slug = ? AND {_NEWEST} LIMIT {MAX_SAME_SLUG + 1}"
                same_slug = dict(self._connection.execute(query, (_hash_text(paper.slug),)))
                same_slug |= self._find_works([f"{_SLUG}{paper.slug}"])
            works |= same_slug or self._find_works(near_keys(paper.slug, paper.authors[:2]))
        return [_parse_work(text) for text in works.values()]

    def _find_works(self, keys: Iterable[str]) -> dict[int, str]:
        query = f"SELECT r.id, r.json FROM identifier i JOIN record r ON r.id = i.record WHERE {_NEWEST}"
        works: dict[int, str] = {}
        for key in keys:
            works.update(
                self._connection.execute(f"{query} AND i.value = ? LIMIT {MAX_SAME_SLUG + 1}", (_hash_text(key),))
            )
        return works


def _is_damaged(error: UsageError) -> bool:
    """Return whether an error is caused by the file's bytes, so that reading the same bytes again is useless."""
    cause = error.__context__
    return not isinstance(cause, OSError) or isinstance(cause, gzip.BadGzipFile)


def _hash_text(text: str) -> int:
    """Return the hash of a text as a signed 64-bit integer, which takes less space in the index than the text."""
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "big", signed=True)


def _read_file(row: Sequence[Any]) -> CatalogueFile:
    counts = Counter[str](json.loads(row[3]))
    shortened, deleted, repeated = (counts.pop(key, 0) for key in (_SHORTENED, _DELETED, _REPEATED))
    return CatalogueFile(*row)._replace(refused=counts, shortened=shortened, deleted=deleted, repeated=repeated)


def _parse_work(text: str) -> CatalogueRecord:
    name, title, authors, year, journal, kind, identifiers, *further = json.loads(text)  # former rows have no others
    return CatalogueRecord(
        name, title, tuple(authors), year, journal, kind, tuple(identifiers), *map(tuple[str, ...], further)
    )
