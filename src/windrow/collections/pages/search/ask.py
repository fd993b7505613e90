"""The search index document of a page, and the translation of a query for the index and for the database.

The index scores one field in which important texts are repeated: a word of the title counts like four in the text,
and so on. That is BM25 over weighted fields (Robertson, Zaragoza and Taylor, 2004). A sum of the scores of all fields
would count a word that occurs in many fields too much.

Filters by links, by times of attempts and by past duplicates only the database can answer: they become SQL, in which
values are bound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import blake2b
from itertools import chain
from typing import NamedTuple

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
from windrow.query.tree import And, Filter, LinkFilter, Node, Past, Phrase, TimeSpan, Word, filters, leading
from windrow.query.word import address_text, indexed, pieces

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

    `generations` has the matching ids for each filter that only the database can answer. Duplicates are left out,
    unless the query asks for other times or for something in which duplicates differ: a copy may be the only page on a
    host, and the results are folded by their text anyway.
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
    text, big_headlines, small_headlines = (
        indexed(page.text),
        indexed(page.big_headlines),
        indexed(page.small_headlines),
    )
    main = [(text, 1), (title, TITLE), (headline, HEADLINE), (indexed(page.description or ""), DESCRIPTION)]
    main += [(big_headlines, BIG), (small_headlines, SMALL), (address, ADDRESS)]
    main += [(indexed(called), CALLED) for called, _ in links.texts]
    is_current = page.end is None and not page.is_duplicate
    texts = [("main" if is_current else "past", text_) for text_, times in main if text_ for _ in range(times)]
    fields = [
        ("rest" if is_current else "past_rest", indexed(page.secondary_text)),
        ("title", title),
        ("address", address),
    ]
    fields += [("headline", text_) for text_ in (headline, big_headlines, small_headlines)]
    fields += [("code", indexed(page.code_text)), ("quote", indexed(page.quote_text))]
    texts += [(name, text_) for name, text_ in fields if text_.strip()]
    return IndexDocument(page.id, tuple(chain(texts, _marks(page))), _numbers(page))


def stamp(page: IndexedGeneration, links: IncomingLinks | None = None) -> int:
    """Return a hash of everything that `entry` indexes of a generation; its texts are represented by their pile id.

    The time of the last attempt is left out: it changes with every attempt and is not indexed.
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
    flags = {"duplicate": page.is_duplicate, "open": page.end is None}
    flags |= {
        "now": page.end is None and not page.is_duplicate,
        "index": page.indexiness > 0,
        "leaf": page.indexiness < 0,
    }
    return marks + [("flag", name) for name, holds in flags.items() if holds]


def _numbers(page: IndexedGeneration) -> tuple[tuple[str, int], ...]:
    published = page.first_seen if page.created is None else page.created
    updated = published if page.updated is None else page.updated
    end = OPEN if page.end is None else page.end
    return (("published", published), ("updated", updated), ("first", page.first_seen), ("end", end))


FROM = """
    {versions} g
    JOIN url u ON u.url_id = g.url_id
"""
"""The tables of a condition; `versions` is a relation from `database.search_view`."""

_MARKED = """EXISTS (SELECT 1 FROM duplicate_summary y WHERE y.subject_entity_generation_id = g.entity_generation_id
  AND y.duplicate_status_start_unix_utc <= ? AND coalesce(y.duplicate_status_end_unix_utc > ?, 1))"""


class Condition(NamedTuple):
    """A condition in SQL and the values of its placeholders, in order."""

    sql: str
    values: tuple[object, ...] = ()


def at_query_time(query: Query, *, links: bool = False) -> Query:
    """Make the duplicate filter of a query about another time, and with `links` its link filters, match that time.

    >>> from windrow.query import parse
    >>> at_query_time(parse("is:duplicate as-of:1970-01-01")).root
    Filter(key='duplicate-at', value='86399', typed='is:duplicate')
    """
    if query.root is None or not query.history:
        return query
    as_of = query.as_of

    def then(leaf: Word | Phrase | Filter) -> Word | Phrase | Filter:
        match leaf:
            case Filter("is", "duplicate", typed) if as_of is not None:
                return Filter("duplicate-at", str(as_of), typed)
            case Filter("links-to" | "link-text" as key, str() | LinkFilter() as value, typed) if links:
                return Filter(key, Past(value, as_of), typed)
            case _:
                return leaf

    return replace(query, root=question(query.root, then))


def search_text(text: str, *, prefix: bool) -> str:
    """Return the text that the SQL function `windrow_says` searches in the words of another.

    >>> search_text("Tea House", prefix=True)
    ' tea house'
    """
    return " " + " ".join(pieces(text)) + ("" if prefix else " ")


def known(moment: int) -> Condition:
    """Return the condition that a generation is open at a time (UNIX seconds): seen before it, and not ended then."""
    return Condition(
        "(g.first_seen_unix_utc <= ? AND (g.confirmed_end_unix_utc IS NULL OR g.confirmed_end_unix_utc > ?))",
        (moment, moment),
    )


def _join_conditions(parts: list[Condition]) -> Condition:
    return Condition(f"({' AND '.join(part.sql for part in parts)})", sum((part.values for part in parts), ()))


def condition(leaf: Filter) -> Condition:
    """Return the condition for a filter that the index cannot answer."""
    match leaf:
        case Filter("seen", TimeSpan(start, end)):
            return Condition("(g.first_seen_unix_utc < ? AND g.last_seen_unix_utc >= ?)", (end, start))
        case Filter(value=Past(target, at)):
            return _past_links(target, at)
        case Filter("links-to" | "link-text", str() | LinkFilter() as value):
            return _present_links(value)
        case Filter("duplicate-at", str(at)):
            return Condition(_MARKED, (int(at), int(at)))
    raise AssertionError(leaf)


def _host_condition(name: str, table: str) -> Condition:
    return Condition(f"({table}.host = ? OR substr({table}.host, -?) = ?)", (name, len(name) + 1, f".{name}"))


def _port_condition(table: str, port: int | None) -> list[Condition]:
    """Return the condition that an origin has this port, also if it is the usual port of its scheme."""
    usual = f"CASE {table}.scheme WHEN 'https' THEN 443 WHEN 'http' THEN 80 END"
    return [] if port is None else [Condition(f"coalesce({table}.port, {usual}) = ?", (port,))]


def _present_links(target: str | LinkFilter) -> Condition:
    return _link_condition("link_summary", "l.entity_generation_id = g.entity_generation_id", target)


def _link_condition(table: str, own_column: str, target: str | LinkFilter) -> Condition:
    start = f"EXISTS (SELECT 1 FROM {table} l"
    if isinstance(target, str):
        words, prefix = leading(target)
        return Condition(
            f"{start} WHERE {own_column} AND windrow_says(l.text, ?))", (search_text(words, prefix=prefix),)
        )
    start += " JOIN url t ON t.url_id = l.link_to_url"
    if target.url is not None:
        urls = (f"https://{target.url}", f"http://{target.url}")
        return Condition(f"{start} WHERE {own_column} AND t.str_url IN (?, ?))", urls)
    target_host = _join_conditions([_host_condition(target.host or "", "h"), *_port_condition("h", target.port)])
    return Condition(
        f"{start} JOIN origin h ON h.origin_id = t.origin_id WHERE {own_column} AND {target_host.sql})",
        target_host.values,
    )


# The hash of the links in `link_summary`, and the crawls that read the same generation.
_NOW_LINKED = """(SELECT d.linked FROM windrow_reading r JOIN windrow_observation d ON d.attempt = r.attempt
  WHERE r.entity_generation_id = g.entity_generation_id)"""
_READ_THEN = """SELECT {what} FROM windrow_observation y WHERE y.url_id = g.url_id AND y.sight = 'content'
  AND y.entity_generation_id = g.entity_generation_id AND {when}"""


def _past_links(target: str | LinkFilter, at: int | None) -> Condition:
    """Return the condition that a page had such a link at a time, as read by the last crawl before it.

    If the links of that crawl are unknown, the present links are used.
    """
    present_condition = _present_links(target)
    if at is None:
        span = "y.at BETWEEN g.first_seen_unix_utc AND g.last_seen_unix_utc"
        unchanged = _READ_THEN.format(what="1", when=f"{span} AND y.linked IN (x'', {_NOW_LINKED})")
        past_link = _link_condition("windrow_past_link", "l.url_id = y.url_id AND l.linked = y.linked", target)
        past = _READ_THEN.format(what="1", when=f"{span} AND {past_link.sql}")
        alternatives = f"(((g.version_id > 0 OR EXISTS ({unchanged})) AND {present_condition.sql}) OR EXISTS ({past}))"
        return Condition(alternatives, present_condition.values + past_link.values)
    last = f"({_READ_THEN.format(what='y.linked', when='y.at <= ?')} ORDER BY y.at DESC, y.crawl_uuid DESC LIMIT 1)"
    past_link = _link_condition("windrow_past_link", f"l.url_id = g.url_id AND l.linked = {last}", target)
    sql = (
        f"CASE WHEN coalesce({last}, x'') IN (x'', {_NOW_LINKED}) THEN {present_condition.sql} ELSE {past_link.sql} END"
    )
    values = past_link.values
    return Condition(sql, (at, *present_condition.values, at, *values))
