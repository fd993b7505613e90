"""The search index of a store of records, in a folder beside the store's file.

The store lists changed records in the transaction that changes them, and stores the stamps of indexed records after
each commit of the index. So an old index can be updated. An index that is missing, damaged or of another file or
version is built again.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from windrow.contract import ColumnType, TypedColumn
from windrow.digest import hash64
from windrow.errors import IndexDamaged, StoreError
from windrow.formats.text import counted
from windrow.query.clause import NO_FACETS, FacetCounts, IndexDocument, MarkIn
from windrow.query.columns import LACKING, index_fields
from windrow.query.likeness import relaxed_queries
from windrow.query.parse import Query
from windrow.query.tree import And, Filter, Not, filters, searched_terms
from windrow.query.word import index_words, words
from windrow.query.word_forms import WordForms, list_forms
from windrow.stores.index.folder import index_folder, remove_index
from windrow.stores.index.fulltext_index import FullTextIndex, fill_index, find_forms, open_for_search
from windrow.stores.record_entries import (
    FIELDS,
    INDEX_VERSION,
    FoundEntries,
    SearchedRecords,
    build_clause,
    compute_stamp,
    index_document,
    read_entry,
)
from windrow.stores.sqlite import transaction

BATCH_SIZE = 2_000
"""The maximum number of changes that are indexed in one commit; in a scratch folder there is only one commit."""
_MARK_ALL_UNINDEXED = (
    "DELETE FROM indexed",
    "DELETE FROM unindexed",
    "INSERT INTO unindexed (record) SELECT id FROM record",
)
_SET_COMMIT = "INSERT OR REPLACE INTO meta VALUES ('index_commit', ?)"


class RecordIndex:
    """The search index of a store of records."""

    def __init__(
        self, store: Path, connection: sqlite3.Connection, columns: Sequence[TypedColumn] = (), *, read_only: bool
    ) -> None:
        """`store` is the store's file, and `connection` is a connection to it in autocommit mode.

        `columns` are those of the collection. If `read_only` is true, the files of the index are not written.
        """
        self.folder = index_folder(store)
        self._in_place = not read_only
        self._run = connection.execute
        self._connection = connection
        # An index belongs to one store file: a file that replaces it has another identity.
        self._version = f"{INDEX_VERSION} {self._meta('identity')}"
        self._columns = tuple(columns)
        self._fields = (*FIELDS, *index_fields(columns))
        if columns:
            self._version += f" {hash64(repr([column.identity for column in columns]))}"

    def _meta(self, name: str) -> int:
        row = self._run("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return int(row[0]) if row else 0

    def update(self, pulse: Callable[[], bool]) -> None:
        """Index the changed records; stop when `pulse` returns False. While another process writes the index, wait.

        Raises StoreUnreachable if `pulse` returns False during this wait.
        """
        if self._run("SELECT 1 FROM record UNION ALL SELECT 1 FROM unindexed LIMIT 1").fetchone() is not None:
            fill_index(self.folder, self._fields, self._version, lambda index: self._fill(index, pulse), pulse)

    def rebuild(self, pulse: Callable[[], object]) -> None:
        """Remove the index and build it again, so that its files no longer contain removed documents."""

        def go_on() -> bool:
            pulse()
            return True

        remove_index(self.folder)
        self.update(go_on)

    def find(self, query: Query, kind: str, *, offset: int, limit: int, facets: bool = False) -> FoundEntries:
        """Return at most `limit` matches after the first `offset`: the best or, if the query has no words, the newest.

        With `facets`, all matches are counted by facet. For `kind` see `SearchedRecords`.
        """
        try:
            return self._find(query, kind, offset, limit, facets=facets, anew=False)
        except IndexDamaged:  # the damage shows when an opened index is searched
            return self._find(query, kind, offset, limit, facets=facets, anew=True)

    def _find(self, query: Query, kind: str, offset: int, limit: int, *, facets: bool, anew: bool) -> FoundEntries:
        index = self._open_to_search(anew=anew)
        try:
            entries = self._search(index, query, kind, offset, limit)
            return entries._replace(counts=self._count_facets(index, query, kind)) if facets else entries
        finally:
            index.close()

    def _search(self, index: FullTextIndex, query: Query, kind: str, offset: int, limit: int) -> FoundEntries:
        query_words = dict.fromkeys(word for term in searched_terms(query.root) for word in words(term.text))
        frequency = {word: index.frequency(" ".join(index_words(word)), "main") for word in query_words}
        if query.nothing or query.as_of is not None:
            return FoundEntries((), relaxed=False, frequency=frequency, documents=len(index))
        forms: WordForms = {}
        records = SearchedRecords(self._connection, kind, self._columns)
        newest = self._find_date_field(query)
        for relaxed_query, share in relaxed_queries(query):
            clause = build_clause(records, relaxed_query, share)
            scored = any(True for _ in searched_terms(relaxed_query.root))
            hits = index.search_in_order(clause, offset + limit, "updated" if scored else newest, scored=scored)
            if share == 1 and len(hits) < offset + limit and (forms := find_forms(index, relaxed_query)):
                further = build_clause(records, relaxed_query, share, forms)
                further = And((further, Not(clause)))  # words as typed come first
                hits += index.search_in_order(further, offset + limit - len(hits), "updated", scored=True)
            if hits:
                break
        entries = (read_entry(self._connection, hit.id, hit.score) for hit in hits[offset:])
        current_entries = tuple(entry for entry in entries if entry is not None)
        suggestions = index.suggest(frequency, "main")
        shown_forms = list_forms(forms) if share == 1 else ()
        return FoundEntries(
            current_entries, bool(hits) and share < 1, frequency, len(index), suggestions, shown_forms,
            self._count_lacking(index, query),
        )  # fmt: skip

    def _find_date_field(self, query: Query) -> str:
        """Return the field by which the matches of a query without words are sorted.

        If every match must meet a filter for a date column, this is the field of that column, otherwise `updated`.
        """
        dates = {column.name for column in self._columns if column.type is ColumnType.DATE}
        parts = query.root.parts if isinstance(query.root, And) else (query.root,)
        keys = (part.key for part in parts if isinstance(part, Filter))
        return next((f"first_{key}" for key in keys if key in dates), "updated")

    def _count_lacking(self, index: FullTextIndex, query: Query) -> dict[str, int]:
        """Return, for each column by which the query filters, how many records have no value in it.

        Columns in which every record has a value are left out.
        """
        filtered = {leaf.key for leaf in filters(query.root)} & {column.name for column in self._columns}
        counts = {name: index.count(MarkIn(LACKING, (name,))) for name in sorted(filtered)}
        return {name: count for name, count in counts.items() if count}

    def _count_facets(self, index: FullTextIndex, query: Query, kind: str) -> FacetCounts:
        if query.nothing or query.as_of is not None:
            return NO_FACETS
        records = SearchedRecords(self._connection, kind, self._columns)
        for relaxed_query, share in relaxed_queries(query):
            forms = find_forms(index, relaxed_query) if share == 1 else {}
            clause = build_clause(records, relaxed_query, share, forms)
            count, (sources, languages, years) = index.count_by_facet(clause, ("source", "lang"), "published")
            if count:
                languages = {tag: number for tag, number in languages.items() if "-" not in tag}
                facets = {"source": sources, "language": languages, "type": {kind: count}, "year": years}
                return FacetCounts(count, facets, relaxed=share < 1)
        return NO_FACETS

    def _open_to_search(self, *, anew: bool) -> FullTextIndex:
        return open_for_search(
            self.folder, self._fields, self._version, self._is_behind, self._fill, anew=anew, in_place=self._in_place
        )

    def _is_behind(self, index: FullTextIndex) -> bool:
        unindexed_row = self._run("SELECT 1 FROM unindexed LIMIT 1").fetchone()
        return index.commit != self._meta("index_commit") or unindexed_row is not None

    def _fill(self, index: FullTextIndex, pulse: Callable[[], bool] = lambda: True) -> None:
        """Index the changed records, or all if the index is not at the recorded commit, until `pulse` returns False."""
        is_rebuild = index.fresh or index.commit != self._meta("index_commit")
        if is_rebuild:
            index.empty()
        if index.is_scratch:  # the store does not record what is written to it
            stamps = {} if is_rebuild else dict(self._run("SELECT record, stamp FROM indexed"))
            ids_query = "SELECT id FROM record" if is_rebuild else "SELECT DISTINCT record FROM unindexed"
            self._write_records(index, [record for (record,) in self._run(ids_query)], stamps)
            return
        if is_rebuild:
            with transaction(self._connection):
                for statement in _MARK_ALL_UNINDEXED:
                    self._run(statement)
                self._run(_SET_COMMIT, (-1,))
        changes_query = "SELECT number, record FROM unindexed ORDER BY number LIMIT ?"
        while changes := self._run(changes_query, (BATCH_SIZE,)).fetchall():
            records = [*dict.fromkeys(record for _, record in changes)]
            last_number, _ = changes[-1]
            stamps_query = "SELECT record, stamp FROM indexed WHERE record IN (SELECT value FROM json_each(?))"
            stamps = dict(self._run(stamps_query, (json.dumps(records),)))
            new_stamps, removed = self._write_records(index, records, stamps)
            with transaction(self._connection):
                self._connection.executemany("DELETE FROM indexed WHERE record = ?", [(record,) for record in removed])
                self._connection.executemany("INSERT OR REPLACE INTO indexed VALUES (?, ?)", new_stamps.items())
                self._run("DELETE FROM unindexed WHERE number <= ?", (last_number,))
                self._run(_SET_COMMIT, (index.commit,))
            if not pulse():
                return

    def _write_records(
        self, index: FullTextIndex, records: Iterable[int], known_stamps: dict[int, int]
    ) -> tuple[dict[int, int], list[int]]:
        """Index records whose stamps differ from `known_stamps`; remove gone ones; return new stamps and gone ids."""
        stamps: dict[int, int] = {}
        removed: list[int] = []
        documents = self._changed_documents(records, known_stamps, stamps, removed)
        first_document = next(documents, None)  # without a change there is no commit
        if first_document is not None or removed:
            index.write(chain(() if first_document is None else (first_document,), documents), removed)
        return stamps, removed

    def _changed_documents(
        self, records: Iterable[int], known_stamps: dict[int, int], stamps: dict[int, int], removed: list[int]
    ) -> Iterator[IndexDocument]:
        """Yield documents of changed records; add their stamps to `stamps`, and ids of gone records to `removed`."""
        for record in records:
            document = self._make_document(record)
            if document is None:
                removed += [record] if record in known_stamps else []
            elif (stamp := compute_stamp(document)) != known_stamps.get(record):
                stamps[record] = stamp
                yield document

    def _make_document(self, record: int) -> IndexDocument | None:
        entry = read_entry(self._connection, record)
        return None if entry is None else index_document(record, entry, self._columns)

    def faults(self) -> Iterator[str]:
        """Yield a message if the index cannot be read, or differs from the records that are not marked as unindexed."""
        recorded_commit = self._meta("index_commit")
        has_records = self._run("SELECT 1 FROM record LIMIT 1").fetchone() is not None
        if recorded_commit == 0 or (recorded_commit < 0 and not has_records):
            return  # the index was never filled, or there is nothing to fill it with
        try:
            index = FullTextIndex.open_scratch(self.folder, self._fields, self._version)
            count, commit, is_fresh = len(index), index.commit, index.fresh
            index.close()
        except StoreError as error:
            yield str(error)
            return
        if is_fresh or commit != recorded_commit:
            yield "the search index is missing, or was not written from this store"
            return
        wrong_count = abs(count - self._run("SELECT count(*) FROM indexed").fetchone()[0])
        stamps = dict(self._run("SELECT record, stamp FROM indexed"))
        for (record,) in self._run(
            "SELECT id FROM record UNION SELECT record FROM indexed EXCEPT SELECT record FROM unindexed ORDER BY 1"
        ):
            document = self._make_document(record)
            wrong_count += (None if document is None else compute_stamp(document)) != stamps.get(record)
        if wrong_count:
            yield f"the search index is out of date for {counted(wrong_count, 'record')}"
