"""What happened in one session, its tasks with an example of each failure, and the last runs of each source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from windrow.app.changes import content_counts
from windrow.app.session_progress import SessionProgress, read_progress
from windrow.app.status import requesting_sessions
from windrow.app.summary import SessionSummary, phase_name, summarise
from windrow.config import Workspace
from windrow.contract.registry import installed, phases
from windrow.engine.frontier import frontier_of
from windrow.errors import WindrowError
from windrow.ledger import Ledger
from windrow.reasons import Reason, reason_of_status


class SessionTask(NamedTuple):
    """A task of a session: a phase of a source, or of the whole collection if `source` is empty.

    `ended` and `failed` are None if it is running or was interrupted. `comment` says why it failed or what it left out.
    """

    collection: str
    source: str
    phase: str
    began: datetime
    ended: datetime | None
    failed: bool | None
    reason: str
    comment: str


class SessionDetails(NamedTuple):
    """A session: its summary, its tasks in the order of their beginning, and an example for each reason.

    `examples` has, by reason, the first address or item that failed for it in the session. `progress` is None unless
    the session runs now.
    """

    summary: SessionSummary
    tasks: tuple[SessionTask, ...]
    examples: Mapping[str, str]
    progress: SessionProgress | None


class SourceRun(NamedTuple):
    """A session at one source. `ended` is the end of its last task, or None if none of them ended.

    `failed` is the number of its tasks that failed or never ended, and `reason` is the reason of one of them.
    """

    session: int
    began: datetime
    ended: datetime | None
    failed: int
    reason: str


def describe_session(workspace: Workspace, ledger: Ledger, number: int) -> SessionDetails:
    """Return what one session did; raise WindrowError if none has this number."""
    session = ledger.sessions.numbered(number)
    row = ledger.sessions.get(session) if session else None
    if row is None:
        message = f"no session has the number {number}"
        raise WindrowError(message, hint="windrow status", reason=Reason.NOT_FOUND)
    names = phases()
    tasks = tuple(
        SessionTask(
            task.collection, task.source, phase_name(names, task.collection, task.phase), task.began, task.ended,
            task.failed, task.reason or "", task.comment or "",
        )
        for task in ledger.sessions.tasks(row.span)
    )  # fmt: skip
    summary = summarise(ledger, row.seq, names, content_counts=content_counts(workspace, ledger))
    progress = read_progress(ledger, number) if row.ended is None else None
    counted_reasons = {count.reason for count in summary.reasons}
    examples: dict[str, str] = {}
    for reason_or_status, name in ledger.sessions.first_failures(row.span).items():
        is_status = reason_or_status.isdigit()
        reason = reason_of_status(int(reason_or_status)) if is_status else reason_or_status
        if reason in counted_reasons:
            examples.setdefault(reason, name)
    return SessionDetails(
        summary, tasks, dict(sorted(examples.items())), progress if progress and progress.running else None
    )


def list_runs(workspace: Workspace, ledger: Ledger, limit: int) -> dict[str, tuple[SourceRun, ...]]:
    """Return at most `limit` sessions for each declared source: the last that requested something, the oldest first."""
    frontiers = {name: frontier_of(ledger, collection) for name, collection in installed().items()}
    numbers = ledger.sessions.numbers()
    runs: dict[str, tuple[SourceRun, ...]] = {}
    for source in workspace.sources:
        rows = [*islice(requesting_sessions(ledger, frontiers.get(source.collection), source.name), limit)]
        runs[source.name] = tuple(
            SourceRun(numbers.get(row.session, row.session), row.began, row.ended, row.failed, row.reason or "")
            for row in reversed(rows)
        )
    return runs


class FailureGroup(NamedTuple):
    """Tasks that failed for one reason: its meaning, their number, their sources, and what the first one said."""

    meaning: str
    tasks: int
    sources: tuple[str, ...]
    example: str


def group_failures(tasks: Iterable[SessionTask]) -> list[FailureGroup]:
    """Group the failed tasks of a session by reason, or without one by what they said; the largest group first."""
    groups: dict[str, list[SessionTask]] = {}
    for task in tasks:
        if task.failed:
            groups.setdefault(task.reason or task.comment, []).append(task)
    described = [
        FailureGroup(
            Reason(first.reason).meaning if (first := group[0]).reason else first.comment or "it failed", len(group),
            tuple(dict.fromkeys(task.source or task.collection for task in group)),
            first.comment if first.reason else "",
        )
        for group in groups.values()
    ]  # fmt: skip
    return sorted(described, key=lambda group: -group.tasks)
