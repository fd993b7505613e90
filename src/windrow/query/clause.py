"""Clauses, the conditions of a search in an index, and their construction from a query."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, TypeVar

from windrow.query.parse import Query
from windrow.query.tree import (
    And,
    Filter,
    HostFilter,
    LinkFilter,
    Node,
    Not,
    Or,
    Phrase,
    TimeSpan,
    Tree,
    Word,
    asks,
    wanted,
)
from windrow.query.word import pieces


class IndexField(NamedTuple):
    """A field of an index: `words` are split and folded, a `mark` is matched as it is, a `number` is an integer."""

    name: str
    kind: str  # words | mark | number


@dataclass(frozen=True, slots=True)
class Everything:
    """All documents."""


@dataclass(frozen=True, slots=True)
class WordSequence:
    """Consecutive words in one of the fields; each field has its weight.

    With `prefix`, the last word may be the beginning of a longer one. A text without words matches nothing.
    """

    text: str
    fields: tuple[tuple[str, float], ...]
    prefix: bool = False


@dataclass(frozen=True, slots=True)
class MarkIn:
    """A field of marks has one of these values."""

    field: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MarkLike:
    """A field of marks has a value that contains a text, with anything `before` or `after` it."""

    field: str
    text: str
    before: bool
    after: bool


@dataclass(frozen=True, slots=True)
class NumberRange:
    """A number is within a range, both ends included; None means no limit."""

    field: str
    low: int | None = None
    high: int | None = None


@dataclass(frozen=True, slots=True)
class NumberIn:
    """A number is one of these values."""

    field: str
    values: tuple[int, ...]


Clause: TypeAlias = Tree[Everything | WordSequence | MarkIn | MarkLike | NumberRange | NumberIn]


NOTHING = NumberIn("id", ())
"""The clause that matches no document."""

Leaf: TypeAlias = Word | Phrase | Filter


New = TypeVar("New")


def question(node: Node, leaf: Callable[[Leaf], Tree[New]]) -> Tree[New]:
    """Return a query's tree with each leaf replaced: its clause, if `leaf` returns those of its leaves."""
    match node:
        case Not(part):
            return Not(question(part, leaf))
        case And(parts):
            return And(tuple(question(part, leaf) for part in parts))
        case Or(parts):
            return Or(tuple(question(part, leaf) for part in parts))
        case _:
            return leaf(node)


def question_for_some(query: Query, count: int, leaf: Callable[[Leaf], Clause]) -> Clause:
    """Return a clause that requires at least `count` of a query's words and phrases, and all its other parts."""
    terms: tuple[Clause, ...] = tuple(question(term, leaf) for term in wanted(query.root))
    parts = query.root.parts if isinstance(query.root, And) else (query.root,)
    filters: list[Clause] = [question(part, leaf) for part in parts if part is not None and not list(wanted(part))]
    return And((Or(terms, count), *filters))


def sequence(leaf: Leaf, fields: tuple[tuple[str, float], ...]) -> WordSequence:
    """Return the clause of a leaf's words, consecutive in one of these fields."""
    text, prefix = asks(leaf)
    return WordSequence(" ".join(pieces(text)), fields, prefix)


def filter_clause(leaf: Filter, scopes: Mapping[str, str]) -> Clause | None:
    """Return the clause of a filter that is the same for all indexes; None for other filters.

    `scopes` has the index field for the key of each filter whose words are searched in one field. The other fields
    are `published`, `updated`, `site`, `host`, `port` and `url`.
    """
    match leaf:
        case Filter(key="before" | "after" | "updated-before" | "updated-after" as key, value=TimeSpan() as span):
            field = "updated" if key.startswith("updated") else "published"
            open_beginning = key.endswith("before")
            return NumberRange(field, high=span.start - 1) if open_beginning else NumberRange(field, low=span.start)
        case Filter(key=key) if key in scopes:
            return sequence(leaf, ((scopes[key], 1.0),))
        case Filter(key=key, value=HostFilter() as host):
            like = host.before or host.after
            name = MarkLike("host", host.name, host.before, host.after) if like else MarkIn(key, (host.name,))
            return And((name, *([] if host.port is None else [MarkIn("port", (str(host.port),))])))
        case Filter(key="url", value=LinkFilter() as target):
            return MarkIn("url", (bare(target),))
    return None


def bare(target: LinkFilter) -> str:
    """Return the address of a `url:` filter, without its scheme."""
    port = f":{target.port}" if target.port is not None else ""
    return target.url if target.url is not None else f"{target.host}{port}/"


_PORTS = {"http": "80", "https": "443"}
_ASKED_URL = 2_100  # characters; queries are shorter, and a cut address could equal another one


def address_marks(url: str, host: str) -> list[tuple[str, str]]:
    """Return the field and value of each mark by which `filter_clause` finds a normalised address.

    >>> address_marks("http://www.a.example/b", "www.a.example")[:3]
    [('host', 'www.a.example'), ('port', '80'), ('url', 'www.a.example/b')]
    """
    labels = host.split(".")
    scheme, _, rest = url.partition("://")
    port = rest.partition("/")[0].rpartition("]")[2].rpartition("@")[2].partition(":")[2] or _PORTS.get(scheme, "")
    marks = [("host", host), ("port", port)] + [("url", rest)] * (len(url) <= _ASKED_URL)
    return marks + [("site", ".".join(labels[start:])) for start in range(len(labels))]


class IndexHit(NamedTuple):
    """A document that an index found, with its score; 0 if the clause has no score."""

    id: int
    score: float


class IndexDocument(NamedTuple):
    """A document for an index: texts by field (a field may occur several times) and numbers by field."""

    id: int
    texts: tuple[tuple[str, str], ...]
    numbers: tuple[tuple[str, int], ...]
