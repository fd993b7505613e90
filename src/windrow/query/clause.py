"""Define clauses, the conditions of a search as an index evaluates them, and turn queries into clauses."""

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
    searched_terms,
    searched_text,
)
from windrow.query.word import index_words
from windrow.query.word_forms import WordForms


class IndexField(NamedTuple):
    """A field of an index and its kind.

    `words` is a text that is split and folded. A `mark` is matched whole. A `facet` is a mark by which documents can be
    counted. A `number` is an integer.
    """

    name: str
    kind: str  # words | mark | facet | number


@dataclass(frozen=True, slots=True)
class Everything:
    """The condition that every document satisfies."""


@dataclass(frozen=True, slots=True)
class WordSequence:
    """The document has the words of `text` next to each other in one of `fields`: pairs (name, weight in the score).

    If `prefix` is true, the last word may be the beginning of a longer one. A `text` without words matches nothing.
    """

    text: str
    fields: tuple[tuple[str, float], ...]
    prefix: bool = False


@dataclass(frozen=True, slots=True)
class MarkIn:
    """The document has at least one of `values` as a mark in `field`."""

    field: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MarkLike:
    """The document has the mark `text` in `field`, perhaps with other text before (`before`) or after it (`after`)."""

    field: str
    text: str
    before: bool
    after: bool


@dataclass(frozen=True, slots=True)
class NumberRange:
    """The document has a number in `field` that is at least `low` and at most `high`. None means no limit."""

    field: str
    low: int | None = None
    high: int | None = None


@dataclass(frozen=True, slots=True)
class NumberIn:
    """The document has at least one of `values` as a number in `field`."""

    field: str
    values: tuple[int, ...]


Clause: TypeAlias = Tree[Everything | WordSequence | MarkIn | MarkLike | NumberRange | NumberIn]


NO_DOCUMENT = NumberIn("id", ())
"""The clause that does not match any document."""

Leaf: TypeAlias = Word | Phrase | Filter


NewLeaf = TypeVar("NewLeaf")


def replace_leaves(node: Node, new_leaf: Callable[[Leaf], Tree[NewLeaf]]) -> Tree[NewLeaf]:
    """Return a copy of a query's tree in which each leaf is replaced with the result of `new_leaf(leaf)`."""
    match node:
        case Not(part):
            return Not(replace_leaves(part, new_leaf))
        case And(parts):
            return And(tuple(replace_leaves(part, new_leaf) for part in parts))
        case Or(parts, least):
            return Or(tuple(replace_leaves(part, new_leaf) for part in parts), least)
        case _:
            return new_leaf(node)


def require_some_terms(query: Query, count: int, leaf_clause: Callable[[Leaf], Clause]) -> Clause:
    """Return a clause that requires at least `count` of the words and phrases that `searched_terms` yields for a query.

    It also requires each part of the query that has a filter or excludes something, such as a word or filter joined by
    OR. `leaf_clause` returns the clause for a leaf.
    """
    terms: tuple[Clause, ...] = tuple(replace_leaves(term, leaf_clause) for term in searched_terms(query.root))
    parts = query.root.parts if isinstance(query.root, And) else (query.root,)
    required_parts = [part for part in parts if part is not None and not _has_terms_only(part)]
    required: list[Clause] = [replace_leaves(part, leaf_clause) for part in required_parts]
    return And((Or(terms, count), *required))


def _has_terms_only(node: Node) -> bool:
    """Return whether a part of a query consists of words and phrases that are not excluded."""
    return isinstance(node, Word | Phrase) or (isinstance(node, And | Or) and all(map(_has_terms_only, node.parts)))


def word_sequence(leaf: Leaf, fields: tuple[tuple[str, float], ...]) -> WordSequence:
    """Return the clause that requires the words of `leaf` next to each other in one of `fields`: (name, weight)."""
    text, prefix = searched_text(leaf)
    return WordSequence(" ".join(index_words(text)), fields, prefix)


_FORM_WEIGHT = 0.5  # of another form of a word, relative to the word as it was typed


def word_or_forms(leaf: Leaf, fields: tuple[tuple[str, float], ...], word_forms: WordForms) -> Clause:
    """Return the clause of `word_sequence` for `leaf`. If `leaf` is a word, the clause also finds its `word_forms`.

    Forms are searched for in documents in their language, and in documents whose language is unknown. Forms of
    phrases and prefixes are not searched for.
    """
    sequence = word_sequence(leaf, fields)
    if not isinstance(leaf, Word) or leaf.prefix or not word_forms.get(sequence.text):
        return sequence
    form_fields = tuple((name, weight * _FORM_WEIGHT) for name, weight in fields)
    alternatives: list[Clause] = [
        And(
            (
                Or(tuple(WordSequence(form, form_fields) for form in forms)),
                MarkIn("lang", (language, UNKNOWN_LANGUAGE)),
            )
        )
        for language, forms in word_forms[sequence.text].items()
    ]
    return Or((sequence, *alternatives))


UNKNOWN_LANGUAGE = "und"
"""The mark of documents whose language is unknown (BCP 47)."""


def language_marks(tag: str) -> list[tuple[str, str]]:
    """Return the marks for a document's language `tag`: the tag and each shorter tag, or `und` for an empty tag.

    >>> language_marks("de-AT"), language_marks("")
    ([('lang', 'de'), ('lang', 'de-at')], [('lang', 'und')])
    """
    parts = tag.strip().lower().replace("_", "-").split("-")
    if not parts[0]:
        return [("lang", UNKNOWN_LANGUAGE)]
    return [("lang", "-".join(parts[: count + 1])) for count in range(len(parts))]


def filter_clause(leaf: Filter, scopes: Mapping[str, str]) -> Clause | None:
    """Return the clause for a filter that means the same in all indexes, or None for any other filter.

    `scopes` is a dict from the keys of filters that search for words to their index fields. The other filters use the
    fields `published`, `updated`, `lang`, `source`, `site`, `host`, `port` and `url`.
    """
    match leaf:
        case Filter(key="lang" | "source" as key, value=str(mark)):
            return MarkIn(key, (mark,))
        case Filter(key="before" | "after" | "updated-before" | "updated-after" as key, value=TimeSpan() as span):
            field = "updated" if key.startswith("updated") else "published"
            is_upper = key.endswith("before")
            return NumberRange(field, high=span.start - 1) if is_upper else NumberRange(field, low=span.start)
        case Filter(key=key) if key in scopes:
            return word_sequence(leaf, ((scopes[key], 1.0),))
        case Filter(key=key, value=HostFilter() as host):
            is_partial = host.before or host.after
            name = MarkLike("host", host.name, host.before, host.after) if is_partial else MarkIn(key, (host.name,))
            return And((name, *([] if host.port is None else [MarkIn("port", (str(host.port),))])))
        case Filter(key="url", value=LinkFilter() as target):
            return MarkIn("url", (address_without_scheme(target),))
    return None


def address_without_scheme(target: LinkFilter) -> str:
    """Return the address in `target`, the value of a `url:` filter, without its scheme."""
    port = f":{target.port}" if target.port is not None else ""
    return target.url if target.url is not None else f"{target.host}{port}/"


_DEFAULT_PORTS = {"http": "80", "https": "443"}
_MAX_URL_LENGTH = 2_100  # characters; queries are shorter, so a longer address cannot be searched for


def address_marks(url: str, host_name: str) -> list[tuple[str, str]]:
    """Return the marks of a document with the normalised address `url` for the filters by host, site and address.

    >>> address_marks("http://www.a.example/b", "www.a.example")[:3]
    [('host', 'www.a.example'), ('port', '80'), ('url', 'www.a.example/b')]
    """
    labels = host_name.split(".")
    scheme, _, address = url.partition("://")
    port = address.partition("/")[0].rpartition("]")[2].rpartition("@")[2].partition(":")[2]
    marks = [("host", host_name), ("port", port or _DEFAULT_PORTS.get(scheme, ""))]
    marks += [("url", address)] * (len(url) <= _MAX_URL_LENGTH)
    return marks + [("site", ".".join(labels[start:])) for start in range(len(labels))]


class IndexHit(NamedTuple):
    """A document that an index found, and its score, which is 0 if the search does not compute scores."""

    id: int
    score: float


class IndexDocument(NamedTuple):
    """A document for an index. `texts` are pairs (field, text or mark), and `numbers` are pairs (field, number)."""

    id: int
    texts: tuple[tuple[str, str], ...]
    numbers: tuple[tuple[str, int], ...]


class FacetCounts(NamedTuple):
    """The number of `documents` that a query finds, and for each facet, how many of them have each value.

    Facets are `source`, `language`, `type` and `year`. If `relaxed` is true, no document has all words of the query,
    and documents with some of the words are counted.
    """

    documents: int
    facets: Mapping[str, Mapping[str, int]]
    relaxed: bool = False


NO_FACETS = FacetCounts(0, {})
"""The counts of a search that finds nothing."""
