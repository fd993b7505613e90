"""Where a page really is, by redirects and canonical addresses; and when it is due again.

A redirect is never followed: it is recorded, and its target is a candidate like any link. So a loop of
redirects ends where its first address is met again.

The interval of a page begins with the site's `recrawl_interval`. Each time its text or its description changed halves
it. Each time they did not, however the bytes differ, lengthens it by half, up to one and a half times the time for
which they have been seen as they are: many looks on one day tell no more than one. It stays between a day and a year
(or the configured interval, where that lies outside). The first visit, and an answer that tells nothing of the
content - 4xx, 5xx, none - leaves it as it is. Where the site says `every`, that is the interval, whatever is seen.

A sitemap or feed that tells of a change after the last look makes a page due, a day after that look at
the earliest: some sites stamp every page with the present moment.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from windrow.collections.pages.code import DAY, InformationSource
from windrow.contract import ContentCheck
from windrow.formats.http import as_utf_8
from windrow.formats.url import Resolved, normalise, parts
from windrow.reasons import Reason

PERMANENT = frozenset({301, 308})
MOVED = PERMANENT | {302, 303, 307}

_LINKS = 50  # of one Link header
_LONGEST = 8192  # characters of one Link header that are read
_TARGET = re.compile(r"\s*+<([^<>]*+)>")
_PARAMETER = re.compile(r'\s*+;\s*+([!#$&+.^_`|~\w*-]++)\s*+(?:=\s*+("(?:[^"\\]|\\.)*+"|[^\s;,"]*+))?+')
_BORDER = re.compile(r"\s*+(?:,|\Z)")


class RedirectTarget(NamedTuple):
    """What a redirect says; refused where it leads to no address of the web, with an empty `url`."""

    url: str
    fragment: str | None = None
    permanent: bool = False
    source: InformationSource = InformationSource.RESPONSE_HEADER
    reason: Reason | None = None


def move(base: str, status: int, location: str) -> RedirectTarget | None:
    """Read a redirect of the page at the normal address `base`; None where the answer is none.

    A redirect to the very same address leads nowhere and is refused as REDIRECTED.

    >>> move("https://example.org/a", 301, "/b#c")[:3]
    ('https://example.org/b', 'c', True)
    >>> move("https://example.org/a", 302, "").reason
    <Reason.BAD_ADDRESS: 'bad_address'>
    """
    if status not in MOVED:
        return None
    permanent = status in PERMANENT
    if not location.strip():
        return RedirectTarget("", permanent=permanent, reason=Reason.BAD_ADDRESS)
    found = normalise(as_utf_8(location), base)  # older ledgers have it as it was read
    if found.reason or found.url == base:
        return RedirectTarget("", None, permanent, reason=found.reason or Reason.REDIRECTED)
    return RedirectTarget(found.url, found.fragment, permanent)


def refreshed(value: str) -> str:
    """Return the address in the value of a `Refresh` header or of `meta http-equiv=refresh`, empty where it has none.

    >>> refreshed("0; URL='/new'"), refreshed("5;url=/a=b"), refreshed("30")
    ('/new', '/a=b', '')
    """
    before, mark, rest = value[:_LONGEST].partition("=")
    named = before.rpartition(";")[2].rpartition(",")[2].strip().lower() == "url"
    return rest.strip().strip("'\"").strip() if mark and named else ""


def sent_on(header: str, base: str) -> Resolved | None:
    """Return where a page's `Refresh` header sends its readers on to, None where it does not.

    >>> sent_on("0; url=/caf\u00c3\u00a9", "http://a.example/").url, sent_on("", "http://a.example/")
    ('http://a.example/caf%C3%A9', None)
    """
    where = refreshed(as_utf_8(header))
    return normalise(where, base) if where else None


class Claim(StrEnum):
    """What a canonical address means for the page that names it."""

    NONE = "none"  # it names none, or itself
    COPY = "copy"  # a copy of another page of its origin, which was crawled: a duplicate
    UNSEEN = "unseen"  # its origin has the other page, but it was not crawled yet: kept as it is
    ELSEWHERE = "elsewhere"  # a copy of a page of another origin: kept, ranked below that


def canonical(page: str, told: Iterable[str]) -> str:
    """Return the canonical address that a page names for itself (RFC 6596), empty where it is none of use.

    `told` are all hrefs of `link rel=canonical` and of the Link header. If they disagree, none counts;
    one that names the page itself, or no address of the web, is none.

    >>> canonical("https://example.org/a?x", ["/a", "https://example.org/a#top"])
    'https://example.org/a'
    >>> canonical("https://example.org/a", ["/a"]), canonical("https://example.org/a", ["/b", "/c"])
    ('', '')
    """
    found = {normalise(href, page).url for href in told if href.strip()} - {""}
    if len(found) != 1:
        return ""
    (url,) = found
    return "" if url == page else url


def claim(page: str, url: str, *, crawled: bool) -> Claim:
    """Tell what the canonical address `url` means for a page; `crawled` is whether it brought a file itself.

    >>> claim("https://example.org/a?x", "https://example.org/a", crawled=True)
    <Claim.COPY: 'copy'>
    """
    if not url or url == page:
        return Claim.NONE
    if parts(page).origin != parts(url).origin:
        return Claim.ELSEWHERE
    return Claim.COPY if crawled else Claim.UNSEEN


def linked(header: str, relation: str) -> list[str]:
    """Return the targets of a Link header that have a relation (RFC 8288, section 3).

    >>> linked('</b>; rel="next canonical", <c>; title="a, <b>"; rel=canonical', "canonical")
    ['/b', 'c']
    """
    found: list[str] = []
    text = as_utf_8(header[:_LONGEST])
    place = 0
    for _ in range(_LINKS):
        one = _TARGET.match(text, place)
        if not one:
            break
        rel, place = "", one.end()
        while told := _PARAMETER.match(text, place):
            rel = rel or (told[2] or "" if told[1].lower() == "rel" else "")
            place = told.end()
        border = _BORDER.match(text, place)
        if not border:
            break
        if relation in rel.strip('"').lower().split():
            found.append(one[1].strip())
        place = border.end()
    return found


YEAR = 365 * DAY
_SHORTER, _LONGER = 0.5, 1.5


def adapt(interval: float, look: ContentCheck, start: float) -> float:
    """Return the next interval of a page, in seconds.

    >>> adapt(28 * DAY, ContentCheck(True), 28 * DAY) / DAY
    14.0
    >>> adapt(28 * DAY, ContentCheck(False, 28 * 86_400), 28 * DAY) / DAY
    42.0
    >>> adapt(28 * DAY, ContentCheck(False, 600), 28 * DAY) / DAY
    28.0
    """
    after = interval
    if look.changed:
        after *= _SHORTER
    elif look.changed is not None:
        after = min(interval * _LONGER, max(interval, look.lasted * _LONGER))
    return min(max(after, min(DAY, start)), max(YEAR, start))


def interval(looks: Iterable[ContentCheck], start: float) -> float:
    """Return the interval of a page from what its visits after the first one found, oldest first.

    >>> interval([], 28 * DAY) / DAY, interval([ContentCheck(True), ContentCheck(False, 14 * 86_400)], 28 * DAY) / DAY
    (28.0, 21.0)
    """
    found = start
    for look in looks:
        found = adapt(found, look, start)
    return found


def segments(url: str) -> int:
    """Count the segments of a normal address's path that are not empty.

    >>> segments("https://h/"), segments("https://h/a//b/?c/d")
    (0, 2)
    """
    path = url.partition("?")[0].split("/")[3:]
    return len(path) - path.count("")
