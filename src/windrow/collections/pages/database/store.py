"""The writer of a Summary Database: batches of crawls in, each one transaction with the checkpoint in it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from windrow.collections.pages.database.batch import NOT_READ, SummaryBatch
from windrow.collections.pages.database.entries import HEADED, SummaryEntry
from windrow.collections.pages.database.near_duplicates import detect, follow
from windrow.collections.pages.database.page_parts import HALF, Readings, addresses, keep_present, prune
from windrow.collections.pages.database.writer import VISIT, SummaryWriter, statements
from windrow.contract import ContentCheck
from windrow.errors import StoreError
from windrow.stores.settled import adopt_sessions, note_earlier_sessions, note_sessions
from windrow.stores.sqlite import close_on_failure, open_database

LAYOUT, VERSION = "windrow.layout", "4"
"""The key in `unobtanium_database_info` of the version of our own tables, and that version."""

GROUPS = 500
"""Text piles whose duplicates are looked for in one transaction."""

_PAGE = 16384
"""Bytes of a page: a text then lies in one or two of them instead of a chain of many."""

_PRAGMAS = ("cache_size = -65536", "wal_autocheckpoint = 4096", "foreign_keys = OFF")
"""Room for the tops of the large indexes, fewer copies of their pages; the writer knows whom its rows refer to."""

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

    def __init__(self, url: str) -> None:
        """Open the database at `url` (`sqlite:///FILE`), making what is missing of it."""
        super().__init__(url, ("base", "summary"), _PRAGMAS, page=_PAGE)
        self._readings = Readings(self._link, self._catalogue)
        with close_on_failure(self.close), self._writing():
            self._make_own_tables()

    def _make_own_tables(self) -> None:
        """Make the tables of ours that are missing; raise StoreError where they are of another layout."""
        is_there = self._ask("SELECT 1 FROM sqlite_master WHERE name = 'windrow_observation'")
        if is_there and self._ask("SELECT value FROM unobtanium_database_info WHERE key = ?", LAYOUT) != [(VERSION,)]:
            raise StoreError(
                f"{self.engine.url.database} was made by a windrow from before its first release, or by a newer one",
                hint="move it away: windrow run --from summarise makes it anew from the archive",
            )
        for statement in statements("beside", "near", "representative", "wording"):
            self._link.execute(statement)
        self._link.execute("INSERT OR IGNORE INTO unobtanium_database_info VALUES (?, ?)", (LAYOUT, VERSION))

    def note_earlier_sessions(self, read: Callable[[], Mapping[int, int]]) -> None:
        """Note up to which visit earlier sessions wrote, as `read` says it, where no session is known here."""
        with self._writing():
            note_earlier_sessions(self._link, read)

    def adopt_sessions(self, path: Path) -> None:
        """Let this store, which replaces the one in a file, say of earlier sessions what that one said."""
        with closing(open_database(path, read_only=True)) as before, self._writing():
            adopt_sessions(self._link, before)

    def settle(self, entries: Sequence[SummaryEntry], checkpoint: int, session: int = 0) -> None:
        """Put a batch of crawls on record, and the ledger's number of the last visit that is told by it.

        What changed by it belongs to the session; with number 0, to the one that writes next. All that was ever seen
        of each address is folded again, so that neither the order of batches nor telling something twice makes a
        difference.
        """
        with self._writing():
            if entries:
                SummaryBatch(self._link, self._catalogue, self._readings).settle(entries)
            self._come(VISIT, checkpoint)
            note_sessions(self._link, {session: checkpoint})

    def same(self, url: str, payload: str) -> bool:
        """Tell whether these bytes were read at this address before."""
        return bool(self._ask(_SAME, url, payload, NOT_READ))

    def is_temporary(self, url: str, payload: str) -> bool:
        """Tell whether what these bytes said at this address holds for some time only, or was said by their head."""
        return bool(self._ask(_SAME, url, f"{payload} {HEADED}", NOT_READ))

    def changes(self, urls: Iterable[str]) -> dict[str, list[ContentCheck]]:
        """Return of addresses what each visit after the first with a content found, oldest first.

        Another text or description is another content; where nothing was there, it is not known.
        """
        found: dict[str, list[ContentCheck]] = {}
        for url, rows in groupby(self._ask(_CONTENTS, json.dumps(list(urls))), itemgetter(0)):
            seen = found[url] = []
            before: tuple[int, bytes] | None = None
            since = 0
            for _, generation, said, at in rows:
                if generation is None:
                    seen += [ContentCheck(None)] if before is not None else []
                    continue
                content = (generation, said[:HALF] or (before[1] if before and before[0] == generation else b""))
                since = at if content != before else since
                seen += [ContentCheck(content != before, at - since)] if before is not None else []
                before = content
        return found

    def to_read_again(self, limit: int) -> list[int]:
        """Return visits whose reading is to stand for a generation, and was not at hand."""
        return [row[0] for row in self._ask("SELECT DISTINCT visit FROM windrow_owed ORDER BY visit LIMIT ?", limit)]

    def read_again(self, readings: Mapping[int, SummaryEntry | None]) -> None:
        """Let the readings of these visits stand for the generations that wait for them; None leaves what is there."""
        with self._writing():
            told, read = {}, []
            for visit, entry in readings.items():
                sql = "SELECT entity_generation_id FROM windrow_owed WHERE visit = ?"
                for (number,) in self._link.execute(sql, (visit,)).fetchall():
                    if entry is not None and entry.summary is not None:
                        told[number] = entry.summary
                        read.append((number, visit))
            keep_present(self._link, told)
            self._readings.clear(told)
            self._readings.write(told, self._catalogue.urls(addresses(told.values())))
            rows = [(visit,) for visit in readings]
            self._link.executemany("DELETE FROM windrow_owed WHERE visit = ?", rows)
            self._link.executemany("INSERT OR REPLACE INTO windrow_reading VALUES (?, ?)", read)
            # Of those too that nothing described so far: what their crawls saw had no present set to be compared with.
            ids = self._link.execute(_ADDRESSES, (json.dumps(list(told)),)).fetchall()
            prune(self._link, {row[0] for row in ids})
            touched = [(number,) for number in told]
            self._link.executemany("INSERT OR IGNORE INTO windrow_touched VALUES (?)", touched)

    def finish(self, at: int, pulse: Callable[[], bool] = lambda: True) -> int:
        """Bring duplicates and near-duplicates up to date; exact ones begin and end at the time `at`.

        `pulse` is called between transactions and says whether to go on; what is left is done the next time.
        Returns how many text piles and generations were looked at.
        """
        done = 0
        steps: tuple[Callable[[], int], ...] = (lambda: self._regroup(at), lambda: follow(self._link))
        for work in steps:
            while pulse():
                with self._writing():
                    count = work()
                if not count:
                    break
                done += count
        return done

    def _regroup(self, at: int) -> int:
        """Look at the groups of some text piles again, and return of how many."""
        rows = self._link.execute("SELECT text_pile_id FROM windrow_regroup LIMIT ?", (GROUPS,)).fetchall()
        detect(self._link, [row[0] for row in rows], at)
        self._link.executemany("DELETE FROM windrow_regroup WHERE text_pile_id = ?", rows)
        return len(rows)
