"""Which robots.txt is in force at an origin: what each attempt to fetch it makes of it (RFC 9309, section 2.3).

- 2xx: the file, for 30 minutes.
- 3xx: followed, five times at most and to wherever it leads; one more counts as 4xx.
- 4xx but 429: there is none, all is allowed, for 30 minutes.
- 429, 5xx, and no answer: nothing may be asked for. It is tried again after 1 minute, 2, 4 and so on, 30
  minutes at most. A file that was read within the last 24 hours stays in force meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass

from windrow.formats.robots import ALLOW_ALL, Robots, parse
from windrow.formats.url import normalise
from windrow.reasons import Reason

AGE = 1800.0
"""Seconds for which a robots.txt counts."""

STALE = 86_400.0
"""Seconds for which one counts while no newer one can be had."""

HOPS = 5
"""Redirects that are followed."""

SHUT = Robots(refusal=Reason.ROBOTS_UNREACHABLE)
_FIRST = 60.0


@dataclass(frozen=True, slots=True)
class RobotsState:
    """The robots.txt in force at an origin, and when it is to be fetched next (seconds of any one clock)."""

    robots: Robots
    due: float
    read: float | None = None  # when the file in force was read
    failures: int = 0  # attempts in a row that failed


NEW = RobotsState(SHUT, 0.0)
"""Before the first attempt: nothing but robots.txt itself may be asked for."""


def updated(before: RobotsState, *, status: int | None, content: bytes, agent: str, now: float) -> RobotsState:
    """Return what is in force after an attempt that ended `now`.

    `status` is None where no answer came; a status of 3xx is that of a redirect that is not followed.

    >>> updated(NEW, status=404, content=b"", agent="x-crawler", now=0.0).robots.ask("/a").allowed
    True
    >>> updated(NEW, status=503, content=b"", agent="x-crawler", now=0.0).due
    60.0
    """
    if status is not None and 200 <= status < 300:
        return RobotsState(parse(content, agent), now + AGE, now)
    if status is not None and 300 <= status < 500 and status != 429:
        return RobotsState(ALLOW_ALL, now + AGE, now)
    wait = min(_FIRST * 2 ** min(before.failures, 10), AGE)
    fresh = before.read is not None and now - before.read < STALE
    kept, read = (before.robots, before.read) if fresh else (SHUT, None)
    return RobotsState(kept, now + wait, read, before.failures + 1)


def follow(status: int, location: str, base: str, hops: int) -> str:
    """Return the normal address that a redirect of robots.txt leads to, empty where it is not followed.

    `hops` counts the redirects followed before this one.

    >>> follow(301, "/r.txt", "https://example.org/robots.txt", 0)
    'https://example.org/r.txt'
    >>> follow(301, "/r.txt", "https://example.org/robots.txt", 5)
    ''
    """
    if status not in {301, 302, 303, 307, 308} or hops >= HOPS or not location:
        return ""
    return normalise(location, base).url
