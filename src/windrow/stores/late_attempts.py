"""A store of records that lists late attempts: an attempt is late if its observations changed after it was settled.

It also lists documents that a store of documents refused: those made from records, and those about requests. And it
knows the state of each database of documents after the last writing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from windrow.contract import TypedColumn
from windrow.stores.documents import DatabaseState
from windrow.stores.record_versions import AttemptStatement
from windrow.stores.records import RecordStore
from windrow.stores.sqlite import close_on_failure, create_or_stand_in

# `late_statement` has the key of a record, and an attempt up to the checkpoint whose observation of the record was
# added or deleted. `json` is the value of a deleted observation, or empty if the observation was added or had no value.
_SCHEMA = """
CREATE TABLE IF NOT EXISTS late_statement (
    attempt INTEGER NOT NULL, key TEXT NOT NULL, json TEXT NOT NULL, PRIMARY KEY (attempt, key, json)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS refused_document (
    key TEXT NOT NULL, attempt INTEGER NOT NULL, source TEXT NOT NULL, message TEXT NOT NULL, PRIMARY KEY (key, attempt)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS written_database (
    name TEXT PRIMARY KEY, mark INTEGER NOT NULL, count INTEGER NOT NULL, sequence TEXT NOT NULL
) WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS list_late_statement AFTER INSERT ON observation
WHEN new.attempt <= coalesce((SELECT value FROM meta WHERE name = 'checkpoint'), 0) BEGIN
    INSERT OR IGNORE INTO late_statement SELECT new.attempt, key, '' FROM record WHERE id = new.record;
END;
CREATE TRIGGER IF NOT EXISTS list_deleted_statement AFTER DELETE ON observation
WHEN old.attempt <= coalesce((SELECT value FROM meta WHERE name = 'checkpoint'), 0) BEGIN
    INSERT OR IGNORE INTO late_statement
    SELECT old.attempt, key, coalesce((SELECT json FROM value WHERE id = old.value), '')
    FROM record WHERE id = old.record;
END;
"""
_LATE_STATEMENTS = (
    "SELECT key, json FROM late_statement WHERE attempt IN (SELECT value FROM json_each(?)) ORDER BY key, attempt"
)
_TO_RECOUNT = """
SELECT value FROM json_each(?1) UNION
SELECT (SELECT o.attempt FROM observation o WHERE o.record = r.id
    AND o.attempt NOT IN (SELECT attempt FROM late_statement) ORDER BY o.at, o.attempt LIMIT 1) AS first
FROM late_statement s JOIN record r ON r.key = s.key
WHERE s.attempt IN (SELECT value FROM json_each(?1)) AND first IS NOT NULL
"""
# `instr` finds the few values that may have the status without parsing the others.
_WITH_STATUS = """
SELECT o.source, r.key, v.json FROM value v JOIN observation o ON o.value = v.id JOIN record r ON r.id = o.record
WHERE instr(v.json, ?1) AND json_extract(v.json, '$.status') = ?2 AND NOT EXISTS (
    SELECT 1 FROM observation p WHERE p.record = o.record AND (p.at, p.attempt) > (o.at, o.attempt))
ORDER BY r.key
"""
_SETTLED_RECORDS = """
SELECT r.key, v.aside FROM record r JOIN observation o ON o.record = r.id JOIN value v ON v.id = o.value
WHERE NOT EXISTS (
    SELECT 1 FROM observation p WHERE p.record = o.record AND (p.at, p.attempt) > (o.at, o.attempt)
) AND o.attempt <= ?1 AND NOT EXISTS (SELECT 1 FROM late_statement s WHERE s.attempt = o.attempt) ORDER BY r.key
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


class LateAttemptStore(RecordStore):
    """A store of records that lists late attempts: an attempt is late if its observations changed after it was settled.

    When a late attempt was first settled, it could not be read, waited for services, or was read differently.
    """

    def __init__(self, path: Path, columns: Sequence[TypedColumn] = ()) -> None:
        """Open the file and create its tables; for `columns` see `RecordStore`."""
        super().__init__(path, columns)
        script = _SCHEMA if self._read_only else f"BEGIN; {_SCHEMA} COMMIT;"
        with close_on_failure(self._connection.close), self._guarded():
            create_or_stand_in(self._connection, script, read_only=self._read_only)

    def late_attempts(self, limit: int = -1) -> list[int]:
        """Return the first `limit` late attempts, or all of them if `limit` is -1."""
        query = "SELECT DISTINCT attempt FROM late_statement ORDER BY attempt LIMIT ?"
        with self._guarded():
            return [attempt for (attempt,) in self._connection.execute(query, (limit,))]

    def late_records(self, attempts: Sequence[int]) -> dict[str, list[Any]]:
        """Return the keys of the records that late `attempts` changed, each with the values of removed observations."""
        deleted_values: dict[str, list[Any]] = {}
        with self._guarded():
            for key, json_text in self._connection.execute(_LATE_STATEMENTS, (json.dumps([*attempts]),)):
                deleted_values.setdefault(key, []).extend([json.loads(json_text)] if json_text else ())
        return deleted_values

    def attempts_to_recount(self, attempts: Sequence[int]) -> list[int]:
        """Return the late `attempts`, and the attempts whose numbers of new records may change because of them.

        The latter are, for each record of the late attempts, the first attempt that observed it and is not late.
        """
        with self._guarded():
            return [attempt for (attempt,) in self._connection.execute(_TO_RECOUNT, (json.dumps([*attempts]),))]

    def is_latest(self, statement: AttemptStatement) -> bool:
        """Return whether the latest observation of a statement's record is from the statement's attempt."""
        query = """
            SELECT o.attempt FROM observation o JOIN record r ON r.id = o.record
            WHERE r.key = ? ORDER BY o.at DESC, o.attempt DESC LIMIT 1
        """
        with self._guarded():
            return bool(self._connection.execute(query, (statement.key,)).fetchone() == (statement.attempt,))

    def with_status(self, status: str) -> list[tuple[str, str, Any]]:
        """Return the source, key and value of each current record whose field `status` is `status`."""
        with self._guarded():
            rows = self._connection.execute(_WITH_STATUS, (f'"status":"{status}"', status)).fetchall()
        return [(source, key, json.loads(json_text)) for source, key, json_text in rows]

    def remove_late_attempts(self, attempts: Sequence[int]) -> None:
        """Remove attempts from the list of late attempts."""
        with self._writing():
            self._connection.executemany(
                "DELETE FROM late_statement WHERE attempt = ?", ((attempt,) for attempt in attempts)
            )

    def add_late_attempts(self, statements: Iterable[tuple[int, str]]) -> None:
        """List attempts, each with the key of a record, as late, so that what is made of the record is made again."""
        with self._writing():
            self._connection.executemany("INSERT OR IGNORE INTO late_statement VALUES (?, ?, '')", statements)

    def settled_records(self, last_attempt: int) -> Iterator[tuple[str, str]]:
        """Yield (key, `aside` as JSON) of each current record from an attempt up to `last_attempt` that is not late."""
        with self._guarded():
            yield from self._connection.execute(_SETTLED_RECORDS, (last_attempt,))

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
        """Do what `RecordStore.forget` does, and remove refused documents about requests of these attempts.

        The attempts are also removed from the late attempts. Return the number of removed observations.
        """
        numbers = [*attempts]
        count = super().forget(numbers)
        self.remove_late_attempts(numbers)
        self.replace_refused((("", number) for number in numbers), ())
        return count
