"""Read the articles of BLOX (TownNews) by a site's search, which returns JSON, the newest first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from windrow.collections.news import standard
from windrow.collections.news.article import FoundArticle, article_observation
from windrow.collections.news.feed import RefusedReply, parse_reply, strip_html, texts_in
from windrow.contract import Answer, FollowResult, Observation, Offering, Request, Skip, Task
from windrow.formats.url import normalise
from windrow.model import Finding, Level, Source
from windrow.reasons import Reason

SEARCH = "townnews.search"
_PAGE_SIZE = 100
_MAX_ROWS = 1_000_000
_OVERLAP = 10  # one of so many rows is requested again with the next page, as removed rows move the others up
_BY = re.compile(r"^\s*by\s+", re.IGNORECASE)
_FIRST_YEAR = 1990


def begin(source: Source, learned: Mapping[str, Any]) -> tuple[Request, ...]:
    """Request the newest articles, each time they are due."""
    if source.options["until"] and learned.get("complete"):
        return ()
    every = None if source.options["until"] else max(1, int(source.options["every"]))
    return (_page_request(source, 0, every=every),)


def _page_request(source: Source, offset: int, *, every: int | None = None, only_if_new: bool = False) -> Request:
    query = f"search/?f=json&l={_PAGE_SIZE}&s=start_time&sd=desc&t=article&o={offset}"
    for name, day in (("d1", source.options["since"]), ("d2", source.options["until"])):
        query += f"&{name}={day}" if day else ""
    url = f"{source.site.address('').rstrip('/')}/{query}"
    return Request(url, SEARCH, priority=int(offset > 0), context=str(offset), every=every, only_if_new=only_if_new)


def follow(source: Source, learned: Mapping[str, Any], answer: Answer) -> FollowResult:
    """Offer the rows of a page, and request the next: in the first run to the oldest row, later to known ones."""
    content = parse_reply(answer.status, answer.fields, answer.view.read())
    if isinstance(content, RefusedReply) or not isinstance(content, dict) or not isinstance(content.get("rows"), list):
        refused = (
            content if isinstance(content, RefusedReply) else RefusedReply(Reason.NOT_VALID, "the response has no rows")
        )
        return FollowResult(skip=refused.reason, findings=(Finding("Refused", refused.message, Level.WARN),))
    rows = [row for row in content["rows"] if isinstance(row, dict)]
    keys = dict.fromkeys(f"{str(_name(row))[:300]}@{_time_text(row, 'lastupdated')[:40]}" for row in rows)
    offers = tuple(map(Offering, keys))
    end = int(answer.request.context or 0) + len(rows)
    total = content.get("total")
    is_last = not rows or (isinstance(total, int) and end >= total) or end >= _MAX_ROWS
    if is_last or (source.options["since"] and _is_before(rows, source.options["since"])):
        return FollowResult((), offers, {"complete": True}, end="the oldest row")
    is_complete = bool(learned.get("complete"))
    return FollowResult((_page_request(source, end - len(rows) // _OVERLAP, only_if_new=is_complete),), offers)


def _is_before(rows: list[dict[str, Any]], day: str) -> bool:
    starts = [_time_text(row, "starttime") for row in rows]
    days = [start[:10] for start in starts if start[:4].isdecimal()]
    return bool(days) and all(row_day < day for row_day in days)


def _name(row: Mapping[str, Any]) -> Any:
    return row.get("uuid") or row.get("url") or ""


def _time_text(row: Mapping[str, Any], name: str) -> str:
    time = row.get(name)
    text = (time.get("iso8601") or time.get("rfc2822")) if isinstance(time, dict) else time
    return text if isinstance(text, str) else ""


def read(task: Task) -> Iterator[Observation | Skip]:
    """Yield an article for each row, and a skip for each that is not an article."""
    content = parse_reply(200, task.fields, task.view.read())
    rows = content.get("rows") if isinstance(content, dict) else None
    zone = task.source.options["timezone"] if task.source else ""
    base = task.request.url if task.request else ""
    seen: set[str] = set()
    for row in rows if isinstance(rows, list) else ():
        if not isinstance(row, dict):
            yield Skip(Reason.NOT_VALID, "", "a row is not a JSON object")
            continue
        name, kind = str(_name(row)), str(row.get("type") or "article")
        url = row["url"] if isinstance(row.get("url"), str) else ""
        url = url if "://" in url else normalise(url, base).url if url else ""
        if name in seen:
            yield Skip(Reason.LISTED_TWICE, name[:500], url)
        elif kind != "article":
            yield Skip(Reason.NOT_WANTED, url or name[:500], f"type {kind[:40]}")
        else:
            yield article_observation(_build_article(row, url), zone, task.visited)
        seen.add(name)


def _build_article(row: Mapping[str, Any], url: str) -> FoundArticle:
    content = list(_flatten([row.get("prologue"), row.get("content")]))
    people = row.get("authors")
    people = [person for person in people if isinstance(person, dict)] if isinstance(people, list) else []
    byline = _BY.sub("", strip_html(row.get("byline")))
    preview = row.get("preview")
    image = (preview.get("url") if isinstance(preview, dict) else preview) or row.get("resource_url")
    return FoundArticle(
        url=url,
        kind="townnews",
        title=strip_html(row.get("title")),
        html="\n".join(content),
        base=url,
        date=_time_text(row, "starttime"),
        stamp=_timestamp(row.get("starttime")),
        authors=list(filter(None, map(_author_name, people))) or ([byline] if byline else []),
        keywords=[strip_html(text) for text in (*texts_in(row.get("keywords")), *texts_in(row.get("sections")))],
        image=image if isinstance(image, str) else "",
        excerpt=strip_html(row.get("subheadline")),
        metadata={
            "uuid": row.get("uuid"), "type": row.get("type"), "flags": row.get("flags"),
            "modified_date": _time_text(row, "lastupdated"),
        },
        name=f"townnews:{standard.domain(url)}/{row['uuid']}" if isinstance(row.get("uuid") or 0, str) else "",
        modified=_time_text(row, "lastupdated"),
    )  # fmt: skip


def _flatten(nested: Any, depth: int = 0) -> Iterator[str]:
    """Yield the texts in nested lists and objects, to a depth of 10."""
    if isinstance(nested, str):
        yield nested
    elif depth < 10:
        inner = nested.values() if isinstance(nested, dict) else nested if isinstance(nested, list) else ()
        for child in inner:
            yield from _flatten(child, depth + 1)


def _author_name(person: Mapping[str, Any]) -> str:
    full_name = " ".join(texts_in([person.get("first_name"), person.get("last_name")]))
    return strip_html(person.get("full_name")) or strip_html(full_name) or strip_html(person.get("screen_name"))


def _timestamp(time: Any) -> int | None:
    """Return the `utc` of a time, which is in milliseconds, in seconds since 1970; None if not valid or before 1990."""
    milliseconds = time.get("utc") if isinstance(time, dict) else None
    digits = str(milliseconds) if isinstance(milliseconds, str | int) else ""
    if not digits.isascii() or not digits.isdecimal() or len(digits) > 14:
        return None
    stamp = int(digits) // 1000
    return stamp if stamp > 0 and datetime.fromtimestamp(stamp, UTC).year >= _FIRST_YEAR else None
