"""When a page is due again.

The interval of a page begins with the site's `recrawl_interval`. Each time its text or its description changed halves
it. Each time they did not, however the bytes differ, lengthens it by half, up to one and a half times the time for
which they have been seen as they are: many looks on one day tell no more than one. It stays between a day and a year
(or the configured interval, where that lies outside). The first visit, and an answer that tells nothing of the
content - 4xx, 5xx, none - leaves it as it is. Where the site says `every`, that is the interval, whatever is seen.

A sitemap or feed that tells of a change after the last look makes a page due, a day after that look at
the earliest: some sites stamp every page with the present moment.
"""

from __future__ import annotations

from collections.abc import Iterable

from windrow.contract import Look

DAY = 86_400.0
YEAR = 365 * DAY
_SHORTER, _LONGER = 0.5, 1.5


def adapt(interval: float, look: Look, start: float) -> float:
    """Return the next interval of a page, in seconds.

    >>> adapt(28 * DAY, Look(True), 28 * DAY) / DAY, adapt(28 * DAY, Look(False, 28 * 86_400), 28 * DAY) / DAY
    (14.0, 42.0)
    >>> adapt(28 * DAY, Look(False, 600), 28 * DAY) / DAY
    28.0
    """
    after = interval
    if look.changed:
        after *= _SHORTER
    elif look.changed is not None:
        after = min(interval * _LONGER, max(interval, look.lasted * _LONGER))
    return min(max(after, min(DAY, start)), max(YEAR, start))


def interval(looks: Iterable[Look], start: float) -> float:
    """Return the interval of a page from what its visits after the first one found, oldest first.

    >>> interval([], 28 * DAY) / DAY, interval([Look(True), Look(False, 14 * 86_400)], 28 * DAY) / DAY
    (28.0, 21.0)
    """
    found = start
    for look in looks:
        found = adapt(found, look, start)
    return found


def segments(url: str) -> int:
    """Count the segments of a normal address's path that are not empty.

    >>> segments("https://h/"), segments("https://h/a//b/?c/d")
    (0, 2)
    """
    path = url.partition("?")[0].split("/")[3:]
    return len(path) - path.count("")
