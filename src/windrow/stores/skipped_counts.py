"""The part of a store of records that counts the documents and entries that steps skipped."""

from __future__ import annotations

import json
from collections.abc import Mapping

from windrow.stores.sqlite import SqliteStore

_NOT_IGNORED = """NOT EXISTS (
    SELECT 1 FROM json_each(?) WHERE key = reason AND value IN ('', message))"""
_UNREPAIRED = f"""
WITH last AS (SELECT url, max(attempt) AS attempt FROM skipped GROUP BY url)
SELECT reason, count(*) FROM last JOIN skipped USING (attempt, url) WHERE {_NOT_IGNORED}
AND NOT EXISTS (SELECT 1 FROM observation o WHERE o.attempt > last.attempt AND o.url = last.url) GROUP BY reason
"""


class SkippedCounts(SqliteStore):
    """A store with the tables of `record_tables`, which counts what steps skipped."""

    def count_skipped(self, attempts: tuple[int, int], ignored: Mapping[str, str]) -> dict[str, int]:
        """Count the documents and entries that were skipped in a range of attempts (first, last), by reason.

        `ignored` maps reasons to messages. What was skipped with one of these reasons and its message is not counted;
        an empty message means any message.
        """
        query = f"SELECT reason, count(*) FROM skipped WHERE attempt BETWEEN ? AND ? AND {_NOT_IGNORED} GROUP BY reason"
        with self._guarded():
            return dict(self._connection.execute(query, (*attempts, json.dumps(ignored))))

    def count_unrepaired(self, ignored: Mapping[str, str]) -> dict[str, int]:
        """Count the documents and entries that are still skipped, by reason.

        For each address, only the skips of its last attempt with any are counted, and only if no later attempt
        observed a record there. For `ignored` see `count_skipped`.
        """
        with self._guarded():
            return dict(self._connection.execute(_UNREPAIRED, (json.dumps(ignored),)))
