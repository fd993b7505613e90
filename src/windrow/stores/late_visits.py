"""A store of records for those who write visits out in order: it lists those that were read late."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from windrow.stores.records import RecordStore, VisitStatement

_SCHEMA = """
CREATE TABLE IF NOT EXISTS late_visit (visit INTEGER PRIMARY KEY);
CREATE TRIGGER IF NOT EXISTS list_late_visit AFTER INSERT ON observation
WHEN new.visit <= coalesce((SELECT value FROM meta WHERE name = 'checkpoint'), 0) BEGIN
    INSERT OR IGNORE INTO late_visit VALUES (new.visit);
END;
"""


class LateVisitStore(RecordStore):
    """A store of records that lists visits before its checkpoint which were read late: an earlier run could not."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        """Open the file, making its tables."""
        super().__init__(path, read_only=read_only)
        if not read_only:
            with self._guarded():
                self._connection.executescript(f"BEGIN; {_SCHEMA} COMMIT;")

    def late_visits(self, limit: int = -1) -> list[int]:
        """Return the first visits that are not written out yet, or all, in their order."""
        text = "SELECT visit FROM late_visit ORDER BY visit LIMIT ?"
        with self._guarded():
            return [visit for (visit,) in self._connection.execute(text, (limit,))]

    def is_latest(self, statement: VisitStatement) -> bool:
        """Tell whether nothing later is known of the record of which a visit said something."""
        text = """
            SELECT o.visit FROM observation o JOIN record r ON r.id = o.record
            WHERE r.key = ? ORDER BY o.at DESC, o.visit DESC LIMIT 1
        """
        with self._guarded():
            return self._connection.execute(text, (statement.key,)).fetchone() == (statement.visit,)

    def remove_late_visits(self, visits: Sequence[int]) -> None:
        """Take visits off the list."""
        with self._writing():
            self._connection.executemany("DELETE FROM late_visit WHERE visit = ?", ((visit,) for visit in visits))
