"""The search index document of a page, and the translation of a query for the index.

The index scores one field in which important texts are repeated: a word of the title counts like four in the text,
and so on. That is BM25 over weighted fields (Robertson, Zaragoza and Taylor, 2004). A sum of the scores of all fields
would count a word that occurs in many fields too much.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import blake2b
from itertools import chain

from windrow.collections.pages.database.search_view import IncomingLinks, IndexedGeneration
from windrow.query.clause import (
    Clause,
    Everything,
    IndexDocument,
    IndexField,
    Leaf,
    MarkIn,
    NumberIn,
    NumberRange,
    address_marks,
    filter_clause,
    question,
    question_for_some,
    sequence,
)
from windrow.query.likeness import least
from windrow.query.parse import Query
from windrow.query.tree import And, Filter, Node, Phrase, Word, filters
from windrow.query.word import address_text, indexed

WORDS = (("main", 1.0), ("rest", 0.4))
"""Fields in which words are searched, with weights: the rest of a page (menus, footers) says less about it."""
PAST = (("past", 1.0), ("past_rest", 0.4))
"""The same for past versions and for duplicates."""
SCOPES = {"title": "title", "headline": "headline", "code": "code", "quote": "quote", "inurl": "address"}
KINDS = {
    "html": ("text/html", "application/xhtml"),
    "pdf": ("application/pdf",),
    "text": ("text/plain",),
    "markdown": ("text/markdown",),
    "feed": ("application/rss", "application/atom", "application/feed"),
    "xml": ("text/xml", "application/xml"),
    "json": ("application/json",),
}
"""Short names of media types, each with `type/subtype` of its media types."""
_UNINDEXED = {"links-to", "link-text", "seen", "duplicate-at"}
_SHOWING_DUPLICATES = {
    "duplicate-at",
    "host",
    "site",
    "url",
    "inurl",
    "title",
    "headline",
    "is",
    "links-to",
    "link-text",
}


def unindexed_filters(query: Query) -> tuple[Filter, ...]:
    """Return the filters that only the database can answer; `ask` needs the generations that match each."""
    return tuple(dict.fromkeys(leaf for leaf in filters(query.root) if leaf.key in _UNINDEXED))


def ask(query: Query, generations: Mapping[Filter, tuple[int, ...]], *, share: float = 1.0) -> Clause:
    """Return the clause for the index; with a `share` below 1, only this share of the words must match, at least one.

    `generations` has the matches of each filter that only the database can answer. Duplicates are left out, unless the
    query asks for other times or for something in which duplicates differ: a copy may be the only page on a host, and
    the results are folded by their text anyway.
    """
    parts: list[Clause] = []
    if query.root is not None:
        leaf = _clause_maker(generations, WORDS + PAST if allows_duplicates(query) else WORDS)
        relaxed = share < 1
        parts.append(question_for_some(query, least(query, share), leaf) if relaxed else question(query.root, leaf))
    if query.as_of is not None:
        parts += [NumberRange("first", high=query.as_of), NumberRange("end", low=query.as_of + 1)]
    elif not query.history and (allows_duplicates(query) or not _needs_current_word(query.root)):
        parts.append(MarkIn("flag", ("open" if allows_duplicates(query) else "now",)))
    return And(tuple(parts)) if parts else Everything()


def allows_duplicates(query: Query) -> bool:
    """Tell whether pages that are marked as duplicates may be results."""
    return query.history or any(leaf.key in _SHOWING_DUPLICATES for leaf in filters(query.root))


def _needs_current_word(root: Node | None) -> bool:
    """Tell whether the query requires a word, so that searching the fields of present pages is enough."""
    parts = root.parts if isinstance(root, And) else (root,)
    return any(isinstance(part, Word | Phrase) for part in parts)


def _clause_maker(
    generations: Mapping[Filter, tuple[int, ...]], fields: tuple[tuple[str, float], ...]
) -> Callable[[Leaf], Clause]:
    """Return a function that translates leaves: words are searched in `fields`, database filters use `generations`."""

    def clause(leaf: Leaf) -> Clause:
        if not isinstance(leaf, Filter):
            return sequence(leaf, fields)
        if leaf.key in _UNINDEXED:
            return NumberIn("id", generations[leaf])
        return filter_clause(leaf, SCOPES) or _mark_clause(leaf.key, str(leaf.value))

    return clause


def _mark_clause(key: str, text: str) -> MarkIn:
    if key == "type":
        return MarkIn(key, KINDS.get(text, (text,)))
    return MarkIn("flag" if key == "is" else key, (text,))


VERSION = "4"
"""Version of the indexed documents; another one rebuilds the index."""

FIELDS = (
    IndexField("main", "words"),  # present pages without duplicates: most searches need no filter then
    IndexField("rest", "words"),
    IndexField("past", "words"),  # the same for all others
    IndexField("past_rest", "words"),
    IndexField("title", "words"),
    IndexField("headline", "words"),
    IndexField("code", "words"),
    IndexField("quote", "words"),
    IndexField("address", "words"),
    IndexField("site", "mark"),
    IndexField("host", "mark"),
    IndexField("port", "mark"),
    IndexField("url", "mark"),
    IndexField("lang", "mark"),
    IndexField("type", "mark"),
    IndexField("flag", "mark"),
    IndexField("published", "number"),
    IndexField("updated", "number"),
    IndexField("first", "number"),
    IndexField("end", "number"),
)
OPEN = 2**62
"""The indexed end of a generation that is open."""

TITLE, HEADLINE, CALLED, BIG, SMALL, DESCRIPTION, ADDRESS = 4, 3, 3, 3, 1, 1, 1
"""How often each text is added to `main`, apart from its occurrence in the text itself."""


def entry(page: IndexedGeneration, links: IncomingLinks) -> IndexDocument:
    """Return the index document of a generation."""
    address, title, headline = indexed(address_text(page.url)), indexed(page.title or ""), indexed(page.headline or "")
    text, big, small = indexed(page.text), indexed(page.big), indexed(page.small)
    main = [(text, 1), (title, TITLE), (headline, HEADLINE), (indexed(page.description or ""), DESCRIPTION)]
    main += [(big, BIG), (small, SMALL), (address, ADDRESS)]
    main += [(indexed(called), CALLED) for called, _ in links.texts]
    is_current = page.end is None and not page.duplicate
    texts = [("main" if is_current else "past", text_) for text_, times in main if text_ for _ in range(times)]
    more = [("rest" if is_current else "past_rest", indexed(page.secondary)), ("title", title), ("address", address)]
    more += [("headline", text_) for text_ in (headline, big, small)]
    more += [("code", indexed(page.code)), ("quote", indexed(page.quote))]
    texts += [(name, text_) for name, text_ in more if text_.strip()]
    return IndexDocument(page.id, tuple(chain(texts, _marks(page))), _numbers(page))


def stamp(page: IndexedGeneration, links: IncomingLinks | None = None) -> int:
    """Return a hash of everything that `entry` indexes of a generation; its texts are represented by their pile id.

    The time when it was last seen is left out: it changes with every visit and is not indexed.
    """
    indexed_fields = (*page[2:6], *page[7:20], links)
    return int.from_bytes(blake2b(repr(indexed_fields).encode("utf-8", "replace"), digest_size=8).digest(), "big") >> 1


def _marks(page: IndexedGeneration) -> list[tuple[str, str]]:
    marks = address_marks(page.url, page.host)
    tags = (page.language or "").lower().split("-")
    marks += [("lang", "-".join(tags[: end + 1])) for end in range(len(tags)) if tags[0]]
    if page.kind:
        name, _, subtype = page.kind.partition("/")
        kinds = {page.kind, name, subtype, f"{name}/*"}
        if page.suffix:
            kinds |= {page.suffix, f"{page.kind}+{page.suffix}"}
        marks += [("type", kind) for kind in sorted(kinds)]
    flags = {"duplicate": page.duplicate, "open": page.end is None}
    flags |= {"now": page.end is None and not page.duplicate, "index": page.indexiness > 0, "leaf": page.indexiness < 0}
    return marks + [("flag", name) for name, holds in flags.items() if holds]


def _numbers(page: IndexedGeneration) -> tuple[tuple[str, int], ...]:
    published = page.first if page.created is None else page.created
    updated = published if page.updated is None else page.updated
    end = OPEN if page.end is None else page.end
    return (("published", published), ("updated", updated), ("first", page.first), ("end", end))
