"""Read what a feed or a sitemap of news gives for its articles beside their addresses, and find a feed's next page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from windrow.caps import FEED_BYTES, FEED_ENTRIES, Excess
from windrow.contract import LeftOutCount, Request, count_excess
from windrow.errors import StepError
from windrow.formats import feed as entries
from windrow.formats.url import normalise
from windrow.formats.url_hints import GZIP, HintKind, inflate_gzip
from windrow.reasons import Reason

_PAGED = re.compile(r"[?&]paged=([0-9]{1,6})(?=&|$)")


def next_page(kind: str, request: Request, next_url: str) -> tuple[Request, ...]:
    """Return the request for the next page of a feed, with older articles; () if there is none.

    It is made again only if this page offers something new. A page that the feed does not name is a guess.
    """
    is_guess = next_url == _count_up(request.url)
    further_page = Request(next_url, f"{kind}.list", priority=1, only_if_new=True, is_guess=is_guess)
    return (further_page,) if next_url and next_url != request.url else ()


def _count_up(url: str) -> str:
    """Return the address of the next page of a feed of WordPress, by the parameter `paged`.

    >>> _count_up("https://a.example/feed/"), _count_up("https://a.example/feed/?paged=2&x=1")
    ('https://a.example/feed/?paged=2', 'https://a.example/feed/?paged=3&x=1')
    """
    if page := _PAGED.search(url):
        return f"{url[: page.start(1)]}{int(page[1]) + 1}{url[page.end(1) :]}"
    return f"{url}{'&' if '?' in url else '?'}paged=2"


class ListedDetails(NamedTuple):
    """What a list gives beside the addresses of its articles.

    `by_address` has the title, time, authors and keywords of each article, by its first entry. `repeated` has the
    address of each further entry that differs from the earlier ones at its address in its title or in the fragment of
    its link: it may be about another article, which cannot be requested. `next_url` is the address of the feed's next
    page, or "". `left_out` counts the bytes or entries whose details are left out.
    """

    by_address: dict[str, dict[str, Any]]
    repeated: list[str]
    next_url: str
    left_out: tuple[LeftOutCount, ...]


def read_details(body: bytes, url: str, kind: HintKind) -> ListedDetails:
    """Read the details in a feed or a sitemap of news, up to FEED_BYTES and FEED_ENTRIES."""
    listed: Sequence[entries.FeedEntry] = ()
    next_url, unread = "", 0
    excess: tuple[Excess, ...] = ()
    try:
        body = inflate_gzip(body)[0] if body.startswith(GZIP) else body
        if kind is HintKind.FEED or b"sitemap-news" in body:
            excess = FEED_BYTES.find_excess(len(body))
            body = body[: FEED_BYTES.number]
        if kind is HintKind.FEED:
            parsed = entries.read_feed(body)
            listed, unread = (parsed.entries, parsed.left_out) if parsed else ((), 0)
            next_url = normalise(parsed.next, url).url if parsed and parsed.next else ""
            if parsed and listed and not next_url and "wordpress.org" in parsed.generator.lower():
                next_url = _count_up(url)
        elif b"sitemap-news" in body:
            listed, unread = entries.read_news_sitemap(body)
    except StepError as error:
        reason = error.reason or Reason.NOT_VALID
        rule = f"what a list says about its articles cannot be read: {reason.meaning}"
        return ListedDetails({}, [], "", (*count_excess(excess, url), LeftOutCount(reason, rule, 1, url)))
    if len(listed) >= entries.MAX_ENTRIES and unread:
        excess = (*excess, Excess(FEED_ENTRIES, unread))
    by_address, repeated = _index_details(listed, url)
    return ListedDetails(by_address, repeated, next_url, count_excess(excess, url))


def _index_details(listed: Sequence[entries.FeedEntry], url: str) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Return the first two values of `ListedDetails`."""
    details: dict[str, dict[str, Any]] = {}
    seen: set[tuple[str, ...]] = set()
    repeated = []
    for entry in listed:
        address = normalise(entry.url, url).url if entry.url else ""
        if not address:
            continue
        identity = (address, entry.url.partition("#")[2], " ".join(entry.title.split()))
        if address in details and identity not in seen:
            repeated.append(address)
        seen.add(identity)
        entry_fields = {
            "title": entry.title, "published": entry.published[:64], "authors": entry.authors,
            "keywords": entry.categories,
        }  # fmt: skip
        details.setdefault(address, {name: value for name, value in entry_fields.items() if value})
    return details, repeated
