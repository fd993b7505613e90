"""The order of results: duplicates folded, no host pushing all others away, the same on every page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from windrow.collections.pages.search.rank import Candidate, total
from windrow.collections.pages.search.result import ScorePart

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

    Which version that is must not depend on scores: two indexes, each with scores of its own, show the same pages.

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


def spread(found: Sequence[Ranked], counts: dict[str, int], most: int = PER_HOST) -> list[Ranked]:
    """Put what goes beyond `most` of one host behind the others, keeping the order otherwise."""
    first: list[Ranked] = []
    later: list[Ranked] = []
    for one in found:
        host = one.candidate.page.host
        counts[host] = counts.get(host, 0) + 1
        (first if counts[host] <= most else later).append(one)
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
