"""Load, judge and summarise: documents go into the store one after another, by rank."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from windrow.contract import Judge, Load, Rows, Summarise
from windrow.engine.fetchers.message import Done, Job
from windrow.engine.run import HarvestRun, Store
from windrow.engine.steps.due import Due, count, due
from windrow.engine.steps.stepping import PhaseTasks, first_finding, jobs, step_version, take_alone, unread_items
from windrow.errors import ReaderFailed, StoreError
from windrow.model import Finding, Level, Reading
from windrow.reasons import OWN_FAULTS, Reason

FEW = 64
"""Documents that are written together, into the store and then on the ledger: a crash between is done again."""
ROWS = 20_000
"""Rows after which no further document joins those that are written together."""


def load_step(run: HarvestRun, step: Load | Judge | Summarise) -> None:
    """Take a Load, Judge or Summarise step: read in the pool, ahead; written here, in order."""
    again = [] if isinstance(step, Summarise) else unread_items(run, step, step_version(run, step))
    total = count(run.ledger, run.collection, step.phase) + len(again)
    if not total or run.harvest.store is None:
        return
    tasks = PhaseTasks(run, run.collection.phase(step.phase))
    run.progress.begin(step.phase, total)
    try:
        for page in _pages(_results(run, step, run.harvest.store, again, tasks)):
            _record(run, step, page, tasks)
            if run.stopping():
                break
    except (StoreError, ReaderFailed) as error:
        # What is not loaded stays due: the next run goes on here.
        tasks.close(error, error.reason)
        raise
    else:
        tasks.close()
    finally:
        run.progress.end()


Result = tuple[Due, Reading]


def _results(
    run: HarvestRun, step: Load | Judge | Summarise, store: Store, again: list[Due], tasks: PhaseTasks
) -> Iterator[Result]:
    if isinstance(step, Load):
        return _stage(run, store, _in_order(run, step, again, tasks))
    if isinstance(step, Judge):
        return _judge(run, store, _in_order(run, step, again, tasks))
    return _summarise(run, step, store)


def _pages(outcomes: Iterator[Result]) -> Iterator[list[Result]]:
    page: list[Result] = []
    for outcome in outcomes:
        page.append(outcome)
        if len(page) >= FEW:
            yield page
            page = []
    if page:
        yield page


def _in_order(run: HarvestRun, step: Load | Judge, again: list[Due], tasks: PhaseTasks) -> Iterator[tuple[Due, Done]]:
    """Read documents in the pool, and give them back in order: first those that were not read by an earlier run."""
    yield from take_alone(run, step, sorted(again, key=lambda document: (document.item.rank, document.item.id)), tasks)
    kept: dict[int, Due] = {}

    def drawn() -> Iterator[Job]:
        for document, job in jobs(run, step, due(run.ledger, run.collection, step.phase), tasks):
            kept[document.item.id] = document
            yield job

    for job, done in run.pool.run(drawn(), batch=8, pulse=run.tick):
        yield kept.pop(job.item.id), done


def _stage(run: HarvestRun, store: Store, results: Iterator[tuple[Due, Done]]) -> Iterator[Result]:
    for page in _groups(results):
        documents = [(document.item, done.result) for document, done in page if isinstance(done.result, Rows)]
        _together(lambda group: store.stage(group, run.clock()), documents)
        for document, done in page:
            yield document, Reading(count=done.result.count) if isinstance(done.result, Rows) else done.result


def _groups(results: Iterator[tuple[Due, Done]]) -> Iterator[list[tuple[Due, Done]]]:
    """Gather documents that are written in one transaction: few enough, and with few enough rows."""
    page: list[tuple[Due, Done]] = []
    rows = 0
    for document, done in results:
        page.append((document, done))
        rows += done.result.count
        if len(page) >= FEW or rows >= ROWS:
            yield page
            page, rows = [], 0
    if page:
        yield page


def _together(act: Callable[[list[Any]], Any], documents: list[Any]) -> None:
    """Apply an action to all documents at once; if that fails, to one after another.

    So what stands before the document at fault is in the store, as if each had a transaction of its own.
    """
    try:
        if documents:
            act(documents)
    except StoreError:
        if len(documents) == 1:
            raise
        for document in documents:
            act([document])


class _Case:
    """A document to be judged, and then its outcome."""

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

    def decide(self, known: Mapping[str, AbstractSet[str]]) -> Reason | None:
        """Withhold it for a fatal finding, its own or one of a record that the store does not know."""
        missing = [lookup.finding for lookup in self._reading.lookups if lookup.key not in known[lookup.question]]
        self._findings = [*self._reading.findings, *missing]
        fatal = Reason.INTEGRITY_FATAL if any(finding.level is Level.FATAL for finding in self._findings) else None
        self._fatal = self._reading.reason or fatal
        return self._fatal

    @property
    def result(self) -> Result:
        """The document, and all that is put on record of it."""
        findings = (*self._findings, *self.published)
        return self.due, Reading(self._fatal, findings, count=self._reading.count)


def _judge(run: HarvestRun, store: Store, results: Iterator[tuple[Due, Done]]) -> Iterator[Result]:
    def act(group: list[_Case]) -> None:
        for case, findings in zip(group, store.judge(group, run.clock()), strict=True):
            case.published = findings

    for page in _groups(results):
        cases = [_Case(document, done.result) for document, done in page]
        _together(act, cases)
        for case in cases:
            yield case.result


def _summarise(run: HarvestRun, step: Summarise, store: Store) -> Iterator[Result]:
    """Update the summaries once; every document that waited for them is done."""
    store.summarise(run.clock())
    for document in due(run.ledger, run.collection, step.phase):
        yield document, Reading()


def _record(run: HarvestRun, step: Load | Judge | Summarise, page: list[Result], tasks: PhaseTasks) -> None:
    """Record a page of outcomes."""
    is_summary = isinstance(step, Summarise)  # of the documents together: of no bytes
    version = step.version if isinstance(step, Summarise) else step_version(run, step)
    phase, then = run.collection.phase(step.phase), run.collection.step_after(step.kind, step.phase)
    with run.ledger.writing() as writer:
        for document, reading in page:
            item = document.item
            digest = "" if is_summary else item.digest
            writer.items.read(run.session, item.id, (step.phase, version), digest, reading, then)
            run.record_findings(writer, item.id, phase, reading)
            broken = reading.reason in OWN_FAULTS
            tasks.count(writer, document.source, done=reading.done, broken=broken, why=first_finding(reading))
    run.progress.step(len(page), sum(not reading.done for _, reading in page))
    run.tick()
