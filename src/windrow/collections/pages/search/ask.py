"""What the index beside the database holds of a page, and a query as a question to it.

A word of the title counts as four in the text, and so on: the index scores one field, in which important
texts come again. That is BM25 over weighted fields (Robertson, Zaragoza and Taylor, 2004), not a sum of
scores field by field, in which a word that stands in many fields would count too much.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from itertools import chain
from typing import NamedTuple

from windrow.collections.pages.database.search_view import IncomingLinks, IndexedGeneration, PageText
from windrow.collections.pages.search.condition import KINDS, bare
from windrow.query.clause import (
    Clause,
    Everything,
    IndexDocument,
    IndexField,
    MarkIn,
    NumberIn,
    NumberRange,
    WordSequence,
)
from windrow.query.likeness import least
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
    Word,
    asks,
    filters,
    wanted,
)
from windrow.query.word import address_text, indexed, pieces

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
_ASKED_URL = 2_100  # characters; no query is so long, and a part of an address must not be taken for another one
_PORTS = {"http": "80", "https": "443"}


def entry(page: IndexedGeneration, links: IncomingLinks) -> IndexDocument:
    """Return a generation as the index takes it."""
    own = page_text(page, links)
    address, title, headline = indexed(own.address), indexed(own.title), indexed(own.headline)
    text, big, small = indexed(page.text), indexed(page.big), indexed(page.small)
    main = [(text, 1), (title, TITLE), (headline, HEADLINE), (indexed(own.description), DESCRIPTION)]
    main += [(big, BIG), (small, SMALL), (address, ADDRESS)]
    main += [(indexed(called), CALLED) for called in own.called]
    now = page.end is None and not page.duplicate
    texts = [("main" if now else "past", one) for one, times in main if one for _ in range(times)]
    more = [("rest" if now else "past_rest", indexed(page.secondary)), ("title", title), ("address", address)]
    more += [("headline", one) for one in (headline, big, small)]
    more += [("code", indexed(page.code)), ("quote", indexed(page.quote))]
    texts += [(name, one) for name, one in more if one.strip()]
    return IndexDocument(page.id, tuple(chain(texts, _marks(page))), _numbers(page))


def page_text(page: IndexedGeneration, links: IncomingLinks) -> PageText:
    """Return what can be found of a page besides the text that it may share with others."""
    called = tuple(text for text, _ in links.texts)
    return PageText(
        page.id, page.title or "", page.description or "", page.headline or "", address_text(page.url), called
    )


def stamp(page: IndexedGeneration, links: IncomingLinks | None = None) -> int:
    """Return a number that changes with what `entry` would make of a generation; its texts are told by their pile.

    When it was seen last does not count: that changes with every visit, and is no part of the index.
    """
    said = (*page[2:6], *page[7:20], links)
    return int.from_bytes(blake2b(repr(said).encode("utf-8", "replace"), digest_size=8).digest(), "big") >> 1


def _marks(page: IndexedGeneration) -> list[tuple[str, str]]:
    labels = page.host.split(".")
    scheme, _, rest = page.url.partition("://")
    port = rest.partition("/")[0].rpartition("]")[2].rpartition("@")[2].partition(":")[2] or _PORTS.get(scheme, "")
    found = [("host", page.host), ("port", port)] + [("url", rest)] * (len(page.url) <= _ASKED_URL)
    found += [("site", ".".join(labels[start:])) for start in range(len(labels))]
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
