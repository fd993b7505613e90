"""How a workspace stands: one row per source, and how many items stand where and why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from windrow.adapters.adapter import HoldsRecords
from windrow.app.changes import was_read
from windrow.app.crawled import Frontier, frontiers, visits
from windrow.app.summary import Phases, ReasonCount, SessionSummary, SourceCount, count_reasons, phase_name, summarise
from windrow.clock import now
from windrow.config import Workspace
from windrow.contract.registry import capable, installed
from windrow.engine.listed.rest import RestingItem, resting
from windrow.engine.requests.origin_rules import walked
from windrow.engine.requests.waiting import ServiceWait
from windrow.engine.steps.unread import UnreadCount, count_unread
from windrow.ledger import Ledger
from windrow.ledger.sessions import RuleCount, is_dead
from windrow.ledger.typed.sessions import SourceSession
from windrow.model import Site, Source

HELD = "held"
"""The state of a source that is asked nothing: WARC files or zips came in by it, or it is not declared any more."""


class SourceState(NamedTuple):
    """A source now: what it offers, and how the last session that asked it went.

    `items` are what it offers now: files, or pages that were had. `same` counts what was offered before
    and has not changed since; `failed` what it offers that stands failed now. `state` is what the
    configuration says; `trouble` why its last session failed.
    """

    source: str
    collection: str
    owner: str
    state: str
    last_good: datetime | None
    new: int
    changed: int
    same: int
    gone: int
    failed: int
    next_due: datetime | None
    trouble: str
    items: int = 0


class StateCount(NamedTuple):
    """How many items stand at a phase with a status."""

    collection: str
    kind: str
    phase: str
    status: str
    items: int


@dataclass(frozen=True, slots=True)
class WorkspaceState:
    """A workspace now. `holder` is who runs it at this moment; `last` its last session."""

    workspace: str
    folder: Path
    holder: str
    last: SessionSummary | None
    sources: tuple[SourceState, ...]
    states: tuple[StateCount, ...]
    reasons: tuple[ReasonCount, ...]
    resting: tuple[RestingItem, ...] = ()  # what failed in session after session, and when it is asked for again
    unread: tuple[UnreadCount, ...] = ()  # documents that were not read, and not by their fault
    waits: tuple[ServiceWait, ...] = ()  # documents that wait for answers of services
    left_out: tuple[RuleCount, ...] = ()  # what rules left out of each source, in the last session that met such links


def current_state(workspace: Workspace, ledger: Ledger, phases: Phases) -> WorkspaceState:
    """Return how the workspace stands."""
    sources = (*workspace.sources, *_held(workspace, ledger))
    known = {source.name: source for source in sources}
    sessions_by_source: dict[str, list[SourceSession]] = {}
    for one in ledger.sessions.by_source():
        if _asked(known.get(one.source), one):
            sessions_by_source.setdefault(one.source, []).append(one)
    last = ledger.sessions.latest()
    return WorkspaceState(
        workspace.name,
        workspace.root,
        holder(ledger),
        summarise(ledger, last, phases, was_read=was_read(workspace, ledger)) if last else None,
        _sources(workspace, ledger, sources, sessions_by_source, phases),
        tuple(
            StateCount(
                one.collection, one.kind, phase_name(phases, one.collection, one.phase), one.status.name.lower(),
                one.number,
            )
            for one in ledger.items.by_state()
        ),
        count_reasons([*ledger.items.by_reason(), *_crawl_reasons(ledger, sessions_by_source, phases)]),
        _resting(workspace, ledger),
        tuple(one for made in installed().values() for one in count_unread(ledger, made)),
        _waits(workspace, ledger),
        _left_out(workspace, ledger),
    )  # fmt: skip


def _left_out(workspace: Workspace, ledger: Ledger) -> tuple[RuleCount, ...]:
    """Return what rules left out of each crawled source: a session that reads no page anew meets no link."""
    crawled = {name for name, made in installed().items() if made.crawl is not None}
    found: list[RuleCount] = []
    for source in workspace.sources:
        if source.collection not in crawled:
            continue
        rules = [
            (one.session, told)
            for one in ledger.sessions.tasks_of_source(source.name)
            if one.reason and one.comment and (told := RuleCount.read(source.name, one.reason, one.comment))
        ]
        found += [told for session, told in rules if session == rules[-1][0]]
    return tuple(found)


def _resting(workspace: Workspace, ledger: Ledger) -> tuple[RestingItem, ...]:
    names = {source.collection for source in workspace.sources}
    listed = [made for name, made in installed().items() if name in names and walked(made) is None]
    return tuple(one for made in listed for one in resting(ledger, made, now()))


def _waits(workspace: Workspace, ledger: Ledger) -> tuple[ServiceWait, ...]:
    found = capable(HoldsRecords, {source.collection for source in workspace.sources}).values()
    return tuple(wait for one in found if (wait := one.waits(workspace, ledger)))


def _crawl_reasons(
    ledger: Ledger, sessions_by_source: dict[str, list[SourceSession]], phases: Phases
) -> list[tuple[str, int]]:
    """Return why addresses brought nothing, in the last session of each source."""
    last = {mine[-1].session for mine in sessions_by_source.values()}
    sessions = [session for number in last if (session := ledger.sessions.get(number))]
    return [one for session in sessions for one in visits(ledger, session.span, phases).reasons]


def holder(ledger: Ledger) -> str:
    """Say who runs the workspace now; empty for nobody, or a holder whose lease has run out or who is dead."""
    lease = ledger.sessions.lease()
    return lease.holder if lease and lease.expires > now() and not is_dead(lease.holder) else ""


def cut_off(ledger: Ledger) -> int:
    """Return the number of the last session if it was killed: it has not ended, and nobody runs it any more; else 0."""
    last = ledger.sessions.latest()
    row = ledger.sessions.get(last) if last and not holder(ledger) else None
    return row.number if row is not None and row.ended is None else 0


def _sources(
    workspace: Workspace,
    ledger: Ledger,
    sources: Iterable[Source],
    sessions_by_source: dict[str, list[SourceSession]],
    phases: Phases,
) -> tuple[SourceState, ...]:
    offered = ledger.listings.count()
    missed = ledger.captures.failed_by_source()
    holding = capable(HoldsRecords, {source.collection for source in workspace.sources})
    held = {name: one.holdings(workspace) for name, one in holding.items()}
    failing = ledger.listings.count_failing()
    walked = frontiers(ledger)
    summaries: dict[int, SessionSummary] = {}
    found = []
    for source in sources:
        sessions = sessions_by_source.get(source.name, [])
        count = None
        if sessions:
            number = sessions[-1].session
            summary = summaries.setdefault(
                number, summarise(ledger, number, phases, was_read=was_read(workspace, ledger), until_now=True)
            )
            count = next((one for one in summary.sources if one.source == source.name), None)
        state = _listed_or_crawled(workspace, source, sessions, count or SourceCount(source.name))
        if frontier := walked.get(source.name):
            crawled = _crawled(state, frontier, count)
            crawled = crawled._replace(failed=crawled.failed + missed.get(source.name, 0))
            if source.collection in held:
                items = held[source.collection].get(source.name, 0)
                crawled = crawled._replace(items=items, same=max(0, items - state.new - state.changed))
            found.append(crawled)
            continue
        items = offered.get(source.name, 0)
        new, changed, refused = (count.new, count.changed, count.refused) if count else (0, 0, 0)
        found.append(
            state._replace(
                items=items, same=max(0, items - new - changed - refused), failed=failing.get(source.name, 0)
            )
        )
    return tuple(found)


def _held(workspace: Workspace, ledger: Ledger) -> list[Source]:
    """Return the sources that WARC files or adopted zips came in by, and that nothing is declared of."""
    declared = {source.name for source in workspace.sources}
    offered = {name: ledger.sessions.collection_of(name) for name in sorted(ledger.listings.count())}
    return [
        Source(name, collection, Site("warc"), active=False, options={"state": HELD})
        for name, collection in {**offered, **dict(ledger.imports.sources())}.items()
        if name not in declared
    ]


def _asked(source: Source | None, session: SourceSession) -> bool:
    """Tell whether a session asked a source: one that only reads again what is kept says no more, unless it fails."""
    made = installed().get(source.collection) if source else None
    if made is None or session.failed:
        return True
    return session.first_phase <= (made.listing.refused[0] if walked(made) is None else 1)


def _listed_or_crawled(
    workspace: Workspace, source: Source, sessions: list[SourceSession], count: SourceCount
) -> SourceState:
    """Return what is alike for listed and crawled sources; the caller fills in items, same and failed."""
    good = next((session.ended for session in reversed(sessions) if not session.failed and session.ended), None)
    return SourceState(
        source.name,
        source.collection,
        source.owner,
        _state(source),
        good,
        count.new,
        count.changed,
        0,
        count.gone,
        0,
        _due(workspace, source, sessions),
        count.trouble,
    )


def _crawled(state: SourceState, frontier: Frontier, count: SourceCount | None) -> SourceState:
    """Tell how the pages of a crawled source stand; its next one is due when its own interval says so."""
    following = (now() if frontier.due else frontier.next) if state.state == "available" else None
    return state._replace(
        items=frontier.known if state.state == HELD else frontier.pages,
        same=count.same + count.same_text if count else 0,
        failed=frontier.failing,
        next_due=following,
    )


def _state(source: Source) -> str:
    said = source.options.get("state", "available")
    return "inactive" if said == "available" and not source.active else said


def _due(workspace: Workspace, source: Source, sessions: list[SourceSession]) -> datetime | None:
    """Tell when a source is due: never without a schedule or while it is off, at once if it never ran."""
    if not workspace.run.every or not source.active:
        return None
    ended = sessions[-1].ended if sessions else None
    return ended + timedelta(seconds=workspace.run.every) if ended else now()
