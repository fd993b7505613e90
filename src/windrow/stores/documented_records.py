"""A store of records from which documents are written into databases: what those refuse, and their states."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from windrow.contract import TypedColumn
from windrow.stores.documents import DatabaseState
from windrow.stores.late_attempts import LateAttemptStore
from windrow.stores.record_versions import Removal

_SCHEMA = """
CREATE TABLE IF NOT EXISTS refused_document (
    key TEXT NOT NULL, attempt INTEGER NOT NULL, source TEXT NOT NULL, message TEXT NOT NULL, PRIMARY KEY (key, attempt)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS written_database (
    name TEXT PRIMARY KEY, mark INTEGER NOT NULL, count INTEGER NOT NULL, sequence TEXT NOT NULL
) WITHOUT ROWID;
"""
# The few values that may state the removal are found without reading the others: an event has a value for each version.
_REMOVED_VALUES = "CREATE INDEX IF NOT EXISTS value_removed ON value (id) WHERE instr(json, {text});"
_REMOVED = """
SELECT o.source, r.key, v.json FROM value v CROSS JOIN observation o ON o.value = v.id JOIN record r ON r.id = o.record
WHERE instr(v.json, {text}) AND json_extract(v.json, ?1) = ?2 AND NOT EXISTS (
    SELECT 1 FROM observation p WHERE p.record = o.record AND (p.at, p.attempt) > (o.at, o.attempt))
ORDER BY r.key
"""


class RefusedDocument(NamedTuple):
    """A document that a store of documents refused. It is made from the record `key`, or is about requests.

    `attempt` is 0 if the document is made from a record. Otherwise it is the first attempt of the requests, and `key`
    is empty.
    """

    key: str
    attempt: int
    source: str
    message: str


class DocumentedRecords(LateAttemptStore):
    """A store of records from which documents are written into databases."""

    def __init__(self, path: Path, columns: Sequence[TypedColumn] = (), removal: Removal | None = None) -> None:
        """Open the file and create its tables; for `columns` see `RecordStore`.

        `removal` is how a record states that its subject is gone, if any does.
        """
        index = _REMOVED_VALUES.format(text=_quote(removal)) if removal else ""
        super().__init__(path, columns, schema=f"{_SCHEMA}{index}")
        self.removal = removal

    def removed_records(self) -> list[tuple[str, str, Any]]:
        """Return the source, key and value of each record whose latest value states that its subject is gone."""
        if self.removal is None:
            return []
        parameters = (f'$."{self.removal.field}"', self.removal.value)
        with self._guarded():
            rows = self._connection.execute(_REMOVED.format(text=_quote(self.removal)), parameters).fetchall()
        return [(source, key, json.loads(json_text)) for source, key, json_text in rows]

    def refused_documents(self) -> list[RefusedDocument]:
        """Return the documents that were refused when they were last written."""
        query = "SELECT key, attempt, source, message FROM refused_document ORDER BY source, key, attempt"
        with self._guarded():
            return [RefusedDocument(*row) for row in self._connection.execute(query)]

    def replace_refused(self, written: Iterable[tuple[str, int]], refused: Iterable[RefusedDocument]) -> None:
        """Remove the documents `written`, given as (key, attempt), from the refused documents, and add `refused`."""
        refused = [*refused]
        if not refused and not self.refused_documents():
            return
        with self._writing():
            self._connection.executemany("DELETE FROM refused_document WHERE key = ? AND attempt = ?", written)
            self._connection.executemany("INSERT OR REPLACE INTO refused_document VALUES (?, ?, ?, ?)", refused)

    def written_state(self, database: str) -> DatabaseState | None:
        """Return the state that a database of documents had after it was last written, or None if it never was.

        It is in this file, not in the database, since an older copy of the database would have its own older state.
        """
        query = "SELECT mark, count, sequence FROM written_database WHERE name = ?"
        with self._guarded():
            row = self._connection.execute(query, (database,)).fetchone()
        return DatabaseState(*row) if row else None

    def set_written_state(self, database: str, state: DatabaseState) -> None:
        """Record the state that a database of documents has now that it is written."""
        with self._writing():
            self._connection.execute("INSERT OR REPLACE INTO written_database VALUES (?, ?, ?, ?)", (database, *state))

    def forget(self, attempts: Iterable[int]) -> int:
        """Do what `LateAttemptStore.forget` does, and remove refused documents about requests of these attempts."""
        numbers = [*attempts]
        count = super().forget(numbers)
        self.replace_refused((("", number) for number in numbers), ())
        return count


def _quote(removal: Removal) -> str:
    """Return the text in the JSON of a record that states the removal, as an SQL literal, as of an index."""
    text = f'"{removal.field}":"{removal.value}"'.replace("'", "''")
    return f"'{text}'"
