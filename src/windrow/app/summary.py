"""The summary of one session: counts by source, by phase and by reason, read from the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple

from windrow.adapters.adapter import CHANGED, GONE, NEW, ReachedCount, SourceChange
from windrow.app.item_states import count_reached
from windrow.engine.source_counts import (
    NOT_REQUESTED,
    FrontierCount,
    OutcomeCount,
    SessionCounts,
    count_frontiers,
    count_session,
    sum_by_rule,
)
from windrow.errors import EXIT_CODES, SOURCES_FAILED
from windrow.formats.text import counted
from windrow.ledger import Ledger
from windrow.ledger.sessions import RuleCount
from windrow.ledger.typed.mirrors import RefusalCount
from windrow.ledger.typed.sessions import TaskRow
from windrow.model import Level
from windrow.reasons import BY_RULE, SUBSTITUTE_REASONS, Reason

ABOVE_EVERY_FACT = 2**62  # greater than the number of any fact
Phases = Mapping[str, tuple[str, ...]]
"""The names of the phases, in order, by collection."""


class ContentCounts(NamedTuple):
    """Functions that count changes by content. The ledger can only compare bytes and names.

    Each takes a range of facts (first, last). `visited` counts new, changed, moved and gone records, by source and
    kind, that the attempts in the range observed. `written` counts those that the sessions in the range wrote, also
    from attempts of earlier sessions. `outcomes` is also given a collection and the ledger's counts of how its requests
    ended, and returns the corrected counts. `skipped` counts by reason the records that could not be read from the
    attempts in the range. A collection whose store cannot be read is left out, and `unreadable` then has why.
    """

    visited: Callable[[tuple[int, int]], Mapping[str, Counter[str]]] = lambda _: {}
    written: Callable[[tuple[int, int]], Mapping[str, Counter[str]]] = lambda _: {}
    outcomes: Callable[[str, tuple[int, int], Counter[str]], Counter[str]] = lambda _, _facts, counts: counts
    skipped: Callable[[tuple[int, int]], Mapping[str, int]] = lambda _: {}
    unreadable: Mapping[str, str] = MappingProxyType({})


_WHOLE = SUBSTITUTE_REASONS | {Reason.NO_TEXT, Reason.NO_LONGER_LISTED, Reason.NO_HOST}
"""Reasons of things that are not there, or that were read and have nothing, rather than damaged."""

BYTES_ONLY = ContentCounts()
"""Functions that change nothing: the counts of the ledger are used."""

_CHANGE_KINDS = (NEW, CHANGED, GONE)


class SourceCount(NamedTuple):
    """Counts of a session at one source; `received` is in bytes, and `error` is why the source failed.

    `offered` is the number of files that the source lists now, or of its addresses that are known now, and `waiting`
    is the number of addresses that are due now; both are None if the source had a later session, since they are not
    those of this one. For a crawled source, `redirected` is the number of addresses that redirected in the session. Its
    pages are compared by content: `changed` counts pages with another text or description, `same_text` counts pages
    with other bytes but the same content, and `gone` counts each page once, when it is certainly gone. `still_gone`
    counts what was gone before and was not there again.
    """

    source: str
    offered: int | None = None
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
    waiting: int | None = None
    same_text: int = 0
    still_gone: int = 0


class PhaseCount(NamedTuple):
    """The numbers of items of one kind that ended in a phase, by status."""

    collection: str
    kind: str
    phase: str
    done: int = 0
    cancelled: int = 0
    failed: int = 0


class FindingCount(NamedTuple):
    """The number of findings of one kind and level."""

    kind: str
    level: str
    items: int


class ReasonCount(NamedTuple):
    """The number of items that stopped for a reason, and the meaning of the reason."""

    reason: str
    items: int
    meaning: str


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """What one session did; `ended` and `exit_code` are None while it runs.

    `errors` say why tasks failed. `notes` are remarks, for example about files that are tried later, or about the
    clock; `warnings` is the number of those that report a fault. `repairs` say what was repaired in the archive after
    an earlier crash. `left_out` is what rules or caps left out, what was damaged, and what its sources do not list
    any more. `outcomes` count how the requests of its crawls ended. `changes` has at most 1,000 changes;
    `changes_left_out` says whether there are more. The names of the WARC files that it wrote begin with `warc_prefix`.
    `differing` is the number of files that had other content at a source than was fetched, when a run ended. `problems`
    say what is lost in the archive or unfinished, and which stores could not be read, so that nothing of them is
    counted. `still_open` is the number of documents that had failed, waited to be fetched or were unread when a run
    ended; None means that they were not counted.
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
    errors: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    repairs: tuple[str, ...] = ()
    left_out: tuple[RuleCount, ...] = ()
    outcomes: tuple[OutcomeCount, ...] = ()
    changes: tuple[SourceChange, ...] = ()
    changes_left_out: bool = False
    warc_prefix: str = ""
    warnings: int = 0
    differing: int = 0
    problems: tuple[str, ...] = ()
    still_open: int | None = None

    @property
    def kept_all(self) -> bool:
        """Whether nothing was refused, failed, damaged or lost, and no cap left out anything."""
        return not (self.reasons or self.errors or self.capped or self.problems or self.damaged)

    @property
    def other_errors(self) -> list[str]:
        """The errors that are not those of one source."""
        source_prefixes = tuple(f"{source.source}: " for source in self.sources if source.error)
        return [line for line in self.errors if not line.startswith(source_prefixes)]

    @property
    def capped(self) -> int:
        """The number of things that caps left out."""
        return sum(count.addresses for count in self.left_out if count.reason == Reason.CAPPED)

    @property
    def damaged(self) -> int:
        """The number of damaged things, and of parts of documents that could not be read."""
        counts = (count for count in self.left_out if count.reason not in _WHOLE)
        return sum(count.addresses for count in counts if is_damage(count.reason))


def summarise(
    ledger: Ledger, number: int, phases: Phases, repairs: tuple[str, ...] = (), *,
    content_counts: ContentCounts = BYTES_ONLY, until_now: bool = False,
) -> SessionSummary:  # fmt: skip
    """Return the summary of the session with this number, which must exist.

    `repairs` are lines on what the session repaired. `content_counts` counts changes by content. With `until_now`,
    changes that later sessions wrote are counted too: if this session was stopped, later sessions write the pages that
    it requested.
    """
    session = ledger.sessions.get(number)
    assert session is not None
    own_facts, reported_facts = session.span, ledger.sessions.reported_facts(number)
    reported_facts = (reported_facts[0], ABOVE_EVERY_FACT) if until_now else reported_facts
    tasks = ledger.sessions.tasks(own_facts)
    stops = count_reached(ledger, own_facts, {task.collection for task in tasks})
    refusals = ledger.mirrors.refused_between(own_facts)
    counts = count_session(ledger, own_facts)
    visited, written = content_counts.visited(own_facts), content_counts.written(reported_facts)
    corrected = replace(counts, sources=_count_by_content(counts, visited, written))
    reasons: list[tuple[str, int]] = [(stop.reason, stop.number) for stop in stops if stop.reason]
    reasons += [(refusal.reason, refusal.number) for refusal in refusals]
    reasons += ((reason, number) for (_, reason), number in counts.reasons.items())
    # The first 404 at a page that was present is a failure; the page may still be there.
    reasons += (
        (Reason.NOT_FOUND, missed)
        for source, counter in counts.sources.items()
        if (missed := corrected.sources[source]["failed"] - counter["failed"]) > 0
    )
    reasons += (*content_counts.skipped(own_facts).items(), *count_damaged(tasks))
    return SessionSummary(
        session=session.number,
        command=session.command,
        holder=session.holder,
        began=session.began,
        ended=session.ended,
        exit_code=session.outcome,
        sources=_count_sources(ledger, reported_facts, tasks, refusals, corrected, last_fact=own_facts[1]),
        phases=_count_phases(stops, phases),
        reasons=count_reasons(reasons),
        findings=tuple(FindingCount(*finding) for finding in ledger.items.found_between(own_facts)),
        errors=tuple(task.comment or task.reason or "" for task in tasks if task.failed),
        notes=tuple(_note_text(task) for task in tasks if _is_note(task)),
        repairs=repairs,
        left_out=count_left_out(tasks),
        outcomes=_count_outcomes(counts.outcomes, own_facts, content_counts),
        problems=tuple(
            f"not counted: {name}: {why}" for name, why in content_counts.unreadable.items()
        ),  # after all counts
        warc_prefix=f"windrow-{session.seq:06}",
        warnings=sum(1 for task in tasks if _is_note(task) and task.reason),
    )


def unfinished_takedowns(ledger: Ledger) -> list[str]:
    """Return a message for each takedown that has begun and is not done, with the command that finishes it."""
    targets = dict.fromkeys(takedown.target for takedown in ledger.takedowns.open())
    return [f"{target}: its takedown is not finished, and a part of it remains: windrow forget" for target in targets]


def count_left_out(tasks: Iterable[TaskRow]) -> tuple[RuleCount, ...]:
    """Return counts of what rules or caps left out and of what was damaged, for each source and rule.

    The counts are read from the comments of tasks. A count that belongs to no source has the collection's name in place
    of a source's.
    """
    counts = (_read_count(task) for task in tasks)
    return tuple(sum_by_rule(count for count in counts if count))


def _read_count(task: TaskRow) -> RuleCount | None:
    if task.failed or not task.reason or not task.comment:
        return None
    return RuleCount.read(task.source or task.collection, task.reason, task.comment)


def count_damaged(tasks: Iterable[TaskRow]) -> list[tuple[str, int]]:
    """Return a pair (reason, number) for each count of damaged things in first phases, such as lines of a CDX file."""
    counts = count_left_out(task for task in tasks if task.phase == 1)
    return [(count.reason, count.addresses) for count in counts if is_damage(count.reason)]


def is_damage(reason: str) -> bool:
    """Return whether a reason for leaving a thing out means that the thing is damaged.

    >>> is_damage("truncated"), is_damage("not_wanted"), is_damage("query_denied"), is_damage("capped")
    (True, False, False, False)
    """
    return reason not in BY_RULE and reason not in NOT_REQUESTED and reason != Reason.CAPPED


def _is_note(task: TaskRow) -> bool:
    return bool(task.comment) and not task.failed and not task.source and _read_count(task) is None


def _note_text(task: TaskRow) -> str:
    return f"{task.reason.meaning}: {task.comment}" if task.reason else task.comment or ""


def count_reasons(reason_counts: Iterable[tuple[str, int]]) -> tuple[ReasonCount, ...]:
    """Add up the counts of each reason, given as (reason, count); return the most frequent first, equal counts by name.

    Retries are not counted, and neither is what caps left out, because `left_out` has it.
    """
    counts: Counter[str] = Counter()
    for reason, count in reason_counts:
        if reason not in {Reason.RETRIED, Reason.CAPPED}:
            counts[reason] += count
    ordered = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    return tuple(ReasonCount(name, count, Reason(name).meaning) for name, count in ordered)


def _count_sources(
    ledger: Ledger,
    reported_facts: tuple[int, int],
    tasks: Sequence[TaskRow],
    refusals: Sequence[RefusalCount],
    session_counts: SessionCounts,
    *,
    last_fact: int,
) -> tuple[SourceCount, ...]:
    """Return, for each source, the counts of a session's attempts and of the changes in listings that it reports.

    `reported_facts` are the first and the last fact of these changes, and `last_fact` is that of the
    session: what is known now is not counted of sources that had a task later.
    """
    counts: dict[str, Counter[str]] = {task.source: Counter() for task in tasks if task.source}
    for listed in ledger.mirrors.listed_between(reported_facts):
        counts.setdefault(listed.source, Counter())[{"listed": "new"}.get(listed.event, listed.event)] += listed.number
    for refused in refusals:
        counts.setdefault(refused.source, Counter())["refused"] += refused.number
    for source, session_counter in session_counts.sources.items():
        counts.setdefault(source, Counter()).update(session_counter)
    later = ledger.sessions.sources_after(last_fact)
    collections = {task.source: task.collection for task in tasks if task.source and task.source not in later}
    frontiers = count_frontiers(ledger, {*collections.values()}) if collections else {}
    errors = dict(session_counts.troubles)
    for task in tasks:
        if task.source and task.failed:
            errors.setdefault(task.source, task.comment or task.reason or "it failed")
    empty = FrontierCount()
    known = {name: frontiers.get(name, empty if name in collections else None) for name in {*counts} - later}
    return tuple(
        SourceCount(
            name, (count := known.get(name)) and count.known, waiting=count and count.due, error=errors.get(name, ""),
            **counter,
        )
        for name, counter in sorted(counts.items())
    )  # fmt: skip


def _count_by_content(
    session_counts: SessionCounts, visited: Mapping[str, Counter[str]], written: Mapping[str, Counter[str]]
) -> dict[str, Counter[str]]:
    """Return the session's counts by source, corrected for each source that is in `visited` or `written`.

    `visited` and `written` are results of the functions of `ContentCounts` with these names.
    """
    counts = {source: Counter(counter) for source, counter in session_counts.sources.items()}
    for source, counter in counts.items():
        if source in visited:
            by_content = visited[source]
            documents = counter["new"] + counter["changed"]
            counter["failed"] += max(0, counter["gone"] - by_content["gone"])
            # What a first document lacks is not the same as before.
            same = min(counter["changed"], documents - by_content["new"] - by_content["changed"])
            counter["same_text"] += max(0, same)
            counter["redirected"] += by_content["moved"]
    for source, by_content in written.items():
        if source in counts or any(by_content[kind] for kind in _CHANGE_KINDS):
            counter = counts.setdefault(source, Counter())
            for kind in _CHANGE_KINDS:
                counter[kind] = by_content[kind]
    return counts


def _count_outcomes(
    recorded_outcomes: Iterable[OutcomeCount], facts: tuple[int, int], content_counts: ContentCounts
) -> tuple[OutcomeCount, ...]:
    """Correct the recorded outcomes of the requests among `facts` (first, last); return the most frequent first."""
    counts_by_collection: dict[str, Counter[str]] = {}
    for count in recorded_outcomes:
        counts_by_collection.setdefault(count.collection, Counter())[count.outcome] += count.attempts
    outcomes = [
        OutcomeCount(collection, outcome, number)
        for collection, counter in counts_by_collection.items()
        for outcome, number in content_counts.outcomes(collection, facts, counter).items()
    ]
    return tuple(sorted(outcomes, key=lambda count: -count.attempts))


def _count_phases(stops: Sequence[ReachedCount], phases_by_collection: Phases) -> tuple[PhaseCount, ...]:
    counts: dict[tuple[str, str, str], Counter[str]] = {}
    for stop in stops:
        status = stop.status.name.lower()
        counts.setdefault((stop.collection, stop.phase, stop.kind), Counter())[status] += stop.number

    def order(key: tuple[str, str, str]) -> tuple[str, int, str]:
        collection, phase, kind = key
        phases = phases_by_collection.get(collection, ())
        return collection, phases.index(phase) if phase in phases else 0, kind

    return tuple(
        PhaseCount(collection, kind, phase, **counts[collection, phase, kind])
        for collection, phase, kind in sorted(counts, key=order)
    )


def phase_name(phases_by_collection: Phases, collection: str, phase: int) -> str:
    """Return the name of a phase, or its number if the collection is not installed or has no such phase."""
    phases = phases_by_collection.get(collection, ())
    return phases[phase - 1] if 0 < phase <= len(phases) else str(phase)


def describe_end(summary: SessionSummary) -> str:
    """Describe how a session ended: by the meaning of its exit code or, if the code is 0 or missing, by counts.

    The counts are those of refused and failed items, things that caps left out, warnings, sources with errors,
    files of which a source offers other content, and problems; without any of these, that of findings of the levels
    error and fatal. If there are none, but documents of any run are failed, not fetched or unread, their number
    follows; without these, that of damaged things that were left out. Otherwise the text is "all well". Addresses that
    rules leave out are not counted.
    """
    code = summary.exit_code or 0
    problems = [counted(len(summary.problems), "problem")] if summary.problems else []
    if code == SOURCES_FAILED:
        failed = sum(bool(source.error) for source in summary.sources)
        failures = [f"{failed:,} of {counted(len(summary.sources), 'source')} failed"] if failed else []
        return ", ".join([*failures, *problems]) or EXIT_CODES[code]
    if code:
        return EXIT_CODES.get(code, "failed")
    refused = sum(source.refused for source in summary.sources)
    failed = max(
        sum(reason.items for reason in summary.reasons) - refused, sum(source.failed for source in summary.sources)
    )
    counts = [f"{refused:,} refused"] if refused else []
    counts += [f"{failed:,} failed"] if failed else []
    counts += [f"{summary.capped:,} left out by caps"] if summary.capped else []
    counts += [counted(summary.warnings, "warning")] if summary.warnings else []
    source_errors = sum(bool(source.error) for source in summary.sources)
    counts += [f"errors at {counted(source_errors, 'source')}"] if source_errors else []
    counts += [f"{counted(summary.differing, 'file')} with other content at a source"] if summary.differing else []
    counts += problems
    errors = sum(finding.items for finding in summary.findings if finding.level in {Level.ERROR, Level.FATAL})
    if errors and not counts:  # otherwise they may be those of what failed
        counts = [counted(errors, "error") + " in documents"]
    if summary.still_open and not counts:  # otherwise the line `still open` is enough
        counts = [f"{summary.still_open:,} still open"]
    if summary.damaged and not counts:  # what the first phase of a collection finds damaged has failed
        counts = [f"{summary.damaged:,} left out as damaged"]
    return f"done, {', '.join(counts)}" if counts else EXIT_CODES[0]
