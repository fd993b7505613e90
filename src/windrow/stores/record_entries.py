"""What the search index has of a record, and a query as a question to it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from datetime import datetime
from hashlib import blake2b
from typing import Any, NamedTuple

from windrow.formats.url import normalise, parts
from windrow.query.clause import (
    NOTHING,
    Clause,
    Everything,
    IndexDocument,
    IndexField,
    Leaf,
    NumberIn,
    address_marks,
    filter_clause,
    question,
    question_for_some,
    sequence,
)
from windrow.query.likeness import least
from windrow.query.parse import Query
from windrow.query.tree import Filter, TimeSpan
from windrow.query.word import address_text, indexed

VERSION = "1"
"""Of what is put in; another one makes the index anew."""

FIELDS = (
    IndexField("main", "words"),
    IndexField("title", "words"),
    IndexField("address", "words"),
    IndexField("site", "mark"),
    IndexField("host", "mark"),
    IndexField("port", "mark"),
    IndexField("url", "mark"),
    IndexField("published", "number"),
    IndexField("updated", "number"),
)
TITLE, KEY = 5, 2
"""How often title and key come in `main`; address and text come once."""
_SCOPES = {"title": "title", "headline": "title", "inurl": "address"}
_WORDS = (("main", 1.0),)
_NOW = """
SELECT r.key, v.json, v.text, o.url, min(f.at), coalesce((
    SELECT min(u.at) FROM observation u WHERE u.record = r.id AND u.at > coalesce((
        SELECT max(b.at) FROM observation b WHERE b.record = r.id AND b.value IS NOT v.id), '')), o.at)
FROM record r JOIN observation f ON f.record = r.id
JOIN observation o ON (o.record, o.at, o.visit) = (
    SELECT record, at, visit FROM observation WHERE record = r.id ORDER BY at DESC, visit DESC LIMIT 1)
JOIN value v ON v.id = o.value WHERE r.id = ? GROUP BY r.id
"""
_SEEN = """
SELECT record FROM observation GROUP BY record HAVING unixepoch(min(at)) < ? AND unixepoch(max(at)) >= ?
"""
_TITLES = ("title", "headline", "name", "summary")
"""What a record may call its title; one without is known by its key."""


class Entry(NamedTuple):
    """A record that was found: what it says now; times are UNIX seconds."""

    key: str
    title: str
    url: str
    published: int
    updated: int
    text: str
    json: str
    score: float


class FoundEntries(NamedTuple):
    """The entries found; `relaxed` where none has all words, and `words` in how many entries each word stands."""

    entries: tuple[Entry, ...]
    relaxed: bool
    frequency: dict[str, int]
    documents: int


def entry_of(connection: sqlite3.Connection, record: int, score: float = 0.0) -> Entry | None:
    """Return what a record says now; None where it is gone."""
    row = connection.execute(_NOW, (record,)).fetchone()
    if row is None:
        return None
    key, spelled, text, url, first, changed = row
    return Entry(key, title_of(json.loads(spelled), key), url, _seconds(first), _seconds(changed), text, spelled, score)


def title_of(value: Any, key: str) -> str:
    """Return what a record calls its title, else its key."""
    told = (value.get(name) for name in _TITLES) if isinstance(value, dict) else ()
    return next((" ".join(one.split()) for one in told if isinstance(one, str) and one.strip()), key)


def _seconds(at: str) -> int:
    return int(datetime.fromisoformat(at).timestamp())


def document(record: int, entry: Entry) -> IndexDocument:
    """Return a record as the index takes it."""
    title, address = indexed(entry.title), indexed(address_text(entry.url))
    main = [*[title] * TITLE, *[indexed(entry.key)] * KEY, address, indexed(entry.text)]
    texts = [*(("main", text) for text in main), ("title", title), ("address", address)]
    resolved = normalise(entry.url).url  # a document may spell an address in any way
    marks = address_marks(resolved, parts(resolved).host) if resolved else []
    return IndexDocument(record, (*texts, *marks), (("published", entry.published), ("updated", entry.updated)))


def stamp(made: IndexDocument) -> int:
    """Return a number that changes with a document."""
    return int.from_bytes(blake2b(repr(made).encode("utf-8", "replace"), digest_size=8).digest(), "big") >> 1


def ask(connection: sqlite3.Connection, query: Query, kind: str, share: float) -> Clause:
    """Return the question; with a `share` below 1, so much of the words need be found.

    `kind` is the type that `type:` knows the records by.
    """
    if query.root is None:
        return Everything()
    leaf = _leaves(connection, kind)
    return question(query.root, leaf) if share == 1 else question_for_some(query, least(query, share), leaf)


def _leaves(connection: sqlite3.Connection, kind: str) -> Callable[[Leaf], Clause]:
    def clause(leaf: Leaf) -> Clause:
        """Return the clause of a leaf; a filter that no record can answer finds none."""
        if not isinstance(leaf, Filter):
            return sequence(leaf, _WORDS)
        match leaf:
            case Filter("seen", TimeSpan(start, end)):
                return NumberIn("id", tuple(record for (record,) in connection.execute(_SEEN, (end, start))))
            case Filter("type", str(text)):
                return Everything() if text == kind else NOTHING
            case _:
                return filter_clause(leaf, _SCOPES) or NOTHING

    return clause
