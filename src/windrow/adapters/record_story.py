"""Explain records, their addresses and their hosts, in `windrow why` and `windrow try`, and export versions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from windrow.adapters.adapter import Explanation, Message
from windrow.adapters.takedown import takedown_line, unfinished_line
from windrow.adapters.trial import DocumentFinding
from windrow.clock import from_unix_time, now
from windrow.config import Workspace
from windrow.contract import Collection, FollowResult
from windrow.digest import hash64
from windrow.engine.captures.index_lines import IndexedCapture, explain_all, unindexed_rules
from windrow.engine.captures.rules import ExplainedCapture
from windrow.engine.requests.waiting import describe_waits
from windrow.formats.text import are, counted, json_text, show
from windrow.formats.url import normalise_typed
from windrow.ledger import ELSEWHERE, Ledger
from windrow.ledger.typed.addresses import AddressRow
from windrow.ledger.typed.takedowns import TombstoneRow
from windrow.model import Level, Source
from windrow.reasons import Reason
from windrow.stores.record_versions import RecordVersion
from windrow.stores.records import RecordStore

if TYPE_CHECKING:
    pass


_MAX_LISTED = 20
"""The maximum number of attempts, versions or records that `windrow why` lists."""


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


def explain_record(ledger: Ledger, collection: str, store: RecordStore, key: str) -> Explanation:
    """Explain a record of a collection by its versions, and say what it waits for."""
    history = store.history(key)
    lines = [f"{key}: a record of {collection}, {describe_state(history[-1])}"]
    for version in [version for version in history if version.change != "same"][-_MAX_LISTED:]:
        lines.append(f"  {show(version.at)}  {version.change}  {version.url}")
        attempts = ledger.attempts.by_numbers([version.attempt])
        if attempts and (kept := attempts[0].attempt.kept):
            place_text = f"the record at byte {kept.place.offset:,} of {kept.place.warc}, {kept.digest[:19]}"
            lines.append(f"      from attempt {version.attempt}: {place_text}")
    asks = store.pending_asks([version.attempt for version in history[-_MAX_LISTED:]])
    waits = describe_waits(ledger, collection, asks)
    lines += [wait.line for wait in waits]
    unchanged_times = [version.at for version in history if version.change == "same"]
    if unchanged_times:
        times = counted(len(unchanged_times), "time")
        lines.append(f"  seen without a change {times}, last {show(unchanged_times[-1])}")
    record = {"key": key, "collection": collection, "versions": len(history) - len(unchanged_times)}
    messages = [Message("record", record)]
    messages += [*(Message("version", version) for version in history), *(Message(*wait[1:]) for wait in waits)]
    return Explanation(key, tuple(messages), tuple(lines))


def explain_address(ledger: Ledger, collection: str, store: RecordStore | None, address: AddressRow) -> Explanation:
    """Explain an address by its last attempts, what they led to, and the records that were read from them."""
    attempts = ledger.attempts.of_address(address.host, address.digest)[-_MAX_LISTED:]
    captures = {attempt.seq: ledger.captures.captured(attempt.seq) for attempt in attempts}
    tombstones = ledger.takedowns.of(address.digest, address.host)
    verb = "taken" if address.interval == ELSEWHERE else "requested"
    lines = [f"{address.url}: {verb} for {collection}, source {address.source}"]
    if address.via_url:
        lines.append(f"  found at {address.via_url}")
    messages = [Message("address", record_address(address))]
    lines += [line for tombstone in tombstones for line in takedown_lines(tombstone)]
    messages += [Message("tombstone", tombstone, omit_empty=True) for tombstone in tombstones]
    for attempt in attempts:
        status_text = f"status {attempt.status}" if attempt.status else "no response"
        failure_text = "; ".join(["", *filter(None, (attempt.reason, attempt.message))])
        place_text = f"; the record at byte {attempt.offset or 0:,} of {attempt.warc}" if attempt.warc else ""
        lines.append(f"  {show(attempt.started)}  {status_text}{failure_text}{place_text}")
        messages.append(Message("attempt", attempt, omit_empty=True))
        if captured := captures[attempt.seq]:
            origin_text = f"{captured.collection}:{captured.source}, attempt {captured.original}"
            if not captured.original:  # a record of another program
                origin_text = f"the record at byte {captured.offset:,} of {captured.warc}"
            lines.append(f"      no request was made: it was taken from {origin_text}")
            messages.append(Message("captured", captured))
        if followed := ledger.requests.followed(attempt.seq):
            led_to = f"{counted(followed.requests, 'request')} and {counted(followed.offers, 'offer')}"
            effect = f"led to {led_to}, {followed.fresh} of the offers new"
            lines.append(f"      {effect}" + (f"; {followed.ending}" if followed.ending else ""))
            if followed.reason:
                lines.append(f"      not followed: {followed.reason}")
            lines += [f"      {finding.kind}: {finding.message}" for finding in followed.read_findings()]
            messages.append(Message("followed", followed))
        keys = store.keys_of(attempt.seq, _MAX_LISTED + 1) if store is not None else []
        lines += record_lines(keys, _MAX_LISTED)
        messages += [Message("attempt_record", {"attempt": attempt.seq, "key": key}) for key in keys[:_MAX_LISTED]]
    if store is not None:
        asks = store.pending_asks([attempt.seq for attempt in attempts])
        waits = describe_waits(ledger, collection, asks)
        lines += [wait.line for wait in waits]
        messages += [Message(*wait[1:]) for wait in waits]
        for skip in store.skipped(url=address.url):
            part = skip.key or ("a part" if skip.reason is Reason.CAPPED else "the document")
            lines.append(f"  skipped {part}: {skip.reason} {skip.message}".rstrip())
            messages.append(Message("skipped", skip))
    if address.due is not None:
        due_time = show(datetime.fromtimestamp(address.due, UTC))
        lines.append("  due next" if address.due <= 1 else f"  due again at {due_time}")
    return Explanation(address, tuple(messages), tuple(lines))


def explain_taken_down(ledger: Ledger, collection: str, store: RecordStore, key: str) -> Explanation | None:
    """Explain a record that was taken down by the takedowns of its addresses; return None if it was not."""
    lines, messages = [f"{key}: a record of {collection}, taken down"], []
    attempts = ledger.attempts.by_numbers(store.taken_down(key))
    for url in dict.fromkeys(recorded.attempt.url for recorded in attempts):
        address = ledger.addresses.get(collection, hash64(url))
        for tombstone in ledger.takedowns.of(hash64(url), address.host if address else -1):
            lines += takedown_lines(tombstone)
            messages.append(Message("tombstone", tombstone, omit_empty=True))
    return Explanation(key, tuple(messages), tuple(dict.fromkeys(lines))) if messages else None


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
