"""A query as a question to the index beside the database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from windrow.collections.pages.search.condition import KINDS, bare
from windrow.query.date import TimeSpan
from windrow.query.filter import HostFilter, LinkFilter
from windrow.query.parse import Query
from windrow.query.relax import least
from windrow.query.tree import And, Filter, Node, Not, Or, Phrase, Word, asks, filters, wanted
from windrow.query.word import pieces
from windrow.stores.index.clause import (
    Clause,
    Everything,
    MarkIn,
    NumberIn,
    NumberRange,
    WordSequence,
)

WORDS = (("main", 1.0), ("rest", 0.4))
"""Where words are looked for, with weights: the rest of a page (menus, footers) says less of it."""
PAST = (("past", 1.0), ("past_rest", 0.4))
"""The same for pages that are gone or changed, and for duplicates."""
SCOPES = {"title": "title", "headline": "headline", "code": "code", "quote": "quote", "inurl": "address"}
_TELLING = {"duplicate-at", "host", "site", "url", "inurl", "title", "headline", "is", "links-to", "link-text"}


def unindexed(query: Query) -> tuple[Filter, ...]:
    """Return the filters that only the database can answer; `ask` wants the generations each one finds."""
    return tuple(dict.fromkeys(one for one in filters(query.root) if not _indexed(one)))


def ask(query: Query, found: Mapping[Filter, tuple[int, ...]], *, share: float = 1.0) -> Clause:
    """Return the question; with a `share` below 1, so much of the words need be found, at least one.

    Duplicates are left out, unless the query asks for other times or for what tells duplicates apart: a
    copy may be the only one at a host, and the results are folded by their text in any case.
    """
    parts: list[Clause] = []
    if query.root is not None:
        asking = _Asking(found, WORDS + PAST if copies(query) else WORDS)
        parts.append(asking.some(query, least(query, share)) if share < 1 else asking.clause(query.root))
    if query.as_of is not None:
        parts += [NumberRange("first", high=query.as_of), NumberRange("end", low=query.as_of + 1)]
    elif not query.history and (copies(query) or not _now(query.root)):
        parts.append(MarkIn("flag", ("open" if copies(query) else "now",)))
    return And(tuple(parts)) if parts else Everything()


def copies(query: Query) -> bool:
    """Say whether pages that are marked as duplicates may be results."""
    return query.history or any(one.key in _TELLING for one in filters(query.root))


def _now(root: Node | None) -> bool:
    """Say whether a word must be found, and with it only pages as they are now."""
    parts = root.parts if isinstance(root, And) else (root,)
    return any(isinstance(part, Word | Phrase) for part in parts)


class _Asking(NamedTuple):
    """What clauses are made with: what the database found, and where words are looked for."""

    found: Mapping[Filter, tuple[int, ...]]
    fields: tuple[tuple[str, float], ...]

    def some(self, query: Query, count: int) -> Clause:
        """Return the clause of so many of the words, and of everything else."""
        either = tuple(self.clause(one) for one in wanted(query.root))
        parts = query.root.parts if isinstance(query.root, And) else (query.root,)
        kept = tuple(self.clause(part) for part in parts if part is not None and not list(wanted(part)))
        return And((Or(either, count), *kept))

    def clause(self, node: Node) -> Clause:
        match node:
            case Word() | Phrase():
                return _words(node, self.fields)
            case Not(part):
                return Not(self.clause(part))
            case And(parts):
                return And(tuple(self.clause(part) for part in parts))
            case Or(parts):
                return Or(tuple(self.clause(part) for part in parts))
            case Filter():
                return _filter(node) if _indexed(node) else NumberIn("id", self.found[node])


def _indexed(leaf: Filter) -> bool:
    if leaf.key in {"links-to", "link-text", "seen", "duplicate-at"}:
        return False
    return not (isinstance(leaf.value, HostFilter) and (leaf.value.before or leaf.value.after))


def _filter(leaf: Filter) -> Clause:
    match leaf:
        case Filter(value=TimeSpan() as span, key=key):
            field = "updated" if key.startswith("updated") else "published"
            return (
                NumberRange(field, high=span.start - 1)
                if key.endswith("before")
                else NumberRange(field, low=span.start)
            )
        case Filter(key=key) if key in SCOPES:
            return _words(leaf, ((SCOPES[key], 1.0),))
        case Filter(value=HostFilter() as host, key=key):
            port = () if host.port is None else (MarkIn("port", (str(host.port),)),)
            return And((MarkIn(key, (host.name,)), *port))
        case Filter(value=LinkFilter() as target):
            return MarkIn("url", (bare(target),))
        case _:
            return _mark(leaf.key, str(leaf.value))


def _words(leaf: Word | Phrase | Filter, fields: tuple[tuple[str, float], ...]) -> WordSequence:
    text, prefix = asks(leaf)
    return WordSequence(" ".join(pieces(text)), fields, prefix)


def _mark(key: str, text: str) -> MarkIn:
    if key == "type":
        return MarkIn(key, KINDS.get(text, (text,)))
    return MarkIn("flag" if key == "is" else key, (text,))
