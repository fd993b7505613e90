"""Run a step on the items that are due, batch by batch: in the pool, then write to the store, then to the ledger.

Each source has a task of its own in a phase, with the counts of its documents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, islice
from math import inf
from typing import Any

from windrow.contract import Derive, Judge, Load, Read, Skip, Summarise
from windrow.engine.crawl.left_out import LeftOutCounter
from windrow.engine.fetchers.message import Job
from windrow.engine.run import Derived, HarvestRun
from windrow.engine.runtime import rare_gc
from windrow.engine.source_counts import MIN_UNUSABLE
from windrow.engine.steps.due import Due, due
from windrow.engine.steps.loading import MAX_BATCH_DOCUMENTS, MAX_BATCH_ROWS, gather_batches, write_to_store
from windrow.engine.steps.unread import is_due
from windrow.errors import ReaderFailed, StoreError, WindrowError
from windrow.formats.text import join_counts
from windrow.ledger import LedgerWriter
from windrow.model import ArchivePlace, Item, Member, Reading, Status
from windrow.reasons import BY_RULE, OWN_FAULTS, Reason


@dataclass(slots=True)
class _Task:
    """The counts of a source's documents in a task."""

    number: int  # the number of the task on the ledger
    done: int = 0
    refused: int = 0  # documents with a reason
    faults: int = 0  # documents that were refused because windrow failed to read them
    first_fault: str = ""  # why it failed to read the first of them
    usable: int = 0  # documents with a usable result
    unusable: Counter[Reason] = field(default_factory=Counter)  # documents that should have been usable, by reason
    has_nothing_usable: bool = False

    def comment(self, source: str, error: WindrowError | None) -> str:
        """Return the comment for a source's task. `error` is the error that ended the phase, or None."""
        comment = f"{source}: {self.done} done, {self.refused} refused"
        if self.has_nothing_usable:
            comment += f"; none of the documents read in this run was usable: {join_counts(self.unusable)}"
        comment += f"; {self.first_fault}" if self.first_fault else ""
        return comment + (f"; {error}" if error else "")


@dataclass(slots=True)
class PhaseTasks:
    """The tasks of the sources in the phase `name`. A source's task begins with its first document."""

    run: HarvestRun
    name: str
    _tasks: dict[str, _Task] = field(default_factory=dict)  # by source
    _left_out: dict[str, LeftOutCounter] = field(default_factory=dict)  # by source
    _left_out_parts: dict[tuple[str, str], list[Skip]] = field(default_factory=dict)  # by source and address

    @property
    def phase(self) -> int:
        """The number of the phase."""
        return self.run.collection.phase(self.name)

    @contextmanager
    def working(self, total: int) -> Iterator[None]:
        """Show the progress while a block of code processes `total` documents, then end every task.

        If the block raises StoreError or ReaderFailed, all tasks have failed. After other errors, they are not ended.
        """
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

    def count(
        self, writer: LedgerWriter, source: str, reason: Reason | None, use: tuple[bool, Reason | None], message: str
    ) -> None:
        """Count a document of a source.

        If it was refused, `reason` says why, and `message` explains it. `use` is a pair: whether the document was
        usable, and the reason if it was not usable but should have been, otherwise None.
        """
        self.open(writer, source)
        task, has_fault = self._tasks[source], reason in OWN_FAULTS
        task.done += reason is None
        task.refused += reason is not None
        is_usable, unusable_reason = use
        task.usable += is_usable
        if unusable_reason is not None and unusable_reason not in BY_RULE:
            task.unusable[unusable_reason] += 1
        task.faults += has_fault
        if has_fault and not task.first_fault:
            task.first_fault = message

    def count_left_out(self, source: str, skips: Iterable[Skip], url: str) -> None:
        """Count the parts of the document at `url` that were read but not kept, by reason or, for CAPPED, by cap."""
        for skip in skips:
            rule = skip.message if skip.reason is Reason.CAPPED else skip.reason.meaning
            self._left_out.setdefault(source, LeftOutCounter()).add(skip.reason, rule, skip.number, url)

    def count_left_out_parts(self, source: str, skips: list[Skip], url: str) -> None:
        """Count what was left out of a document, as `count_left_out` does. Of a replay, count it when the tasks end.

        A replay reads all documents of an address. What was left out of one that another replaced does not count.
        """
        if not self.run.harvest.reread:
            if skips:
                self.count_left_out(source, skips, url)
        elif skips:
            self._left_out_parts[source, url] = skips
        else:
            self._left_out_parts.pop((source, url), None)

    def _close(self, error: WindrowError | None = None) -> None:
        for (source, url), skips in self._left_out_parts.items():
            self.count_left_out(source, skips, url)
        for source, task in self._tasks.items():
            count = task.unusable.total()
            if count and not task.usable:
                task.has_nothing_usable = count >= MIN_UNUSABLE or count >= self._count_pages(source)
        with self.run.ledger.writing() as writer:
            for source, counter in self._left_out.items():
                counter.record(writer, self.run.session, self.run.collection.name, source, self.phase)
            for source, task in self._tasks.items():
                comment = task.comment(source, error)
                failed = bool(error or task.faults or task.has_nothing_usable)
                self.run.close_task(task.number, comment, error.reason if error else None, failed=failed, writer=writer)

    def _count_pages(self, source: str) -> int:
        """Return how many addresses of a source have returned a body; MIN_UNUSABLE if it is not crawled by links."""
        if not self.run.collection.is_crawl_by_links:
            return MIN_UNUSABLE
        return sum(host.pages for host in self.run.ledger.addresses.host_states(source, "", 0))


def first_finding(result: object) -> str:
    """Return the message of the first finding of a failed reading, or "" for any other result."""
    return result.findings[0].message if isinstance(result, Reading) and result.reason and result.findings else ""


AnyItemStep = Read | Load | Judge | Summarise

BATCH_SIZE = 256
"""The maximum number of items whose step begins, or whose Read results are recorded, in one transaction."""
LOAD_BATCH_SIZE = 8
"""The number of jobs of a Load or Judge step that are sent to a worker together."""
READ_AHEAD = 4096
"""The maximum number of items that were read from the ledger and have no recorded result yet. It bounds memory."""


def take_step(run: HarvestRun, step: AnyItemStep) -> None:
    """Run a step for every item that is due, including items that earlier runs could not read.

    A batch is written to the store first, then to the ledger: after a crash between the two, its items are due again.
    Without a store, only Read and Check steps are run. If the run is stopped, the other items remain due.
    """
    unread = [] if isinstance(step, Summarise) else _find_unread(run, step)
    total = run.ledger.items.count_due(run.collection.name).get(step.phase, 0) + len(unread)
    store = run.harvest.store
    if not total or (store is None and not isinstance(step, Read)):
        return
    tasks = PhaseTasks(run, step.phase)
    bounds = (BATCH_SIZE, inf) if isinstance(step, Read) else (MAX_BATCH_DOCUMENTS, MAX_BATCH_ROWS)
    with tasks.working(total):
        for batch in gather_batches(_run_step(run, step, unread, tasks), *bounds):
            readings = write_to_store(store, step, batch, run.clock()) if store else batch
            _record_batch(run, step, readings, tasks)
            if run.stopping():
                break


def _run_step(run: HarvestRun, step: AnyItemStep, unread: list[Due], tasks: PhaseTasks) -> Iterator[tuple[Due, Any]]:
    """Return an iterator over items with the step's results.

    The items in `unread` are read one by one. A Read step reads them after the other items, Load and Judge steps
    read them first. A Summarise step updates the summaries of the store once, and its result for each item is an empty
    reading.
    """
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
    while not run.stopping() and (batch := list(islice(items, READ_AHEAD))):
        pairs: Iterator[tuple[Due, Any]] = _make_jobs(run, step, batch, tasks)
        if isinstance(step, Read):
            pairs = ((due_item, _earlier_reading(run, step, due_item.item) or job) for due_item, job in pairs)
        batch_size = None if isinstance(step, Read) else LOAD_BATCH_SIZE
        yield from run.pool.resolve(pairs, batch_size=batch_size, pulse=run.tick)


def _make_jobs(
    run: HarvestRun, step: Read | Load | Judge, items: Iterable[Due], tasks: PhaseTasks
) -> Iterator[tuple[Due, Job]]:
    """Yield items with their jobs. For each batch of items, one transaction records that their step has begun."""
    step_index = run.collection.steps.index(step)
    options = {name: str(value) for name, value in run.harvest.options.items()}
    stream = iter(items)
    while not run.stopping() and (batch := list(islice(stream, BATCH_SIZE))):
        with run.ledger.writing() as writer:
            for due_item in batch:
                tasks.open(writer, due_item.source)
                writer.items.start(run.session, due_item.item.id, step.phase)
        captures = {due_item.capture for due_item in batch}
        places = {digest: place for digest in captures if (place := run.ledger.captures.of_digest(digest))}
        for due_item in batch:
            if run.stopping():
                return  # this item and those after it remain due
            place = places.get(due_item.capture, ArchivePlace("", 0, 0))
            yield due_item, Job(step_index, due_item.item, place, options)


def _reading_version(run: HarvestRun, step: AnyItemStep, item: Item) -> str:
    """Return what a reading depends on besides the bytes, as one text: the step's version, resources and `step.by`."""
    if isinstance(step, Summarise):
        return step.version
    resources = run.harvest.resources
    names = [f"{name}={resources[name].digest[7:23]}" for name in step.resources if name in resources]
    names += [step.by(item)] if isinstance(step, Read) and step.by else []
    return "+".join([step.version, *names])


def _find_unread(run: HarvestRun, step: Read | Load | Judge) -> list[Due]:
    collection = run.collection
    earlier = {document.number: document for document in run.ledger.unread.items(collection.name, step.phase)}
    now = run.clock()
    unread = [
        due_item
        for due_item in (due(run.ledger, collection, step.phase, Status.FAILED) if earlier else ())
        if (document := earlier.get(due_item.item.id))
        and is_due(document, _reading_version(run, step, due_item.item), now)
    ]
    return unread if isinstance(step, Read) else sorted(unread, key=lambda row: (row.item.rank, row.item.id))


def _earlier_reading(run: HarvestRun, step: Read, item: Item) -> Reading | None:
    """Return the step's earlier reading of a member's bytes, or None if there is none or windrow was at fault."""
    if not item.member or not item.digest:
        return None
    earlier = run.ledger.items.reading(item.digest, step.phase, _reading_version(run, step, item))
    if earlier is None or earlier.reason in OWN_FAULTS:
        return None
    findings = run.ledger.items.findings_in_phase(earlier.item, run.collection.phase(step.phase))
    return Reading(earlier.reason, tuple(findings), count=earlier.number, md5=earlier.md5)


def _record_batch(run: HarvestRun, step: AnyItemStep, batch: list[tuple[Due, Reading]], tasks: PhaseTasks) -> None:
    collection = run.collection
    next_step = collection.step_after(step.kind, step.phase)
    with run.ledger.writing() as writer:
        for due_item, reading in batch:
            item = due_item.item
            # A Summarise step depends on all documents together, and not on the bytes of one.
            digest = "" if isinstance(step, Summarise) else item.digest
            writer.items.add_reading(
                run.session, item.id, (step.phase, _reading_version(run, step, item)), digest, reading, next_step
            )
            run.add_findings(writer, item.id, tasks.phase, reading)
            for member in _select_new_members(run, item, reading):
                writer.listed_files.add_member(
                    run.session, collection.name, collection.members.kind, _member_key(item, member),
                    attempt=item.attempt or 0, member=member, step=collection.step_after(collection.members.kind),
                )  # fmt: skip
            use = (reading.done, reading.reason if isinstance(step, Read) else None)
            tasks.count(writer, due_item.source, reading.reason, use, first_finding(reading))
            for reason, number in reading.left_out:  # by itself, since it counts until the file is replaced
                counter = LeftOutCounter()
                counter.add(reason, reason.meaning, number, item.key)
                counter.record(writer, run.session, collection.name, due_item.source, tasks.phase)
    run.progress.step(len(batch), sum(not reading.done for _, reading in batch))
    run.tick()


def _select_new_members(run: HarvestRun, item: Item, reading: Reading) -> list[Member]:
    """Return the members of a reading of a file, without those that an earlier reading of the same bytes found.

    A file is read again if its bytes could not be read in a replay; its members keep their states. A member that was
    refused, and is not any more, is new.
    """
    earlier_members = run.ledger.members.brought(item.attempt) if reading.members and item.attempt else ()
    known = {(earlier.key, earlier.step == "") for earlier in earlier_members}
    return [
        member for member in reading.members
        if (_member_key(item, member), member.reason is not None) not in known
    ]  # fmt: skip


def _member_key(item: Item, member: Member) -> str:
    return f"{item.key}/{member.name}"[:512]


def derive_step(run: HarvestRun, step: Derive) -> None:
    """Run the harvest's derivation for the step's phase, if it has one, and record its results and errors as tasks."""
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
            message, errors_by_source, failed, left_out = derived if isinstance(derived, Derived) else Derived(derived)
            run.failed += failed
    except WindrowError as error:
        # The derivation keeps what it has committed, and the next run continues from there.
        run.close_task(task, f"{step.phase}: {error}", error.reason, failed=True)
        raise
    else:
        run.close_task(task, message)
        for count in left_out:
            count_task = run.open_task(run.collection.phase(step.phase), count.source)
            run.close_task(count_task, count.as_comment(), Reason(count.reason))
        for source, error_text in errors_by_source.items():
            text = f"{source}: {error_text}" if source else error_text
            run.close_task(run.open_task(run.collection.phase(step.phase), source), text, failed=True)
    finally:
        run.progress.end()
