"""A store of records for those who write out what visits told: it knows which of them told something late."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from windrow.stores.records import RecordStore

_SCHEMA = """
CREATE TABLE IF NOT EXISTS retold (visit INTEGER PRIMARY KEY);
CREATE TRIGGER IF NOT EXISTS retold_by_observation AFTER INSERT ON observation
WHEN new.visit <= coalesce((SELECT value FROM meta WHERE name = 'checkpoint'), 0) BEGIN
    INSERT OR IGNORE INTO retold VALUES (new.visit);
END;
"""


class RetoldStore(RecordStore):
    """A store of records that lists the visits whose answers were read after later ones: no checkpoint tells of them.

    They are those that an earlier run could not read.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        """Open the file, making its tables."""
        super().__init__(path, read_only=read_only)
        if not read_only:
            with self._guarded():
                self._connection.executescript(f"BEGIN; {_SCHEMA} COMMIT;")

    def retold(self) -> list[int]:
        """Return the visits that are not written out yet, in their order."""
        with self._guarded():
            return [visit for (visit,) in self._connection.execute("SELECT visit FROM retold ORDER BY visit")]

    def written(self, visits: Sequence[int]) -> None:
        """Take visits off the list."""
        with self._writing():
            self._connection.executemany("DELETE FROM retold WHERE visit = ?", ((one,) for one in visits))
