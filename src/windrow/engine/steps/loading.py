"""Write the results of Load and Judge steps to the store, for a batch of documents at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Any

from windrow.contract import Judge, Load, Rows
from windrow.contract.steps import ItemStep
from windrow.engine.run import Store
from windrow.engine.steps.due import Due
from windrow.errors import StoreError
from windrow.model import Finding, Level, Reading
from windrow.reasons import Reason

MAX_BATCH_DOCUMENTS = 64
"""The maximum number of documents written together, and written again after a crash between store and ledger."""
MAX_BATCH_ROWS = 20_000
"""The number of rows after which no further document is added to a batch."""

Batch = list[tuple[Due, Reading]]
"""Documents, each with the reading to record for it."""


def gather_batches(
    results: Iterator[tuple[Due, Any]], max_documents: int, max_rows: float
) -> Iterator[list[tuple[Due, Any]]]:
    """Yield batches of documents with results, each of `max_documents` documents, or of at least `max_rows` rows."""
    batch: list[tuple[Due, Any]] = []
    rows = 0
    for due_item, result in results:
        batch.append((due_item, result))
        rows += result.count
        if len(batch) >= max_documents or rows >= max_rows:
            yield batch
            batch, rows = [], 0
    if batch:
        yield batch


def write_to_store(store: Store, step: ItemStep, batch: list[tuple[Due, Any]], now: datetime) -> Batch:
    """Write a batch of results to the store if the step is Load or Judge. Return the batch with readings to record."""
    match step:
        case Load():
            documents = [(due_item.item, result) for due_item, result in batch if isinstance(result, Rows)]
            errors_by_index = _apply_together(lambda group: store.stage(group, now), documents)
            errors = {documents[index][0].id: error for index, error in errors_by_index.items()}
            return [(due_item, _reading_of_load(result, errors.get(due_item.item.id))) for due_item, result in batch]
        case Judge():
            cases = [_Case(due_item, reading) for due_item, reading in batch]

            def judge_group(group: list[_Case]) -> None:
                for case, findings in zip(group, store.judge(group, now), strict=True):
                    case.store_findings = findings

            errors_by_index = _apply_together(judge_group, cases)
            return [
                (case.due, _reading_of_refused(errors_by_index[index])) if index in errors_by_index else case.result
                for index, case in enumerate(cases)
            ]
    return batch


def _apply_together(action: Callable[[list[Any]], Any], documents: list[Any]) -> dict[int, StoreError]:
    """Apply an action to all documents together, or if the store refuses their rows, to each document alone.

    Returns a dict from the index of a refused document to the store's error. Raises StoreError if the store refused
    each of several documents, or if its error is not about the rows.
    """
    if not documents:
        return {}
    try:
        action(documents)
    except StoreError as error:
        if error.retry or error.reason is not Reason.STORE_FAILED:
            raise
        if len(documents) == 1:
            return {0: error}
        errors_of_documents = [_apply_together(action, [document]) for document in documents]
        errors_by_index = {index: errors[0] for index, errors in enumerate(errors_of_documents) if errors}
        if len(errors_by_index) == len(documents):
            raise
        return errors_by_index
    return {}


def _reading_of_load(result: Any, error: StoreError | None) -> Any:
    if error is not None:
        return _reading_of_refused(error)
    if not isinstance(result, Rows):
        return result
    left_out = ((Reason.DUPLICATE_RECORD, result.repeated),) if result.repeated else ()
    return Reading(findings=result.findings, count=result.count, left_out=left_out)


def _reading_of_refused(error: StoreError) -> Reading:
    """Return the reading of a document whose rows the store refused. Its reason makes later runs write it again."""
    return Reading(Reason.STORE_FAILED, (Finding(Reason.STORE_FAILED.class_name, str(error)),))


class _Case:
    """A document to judge, with the attributes of `windrow.contract.Undecided`; later also its reading to record."""

    def __init__(self, due: Due, reading: Reading) -> None:
        """Collect the keys to look up in the store in `asks`, by question."""
        self.due = due
        self.item = due.item.id
        self.asks: dict[str, set[str]] = {}
        for lookup in reading.lookups:
            self.asks.setdefault(lookup.question, set()).add(lookup.key)
        self._reading = reading
        self._fatal: Reason | None = None
        self._findings: list[Finding] = []
        self.store_findings: tuple[Finding, ...] = ()  # what the store found when it made the document current

    def decide(self, known_keys: Mapping[str, AbstractSet[str]]) -> Reason | None:
        """Return why the store must withhold the document, or None if the document becomes current.

        `known_keys` has, for each question in `asks`, those of its keys that the store has.
        """
        missing = [lookup.finding for lookup in self._reading.lookups if lookup.key not in known_keys[lookup.question]]
        self._findings = [*self._reading.findings, *missing]
        fatal = Reason.INTEGRITY_FATAL if any(finding.level is Level.FATAL for finding in self._findings) else None
        self._fatal = self._reading.reason or fatal
        return self._fatal

    @property
    def result(self) -> tuple[Due, Reading]:
        findings = (*self._findings, *self.store_findings)
        return self.due, Reading(self._fatal, findings, count=self._reading.count)
