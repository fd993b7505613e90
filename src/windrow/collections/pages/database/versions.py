"""What one address said when: its observations, folded in the order of time into generations.

The outcome depends on the set of observations and not on the order in which they arrive: the fold
always takes all that is known of an address. A generation is one version of what is there; it is
open until something else is seen there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple


class Sighted(Enum):
    """What an observation tells of an address."""

    CONTENT = "content"  # this is there: a document, a file or a redirect
    SAME = "same"  # the server says that nothing changed since it sent a body last
    MISSING = "missing"  # it is not there, and may return
    GONE = "gone"  # it is not there, for good
    UNKNOWN = "unknown"  # no answer, or one that says nothing of the address


class CrawlObservation(NamedTuple):
    """One crawl of an address. `at` is in seconds since 1970; `identity` says what was there, for CONTENT.

    `crawl` is the UUID of the crawl: two crawls in one second stand in its order. `body` is false of content
    that no later SAME may refer to, such as a redirect.
    """

    at: int
    crawl: bytes
    sight: Sighted
    identity: bytes = b""
    body: bool = True


@dataclass(slots=True)
class Generation:
    """One text: when it was first and last seen, its end where that is known, and the crawls that saw it.

    `readings` has for each of `crawls` the one whose bytes say what was there: itself, or that which a SAME refers to.
    """

    identity: bytes
    first_seen: int
    last_seen: int
    confirmed_end: int | None = None
    crawls: list[bytes] = field(default_factory=list)
    readings: list[bytes] = field(default_factory=list)

    @property
    def reads(self) -> bytes:
        """Return the crawl whose reading describes the generation: that of its last confirmation."""
        return self.readings[-1]


def fold(observations: Iterable[CrawlObservation]) -> list[Generation]:
    """Return the generations of one address, oldest first (specification, sections 3.3, 3.4 and 10).

    Other content ends a generation when it is seen; GONE does so at once, MISSING the second time in a row. What
    comes after an end is a new generation, the same content too, so that nothing is told to have been there in
    between. SAME is the content that had a body last, whatever was seen since: the server compares with that.
    UNKNOWN says nothing.

    >>> seen = [CrawlObservation(at, b"", Sighted.CONTENT, text) for at, text in ((1, b"A"), (2, b"B"), (3, b"A"))]
    >>> [(one.identity, one.first_seen, one.confirmed_end) for one in fold(seen)]
    [(b'A', 1, 2), (b'B', 2, 3), (b'A', 3, None)]
    """
    found: list[Generation] = []
    body: tuple[bytes, bytes] | None = None  # its identity, and the crawl that it came with
    missing = 0
    for one in sorted(observations, key=lambda one: one[:2]):
        latest = found[-1] if found and found[-1].confirmed_end is None else None
        if one.sight in {Sighted.MISSING, Sighted.GONE}:
            missing += 1
            if latest is not None and (one.sight is Sighted.GONE or missing > 1):
                latest.confirmed_end = one.at
            continue
        there = (one.identity, one.crawl) if one.sight is Sighted.CONTENT else body
        if one.sight is Sighted.UNKNOWN or there is None:
            continue
        if one.body:
            body = there
        missing = 0
        if latest is None or latest.identity != there[0]:
            if latest is not None:
                latest.confirmed_end = one.at
            found.append(latest := Generation(there[0], one.at, one.at))
        latest.last_seen = one.at
        latest.crawls.append(one.crawl)
        latest.readings.append(there[1])
    return found


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
