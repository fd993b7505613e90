"""Read feeds, sitemaps, section pages and the JSON of APIs; `learned` is what the ledger remembers of a source."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from html import unescape
from math import isfinite
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from windrow.collections.news import article
from windrow.content.page import read_page
from windrow.contract import Answer, FollowResult, Observation, Offering, Request, Skip, Task
from windrow.digest import hash64
from windrow.errors import StepError
from windrow.formats import feed as entries
from windrow.formats import url_hints
from windrow.formats.text import counted
from windrow.formats.url import normalise
from windrow.formats.url_hints import HintKind
from windrow.model import Finding, Level, Source
from windrow.reasons import Reason

MAX_JSON_SIZE = 64 << 20
"""The most bytes of a response that is parsed as JSON."""

_REASONS_BY_STATUS = {
    401: Reason.PERMISSION_DENIED, 403: Reason.PERMISSION_DENIED, 404: Reason.NOT_FOUND, 410: Reason.GONE,
    429: Reason.RATE_LIMITED,
}  # fmt: skip
_INVISIBLE = re.compile(r"(?is)<(script|style|template)\b[^<>]*+>.*?(?:</\1\s*+>|\Z)|<!--.*?(?:-->|\Z)")
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


class RefusedReply(NamedTuple):
    """Why a response cannot be used; `code` is the error code of the API, or empty if it gives none."""

    reason: Reason
    message: str
    code: str = ""


def parse_reply(status: int, fields: Mapping[str, str], body: bytes) -> Any:
    """Return a response's JSON, without WordPress's envelope, or a `RefusedReply` if it is an error or not JSON.

    >>> parse_reply(200, {}, b"<html>Are you a robot?").reason
    <Reason.BOT_WALL: 'bot_wall'>
    >>> parse_reply(200, {}, b'{"body": {"code": "rest_no_route"}, "status": 404, "headers": {}}')
    RefusedReply(reason=<Reason.NOT_FOUND: 'not_found'>, message='status 404: rest_no_route', code='rest_no_route')
    """
    if len(body) > MAX_JSON_SIZE:
        return RefusedReply(Reason.TOO_LARGE, f"the response has {len(body)} bytes; the limit is {MAX_JSON_SIZE}")
    start = body[:2048].removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith(b"<") or (not start.startswith((b"{", b"[")) and "html" in fields.get("content-type", "")):
        return RefusedReply(Reason.BOT_WALL, f"status {status}: HTML instead of JSON")
    if not start:
        return RefusedReply(_REASONS_BY_STATUS.get(status, Reason.TRUNCATED), f"status {status}: the response is empty")
    decoded = _parse_json(body)
    is_envelope = isinstance(decoded, dict) and {"body", "status", "headers"} <= decoded.keys()
    if is_envelope and isinstance(decoded["status"], int):
        status, decoded = decoded["status"], decoded["body"]
    if status >= 400:
        code = str(decoded.get("code", ""))[:100] if isinstance(decoded, dict) else ""
        reason = _REASONS_BY_STATUS.get(status, Reason.PROTOCOL_ERROR)
        return RefusedReply(reason, f"status {status}: {code}".rstrip(": "), code)
    return decoded


def _parse_json(body: bytes) -> Any:
    """Return the JSON in a response, or a RefusedReply if it is not valid."""
    try:
        decoded = json.loads(body.decode("utf-8-sig"), parse_constant=_finite_number, parse_float=_finite_number)
    except UnicodeDecodeError:
        return RefusedReply(Reason.WRONG_ENCODING, "the response is not UTF-8")
    except (ValueError, RecursionError) as error:
        return RefusedReply(Reason.NOT_WELL_FORMED, str(error)[:300])
    if _SURROGATE.search(body):  # half of a surrogate pair cannot be encoded
        return json.loads(json.dumps(decoded, ensure_ascii=False).encode("utf-8", "replace"))
    return decoded


def _finite_number(text: str) -> float | None:
    """Convert a number of JSON; return None for NaN and infinity, which some servers write."""
    parsed = float(text)
    return parsed if isfinite(parsed) else None


def strip_html(html: Any) -> str:
    """Return the text of a piece of HTML, without tags and scripts, with entities decoded once.

    >>> strip_html("<i>Crabs</i> &#038; &#8220;quotes&#8221;<script>x()</script> &amp;lt;")
    'Crabs & \u201cquotes\u201d &lt;'
    """
    text = html if isinstance(html, str) else ""
    if "<" in text:
        text = _TAG.sub("", _INVISIBLE.sub(" ", text))
    return " ".join(unescape(text).encode("utf-8", "replace").decode().split())


def texts_in(nested: Any) -> list[str]:
    """Return the non-empty texts in a list, among the values of an object, or of a text itself."""
    if isinstance(nested, str):
        return [nested] if nested else []
    members = nested.values() if isinstance(nested, dict) else nested if isinstance(nested, list) else ()
    return [text for text in members if isinstance(text, str) and text]


LIST, ARTICLE = "list", "article"
_MAX_ARTICLES = 2_000  # of one document
_MAX_LINKS = 300  # of a section page
_PATH_WITH_DATE = re.compile(r"/(?:19|20)\d\d[/-](?:0?[1-9]|1[0-2]|[a-z]{3})(?:[/-]|$)")
_PATH_WITH_SLUG = re.compile(r"[^/-]-[^/-]++-[^/-]++-[^/-]++/?$|article[_/-]|-\d{4,}+(?:\.html?|/)?$")
_PATH_OF_OTHERS = re.compile(r"(?i)/(?:tags?|category|categories|authors?|topic|search|page|wp-content|login|about)/"
                          r"|\.(?:jpe?g|png|gif|pdf|mp[34]|zip|css|js)$")  # fmt: skip


def begin(kind: str, source: Source, learned: Mapping[str, Any]) -> tuple[Request, ...]:
    """Return requests for the documents that list articles; `kind` is feed or page."""
    addresses = tuple(source.options["seeds"]) or tuple(learned.get("addresses", ()))
    if not addresses:
        addresses = ("feed/",) if learned.get("closed") else ("",)  # closed: the API of the site is not available
    home_url = source.site.address("").rstrip("/")
    every = max(1, int(source.options["every"]))
    addresses = tuple(f"{home_url}/{path.lstrip('/')}" if path and "://" not in path else path for path in addresses)
    urls = (address or source.site.address("") for address in addresses)
    return tuple(Request(url, f"{kind}.{LIST}", every=every, priority=2) for url in urls)


def follow(source: Source, learned: Mapping[str, Any], answer: Answer) -> FollowResult:
    """Request the articles in a list that are new, or whose time of change in the list differs from the known one."""
    kind, _, document_type = answer.request.name.partition(".")
    url = answer.request.url
    if answer.status != 200:
        reason = {404: Reason.NOT_FOUND, 410: Reason.GONE}.get(answer.status, Reason.PERMISSION_DENIED)
        return FollowResult(skip=reason, findings=(Finding("Refused", f"status {answer.status}", Level.WARN),))
    if document_type == ARTICLE:
        return FollowResult((), (Offering(url),))
    body = answer.view.read()
    hints = url_hints.read_hints(body, url)
    if hints.kind is HintKind.INDEX:
        every = answer.request.every
        newest = sorted(hints.entries, key=lambda entry: str(entry.modified or ""), reverse=True)[:100]
        return FollowResult(tuple(Request(entry.url, f"{kind}.{LIST}", every=every, priority=1) for entry in newest))
    if hints.kind is HintKind.NONE:
        if not _is_html(body):
            message = f"the document is neither a feed nor a page of links: {hints.reason or Reason.UNSUPPORTED}"
            return FollowResult(skip=Reason.NOT_A_FEED, findings=(Finding("NoFeed", message, Level.WARN),))
        modified_by_url = dict.fromkeys(_article_links(body, answer, url), "")
        return _article_requests(kind, learned, url, modified_by_url, {})
    modified_by_url = {
        entry.url: entry.modified.isoformat() if entry.modified else "" for entry in hints.entries[:_MAX_ARTICLES]
    }
    since, until = source.options["since"], source.options["until"]
    modified_by_url = {
        address: time
        for address, time in modified_by_url.items()
        if not time or ((not since or time[:10] >= since) and (not until or time[:10] <= until))
    }
    details = _feed_details(body, url) if hints.kind is HintKind.FEED else {}
    return _article_requests(kind, learned, url, modified_by_url, details)


def _article_requests(
    kind: str, learned: Mapping[str, Any], url: str, modified_by_url: Mapping[str, str],
    details: Mapping[str, Mapping[str, Any]],
) -> FollowResult:  # fmt: skip
    """Request the articles of the list at `url`, and remember their times of change.

    An article is requested again if its time differs from the known one. `details` are titles and dates by address.
    """
    list_key = f"named.{hash64(url):x}"
    known_times: Mapping[str, str] = learned.get(list_key, {})
    times = {f"{hash64(address):x}": modified for address, modified in modified_by_url.items()}
    requests = []
    for address, modified in modified_by_url.items():
        is_changed = known_times.get(f"{hash64(address):x}", modified) != modified
        context = json.dumps(details.get(address, {}))
        requests.append(Request(address, f"{kind}.{ARTICLE}", context=context, only_if_new=is_changed))
    offers = tuple(
        Offering(f"{article_url[:400]}@{modified}"[:500]) for article_url, modified in modified_by_url.items()
    )
    end = f"{counted(len(modified_by_url), 'article')} named"
    return FollowResult(tuple(requests), offers, {list_key: times}, end=end)


def _feed_details(body: bytes, url: str) -> dict[str, dict[str, Any]]:
    """Return the title and the date `published` of each article of a feed, by its address."""
    try:
        parsed = entries.read_feed(body)
    except StepError:
        return {}
    details = {}
    for entry in parsed.entries if parsed else ():
        address = normalise(entry.url, normalise(entry.base, url).url if entry.base else url).url
        entry_fields = {"title": entry.title[:500], "published": entry.published[:64]}
        details[address] = {name: value for name, value in entry_fields.items() if value}
    return details


def _is_html(body: bytes) -> bool:
    """Return whether a document has links of HTML at its start."""
    if body[:2048].removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in {b"{", b"["}:
        return False  # JSON, perhaps with markup in its texts
    return b"<a " in body[: 1 << 20] or b"<A " in body[: 1 << 20]


def _article_links(body: bytes, answer: Answer, url: str) -> Sequence[str]:
    """Return the links of a section page that look like articles of its site, in their order."""
    page = read_page(body, url, answer.fields.get("content-type", ""))
    base = normalise(page.head.base, url).url if page.head.base else url
    own_host = urlsplit(url).hostname or ""
    addresses: dict[str, None] = {}
    for anchor in page.outline.anchors:
        address = normalise(anchor.href, base).url if anchor.href else ""
        split_url = urlsplit(address)
        is_same_site = (split_url.hostname or "").removeprefix("www.") == own_host.removeprefix("www.")
        path = split_url.path
        is_article = _PATH_WITH_DATE.search(path) or _PATH_WITH_SLUG.search(path)
        if is_same_site and is_article and not _PATH_OF_OTHERS.search(path):
            addresses[address] = None
    return list(addresses)[:_MAX_LINKS]


def read(task: Task) -> Iterator[Observation | Skip]:
    """Yield the article of a page, or a skip; yield nothing for a document that only lists articles."""
    request = task.request
    assert request is not None
    kind, _, document_type = request.name.partition(".")
    if document_type and document_type != ARTICLE:  # a page from another collection has no name
        return
    context = json.loads(request.context) if request.context else {}
    feed_entry = {name: strip_html(value) if name == "title" else str(value) for name, value in context.items()}
    yield article.read_page(task, kind or "page", feed_entry)
