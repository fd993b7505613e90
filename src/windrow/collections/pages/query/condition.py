"""Filters of a query as conditions of SQL, over the tables that `FROM` names.

Values are bound, never written into the text. A text within an OR or a NOT beside filters becomes a
question to the full-text table of its own, so every tree has its condition.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from windrow.collections.pages.query.date import Span
from windrow.collections.pages.query.filter import Host, Target
from windrow.collections.pages.query.match import match, scoped, textual
from windrow.collections.pages.query.parse import Query
from windrow.collections.pages.query.tree import And, Filter, Node, Not, Or, Phrase, Word, joined

FROM = """
    {versions} g
    JOIN url u ON u.url_id = g.url_id
    JOIN origin o ON o.origin_id = u.origin_id
    LEFT JOIN mimetype m ON m.mimetype_id = g.mimetype_id
"""
"""The tables of a query, once `versions` says which versions are meant (`windrow.stores.summary.join`)."""

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


_MATCHED = "g.text_pile_id IN (SELECT rowid FROM full_text_entity_index WHERE full_text_entity_index MATCH ?)"


_MARKED = """EXISTS (SELECT 1 FROM duplicate_summary y WHERE y.subject_entity_generation_id = g.entity_generation_id
  AND y.duplicate_status_start_unix_utc <= ? AND coalesce(y.duplicate_status_end_unix_utc > ?, 1))"""


class Condition(NamedTuple):
    """A condition in SQL and the values of its question marks, in their order."""

    sql: str
    values: tuple[object, ...] = ()


class Plan(NamedTuple):
    """A query in two parts: the expression that is matched and ranked, if any, and all other conditions."""

    match: str | None
    where: Condition


def plan(query: Query) -> Plan:
    """Return the expression and the conditions of a query.

    >>> from windrow.collections.pages.query import parse
    >>> made = plan(parse("lang:de"))
    >>> made.match, made.where.values
    (None, ('de', 'de-%'))
    """
    # The full-text table has the title of today only.
    root = _each(query.root, _titled) if query.history and query.root else query.root
    parts = root.parts if isinstance(root, And) else (root,)
    there = [part for part in parts if part is not None]
    text = joined(And, [part for part in there if textual(part)])
    wheres = [condition(part) for part in there if not textual(part)] + list(_alive(query))
    return Plan(match(text) if text else None, _all(wheres))


def dated(query: Query) -> Query:
    """Let a query of another time ask who was marked as a duplicate then.

    >>> from windrow.collections.pages.query import parse
    >>> dated(parse("is:duplicate as-of:1970-01-01")).root
    Filter(key='duplicate-at', value='86399', typed='is:duplicate')
    """
    if query.as_of is None or query.root is None:
        return query
    at = str(query.as_of)

    def then(leaf: Word | Phrase | Filter) -> Word | Phrase | Filter:
        marked = isinstance(leaf, Filter) and (leaf.key, leaf.value) == ("is", "duplicate")
        return Filter("duplicate-at", at, leaf.typed) if marked and isinstance(leaf, Filter) else leaf

    return replace(query, root=_each(query.root, then))


def _titled(leaf: Word | Phrase | Filter) -> Word | Phrase | Filter:
    return replace(leaf, key="title-then") if isinstance(leaf, Filter) and leaf.key == "title" else leaf


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


def condition(node: Node) -> Condition:
    """Return the condition of any tree."""
    if textual(node):
        return Condition(_MATCHED, (match(node),))
    if isinstance(node, Not):
        inner = condition(node.part)
        return Condition(f"coalesce({inner.sql}, 0) = 0", inner.values)
    if isinstance(node, And):
        return _all([condition(part) for part in node.parts])
    if isinstance(node, Or):
        parts = [condition(part) for part in node.parts]
        return Condition(f"({' OR '.join(part.sql for part in parts)})", sum((part.values for part in parts), ()))
    return _filter(node)


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


def _filter(leaf: Word | Phrase | Filter) -> Condition:
    match leaf:
        case Filter(value=Span() as span, key=key):
            made = _time(key, span)
        case Filter(value=Host() as host, key=key):
            made = _site(host.name) if key == "site" else _host(host)
        case Filter(value=Target() as target, key=key):
            bare = target.url if target.url is not None else f"{target.host}/"
            made = _url(bare) if key == "url" else _links(target)
        case Filter(value=str() as text, key="duplicate-at"):
            made = Condition(_MARKED, (int(text), int(text)))
        case Filter(value=str() as text, key=key):
            made = _text(key, text)
        case _:
            made = Condition("1")
    return made


def _site(name: str) -> Condition:
    return Condition("(o.host = ? OR substr(o.host, -?) = ?)", (name, len(name) + 1, f".{name}"))


def _time(key: str, span: Span) -> Condition:
    if key == "seen":
        return Condition("(g.first_seen_unix_utc < ? AND g.last_seen_unix_utc >= ?)", (span.end, span.start))
    column = UPDATED if key.startswith("updated") else PUBLISHED
    return Condition(f"{column} {'<' if key.endswith('before') else '>='} ?", (span.start,))


def _host(host: Host) -> Condition:
    if host.before and host.after:
        return Condition("instr(o.host, ?) > 0", (host.name,))
    if host.before:
        return Condition("substr(o.host, -?) = ?", (len(host.name), host.name))
    if host.after:
        return Condition("substr(o.host, 1, ?) = ?", (len(host.name), host.name))
    return Condition("o.host = ?", (host.name,))


def _url(bare: str) -> Condition:
    return Condition("u.str_url IN (?, ?)", (f"https://{bare}", f"http://{bare}"))


def _links(target: Target) -> Condition:
    start = "EXISTS (SELECT 1 FROM link_summary l JOIN url t ON t.url_id = l.link_to_url"
    mine = "l.entity_generation_id = g.entity_generation_id"
    if target.url is not None:
        urls = (f"https://{target.url}", f"http://{target.url}")
        return Condition(f"{start} WHERE {mine} AND t.str_url IN (?, ?))", urls)
    name = target.host or ""
    there = "(h.host = ? OR substr(h.host, -?) = ?)"
    values = (name, len(name) + 1, f".{name}")
    return Condition(f"{start} JOIN origin h ON h.origin_id = t.origin_id WHERE {mine} AND {there})", values)


_IS = {"duplicate": "g.marked_duplicate", "index": "g.indexiness > 0", "leaf": "g.indexiness < 0"}
_WITHIN = {"title-then": "g.title", "inurl": "u.str_url"}


def _text(key: str, text: str) -> Condition:
    if key == "lang":
        return Condition("(lower(g.primary_language) = ? OR lower(g.primary_language) LIKE ?)", (text, f"{text}-%"))
    if key == "type":
        return _kind(text)
    if key == "is":
        return Condition(_IS[text])
    if key in _WITHIN:
        return Condition(f"instr(lower({_WITHIN[key]}), lower(?)) > 0", (text,))
    if key == "headline":
        heads = Condition(_MATCHED, (scoped(("big_headlines", "small_headlines"), text),))
        return Condition(f"(instr(lower(g.primary_headline), lower(?)) > 0 OR {heads.sql})", (text, *heads.values))
    return Condition(
        "EXISTS (SELECT 1 FROM link_summary l WHERE l.entity_generation_id = g.entity_generation_id"
        " AND instr(lower(l.text), lower(?)) > 0)",
        (text,),
    )


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
