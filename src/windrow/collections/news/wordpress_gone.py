"""WordPress: which posts went, and which were missed, by the numbers of all posts.

A post that is trashed, unpublished or deleted vanishes from every list without a trace. So the numbers of all posts are
asked for from time to time, a hundred in an answer of about a kilobyte, in their order: what is known between the first
and the last number of a page and is not in it may be gone, what is in it and is not known was missed. Both are asked
for by number once more. The answer has those that are there; the others are gone.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Any

from windrow.collections.news.feed import RefusedReply, reply
from windrow.contract import Answer, FollowResult, Observation, Request
from windrow.model import Finding, Level, Source

NUMBERS, BY_NUMBER = "wordpress.numbers", "wordpress.by_number"
_BLOCK = 10_000  # numbers of a block, which is kept as a whole
_PER_PAGE = 100
_ENDINGS = ("wp-json/wp/v2/posts", "?rest_route=/wp/v2/posts")


def site_of(url: str) -> str:
    """Return what all addresses of one interface have in common; several sites may share a host.

    >>> site_of("https://www.example.com/blog/wp-json/wp/v2/posts?page=1")
    'example.com/blog'
    """
    address = url.partition("://")[2].removeprefix("www.")
    for ending in _ENDINGS:
        before, found, _ = address.partition(ending)
        if found:
            return before.rstrip("/")
    return address.partition("?")[0]


def post_name(url: str, number: Any) -> str:
    """Return the name of a post that stays when it moves: the site's, and its number."""
    return f"wordpress:{site_of(url)}/{number}"


def begin(source: Source, api: str) -> Request:
    """Ask for the first numbers, when that is due."""
    since = f"&after={source.options['since']}T00:00:00" if source.options["since"] else ""
    every = max(1, int(source.options["gone_every"]))
    return _page(f"{api}{'&' if '?' in api else '?'}_fields=id{since}", 1, 0, every=every)


def _page(base: str, page: int, after: int, began: str = "", every: int | None = None) -> Request:
    count = f"&count={began}" if began else ""  # for the address alone: each is asked once
    url = f"{base}&per_page={_PER_PAGE}&page={page}&orderby=id&order=asc{count}"
    return Request(url, NUMBERS, priority=3, context=json.dumps([base, page, after]), every=every)


def follow_numbers(learned: Mapping[str, Any], answer: Answer) -> FollowResult:
    """Compare a page of numbers with those that are known, and ask for the next one."""
    base, page, after = json.loads(answer.request.context)
    came = reply(answer.status, answer.fields, answer.view.read())
    if isinstance(came, RefusedReply) and came.code == "rest_post_invalid_page_number" and page > 1:
        came = []
    if isinstance(came, RefusedReply) or not isinstance(came, list):
        refused = came.message if isinstance(came, RefusedReply) else "no list of numbers"
        return FollowResult(
            end="which posts are there is not told", findings=(Finding("Refused", refused, Level.WARN),)
        )
    listed = [one["id"] for one in came if isinstance(one, dict) and isinstance(one.get("id"), int)]
    if listed != sorted(set(listed)) or (listed and listed[0] <= after and page > 1):
        return FollowResult(end="the numbers are in no order")
    told = answer.fields.get("x-wp-totalpages", "")
    is_last = not listed or (told.isascii() and told.isdecimal() and page >= int(told))
    known = list(_between(learned, after, None if is_last else listed[-1]))
    doubtful = sorted(set(known) ^ set(listed))
    began = f"{answer.at.timestamp():.0f}"
    api = base.partition("_fields=")[0].rstrip("?&")
    requests = [
        _by_number(api, doubtful[start : start + _PER_PAGE], began) for start in range(0, len(doubtful), _PER_PAGE)
    ]
    if not is_last:
        requests.append(_page(base, page + 1, listed[-1], began))
    return FollowResult(tuple(requests), end="all posts were counted" if is_last else "")


def _by_number(api: str, numbers: list[int], began: str) -> Request:
    mark = "&" if "?" in api else "?"
    told = ",".join(map(str, numbers))
    url = f"{api}{mark}include={told}&per_page={_PER_PAGE}&orderby=id&order=asc&count={began}"
    return Request(f"{url}&_embed=author,wp:term,wp:featuredmedia", BY_NUMBER, priority=2, context=told)


def asked_numbers(request: Request) -> list[int]:
    """Return the posts that a request asks for by number."""
    return [int(one) for one in request.context.split(",") if one]


def gone(request: Request, posts: Iterable[Any]) -> Iterator[Observation]:
    """Say of the posts that were asked for by number, and are not there, that they are gone."""
    there = {post["id"] for post in posts if isinstance(post, dict) and isinstance(post.get("id"), int)}
    for number in asked_numbers(request):
        if number not in there:
            name = post_name(request.url, number)
            yield Observation(name, None, names=(name,))


def learned_numbers(
    learned: Mapping[str, Any], there: Iterable[int], not_there: Iterable[int] = ()
) -> dict[str, list[int]]:
    """Return what changes of the numbers that are known; they are kept as the differences of each to the one before."""
    blocks: dict[str, set[int]] = {}
    there, not_there = set(there), set(not_there)
    for number in there | not_there:
        blocks.setdefault(_block(number), set()).add(number)
    changed = {}
    for name, numbers in blocks.items():
        before = learned.get(name, ())
        now = sorted((set(accumulate(before)) | (numbers & there)) - (numbers & not_there))
        spelled = [one - previous for previous, one in zip([0, *now], now, strict=False)]
        if spelled != list(before):
            changed[name] = spelled
    return changed


def _block(number: int) -> str:
    return f"numbers.{number // _BLOCK}"


def _between(learned: Mapping[str, Any], after: int, upto: int | None) -> Iterator[int]:
    """Yield the known numbers above one, up to another or to the end."""
    names = sorted((one for one in learned if one.startswith("numbers.")), key=lambda one: int(one[8:]))
    for name in names:
        first = int(name[8:]) * _BLOCK
        if first + _BLOCK <= after or (upto is not None and first > upto):
            continue
        numbers = list(accumulate(learned[name]))
        end = len(numbers) if upto is None else bisect_right(numbers, upto)
        yield from numbers[bisect_left(numbers, after + 1) : end]
