"""How long to wait between two requests to one origin: a state that each response updates.

The wait lasts from the end of a response to the beginning of the next request. It is the longest of

- the minimum delay: the Crawl-delay in robots.txt (180 seconds at most), or the configured delay if it has none;
- the duration of the last request times 2 to the power p. p is 2 at first, and each response with a status below 400
  lowers it by a tenth, to 0 at least. A 429 raises p by 1; after that, p is not lowered in this run;
- after a 429, the longest wait that these two rules have given since then, or gave just before it;
- the Retry-After of the last response, a day at most.

An origin gets no more requests in the run after three 503s, eight 429s, or ten requests without a response in a row.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import NamedTuple

from windrow.formats.moment import read_utc_time
from windrow.reasons import Reason

MAX_RETRY_AFTER_SECONDS = 86_400.0
"""The longest Retry-After that is obeyed, in seconds."""

MIN_RECORDED_PAUSE_SECONDS = 1.0
"""The shortest pause that is recorded for the next run, in seconds. A shorter one ends before that run begins."""

MAX_UNAVAILABLE, MAX_LIMITED, MAX_FAILED = 3, 8, 10
"""An origin gets no more requests after this many 503s, 429s, or requests without a response in a row."""

UNREACHED = frozenset({Reason.DNS_FAILED, Reason.CONNECT_FAILED, Reason.TLS_FAILED, Reason.TIMEOUT, Reason.INTERRUPTED})
"""Reasons why a request got no response but may get one later."""

REASONS_TO_RETRY_AT_ONCE = frozenset({Reason.CONNECT_FAILED, Reason.INTERRUPTED})
_INITIAL_TENTHS = 20  # tenths of p
_DIGITS = re.compile(r"[0-9]+")


class AnswerTiming(NamedTuple):
    """The result of a request: the status (None: no response), and the duration and Retry-After in seconds."""

    status: int | None
    seconds: float
    retry_after: float | None = None  # None: it is missing or not valid


class Pace(NamedTuple):
    """The state of one origin in a run, from which the wait before the next request follows.

    >>> Pace().wait(1.0), Pace().after_answer(AnswerTiming(200, 2.0), 1.0).wait(1.0) == 2.0 * 2**1.9
    (1.0, True)
    """

    tenths: int = _INITIAL_TENTHS  # the exponent p, in tenths
    is_held: bool = False  # whether p is no longer lowered, after a 429
    floor: float = 0.0  # the shortest wait after a 429, in seconds
    seconds: float = 0.0  # the duration of the last request
    retry_after: float = 0.0  # of the last response, in seconds from its end
    unavailable: int = 0  # the number of 503s in a row
    limited: int = 0  # the number of 429s in a row
    failed: int = 0  # the number of requests in a row without a response

    @property
    def p(self) -> float:
        """The exponent p that the module's docstring explains."""
        return self.tenths / 10

    @property
    def given_up(self) -> bool:
        """Whether the origin gets no more requests in this run."""
        return self.unavailable >= MAX_UNAVAILABLE or self.limited >= MAX_LIMITED or self.failed >= MAX_FAILED

    def wait(self, minimum: float) -> float:
        """Return the seconds from the end of the last response to the next request, at least `minimum`."""
        return max(minimum, self.seconds * 2**self.p, self.floor, self.retry_after)

    def after_answer(self, answer: AnswerTiming, minimum: float) -> Pace:
        """Return the state after a request with the result `answer`. `minimum` is the minimum delay in seconds."""
        status = answer.status
        is_limited = status == 429
        tenths = self.tenths
        if is_limited:
            tenths += 10
        elif not self.is_held and status is not None and status < 400:
            tenths = max(0, tenths - 1)
        pace = Pace(
            tenths,
            is_held=self.is_held or is_limited,
            floor=self.floor,
            seconds=max(0.0, answer.seconds),
            retry_after=min(max(answer.retry_after or 0.0, 0.0), MAX_RETRY_AFTER_SECONDS),
            unavailable=self.unavailable + 1 if status == 503 else 0,
            limited=self.limited + 1 if is_limited else 0,
            failed=self.failed + 1 if status is None else 0,
        )
        if not pace.is_held:
            return pace
        previous_wait = max(minimum, self.seconds * 2**self.p, self.floor)
        return pace._replace(floor=max(previous_wait, pace.seconds * 2**pace.p))


def minimum_delay(delay: float | None, default: float) -> float:
    """Return the Crawl-delay `delay` of an origin (already capped), or `default` if it is None."""
    return default if delay is None else delay


def retry_after(text: str, now: datetime) -> float | None:
    """Return a Retry-After in either form (RFC 9110, section 10.2.3) as seconds from `now`, or None if it is not valid.

    The result is from 0 to `MAX_RETRY_AFTER_SECONDS`.

    >>> from datetime import UTC
    >>> noon = datetime(2026, 11, 21, 12, tzinfo=UTC)
    >>> retry_after("120", noon), retry_after("Sat, 21 Nov 2026 12:01:00 GMT", noon), retry_after("soon", noon)
    (120.0, 60.0, None)
    """
    text = text.strip()
    if _DIGITS.fullmatch(text):
        return min(float(text[:12]), MAX_RETRY_AFTER_SECONDS)
    end = None if text[:1].isdigit() else read_utc_time(text)
    return min(max((end - now).total_seconds(), 0.0), MAX_RETRY_AFTER_SECONDS) if end else None


def should_retry_at_once(reason: Reason | None, tries: int) -> bool:
    """Return whether to repeat a request at once: only after the first try, if the connection failed or broke.

    >>> should_retry_at_once(Reason.CONNECT_FAILED, 1), should_retry_at_once(Reason.CONNECT_FAILED, 2)
    (True, False)
    """
    return tries == 1 and reason in REASONS_TO_RETRY_AT_ONCE
