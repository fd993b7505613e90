"""The history of an item, a source or a refused file: what the facts of the ledger say about it, in order."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from itertools import islice, zip_longest
from typing import NamedTuple

from windrow.adapters.adapter import Explains, Explanation, harvested_collections
from windrow.app.changes import content_counts, read_each
from windrow.app.item_states import states
from windrow.app.lookup import ItemLookup, Meaning, is_number, predict_outcome
from windrow.app.status import count_unlisted, failing_requests
from windrow.app.summary import SessionSummary, phase_name, summarise
from windrow.config import Workspace
from windrow.contract.registry import capable, installed, phases
from windrow.digest import shorten_digest
from windrow.engine.frontier import RETRY, Chosen, frontier_of
from windrow.errors import StoreError, UsageError, WindrowError
from windrow.formats.text import counted, replace_lone_surrogates
from windrow.ledger import Ledger
from windrow.ledger.sessions import RuleCount
from windrow.ledger.typed.attempts import AttemptRow
from windrow.ledger.typed.items import ItemRow
from windrow.ledger.typed.mirrors import RefusalRow
from windrow.ledger.typed.sessions import LeavingTask
from windrow.model import Status
from windrow.reasons import Reason

__all__ = ["Event", "Meaning", "Story", "StoryAnswer", "answer_why"]


MAX_DOCUMENT_FINDINGS = 20
"""The maximum number of findings of each failed document in the story of a zip, and of revisits in that of a file."""


class Event(NamedTuple):
    """One event of a story; fields that do not apply are None or empty.

    `number` is the fact's `seq` on the ledger. `event` is seen, listed, changed, compared, gone, refused, left out,
    fetch, capture, reading, start, finding, decision or task. `message` describes what happened.
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
    """The history of an item, a source, a service or a refused name: its state, its members, and its events in order.

    `within` is the key of the zip that contains the item. The `members` of a source are what is failed there now, and
    `more` is how many more of these there are. `offered_by` are the sources that list it, and the names under which it
    was imported. `others` are the numbers of the items that are the same document in other fetches of its zip.
    """

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
    others: tuple[int, ...] = ()
    more: int = 0


class StoryAnswer(NamedTuple):
    """What is known about a name: a story, explanations by collections, a session's summary, or several candidates.

    `explained` has an explanation from each collection that has the name. `more` is the number of candidates that are
    not listed. `unreadable` says which collections were not asked, since their stores cannot be read.
    """

    asked: str
    story: Story | None = None
    explained: tuple[Explanation, ...] = ()
    session: SessionSummary | None = None
    candidates: tuple[Meaning, ...] = ()
    more: int = 0
    unreadable: tuple[str, ...] = ()


def answer_why(workspace: Workspace, ledger: Ledger, name: str, limit: int) -> StoryAnswer:
    """Return what is known about a name or number; raise WindrowError for an unknown or empty name.

    At most `limit` items, refused entries of listings, and failed documents of a zip are listed.
    """
    name = replace_lone_surrogates(name.strip(), "backslashreplace")  # as the ledger spells bytes that are not UTF-8
    if not name:
        raise UsageError("the name is empty", hint="windrow why --help")
    lookup = ItemLookup(workspace, ledger, limit)
    number = name.removeprefix("session ")
    if is_number(number) and (session := ledger.sessions.numbered(int(number))):
        return StoryAnswer(
            name, session=summarise(ledger, session, phases(), content_counts=content_counts(workspace, ledger))
        )
    return _number_sessions(ledger, _answer(workspace, ledger, lookup, name))


def _number_sessions(ledger: Ledger, answer: StoryAnswer) -> StoryAnswer:
    """Replace the sessions of events, which are numbers of facts, with the numbers that users see: 1, 2, 3."""
    numbers = ledger.sessions.numbers()
    if story := answer.story:
        events = tuple(event._replace(session=numbers.get(event.session, event.session)) for event in story.events)
        answer = answer._replace(story=story._replace(events=events))
    return answer


def _answer(workspace: Workspace, ledger: Ledger, lookup: ItemLookup, name: str) -> StoryAnswer:
    items = lookup.items(name.removeprefix("item "))
    keys = {key for _, key in items}
    if len(keys) == 1:
        return StoryAnswer(name, _item_story(ledger, [number for number, _ in items], lookup.limit))
    if keys:
        candidates = lookup.candidates(items)
        return StoryAnswer(name, candidates=candidates, more=lookup.total - len(candidates))
    unreadable: dict[str, str] = {}
    answer = _answer_without_item(workspace, ledger, lookup, name, unreadable)
    return answer._replace(unreadable=tuple(f"{collection}: {why}" for collection, why in unreadable.items()))


def _answer_without_item(
    workspace: Workspace, ledger: Ledger, lookup: ItemLookup, name: str, unreadable: dict[str, str]
) -> StoryAnswer:
    """Return what is known about a name that is not an item's, such as that of a page, record, source or refused file.

    Raise WindrowError if nothing is known. For `unreadable`, see `read_each`.
    """
    adapters = capable(Explains, harvested_collections(workspace, ledger))
    explanations = read_each(adapters, lambda adapter: adapter.explain(workspace, ledger, name), unreadable)
    explained = tuple(explanation for _, explanation in explanations if explanation is not None)
    source = workspace.source(name)
    story = None
    if source:
        unlisted = [count for count in count_unlisted(workspace, ledger, unreadable) if count.source == source.name]
        story = _source_story(ledger, source.name, source.collection, source.owner, lookup.limit, unlisted=unlisted)
    if explained:
        return StoryAnswer(name, story=story, explained=explained)
    if refusals := ledger.mirrors.refused(name):
        return StoryAnswer(name, _refusal_story(name, refusals))
    if story:
        return StoryAnswer(name, story)
    for collection_name, collection in installed().items():
        service_names = {service.name for service in collection.configuration.services}
        if name in service_names and name in ledger.sessions.sources():
            return StoryAnswer(name, _source_story(ledger, name, collection_name, "", lookup.limit))
    if items := lookup.items_of_owner(name):
        return StoryAnswer(name, candidates=lookup.candidates(items), more=max(0, lookup.total - len(items)))
    if past_story := _find_past_story(ledger, name, lookup.limit):
        return StoryAnswer(name, past_story)
    for collection_name, why in unreadable.items():
        raise StoreError(f"{name!r} may be known to {collection_name}, but {why}", hint="windrow check")
    raise WindrowError(f"{name!r} is not known{predict_outcome(workspace, name)}", hint="windrow status")


def _item_story(ledger: Ledger, numbers: list[int], limit: int) -> Story:
    """Return the story of an item. `numbers` are items with the same key; the story is of the item fetched last.

    It has the findings of at most `limit` failed documents of a zip.
    """
    items = [item for number in numbers if (item := ledger.items.get(number))]
    item = max(items, key=lambda item: (item.attempt, item.seq))
    number, collection_name = item.seq, item.collection
    seen_text = f"seen for the first time, as {item.key}"
    events = [Event(item.at, number, item.session, "seen", seen_text, digest=item.digest, size=item.size)]
    zip_key = ""
    collection = installed().get(collection_name)
    fetch_phase = frontier_of(ledger, collection).fetch_phase if collection else ""
    if item.file and (zip_item := ledger.items.get(item.file)):
        zip_key = zip_item.key
        attempts = [*filter(None, [ledger.attempts.get(item.attempt)])]
    else:
        attempts = ledger.attempts.of_file(number)
    events += _listing_events(ledger, item.file or number) + _attempt_events(attempts, fetch_phase)
    events += _reading_events(ledger, number) + _finding_events(ledger, collection_name, number)
    events += _left_out_events(ledger, item)
    events += _decision_events(ledger, number)
    latest_attempt = item.latest
    members = () if zip_key else _zip_members(ledger, latest_attempt)
    phase, status = states(ledger, [number])[number]
    events += _member_finding_events(ledger, collection_name, members, limit)
    sources = [mirror.source for mirror in ledger.mirrors.of_files([item.file or number])]
    return Story(
        number, collection_name, item.kind, item.key, item.owner, phase, status, item.reason or "",
        offered_by=(*sources, *ledger.imports.names(number)), within=zip_key,
        events=tuple(sorted(events, key=lambda event: event.number)),
        members=members, others=tuple(duplicate for duplicate in numbers if duplicate != number),
    )  # fmt: skip


def _listing_events(ledger: Ledger, file: int) -> list[Event]:
    clauses = {"changed": "offers a changed version of it", "gone": "no longer offers it"}
    clauses |= {"listed": "offers it", "refused": "offers it", "compared": "was compared with the copy in the archive"}
    events = []
    for listing in ledger.mirrors.listings(file):
        text = f"{listing.source} {clauses.get(listing.event, listing.event)}"
        if listing.event != "gone":
            text += f" at {listing.path}" + (f", {listing.size:,} bytes" if listing.size is not None else "")
            text += f", dated {listing.modified:%Y-%m-%d %H:%M:%S}" if listing.modified else ""
        fact = (listing.at, listing.seq, listing.session, listing.event)
        events.append(Event(*fact, text, listing.source, listing.path, size=listing.size))
    return events


def _attempt_events(attempts: Iterable[AttemptRow], phase: str) -> list[Event]:
    events = []
    for attempt in attempts:
        source, address, session = attempt.source, attempt.url, attempt.session
        text = f"requested from {source}" + ("" if attempt.end else "; this attempt is under way or was interrupted")
        events.append(Event(attempt.at, attempt.seq, session, "fetch", text, source, address))
        if attempt.end is None or attempt.ended is None:
            continue
        duration = f"{attempt.seconds:.1f} s"
        if attempt.reason:
            text = f"{phase}: failed; {source} sent {attempt.received:,} bytes in {duration}: "
            text += attempt.message or attempt.reason
            event = Event(
                attempt.ended, attempt.end, session, "fetch", text, source, address,
                phase=phase, status="failed", reason=attempt.reason,
            )  # fmt: skip
            events.append(event)
            continue
        text = f"{phase}: done; got {attempt.received:,} bytes in {duration}; "
        unchanged_text = "the same bytes as before, kept at"
        text += (
            unchanged_text if attempt.revisit else f"{attempt.size:,} bytes {shorten_digest(attempt.digest)} kept at"
        )
        text += f" {attempt.warc} from byte {attempt.offset:,} on, {attempt.length:,} bytes long"
        text += f"; it matches the {attempt.checksum.partition(':')[0]} checksum beside it" if attempt.checksum else ""
        event = Event(
            attempt.ended, attempt.end, session, "capture", text, source, address, phase=phase, status="done",
            size=attempt.size, digest=attempt.digest,
            warc=attempt.warc, offset=attempt.offset, length=attempt.length,
        )  # fmt: skip
        events.append(event)
    return events


def _reading_events(ledger: Ledger, item: int) -> list[Event]:
    events = []
    for reading in ledger.items.readings(item):
        step, version, reason = reading.step, reading.version, reading.reason
        status = "failed" if reason else "done"
        text = f"{step}: {status}"
        if reading.digest:
            outcome = reason.meaning if reason else f"{reading.number:,} found in it"
            text += f"; {step} (version {version}) read {shorten_digest(reading.digest)}: {outcome}"
        elif reason:  # a replay ended it without reading bytes
            text += f" ({reason.meaning})"
        events.append(
            Event(
                reading.at, reading.seq, reading.session, "reading", text, phase=step, status=status,
                reason=reason or "", digest=reading.digest, step=step, version=version,
            )
        )  # fmt: skip
    if start := ledger.items.unended(item):
        text, step = f"{start.step}: begun; it is under way or was interrupted", start.step
        events.append(
            Event(start.at, start.seq, start.session, "start", text, phase=step, status="running", step=step)
        )  # fmt: skip
    return events


def _finding_events(ledger: Ledger, collection: str, item: int) -> list[Event]:
    events = []
    for finding in ledger.items.findings(item):
        column = f" column {finding.column}" if finding.column is not None else ""
        position = f", line {finding.line}{column}" if finding.line is not None else ""
        text = f"{finding.level}{position}: {finding.kind}: {finding.message}"
        phase = phase_name(phases(), collection, finding.phase)
        events.append(
            Event(
                finding.at, finding.seq, finding.session, "finding", text,
                phase=phase, kind=finding.kind, level=finding.level, line=finding.line, column=finding.column,
            )
        )  # fmt: skip
    return events


def _left_out_events(ledger: Ledger, item: ItemRow) -> list[Event]:
    """Return events about the records of an imported WARC file that were left out or faulty, by reason and rule.

    They also name the first revisits that wait for their originals.
    """
    fact = (item.at, item.seq, item.session, "finding")
    events = []
    for name in ledger.imports.names(item.seq):
        index = ledger.captures.index(item.collection, item.owner, name[:1024])
        if index is None or index.rules != item.key:  # the name is that of another file now
            continue
        for row in ledger.captures.left_out(index.id):
            text = f"left out or faulty: {counted(row.lines, 'record')}: {row.rule} ({row.reason})"
            events.append(Event(*fact, text, reason=row.reason, level="note"))
    waiting = ledger.imports.waiting_in(item.seq, MAX_DOCUMENT_FINDINGS)
    for offset in waiting:
        text = f"the revisit at byte {offset:,} waits for its original"
        events.append(Event(*fact, text, reason=Reason.NO_ORIGINAL, level="note", offset=offset))
    if (more := ledger.imports.count_waiting_in(item.seq) - len(waiting)) > 0:
        events[-1] = _add_remark(events[-1], f"and {counted(more, 'more revisit')}")
    return events


def _member_finding_events(ledger: Ledger, collection: str, members: Iterable[Meaning], limit: int) -> list[Event]:
    """Return events for findings in a zip's failed documents, at most `limit` documents.

    Each message begins with the document's name. The last message about a document says how many of its findings are
    left out, and the last message of all also says how many documents are left out.
    """
    events: list[Event] = []
    failed = [member for member in members if member.status == "failed"]
    for member in failed[:limit]:
        name, findings = member.key.rpartition("/")[2], _finding_events(ledger, collection, member.number)
        events += [event._replace(message=f"{name}: {event.message}") for event in findings[:MAX_DOCUMENT_FINDINGS]]
        if (more := len(findings) - MAX_DOCUMENT_FINDINGS) > 0:
            events[-1] = _add_remark(events[-1], f"and {counted(more, 'more finding')}: windrow why {member.number}")
    if events and len(failed) > limit:
        events[-1] = _add_remark(events[-1], f"and {counted(len(failed) - limit, 'more document')} failed; see --limit")
    return events


def _add_remark(event: Event, remark: str) -> Event:
    return event._replace(message=f"{event.message} ({remark})")


def _decision_events(ledger: Ledger, item: int) -> list[Event]:
    events = []
    for decision in ledger.items.decisions(item):
        text = decision.act.meaning
        if decision.message and decision.message != text:
            text += f": {decision.message}"
        events.append(Event(decision.at, decision.seq, decision.session, "decision", text, reason=decision.act))
    return events


def _zip_members(ledger: Ledger, attempt: int) -> tuple[Meaning, ...]:
    members = ledger.members.brought(attempt)
    states_by_number = states(ledger, [member.member for member in members])
    return tuple(
        Meaning(member.member, member.kind, member.key, "", *states_by_number[member.member], member.reason or "")
        for member in members
    )


def _refusal_story(name: str, refusals: list[RefusalRow]) -> Story:
    events = tuple(map(_refusal_event, refusals))
    sources = tuple(dict.fromkeys(event.source for event in events))
    last_event = events[-1]
    return Story(
        last_event.number, collection="", kind="refused", key=name, owner="", phase="", status="failed",
        reason=last_event.reason, offered_by=sources, within="", events=events,
    )  # fmt: skip


def _refusal_event(refusal: RefusalRow) -> Event:
    return Event(
        refusal.at, refusal.seq, refusal.session, "refused",
        f"{refusal.source} offers {refusal.path}: {refusal.reason.meaning}",
        refusal.source, refusal.path, status="failed", reason=refusal.reason,
    )  # fmt: skip


def _find_past_story(ledger: Ledger, name: str, limit: int) -> Story | None:
    """Return the story of a source that is not declared now, or never was, or of what a rule left out; or None."""
    if undeclared := ledger.sessions.collection_of(name):
        return _source_story(ledger, name, undeclared, "", limit)
    counts = ledger.sessions.counts_with_example(name)
    return _left_out_story(ledger, name, counts) if counts else None


def _left_out_story(ledger: Ledger, name: str, counts: list[tuple[LeavingTask, RuleCount]]) -> Story:
    """Return the story of what rules left out and `windrow status` names, such as a sitemap on a foreign host."""
    events = tuple(
        Event(
            task.ended, task.seq, task.session, "left out",
            f"{count.source}: {_describe_activity(ledger, task.collection, task.phase)} left it out: {count.rule}"
            + (f", and {count.addresses - 1:,} more" if count.addresses > 1 else ""),
            count.source, status="failed", reason=task.reason,
        )
        for task, count in counts
    )  # fmt: skip
    last_task = counts[-1][0]
    return Story(
        0, last_task.collection, kind="left out", key=name, owner="", phase="", status="failed",
        reason=last_task.reason, offered_by=tuple(dict.fromkeys(count.source for _, count in counts)), within="",
        events=events,
    )  # fmt: skip


def _failed_items(ledger: Ledger, collection_name: str, source: str, limit: int) -> tuple[tuple[Meaning, ...], int]:
    """Return what is failed of a source now, and how many more there are: addresses, files, or documents of files.

    At most `limit` are returned, by reason, with about as many of each reason. An address has the number 0, and so has
    everything that is not an item of the ledger.
    """
    collection = installed().get(collection_name)
    if collection is None:
        return (), 0
    frontier = frontier_of(ledger, collection)
    failed: dict[int, tuple[Chosen, str]] = {}
    counts = (*ledger.mirrors.failing_reasons(), *failing_requests(ledger))
    reasons = [reason for name, reason, _ in counts if name == source]
    for reason in (*reasons, ""):  # without a reason: also what those counts do not have
        for chosen in frontier.find_undone(RETRY, source, reason):
            if chosen.state[1] is not Status.CANCELLED:
                failed.setdefault(chosen.number, (chosen, reason))
    meanings: list[Meaning] = []
    for number, (chosen, reason) in islice(failed.items(), limit):
        if item := None if chosen.source else ledger.items.get(number):
            own_state = states(ledger, [number])[number]
            file = Meaning(item.seq, item.kind, item.key, item.owner, *own_state, item.reason or "")
            meanings += [each for each in (file, *_zip_members(ledger, item.latest)) if each.status == "failed"]
        else:
            phase = phase_name(phases(), collection_name, chosen.state[0])
            meanings.append(Meaning(0, "address", chosen.key, "", phase, "failed", reason))
    by_reason: dict[str, list[Meaning]] = {}
    for meaning in meanings:
        by_reason.setdefault(meaning.reason, []).append(meaning)
    in_turn = [meaning for turn in zip_longest(*by_reason.values()) for meaning in turn if meaning]
    listed = sorted(in_turn[:limit], key=lambda meaning: [*by_reason].index(meaning.reason))
    return tuple(listed), len(meanings) - len(listed) + max(0, len(failed) - limit)


def _source_story(
    ledger: Ledger, source: str, collection: str, owner: str, limit: int, *, unlisted: Iterable[RuleCount] = ()
) -> Story:
    """Return the story of a source or service: its tasks, refused entries of its listings, and what is failed now.

    It has the last tasks and refused entries and the first failed items, at most `limit` each. What the source does not
    list any more, although nothing failed (`unlisted`), is a remark on the last task. The state of the story is failed
    if anything is failed now, or else the state of the last task.
    """
    events = []
    tasks = [*islice(ledger.sessions.tasks_of_source(source), limit + 1)]
    for task in reversed(tasks[:limit]):
        status = "running" if task.ended is None else "failed" if task.failed else "done"
        activity = _describe_activity(ledger, collection, task.phase)
        text = f"{activity}: {status}" + (f": {task.comment}" if task.comment else "")
        at = task.ended or task.began
        events.append(Event(at, task.seq, task.session, "task", text, source, status=status, reason=task.reason or ""))
    if len(tasks) > limit:
        events[0] = _add_remark(events[0], "and tasks of earlier sessions; see --limit")
    last_event = events[-1] if events else None
    for count in unlisted if events else ():
        events[-1] = _add_remark(events[-1], f"{count.addresses} {count.rule}: {count.reason}")
    refusals = ledger.mirrors.refused_at(source, limit + 1)
    events += map(_refusal_event, refusals[:limit])
    if len(refusals) > limit:
        events[-1] = _add_remark(events[-1], "and entries that were refused earlier; see --limit")
    members, more = _failed_items(ledger, collection, source, limit)
    status = last_event.status if last_event else ""
    return Story(
        0, collection, kind="source", key=source, owner=owner, phase="",
        status="failed" if members and status == "done" else status, reason=last_event.reason if last_event else "",
        offered_by=(), within="", events=tuple(sorted(events, key=lambda event: event.number)),
        members=members, more=more,
    )  # fmt: skip


def _describe_activity(ledger: Ledger, collection: str, phase: int) -> str:
    installed_collection = installed().get(collection)
    activity = "listing" if installed_collection is None else frontier_of(ledger, installed_collection).activity(phase)
    return activity or phase_name(phases(), collection, phase)
