"""Decide which robots.txt is in force at an origin after each attempt to fetch it (RFC 9309, section 2.3).

- 2xx: the file is in force for 30 minutes.
- 3xx: the redirect is followed, five times at most and to any origin. A redirect that is not followed counts as 4xx.
- 4xx except 429: the origin has no robots.txt, so everything is allowed for 30 minutes.
- 429, 5xx, and no response: what a 2xx, 3xx or 4xx of the last 24 hours decided stays in force; without one, nothing
  may be requested. The next attempt is after 1 minute, then after 2, 4 and so on, 30 minutes at most.
"""

from __future__ import annotations

from dataclasses import dataclass

from windrow.digest import hash64
from windrow.formats.robots import ALLOW_ALL, MAX_DELAY_SECONDS, Robots, parse
from windrow.formats.url import normalise
from windrow.model import LeftOut
from windrow.reasons import Reason

MAX_AGE_SECONDS = 1800.0
"""The time after which a robots.txt is fetched again, in seconds."""

MAX_STALE_SECONDS = 86_400.0
"""The time for which the rules of an origin stay in force if robots.txt cannot be fetched again, in seconds."""

MAX_REDIRECTS = 5
"""The maximum number of redirects of robots.txt that are followed."""

DENY_ALL = Robots(refusal=Reason.ROBOTS_UNREACHABLE)
_FIRST_RETRY_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class RobotsState:
    """The rules in force at an origin, and when to fetch robots.txt next. Times are in seconds of one clock."""

    robots: Robots
    due: float
    read: float | None = None  # when the response that decided `robots` arrived; None if no response did
    failures: int = 0  # the number of failed attempts in a row


NEW_STATE = RobotsState(DENY_ALL, 0.0)
"""The state before the first attempt, in which only robots.txt itself may be requested."""


WITHOUT_RULES = frozenset({304, 429, *range(500, 1000)})
"""The statuses of answers for robots.txt that do not say which rules are in force; nobody asked for a 304."""


def update_state(before: RobotsState, *, status: int | None, content: bytes, agent: str, now: float) -> RobotsState:
    """Return the state after an attempt to fetch robots.txt that ended at `now`. `before` is the previous state.

    `status` is None if there was no response, and 3xx for a redirect that is not followed. If it is None or one of
    WITHOUT_RULES, the rules before stay in force for a while. `agent` is our user agent.

    >>> update_state(NEW_STATE, status=404, content=b"", agent="x-crawler", now=0.0).robots.decide("/a").allowed
    True
    >>> update_state(NEW_STATE, status=503, content=b"", agent="x-crawler", now=0.0).due
    60.0
    """
    if status is not None and 200 <= status < 300:
        return RobotsState(parse(content, agent), now + MAX_AGE_SECONDS, now)
    if status is not None and status >= 300 and status not in WITHOUT_RULES:
        return RobotsState(ALLOW_ALL, now + MAX_AGE_SECONDS, now)
    wait = min(_FIRST_RETRY_SECONDS * 2 ** min(before.failures, 10), MAX_AGE_SECONDS)
    may_keep = before.read is not None and now - before.read < MAX_STALE_SECONDS
    robots, read = (before.robots, before.read) if may_keep else (DENY_ALL, None)
    return RobotsState(robots, now + wait, read, before.failures + 1)


LONG_DELAY_RULE = (
    f"its Crawl-delay is longer than {MAX_DELAY_SECONDS:.0f} seconds: that pause is kept, and not the longer one"
)


def find_long_delay(robots: Robots, url: str) -> list[LeftOut]:
    """Return an entry for the robots.txt at `url` if it asks for a longer pause than the one that is kept, else []."""
    if robots.asked_delay <= MAX_DELAY_SECONDS:
        return []
    return [LeftOut(hash64(f"{LONG_DELAY_RULE} {url}"), url, Reason.RATE_LIMITED, LONG_DELAY_RULE)]


def redirect_target(status: int, location: str, base: str, hops: int) -> str:
    """Return the normal form of the URL to which a redirect of robots.txt leads, or "" if it is not followed.

    `location` is its Location, `base` is the requested URL, and `hops` is the number of redirects already followed.

    >>> redirect_target(301, "/r.txt", "https://example.org/robots.txt", 0)
    'https://example.org/r.txt'
    >>> redirect_target(301, "/r.txt", "https://example.org/robots.txt", 5)
    ''
    """
    if status not in {300, 301, 302, 303, 307, 308} or hops >= MAX_REDIRECTS or not location:
        return ""
    return normalise(location, base).url
