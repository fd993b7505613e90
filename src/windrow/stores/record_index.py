"""The search index of a store of records, in a folder beside its file.

The store records which records changed, in the same transaction, and what the index has of them once that is
committed. So an index that is behind is brought up to date, and one that is missing, damaged or of another file is
built again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path

from windrow.errors import IndexDamaged, StoreError
from windrow.query.clause import IndexDocument
from windrow.query.likeness import relaxed_queries
from windrow.query.parse import Query
from windrow.query.tree import searched_terms
from windrow.query.word import index_words, words
from windrow.stores.index.folder import index_folder, remove_index
from windrow.stores.index.fulltext_index import FullTextIndex, fill_index, open_for_search
from windrow.stores.record_entries import (
    FIELDS,
    INDEX_VERSION,
    FoundEntries,
    build_clause,
    compute_stamp,
    index_document,
    read_entry,
)
from windrow.stores.sqlite import transaction

BATCH = 2_000
"""Records per commit."""
_MARK_ALL_UNINDEXED = (
    "DELETE FROM indexed",
    "DELETE FROM unindexed",
    "INSERT INTO unindexed (record) SELECT id FROM record",
)
_SET_COMMIT = "INSERT OR REPLACE INTO meta VALUES ('index_commit', ?)"


class RecordIndex:
    """The search index of a store; `connection` is to the store's file, in autocommit mode."""

    def __init__(self, store: Path, connection: sqlite3.Connection, *, read_only: bool) -> None:
        """Take the store; the index is not opened yet."""
        self.folder = index_folder(store)
        self._in_place = not read_only
        self._run = connection.execute
        self._connection = connection
        # An index belongs to one file: a file that replaced it has another identity.
        self._version = f"{INDEX_VERSION} {self._meta('identity')}"

    def _meta(self, name: str) -> int:
        row = self._run("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return int(row[0]) if row else 0

    def update(self, pulse: Callable[[], bool]) -> None:
        """Add what is missing, after another process that does so; the work stops when `pulse` returns False."""
        if self._run("SELECT 1 FROM record UNION ALL SELECT 1 FROM unindexed LIMIT 1").fetchone() is not None:
            fill_index(self.folder, FIELDS, self._version, lambda index: self._fill(index, pulse), pulse)

    def rebuild(self, pulse: Callable[[], object]) -> None:
        """Build the index again, since removed documents stay in its files for a while."""

        def go_on() -> bool:
            pulse()
            return True

        remove_index(self.folder)
        self.update(go_on)

    def find(self, query: Query, kind: str, *, offset: int, limit: int) -> FoundEntries:
        """Return the entries that match a query, the best first; `kind` is the word for these records in `type:`."""
        try:
            return self._find(query, kind, offset, limit, anew=False)
        except IndexDamaged:  # found only after it was opened
            return self._find(query, kind, offset, limit, anew=True)

    def _find(self, query: Query, kind: str, offset: int, limit: int, *, anew: bool) -> FoundEntries:
        index = open_for_search(
            self.folder, FIELDS, self._version, self._is_behind, self._fill, anew=anew, in_place=self._in_place
        )
        try:
            return self._search(index, query, kind, offset, limit)
        finally:
            index.close()

    def _search(self, index: FullTextIndex, query: Query, kind: str, offset: int, limit: int) -> FoundEntries:
        query_words = dict.fromkeys(word for term in searched_terms(query.root) for word in words(term.text))
        frequency = {word: index.frequency(" ".join(index_words(word)), "main") for word in query_words}
        if query.nothing or query.as_of is not None:
            return FoundEntries((), relaxed=False, frequency=frequency, documents=len(index))
        for attempt, share in relaxed_queries(query):
            clause = build_clause(self._connection, attempt, kind, share)
            scored = any(True for _ in searched_terms(attempt.root))
            hits = index.ordered(clause, offset + limit, "updated", scored=scored)
            if hits:
                break
        entries = (read_entry(self._connection, hit.id, hit.score) for hit in hits[offset:])
        current_entries = tuple(entry for entry in entries if entry is not None)
        return FoundEntries(current_entries, bool(hits) and share < 1, frequency, len(index))

    def _is_behind(self, index: FullTextIndex) -> bool:
        unindexed = self._run("SELECT 1 FROM unindexed LIMIT 1").fetchone()
        return index.commit != self._meta("index_commit") or unindexed is not None

    def _fill(self, index: FullTextIndex, pulse: Callable[[], bool] = lambda: True) -> None:
        """Add what an index lacks: everything, unless its commit is the one that the store recorded."""
        is_rebuild = index.fresh or index.commit != self._meta("index_commit")
        if is_rebuild:
            index.empty()
        if index.is_scratch:  # the store does not record it
            stamps = {} if is_rebuild else dict(self._run("SELECT record, stamp FROM indexed"))
            records = "SELECT id FROM record" if is_rebuild else "SELECT DISTINCT record FROM unindexed"
            self._put(index, [record for (record,) in self._run(records)], stamps)
            return
        if is_rebuild:
            with transaction(self._connection):
                for statement in _MARK_ALL_UNINDEXED:
                    self._run(statement)
                self._run(_SET_COMMIT, (-1,))
        while rows := self._run("SELECT number, record FROM unindexed ORDER BY number LIMIT ?", (BATCH,)).fetchall():
            numbers = [*dict.fromkeys(record for _, record in rows)]
            marks = ",".join("?" * len(numbers))
            stamps = dict(self._run(f"SELECT record, stamp FROM indexed WHERE record IN ({marks})", numbers))
            changed, removed = self._put(index, numbers, stamps)
            with transaction(self._connection):
                self._connection.executemany("DELETE FROM indexed WHERE record = ?", [(record,) for record in removed])
                self._connection.executemany("INSERT OR REPLACE INTO indexed VALUES (?, ?)", changed.items())
                self._run("DELETE FROM unindexed WHERE number <= ?", (rows[-1][0],))
                self._run(_SET_COMMIT, (index.commit,))
            if not pulse():
                return

    def _put(
        self, index: FullTextIndex, records: Iterable[int], known_stamps: dict[int, int]
    ) -> tuple[dict[int, int], list[int]]:
        """Write the records whose stamps differ from `known`; return the new stamps, and the records that are gone."""
        stamps: dict[int, int] = {}
        removed: list[int] = []
        changed = self._changed(records, known_stamps, stamps, removed)
        first_document = next(changed, None)  # without a change there is no commit
        if first_document is not None or removed:
            index.write(chain(() if first_document is None else (first_document,), changed), removed)
        return stamps, removed

    def _changed(
        self, records: Iterable[int], known_stamps: dict[int, int], stamps: dict[int, int], removed: list[int]
    ) -> Iterator[IndexDocument]:
        for record in records:
            document = self._document(record)
            if document is None:
                removed += [record] if record in known_stamps else []
            elif (number := compute_stamp(document)) != known_stamps.get(record):
                stamps[record] = number
                yield document

    def _document(self, record: int) -> IndexDocument | None:
        entry = read_entry(self._connection, record)
        return None if entry is None else index_document(record, entry)

    def faults(self) -> Iterator[str]:
        """Yield a sentence for each difference from a new index, except for records still to be indexed."""
        commit_noted = self._meta("index_commit")
        if commit_noted == 0 or (commit_noted < 0 and self._run("SELECT 1 FROM record LIMIT 1").fetchone() is None):
            return  # never filled, or there is nothing to fill a new one with
        try:
            index = FullTextIndex.open_scratch(self.folder, FIELDS, self._version)
            count, commit, fresh = len(index), index.commit, index.fresh
            index.close()
        except StoreError as error:
            yield str(error)
            return
        if fresh or commit != commit_noted:
            yield "the search index is missing, or was not written from this file"
            return
        wrong = abs(count - self._run("SELECT count(*) FROM indexed").fetchone()[0])
        stamps = dict(self._run("SELECT record, stamp FROM indexed"))
        for (record,) in self._run(
            "SELECT id FROM record UNION SELECT record FROM indexed EXCEPT SELECT record FROM unindexed ORDER BY 1"
        ):
            document = self._document(record)
            wrong += (None if document is None else compute_stamp(document)) != stamps.get(record)
        if wrong:
            yield f"the search index is out of date for {wrong} records"
