"""The full text of JSON records, in the file in which they are: written in the transaction that changes a record.

So it is never behind, whatever is killed, and a store that is rebuilt or taken from has its index with it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from windrow.formats.url import normalise, parts
from windrow.query.likeness import attempts, least
from windrow.query.parse import Query
from windrow.query.tree import And, Filter, HostFilter, LinkFilter, Node, Not, Or, Phrase, TimeSpan, Word, asks, wanted
from windrow.query.word import address_text, pieces, readable, words

VERSION = 1
"""Rises when texts are put in another way; the index of a store is then made anew when it is opened."""

_MADE = (
    "DROP TABLE IF EXISTS current_text",
    "DROP TABLE IF EXISTS entry",
    """CREATE TABLE entry (
        record INTEGER PRIMARY KEY, title TEXT NOT NULL, url TEXT NOT NULL, host TEXT NOT NULL, port INTEGER,
        published INTEGER NOT NULL, updated INTEGER NOT NULL)""",
    """CREATE VIRTUAL TABLE current_text USING fts5(
        key, title, address, text, tokenize = 'unicode61 remove_diacritics 2')""",
)
_PORTS = {"http": 80, "https": 443}
_NOW = """
SELECT r.key, v.json, v.text, o.url, min(f.at), coalesce((
    SELECT min(u.at) FROM observation u WHERE u.record = r.id AND u.at > coalesce((
        SELECT max(b.at) FROM observation b WHERE b.record = r.id AND b.value IS NOT v.id), '')), o.at)
FROM record r JOIN observation f ON f.record = r.id
JOIN observation o ON (o.record, o.at, o.visit) = (
    SELECT record, at, visit FROM observation WHERE record = r.id ORDER BY at DESC, visit DESC LIMIT 1)
JOIN value v ON v.id = o.value WHERE r.id = ? GROUP BY r.id
"""
# Weights of key, title, address and text.
_FOUND = """
WITH s AS MATERIALIZED (
  SELECT rowid AS record, -bm25(current_text, 2.0, 5.0, 1.0, 1.0) AS score FROM current_text WHERE current_text MATCH ?)
SELECT e.record, coalesce(s.score, 0) FROM entry e LEFT JOIN (
  SELECT record, max(score) AS score FROM s GROUP BY record) s ON s.record = e.record
WHERE {where} ORDER BY 2 DESC, e.updated DESC, e.record LIMIT ? OFFSET ?
"""
_LISTED = "SELECT e.record, 0.0 FROM entry e WHERE {where} ORDER BY e.updated DESC, e.record LIMIT ? OFFSET ?"
_SHOWN = """
SELECT r.key, e.title, e.url, e.published, e.updated, v.text, v.json FROM entry e JOIN record r ON r.id = e.record
JOIN value v ON v.id = (SELECT value FROM observation WHERE record = r.id ORDER BY at DESC, visit DESC LIMIT 1)
WHERE e.record = ?
"""
_TITLES = ("title", "headline", "name", "summary")
"""What a record may call its title; one without is known by its key."""
_SCOPES = {"title": "title", "headline": "title", "inurl": "address"}


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


class _Condition(NamedTuple):
    sql: str
    values: tuple[object, ...] = ()


def make(link: sqlite3.Connection) -> None:
    """Make the tables anew, empty; within a transaction of the caller's."""
    for text in _MADE:
        link.execute(text)


def put(link: sqlite3.Connection, record: int) -> None:
    """Let the index say of a record what it says now: nothing where it is gone."""
    link.execute("DELETE FROM current_text WHERE rowid = ?", (record,))
    link.execute("DELETE FROM entry WHERE record = ?", (record,))
    if (row := _row(link, record)) is not None:
        entry, texts = row
        link.execute("INSERT INTO entry VALUES (?,?,?,?,?,?,?)", (record, *entry))
        link.execute("INSERT INTO current_text (rowid, key, title, address, text) VALUES (?,?,?,?,?)", (record, *texts))


def faults(link: sqlite3.Connection) -> Iterator[str]:
    """Yield in a sentence each where the index is not what a fresh one would be."""
    wrong = 0
    for (record,) in link.execute("SELECT id FROM record UNION SELECT record FROM entry UNION SELECT id FROM"
                                  " current_text_docsize ORDER BY 1"):  # fmt: skip
        entry = link.execute("SELECT * FROM entry WHERE record = ?", (record,)).fetchone()
        texts = link.execute("SELECT key, title, address, text FROM current_text WHERE rowid = ?", (record,)).fetchone()
        row = _row(link, record)
        wrong += ((entry and entry[1:]), texts) != (row or (None, None))
    if wrong:
        yield f"the full text of {wrong} records is not what they say now"


def _row(link: sqlite3.Connection, record: int) -> tuple[tuple[Any, ...], tuple[str, ...]] | None:
    """Return what stands of a record in the two tables; None where it is gone."""
    row = link.execute(_NOW, (record,)).fetchone()
    if row is None:
        return None
    key, spelled, text, url, first, changed = row
    title, resolved = title_of(json.loads(spelled), key), normalise(url).url
    where = parts(resolved) if resolved else None  # a document may spell an address in any way
    place = (where.host, where.port or _PORTS.get(where.scheme)) if where else ("", None)
    entry = (title, url, *place, _seconds(first), _seconds(changed))
    return entry, (readable(key), readable(title), readable(address_text(url)), readable(text))


def title_of(value: Any, key: str) -> str:
    """Return what a record calls its title, else its key."""
    told = (value.get(name) for name in _TITLES) if isinstance(value, dict) else ()
    return next((" ".join(one.split()) for one in told if isinstance(one, str) and one.strip()), key)


def _seconds(at: str) -> int:
    return int(datetime.fromisoformat(at).timestamp())


def find(link: sqlite3.Connection, query: Query, kind: str, *, offset: int, limit: int) -> FoundEntries:
    """Return entries as a query wants them, the best first; `kind` is the type that `type:` knows them by."""
    frequency = {}
    for word in dict.fromkeys(word for one in wanted(query.root) for word in words(one.text)):
        asked = f'"{" ".join(pieces(word))}"'
        frequency[word] = int(link.execute("SELECT count(*) FROM current_text WHERE current_text MATCH ?", (asked,))
                              .fetchone()[0])  # fmt: skip
    documents = int(link.execute("SELECT count(*) FROM entry").fetchone()[0])
    if query.nothing or query.as_of is not None:
        return FoundEntries((), relaxed=False, frequency=frequency, documents=documents)
    rows: list[tuple[int, float]] = []
    relaxed = False
    for attempt, share in attempts(query):
        where = (
            _all([_condition(attempt.root, kind)] if attempt.root else [])
            if share == 1
            else _some(attempt, share, kind)
        )
        spoken = " OR ".join(f"({_match(one)})" for one in wanted(attempt.root))
        sql, first = (_FOUND, (spoken,)) if spoken else (_LISTED, ())
        values = (*first, *where.values)
        if link.execute(sql.format(where=where.sql), (*values, 1, 0)).fetchone() is not None:
            rows = link.execute(sql.format(where=where.sql), (*values, limit, offset)).fetchall()
            relaxed = share < 1
            break
    entries = tuple(_entry(link, record, score) for record, score in rows)
    return FoundEntries(entries, relaxed, frequency, documents)


def _entry(link: sqlite3.Connection, record: int, score: float) -> Entry:
    key, title, url, published, updated, text, spelled = link.execute(_SHOWN, (record,)).fetchone()
    return Entry(key, title, url, published, updated, text, spelled, score)


def _some(query: Query, share: float, kind: str) -> _Condition:
    """Return the condition that a share of the words is found, and all else."""
    each = [_condition(one, kind) for one in wanted(query.root)]
    count = _Condition(
        f"({' + '.join(f'({part.sql})' for part in each)}) >= {least(query, share)}",
        tuple(value for part in each for value in part.values),
    )
    leaves = query.root.parts if isinstance(query.root, And) else ()
    return _all([count, *(_condition(part, kind) for part in leaves if not list(wanted(part)))])


def _condition(node: Node, kind: str) -> _Condition:
    match node:
        case Not(part):
            inner = _condition(part, kind)
            return _Condition(f"NOT ({inner.sql})", inner.values)
        case And(several):
            return _all([_condition(part, kind) for part in several])
        case Or(several):
            made = [_condition(part, kind) for part in several]
            return _Condition(
                f"({' OR '.join(part.sql for part in made)})", tuple(value for part in made for value in part.values)
            )
        case Filter(key=key) if key not in _SCOPES:
            return _filter(node, kind)
        case _:
            return _Condition(
                "e.record IN (SELECT rowid FROM current_text WHERE current_text MATCH ?)", (_match(node),)
            )


def _match(leaf: Word | Phrase | Filter) -> str:
    """Return the expression of a leaf's words, in their order, where they are asked for."""
    text, prefix = asks(leaf)
    scope = f"{{{_SCOPES[leaf.key]}}} : " if isinstance(leaf, Filter) else ""
    return f'{scope}"{" ".join(pieces(text))}"{" *" if prefix else ""}'


def _filter(leaf: Filter, kind: str) -> _Condition:
    """Return the condition of a filter; one that no record can answer finds none."""
    never = _Condition("0")
    match leaf.value:
        case TimeSpan(start, end) if leaf.key == "seen":
            last = "(SELECT max(at) FROM observation o WHERE o.record = e.record)"
            return _Condition(f"(e.published < ? AND unixepoch({last}) >= ?)", (end, start))
        case TimeSpan(start, _):
            column = "updated" if leaf.key.startswith("updated") else "published"
            return _Condition(f"e.{column} {'<' if leaf.key.endswith('before') else '>='} ?", (start,))
        case HostFilter() as host:
            return _host(host, below=leaf.key == "site")
        case LinkFilter(host, url, port) if leaf.key == "url":
            bare = url if url is not None else f"{host}{'' if port is None else f':{port}'}/"
            return _Condition("e.url IN (?, ?)", (f"https://{bare}", f"http://{bare}"))
        case str(text) if leaf.key == "type":
            return _Condition("1" if text == kind else "0")
    return never


def _host(host: HostFilter, *, below: bool) -> _Condition:
    name = host.name
    made = _Condition("e.host = ?", (name,))
    if below:
        made = _Condition("(e.host = ? OR substr(e.host, -?) = ?)", (name, len(name) + 1, f".{name}"))
    elif host.before and host.after:
        made = _Condition("instr(e.host, ?) > 0", (name,))
    elif host.before:
        made = _Condition("substr(e.host, -?) = ?", (len(name), name))
    elif host.after:
        made = _Condition("substr(e.host, 1, ?) = ?", (len(name), name))
    return made if host.port is None else _all([made, _Condition("e.port = ?", (host.port,))])


def _all(made: list[_Condition]) -> _Condition:
    if not made:
        return _Condition("1")
    return _Condition(
        f"({' AND '.join(part.sql for part in made)})", tuple(value for part in made for value in part.values)
    )
