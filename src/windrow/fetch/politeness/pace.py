"""How long to wait between two requests to one origin: a state that each response updates.

The wait lasts from the end of one answer to the beginning of the next request and is the longest of

- the least delay: robots.txt's Crawl-delay (180 seconds at most), or the site's own if it has no Crawl-delay;
- the duration of the last request times 2 to the power p. p begins at 2 and falls by a tenth with
  every answer below 400, never below 0. A 429 raises it by 1 and ends its falling for the run;
- after a 429, the longest of these waits since then, so that the pace never rises again in the run;
- the Retry-After of the last response, a day at most.

A site is given up for the run after three 503, eight 429, or ten failed connections in a row.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import NamedTuple

from windrow.formats.moment import read_utc_time
from windrow.reasons import Reason

MAX_RETRY_AFTER = 86_400.0
"""Longest Retry-After that is obeyed, in seconds."""

MIN_RECORDED_PAUSE = 1.0
"""Shortest pause in seconds that is recorded for the next run, which cannot begin sooner."""

UNAVAILABLE, LIMITED, FAILED = 3, 8, 10
"""Results in a row after which a site is given up: 503, 429, no response."""

UNREACHED = frozenset({Reason.DNS_FAILED, Reason.CONNECT_FAILED, Reason.TLS_FAILED, Reason.TIMEOUT, Reason.INTERRUPTED})
"""Reasons for which a request has no response now but may have one later."""

RETRIED_AT_ONCE = frozenset({Reason.CONNECT_FAILED, Reason.INTERRUPTED})
_INITIAL_TENTHS = 20  # tenths of p
_DIGITS = re.compile(r"[0-9]{1,12}")


class AnswerTiming(NamedTuple):
    """The result of a request: status (None: no response), duration in seconds, and Retry-After in seconds."""

    status: int | None
    seconds: float
    after: float | None = None


class Pace(NamedTuple):
    """The state of one origin within one run.

    >>> Pace().wait(1.0), Pace().after_answer(AnswerTiming(200, 2.0), 1.0).wait(1.0) == 2.0 * 2**1.9
    (1.0, True)
    """

    tenths: int = _INITIAL_TENTHS  # p, in tenths
    held: bool = False  # after a 429: p does not fall any more
    floor: float = 0.0  # shortest wait in seconds, since a 429
    seconds: float = 0.0  # duration of the last request
    after: float = 0.0  # Retry-After of the last response, in seconds from its end
    unavailable: int = 0
    limited: int = 0
    failed: int = 0

    @property
    def p(self) -> float:
        """Return the exponent."""
        return self.tenths / 10

    @property
    def given_up(self) -> bool:
        """Return whether the site gets no more requests in this run."""
        return self.unavailable >= UNAVAILABLE or self.limited >= LIMITED or self.failed >= FAILED

    def wait(self, least: float) -> float:
        """Return the seconds from the end of the last response to the next request."""
        return max(least, self.seconds * 2**self.p, self.floor, self.after)

    def after_answer(self, answer: AnswerTiming, least: float) -> Pace:
        """Return the state after a response; `least` is the least delay in force."""
        status = answer.status
        limited = status == 429
        tenths = self.tenths
        if limited:
            tenths += 10
        elif not self.held and status is not None and status < 400:
            tenths = max(0, tenths - 1)
        pace = Pace(
            tenths,
            held=self.held or limited,
            floor=self.floor,
            seconds=max(0.0, answer.seconds),
            after=min(max(answer.after or 0.0, 0.0), MAX_RETRY_AFTER),
            unavailable=self.unavailable + 1 if status == 503 else 0,
            limited=self.limited + 1 if limited else 0,
            failed=self.failed + 1 if status is None else 0,
        )
        if not pace.held:
            return pace
        previous_wait = max(least, self.seconds * 2**self.p, self.floor)
        return pace._replace(floor=max(previous_wait, pace.seconds * 2**pace.p))


def minimum_delay(delay: float | None, default: float) -> float:
    """Return the least delay of a site: its Crawl-delay (already capped), or `default` if that is None."""
    return default if delay is None else delay


def retry_after(text: str, now: datetime) -> float | None:
    """Return a Retry-After in either form (RFC 9110, section 10.2.3) as seconds from `now`; None if it is not valid.

    >>> from datetime import UTC
    >>> noon = datetime(2026, 11, 21, 12, tzinfo=UTC)
    >>> retry_after("120", noon), retry_after("Sat, 21 Nov 2026 12:01:00 GMT", noon), retry_after("soon", noon)
    (120.0, 60.0, None)
    """
    text = text.strip()
    if _DIGITS.fullmatch(text):
        return min(float(text), MAX_RETRY_AFTER)
    time = None if text[:1].isdigit() else read_utc_time(text)
    return min(max((time - now).total_seconds(), 0.0), MAX_RETRY_AFTER) if time else None


def is_transient(reason: Reason | None, tries: int) -> bool:
    """Return whether to repeat a request at once: only after the first try, and if the connection failed.

    >>> is_transient(Reason.CONNECT_FAILED, 1), is_transient(Reason.CONNECT_FAILED, 2), is_transient(Reason.TIMEOUT, 1)
    (True, False, False)
    """
    return tries == 1 and reason in RETRIED_AT_ONCE
