"""Run a step on the items that are due, page by page: in the pool, then the store, then the ledger.

The part of each source in a phase is a task.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, islice
from math import inf
from typing import Any

from windrow.contract import Derive, Judge, Load, Read, Summarise
from windrow.engine.fetchers.message import Job
from windrow.engine.run import Derived, HarvestRun
from windrow.engine.runtime import rare_gc
from windrow.engine.steps.due import Due, count, due
from windrow.engine.steps.loading import FEW, ROWS, pages, write
from windrow.engine.steps.unread import is_due
from windrow.errors import ReaderFailed, StoreError, WindrowError
from windrow.ledger import LedgerWriter
from windrow.model import ArchivePlace, Item, Reading, Status
from windrow.reasons import OWN_FAULTS


@dataclass(slots=True)
class _Task:
    seq: int
    done: int = 0
    refused: int = 0
    broken: int = 0
    why: str = ""


@dataclass(slots=True)
class PhaseTasks:
    """One task for each source in a phase, with its counts; a task begins with the source's first document."""

    run: HarvestRun
    name: str
    _tasks: dict[str, _Task] = field(default_factory=dict)

    @property
    def phase(self) -> int:
        """The number of the phase."""
        return self.run.collection.phase(self.name)

    @contextmanager
    def working(self, total: int) -> Iterator[None]:
        """Show the phase's progress, and record the end of every task; after an error, the rest stays due."""
        self.run.progress.begin(self.name, total)
        try:
            yield
        except (StoreError, ReaderFailed) as error:
            self._close(error)
            raise
        else:
            self._close()
        finally:
            self.run.progress.end()

    def open(self, writer: LedgerWriter, source: str) -> None:
        """Record the start of a source's task if it has not begun."""
        if source not in self._tasks:
            number = writer.sessions.open_task(self.run.session, self.run.collection.name, source, self.phase)
            self._tasks[source] = _Task(number)

    def count(self, writer: LedgerWriter, source: str, *, done: bool, broken: bool = False, why: str = "") -> None:
        """Count a document; `broken` if the fault is ours and not the document's, and `why` describes it."""
        self.open(writer, source)
        task = self._tasks[source]
        task.done += done
        task.refused += not done
        task.broken += broken
        if broken and not task.why:
            task.why = why

    def _close(self, error: WindrowError | None = None) -> None:
        """Record the end of every task; with an error, all as failed."""
        with self.run.ledger.writing() as writer:
            for source, task in self._tasks.items():
                comment = f"{source}: {task.done} done, {task.refused} refused"
                comment += f"; {task.why}" if task.why else ""
                comment += f"; {error}" if error else ""
                failed = bool(error or task.broken)
                self.run.close_task(task.seq, comment, error.reason if error else None, failed=failed, writer=writer)


def first_finding(result: object) -> str:
    """Return the message of the first finding of a failed reading, or an empty text for other results."""
    return result.findings[0].message if isinstance(result, Reading) and result.reason and result.findings else ""


AnyItemStep = Read | Load | Judge | Summarise

PAGE = 256
"""Items whose start, and whose readings, are recorded in one transaction."""
READ_AHEAD = 4096
"""Items taken before all of them are recorded: bounds memory while the pool reads."""


def take_step(run: HarvestRun, step: AnyItemStep) -> None:
    """Run a step for every item that is due, and for those that earlier runs could not read.

    A page is written to the store first, then to the ledger: after a crash between the two it is due again.
    """
    unread = [] if isinstance(step, Summarise) else _find_unread(run, step)
    total = count(run.ledger, run.collection, step.phase) + len(unread)
    store = run.harvest.store
    if not total or (store is None and not isinstance(step, Read)):
        return
    tasks = PhaseTasks(run, step.phase)
    bounds = (PAGE, inf) if isinstance(step, Read) else (FEW, ROWS)
    with tasks.working(total):
        for page in pages(_yield_results(run, step, unread, tasks), *bounds):
            _record_page(run, step, write(store, step, page, run.clock()) if store else page, tasks)
            if run.stopping():
                break


def _yield_results(
    run: HarvestRun, step: AnyItemStep, unread: list[Due], tasks: PhaseTasks
) -> Iterator[tuple[Due, Any]]:
    """Return each item with the step's result; documents to load are in the order of their ranks."""
    items = due(run.ledger, run.collection, step.phase)
    if isinstance(step, Summarise):
        if run.harvest.store:
            run.harvest.store.summarise(run.clock())
        return ((due_item, Reading()) for due_item in items)
    read_alone = (
        (due_item, run.pool.run_alone(job, run.tick).result) for due_item, job in _make_jobs(run, step, unread, tasks)
    )
    read_in_pool = _read_in_pool(run, step, items, tasks)
    return chain(read_in_pool, read_alone) if isinstance(step, Read) else chain(read_alone, read_in_pool)


def _read_in_pool(
    run: HarvestRun, step: Read | Load | Judge, items: Iterator[Due], tasks: PhaseTasks
) -> Iterator[tuple[Due, Any]]:
    """Read items in the pool, except those for which the ledger has the step's reading of the same bytes."""
    while not run.stopping() and (batch := list(islice(items, READ_AHEAD))):
        pairs: Iterator[tuple[Due, Any]] = _make_jobs(run, step, batch, tasks)
        if isinstance(step, Read):
            pairs = ((due_item, _earlier_reading(run, step, due_item.item) or job) for due_item, job in pairs)
        yield from run.pool.resolve(pairs, batch=None if isinstance(step, Read) else 8, pulse=run.tick)


def _make_jobs(
    run: HarvestRun, step: Read | Load | Judge, items: Iterable[Due], tasks: PhaseTasks
) -> Iterator[tuple[Due, Job]]:
    """Yield the pool's jobs, looking captures up page by page, and record that their step has begun.

    After a crash these items still wait for the step.
    """
    number = run.collection.steps.index(step)
    options = {name: str(value) for name, value in run.harvest.options.items()}
    stream = iter(items)
    while not run.stopping() and (page := list(islice(stream, PAGE))):
        with run.ledger.writing() as writer:
            for due_item in page:
                tasks.open(writer, due_item.source)
                writer.items.start(run.session, due_item.item.id, step.phase)
        captures = {due_item.capture for due_item in page}
        places = {digest: place for digest in captures if (place := run.ledger.captures.of_digest(digest))}
        for due_item in page:
            if run.stopping():
                return  # jobs in the pool are finished; this item and the rest stay due
            place = places.get(due_item.capture, ArchivePlace("", 0, 0))
            yield due_item, Job(number, due_item.item, place, options)


def _reading_version(run: HarvestRun, step: AnyItemStep, item: Item) -> str:
    """Return what a reading depends on besides the bytes: the step's version, its resources, and `by` of the item."""
    if isinstance(step, Summarise):
        return step.version
    resources = run.harvest.resources
    names = [f"{name}={resources[name].digest[7:23]}" for name in step.resources if name in resources]
    names += [step.by(item)] if isinstance(step, Read) and step.by else []
    return "+".join([step.version, *names])


def _find_unread(run: HarvestRun, step: Read | Load | Judge) -> list[Due]:
    """Return the items that the step could not read before, by no fault of theirs, and that are due again."""
    collection = run.collection
    earlier = {document.number: document for document in run.ledger.unread.items(collection.name, step.phase)}
    at = run.clock()
    unread = [
        due_item
        for due_item in (due(run.ledger, collection, step.phase, Status.FAILED) if earlier else ())
        if (document := earlier.get(due_item.item.id))
        and is_due(document, _reading_version(run, step, due_item.item), at)
    ]
    return (
        unread
        if isinstance(step, Read)
        else sorted(unread, key=lambda due_item: (due_item.item.rank, due_item.item.id))
    )


def _earlier_reading(run: HarvestRun, step: Read, item: Item) -> Reading | None:
    """Return this step's earlier reading of the same bytes, or None if the ledger does not have it."""
    if not item.member or not item.digest:
        return None
    earlier = run.ledger.items.reading(item.digest, step.phase, _reading_version(run, step, item))
    if earlier is None or earlier.reason in OWN_FAULTS:
        return None
    findings = run.ledger.items.findings_in_phase(earlier.item, run.collection.phase(step.phase))
    return Reading(earlier.reason, tuple(findings), count=earlier.number, md5=earlier.md5)


def _record_page(run: HarvestRun, step: AnyItemStep, page: list[tuple[Due, Reading]], tasks: PhaseTasks) -> None:
    """Record a page in one transaction: readings, findings and members."""
    collection = run.collection
    next_step = collection.step_after(step.kind, step.phase)
    with run.ledger.writing() as writer:
        for due_item, reading in page:
            item = due_item.item
            digest = (
                "" if isinstance(step, Summarise) else item.digest
            )  # of all documents together, not of certain bytes
            writer.items.add_reading(
                run.session, item.id, (step.phase, _reading_version(run, step, item)), digest, reading, next_step
            )
            run.add_findings(writer, item.id, tasks.phase, reading)
            for member in reading.members:
                writer.listed_files.add_member(
                    run.session, collection.name, collection.members.kind, f"{item.key}/{member.name}"[:512],
                    attempt=item.attempt or 0, member=member, step=collection.step_after(collection.members.kind),
                )  # fmt: skip
            broken = reading.reason in OWN_FAULTS
            tasks.count(writer, due_item.source, done=reading.done, broken=broken, why=first_finding(reading))
    run.progress.step(len(page), sum(not reading.done for _, reading in page))
    run.tick()


def derive_step(run: HarvestRun, step: Derive) -> None:
    """Run the harvest's derivation of this phase as a task; do nothing if it has none."""
    derivation = run.harvest.derivations.get(step.phase)
    if derivation is None:
        return
    task = run.open_task(run.collection.phase(step.phase))
    run.progress.begin(step.phase)

    def pulse() -> bool:
        run.tick()
        return not run.stopping()

    try:
        with rare_gc():
            derived = derivation(pulse)
            message, failed = derived if isinstance(derived, Derived) else (derived, {})
    except WindrowError as error:
        # What it has committed stays, and the next run continues there.
        run.close_task(task, f"{step.phase}: {error}", error.reason, failed=True)
        raise
    else:
        run.close_task(task, message)
        for source, error_text in failed.items():
            run.close_task(
                run.open_task(run.collection.phase(step.phase), source), f"{source}: {error_text}", failed=True
            )
    finally:
        run.progress.end()
