"""The writer of a Summary Database: each batch of crawls is one transaction, with its checkpoint."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from windrow.collections.pages.database.batch import SummaryBatch
from windrow.collections.pages.database.entries import DEPENDS_ON_HEADER, SummaryEntry
from windrow.collections.pages.database.near_duplicates import update_duplicates, update_touched
from windrow.collections.pages.database.page_parts import (
    VERSION_BYTES,
    PartsWriter,
    copy_present_links,
    list_named_urls,
    prune_past_links,
)
from windrow.collections.pages.database.page_versions import HAS_COMPLETED
from windrow.collections.pages.database.soft_404s import HAS_TABLE, update_suspects
from windrow.collections.pages.database.writer import ATTEMPT, DatabaseWriter, statements
from windrow.contract import ContentCheck
from windrow.errors import StoreError
from windrow.stores.settled import copy_sessions, note_earlier_sessions, note_sessions
from windrow.stores.sqlite import close_on_failure, open_database, store_errors

SCHEMA_KEY, SCHEMA_VERSION = "windrow.layout", "4"
"""The key in `unobtanium_database_info` for the version of windrow's own tables, and their present version."""

PILES_PER_TRANSACTION = 500
"""The maximum number of text piles whose duplicates are updated in one transaction."""

_PAGE_BYTES = 16384
"""The size of an SQLite page. With this size, most texts fit into one or two pages."""

_PRAGMAS = ("cache_size = -65536", "wal_autocheckpoint = 4096")
"""Settings of SQLite: a cache for the upper levels of large indexes, and a log that is emptied less often."""

_SELECT_READING = """
SELECT 1 FROM windrow_observation WHERE url_id = (SELECT url_id FROM url WHERE str_url = ?) AND payload = ?
AND sight = 'content' AND identity <> x'' LIMIT 1
"""


_SELECT_OBSERVATIONS = """
SELECT u.str_url, o.entity_generation_id, o.said, o.at FROM json_each(?) j
CROSS JOIN url u ON u.str_url = j.value CROSS JOIN windrow_observation o ON o.url_id = u.url_id
ORDER BY u.str_url, o.at, o.crawl_uuid
"""


_SELECT_CONTENTS = """
SELECT j.value, o.identity, o.said FROM json_each(?) j LEFT JOIN windrow_observation o ON o.attempt = j.value
"""
_NO_CONTENTS: frozenset[tuple[Any, ...]] = frozenset()
_NOTE_COMPLETED = "INSERT OR IGNORE INTO windrow_completed VALUES (?, ?)"
_SELECT_URL_IDS = "SELECT url_id FROM entity_generation WHERE entity_generation_id IN (SELECT value FROM json_each(?))"
_REGROUP_DUPLICATES = """
INSERT OR IGNORE INTO windrow_regroup
SELECT DISTINCT text_pile_id FROM entity_generation WHERE marked_duplicate AND text_pile_id IS NOT NULL
"""


class SummaryStore(DatabaseWriter):
    """One Summary Database in an SQLite file, written by one process at a time."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, ("base", "summary"), _PRAGMAS, page_bytes=_PAGE_BYTES)
        self._parts_writer = PartsWriter(self._connection, self._id_finder)
        self._session = 0  # the session that wrote last
        self._last_earlier_attempt = 0  # the last attempt that was written before this session
        with close_on_failure(self.close), self._writing():
            self._make_own_tables()

    def _make_own_tables(self) -> None:
        has_tables = self._query("SELECT 1 FROM sqlite_master WHERE name = 'windrow_observation'")
        if has_tables and self._query("SELECT value FROM unobtanium_database_info WHERE key = ?", SCHEMA_KEY) != [
            (SCHEMA_VERSION,)
        ]:
            raise StoreError(
                f"{self.path} was made by another version of windrow",
                hint="move it away, then rebuild it from the archive: windrow run --from summarise",
            )
        is_upgrade = bool(has_tables) and not self._connection.execute(HAS_TABLE).fetchone()[0]
        for statement in statements("beside", "near", "representative", "wording"):
            self._connection.execute(statement)
        if is_upgrade:  # the next run looks for suspects among the texts that several addresses have
            self._connection.execute(_REGROUP_DUPLICATES)
        self._connection.execute(
            "INSERT OR IGNORE INTO unobtanium_database_info VALUES (?, ?)", (SCHEMA_KEY, SCHEMA_VERSION)
        )

    def note_earlier_sessions(self, read_last_attempts: Callable[[], Mapping[int, int]]) -> None:
        """Record the last attempt of each earlier session if no session is recorded yet.

        `read_last_attempts` returns the last attempt of each session; it is called only if it is needed.
        """
        with self._writing():
            note_earlier_sessions(self._connection, read_last_attempts)

    def adopt_sessions(self, path: Path) -> None:
        """Copy the sessions of the replaced store at `path` into this store, which keeps only its own last session."""
        with store_errors(path), closing(open_database(path, read_only=True)) as old_connection, self._writing():
            copy_sessions(self._connection, old_connection)
            if old_connection.execute(HAS_COMPLETED).fetchone()[0]:
                rows = old_connection.execute("SELECT attempt, session FROM windrow_completed").fetchall()
                self._connection.executemany(_NOTE_COMPLETED, rows)

    def settle(self, entries: Sequence[SummaryEntry], checkpoint: int, session: int = 0) -> tuple[()]:
        """Write a batch of crawls. `checkpoint` is the number of its last attempt in the ledger.

        The changes are recorded for `session` or, if that is 0, for the next session that writes. The generations of
        each address are computed again from all its observations, so the result does not depend on the order of batches
        or on repeated batches.
        """
        with self._writing():
            if session != self._session:
                self._session, self._last_earlier_attempt = session, self.checkpoint() if session else 0
            if entries:
                # All attempts of a batch are new, or all were written by earlier sessions, which could not read them.
                is_late = entries[0].crawl.attempt <= self._last_earlier_attempt
                earlier_contents = self._read_contents(entries) if is_late else _NO_CONTENTS
                SummaryBatch(self._connection, self._id_finder, self._parts_writer).settle(entries)
                if is_late:
                    changed = self._read_contents(entries) - earlier_contents
                    self._connection.executemany(_NOTE_COMPLETED, [(attempt, session) for attempt, *_ in changed])
            self._set_checkpoint(ATTEMPT, checkpoint)
            note_sessions(self._connection, {session: checkpoint})
        return ()

    def _read_contents(self, entries: Sequence[SummaryEntry]) -> set[tuple[Any, ...]]:
        """Return the number of each attempt with the hashes of its content and wording, or None if it has none."""
        return {*self._query(_SELECT_CONTENTS, json.dumps([entry.crawl.attempt for entry in entries]))}

    def same(self, url: str, payload: str) -> bool:
        """Return whether the body named `payload` (`steps.name_payload`) was read at the address `url` before.

        A reading that failed, or that read only a part, does not count.
        """
        return bool(self._query(_SELECT_READING, url, payload))

    def is_temporary(self, url: str, payload: str) -> bool:
        """Return whether the body named `payload` was read at `url`, but may have another summary now.

        That is the case if its summary depends on header fields, or if searches must not find the page from a certain
        time on.
        """
        return bool(self._query(_SELECT_READING, url, f"{payload} {DEPENDS_ON_HEADER}"))

    def changes(self, urls: Iterable[str]) -> dict[str, list[ContentCheck]]:
        """Return a dict from each known address to the content checks of its attempts, oldest first.

        Attempts up to the first one that found content are not included. Another text or wording counts as a change;
        `ContentCheck(None)` is an attempt that did not find content.
        """
        checks: dict[str, list[ContentCheck]] = {}
        for url, rows in groupby(self._query(_SELECT_OBSERVATIONS, json.dumps(list(urls))), itemgetter(0)):
            checks_of_url = checks[url] = []
            previous: tuple[int, bytes] | None = None  # generation and hash of the wording
            first_seen = 0
            for _, generation_id, wording_hash, at in rows:
                if generation_id is None:
                    checks_of_url += [ContentCheck(None)] if previous is not None else []
                    continue
                content = (
                    generation_id,
                    wording_hash[:VERSION_BYTES] or (previous[1] if previous and previous[0] == generation_id else b""),
                )
                first_seen = at if content != previous else first_seen
                checks_of_url += [ContentCheck(content != previous, at - first_seen)] if previous is not None else []
                previous = content
        return checks

    def to_read_again(self, limit: int) -> list[int]:
        """Return the numbers of at most `limit` attempts that must be read again to describe a generation."""
        return [
            row[0] for row in self._query("SELECT DISTINCT attempt FROM windrow_owed ORDER BY attempt LIMIT ?", limit)
        ]

    def read_again(self, readings: Mapping[int, SummaryEntry | None]) -> None:
        """Describe generations with new readings. `readings` is a dict from the number of an attempt to its reading.

        A generation whose reading is None or has no summary keeps its description. Afterwards, no attempt in `readings`
        is due to be read again.
        """
        with self._writing():
            summaries, reading_rows = {}, []
            for attempt, entry in readings.items():
                sql = "SELECT entity_generation_id FROM windrow_owed WHERE attempt = ?"
                for (generation_id,) in self._connection.execute(sql, (attempt,)).fetchall():
                    if entry is not None and entry.summary is not None:
                        summaries[generation_id] = entry.summary
                        reading_rows.append((generation_id, attempt))
            copy_present_links(self._connection, summaries)
            self._parts_writer.clear(summaries)
            self._parts_writer.write(summaries, self._id_finder.get_url_ids(list_named_urls(summaries.values())))
            rows = [(attempt,) for attempt in readings]
            self._connection.executemany("DELETE FROM windrow_owed WHERE attempt = ?", rows)
            self._connection.executemany("INSERT OR REPLACE INTO windrow_reading VALUES (?, ?)", reading_rows)
            # The generations have new present links now; past links that are equal to them are not needed.
            url_rows = self._connection.execute(_SELECT_URL_IDS, (json.dumps(list(summaries)),)).fetchall()
            prune_past_links(self._connection, {row[0] for row in url_rows})
            touched = [(generation_id,) for generation_id in summaries]
            self._connection.executemany("INSERT OR IGNORE INTO windrow_touched VALUES (?)", touched)

    def finish(self, now: int, pulse: Callable[[], bool] = lambda: True) -> int:
        """Update duplicates, suspected soft 404s, near-duplicates and representatives.

        New duplicates begin and former duplicates end at `now` (UNIX seconds). `pulse` is called between transactions.
        If it returns False, the work stops, and the next call continues it. Returns the number of text piles and
        generations that were processed.
        """
        total = 0
        steps: tuple[Callable[[], int], ...] = (
            lambda: self._update_duplicates(now),
            lambda: update_touched(self._connection),
        )
        for run_step in steps:
            while pulse():
                with self._writing():
                    count = run_step()
                if not count:
                    break
                total += count
        return total

    def _update_duplicates(self, now: int) -> int:
        """Update duplicates and suspects for the next piles in `windrow_regroup`; return the number of these piles."""
        rows = self._connection.execute(
            "SELECT text_pile_id FROM windrow_regroup LIMIT ?", (PILES_PER_TRANSACTION,)
        ).fetchall()
        pile_ids = [row[0] for row in rows]
        update_duplicates(self._connection, pile_ids, now)
        update_suspects(self._connection, pile_ids)
        self._connection.executemany("DELETE FROM windrow_regroup WHERE text_pile_id = ?", rows)
        return len(rows)
