"""A store of records for those who write visits out in order: it lists those that were read late, or read again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from windrow.stores.records import RecordStore, VisitStatement
from windrow.stores.sqlite import close_on_failure

# What a visit before the checkpoint said of a record, or with its `json` what it had said until then.
_SCHEMA = """
CREATE TABLE IF NOT EXISTS late_statement (
    visit INTEGER NOT NULL, key TEXT NOT NULL, json TEXT NOT NULL, PRIMARY KEY (visit, key, json)
) WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS list_late_statement AFTER INSERT ON observation
WHEN new.visit <= coalesce((SELECT value FROM meta WHERE name = 'checkpoint'), 0) BEGIN
    INSERT OR IGNORE INTO late_statement SELECT new.visit, key, '' FROM record WHERE id = new.record;
END;
CREATE TRIGGER IF NOT EXISTS list_deleted_statement AFTER DELETE ON observation
WHEN old.visit <= coalesce((SELECT value FROM meta WHERE name = 'checkpoint'), 0) BEGIN
    INSERT OR IGNORE INTO late_statement
    SELECT old.visit, key, coalesce((SELECT json FROM value WHERE id = old.value), '')
    FROM record WHERE id = old.record;
END;
"""
_LISTED = "SELECT key, json FROM late_statement WHERE visit IN (SELECT value FROM json_each(?)) ORDER BY key, visit"
_RECOUNTED = """
SELECT value FROM json_each(?1) UNION
SELECT (SELECT o.visit FROM observation o WHERE o.record = r.id AND o.visit NOT IN (SELECT visit FROM late_statement)
    ORDER BY o.at, o.visit LIMIT 1) AS first
FROM late_statement s JOIN record r ON r.key = s.key
WHERE s.visit IN (SELECT value FROM json_each(?1)) AND first IS NOT NULL
"""


class LateVisitStore(RecordStore):
    """A store of records that lists visits before its checkpoint of which something was read, or taken back, late.

    An earlier run could not read them, or read them otherwise.
    """

    def __init__(self, path: Path) -> None:
        """Open the file, making its tables."""
        super().__init__(path)
        with close_on_failure(self._connection.close), self._guarded():
            self._connection.executescript(f"BEGIN; {_SCHEMA} COMMIT;")

    def late_visits(self, limit: int = -1) -> list[int]:
        """Return the first visits that are not written out yet, or all, in their order."""
        text = "SELECT DISTINCT visit FROM late_statement ORDER BY visit LIMIT ?"
        with self._guarded():
            return [visit for (visit,) in self._connection.execute(text, (limit,))]

    def late_records(self, visits: Sequence[int]) -> dict[str, list[Any]]:
        """Return the keys of the records of which listed visits say or said something, and the values taken back."""
        records: dict[str, list[Any]] = {}
        with self._guarded():
            for key, spelled in self._connection.execute(_LISTED, (json.dumps([*visits]),)):
                records.setdefault(key, []).extend([json.loads(spelled)] if spelled else ())
        return records

    def recounted_visits(self, visits: Sequence[int]) -> list[int]:
        """Return listed visits, and those that `counted` may count otherwise for them: the first of each record."""
        with self._guarded():
            return [visit for (visit,) in self._connection.execute(_RECOUNTED, (json.dumps([*visits]),))]

    def is_latest(self, statement: VisitStatement) -> bool:
        """Tell whether nothing later is known of the record of which a visit said something."""
        text = """
            SELECT o.visit FROM observation o JOIN record r ON r.id = o.record
            WHERE r.key = ? ORDER BY o.at DESC, o.visit DESC LIMIT 1
        """
        with self._guarded():
            return bool(self._connection.execute(text, (statement.key,)).fetchone() == (statement.visit,))

    def remove_late_visits(self, visits: Sequence[int]) -> None:
        """Take visits off the list."""
        with self._writing():
            self._connection.executemany("DELETE FROM late_statement WHERE visit = ?", ((visit,) for visit in visits))

    def forget(self, visits: Iterable[int]) -> int:
        """Remove what visits said, from the list too."""
        forgotten = [*visits]
        count = super().forget(forgotten)
        self.remove_late_visits(forgotten)
        return count
