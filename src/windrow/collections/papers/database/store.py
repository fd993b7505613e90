"""The records of papers and the list of papers whose rows are out of date, in one file and the same transactions.

`RowRegister` is in another file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from windrow.collections.papers.columns import pack_columns, unpack_columns
from windrow.collections.papers.grobid import earlier_name, final_name
from windrow.contract import AttemptObservations, Observation, Skip, TypedColumn
from windrow.reasons import Reason
from windrow.stores.record_versions import note_completed, read_observed
from windrow.stores.records import RecordStore
from windrow.stores.sqlite import SqliteStore, close_on_failure, create_or_stand_in
from windrow.stores.store_mark import StoreMark

# Triggers update the list in the transaction of each write, whichever code writes.
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
# The last requests to GROBID for each attempt, whether they were made in this run (`is_new`), and in how many runs
# GROBID failed for the document: those that count (see `PaperStore.finish`), and all.
_REQUESTS_SCHEMA = """
CREATE TABLE IF NOT EXISTS asked (
    attempt INTEGER PRIMARY KEY, asks TEXT NOT NULL, is_new INTEGER NOT NULL DEFAULT 1,
    failed_runs INTEGER NOT NULL DEFAULT 0, all_failed_runs INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TRIGGER IF NOT EXISTS asked_by_waiting AFTER DELETE ON waiting WHEN old.asks <> '[]' BEGIN
    INSERT INTO asked (attempt, asks) VALUES (old.attempt, old.asks)
        ON CONFLICT DO UPDATE SET asks = excluded.asks, is_new = 1;
END;
CREATE INDEX IF NOT EXISTS value_by_tei ON value (json_extract(json, '$.grobid.tei_digest'))
    WHERE json_extract(json, '$.grobid.tei_digest') IS NOT NULL;
"""
_SAME_TEI_QUERY = """
SELECT r.key FROM value v JOIN observation o ON o.value = v.id JOIN record r ON r.id = o.record
WHERE json_extract(v.json, '$.grobid.tei_digest') = ? AND r.key <> ? LIMIT 1
"""
_OUTCOMES_QUERY = """
SELECT a.attempt, a.asks, a.failed_runs, a.all_failed_runs FROM asked a WHERE a.is_new AND EXISTS (
    SELECT 1 FROM observation o JOIN value v ON v.id = o.value WHERE o.attempt = a.attempt AND {condition}
) ORDER BY a.attempt
"""
_TRANSIENT_QUERY = _OUTCOMES_QUERY.format(condition="json_extract(v.json, '$.grobid.passing')")
_PROCESSED_QUERY = _OUTCOMES_QUERY.format(condition="json_extract(v.json, '$.grobid.status.status') = 'success'")
_ANSWERED_QUERY = """
SELECT a.attempt, a.asks, r.key FROM asked a JOIN observation o ON o.attempt = a.attempt
JOIN record r ON r.id = o.record JOIN value v ON v.id = o.value
WHERE json_extract(v.json, '$.grobid') IS NOT NULL AND a.attempt NOT IN (SELECT attempt FROM waiting)
    AND (?1 = '[]' OR r.key IN (SELECT value FROM json_each(?1)))
    AND (?2 = '' OR ?2 IN (
        lower(json_extract(v.json, '$.grobid.status.reason')), json_extract(v.json, '$.grobid.status.status')))
ORDER BY a.attempt
"""
_COUNT_RUN = "UPDATE asked SET failed_runs = failed_runs + ?, all_failed_runs = all_failed_runs + 1 WHERE attempt = ?"
_RESET_RUNS = "UPDATE asked SET failed_runs = 0, all_failed_runs = 0, is_new = 0 WHERE attempt = ?"
MAX_FAILED_RUNS = 3
"""If GROBID failed for a document in this many runs that count (see `PaperStore.finish`), the outcome is final."""
MAX_FAILED_ALONE = 8
"""The maximum number of documents that may fail in a run that counts although GROBID processed no document in it."""
MAX_FAILED_RUNS_IN_ALL = 10
"""If GROBID failed for a document in this many runs, the outcome is final although GROBID processed no other document.

The outcome is not final if GROBID failed for more than MAX_FAILED_ALONE documents in the last run, since the server is
probably the cause then.
"""
_OBSERVATIONS_QUERY = """
SELECT o.attempt, v.json, v.aside FROM observation o JOIN value v ON v.id = o.value
WHERE o.record = (SELECT id FROM record WHERE key = ?) ORDER BY o.at, o.attempt
"""
# The observations of a record in the order of time, each with the rank of its value: all are of the same bytes.
_RANKED_QUERY = """
SELECT o.at, o.attempt, o.value, CASE
    WHEN json_extract(v.json, '$.grobid.status.status') = 'success' THEN 3
    WHEN json_extract(v.json, '$.grobid.passing') = 0 THEN 2
    WHEN json_extract(v.json, '$.text.info') IS NOT NULL THEN 1 ELSE 0 END
FROM observation o JOIN value v ON v.id = o.value WHERE o.record = ? ORDER BY o.at, o.attempt
"""
_REPLACE_VALUE = "UPDATE observation SET value = ? WHERE record = ? AND at = ? AND attempt = ?"
_PAGE_SIZE = 1000


class PaperRecord(NamedTuple):
    """The latest record of a paper, with its first attempt and the number of its captures."""

    key: str
    value: dict[str, Any]
    aside: dict[str, Any]  # contents of further cells of its row
    first_attempt: int  # number of the attempt of its first capture
    capture_count: int


class PaperStore(RecordStore):
    """The records of papers, with a list of the papers whose rows are out of date."""

    def __init__(self, path: Path, columns: Sequence[TypedColumn] = (), *, read_only: bool = False) -> None:
        """Open the file and, if it may be written, create the list if it is missing, with all papers in it.

        For `columns`, see `RecordStore`.
        """
        super().__init__(path, columns, read_only=read_only)
        with close_on_failure(self._connection.close), self._guarded():
            if self._read_only:
                create_or_stand_in(self._connection, _STALE_SCHEMA + _REQUESTS_SCHEMA, read_only=True)
                return
            if not self._connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'touched'").fetchone():
                mark_all = "INSERT INTO touched SELECT key FROM record"
                self._connection.executescript(f"BEGIN; {_STALE_SCHEMA} {mark_all}; COMMIT;")
            self._connection.executescript(f"BEGIN; {_REQUESTS_SCHEMA} COMMIT;")

    def _settle_entry(self, entry: AttemptObservations, repeated: list[tuple[int, Skip]]) -> set[int]:
        skips = [
            skip
            for result in entry.results
            if isinstance(result, Observation) and (skip := self._find_same_tei(result))
        ]
        repeated += [(entry.attempt, skip) for skip in skips]
        touched = super()._settle_entry(entry._replace(results=(*entry.results, *skips)), repeated)
        for record in touched:
            self._keep_best(record, entry.attempt)
        return touched

    def _find_same_tei(self, paper: Observation) -> Skip | None:
        """Return a Skip if GROBID returned the same TEI for another paper, as one behind a wrong cache does.

        A TEI with an MD5 is compared with the document before (`interpret_answer`); without one, nothing proves which
        of the papers it is about. The paper is not sent again by itself, since the answer may be the same for ever.
        """
        tei_digest = ((paper.value or {}).get("grobid") or {}).get("tei_digest")
        row = tei_digest and self._connection.execute(_SAME_TEI_QUERY, (tei_digest, paper.key)).fetchone()
        if not row:
            return None
        message = f"GROBID returned the TEI of {row[0]} for it too, so one of them has the metadata of another paper"
        return Skip(
            Reason.SERVER_ERROR, paper.key, f"{message}; to send it again: windrow retry --service grobid {paper.key}"
        )

    def _keep_best(self, record: int, settled: int) -> None:
        """Let no observation of a paper replace a better one, after the attempt `settled` observed the paper.

        A successful outcome of GROBID is better than a final failure, which is better than a guess, and that is better
        than an incomplete record. Without this, a further capture of a paper would remove GROBID's result from its row
        when GROBID is away or no longer configured. Of equal values, the one that was settled last stands.
        """
        run = self._connection.execute
        best, best_rank, is_later = 0, -1, False
        for at, attempt, value, rank in run(_RANKED_QUERY, (record,)).fetchall():
            is_worse = rank < best_rank
            if is_worse and attempt == settled:  # GROBID processed nothing for it in this run
                run("UPDATE asked SET is_new = 0 WHERE attempt = ?", (attempt,))
            elif not is_worse and not (is_later and rank == best_rank):
                best, best_rank = value, rank
            is_later |= attempt == settled
            if value != best and is_later:
                before = read_observed(self._connection, attempt)
                run(_REPLACE_VALUE, (best, record, at, attempt))
                if attempt <= self._last_earlier_attempt:
                    note_completed(self._connection, attempt, self._writing_session, before)

    def finish(self, at: int, pulse: Callable[[], bool]) -> int:
        """Finish a run. Let the next run repeat the step for papers with a transient outcome of GROBID.

        The papers are set to wait for their last answer. The last answer exists already, so the next run repeats the
        step, which sends another request. After MAX_FAILED_RUNS runs that count, or MAX_FAILED_RUNS_IN_ALL runs if
        GROBID failed for at most MAX_FAILED_ALONE documents in the last run, the step takes the last answer as final. A
        run counts if GROBID processed another document in it, or failed for at most MAX_FAILED_ALONE documents, for all
        of which it had failed in an earlier run that counts. Return the number of unused values that were removed; `at`
        is not used.
        """
        count = super().finish(at, pulse)
        with self._writing():
            run = self._connection.execute
            failures = run(_TRANSIENT_QUERY).fetchall()
            are_few = len(failures) <= MAX_FAILED_ALONE
            run_counts = bool(failures) and run(f"{_PROCESSED_QUERY} LIMIT 1").fetchone() is not None
            run_counts |= are_few and all(failed_runs for _, _, failed_runs, _ in failures)
            for attempt, asks, failed_runs, all_failed_runs in failures:
                name, address = json.loads(asks)[-1]
                is_final = failed_runs + run_counts >= MAX_FAILED_RUNS
                is_final |= are_few and all_failed_runs + 1 >= MAX_FAILED_RUNS_IN_ALL
                new_name = final_name(name) if is_final else earlier_name(name)
                run("INSERT OR IGNORE INTO waiting VALUES (?, ?)", (attempt, json.dumps([[new_name, address]])))
                run(_COUNT_RUN, (run_counts, attempt))
            run("UPDATE asked SET is_new = 0 WHERE is_new")
        return count

    def ask_again(self, names: Sequence[str], reason: str, *, dry_run: bool) -> list[str]:
        """Let the next run send papers to GROBID again; return their keys, in order.

        `names` are the keys of papers; if it is empty, all papers are meant. If `reason` is not empty, only papers
        whose last outcome has this reason or status are sent. Papers that GROBID has not answered yet, and papers that
        will be sent again in any case, are left out. With `dry_run`, nothing is changed.
        """
        with self._writing():
            run = self._connection.execute
            rows = run(_ANSWERED_QUERY, (json.dumps([*names]), reason.lower())).fetchall()
            for attempt, asks, _ in () if dry_run else rows:
                name, address = json.loads(asks)[-1]
                run(
                    "INSERT OR IGNORE INTO waiting VALUES (?, ?)",
                    (attempt, json.dumps([[earlier_name(name), address]])),
                )
                run(_RESET_RUNS, (attempt,))
        return sorted({key for _, _, key in rows})

    def requests(self) -> list[tuple[int, str, int, int]]:
        """Return (attempt, its last requests as JSON, failed runs that count, all failed runs) for each attempt."""
        with self._guarded():
            return self._connection.execute("SELECT attempt, asks, failed_runs, all_failed_runs FROM asked").fetchall()

    def carry_over(self, old_store: RecordStore, sources: Collection[str], damaged: Sequence[int] = ()) -> None:
        """Copy what `RecordStore.carry_over` copies, and the requests; let the next run repeat transient outcomes."""
        super().carry_over(old_store, sources, damaged)
        requests = old_store.requests() if isinstance(old_store, PaperStore) else []
        with self._writing():
            run = self._connection.execute
            insert = "INSERT OR IGNORE INTO asked (attempt, asks, failed_runs, all_failed_runs) VALUES (?, ?, ?, ?)"
            self._connection.executemany(insert, requests)
            for attempt, asks, *_ in run(_TRANSIENT_QUERY).fetchall():
                name, address = json.loads(asks)[-1]
                run(
                    "INSERT OR IGNORE INTO waiting VALUES (?, ?)",
                    (attempt, json.dumps([[earlier_name(name), address]])),
                )
            run("UPDATE asked SET is_new = 0")

    def stale_keys(self, limit: int, after: str = "") -> list[str]:
        """Return the keys of papers whose rows are out of date, in order: the first `limit` keys above `after`."""
        query = "SELECT key FROM touched WHERE key > ? ORDER BY key LIMIT ?"
        with self._guarded():
            return [key for (key,) in self._connection.execute(query, (after, limit))]

    def count_stale(self) -> int:
        """Return the number of papers whose rows are out of date."""
        with self._guarded():
            return int(self._connection.execute("SELECT count(*) FROM touched").fetchone()[0])

    def up_to_date_keys(self, registered: Sequence[str]) -> list[str]:
        """Return those of the `registered` keys whose papers have a record and an up-to-date row."""
        query = """
            SELECT j.value FROM json_each(?) j WHERE NOT EXISTS (SELECT 1 FROM touched t WHERE t.key = j.value)
                AND EXISTS (SELECT 1 FROM record r WHERE r.key = j.value)
        """
        with self._guarded():
            return [key for (key,) in self._connection.execute(query, (json.dumps([*registered]),))]

    def mark_stale(self, keys: Iterable[str] | None = None) -> None:
        """Add papers (all if `keys` is None) to the list of papers whose rows are out of date."""
        with self._writing():
            if keys is None:
                self._connection.execute("INSERT OR IGNORE INTO touched SELECT key FROM record")
            else:
                self._connection.executemany("INSERT OR IGNORE INTO touched VALUES (?)", ((key,) for key in keys))

    def mark_written(self, keys: Sequence[str]) -> None:
        """Remove papers from the list of papers whose rows are out of date."""
        with self._writing():
            self._connection.executemany("DELETE FROM touched WHERE key = ?", ((key,) for key in keys))

    def paper(self, key: str) -> PaperRecord | None:
        """Return the latest record of a paper, which is also the best, or None if the store has none."""
        with self._guarded():
            rows = self._connection.execute(_OBSERVATIONS_QUERY, (key,)).fetchall()
        if not rows:
            return None
        first_attempt, (_, value, aside) = rows[0][0], rows[-1]
        return PaperRecord(key, json.loads(value), json.loads(aside) if aside else {}, first_attempt, len(rows))

    def skipped_without_record(self) -> dict[str, int]:
        """Return a dict from reason to the number of attempts that were skipped and have no record.

        Of an attempt that was skipped for several reasons, the first in alphabetical order counts.
        """
        query = """
            SELECT reason, count(*) FROM (
                SELECT min(reason) AS reason FROM skipped s
                WHERE NOT EXISTS (SELECT 1 FROM observation o WHERE o.attempt = s.attempt) GROUP BY s.attempt
            ) GROUP BY reason
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
CREATE TABLE IF NOT EXISTS row (key TEXT PRIMARY KEY, columns INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS former_row (
    place TEXT, key TEXT, columns INTEGER NOT NULL, PRIMARY KEY (place, key)
) STRICT, WITHOUT ROWID;
"""
_ROWS_WITH_CELLS = "row WHERE columns <> 0"


class RowRegister(SqliteStore):
    """The register of rows that windrow wrote in, and of the columns that it wrote: other cells are of other programs.

    It also stores texts by name (`meta`). Rows of former tables stay registered by the `place` of each table, so that
    their cells are windrow's own if the settings lead back to it, and a takedown finds them.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, _ROWS_SCHEMA)
        self._folder = path.parent

    def mark(self) -> StoreMark:
        """Return of which ledger the rows are, and the number of the last attempt from which they may be."""
        return StoreMark.read(self.meta("mark"))

    def set_mark(self, mark: StoreMark) -> None:
        """Store a mark."""
        self.put_meta("mark", mark.spell())

    def make_places_relative(self) -> None:
        """Remove the register's folder from the places of tables in it, which an earlier windrow wrote as a whole."""
        start = json.dumps([f"{self._folder}/"]).removesuffix('"]')
        for table, column in (("former_row", "place"), ("meta", "value")):
            condition = f"{column} >= ? AND {column} < ?"
            values = (start, f"{start[:-1]}0")  # "0" is the character after "/"
            with self._guarded():
                is_needed = self._connection.execute(
                    f"SELECT 1 FROM {table} WHERE {condition} LIMIT 1", values
                ).fetchone()
            if is_needed:
                statement = f"UPDATE {table} SET {column} = '[\"' || substr({column}, ?) WHERE {condition}"
                with self._writing():
                    self._connection.execute(statement, (len(start) + 1, *values))

    def own_columns(self, keys: Sequence[str]) -> dict[str, frozenset[str]]:
        """Return a dict from paper to the columns that windrow wrote; papers without a registered row are left out."""
        with self._guarded():
            query = "SELECT key, columns FROM row WHERE key IN (SELECT value FROM json_each(?))"
            rows = self._connection.execute(query, (json.dumps([*keys]),))
            return {key: unpack_columns(columns) for key, columns in rows}

    def rows_from(self, position: int) -> Iterator[tuple[str, frozenset[str]]]:
        """Yield (key, columns that windrow wrote) of each row that has any, in the order of keys.

        Start with the row at `position`, which counts from 0, and end with the row before it.
        """
        query = f"SELECT key, columns FROM {_ROWS_WITH_CELLS} ORDER BY key LIMIT ? OFFSET ?"
        with self._guarded():
            for limit, offset in ((-1, position), (position, 0)):
                for key, columns in self._connection.execute(query, (limit, offset)):
                    yield key, unpack_columns(columns)

    def count_rows(self) -> int:
        """Return the number of rows that `rows_from` yields."""
        with self._guarded():
            return int(self._connection.execute(f"SELECT count(*) FROM {_ROWS_WITH_CELLS}").fetchone()[0])

    def put(self, columns_by_key: Mapping[str, Iterable[str]]) -> None:
        """Register for each paper the columns that windrow wrote in its row, instead of those that are registered."""
        rows = [(key, pack_columns(columns)) for key, columns in columns_by_key.items()]
        statement = "INSERT INTO row VALUES (?, ?) ON CONFLICT DO UPDATE SET columns = excluded.columns"
        with self._writing():
            self._connection.executemany(statement, rows)

    def remove(self, keys: Iterable[str]) -> None:
        """Remove rows from the register, because the table no longer has what windrow wrote in them."""
        self._delete("row", "key = ?", [(key,) for key in keys])

    def remove_former(self, place: str, keys: Iterable[str]) -> None:
        """Remove rows of a former table from the register."""
        self._delete("former_row", "place = ? AND key = ?", [(place, key) for key in keys])

    def _delete(self, table: str, condition: str, parameters: Sequence[tuple[str, ...]]) -> None:
        with self._guarded():
            self._connection.execute("PRAGMA secure_delete = ON").fetchall()
        with self._writing():
            self._connection.executemany(f"DELETE FROM {table} WHERE {condition}", parameters)

    def use_place(self, former_place: str, place: str) -> None:
        """Keep the registered rows as those of `former_place`, and register the rows known from `place` instead."""
        with self._writing():
            run = self._connection.execute
            run("INSERT OR IGNORE INTO former_row SELECT ?, key, columns FROM row WHERE true", (former_place,))
            run("DELETE FROM row")
            run("INSERT INTO row SELECT key, columns FROM former_row WHERE place = ?", (place,))
            run("DELETE FROM former_row WHERE place = ?", (place,))
            run("UPDATE meta SET value = ? WHERE name = 'made'", (place,))

    def former_rows(self) -> Iterator[tuple[str, str]]:
        """Yield (place, key) of each row of former tables."""
        with self._guarded():
            yield from self._connection.execute("SELECT place, key FROM former_row ORDER BY place, key")

    def keys(self) -> list[str]:
        """Return the keys of all registered rows."""
        with self._guarded():
            return [key for (key,) in self._connection.execute("SELECT key FROM row ORDER BY key")]

    def meta(self, name: str) -> str:
        """Return the text that is stored under a name; empty if there is none."""
        with self._guarded():
            row = self._connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return str(row[0]) if row else ""

    def put_meta(self, name: str, text: str) -> None:
        """Store a text under a name."""
        with self._guarded():
            self._connection.execute(
                "INSERT INTO meta VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value", (name, text)
            )
