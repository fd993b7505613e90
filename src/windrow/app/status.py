"""The state of a workspace: a row for each source, and the numbers of items by state and by reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from windrow.adapters.adapter import CountsRecords, CountsUnlisted, Forgets, harvested_collections
from windrow.adapters.selection import CountsUnrepaired
from windrow.app.changes import content_counts, count_skipped, read_each
from windrow.app.item_states import StateCount, count_states
from windrow.app.store_marks import read_marks
from windrow.app.summary import (
    ContentCounts,
    Phases,
    ReasonCount,
    SessionSummary,
    SourceCount,
    count_reasons,
    is_damage,
    summarise,
    unfinished_takedowns,
)
from windrow.clock import now
from windrow.config import Workspace
from windrow.config.workspace import LEFT_REPLAY, LEFT_REPLAY_HINT, left_replays
from windrow.contract.registry import capable, describe_broken, installed
from windrow.engine.archive_losses import find_losses
from windrow.engine.frontier import Frontier, frontier_of
from windrow.engine.listed.rest import RestingFile
from windrow.engine.older_ledger import find_ledger_problems, is_foreign
from windrow.engine.requests.waiting import ServiceWait
from windrow.engine.returned_records import describe_returned
from windrow.engine.source_counts import FrontierCount, count_frontiers, count_waiting_files, gone_at_once
from windrow.engine.steps.unread import UnreadCount, count_unread
from windrow.errors import ConfigError
from windrow.ledger import Ledger
from windrow.ledger.lease import running_process
from windrow.ledger.sessions import RuleCount
from windrow.ledger.typed.captures import LeftOutRow
from windrow.ledger.typed.imports import ImportSource
from windrow.ledger.typed.items import DifferingFile
from windrow.ledger.typed.mirrors import WaitingFiles
from windrow.ledger.typed.sessions import SourceSession
from windrow.model import Site, Source
from windrow.reasons import BY_RULE, SUBSTITUTE_REASONS, Reason

HELD = "held"
"""The name of the state of a source that is on the ledger but not declared, such as one of imported files."""


class SourceState(NamedTuple):
    """The state of a source: its items, and the result of the last session in which it was requested.

    `items` is the number of its items: files that it offers now, addresses that runs fetched or imported WARC files
    have, or records. `same` is the number of items that did not change in that session, and `failed` is the number of
    items that are failed now. `last_good` is the end of its last session without a failure. `state` is the configured
    state, `inactive` for an available source that is not harvested, or `held` for a source that is not declared.
    `error` says why it cannot be used or why that session failed. `waiting` is the number of addresses that are due
    now, for example because a run was limited or stopped; it is 0 for files, which are counted by state. `reasons` are
    those of the items that are failed now, the most frequent first; a file with documents that failed for several
    reasons is counted for each.
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
    error: str
    items: int = 0
    waiting: int = 0
    reasons: tuple[ReasonCount, ...] = ()


@dataclass(frozen=True, slots=True)
class WorkspaceState:
    """The state of a workspace, of its sources and of its items.

    `holder` is the process that runs in it now, or empty. `last` is the summary of its last session. `resting` are
    files that failed in several sessions, and are requested again later. `unread` counts documents that windrow
    failed to read, and `waits` those that wait for answers of services. `left_out` is what rules and caps left out,
    as it was counted last, and what sources do not list any more. `differing` are files of which a source offers
    other content than was fetched. `errors` are those of earlier tasks without a source, if no later session reached
    their phase. `undeclared` are sources that are not declared, of which `windrow forget` removes what was kept.
    `problems` say what is lost in the archive or unfinished now, each with what to do. `not_counted` says why the
    records of a harvested collection could not be counted, such as that its store cannot be read. `not_read` are the
    entries of lists and the captures that could not be read, by reason; `reasons` have them too.
    """

    workspace: str
    folder: Path
    holder: str
    last: SessionSummary | None
    sources: tuple[SourceState, ...]
    states: tuple[StateCount, ...]
    reasons: tuple[ReasonCount, ...]
    resting: tuple[RestingFile, ...] = ()
    unread: tuple[UnreadCount, ...] = ()
    waits: tuple[ServiceWait, ...] = ()
    left_out: tuple[RuleCount, ...] = ()
    differing: tuple[DifferingFile, ...] = ()
    errors: tuple[str, ...] = ()
    undeclared: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    not_counted: tuple[str, ...] = ()
    not_read: tuple[ReasonCount, ...] = ()


def current_state(workspace: Workspace, ledger: Ledger, phases: Phases) -> WorkspaceState:
    """Return the state of the sources and items of a workspace, with the summary of its last session."""
    unreadable: dict[str, str] = {}
    counters = capable(CountsRecords, harvested_collections(workspace, ledger), skip_broken=True)
    records: dict[str, Mapping[str, int]] = {name: {} for name in counters}
    records |= read_each(counters, lambda adapter: adapter.holdings(workspace), unreadable)
    frontier_counts = count_frontiers(ledger)
    undeclared = _undeclared_sources(workspace, ledger, frontier_counts, records)
    sources = (*workspace.sources, *undeclared)
    frontiers = {name: frontier_of(ledger, collection) for name, collection in installed().items()}
    number, counts = ledger.sessions.latest(), content_counts(workspace, ledger, unreadable)
    last = summarise(ledger, number, phases, content_counts=counts) if number else None
    differing = tuple(ledger.items.differing())
    failing = failing_requests(ledger)
    reasons: list[tuple[str, int]] = [*ledger.items.by_reason(), *(count[1:] for count in failing)]
    skipped = count_skipped(workspace, ledger, None, unreadable)
    unread = tuple(count for collection in installed().values() for count in count_unread(ledger, collection))
    of_captures = _left_out_of_captures(workspace, ledger)
    damaged = _damaged_of(of_captures)
    not_read = [*skipped.items(), *((count.reason, count.lines) for count in damaged)]
    problems = _find_problems(workspace, ledger)
    still_open = count_open(workspace, ledger, unread, skipped, damaged)
    return WorkspaceState(
        workspace=workspace.name,
        folder=workspace.root,
        holder=running_process(ledger),
        last=last and replace(last, differing=len(differing), problems=problems, still_open=still_open),
        sources=_source_states(
            workspace, ledger, sources, frontiers, phases,
            failing=failing, damaged=damaged, counts_by_source=(frontier_counts, records), by_content=counts,
        ),
        states=count_states(ledger),
        reasons=count_reasons([*reasons, *not_read, *_repeated_counts(failing, unread, skipped)]),
        not_read=count_reasons(count for count in not_read if count[0] not in BY_RULE),
        resting=_resting_files(workspace, frontiers),
        unread=unread,
        waits=_service_waits(workspace, ledger, unreadable),
        left_out=(
            *_left_out_by_rules(workspace, ledger, frontiers, of_captures, unreadable),
            *_left_out_of_no_source(ledger),
            *count_unlisted(workspace, ledger, unreadable),
        ),
        differing=differing,
        errors=tuple(ledger.sessions.errors_of_no_source(number)) if number else (),
        undeclared=tuple(source.name for source in undeclared if _may_be_forgotten(workspace, ledger, source)),
        problems=problems,
        not_counted=(
            *describe_broken(ledger.sessions.collections()),
            *(f"{name}: {why}" for name, why in unreadable.items()),
        ),
    )  # fmt: skip


def _repeated_counts(
    failing: Iterable[tuple[str, str, int]], unread: Iterable[UnreadCount], skipped: Mapping[str, int]
) -> list[tuple[str, int]]:
    """Return, by reason and as a negative number, how many documents both `failing` and `skipped` count.

    They are those in whose place the server sent another page, unless a later attempt failed for another reason.
    """
    failing_counts: Counter[str] = Counter()
    for _, reason, number in failing:
        failing_counts[reason] += number
    substitutes: Counter[str] = Counter(
        {row.reason: row.documents for row in unread if row.reason in SUBSTITUTE_REASONS}
    )
    return [(reason, -number) for reason, number in (failing_counts & substitutes & Counter(skipped)).items()]


def _find_problems(workspace: Workspace, ledger: Ledger) -> tuple[str, ...]:
    """Say what is lost in archive or stores, or unfinished, and whether the ledger is an older copy, or another one."""
    folder = workspace.archive.folder
    marks = read_marks(workspace, ledger)
    problems = [f"{problem.message}; {problem.hint}" for problem in find_ledger_problems(ledger, folder, marks)]
    problems += [mark.problem for mark in marks.values() if mark.problem and not is_foreign(mark.owner, ledger)]
    if not ledger.sessions.latest() and any(folder.glob("*.warc*")):
        from windrow.archive import refuse_other_ledger  # noqa: PLC0415 rarely needed

        try:
            refuse_other_ledger(folder, 0, {})
        except ConfigError as error:
            problems.append(f"{error}; {error.hint}")
    problems += find_losses(folder, ledger.captures.promised)
    if (folders := left_replays(workspace)) and not running_process(ledger):
        problems += [f"{folder}: {LEFT_REPLAY}; {LEFT_REPLAY_HINT}" for folder in folders]
    return (*problems, *describe_returned(ledger, folder), *unfinished_takedowns(ledger))


def count_open(
    workspace: Workspace,
    ledger: Ledger,
    unread: Iterable[UnreadCount],
    skipped: Mapping[str, int],
    damaged: Iterable[LeftOutRow],
) -> int:
    """Return how many files and captures are failed or wait now, plus how many documents and records are not read.

    `unread` counts these documents in all collections, `skipped` those records (`count_skipped`), and `damaged` those
    captures that are damaged (`damaged_captures`). Addresses of which only a part was received are counted. Those whose
    last request failed are not, since they are requested again when they are due; neither is what a rule leaves out. A
    document in whose place the server sent another page is unread and skipped, and is counted once.
    """
    failed = Counter(ledger.mirrors.count_failing()) + Counter(ledger.captures.failed_by_source())
    failed += Counter(ledger.addresses.count_partial())
    failed_count = sum(failed[source.name] for source in workspace.sources) + sum(row.lines for row in damaged)
    failed_count += sum(files.number for files in _waiting_files(workspace, ledger))
    skipped_count = sum(number for reason, number in skipped.items() if reason not in BY_RULE)
    return failed_count + sum(row.documents for row in unread if row.reason not in SUBSTITUTE_REASONS) + skipped_count


def damaged_captures(workspace: Workspace, ledger: Ledger) -> list[LeftOutRow]:
    """Count the damaged captures and index lines of each source that is declared or has imports, by reason."""
    return _damaged_of(_left_out_of_captures(workspace, ledger))


def _damaged_of(of_captures: Iterable[LeftOutRow]) -> list[LeftOutRow]:
    return [count for count in of_captures if is_damage(count.reason)]


def count_unlisted(workspace: Workspace, ledger: Ledger, unreadable: dict[str, str] | None = None) -> list[RuleCount]:
    """Return counts of what the sources of a workspace do not list any more, although nothing failed.

    Listed files are counted only if they were not fetched. For `unreadable`, see `read_each`.
    """
    adapters = capable(CountsUnlisted, harvested_collections(workspace, ledger), skip_broken=True)
    rows = read_each(adapters, lambda adapter: [*adapter.count_unlisted(workspace, ledger)], unreadable)
    counts = [count for _, counts_of_adapter in rows for count in counts_of_adapter]
    waiting_files = [files for files in _waiting_files(workspace, ledger) if not files.is_listed]
    return counts + [
        RuleCount(
            files.source, Reason.NO_HOST, "files to fetch that no available source lists now", files.number, files.key
        )
        for files in waiting_files
    ]


def _waiting_files(workspace: Workspace, ledger: Ledger) -> list[WaitingFiles]:
    active = {source.name for source in workspace.sources if source.active}
    return count_waiting_files(ledger, active, {source.name for source in workspace.sources} - active)


def _left_out_by_rules(
    workspace: Workspace, ledger: Ledger, frontiers: Mapping[str, Frontier], of_captures: Iterable[LeftOutRow],
    unreadable: dict[str, str],
) -> Iterator[RuleCount]:  # fmt: skip
    """Yield counts of what was left out of each source, with its imported revisits that wait for their original."""
    totals: dict[str, list[RuleCount]] = {}
    for row in of_captures:
        totals.setdefault(row.source, []).append(RuleCount(*row[1:]))
    for source, _ in _importing_sources(ledger):
        if waiting := ledger.imports.count_waiting(source):
            count = RuleCount(source, Reason.NO_ORIGINAL, Reason.NO_ORIGINAL.meaning, waiting, "")
            totals.setdefault(source, []).append(count)
    adapters = capable(CountsUnrepaired, {source.collection for source in workspace.sources}, skip_broken=True)
    unrepaired = dict(read_each(adapters, lambda adapter: adapter.unrepaired_reasons(workspace), unreadable))
    for declared in workspace.sources:
        if declared.collection in frontiers:
            reasons: set[str] | None = None
            if declared.collection in unrepaired:
                pairs = unrepaired[declared.collection]
                reasons = {reason for source, reason in pairs if source in {"", declared.name}}
            frontier = frontiers[declared.collection]
            yield from frontier.left_out(declared.name, totals.pop(declared.name, ()), reasons)
    yield from chain.from_iterable(totals.values())


def _left_out_of_no_source(ledger: Ledger) -> list[RuleCount]:
    """Return counts of what was left out and does not come from a source, such as records of a catalogue."""
    tasks = ledger.sessions.left_out_of_no_source()
    counts = (RuleCount.read(task.collection, task.reason, task.comment) for task in tasks)
    return [count for count in counts if count]


def _left_out_of_captures(workspace: Workspace, ledger: Ledger) -> list[LeftOutRow]:
    """Count what was left out of the captures and imported files of each source that is declared or has imports.

    Sources that were taken down are left out: nothing of theirs is kept.
    """
    names = {(source.collection, source.name) for source in workspace.sources} - {*ledger.takedowns.sources()}
    names |= {(collection, source) for source, collection in _importing_sources(ledger)}
    return [count for count in ledger.captures.left_out_by_source() if count[:2] in names]


def _importing_sources(ledger: Ledger) -> list[ImportSource]:
    """Return the sources that imported files, except those that were taken down as a whole."""
    taken_down = {*ledger.takedowns.sources()}
    return [source for source in ledger.imports.sources() if (source.collection, source.name) not in taken_down]


def _resting_files(workspace: Workspace, frontiers: Mapping[str, Frontier]) -> tuple[RestingFile, ...]:
    names = {source.collection for source in workspace.sources}
    used_frontiers = [frontier for name, frontier in frontiers.items() if name in names]
    return tuple(file for frontier in used_frontiers for file in frontier.resting(now()))


def _service_waits(workspace: Workspace, ledger: Ledger, unreadable: dict[str, str]) -> tuple[ServiceWait, ...]:
    adapters = capable(CountsRecords, {source.collection for source in workspace.sources}, skip_broken=True)
    waits = read_each(adapters, lambda adapter: adapter.waits(workspace, ledger), unreadable)
    return tuple(wait for _, wait in waits if wait)


def _source_states(
    workspace: Workspace,
    ledger: Ledger,
    sources: Iterable[Source],
    frontiers_by_collection: Mapping[str, Frontier],
    phases: Phases,
    *,
    failing: Iterable[tuple[str, str, int]],
    damaged: Iterable[LeftOutRow],
    counts_by_source: tuple[Mapping[str, FrontierCount], Mapping[str, Mapping[str, int]]],
    by_content: ContentCounts,
) -> tuple[SourceState, ...]:
    """Return the state of each source.

    `failing` is the result of `failing_requests`. `damaged` counts captures that are damaged. `counts_by_source` has
    the counts of each source's frontier, and by collection those of each source's records. `by_content` counts the
    changes of a session.
    """
    frontiers, records_by_source = counts_by_source
    failing_files, failed_captures = ledger.mirrors.count_failing(), Counter(ledger.captures.failed_by_source())
    damaged_counts = [(row.source, row.reason, row.lines) for row in damaged]
    reasons: dict[str, list[tuple[str, int]]] = {}
    for name, reason, number in (*ledger.mirrors.failing_reasons(), *failing, *damaged_counts):
        reasons.setdefault(name, []).append((reason, number))
    for name, _, number in damaged_counts:
        failed_captures[name] += number
    summaries: dict[int, SessionSummary] = {}
    states = []
    for source in sources:
        last_session, last_good = _find_last_sessions(ledger, frontiers_by_collection.get(source.collection), source)
        count, began = None, None
        if last_session:
            number = last_session.session
            if number not in summaries:
                summaries[number] = summarise(ledger, number, phases, content_counts=by_content, until_now=True)
            summary = summaries[number]
            began = summary.began
            count = next((source_count for source_count in summary.sources if source_count.source == source.name), None)
        record_counts = records_by_source.get(source.collection)
        records = None if record_counts is None else record_counts.get(source.name, 0)
        frontier = frontiers.get(source.name, FrontierCount())
        counts = (count or SourceCount(source.name), frontier, records)
        state = _source_state(source, last_good, counts, _next_run(workspace, began))
        failed = frontier.failing + failing_files.get(source.name, 0) + failed_captures.get(source.name, 0)
        states.append(state._replace(failed=failed, reasons=count_reasons(reasons.get(source.name, ()))))
    return tuple(states)


def failing_requests(ledger: Ledger) -> list[tuple[str, str, int]]:
    """Return counts (source, reason, number) of the addresses and captures that are failed now."""
    captures = ((count.source, count.reason, count.lines) for count in ledger.captures.failed_by_reason())
    return [*ledger.addresses.failing_reasons(gone_at_once()), *captures]


def _undeclared_sources(
    workspace: Workspace,
    ledger: Ledger,
    frontiers: Mapping[str, FrontierCount],
    records: Mapping[str, Mapping[str, int]],
) -> list[Source]:
    """Return the sources that have files, pages or records, but are not declared.

    A source whose collection counts records is only included if it has some; so services are not included.
    """
    declared = {source.name for source in workspace.sources}
    collections_by_source = {}
    for name in sorted(name for name, count in frontiers.items() if count.had and name not in declared):
        collection = ledger.sessions.collection_of(name)
        if collection and collection not in records:
            collections_by_source[name] = collection
    for collection, counts in records.items():
        collections_by_source.update(dict.fromkeys(filter(None, sorted(counts)), collection))
    collections_by_source.update(_importing_sources(ledger))
    return [
        Source(name, collection, Site("warc"), active=False, options={"state": HELD})
        for name, collection in collections_by_source.items()
        if name not in declared
    ]


def _may_be_forgotten(workspace: Workspace, ledger: Ledger, source: Source) -> bool:
    """Return whether `windrow forget` removes what was kept of a source, and accepts its name."""
    from windrow.app.takedowns import sharing_sources  # noqa: PLC0415 few workspaces have such a source

    adapters = capable(Forgets, {source.collection}, skip_broken=True).values()
    targets = [target for adapter in adapters for target in adapter.takedown_targets(workspace, ledger, source.name)]
    return bool(adapters) and not sharing_sources(workspace, ledger, source.name, {target.name for target in targets})


def requesting_sessions(ledger: Ledger, frontier: Frontier | None, source: str) -> Iterator[SourceSession]:
    """Yield the sessions that requested something from a source, or failed there, the latest first.

    `frontier` is None if the source's collection is not installed; then all of its sessions are yielded.
    """
    for session in ledger.sessions.of_source(source):
        if frontier is None or session.failed or session.first_phase <= frontier.task_phase:
            yield session


def _find_last_sessions(
    ledger: Ledger, frontier: Frontier | None, source: Source
) -> tuple[SourceSession | None, datetime | None]:
    """Return the last session that requested something from a source, and the end of the last one without a failure."""
    last_session: SourceSession | None = None
    for session in requesting_sessions(ledger, frontier, source.name):
        last_session = last_session or session
        if not session.failed and session.ended:
            return last_session, session.ended
    return last_session, None


def _source_state(
    source: Source,
    last_good: datetime | None,
    counts: tuple[SourceCount, FrontierCount, int | None],
    next_run: datetime | None,
) -> SourceState:
    """Return the state of a source. Its `failed` is 0 until the caller sets it.

    `counts` are the counts of its last session, the counts of its frontier, and the number of its records (None if its
    collection does not count records).
    """
    count, frontier, records = counts
    state = _configured_state(source)
    items = frontier.known if state == HELD else frontier.had
    same = frontier.unchanged(count.same + count.same_text, count.new + count.changed + count.refused)
    due = frontier.next_request(next_run) if state == "available" else None
    if records is not None:
        items, same = records, max(0, records - count.new - count.changed)
    return SourceState(
        source.name, source.collection, source.owner, state, last_good,
        new=count.new, changed=count.changed, same=same, gone=count.gone, failed=0,
        next_due=due, error=source.unusable or count.error, items=items,
        waiting=frontier.due if state == "available" else 0,
    )  # fmt: skip


def _configured_state(source: Source) -> str:
    state = source.options.get("state", "available")
    return "inactive" if state == "available" and not source.active else state


def _next_run(workspace: Workspace, began: datetime | None) -> datetime | None:
    """Return when the next run starts: `run.every` after `began` (None: now); None if runs are not repeated."""
    if not workspace.run.every:
        return None
    return began + timedelta(seconds=workspace.run.every) if began else now()
