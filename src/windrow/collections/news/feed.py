"""Read feeds, sitemaps, section pages and pages of articles; parse JSON. `learned` is as in `FollowResult`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html import unescape
from itertools import islice
from typing import Any, NamedTuple

from windrow.caps import REMEMBERED_ARTICLES, SECTION_LINKS, SITEMAP_ENTRIES, Excess
from windrow.collections.news import article
from windrow.collections.news.listed_details import next_page, read_details
from windrow.collections.news.section_page import find_article_links, read_section, visible_text
from windrow.collections.news.wanted_paths import compare_choice, count_refusals, find_refusal
from windrow.content.substitute import recognise_substitute
from windrow.contract import (
    DRIFT,
    LONGEST_PAUSE,
    Answer,
    FollowResult,
    LeftOutCount,
    Observation,
    Offering,
    Request,
    Skip,
    Task,
    count_excess,
)
from windrow.digest import hash64
from windrow.formats import url_hints
from windrow.formats.json_page import load_json
from windrow.formats.moment import read_page_time
from windrow.formats.text import counted, remove_tags
from windrow.formats.url import is_front_page
from windrow.formats.url_hints import HintKind, UrlHints
from windrow.model import Finding, Level, Source
from windrow.reasons import Reason, reason_of_status

_INVISIBLE = re.compile(r"(?is)<(script|style|template)\b[^<>]*+>.*?(?:</\1\s*+>|\Z)|<!--.*?(?:-->|\Z)")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


class RefusedResponse(NamedTuple):
    """Why a response cannot be used; `code` is the error code of the API, or empty if the response has none."""

    reason: Reason
    message: str
    code: str = ""


def parse_response(status: int, fields: Mapping[str, str], body: bytes) -> Any:
    """Return the parsed JSON of a response, without WordPress's envelope, or a `RefusedResponse` if it cannot be used.

    >>> parse_response(200, {}, b"<html>Are you a robot?").reason
    <Reason.BOT_WALL: 'bot_wall'>
    >>> parse_response(200, {}, b'{"body": {"code": "rest_no_route"}, "status": 404, "headers": {}}').message
    'the status is 404: rest_no_route'
    """
    start = body[:2048].removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith(b"<") or (not start.startswith((b"{", b"[")) and "html" in fields.get("content-type", "")):
        reason = reason_of_status(status) if is_overloaded(status) else Reason.BOT_WALL
        return RefusedResponse(reason, f"the response (status {status}) is HTML instead of JSON")
    if not start:
        return RefusedResponse(reason_of_status(status, Reason.TRUNCATED), f"the response (status {status}) is empty")
    decoded = _parse_json(body)
    is_envelope = isinstance(decoded, dict) and {"body", "status", "headers"} <= decoded.keys()
    if is_envelope and isinstance(decoded["status"], int):
        status, decoded = decoded["status"], decoded["body"]
    if status != 200:
        code = str(decoded.get("code", ""))[:100] if isinstance(decoded, dict) else ""
        reason = reason_of_status(status)
        return RefusedResponse(reason, f"the status is {status}: {code}".rstrip(": "), code)
    return decoded


def is_overloaded(status: int) -> bool:
    """Return whether a server may be overloaded or closed for maintenance: it may answer otherwise in a later run."""
    return status == 429 or status >= 500


def _parse_json(body: bytes) -> Any:
    try:
        decoded = load_json(body.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return RefusedResponse(Reason.WRONG_ENCODING, "the response is not UTF-8")
    except (ValueError, RecursionError) as error:
        return RefusedResponse(Reason.NOT_WELL_FORMED, f"the response is not JSON: {error}"[:300])
    if _SURROGATE.search(body):  # half of a surrogate pair cannot be encoded
        return json.loads(json.dumps(decoded, ensure_ascii=False).encode("utf-8", "replace"))
    return decoded


def strip_html(html: Any) -> str:
    """Return the text of HTML without tags and scripts, with entities decoded once; empty if `html` is not a text.

    >>> strip_html("<i>Crabs</i> &#038; &#8220;quotes&#8221;<script>x()</script> &amp;lt;")
    'Crabs & \u201cquotes\u201d &lt;'
    """
    text = html if isinstance(html, str) else ""
    if "<" in text:
        text = remove_tags(_INVISIBLE.sub(" ", text))
    return " ".join(unescape(text).encode("utf-8", "replace").decode().split())


def texts_in(nested: Any) -> list[str]:
    """Return the non-empty texts in a list or in the values of an object, or a single text as a list."""
    if isinstance(nested, str):
        return [nested] if nested else []
    members = nested.values() if isinstance(nested, dict) else nested if isinstance(nested, list) else ()
    return [text for text in members if isinstance(text, str) and text]


_ZONE_DIFFERENCE = timedelta(days=1)  # the most by which the same time has different days
UNDATED_AGE = timedelta(days=30)
"""The age that an article without a date in its list is taken to have, when its next request is planned."""

LIST, ARTICLE = "list", "article"  # types of documents; a request's name is KIND.TYPE
_MAX_REMEMBERED = 1_000  # newest articles of a list; only their changes and removals are noticed
_MEMORY_PREFIX = "named."  # of the key in `learned` for a list: its value has times of change by address
_MIN_USUAL = 10  # a list that named this many things is not expected to be empty later
_MOST_PREFIX = "most."  # of the key for how many articles a list named before it became short
_MAX_RECENT_SITEMAPS = 100  # the newest sitemaps of an index that are requested every time


def begin(kind: str, source: Source, learned: Mapping[str, Any]) -> tuple[Request, ...]:
    """Return the requests for the documents that list articles; `kind` is the kind of the site, feed or page."""
    addresses = tuple(source.options["seeds"])
    if not addresses and learned.get("addresses"):
        addresses = (*learned["addresses"], *learned.get("guessed", ()))
    if not addresses:
        addresses = ("feed/",) if learned.get("closed") else ("",)  # closed: the site refuses its API
    home_url = source.site.address("").rstrip("/")
    every = max(1, int(source.options["every"]))
    addresses = tuple(f"{home_url}/{path.lstrip('/')}" if path and "://" not in path else path for path in addresses)
    urls = (address or source.site.address("") for address in addresses)
    return tuple(Request(url, f"{kind}.{LIST}", every=every, priority=2) for url in urls)


def follow(source: Source, learned: Mapping[str, Any], answer: Answer) -> FollowResult:
    """Return the requests and offers that follow from a response, by the type of its document.

    A list leads to requests for its new, changed and removed articles, and an index to requests for its sitemaps. The
    page of an article is offered; if it only redirects, its target is requested, unless that is a front page. Any other
    document or status is refused, with a finding. A list that had articles before, and is empty or refused now, gives a
    finding of drift.
    """
    document_type = answer.request.name.partition(".")[2]
    url = answer.request.url
    earlier_count = _count_earlier(learned, url)
    if answer.status != 200:
        finding = Finding("Refused", f"the status is {answer.status}", Level.WARN)
        drift = find_drift(source, earlier_count, "article")
        return FollowResult(skip=reason_of_status(answer.status), findings=(finding, *drift))
    if document_type == ARTICLE:
        body = answer.view.read(article.MAX_STUB_SIZE + 1)
        target = article.find_refresh(body, url, answer.fields.get("content-type", ""))
        requests = (answer.request._replace(url=target),) if target and not is_front_page(target) else ()
        return FollowResult(requests, (Offering(url),))
    body = answer.view.read()
    hints = url_hints.read_hints(body, url)
    if hints.kind is HintKind.INDEX:
        listing = _sitemap_requests(source, learned, answer.request, hints)
    elif hints.kind is HintKind.NONE:
        listing = _follow_section(source, learned, answer, body, hints)
        drift = find_drift(source, earlier_count, "article") if listing.skip else ()
        listing = replace(listing, findings=(*listing.findings, *drift))
    else:
        listing = _follow_list(source, learned, answer, body, hints)
    if listing.skip or not listing.offers:
        return listing
    is_other, choice = compare_choice(learned, f"choice.{hash64(url):x}", source.options)
    # What other settings left out, of this list or of the pages that it names, may be wanted now.
    if is_other:
        once_more = (request._replace(only_if_new=False, when_named=True) for request in listing.requests)
        listing = replace(listing, requests=tuple(once_more))
    return replace(listing, learned={**listing.learned, **choice})


def _follow_list(
    source: Source, learned: Mapping[str, Any], answer: Answer, body: bytes, hints: UrlHints
) -> FollowResult:
    """Request the articles of a feed or sitemap that are wanted, and the next page of a feed."""
    kind, url = answer.request.name.partition(".")[0], answer.request.url
    earlier_count = _count_earlier(learned, url)
    times = _times_newest_first(hints)
    if not times and (drift := find_drift(source, earlier_count, "article")):
        return FollowResult(findings=drift, left_out=tuple(_list_losses(hints, url)))
    if not times and answer.request.every is not None and not any(_list_losses(hints, url)):
        empty = LeftOutCount(Reason.NOT_WANTED, "a list that names no article", 1, url)
        return FollowResult(end="no article named", left_out=(empty,))
    refusals = {address: _find_list_refusal(address, url, source) for address in times}
    articles = {address: time for address, time in times.items() if not refusals[address]}
    details, repeated, next_url, losses = read_details(body, url, hints.kind)
    wanted = {
        address: time
        for address, time in articles.items()
        if _is_in_range(source, time, details.get(address, {}).get("published", ""))
    }
    listing = _article_requests(kind, learned, url, wanted, details, is_whole=hints.reason is None)
    has_older = any(not _is_before(source.options["since"], time) for time in times.values())
    next_pages = next_page(kind, answer.request, next_url if has_older else "")
    repeated_requests = _repeat(listing.requests, source, _ages(wanted, details, answer.at))
    # A page with nothing but articles that are left out is new, too: the pages after it may have others.
    listing = replace(listing, requests=(*repeated_requests, *next_pages), offers=_offer(times))
    unwanted = [address for address in articles if address not in wanted]
    left_out = (
        *count_refusals(refusals),
        *_count_left_out(Reason.NOT_WANTED, "it is before `since` or after `until`", unwanted),
        *_count_left_out(Reason.LISTED_TWICE, "an entry of a list has the address of another entry", repeated),
    )
    return replace(listing, left_out=(*left_out, *losses, *_list_losses(hints, url)))


def _find_list_refusal(address: str, list_url: str, source: Source) -> str:
    """Return the rule by which an entry of a list is no article that is requested, or ""."""
    # The engine requests each address once, and has requested this one as a list.
    return "it is the address of the list itself" if address == list_url else find_refusal(address, source.options)


def _follow_section(
    source: Source, learned: Mapping[str, Any], answer: Answer, body: bytes, hints: UrlHints
) -> FollowResult:
    """Request at most `max_links` articles to which a section page links; refuse a document without such links."""
    url = answer.request.url
    page = read_section(body, url, answer.fields.get("content-type", ""))
    if page and (reason := recognise_substitute((page.head.title, *page.outline.blocks.text[:1]), visible_text(page))):
        substitute = Finding("Refused", f"the page is titled {page.head.title[:200]!r}", Level.WARN)
        return FollowResult(skip=reason, findings=(substitute,))
    links, left_out = find_article_links(page, url, source.options) if page else ((), ())
    if not links:
        message = f"the document is neither a feed nor a page of links: {hints.reason or Reason.UNSUPPORTED}"
        no_links = Finding("NoArticles", "the page has no link to an article", Level.WARN)
        return FollowResult(
            skip=Reason.NOT_A_FEED,
            findings=(no_links if page else Finding("NoFeed", message, Level.WARN),),
            left_out=left_out,
        )
    cap = SECTION_LINKS._replace(number=source.options.get("max_links", SECTION_LINKS.number))
    kind = answer.request.name.partition(".")[0]
    listing = _article_requests(kind, learned, url, dict.fromkeys(links[: cap.number], ""), {})
    listing = replace(listing, requests=_repeat(listing.requests, source, {}))
    return replace(listing, left_out=(*left_out, *count_excess(cap.find_excess(len(links)), url)))


def find_drift(source: Source, earlier_count: int, thing: str, count: int = 0) -> tuple[Finding, ...]:
    """Return a finding for a list that names `count` things, less than a quarter of the `earlier_count` named before.

    Return no finding if `earlier_count` is below 10, because a short list may become empty. Nor if the source has
    `usual_since`: it is not known when the things were named, and the engine compares days.

    >>> from windrow.model import Site
    >>> source = Source("a", "news", Site(""))
    >>> find_drift(source, 40, "article")[0].message, find_drift(source, 3, "article")
    ('it lists no article; before, it listed at least 40', ())
    >>> find_drift(source, 40, "article", 10), find_drift(replace(source, usual_since="2026-11-27"), 40, "article")
    ((), ())
    """
    if source.usual_since:
        return ()
    now = counted(count, thing) if count else f"no {thing}"
    message = f"it lists {now}; before, it listed at least {earlier_count:,}"
    return (Finding(DRIFT, message, Level.WARN),) if earlier_count >= max(_MIN_USUAL, 4 * count + 1) else ()


def _list_key(url: str) -> str:
    return f"{_MEMORY_PREFIX}{hash64(url):x}"


def _count_earlier(learned: Mapping[str, Any], url: str) -> int:
    """Return how many articles the list at `url` named before."""
    return max(len(learned.get(_list_key(url), ())), int(learned.get(f"{_MOST_PREFIX}{_list_key(url)}", 0)))


def _times_newest_first(hints: UrlHints) -> dict[str, str]:
    """Return the time of each entry's last change, by address, newest first.

    Times are in ISO 8601. Unknown times are empty, and are last.
    """
    newest_first = sorted(hints.entries, key=lambda entry: str(entry.modified or ""), reverse=True)
    return {entry.url: entry.modified.isoformat() if entry.modified else "" for entry in newest_first}


def _count_left_out(reason: Reason, rule: str, addresses: Sequence[str]) -> tuple[LeftOutCount, ...]:
    return (LeftOutCount(reason, rule, len(addresses), addresses[0]),) if addresses else ()


def _list_losses(hints: UrlHints, url: str) -> Iterator[LeftOutCount]:
    """Yield, for each rule, how many entries of a list, or their times, were left out; 1 if the number is not known."""
    if hints.left_out:
        yield from count_excess([Excess(SITEMAP_ENTRIES, hints.left_out)], url)
    elif hints.reason is not None:
        yield LeftOutCount(hints.reason, f"a list is read only in part: {hints.reason.meaning}", 1, url)
    if hints.unread_times:
        rule = "a time of change in a list is not understood, so it tells no change"
        yield LeftOutCount(Reason.BAD_DATE, rule, hints.unread_times, url)
    if hints.refused:
        yield LeftOutCount(Reason.BAD_ADDRESS, "an entry of a list has no valid web address", hints.refused, url)


def _sitemap_requests(source: Source, learned: Mapping[str, Any], request: Request, hints: UrlHints) -> FollowResult:
    """Request the sitemaps of an index, and remember their times of change.

    The newest ones, and sitemaps without a time, are requested as often as the index itself. Each older one is
    requested once, and again when its time of change in the index differs from the remembered one.
    """
    kind, list_key = request.name.partition(".")[0], f"sitemaps.{hash64(request.url):x}"
    known_times: Mapping[str, str] = learned.get(list_key, {})
    times = _times_newest_first(hints)
    if not times and (drift := find_drift(source, len(known_times), "sitemap")):
        return FollowResult(findings=drift, left_out=tuple(_list_losses(hints, request.url)))
    requests = []
    for position, (address, modified) in enumerate(times.items()):
        if position < _MAX_RECENT_SITEMAPS or not modified:
            requests.append(Request(address, f"{kind}.{LIST}", every=request.every, priority=1))
        else:
            is_changed = known_times.get(address, modified) != modified
            requests.append(Request(address, f"{kind}.{LIST}", priority=1, only_if_new=is_changed))
    return FollowResult(
        tuple(requests),
        _offer(times),
        {list_key: times} if times != known_times else {},
        end=f"{counted(len(times), 'sitemap')} named",
        left_out=tuple(_list_losses(hints, request.url)),
    )


def _article_requests(
    kind: str, learned: Mapping[str, Any], url: str, modified_by_url: Mapping[str, str],
    details: Mapping[str, Mapping[str, Any]], *, is_whole: bool = True,
) -> FollowResult:  # fmt: skip
    """Request the articles of a list, in the order of `modified_by_url`, and remember when they changed.

    An article is requested again if its time differs from the remembered one, or if the list no longer names it but
    still names an older one. A list that is not whole removes nothing. `url` is the address of the list. `details` has
    titles and dates by address, for `read`.
    """
    list_key = _list_key(url)
    known_times: Mapping[str, str] = learned.get(list_key, {})
    remembered = modified_by_url if is_whole else {**modified_by_url, **known_times, **modified_by_url}
    times = dict(islice(remembered.items(), _MAX_REMEMBERED))
    # If more articles are listed than remembered, one that is among the newest now may be there because it changed. A
    # list that was forgotten as a whole has an empty value.
    has_forgotten = len(known_times) >= _MAX_REMEMBERED or (list_key in learned and not known_times)
    requests = []
    for address, modified in modified_by_url.items():
        former = known_times.get(address, "" if has_forgotten and address in times else modified)
        context = json.dumps(details.get(address, {}))
        requests.append(Request(address, f"{kind}.{ARTICLE}", context=context, only_if_new=former != modified))
    requests += [
        Request(address, f"{kind}.{ARTICLE}", when_named=True)
        for address in (_find_removed(known_times, modified_by_url) if is_whole else ())
    ]
    end = f"{counted(len(modified_by_url), 'article')} named"
    learned_now: dict[str, Any] = {}
    if times != known_times:
        learned_now = {list_key: times, **_forget_lists(learned, list_key, len(times))}
    if len(times) < _MIN_USUAL <= len(known_times):
        learned_now[f"{_MOST_PREFIX}{list_key}"] = len(known_times)
    return FollowResult(tuple(requests), _offer(modified_by_url), learned_now, end=end)


def _offer(modified_by_url: Mapping[str, str]) -> tuple[Offering, ...]:
    """Return an offer for each address in a list and the time of its change, by which something new is noticed."""
    return tuple(Offering(f"{address[:400]}@{modified}"[:500]) for address, modified in modified_by_url.items())


def _is_in_range(source: Source, modified: str, published: str) -> bool:
    """Return whether an article may be of a day from `since` to `until`, by what its list says.

    It is left out by its day of publication. If the list does not give it, an article that last changed before `since`
    is left out; a later change says nothing about `until`.
    """
    since, until = source.options["since"], source.options["until"]
    return not article.is_outside(published, since, until) and not _is_before(since, modified)


def _is_before(since: str, modified: str) -> bool:
    """Return whether a time in UTC, or "" if it is not known, is before the day `since` in any time zone."""
    if not since or not modified:
        return False
    return datetime.fromisoformat(f"{since}T00:00:00+00:00") - datetime.fromisoformat(modified) > _ZONE_DIFFERENCE


def _repeat(requests: Sequence[Request], source: Source, ages: Mapping[str, int]) -> tuple[Request, ...]:
    """Return requests for articles so that they are repeated: after the setting `again`, or as long as they are old."""
    first_pause = int(source.options.get("again", 0))
    pauses = {request.url: max(first_pause, min(ages.get(request.url, 0), LONGEST_PAUSE)) for request in requests}
    return tuple(request._replace(again=pauses[request.url] if first_pause else 0) for request in requests)


def _ages(modified_by_url: Mapping[str, str], details: Mapping[str, Mapping[str, Any]], at: datetime) -> dict[str, int]:
    """Return how many seconds ago each article was published or changed; an article without a date counts as old."""
    ages = {}
    for address, modified in modified_by_url.items():
        time = read_page_time(modified or details.get(address, {}).get("published", ""))
        age = at - (time.replace(tzinfo=time.tzinfo or UTC)) if time else UNDATED_AGE
        ages[address] = max(0, int(age.total_seconds()))
    return ages


def _forget_lists(learned: Mapping[str, Any], kept_key: str, count: int) -> dict[str, dict[str, str]]:
    """Return empty values, by key, for the lists to forget: a source remembers at most REMEMBERED_ARTICLES articles.

    `count` articles of the list `kept_key` are to be remembered. The other lists are forgotten in the order of their
    newest articles, the oldest first; those without times, such as section pages, are the last.

    >>> _forget_lists({"named.a": {"/1": "2026"}, "named.b": {"/2": "2025"}, "kind": "feed"}, "named.c", 19_999)
    {'named.b': {}}
    """
    counts = {key: len(times) for key, times in learned.items() if key.startswith(_MEMORY_PREFIX) and key != kept_key}
    excess = sum(counts.values()) + count - REMEMBERED_ARTICLES.number
    forgotten: dict[str, dict[str, str]] = {}
    if excess <= 0:
        return forgotten
    for key in sorted(filter(counts.get, counts), key=lambda key: max(learned[key].values()) or "~"):
        if excess <= 0:
            break
        forgotten[key] = {}
        excess -= counts[key]
    return forgotten


def _find_removed(known_times: Mapping[str, str], listed: Mapping[str, str]) -> list[str]:
    """Return the addresses that are missing from a list although the list still names an older address.

    `known_times` has the addresses that the list named before, newest first. A list drops its oldest addresses. If
    there are no times, either end may be the oldest, so an address is returned only if it is between two addresses that
    are still named.

    >>> _find_removed(dict.fromkeys(["/d", "/c", "/b", "/a"], ""), dict.fromkeys(["/e", "/d", "/b"], ""))
    ['/c']
    """
    known_addresses = list(known_times)
    named_indices = [index for index, address in enumerate(known_addresses) if address in listed]
    if not named_indices:
        return []
    first, last = 0 if known_times[known_addresses[named_indices[-1]]] else named_indices[0], named_indices[-1]
    return [address for address in known_addresses[first:last] if address not in listed]


def read(task: Task) -> Iterator[Observation | Skip]:
    """Yield the article of a page, or a skip; yield nothing for a list of articles, or a page that only redirects."""
    request = task.request
    assert request is not None
    kind, _, document_type = request.name.partition(".")
    if document_type and document_type != ARTICLE:  # a page from another collection has no name
        return
    feed_entry = json.loads(request.context) if request.context else {}
    yield from article.read_page(task, kind or "page", feed_entry)
