"""The score of a page for a query: the sum of several parts with weights.

The index finds the pages that contain the words, and scores their texts. That score is one of the parts; the others are
computed from the title, the texts of links to the page, the distance between the words, the address and so on.

Then the pages are sorted, one page of each group of duplicates is kept, and all but the first results of a host are
moved to the end of their block.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from windrow.collections.pages.database.search_view import IncomingLinks, IndexedGeneration
from windrow.query.likeness import Piece, RankingQuery, first_words, proximity, similarity, snippet
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
"""The weight of each part of a score. `called` is how well link texts match; `together` is how close the words are."""

HALF_LIFE_SECONDS = 90 * 86_400
"""The number of seconds in which the value of the part `fresh` falls by half."""
_MANY_LINKS = 200  # number of linking pages that gives the part `linked` its highest value
_FEEDS = {"application/rss+xml", "application/atom+xml", "application/feed+json", "application/rdf+xml"}
_CERTAIN_INDEXINESS = 50  # from this indexiness on, a page is certainly a list


class ScorePart(NamedTuple):
    """One part of a score: `value` times `weight`. `value` is from 0 to 1, or from -1 to 0 if it lowers the score."""

    name: str
    value: float
    weight: float

    @property
    def points(self) -> float:
        """The points that the part adds to the score."""
        return self.value * self.weight


class Candidate(NamedTuple):
    """A page that may be a result, with its score in the index, and the highest score for the query (`best_score`)."""

    page: IndexedGeneration
    links: IncomingLinks
    score: float
    best_score: float


def compute_parts(query: RankingQuery, candidate: Candidate) -> tuple[ScorePart, ...]:
    """Return the parts of a page's score, without `together`; parts that are 0 are left out."""
    page = candidate.page
    values = {"text": candidate.score / candidate.best_score if candidate.best_score else 0.0}
    if query.weights:
        values["title"] = similarity(query, page.title)
        values["headline"] = similarity(query, page.headline)
        values["called"] = _score_link_texts(query, candidate.links)
        values["address"], values["home"] = _score_address(query, page.url)
    values["linked"] = min(1.0, math.log1p(candidate.links.pages) / math.log1p(_MANY_LINKS))
    if query.fresh or not query.weights:
        values["fresh"] = _score_freshness(page, query.now)
    is_named = any(values.get(name) for name in ("title", "headline", "called", "address", "home"))
    values["listing"] = -_score_listing(page) if len(query.weights) > 1 or (query.weights and not is_named) else 0.0
    values["copy"] = -1.0 if page.canonical_id not in {None, page.url_id} else 0.0
    return tuple(ScorePart(name, round(value, 4), WEIGHTS[name]) for name, value in values.items() if value)


def add_proximity(
    query: RankingQuery, candidate: Candidate, score_parts: tuple[ScorePart, ...]
) -> tuple[ScorePart, ...]:
    """Return `score_parts` and, unless it is 0, the part `together`, which is computed only for the best pages."""
    value = proximity(query, candidate.page.text)
    return (*score_parts, ScorePart("together", round(value, 4), WEIGHTS["together"])) if value else score_parts


def _score_link_texts(query: RankingQuery, links: IncomingLinks) -> float:
    """Return how well the best link text matches a query, from 0 to 1; a text in links from many pages counts more."""
    best = 0.0
    for text, count in links.texts:
        best = max(best, similarity(query, text) * (0.7 + 0.3 * min(1.0, math.log1p(count) / math.log1p(10))))
    return best


def _score_address(query: RankingQuery, url: str) -> tuple[float, float]:
    """Return the values of the parts `address` and `home`.

    `address` is the share of the query's total weight that its words in the address have. `home` is 1.0 if the address
    is that of a home page and the query names its host, otherwise 0.0.
    """
    address_words = first_words(address_text(url))
    share = sum(weight for word, weight in query.weights.items() if word in address_words) / query.total
    is_home_page = url.endswith("/") and url.count("/") == 3
    if share < 1 and is_home_page:
        joined_query, host_name = "".join(query.weights), url[:-1].rpartition("/")[2].removeprefix("www.")
        is_named = any(joined_query == "".join(first_words(label)) for label in (host_name, *host_name.split(".")[:-1]))
        return share, float(is_named)
    return share, float(is_home_page)


def _score_freshness(page: IndexedGeneration, now: int) -> float:
    """Return how new a page is at the time `now` (UNIX seconds), from 0 to 1, by its latest known change."""
    time = next((known_time for known_time in (page.updated, page.created) if known_time is not None), page.first_seen)
    return float(0.5 ** (max(0, now - time) / HALF_LIFE_SECONDS))


def _score_listing(page: IndexedGeneration) -> float:
    """Return how certainly a page is only a list of links, from 0 to 1; a feed counts as a list."""
    is_feed = page.kind is not None and f"{page.kind}+{page.suffix}" in _FEEDS
    return 1.0 if is_feed else min(1.0, max(0, page.indexiness) / _CERTAIN_INDEXINESS)


MAX_RESULTS_PER_HOST = 3
"""The maximum number of results of one host that keep their place. Others are moved to the end of their block."""


MIN_REPRESENTATIVE_SHARE = 0.9
"""A representative with another text replaces the best page if its score is at least this share of the page's score."""


FoldKey: TypeAlias = tuple[str | int | None, ...]
"""A key that a page has in common with others: of all pages that share one, a search shows one."""


class Ranked(NamedTuple):
    """A page with the parts of its score."""

    candidate: Candidate
    parts: tuple[ScorePart, ...]

    @property
    def score(self) -> float:
        """The sum of the points of all parts."""
        return sum(part.points for part in self.parts)


def sort_ranked(ranked_pages: Iterable[Ranked]) -> list[Ranked]:
    """Sort by score, then by the time when a page was first seen (oldest first), then by id."""
    return sorted(
        ranked_pages,
        key=lambda ranked: (-round(ranked.score, 6), ranked.candidate.page.first_seen, ranked.candidate.page.id),
    )


def fold_duplicates(
    ranked_pages: Sequence[Ranked],
    seen_keys: set[FoldKey],
    representatives: Mapping[int, int],
    *,
    by_group: bool = True,
) -> list[Ranked]:
    """Return the latest version of each URL and, of these, only one page of each group.

    URLs and groups from earlier calls are left out; `seen_keys` remembers them.

    The choice of the version does not depend on scores, because the scores in an index that grew differ slightly from
    those in a new one.

    Pages with the same text, or with the same representative, are a group, except duplicates with titles of their own.
    Without `by_group`, only pages with the same text are. `representatives` maps ids of pages to ids of their
    representatives. The representative is kept if it has the text of the best page or nearly its score. Otherwise the
    best page that is not marked as a duplicate is kept, or the best page if all are marked.
    """
    kept_pages: list[Ranked] = []
    position_of_key: dict[FoldKey, int] = {}
    latest_by_url: dict[int, Ranked] = {}
    for ranked in ranked_pages:
        page = ranked.candidate.page
        if page.url_id not in latest_by_url or page.first_seen > latest_by_url[page.url_id].candidate.page.first_seen:
            latest_by_url[page.url_id] = ranked
    for ranked in ranked_pages:
        if (
            latest_by_url[ranked.candidate.page.url_id] is not ranked
            or ("url", ranked.candidate.page.url_id) in seen_keys
        ):
            continue
        keys = _fold_keys(ranked, representatives if by_group else {})
        if any(key in seen_keys for key in keys):
            seen_keys |= set(keys)
            continue
        position = next((position_of_key[key] for key in keys if key in position_of_key), len(kept_pages))
        if position == len(kept_pages):
            kept_pages.append(ranked)
        elif _is_better(ranked, kept_pages[position], representatives):
            kept_pages[position] = ranked
        position_of_key |= dict.fromkeys(keys, position)
    seen_keys |= set(position_of_key)
    seen_keys |= {("url", url) for url in latest_by_url}
    return sort_ranked(kept_pages)


def spread_hosts(ranked_pages: Sequence[Ranked], counts: dict[str, int]) -> list[Ranked]:
    """Move all but the first `MAX_RESULTS_PER_HOST` results of each host to the end; otherwise keep the order.

    `counts` contains the number of results of each host so far, and is updated.
    """
    first_pages: list[Ranked] = []
    later_pages: list[Ranked] = []
    for ranked in ranked_pages:
        host_name = ranked.candidate.page.host
        counts[host_name] = counts.get(host_name, 0) + 1
        (first_pages if counts[host_name] <= MAX_RESULTS_PER_HOST else later_pages).append(ranked)
    return first_pages + later_pages


def _fold_keys(ranked: Ranked, representatives: Mapping[int, int]) -> list[FoldKey]:
    """Return the keys of a page's group and text. Of all pages that share a key, one is kept.

    A duplicate with titles of its own is only folded with pages that have the same text and titles.
    """
    page = ranked.candidate.page
    if page.pile_id is None:
        return [("id", page.id)]
    own_key = ("titled", page.pile_id, page.title, page.headline)
    if page.is_retitled:
        return [own_key]
    keys: list[FoldKey] = [("pile", page.pile_id), own_key]
    return [("group", representatives[page.id]), *keys] if page.id in representatives else keys


def _is_better(ranked: Ranked, rival: Ranked, representatives: Mapping[int, int]) -> bool:
    """Return whether to keep a page instead of `rival`, which is in the same group and has a higher score."""
    page, rival_page = ranked.candidate.page, rival.candidate.page
    if representatives.get(rival_page.id) == rival_page.id:
        return False
    if representatives.get(page.id) == page.id:
        return page.pile_id == rival_page.pile_id or ranked.score >= MIN_REPRESENTATIVE_SHARE * rival.score
    return rival_page.is_duplicate and not page.is_duplicate


class ShownPage(NamedTuple):
    """A page to show. `as_of` is the time of the query (UNIX seconds), or None for the present or for all times.

    `url_counts` is a dict from the id of a pile to the number of URLs with its text. `group_size` is the number of URLs
    in the page's group, `representative` is the URL of the group's representative. `is_uncertain` is true if the last
    attempt up to `as_of` did not find the page, or if the links by which the page was found may have been different at
    that time.
    """

    ranked: Ranked
    url_counts: Mapping[int, int]
    as_of: int | None
    group_size: int = 1
    representative: str | None = None
    is_uncertain: bool = False


def add_representative(
    shown_page: ShownPage, representative: IndexedGeneration, group_size: int, *, may_replace: bool
) -> ShownPage:
    """Return a page with the representative of its group and the number of URLs in the group.

    If the page and the representative have the same text, the representative is shown instead of the page. This is not
    done if `may_replace` is false, because the filters of a search might exclude the representative.
    """
    grouped_page = shown_page._replace(group_size=group_size, representative=representative.url)
    candidate = shown_page.ranked.candidate
    if not may_replace or candidate.page.is_retitled or representative.pile_id != candidate.page.pile_id:
        return grouped_page
    page = representative._replace(text=candidate.page.text)
    return grouped_page._replace(ranked=shown_page.ranked._replace(candidate=candidate._replace(page=page)))


def choose_snippet(text: str, description: str, hit_pattern: re.Pattern[str] | None) -> tuple[Piece, ...]:
    """Return the best snippet of the text, or of the description if only the description has a match or a text.

    `hit_pattern` matches the words of the query. For a query without words it is None, and a description is preferred.
    """
    from_text = snippet(text, hit_pattern)
    if description and not any(piece.hit for piece in from_text):
        from_description = snippet(description, hit_pattern)
        matches = hit_pattern is None or any(piece.hit for piece in from_description)
        return from_description if matches or not from_text else from_text
    return from_text
