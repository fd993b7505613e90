"""Due work goes through the steps that read and check it; each source's part of a phase is a task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from windrow.contract import Derive, ItemStep, Judge, Load, Read
from windrow.engine.fetchers.message import Done, Job
from windrow.engine.run import Derived, HarvestRun
from windrow.engine.runtime import rare_gc
from windrow.engine.steps.due import Due, count, due
from windrow.engine.steps.unread import is_due
from windrow.errors import ReaderFailed, WindrowError
from windrow.ledger import LedgerWriter
from windrow.model import ArchivePlace, Item, Reading, Status
from windrow.reasons import OWN_FAULTS, Reason


@dataclass(slots=True)
class _Task:
    seq: int
    done: int = 0
    refused: int = 0
    broken: int = 0
    why: str = ""


@dataclass(slots=True)
class PhaseTasks:
    """One task for each source that a phase works on, with its counts; it begins with the source's first document."""

    run: HarvestRun
    phase: int
    _tasks: dict[str, _Task] = field(default_factory=dict)

    def open(self, writer: LedgerWriter, source: str) -> None:
        """Record the start of a source's task, once."""
        if source not in self._tasks:
            seq = writer.sessions.open_task(self.run.session, self.run.collection.name, source, self.phase)
            self._tasks[source] = _Task(seq)

    def count(self, writer: LedgerWriter, source: str, *, done: bool, broken: bool = False, why: str = "") -> None:
        """Count a document; `broken` where the fault is ours and not the document's, and `why` what it is."""
        self.open(writer, source)
        task = self._tasks[source]
        task.done += done
        task.refused += not done
        task.broken += broken
        if broken and not task.why:
            task.why = why

    def close(self, error: Exception | None = None, reason: Reason | None = None) -> None:
        """Record the end of every task; with an error all of them failed."""
        with self.run.ledger.writing() as writer:
            for source, task in self._tasks.items():
                comment = f"{source}: {task.done} done, {task.refused} refused"
                comment += f"; {task.why}" if task.why else ""
                comment += f"; {error}" if error else ""
                failed = bool(error or task.broken)
                self.run.close_task(task.seq, comment, reason, failed=failed, writer=writer)


PAGE = 256
"""Items moved in one transaction."""


class StepOutcome(NamedTuple):
    """What a step made of one item."""

    due: Due
    reading: Reading
    remembered: bool = False


def first_finding(result: object) -> str:
    """Return the message of the first finding of a failed reading; empty for any other result."""
    return result.findings[0].message if isinstance(result, Reading) and result.reason and result.findings else ""


def places(run: HarvestRun, digests: Iterable[str]) -> dict[str, ArchivePlace]:
    """Return the places of captures, by digest."""
    known = {}
    for name in set(digests):
        if place := run.ledger.captures.of_digest(name):
            known[name] = place
    return known


def jobs(
    run: HarvestRun, step: Read | Load | Judge, items: Iterable[Due], tasks: PhaseTasks
) -> Iterator[tuple[Due, Job]]:
    """Make the pool's jobs, looking captures up page by page."""
    number = run.collection.steps.index(step)
    options = {name: str(value) for name, value in run.harvest.options.items()}
    for page in _pages(items):
        _start(run, step, page, tasks)
        where = places(run, (due_item.capture for due_item in page))
        for due_item in page:
            if run.stopping():
                return  # what is in the pool's hands is finished; this and the rest are due again
            yield due_item, Job(number, due_item.item, where.get(due_item.capture, ArchivePlace("", 0, 0)), options)


def _pages(items: Iterable[Due]) -> Iterator[tuple[Due, ...]]:
    stream = iter(items)
    while page := tuple(islice(stream, PAGE)):
        yield page


def _start(run: HarvestRun, step: ItemStep, page: Iterable[Due], tasks: PhaseTasks) -> None:
    """Note that the step is begun for items: a crash leaves them waiting for it."""
    with run.ledger.writing() as writer:
        for due_item in page:
            tasks.open(writer, due_item.source)
            writer.items.start(run.session, due_item.item.id, step.phase)


def step_version(run: HarvestRun, step: Read | Load | Judge) -> str:
    """Return what a reading depends on beside the bytes: the step's version and its resources."""
    known = run.harvest.resources
    names = [f"{name}={known[name].digest[7:23]}" for name in step.resources if name in known]
    return "+".join([step.version, *names])


def _version_for(step: Read | Load | Judge, item: Item, own_version: str) -> str:
    """Return a step's version for one item: with what its reading depends on beside the bytes."""
    return f"{own_version}+{step.by(item)}" if isinstance(step, Read) and step.by else own_version


def unread_items(run: HarvestRun, step: Read | Load | Judge, own_version: str) -> list[Due]:
    """Return the items that the step did not read before, and not by their fault, and that it takes again now."""
    collection = run.collection
    failed = run.ledger.unread.items(collection.name, step.phase)
    before, at = {document.number: document for document in failed}, run.clock()
    standing = due(run.ledger, collection, step.phase, Status.FAILED) if before else ()
    return [
        due_item
        for due_item in standing
        if (last := before.get(due_item.item.id)) and is_due(last, _version_for(step, due_item.item, own_version), at)
    ]


def take_alone(
    run: HarvestRun, step: Read | Load | Judge, items: Iterable[Due], tasks: PhaseTasks
) -> Iterator[tuple[Due, Done]]:
    """Take a step on items one after the other, while the pool does nothing else."""
    for due_item, job in jobs(run, step, items, tasks):
        yield due_item, run.pool.run_alone(job, run.tick)


def take_step(run: HarvestRun, step: Read) -> None:
    """Take a Read or Check step for every item that is due."""
    phase = run.collection.phase(step.phase)
    own_version = step_version(run, step)
    again = unread_items(run, step, own_version)
    total = count(run.ledger, run.collection, step.phase) + len(again)
    if not total:
        return
    tasks = PhaseTasks(run, phase)
    run.progress.begin(step.phase, total)
    failed = None
    try:
        for page in _results(run, step, own_version, tasks):
            _record_page(run, step, page, own_version, tasks)
            if run.stopping():
                break
        for due_item, done in take_alone(run, step, again, tasks):
            _record_page(run, step, [StepOutcome(due_item, done.result)], own_version, tasks)
    except ReaderFailed as error:
        failed = error  # what is not read stays due
        raise
    finally:
        tasks.close(failed)
        run.progress.end()


def _results(run: HarvestRun, step: Read, own_version: str, tasks: PhaseTasks) -> Iterator[list[StepOutcome]]:
    """Yield outcomes of the pool by the page; what is remembered goes on record without it."""
    kept: dict[int, Due] = {}
    known: list[StepOutcome] = []

    def fresh() -> Iterator[Job]:
        for due_item, job in jobs(run, step, due(run.ledger, run.collection, step.phase), tasks):
            before = remembered(run, step, due_item, _version_for(step, due_item.item, own_version))
            if before is None:
                kept[due_item.item.id] = due_item
                yield job
                continue
            known.append(StepOutcome(due_item, before, remembered=True))
            if len(known) >= PAGE:
                _record_page(run, step, known, own_version, tasks)
                known.clear()

    page: list[StepOutcome] = []
    for job, done in run.pool.run(fresh(), pulse=run.tick):
        page.append(StepOutcome(kept.pop(job.item.id), done.result))
        if len(page) >= PAGE:
            yield page
            page = []
    if page or known:
        yield page + known


def _record_page(run: HarvestRun, step: Read, page: list[StepOutcome], own_version: str, tasks: PhaseTasks) -> None:
    """Record some outcomes in one transaction."""
    with run.ledger.writing() as writer:
        for outcome in page:
            _record(run, writer, step, outcome, own_version)
            broken = outcome.reading.reason in OWN_FAULTS
            tasks.count(
                writer, outcome.due.source, done=outcome.reading.done, broken=broken, why=first_finding(outcome.reading)
            )
    run.progress.step(len(page), sum(not taken.reading.done for taken in page))
    run.tick()


def remembered(run: HarvestRun, step: Read, due_item: Due, own_version: str) -> Reading | None:
    """Return this step's earlier reading of the same bytes, or None if the ledger does not have it."""
    if not due_item.item.member or not due_item.item.digest:
        return None
    known = run.ledger.items.reading(due_item.item.digest, step.phase, own_version)
    if known is None or known.reason in OWN_FAULTS:
        return None
    findings = run.ledger.items.findings_in_phase(known.item, run.collection.phase(step.phase))
    return Reading(known.reason, tuple(findings), count=known.number, md5=known.md5)


def _record(run: HarvestRun, writer: LedgerWriter, step: Read, outcome: StepOutcome, own_version: str) -> None:
    """Record one outcome: reading, findings and members."""
    due_item, reading = outcome.due, outcome.reading
    collection, item = run.collection, due_item.item
    version = _version_for(step, item, own_version)
    then = collection.step_after(step.kind, step.phase)
    writer.items.read(run.session, item.id, (step.phase, version), item.digest, reading, then)
    run.record_findings(writer, item.id, collection.phase(step.phase), reading)
    for member in reading.members:
        writer.listed_files.add_member(
            run.session, collection.name, collection.members.kind, f"{item.key}/{member.name}"[:512],
            attempt=item.attempt or 0, member=member, step=collection.step_after(collection.members.kind),
        )  # fmt: skip


def derive_step(run: HarvestRun, step: Derive) -> None:
    """Run the harvest's derivation of that phase as a task of its own."""
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
        # What it had committed stays, and the next run goes on from there.
        run.close_task(task, f"{step.phase}: {error}", error.reason, failed=True)
        raise
    else:
        run.close_task(task, message)
        for source, why in failed.items():
            run.close_task(run.open_task(run.collection.phase(step.phase), source), f"{source}: {why}", failed=True)
    finally:
        run.progress.end()
