"""Settled visits, gathered into pages: what is written to the version store in one transaction."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from windrow.model import RecordedAttempt

PAGE = 256
"""Visits that are written to the version store in one transaction."""

HELD = 16 << 20
"""Bytes of documents that are written in one transaction: what was read of them is in memory till then."""

SECONDS = 5.0
"""For which visits are gathered at most before they are written: a process that is killed loses what it read."""


class SettledAttempt(NamedTuple):
    """A visit, and what the step made of its bytes; None where they were not read."""

    recorded: RecordedAttempt
    result: Any


def pages(
    visits: Iterator[SettledAttempt], clock: Callable[[], float] = time.monotonic
) -> Iterator[list[SettledAttempt]]:
    """Gather what is written together: `PAGE` visits, or fewer where a lot was read or it takes long."""
    page: list[SettledAttempt] = []
    held, began = 0, clock()
    for visit in visits:
        page.append(visit)
        kept = visit.recorded.attempt.kept
        held += kept.size if kept and visit.result is not None else 0
        if len(page) == PAGE or held >= HELD or clock() - began >= SECONDS:
            yield page
            page, held, began = [], 0, clock()
    if page:
        yield page
