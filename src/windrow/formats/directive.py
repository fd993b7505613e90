"""What a page asks of those who keep and show it: `X-Robots-Tag`, `meta name=robots`, `rel=nofollow`.

There is no standard but the common practice of the large search engines. Settled: what is said to all
and what is said to this agent by name add up, in the header and in the page; nothing takes a
restriction back. `none` is `noindex, nofollow`; `nocache` is `noarchive`; `max-snippet:0` is
`nosnippet`. After `unavailable_after` a page counts as `noindex`. Unknown words are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from windrow.formats.moment import moment
from windrow.formats.robots import token
from windrow.reasons import Reason

_LONGEST = 4096  # characters of one header or attribute that are read
_VALUED = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})
_PREFIX = re.compile(r"\s*+([A-Za-z0-9_.*-]++)\s*+:\s*+(.*)", re.DOTALL)
_NOFOLLOW = re.compile(r"(?:^|\s)nofollow(?:\s|$)", re.IGNORECASE)


class Directives(NamedTuple):
    """What a page asks; `until` is the time after which it is not to be shown."""

    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False
    nosnippet: bool = False
    until: datetime | None = None

    def join(self, other: Directives) -> Directives:
        """Return what both ask together, with the earlier of two times."""
        times = [one for one in (self.until, other.until) if one]
        return Directives(
            self.noindex or other.noindex,
            self.nofollow or other.nofollow,
            self.noarchive or other.noarchive,
            self.nosnippet or other.nosnippet,
            min(times, default=None),
        )

    def refusal(self, now: datetime) -> Reason | None:
        """Return why the page may not be indexed now, or None."""
        if self.noindex:
            return Reason.NOINDEX
        return Reason.EXPIRED if self.until and self.until <= now else None


NOTHING = Directives()
_WORDS = {
    "noindex": Directives(noindex=True),
    "nofollow": Directives(nofollow=True),
    "none": Directives(noindex=True, nofollow=True),
    "noarchive": Directives(noarchive=True),
    "nocache": Directives(noarchive=True),
    "nosnippet": Directives(nosnippet=True),
}


def header(values: Iterable[str], agent: str) -> Directives:
    """Read the `X-Robots-Tag` fields of a response, for all agents and for this one.

    An agent's name before a colon holds up to the next name, within one field.

    >>> header(["noarchive", "other: noindex", "Example-Crawler: nofollow"], "example-crawler/1")
    Directives(noindex=False, nofollow=True, noarchive=True, nosnippet=False, until=None)
    """
    wanted = {token(agent), "*", "robots"}
    asked = NOTHING
    for value in values:
        ours = True
        rest = value[:_LONGEST]
        while rest:
            found = _PREFIX.match(rest)
            if found and "," not in found[0][: found.start(2)] and found[1].lower() not in _VALUED:
                ours, rest = found[1].lower() in wanted, found[2]
                continue
            one, rest = _first(rest)
            asked = asked.join(one) if ours else asked
    return asked


def meta(pairs: Iterable[tuple[str, str]], agent: str) -> Directives:
    """Read the `meta` elements of a page, as pairs of name and content.

    >>> meta([("ROBOTS", "NoIndex, follow"), ("other", "noarchive")], "example-crawler").noindex
    True
    """
    wanted = {token(agent), "robots"}
    asked = NOTHING
    for name, content in pairs:
        rest = content[:_LONGEST] if name.strip().lower() in wanted else ""
        while rest:
            one, rest = _first(rest)
            asked = asked.join(one)
    return asked


def nofollow(rel: str) -> bool:
    """Tell whether a link's `rel` asks not to follow it.

    >>> nofollow("external NOFOLLOW"), nofollow("no-nofollow"), nofollow("")
    (True, False, False)
    """
    return bool(rel) and bool(_NOFOLLOW.search(rel))


def _first(text: str) -> tuple[Directives, str]:
    """Read the first directive of a list, and return what is behind it."""
    word, _, rest = text.partition(",")
    name, colon, value = word.partition(":")
    name = name.strip().lower()
    if name == "unavailable_after" and colon:
        return _until(text.partition(":")[2])
    if name == "max-snippet" and value.strip() == "0":
        return Directives(nosnippet=True), rest
    return _WORDS.get(name, NOTHING), rest


def _until(text: str) -> tuple[Directives, str]:
    """Read a time that may itself hold a comma, and return what is behind it."""
    parts = text.split(",", 2)
    for count in (2, 1):
        if len(parts) >= count and (time := moment(",".join(parts[:count]))):
            return Directives(until=time), ",".join(parts[count:])
    return NOTHING, text.partition(",")[2]
