"""Load, judge and sum: documents into the store, one after another, in the order of their rank."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.contract import ItemStep, Judge, Load, Rows, State, Summarise
from windrow.engine.account import Account
from windrow.engine.due import Due, count, due
from windrow.engine.ledger import LedgerWriter
from windrow.engine.message import Done, Job
from windrow.engine.run import HarvestRun, Store
from windrow.engine.stepping import PASSING, jobs, version
from windrow.errors import StoreError
from windrow.model import Finding, Level, Reading, Status
from windrow.reasons import Reason

FEW = 32
"""Documents whose ledger entries are written together; each has its own transaction in the store."""


def load_step(run: HarvestRun, step: Load | Judge | Summarise) -> None:
    """Take a Load, Judge or Summarise step: read in the pool, ahead; written here, in order."""
    states = [(run.collection.phase(name), status) for name, status in step.due]
    total = count(run.ledger, run.collection, step.kind, states)
    if not total or run.harvest.store is None:
        return
    account = Account(run, run.collection.phase(step.phase))
    run.progress.begin(step.phase, total)
    try:
        for page in _pages(_results(run, step, run.harvest.store, states, account)):
            _record(run, step, page, account)
            if run.stopping():
                break
    except StoreError as error:
        # What is not loaded stays due: the next run goes on here.
        account.close(error, error.reason)
        raise
    else:
        account.close()
    finally:
        run.progress.end()


Result = tuple[Due, Reading]


def _results(
    run: HarvestRun, step: Load | Judge | Summarise, store: Store, states: list[State], account: Account
) -> Iterator[Result]:
    if isinstance(step, Load):
        return _stage(run, step, store, states, account)
    if isinstance(step, Judge):
        return _judge(run, step, store, states, account)
    return _summarise(run, step, store, states)


def _pages(results: Iterator[Result]) -> Iterator[list[Result]]:
    page: list[Result] = []
    for result in results:
        page.append(result)
        if len(page) >= FEW:
            yield page
            page = []
    if page:
        yield page


def _in_order(run: HarvestRun, step: Load | Judge, states: list[State], account: Account) -> Iterator[tuple[Due, Done]]:
    """Read documents in the pool, and give them back in order."""
    kept: dict[int, Due] = {}

    def drawn() -> Iterator[Job]:
        for one, job in jobs(run, step, _ordered(run, step, states), account):
            kept[one.item.id] = one
            yield job

    for job, done in run.pool.run(drawn(), batch=8, pulse=run.tick):
        yield kept.pop(job.item.id), done


def _ordered(run: HarvestRun, step: ItemStep, states: list[State]) -> Iterator[Due]:
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


def _stage(run: HarvestRun, step: Load, store: Store, states: list[State], account: Account) -> Iterator[Result]:
    for one, done in _in_order(run, step, states, account):
        made = done.result
        if not isinstance(made, Rows):
            yield one, made
            continue
        store.stage(one.item, made, run.clock())
        yield one, Reading(count=made.count)


def _judge(run: HarvestRun, step: Judge, store: Store, states: list[State], account: Account) -> Iterator[Result]:
    for one, done in _in_order(run, step, states, account):
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
    """Look up in the store what the reading left open, and return the findings that follow."""
    keys: dict[str, set[str]] = {}
    for one in reading.lookups:
        keys.setdefault(one.question, set()).add(one.key)
    known = {question: store.known(question, asked) for question, asked in keys.items()}
    return [one.finding for one in reading.lookups if one.key not in known[one.question]]


def _summarise(run: HarvestRun, step: Summarise, store: Store, states: list[State]) -> Iterator[Result]:
    """Bring the summaries up to date once; every document that waited for them is through."""
    store.summarise(run.clock())
    for one in due(run.ledger, run.collection, step.kind, states):
        yield one, Reading()


def _record(run: HarvestRun, step: Load | Judge | Summarise, page: list[Result], account: Account) -> None:
    """Put a page of outcomes on record."""
    mine = "" if isinstance(step, Summarise) else version(run, step)
    with run.ledger.writing() as writer:
        parents = set()
        for one, reading in page:
            _move(run, writer, step, one, reading, mine)
            account.count(writer, one.source, done=reading.done, broken=reading.reason in PASSING)
            parents.add(one.item.parent or 0)
        run.settle_parents(writer, parents - {0})
    run.progress.step(len(page), sum(not reading.done for _, reading in page))
    run.tick()


def _move(run: HarvestRun, writer: LedgerWriter, step: ItemStep, one: Due, reading: Reading, mine: str) -> None:  # noqa: PLR0917
    phase = run.collection.phase(step.phase)
    if not isinstance(step, Summarise):
        writer.items.read(run.session, one.item.id, (step.phase, mine), one.item.digest, reading)
    run.put(writer, one.item.id, phase, reading)
    writer.items.move(run.session, one.item.id, (phase, Status.DONE if reading.done else Status.FAILED), reading.reason)
