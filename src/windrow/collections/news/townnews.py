"""BLOX (TownNews): what the search of a site gives as JSON, newest first, and what each of its rows says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from windrow.collections.news import standard
from windrow.collections.news.article import FoundArticle, article_observation
from windrow.collections.news.feed import RefusedReply, plain, reply, texts
from windrow.contract import Answer, FollowResult, Observation, Offering, Request, Skip, Task
from windrow.formats.url import normalise
from windrow.model import Finding, Level, Source
from windrow.reasons import Reason

SEARCH = "townnews.search"
_ROWS = 100
_MOST = 1_000_000  # rows that are paged through
_AGAIN = 10  # of so many rows one is asked for again: rows that go meanwhile move the others up
_BY = re.compile(r"^\s*by\s+", re.IGNORECASE)
_FIRST_YEAR = 1990


def begin(source: Source, learned: Mapping[str, Any]) -> tuple[Request, ...]:
    """Ask for the newest articles, each time they are due."""
    if source.options["until"] and learned.get("complete"):
        return ()
    every = None if source.options["until"] else max(1, int(source.options["every"]))
    return (_page(source, 0, every=every),)


def _page(source: Source, offset: int, *, every: int | None = None, only_if_new: bool = False) -> Request:
    words = f"search/?f=json&l={_ROWS}&s=start_time&sd=desc&t=article&o={offset}"
    for name, day in (("d1", source.options["since"]), ("d2", source.options["until"])):
        words += f"&{name}={day}" if day else ""
    url = f"{source.site.address('').rstrip('/')}/{words}"
    return Request(url, SEARCH, priority=int(offset > 0), context=str(offset), every=every, only_if_new=only_if_new)


def follow(source: Source, learned: Mapping[str, Any], answer: Answer) -> FollowResult:
    """Offer the rows of a page, and ask for the next one: to the oldest at first, later until they are known."""
    came = reply(answer.status, answer.fields, answer.view.read())
    if isinstance(came, RefusedReply) or not isinstance(came, dict) or not isinstance(came.get("rows"), list):
        refused = came if isinstance(came, RefusedReply) else RefusedReply(Reason.NOT_VALID, "no list of rows")
        return FollowResult(skip=refused.reason, findings=(Finding("Refused", refused.message, Level.WARN),))
    rows = [one for one in came["rows"] if isinstance(one, dict)]
    keys = dict.fromkeys(f"{str(_name(row))[:300]}@{_time(row, 'lastupdated')[:40]}" for row in rows)
    offers = tuple(map(Offering, keys))
    end = int(answer.request.context or 0) + len(rows)
    total = came.get("total")
    is_last = not rows or (isinstance(total, int) and end >= total) or end >= _MOST
    if is_last or (source.options["since"] and _is_before(rows, source.options["since"])):
        return FollowResult((), offers, {"complete": True}, end="the oldest row")
    known = bool(learned.get("complete"))
    return FollowResult((_page(source, end - len(rows) // _AGAIN, only_if_new=known),), offers)


def _is_before(rows: list[dict[str, Any]], day: str) -> bool:
    told = [_time(row, "starttime") for row in rows]
    return all(one[:10] < day for one in told if one[:4].isdecimal()) and any(one[:4].isdecimal() for one in told)


def _name(row: Mapping[str, Any]) -> Any:
    return row.get("uuid") or row.get("url") or ""


def _time(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    found = (value.get("iso8601") or value.get("rfc2822")) if isinstance(value, dict) else value
    return found if isinstance(found, str) else ""


def read(task: Task) -> Iterator[Observation | Skip]:
    """Make an article of each row."""
    came = reply(200, task.fields, task.view.read())
    rows = came.get("rows") if isinstance(came, dict) else None
    zone = task.source.options["zone"] if task.source else ""
    base = task.request.url if task.request else ""
    seen: set[str] = set()
    for row in rows if isinstance(rows, list) else ():
        if not isinstance(row, dict):
            yield Skip(Reason.NOT_VALID, "", "no object where a row is due")
            continue
        name, kind = str(_name(row)), str(row.get("type") or "article")
        url = row["url"] if isinstance(row.get("url"), str) else ""
        url = url if "://" in url else normalise(url, base).url if url else ""
        if name in seen:
            yield Skip(Reason.LISTED_TWICE, name[:500], url)
        elif kind != "article":
            yield Skip(Reason.NOT_WANTED, url or name[:500], f"type {kind[:40]}")
        else:
            yield article_observation(_found(row, url), zone, task.visited)
        seen.add(name)


def _found(row: Mapping[str, Any], url: str) -> FoundArticle:
    content = list(_flat([row.get("prologue"), row.get("content")]))
    people = row.get("authors")
    authors = [_author(one) for one in people if isinstance(one, dict)] if isinstance(people, list) else []
    byline = _BY.sub("", plain(row.get("byline")))
    preview = row.get("preview")
    image = (preview.get("url") if isinstance(preview, dict) else preview) or row.get("resource_url")
    return FoundArticle(
        url=url,
        kind="townnews",
        title=plain(row.get("title")),
        html="\n".join(content),
        base=url,
        date=_time(row, "starttime"),
        stamp=_utc(row.get("starttime")),
        authors=[author for author in authors if author] or ([byline] if byline else []),
        keywords=[plain(text) for text in (*texts(row.get("keywords")), *texts(row.get("sections")))],
        image=image if isinstance(image, str) else "",
        excerpt=plain(row.get("subheadline")),
        metadata={
            "uuid": row.get("uuid"), "type": row.get("type"), "flags": row.get("flags"),
            "modified_date": _time(row, "lastupdated"),
        },
        name=f"townnews:{standard.domain(url)}/{row['uuid']}" if isinstance(row.get("uuid") or 0, str) else "",
        modified=_time(row, "lastupdated"),
    )  # fmt: skip


def _flat(value: Any, depth: int = 0) -> Iterator[str]:
    """Yield the texts of lists and objects within each other."""
    if isinstance(value, str):
        yield value
    elif depth < 10:
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        for one in inner:
            yield from _flat(one, depth + 1)


def _author(one: Mapping[str, Any]) -> str:
    both = " ".join(texts([one.get("first_name"), one.get("last_name")]))
    return plain(one.get("full_name")) or plain(both) or plain(one.get("screen_name"))


def _utc(value: Any) -> int | None:
    """Return the seconds that a row tells in milliseconds; None where they cannot be right."""
    told = value.get("utc") if isinstance(value, dict) else None
    digits = str(told) if isinstance(told, str | int) else ""
    if not digits.isascii() or not digits.isdecimal() or len(digits) > 14:
        return None
    stamp = int(digits) // 1000
    return stamp if stamp > 0 and datetime.fromtimestamp(stamp, UTC).year >= _FIRST_YEAR else None
