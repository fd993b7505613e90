"""The writer of a Summary Database: each batch of crawls is one transaction, with its checkpoint."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from windrow.collections.pages.database.batch import NOT_READ, SummaryBatch
from windrow.collections.pages.database.entries import BY_HEADER, SummaryEntry
from windrow.collections.pages.database.near_duplicates import follow, update_duplicates
from windrow.collections.pages.database.page_parts import (
    VERSION_BYTES,
    ReadingWriter,
    keep_present_links,
    named_addresses,
    prune_past_links,
)
from windrow.collections.pages.database.writer import ATTEMPT, SummaryWriter, statements
from windrow.contract import ContentCheck
from windrow.errors import StoreError
from windrow.stores.settled import adopt_sessions, note_earlier_sessions, note_sessions
from windrow.stores.sqlite import close_on_failure, open_database

SCHEMA_KEY, SCHEMA_VERSION = "windrow.layout", "4"
"""The key in `unobtanium_database_info` for the version of our own tables, and that version."""

PILES_PER_TRANSACTION = 500
"""Text piles whose duplicates are updated in one transaction."""

_PAGE = 16384
"""Bytes of an SQLite page: most texts then fit into one or two pages instead of a long chain."""

_PRAGMAS = ("cache_size = -65536", "wal_autocheckpoint = 4096")
"""A cache for the upper levels of large indexes, and fewer WAL checkpoints."""

_SAME = """
SELECT 1 FROM windrow_observation WHERE url_id = (SELECT url_id FROM url WHERE str_url = ?) AND payload = ?
AND sight = 'content' AND identity <> x'' AND reason NOT IN (SELECT value FROM json_each(?)) LIMIT 1
"""


_CONTENTS = """
SELECT u.str_url, o.entity_generation_id, o.said, o.at FROM json_each(?) j
CROSS JOIN url u ON u.str_url = j.value CROSS JOIN windrow_observation o ON o.url_id = u.url_id
ORDER BY u.str_url, o.at, o.crawl_uuid
"""


_ADDRESSES = "SELECT url_id FROM entity_generation WHERE entity_generation_id IN (SELECT value FROM json_each(?))"


class SummaryStore(SummaryWriter):
    """One Summary Database in an SQLite file, written by one process at a time."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, ("base", "summary"), _PRAGMAS, page=_PAGE)
        self._readings = ReadingWriter(self._connection, self._catalogue)
        with close_on_failure(self.close), self._writing():
            self._make_own_tables()

    def _make_own_tables(self) -> None:
        """Create our own tables if missing; raise StoreError if they have another version."""
        has_tables = self._query("SELECT 1 FROM sqlite_master WHERE name = 'windrow_observation'")
        if has_tables and self._query("SELECT value FROM unobtanium_database_info WHERE key = ?", SCHEMA_KEY) != [
            (SCHEMA_VERSION,)
        ]:
            raise StoreError(
                f"{self.path} was made by another version of windrow",
                hint="move it away, then rebuild it from the archive: windrow run --from summarise",
            )
        for statement in statements("beside", "near", "representative", "wording"):
            self._connection.execute(statement)
        self._connection.execute(
            "INSERT OR IGNORE INTO unobtanium_database_info VALUES (?, ?)", (SCHEMA_KEY, SCHEMA_VERSION)
        )

    def note_earlier_sessions(self, read: Callable[[], Mapping[int, int]]) -> None:
        """Record the last attempt of each earlier session, as returned by `read`, if no session is recorded yet."""
        with self._writing():
            note_earlier_sessions(self._connection, read)

    def adopt_sessions(self, path: Path) -> None:
        """Copy the records of sessions from the store at `path`, which this one replaces."""
        with closing(open_database(path, read_only=True)) as replaced, self._writing():
            adopt_sessions(self._connection, replaced)

    def settle(self, entries: Sequence[SummaryEntry], checkpoint: int, session: int = 0) -> None:
        """Write a batch of crawls; `checkpoint` is the ledger's number of its last attempt.

        The changes belong to `session`; with 0, to the session that writes next. All observations of each address are
        folded again, so neither the order of batches nor a repeated batch makes a difference.
        """
        with self._writing():
            if entries:
                SummaryBatch(self._connection, self._catalogue, self._readings).settle(entries)
            self._set_checkpoint(ATTEMPT, checkpoint)
            note_sessions(self._connection, {session: checkpoint})

    def same(self, url: str, payload: str) -> bool:
        """Tell whether a body with this digest was read at this address before."""
        return bool(self._query(_SAME, url, payload, NOT_READ))

    def is_temporary(self, url: str, payload: str) -> bool:
        """Tell whether the summary of this body at this address depended on its header, or expires."""
        return bool(self._query(_SAME, url, f"{payload} {BY_HEADER}", NOT_READ))

    def changes(self, urls: Iterable[str]) -> dict[str, list[ContentCheck]]:
        """Return for each address the results of its attempts, oldest first, without the first attempt with content.

        Another text or description counts as changed; `ContentCheck(None)` is an attempt that found no content.
        """
        checks: dict[str, list[ContentCheck]] = {}
        for url, rows in groupby(self._query(_CONTENTS, json.dumps(list(urls))), itemgetter(0)):
            looks_at_url = checks[url] = []
            previous: tuple[int, bytes] | None = None
            first_seen = 0
            for _, generation, wording, at in rows:
                if generation is None:
                    looks_at_url += [ContentCheck(None)] if previous is not None else []
                    continue
                content = (
                    generation,
                    wording[:VERSION_BYTES] or (previous[1] if previous and previous[0] == generation else b""),
                )
                first_seen = at if content != previous else first_seen
                looks_at_url += [ContentCheck(content != previous, at - first_seen)] if previous is not None else []
                previous = content
        return checks

    def to_read_again(self, limit: int) -> list[int]:
        """Return the attempts that describe a generation but have to be read again for that."""
        return [
            row[0] for row in self._query("SELECT DISTINCT attempt FROM windrow_owed ORDER BY attempt LIMIT ?", limit)
        ]

    def read_again(self, readings: Mapping[int, SummaryEntry | None]) -> None:
        """Describe generations by the readings of these attempts; for None, the present description is kept."""
        with self._writing():
            summaries, read = {}, []
            for attempt, entry in readings.items():
                sql = "SELECT entity_generation_id FROM windrow_owed WHERE attempt = ?"
                for (number,) in self._connection.execute(sql, (attempt,)).fetchall():
                    if entry is not None and entry.summary is not None:
                        summaries[number] = entry.summary
                        read.append((number, attempt))
            keep_present_links(self._connection, summaries)
            self._readings.clear(summaries)
            self._readings.write(summaries, self._catalogue.urls(named_addresses(summaries.values())))
            rows = [(attempt,) for attempt in readings]
            self._connection.executemany("DELETE FROM windrow_owed WHERE attempt = ?", rows)
            self._connection.executemany("INSERT OR REPLACE INTO windrow_reading VALUES (?, ?)", read)
            # Also for generations without a description so far: their past links were not compared with present ones.
            ids = self._connection.execute(_ADDRESSES, (json.dumps(list(summaries)),)).fetchall()
            prune_past_links(self._connection, {row[0] for row in ids})
            touched = [(number,) for number in summaries]
            self._connection.executemany("INSERT OR IGNORE INTO windrow_touched VALUES (?)", touched)

    def finish(self, at: int, pulse: Callable[[], bool] = lambda: True) -> int:
        """Update duplicates and near-duplicates; the rows of exact duplicates begin and end at the time `at`.

        `pulse` is called between transactions and returns whether to go on; the rest is done by the next call.
        Returns the number of text piles and generations that were processed.
        """
        done = 0
        steps: tuple[Callable[[], int], ...] = (lambda: self._update_duplicates(at), lambda: follow(self._connection))
        for work in steps:
            while pulse():
                with self._writing():
                    count = work()
                if not count:
                    break
                done += count
        return done

    def _update_duplicates(self, at: int) -> int:
        """Update the duplicates of some text piles; return the number of piles."""
        rows = self._connection.execute(
            "SELECT text_pile_id FROM windrow_regroup LIMIT ?", (PILES_PER_TRANSACTION,)
        ).fetchall()
        update_duplicates(self._connection, [row[0] for row in rows], at)
        self._connection.executemany("DELETE FROM windrow_regroup WHERE text_pile_id = ?", rows)
        return len(rows)
