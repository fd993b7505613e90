"""Read articles from the search of a BLOX (TownNews) site. `learned` is what the ledger remembers about a source."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple, Self

from windrow.caps import BLOX_ROWS
from windrow.collections.news import standard
from windrow.collections.news.article import FoundArticle, article_observation, separate_claim
from windrow.collections.news.feed import RefusedResponse, find_drift, parse_response, strip_html
from windrow.collections.news.wanted_paths import compare_choice, find_refusal
from windrow.contract import Answer, FollowResult, LeftOutCount, Observation, Offering, Request, Skip, Task
from windrow.formats.json_names import PERSON_KEYS, TOPIC_KEYS, find_names
from windrow.formats.url import normalise
from windrow.model import Finding, Level, Source
from windrow.reasons import Reason

SEARCH = "townnews.search"
REMOVED = "page.removed"  # the name of the request for the page of a row that the search does not list any more
_PAGE_SIZE = 100
_MAX_ROWS = BLOX_ROWS.number
_ROWS_PER_REPEATED_ROW = 10  # pages overlap by a tenth, as each row that is removed moves the later ones up
_BY_PREFIX = re.compile(r"^\s*by\s+", re.IGNORECASE)
_ISO_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_FIRST_YEAR = 1990
_MAX_REMEMBERED = 1_000  # newest rows; only their removal is noticed
_LONGEST_PAUSE = timedelta(days=30)  # between two readings of all rows


def begin(source: Source, learned: Mapping[str, Any]) -> tuple[Request, ...]:
    """Request the page with the newest articles when it is due; with `until` set, only until all are read."""
    is_other, _ = compare_choice(learned, "choice", source.options)
    if source.options["until"] and learned.get("complete") and not is_other:
        return ()
    every = None if source.options["until"] else max(1, int(source.options["every"]))
    return (_page_request(source, _Page(), every),)


class _Page(NamedTuple):
    """A page of the results of a site's search.

    `offset` is the number of its first row, `day` is the day of the last row before it, and `until` is the last day of
    the search. A day is empty if it is not known or not limited.
    """

    offset: int = 0
    day: str = ""
    until: str = ""

    @classmethod
    def of_request(cls, request: Request) -> Self:
        offset, day, until = (*request.context.split(" "), "", "")[:3]
        return cls(int(offset or 0), day, until)


def _page_request(source: Source, page: _Page, every: int | None = None) -> Request:
    query = f"search/?f=json&l={_PAGE_SIZE}&s=start_time&sd=desc&t=article&o={page.offset}"
    query += _days_query(source, page)
    url = f"{source.site.address('').rstrip('/')}/{query}"
    priority, context = int(page != _Page()), " ".join(map(str, page))
    return Request(url, SEARCH, priority=priority, context=context, every=every)


def _days_query(source: Source, page: _Page) -> str:
    days = {"d1": source.options["since"], "d2": page.until or source.options["until"]}
    return "".join(f"&{name}={day}" for name, day in days.items() if day)


def follow(source: Source, learned: Mapping[str, Any], answer: Answer) -> FollowResult:
    """Offer the rows of a page, and request the next page; the page with the oldest row is the last.

    Once all rows have been read, later runs end at a page without a new row, except for those that read all rows again.
    If a search ends before the total that it states, or reaches _MAX_ROWS rows, a new search continues from the day of
    the last row. If that one has no rows, those that are missing are counted. A response that is not a page of rows is
    refused. The page of each row that is missing between others is requested.
    """
    content = parse_response(answer.status, answer.fields, answer.view.read())
    if not isinstance(content, dict) or not isinstance(content.get("rows"), list):
        not_a_list = RefusedResponse(Reason.NOT_VALID, "the response does not have a list of rows")
        refused = content if isinstance(content, RefusedResponse) else not_a_list
        return FollowResult(skip=refused.reason, findings=(Finding("Refused", refused.message, Level.WARN),))
    rows = [row for row in content["rows"] if isinstance(row, dict)]
    page, total = _Page.of_request(answer.request), content.get("total")
    if page == _Page() and answer.request.url.partition("&o=0")[2] != _days_query(source, page):
        return FollowResult(end="`since` or `until` was changed")  # this search is requested every time, too
    is_empty = not rows and page == _Page() and not source.options["since"]
    if drift := find_drift(source, int(learned.get("complete", 0)), "article") if is_empty else ():
        return FollowResult(end="the oldest row", findings=drift)
    learned_now, missing, new = _compare_rows(learned, rows, answer.request.url, is_first=page == _Page())
    if page == _Page():
        expected = learned.get("total", total) + new - len(missing) if isinstance(total, int) else total
        is_other, choice = compare_choice(learned, "choice", source.options)
        is_again = is_other or _is_due_again(source, learned, answer.at, is_changed=total != expected)
        learned_now |= {"total": total, "is_again": is_again, **choice}
    pages = _follow_page(source, {**learned, **learned_now}, answer, content)
    requests = (*pages.requests, *(Request(url, REMOVED, when_named=True) for url in missing))
    return replace(pages, requests=requests, learned={**learned_now, **pages.learned})


def _follow_page(
    source: Source, learned: Mapping[str, Any], answer: Answer, content: Mapping[str, Any]
) -> FollowResult:
    """Offer the rows of a page, and request the next page or, if the search cannot go on, another search."""
    rows, page = [row for row in content["rows"] if isinstance(row, dict)], _Page.of_request(answer.request)
    keys = dict.fromkeys(f"{str(_row_name(row))[:300]}@{_time_text(row, 'lastupdated')[:40]}" for row in rows)
    offers = tuple(map(Offering, keys))
    end_offset, days = page.offset + len(content["rows"]), _days_of(rows)
    page = page._replace(day=days[-1] if days else page.day)
    total = content.get("total")
    is_last = end_offset >= total if isinstance(total, int) else not rows
    is_before = bool(source.options["since"] and days) and max(days) < source.options["since"]
    read_rows = int(learned.get("complete", 0))
    complete = {"complete": max(read_rows, end_offset, 1), "is_again": False, "read_at": answer.at.isoformat()}
    if is_last or is_before:
        return FollowResult((), offers, complete, end="the oldest row")
    is_again = bool(learned.get("is_again"))
    only_if_new = bool(read_rows) and not is_again
    if rows and end_offset < _MAX_ROWS:
        next_page = page._replace(offset=end_offset - len(content["rows"]) // _ROWS_PER_REPEATED_ROW)
        return FollowResult(
            (_page_request(source, next_page)._replace(only_if_new=only_if_new, when_named=is_again),), offers
        )
    # A search that ends before its total is begun again, up to the day after that of its last row.
    continued = _Page(day=page.day, until=_day_after(page.day))
    if continued.until and continued.until != page.until:
        return FollowResult(
            (_page_request(source, continued)._replace(only_if_new=only_if_new, when_named=is_again),), offers
        )
    if not rows:
        missing = max(0, total - end_offset) if isinstance(total, int) else 0
        rule = "a search states more rows than it gives"
        left_out = (LeftOutCount(Reason.TRUNCATED, rule, missing, answer.request.url),) if missing else ()
        return FollowResult((), offers, complete, end="the oldest row", left_out=left_out)
    message = f"the search has more than {_MAX_ROWS:,} rows for one day; further rows are not requested"
    return FollowResult((), offers, skip=Reason.CRAWLER_TRAP, findings=(Finding("Refused", message),))


def _compare_rows(
    learned: Mapping[str, Any], rows: list[dict[str, Any]], base_url: str, *, is_first: bool
) -> tuple[dict[str, Any], list[str], int]:
    """Compare a page with the newest rows that were listed before.

    Return what to remember, the addresses of rows that are missing between the rows of the page, and how many rows of
    the page are new. Nothing is before the first page, so all newer rows are missing there.
    """
    known: dict[str, str] = learned.get("rows", {})
    listed = {url: _time_text(row, "starttime") for row in rows if (url := _row_url(row, base_url))}
    times = [time for time in listed.values() if time]
    is_ordered = bool(times) and times == sorted(times, reverse=True)
    oldest, newest = (times[-1], "~" if is_first else times[0]) if is_ordered else ("", "")
    missing = [url for url, time in known.items() if oldest < time < newest and url not in listed]
    remembered = {url: time for url, time in {**known, **listed}.items() if url not in missing}
    newest_first = sorted(remembered.items(), key=lambda url_and_time: url_and_time[1], reverse=True)
    newest_rows = dict(newest_first[:_MAX_REMEMBERED])
    return ({} if newest_rows == known else {"rows": newest_rows}), missing, len(listed.keys() - known.keys())


def _is_due_again(source: Source, learned: Mapping[str, Any], answered_at: datetime, *, is_changed: bool) -> bool:
    """Return whether all rows must be read again: corrections and late rows are at any place of the search.

    That is so once in `full_listing_every` if the total `is_changed` by more than the first page shows, otherwise once
    in _LONGEST_PAUSE, and if the last such reading did not end.
    """
    if not learned.get("complete"):
        return False
    read_at = learned.get("read_at")
    if learned.get("is_again") or not read_at:
        return True
    pause = timedelta(seconds=float(source.options["full_listing_every"])) if is_changed else _LONGEST_PAUSE
    return answered_at - datetime.fromisoformat(read_at) >= pause


def _days_of(rows: list[dict[str, Any]]) -> list[str]:
    starts = [_time_text(row, "starttime") for row in rows]
    return [start[:10] for start in starts if _ISO_DAY.match(start)]


def _day_after(day: str) -> str:
    try:
        return (date.fromisoformat(day) + timedelta(days=1)).isoformat()
    except (ValueError, OverflowError):
        return ""


def _row_name(row: Mapping[str, Any]) -> Any:
    return row.get("uuid") or row.get("url") or ""


def _row_url(row: Mapping[str, Any], base_url: str) -> str:
    url = row["url"] if isinstance(row.get("url"), str) else ""
    return url if "://" in url else normalise(url, base_url).url if url else ""


def _time_text(row: Mapping[str, Any], name: str) -> str:
    time = row.get(name)
    text = (time.get("iso8601") or time.get("rfc2822")) if isinstance(time, dict) else time
    return text if isinstance(text, str) else ""


def read(task: Task) -> Iterator[Observation | Skip]:
    """Yield an observation for each row of a response, or a skip if the row is not a valid article or is a repeat."""
    content = parse_response(200, task.fields, task.view.read())
    rows = content.get("rows") if isinstance(content, dict) else None
    rows = rows if isinstance(rows, list) else []
    zone = task.source.options["timezone"] if task.source else ""
    base_url = task.request.url if task.request else ""
    urls_by_name: dict[str, set[str]] = {}
    for row in rows:
        if not isinstance(row, dict):
            yield Skip(Reason.NOT_VALID, "", "a row is not a JSON object")
            continue
        name, row_type = str(_row_name(row)), str(row.get("type") or "article")
        url = _row_url(row, base_url)
        urls = urls_by_name.setdefault(name, set())
        if name and url in urls:
            yield Skip(Reason.LISTED_TWICE, name[:500], url)
        elif row_type != "article":
            yield Skip(Reason.NOT_WANTED, url or name[:500], f"its type is {row_type[:40]}, not article")
        elif rule := find_refusal(url, task.source.options if task.source else {}):
            yield Skip(Reason.NOT_WANTED, url, rule)
        else:
            article = _build_article(row, url, standard.domain(base_url))
            # Rows with one uuid and different addresses are different articles: the uuid does not name the second one.
            article = separate_claim(replace(article, lasting_name="") if urls else article, task)
            yield article_observation(article, zone, task.visited)
        urls.add(url)


def _build_article(row: Mapping[str, Any], url: str, site: str) -> FoundArticle:
    html_parts = list(_flatten([row.get("prologue"), row.get("content")]))
    authors = _names_in(row.get("authors"), PERSON_KEYS) or _names_in(row.get("author"), PERSON_KEYS)
    bylines = [_BY_PREFIX.sub("", line) for line in _names_in(row.get("byline"), PERSON_KEYS)]
    preview = row.get("preview")
    image = (preview.get("url") if isinstance(preview, dict) else preview) or row.get("resource_url")
    return FoundArticle(
        url=url,
        kind="townnews",
        title=strip_html(row.get("title")),
        html="\n".join(html_parts),
        base_url=url,
        date=_time_text(row, "starttime"),
        timestamp=_timestamp(row.get("starttime")),
        authors=authors or bylines,
        keywords=[text for name in ("keywords", "sections") for text in _topic_names(row.get(name))],
        image_url=image if isinstance(image, str) else "",
        excerpt=strip_html(row.get("subheadline")),
        metadata={
            "uuid": row.get("uuid"), "type": row.get("type"), "flags": row.get("flags"),
            "modified_date": _time_text(row, "lastupdated"),
        },
        lasting_name=f"townnews:{site}/{row['uuid']}" if isinstance(row.get("uuid") or 0, str) else "",
        modified=_time_text(row, "lastupdated"),
    )  # fmt: skip


def _names_in(value: Any, keys: Sequence[str]) -> list[str]:
    return list(filter(None, map(strip_html, find_names(value, keys))))


def _topic_names(topics: Any) -> list[str]:
    """Return the names of keywords or sections; those in a single text are separated by commas or semicolons."""
    if isinstance(topics, str):
        return [name for part in re.split("[,;]", strip_html(topics)) if (name := part.strip())]
    return _names_in(topics, TOPIC_KEYS)


def _flatten(nested: Any) -> Iterator[str]:
    """Yield the texts in lists and in the values of objects, in order, at any depth."""
    remaining = [nested]
    while remaining:
        part = remaining.pop()
        if isinstance(part, str):
            yield part
        members = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
        remaining += reversed([*members])


def _timestamp(time: Any) -> int | None:
    """Convert the `utc` of a time from milliseconds to seconds; return None if it is not valid or is before 1990."""
    milliseconds = time.get("utc") if isinstance(time, dict) else None
    digits = str(milliseconds) if isinstance(milliseconds, str | int) else ""
    if not digits.isascii() or not digits.isdecimal() or len(digits) > 14:
        return None
    seconds = int(digits) // 1000
    return seconds if seconds > 0 and datetime.fromtimestamp(seconds, UTC).year >= _FIRST_YEAR else None
