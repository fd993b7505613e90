"""Convert records into entries of the search index, and queries into clauses for it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from itertools import islice
from types import MappingProxyType
from typing import Any, NamedTuple

from windrow.contract import TypedColumn
from windrow.formats.url import normalise, parts
from windrow.query.clause import (
    NO_DOCUMENT,
    NO_FACETS,
    Clause,
    Everything,
    FacetCounts,
    IndexDocument,
    IndexField,
    Leaf,
    NumberIn,
    address_marks,
    filter_clause,
    language_marks,
    replace_leaves,
    require_some_terms,
    word_or_forms,
)
from windrow.query.columns import column_clause, column_entries
from windrow.query.likeness import required_terms
from windrow.query.parse import Query
from windrow.query.spelling import Suggestion
from windrow.query.tree import Filter, TimeSpan, searched_terms
from windrow.query.word import address_text, indexable_text
from windrow.query.word_forms import WordForms

INDEX_VERSION = "2"
"""The version of the index documents; an index of another version is built again."""

FIELDS = (
    IndexField("main", "words"),
    IndexField("title", "words"),
    IndexField("address", "words"),
    IndexField("site", "mark"),
    IndexField("host", "mark"),
    IndexField("port", "mark"),
    IndexField("url", "mark"),
    IndexField("lang", "facet"),
    IndexField("source", "facet"),
    IndexField("published", "number"),
    IndexField("updated", "number"),
)
TITLE_WEIGHT, KEY_WEIGHT = 5, 2
"""How many times the field `main` has the title and the key; it has the address and the text once."""
_FIELD_OF_FILTER = {"title": "title", "headline": "title", "inurl": "address"}
_MAIN_FIELD = (("main", 1.0),)
_CURRENT_ENTRY = """
SELECT r.key, v.json, v.text, o.url, o.source, min(f.at), coalesce((
    SELECT min(u.at) FROM observation u WHERE u.record = r.id AND u.at > coalesce((
        SELECT max(b.at) FROM observation b WHERE b.record = r.id AND b.value IS NOT v.id), '')), o.at)
FROM record r JOIN observation f ON f.record = r.id
JOIN observation o ON (o.record, o.at, o.attempt) = (
    SELECT record, at, attempt FROM observation WHERE record = r.id ORDER BY at DESC, attempt DESC LIMIT 1)
JOIN value v ON v.id = o.value WHERE r.id = ? GROUP BY r.id
"""
_SEEN_BETWEEN = """
SELECT record FROM observation GROUP BY record HAVING unixepoch(min(at)) < ? AND unixepoch(max(at)) >= ?
"""
_TITLE_FIELDS = ("title", "headline", "name", "summary")  # fields that may contain a record's title, in the order tried


class Entry(NamedTuple):
    """The current state of a record, for search results. Times are in UNIX seconds.

    `published` is when it was first observed. `updated` is the time since which it has had its present value. `source`
    is the source that observed it last. `text` is searched.
    """

    key: str
    title: str
    url: str
    published: int
    updated: int
    text: str
    json: str
    score: float
    source: str


class FoundEntries(NamedTuple):
    """The entries that a search found. `relaxed` is true if none of them has all words of the query.

    `frequency` has the number of documents with each word of the query; `documents` is the number of all documents in
    the index. `suggestions` are for words that no document has. `forms` are the other forms of words that were also
    searched for. `lacking` has, for each column by which the query filters, the number of documents without a value in
    it; a column in which every document has a value is left out. `counts` are the counts by facet, if asked for.
    """

    entries: tuple[Entry, ...]
    relaxed: bool
    frequency: dict[str, int]
    documents: int
    suggestions: Mapping[str, Suggestion] = {}
    forms: tuple[str, ...] = ()
    lacking: Mapping[str, int] = {}
    counts: FacetCounts = NO_FACETS


def read_entry(connection: sqlite3.Connection, record: int, score: float = 0.0) -> Entry | None:
    """Return the current state of the record with the id `record`, with `score`; None if the record is gone."""
    row = connection.execute(_CURRENT_ENTRY, (record,)).fetchone()
    if row is None:
        return None
    key, json_text, text, url, source, first_seen, changed_at = row
    title = title_of(json.loads(json_text), key)
    published, updated = _to_seconds(first_seen), _to_seconds(changed_at)
    return Entry(key, title, url, published, updated, text=text, json=json_text, score=score, source=source)


def list_entries(connection: sqlite3.Connection, before: int, limit: int) -> list[tuple[int, Entry]]:
    """Return at most `limit` current records with ids below `before` (0: all), the newest first, with their ids."""
    ids = connection.execute("SELECT id FROM record WHERE id < ? ORDER BY id DESC", (before or 2**62,))
    current = ((record, entry) for (record,) in ids if (entry := read_entry(connection, record)))
    return list(islice(current, limit))


def title_of(record: Any, key: str) -> str:
    """Return a record's title, or its key if it has none."""
    titles = (record.get(name) for name in _TITLE_FIELDS) if isinstance(record, dict) else ()
    return next((" ".join(title.split()) for title in titles if isinstance(title, str) and title.strip()), key)


def _to_seconds(time: str) -> int:
    return int(datetime.fromisoformat(time).timestamp())


def index_document(record: int, entry: Entry, columns: Sequence[TypedColumn] = ()) -> IndexDocument:
    """Return the index document for the record with the id `record`; `columns` are those of its collection."""
    value = json.loads(entry.json)
    title, address = indexable_text(entry.title), indexable_text(address_text(entry.url))
    main = [*[title] * TITLE_WEIGHT, *[indexable_text(entry.key)] * KEY_WEIGHT, address, indexable_text(entry.text)]
    texts = [*(("main", text) for text in main), ("title", title), ("address", address)]
    resolved = normalise(entry.url).url  # a document may spell an address in any way
    marks = address_marks(resolved, parts(resolved).host) if resolved else []
    marks += [*language_marks(_read_language(value)), ("source", entry.source)]
    of_columns = column_entries(columns, value)
    times = (("published", entry.published), ("updated", entry.updated))
    return IndexDocument(record, (*texts, *marks, *of_columns.texts), (*times, *of_columns.numbers))


def _read_language(record: Any) -> str:
    language = record.get("language") if isinstance(record, dict) else None
    return language if isinstance(language, str) else ""


def compute_stamp(document: IndexDocument) -> int:
    """Return the stamp of a document: a 63-bit hash."""
    return int.from_bytes(blake2b(repr(document).encode("utf-8", "replace"), digest_size=8).digest(), "big") >> 1


class SearchedRecords(NamedTuple):
    """The records that are searched: a connection to their store, and their columns.

    `kind` is the value of the filter `type:` by which they are found.
    """

    connection: sqlite3.Connection
    kind: str
    columns: Sequence[TypedColumn] = ()


def build_clause(
    records: SearchedRecords, query: Query, share: float, word_forms: WordForms = MappingProxyType({})
) -> Clause:
    """Return the clause for a query. If `share` is below 1, a document needs only this share of the words.

    A document may have one of the `word_forms` of a word in place of the word, unless the query excludes the word.
    """
    if query.root is None:
        return Everything()
    leaf_clause = _leaf_clauses(records, word_forms, frozenset(searched_terms(query.root)))
    if share == 1:
        return replace_leaves(query.root, leaf_clause)
    return require_some_terms(query, required_terms(query, share), leaf_clause)


def _leaf_clauses(records: SearchedRecords, word_forms: WordForms, terms: frozenset[Leaf]) -> Callable[[Leaf], Clause]:
    """Return a function that returns the clause for a leaf of a query. A filter not meant for records matches nothing.

    Only leaves in `terms` also match their `word_forms`: a query that excludes a word does not exclude its other forms.
    """
    columns = {column.name: column for column in records.columns}

    def leaf_clause(leaf: Leaf) -> Clause:
        if not isinstance(leaf, Filter):
            return word_or_forms(leaf, _MAIN_FIELD, word_forms if leaf in terms else {})
        match leaf:
            case Filter("seen", TimeSpan(start, end)):
                rows = records.connection.execute(_SEEN_BETWEEN, (end, start))
                return NumberIn("id", tuple(record for (record,) in rows))
            case Filter("type", str(text)):
                return Everything() if text == records.kind else NO_DOCUMENT
            case Filter(key) if key in columns:
                return column_clause(columns[key], leaf)
            case _:
                return filter_clause(leaf, _FIELD_OF_FILTER) or NO_DOCUMENT

    return leaf_clause
