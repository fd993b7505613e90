"""How good a page is for a query, by named parts with weights.

The index finds the pages with the words and scores their texts. That score is one part of several; the others look at
the title, the texts of links to the page, the distance of the words, the address and so on.

Then the pages are sorted, duplicates are folded, and results of one host are spread so that others come up too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from windrow.collections.pages.database.search_view import IncomingLinks, IndexedGeneration
from windrow.query.likeness import Piece, Sought, alike, cut, snippet, together
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
"""The weight of each part. `--explain` shows them with the values."""

HALF_LIFE = 90 * 86_400
"""Seconds after which the value of freshness is halved."""
_MANY = 200  # linking pages for the highest value
_FEEDS = {"application/rss+xml", "application/atom+xml", "application/feed+json", "application/rdf+xml"}
_LIST_INDEXINESS = 50  # indexiness from which a page is certainly a list


class ScorePart(NamedTuple):
    """One part of a score: `value` from 0 to 1 (or negative, if it counts against the page), times `weight`."""

    name: str
    value: float
    weight: float

    @property
    def points(self) -> float:
        """Return the points that the part adds to the score."""
        return self.value * self.weight


class Candidate(NamedTuple):
    """A page that may be a result; `score` is the index's, `best` the highest one of the query."""

    page: IndexedGeneration
    links: IncomingLinks
    score: float
    best: float


def parts(sought: Sought, candidate: Candidate) -> tuple[ScorePart, ...]:
    """Return the parts of a page's score; parts that are 0 are left out."""
    page = candidate.page
    values = {"text": candidate.score / candidate.best if candidate.best else 0.0}
    if sought.weights:
        values["title"] = alike(sought, page.title)
        values["headline"] = alike(sought, page.headline)
        values["called"] = _score_link_texts(sought, candidate.links)
        values["address"], values["home"] = _score_address(sought, page.url)
    values["linked"] = min(1.0, math.log1p(candidate.links.page_count) / math.log1p(_MANY))
    if sought.fresh or not sought.weights:
        values["fresh"] = _score_freshness(page, sought.now)
    is_named = any(values.get(name) for name in ("title", "headline", "called", "address", "home"))
    values["listing"] = -_score_listing(page) if len(sought.weights) > 1 or (sought.weights and not is_named) else 0.0
    values["copy"] = -1.0 if page.canonical_id not in {None, page.url_id} else 0.0
    return tuple(ScorePart(name, round(value, 4), WEIGHTS[name]) for name, value in values.items() if value)


def add_proximity(sought: Sought, candidate: Candidate, score_parts: tuple[ScorePart, ...]) -> tuple[ScorePart, ...]:
    """Add the part `together`, which needs the text; it is slow, so it is computed for the best pages only."""
    value = together(sought, candidate.page.text)
    return (*score_parts, ScorePart("together", round(value, 4), WEIGHTS["together"])) if value else score_parts


def total(score_parts: Sequence[ScorePart]) -> float:
    """Return the sum of the parts."""
    return sum(part.points for part in score_parts)


def _score_link_texts(sought: Sought, links: IncomingLinks) -> float:
    """Return the best match of a link text, from 0 to 1; the more pages use a text, the higher its weight."""
    best = 0.0
    for text, count in links.texts:
        best = max(best, alike(sought, text) * (0.7 + 0.3 * min(1.0, math.log1p(count) / math.log1p(10))))
    return best


def _score_address(sought: Sought, url: str) -> tuple[float, float]:
    """Return the share of the query in the address, and 1.0 if the address is a home page that the query names."""
    address_words = cut(address_text(url))
    covered = sum(weight for word, weight in sought.weights.items() if word in address_words) / sought.total
    home = False
    if covered < 1 and url.endswith("/") and url.count("/") == 3:
        joined, host = "".join(sought.weights), url[:-1].rpartition("/")[2].removeprefix("www.")
        home = any(joined == _join_words(label) for label in (host, *host.split(".")[:-1]))
    elif url.endswith("/") and url.count("/") == 3:
        home = True
    return covered, float(home)


def _join_words(text: str) -> str:
    return "".join(cut(text))


def _score_freshness(page: IndexedGeneration, now: int) -> float:
    time = next((known_time for known_time in (page.updated, page.created) if known_time is not None), page.first_seen)
    return float(0.5 ** (max(0, now - time) / HALF_LIFE))


def _score_listing(page: IndexedGeneration) -> float:
    """Return how much a page is only a list of links, from 0 to 1. A feed counts as a list: it repeats its entries."""
    feed = page.kind is not None and f"{page.kind}+{page.suffix}" in _FEEDS
    return 1.0 if feed else min(1.0, max(0, page.indexiness) / _LIST_INDEXINESS)


PER_HOST = 3
"""Most results of one host in a page of ten; its others follow further down."""


NEARLY = 0.9
"""Share of a group's best score that its representative needs to be shown for it."""


class Ranked(NamedTuple):
    """A page with the parts of its score."""

    candidate: Candidate
    parts: tuple[ScorePart, ...]

    @property
    def score(self) -> float:
        """Return the total of the parts."""
        return total(self.parts)


def sort_ranked(ranked_pages: Iterable[Ranked]) -> list[Ranked]:
    """Sort by score, then by first sight (older first), then by id, so that the order is always the same."""
    return sorted(
        ranked_pages,
        key=lambda ranked: (-round(ranked.score, 6), ranked.candidate.page.first_seen, ranked.candidate.page.id),
    )


def fold_duplicates(
    ranked_pages: Sequence[Ranked], seen: set[tuple[str, int]], representatives: Mapping[int, int]
) -> list[Ranked]:
    """Keep the latest version of each URL and the best page of each text; `seen` remembers them between calls.

    The version does not depend on scores, because those of an index that grew differ slightly from those of a new one.

    `representatives` has the representative of each page in a group of pages with the same or nearly the same text. The
    representative is kept if its score is nearly that of the best page, otherwise the first page that is not marked as
    a duplicate.
    """
    kept_pages: list[Ranked] = []
    slots: dict[tuple[str, int], int] = {}
    latest_of_url: dict[int, Ranked] = {}
    for ranked in ranked_pages:
        page = ranked.candidate.page
        if page.url_id not in latest_of_url or page.first_seen > latest_of_url[page.url_id].candidate.page.first_seen:
            latest_of_url[page.url_id] = ranked
    for ranked in ranked_pages:
        if latest_of_url[ranked.candidate.page.url_id] is not ranked or ("url", ranked.candidate.page.url_id) in seen:
            continue
        keys = _fold_keys(ranked, representatives)
        if any(key in seen for key in keys):
            seen |= set(keys)
            continue
        slot = next((slots[key] for key in keys if key in slots), len(kept_pages))
        if slot == len(kept_pages):
            kept_pages.append(ranked)
        elif _is_better(ranked, kept_pages[slot], representatives):
            kept_pages[slot] = ranked
        slots |= dict.fromkeys(keys, slot)
    seen |= set(slots)
    seen |= {("url", url) for url in latest_of_url}
    return sort_ranked(kept_pages)


def spread_hosts(ranked_pages: Sequence[Ranked], counts: dict[str, int]) -> list[Ranked]:
    """Move all but the first `PER_HOST` results of each host to the end; otherwise keep the order."""
    first_pages: list[Ranked] = []
    later_pages: list[Ranked] = []
    for ranked in ranked_pages:
        host = ranked.candidate.page.host
        counts[host] = counts.get(host, 0) + 1
        (first_pages if counts[host] <= PER_HOST else later_pages).append(ranked)
    return first_pages + later_pages


def _fold_keys(ranked: Ranked, representatives: Mapping[int, int]) -> list[tuple[str, int]]:
    page = ranked.candidate.page
    text = ("id", page.id) if page.pile_id is None else ("pile", page.pile_id)
    return [("group", representatives[page.id]), text] if page.id in representatives else [text]


def _is_better(ranked: Ranked, rival: Ranked, representatives: Mapping[int, int]) -> bool:
    page, rival_page = ranked.candidate.page, rival.candidate.page
    if representatives.get(rival_page.id) == rival_page.id:
        return False
    if representatives.get(page.id) == page.id:
        return page.pile_id == rival_page.pile_id or ranked.score >= NEARLY * rival.score
    return rival_page.is_duplicate and not page.is_duplicate


class ShownPage(NamedTuple):
    """A page to show, with the number of URLs for each text, and the time asked for.

    `group` is the number of URLs in its group of the same or nearly the same text, `standing` its representative's URL.
    `absent` tells whether an attempt between its last sight and that time failed to find it.
    """

    ranked: Ranked
    alike: Mapping[int, int]
    as_of: int | None
    group: int = 1
    standing: str | None = None
    absent: bool = False


def show_representative(
    shown_page: ShownPage, representative: IndexedGeneration, size: int, *, free: bool
) -> ShownPage:
    """Set the group of a page: its representative and its number of URLs.

    If the search is `free` of filters, which might exclude the representative, and its text is the same, the
    representative is shown instead of the page.
    """
    grouped_page = shown_page._replace(group=size, standing=representative.url)
    candidate = shown_page.ranked.candidate
    if not free or representative.pile_id != candidate.page.pile_id:
        return grouped_page
    return grouped_page._replace(ranked=shown_page.ranked._replace(
        candidate=candidate._replace(page=representative._replace(text=candidate.page.text))
    ))  # fmt: skip


def choose_snippet(text: str, description: str, find: re.Pattern[str] | None) -> tuple[Piece, ...]:
    """Return the best snippet of the text, or of the description if no word matches in the text."""
    from_text = snippet(text, find)
    if description and not any(piece.hit for piece in from_text):
        from_description = snippet(description, find)
        matches = find is None or any(piece.hit for piece in from_description)
        return from_description if matches or not from_text else from_text
    return from_text
