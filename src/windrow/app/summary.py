"""What one session did: counts by source, by phase and by reason, read from the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from windrow.adapters.adapter import CHANGED, GONE, NEW, RestCount, SourceChange
from windrow.app.item_states import count_rests
from windrow.engine.source_counts import FrontierCount, OutcomeCount, SessionCounts, count_frontiers, count_session
from windrow.ledger import Ledger
from windrow.ledger.sessions import RuleCount
from windrow.ledger.typed.listings import RefusalCount
from windrow.ledger.typed.sessions import TaskRow
from windrow.reasons import Reason

Phases = Mapping[str, tuple[str, ...]]
"""The names of each collection's phases, in order."""


class WhatWasRead(NamedTuple):
    """Counts between two facts, by what was read, what the ledger knows by bytes and names alone.

    `visited` counts by source and kind what came, changed or went at the visits between them, `written` what the
    sessions between them wrote of it, whichever session made the visit. `outcomes` takes how the questions of a
    collection ended as the ledger counts them, and returns how they did.
    """

    visited: Callable[[tuple[int, int]], Mapping[str, Counter[str]]] = lambda _: {}
    written: Callable[[tuple[int, int]], Mapping[str, Counter[str]]] = lambda _: {}
    outcomes: Callable[[str, tuple[int, int], Counter[str]], Counter[str]] = lambda _, _facts, counted: counted


NOTHING_READ = WhatWasRead()

_KINDS = (NEW, CHANGED, GONE)


class SourceCount(NamedTuple):
    """What a session did at one source; `received` in bytes, `trouble` why it could not be listed.

    Of a source that is crawled, `offered` counts the addresses known now, `moved` those that led elsewhere,
    and `left` those that are due now. There, what was read counts: `changed` has another text or description,
    `same_text` only other bytes, and `gone` is counted once, when it is certain.
    """

    source: str
    offered: int = 0
    new: int = 0
    changed: int = 0
    gone: int = 0
    refused: int = 0
    fetched: int = 0
    same: int = 0
    failed: int = 0
    received: int = 0
    trouble: str = ""
    moved: int = 0
    left: int = 0
    same_text: int = 0


class PhaseCount(NamedTuple):
    """How many items of a kind came to rest in a phase."""

    collection: str
    kind: str
    phase: str
    done: int = 0
    cancelled: int = 0
    failed: int = 0


class FindingCount(NamedTuple):
    """How often something was found in documents."""

    kind: str
    level: str
    items: int


class ReasonCount(NamedTuple):
    """How many items did not go on for a reason, and what the reason means."""

    reason: str
    items: int
    meaning: str


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """One session, from its begin to its end; `exit_code` is None while it is under way.

    `archive` is how the names of the WARC files begin that it wrote.
    """

    session: int
    command: str
    holder: str
    began: datetime
    ended: datetime | None
    exit_code: int | None
    sources: tuple[SourceCount, ...] = ()
    phases: tuple[PhaseCount, ...] = ()
    reasons: tuple[ReasonCount, ...] = ()
    findings: tuple[FindingCount, ...] = ()
    troubles: tuple[str, ...] = ()  # what ended its failed tasks
    notes: tuple[str, ...] = ()  # what it says beside: of items that rest, of the clock
    mended: tuple[str, ...] = ()  # what an earlier crash left, and what became of it
    left_out: tuple[RuleCount, ...] = ()  # addresses that rules of its crawls left out
    outcomes: tuple[OutcomeCount, ...] = ()  # how the questions of its crawls ended
    changes: tuple[SourceChange, ...] = ()  # what came, changed or went; the first 1,000
    changes_left_out: bool = False
    archive: str = ""
    warnings: int = 0  # how many of its notes tell of something that went wrong

    @property
    def kept_all(self) -> bool:
        """Tell whether nothing was refused and nothing failed."""
        return not self.reasons and not self.troubles


def summarise(
    ledger: Ledger, session: int, phases: Phases, mended: tuple[str, ...] = (), *,
    was_read: WhatWasRead = NOTHING_READ, until_now: bool = False,
) -> SessionSummary:  # fmt: skip
    """Return what is on record of a session, which must be there.

    `was_read` counts what the bytes do not say. With `until_now` what later sessions wrote counts too: they write what
    this one asked for where it was stopped.
    """
    row = ledger.sessions.get(session)
    assert row is not None
    span, telling = row.span, ledger.sessions.telling(session)
    telling = (telling[0], 2**62) if until_now else telling
    tasks = ledger.sessions.tasks(span)
    rests = count_rests(ledger, span, {task.collection for task in tasks})
    refusals = ledger.listings.refused_between(span)
    counts = count_session(ledger, span)
    read = replace(counts, sources=_read(counts, was_read.visited(span), was_read.written(telling)))
    whys: list[tuple[str, int]] = [(rest.reason, rest.number) for rest in rests if rest.reason]
    whys += [(refusal.reason, refusal.number) for refusal in refusals]
    whys += counts.reasons
    return SessionSummary(
        session=row.number,
        command=row.command,
        holder=row.holder,
        began=row.began,
        ended=row.ended,
        exit_code=row.outcome,
        sources=_sources(ledger, telling, tasks, refusals, read),
        phases=_phases(rests, phases),
        reasons=count_reasons(whys),
        findings=tuple(FindingCount(*one) for one in ledger.items.found_between(span)),
        troubles=tuple(task.comment or task.reason or "" for task in tasks if task.failed),
        notes=tuple(_note(task) for task in tasks if _is_note(task)),
        mended=mended,
        left_out=left_out(tasks),
        outcomes=_outcomes(counts.outcomes, span, was_read),
        archive=f"windrow-{row.seq:06}",
        warnings=sum(1 for task in tasks if _is_note(task) and task.reason),
    )


def left_out(tasks: Iterable[TaskRow]) -> tuple[RuleCount, ...]:
    """Return what rules left out, by source and rule."""
    told = (
        RuleCount.read(task.source, task.reason, task.comment)
        for task in tasks
        if task.source and task.reason and task.comment and not task.failed
    )
    return tuple(one for one in told if one)


def _is_note(task: TaskRow) -> bool:
    return bool(task.comment) and not task.failed and not task.source


def _note(task: TaskRow) -> str:
    return f"{task.reason.meaning}: {task.comment}" if task.reason else task.comment or ""


def count_reasons(rows: Iterable[tuple[str, int]]) -> tuple[ReasonCount, ...]:
    """Add up how often each reason occurs, the most frequent first."""
    found: Counter[str] = Counter()
    for reason, count in rows:
        if reason != Reason.RETRIED:
            found[reason] += count
    return tuple(ReasonCount(name, count, Reason(name).meaning) for name, count in found.most_common())


def _sources(
    ledger: Ledger,
    telling: tuple[int, int],
    tasks: Sequence[TaskRow],
    refusals: Sequence[RefusalCount],
    session: SessionCounts,
) -> tuple[SourceCount, ...]:
    """Count at each source what the session did, and what it tells: that is between two facts."""
    counts: dict[str, Counter[str]] = {task.source: Counter() for task in tasks if task.source}
    for listed in ledger.listings.listed_between(telling):
        counts.setdefault(listed.source, Counter())[{"listed": "new"}.get(listed.event, listed.event)] += listed.number
    for refused in refusals:
        counts.setdefault(refused.source, Counter())["refused"] += refused.number
    for source, became in session.sources.items():
        counts.setdefault(source, Counter()).update(became)
    frontiers = count_frontiers(ledger, {task.collection for task in tasks if task.source})
    trouble = dict(session.troubles)
    for task in tasks:
        if task.source and task.failed:
            trouble.setdefault(task.source, task.comment or task.reason or "it failed")
    nothing = FrontierCount()
    return tuple(
        SourceCount(
            name, frontiers.get(name, nothing).known, left=frontiers.get(name, nothing).due,
            trouble=trouble.get(name, ""), **mine,
        )
        for name, mine in sorted(counts.items())
    )  # fmt: skip


def _read(
    session: SessionCounts, visited: Mapping[str, Counter[str]], written: Mapping[str, Counter[str]]
) -> dict[str, Counter[str]]:
    """Let what was read of pages say what came, changed and went, in place of their bytes."""
    found = {source: Counter(became) for source, became in session.sources.items()}
    for source, mine in found.items():
        if source in visited:
            told = visited[source]
            bytes_differ = mine["new"] + mine["changed"]
            mine["failed"] += max(0, mine["gone"] - told["gone"])
            mine.update({"same_text": max(0, bytes_differ - told["new"] - told["changed"] - told["moved"])})
            mine["moved"] += told["moved"]
    for source, told in written.items():
        if source in found or any(told[kind] for kind in _KINDS):
            mine = found.setdefault(source, Counter())
            for kind in _KINDS:
                mine[kind] = told[kind]
    return found


def _outcomes(
    counted: Iterable[OutcomeCount], span: tuple[int, int], was_read: WhatWasRead
) -> tuple[OutcomeCount, ...]:
    """Count how questions ended once what they brought was read, the most frequent first."""
    by_collection: dict[str, Counter[str]] = {}
    for one in counted:
        by_collection.setdefault(one.collection, Counter())[one.outcome] += one.visits
    found = [
        OutcomeCount(name, outcome, number)
        for name, mine in by_collection.items()
        for outcome, number in was_read.outcomes(name, span, mine).items()
    ]
    return tuple(sorted(found, key=lambda one: -one.visits))


def _phases(rests: Sequence[RestCount], names: Phases) -> tuple[PhaseCount, ...]:
    counts: dict[tuple[str, str, str], Counter[str]] = {}
    for rest in rests:
        status = rest.status.name.lower()
        counts.setdefault((rest.collection, rest.phase, rest.kind), Counter())[status] += rest.number

    def order(key: tuple[str, str, str]) -> tuple[str, int, str]:
        collection, phase, kind = key
        known = names.get(collection, ())
        return collection, known.index(phase) if phase in known else 0, kind

    return tuple(
        PhaseCount(collection, kind, phase, **counts[collection, phase, kind])
        for collection, phase, kind in sorted(counts, key=order)
    )


def phase_name(names: Phases, collection: str, phase: int) -> str:
    """Return a phase's name; its number where the collection is not installed."""
    known = names.get(collection, ())
    return known[phase - 1] if 0 < phase <= len(known) else str(phase)
