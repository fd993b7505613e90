"""Load, judge and sum: documents into the store, one after another, in the order of their rank."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.engine.due import Due, count, due
from windrow.engine.ledger import Pen
from windrow.engine.message import Done, Job
from windrow.engine.run import Run, Store
from windrow.engine.stepping import jobs, version
from windrow.errors import StoreError
from windrow.model import Finding, Level, Reading, Status
from windrow.reasons import Reason
from windrow.spec import Act, Rows, Step

FEW = 32
"""Documents whose ledger entries are written together; each has its own transaction in the store."""


def load_step(run: Run, step: Step) -> None:
    """Take a LOAD, JUDGE or SUM step: read in the pool, ahead; written here, in order."""
    states = [(run.collection.phase(name), status) for name, status in step.due]
    total = count(run.ledger, run.collection, step.kind, states)
    if not total or run.harvest.store is None:
        return
    task = run.open_task(run.collection.phase(step.phase))
    run.progress.begin(step.phase, total)
    work = {Act.LOAD: _stage, Act.JUDGE: _judge, Act.SUM: _sum}[step.act]
    done = failed = 0
    try:
        for page in _pages(work(run, step, run.harvest.store, states)):
            bad = _record(run, step, page)
            done += len(page) - bad
            failed += bad
            run.progress.step(len(page), bad)
            run.tick()
            if run.stopping():
                break
    except StoreError as error:
        # What is not loaded stays due: the next run goes on here.
        run.close_task(task, f"{done} done; {error}", error.reason, failed=True)
        run.progress.end()
        raise
    run.close_task(task, f"{done} done, {failed} failed")
    run.progress.end()


Result = tuple[Due, Reading]


def _pages(results: Iterator[Result]) -> Iterator[list[Result]]:
    page: list[Result] = []
    for result in results:
        page.append(result)
        if len(page) >= FEW:
            yield page
            page = []
    if page:
        yield page


def _in_order(run: Run, step: Step, states: list[tuple[int, Status]]) -> Iterator[tuple[Due, Done]]:
    """Read documents in the pool, and give them back in order."""
    kept: dict[int, Due] = {}

    def drawn() -> Iterator[Job]:
        for one, job in jobs(run, step, _ordered(run, step, states)):
            kept[one.item.id] = one
            yield job

    for job, done in run.pool.run(drawn(), batch=8):
        yield kept.pop(job.item.id), done


def _ordered(run: Run, step: Step, states: list[tuple[int, Status]]) -> Iterator[Due]:
    """Draw due items of all states in one order of rank: a crash must not change the order of loading."""
    streams = [due(run.ledger, run.collection, step.kind, [state]) for state in states]
    heads = [(next(stream, None), stream) for stream in streams]
    while True:
        alive = [(head, stream) for head, stream in heads if head is not None]
        if not alive:
            return
        best = min(range(len(alive)), key=lambda k: (alive[k][0].item.rank, alive[k][0].item.id))
        head, stream = alive[best]
        yield head
        alive[best] = (next(stream, None), stream)  # type: ignore[assignment]
        heads = list(alive)


def _stage(run: Run, step: Step, store: Store, states: list[tuple[int, Status]]) -> Iterator[Result]:
    for one, done in _in_order(run, step, states):
        made = done.result
        if not isinstance(made, Rows):
            yield one, made
            continue
        store.stage(one.item, made, run.clock())
        yield one, Reading(count=made.count)


def _judge(run: Run, step: Step, store: Store, states: list[tuple[int, Status]]) -> Iterator[Result]:
    for one, done in _in_order(run, step, states):
        reading: Reading = done.result
        findings = [*reading.findings, *_answered(store, reading)]
        fatal = reading.reason or (
            Reason.INTEGRITY_FATAL if any(found.level is Level.FATAL for found in findings) else None
        )
        if fatal:
            store.withhold(one.item.id, run.clock(), fatal)
        else:
            findings += store.publish(one.item.id, run.clock())
        yield one, Reading(fatal, tuple(findings), count=reading.count)


def _answered(store: Store, reading: Reading) -> list[Finding]:
    """Ask the store what the reading left open, and return the findings that follow."""
    keys: dict[str, set[str]] = {}
    for ask in reading.asks:
        keys.setdefault(ask.question, set()).add(ask.key)
    known = {question: store.known(question, asked) for question, asked in keys.items()}
    return [ask.finding for ask in reading.asks if ask.key not in known[ask.question]]


def _sum(run: Run, step: Step, store: Store, states: list[tuple[int, Status]]) -> Iterator[Result]:
    """Bring the summaries up to date once; every document that waited for them is through."""
    store.summarise(run.clock())
    for one in due(run.ledger, run.collection, step.kind, states):
        yield one, Reading()


def _record(run: Run, step: Step, page: list[Result]) -> int:
    """Put a page of outcomes on record and return how many failed."""
    phase = run.collection.phase(step.phase)
    mine = version(run, step)
    with run.ledger.writing() as pen:
        parents = set()
        for one, reading in page:
            _move(run, pen, step, phase, one, reading, mine)
            parents.add(one.item.parent or 0)
        run.settle_parents(pen, parents - {0})
    return sum(not reading.done for _, reading in page)


def _move(run: Run, pen: Pen, step: Step, phase: int, one: Due, reading: Reading, mine: str) -> None:  # noqa: PLR0917
    if step.act is not Act.SUM:
        pen.read(run.session, one.item.id, (step.phase, mine), one.item.digest, reading)
    run.put(pen, one.item.id, phase, reading)
    pen.moved(run.session, one.item.id, (phase, Status.DONE if reading.done else Status.FAILED), reading.reason)
