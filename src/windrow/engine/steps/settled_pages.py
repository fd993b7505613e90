"""Gather attempts with their results into pages, each of which is written to the version store in one transaction."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from windrow.contract import Ask, AttemptObservations, Observation, Skip, results_of
from windrow.model import Reading, RecordedAttempt
from windrow.reasons import BY_RULE, OWN_FAULTS, Reason

PAGE_SIZE = 256
"""The most attempts in a page."""

MAX_PAGE_BYTES = 16 << 20
"""Bytes of documents that were read after which a page is complete: their results are in memory until it is written."""

MAX_GATHER_SECONDS = 5.0
"""Seconds after which a page is complete: if the process is killed, the results of an unwritten page are lost."""


class SettledAttempt(NamedTuple):
    """An attempt, and the step's result for its bytes: a Reading if the step failed, None if they were not read."""

    recorded: RecordedAttempt
    result: Any

    def judge_use(self, *, has_records: bool) -> tuple[bool, Reason | None]:
        """Return whether the result is usable, and if it should be usable but is not, the reason; otherwise None.

        A failed reading is not usable. If the step makes records (`has_records`), a result of only Skips is not either.
        """
        if self.result is None or isinstance(self.result, Reading):
            return False, self.result.reason if self.result else None
        outputs = results_of(self.result) if has_records else ()
        skips = [output for output in outputs if isinstance(output, Skip)]
        if not has_records or len(skips) < len(outputs):
            return True, None
        return False, next((skip.reason for skip in skips if skip.reason not in BY_RULE), None)

    @property
    def asks(self) -> list[Ask]:
        """The requests to services in the result."""
        return [output for output in results_of(self.result) if isinstance(output, Ask)]

    @property
    def record_keys(self) -> set[str]:
        """The keys of the records that the result observes, except the gone ones; only for steps that make records."""
        observations = (output for output in results_of(self.result) if isinstance(output, Observation))
        return {observation.key for observation in observations if observation.value is not None}

    def entry_without_records(self) -> AttemptObservations:
        """Return an entry for a store of records: with a Skip if the reading failed, otherwise without results."""
        attempt, failure = self.recorded.attempt, self.result
        skips: tuple[Skip, ...] = ()
        if isinstance(failure, Reading) and failure.reason is not None:
            skips = (Skip(failure.reason, "", failure.findings[0].message if failure.findings else ""),)
        return AttemptObservations(self.recorded.seq, attempt.started, attempt.url, self.recorded.source, skips)

    @property
    def left_out(self) -> list[Skip]:
        """Why the document, or parts of it, were read but not kept, without the reasons in OWN_FAULTS.

        The results of steps that do not make records have the reason of the document in an attribute `reason`, and
        what caps leave out of it in an attribute `left_out`.
        """
        if isinstance(self.result, Reading):
            return []
        if hasattr(self.result, "left_out"):
            own_reason = self.result.reason
            skips = [Skip(Reason(own_reason))] if own_reason and own_reason != Reason.CAPPED else []
            skips += self.result.left_out
        else:
            outputs = self.result if isinstance(self.result, Iterable) else ()
            skips = [output for output in outputs if isinstance(output, Skip)]
        return [skip for skip in skips if skip.reason not in OWN_FAULTS]

    @property
    def is_capped(self) -> bool:
        """Whether the document was read, but a cap leaves out a part of it."""
        return any(skip.reason is Reason.CAPPED for skip in self.left_out)


def gather_pages(
    attempts: Iterator[SettledAttempt], clock: Callable[[], float] = time.monotonic
) -> Iterator[list[SettledAttempt]]:
    """Yield pages of PAGE_SIZE attempts, or fewer after MAX_PAGE_BYTES were read or MAX_GATHER_SECONDS have passed."""
    page: list[SettledAttempt] = []
    size, began = 0, clock()
    for attempt in attempts:
        page.append(attempt)
        response = attempt.recorded.attempt.kept
        size += response.size if response and attempt.result is not None else 0
        if len(page) == PAGE_SIZE or size >= MAX_PAGE_BYTES or clock() - began >= MAX_GATHER_SECONDS:
            yield page
            page, size, began = [], 0, clock()
    if page:
        yield page
