"""How a record is told: its lines in `why`, and its line among the results of a search."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, TextIO

from windrow.adapters.adapter import DocumentFinding, SearchAnswer, SearchResult, SnippetMark, snippet_marks
from windrow.adapters.takedown import takedown_line, unfinished_line
from windrow.contract import FollowResult
from windrow.engine.captures.rules import ExplainedCapture
from windrow.formats.text import json_text, show
from windrow.ledger.typed.addresses import AddressRow
from windrow.ledger.typed.takedowns import TombstoneRow
from windrow.model import Level
from windrow.query import parse
from windrow.query.likeness import marked, pattern, snippet
from windrow.query.tree import wanted
from windrow.stores.record_entries import Entry
from windrow.stores.record_versions import RecordVersion
from windrow.stores.records import RecordStore


class RecordAddress(NamedTuple):
    """An address that a collection of records asked or took, and where it was found.

    `due` is when it is asked next, None for never; one that is due now may have been so since 1970.
    """

    url: str
    origin: str
    source: str
    collection: str
    via_url: str | None
    due: datetime | None
    failures: int


def address_told(row: AddressRow) -> RecordAddress:
    """Return what programs are told of an address."""
    due = None if row.due is None else datetime.fromtimestamp(row.due, UTC)
    return RecordAddress(row.url, row.origin, row.source, row.collection, row.via_url, due, row.failures)


def standing(last: RecordVersion) -> str:
    """Say how a record stands by its last version."""
    return "gone" if last.change == "gone" or not last.json else "there when it was last looked at"


def write_versions(versions: Iterable[RecordVersion], out: TextIO) -> int:
    """Write a line of JSON for each version; return how many."""
    count = 0
    for version in versions:
        line = {
            "key": version.key, "at": version.at.isoformat(), "change": version.change, "source": version.source,
            "url": version.url, "visit": version.visit, "digest": version.digest, "value": version.value,
        }  # fmt: skip
        out.write(json_text(line) + "\n")
        count += 1
    return count


def follow_notes(url: str, phase: str, result: FollowResult) -> Iterator[DocumentFinding]:
    """Tell what following an answer led to."""
    for finding in result.findings:
        yield DocumentFinding(url, phase, finding.level, finding.kind, finding.message)
    for request in result.requests:
        yield DocumentFinding(url, phase, Level.NOTE, "Request", f"{request.method} {request.url}")
    if result.end:
        yield DocumentFinding(url, phase, Level.NOTE, "End", result.end)


def describe_capture(source: str, one: ExplainedCapture) -> tuple[str, dict[str, Any]]:
    """Tell in a line, and to programs, why a source took a capture that others kept or did not."""
    left_out, at = one.left_out, show(one.recorded.attempt.started)
    why = f"{left_out.reason}: {left_out.rule}" if left_out else "wanted; the next run takes it"
    told = {"source": source, "from": one.found_in, "visit": one.recorded.seq}
    rule = {"reason": left_out.reason, "rule": left_out.rule} if left_out else {}
    return f"  {source} looks at what {one.found_in} kept at {at}: {why}", told | rule


def made_lines(keys: Sequence[str], most: int) -> Iterator[str]:
    """Name the records that were made of an answer, up to some."""
    for key in keys[:most]:
        yield f"      made of it: {key}"
    if len(keys) > most:
        yield "      made of it: further records"


def takedown_lines(one: TombstoneRow) -> Iterator[str]:
    """Tell of a takedown of an address, or of all of its origin."""
    yield f"  {show(one.at)}  {takedown_line(one.target, one.holder, one.reason)}"
    if one.lifted is not None:
        yield f"  {show(one.lifted)}  lifted: it may be asked for again"
    elif one.done is None:
        yield f"  {unfinished_line(one.target)}"


class RecordHit(NamedTuple):
    """A record found: `published` is when its source first said anything of it, `updated` when it last changed."""

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


def search(store: RecordStore, name: str, text: str, *, offset: int, limit: int, explain: bool) -> SearchAnswer:
    """Search the records of the collection of this name as they are now; any text is a query."""
    query = parse(text)
    found = store.search(query, name, offset=offset, limit=limit + 1)
    find = pattern(wanted(query.root))
    results = tuple(_result(entry, name, find, explain=explain) for entry in found.entries[:limit])
    past = (f"{name} is searched as it is now, so as-of: finds nothing of it",) if query.as_of is not None else ()
    notes = (*query.notes, *past)
    further = len(found.entries) > limit
    return SearchAnswer(text, offset, results, notes, further, found.relaxed, found.frequency, found.documents)


def _result(one: Entry, name: str, find: re.Pattern[str] | None, *, explain: bool) -> SearchResult:
    """Put an entry of the collection of this name as every collection's results are put."""
    shown, title = snippet(one.text, find), marked(one.title, find)
    score = round(one.score, 4)
    published, updated = (datetime.fromtimestamp(at, UTC) for at in (one.published, one.updated))
    hit = RecordHit(
        one.url, one.title, "".join(piece for piece, _ in shown), snippet_marks(shown), published, updated,
        score, name, one.key, json.loads(one.json),
    )  # fmt: skip
    remarks = (f"score {score:.3f}: how much its key, title, address and text speak of the words",)
    key = "" if one.key in {one.title, one.url} else one.key
    about = " ".join(filter(None, [name, key, f"updated {updated:%Y-%m-%d}"]))
    return SearchResult(title, one.url, about, shown, remarks if explain else (), "record_result", hit, updated)
