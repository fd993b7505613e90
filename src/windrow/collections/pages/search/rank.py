"""How good a page is for a query: named parts, each from 0 to 1, each with its weight.

The index (or FTS5) says which pages have the words and how much the texts speak of them. That score is
one part of several; the others look at the page as a person would: is it called so, do others call it so,
do the words stand together, is it the address that was meant.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

from windrow.collections.pages.query.parse import Query
from windrow.collections.pages.query.tree import filters, wanted
from windrow.collections.pages.search.entry import address_text
from windrow.collections.pages.search.result import ScorePart
from windrow.collections.pages.search.word import fold, stands_alone, words
from windrow.stores.index.generation import IncomingLinks, IndexedGeneration

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

LOOKED_AT = 6_000
"""Characters of a text in which words are looked for together."""
HALF = 90 * 86_400
"""Seconds in which the worth of being new falls to a half."""
_FRESH = {"latest", "newest", "news", "recent", "recently", "today", "current", "now", "breaking", "update", "updates"}
_MANY = 200  # pages that link somewhere: as good as it gets
_PLACES = 60  # of one word in one text
_FEEDS = {"application/rss+xml", "application/atom+xml", "application/feed+json", "application/rdf+xml"}
_DEEP = 50  # indexiness at which a page is a list for certain


class Sought(NamedTuple):
    """A query, prepared for ranking: folded words with their weights (rare words weigh more)."""

    weights: Mapping[str, float]
    total: float
    fresh: bool
    now: int


class Candidate(NamedTuple):
    """A page that may be a result; `score` as the index gave it, `best` the highest one of the query."""

    page: IndexedGeneration
    links: IncomingLinks
    score: float
    best: float


def sought(query: Query, frequency: Mapping[str, int], count: int, now: int) -> Sought:
    """Prepare a query; `frequency` says in how many of `count` pages each word stands."""
    texts = list(wanted(query.root))
    found = dict.fromkeys(word for one in texts for word in words(one.text))
    weights = {word: math.log(1 + (count + 1) / (frequency.get(word, 0) + 0.5)) for word in found}
    year = str(datetime.fromtimestamp(now, UTC).year)
    recent = any(one.key in {"after", "updated-after"} for one in filters(query.root))
    return Sought(weights, sum(weights.values()), recent or bool((_FRESH | {year}) & set(found)), now)


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


def alike(sought: Sought, text: str | None) -> float:
    """Say how far a short text is what was searched for: its words there, and few others.

    All words and nothing else give 1; all words among twice as many others give about 0.7.
    """
    there = _cut(text) if text else ()
    if not there:
        return 0.0
    weights = sought.weights
    hits = [word for word in there if word in weights]
    if not hits:
        return 0.0
    covered = sum([weights[word] for word in set(hits)]) / sought.total
    return covered * covered * (0.55 + 0.45 * len(hits) / len(there))


def together(sought: Sought, text: str) -> float:
    """Say how close the words stand in a text: 1 where they follow each other, once at least.

    Between the words of the best stretch may stand others: the value is the share of its length that the
    words themselves take, times the share of the words that are there.
    """
    if len(sought.weights) < 2:
        return 0.0
    short = fold(text[:LOOKED_AT])
    found = sorted(place for word in sought.weights for place in _places(short, word))
    there = {what for _, _, what in found}
    if len(there) < 2:
        return 0.0
    length, need = _stretch(found, len(there))
    ideal = sum(len(word) for word in there) + len(there) - 1
    return min(1.0, ideal / length) ** 0.5 * sum(sought.weights[word] for word in there) / sought.total if need else 0.0


def _stretch(found: Sequence[tuple[int, int, str]], need: int) -> tuple[int, int]:
    """Return the length of the shortest stretch with all words."""
    counts: dict[str, int] = {}
    best, left = 1 << 30, 0
    for _, end, what in found:
        counts[what] = counts.get(what, 0) + 1
        while len(counts) == need:
            start, _, first = found[left]
            best = min(best, end - start)
            counts[first] -= 1
            if not counts[first]:
                del counts[first]
            left += 1
    return best, need


def _places(text: str, word: str) -> list[tuple[int, int, str]]:
    """Return where a word begins and ends, the first places of it."""
    found: list[tuple[int, int, str]] = []
    length, alone = len(word), stands_alone(word)
    at = text.find(word)
    while at >= 0 and len(found) < _PLACES:
        end = at + length
        if alone or not (text[at - 1 : at].isalnum() or text[end : end + 1].isalnum()):
            found.append((at, end, word))
        at = text.find(word, end)
    return found


@lru_cache(maxsize=4096)
def _cut(text: str) -> tuple[str, ...]:
    return tuple(words(text[:500]))


def _called(sought: Sought, links: IncomingLinks) -> float:
    """Say how far other pages call it so: the best name, trusted more where more pages use it."""
    best = 0.0
    for text, count in links.texts:
        best = max(best, alike(sought, text) * (0.7 + 0.3 * min(1.0, math.log1p(count) / math.log1p(10))))
    return best


def _address(sought: Sought, url: str) -> tuple[float, float]:
    """Say how much of the query stands in the address, and whether it names the home of a site."""
    there = _cut(address_text(url))
    covered = sum(weight for word, weight in sought.weights.items() if word in there) / sought.total
    home = False
    if covered < 1 and url.endswith("/") and url.count("/") == 3:
        joined, host = "".join(sought.weights), url[:-1].rpartition("/")[2].removeprefix("www.")
        home = any(joined == _joined(label) for label in (host, *host.split(".")[:-1]))
    elif url.endswith("/") and url.count("/") == 3:
        home = True
    return covered, float(home)


def _joined(text: str) -> str:
    return "".join(_cut(text))


def _fresh(page: IndexedGeneration, now: int) -> float:
    when = next((one for one in (page.updated, page.created) if one is not None), page.first)
    return float(0.5 ** (max(0, now - when) / HALF))


def _listing(page: IndexedGeneration) -> float:
    """Say how far a page only leads to others: a query of several words wants what they lead to.

    So does one word that a page has in its text alone. A feed repeats what its entries say.
    """
    feed = page.kind is not None and f"{page.kind}+{page.suffix}" in _FEEDS
    return 1.0 if feed else min(1.0, max(0, page.indexiness) / _DEEP)
