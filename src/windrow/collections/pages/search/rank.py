"""How good a page is for a query, by named parts with weights.

The index says which pages have the words and how much the texts speak of them. That score is
one part of several; the others look at the page as a person would: is it called so, do others call it so,
do the words stand together, is it the address that was meant.

Ranked pages are put in order then: duplicates folded, no host pushing all others away, the same on every page.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from windrow.collections.pages.database.search_view import IncomingLinks, IndexedGeneration
from windrow.query.likeness import Sought, alike, cut, together
from windrow.query.snippet import Piece, snippet
from windrow.query.word import address_text

WEIGHTS: Mapping[str, float] = {
    "text": 1.0,
    "title": 0.7,
    "headline": 0.3,
    "called": 0.7,
    "together": 0.5,
    "address": 0.3,
    "home": 0.6,
    "linked": 0.15,
    "fresh": 0.6,
    "listing": 0.3,
    "copy": 0.4,
}
"""What each part weighs. `--explain` shows them with the values."""

HALF = 90 * 86_400
"""Seconds in which the worth of being new falls to a half."""
_MANY = 200  # pages that link somewhere: as good as it gets
_FEEDS = {"application/rss+xml", "application/atom+xml", "application/feed+json", "application/rdf+xml"}
_DEEP = 50  # indexiness at which a page is a list for certain


class ScorePart(NamedTuple):
    """One part of a score: `value` from 0 to 1 (or below 0, where it counts against), times `weight`."""

    name: str
    value: float
    weight: float

    @property
    def points(self) -> float:
        """Return what the part adds to the score."""
        return self.value * self.weight


class Candidate(NamedTuple):
    """A page that may be a result; `score` as the index gave it, `best` the highest one of the query."""

    page: IndexedGeneration
    links: IncomingLinks
    score: float
    best: float


def parts(sought: Sought, candidate: Candidate) -> tuple[ScorePart, ...]:
    """Return the parts of a page's score; those that are nothing are left out."""
    page = candidate.page
    values = {"text": candidate.score / candidate.best if candidate.best else 0.0}
    if sought.weights:
        values["title"] = alike(sought, page.title)
        values["headline"] = alike(sought, page.headline)
        values["called"] = _called(sought, candidate.links)
        values["address"], values["home"] = _address(sought, page.url)
    values["linked"] = min(1.0, math.log1p(candidate.links.pages) / math.log1p(_MANY))
    if sought.fresh or not sought.weights:
        values["fresh"] = _fresh(page, sought.now)
    meant = any(values.get(name) for name in ("title", "headline", "called", "address", "home"))
    values["listing"] = -_listing(page) if len(sought.weights) > 1 or (sought.weights and not meant) else 0.0
    values["copy"] = -1.0 if page.canonical not in {None, page.url_id} else 0.0
    return tuple(ScorePart(name, round(value, 4), WEIGHTS[name]) for name, value in values.items() if value)


def nearer(sought: Sought, candidate: Candidate, found: tuple[ScorePart, ...]) -> tuple[ScorePart, ...]:
    """Add the part that needs the text to those that do not; it is the dear one, and asked of the best only."""
    value = together(sought, candidate.page.text)
    return (*found, ScorePart("together", round(value, 4), WEIGHTS["together"])) if value else found


def total(found: Sequence[ScorePart]) -> float:
    """Return the score that parts add up to."""
    return sum(part.points for part in found)


def _called(sought: Sought, links: IncomingLinks) -> float:
    """Say how far other pages call it so: the best name, trusted more where more pages use it."""
    best = 0.0
    for text, count in links.texts:
        best = max(best, alike(sought, text) * (0.7 + 0.3 * min(1.0, math.log1p(count) / math.log1p(10))))
    return best


def _address(sought: Sought, url: str) -> tuple[float, float]:
    """Say how much of the query stands in the address, and whether it names the home of a site."""
    there = cut(address_text(url))
    covered = sum(weight for word, weight in sought.weights.items() if word in there) / sought.total
    home = False
    if covered < 1 and url.endswith("/") and url.count("/") == 3:
        joined, host = "".join(sought.weights), url[:-1].rpartition("/")[2].removeprefix("www.")
        home = any(joined == _joined(label) for label in (host, *host.split(".")[:-1]))
    elif url.endswith("/") and url.count("/") == 3:
        home = True
    return covered, float(home)


def _joined(text: str) -> str:
    return "".join(cut(text))


def _fresh(page: IndexedGeneration, now: int) -> float:
    when = next((one for one in (page.updated, page.created) if one is not None), page.first)
    return float(0.5 ** (max(0, now - when) / HALF))


def _listing(page: IndexedGeneration) -> float:
    """Say how far a page only leads to others: a query of several words wants what they lead to.

    So does one word that a page has in its text alone. A feed repeats what its entries say.
    """
    feed = page.kind is not None and f"{page.kind}+{page.suffix}" in _FEEDS
    return 1.0 if feed else min(1.0, max(0, page.indexiness) / _DEEP)


PER_HOST = 3
"""Results of one host in a row of ten that come before those of others; the rest follow further down."""


NEARLY = 0.9
"""Share of the best score that the page which stands for a group must have, to be shown for it."""


class Ranked(NamedTuple):
    """A page with the parts of its score."""

    candidate: Candidate
    parts: tuple[ScorePart, ...]

    @property
    def score(self) -> float:
        """Return the sum of the parts."""
        return total(self.parts)


def ordered(found: Iterable[Ranked]) -> list[Ranked]:
    """Sort by score; among equals the older page, then the lower number, so that the order is always the same."""
    return sorted(found, key=lambda one: (-round(one.score, 6), one.candidate.page.first, one.candidate.page.id))


def folded(
    found: Sequence[Ranked], seen: set[tuple[str, int]], standing: Mapping[int, int] | None = None
) -> list[Ranked]:
    """Keep the last version of each URL and the best page of each text; `seen` remembers them over several calls.

    Which version that is does not depend on scores: an index that grew has a little other ones than one made at once.

    `standing` has for pages of a group, whose texts are the same or nearly, the one that stands for it. That
    one is the best of its group, where it has been found with nearly as many points; else the first that is
    not marked as a duplicate.
    """
    standing = standing or {}
    chosen: list[Ranked] = []
    slots: dict[tuple[str, int], int] = {}
    latest: dict[int, Ranked] = {}
    for one in found:
        page = one.candidate.page
        if page.url_id not in latest or page.first > latest[page.url_id].candidate.page.first:
            latest[page.url_id] = one
    for one in found:
        if latest[one.candidate.page.url_id] is not one or ("url", one.candidate.page.url_id) in seen:
            continue
        keys = _keys(one, standing)
        if any(key in seen for key in keys):
            seen |= set(keys)
            continue
        slot = next((slots[key] for key in keys if key in slots), len(chosen))
        if slot == len(chosen):
            chosen.append(one)
        elif _better(one, chosen[slot], standing):
            chosen[slot] = one
        slots |= dict.fromkeys(keys, slot)
    seen |= set(slots)
    seen |= {("url", url) for url in latest}
    return ordered(chosen)


def spread(found: Sequence[Ranked], counts: dict[str, int]) -> list[Ranked]:
    """Put what goes beyond `PER_HOST` of one host behind the others, keeping the order otherwise."""
    first: list[Ranked] = []
    later: list[Ranked] = []
    for one in found:
        host = one.candidate.page.host
        counts[host] = counts.get(host, 0) + 1
        (first if counts[host] <= PER_HOST else later).append(one)
    return first + later


def _keys(one: Ranked, standing: Mapping[int, int]) -> list[tuple[str, int]]:
    page = one.candidate.page
    text = ("id", page.id) if page.pile is None else ("pile", page.pile)
    return [("group", standing[page.id]), text] if page.id in standing else [text]


def _better(one: Ranked, other: Ranked, standing: Mapping[int, int]) -> bool:
    page, before = one.candidate.page, other.candidate.page
    if standing.get(before.id) == before.id:
        return False
    if standing.get(page.id) == page.id:
        return page.pile == before.pile or one.score >= NEARLY * other.score
    return before.duplicate and not page.duplicate


class Shown(NamedTuple):
    """What is shown: a page, how many URLs have each text, and the time that was asked for.

    `group` counts the URLs of its group, whose texts are the same or nearly; `standing` is the one that stands for it.
    `absent` says that it was asked for in vain between its last confirmation and that time.
    """

    ranked: Ranked
    alike: Mapping[int, int]
    as_of: int | None
    group: int = 1
    standing: str | None = None
    absent: bool = False


def grouped(what: Shown, other: IndexedGeneration, size: int, *, free: bool) -> Shown:
    """Tell of a page that `other` stands for its group, which has so many URLs.

    Where the search is `free` of filters, which might not let that one in, the very same text is shown at its address.
    """
    told = what._replace(group=size, standing=other.url)
    candidate = what.ranked.candidate
    if not free or other.pile != candidate.page.pile:
        return told
    return told._replace(ranked=what.ranked._replace(
        candidate=candidate._replace(page=other._replace(text=candidate.page.text))
    ))  # fmt: skip


def stretch(text: str, description: str, find: re.Pattern[str] | None) -> tuple[Piece, ...]:
    """Return the best stretch of the text; where nothing hits in it, of the description."""
    made = snippet(text, find)
    if description and not any(piece.hit for piece in made):
        other = snippet(description, find)
        return other if find is None or any(piece.hit for piece in other) or not made else made
    return made
