"""The whole story of one thing: everything the ledger has of it, in the order in which it happened."""

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
from windrow.ledger.typed.listings import RefusalRow

__all__ = ["Event", "Meaning", "Story", "StoryAnswer", "tell"]


DOCUMENTS, FINDINGS = 50, 20
"""Documents of an archive whose findings its own story tells, and findings of each."""


class Event(NamedTuple):
    """One thing that happened; what does not apply is None or empty.

    `number` is the fact's own on the ledger; `what` is seen, listed, changed, gone, refused, fetch,
    capture, reading, start, finding, decision or task; `told` says it in a sentence.
    """

    at: datetime
    number: int
    session: int
    what: str
    told: str
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
    """A thing, how it stands now, what lies in it, and all that happened to it."""

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
    """What a question found: a story, what collections explain, a session's summary, or things it may mean."""

    asked: str
    story: Story | None = None
    explained: tuple[Explanation, ...] = ()  # by the collections whose it is
    session: SessionSummary | None = None
    candidates: tuple[Meaning, ...] = ()
    more: int = 0  # candidates that are not listed


def tell(workspace: Workspace, ledger: Ledger, what: str) -> StoryAnswer:
    """Tell the story of what a person names; a WindrowError says what is known where it is unknown."""
    what = what.strip().encode("utf-8", "backslashreplace").decode()  # as the ledger spells what is no text
    if not what:
        raise UsageError("nothing is named", hint="windrow why --help")
    question = Question(workspace, ledger)
    number = what.removeprefix("session ")
    if is_number(number) and (session := ledger.sessions.numbered(int(number))):
        return StoryAnswer(what, session=summarise(ledger, session, phases(), was_read=was_read(workspace, ledger)))
    return _numbered(ledger, _found(workspace, ledger, question, what))


def _numbered(ledger: Ledger, found: StoryAnswer) -> StoryAnswer:
    """Call sessions in events by what people call them: 1, 2, 3."""
    numbers = ledger.sessions.numbers()
    if story := found.story:
        events = tuple(event._replace(session=numbers.get(event.session, event.session)) for event in story.events)
        found = found._replace(story=story._replace(events=events))
    return found


def _found(workspace: Workspace, ledger: Ledger, question: Question, what: str) -> StoryAnswer:
    """Tell of items: one, or all that may be meant; else of what is no item."""
    items = question.items(what.removeprefix("item "))
    keys = {key for _, key in items}
    if len(keys) == 1:
        return StoryAnswer(what, _story(ledger, [number for number, _ in items]))
    if keys:
        return StoryAnswer(what, candidates=question.candidates(items), more=max(0, question.total - len(items)))
    return _elsewhere(workspace, ledger, question, what)


def _elsewhere(workspace: Workspace, ledger: Ledger, question: Question, what: str) -> StoryAnswer:
    """Tell of what is no item: a page or site, a refused name, a source, an owner."""
    able = capable(Explains, harvested_collections(workspace, ledger))
    told = (one.explain(workspace, ledger, what) for one in able.values())
    explained = tuple(one for one in told if one is not None)
    source = workspace.source(what)
    if explained:
        story = _source(ledger, source.name, source.collection, source.owner) if source else None
        return StoryAnswer(what, story=story, explained=explained)
    if refused := ledger.listings.refused(what):
        return StoryAnswer(what, _refusal(what, refused))
    if source:
        return StoryAnswer(what, _source(ledger, source.name, source.collection, source.owner))
    for name, made in installed().items():
        if what in {service.name for service in made.configuration.services} and ledger.sessions.tasks_of_source(what):
            return StoryAnswer(what, _source(ledger, what, name, ""))
    if owned := question.owned(what):
        return StoryAnswer(what, candidates=question.candidates(owned), more=max(0, question.total - len(owned)))
    if collection := ledger.sessions.collection_of(what):  # it is not declared, or not any more
        return StoryAnswer(what, _source(ledger, what, collection, ""))
    raise WindrowError(f"nothing is known of {what!r}{clue(workspace, what)}", hint="windrow status")


def _story(ledger: Ledger, numbers: list[int]) -> Story:
    """Tell of an item; of several with one key, the one that its archive's latest fetch brought."""
    rows = [row for number in numbers if (row := ledger.items.get(number))]
    item = max(rows, key=lambda row: (row.fetch, row.seq))
    number, kind = item.seq, item.collection
    seen = f"seen for the first time, as {item.key}"
    events = [Event(item.at, number, item.session, "seen", seen, digest=item.digest, size=item.size)]
    within = ""
    collection = installed().get(kind)
    fetched_at = frontier_of(ledger, collection).fetched_at if collection else ""
    if item.parent and (parent := ledger.items.get(item.parent)):
        within = parent.key
        events += _listings(ledger, item.parent)
        events += _attempts(filter(None, [ledger.attempts.get(item.fetch)]), fetched_at)
    events += _listings(ledger, number) + _attempts(ledger.attempts.of_item(number), fetched_at)
    events += _readings(ledger, number) + _findings(ledger, kind, number) + _decisions(ledger, number)
    members = _members(ledger, number, item.latest)
    phase, status = states(ledger, [number])[number]
    events += _within(ledger, kind, members)
    offered = [offerer.source for offerer in ledger.listings.offerers(item.parent or number) if offerer.present]
    return Story(
        number,
        kind,
        item.kind,
        item.key,
        item.owner,
        phase,
        status,
        item.reason or "",
        (*offered, *ledger.imports.names(number)),
        within,
        tuple(sorted(events, key=lambda event: event.number)),
        members,
        tuple(other for other in numbers if other != number),
    )


def _listings(ledger: Ledger, item: int) -> list[Event]:
    words = {"changed": "offers it changed", "gone": "does not offer it any more"}
    words |= {"listed": "offers it", "refused": "offers it", "compared": "was compared with what is held"}
    found = []
    for one in ledger.listings.of_item(item):
        said = f"{one.source} {words.get(one.event, one.event)}"
        if one.event != "gone":
            said += f" at {one.path}" + (f", {one.size:,} bytes" if one.size is not None else "")
            said += f" of {one.modified:%Y-%m-%d %H:%M:%S}" if one.modified else ""
        found.append(Event(one.at, one.seq, one.session, one.event, said, one.source, one.path, size=one.size))
    return found


def _attempts(rows: Iterable[AttemptRow], phase: str) -> list[Event]:
    """Tell of attempts to fetch, each as its begin and its end; they are of a phase."""
    found = []
    for row in rows:
        source, address, session = row.source, row.url, row.session
        begun = f"asked {source} for it" + ("" if row.end else "; this attempt was cut, or is under way")
        found.append(Event(row.at, row.seq, session, "fetch", begun, source, address))
        if row.end is None or row.ended is None:
            continue
        if row.reason:
            said = f"{phase}: failed; {source} did not give it after {row.seconds:.1f} s and {row.received:,} bytes: "
            said += row.message or row.reason
            failed = Event(
                row.ended, row.end, session, "fetch", said, source, address, phase, "failed", row.reason
            )  # fmt: skip
            found.append(failed)
            continue
        said = f"{phase}: done; got {row.received:,} bytes in {row.seconds:.1f} s; "
        same = "the same bytes as before, kept at"
        said += same if row.revisit else f"{row.size:,} bytes {short(row.digest)} kept at"
        said += f" {row.warc} from byte {row.offset:,} on, {row.length:,} bytes long"
        said += f"; it matches {row.checksum.partition(':')[0]} beside it" if row.checksum else ""
        found.append(
            Event(
                row.ended, row.end, session, "capture", said, source, address, phase, "done",
                size=row.size, digest=row.digest, warc=row.warc, offset=row.offset, length=row.length,
            )
        )  # fmt: skip
    return found


def _readings(ledger: Ledger, item: int) -> list[Event]:
    """Tell what steps made of an item, and which of them was begun and has not ended."""
    events = []
    for reading in ledger.items.readings(item):
        step, version, reason = reading.step, reading.version, reading.reason
        status = "failed" if reason else "done"
        text = f"{step}: {status}"
        if reading.digest:
            outcome = reason.meaning if reason else f"{reading.number:,} found in it"
            text += f"; {step} (version {version}) read {short(reading.digest)}: {outcome}"
        elif reason:  # of no bytes of its own: the end of a replay
            text += f" ({reason.meaning})"
        events.append(
            Event(
                reading.at, reading.seq, reading.session, "reading", text, phase=step, status=status,
                reason=reason or "", digest=reading.digest, step=step, version=version,
            )
        )  # fmt: skip
    if start := ledger.items.unended(item):
        text, step = f"{start.step}: running; it was cut, or is under way", start.step
        events.append(
            Event(start.at, start.seq, start.session, "start", text, phase=step, status="running", step=step)
        )  # fmt: skip
    return events


def _findings(ledger: Ledger, kind: str, item: int) -> list[Event]:
    found = []
    for finding in ledger.items.findings(item):
        column = f" column {finding.column}" if finding.column is not None else ""
        place = f", line {finding.line}{column}" if finding.line is not None else ""
        said = f"{finding.level}{place}: {finding.kind}: {finding.message}"
        at_phase = phase_name(phases(), kind, finding.phase)
        found.append(
            Event(
                finding.at, finding.seq, finding.session, "finding", said,
                phase=at_phase, kind=finding.kind, level=finding.level, line=finding.line, column=finding.column,
            )
        )  # fmt: skip
    return found


def _within(ledger: Ledger, kind: str, members: Iterable[Meaning]) -> list[Event]:
    """Tell what was found in the documents of an archive, for those that did not get through."""
    failed = [member for member in members if member.status == "failed"][:DOCUMENTS]
    return [
        event._replace(told=f"{one.key.rpartition('/')[2]}: {event.told}")
        for one in failed
        for event in _findings(ledger, kind, one.number)[:FINDINGS]
    ]


def _decisions(ledger: Ledger, item: int) -> list[Event]:
    """Tell what was decided of an item: that it is fetched again, or ends where it stands."""
    events = []
    for decision in ledger.items.decisions(item):
        text = decision.act.meaning
        if decision.message and decision.message != text:
            text += f": {decision.message}"
        events.append(Event(decision.at, decision.seq, decision.session, "decision", text, reason=decision.act))
    return events


def _members(ledger: Ledger, item: int, attempt: int) -> tuple[Meaning, ...]:
    """Return the documents that an attempt to get an archive brought."""
    members = ledger.items.children(item, attempt) if attempt else []
    stand = states(ledger, [member.item for member in members])
    return tuple(
        Meaning(member.item, member.kind, member.key, member.owner, *stand[member.item], member.reason or "")
        for member in members
    )


def _refusal(what: str, rows: list[RefusalRow]) -> Story:
    """Tell of a name that no table can hold: it is on record only as refused."""
    told = tuple(
        Event(
            row.at, row.seq, row.session, "refused", f"{row.source} offers {row.path}: {row.reason.meaning}",
            row.source, row.path, status="failed", reason=row.reason,
        )
        for row in rows
    )  # fmt: skip
    sources = tuple(dict.fromkeys(one.source for one in told))
    last = told[-1]
    return Story(last.number, "", "refused", what, "", "", "failed", last.reason, sources, "", told)


def _source(ledger: Ledger, name: str, kind: str, owner: str) -> Story:
    """Tell of a source: every time it was asked."""
    told = []
    for one in ledger.sessions.tasks_of_source(name):
        status = "running" if one.ended is None else "failed" if one.failed else "done"
        said = f"{_doing(ledger, kind, one.phase)}: {status}" + (f": {one.comment}" if one.comment else "")
        at = one.ended or one.began
        told.append(Event(at, one.seq, one.session, "task", said, name, status=status, reason=one.reason or ""))
    last = told[-1] if told else None
    return Story(
        0, kind, "source", name, owner, "", last.status if last else "", last.reason if last else "", (), "",
        tuple(told),
    )  # fmt: skip


def _doing(ledger: Ledger, kind: str, phase: int) -> str:
    """Say what a task of a phase does."""
    collection = installed().get(kind)
    activity = "listing" if collection is None else frontier_of(ledger, collection).activity(phase)
    return activity or phase_name(phases(), kind, phase)
