"""What of a query only the database answers, as conditions of SQL over the tables that `FROM` names.

Those are filters by links, by the times of visits, and by what was a duplicate once; all else the index answers. Values
are bound, never written into the text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from windrow.query.parse import Query
from windrow.query.tree import And, Filter, LinkFilter, Node, Not, Or, Past, Phrase, TimeSpan, Word, leading
from windrow.query.word import pieces

FROM = """
    {versions} g
    JOIN url u ON u.url_id = g.url_id
"""
"""The tables of a condition, once `versions` says which versions are meant (`database.page_versions`)."""

_MARKED = """EXISTS (SELECT 1 FROM duplicate_summary y WHERE y.subject_entity_generation_id = g.entity_generation_id
  AND y.duplicate_status_start_unix_utc <= ? AND coalesce(y.duplicate_status_end_unix_utc > ?, 1))"""


class Condition(NamedTuple):
    """A condition in SQL and the values of its question marks, in their order."""

    sql: str
    values: tuple[object, ...] = ()


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


def _all(parts: list[Condition]) -> Condition:
    return Condition(f"({' AND '.join(part.sql for part in parts)})", sum((part.values for part in parts), ()))


def condition(leaf: Filter) -> Condition:
    """Return the condition of a filter that the index cannot answer."""
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


def _site(name: str, table: str) -> Condition:
    return Condition(f"({table}.host = ? OR substr({table}.host, -?) = ?)", (name, len(name) + 1, f".{name}"))


def _port(table: str, port: int | None) -> list[Condition]:
    """Return the condition that an origin has this port, which may be its scheme's own."""
    usual = f"CASE {table}.scheme WHEN 'https' THEN 443 WHEN 'http' THEN 80 END"
    return [] if port is None else [Condition(f"coalesce({table}.port, {usual}) = ?", (port,))]


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
