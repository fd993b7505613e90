"""Redirects and canonical addresses of a page; and the interval after which it is visited again.

A redirect is never followed: it is recorded, and its target becomes a candidate like any link. So a loop of
redirects ends when its first address is reached again.

The interval of a page starts as the site's `recrawl_interval`. An attempt that finds another text or description halves
it. An attempt that finds the same, even if the bytes differ, lengthens it by half, up to one and a half times the time
for which they have been the same: many attempts on one day count no more than one. It stays between a day and a year
(or the configured interval, if that is outside). The first attempt, and an answer that says nothing about the content
(4xx, 5xx, none), leave it unchanged. If the site sets `every`, that is always the interval.

A sitemap or feed with a change date after the last attempt makes a page due, a day after that attempt at the earliest:
some sites stamp every page with the current time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from windrow.collections.pages.code import DAY, InformationSource
from windrow.contract import ContentCheck
from windrow.formats.http import redecode_as_utf_8
from windrow.formats.url import Resolved, normalise
from windrow.reasons import Reason

PERMANENT = frozenset({301, 308})
REDIRECTS = PERMANENT | {302, 303, 307}

_MAX_LINKS = 50  # of one Link header
_LONGEST = 8192  # characters of one Link header that are read
_TARGET = re.compile(r"\s*+<([^<>]*+)>")
_PARAMETER = re.compile(r'\s*+;\s*+([!#$&+.^_`|~\w*-]++)\s*+(?:=\s*+("(?:[^"\\]|\\.)*+"|[^\s;,"]*+))?+')
_SEPARATOR = re.compile(r"\s*+(?:,|\Z)")


class RedirectTarget(NamedTuple):
    """The target of a redirect; if it is not another web address, `url` is empty and `reason` tells why."""

    url: str
    fragment: str | None = None
    permanent: bool = False
    source: InformationSource = InformationSource.RESPONSE_HEADER
    reason: Reason | None = None


def read_redirect(base: str, status: int, location: str) -> RedirectTarget | None:
    """Read a redirect of the page at the normal address `base`; None if the status is not a redirect.

    A redirect to the same address is refused as REDIRECTED.

    >>> read_redirect("https://example.org/a", 301, "/b#c")[:3]
    ('https://example.org/b', 'c', True)
    >>> read_redirect("https://example.org/a", 302, "").reason
    <Reason.BAD_ADDRESS: 'bad_address'>
    """
    if status not in REDIRECTS:
        return None
    permanent = status in PERMANENT
    if not location.strip():
        return RedirectTarget("", permanent=permanent, reason=Reason.BAD_ADDRESS)
    resolved = normalise(redecode_as_utf_8(location), base)  # older ledgers store it undecoded
    if resolved.reason or resolved.url == base:
        return RedirectTarget("", None, permanent, reason=resolved.reason or Reason.REDIRECTED)
    return RedirectTarget(resolved.url, resolved.fragment, permanent)


def read_refresh(value: str) -> str:
    """Return the address in the value of a `Refresh` header or `meta http-equiv=refresh`; empty if it only reloads.

    >>> read_refresh("0; URL='/new'"), read_refresh("5;url=/a=b"), read_refresh("30")
    ('/new', '/a=b', '')
    """
    delay_text, equals, rest = value[:_LONGEST].partition("=")
    is_address = delay_text.rpartition(";")[2].rpartition(",")[2].strip().lower() == "url"
    return rest.strip().strip("'\"").strip() if equals and is_address else ""


def resolve_refresh(header: str, base: str) -> Resolved | None:
    """Return the target of a page's `Refresh` header; None if the header does not name one.

    >>> resolve_refresh("0; url=/caf\u00c3\u00a9", "http://a.example/").url, resolve_refresh("", "http://a.example/")
    ('http://a.example/caf%C3%A9', None)
    """
    reference = read_refresh(redecode_as_utf_8(header))
    return normalise(reference, base) if reference else None


def canonical(page: str, hrefs: Iterable[str]) -> str:
    """Return the canonical address that a page names for itself (RFC 6596); empty if it does not name a usable one.

    `hrefs` are those of all `link rel=canonical` and of the Link header. If they disagree, all are ignored, and so is
    one that names the page itself or is not an address of the web.

    >>> canonical("https://example.org/a?x", ["/a", "https://example.org/a#top"])
    'https://example.org/a'
    >>> canonical("https://example.org/a", ["/a"]), canonical("https://example.org/a", ["/b", "/c"])
    ('', '')
    """
    urls = {normalise(href, page).url for href in hrefs if href.strip()} - {""}
    if len(urls) != 1:
        return ""
    (url,) = urls
    return "" if url == page else url


def find_link_targets(header: str, relation: str) -> list[str]:
    """Return the targets in a Link header with a relation (RFC 8288, section 3).

    >>> find_link_targets('</b>; rel="next canonical", <c>; title="a, <b>"; rel=canonical', "canonical")
    ['/b', 'c']
    """
    targets: list[str] = []
    text = redecode_as_utf_8(header[:_LONGEST])
    position = 0
    for _ in range(_MAX_LINKS):
        target = _TARGET.match(text, position)
        if not target:
            break
        rel, position = "", target.end()
        while parameter := _PARAMETER.match(text, position):
            rel = rel or (parameter[2] or "" if parameter[1].lower() == "rel" else "")
            position = parameter.end()
        separator = _SEPARATOR.match(text, position)
        if not separator:
            break
        if relation in rel.strip('"').lower().split():
            targets.append(target[1].strip())
        position = separator.end()
    return targets


YEAR = 365 * DAY
_SHORTER, _LONGER = 0.5, 1.5


def adapt_interval(interval: float, look: ContentCheck, start: float) -> float:
    """Return the next interval of a page in seconds; `start` is the configured interval.

    >>> checks = ContentCheck(True), ContentCheck(False, 28 * 86_400)
    >>> [adapt_interval(28 * DAY, check, 28 * DAY) / DAY for check in checks]
    [14.0, 42.0]
    >>> adapt_interval(28 * DAY, ContentCheck(False, 600), 28 * DAY) / DAY
    28.0
    """
    next_interval = interval
    if look.changed:
        next_interval *= _SHORTER
    elif look.changed is not None:
        next_interval = min(interval * _LONGER, max(interval, look.lasted * _LONGER))
    return min(max(next_interval, min(DAY, start)), max(YEAR, start))


def compute_interval(checks: Iterable[ContentCheck], start: float) -> float:
    """Return the interval of a page in seconds, from the results of its attempts after the first, oldest first.

    >>> checks = [ContentCheck(True), ContentCheck(False, 14 * 86_400)]
    >>> compute_interval([], 28 * DAY) / DAY, compute_interval(checks, 28 * DAY) / DAY
    (28.0, 21.0)
    """
    seconds = start
    for look in checks:
        seconds = adapt_interval(seconds, look, start)
    return seconds


def count_segments(url: str) -> int:
    """Count the non-empty segments in the path of a normal address.

    >>> count_segments("https://h/"), count_segments("https://h/a//b/?c/d")
    (0, 2)
    """
    path = url.partition("?")[0].split("/")[3:]
    return len(path) - path.count("")
