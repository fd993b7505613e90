"""The records of papers, with a list of those whose rows are out of date, kept in the same transactions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from windrow.collections.papers.grobid import earlier_name
from windrow.stores.records import RecordStore
from windrow.stores.sqlite import SqliteStore, close_on_failure

# Triggers keep the list, so that it changes in the transaction of every write, whichever code does it.
_SCHEMA = """
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
# An attempt's requests to GROBID are kept until the end of the run: only then it is known whether all were transient.
_ASKED = """
CREATE TABLE IF NOT EXISTS asked (attempt INTEGER PRIMARY KEY, asks TEXT NOT NULL);
CREATE TRIGGER IF NOT EXISTS asked_by_waiting AFTER DELETE ON waiting BEGIN
    INSERT OR REPLACE INTO asked VALUES (old.attempt, old.asks);
END;
"""
_PASSING = """
SELECT a.attempt, a.asks FROM asked a WHERE EXISTS (SELECT 1 FROM observation o JOIN value v ON v.id = o.value
    WHERE o.attempt = a.attempt AND json_extract(v.json, '$.grobid.passing')) ORDER BY a.attempt
"""
_CURRENT = """
SELECT o.attempt, v.json, v.aside FROM observation o JOIN value v ON v.id = o.value
WHERE o.record = (SELECT id FROM record WHERE key = ?) ORDER BY o.at, o.attempt
"""


class PaperRecord(NamedTuple):
    """A paper's current value, its additional values, the attempt of its first capture, and its number of captures."""

    key: str
    value: dict[str, Any]
    aside: dict[str, Any]
    first: int
    seen: int


class PaperStore(RecordStore):
    """A store of records with a list of those whose rows are out of date."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        """Open the file; if it has no list yet, put all its records on it."""
        super().__init__(path, read_only=read_only)
        if read_only:
            return
        with close_on_failure(self._connection.close), self._guarded():
            if not self._connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'touched'").fetchone():
                self._connection.executescript(f"BEGIN; {_SCHEMA} INSERT INTO touched SELECT key FROM record; COMMIT;")
            self._connection.executescript(f"BEGIN; {_ASKED} COMMIT;")

    def finish(self, at: int, pulse: Callable[[], bool]) -> int:
        """Finish, and make the next run repeat the step for papers with a transient outcome of GROBID.

        They are put to wait for their last answer, which exists already: so the next run repeats the step, which sends
        another request.
        """
        count = super().finish(at, pulse)
        with self._writing():
            repeated = [(attempt, json.loads(requests)[-1]) for attempt, requests in self._connection.execute(_PASSING)]
            self._connection.executemany(
                "INSERT OR IGNORE INTO waiting VALUES (?, ?)",
                [(attempt, json.dumps([[earlier_name(name), address]])) for attempt, (name, address) in repeated],
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
        """Put papers on the list of those whose rows are out of date; all papers if no keys are given."""
        with self._writing():
            if keys is None:
                self._connection.execute("INSERT OR IGNORE INTO touched SELECT key FROM record")
            else:
                self._connection.executemany("INSERT OR IGNORE INTO touched VALUES (?)", ((key,) for key in keys))

    def mark_written(self, keys: Sequence[str]) -> None:
        """Take papers off the list."""
        with self._writing():
            self._connection.executemany("DELETE FROM touched WHERE key = ?", ((key,) for key in keys))

    def paper(self, key: str) -> PaperRecord | None:
        """Return a paper's current record; None if the paper is not in the store."""
        with self._guarded():
            rows = self._connection.execute(_CURRENT, (key,)).fetchall()
        if not rows:
            return None
        last = rows[-1]
        return PaperRecord(key, json.loads(last[1]), json.loads(last[2]) if last[2] else {}, rows[0][0], len(rows))

    def skipped_without_record(self) -> dict[str, int]:
        """Count the captures without a record, by reason."""
        text = """
            SELECT reason, count(*) FROM skipped s
            WHERE NOT EXISTS (SELECT 1 FROM observation o WHERE o.attempt = s.attempt) GROUP BY reason
        """
        with self._guarded():
            return dict(self._connection.execute(text).fetchall())

    def papers(self) -> Iterator[str]:
        """Yield the keys of all papers, in order."""
        last = ""
        while True:
            with self._guarded():
                text = "SELECT key FROM record WHERE key > ? ORDER BY key LIMIT 1000"
                keys = [key for (key,) in self._connection.execute(text, (last,))]
            if not keys:
                return
            yield from keys
            last = keys[-1]


_ROWS = """
CREATE TABLE IF NOT EXISTS row (key TEXT PRIMARY KEY, own INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS written (key TEXT, column TEXT, PRIMARY KEY (key, column)) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
"""


class RowRegister(SqliteStore):
    """The rows that windrow writes in the table, and which of them others had made before.

    Of rows that others made, the columns that windrow wrote: their other cells belong to others.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, _ROWS)

    def owns(self, keys: Sequence[str]) -> dict[str, bool]:
        """Return whether windrow made each row; rows that are not registered are left out."""
        with self._guarded():
            marks = ",".join("?" * len(keys))
            rows = self._connection.execute(f"SELECT key, own FROM row WHERE key IN ({marks})", [*keys])
            return {key: bool(made_here) for key, made_here in rows}

    def written_columns(self, keys: Sequence[str]) -> dict[str, frozenset[str]]:
        """Return the columns that windrow wrote in rows that other programs made."""
        marks = ",".join("?" * len(keys))
        columns_by_key: dict[str, set[str]] = {key: set() for key in keys}
        with self._guarded():
            for key, column in self._connection.execute(
                f"SELECT key, column FROM written WHERE key IN ({marks})", [*keys]
            ):
                columns_by_key[key].add(column)
        return {key: frozenset(columns) for key, columns in columns_by_key.items()}

    def add(self, rows: Iterable[tuple[str, bool]], columns: Iterable[tuple[str, str]] = ()) -> None:
        """Register rows (key, made here) before they are written, and the columns written in rows of others."""
        with self._writing():
            self._connection.executemany("INSERT INTO row VALUES (?, ?) ON CONFLICT DO NOTHING", rows)
            self._connection.executemany("INSERT INTO written VALUES (?, ?) ON CONFLICT DO NOTHING", columns)

    def remove(self, keys: Iterable[str]) -> None:
        """Forget rows after they were removed from the table."""
        removed = [(key,) for key in keys]
        with self._guarded():
            self._connection.execute("PRAGMA secure_delete = ON").fetchall()
        with self._writing():
            for table in ("row", "written"):
                self._connection.executemany(f"DELETE FROM {table} WHERE key = ?", removed)

    def clear(self) -> None:
        """Forget all rows, when another table is written from now on."""
        with self._guarded():
            self._connection.executescript("BEGIN IMMEDIATE; DELETE FROM row; DELETE FROM written; COMMIT;")

    def keys(self) -> list[str]:
        """Return the keys of all registered rows."""
        with self._guarded():
            return [key for (key,) in self._connection.execute("SELECT key FROM row ORDER BY key")]

    def meta(self, name: str) -> str:
        """Return the text stored under a name; empty if no text is stored."""
        with self._guarded():
            row = self._connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return str(row[0]) if row else ""

    def put_meta(self, name: str, text: str) -> None:
        """Store a text under a name."""
        with self._guarded():
            self._connection.execute(
                "INSERT INTO meta VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value", (name, text)
            )
