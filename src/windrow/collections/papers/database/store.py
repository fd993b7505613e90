"""The records of papers, with a list of those whose rows are to be written anew, kept in the same transactions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from windrow.collections.papers.grobid import earlier
from windrow.stores.records import RecordStore
from windrow.stores.sqlite import SqliteStore, close_on_failure

# Triggers note what changed where it changes, so that no path of writing can be forgotten and no kill comes between.
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
# What GROBID was asked for a visit stays till the end of the run, when it shows whether all answers told of the server.
_ASKED = """
CREATE TABLE IF NOT EXISTS asked (visit INTEGER PRIMARY KEY, asks TEXT NOT NULL);
CREATE TRIGGER IF NOT EXISTS asked_by_waiting AFTER DELETE ON waiting BEGIN
    INSERT OR REPLACE INTO asked VALUES (old.visit, old.asks);
END;
"""
_PASSING = """
SELECT a.visit, a.asks FROM asked a WHERE EXISTS (SELECT 1 FROM observation o JOIN value v ON v.id = o.value
    WHERE o.visit = a.visit AND json_extract(v.json, '$.grobid.passing')) ORDER BY a.visit
"""
_CURRENT = """
SELECT o.visit, v.json, v.aside FROM observation o JOIN value v ON v.id = o.value
WHERE o.record = (SELECT id FROM record WHERE key = ?) ORDER BY o.at, o.visit
"""


class PaperRecord(NamedTuple):
    """What is known of a paper: its value, what stands beside it, its first capture's visit, and how many there are."""

    key: str
    value: dict[str, Any]
    aside: dict[str, Any]
    first: int
    seen: int


class PaperStore(RecordStore):
    """A store of records that knows which of them rows do not show yet."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        """Open the file; where it was made without the list, all its records are on it."""
        super().__init__(path, read_only=read_only)
        if read_only:
            return
        with close_on_failure(self._connection.close), self._guarded():
            if not self._connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'touched'").fetchone():
                self._connection.executescript(f"BEGIN; {_SCHEMA} INSERT INTO touched SELECT key FROM record; COMMIT;")
            self._connection.executescript(f"BEGIN; {_ASKED} COMMIT;")

    def finish(self, at: int, pulse: Callable[[], bool]) -> int:
        """Let papers wait for the next run about which GROBID only told that it could not work.

        They wait for the last answer, which is there: so the next run takes the step again, which asks once more.
        """
        count = super().finish(at, pulse)
        with self._writing():
            again = [(visit, json.loads(asks)[-1]) for visit, asks in self._connection.execute(_PASSING)]
            self._connection.executemany(
                "INSERT OR IGNORE INTO waiting VALUES (?, ?)",
                [(visit, json.dumps([[earlier(name), address]])) for visit, (name, address) in again],
            )
            self._connection.execute("DELETE FROM asked")
        return count

    def unwritten(self, limit: int) -> list[str]:
        """Return some papers whose rows are to be written."""
        with self._guarded():
            return [
                key for (key,) in self._connection.execute("SELECT key FROM touched ORDER BY key LIMIT ?", (limit,))
            ]

    def waiting_rows(self) -> int:
        """Count the papers whose rows are to be written."""
        with self._guarded():
            return int(self._connection.execute("SELECT count(*) FROM touched").fetchone()[0])

    def touch(self, keys: Iterable[str] | None = None) -> None:
        """Have the rows of some papers written anew, or of all."""
        with self._writing():
            if keys is None:
                self._connection.execute("INSERT OR IGNORE INTO touched SELECT key FROM record")
            else:
                self._connection.executemany("INSERT OR IGNORE INTO touched VALUES (?)", ((key,) for key in keys))

    def written(self, keys: Sequence[str]) -> None:
        """Take papers off the list."""
        with self._writing():
            self._connection.executemany("DELETE FROM touched WHERE key = ?", ((key,) for key in keys))

    def paper(self, key: str) -> PaperRecord | None:
        """Return a paper as it is known now; None where there is none."""
        with self._guarded():
            rows = self._connection.execute(_CURRENT, (key,)).fetchall()
        if not rows:
            return None
        last = rows[-1]
        return PaperRecord(key, json.loads(last[1]), json.loads(last[2]) if last[2] else {}, rows[0][0], len(rows))

    def skipped_without_record(self) -> dict[str, int]:
        """Count by reason the captures of which nothing was made."""
        text = """
            SELECT reason, count(*) FROM skipped s
            WHERE NOT EXISTS (SELECT 1 FROM observation o WHERE o.visit = s.visit) GROUP BY reason
        """
        with self._guarded():
            return dict(self._connection.execute(text).fetchall())

    def papers(self) -> Iterator[str]:
        """Yield the keys of all papers, in their order."""
        last = ""
        while True:
            with self._guarded():
                text = "SELECT key FROM record WHERE key > ? ORDER BY key LIMIT 1000"
                found = [key for (key,) in self._connection.execute(text, (last,))]
            if not found:
                return
            yield from found
            last = found[-1]


_ROWS = """
CREATE TABLE IF NOT EXISTS row (key TEXT PRIMARY KEY, own INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS written (key TEXT, column TEXT, PRIMARY KEY (key, column)) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
"""


class RowBook(SqliteStore):
    """Which rows of the table are written from here, and which of them were there before, of somebody else's making.

    Of those, the columns that were written from here: what else they have is not ours.
    """

    def __init__(self, path: Path) -> None:
        """Open the file, making it."""
        super().__init__(path, _ROWS)

    def owns(self, keys: Sequence[str]) -> dict[str, bool]:
        """Return of those rows that are known whether they were made here."""
        with self._guarded():
            marks = ",".join("?" * len(keys))
            rows = self._connection.execute(f"SELECT key, own FROM row WHERE key IN ({marks})", [*keys])
            return {key: bool(own) for key, own in rows}

    def written(self, keys: Sequence[str]) -> dict[str, frozenset[str]]:
        """Return which columns were written from here of rows that were there before."""
        marks = ",".join("?" * len(keys))
        found: dict[str, set[str]] = {key: set() for key in keys}
        with self._guarded():
            for key, column in self._connection.execute(
                f"SELECT key, column FROM written WHERE key IN ({marks})", [*keys]
            ):
                found[key].add(column)
        return {key: frozenset(columns) for key, columns in found.items()}

    def note(self, rows: Iterable[tuple[str, bool]], columns: Iterable[tuple[str, str]] = ()) -> None:
        """Note rows before they are written, and which columns of them: of rows that were there before."""
        with self._writing():
            self._connection.executemany("INSERT INTO row VALUES (?, ?) ON CONFLICT DO NOTHING", rows)
            self._connection.executemany("INSERT INTO written VALUES (?, ?) ON CONFLICT DO NOTHING", columns)

    def drop(self, keys: Iterable[str]) -> None:
        """Forget rows after they were removed."""
        dropped = [*keys]
        with self._guarded():
            self._connection.execute("PRAGMA secure_delete = ON").fetchall()
        with self._writing():
            for table in ("row", "written"):
                self._connection.executemany(f"DELETE FROM {table} WHERE key = ?", [(key,) for key in dropped])

    def clear(self) -> None:
        """Forget all rows: of the table that is written now none is known."""
        with self._guarded():
            self._connection.executescript("BEGIN IMMEDIATE; DELETE FROM row; DELETE FROM written; COMMIT;")

    def keys(self) -> list[str]:
        """Return the keys of all rows that are written from here."""
        with self._guarded():
            return [key for (key,) in self._connection.execute("SELECT key FROM row ORDER BY key")]

    def meta(self, name: str) -> str:
        """Return what was noted under a name; empty where nothing was."""
        with self._guarded():
            found = self._connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return str(found[0]) if found else ""

    def put_meta(self, name: str, value: str) -> None:
        """Note something under a name."""
        with self._guarded():
            self._connection.execute(
                "INSERT INTO meta VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value", (name, value)
            )
