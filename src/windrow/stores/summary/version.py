"""What must change in the generations of one address, when all that was seen of it is folded again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from windrow.stores.summary.generation import Generation, Observation, fold


class Version(NamedTuple):
    """A generation as it must be. `id` is the one it has already, `before` the crawl whose reading stands for it there.

    Both are None for a generation that is new.
    """

    made: Generation
    id: int | None
    before: bytes | None


class Folded(NamedTuple):
    """The versions of an address, oldest first, and the ids of generations that are none any more."""

    versions: list[Version]
    gone: set[int]


def versions(seen: Sequence[tuple[Observation, int | None]], known: Iterable[int]) -> Folded:
    """Fold an address's observations, each with the id of the generation that it belongs to so far.

    A version takes the least id among its observations that no older version took, so that ids last:
    versions that become one leave the others' ids over, one that becomes two gets a new id.

    >>> from windrow.stores.summary.generation import Sight
    >>> a, b = (Observation(at, bytes([at]), Sight.CONTENT, b"A") for at in (1, 3))
    >>> between = Observation(2, bytes([2]), Sight.CONTENT, b"B")
    >>> [(one.made.identity, one.id) for one in versions([(a, 7), (between, None), (b, 7)], [7]).versions]
    [(b'A', 7), (b'B', None), (b'A', None)]
    """
    belongs = {one.crawl: generation for one, generation in seen if generation is not None}
    first = _first(seen)
    free = set(known)
    found: list[Version] = []
    for made in fold(one for one, _ in seen):
        ids = {belongs[crawl] for crawl in made.crawls if crawl in belongs} & free
        own = min(ids) if ids else None
        if own is not None:
            free.discard(own)
        found.append(Version(made, own, first.get(own) if own is not None else None))
    return Folded(found, free)


def _first(seen: Sequence[tuple[Observation, int | None]]) -> Mapping[int, bytes]:
    """Return the earliest crawl that each generation has so far."""
    least: dict[int, tuple[int, bytes]] = {}
    for one, generation in seen:
        if generation is not None and (generation not in least or one[:2] < least[generation]):
            least[generation] = one[:2]
    return {generation: crawl for generation, (_, crawl) in least.items()}
