"""The summary of one session: counts by source, by phase and by reason, read from the ledger."""

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
from windrow.ledger.typed.mirrors import RefusalCount
from windrow.ledger.typed.sessions import TaskRow
from windrow.reasons import Reason

Phases = Mapping[str, tuple[str, ...]]
"""The names of each collection's phases, in order."""


class ContentCounts(NamedTuple):
    """Functions that count changes between two facts by content; the ledger knows only bytes and names.

    `visited` counts new, changed and gone by source for the attempts between them, `written` what the sessions between
    them wrote, also of earlier attempts. `outcomes` corrects the ledger's counts of how the requests of a
    collection ended.
    """

    visited: Callable[[tuple[int, int]], Mapping[str, Counter[str]]] = lambda _: {}
    written: Callable[[tuple[int, int]], Mapping[str, Counter[str]]] = lambda _: {}
    outcomes: Callable[[str, tuple[int, int], Counter[str]], Counter[str]] = lambda _, _facts, counted: counted


BYTES_ONLY = ContentCounts()

_KINDS = (NEW, CHANGED, GONE)


class SourceCount(NamedTuple):
    """Counts of a session at one source; `received` in bytes, `error` why it could not be listed.

    For a crawled source, `offered` counts the addresses known now, `redirected` those that redirect, and `waiting`
    those due now. There content counts: `changed` has another text or description, `same_text` only other bytes, and
    `gone` is counted once, when it is certain.
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
    error: str = ""
    redirected: int = 0
    waiting: int = 0
    same_text: int = 0


class PhaseCount(NamedTuple):
    """How many items of a kind ended in a phase."""

    collection: str
    kind: str
    phase: str
    done: int = 0
    cancelled: int = 0
    failed: int = 0


class FindingCount(NamedTuple):
    """How often documents had a kind of finding."""

    kind: str
    level: str
    items: int


class ReasonCount(NamedTuple):
    """How many items stopped for a reason, and what the reason means."""

    reason: str
    items: int
    meaning: str


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """One session; `ended` and `exit_code` are None while it runs.

    `warc_prefix` is the prefix of the names of the WARC files that it wrote.
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
    errors: tuple[str, ...] = ()  # why tasks failed
    notes: tuple[str, ...] = ()  # such as on resting files and the clock
    repairs: tuple[str, ...] = ()  # what an earlier crash left, and how it was repaired
    left_out: tuple[RuleCount, ...] = ()  # addresses that rules of its crawls left out
    outcomes: tuple[OutcomeCount, ...] = ()  # how the requests of its crawls ended
    changes: tuple[SourceChange, ...] = ()  # the first 1,000
    changes_left_out: bool = False
    warc_prefix: str = ""
    warnings: int = 0  # the number of notes that report a fault

    @property
    def kept_all(self) -> bool:
        """Whether nothing was refused or failed."""
        return not self.reasons and not self.errors


def summarise(
    ledger: Ledger, session: int, phases: Phases, mended: tuple[str, ...] = (), *,
    was_read: ContentCounts = BYTES_ONLY, until_now: bool = False,
) -> SessionSummary:  # fmt: skip
    """Return the summary of a session, which must exist.

    `was_read` counts by content. With `until_now` what later sessions wrote counts too: if this one was stopped, they
    write what it requested.
    """
    row = ledger.sessions.get(session)
    assert row is not None
    span, facts = row.span, ledger.sessions.reported_facts(session)
    facts = (facts[0], 2**62) if until_now else facts
    tasks = ledger.sessions.tasks(span)
    rests = count_rests(ledger, span, {task.collection for task in tasks})
    refusals = ledger.mirrors.refused_between(span)
    counts = count_session(ledger, span)
    corrected = replace(counts, sources=_count_by_content(counts, was_read.visited(span), was_read.written(facts)))
    reasons: list[tuple[str, int]] = [(rest.reason, rest.number) for rest in rests if rest.reason]
    reasons += [(refusal.reason, refusal.number) for refusal in refusals]
    reasons += counts.reasons
    return SessionSummary(
        session=row.number,
        command=row.command,
        holder=row.holder,
        began=row.began,
        ended=row.ended,
        exit_code=row.outcome,
        sources=_count_sources(ledger, facts, tasks, refusals, corrected),
        phases=_count_phases(rests, phases),
        reasons=count_reasons(reasons),
        findings=tuple(FindingCount(*finding) for finding in ledger.items.found_between(span)),
        errors=tuple(task.comment or task.reason or "" for task in tasks if task.failed),
        notes=tuple(_note_text(task) for task in tasks if _is_note(task)),
        repairs=mended,
        left_out=left_out(tasks),
        outcomes=_count_outcomes(counts.outcomes, span, was_read),
        warc_prefix=f"windrow-{row.seq:06}",
        warnings=sum(1 for task in tasks if _is_note(task) and task.reason),
    )


def left_out(tasks: Iterable[TaskRow]) -> tuple[RuleCount, ...]:
    """Return the numbers of addresses that rules left out, by source and rule."""
    counts = (
        RuleCount.read(task.source, task.reason, task.comment)
        for task in tasks
        if task.source and task.reason and task.comment and not task.failed
    )
    return tuple(count for count in counts if count)


def _is_note(task: TaskRow) -> bool:
    return bool(task.comment) and not task.failed and not task.source


def _note_text(task: TaskRow) -> str:
    return f"{task.reason.meaning}: {task.comment}" if task.reason else task.comment or ""


def count_reasons(rows: Iterable[tuple[str, int]]) -> tuple[ReasonCount, ...]:
    """Add up how often each reason occurs, the most frequent first."""
    counts: Counter[str] = Counter()
    for reason, count in rows:
        if reason != Reason.RETRIED:
            counts[reason] += count
    return tuple(ReasonCount(name, count, Reason(name).meaning) for name, count in counts.most_common())


def _count_sources(
    ledger: Ledger,
    telling: tuple[int, int],
    tasks: Sequence[TaskRow],
    refusals: Sequence[RefusalCount],
    session: SessionCounts,
) -> tuple[SourceCount, ...]:
    """Count by source what the session did, and the changes it reports, which lie between two facts."""
    counts: dict[str, Counter[str]] = {task.source: Counter() for task in tasks if task.source}
    for listed in ledger.mirrors.listed_between(telling):
        counts.setdefault(listed.source, Counter())[{"listed": "new"}.get(listed.event, listed.event)] += listed.number
    for refused in refusals:
        counts.setdefault(refused.source, Counter())["refused"] += refused.number
    for source, session_counter in session.sources.items():
        counts.setdefault(source, Counter()).update(session_counter)
    frontiers = count_frontiers(ledger, {task.collection for task in tasks if task.source})
    errors = dict(session.troubles)
    for task in tasks:
        if task.source and task.failed:
            errors.setdefault(task.source, task.comment or task.reason or "it failed")
    empty = FrontierCount()
    return tuple(
        SourceCount(
            name, frontiers.get(name, empty).known, waiting=frontiers.get(name, empty).due,
            error=errors.get(name, ""), **counter,
        )
        for name, counter in sorted(counts.items())
    )  # fmt: skip


def _count_by_content(
    session: SessionCounts, visited: Mapping[str, Counter[str]], written: Mapping[str, Counter[str]]
) -> dict[str, Counter[str]]:
    """Return the counts by source with new, changed and gone counted by content in place of bytes."""
    counts = {source: Counter(counter) for source, counter in session.sources.items()}
    for source, count in counts.items():
        if source in visited:
            content = visited[source]
            bytes_differ = count["new"] + count["changed"]
            count["failed"] += max(0, count["gone"] - content["gone"])
            count.update({"same_text": max(0, bytes_differ - content["new"] - content["changed"] - content["moved"])})
            count["redirected"] += content["moved"]
    for source, content in written.items():
        if source in counts or any(content[kind] for kind in _KINDS):
            count = counts.setdefault(source, Counter())
            for kind in _KINDS:
                count[kind] = content[kind]
    return counts


def _count_outcomes(
    counted: Iterable[OutcomeCount], span: tuple[int, int], was_read: ContentCounts
) -> tuple[OutcomeCount, ...]:
    """Count how requests ended, corrected by content, the most frequent first."""
    by_collection: dict[str, Counter[str]] = {}
    for outcome in counted:
        by_collection.setdefault(outcome.collection, Counter())[outcome.outcome] += outcome.attempts
    outcomes = [
        OutcomeCount(name, outcome, number)
        for name, counter in by_collection.items()
        for outcome, number in was_read.outcomes(name, span, counter).items()
    ]
    return tuple(sorted(outcomes, key=lambda count: -count.attempts))


def _count_phases(rests: Sequence[RestCount], names: Phases) -> tuple[PhaseCount, ...]:
    counts: dict[tuple[str, str, str], Counter[str]] = {}
    for rest in rests:
        status = rest.status.name.lower()
        counts.setdefault((rest.collection, rest.phase, rest.kind), Counter())[status] += rest.number

    def order(key: tuple[str, str, str]) -> tuple[str, int, str]:
        collection, phase, kind = key
        phases = names.get(collection, ())
        return collection, phases.index(phase) if phase in phases else 0, kind

    return tuple(
        PhaseCount(collection, kind, phase, **counts[collection, phase, kind])
        for collection, phase, kind in sorted(counts, key=order)
    )


def phase_name(names: Phases, collection: str, phase: int) -> str:
    """Return a phase's name, or its number if the collection is not installed."""
    phases = names.get(collection, ())
    return phases[phase - 1] if 0 < phase <= len(phases) else str(phase)
