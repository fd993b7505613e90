"""The search index of a store of records, in a folder beside its file.

The store notes which records were touched, in the transaction in which they were, and what the index has of them once
that is committed. So an index that is behind catches up, and one that is gone, torn or of another file is made anew.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path

from windrow.errors import IndexDamaged, StoreError
from windrow.query.clause import IndexDocument
from windrow.query.likeness import attempts
from windrow.query.parse import Query
from windrow.query.tree import wanted
from windrow.query.word import pieces, words
from windrow.stores.index.folder import index_folder, remove
from windrow.stores.index.fulltext_index import FullTextIndex, searchable, update
from windrow.stores.record_entries import FIELDS, VERSION, FoundEntries, ask, document, entry_of, stamp
from windrow.stores.sqlite import transaction

BATCH = 2_000
"""Records that are committed together."""
_ALL = (
    "DELETE FROM indexed",
    "DELETE FROM unindexed",
    "INSERT INTO unindexed (record) SELECT id FROM record",
)
_NOTE = "INSERT OR REPLACE INTO meta VALUES ('index_commit', ?)"


class RecordIndex:
    """The search index of one store; `connection` is to its file, in autocommit mode."""

    def __init__(self, store: Path, connection: sqlite3.Connection, *, read_only: bool) -> None:
        """Take the store; nothing is opened yet."""
        self.folder = index_folder(store)
        self._in_place = not read_only
        self._run = connection.execute
        self._connection = connection
        # An index belongs to one file: what replaced that file, or was copied over it, has another identity.
        self._version = f"{VERSION} {self._meta('identity')}"

    def _meta(self, name: str) -> int:
        row = self._run("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return int(row[0]) if row else 0

    def update(self, pulse: Callable[[], bool]) -> None:
        """Put in what is not there yet; another process that does so is waited for. `pulse` may end it in between."""
        if self._run("SELECT 1 FROM record UNION ALL SELECT 1 FROM unindexed LIMIT 1").fetchone() is not None:
            update(self.folder, FIELDS, self._version, lambda index: self._fill(index, pulse), pulse)

    def begin_anew(self, pulse: Callable[[], object]) -> None:
        """Make the index anew: what is removed from one stays in its files for a while."""

        def go_on() -> bool:
            pulse()
            return True

        remove(self.folder)
        self.update(go_on)

    def find(self, query: Query, kind: str, *, offset: int, limit: int) -> FoundEntries:
        """Return entries as a query wants them, the best first; `kind` is the type that `type:` knows them by."""
        try:
            return self._find(query, kind, offset, limit, anew=False)
        except IndexDamaged:  # its files were sound when it was opened
            return self._find(query, kind, offset, limit, anew=True)

    def _find(self, query: Query, kind: str, offset: int, limit: int, *, anew: bool) -> FoundEntries:
        index = searchable(
            self.folder, FIELDS, self._version, self._is_behind, self._fill, anew=anew, in_place=self._in_place
        )
        try:
            return self._found(index, query, kind, offset, limit)
        finally:
            index.close()

    def _found(self, index: FullTextIndex, query: Query, kind: str, offset: int, limit: int) -> FoundEntries:
        asked = dict.fromkeys(word for one in wanted(query.root) for word in words(one.text))
        frequency = {word: index.frequency(" ".join(pieces(word)), "main") for word in asked}
        if query.nothing or query.as_of is not None:
            return FoundEntries((), relaxed=False, frequency=frequency, documents=len(index))
        for attempt, share in attempts(query):
            clause = ask(self._connection, attempt, kind, share)
            scored = any(True for _ in wanted(attempt.root))
            hits = index.ordered(clause, offset + limit, "updated", scored=scored)
            if hits:
                break
        entries = (entry_of(self._connection, hit.id, hit.score) for hit in hits[offset:])
        there = tuple(entry for entry in entries if entry is not None)
        return FoundEntries(there, bool(hits) and share < 1, frequency, len(index))

    def _is_behind(self, index: FullTextIndex) -> bool:
        unindexed = self._run("SELECT 1 FROM unindexed LIMIT 1").fetchone()
        return index.commit != self._meta("index_commit") or unindexed is not None

    def _fill(self, index: FullTextIndex, pulse: Callable[[], bool] = lambda: True) -> None:
        """Put into an index what it has not: all, where the store did not note that it was committed as it is."""
        whole = index.fresh or index.commit != self._meta("index_commit")
        if whole:
            index.empty()
        if index.is_scratch:  # the store is not told of it
            known = {} if whole else dict(self._run("SELECT record, stamp FROM indexed"))
            records = "SELECT id FROM record" if whole else "SELECT DISTINCT record FROM unindexed"
            self._put(index, [record for (record,) in self._run(records)], known)
            return
        if whole:
            with transaction(self._connection):
                for statement in _ALL:
                    self._run(statement)
                self._run(_NOTE, (-1,))
        while rows := self._run("SELECT number, record FROM unindexed ORDER BY number LIMIT ?", (BATCH,)).fetchall():
            numbers = [*dict.fromkeys(record for _, record in rows)]
            marks = ",".join("?" * len(numbers))
            known = dict(self._run(f"SELECT record, stamp FROM indexed WHERE record IN ({marks})", numbers))
            changed, gone = self._put(index, numbers, known)
            with transaction(self._connection):
                self._connection.executemany("DELETE FROM indexed WHERE record = ?", [(record,) for record in gone])
                self._connection.executemany("INSERT OR REPLACE INTO indexed VALUES (?, ?)", changed.items())
                self._run("DELETE FROM unindexed WHERE number <= ?", (rows[-1][0],))
                self._run(_NOTE, (index.commit,))
            if not pulse():
                return

    def _put(
        self, index: FullTextIndex, records: Iterable[int], known: dict[int, int]
    ) -> tuple[dict[int, int], list[int]]:
        """Write the records that are other than `known` by their stamps; return new stamps, and which are gone."""
        stamps: dict[int, int] = {}
        gone: list[int] = []
        changed = self._changed(records, known, stamps, gone)
        first = next(changed, None)  # where nothing changed, nothing is committed
        if first is not None or gone:
            index.write(chain(() if first is None else (first,), changed), gone)
        return stamps, gone

    def _changed(
        self, records: Iterable[int], known: dict[int, int], stamps: dict[int, int], gone: list[int]
    ) -> Iterator[IndexDocument]:
        for record in records:
            made = self._document(record)
            if made is None:
                gone += [record] if record in known else []
            elif (number := stamp(made)) != known.get(record):
                stamps[record] = number
                yield made

    def _document(self, record: int) -> IndexDocument | None:
        entry = entry_of(self._connection, record)
        return None if entry is None else document(record, entry)

    def faults(self) -> Iterator[str]:
        """Yield in a sentence each where the index is not as a fresh one would be, but for what it has yet to take."""
        commit_noted = self._meta("index_commit")
        if commit_noted == 0 or (commit_noted < 0 and self._run("SELECT 1 FROM record LIMIT 1").fetchone() is None):
            return  # nothing was ever put into it, or nothing is left to put into a new one
        try:
            index = FullTextIndex.in_scratch(self.folder, FIELDS, self._version)
            count, commit, fresh = len(index), index.commit, index.fresh
            index.close()
        except StoreError as error:
            yield str(error)
            return
        if fresh or commit != commit_noted:
            yield "the search index is not there, or not as this file wrote it"
            return
        wrong = abs(count - self._run("SELECT count(*) FROM indexed").fetchone()[0])
        known = dict(self._run("SELECT record, stamp FROM indexed"))
        for (record,) in self._run(
            "SELECT id FROM record UNION SELECT record FROM indexed EXCEPT SELECT record FROM unindexed ORDER BY 1"
        ):
            made = self._document(record)
            wrong += (None if made is None else stamp(made)) != known.get(record)
        if wrong:
            yield f"the search index of {wrong} records is not what they say now"
