"""Detect the kind of a site, and call the functions for it. `learned` is what the ledger remembers about a source."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from windrow.caps import FRONT_PAGE_FEEDS, ROBOTS_BYTES, ROBOTS_SITEMAPS
from windrow.collections.news import feed, standard, townnews, wordpress
from windrow.collections.news.article import HTML_TYPES
from windrow.content.page import read_page
from windrow.contract import (
    CAPTURED,
    REPLACED_RULE,
    REQUEST,
    Answer,
    AttemptObservations,
    FollowResult,
    LeftOutCount,
    Observation,
    Request,
    Skip,
    Task,
    count_excess,
    observed,
)
from windrow.formats import robots, url_hints
from windrow.formats.http import read_media_type
from windrow.formats.url import normalise, parts
from windrow.formats.url_hints import HintKind
from windrow.model import CdxLine, Finding, Level, RecordedAttempt, Source
from windrow.reasons import Reason, reason_of_status

HOME = "auto.home"  # the name of the request for a front page
NO_REQUESTS_ENDING = "it is known"
"""The `end` of the result for a front page that leads to no requests, because the kind of the site is known."""
_GUESS, _ROBOTS_FILE = "page.guess", "page.robots"  # names of requests
_USUAL_PATHS = (
    "sitemap-news.xml", "news-sitemap.xml", "sitemap_index.xml", "sitemap.xml", "feed/", "feed.xml", "rss.xml", "rss",
    "atom.xml", "feed.json",
)  # fmt: skip
"""Paths at which many sites have a feed or a sitemap."""
_API_HEADER = re.compile(r'<([^<>]+)>\s*;[^,<]*rel="?https://api\.w\.org/"?')
_API_LINK = re.compile(rb"""<link[^<>]*rel=["']?https://api\.w\.org/["']?[^<>]*>""", re.IGNORECASE)
_HREF = re.compile(rb"""href=["']?([^"'>\s]+)""", re.IGNORECASE)
_BLOX_MARK = re.compile(rb"(?i)tncms|bloximages")


class SiteKind(NamedTuple):
    """The functions for one kind of site.

    `begin` returns the first requests of a run, `follow` returns what a response leads to, and `read` yields
    observations of the articles in a response, and skips.
    """

    begin: Callable[[Source, Mapping[str, Any]], tuple[Request, ...]]
    follow: Callable[[Source, Mapping[str, Any], Answer], FollowResult]
    read: Callable[[Task], Iterator[Observation | Skip]]


SITE_KINDS = {
    "wordpress": SiteKind(wordpress.begin, wordpress.follow, wordpress.read),
    "townnews": SiteKind(townnews.begin, townnews.follow, townnews.read),
    "feed": SiteKind(partial(feed.begin, "feed"), feed.follow, feed.read),
    "page": SiteKind(partial(feed.begin, "page"), feed.follow, feed.read),
}


def kind_of(name: str) -> str:
    """Return the kind of site in a request's name; "page" for captures of other collections, which have no name."""
    return name.partition(".")[0] if name else "page"


def begin(source: Source, learned: Mapping[str, Any]) -> tuple[Request, ...]:
    """Return the first requests of a run: those for the site's kind or, if that is unknown, one for the front page.

    A source without an address has no requests.
    """
    if not source.site.scheme:
        return ()  # the source only has captures of other collections
    kind = source.options["kind"]
    if learned.get("closed"):
        return (*SITE_KINDS["feed"].begin(source, learned), wordpress.request_closed_api(source, learned))
    if kind == "auto":
        kind = learned.get("kind", "")
    if not kind:
        return (Request(source.site.address(""), HOME, every=max(1, int(source.options["every"]))),)
    # A page has named these addresses: they must not make windrow request other hosts.
    api, addresses = learned.get("api", ""), [url for url in learned.get("addresses", ()) if _is_own(source, url)]
    own_api = api if "://" not in api or _is_own(source, api) else ""
    return SITE_KINDS[kind].begin(source, {**learned, "addresses": addresses, "api": own_api})


def _is_own(source: Source, url: str) -> bool:
    return parts(url).origin in {parts(normalise(source.site.address("")).url).origin, *origins(source)}


def follow(source: Source, learned: Mapping[str, Any], answer: Answer) -> FollowResult:
    """Return the requests and offers that follow from a response, by the functions for the kind of site."""
    if answer.request.name == HOME:
        return _recognize_site(source, learned, answer)
    if answer.request.name in {_GUESS, _ROBOTS_FILE}:
        return _follow_guess(source, learned, answer)
    if answer.request.name == townnews.REMOVED:
        is_there = answer.status == 200
        return FollowResult(
            skip=None if is_there else reason_of_status(answer.status),
            end="the search does not list the page, which is there" if is_there else "",
        )
    is_repeated_list = answer.request.name == f"feed.{feed.LIST}" and answer.request.every is not None
    if is_repeated_list and learned.get("closed") is False:
        return FollowResult(end="the API is open again")
    followed = SITE_KINDS[kind_of(answer.request.name)].follow(source, learned, answer)
    if is_repeated_list and learned.get("closed"):
        api_url = wordpress.request_closed_api(source, learned).url
        closed = LeftOutCount(Reason.PERMISSION_DENIED, REPLACED_RULE, 1, api_url)
        return replace(followed, left_out=(*followed.left_out, closed))
    return followed


def _recognize_site(source: Source, learned: Mapping[str, Any], answer: Answer) -> FollowResult:
    """Detect a site's kind from its front page; request its lists or, if the page is itself a list, what it lists.

    If the kind is known already and the page is not a list, nothing is requested. If the page cannot be used, or asks
    for consent or proof instead, it is refused, and feeds and sitemaps are requested at usual addresses. A site whose
    front page is its only list may name a feed or an API later.
    """
    url = answer.request.url
    if answer.status != 200:
        finding = Finding("Refused", f"the status is {answer.status}", Level.WARN)
        refused = FollowResult(skip=reason_of_status(answer.status), findings=(finding,))
        return _request_guesses(source, learned, answer, refused)
    detected, others = _detect_own_kind(source, learned, answer)
    excess = FRONT_PAGE_FEEDS.find_excess(len(detected.get("addresses", ())))
    detected |= {"addresses": detected["addresses"][: FRONT_PAGE_FEEDS.number]} if excess else {}
    learned_now = {**learned, **detected}
    kind = learned_now["kind"]
    if url not in learned_now.get("addresses", ()):
        requests = SITE_KINDS[kind].begin(source, learned_now) if detected else ()
        if detected and kind == "feed":  # a feed names the newest articles, the sitemaps all
            requests += (_guess_request(source, _ROBOTS_FILE, "robots.txt"),)
        end = "" if detected else NO_REQUESTS_ENDING
        return FollowResult(requests, (), detected, end=end, left_out=count_excess(excess, url))
    list_answer = answer._replace(request=answer.request._replace(name=f"{kind}.{feed.LIST}"))
    listing = feed.follow(source, learned_now, list_answer)
    if listing.skip not in {None, Reason.NOT_A_FEED}:  # a page that is sent in place of the front page
        return _request_guesses(source, learned, answer, listing)
    if kind == "page" and not listing.requests and detected:
        finding = Finding("NoArticles", "the front page has no link to an article, a feed or an API", Level.WARN)
        other_findings = [earlier for earlier in listing.findings if earlier.kind != "NoArticles"]
        refused = replace(listing, skip=Reason.NOT_A_FEED, findings=(*other_findings, finding))
        return _request_guesses(source, learned, answer, refused)
    return replace(listing, requests=(*listing.requests, *others), learned={**listing.learned, **detected})


def _detect_own_kind(
    source: Source, learned: Mapping[str, Any], answer: Answer
) -> tuple[dict[str, Any], tuple[Request, ...]]:
    """Return what a front page shows, as `_detect_kind` does, or {} if it shows what is known already.

    A site whose feeds are all at other origins is read by its front page; the second value has the requests for these
    feeds, which are left out and counted.
    """
    addresses = learned.get("addresses", ())
    is_list_unknown = learned.get("kind") == "feed" and not any(_is_own(source, address) for address in addresses)
    if learned.get("closed") or (learned.get("kind", "page") != "page" and not is_list_unknown):
        return {}, ()
    detected: dict[str, Any] = {"addresses": (), **_detect_kind(answer.view.read(), answer.fields, answer.request.url)}
    answer.view.seek(0)
    others: tuple[Request, ...] = ()
    if detected["kind"] == "feed" and not any(_is_own(source, address) for address in detected["addresses"]):
        others = tuple(Request(address, f"feed.{feed.LIST}", priority=2) for address in detected["addresses"])
        detected = {"kind": "page", "addresses": [answer.request.url]}
    return ({} if detected["kind"] == learned.get("kind") else detected), others


def _request_guesses(source: Source, learned: Mapping[str, Any], answer: Answer, failure: FollowResult) -> FollowResult:
    """Return `failure`, the result for a front page, with added requests for feeds and sitemaps at usual addresses.

    Lists that earlier guesses found are requested. If there are none, robots.txt and _USUAL_PATHS are requested, at
    most once a day. A server that may be overloaded gets no requests.
    """
    if feed.is_overloaded(answer.status):  # try again in a later run
        return failure
    today = answer.at.date().isoformat()
    if learned.get("guessed"):
        return replace(failure, requests=tuple(Request(url, _GUESS, when_named=True) for url in learned["guessed"]))
    if learned.get("guessed_on") == today:
        return failure
    names_and_paths = ((_ROBOTS_FILE, "robots.txt"), *((_GUESS, path) for path in _USUAL_PATHS))
    requests = tuple(_guess_request(source, name, path) for name, path in names_and_paths)
    return replace(failure, requests=requests, learned={**failure.learned, "guessed_on": today})


def _guess_request(source: Source, name: str, path: str) -> Request:
    return Request(f"{source.site.address('').rstrip('/')}/{path}", name, priority=2, when_named=True, is_guess=True)


def _follow_guess(source: Source, learned: Mapping[str, Any], answer: Answer) -> FollowResult:
    """Request the articles of a guessed list and remember its address, or request the sitemaps in a robots.txt.

    Any other response is refused, except that a site with a feed need not have a robots.txt. If it shows that a
    remembered list no longer exists, the list's address is forgotten.
    """
    name, url = answer.request.name, answer.request.url
    body = answer.view.read()
    answer.view.seek(0)
    has_feed = bool(learned.get("addresses"))
    if name == _ROBOTS_FILE and has_feed and answer.status != 200:
        return FollowResult(end="no robots.txt")
    if answer.status == 200 and name == _ROBOTS_FILE:
        rules = robots.parse(body, source.site.agent)
        requests = tuple(Request(address, _GUESS, priority=2, when_named=True) for address in rules.sitemaps)
        excess = (
            *ROBOTS_BYTES.find_excess(len(body)),
            *ROBOTS_SITEMAPS.find_excess(len(rules.sitemaps) + rules.sitemaps_left_out),
        )
        skip = None if requests or has_feed else Reason.NOT_A_FEED
        return FollowResult(requests, skip=skip, left_out=count_excess(excess, url))
    other_guesses = [guessed for guessed in learned.get("guessed", ()) if guessed != url]
    if answer.status != 200 or url_hints.read_hints(body, url).kind is HintKind.NONE:
        is_read = answer.status == 200
        skip = Reason.NOT_A_FEED if is_read else reason_of_status(answer.status)
        message = "the document is neither a feed nor a sitemap" if is_read else f"the status is {answer.status}"
        is_gone = is_read or answer.status in GONE_STATUSES
        learned_now = {"guessed": other_guesses} if is_gone and url in learned.get("guessed", ()) else {}
        return FollowResult(skip=skip, findings=(Finding("Refused", message, Level.WARN),), learned=learned_now)
    listing = feed.follow(source, learned, answer._replace(request=answer.request._replace(name=f"feed.{feed.LIST}")))
    return replace(listing, learned={**listing.learned, "guessed": [*other_guesses, url]})


def _detect_kind(body: bytes, fields: Mapping[str, str], url: str) -> dict[str, Any]:
    """Return what a front page shows: the `kind` of the site, and its `api` or the `addresses` of its lists, if any.

    >>> _detect_kind(b"<link rel=alternate type=application/rss+xml href=/rss>", {}, "https://a.example/")
    {'kind': 'feed', 'addresses': ['https://a.example/rss']}
    >>> links = b"<base href=/blog/><link rel=alternate type=application/rss+xml href="
    >>> _detect_kind(links + b"rss>" + links + b"comments/rss>", {}, "https://comments.example/")
    {'kind': 'feed', 'addresses': ['https://comments.example/blog/rss']}
    """
    link = _API_LINK.search(body)
    href = _HREF.search(link[0]) if link else None
    header = _API_HEADER.search(fields.get("link", ""))
    api_url = header[1] if header else href[1].decode("utf-8", "replace") if href else ""
    if api_url and (api_root := normalise(api_url.replace("&amp;", "&"), url).url):
        return {"kind": "wordpress", "api": f"{api_root.rstrip('/')}/wp/v2/posts"}
    if _BLOX_MARK.search(body):
        return {"kind": "townnews"}
    if url_hints.read_hints(body, url).kind is not HintKind.NONE:
        return {"kind": "feed", "addresses": [url]}
    head = read_page(body, url, fields.get("content-type", "")).head
    base = normalise(head.base, url).url if head.base else url
    addresses = [normalise(feed_link.href, base).url for feed_link in head.feeds]
    addresses = [address for address in addresses if address and "comments" not in urlsplit(address).path]
    if addresses:
        return {"kind": "feed", "addresses": addresses}
    return {"kind": "page", "addresses": [url]}


def read(task: Task) -> list[Observation | Skip]:
    """Return an observation for each article in a response and each post that is gone, and a skip for any other entry.

    The result is empty for the response to a request for a list of addresses, and for a page that only redirects.
    """
    name = task.request.name if task.request else ""
    return [] if name == HOME else list(SITE_KINDS[kind_of(name)].read(task))


def article_entry(recorded: RecordedAttempt, result: Any) -> AttemptObservations | None:
    """Return the observations of an attempt: those in `result`, from `read`, or one without a value for a gone article.

    An article is gone if the status is in GONE_STATUSES. If there was no article at the address, or it was seen at
    another one since, this changes nothing. Return None if the attempt was not read, or reading failed.
    """
    attempt = recorded.attempt
    if attempt.kind in {REQUEST, CAPTURED} and attempt.status in GONE_STATUSES:
        own_alias = standard.alias(attempt.url)
        result = Observation(attempt.url, None, url=attempt.url, names=(attempt.url,), aliases=(own_alias,))
    return observed(recorded, result)


def origins(source: Source) -> tuple[str, ...]:
    """Return the origins at which a source may have articles.

    These are the configured origins and the site's host name with and without `www.`, over http and https. The latter
    are left out if the site has a port, an IP address, or a name without a dot.
    """
    configured = [normalise(origin).url for origin in source.options["origins"]]
    site_origins = [parts(url).origin for url in configured if url]
    home_url = normalise(source.site.address("") if source.site.scheme else "").url
    host_name = parts(home_url).host if home_url else ""
    if source.site.port is None and "." in host_name and not host_name.replace(".", "").isdigit():
        bare_name = host_name.removeprefix("www.")
        host_names = (bare_name, f"www.{bare_name}")
        site_origins += [f"{scheme}://{name}" for scheme in ("https", "http") for name in host_names]
    return tuple(dict.fromkeys(site_origins))


GONE_STATUSES = frozenset({404, 410})
"""The statuses of a page that no longer exists."""

_NOT_HTML = Skip(Reason.NOT_WANTED, message="its media type is not HTML")
_WRONG_STATUS = Skip(Reason.NOT_WANTED, message="its status is not 200, 304, 404 or 410")


def select(source: Source, options: Mapping[str, Any]) -> Callable[[CdxLine], Skip | None]:  # noqa: ARG001 the signature of `Captures`
    """Return the rule for captures: it selects HTML with status 200 or 304, and all captures with status 404 or 410.

    The media type of a revisit, and of a capture without one, is checked when the capture is read.
    """
    return _check_capture


def _check_capture(line: CdxLine) -> Skip | None:
    if line.status in GONE_STATUSES:
        return None
    media_type = read_media_type({"content-type": line.mime})
    is_revisit = media_type == "warc/revisit"
    if line.status not in {200, 304} and not (is_revisit and line.status is None):
        return _WRONG_STATUS
    return None if is_revisit or media_type in HTML_TYPES else _NOT_HTML
