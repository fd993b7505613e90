"""The search index document of a page, and the translation of a query for the index.

The index scores one field in which important texts are repeated: a word in the title counts as much as four words in
the text, and so on. That is BM25 over weighted fields (Robertson, Zaragoza and Taylor, 2004). A sum of the scores of
all fields would give too much weight to a word that occurs in many fields.

Filters that only the database can answer are translated in `conditions`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import blake2b
from itertools import chain
from types import MappingProxyType

from windrow.collections.pages.database.search_view import IncomingLinks, IndexedGeneration
from windrow.query.clause import (
    NO_DOCUMENT,
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
    language_marks,
    replace_leaves,
    require_some_terms,
    word_or_forms,
)
from windrow.query.columns import read_dates
from windrow.query.likeness import required_terms
from windrow.query.parse import Query
from windrow.query.tree import (
    And,
    Filter,
    LinkFilter,
    Node,
    Not,
    Or,
    PastLinks,
    Phrase,
    SourceOrigins,
    Word,
    filters,
    searched_terms,
)
from windrow.query.word import address_text, indexable_text
from windrow.query.word_forms import WordForms
from windrow.reasons import Reason

WORDS = (("main", 1.0), ("rest", 0.4))
"""Fields in which words are searched, with weights: text outside the main content describes a page less well."""
PAST_WORDS = (("past", 1.0), ("past_rest", 0.4))
"""Like `WORDS`, but for past versions, duplicates and soft 404s."""
FIELD_OF_KEY = {"title": "title", "headline": "headline", "code": "code", "quote": "quote", "inurl": "address"}
KINDS = {
    "html": ("text/html", "application/xhtml"),
    "pdf": ("application/pdf",),
    "text": ("text/plain",),
    "markdown": ("text/markdown",),
    "feed": ("application/rss", "application/atom", "application/feed"),
    "xml": ("text/xml", "application/xml"),
    "json": ("application/json",),
}
"""A dict from each kind of document that the filter `type:` knows to its media types, as `type/subtype`."""
_KIND_OF_MEDIA_TYPE = {media_type: name for name, media_types in KINDS.items() for media_type in media_types}
_UNINDEXED_KEYS = {"links-to", "link-text", "seen", "duplicate-at"}
_KEYS_SHOWING_DUPLICATES = {
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
    "source",
}
_PLACE_KEYS = {"host", "site", "url", "inurl", "source"}


def unindexed_filters(query: Query) -> tuple[Filter, ...]:
    """Return the filters of a query that only the database can answer; `make_clause` needs their matches."""
    return tuple(dict.fromkeys(leaf for leaf in filters(query.root) if leaf.key in _UNINDEXED_KEYS or _is_shared(leaf)))


def _is_shared(leaf: Filter) -> bool:
    """Return whether a filter names a source that shares origins: the index only knows the origin of a page."""
    return isinstance(leaf.value, SourceOrigins) and bool(leaf.value.shared)


def make_clause(
    query: Query,
    matches: Mapping[Filter, tuple[int, ...]],
    *,
    share: float = 1.0,
    word_forms: WordForms = MappingProxyType({}),
) -> Clause:
    """Return the clause for the index; `share` is the share of the words, from 0 to 1, that a page must contain.

    A word that is not excluded is also found by its forms in `word_forms`. At least one word must match. `matches` has
    the ids of versions for each filter that only the database can answer. Duplicates are left out unless
    `allows_duplicates` is true for the query. Soft 404s are left out unless the query filters by `is:soft-404`.
    """
    parts: list[Clause] = []
    if query.root is not None:
        fields = WORDS + PAST_WORDS if allows_duplicates(query) else WORDS
        translate = _make_translator(matches, fields, word_forms, frozenset(searched_terms(query.root)))
        if share < 1:
            parts.append(require_some_terms(query, required_terms(query, share), translate))
        else:
            parts.append(replace_leaves(query.root, translate))
    if query.as_of is not None:
        parts += [NumberRange("first", high=query.as_of), NumberRange("end", low=query.as_of + 1)]
    elif not query.history and (allows_duplicates(query) or not _needs_current_word(query.root)):
        parts.append(MarkIn("flag", ("open" if allows_duplicates(query) else "now",)))
    if _must_exclude_soft_404s(query):
        parts = [*(parts or [Everything()]), Not(SOFT_404S)]
    return And(tuple(parts)) if parts else Everything()


def keep_soft_404s_only(query: Query) -> Query | None:
    """Return a query that finds the soft 404s that `query` leaves out.

    Return None if `query` has a filter `is:soft-404`, even an excluded one, or if it has no condition.
    """
    if query.root is None or any(leaf.key == "is" and leaf.value == _SOFT_404 for leaf in filters(query.root)):
        return None
    return replace(query, root=And((query.root, Filter("is", _SOFT_404, f"is:{_SOFT_404}"))))


_SOFT_404 = "soft-404"
"""The flag for certain and suspected soft 404s: pages with status 200 that say that they do not exist."""

SOFT_404S = MarkIn("flag", (_SOFT_404,))
"""The clause that matches the versions that are soft 404s."""


def _must_exclude_soft_404s(query: Query) -> bool:
    """Return whether to exclude soft 404s: the query searches fields that have them, without a filter `is:soft-404`."""
    if any(leaf.key == "is" and leaf.value == _SOFT_404 for leaf in filters(query.root)):
        return False
    return query.as_of is not None or allows_duplicates(query)


def allows_duplicates(query: Query) -> bool:
    """Return whether pages that are marked as duplicates may be results of a query.

    They may if the query finds past versions, or filters by something in which duplicates differ, such as the host.
    """
    return query.history or any(leaf.key in _KEYS_SHOWING_DUPLICATES for leaf in filters(query.root))


def folds_groups(query: Query) -> bool:
    """Return whether only one page of each group of near-duplicates is a result: not if a query names a place."""
    return not any(leaf.key in _PLACE_KEYS for leaf in filters(query.root))


def _needs_current_word(root: Node | None) -> bool:
    """Return whether a query requires a word, which is then searched only in the fields of present pages."""
    parts = root.parts if isinstance(root, And) else (root,)
    return any(isinstance(part, Word | Phrase) for part in parts)


def _make_translator(
    matches: Mapping[Filter, tuple[int, ...]],
    fields: tuple[tuple[str, float], ...],
    word_forms: WordForms,
    terms: frozenset[Leaf],
) -> Callable[[Leaf], Clause]:
    """Return a function that returns the clause for a leaf of a query: for a word, a phrase or a filter.

    Only `terms` may have other forms: excluding a word does not exclude its forms.
    """

    def translate(leaf: Leaf) -> Clause:
        if not isinstance(leaf, Filter):
            return word_or_forms(leaf, fields, word_forms if leaf in terms else {})
        if leaf.key in _UNINDEXED_KEYS:
            return NumberIn("id", matches[leaf])
        if isinstance(leaf.value, SourceOrigins):
            own_pages: Clause = MarkIn("origin", leaf.value.origins)
            return Or((own_pages, NumberIn("id", matches[leaf]))) if _is_shared(leaf) else own_pages
        return _make_page_clause(leaf) or filter_clause(leaf, FIELD_OF_KEY) or NO_DOCUMENT

    return translate


def _make_page_clause(leaf: Filter) -> Clause | None:
    """Return the clause for a filter that has a meaning of its own for pages, or None for any other filter."""
    match leaf:
        case Filter(key="type", value=str(text)):
            return MarkIn("type", KINDS.get(text, (text,)))
        case Filter(key="is", value=str(flag)):
            return MarkIn("flag", (flag,))
        case Filter(key="source"):
            return NO_DOCUMENT
        case Filter(key="year", value=str(text)) if bounds := read_dates(text):
            return NumberRange("published", *bounds)
    return None


VERSION = "9"
"""Version of the indexed documents; an index of another version is rebuilt."""

FIELDS = (
    IndexField("main", "words"),  # only versions that `_is_current` accepts, so that most searches need no filter
    IndexField("rest", "words"),
    IndexField("past", "words"),  # all other versions
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
    IndexField("lang", "facet"),
    IndexField("type", "facet"),
    IndexField("origin", "facet"),
    IndexField("flag", "mark"),
    IndexField("published", "number"),
    IndexField("updated", "number"),
    IndexField("first", "number"),
    IndexField("end", "number"),
)
NEVER_ENDED = 2**62
"""The indexed end of a version that has not ended, greater than all times."""

_TITLE_WEIGHT, _HEADLINE_WEIGHT, _LINK_TEXT_WEIGHT, _BIG_HEADLINE_WEIGHT = 4, 3, 3, 3
_SMALL_HEADLINE_WEIGHT, _DESCRIPTION_WEIGHT, _ADDRESS_WEIGHT = 1, 1, 1
"""How many times each of these texts is added to the field `main` or `past`, which also has the main text once."""


def make_document(page: IndexedGeneration, links: IncomingLinks) -> IndexDocument:
    """Return the index document of a version; `links` are the links to its URL."""
    from windrow.content.substitute import recognise_substitute  # noqa: PLC0415 searches read no pages

    address, title, headline = (
        indexable_text(address_text(page.url)),
        indexable_text(page.title or ""),
        indexable_text(page.headline or ""),
    )
    text, big_headlines, small_headlines = (
        indexable_text(page.text),
        indexable_text(page.big_headlines),
        indexable_text(page.small_headlines),
    )
    description = indexable_text(page.description or "")
    main_parts = [(text, 1), (title, _TITLE_WEIGHT), (headline, _HEADLINE_WEIGHT), (description, _DESCRIPTION_WEIGHT)]
    main_parts += [(big_headlines, _BIG_HEADLINE_WEIGHT), (small_headlines, _SMALL_HEADLINE_WEIGHT)]
    main_parts += [
        (address, _ADDRESS_WEIGHT),
        *((indexable_text(link_text), _LINK_TEXT_WEIGHT) for link_text, _ in links.texts),
    ]
    titles = (page.title or "", page.headline or "")
    is_soft_404 = bool(page.is_suspect) or recognise_substitute(titles, page.text) is Reason.SOFT_404
    is_current = _is_current(page, is_soft_404=is_soft_404)
    fields = [("main" if is_current else "past", part) for part, weight in main_parts if part for _ in range(weight)]
    if page.is_duplicate and not is_current and page.end is None and not is_soft_404:
        # The words of its path are found as well as its original's, for which all else of it stands.
        fields.append(("main", indexable_text(address_text(page.url).partition("/")[2])))
    other_parts = [("rest" if is_current else "past_rest", indexable_text(page.secondary_text)), ("title", title)]
    other_parts += [("address", address), ("headline", headline)]
    other_parts += [("headline", big_headlines), ("headline", small_headlines)]
    other_parts += [("code", indexable_text(page.code_text)), ("quote", indexable_text(page.quote_text))]
    fields += [(name, part) for name, part in other_parts if part.strip()]
    marks = _list_marks(page, is_soft_404=is_soft_404)
    return IndexDocument(page.id, tuple(chain(fields, marks)), _list_numbers(page))


def _is_current(page: IndexedGeneration, *, is_soft_404: bool) -> bool:
    """Return whether a version is present, no soft 404, and differs in its text or its titles from other pages."""
    return page.end is None and (page.is_retitled or not page.is_duplicate) and not is_soft_404


def compute_stamp(page: IndexedGeneration, links: IncomingLinks | None = None) -> int:
    """Return a hash of everything in the index document of a version. Its texts are represented by their pile id.

    If `links` is None, the hash covers only the page itself. The time when the version was last seen is left out,
    because it changes with every attempt and is not indexed.
    """
    indexed_fields = (*page[2:6], *page[7:22], links)  # all but the id, UUID, time of the last attempt and texts
    # SQLite's integers are signed: 63 bits of the hash fit.
    return int.from_bytes(blake2b(repr(indexed_fields).encode("utf-8", "replace"), digest_size=8).digest(), "big") >> 1


def _list_marks(page: IndexedGeneration, *, is_soft_404: bool) -> list[tuple[str, str]]:
    marks = [*address_marks(page.url, page.host), ("origin", "/".join(page.url.split("/", 3)[:3]))]
    marks += language_marks(page.language or "")
    if page.kind:
        main_type, _, subtype = page.kind.partition("/")
        kinds = {page.kind, main_type, subtype, f"{main_type}/*"}
        if page.suffix:
            kinds |= {page.suffix, f"{page.kind}+{page.suffix}"}
        marks += [("type", kind) for kind in sorted(kinds)]
    flags = {"duplicate": page.is_duplicate, "open": page.end is None}
    flags |= {
        "now": _is_current(page, is_soft_404=is_soft_404),
        _SOFT_404: is_soft_404,
        "index": page.indexiness > 0,
        "leaf": page.indexiness < 0,
    }
    return marks + [("flag", name) for name, is_set in flags.items() if is_set]


def _list_numbers(page: IndexedGeneration) -> tuple[tuple[str, int], ...]:
    """Return the times of a version in UNIX seconds, as (field, time).

    If a page does not state when it was published, the time when it was first seen is used. If it does not state when
    it was updated, the time of publication is used.
    """
    published = page.first_seen if page.created is None else page.created
    updated = published if page.updated is None else page.updated
    end = NEVER_ENDED if page.end is None else page.end
    return (("published", published), ("updated", updated), ("first", page.first_seen), ("end", end))


def count_kinds(marks: Mapping[str, int]) -> dict[str, int]:
    """Return a dict from each kind of document to the number of pages. A media type without a kind has its own key.

    `marks` is a dict from each mark in the field `type` to the number of pages.

    >>> count_kinds({"text/html": 5, "html": 5, "text": 6, "text/*": 6, "image/svg": 1, "image/svg+xml": 1})
    {'html': 5, 'image/svg': 1}
    """
    counts: dict[str, int] = {}
    for mark, count in marks.items():
        # "other" counts the least frequent marks together.
        if mark == "other" or ("/" in mark and "+" not in mark and not mark.endswith("/*")):
            name = _KIND_OF_MEDIA_TYPE.get(mark, mark)
            counts[name] = counts.get(name, 0) + count
    return counts


def at_query_time(query: Query, *, has_past_links: bool = False) -> Query:
    """Return a query whose filters for duplicates (and, with past links, for links) refer to the query's past time.

    In a query about all times, only filters for links are changed. A query about the present is returned unchanged.

    >>> from windrow.query import parse
    >>> at_query_time(parse("is:duplicate as-of:1970-01-01")).root
    Filter(key='duplicate-at', value='86399', typed='is:duplicate')
    """
    if query.root is None or not query.history:
        return query
    as_of = query.as_of

    def replace_leaf(leaf: Word | Phrase | Filter) -> Word | Phrase | Filter:
        match leaf:
            case Filter("is", "duplicate", typed) if as_of is not None:
                return Filter("duplicate-at", str(as_of), typed)
            case Filter("links-to" | "link-text" as key, str() | LinkFilter() as target, typed) if has_past_links:
                return Filter(key, PastLinks(target, as_of), typed)
            case _:
                return leaf

    return replace(query, root=replace_leaves(query.root, replace_leaf))


def add_origins(query: Query, origins_of: Callable[[str], SourceOrigins]) -> Query:
    """Return the query with the value of each filter `source:` replaced by the origins that `origins_of` returns."""
    if query.root is None or not any(leaf.key == "source" for leaf in filters(query.root)):
        return query

    def replace_leaf(leaf: Word | Phrase | Filter) -> Word | Phrase | Filter:
        match leaf:
            case Filter("source", str(name), typed):
                return Filter("source", origins_of(name), typed)
            case _:
                return leaf

    return replace(query, root=replace_leaves(query.root, replace_leaf))
