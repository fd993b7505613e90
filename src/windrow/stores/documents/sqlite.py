"""Documents in one SQLite file: a table for each database, an index for each view, full text where it is wanted."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from windrow.digest import digest
from windrow.stores.documents.contract import EVERYTHING, DocumentDatabase, DocumentView, Span, Stored, check_name
from windrow.stores.sqlite_file import store_errors, transaction

_CHUNK = 400


class SqliteDocuments:
    """`windrow.stores.documents.contract.DocumentStore` in a file."""

    def __init__(self, path: Path, databases: Sequence[DocumentDatabase]) -> None:
        """Open the file, making its tables."""
        self.path = path
        self._databases = {check_name(one.name): one for one in databases}
        path.parent.mkdir(parents=True, exist_ok=True)
        with self._guarded():
            self._link = sqlite3.connect(path, isolation_level=None, timeout=30)
            self._link.execute("PRAGMA journal_mode = WAL").fetchall()
            self._link.execute("PRAGMA synchronous = FULL")
            self._link.execute("PRAGMA secure_delete = ON").fetchall()  # nothing that is removed stays in free pages
            self._link.executescript("CREATE TABLE IF NOT EXISTS windrow_meta (name TEXT PRIMARY KEY, value INTEGER);")
            for one in databases:
                self._link.executescript(_schema(one))

    def _guarded(self) -> AbstractContextManager[None]:
        return store_errors(self.path)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._guarded(), transaction(self._link):
            yield

    def checkpoint(self) -> int:
        """Return the number that was last written with documents, 0 at first."""
        with self._guarded():
            found = self._link.execute("SELECT value FROM windrow_meta WHERE name = 'checkpoint'").fetchone()
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
            for one in documents:
                fresh += self._put(told, one)
            if checkpoint is not None:
                self._link.execute(
                    "INSERT INTO windrow_meta VALUES ('checkpoint', ?)"
                    " ON CONFLICT DO UPDATE SET value = max(value, excluded.value)",
                    (checkpoint,),
                )
        return fresh

    def _put(self, database: DocumentDatabase, document: Mapping[str, Any]) -> bool:
        run, table = self._link.execute, database.name
        body, name, once = dict(document), str(document["_id"]), ""
        if database.once and isinstance(text := body.get(database.once), str):
            body[database.once] = None  # its place among the keys
            content = text.encode("utf-8", "surrogatepass")
            once = digest(content)
            run(f'INSERT INTO "{table}_text" VALUES (?, ?) ON CONFLICT DO NOTHING', (once, zlib.compress(content)))
        spelled = json.dumps(body, ensure_ascii=False)
        before = run(f'SELECT rowid, once FROM "{table}" WHERE id = ?', (name,)).fetchone()
        if before:
            run(f'UPDATE "{table}" SET body = ?, once = ? WHERE rowid = ?', (spelled, once, before[0]))
            row = before[0]
            self._drop_text(database, before[1])
        else:
            row = run(f'INSERT INTO "{table}" (id, body, once) VALUES (?, ?, ?)', (name, spelled, once)).lastrowid
        if database.texts:
            run(f'DELETE FROM "{table}_search" WHERE rowid = ?', (row,))
            searched = " ".join(str(body[field]) for field in database.texts if body.get(field))
            run(f'INSERT INTO "{table}_search" (rowid, text) VALUES (?, ?)', (row, searched))
        return before is None

    def _remove(self, database: DocumentDatabase, name: str) -> None:
        run, table = self._link.execute, database.name
        before = run(f'DELETE FROM "{table}" WHERE id = ? RETURNING rowid, once', (name,)).fetchone()
        if before is None:
            return
        if database.texts:
            run(f'DELETE FROM "{table}_search" WHERE rowid = ?', (before[0],))
        self._drop_text(database, before[1])

    def _drop_text(self, database: DocumentDatabase, once: str) -> None:
        """Remove a long text that no document has any more."""
        if once:
            self._link.execute(
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
            for one in self._rows(database, f"WHERE d.id IN ({marks})", part):
                found[one["_id"]] = one
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

    def search(self, database: str, text: str, limit: int = 100) -> Iterator[Stored]:
        """Yield documents that have all the words of a text, the best first; any text will do."""
        words = " ".join(f'"{word.replace(chr(34), "")}"' for word in text.split() if word.strip('"'))
        if not words:
            return iter(())
        rest = f"""
            JOIN (SELECT rowid AS row, rank AS score FROM "{database}_search" WHERE "{database}_search" MATCH ?
                  ORDER BY rank LIMIT ?) s ON s.row = d.rowid ORDER BY s.score, d.id
        """
        return self._rows(database, rest, [words, limit])

    def _rows(self, database: str, rest: str, values: Sequence[Any]) -> Iterator[Stored]:
        once = self._databases[database].once
        joined, column = "", "NULL"
        if once:
            joined, column = f'LEFT JOIN "{database}_text" t ON t.digest = d.once', "t.content"
        with self._guarded():
            for body, content in self._link.execute(
                f'SELECT d.body, {column} FROM "{database}" d {joined} {rest}', values
            ):
                made: Stored = json.loads(body)
                if content is not None:
                    made[once] = zlib.decompress(content).decode("utf-8", "surrogatepass")
                yield made

    def count(self, database: str) -> int:
        """Count the documents of a database."""
        with self._guarded():
            return int(self._link.execute(f'SELECT count(*) FROM "{database}"').fetchone()[0])

    def values(self, database: str, field: str) -> list[str]:
        """Return what documents say in a field that is the first of a view, each once, sorted."""
        with self._guarded():
            column = f"json_extract(body, '$.{field}')"
            rows = self._link.execute(f'SELECT DISTINCT {column} FROM "{database}" ORDER BY 1')
            return [str(one) for (one,) in rows if one is not None]

    def faults(self) -> Iterator[str]:
        """Yield in a sentence each where the file is broken."""
        with self._guarded():
            for (line,) in self._link.execute("PRAGMA integrity_check"):
                if line != "ok":
                    yield str(line)

    def ids(self, database: str) -> Iterator[str]:
        """Yield the ids of all documents of a database."""
        with self._guarded():
            for (name,) in self._link.execute(f'SELECT id FROM "{database}"').fetchall():
                yield name

    def rewind(self) -> None:
        """Begin at checkpoint 0 again; the documents stay."""
        with self._writing():
            self._link.execute("DELETE FROM windrow_meta")

    def close(self) -> None:
        """Close the file."""
        self._link.close()


def _field(name: str) -> str:
    return f"json_extract(d.body, '$.{name}')"


def _without(view: DocumentView) -> str:
    """Return the condition of a view that leaves documents out; the names and values are our own declarations."""
    assert view.without is not None
    field, value = view.without
    return f"json_extract(d.body, '$.{field}') <> '{value}'"


def _schema(database: DocumentDatabase) -> str:
    name = database.name
    parts = [
        f'CREATE TABLE IF NOT EXISTS "{name}" (id TEXT NOT NULL UNIQUE, body TEXT NOT NULL, once TEXT NOT NULL)',
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
        parts.append(f"CREATE VIRTUAL TABLE IF NOT EXISTS \"{name}_search\" USING fts5(text, tokenize = '{tokens}')")
    return ";\n".join(parts) + ";"
