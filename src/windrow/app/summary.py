"""What one session did: counts by source, by phase and by reason, read from the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from windrow.app.crawled import OutcomeCount, Visits, frontiers, visits
from windrow.engine.ledger import Ledger
from windrow.engine.ledger.moment import parse
from windrow.model import Status
from windrow.reasons import Reason

Phases = Mapping[str, tuple[str, ...]]
"""The names of each collection's phases, in order."""


class SourceCount(NamedTuple):
    """What a session did at one source; `received` in bytes, `trouble` why it could not be listed.

    Of a source that is crawled, `offered` counts the addresses known now, `moved` those that led elsewhere,
    and `left` those that are due now.
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
class Summary:
    """One session, from its begin to its end; `exit_code` is None while it is under way."""

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
    mended: tuple[str, ...] = ()  # what an earlier crash left, and what became of it
    outcomes: tuple[OutcomeCount, ...] = ()  # how the questions of its crawls ended

    @property
    def kept_all(self) -> bool:
        """Tell whether nothing was refused and nothing failed."""
        return not self.reasons and not self.troubles


def summarise(ledger: Ledger, session: int, phases: Phases, mended: tuple[str, ...] = ()) -> Summary:
    """Return what is on record of a session, which must be there."""
    first, began, holder, command, ended, outcome, last = ledger.ask("told_session", session)[0]
    span = (first, last)
    tasks = ledger.ask("told_tasks", *span)
    moves = ledger.ask("told_moves", *span)
    refusals = ledger.ask("told_refusals", *span)
    crawled = visits(ledger, span, phases)
    whys = [(row[4], row[5]) for row in moves if row[4]] + [row[1:] for row in refusals] + crawled.reasons
    return Summary(
        session=first,
        command=command,
        holder=holder,
        began=parse(began),
        ended=parse(ended) if ended else None,
        exit_code=outcome,
        sources=_sources(ledger, span, tasks, refusals, crawled),
        phases=_phases(moves, phases),
        reasons=count_reasons(whys),
        findings=tuple(FindingCount(*row) for row in ledger.ask("told_findings", *span)),
        troubles=tuple(row[8] or str(row[7] or "") for row in tasks if row[6]),
        mended=mended,
        outcomes=crawled.outcomes,
    )


def count_reasons(rows: list[tuple[str, int]]) -> tuple[ReasonCount, ...]:
    """Add up how often each reason occurs, the most frequent first."""
    found: Counter[str] = Counter()
    for reason, count in rows:
        if reason != Reason.RETRIED:
            found[reason] += count
    return tuple(ReasonCount(name, count, Reason(name).meaning) for name, count in found.most_common())


def _sources(
    ledger: Ledger,
    span: tuple[int, int],
    tasks: list[tuple[object, ...]],
    refusals: list[tuple[str, str, int]],
    crawled: Visits,
) -> tuple[SourceCount, ...]:
    counts: dict[str, Counter[str]] = {str(row[2]): Counter() for row in tasks if row[2]}
    for source, event, count in ledger.ask("told_listings", *span):
        counts.setdefault(source, Counter())[{"listed": "new"}.get(event, event)] += count
    for source, reason, count, received, revisits in ledger.ask("told_fetches", *span):
        mine = counts.setdefault(source, Counter())
        mine["failed" if reason else "fetched"] += count
        mine["received"] += received
        mine["same"] += revisits
    for source, _, count in refusals:
        counts.setdefault(source, Counter())["refused"] += count
    for source, became in crawled.sources.items():
        counts.setdefault(source, Counter()).update(became)
    offered = dict(ledger.ask("told_offered"))
    walked = frontiers(ledger) if crawled.sources or crawled.troubles else {}
    for source, frontier in walked.items():
        offered[source] = frontier.known
        if source in counts:
            counts[source]["left"] = frontier.due
    trouble = dict(crawled.troubles)
    for row in tasks:
        if row[2] and row[6]:
            trouble.setdefault(str(row[2]), str(row[8] or row[7] or "it failed"))
    return tuple(
        SourceCount(name, **{"offered": offered.get(name, 0), "trouble": trouble.get(name, ""), **mine})
        for name, mine in sorted(counts.items())
    )


def _phases(moves: list[tuple[str, str, int, int, str | None, int]], names: Phases) -> tuple[PhaseCount, ...]:
    found: dict[tuple[str, int, str], Counter[str]] = {}
    for collection, kind, phase, status, _reason, count in moves:
        found.setdefault((collection, phase, kind), Counter())[Status(status).name.lower()] += count
    return tuple(
        PhaseCount(collection, kind, phase_name(names, collection, phase), **counts)
        for (collection, phase, kind), counts in sorted(found.items())
    )


def phase_name(names: Phases, collection: str, phase: int) -> str:
    """Return a phase's name; its number where the collection is not installed."""
    known = names.get(collection, ())
    return known[phase - 1] if 0 < phase <= len(known) else str(phase)
