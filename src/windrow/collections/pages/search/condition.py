"""SQL conditions for those filters of a query that only the database can answer, over the tables of `FROM`.

These are filters by links, by times of visits, and by past duplicates; the index answers all others. Values are
bound, never written into the SQL.
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
"""The tables of a condition; `versions` is a relation from `database.version_sql`."""

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
    at = query.as_of

    def then(leaf: Word | Phrase | Filter) -> Word | Phrase | Filter:
        match leaf:
            case Filter("is", "duplicate", typed) if at is not None:
                return Filter("duplicate-at", str(at), typed)
            case Filter("links-to" | "link-text" as key, str() | LinkFilter() as value, typed) if links:
                return Filter(key, Past(value, at), typed)
            case _:
                return leaf

    return replace(query, root=_map_leaves(query.root, then))


def _map_leaves(node: Node, change: Callable[[Word | Phrase | Filter], Word | Phrase | Filter]) -> Node:
    """Return a tree with each leaf replaced by `change(leaf)`."""
    match node:
        case Not(part):
            return Not(_map_leaves(part, change))
        case And(parts):
            return And(tuple(_map_leaves(part, change) for part in parts))
        case Or(parts):
            return Or(tuple(_map_leaves(part, change) for part in parts))
        case _:
            return change(node)


def search_text(text: str, *, prefix: bool) -> str:
    """Return the text that the SQL function `windrow_says` searches in the words of another.

    >>> search_text("Tea House", prefix=True)
    ' tea house'
    """
    return " " + " ".join(pieces(text)) + ("" if prefix else " ")


def known(moment: int) -> Condition:
    """Return the condition that a generation is open at a time (UNIX seconds): first seen before, not ended yet."""
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
    """Return the condition that an origin has this port, which may be the usual one of its scheme."""
    usual = f"CASE {table}.scheme WHEN 'https' THEN 443 WHEN 'http' THEN 80 END"
    return [] if port is None else [Condition(f"coalesce({table}.port, {usual}) = ?", (port,))]


def _present_links(target: str | LinkFilter) -> Condition:
    return _link_condition("link_summary", "l.entity_generation_id = g.entity_generation_id", target)


def _link_condition(table: str, mine: str, target: str | LinkFilter) -> Condition:
    start = f"EXISTS (SELECT 1 FROM {table} l"
    if isinstance(target, str):
        words, prefix = leading(target)
        return Condition(f"{start} WHERE {mine} AND windrow_says(l.text, ?))", (search_text(words, prefix=prefix),))
    start += " JOIN url t ON t.url_id = l.link_to_url"
    if target.url is not None:
        urls = (f"https://{target.url}", f"http://{target.url}")
        return Condition(f"{start} WHERE {mine} AND t.str_url IN (?, ?))", urls)
    target_host = _join_conditions([_host_condition(target.host or "", "h"), *_port_condition("h", target.port)])
    return Condition(
        f"{start} JOIN origin h ON h.origin_id = t.origin_id WHERE {mine} AND {target_host.sql})", target_host.values
    )


# The hash of the links in `link_summary`, and the crawls that read the same generation.
_NOW_LINKED = """(SELECT d.linked FROM windrow_reading r JOIN windrow_observation d ON d.visit = r.visit
  WHERE r.entity_generation_id = g.entity_generation_id)"""
_READ_THEN = """SELECT {what} FROM windrow_observation y WHERE y.url_id = g.url_id AND y.sight = 'content'
  AND y.entity_generation_id = g.entity_generation_id AND {when}"""


def _past_links(target: str | LinkFilter, at: int | None) -> Condition:
    """Return the condition that a page had such a link at a time, as read by the last crawl before it.

    If that crawl's links are unknown, or no crawl of this generation read any, the present links are used.
    """
    now = _present_links(target)
    if at is None:
        span = "y.at BETWEEN g.first_seen_unix_utc AND g.last_seen_unix_utc"
        same = _READ_THEN.format(what="1", when=f"{span} AND y.linked IN (x'', {_NOW_LINKED})")
        past_link = _link_condition("windrow_past_link", "l.url_id = y.url_id AND l.linked = y.linked", target)
        past = _READ_THEN.format(what="1", when=f"{span} AND {past_link.sql}")
        either = f"(((g.version_id > 0 OR EXISTS ({same})) AND {now.sql}) OR EXISTS ({past}))"
        return Condition(either, now.values + past_link.values)
    last = f"({_READ_THEN.format(what='y.linked', when='y.at <= ?')} ORDER BY y.at DESC, y.crawl_uuid DESC LIMIT 1)"
    past_link = _link_condition("windrow_past_link", f"l.url_id = g.url_id AND l.linked = {last}", target)
    sql = f"CASE WHEN coalesce({last}, x'') IN (x'', {_NOW_LINKED}) THEN {now.sql} ELSE {past_link.sql} END"
    values = past_link.values
    return Condition(sql, (at, *now.values, at, *values))
