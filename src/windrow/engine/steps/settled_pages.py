"""Gather settled attempts into pages that are written to the version store in one transaction."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from windrow.model import RecordedAttempt

PAGE = 256
"""Attempts that are written to the version store in one transaction."""

HELD = 16 << 20
"""The most bytes of documents in one transaction: their results are in memory until then."""

SECONDS = 5.0
"""The longest time for which attempts are gathered, in seconds: a killed process loses what it read."""


class SettledAttempt(NamedTuple):
    """An attempt, and the step's result for its bytes; None if they were not read."""

    recorded: RecordedAttempt
    result: Any


def pages(
    attempts: Iterator[SettledAttempt], clock: Callable[[], float] = time.monotonic
) -> Iterator[list[SettledAttempt]]:
    """Yield pages of `PAGE` attempts, or fewer if `HELD` bytes were read or `SECONDS` have passed."""
    page: list[SettledAttempt] = []
    size, began = 0, clock()
    for attempt in attempts:
        page.append(attempt)
        kept = attempt.recorded.attempt.kept
        size += kept.size if kept and attempt.result is not None else 0
        if len(page) == PAGE or size >= HELD or clock() - began >= SECONDS:
            yield page
            page, size, began = [], 0, clock()
    if page:
        yield page
