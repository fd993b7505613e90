"""Write the results of Load and Judge steps to the store, for a page of documents at a time."""

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

MAX_PAGE_DOCUMENTS = 64
"""The most documents that are written together; after a crash between store and ledger, this is repeated."""
MAX_PAGE_ROWS = 20_000
"""Rows after which no further document is added to a page."""

Page = list[tuple[Due, Reading]]
"""Documents with the readings to record for them."""


def gather_pages(
    results: Iterator[tuple[Due, Any]], max_documents: int, max_rows: float
) -> Iterator[list[tuple[Due, Any]]]:
    """Yield pages of `max_documents` documents with their results, or of fewer if these have `max_rows` rows."""
    page: list[tuple[Due, Any]] = []
    rows = 0
    for due_item, result in results:
        page.append((due_item, result))
        rows += result.count
        if len(page) >= max_documents or rows >= max_rows:
            yield page
            page, rows = [], 0
    if page:
        yield page


def write_to_store(store: Store, step: ItemStep, page: list[tuple[Due, Any]], at: datetime) -> Page:
    """Write a page of results to the store at the time `at` if the step needs it; return the readings to record."""
    match step:
        case Load():
            documents = [(due_item.item, result) for due_item, result in page if isinstance(result, Rows)]
            refused = _apply_together(lambda group: store.stage(group, at), documents)
            errors = {documents[index][0].id: error for index, error in refused.items()}
            return [(due_item, _reading_of_load(result, errors.get(due_item.item.id))) for due_item, result in page]
        case Judge():
            cases = [_Case(due_item, reading) for due_item, reading in page]

            def judge_group(group: list[_Case]) -> None:
                for case, findings in zip(group, store.judge(group, at), strict=True):
                    case.published = findings

            refused = _apply_together(judge_group, cases)
            return [
                (case.due, _reading_of_refused(refused[index])) if index in refused else case.result
                for index, case in enumerate(cases)
            ]
    return page


def _apply_together(action: Callable[[list[Any]], Any], documents: list[Any]) -> dict[int, StoreError]:
    """Apply an action to all documents at once or, if the store refuses them, to each alone; return those refused.

    The errors are by index. An error that is not about the rows, or about those of all of several documents, is raised.
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
        alone = [_apply_together(action, [document]) for document in documents]
        refused = {index: errors[0] for index, errors in enumerate(alone) if errors}
        if len(refused) == len(documents):
            raise
        return refused
    return {}


def _reading_of_load(result: Any, error: StoreError | None) -> Any:
    """Return the reading of a document after the store was given its rows, or the step's own if it has no rows."""
    if error is not None:
        return _reading_of_refused(error)
    return Reading(count=result.count) if isinstance(result, Rows) else result


def _reading_of_refused(error: StoreError) -> Reading:
    """Return the reading of a document whose rows the store refused: later runs try to write it again."""
    return Reading(Reason.STORE_FAILED, (Finding(Reason.STORE_FAILED.class_name, str(error)),))


class _Case:
    """A document to judge, in the form that the store takes, and its outcome afterwards."""

    def __init__(self, due: Due, reading: Reading) -> None:
        """Take the lookups from the step's reading: `asks` has the keys to look up in the store, by question."""
        self.due = due
        self.item = due.item.id
        self.asks: dict[str, set[str]] = {}
        for lookup in reading.lookups:
            self.asks.setdefault(lookup.question, set()).add(lookup.key)
        self._reading = reading
        self._fatal: Reason | None = None
        self._findings: list[Finding] = []
        self.published: tuple[Finding, ...] = ()  # the store's own findings when it published the document

    def decide(self, known_keys: Mapping[str, AbstractSet[str]]) -> Reason | None:
        """Return why to withhold the document, given the keys in the store by question; None to publish it."""
        missing = [lookup.finding for lookup in self._reading.lookups if lookup.key not in known_keys[lookup.question]]
        self._findings = [*self._reading.findings, *missing]
        fatal = Reason.INTEGRITY_FATAL if any(finding.level is Level.FATAL for finding in self._findings) else None
        self._fatal = self._reading.reason or fatal
        return self._fatal

    @property
    def result(self) -> tuple[Due, Reading]:
        """The document, and the reading to record."""
        findings = (*self._findings, *self.published)
        return self.due, Reading(self._fatal, findings, count=self._reading.count)
