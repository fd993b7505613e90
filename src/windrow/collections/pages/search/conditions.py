"""The translation of filters that the search index cannot answer to SQL for the database, with bound values.

They are filters by links, by times of attempts, by past duplicates, and by sources that share an origin.
"""

from __future__ import annotations

from json import dumps
from typing import NamedTuple

from windrow.query.tree import Filter, LinkFilter, PastLinks, SourceOrigins, TimeSpan, split_star
from windrow.query.word import index_words

FROM = """
    {versions} g
    JOIN url u ON u.url_id = g.url_id
"""
"""SQL of the tables that a `Condition` uses; `versions` is a relation from `database.search_view`."""

_WAS_DUPLICATE = """EXISTS (
  SELECT 1 FROM duplicate_summary y WHERE y.subject_entity_generation_id = g.entity_generation_id
  AND y.duplicate_status_start_unix_utc <= ? AND coalesce(y.duplicate_status_end_unix_utc > ?, 1))"""

_IS_AT_ORIGINS = """u.origin_id IN (SELECT origin_id FROM origin WHERE
  CASE scheme || port WHEN 'https443' THEN 'https://' || host WHEN 'http80' THEN 'http://' || host
  ELSE str_origin END IN (SELECT value FROM json_each(?)))"""


class Condition(NamedTuple):
    """A condition in SQL and the values of its placeholders, in order."""

    sql: str
    values: tuple[object, ...] = ()


def search_text(text: str, *, prefix: bool) -> str:
    """Convert a text to the form that the SQL function `windrow_says` searches for.

    With `prefix`, the last word may be the beginning of a longer word.

    >>> search_text("Tea House", prefix=True)
    ' tea house'
    """
    return " " + " ".join(index_words(text)) + ("" if prefix else " ")


PRESENTLY_OPEN = Condition("g.confirmed_end_unix_utc IS NULL")
"""The condition that a version has not ended."""


def make_open_condition(time: int) -> Condition:
    """Return the condition that a version was open at a time (UNIX seconds): first seen by then, and not ended yet."""
    return Condition(
        "(g.first_seen_unix_utc <= ? AND (g.confirmed_end_unix_utc IS NULL OR g.confirmed_end_unix_utc > ?))",
        (time, time),
    )


def _join_conditions(conditions: list[Condition]) -> Condition:
    sql = " AND ".join(condition.sql for condition in conditions)
    return Condition(f"({sql})", sum((condition.values for condition in conditions), ()))


def make_condition(leaf: Filter) -> Condition:
    """Return the condition for a filter that the index cannot answer."""
    match leaf:
        case Filter("seen", TimeSpan(start, end)):
            return Condition("(g.first_seen_unix_utc < ? AND g.last_seen_unix_utc >= ?)", (end, start))
        case Filter(value=PastLinks(target, as_of)):
            return _make_past_link_condition(target, as_of)
        case Filter("links-to" | "link-text", str() | LinkFilter() as target):
            return _make_present_link_condition(target)
        case Filter("duplicate-at", str(seconds)):
            return Condition(_WAS_DUPLICATE, (int(seconds), int(seconds)))
        case Filter(value=SourceOrigins(source, _, shared)):
            return Condition(f"({_IS_AT_ORIGINS} AND windrow_source(u.str_url) = ?)", (dumps(shared), source))
    raise AssertionError(leaf)


def _make_host_condition(host_name: str, table: str) -> Condition:
    """Return the condition that an origin in `table` has this host name, or a name below it."""
    values = (host_name, len(host_name) + 1, f".{host_name}")
    return Condition(f"({table}.host = ? OR substr({table}.host, -?) = ?)", values)


def _make_port_conditions(table: str, port: int | None) -> list[Condition]:
    """Return a list with the condition on a port; it is empty if `port` is None. A usual port is stored as null."""
    usual_port = f"CASE {table}.scheme WHEN 'https' THEN 443 WHEN 'http' THEN 80 END"
    return [] if port is None else [Condition(f"coalesce({table}.port, {usual_port}) = ?", (port,))]


def _make_present_link_condition(target: str | LinkFilter) -> Condition:
    return _make_link_condition("link_summary", "l.entity_generation_id = g.entity_generation_id", target)


def _make_link_condition(table: str, join: str, target: str | LinkFilter) -> Condition:
    """Return the condition that `table`, joined by the SQL `join`, contains a link with this text or target."""
    start = f"EXISTS (SELECT 1 FROM {table} l"
    if isinstance(target, str):
        words, prefix = split_star(target)
        return Condition(f"{start} WHERE {join} AND windrow_says(l.text, ?))", (search_text(words, prefix=prefix),))
    start += " JOIN url t ON t.url_id = l.link_to_url"
    if target.url is not None:
        urls = (f"https://{target.url}", f"http://{target.url}")
        return Condition(f"{start} WHERE {join} AND t.str_url IN (?, ?))", urls)
    target_host = _join_conditions(
        [_make_host_condition(target.host or "", "h"), *_make_port_conditions("h", target.port)]
    )
    return Condition(
        f"{start} JOIN origin h ON h.origin_id = t.origin_id WHERE {join} AND {target_host.sql})", target_host.values
    )


# The hash of a generation's links in `link_summary`.
_PRESENT_LINKS_HASH = """(SELECT d.linked FROM windrow_reading r JOIN windrow_observation d ON d.attempt = r.attempt
  WHERE r.entity_generation_id = g.entity_generation_id)"""
# The crawls that read a generation.
_SELECT_CRAWLS = """SELECT {column} FROM windrow_observation y WHERE y.url_id = g.url_id AND y.sight = 'content'
  AND y.entity_generation_id = g.entity_generation_id AND {condition}"""


def _make_past_link_condition(target: str | LinkFilter, as_of: int | None) -> Condition:
    """Return the condition that a page had a link with this text or target at the time `as_of` (UNIX seconds).

    The last crawl up to that time decides which links the page had. If `as_of` is None, the links in any crawl of the
    version are used. For a crawl whose links are unknown, the present links are used.
    """
    present = _make_present_link_condition(target)
    if as_of is None:
        period = "y.at BETWEEN g.first_seen_unix_utc AND g.last_seen_unix_utc"
        past = _make_link_condition("windrow_past_link", "l.url_id = y.url_id AND l.linked = y.linked", target)
        is_unchanged = f"{period} AND y.linked IN (x'', {_PRESENT_LINKS_HASH})"
        unchanged_crawls = _SELECT_CRAWLS.format(column="1", condition=is_unchanged)
        past_crawls = _SELECT_CRAWLS.format(column="1", condition=f"{period} AND {past.sql}")
        has_present_links = f"(g.version_id > 0 OR EXISTS ({unchanged_crawls}))"
        sql = f"(({has_present_links} AND {present.sql}) OR EXISTS ({past_crawls}))"
        return Condition(sql, present.values + past.values)
    crawls = _SELECT_CRAWLS.format(column="y.linked", condition="y.at <= ?")
    last_hash = f"({crawls} ORDER BY y.at DESC, y.crawl_uuid DESC LIMIT 1)"
    past = _make_link_condition("windrow_past_link", f"l.url_id = g.url_id AND l.linked = {last_hash}", target)
    has_present_links = f"coalesce({last_hash}, x'') IN (x'', {_PRESENT_LINKS_HASH})"
    sql = f"CASE WHEN {has_present_links} THEN {present.sql} ELSE {past.sql} END"
    return Condition(sql, (as_of, *present.values, as_of, *past.values))
