"""Find what a site offers, and hand its answers to what reads such a site."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from windrow.collections.news import feed, townnews, wordpress
from windrow.content.page import read as read_page
from windrow.contract import (
    CAPTURED,
    REQUEST,
    Answer,
    FollowResult,
    Observation,
    Observed,
    Request,
    Skip,
    Task,
    observed,
)
from windrow.formats import robots, url_hints
from windrow.formats.url import normalise, parts
from windrow.formats.url_hints import HintKind
from windrow.model import CdxLine, Finding, Level, Recorded, Source
from windrow.reasons import Reason

HOME = "auto.home"
KNOWN = "it is known"
"""What is said of a front page that leads to nothing, since what the site offers is known."""
GUESS, _ROBOTS_FILE = "page.guess", "page.robots"
_USUAL = (
    "sitemap-news.xml", "news-sitemap.xml", "sitemap_index.xml", "sitemap.xml", "feed/", "feed.xml", "rss.xml", "rss",
    "atom.xml", "feed.json",
)  # fmt: skip
"""Where sites mostly have what names their articles."""
_MOST_SITEMAPS = 10  # of robots.txt
_API = re.compile(r'<([^<>]+)>\s*;[^,<]*rel="?https://api\.w\.org/"?')
_API_LINK = re.compile(rb"""<link[^<>]*rel=["']?https://api\.w\.org/["']?[^<>]*>""", re.IGNORECASE)
_HREF = re.compile(rb"""href=["']?([^"'>\s]+)""", re.IGNORECASE)
_BLOX = re.compile(rb"(?i)tncms|bloximages|townnews")


class SiteReader(NamedTuple):
    """One kind of site: what it is asked first, what its answers lead to, and what is read of them."""

    begin: Callable[[Source, Mapping[str, Any]], tuple[Request, ...]]
    follow: Callable[[Source, Mapping[str, Any], Answer], FollowResult]
    read: Callable[[Task], Iterator[Observation | Skip]]


READERS = {
    "wordpress": SiteReader(wordpress.begin, wordpress.follow, wordpress.read),
    "townnews": SiteReader(townnews.begin, townnews.follow, townnews.read),
    "feed": SiteReader(partial(feed.begin, "feed"), feed.follow, feed.read),
    "page": SiteReader(partial(feed.begin, "page"), feed.follow, feed.read),
}


def kind_of(name: str) -> str:
    """Return the kind of site that a request is for; a page that another collection kept has no name."""
    return name.partition(".")[0] if name else "page"


def begin(source: Source, learned: Mapping[str, Any]) -> tuple[Request, ...]:
    """Ask for what is new; of a site that is not known yet, what it is."""
    if not source.site.scheme:
        return ()  # it takes only what others keep
    kind = source.options["kind"]
    if kind == "auto" or learned.get("closed"):
        kind = learned.get("kind", "")
    if not kind:
        return (Request(source.site.address(""), HOME, every=max(1, int(source.options["every"]))),)
    return READERS[kind].begin(source, learned)


def follow(source: Source, learned: Mapping[str, Any], answer: Answer) -> FollowResult:
    """Return what an answer leads to."""
    if answer.request.name == HOME:
        return _recognised(source, learned, answer)
    if answer.request.name in {GUESS, _ROBOTS_FILE}:
        return _guessed(source, learned, answer)
    return READERS[kind_of(answer.request.name)].follow(source, learned, answer)


def _recognised(source: Source, learned: Mapping[str, Any], answer: Answer) -> FollowResult:
    """Find out by its front page what a site offers, and begin with that; the page may itself name articles."""
    url = answer.request.url
    if answer.status != 200:
        skip = Reason.NOT_FOUND if answer.status == 404 else Reason.PERMISSION_DENIED
        finding = Finding("Refused", f"status {answer.status}", Level.WARN)
        return _guess(source, learned, answer, FollowResult(skip=skip, findings=(finding,)))
    found = {}
    if "kind" not in learned:
        found = _offered(answer.view.read(), answer.fields, url)
        answer.view.seek(0)
    known = {**learned, **found}
    kind = known["kind"]
    if url not in known.get("addresses", ()):
        return FollowResult(READERS[kind].begin(source, known) if found else (), (), found, end="" if found else KNOWN)
    result = feed.follow(source, known, answer._replace(request=answer.request._replace(name=f"{kind}.{feed.LIST}")))
    if kind == "page" and not result.requests and found:
        finding = Finding("NoArticles", "the front page names no article, feed or interface", Level.WARN)
        refused = FollowResult(skip=Reason.NOT_A_FEED, findings=(*result.findings, finding))
        return _guess(source, learned, answer, refused)
    return replace(result, learned={**result.learned, **found})


def _guess(source: Source, learned: Mapping[str, Any], answer: Answer, why: FollowResult) -> FollowResult:
    """Ask for the feeds and sitemaps that were found at usual addresses; where there are none, try all, once a day."""
    if answer.status == 429 or answer.status >= 500:  # a server in trouble: what it offers is told another time
        return why
    home, today = source.site.address("").rstrip("/"), answer.at.date().isoformat()
    if learned.get("guessed"):
        return replace(why, requests=tuple(Request(one, GUESS, when_named=True) for one in learned["guessed"]))
    if learned.get("guessed_on") == today:
        return why
    names = ((_ROBOTS_FILE, "robots.txt"), *((GUESS, one) for one in _USUAL))
    asked = tuple(Request(f"{home}/{path}", name, priority=2, when_named=True) for name, path in names)
    return replace(why, requests=asked, learned={**why.learned, "guessed_on": today})


def _guessed(source: Source, learned: Mapping[str, Any], answer: Answer) -> FollowResult:
    """Take what lies at a usual address where it is a feed or a sitemap: it is asked in each run from then on."""
    name, url = answer.request.name, answer.request.url
    body = answer.view.read()
    answer.view.seek(0)
    if answer.status == 200 and name == _ROBOTS_FILE:
        named = robots.parse(body, source.site.agent).sitemaps[:_MOST_SITEMAPS]
        asked = tuple(Request(one, GUESS, priority=2, when_named=True) for one in named)
        return FollowResult(asked, skip=None if named else Reason.NOT_A_FEED)
    known = [one for one in learned.get("guessed", ()) if one != url]
    if answer.status != 200 or url_hints.read(body, url).kind is HintKind.NONE:
        skip = Reason.NOT_A_FEED if answer.status == 200 else Reason.NOT_FOUND
        finding = Finding("Refused", f"status {answer.status}", Level.WARN)
        return FollowResult(
            skip=skip, findings=(finding,), learned={"guessed": known} if url in learned.get("guessed", ()) else {}
        )
    result = feed.follow(source, learned, answer._replace(request=answer.request._replace(name=f"feed.{feed.LIST}")))
    return replace(result, learned={**result.learned, "guessed": [*known, url]})


def _offered(body: bytes, fields: Mapping[str, str], url: str) -> dict[str, Any]:
    """Return what is learned of a site: its kind, and where that is asked.

    >>> _offered(b"<link rel=alternate type=application/rss+xml href=/rss>", {}, "https://a.example/")
    {'kind': 'feed', 'addresses': ['https://a.example/rss']}
    """
    link = _API_LINK.search(body)
    href = _HREF.search(link[0]) if link else None
    told = _API.search(fields.get("link", ""))
    api = told[1] if told else href[1].decode("utf-8", "replace") if href else ""
    if api and (root := normalise(api.replace("&amp;", "&"), url).url):
        return {"kind": "wordpress", "api": f"{root.rstrip('/')}/wp/v2/posts"}
    if _BLOX.search(body):
        return {"kind": "townnews"}
    if url_hints.read(body, url).kind is not HintKind.NONE:
        return {"kind": "feed", "addresses": [url]}
    feeds = read_page(body, url, fields.get("content-type", "")).head.feeds
    addresses = [one for one in (normalise(each.href, url).url for each in feeds) if one and "comments" not in one]
    if addresses:
        return {"kind": "feed", "addresses": addresses[:10]}
    return {"kind": "page", "addresses": [url]}


def read(task: Task) -> list[Observation | Skip]:
    """Return the articles of an answer, and why there are none of what else it lists."""
    name = task.request.name if task.request else ""
    return [] if name == HOME else list(READERS[kind_of(name)].read(task))


def tell(recorded: Recorded, result: Any) -> Observed | None:
    """Join a visit with what was read of it: an article whose page is not there any more is gone.

    An address that is no article's says nothing: there is no record that goes by its name.
    """
    attempt = recorded.attempt
    if attempt.kind in {REQUEST, CAPTURED} and attempt.status in GONE:
        result = Observation(attempt.url, None, names=(attempt.url,))
    return observed(recorded, result)


def origins(source: Source) -> tuple[str, ...]:
    """Return the origins at which a site's articles lie: with `www.` and without, encrypted or not, and those told."""
    home = source.site.address("") if source.site.scheme else ""
    found = [parts(normalise(one).url).origin for one in source.options["origins"] if normalise(one).url]
    resolved = normalise(home).url
    host = parts(resolved).host if resolved else ""
    if source.site.port is None and "." in host and not host.replace(".", "").isdigit():
        bare = host.removeprefix("www.")
        found += [f"{scheme}://{name}" for scheme in ("https", "http") for name in (bare, f"www.{bare}")]
    return tuple(dict.fromkeys(found))


GONE = frozenset({404, 410})
"""What a site answers where there is no such page any more."""

_NO_PAGE = Skip(Reason.NOT_WANTED, message="no page of HTML")
_NO_ANSWER = Skip(Reason.NOT_WANTED, message="no answer with a document")


def select(source: Source, options: Mapping[str, Any]) -> Callable[[CdxLine], Skip | None]:  # noqa: ARG001 its shape
    """Return what chooses among the pages that another collection kept: any may be an article, or have been one."""
    return _page


def _page(line: CdxLine) -> Skip | None:
    if line.status in GONE:
        return None
    if line.status not in {200, 304}:
        return _NO_ANSWER
    return None if line.mime in {"text/html", "application/xhtml+xml"} else _NO_PAGE
