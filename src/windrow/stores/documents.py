"""Stores of JSON documents by `_id`, with views that sort them; in one SQLite file, a table for each database."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from windrow.digest import digest
from windrow.errors import ConfigError
from windrow.stores.sqlite import SqliteStore, close_on_failure, transaction

Stored = dict[str, Any]
"""A document, with its `_id`."""

_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")


class DocumentView(NamedTuple):
    """Documents sorted by some fields, which must be texts; those whose field says `without` are left out of it."""

    name: str
    by: tuple[str, ...]
    without: tuple[str, str] | None = None


class DocumentDatabase(NamedTuple):
    """A database: `once` names a field whose long texts are stored once each, `texts` those that are searched.

    What has all words in the first of `texts` comes before what does not, and what has the later time in the field
    `newest` before what has an earlier one.
    """

    name: str
    views: tuple[DocumentView, ...] = ()
    once: str = ""
    texts: tuple[str, ...] = ()
    newest: str = ""

    def view(self, name: str) -> DocumentView:
        """Return a view by its name."""
        return next(one for one in self.views if one.name == name)


class Span(NamedTuple):
    """Which documents of a view: with these first fields, from `start` on and before `end` by the one after them."""

    first: tuple[str, ...] = ()
    start: str = ""
    end: str = ""
    descending: bool = False
    limit: int = 1000
    skip: int = 0


EVERYTHING = Span()
"""The first thousand documents of a view."""


class DocumentStore(Protocol):
    """Databases of documents. A write is repeated without harm: the same documents make the same database."""

    def checkpoint(self) -> int:
        """Return the number that was last written with documents, 0 at first."""
        ...

    def write(
        self, database: str, documents: Sequence[Mapping[str, Any]], removed: Iterable[str] = (), *,
        checkpoint: int | None = None,
    ) -> int:  # fmt: skip
        """Put documents, whatever was there under their ids, and remove others; return how many are new."""
        ...

    def get(self, database: str, ids: Sequence[str]) -> dict[str, Stored]:
        """Return those of the documents that there are, by id."""
        ...

    def view(self, database: str, name: str, span: Span = EVERYTHING) -> Iterator[Stored]:
        """Yield documents in the order of a view."""
        ...

    def count(self, database: str) -> int:
        """Count the documents of a database, those of its design apart."""
        ...

    def ids(self, database: str) -> Iterator[str]:
        """Yield the ids of all documents of a database."""
        ...

    def rewind(self) -> None:
        """Begin at checkpoint 0 again; the documents stay."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


def check_name(name: str) -> str:
    """Return a name that a database may have in every store."""
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{name!r} is no name of a database: small letters, digits and _, a letter first")
    return name


VERSION = 2
"""Of the tables; documents in those of another version are given up, since they can be made anew."""

_CHUNK = 400
_SAME_TIME = 10_000  # row numbers for the documents of one second
_NO_DIGIT = re.compile("[^0-9]")


class SqliteDocuments(SqliteStore):
    """`windrow.stores.documents.DocumentStore` in a file."""

    def __init__(self, path: Path, databases: Sequence[DocumentDatabase]) -> None:
        """Open the file, making its tables."""
        self._databases = {check_name(database.name): database for database in databases}
        super().__init__(path)
        with close_on_failure(self.close), self._guarded():
            self._connection.execute("PRAGMA secure_delete = ON").fetchall()  # nothing stays in free pages
            self._begin_anew()
            self._connection.executescript(
                "CREATE TABLE IF NOT EXISTS windrow_meta (name TEXT PRIMARY KEY, value INTEGER)"
            )
            for database in databases:
                self._connection.executescript(_schema(database))

    def _begin_anew(self) -> None:
        """Give up tables of another version: with its checkpoint gone, whoever fills the store begins at 0."""
        if self._version() == VERSION:
            return
        with transaction(self._connection):
            if self._version() == VERSION:
                return  # another process was faster
            for name in ("windrow_meta", *(f"{database}{part}" for database in self._databases for part in _TABLES)):
                self._connection.execute(f'DROP TABLE IF EXISTS "{name}"')
            self._connection.execute(f"PRAGMA user_version = {VERSION}")

    def _version(self) -> int:
        return int(self._connection.execute("PRAGMA user_version").fetchone()[0])

    def checkpoint(self) -> int:
        """Return the number that was last written with documents, 0 at first."""
        with self._guarded():
            found = self._connection.execute("SELECT value FROM windrow_meta WHERE name = 'checkpoint'").fetchone()
        return int(found[0]) if found else 0

    def write(
        self, database: str, documents: Sequence[Mapping[str, Any]], removed: Iterable[str] = (), *,
        checkpoint: int | None = None,
    ) -> int:  # fmt: skip
        """Put documents, whatever was there under their ids, and remove others; return how many are new."""
        told, fresh = self._databases[database], 0
        with self._writing():
            for name in removed:
                self._remove(told, name)
            for one in _in_time(told, documents):
                fresh += self._put(told, one)
            if checkpoint is not None:
                self._connection.execute(
                    "INSERT INTO windrow_meta VALUES ('checkpoint', ?)"
                    " ON CONFLICT DO UPDATE SET value = max(value, excluded.value)",
                    (checkpoint,),
                )
        return fresh

    def _put(self, database: DocumentDatabase, document: Mapping[str, Any]) -> bool:
        run, table = self._connection.execute, database.name
        body, name, once = dict(document), str(document["_id"]), ""
        if database.once and isinstance(text := body.get(database.once), str):
            body[database.once] = None  # its place among the keys
            content = text.encode("utf-8", "surrogatepass")
            once = digest(content)
            run(f'INSERT INTO "{table}_text" VALUES (?, ?) ON CONFLICT DO NOTHING', (once, zlib.compress(content)))
        spelled = json.dumps(body, ensure_ascii=False)
        before = run(f'SELECT rowid, once FROM "{table}" WHERE id = ?', (name,)).fetchone()
        row = self._row(database, document, before[0] if before else None)
        if before:
            run(f'UPDATE "{table}" SET rowid = ?, body = ?, once = ? WHERE rowid = ?', (row, spelled, once, before[0]))
            self._drop_text(database, before[1])
        else:
            run(f'INSERT INTO "{table}" (rowid, id, body, once) VALUES (?, ?, ?, ?)', (row, name, spelled, once))
        if database.texts:
            if before:
                run(f'DELETE FROM "{table}_search" WHERE rowid = ?', (before[0],))
            searched = [str(body.get(field) or "") for field in database.texts]
            names, marks = ",".join(("rowid", *database.texts)), ",".join("?" * (len(searched) + 1))
            run(f'INSERT INTO "{table}_search" ({names}) VALUES ({marks})', (row, *searched))
        return before is None

    def _row(self, database: DocumentDatabase, document: Mapping[str, Any], before: int | None) -> int | None:
        """Return a document's row number: documents are numbered in the order of time, so that the newest come first.

        FTS5 gives what it finds in the order of rows for nothing, while any other order needs all that it finds.
        """
        if not database.newest:
            return before
        base = _first_row(str(document.get(database.newest) or ""))
        if before is not None and base <= before < base + _SAME_TIME:
            return before
        while True:
            text = f'SELECT max(rowid) FROM "{database.name}" WHERE rowid >= ? AND rowid < ?'
            last = self._connection.execute(text, (base, base + _SAME_TIME)).fetchone()[0]
            if last is None or last < base + _SAME_TIME - 1:
                return base if last is None else int(last) + 1
            base += _SAME_TIME  # so many in one second: among those of the next

    def _remove(self, database: DocumentDatabase, name: str) -> None:
        run, table = self._connection.execute, database.name
        before = run(f'DELETE FROM "{table}" WHERE id = ? RETURNING rowid, once', (name,)).fetchone()
        if before is None:
            return
        if database.texts:
            run(f'DELETE FROM "{table}_search" WHERE rowid = ?', (before[0],))
        self._drop_text(database, before[1])

    def _drop_text(self, database: DocumentDatabase, once: str) -> None:
        """Remove a long text that no document has any more."""
        if once:
            self._connection.execute(
                f'DELETE FROM "{database.name}_text" WHERE digest = ?1'
                f' AND NOT EXISTS (SELECT 1 FROM "{database.name}" WHERE once = ?1)',
                (once,),
            )

    def get(self, database: str, ids: Sequence[str]) -> dict[str, Stored]:
        """Return those of the documents that there are, by id."""
        found: dict[str, Stored] = {}
        for start in range(0, len(ids), _CHUNK):
            part = ids[start : start + _CHUNK]
            marks = ",".join("?" * len(part))
            for row in self._rows(database, f"WHERE d.id IN ({marks})", part):
                found[row["_id"]] = row
        return found

    def view(self, database: str, name: str, span: Span = EVERYTHING) -> Iterator[Stored]:
        """Yield documents in the order of a view."""
        told = self._databases[database].view(name)
        columns = [_field(one) for one in told.by]
        where = [f"{column} = ?" for column in columns[: len(span.first)]]
        values: list[Any] = [*span.first]
        if len(span.first) < len(columns):
            # A value that is no text has no place in the order: it is left out, as CouchDB's views leave out null.
            ranged = columns[len(span.first)]
            where.append(f"{ranged} >= ?")
            values.append(span.start)
            if span.end:
                where.append(f"{ranged} < ?")
                values.append(span.end)
        if told.without:
            where.append(_without(told))
        way = "DESC" if span.descending else "ASC"
        order = ", ".join(f"{column} {way}" for column in [*columns[len(span.first) :], "d.id"])  # by what differs
        rest = f"WHERE {' AND '.join(where)} ORDER BY {order} LIMIT ? OFFSET ?"
        return self._rows(database, rest, [*values, span.limit, span.skip])

    def search(self, database: str, text: str, view: str = "", span: Span = EVERYTHING) -> Iterator[Stored]:
        """Yield documents that have all the words of a text and are in a span of a view; any text will do.

        First those that have all words in the first of the fields that are searched, then the others, and each time the
        newest first. Ranking by how rare words are would look at every document that has one of them.
        """
        told = self._databases[database]
        words = " ".join(f'"{word.replace(chr(34), "")}"' for word in text.split() if word.strip('"'))
        if not words:
            return
        where = [f'"{database}_search" MATCH ?']
        values: list[Any] = []
        if span.first:
            where.append(f"{_field(told.view(view).by[0])} = ?")
            values.append(span.first[0])
        for bound, sign in ((span.start, ">="), (span.end, "<")):
            if bound:
                where.append(f"s.rowid {sign} ?")
                values.append(_first_row(bound))
        # CROSS JOIN: the words come first, and what is found in the order of rows.
        rest = f"""
            FROM "{database}_search" s CROSS JOIN "{database}" d ON d.rowid = s.rowid
            WHERE {" AND ".join(where)} ORDER BY s.rowid DESC LIMIT ?
        """
        wanted = span.skip + span.limit
        with self._guarded():
            rows = self._connection.execute(
                f"SELECT d.rowid {rest}", (f"{{{told.texts[0]}}} : ({words})", *values, wanted)
            )
            found = dict.fromkeys(row for (row,) in rows)
            if len(found) < wanted:
                rows = self._connection.execute(f"SELECT d.rowid {rest}", (f"{words}", *values, wanted + len(found)))
                found |= dict.fromkeys(row for (row,) in rows)
        for row in [*found][span.skip : wanted]:
            yield from self._rows(database, "WHERE d.rowid = ?", [row])

    def _rows(self, database: str, rest: str, values: Sequence[Any]) -> Iterator[Stored]:
        once = self._databases[database].once
        joined, column = "", "NULL"
        if once:
            joined, column = f'LEFT JOIN "{database}_text" t ON t.digest = d.once', "t.content"
        with self._guarded():
            for body, content in self._connection.execute(
                f'SELECT d.body, {column} FROM "{database}" d {joined} {rest}', values
            ):
                made: Stored = json.loads(body)
                if content is not None:
                    made[once] = zlib.decompress(content).decode("utf-8", "surrogatepass")
                yield made

    def count(self, database: str) -> int:
        """Count the documents of a database."""
        with self._guarded():
            return int(self._connection.execute(f'SELECT count(*) FROM "{database}"').fetchone()[0])

    def faults(self) -> Iterator[str]:
        """Yield in a sentence each where the file is broken."""
        with self._guarded():
            for (line,) in self._connection.execute("PRAGMA integrity_check"):
                if line != "ok":
                    yield str(line)

    def ids(self, database: str) -> Iterator[str]:
        """Yield the ids of all documents of a database."""
        with self._guarded():
            for (name,) in self._connection.execute(f'SELECT id FROM "{database}"').fetchall():
                yield name

    def rewind(self) -> None:
        """Begin at checkpoint 0 again; the documents stay."""
        with self._writing():
            self._connection.execute("DELETE FROM windrow_meta")


def _field(name: str) -> str:
    return f"json_extract(d.body, '$.{name}')"


def _without(view: DocumentView) -> str:
    """Return the condition of a view that leaves documents out; the names and values are our own declarations."""
    assert view.without is not None
    field, value = view.without
    return f"json_extract(d.body, '$.{field}') <> '{value}'"


_TABLES = ("", "_text", "_search")
"""What the names of a database's tables end in."""


def _in_time(database: DocumentDatabase, documents: Iterable[Mapping[str, Any]]) -> Iterable[Mapping[str, Any]]:
    """Return documents in the order of their row numbers: FTS5 writes out all that it holds at each step back."""
    last = {str(document["_id"]): document for document in documents}
    return (
        sorted(last.values(), key=lambda one: str(one.get(database.newest) or "")) if database.newest else last.values()
    )


def _first_row(time: str) -> int:
    """Return the first row number of the documents of a second; of a part of a time, that of its beginning.

    >>> _first_row("2026-10") < _first_row("2026-10-05T12:30:00Z") < _first_row("2026-10-05T12:30:01Z")
    True
    """
    return int(_NO_DIGIT.sub("", time)[:14].ljust(14, "0")) * _SAME_TIME


def _schema(database: DocumentDatabase) -> str:
    name = database.name
    columns = "number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, body TEXT NOT NULL, once TEXT NOT NULL"
    parts = [
        f'CREATE TABLE IF NOT EXISTS "{name}" ({columns})',
        *(
            f'CREATE INDEX IF NOT EXISTS "{name}_{view.name}" ON "{name}" ('
            + ", ".join(f"json_extract(body, '$.{field}')" for field in view.by)
            + ", id)"
            for view in database.views
        ),
    ]
    if database.once:
        parts.append(f'CREATE TABLE IF NOT EXISTS "{name}_text" (digest TEXT PRIMARY KEY, content BLOB NOT NULL)')
        parts.append(f'CREATE INDEX IF NOT EXISTS "{name}_once" ON "{name}" (once)')
    if database.texts:
        tokens = "unicode61 remove_diacritics 2"
        fields = ", ".join(database.texts)
        parts.append(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS \"{name}_search\" USING fts5({fields}, tokenize = '{tokens}')"
        )
    return ";\n".join(parts) + ";"
