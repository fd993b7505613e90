"""A store of records that lists late attempts: those whose observations changed after they were settled."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from windrow.contract import TypedColumn
from windrow.stores.record_versions import AttemptStatement
from windrow.stores.records import RecordStore

# `late_statement` has the key of a record, and an attempt up to the checkpoint whose observation of the record was
# added or deleted. `json` is the value of a deleted observation, or empty if the observation was added or had no value.
_SCHEMA = """
CREATE TABLE IF NOT EXISTS late_statement (
    attempt INTEGER NOT NULL, key TEXT NOT NULL, json TEXT NOT NULL, PRIMARY KEY (attempt, key, json)
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
_SETTLED_RECORDS = """
SELECT r.key, v.aside FROM record r JOIN observation o ON o.record = r.id JOIN value v ON v.id = o.value
WHERE NOT EXISTS (
    SELECT 1 FROM observation p WHERE p.record = o.record AND (p.at, p.attempt) > (o.at, o.attempt)
) AND o.attempt <= ?1 AND NOT EXISTS (SELECT 1 FROM late_statement s WHERE s.attempt = o.attempt) ORDER BY r.key
"""


class LateAttemptStore(RecordStore):
    """A store of records that lists late attempts: an attempt is late if its observations changed after it was settled.

    When a late attempt was first settled, it could not be read, waited for services, or was read differently.
    """

    def __init__(self, path: Path, columns: Sequence[TypedColumn] = (), *, schema: str = "") -> None:
        """Open the file and create its tables; for `columns` and `schema` see `RecordStore`."""
        super().__init__(path, columns, schema=f"{_SCHEMA}{schema}")

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

    def forget(self, attempts: Iterable[int]) -> int:
        """Do what `RecordStore.forget` does, and remove the attempts from the late ones."""
        numbers = [*attempts]
        count = super().forget(numbers)
        self.remove_late_attempts(numbers)
        return count
