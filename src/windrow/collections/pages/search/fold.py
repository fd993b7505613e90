"""The order of results: duplicates folded, no host pushing all others away, the same on every page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from windrow.collections.pages.search.rank import Candidate, total
from windrow.collections.pages.search.result import Part

PER_HOST = 3
"""Results of one host in a row of ten that come before those of others; the rest follow further down."""


class Ranked(NamedTuple):
    """A page with the parts of its score."""

    candidate: Candidate
    parts: tuple[Part, ...]

    @property
    def score(self) -> float:
        """Return the sum of the parts."""
        return total(self.parts)


def ordered(found: Iterable[Ranked]) -> list[Ranked]:
    """Sort by score; among equals the older page, then the lower number, so that the order is always the same."""
    return sorted(found, key=lambda one: (-round(one.score, 6), one.candidate.page.first, one.candidate.page.id))


def folded(found: Sequence[Ranked], seen: set[tuple[str, int]]) -> list[Ranked]:
    """Keep the best page of each text and the best version of each URL; `seen` remembers them over several calls.

    The best of a text is the one that is not marked as a duplicate, where there is one.
    """
    chosen: dict[tuple[str, int], Ranked] = {}
    for one in found:
        key = _key(one)
        if key in seen:
            continue
        other = chosen.get(key)
        if other is None or (other.candidate.page.duplicate and not one.candidate.page.duplicate):
            chosen[key] = one
    seen |= set(chosen)
    versions: dict[int, Ranked] = {}
    for one in ordered(chosen.values()):
        url = one.candidate.page.url_id
        if ("url", url) not in seen:
            versions.setdefault(url, one)
    seen |= {("url", url) for url in versions}
    return list(versions.values())


def spread(found: Sequence[Ranked], counts: dict[str, int], most: int = PER_HOST) -> list[Ranked]:
    """Put what goes beyond `most` of one host behind the others, keeping the order otherwise."""
    first: list[Ranked] = []
    later: list[Ranked] = []
    for one in found:
        host = one.candidate.page.host
        counts[host] = counts.get(host, 0) + 1
        (first if counts[host] <= most else later).append(one)
    return first + later


def _key(one: Ranked) -> tuple[str, int]:
    page = one.candidate.page
    return ("id", page.id) if page.pile is None else ("pile", page.pile)
