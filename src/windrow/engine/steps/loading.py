"""Load and judge: write the results of steps for a page of documents to the store, in order."""

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

FEW = 64
"""Documents that are written together, to the store and then to the ledger; repeated after a crash between."""
ROWS = 20_000
"""Rows after which no further document is added to those written together."""

Page = list[tuple[Due, Reading]]


def pages(results: Iterator[tuple[Due, Any]], few: int, most: float) -> Iterator[list[tuple[Due, Any]]]:
    """Yield pages for one transaction: `few` documents, or fewer once they have `most` rows."""
    page: list[tuple[Due, Any]] = []
    rows = 0
    for due_item, result in results:
        page.append((due_item, result))
        rows += result.count
        if len(page) >= few or rows >= most:
            yield page
            page, rows = [], 0
    if page:
        yield page


def write(store: Store, step: ItemStep, page: list[tuple[Due, Any]], at: datetime) -> Page:
    """Write the results of a step for documents to the store, and return the readings to record."""
    match step:
        case Load():
            documents = [(due_item.item, result) for due_item, result in page if isinstance(result, Rows)]
            _apply_together(lambda group: store.stage(group, at), documents)
            return [
                (due_item, Reading(count=result.count) if isinstance(result, Rows) else result)
                for due_item, result in page
            ]
        case Judge():
            cases = [_Case(due_item, reading) for due_item, reading in page]

            def judge_group(group: list[_Case]) -> None:
                for case, findings in zip(group, store.judge(group, at), strict=True):
                    case.published = findings

            _apply_together(judge_group, cases)
            return [case.result for case in cases]
    return page


def _apply_together(action: Callable[[list[Any]], Any], documents: list[Any]) -> None:
    """Apply an action to all documents at once; if that fails, to one after another.

    So documents before the one at fault are stored, as if each had its own transaction.
    """
    try:
        if documents:
            action(documents)
    except StoreError:
        if len(documents) == 1:
            raise
        for document in documents:
            action([document])


class _Case:
    """A document to judge, and its outcome afterwards."""

    def __init__(self, due: Due, reading: Reading) -> None:
        """Start from the result of the step."""
        self.due = due
        self.item = due.item.id
        self.asks: dict[str, set[str]] = {}
        for lookup in reading.lookups:
            self.asks.setdefault(lookup.question, set()).add(lookup.key)
        self._reading = reading
        self._fatal: Reason | None = None
        self._findings: list[Finding] = []
        self.published: tuple[Finding, ...] = ()

    def decide(self, known_keys: Mapping[str, AbstractSet[str]]) -> Reason | None:
        """Return why to withhold it: a fatal finding, its own or of a key missing in the store; None to publish."""
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
