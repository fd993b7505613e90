"""What one address said when: its observations, folded in the order of time into generations.

The outcome depends on the set of observations and not on the order in which they arrive: the fold
always takes all that is known of an address. A generation is one version of what is there; it is
open until something else is seen there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple


class Sight(Enum):
    """What an observation tells of an address."""

    CONTENT = "content"  # this is there: a document, a file or a redirect
    SAME = "same"  # the server says that nothing changed
    MISSING = "missing"  # it is not there, and may return
    GONE = "gone"  # it is not there, for good
    UNKNOWN = "unknown"  # no answer, or one that says nothing of the address


class Observation(NamedTuple):
    """One crawl of an address. `at` is in seconds since 1970; `identity` says what was there, for CONTENT.

    `crawl` is the UUID of the crawl: two crawls in one second stand in its order.
    """

    at: int
    crawl: bytes
    sight: Sight
    identity: bytes = b""


@dataclass(slots=True)
class Generation:
    """One version: when it was first and last seen, its end where that is known, and the crawls that saw it.

    The first of `crawls` is the one whose reading stands for the generation.
    """

    identity: bytes
    first_seen: int
    last_seen: int
    confirmed_end: int | None = None
    crawls: list[bytes] = field(default_factory=list)


def fold(observations: Iterable[Observation]) -> list[Generation]:
    """Return the generations of one address, oldest first (specification, sections 3.3 and 3.4).

    Other content ends a generation when it is seen; GONE does so at once, MISSING the second time in
    a row. The same content after such an absence is the same generation, opened again; after other
    content it is a new one, so that A, B, A are three. SAME confirms what is open, UNKNOWN nothing.

    >>> seen = [Observation(at, b"", Sight.CONTENT, text) for at, text in ((1, b"A"), (2, b"B"), (3, b"A"))]
    >>> [(one.identity, one.first_seen, one.confirmed_end) for one in fold(seen)]
    [(b'A', 1, 2), (b'B', 2, 3), (b'A', 3, None)]
    """
    found: list[Generation] = []
    missing = 0
    for at, crawl, sight, identity in sorted(observations, key=lambda one: one[:2]):
        latest = found[-1] if found else None
        if sight is Sight.CONTENT:
            missing = 0
            if latest is None or latest.identity != identity:
                if latest is not None and latest.confirmed_end is None:
                    latest.confirmed_end = at
                found.append(latest := Generation(identity, at, at))
            latest.confirmed_end = None
        elif sight is Sight.SAME and latest is not None and latest.confirmed_end is None:
            missing = 0
        elif sight in {Sight.MISSING, Sight.GONE}:
            missing += 1
            if latest is not None and latest.confirmed_end is None and (sight is Sight.GONE or missing > 1):
                latest.confirmed_end = at
            continue
        else:
            continue
        latest.last_seen = at
        latest.crawls.append(crawl)
    return found
