"""What the index beside the database holds of a page, and a query as a question to it.

A word of the title counts as four in the text, and so on: the index scores one field, in which important
texts come again. That is BM25 over weighted fields (Robertson, Zaragoza and Taylor, 2004), not a sum of
scores field by field, in which a word that stands in many fields would count too much.
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
"""Where words are looked for, with weights: the rest of a page (menus, footers) says less of it."""
PAST = (("past", 1.0), ("past_rest", 0.4))
"""The same for pages that are gone or changed, and for duplicates."""
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
"""Short names of media types, each with `type/subtype` of those it means."""
_UNINDEXED = {"links-to", "link-text", "seen", "duplicate-at"}
_TELLING = {"duplicate-at", "host", "site", "url", "inurl", "title", "headline", "is", "links-to", "link-text"}


def unindexed(query: Query) -> tuple[Filter, ...]:
    """Return the filters that only the database can answer; `ask` wants the generations each one finds."""
    return tuple(dict.fromkeys(one for one in filters(query.root) if one.key in _UNINDEXED))


def ask(query: Query, found: Mapping[Filter, tuple[int, ...]], *, share: float = 1.0) -> Clause:
    """Return the question; with a `share` below 1, so much of the words need be found, at least one.

    Duplicates are left out, unless the query asks for other times or for what tells duplicates apart: a
    copy may be the only one at a host, and the results are folded by their text in any case.
    """
    parts: list[Clause] = []
    if query.root is not None:
        leaf = _leaves(found, WORDS + PAST if copies(query) else WORDS)
        some = share < 1
        parts.append(question_for_some(query, least(query, share), leaf) if some else question(query.root, leaf))
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


def _leaves(found: Mapping[Filter, tuple[int, ...]], fields: tuple[tuple[str, float], ...]) -> Callable[[Leaf], Clause]:
    """Return what makes clauses of leaves: `found` is what the database found, and words are looked for in `fields`."""

    def clause(leaf: Leaf) -> Clause:
        if not isinstance(leaf, Filter):
            return sequence(leaf, fields)
        if leaf.key in _UNINDEXED:
            return NumberIn("id", found[leaf])
        return filter_clause(leaf, SCOPES) or _mark(leaf.key, str(leaf.value))

    return clause


def _mark(key: str, text: str) -> MarkIn:
    if key == "type":
        return MarkIn(key, KINDS.get(text, (text,)))
    return MarkIn("flag" if key == "is" else key, (text,))


VERSION = "4"
"""Of what is put in; another one makes the index anew."""

FIELDS = (
    IndexField("main", "words"),  # pages as they are now, duplicates apart: most searches need no filter then
    IndexField("rest", "words"),
    IndexField("past", "words"),  # the same of all others
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
"""The end of a generation that has none."""

TITLE, HEADLINE, CALLED, BIG, SMALL, DESCRIPTION, ADDRESS = 4, 3, 3, 3, 1, 1, 1
"""How often each text comes in `main`, besides where it stands in the text itself."""


def entry(page: IndexedGeneration, links: IncomingLinks) -> IndexDocument:
    """Return a generation as the index takes it."""
    address, title, headline = indexed(address_text(page.url)), indexed(page.title or ""), indexed(page.headline or "")
    text, big, small = indexed(page.text), indexed(page.big), indexed(page.small)
    main = [(text, 1), (title, TITLE), (headline, HEADLINE), (indexed(page.description or ""), DESCRIPTION)]
    main += [(big, BIG), (small, SMALL), (address, ADDRESS)]
    main += [(indexed(called), CALLED) for called, _ in links.texts]
    now = page.end is None and not page.duplicate
    texts = [("main" if now else "past", one) for one, times in main if one for _ in range(times)]
    more = [("rest" if now else "past_rest", indexed(page.secondary)), ("title", title), ("address", address)]
    more += [("headline", one) for one in (headline, big, small)]
    more += [("code", indexed(page.code)), ("quote", indexed(page.quote))]
    texts += [(name, one) for name, one in more if one.strip()]
    return IndexDocument(page.id, tuple(chain(texts, _marks(page))), _numbers(page))


def stamp(page: IndexedGeneration, links: IncomingLinks | None = None) -> int:
    """Return a number that changes with what `entry` would make of a generation; its texts are told by their pile.

    When it was seen last does not count: that changes with every visit, and is no part of the index.
    """
    said = (*page[2:6], *page[7:20], links)
    return int.from_bytes(blake2b(repr(said).encode("utf-8", "replace"), digest_size=8).digest(), "big") >> 1


def _marks(page: IndexedGeneration) -> list[tuple[str, str]]:
    found = address_marks(page.url, page.host)
    tags = (page.language or "").lower().split("-")
    found += [("lang", "-".join(tags[: end + 1])) for end in range(len(tags)) if tags[0]]
    if page.kind:
        name, _, subtype = page.kind.partition("/")
        kinds = {page.kind, name, subtype, f"{name}/*"}
        if page.suffix:
            kinds |= {page.suffix, f"{page.kind}+{page.suffix}"}
        found += [("type", kind) for kind in sorted(kinds)]
    flags = {"duplicate": page.duplicate, "open": page.end is None}
    flags |= {"now": page.end is None and not page.duplicate, "index": page.indexiness > 0, "leaf": page.indexiness < 0}
    return found + [("flag", name) for name, holds in flags.items() if holds]


def _numbers(page: IndexedGeneration) -> tuple[tuple[str, int], ...]:
    published = page.first if page.created is None else page.created
    updated = published if page.updated is None else page.updated
    end = OPEN if page.end is None else page.end
    return (("published", published), ("updated", updated), ("first", page.first), ("end", end))
