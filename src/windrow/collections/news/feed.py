"""Feeds, sitemaps and other replies that name articles."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from html import unescape
from math import isfinite
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from windrow.collections.news import article
from windrow.content.page import read as read_page
from windrow.contract import Answer, FollowResult, Observation, Offering, Request, Skip, Task
from windrow.digest import number
from windrow.errors import StepError
from windrow.formats import feed as entries
from windrow.formats import url_hints
from windrow.formats.text import counted
from windrow.formats.url import normalise
from windrow.formats.url_hints import HintKind
from windrow.model import Finding, Level, Source
from windrow.reasons import Reason

LARGEST = 64 << 20
"""Bytes of an answer that are read as JSON."""

_STATUS = {
    401: Reason.PERMISSION_DENIED, 403: Reason.PERMISSION_DENIED, 404: Reason.NOT_FOUND, 410: Reason.GONE,
    429: Reason.RATE_LIMITED,
}  # fmt: skip
_SILENT = re.compile(r"(?is)<(script|style|template)\b[^<>]*+>.*?(?:</\1\s*+>|\Z)|<!--.*?(?:-->|\Z)")
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_HALVES = re.compile(rb"\\u[dD][89a-fA-F]")


class RefusedReply(NamedTuple):
    """Why an answer is of no use; `code` is the interface's own word for it."""

    reason: Reason
    message: str
    code: str = ""


def reply(status: int, fields: Mapping[str, str], body: bytes) -> Any:
    """Return an answer's JSON, taken out of an envelope; a `RefusedReply` where it is none, or tells of an error.

    >>> reply(200, {}, b"<html>Are you a robot?").reason
    <Reason.BOT_WALL: 'bot_wall'>
    >>> reply(200, {}, b'{"body": {"code": "rest_no_route"}, "status": 404, "headers": {}}')
    RefusedReply(reason=<Reason.NOT_FOUND: 'not_found'>, message='status 404: rest_no_route', code='rest_no_route')
    """
    if len(body) > LARGEST:
        return RefusedReply(Reason.TOO_LARGE, f"{len(body)} bytes, at most {LARGEST} are read")
    start = body[:2048].removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith(b"<") or (not start.startswith((b"{", b"[")) and "html" in fields.get("content-type", "")):
        return RefusedReply(Reason.BOT_WALL, f"status {status}: HTML where JSON is due")
    if not start:
        return RefusedReply(_STATUS.get(status, Reason.TRUNCATED), f"status {status}: an empty answer")
    told = _parsed(body)
    if isinstance(told, dict) and {"body", "status", "headers"} <= told.keys() and isinstance(told["status"], int):
        status, told = told["status"], told["body"]
    if status >= 400:
        code = str(told.get("code", ""))[:100] if isinstance(told, dict) else ""
        reason = _STATUS.get(status, Reason.PROTOCOL_ERROR)
        return RefusedReply(reason, f"status {status}: {code}".rstrip(": "), code)
    return told


def _parsed(body: bytes) -> Any:
    try:
        told = json.loads(body.decode("utf-8-sig"), parse_constant=_number, parse_float=_number)
    except UnicodeDecodeError:
        return RefusedReply(Reason.WRONG_ENCODING, "no UTF-8")
    except (ValueError, RecursionError) as error:
        return RefusedReply(Reason.NOT_WELL_FORMED, str(error)[:300])
    if _HALVES.search(body):  # half of a surrogate pair can be written nowhere
        return json.loads(json.dumps(told, ensure_ascii=False).encode("utf-8", "replace"))
    return told


def _number(told: str) -> float | None:
    """Return a number; None for one that JSON cannot say, such as NaN, which some servers write all the same."""
    found = float(told)
    return found if isfinite(found) else None


def plain(html: Any) -> str:
    """Return a text that is written as HTML: without tags and scripts, its entities decoded once.

    >>> plain("<i>Crabs</i> &#038; &#8220;quotes&#8221;<script>x()</script> &amp;lt;")
    'Crabs & \u201cquotes\u201d &lt;'
    """
    text = html if isinstance(html, str) else ""
    if "<" in text:
        text = _TAG.sub("", _SILENT.sub(" ", text))
    return " ".join(unescape(text).encode("utf-8", "replace").decode().split())


def texts(value: Any) -> list[str]:
    """Return the texts of a value that may be one, or a list or an object of them."""
    if isinstance(value, str):
        return [value] if value else []
    several = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [one for one in several if isinstance(one, str) and one]


LIST, ARTICLE = "list", "article"
_MOST = 2_000  # articles that one document may name
_SECTION = 300  # links of a section page that are followed
_DATED = re.compile(r"/(?:19|20)\d\d[/-](?:0?[1-9]|1[0-2]|[a-z]{3})(?:[/-]|$)")
_SLUG = re.compile(r"[^/-]-[^/-]++-[^/-]++-[^/-]++/?$|article[_/-]|-\d{4,}+(?:\.html?|/)?$")
_NONE = re.compile(r"(?i)/(?:tag|tags|category|categories|author|authors|topic|search|page|wp-content|login|about)/"
                   r"|\.(?:jpe?g|png|gif|pdf|mp[34]|zip|css|js)$")  # fmt: skip


def begin(kind: str, source: Source, learned: Mapping[str, Any]) -> tuple[Request, ...]:
    """Ask for each document that names articles."""
    told = tuple(source.options["addresses"]) or tuple(learned.get("addresses", ()))
    if not told:
        told = ("feed/",) if learned.get("closed") else ("",)
    home = source.site.address("").rstrip("/")
    every = max(1, int(source.options["every"]))
    urls = (one if "://" in one else f"{home}/{one.lstrip('/')}" if one else source.site.address("") for one in told)
    return tuple(Request(url, f"{kind}.{LIST}", every=every, priority=2) for url in urls)


def follow(source: Source, learned: Mapping[str, Any], answer: Answer) -> FollowResult:
    """Ask for the articles that a document names: new ones, and those that it says have changed."""
    kind, _, what = answer.request.name.partition(".")
    url = answer.request.url
    if answer.status != 200:
        reason = {404: Reason.NOT_FOUND, 410: Reason.GONE}.get(answer.status, Reason.PERMISSION_DENIED)
        return FollowResult(skip=reason, findings=(Finding("Refused", f"status {answer.status}", Level.WARN),))
    if what == ARTICLE:
        return FollowResult((), (Offering(url),))
    body = answer.view.read()
    found = url_hints.read(body, url)
    if found.kind is HintKind.INDEX:
        every = answer.request.every
        newest = sorted(found.entries, key=lambda entry: str(entry.modified or ""), reverse=True)[:100]
        return FollowResult(tuple(Request(one.url, f"{kind}.{LIST}", every=every, priority=1) for one in newest))
    if found.kind is HintKind.NONE:
        if not _is_html(body):
            why = f"neither a feed nor a page of links: {found.reason or Reason.UNSUPPORTED}"
            return FollowResult(skip=Reason.NOT_A_FEED, findings=(Finding("NoFeed", why, Level.WARN),))
        named = dict.fromkeys(_links(body, answer, url), "")
        return _asked(kind, learned, url, named, {})
    named = {entry.url: entry.modified.isoformat() if entry.modified else "" for entry in found.entries[:_MOST]}
    since, until = source.options["since"], source.options["until"]
    named = {one: at for one, at in named.items() if not at or ((not since or at[:10] >= since)
                                                                and (not until or at[:10] <= until))}  # fmt: skip
    told = _told(body, url) if found.kind is HintKind.FEED else {}
    return _asked(kind, learned, url, named, told)


def _asked(
    kind: str, learned: Mapping[str, Any], url: str, named: Mapping[str, str], told: Mapping[str, Mapping[str, Any]]
) -> FollowResult:
    """Ask for articles; for one that is known anew, where its time of change is another one."""
    key = f"named.{number(url):x}"
    before: Mapping[str, str] = learned.get(key, {})
    now = {f"{number(one):x}": at for one, at in named.items()}
    requests = []
    for one, at in named.items():
        is_changed = before.get(f"{number(one):x}", at) != at
        context = json.dumps(told.get(one, {}))
        requests.append(Request(one, f"{kind}.{ARTICLE}", context=context, only_if_new=is_changed))
    offers = tuple(Offering(f"{one[:400]}@{at}"[:500]) for one, at in named.items())
    return FollowResult(tuple(requests), offers, {key: now}, end=f"{counted(len(named), 'article')} named")


def _told(body: bytes, url: str) -> dict[str, dict[str, Any]]:
    """Return what a feed says of its articles beside their addresses: titles and dates."""
    try:
        found = entries.read(body)
    except StepError:
        return {}
    told = {}
    for entry in found.entries if found else ():
        where = normalise(entry.url, normalise(entry.base, url).url if entry.base else url).url
        said = {"title": entry.title[:500], "published": entry.published[:64]}
        told[where] = {name: value for name, value in said.items() if value}
    return told


def _is_html(body: bytes) -> bool:
    if body[:2048].removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in {b"{", b"["}:
        return False  # JSON, whatever markup it quotes
    return b"<a " in body[: 1 << 20] or b"<A " in body[: 1 << 20]


def _links(body: bytes, answer: Answer, url: str) -> Sequence[str]:
    """Return the addresses of a section page that look like articles of its site, in their order."""
    read_ = read_page(body, url, answer.fields.get("content-type", ""))
    base = normalise(read_.head.base, url).url if read_.head.base else url
    here = urlsplit(url).hostname or ""
    found: dict[str, None] = {}
    for anchor in read_.outline.anchors:
        where = normalise(anchor.href, base).url if anchor.href else ""
        split = urlsplit(where)
        same = (split.hostname or "").removeprefix("www.") == here.removeprefix("www.")
        path = split.path
        if same and not _NONE.search(path) and (_DATED.search(path) or _SLUG.search(path)):
            found[where] = None
    return list(found)[:_SECTION]


def read(task: Task) -> Iterator[Observation | Skip]:
    """Read an article's page; what only names articles is none."""
    request = task.request
    assert request is not None
    kind, _, what = request.name.partition(".")
    if what and what != ARTICLE:  # a page that another collection kept has no name
        return
    told = json.loads(request.context) if request.context else {}
    said = {name: plain(value) if name == "title" else str(value) for name, value in told.items()}
    yield article.read_page(task, kind or "page", said)
