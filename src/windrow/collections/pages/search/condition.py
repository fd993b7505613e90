"""A query as a condition of SQL, over the tables that `FROM` names.

Values are bound, never written into the text. A page has words where the full-text row of its text has them, or its
own row of `windrow_page_text`: its title, description, headline and address, and what other pages call it. A database
of another maker has no such table; there, the title and description in the full-text table stand for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

from windrow.query.parse import Query
from windrow.query.tree import (
    And,
    Filter,
    HostFilter,
    LinkFilter,
    Node,
    Not,
    Or,
    Past,
    Phrase,
    TimeSpan,
    Word,
    asks,
    leading,
    wanted,
)
from windrow.query.word import pieces

FROM = """
    {versions} g
    JOIN url u ON u.url_id = g.url_id
    JOIN origin o ON o.origin_id = u.origin_id
    LEFT JOIN mimetype m ON m.mimetype_id = g.mimetype_id
"""
"""The tables of a query, once `versions` says which versions are meant (`database.page_versions`)."""

PUBLISHED = "coalesce(g.time_created_unix_utc, g.first_seen_unix_utc)"
UPDATED = "coalesce(g.time_updated_unix_utc, g.time_created_unix_utc, g.first_seen_unix_utc)"

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


COLUMNS = ("title", "description", "text", "secondary_text", "big_headlines", "small_headlines")
"""Where words are searched for in `full_text_entity_index`. What its columns for code and quotes have, `text` or
`secondary_text` have too; there, lines that do not follow each other on the page do."""
OWN = ("title", "description", "headline", "address", "called")
"""The columns of `windrow_page_text`."""
_HEADLINES = ("big_headlines", "small_headlines")
_SCOPES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "title": ((), ("title",)),
    "headline": (_HEADLINES, ("headline",)),
    "inurl": ((), ("address",)),
    "code": (("code_text",), ()),
    "quote": (("quote_text",), ()),
}
"""Where a filter's words are searched for: columns of the full-text table, and of `windrow_page_text`."""
_BY_PILE = "g.text_pile_id IN (SELECT rowid FROM full_text_entity_index WHERE full_text_entity_index MATCH ?)"
_BY_PAGE = "g.version_id IN (SELECT rowid FROM windrow_page_text WHERE windrow_page_text MATCH ?)"


_MARKED = """EXISTS (SELECT 1 FROM duplicate_summary y WHERE y.subject_entity_generation_id = g.entity_generation_id
  AND y.duplicate_status_start_unix_utc <= ? AND coalesce(y.duplicate_status_end_unix_utc > ?, 1))"""


class Condition(NamedTuple):
    """A condition in SQL and the values of its question marks, in their order."""

    sql: str
    values: tuple[object, ...] = ()


def whole(query: Query, *, own: bool) -> Condition:
    """Return all conditions of a query; `own` says whether the database has our table of pages' own texts."""
    parts = [] if query.root is None else [condition(query.root, own=own)]
    return _all([*parts, *_alive(query)])


def dated(query: Query, *, links: bool = False) -> Query:
    """Let a query of another time ask who was marked as a duplicate then, and with `links` for the links of then.

    >>> from windrow.query import parse
    >>> dated(parse("is:duplicate as-of:1970-01-01")).root
    Filter(key='duplicate-at', value='86399', typed='is:duplicate')
    """
    if query.root is None or not query.history:
        return query
    at = query.as_of

    def then(leaf: Word | Phrase | Filter) -> Word | Phrase | Filter:
        match leaf:
            case Filter("is", "duplicate", typed) if at is not None:
                return Filter("duplicate-at", str(at), typed)
            case Filter("links-to" | "link-text" as key, str() | LinkFilter() as value, typed) if links:
                return Filter(key, Past(value, at), typed)
            case _:
                return leaf

    return replace(query, root=_each(query.root, then))


def _each(node: Node, change: Callable[[Word | Phrase | Filter], Word | Phrase | Filter]) -> Node:
    """Return a tree with its leaves changed."""
    match node:
        case Not(part):
            return Not(_each(part, change))
        case And(parts):
            return And(tuple(_each(part, change) for part in parts))
        case Or(parts):
            return Or(tuple(_each(part, change) for part in parts))
        case _:
            return change(node)


def some(query: Query, least: int, *, own: bool) -> Condition:
    """Return the conditions of a query of whose words so many at least must be found."""
    each = [condition(one, own=own) for one in wanted(query.root)]
    values = sum((part.values for part in each), ())
    count = Condition(f"({' + '.join(f'coalesce({part.sql}, 0)' for part in each)}) >= {least}", values)
    parts = query.root.parts if isinstance(query.root, And) else ()
    kept = [condition(part, own=own) for part in parts if not list(wanted(part))]
    return _all([count, *kept, *_alive(query)])


def spoken(query: Query, columns: tuple[str, ...] = COLUMNS) -> str | None:
    """Return the expression by which what a query finds is ranked: any of its words, in some columns."""
    return " OR ".join(f"({scoped(columns, one)})" for one in wanted(query.root)) or None


def condition(node: Node, *, own: bool = False) -> Condition:
    """Return the condition of any tree."""
    if isinstance(node, Not):
        inner = condition(node.part, own=own)
        return Condition(f"coalesce({inner.sql}, 0) = 0", inner.values)
    if isinstance(node, And):
        return _all([condition(part, own=own) for part in node.parts])
    if isinstance(node, Or):
        parts = [condition(part, own=own) for part in node.parts]
        return Condition(f"({' OR '.join(part.sql for part in parts)})", sum((part.values for part in parts), ()))
    if isinstance(node, Word | Phrase) or node.key in _SCOPES:
        return _having(node, own=own)
    return _filter(node)


def _having(leaf: Word | Phrase | Filter, *, own: bool) -> Condition:
    """Return the condition that a page has a leaf's words where they are asked for."""
    piles, pages = _SCOPES[leaf.key] if isinstance(leaf, Filter) else (COLUMNS, OWN)
    found = []
    if own and not isinstance(leaf, Filter):
        piles = tuple(name for name in piles if name not in OWN)
    if piles:
        found.append(Condition(_BY_PILE, (scoped(piles, leaf),)))
    if own and pages:
        found.append(Condition(_BY_PAGE, (scoped(pages, leaf),)))
    elif isinstance(leaf, Filter) and leaf.key in _READ:
        text, prefix = asks(leaf)
        found.append(Condition(f"windrow_says({_READ[leaf.key]}, ?)", (sought(text, prefix=prefix),)))
    return Condition(f"({' OR '.join(part.sql for part in found)})", sum((part.values for part in found), ()))


_READ = {"title": "g.title", "headline": "g.primary_headline", "inurl": "windrow_address(u.str_url)"}
"""Where a filter's words are read where no table for words has them."""


def scoped(columns: tuple[str, ...], leaf: Word | Phrase | Filter) -> str:
    """Return the expression of a leaf's words, in their order, in some columns.

    >>> scoped(("title", "text"), Word('the 5" gun', prefix=True))
    '{title text} : "the 5 gun" *'
    """
    text, prefix = asks(leaf)
    return f'{{{" ".join(columns)}}} : "{" ".join(pieces(text))}"{" *" if prefix else ""}'


def sought(text: str, *, prefix: bool) -> str:
    """Return what `windrow_says` looks for in the words of a text.

    >>> sought("Tea House", prefix=True)
    ' tea house'
    """
    return " " + " ".join(pieces(text)) + ("" if prefix else " ")


def known(moment: int) -> Condition:
    """Return the condition that a generation is known at a time: seen first before it, not ended yet."""
    return Condition(
        "(g.first_seen_unix_utc <= ? AND (g.confirmed_end_unix_utc IS NULL OR g.confirmed_end_unix_utc > ?))",
        (moment, moment),
    )


def _alive(query: Query) -> tuple[Condition, ...]:
    if query.as_of is not None:
        return (known(query.as_of),)
    return () if query.history else (Condition("g.confirmed_end_unix_utc IS NULL"),)


def _all(parts: list[Condition]) -> Condition:
    if not parts:
        return Condition("1")
    return Condition(f"({' AND '.join(part.sql for part in parts)})", sum((part.values for part in parts), ()))


def _filter(leaf: Filter) -> Condition:
    match leaf:
        case Filter(value=TimeSpan() as span, key=key):
            made = _time(key, span)
        case Filter(value=HostFilter() as host, key=key):
            made = _all([_site(host.name) if key == "site" else _host(host), *_port("o", host.port)])
        case Filter(value=LinkFilter() as target, key="url"):
            made = _url(bare(target))
        case Filter(value=Past(target, at)):
            made = _past_links(target, at)
        case Filter(value=str() | LinkFilter() as value, key="links-to" | "link-text"):
            made = _present_links(value)
        case Filter(value=str() as text, key="duplicate-at"):
            made = Condition(_MARKED, (int(text), int(text)))
        case _:
            made = _text(leaf.key, leaf)
    return made


def bare(target: LinkFilter) -> str:
    """Return the address that `url:` means, without its scheme."""
    port = f":{target.port}" if target.port is not None else ""
    return target.url if target.url is not None else f"{target.host}{port}/"


def _site(name: str, table: str = "o") -> Condition:
    return Condition(f"({table}.host = ? OR substr({table}.host, -?) = ?)", (name, len(name) + 1, f".{name}"))


def _port(table: str, port: int | None) -> list[Condition]:
    """Return the condition that an origin has this port, which may be its scheme's own."""
    usual = f"CASE {table}.scheme WHEN 'https' THEN 443 WHEN 'http' THEN 80 END"
    return [] if port is None else [Condition(f"coalesce({table}.port, {usual}) = ?", (port,))]


def _time(key: str, span: TimeSpan) -> Condition:
    if key == "seen":
        return Condition("(g.first_seen_unix_utc < ? AND g.last_seen_unix_utc >= ?)", (span.end, span.start))
    column = UPDATED if key.startswith("updated") else PUBLISHED
    return Condition(f"{column} {'<' if key.endswith('before') else '>='} ?", (span.start,))


def _host(host: HostFilter) -> Condition:
    if host.before and host.after:
        return Condition("instr(o.host, ?) > 0", (host.name,))
    if host.before:
        return Condition("substr(o.host, -?) = ?", (len(host.name), host.name))
    if host.after:
        return Condition("substr(o.host, 1, ?) = ?", (len(host.name), host.name))
    return Condition("o.host = ?", (host.name,))


def _url(bare: str) -> Condition:
    return Condition("u.str_url IN (?, ?)", (f"https://{bare}", f"http://{bare}"))


def _present_links(target: str | LinkFilter) -> Condition:
    """Return the condition that one of the links that a page has now leads there, or says so."""
    return _links("link_summary", "l.entity_generation_id = g.entity_generation_id", target)


def _links(table: str, mine: str, target: str | LinkFilter) -> Condition:
    start = f"EXISTS (SELECT 1 FROM {table} l"
    if isinstance(target, str):
        asked, prefix = leading(target)
        return Condition(f"{start} WHERE {mine} AND windrow_says(l.text, ?))", (sought(asked, prefix=prefix),))
    start += " JOIN url t ON t.url_id = l.link_to_url"
    if target.url is not None:
        urls = (f"https://{target.url}", f"http://{target.url}")
        return Condition(f"{start} WHERE {mine} AND t.str_url IN (?, ?))", urls)
    there = _all([_site(target.host or "", "h"), *_port("h", target.port)])
    return Condition(f"{start} JOIN origin h ON h.origin_id = t.origin_id WHERE {mine} AND {there.sql})", there.values)


# The hash of the links in `link_summary`, and a crawl that read the page while it was so.
_NOW_LINKED = """(SELECT d.linked FROM windrow_reading r JOIN windrow_observation d ON d.visit = r.visit
  WHERE r.entity_generation_id = g.entity_generation_id)"""
_READ_THEN = """SELECT {what} FROM windrow_observation y WHERE y.url_id = g.url_id AND y.sight = 'content'
  AND y.entity_generation_id = g.entity_generation_id AND {when}"""


def _past_links(target: str | LinkFilter, at: int | None) -> Condition:
    """Return the condition that a page had such a link at a time: as the last crawl before that read it.

    Where that crawl's links are not known, or no crawl of this generation read any, those of now answer.
    """
    now = _present_links(target)
    if at is None:
        span = "y.at BETWEEN g.first_seen_unix_utc AND g.last_seen_unix_utc"
        same = _READ_THEN.format(what="1", when=f"{span} AND y.linked IN (x'', {_NOW_LINKED})")
        other = _links("windrow_past_link", "l.url_id = y.url_id AND l.linked = y.linked", target)
        past = _READ_THEN.format(what="1", when=f"{span} AND {other.sql}")
        either = f"(((g.version_id > 0 OR EXISTS ({same})) AND {now.sql}) OR EXISTS ({past}))"
        return Condition(either, now.values + other.values)
    last = f"({_READ_THEN.format(what='y.linked', when='y.at <= ?')} ORDER BY y.at DESC, y.crawl_uuid DESC LIMIT 1)"
    other = _links("windrow_past_link", f"l.url_id = g.url_id AND l.linked = {last}", target)
    whole = f"CASE WHEN coalesce({last}, x'') IN (x'', {_NOW_LINKED}) THEN {now.sql} ELSE {other.sql} END"
    values = other.values
    return Condition(whole, (at, *now.values, at, *values))


_IS = {"duplicate": "g.marked_duplicate", "index": "g.indexiness > 0", "leaf": "g.indexiness < 0"}


def _text(key: str, leaf: Filter) -> Condition:
    text = str(leaf.value)
    if key == "lang":
        return Condition("(lower(g.primary_language) = ? OR lower(g.primary_language) LIKE ?)", (text, f"{text}-%"))
    if key == "type":
        return _kind(text)
    return Condition(_IS[text])


def _kind(text: str) -> Condition:
    name, slash, subtype = text.partition("/")
    if text in KINDS:
        marks = ", ".join("?" * len(KINDS[text]))
        return Condition(f"m.mime_type || '/' || m.mime_subtype IN ({marks})", KINDS[text])
    if slash and subtype != "*":
        whole = "m.mime_type || '/' || m.mime_subtype"
        return Condition(f"({whole} = ? OR {whole} || '+' || coalesce(m.mime_suffix, '') = ?)", (text, text))
    if slash:
        return Condition("m.mime_type = ?", (name,))
    return Condition("? IN (m.mime_type, m.mime_subtype, m.mime_suffix)", (text,))
