"""Find deleted and missed WordPress posts by the numbers (ids) of all posts.

A post that is trashed, unpublished or deleted is no longer in any list. So the numbers of all posts are requested from
time to time, in order, a hundred in a response of about a kilobyte. If a known number is absent from a page, but is
between the last number of the previous page and the last of this one, its post may be deleted. If a page has an unknown
number, its post was missed. Both kinds of posts are requested by number; a post that is absent from this response is
gone. `learned` is what the ledger remembers about a source.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from itertools import accumulate
from typing import Any

from windrow.collections.news.feed import RefusedResponse, find_drift, parse_response
from windrow.contract import Answer, FollowResult, LeftOutCount, Observation, Request
from windrow.model import Finding, Level, Source
from windrow.reasons import Reason

NUMBERS, BY_NUMBER = "wordpress.numbers", "wordpress.by_number"
_BLOCK_SIZE = 10_000  # possible numbers in a block, which is stored as a whole
_POSTS_PER_PAGE = 100
_NOT_NUMBERS = RefusedResponse(Reason.PROTOCOL_ERROR, "the response is not a list of numbers")
_UNORDERED = RefusedResponse(Reason.PROTOCOL_ERROR, "the numbers of posts are not in order")
_UNCOMPARED_RULE = "the numbers of all posts, without which posts that were removed or missed are not noticed"
_API_PATHS = ("wp-json/wp/v2/posts", "?rest_route=/wp/v2/posts")


def site_of(url: str) -> str:
    """Return the host name and path of a site from an address of its API; several sites may share a host name.

    >>> site_of("https://www.example.com/blog/wp-json/wp/v2/posts?page=1")
    'example.com/blog'
    """
    address = url.partition("://")[2].removeprefix("www.")
    for api_path in _API_PATHS:
        prefix, found_path, _ = address.partition(api_path)
        if found_path:
            return prefix.rstrip("/")
    return address.partition("?")[0]


def post_name(url: str, number: Any) -> str:
    """Return a name for a post that stays the same when the post's address changes.

    `url` is an address of the site's API.
    """
    return f"wordpress:{site_of(url)}/{number}"


def begin(source: Source, api: str) -> Request:
    """Return the request for the first page of numbers, which is sent again after `full_listing_every`.

    `api` is the address of the posts in the API.
    """
    start = second_before(source.options["since"])
    since = f"&after={start}" if start else ""
    every = max(1, int(source.options["full_listing_every"]))
    return _numbers_request(f"{api}{'&' if '?' in api else '?'}_fields=id{since}", 1, 0, every=every)


def second_before(day: str) -> str:
    """Return the last second before a day as ISO 8601, because `after` excludes the given time; "" without a day.

    >>> second_before("2026-01-01"), second_before("")
    ('2025-12-31T23:59:59', '')
    """
    if not day:
        return ""
    day_before = max(date.fromisoformat(day), date.min + timedelta(days=1)) - timedelta(days=1)
    return f"{day_before.isoformat()}T23:59:59"


def _numbers_request(
    base_url: str, page: int, last_number: int, counts: Sequence[int] = (), *, previous_time: str = "",
    every: int | None = None,
) -> Request:  # fmt: skip
    """Return the request for page `page` of the list of the numbers of all posts.

    The page before it was requested at `previous_time` (seconds since 1970) and ended with `last_number`. `counts` are
    how many numbers the pages before it have, and how many are known up to their end; () for the first page.
    """
    count = f"&count={previous_time}" if previous_time else ""  # the site ignores it; it makes the address new
    url = f"{base_url}&per_page={_POSTS_PER_PAGE}&page={page}&orderby=id&order=asc{count}"
    return Request(url, NUMBERS, priority=3, context=json.dumps([base_url, page, last_number, *counts]), every=every)


def follow_numbers(source: Source, learned: Mapping[str, Any], answer: Answer) -> FollowResult:
    """Request the posts whose numbers are either known or on this page, but not both; also request the next page.

    If the response is not a list, or its numbers are not in order, request nothing and count it. If at least ten posts
    are known up to the end of this page, and the list has less than a quarter as many numbers so far, report drift, and
    request nothing.
    """
    base_url, page, last_number, *counts = json.loads(answer.request.context)
    posts = parse_response(answer.status, answer.fields, answer.view.read())
    if isinstance(posts, RefusedResponse) and posts.code == "rest_post_invalid_page_number" and page > 1:
        posts = []
    if isinstance(posts, RefusedResponse) or not isinstance(posts, list):
        refused = posts if isinstance(posts, RefusedResponse) else _NOT_NUMBERS
        return _refuse_numbers(answer, "the numbers of posts are not available", refused)
    listed = [post["id"] for post in posts if isinstance(post, dict) and isinstance(post.get("id"), int)]
    if listed != sorted(set(listed)) or (listed and listed[0] <= last_number and page > 1):
        return _refuse_numbers(answer, "the numbers are not in order", _UNORDERED)
    total_pages = answer.fields.get("x-wp-totalpages", "")
    is_last = not listed or (total_pages.isascii() and total_pages.isdecimal() and page >= int(total_pages))
    known_numbers = list(_known_between(learned, last_number, None if is_last else listed[-1]))
    listed_before, known_before = counts or (0, 0)
    counts = [listed_before + len(listed), known_before + len(known_numbers)]
    # With `since`, the list lacks older posts that are known.
    if "&after=" not in base_url and (drift := find_drift(source, counts[1], "post", counts[0])):
        return FollowResult(findings=drift)
    differing = sorted(set(known_numbers) ^ set(listed))
    now = f"{answer.at.timestamp():.0f}"
    api = base_url.partition("_fields=")[0].rstrip("?&")
    requests = [
        _posts_request(api, differing[start : start + _POSTS_PER_PAGE], now)
        for start in range(0, len(differing), _POSTS_PER_PAGE)
    ]
    if not is_last:
        requests.append(_numbers_request(base_url, page + 1, listed[-1], counts, previous_time=now))
    return FollowResult(tuple(requests), end="all posts were counted" if is_last else "")


def _refuse_numbers(answer: Answer, end: str, refused: RefusedResponse) -> FollowResult:
    """Count a list of numbers that cannot be used: posts that were removed or missed are not noticed."""
    finding = Finding("Refused", refused.message, Level.WARN)
    left_out = LeftOutCount(refused.reason, _UNCOMPARED_RULE, 1, answer.request.url)
    return FollowResult(end=end, findings=(finding,), left_out=(left_out,))


def _posts_request(api: str, numbers: list[int], now: str) -> Request:
    """Return the request for the posts with the given numbers. `now`, in seconds since 1970, makes the address new."""
    separator = "&" if "?" in api else "?"
    included = ",".join(map(str, numbers))
    url = f"{api}{separator}include={included}&per_page={_POSTS_PER_PAGE}&orderby=id&order=asc&count={now}"
    return Request(f"{url}&_embed=author,wp:term,wp:featuredmedia", BY_NUMBER, priority=2, context=included)


def requested_numbers(request: Request) -> list[int]:
    """Return the numbers of posts that `_posts_request` wrote into a request."""
    return [int(number) for number in request.context.split(",") if number]


def missing_numbers(request: Request, fields: Mapping[str, str], posts: Sequence[Any]) -> list[int] | None:
    """Return the requested numbers that are not among the `posts` of a response, whose header has these `fields`.

    Return None if the response was cut: its header states more posts than it has or, if it states no number, it has
    only a part of the requested posts. Some sites allow fewer posts in a response than are requested.
    """
    existing, total = numbers_of(posts), count_field(fields, "x-wp-total")
    missing = [number for number in requested_numbers(request) if number not in existing]
    is_cut = total > len(posts) or (total < 0 and 0 < len(missing) < len(requested_numbers(request)))
    return None if is_cut else missing


def remaining_posts(request: Request, posts: Sequence[Any], now: str) -> tuple[Request, ...]:
    """Return a request for the requested numbers that are not among the `posts` of a response that was cut.

    Return () if `posts` has none of the requested posts. `now`, in seconds since 1970, makes the request's address new.
    """
    existing = numbers_of(posts)
    remaining = [number for number in requested_numbers(request) if number not in existing]
    if not existing.intersection(requested_numbers(request)):
        return ()
    return (_posts_request(request.url.partition("include=")[0].rstrip("?&"), remaining, now),)


def missing_posts(request: Request, fields: Mapping[str, str], posts: Sequence[Any]) -> Iterator[Observation]:
    """Yield an observation that a post is gone, for each requested post that is absent from a response.

    Yield nothing if the response was cut.
    """
    for number in missing_numbers(request, fields, posts) or ():
        name = post_name(request.url, number)
        yield Observation(name, None, names=(name,))


def numbers_of(posts: Iterable[Any]) -> set[int]:
    """Return the numbers (ids) of posts; a post without a number is left out."""
    return {post["id"] for post in posts if isinstance(post, dict) and isinstance(post.get("id"), int)}


def count_field(fields: Mapping[str, str], name: str) -> int:
    """Return the number in the header field `name`, or -1 if the field is missing or not a number below 10**9."""
    text = fields.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else -1


def learned_numbers(
    learned: Mapping[str, Any], existing: Iterable[int], missing: Iterable[int] = ()
) -> dict[str, list[int]]:
    """Return what to store in `learned` so that `existing` are known numbers and `missing` are not.

    The result has, by key, the blocks of numbers that change. A block is stored as the differences between
    successive numbers.
    """
    blocks: dict[str, set[int]] = {}
    existing, missing = set(existing), set(missing)
    for number in existing | missing:
        blocks.setdefault(_block_key(number), set()).add(number)
    changed = {}
    for key, numbers in blocks.items():
        stored = learned.get(key, ())
        known_numbers = sorted((set(accumulate(stored)) | (numbers & existing)) - (numbers & missing))
        pairs = zip([0, *known_numbers], known_numbers, strict=False)
        differences = [number - previous for previous, number in pairs]
        if differences != list(stored):
            changed[key] = differences
    return changed


def _block_key(number: int) -> str:
    return f"numbers.{number // _BLOCK_SIZE}"


def _known_between(learned: Mapping[str, Any], after: int, last: int | None) -> Iterator[int]:
    """Yield the known numbers above `after` and up to `last`; if `last` is None, all above `after`."""
    for block in sorted(int(name.removeprefix("numbers.")) for name in learned if name.startswith("numbers.")):
        first = block * _BLOCK_SIZE
        if first + _BLOCK_SIZE <= after or (last is not None and first > last):
            continue
        numbers = list(accumulate(learned[_block_key(first)]))
        end = len(numbers) if last is None else bisect_right(numbers, last)
        yield from numbers[bisect_left(numbers, after + 1) : end]
