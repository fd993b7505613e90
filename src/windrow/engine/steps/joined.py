"""Load and judge a document in one job: it is opened and parsed once, and is judged while others are still read.

Taken one by one, each of the two steps opens and parses every document anew, and moves it over the ledger once more.
What each made of a document is put on record as if it had been taken by itself: after a crash, or in a run that ends
with the first of them, a document goes on from there. Documents are judged in the order of their ranks, as they are
step by step; what is staged and not judged yet no judgement sees.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from windrow.contract import Judge, Load, Rows, Step
from windrow.engine.fetchers.message import Job
from windrow.engine.phase_tasks import PhaseTasks
from windrow.engine.run import HarvestRun, Store
from windrow.engine.steps.due import Due, count
from windrow.engine.steps.loading import Judgement, Result, groups, judged, ordered, record_outcome, together
from windrow.engine.steps.stepping import OWN_FAULTS, mark_running, pages, places, step_version
from windrow.errors import StoreError
from windrow.model import ArchivePlace, Reading, Status

BATCH = 8
"""Documents that travel together: their rows, too, are on the way then."""


def joined(steps: Iterable[Step], *, store: bool) -> Iterator[Step | tuple[Load, Judge]]:
    """Yield steps one by one, but a Load and the Judge that goes on from it together; without a store none are."""
    waiting: Load | None = None
    for step in steps:
        if waiting is None:
            pass
        elif isinstance(step, Judge) and step.kind == waiting.kind and (waiting.phase, Status.DONE) in step.due:
            yield waiting, step
            waiting = None
            continue
        else:
            yield waiting
        waiting = step if store and isinstance(step, Load) else None
        if waiting is None:
            yield step
    if waiting is not None:
        yield waiting


class _Document(NamedTuple):
    """A document, and what the pool made of it: of one that was loaded before, only its judgement."""

    due: Due
    loaded: Rows | Reading | None
    judgement: Reading | None

    @property
    def rows(self) -> int:
        """How many rows it has to write."""
        return sum(one.count for one in (self.loaded, self.judgement) if one is not None)


class LoadAndJudge:
    """Take all documents that are due through both steps."""

    def __init__(self, run: HarvestRun, steps: tuple[Load, Judge], store: Store) -> None:
        """Prepare; `store` takes what is loaded."""
        self._run = run
        self._steps = steps
        self._store = store
        self._load, self._judge = steps
        self._versions = [step_version(run, one) for one in steps]
        self._tasks = [PhaseTasks(run, run.collection.phase(one.phase)) for one in steps]
        self._due = [{(run.collection.phase(name), status) for name, status in one.due} for one in steps]
        self._drawn: dict[int, Due] = {}

    def run(self) -> None:
        """Take the steps; where the store fails, what is not loaded stays due: the next run goes on there."""
        run = self._run
        states = [state for some in self._due for state in sorted(some)]
        total = count(run.ledger, run.collection, self._load.kind, states)
        if not total:
            return
        run.progress.begin(f"{self._load.phase}, {self._judge.phase}", total)
        try:
            for page in groups(self._taken(states), lambda one: one.rows):
                self._write(page)
                if run.stopping():
                    break
        except StoreError as error:
            self._close(error)
            raise
        else:
            self._close()
        finally:
            run.progress.end()

    def _close(self, error: StoreError | None = None) -> None:
        for tasks in self._tasks:
            tasks.close(error, error.reason if error else None)

    def _taken(self, states: Sequence[Any]) -> Iterator[_Document]:
        """Yield documents in the order of their ranks, with what the pool made of them."""
        for job, done in self._run.pool.run(self._jobs(states), batch=BATCH, pulse=self._run.tick):
            due = self._drawn.pop(job.item.id)
            if job.then is None:
                yield _Document(due, None, done.result)
            else:
                loaded, *judgement = done.result
                yield _Document(due, loaded, judgement[0] if judgement else None)

    def _jobs(self, states: Sequence[Any]) -> Iterator[Job]:
        run = self._run
        options = {name: str(value) for name, value in run.harvest.options.items()}
        load, judge = (run.collection.steps.index(one) for one in self._steps)
        for page in pages(ordered(run, self._load.kind, states)):
            for step, tasks, mine in zip(self._steps, self._tasks, self._due, strict=True):
                if some := [one for one in page if (one.item.phase, one.item.status) in mine]:
                    mark_running(run, step, some, tasks)
            where = places(run, (one.capture for one in page))
            for one in page:
                if run.stopping():
                    return  # what is in the pool's hands is finished; this and the rest are due again
                self._drawn[one.item.id] = one
                place = where.get(one.capture, ArchivePlace("", 0, 0))
                loaded = (one.item.phase, one.item.status) in self._due[1]
                first, then = (judge, None) if loaded else (load, (judge,))
                yield Job(first, one.item, place, options, then=then)

    def _write(self, page: list[_Document]) -> None:
        """Stage, judge and put on record some documents; those staged are on record where judging fails."""
        loaded = [
            (one.due, Reading(count=one.loaded.count) if isinstance(one.loaded, Rows) else one.loaded)
            for one in page
            if one.loaded is not None
        ]
        rows = [(one.due.item, one.loaded) for one in page if isinstance(one.loaded, Rows)]
        together(lambda some: self._store.stage(some, self._run.clock()), rows)
        judgements = [Judgement(one.due, one.judgement) for one in page if one.judgement is not None]
        results: list[Result] = []
        try:
            results += judged(self._run, self._store, judgements)
        finally:
            self._record(page, loaded, results)

    def _record(self, page: list[_Document], loaded: list[Result], results: list[Result]) -> None:
        run = self._run
        with run.ledger.writing() as writer:
            for step, version, tasks, some in zip(
                self._steps, self._versions, self._tasks, (loaded, results), strict=True
            ):
                for due, reading in some:
                    record_outcome(run, writer, step, due, reading, version)
                    tasks.count(writer, due.source, done=reading.done, broken=reading.reason in OWN_FAULTS)
            run.update_parents(writer, {one.due.item.parent or 0 for one in page} - {0})
        run.progress.step(len(page), sum(not reading.done for _, reading in [*loaded, *results]))
        run.tick()


def load_and_judge(run: HarvestRun, load: Load, judge: Judge) -> None:
    """Take a Load step and the Judge step that follows it; the store is there."""
    assert run.harvest.store is not None
    LoadAndJudge(run, (load, judge), run.harvest.store).run()
