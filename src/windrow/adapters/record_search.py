"""Show records in lists, by themselves, and as results of a search."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from windrow.adapters.adapter import ListedRecord, RecordList
from windrow.adapters.search_answer import SearchAnswer, SearchResult, SnippetMark, snippet_marks
from windrow.contract.registry import columns
from windrow.formats.text import counted
from windrow.ledger import Ledger
from windrow.query.columns import parse_query
from windrow.query.likeness import mark_hits, snippet, term_pattern
from windrow.query.tree import Word, searched_terms
from windrow.stores.record_entries import Entry
from windrow.stores.records import RecordStore

if TYPE_CHECKING:
    from windrow.adapters.home import HomeEntry, Part


class RecordHit(NamedTuple):
    """A record that a search found. `published` is when it was first seen, `updated` is when it last changed."""

    url: str
    title: str
    snippet: str
    marks: tuple[SnippetMark, ...]
    published: datetime
    updated: datetime
    score: float
    collection: str
    key: str
    value: Any


def list_records(store: RecordStore, before: int, limit: int) -> RecordList:
    """Return at most `limit` current records with ids below `before` (0: all), the newest first."""
    entries = store.entries(before, limit + 1)
    records = tuple(
        ListedRecord(
            entry.key, entry.title, entry.url, entry.source, datetime.fromtimestamp(entry.published, UTC),
            datetime.fromtimestamp(entry.updated, UTC), json.loads(entry.json),
        )
        for _, entry in entries[:limit]
    )  # fmt: skip
    return RecordList(records, entries[limit - 1][0] if len(entries) > limit else None)


def search(
    store: RecordStore, name: str, text: str, *, offset: int, limit: int, explain: bool, facets: bool = False
) -> SearchAnswer:
    """Search the current records of the collection `name`, and count them by facet; any text is a valid query."""
    query = parse_query(text, columns())
    entries = store.search(query, name, offset=offset, limit=limit + 1, facets=facets)
    find = term_pattern([*searched_terms(query.root), *map(Word, entries.forms)])
    results = tuple(_search_result(entry, name, find, explain=explain) for entry in entries.entries[:limit])
    notes = query.notes
    if query.as_of is not None:
        notes = (*notes, f"the records of {name} can only be searched as they are now, so as-of: finds nothing")
    for column, number in entries.lacking.items():
        records = f"{counted(number, 'record')} of {name}"
        notes = (*notes, f"the filter {column}: does not find {records} without a value that it can read")
    further = len(entries.entries) > limit
    return SearchAnswer(
        text, offset, results, notes, further, entries.relaxed, entries.frequency, entries.documents,
        entries.suggestions, counts=entries.counts,
    )  # fmt: skip


def _search_result(entry: Entry, name: str, find: re.Pattern[str] | None, *, explain: bool) -> SearchResult:
    pieces, title = snippet(entry.text, find), mark_hits(entry.title, find)
    score = round(entry.score, 4)
    published, updated = (datetime.fromtimestamp(at, UTC) for at in (entry.published, entry.updated))
    hit = RecordHit(
        entry.url, entry.title, snippet="".join(piece for piece, _ in pieces), marks=snippet_marks(pieces),
        published=published, updated=updated, score=score,
        collection=name, key=entry.key, value=json.loads(entry.json),
    )  # fmt: skip
    remarks = (f"score {score:.3f}, by how well the words match its key, title, address and text",)
    key = "" if entry.key in {entry.title, entry.url} else entry.key
    description = " ".join(filter(None, [name, key, f"updated {updated:%Y-%m-%d}"]))
    shown_remarks = remarks if explain else ()
    return SearchResult(
        title, entry.url, about=description, snippet=pieces, remarks=shown_remarks, type="record_result", details=hit,
        at=updated,
    )  # fmt: skip


class RecordFaces(NamedTuple):
    """How the records of a collection are shown: in a list, and by themselves, by key and last value."""

    entry: Callable[[ListedRecord], HomeEntry]
    record: Callable[[Ledger, str, Any], tuple[Part, ...]]


class ShownCollection(NamedTuple):
    """A collection whose records are shown: its name, the names of its sources, and how."""

    name: str
    sources: tuple[str, ...]
    faces: RecordFaces
