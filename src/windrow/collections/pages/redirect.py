"""Redirects and canonical addresses of a page, and the interval after which the page is requested again.

A redirect of a page is not followed: it is recorded, and its target becomes a candidate like the target of a link. So a
loop of redirects ends when its first address is reached again.

The interval of a page starts as the site's `recrawl_interval`. An attempt that finds another text or description halves
it. An attempt that finds the same text and description, even if the bytes differ, lengthens it by half, but not beyond
one and a half times the time since the last change, so that many attempts on one day count as one. The interval is
between a day and a year (or the configured interval, if that is outside this range). The first attempt, and an attempt
without content (4xx, 5xx, failure), do not change it. If the site sets `every`, the interval is always `every`.

If a page changed after its last attempt, according to a sitemap or feed, it is due, but not earlier than a day after
that attempt: some sites give the present time as the change date of every page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from windrow.collections.pages.code import DAY, InformationSource
from windrow.content.head import read_refresh
from windrow.contract import ContentCheck
from windrow.formats.http import redecode_as_utf_8
from windrow.formats.url import Resolved, normalise
from windrow.reasons import Reason

PERMANENT = frozenset({301, 308})
_MULTIPLE_CHOICES = 300  # a redirect to its preferred choice, if it names one (RFC 9110, section 15.4.1)
REDIRECTS = PERMANENT | {_MULTIPLE_CHOICES, 302, 303, 307}

_TARGET = re.compile(r"\s*+<([^<>]*+)>")
_PARAMETER = re.compile(r'\s*+;\s*+([!#$&+.^_`|~\w*-]++)\s*+(?>(?:=\s*+("(?>(?:[^"\\]|\\.)*)"|[^\s;,"]*+))?)')
_SEPARATOR = re.compile(r"\s*+(?:,|\Z)")


class RedirectTarget(NamedTuple):
    """The target of a redirect. If the target is not another web address, `url` is empty and `reason` is set."""

    url: str
    fragment: str | None = None
    is_permanent: bool = False
    source: InformationSource = InformationSource.RESPONSE_HEADER
    reason: Reason | None = None


def read_redirect(base: str, status: int, location: str) -> RedirectTarget | None:
    """Return the target of a redirect of the page at the normalised address `base`; None if `status` is not a redirect.

    `location` is the header Location. A redirect to `base` itself has no target and the reason REDIRECTED.

    >>> read_redirect("https://example.org/a", 301, "/b#c")[:3]
    ('https://example.org/b', 'c', True)
    >>> read_redirect("https://example.org/a", 302, "").reason
    <Reason.BAD_ADDRESS: 'bad_address'>
    """
    if status not in REDIRECTS or (status == _MULTIPLE_CHOICES and not location.strip()):
        return None
    is_permanent = status in PERMANENT
    if not location.strip():
        return RedirectTarget("", is_permanent=is_permanent, reason=Reason.BAD_ADDRESS)
    resolved = normalise(redecode_as_utf_8(location), base)  # older ledgers contain it undecoded
    if resolved.reason or resolved.url == base:
        return RedirectTarget("", None, is_permanent, reason=resolved.reason or Reason.REDIRECTED)
    return RedirectTarget(resolved.url, resolved.fragment, is_permanent)


def resolve_refresh(header: str, base: str) -> Resolved | None:
    """Return the target of a page's header `Refresh`; None if the header does not name a target.

    The `url` of the result is empty if the target is not a web address.

    >>> resolve_refresh("0; url=/caf\u00c3\u00a9", "http://a.example/").url, resolve_refresh("", "http://a.example/")
    ('http://a.example/caf%C3%A9', None)
    >>> [resolve_refresh(header, "http://a.example/").url for header in ("0; URL='/b'", "5;url=/a=b", "0 url=/c")]
    ['http://a.example/b', 'http://a.example/a=b', 'http://a.example/c']
    """
    reference = read_refresh({"http-equiv": "refresh", "content": redecode_as_utf_8(header)})
    return normalise(reference, base) if reference else None


def find_canonical(page: str, hrefs: Iterable[str]) -> str:
    """Return the canonical address that a page names for itself (RFC 6596), or "" if it does not name one.

    `page` is the page's normalised address, `hrefs` are the references of all `link rel=canonical` and of the Link
    header. References that are not web addresses are ignored. The result is also empty if the remaining references
    differ or lead to the page's own address.

    >>> find_canonical("https://example.org/a?x", ["/a", "https://example.org/a#top"])
    'https://example.org/a'
    >>> find_canonical("https://example.org/a", ["/a"]), find_canonical("https://example.org/a", ["/b", "/c"])
    ('', '')
    """
    urls = {normalise(href, page).url for href in hrefs if href.strip()} - {""}
    if len(urls) != 1:
        return ""
    (url,) = urls
    return "" if url == page else url


def find_link_targets(header: str, relation: str) -> list[str]:
    """Return the targets of the links in a Link header with a relation such as `canonical` (RFC 8288, section 3).

    `relation` is in lower case. A malformed link and all links after it are ignored.

    >>> find_link_targets('</b>; rel="next canonical", <c>; title="a, <b>"; rel=canonical', "canonical")
    ['/b', 'c']
    """
    targets: list[str] = []
    text = redecode_as_utf_8(header)
    position = 0
    while target := _TARGET.match(text, position):
        rel, position = "", target.end()
        while parameter := _PARAMETER.match(text, position):
            is_rel = parameter[1].lower() == "rel"
            rel = rel or (parameter[2] or "" if is_rel else "")
            position = parameter.end()
        separator = _SEPARATOR.match(text, position)
        if not separator:
            break
        if relation in rel.strip('"').lower().split():
            targets.append(target[1].strip())
        position = separator.end()
    return targets


YEAR_SECONDS = 365 * DAY
_FACTOR_AFTER_CHANGE, _FACTOR_WITHOUT_CHANGE = 0.5, 1.5


def adapt_interval(interval: float, check: ContentCheck, start_interval: float) -> float:
    """Return the next interval of a page after an attempt, in seconds; `start_interval` is the configured interval.

    >>> checks = ContentCheck(True), ContentCheck(False, 28 * 86_400)
    >>> [adapt_interval(28 * DAY, check, 28 * DAY) / DAY for check in checks]
    [14.0, 42.0]
    >>> adapt_interval(28 * DAY, ContentCheck(False, 600), 28 * DAY) / DAY
    28.0
    """
    next_interval = interval
    if check.changed:
        next_interval *= _FACTOR_AFTER_CHANGE
    elif check.changed is not None:
        next_interval = min(interval * _FACTOR_WITHOUT_CHANGE, max(interval, check.lasted * _FACTOR_WITHOUT_CHANGE))
    return min(max(next_interval, min(DAY, start_interval)), max(YEAR_SECONDS, start_interval))


def compute_interval(checks: Iterable[ContentCheck], start_interval: float) -> float:
    """Return the interval of a page in seconds; `checks` are the results of its attempts after the first, oldest first.

    >>> checks = [ContentCheck(True), ContentCheck(False, 14 * 86_400)]
    >>> compute_interval([], 28 * DAY) / DAY, compute_interval(checks, 28 * DAY) / DAY
    (28.0, 21.0)
    """
    interval = start_interval
    for check in checks:
        interval = adapt_interval(interval, check, start_interval)
    return interval


def count_segments(url: str) -> int:
    """Count the non-empty segments in the path of a normalised address.

    >>> count_segments("https://h/"), count_segments("https://h/a//b/?c/d")
    (0, 2)
    """
    segments = url.partition("?")[0].split("/")[3:]
    return len(segments) - segments.count("")
