"""The history of an item or source: every fact the ledger has of it, in order."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from windrow.adapters.adapter import Explains, Explanation, harvested_collections
from windrow.app.changes import was_read
from windrow.app.item_states import states
from windrow.app.question import Meaning, Question, clue, is_number
from windrow.app.summary import SessionSummary, phase_name, summarise
from windrow.config import Workspace
from windrow.contract.registry import capable, installed, phases
from windrow.digest import short
from windrow.engine.frontier import frontier_of
from windrow.errors import UsageError, WindrowError
from windrow.ledger import Ledger
from windrow.ledger.typed.attempts import AttemptRow
from windrow.ledger.typed.mirrors import RefusalRow

__all__ = ["Event", "Meaning", "Story", "StoryAnswer", "tell"]


DOCUMENTS, FINDINGS = 50, 20
"""The most documents of an archive whose findings its story has, and the most findings of each."""


class Event(NamedTuple):
    """One event; fields that do not apply are None or empty.

    `number` is the fact's `seq` on the ledger; `event` is seen, listed, changed, gone, refused, fetch,
    capture, reading, start, finding, decision or task; `message` is a sentence.
    """

    at: datetime
    number: int
    session: int
    event: str
    message: str
    source: str = ""
    address: str = ""
    phase: str = ""
    status: str = ""
    reason: str = ""
    kind: str = ""
    level: str = ""
    line: int | None = None
    column: int | None = None
    size: int | None = None
    digest: str = ""
    warc: str = ""
    offset: int | None = None
    length: int | None = None
    step: str = ""
    version: str = ""


class Story(NamedTuple):
    """An item, a source or a refused name: its state, its members and its events in order."""

    number: int
    collection: str
    kind: str
    key: str
    owner: str
    phase: str
    status: str
    reason: str
    offered_by: tuple[str, ...]
    within: str
    events: tuple[Event, ...]
    members: tuple[Meaning, ...] = ()
    others: tuple[int, ...] = ()  # numbers of the same document from other fetches of its archive


class StoryAnswer(NamedTuple):
    """The answer about a name: a story, explanations of collections, a session's summary, or items it may mean."""

    asked: str
    story: Story | None = None
    explained: tuple[Explanation, ...] = ()  # by collections that know the name
    session: SessionSummary | None = None
    candidates: tuple[Meaning, ...] = ()
    more: int = 0  # candidates that are not listed


def tell(workspace: Workspace, ledger: Ledger, name: str) -> StoryAnswer:
    """Return the history of what a name means. Raises WindrowError for an unknown name."""
    name = name.strip().encode("utf-8", "backslashreplace").decode()  # as the ledger spells bytes that are not UTF-8
    if not name:
        raise UsageError("nothing is named", hint="windrow why --help")
    question = Question(workspace, ledger)
    number = name.removeprefix("session ")
    if is_number(number) and (session := ledger.sessions.numbered(int(number))):
        return StoryAnswer(name, session=summarise(ledger, session, phases(), was_read=was_read(workspace, ledger)))
    return _number_sessions(ledger, _answer(workspace, ledger, question, name))


def _number_sessions(ledger: Ledger, answer: StoryAnswer) -> StoryAnswer:
    """Give the sessions of events the numbers that people use: 1, 2, 3."""
    numbers = ledger.sessions.numbers()
    if story := answer.story:
        events = tuple(event._replace(session=numbers.get(event.session, event.session)) for event in story.events)
        answer = answer._replace(story=story._replace(events=events))
    return answer


def _answer(workspace: Workspace, ledger: Ledger, question: Question, name: str) -> StoryAnswer:
    """Answer about an item, list several that the name may mean, or answer about what is not an item."""
    items = question.items(name.removeprefix("item "))
    keys = {key for _, key in items}
    if len(keys) == 1:
        return StoryAnswer(name, _item_story(ledger, [number for number, _ in items]))
    if keys:
        return StoryAnswer(name, candidates=question.candidates(items), more=max(0, question.total - len(items)))
    return _answer_other(workspace, ledger, question, name)


def _answer_other(workspace: Workspace, ledger: Ledger, question: Question, name: str) -> StoryAnswer:
    """Answer about a name that is not an item: a page or site, a refused name, a source or an owner."""
    able = capable(Explains, harvested_collections(workspace, ledger))
    explanations = (adapter.explain(workspace, ledger, name) for adapter in able.values())
    explained = tuple(explanation for explanation in explanations if explanation is not None)
    source = workspace.source(name)
    if explained:
        story = _source_story(ledger, source.name, source.collection, source.owner) if source else None
        return StoryAnswer(name, story=story, explained=explained)
    if refused := ledger.mirrors.refused(name):
        return StoryAnswer(name, _refusal_story(name, refused))
    if source:
        return StoryAnswer(name, _source_story(ledger, source.name, source.collection, source.owner))
    for kind, kind_collection in installed().items():
        if name in {
            service.name for service in kind_collection.configuration.services
        } and ledger.sessions.tasks_of_source(name):
            return StoryAnswer(name, _source_story(ledger, name, kind, ""))
    if owned := question.owned(name):
        return StoryAnswer(name, candidates=question.candidates(owned), more=max(0, question.total - len(owned)))
    if collection := ledger.sessions.collection_of(name):  # it is not declared, or not any more
        return StoryAnswer(name, _source_story(ledger, name, collection, ""))
    raise WindrowError(f"{name!r} is not known{clue(workspace, name)}", hint="windrow status")


def _item_story(ledger: Ledger, numbers: list[int]) -> Story:
    """Return the story of an item; of several with one key, that of the latest fetch."""
    rows = [row for number in numbers if (row := ledger.items.get(number))]
    latest = max(rows, key=lambda row: (row.attempt, row.seq))
    number, kind = latest.seq, latest.collection
    seen_text = f"seen for the first time, as {latest.key}"
    events = [Event(latest.at, number, latest.session, "seen", seen_text, digest=latest.digest, size=latest.size)]
    archive = ""
    collection = installed().get(kind)
    fetched_at = frontier_of(ledger, collection).fetch_phase if collection else ""
    if latest.file and (file := ledger.items.get(latest.file)):
        archive = file.key
        attempts = [*filter(None, [ledger.attempts.get(latest.attempt)])]
    else:
        attempts = ledger.attempts.of_file(number)
    events += _listing_events(ledger, latest.file or number) + _attempt_events(attempts, fetched_at)
    events += _reading_events(ledger, number) + _finding_events(ledger, kind, number) + _decision_events(ledger, number)
    members = () if archive else _archive_members(ledger, latest.latest)
    phase, status = states(ledger, [number])[number]
    events += _member_finding_events(ledger, kind, members)
    offered = [mirror.source for mirror in ledger.mirrors.of_files([latest.file or number])]
    return Story(
        number,
        kind,
        latest.kind,
        latest.key,
        latest.owner,
        phase,
        status,
        latest.reason or "",
        (*offered, *ledger.imports.names(number)),
        archive,
        tuple(sorted(events, key=lambda event: event.number)),
        members,
        tuple(duplicate for duplicate in numbers if duplicate != number),
    )


def _listing_events(ledger: Ledger, file: int) -> list[Event]:
    words = {"changed": "offers it changed", "gone": "does not offer it any more"}
    words |= {"listed": "offers it", "refused": "offers it", "compared": "was compared with what is held"}
    events = []
    for listing in ledger.mirrors.listings(file):
        text = f"{listing.source} {words.get(listing.event, listing.event)}"
        if listing.event != "gone":
            text += f" at {listing.path}" + (f", {listing.size:,} bytes" if listing.size is not None else "")
            text += f" of {listing.modified:%Y-%m-%d %H:%M:%S}" if listing.modified else ""
        events.append(
            Event(
                listing.at,
                listing.seq,
                listing.session,
                listing.event,
                text,
                listing.source,
                listing.path,
                size=listing.size,
            )
        )
    return events


def _attempt_events(rows: Iterable[AttemptRow], phase: str) -> list[Event]:
    """Return two events for each attempt to fetch: its start, and its end in `phase`."""
    events = []
    for row in rows:
        source, address, session = row.source, row.url, row.session
        start_text = f"asked {source} for it" + ("" if row.end else "; this attempt was interrupted, or is under way")
        events.append(Event(row.at, row.seq, session, "fetch", start_text, source, address))
        if row.end is None or row.ended is None:
            continue
        if row.reason:
            text = f"{phase}: failed; {source} did not give it after {row.seconds:.1f} s and {row.received:,} bytes: "
            text += row.message or row.reason
            failed = Event(
                row.ended, row.end, session, "fetch", text, source, address, phase, "failed", row.reason
            )  # fmt: skip
            events.append(failed)
            continue
        text = f"{phase}: done; got {row.received:,} bytes in {row.seconds:.1f} s; "
        same = "the same bytes as before, kept at"
        text += same if row.revisit else f"{row.size:,} bytes {short(row.digest)} kept at"
        text += f" {row.warc} from byte {row.offset:,} on, {row.length:,} bytes long"
        text += f"; it matches {row.checksum.partition(':')[0]} beside it" if row.checksum else ""
        events.append(
            Event(
                row.ended, row.end, session, "capture", text, source, address, phase, "done",
                size=row.size, digest=row.digest, warc=row.warc, offset=row.offset, length=row.length,
            )
        )  # fmt: skip
    return events


def _reading_events(ledger: Ledger, item: int) -> list[Event]:
    """Return the events of an item's readings, and of a step that has begun and not ended."""
    events = []
    for reading in ledger.items.readings(item):
        step, version, reason = reading.step, reading.version, reading.reason
        status = "failed" if reason else "done"
        text = f"{step}: {status}"
        if reading.digest:
            outcome = reason.meaning if reason else f"{reading.number:,} found in it"
            text += f"; {step} (version {version}) read {short(reading.digest)}: {outcome}"
        elif reason:  # a replay ended it without reading bytes
            text += f" ({reason.meaning})"
        events.append(
            Event(
                reading.at, reading.seq, reading.session, "reading", text, phase=step, status=status,
                reason=reason or "", digest=reading.digest, step=step, version=version,
            )
        )  # fmt: skip
    if start := ledger.items.unended(item):
        text, step = f"{start.step}: running; it was interrupted, or is under way", start.step
        events.append(
            Event(start.at, start.seq, start.session, "start", text, phase=step, status="running", step=step)
        )  # fmt: skip
    return events


def _finding_events(ledger: Ledger, kind: str, item: int) -> list[Event]:
    events = []
    for finding in ledger.items.findings(item):
        column = f" column {finding.column}" if finding.column is not None else ""
        place = f", line {finding.line}{column}" if finding.line is not None else ""
        text = f"{finding.level}{place}: {finding.kind}: {finding.message}"
        at_phase = phase_name(phases(), kind, finding.phase)
        events.append(
            Event(
                finding.at, finding.seq, finding.session, "finding", text,
                phase=at_phase, kind=finding.kind, level=finding.level, line=finding.line, column=finding.column,
            )
        )  # fmt: skip
    return events


def _member_finding_events(ledger: Ledger, kind: str, members: Iterable[Meaning]) -> list[Event]:
    """Return the findings in the failed documents of an archive."""
    failed = [member for member in members if member.status == "failed"][:DOCUMENTS]
    return [
        event._replace(message=f"{member.key.rpartition('/')[2]}: {event.message}")
        for member in failed
        for event in _finding_events(ledger, kind, member.number)[:FINDINGS]
    ]


def _decision_events(ledger: Ledger, item: int) -> list[Event]:
    events = []
    for decision in ledger.items.decisions(item):
        text = decision.act.meaning
        if decision.message and decision.message != text:
            text += f": {decision.message}"
        events.append(Event(decision.at, decision.seq, decision.session, "decision", text, reason=decision.act))
    return events


def _archive_members(ledger: Ledger, attempt: int) -> tuple[Meaning, ...]:
    members = ledger.members.brought(attempt)
    states_by_number = states(ledger, [member.member for member in members])
    return tuple(
        Meaning(member.member, member.kind, member.key, "", *states_by_number[member.member], member.reason or "")
        for member in members
    )


def _refusal_story(name: str, rows: list[RefusalRow]) -> Story:
    """Return the story of a refused name, which is recorded without an item."""
    events = tuple(
        Event(
            row.at, row.seq, row.session, "refused", f"{row.source} offers {row.path}: {row.reason.meaning}",
            row.source, row.path, status="failed", reason=row.reason,
        )
        for row in rows
    )  # fmt: skip
    sources = tuple(dict.fromkeys(event.source for event in events))
    last_event = events[-1]
    return Story(last_event.number, "", "refused", name, "", "", "failed", last_event.reason, sources, "", events)


def _source_story(ledger: Ledger, name: str, kind: str, owner: str) -> Story:
    events = []
    for task in ledger.sessions.tasks_of_source(name):
        status = "running" if task.ended is None else "failed" if task.failed else "done"
        text = f"{_activity(ledger, kind, task.phase)}: {status}" + (f": {task.comment}" if task.comment else "")
        at = task.ended or task.began
        events.append(Event(at, task.seq, task.session, "task", text, name, status=status, reason=task.reason or ""))
    last_event = events[-1] if events else None
    return Story(
        0, kind, "source", name, owner, "", last_event.status if last_event else "",
        last_event.reason if last_event else "", (), "",
        tuple(events),
    )  # fmt: skip


def _activity(ledger: Ledger, kind: str, phase: int) -> str:
    collection = installed().get(kind)
    activity = "listing" if collection is None else frontier_of(ledger, collection).activity(phase)
    return activity or phase_name(phases(), kind, phase)
