"""Show records to people and programs: in `windrow why`, and as results of a search."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from windrow.adapters.adapter import Explanation, ListedRecord, Message, RecordList
from windrow.adapters.search_answer import SearchAnswer, SearchResult, SnippetMark, snippet_marks
from windrow.adapters.takedown import takedown_line, unfinished_line
from windrow.adapters.trial import DocumentFinding
from windrow.clock import from_unix_time, now
from windrow.config import Workspace
from windrow.contract import Collection, FollowResult
from windrow.contract.registry import columns
from windrow.engine.captures.index_lines import IndexedCapture, explain_all, unindexed_rules
from windrow.engine.captures.rules import ExplainedCapture
from windrow.formats.text import are, counted, json_text, show
from windrow.formats.url import normalise_typed
from windrow.ledger import Ledger
from windrow.ledger.typed.addresses import AddressRow
from windrow.ledger.typed.takedowns import TombstoneRow
from windrow.model import Level, Source
from windrow.query.columns import parse_query
from windrow.query.likeness import mark_hits, snippet, term_pattern
from windrow.query.tree import Word, searched_terms
from windrow.stores.record_entries import Entry
from windrow.stores.record_versions import RecordVersion
from windrow.stores.records import RecordStore

if TYPE_CHECKING:
    from windrow.adapters.home import HomeEntry, Part


class RecordAddress(NamedTuple):
    """An address from which a collection gets records. `via_url` is where it was found; None for a seed.

    `due` is when it is requested next, or None if it is never requested again. A time in the past, even in 1970, means
    now.
    """

    url: str
    origin: str
    source: str
    collection: str
    via_url: str | None
    due: datetime | None
    failures: int


def record_address(row: AddressRow) -> RecordAddress:
    """Return an address of the ledger in the form that `why --json` prints."""
    due = None if row.due is None else datetime.fromtimestamp(row.due, UTC)
    return RecordAddress(row.url, row.origin, row.source, row.collection, row.via_url, due, row.failures)


def describe_state(version: RecordVersion) -> str:
    """Return a clause that says whether a record is gone, according to its last version."""
    return "gone" if version.change == "gone" or not version.json else "not gone when its source was last requested"


def write_versions(versions: Iterable[RecordVersion], stream: TextIO) -> int:
    """Write a line of JSON for each version, and return the number of lines."""
    count = 0
    for version in versions:
        line = {
            "key": version.key, "at": version.at.isoformat(), "change": version.change, "source": version.source,
            "url": version.url, "attempt": version.attempt, "digest": version.digest, "value": version.value,
        }  # fmt: skip
        stream.write(json_text(line) + "\n")
        count += 1
    return count


def follow_findings(url: str, phase: str, follow_result: FollowResult) -> Iterator[DocumentFinding]:
    """Yield the findings, requests and message of `follow_result`, all as findings about the document `url`."""
    for finding in follow_result.findings:
        yield DocumentFinding(url, phase, finding.level, finding.kind, finding.message)
    for request in follow_result.requests:
        yield DocumentFinding(url, phase, Level.NOTE, "Request", f"{request.method} {request.url}")
    if follow_result.end:
        yield DocumentFinding(url, phase, Level.NOTE, "End", follow_result.end)


class RecordOrigin(NamedTuple):
    """An origin, with the number of its addresses, of those whose last request failed, and of those due now."""

    origin: str
    source: str
    addresses: int
    failing: int
    due: int
    next_due: datetime | None
    last_request: datetime | None


def explain_host(ledger: Ledger, collection: str, name: str) -> Explanation | None:
    """Explain a collection's origins at a host; return None if there are none. `name` may have a scheme and port."""
    wanted_name = name.lower().removeprefix("http://").removeprefix("https://").rstrip("/.")
    lines, messages = [f"{wanted_name}: a host of {collection}"], []
    for host in ledger.addresses.host_states("", wanted_name, int(now().timestamp())):
        name_and_port = host.origin.partition("://")[2]
        if host.collection != collection or wanted_name not in {name_and_port, name_and_port.rpartition(":")[0]}:
            continue
        numbers = f"{host.failing:,} failed at the last request, {are(host.due)} due"
        lines += [
            f"  {host.origin}, source {host.source}: {counted(host.addresses, 'address')}: {numbers}",
            f"      last attempt {show(host.asked)}" if host.asked else "      no request was made",
        ]
        for outcome in ledger.attempts.outcomes(host.seq):
            meaning = f"{outcome.reason}: {outcome.reason.meaning}" if outcome.reason else f"status {outcome.status}"
            lines.append(f"      {counted(outcome.number, 'attempt')}: {meaning}")
        for tombstone in ledger.takedowns.of(0, host.seq):
            lines += takedown_lines(tombstone)
        counts = (host.addresses, host.failing, host.due)
        origin = RecordOrigin(host.origin, host.source, *counts, from_unix_time(host.next_due), host.asked)
        messages.append(Message("host", origin))
    return Explanation(wanted_name, tuple(messages), tuple(lines)) if messages else None


def explain_not_taken(
    ledger: Ledger, collection: Collection, sources: Iterable[Source], options: Mapping[str, Any], name: str, *,
    archive: Path, is_known: bool,
) -> Explanation | None:  # fmt: skip
    """Explain why sources have not taken captures of a web address; return None if there are no such captures.

    If the address `is_known`, only the captures that rules leave out are explained. `archive` is as in `explain_all`.
    """
    url = normalise_typed(name)
    descriptions = [
        describe_capture(source.name, capture)
        for source in (sources if url else ())
        for capture in explain_all(ledger, collection, source, options, url=url, archive=archive)
        if capture.left_out or not is_known
    ]
    if not descriptions:
        return None
    head = "further captures" if is_known else f"it is not in {collection.name}"
    lines = (f"{url}: {head}", *(line for line, _ in descriptions))
    return Explanation(url, tuple(Message("capture", message) for _, message in descriptions), lines)


def describe_capture(source: str, capture: ExplainedCapture | IndexedCapture) -> tuple[str, dict[str, Any]]:
    """Return a line and a JSON object that say why a source takes or leaves out a capture or an index line."""
    if isinstance(capture, IndexedCapture):
        return _describe_index_line(source, capture)
    left_out, started = capture.left_out, show(capture.recorded.attempt.started)
    verdict = f"{left_out.reason}: {left_out.rule}" if left_out else "wanted: the next run will take it"
    message = {"source": source, "from": capture.found_in, "attempt": capture.recorded.seq}
    rule_fields = {"reason": left_out.reason, "rule": left_out.rule} if left_out else {}
    return f"  {source}, the capture of {capture.found_in} at {started}: {verdict}", message | rule_fields


def explain_unindexed(workspace: Workspace, ledger: Ledger, collection: Collection, name: str) -> Explanation | None:
    """Describe the captures that were left out and are in WARC files without an index: some may be of `name`.

    Return None if nothing was left out, or `name` is not a web address.
    """
    url = normalise_typed(name)
    lines, messages = [f"{url}: it is not in {collection.name}"], []
    for source in workspace.of(collection.name) if url else ():
        for rule in unindexed_rules(ledger, collection, source):
            example = f", such as {rule.url}" if rule.url else ""
            captures = f"{counted(rule.lines, 'capture')} left out, perhaps of this address"
            lines.append(
                f"  {source.name}, in WARC files without an index: {captures}: {rule.rule} ({rule.reason}){example}"
            )
            fields = {"source": source.name, "captures": rule.lines, "reason": rule.reason, "rule": rule.rule}
            messages.append(Message("capture", fields | {"example": rule.url}))
    return Explanation(url, tuple(messages), tuple(lines)) if messages else None


def _describe_index_line(source: str, capture: IndexedCapture) -> tuple[str, dict[str, Any]]:
    left_out, line = capture.left_out, capture.line
    verdict = f"left out: {left_out.rule} ({left_out.reason})" if left_out else "wanted: the next run will take it"
    response = f"status {line.status or '-'}, {line.mime or 'no media type'}"
    message = {"source": source, "index": str(capture.file), "timestamp": line.timestamp, "digest": line.digest}
    rule_fields = {"reason": left_out.reason, "rule": left_out.rule} if left_out else {}
    return f"  {source}, the line of {line.timestamp} in {capture.file}, {response}: {verdict}", message | rule_fields


def record_lines(keys: Sequence[str], limit: int) -> Iterator[str]:
    """Yield lines with the first `limit` keys of the records that were read from an answer."""
    for key in keys[:limit]:
        yield f"      a record in it: {key}"
    if len(keys) > limit:
        yield "      further records in it are not listed"


def takedown_lines(tombstone: TombstoneRow) -> Iterator[str]:
    """Yield lines that describe a takedown of an address or its origin, and whether it was lifted or interrupted."""
    yield f"  {show(tombstone.at)}  {takedown_line(tombstone.target, tombstone.holder, tombstone.reason)}"
    if tombstone.lifted is not None:
        yield f"  {show(tombstone.lifted)}  lifted: it may be requested again"
    elif tombstone.done is None:
        yield f"  {unfinished_line(tombstone.target)}"


class RecordHit(NamedTuple):
    """A record that a search found. `published` is when it was first seen, `updated` is when it last changed."""

    url: str
    title: str
    snippet: str
    marks: tuple[SnippetMark, ...]
    published: datetime
    updated: datetime
    score: float
    collection: str
    key: str
    value: Any


def list_records(store: RecordStore, before: int, limit: int) -> RecordList:
    """Return at most `limit` current records with ids below `before` (0: all), the newest first."""
    entries = store.entries(before, limit + 1)
    records = tuple(
        ListedRecord(
            entry.key, entry.title, entry.url, entry.source, datetime.fromtimestamp(entry.published, UTC),
            datetime.fromtimestamp(entry.updated, UTC), json.loads(entry.json),
        )
        for _, entry in entries[:limit]
    )  # fmt: skip
    return RecordList(records, entries[limit - 1][0] if len(entries) > limit else None)


def search(
    store: RecordStore, name: str, text: str, *, offset: int, limit: int, explain: bool, facets: bool = False
) -> SearchAnswer:
    """Search the current records of the collection `name`, and count them by facet; any text is a valid query."""
    query = parse_query(text, columns())
    entries = store.search(query, name, offset=offset, limit=limit + 1, facets=facets)
    find = term_pattern([*searched_terms(query.root), *map(Word, entries.forms)])
    results = tuple(_search_result(entry, name, find, explain=explain) for entry in entries.entries[:limit])
    notes = query.notes
    if query.as_of is not None:
        notes = (*notes, f"the records of {name} can only be searched as they are now, so as-of: finds nothing")
    for column, number in entries.lacking.items():
        records = f"{counted(number, 'record')} of {name}"
        notes = (*notes, f"the filter {column}: does not find {records} without a value that it can read")
    further = len(entries.entries) > limit
    return SearchAnswer(
        text, offset, results, notes, further, entries.relaxed, entries.frequency, entries.documents,
        entries.suggestions, counts=entries.counts,
    )  # fmt: skip


def _search_result(entry: Entry, name: str, find: re.Pattern[str] | None, *, explain: bool) -> SearchResult:
    pieces, title = snippet(entry.text, find), mark_hits(entry.title, find)
    score = round(entry.score, 4)
    published, updated = (datetime.fromtimestamp(at, UTC) for at in (entry.published, entry.updated))
    hit = RecordHit(
        entry.url, entry.title, snippet="".join(piece for piece, _ in pieces), marks=snippet_marks(pieces),
        published=published, updated=updated, score=score,
        collection=name, key=entry.key, value=json.loads(entry.json),
    )  # fmt: skip
    remarks = (f"score {score:.3f}, by how well the words match its key, title, address and text",)
    key = "" if entry.key in {entry.title, entry.url} else entry.key
    description = " ".join(filter(None, [name, key, f"updated {updated:%Y-%m-%d}"]))
    shown_remarks = remarks if explain else ()
    return SearchResult(
        title, entry.url, about=description, snippet=pieces, remarks=shown_remarks, type="record_result", details=hit,
        at=updated,
    )  # fmt: skip


class RecordFaces(NamedTuple):
    """How the records of a collection are shown: in a list, and by themselves, by key and last value."""

    entry: Callable[[ListedRecord], HomeEntry]
    record: Callable[[Ledger, str, Any], tuple[Part, ...]]


class ShownCollection(NamedTuple):
    """A collection whose records are shown: its name, the names of its sources, and how."""

    name: str
    sources: tuple[str, ...]
    faces: RecordFaces
