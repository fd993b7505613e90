"""When a page is due again.

The interval of a page begins with the site's `recrawl_interval`. Each time its text or its description changed halves
it, each time they did not, however the bytes differ, lengthens it by half; it stays between a day and a year (or the
configured interval, where that lies outside). The first visit, and an answer that tells nothing of the content - 4xx,
5xx, none - leaves it as it is. Where the site says `every`, that is the interval, whatever is seen.

A sitemap or feed that tells of a change after the last look makes a page due, a day after that look at
the earliest: some sites stamp every page with the present moment.
"""

from __future__ import annotations

from collections.abc import Iterable

from windrow.collections.pages.code import ExitCode

DAY = 86_400.0
YEAR = 365 * DAY


def adapt(interval: float, *, changed: bool | None, start: float) -> float:
    """Return the next interval of a page; `changed` is None where nothing is known of the content.

    >>> adapt(28 * DAY, changed=True, start=28 * DAY) / DAY, adapt(28 * DAY, changed=False, start=28 * DAY) / DAY
    (14.0, 42.0)
    """
    after = interval if changed is None else interval * (0.5 if changed else 1.5)
    return min(max(after, min(DAY, start)), max(YEAR, start))


def interval(changes: Iterable[bool | None], start: float) -> float:
    """Return the interval of a page from what its visits after the first one found, oldest first.

    >>> interval([], 28 * DAY) / DAY, interval([True, False], 28 * DAY) / DAY
    (28.0, 21.0)
    """
    found = start
    for one in changes:
        found = adapt(found, changed=one, start=start)
    return found


def changed(code: ExitCode, *, same: bool) -> bool | None:
    """Tell what is known of a page's content before it is read; `same` is whether bytes or target are as before.

    >>> changed(ExitCode.FILE_DID_NOT_CHANGE, same=False), changed(ExitCode.FILE_INGESTED, same=False)
    (False, None)
    """
    if code is ExitCode.FILE_DID_NOT_CHANGE:
        return False
    return False if same and code is ExitCode.FILE_INGESTED else None


def segments(url: str) -> int:
    """Count the segments of a normal address's path that are not empty.

    >>> segments("https://h/"), segments("https://h/a//b/?c/d")
    (0, 2)
    """
    path = url.partition("?")[0].split("/")[3:]
    return len(path) - path.count("")
