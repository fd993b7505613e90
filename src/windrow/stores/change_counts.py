"""The part of a store of records that counts changes, and keeps the counts of each session's attempts.

To count the changes of a session with 100,000 records, as many records are looked up. So the counts of the attempts
that a session settles are kept as rows of the table `meta` when the store is finished, with the first and last attempt
in their names. They are removed when what those attempts observed, or what was observed before it, changes.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable

from windrow.stores.record_versions import HAS_COMPLETED, Removal, count_changed, count_written
from windrow.stores.settled import attempts_of_sessions
from windrow.stores.skipped_counts import SkippedCounts

_OBSERVING_ATTEMPTS = """
SELECT (SELECT min(attempt) FROM observation WHERE attempt >= ?1),
    (SELECT max(attempt) FROM observation WHERE attempt <= ?2)
"""
# Observations of the attempts from ?1 to ?2 that come before one of an earlier attempt, by the times they have.
_IS_BEFORE_OTHERS = """
SELECT 1 FROM observation o WHERE o.attempt BETWEEN ?1 AND ?2
AND EXISTS (SELECT 1 FROM observation p WHERE p.record = o.record AND p.at > o.at AND p.attempt < ?1) LIMIT 1
"""
DELETE_UNUSED_VALUES = "DELETE FROM value WHERE NOT EXISTS (SELECT 1 FROM observation o WHERE o.value = value.id)"
REMOVE_COUNTS = "DELETE FROM meta WHERE name GLOB 'changes *'"
"""The statement after which no counts are kept, since what some of them count has changed."""


class ChangeCounts(SkippedCounts):
    """A store with the tables of `record_tables`, which counts new, changed and gone records."""

    removal: Removal | None = None
    """How a record states that its subject is gone, if any does: its counts are kept so."""

    _new_attempts: tuple[int, int] | None = None  # the first and last that the writing session settled first
    _are_kept = False  # whether their counts are kept

    def count_changes(
        self, numbers: tuple[int, int], removal: Removal | None = None, *, by_attempt: bool = False
    ) -> dict[str, Counter[str]]:
        """Count by source and kind the changes that sessions (first, last) wrote, or that attempts observed."""
        with self._guarded():
            attempts = numbers if by_attempt else attempts_of_sessions(self._connection, numbers)
            if not by_attempt and self._connection.execute(HAS_COMPLETED, (*numbers, *attempts)).fetchone():
                return count_written(self._connection, numbers, removal)
            first, last = self._connection.execute(_OBSERVING_ATTEMPTS, attempts).fetchone()
            if first is None or last is None or first > last:
                return {}
            name = _name_counts((first, last), removal)
            row = self._connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
            if row is None:
                return count_changed(self._connection, (first, last), removal)
        return {source: Counter(kinds) for source, kinds in json.loads(row[0]).items()}

    def finish(self, at: int, pulse: Callable[[], bool]) -> int:
        """Remove values that no observation has any more, and return their number. The parameters are not used.

        The changes that the writing session's attempts observed are counted, and the counts kept.
        """
        del at, pulse
        with self._writing():
            removed_count = self._connection.execute(DELETE_UNUSED_VALUES).rowcount
            self._keep_counts()
        return removed_count

    def _keep_counts(self) -> None:
        run = self._connection.execute
        first, last = run(_OBSERVING_ATTEMPTS, self._new_attempts or (1, 0)).fetchone()
        if self._new_attempts is None or first is None or last is None or first > last:
            return
        if (
            run("SELECT 1 FROM meta WHERE name GLOB 'changes *'").fetchone()
            and run(_IS_BEFORE_OTHERS, (first, last)).fetchone()
        ):
            run(REMOVE_COUNTS)
        counts = json.dumps(count_changed(self._connection, (first, last), self.removal))
        self._are_kept = True
        run("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_name_counts((first, last), self.removal), counts))


def _name_counts(attempts: tuple[int, int], removal: Removal | None) -> str:
    return " ".join(("changes", *map(str, attempts), *(removal[:2] if removal else ())))
