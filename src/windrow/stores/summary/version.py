"""What must change in the generations of one address, when all that was seen of it is folded again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from windrow.stores.summary.generation import CrawlObservation, Generation, fold


class FoldedVersion(NamedTuple):
    """A generation as it must be. `id` is the one it has already, None for one that is new."""

    made: Generation
    id: int | None


class Folded(NamedTuple):
    """The versions of an address, oldest first, and the ids of generations that are none any more."""

    versions: list[FoldedVersion]
    gone: set[int]


def versions(seen: Sequence[tuple[CrawlObservation, int | None]], known: Iterable[int]) -> Folded:
    """Fold an address's observations, each with the id of the generation that it belongs to so far.

    A version takes the least id among its observations that no older version took, so that ids last:
    versions that become one leave the others' ids over, one that becomes two gets a new id.

    >>> from windrow.stores.summary.generation import Sighted
    >>> a, b = (CrawlObservation(at, bytes([at]), Sighted.CONTENT, b"A") for at in (1, 3))
    >>> between = CrawlObservation(2, bytes([2]), Sighted.CONTENT, b"B")
    >>> [(one.made.identity, one.id) for one in versions([(a, 7), (between, None), (b, 7)], [7]).versions]
    [(b'A', 7), (b'B', None), (b'A', None)]
    """
    belongs = {one.crawl: generation for one, generation in seen if generation is not None}
    free = set(known)
    found: list[FoldedVersion] = []
    for made in fold(one for one, _ in seen):
        ids = {belongs[crawl] for crawl in made.crawls if crawl in belongs} & free
        own = min(ids) if ids else None
        if own is not None:
            free.discard(own)
        found.append(FoldedVersion(made, own))
    return Folded(found, free)
