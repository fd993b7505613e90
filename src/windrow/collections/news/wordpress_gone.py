"""Find deleted and missed posts of WordPress, by the numbers (ids) of all posts.

A post that is trashed, unpublished or deleted is no longer in any list. So the numbers of all posts are requested from
time to time, in their order, a hundred in a response of about a kilobyte. A post with a known number between the first
and the last of a page that is not in it may be deleted; one in it with an unknown number was missed. Both are requested
by number. The response has the posts that exist; the others are gone.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Any

from windrow.collections.news.feed import RefusedReply, parse_reply
from windrow.contract import Answer, FollowResult, Observation, Request
from windrow.model import Finding, Level, Source

NUMBERS, BY_NUMBER = "wordpress.numbers", "wordpress.by_number"
_BLOCK = 10_000  # numbers in a block, which is stored as a whole
_PER_PAGE = 100
_ENDINGS = ("wp-json/wp/v2/posts", "?rest_route=/wp/v2/posts")


def site_of(url: str) -> str:
    """Return the host and path of a site from an address of its API; several sites may share a host.

    >>> site_of("https://www.example.com/blog/wp-json/wp/v2/posts?page=1")
    'example.com/blog'
    """
    address = url.partition("://")[2].removeprefix("www.")
    for ending in _ENDINGS:
        prefix, separator, _ = address.partition(ending)
        if separator:
            return prefix.rstrip("/")
    return address.partition("?")[0]


def post_name(url: str, number: Any) -> str:
    """Return the name of a post that stays when its address changes: its site and its number."""
    return f"wordpress:{site_of(url)}/{number}"


def begin(source: Source, api: str) -> Request:
    """Request the first page of numbers, each time it is due."""
    since = f"&after={source.options['since']}T00:00:00" if source.options["since"] else ""
    every = max(1, int(source.options["full_listing_every"]))
    return _numbers_request(f"{api}{'&' if '?' in api else '?'}_fields=id{since}", 1, 0, every=every)


def _numbers_request(base: str, page: int, after: int, began: str = "", every: int | None = None) -> Request:
    count = f"&count={began}" if began else ""  # ignored; it makes the address new, as each is requested once
    url = f"{base}&per_page={_PER_PAGE}&page={page}&orderby=id&order=asc{count}"
    return Request(url, NUMBERS, priority=3, context=json.dumps([base, page, after]), every=every)


def follow_numbers(learned: Mapping[str, Any], answer: Answer) -> FollowResult:
    """Compare a page of numbers with the known ones, and request the posts that differ and the next page."""
    base, page, after = json.loads(answer.request.context)
    posts = parse_reply(answer.status, answer.fields, answer.view.read())
    if isinstance(posts, RefusedReply) and posts.code == "rest_post_invalid_page_number" and page > 1:
        posts = []
    if isinstance(posts, RefusedReply) or not isinstance(posts, list):
        message = posts.message if isinstance(posts, RefusedReply) else "the response is not a list of numbers"
        return FollowResult(
            end="the numbers of posts are not available", findings=(Finding("Refused", message, Level.WARN),)
        )
    listed = [post["id"] for post in posts if isinstance(post, dict) and isinstance(post.get("id"), int)]
    if listed != sorted(set(listed)) or (listed and listed[0] <= after and page > 1):
        return FollowResult(end="the numbers are not in order")
    total_pages = answer.fields.get("x-wp-totalpages", "")
    is_last = not listed or (total_pages.isascii() and total_pages.isdecimal() and page >= int(total_pages))
    known = list(_known_between(learned, after, None if is_last else listed[-1]))
    differing = sorted(set(known) ^ set(listed))
    began = f"{answer.at.timestamp():.0f}"
    api = base.partition("_fields=")[0].rstrip("?&")
    requests = [
        _posts_request(api, differing[start : start + _PER_PAGE], began)
        for start in range(0, len(differing), _PER_PAGE)
    ]
    if not is_last:
        requests.append(_numbers_request(base, page + 1, listed[-1], began))
    return FollowResult(tuple(requests), end="all posts were counted" if is_last else "")


def _posts_request(api: str, numbers: list[int], began: str) -> Request:
    mark = "&" if "?" in api else "?"
    included = ",".join(map(str, numbers))
    url = f"{api}{mark}include={included}&per_page={_PER_PAGE}&orderby=id&order=asc&count={began}"
    return Request(f"{url}&_embed=author,wp:term,wp:featuredmedia", BY_NUMBER, priority=2, context=included)


def requested_numbers(request: Request) -> list[int]:
    """Return the numbers of the posts that a request is for."""
    return [int(number) for number in request.context.split(",") if number]


def missing_posts(request: Request, posts: Iterable[Any]) -> Iterator[Observation]:
    """Yield as gone each post that was requested by number and is not in the response."""
    existing = {post["id"] for post in posts if isinstance(post, dict) and isinstance(post.get("id"), int)}
    for number in requested_numbers(request):
        if number not in existing:
            name = post_name(request.url, number)
            yield Observation(name, None, names=(name,))


def learned_numbers(
    learned: Mapping[str, Any], existing: Iterable[int], missing: Iterable[int] = ()
) -> dict[str, list[int]]:
    """Return the blocks of known numbers that change; a block is stored as differences between successive numbers."""
    blocks: dict[str, set[int]] = {}
    existing, missing = set(existing), set(missing)
    for number in existing | missing:
        blocks.setdefault(_block(number), set()).add(number)
    changed = {}
    for name, numbers in blocks.items():
        stored = learned.get(name, ())
        known_numbers = sorted((set(accumulate(stored)) | (numbers & existing)) - (numbers & missing))
        differences = [
            following - previous for previous, following in zip([0, *known_numbers], known_numbers, strict=False)
        ]
        if differences != list(stored):
            changed[name] = differences
    return changed


def _block(number: int) -> str:
    return f"numbers.{number // _BLOCK}"


def _known_between(learned: Mapping[str, Any], after: int, upto: int | None) -> Iterator[int]:
    """Yield the known numbers above `after`, up to `upto` or all."""
    for block in sorted(int(name.removeprefix("numbers.")) for name in learned if name.startswith("numbers.")):
        first = block * _BLOCK
        if first + _BLOCK <= after or (upto is not None and first > upto):
            continue
        numbers = list(accumulate(learned[_block(first)]))
        end = len(numbers) if upto is None else bisect_right(numbers, upto)
        yield from numbers[bisect_left(numbers, after + 1) : end]
