"""The part of a store of records with the documents and entries that steps skipped."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from windrow.reasons import BY_RULE, Reason
from windrow.stores.record_versions import Skipped
from windrow.stores.sqlite import SqliteStore

_OF_ATTEMPTS = "attempt IN (SELECT value FROM json_each(?))"
INSERT_SKIPPED = """
INSERT INTO skipped (attempt, key, reason, message, url, source, number, replaced) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET number = number + excluded.number
"""
MARK_REPLACED = "UPDATE skipped SET replaced = 1 WHERE url = ? AND source = ? AND attempt < ?"
"""The statement after which a later document of the address counts, with what it skipped itself."""

_NOT_IGNORED = """NOT EXISTS (
    SELECT 1 FROM json_each(?) WHERE key = reason AND value IN ('', message))"""
# What a cap leaves out of a document is one entry.
_COUNT = "sum(CASE reason WHEN 'capped' THEN 1 ELSE {number} END)"
# An earlier windrow did not store the source of an entry: it is mended by any source, and followed by any skip.
# What is named by its address is one entry, although each list that has it may have another address.
_UNREPAIRED = f"""
WITH last AS (SELECT url, {{source}} AS source, max(attempt) AS attempt FROM skipped GROUP BY 1, 2),
    latest AS (SELECT url, max(attempt) AS attempt FROM skipped GROUP BY url),
    unrepaired AS (SELECT last.source, reason, key, {{number}} AS number,
        rank() OVER (PARTITION BY last.source, key ORDER BY last.attempt DESC) AS place
FROM last JOIN latest USING (url) JOIN skipped s ON s.attempt = last.attempt AND s.url = last.url WHERE {_NOT_IGNORED}
AND (last.source <> '' OR last.attempt = latest.attempt) AND NOT {{replaced}}
AND NOT EXISTS (SELECT 1 FROM record r JOIN observation o ON o.record = r.id
    WHERE r.key = s.key AND o.attempt > last.attempt AND last.source IN ('', o.source))
AND NOT EXISTS (SELECT 1 FROM observation o WHERE o.attempt > last.attempt AND o.url = last.url
    AND last.source IN ('', o.source)))
SELECT source, reason, {_COUNT} FROM unrepaired WHERE place = 1 OR instr(key, '://') = 0 GROUP BY 1, 2
"""
_ADDED_COLUMNS = {
    "source": "TEXT NOT NULL DEFAULT ''", "number": "INTEGER NOT NULL DEFAULT 1",
    "replaced": "INTEGER NOT NULL DEFAULT 0",
}  # fmt: skip


class SkippedCounts(SqliteStore):
    """A store with the tables of `record_tables`, which counts what steps skipped."""

    def count_skipped(self, attempts: tuple[int, int], ignored: Mapping[str, str]) -> dict[str, int]:
        """Count the documents and entries that were skipped in a range of attempts (first, last), by reason.

        `ignored` maps reasons to messages. What was skipped with one of these reasons and its message is not counted;
        an empty message means any message.
        """
        query = f"SELECT reason, {_COUNT} FROM skipped WHERE attempt BETWEEN ? AND ? AND {_NOT_IGNORED} GROUP BY reason"
        return dict(self._counts(query, (*attempts, json.dumps(ignored))))

    def count_unrepaired(self, ignored: Mapping[str, str]) -> dict[str, int]:
        """Count the documents and entries that are still skipped, by reason; see `count_unrepaired_by_source`."""
        counts: Counter[str] = Counter()
        for (_, reason), number in self.count_unrepaired_by_source(ignored).items():
            counts[reason] += number
        return dict(counts)

    def count_unrepaired_by_source(self, ignored: Mapping[str, str]) -> dict[tuple[str, str], int]:
        """Count the documents and entries that are still skipped, by source and reason.

        For each address of a source, only the skips of its last attempt with any are counted, and only if the source's
        address was not read later. An entry that is named by its own address is counted once for each source. A record
        that the source observed later, at any address, is not counted. The source is empty if an earlier windrow stored
        an entry. For `ignored` see `count_skipped`.
        """
        rows = self._counts(_UNREPAIRED, (json.dumps(ignored),))
        return {(source, reason): number for source, reason, number in rows}

    def _counts(self, query: str, parameters: tuple[int | str, ...]) -> list[Any]:
        with self._guarded():
            for name in self._lacking_columns():  # of an earlier windrow, and read-only
                query = query.replace(f"{{{name}}}", _ADDED_COLUMNS[name].rpartition(" ")[2])
            for name in _ADDED_COLUMNS:
                query = query.replace(f"{{{name}}}", name)
            return self._connection.execute(query, parameters).fetchall()

    def _lacking_columns(self) -> list[str]:
        rows = self._connection.execute("SELECT name FROM pragma_table_info('skipped')").fetchall()
        return [name for name in _ADDED_COLUMNS if (name,) not in rows]

    def _add_columns(self) -> None:
        """Add the columns that an earlier windrow did not have."""
        if self._lacking_columns():
            with self._writing():
                for name in self._lacking_columns():  # another process may have added some meanwhile
                    self._connection.execute(f"ALTER TABLE skipped ADD COLUMN {name} {_ADDED_COLUMNS[name]}")

    def skipped(self, key: str = "", url: str = "", attempts: Sequence[int] = ()) -> list[Skipped]:
        """Return the skipped documents and entries with the key `key`, with the address `url`, or from `attempts`.

        An empty key or address is ignored. A document or entry that meets several conditions is returned several times.
        """
        query = "SELECT attempt, key, url, reason, message FROM skipped WHERE {} ORDER BY attempt, key"
        rows = [*self._rows_of_attempts(query.format(_OF_ATTEMPTS), attempts)]
        with self._guarded():
            for column, value in (("key", key), ("url", url)):
                rows += self._connection.execute(query.format(f"{column} = ?"), (value,)).fetchall() if value else ()
        return [Skipped._make((*row[:3], Reason(row[3]), row[4])) for row in rows]

    def left_out(self, keys: Sequence[str]) -> list[str]:
        """Return those of `keys`, sorted, under which something was skipped for a reason that is not in BY_RULE."""
        query = "SELECT DISTINCT key FROM skipped WHERE key IN (SELECT value FROM json_each(?)) AND reason NOT IN "
        query += f"({','.join('?' * len(BY_RULE))}) ORDER BY key"
        with self._guarded():
            return [key for (key,) in self._connection.execute(query, (json.dumps(keys), *BY_RULE))]

    def _rows_of_attempts(self, query: str, attempts: Sequence[int], *parameters: str) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query whose first parameter is the JSON list of the attempts."""
        with self._guarded():
            yield from self._connection.execute(query, (json.dumps([*attempts]), *parameters))

    def undone_attempts(self) -> set[int]:
        """Return the attempts of which something was skipped, and those that wait for services."""
        with self._guarded():
            rows = self._connection.execute("SELECT attempt FROM skipped UNION SELECT attempt FROM waiting")
            return {attempt for (attempt,) in rows}

    def copy_undone(self, old_store: SkippedCounts, attempts: Sequence[int]) -> None:
        """Copy from another store what it skipped of these attempts, and what they wait for."""
        skipped = old_store._rows_of_attempts(
            f"SELECT attempt, key, reason, message, url, source, number, replaced FROM skipped WHERE {_OF_ATTEMPTS}",
            attempts,
        )
        waiting = old_store._rows_of_attempts(f"SELECT attempt, asks FROM waiting WHERE {_OF_ATTEMPTS}", attempts)
        with self._writing():
            self._connection.executemany(INSERT_SKIPPED, skipped)
            self._connection.executemany("INSERT OR IGNORE INTO waiting (attempt, asks) VALUES (?, ?)", waiting)
