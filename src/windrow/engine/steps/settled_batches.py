"""Gather attempts and their results into batches, which are written to the version store together."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from windrow.contract import NOT_MODIFIED, REQUEST, Ask, AttemptObservations, Observation, Skip, results_of
from windrow.model import Attempt, Finding, Reading, RecordedAttempt
from windrow.reasons import BY_RULE, OWN_FAULTS, SUBSTITUTE_REASONS, Reason

BATCH_SIZE = 256
"""The maximum number of attempts in a batch."""

MAX_BATCH_BYTES = 16 << 20
"""The number of bytes read after which a batch is complete, since its results are in memory until it is written."""

MAX_GATHER_SECONDS = 5.0
"""The time after which a batch is complete, in seconds. If the process is killed, an unwritten batch is lost."""


WRONG_VALUES = (ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""Errors that are raised if the result of a step lacks the values that the collection or its store expects."""


_WITHOUT_DOCUMENT = SUBSTITUTE_REASONS | {Reason.NO_TEXT}


class SettledAttempt(NamedTuple):
    """An attempt and the step's result for it: a Reading if the step failed, None if the bytes were not read."""

    recorded: RecordedAttempt
    result: Any

    def judge_use(self, *, has_records: bool) -> tuple[bool, Reason | None]:
        """Return whether the result is usable, and a reason if it is not usable but should be.

        A failed reading and None are not usable. If the step makes records (`has_records`), a result that is empty or
        has only Skips is not usable either; the reason is the first of the Skips' reasons that is not in BY_RULE. If it
        does not, a document without text, a file without a reader and another page in its place are not usable, and a
        page that has not changed is.
        """
        if self.result is None or isinstance(self.result, Reading):
            is_unchanged = not has_records and self.result is None and _has_not_changed(self.recorded.attempt)
            return is_unchanged, self.result.reason if self.result else None
        if not has_records:
            reason = getattr(self.result, "reason", "")
            is_usable = reason not in _WITHOUT_DOCUMENT and reason != Reason.UNSUPPORTED
            return is_usable, Reason(reason) if reason in _WITHOUT_DOCUMENT else None
        outputs = results_of(self.result)
        skips = [output for output in outputs if isinstance(output, Skip)]
        if len(skips) < len(outputs):
            return True, None
        return False, next((skip.reason for skip in skips if skip.reason not in BY_RULE), None)

    @property
    def asks(self) -> list[Ask]:
        """The requests to services in the result."""
        return [output for output in results_of(self.result) if isinstance(output, Ask)]

    @property
    def record_keys(self) -> set[str]:
        """The keys of the records that the result observes, except those that are gone. The step must make records."""
        observations = (output for output in results_of(self.result) if isinstance(output, Observation))
        return {observation.key for observation in observations if observation.value is not None}

    def entry_without_records(self) -> AttemptObservations:
        """Return the attempt's entry for a store of records. It has no record; it has a Skip if the reading failed."""
        attempt, failure = self.recorded.attempt, self.result
        skips: tuple[Skip, ...] = ()
        if isinstance(failure, Reading) and failure.reason is not None:
            skips = (Skip(failure.reason, "", failure.findings[0].message if failure.findings else ""),)
        return AttemptObservations(self.recorded.seq, attempt.started, attempt.url, self.recorded.source, skips)

    @property
    def left_out(self) -> list[Skip]:
        """Why the document or parts of it were read but not kept. Reasons in OWN_FAULTS are not among them.

        If the step does not make records, its result has the reason of the document in an attribute `reason`, and what
        caps leave out in an attribute `left_out`.
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
    def substitute_reason(self) -> Reason | None:
        """Why the response to a request is not the document but another page. The step must make records."""
        reason = self.judge_use(has_records=True)[1] if self.recorded.attempt.kind == REQUEST else None
        return reason if reason in SUBSTITUTE_REASONS else None

    @property
    def is_capped(self) -> bool:
        """Whether the document was read, but a cap leaves out a part of it."""
        return any(skip.reason is Reason.CAPPED for skip in self.left_out)


def _has_not_changed(attempt: Attempt) -> bool:
    return attempt.status == NOT_MODIFIED or bool(attempt.kept and attempt.kept.revisit)


def gather_batches(
    attempts: Iterator[SettledAttempt], clock: Callable[[], float] = time.monotonic
) -> Iterator[list[SettledAttempt]]:
    """Yield batches of BATCH_SIZE attempts, or fewer after MAX_BATCH_BYTES bytes or MAX_GATHER_SECONDS seconds."""
    batch: list[SettledAttempt] = []
    size, began = 0, clock()
    for attempt in attempts:
        batch.append(attempt)
        response = attempt.recorded.attempt.kept
        size += response.size if response and attempt.result is not None else 0
        if len(batch) == BATCH_SIZE or size >= MAX_BATCH_BYTES or clock() - began >= MAX_GATHER_SECONDS:
            yield batch
            batch, size, began = [], 0, clock()
    if batch:
        yield batch


def write_apart(
    batch: list[SettledAttempt],
    checkpoint: int,
    write: Callable[[list[SettledAttempt], int], None],
    read_checkpoint: Callable[[], int],
) -> None:
    """Write the attempts of a batch one by one with `write`. An attempt with a wrong value gets a failed reading.

    `checkpoint` is the checkpoint after the whole batch, and `read_checkpoint` returns the current one.
    """
    for settled in batch:
        upto = max(read_checkpoint(), min(checkpoint, settled.recorded.seq))
        try:
            write([settled], upto)
        except WRONG_VALUES as error:
            finding = Finding(type(error).__name__, f"its result cannot be used: {error}"[:1000])
            write([settled._replace(result=Reading(Reason.STEP_FAILED, (finding,)))], upto)
