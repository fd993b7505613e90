"""The records of papers, and a list of the papers whose rows are out of date, in the same file and transactions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from windrow.collections.papers.grobid import earlier_name
from windrow.stores.records import RecordStore
from windrow.stores.sqlite import SqliteStore, close_on_failure

# Triggers update the list, so that it changes in the transaction of every write, whichever code writes.
_STALE_SCHEMA = """
CREATE TABLE IF NOT EXISTS touched (key TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS touched_by_new AFTER INSERT ON observation BEGIN
    INSERT OR IGNORE INTO touched SELECT key FROM record WHERE id = new.record;
END;
CREATE TRIGGER IF NOT EXISTS touched_by_changed AFTER UPDATE ON observation BEGIN
    INSERT OR IGNORE INTO touched SELECT key FROM record WHERE id = new.record;
END;
CREATE TRIGGER IF NOT EXISTS touched_by_gone AFTER DELETE ON observation BEGIN
    INSERT OR IGNORE INTO touched SELECT key FROM record WHERE id = old.record;
END;
"""
# An attempt's requests to GROBID are kept until the end of the run, when it is known whether its outcome is transient.
_REQUESTS_SCHEMA = """
CREATE TABLE IF NOT EXISTS asked (attempt INTEGER PRIMARY KEY, asks TEXT NOT NULL);
CREATE TRIGGER IF NOT EXISTS asked_by_waiting AFTER DELETE ON waiting BEGIN
    INSERT OR REPLACE INTO asked VALUES (old.attempt, old.asks);
END;
"""
_TRANSIENT_QUERY = """
SELECT a.attempt, a.asks FROM asked a WHERE EXISTS (SELECT 1 FROM observation o JOIN value v ON v.id = o.value
    WHERE o.attempt = a.attempt AND json_extract(v.json, '$.grobid.passing')) ORDER BY a.attempt
"""
_OBSERVATIONS_QUERY = """
SELECT o.attempt, v.json, v.aside FROM observation o JOIN value v ON v.id = o.value
WHERE o.record = (SELECT id FROM record WHERE key = ?) ORDER BY o.at, o.attempt
"""
_PAGE_SIZE = 1000


class PaperRecord(NamedTuple):
    """A paper as it was read last."""

    key: str
    value: dict[str, Any]
    aside: dict[str, Any]  # further keys for its row
    first_attempt: int  # number of the attempt of its first capture
    capture_count: int


class PaperStore(RecordStore):
    """The records of papers, with a list of the papers whose rows are out of date."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        """Open the file; if it has no list yet, create one with all its papers."""
        super().__init__(path, read_only=read_only)
        if read_only:
            return
        with close_on_failure(self._connection.close), self._guarded():
            if not self._connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'touched'").fetchone():
                mark_all = "INSERT INTO touched SELECT key FROM record"
                self._connection.executescript(f"BEGIN; {_STALE_SCHEMA} {mark_all}; COMMIT;")
            self._connection.executescript(f"BEGIN; {_REQUESTS_SCHEMA} COMMIT;")

    def finish(self, at: int, pulse: Callable[[], bool]) -> int:
        """Finish a run, and make the next run repeat the step for papers with a transient outcome of GROBID.

        They are set to wait for their last answer, which exists already, so that the next run repeats the step, which
        sends another request. `at` is not used. Return how many unused values were removed.
        """
        count = super().finish(at, pulse)
        with self._writing():
            rows = self._connection.execute(_TRANSIENT_QUERY)
            last_requests = [(attempt, json.loads(requests)[-1]) for attempt, requests in rows]
            self._connection.executemany(
                "INSERT OR IGNORE INTO waiting VALUES (?, ?)",
                [(attempt, json.dumps([[earlier_name(name), address]])) for attempt, (name, address) in last_requests],
            )
            self._connection.execute("DELETE FROM asked")
        return count

    def stale_keys(self, limit: int) -> list[str]:
        """Return the keys of up to `limit` papers whose rows are out of date."""
        with self._guarded():
            return [
                key for (key,) in self._connection.execute("SELECT key FROM touched ORDER BY key LIMIT ?", (limit,))
            ]

    def count_stale(self) -> int:
        """Count the papers whose rows are out of date."""
        with self._guarded():
            return int(self._connection.execute("SELECT count(*) FROM touched").fetchone()[0])

    def mark_stale(self, keys: Iterable[str] | None = None) -> None:
        """Add papers, or all if `keys` is None, to the list of the papers whose rows are out of date."""
        with self._writing():
            if keys is None:
                self._connection.execute("INSERT OR IGNORE INTO touched SELECT key FROM record")
            else:
                self._connection.executemany("INSERT OR IGNORE INTO touched VALUES (?)", ((key,) for key in keys))

    def mark_written(self, keys: Sequence[str]) -> None:
        """Remove papers whose rows were written from the list."""
        with self._writing():
            self._connection.executemany("DELETE FROM touched WHERE key = ?", ((key,) for key in keys))

    def paper(self, key: str) -> PaperRecord | None:
        """Return the current record of a paper, or None if the store does not have it."""
        with self._guarded():
            rows = self._connection.execute(_OBSERVATIONS_QUERY, (key,)).fetchall()
        if not rows:
            return None
        first_attempt, (_, value, aside) = rows[0][0], rows[-1]
        return PaperRecord(key, json.loads(value), json.loads(aside) if aside else {}, first_attempt, len(rows))

    def skipped_without_record(self) -> dict[str, int]:
        """Return the number of skipped captures without a record, by reason."""
        query = """
            SELECT reason, count(*) FROM skipped s
            WHERE NOT EXISTS (SELECT 1 FROM observation o WHERE o.attempt = s.attempt) GROUP BY reason
        """
        with self._guarded():
            return dict(self._connection.execute(query).fetchall())

    def papers(self) -> Iterator[str]:
        """Yield the keys of all papers, in order."""
        last_key = ""
        query = f"SELECT key FROM record WHERE key > ? ORDER BY key LIMIT {_PAGE_SIZE}"
        while True:
            with self._guarded():
                keys = [key for (key,) in self._connection.execute(query, (last_key,))]
            if not keys:
                return
            yield from keys
            last_key = keys[-1]


_ROWS_SCHEMA = """
CREATE TABLE IF NOT EXISTS row (key TEXT PRIMARY KEY, own INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS written (key TEXT, column TEXT, PRIMARY KEY (key, column)) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
"""


class RowRegister(SqliteStore):
    """The rows that windrow wrote, by the keys of papers, and the columns that it wrote in rows of other programs."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, _ROWS_SCHEMA)

    def owns(self, keys: Sequence[str]) -> dict[str, bool]:
        """Return whether windrow made the row of each paper; papers without a registered row are left out."""
        with self._guarded():
            placeholders = ",".join("?" * len(keys))
            rows = self._connection.execute(f"SELECT key, own FROM row WHERE key IN ({placeholders})", [*keys])
            return {key: bool(is_own) for key, is_own in rows}

    def written_columns(self, keys: Sequence[str]) -> dict[str, frozenset[str]]:
        """Return the columns that windrow wrote in rows that other programs made, by the keys of papers."""
        placeholders = ",".join("?" * len(keys))
        columns_by_key: dict[str, set[str]] = {key: set() for key in keys}
        with self._guarded():
            query = f"SELECT key, column FROM written WHERE key IN ({placeholders})"
            for key, column in self._connection.execute(query, [*keys]):
                columns_by_key[key].add(column)
        return {key: frozenset(columns) for key, columns in columns_by_key.items()}

    def add(self, rows: Iterable[tuple[str, bool]], columns: Iterable[tuple[str, str]] = ()) -> None:
        """Register rows, as (key, whether windrow makes it), and the columns in rows of others, as (key, column)."""
        with self._writing():
            self._connection.executemany("INSERT INTO row VALUES (?, ?) ON CONFLICT DO NOTHING", rows)
            self._connection.executemany("INSERT INTO written VALUES (?, ?) ON CONFLICT DO NOTHING", columns)

    def remove(self, keys: Iterable[str]) -> None:
        """Remove rows from the register, after they were removed from the table."""
        removed = [(key,) for key in keys]
        with self._guarded():
            self._connection.execute("PRAGMA secure_delete = ON").fetchall()
        with self._writing():
            for table in ("row", "written"):
                self._connection.executemany(f"DELETE FROM {table} WHERE key = ?", removed)

    def clear(self) -> None:
        """Remove all rows from the register, as another table is written from now on."""
        with self._guarded():
            self._connection.executescript("BEGIN IMMEDIATE; DELETE FROM row; DELETE FROM written; COMMIT;")

    def keys(self) -> list[str]:
        """Return the keys of all registered rows."""
        with self._guarded():
            return [key for (key,) in self._connection.execute("SELECT key FROM row ORDER BY key")]

    def meta(self, name: str) -> str:
        """Return the text that is stored under a name, or an empty text if there is none."""
        with self._guarded():
            row = self._connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return str(row[0]) if row else ""

    def put_meta(self, name: str, text: str) -> None:
        """Store a text under a name."""
        with self._guarded():
            self._connection.execute(
                "INSERT INTO meta VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value", (name, text)
            )
