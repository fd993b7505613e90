"""A store of JSON documents with sorted views in an SQLite file."""

from __future__ import annotations

import json
import re
import secrets
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from windrow.digest import digest
from windrow.errors import StoreError
from windrow.formats.text import dump_json
from windrow.stores.documents import (
    FIRST_THOUSAND,
    DatabaseState,
    DocumentDatabase,
    DocumentView,
    StoredDocument,
    ViewRange,
    check_name,
)
from windrow.stores.sqlite import SqliteStore, close_on_failure, open_database, store_errors, transaction

TABLES_VERSION = 2
"""The version of the tables; tables of another version are dropped, since their documents can be made again."""

_CHUNK_SIZE = 400  # ids per query
_ROWS_PER_SECOND = 10_000  # row numbers reserved for the documents of one second
_NO_DIGIT = re.compile("[^0-9]")


def _range_conditions(view: DocumentView, bounds: ViewRange) -> tuple[str, list[Any]]:
    columns = [_json_field(field) for field in view.by]
    conditions = [f"{column} = ?" for column in columns[: len(bounds.first)]]
    parameters: list[Any] = [*bounds.first]
    if len(bounds.first) < len(columns):
        # A value that is not a text is left out, as in CouchDB's views.
        ranged = columns[len(bounds.first)]
        conditions.append(f"{ranged} >= ?")
        parameters.append(bounds.start)
        if bounds.end:
            conditions.append(f"{ranged} < ?")
            parameters.append(bounds.end)
    if view.without:
        conditions.append(_exclusion(view))
    return " AND ".join(conditions), parameters


class SqliteDocuments(SqliteStore):
    """`windrow.stores.documents.DocumentStore` in an SQLite file, with up to three tables for each database."""

    def __init__(self, path: Path, databases: Sequence[DocumentDatabase]) -> None:
        self._databases = {check_name(database.name): database for database in databases}
        if path.is_file():
            _refuse_other_tables(path)
        super().__init__(path)
        with close_on_failure(self.close), self._guarded():
            if self._read_only:
                self._refuse_old_tables()
                return
            self._connection.execute("PRAGMA secure_delete = ON").fetchall()  # removed texts are overwritten
            self._drop_old_tables()
            self._connection.executescript(
                "CREATE TABLE IF NOT EXISTS windrow_meta (name TEXT PRIMARY KEY, value INTEGER)"
            )
            for database in databases:
                if not self._has_table(database.name):  # it is new, or another program dropped it
                    self._connection.execute(
                        "DELETE FROM windrow_meta WHERE name = ?", (_checkpoint_name(database.name),)
                    )
                self._connection.executescript(_schema(database))

    def _refuse_old_tables(self) -> None:
        if self._version() != TABLES_VERSION:
            message = f"{self.path} has the tables of an earlier windrow; the next run writes its documents again"
            raise StoreError(message, hint="windrow run")

    def _drop_old_tables(self) -> None:
        """Drop tables of another version, and the checkpoints, so that all documents are written again."""
        if self._version() == TABLES_VERSION:
            return
        with transaction(self._connection):
            if self._version() == TABLES_VERSION:
                return  # another process did it
            tables = [f"{database}{suffix}" for database in self._databases for suffix in _TABLE_SUFFIXES]
            for name in ("windrow_meta", *tables):
                self._connection.execute(f'DROP TABLE IF EXISTS "{name}"')
            self._connection.execute(f"PRAGMA user_version = {TABLES_VERSION}")

    def _version(self) -> int:
        return int(self._connection.execute("PRAGMA user_version").fetchone()[0])

    def _has_table(self, name: str) -> bool:
        query = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?"
        return self._connection.execute(query, (name,)).fetchone() is not None

    def checkpoints(self) -> tuple[int, int]:
        """Return the lowest and the highest checkpoint of the databases; that of a new database is 0."""
        with self._guarded():
            stored = dict(self._connection.execute("SELECT name, value FROM windrow_meta"))
        checkpoints = [int(stored.get(_checkpoint_name(database), 0)) for database in self._databases]
        return min(checkpoints), max(checkpoints)

    def identities(self) -> set[int]:
        """Return the identities that are stored beside the checkpoints."""
        with self._guarded():
            stored = dict(self._connection.execute("SELECT name, value FROM windrow_meta"))
        return {stored[name] for name in map(_identity_name, self._databases) if name in stored}

    def set_checkpoint(self, checkpoint: int, identity: int) -> None:
        """Set the identity of each database, and its checkpoint to `checkpoint`, unless that is higher already."""
        with self._writing():
            self._connection.executemany(
                "INSERT INTO windrow_meta VALUES (?, ?) ON CONFLICT DO UPDATE SET value = max(value, excluded.value)",
                [(_checkpoint_name(database), checkpoint) for database in self._databases],
            )
            self._set_identity(identity)
            marks = [(_mark_name(database), secrets.randbits(62) + 1) for database in self._databases]
            self._connection.executemany("INSERT OR REPLACE INTO windrow_meta VALUES (?, ?)", marks)

    def state(self, database: str) -> DatabaseState:
        """Return the present state of a database; SQLite counts no changes, so its sequence is empty."""
        with self._guarded():
            query = "SELECT value FROM windrow_meta WHERE name = ?"
            mark = self._connection.execute(query, (_mark_name(database),)).fetchone()
        return DatabaseState(int(mark[0]) if mark else 0, self.count(database), "")

    def changed_since(self, database: str, state: DatabaseState | None) -> set[str] | None:
        """Return an empty set if the database still has the state `state`, and otherwise None: any may have changed."""
        return set() if self.state(database) == state else None

    def _set_identity(self, identity: int) -> None:
        rows = [(_identity_name(database), identity) for database in self._databases]
        self._connection.executemany("INSERT OR REPLACE INTO windrow_meta VALUES (?, ?)", rows)

    def write(
        self, database: str, documents: Sequence[Mapping[str, Any]], removed: Iterable[str] = ()
    ) -> Mapping[str, str]:
        """Write documents, which replace documents with the same ids, and remove documents with the ids `removed`.

        Return an empty mapping: all documents are accepted.
        """
        declared = self._databases[database]
        with self._writing():
            for document_id in removed:
                self._remove(declared, document_id)
            for document in _by_row_number(declared, documents):
                self._write_document(declared, document)
        return {}

    def _write_document(self, database: DocumentDatabase, document: Mapping[str, Any]) -> None:
        run, table = self._connection.execute, database.name
        body, document_id, text_digest = dict(document), str(document["_id"]), ""
        if database.once and isinstance(text := body.get(database.once), str):
            body[database.once] = None  # keeps its position among the keys
            content = text.encode("utf-8", "surrogatepass")
            text_digest = digest(content)
            run(
                f'INSERT INTO "{table}_text" VALUES (?, ?) ON CONFLICT DO NOTHING',
                (text_digest, zlib.compress(content)),
            )
        json_text = dump_json(body)
        existing = run(f'SELECT rowid, once FROM "{table}" WHERE id = ?', (document_id,)).fetchone()
        old_row, old_text_digest = existing or (None, "")
        row = self._row_number(database, document, old_row)
        if existing:
            columns = (row, json_text, text_digest, old_row)
            run(f'UPDATE "{table}" SET rowid = ?, body = ?, once = ? WHERE rowid = ?', columns)
            self._drop_text(database, old_text_digest)
        else:
            columns = (row, document_id, json_text, text_digest)
            run(f'INSERT INTO "{table}" (rowid, id, body, once) VALUES (?, ?, ?, ?)', columns)
        if database.texts:
            if existing:
                run(f'DELETE FROM "{table}_search" WHERE rowid = ?', (old_row,))
            texts = [str(body.get(field) or "") for field in database.texts]
            names, placeholders = ",".join(("rowid", *database.texts)), ",".join("?" * (len(texts) + 1))
            run(f'INSERT INTO "{table}_search" ({names}) VALUES ({placeholders})', (row, *texts))

    def _row_number(self, database: DocumentDatabase, document: Mapping[str, Any], current: int | None) -> int | None:
        """Return a row number for a document, or None if SQLite may choose it. `current` is the present row number.

        Documents with later times have higher numbers, so that FTS5 can return the newest matches without reading all.
        """
        if not database.newest:
            return current
        base = _first_row(str(document.get(database.newest) or ""))
        if current is not None and base <= current < base + _ROWS_PER_SECOND:
            return current
        while True:
            query = f'SELECT max(rowid) FROM "{database.name}" WHERE rowid >= ? AND rowid < ?'
            last_row = self._connection.execute(query, (base, base + _ROWS_PER_SECOND)).fetchone()[0]
            if last_row is None or last_row < base + _ROWS_PER_SECOND - 1:
                return base if last_row is None else int(last_row) + 1
            base += _ROWS_PER_SECOND  # the last row of this second is taken: use the next second

    def _remove(self, database: DocumentDatabase, document_id: str) -> None:
        run, table = self._connection.execute, database.name
        deleted = run(f'DELETE FROM "{table}" WHERE id = ? RETURNING rowid, once', (document_id,)).fetchone()
        if deleted is None:
            return
        row, text_digest = deleted
        if database.texts:
            run(f'DELETE FROM "{table}_search" WHERE rowid = ?', (row,))
        self._drop_text(database, text_digest)

    def _drop_text(self, database: DocumentDatabase, text_digest: str) -> None:
        if text_digest:
            self._connection.execute(
                f'DELETE FROM "{database.name}_text" WHERE digest = ?1'
                f' AND NOT EXISTS (SELECT 1 FROM "{database.name}" WHERE once = ?1)',
                (text_digest,),
            )

    def get(self, database: str, ids: Sequence[str]) -> dict[str, StoredDocument]:
        """Return the existing documents with these ids, by id."""
        documents: dict[str, StoredDocument] = {}
        for start in range(0, len(ids), _CHUNK_SIZE):
            chunk = ids[start : start + _CHUNK_SIZE]
            placeholders = ",".join("?" * len(chunk))
            for document in self._read_documents(database, f"WHERE d.id IN ({placeholders})", chunk):
                documents[document["_id"]] = document
        return documents

    def view(self, database: str, name: str, bounds: ViewRange = FIRST_THOUSAND) -> Iterator[StoredDocument]:
        """Yield the documents in the range `bounds` of the view `name`, in the order that `bounds` states."""
        declared = self._databases[database].view(name)
        columns = [_json_field(field) for field in declared.by]
        conditions, parameters = _range_conditions(declared, bounds)
        direction = "DESC" if bounds.descending else "ASC"
        order = ", ".join(
            f"{column} {direction}" for column in [*columns[len(bounds.first) :], "d.id"]
        )  # the leading columns are equal
        clauses = f"WHERE {conditions} ORDER BY {order} LIMIT ? OFFSET ?"
        return self._read_documents(database, clauses, [*parameters, bounds.limit, bounds.skip])

    def count_range(self, database: str, name: str, bounds: ViewRange = FIRST_THOUSAND) -> int:
        """Count the documents in the range `bounds` of a view; `bounds.limit` and `bounds.skip` are ignored."""
        conditions, parameters = _range_conditions(self._databases[database].view(name), bounds)
        with self._guarded():
            query = f'SELECT count(*) FROM "{database}" d WHERE {conditions}'
            return int(self._connection.execute(query, parameters).fetchone()[0])

    def search(
        self, database: str, text: str, view: str = "", bounds: ViewRange = FIRST_THOUSAND
    ) -> Iterator[StoredDocument]:
        """Yield documents that have all words of a text, in the order that `DocumentDatabase` describes.

        If `bounds.first` is not empty, the first field of the view `view` must be `bounds.first[0]`. `bounds.start` and
        `bounds.end` limit the time in the field `newest`. Any text is valid; a text without words finds nothing.
        Matches are not ranked by the rarity of words, since every document with one of the words would have to be read.
        """
        declared = self._databases[database]
        text = text.replace("\0", " ")  # it would end the query within a quoted word
        words = " ".join(f'"{word.replace(chr(34), "")}"' for word in text.split() if word.strip('"'))
        if not words:
            return
        conditions = [f'"{database}_search" MATCH ?']
        parameters: list[Any] = []
        if bounds.first:
            conditions.append(f"{_json_field(declared.view(view).by[0])} = ?")
            parameters.append(bounds.first[0])
        for bound, sign in ((bounds.start, ">="), (bounds.end, "<")):
            if bound:
                conditions.append(f"s.rowid {sign} ?")
                parameters.append(_first_row(bound))
        # CROSS JOIN makes SQLite look up the words first, so that matches come in the order of rows.
        clauses = f"""
            FROM "{database}_search" s CROSS JOIN "{database}" d ON d.rowid = s.rowid
            WHERE {" AND ".join(conditions)} ORDER BY s.rowid DESC LIMIT ?
        """
        row_count = bounds.skip + bounds.limit
        with self._guarded():
            rows = self._connection.execute(
                f"SELECT d.rowid {clauses}", (f"{{{declared.texts[0]}}} : ({words})", *parameters, row_count)
            )
            row_ids = dict.fromkeys(row for (row,) in rows)
            if len(row_ids) < row_count:
                rows = self._connection.execute(
                    f"SELECT d.rowid {clauses}", (f"{words}", *parameters, row_count + len(row_ids))
                )
                row_ids |= dict.fromkeys(row for (row,) in rows)
        for row in [*row_ids][bounds.skip : row_count]:
            yield from self._read_documents(database, "WHERE d.rowid = ?", [row])

    def _read_documents(self, database: str, clauses: str, parameters: Sequence[Any]) -> Iterator[StoredDocument]:
        long_field = self._databases[database].once
        join, column = "", "NULL"
        if long_field:
            join, column = f'LEFT JOIN "{database}_text" t ON t.digest = d.once', "t.content"
        with self._guarded():
            for body, content in self._connection.execute(
                f'SELECT d.body, {column} FROM "{database}" d {join} {clauses}', parameters
            ):
                document: StoredDocument = json.loads(body)
                if content is not None:
                    document[long_field] = zlib.decompress(content).decode("utf-8", "surrogatepass")
                yield document

    def count(self, database: str) -> int:
        """Count the documents of a database."""
        with self._guarded():
            return int(self._connection.execute(f'SELECT count(*) FROM "{database}"').fetchone()[0])

    def faults(self) -> Iterator[str]:
        """Yield a message for each fault that SQLite finds in the file."""
        return self._integrity_faults()

    def ids(self, database: str) -> Iterator[str]:
        """Yield the ids of all documents of a database."""
        with self._guarded():
            for (document_id,) in self._connection.execute(f'SELECT id FROM "{database}"').fetchall():
                yield document_id

    def rewind(self, identity: int) -> None:
        """Set the checkpoint of each database to 0 and its identity to `identity`, and keep the documents."""
        with self._writing():
            self._connection.execute("DELETE FROM windrow_meta")
            self._set_identity(identity)


def _refuse_other_tables(path: Path) -> None:
    """Raise StoreError for a file that has tables, but not those of documents. To open it for writing changes it."""
    query = "SELECT count(*), count(*) FILTER (WHERE name = 'windrow_meta') FROM sqlite_schema WHERE type = 'table'"
    with store_errors(path), closing(open_database(path, read_only=True)) as connection:
        tables, own_tables = connection.execute(query).fetchone()
    if tables and not own_tables:
        message = f"{path} is not a file of documents, and was not changed: it has other tables"
        raise StoreError(message, hint="give the documents a file of their own, such as by events.documents")


def _checkpoint_name(database: str) -> str:
    return f"checkpoint of {database}"


def _identity_name(database: str) -> str:
    return f"records of {database}"


def _mark_name(database: str) -> str:
    return f"mark of {database}"


def _json_field(name: str) -> str:
    return f"json_extract(d.body, '$.{name}')"


def _exclusion(view: DocumentView) -> str:
    """Return the SQL condition for `view.without`; the field and value in it come from our own code."""
    assert view.without is not None
    field, excluded = view.without
    return f"json_extract(d.body, '$.{field}') IS NOT '{excluded}'"


_TABLE_SUFFIXES = ("", "_text", "_search")  # suffixes of the names of a database's tables


def _by_row_number(database: DocumentDatabase, documents: Iterable[Mapping[str, Any]]) -> Iterable[Mapping[str, Any]]:
    """Return the last document with each id, sorted by the row numbers that the documents will have.

    FTS5 flushes its buffer whenever a row number is lower than the one before it.
    """
    documents_by_id = {str(document["_id"]): document for document in documents}
    if not database.newest:
        return documents_by_id.values()
    return sorted(documents_by_id.values(), key=lambda document: str(document.get(database.newest) or ""))


def _first_row(time: str) -> int:
    """Return the lowest row number for documents with this time, to the second; missing digits count as zeros.

    >>> _first_row("2026-10") < _first_row("2026-10-05T12:30:00Z") < _first_row("2026-10-05T12:30:01Z")
    True
    """
    return int(_NO_DIGIT.sub("", time)[:14].ljust(14, "0")) * _ROWS_PER_SECOND


def _schema(database: DocumentDatabase) -> str:
    name = database.name
    columns = "number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, body TEXT NOT NULL, once TEXT NOT NULL"
    statements = [
        f'CREATE TABLE IF NOT EXISTS "{name}" ({columns})',
        *(
            f'CREATE INDEX IF NOT EXISTS "{name}_{view.name}" ON "{name}" ('
            + ", ".join(f"json_extract(body, '$.{field}')" for field in view.by)
            + ", id)"
            for view in database.views
        ),
    ]
    if database.once:
        statements.append(f'CREATE TABLE IF NOT EXISTS "{name}_text" (digest TEXT PRIMARY KEY, content BLOB NOT NULL)')
        statements.append(f'CREATE INDEX IF NOT EXISTS "{name}_once" ON "{name}" (once)')
    if database.texts:
        tokens = "unicode61 remove_diacritics 2"
        fields = ", ".join(database.texts)
        statements.append(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS \"{name}_search\" USING fts5({fields}, tokenize = '{tokens}')"
        )
    return ";\n".join(statements) + ";"
