"""Records of other makers' WARC files: what one is, and whether it is as its index says; judged in the pool."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from windrow.archive import verify_record
from windrow.archive.erase import about
from windrow.archive.warc_reader import WarcRecord, met
from windrow.contract import CAPTURED, NOT_MODIFIED, Captures, Skip
from windrow.digest import number, spelled_alike, warc
from windrow.engine.captures.rules import IndexRules, LeftOutLines
from windrow.formats.cdx import CaptureColumns, CdxFault, Layout, parse_lines
from windrow.formats.http import location, media_type, read_head
from windrow.formats.url import normalise, parts
from windrow.model import ArchivePlace, Attempt, CdxLine, Finding, KeptResponse, Level, Limits, Source
from windrow.reasons import Reason

_TOLD = frozenset({"response", "resource", "revisit"})
_UNMODIFIED = "server-not-modified"
_OK = 200
_ROBOTS = "/robots.txt"
_LESS = re.compile(r"\d{4}(?:-\d\d)?")
_DIGITS = re.compile(r"\d{14}")


class ImportedRecord(NamedTuple):
    """One of three: a `visit`, a word for what is `skipped`, or a `finding` of what is `wrong`.

    `payload` is the digest of the body as the file spells it, `url` the address so; a visit that `refers` has its bytes
    elsewhere.
    """

    attempt: Attempt | None = None
    skipped: str = ""
    finding: Finding | None = None
    wrong: Reason | None = None
    payload: str = ""
    refers: bool = False
    url: str = ""


def with_methods(records: Iterable[WarcRecord]) -> Iterator[tuple[WarcRecord, str]]:
    """Yield records, and beside responses the method that was asked by, where their requests stand next to them.

    Crawlers write a request just before its response or just after it, tied by WARC-Concurrent-To.
    """
    before: WarcRecord | None = None
    held: WarcRecord | None = None
    for record in records:
        if held is not None:
            yield held, _method(held, before) or _method(held, record)
            before, held = held, None
        if record.kind == "response":
            held = record
        else:
            yield record, ""
            before = record
    if held is not None:
        yield held, _method(held, before)


def _method(response: WarcRecord, request: WarcRecord | None) -> str:
    """Return the method of a request, where it is that of the response."""
    if request is None or request.kind != "request":
        return ""
    names = [response.fields.get("warc-record-id", ""), request.fields.get("warc-record-id", "")]
    tied = [request.fields.get("warc-concurrent-to", ""), response.fields.get("warc-concurrent-to", "")]
    if not any(name and name == other for name, other in zip(names, tied, strict=True)):
        return ""
    return request.head[:16].partition(b" ")[0].decode("latin-1")


def look(one: WarcRecord, warc: str, kind: int, method: str = "") -> ImportedRecord:
    """Say what a record of the file `warc` tells; `kind` is the collection's number for a page."""
    if one.reason is not None and one.reason is not Reason.TOO_LARGE:
        return _wrong(one, one.reason, one.message)
    written = about(one.fields) if _unmodified(one) else one.fields.get("warc-target-uri", "").strip("<> ")
    if word := _left_out(one, written, method):
        return ImportedRecord(skipped=word)
    found, at = normalise(written), _moment(one.fields.get("warc-date", ""))
    if not found.url:
        told = f"{written[:200]!r} is no address" if written else "the record names no address"
        return _wrong(one, found.reason or Reason.BAD_ADDRESS, told)
    if at is None:
        return _wrong(one, Reason.BAD_DATE, f"{one.fields.get('warc-date', '')[:40]!r} is no time")
    if parts(found.url).path == _ROBOTS:
        return ImportedRecord(skipped="robots.txt")
    return _visit(one, warc, found.url, at, kind)._replace(url=written)


def _left_out(one: WarcRecord, address: str, method: str) -> str:
    """Say in a word why a record is of no interest; empty where it may be."""
    if method not in {"", "GET"}:
        return f"answer to {method[:10]}"
    if one.kind not in _TOLD and not _unmodified(one):
        return one.kind[:40] or "unnamed"
    scheme = address.partition(":")[0].lower()
    return "" if not address or scheme in {"http", "https"} else f"{scheme[:20]} address"


def _unmodified(one: WarcRecord) -> bool:
    """Tell an answer 304 as windrow keeps it."""
    return one.kind == "metadata" and bool(one.head) and read_head(one.head).status == NOT_MODIFIED


def _visit(one: WarcRecord, warc: str, url: str, at: datetime, kind: int) -> ImportedRecord:
    head = read_head(one.head)
    status = head.status if one.head else None
    if one.kind != "response":
        status = status or _OK
    if status is None:
        return _wrong(one, Reason.PROTOCOL_ERROR, "the record holds no HTTP response")
    if not 200 <= status < 600:
        return ImportedRecord(skipped=f"status {status}")
    if "warc-segment-number" in one.fields:
        return _wrong(one, Reason.UNSUPPORTED, "the record is a segment of one that was cut up")
    fields = head.fields
    kept: KeptResponse | None = None
    refers = one.kind == "revisit" and _UNMODIFIED not in one.fields.get("warc-profile", "")
    if one.kind in {"response", "resource"} and one.reason is None:
        kind_ = media_type(fields if one.head else one.fields)
        kept = KeptResponse(one.digest, one.size, ArchivePlace(warc, one.offset, one.length), at=at, mime=kind_)
    attempt = Attempt(
        number(url), url, kind, True, at, 0.0, status, kept, one.reason, one.message,
        (fields.get("etag", "")[:256], fields.get("last-modified", "")[:64]), location(fields),
    )  # fmt: skip
    return ImportedRecord(
        attempt, payload=spelled_alike(one.fields.get("warc-payload-digest", "")[:160]), refers=refers
    )


def _moment(written: str) -> datetime | None:
    """Read a WARC-Date; a time without a zone is UTC.

    WARC/1.1 allows dates of less precision, down to the year (ISO 28500:2017, section 5.4), which stand for their first
    moment. Some makers write 14 digits, as ARC does.

    >>> str(_moment("2024-03")), str(_moment("20240301120000")), _moment("2024-13")
    ('2024-03-01 00:00:00+00:00', '2024-03-01 12:00:00+00:00', None)
    """
    if _LESS.fullmatch(written):
        written = f"{written}-01-01"[:10]
    elif _DIGITS.fullmatch(written):
        written = f"{written[:8]}T{written[8:]}"
    try:
        at = datetime.fromisoformat(written)
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _wrong(one: WarcRecord, reason: Reason, message: str) -> ImportedRecord:
    kind = reason.title().replace("_", "")
    return ImportedRecord(finding=Finding(kind, f"at byte {one.offset}: {message}", Level.WARN), wrong=reason)


SCAN = 256
"""Records of a WARC file that are looked at together."""

_INDEXED = "sha1"  # the digest of payloads that indexes have

REVISIT = "warc/revisit"
"""The media type by which an index says that a record repeats known bytes."""


class BlockJob(NamedTuple):
    """Lines of an index file, to be parsed and chosen from; `legend` is in force before the first."""

    captures: Captures
    source: Source
    options: Mapping[str, Any]
    content: bytes
    legend: Layout | None

    def run(self, _limits: Limits) -> ChosenLines:
        """Parse the lines, and run the rules on them."""
        return choose_block(self)


class ScanJob(NamedTuple):
    """Some records of a WARC file from a place on, to be chosen from; all of them become index lines."""

    captures: Captures
    source: Source
    options: Mapping[str, Any]
    path: Path
    start: int
    most: int = SCAN

    def run(self, limits: Limits) -> ChosenLines:
        """Make index lines of the records, and run the rules on them."""
        return scan(self, limits)


class ChosenLines(NamedTuple):
    """What became of some lines: those that are wanted, what left out the others, how many there were.

    `next` is where the records after them begin, in a WARC file.
    """

    wanted: tuple[CdxLine, ...]
    left_out: tuple[LeftOutLines, ...]
    lines: int
    next: int = 0


class RecordJob(NamedTuple):
    """A record to be read from end to end, and verified against the digest of its index line."""

    path: Path
    line: CdxLine

    def run(self, limits: Limits) -> VerifiedRecord:
        """Read and verify the record."""
        return read_record(self, limits)


class VerifiedRecord(NamedTuple):
    """A record that is as its index says: where it lies in its file, whether packed or one of ARC, what it tells."""

    offset: int
    length: int
    packed: bool
    told: ImportedRecord
    arc: bool = False


def choose_block(job: BlockJob) -> ChosenLines:
    """Parse lines and run the rules on them; what is no line of an index is counted by its fault."""
    rules = IndexRules(job.captures, job.source, job.options)
    wanted: list[CdxLine] = []
    count = 0
    for line in parse_lines(job.content.split(b"\n"), job.legend):
        if type(line) is CaptureColumns:
            count += len(line.key)
            wanted += rules.wanted(line)
        elif type(line) is CdxLine:
            count += 1
            if rules.want(line):
                wanted.append(line)
        elif type(line) is CdxFault:
            count += 1
            rules.count(Skip(line.reason, "", line.reason.meaning), line.line)
    return ChosenLines(tuple(wanted), rules.left_out(), count)


def scan(job: ScanJob, limits: Limits) -> ChosenLines:
    """Make index lines of the records of a WARC file, and run the rules on them."""
    rules = IndexRules(job.captures, job.source, job.options)
    wanted: list[CdxLine] = []
    count, after = 0, job.start
    for one, method in with_methods(met(job.path, job.start, limits, _INDEXED)):
        count, after = count + 1, one.next
        told = look(one, job.path.name, CAPTURED, method)
        if told.attempt is None:
            reason = told.wrong or Reason.NOT_WANTED
            rules.count(Skip(reason, "", reason.meaning if told.wrong else f"it is {told.skipped}"), "")
        elif told.attempt.reason is not None:
            rules.count(Skip(told.attempt.reason, "", told.attempt.reason.meaning), told.attempt.url)
        else:
            line = _line(one, told, job.path)
            if rules.want(line):
                wanted.append(line)
        if count >= job.most and one.kind != "request":  # which may say how the answer behind it was asked for
            return ChosenLines(tuple(wanted), rules.left_out(), count, after)
    return ChosenLines(tuple(wanted), rules.left_out(), count, -1)


def _line(one: WarcRecord, told: ImportedRecord, path: Path) -> CdxLine:
    """Return the index line of a record; where it names no digest of its payload, as in ARC, with that of its bytes."""
    attempt = told.attempt
    assert attempt is not None
    mime = REVISIT if told.refers else attempt.kept.mime if attempt.kept else ""
    stamp = attempt.started.strftime("%Y%m%d%H%M%S")
    digest = told.payload or ("" if told.refers else warc(f"{_INDEXED}:{one.digests[_INDEXED]}"))
    return CdxLine("", stamp, told.url, mime, attempt.status, digest, one.length, one.offset, path.name)


def read_record(job: RecordJob, limits: Limits) -> VerifiedRecord:
    """Read a record; ArchiveError, with its reason, where it is not there, broken, or not what its index says."""
    line = job.line
    digest = "" if line.mime == REVISIT else line.digest
    one = verify_record(job.path, line.offset or 0, limits, digest=digest)
    told = look(one, job.path.name, CAPTURED)
    if told.attempt is not None and not told.payload and digest:
        told = told._replace(payload=spelled_alike(digest if ":" in digest else f"sha1:{digest}"))
    return VerifiedRecord(one.offset, one.length, one.packed, told, one.arc)
