"""Records of foreign WARC files: interpret them, and verify them against their index, in the pool."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from windrow.archive import verify_record
from windrow.archive.erase import target_address
from windrow.archive.warc_reader import WarcRecord, read_records
from windrow.contract import CAPTURED, NOT_MODIFIED, Captures, Skip
from windrow.digest import hash64, normalise_digest, warc_digest
from windrow.engine.captures.rules import IndexRules, LeftOutLines
from windrow.formats.cdx import CaptureColumns, CdxFault, Layout, parse_lines
from windrow.formats.http import read_head, read_location, read_media_type
from windrow.formats.url import normalise, parts
from windrow.model import ArchivePlace, Attempt, CdxLine, Finding, KeptResponse, Level, Limits, Source
from windrow.reasons import Reason

_IMPORTED_KINDS = frozenset({"response", "resource", "revisit"})
_UNMODIFIED = "server-not-modified"
_OK = 200
_ROBOTS = "/robots.txt"
_REDUCED_DATE = re.compile(r"\d{4}(?:-\d\d)?")
_DIGITS = re.compile(r"\d{14}")


class ImportedRecord(NamedTuple):
    """One of three: an `attempt`, a word for why it is `skipped`, or a `finding` with the reason `wrong`.

    `payload` is the digest of the body and `url` the address, both as the file spells them; an attempt that `refers` is
    a revisit, whose bytes are in another record.
    """

    attempt: Attempt | None = None
    skipped: str = ""
    finding: Finding | None = None
    wrong: Reason | None = None
    payload: str = ""
    refers: bool = False
    url: str = ""


def with_methods(records: Iterable[WarcRecord]) -> Iterator[tuple[WarcRecord, str]]:
    """Yield records, with the method of its request for a response whose request is next to it.

    Crawlers write a request just before its response or just after it, tied by WARC-Concurrent-To.
    """
    preceding: WarcRecord | None = None
    response: WarcRecord | None = None
    for record in records:
        if response is not None:
            yield response, _method(response, preceding) or _method(response, record)
            preceding, response = response, None
        if record.kind == "response":
            response = record
        else:
            yield record, ""
            preceding = record
    if response is not None:
        yield response, _method(response, preceding)


def _method(response: WarcRecord, request: WarcRecord | None) -> str:
    """Return the method of a request if it belongs to the response, or an empty text if it does not."""
    if request is None or request.kind != "request":
        return ""
    names = [response.fields.get("warc-record-id", ""), request.fields.get("warc-record-id", "")]
    concurrent_ids = [request.fields.get("warc-concurrent-to", ""), response.fields.get("warc-concurrent-to", "")]
    if not any(name and name == concurrent for name, concurrent in zip(names, concurrent_ids, strict=True)):
        return ""
    return request.head[:16].partition(b" ")[0].decode("latin-1")


def interpret_record(record: WarcRecord, warc: str, kind: int, method: str = "") -> ImportedRecord:
    """Interpret a record of the file `warc_digest`; `kind` is the collection's number for a page."""
    if record.reason is not None and record.reason is not Reason.TOO_LARGE:
        return _report_fault(record, record.reason, record.message)
    address_text = (
        target_address(record.fields)
        if _is_not_modified(record)
        else record.fields.get("warc-target-uri", "").strip("<> ")
    )
    if word := _skip_word(record, address_text, method):
        return ImportedRecord(skipped=word)
    address, at = normalise(address_text), _parse_date(record.fields.get("warc-date", ""))
    if not address.url:
        message = f"{address_text[:200]!r} is not a web address" if address_text else "the record has no address"
        return _report_fault(record, address.reason or Reason.BAD_ADDRESS, message)
    if at is None:
        return _report_fault(record, Reason.BAD_DATE, f"{record.fields.get('warc-date', '')[:40]!r} is not a date")
    if parts(address.url).path == _ROBOTS:
        return ImportedRecord(skipped="robots.txt")
    return _import_response(record, warc, address.url, at, kind)._replace(url=address_text)


def _skip_word(record: WarcRecord, address: str, method: str) -> str:
    """Return a word that says why a record is skipped, or an empty text if it is not skipped."""
    if method not in {"", "GET"}:
        return f"answer to {method[:10]}"
    if record.kind not in _IMPORTED_KINDS and not _is_not_modified(record):
        return record.kind[:40] or "unnamed"
    scheme = address.partition(":")[0].lower()
    return "" if not address or scheme in {"http", "https"} else f"{scheme[:20]} address"


def _is_not_modified(record: WarcRecord) -> bool:
    """Return whether a record is a 304 response as windrow stores it."""
    return record.kind == "metadata" and bool(record.head) and read_head(record.head).status == NOT_MODIFIED


def _import_response(record: WarcRecord, warc: str, url: str, at: datetime, kind: int) -> ImportedRecord:
    head = read_head(record.head)
    status = head.status if record.head else None
    if record.kind != "response":
        status = status or _OK
    if status is None:
        return _report_fault(record, Reason.PROTOCOL_ERROR, "the record is not an HTTP response")
    if not 200 <= status < 600:
        return ImportedRecord(skipped=f"status {status}")
    if "warc-segment-number" in record.fields:
        return _report_fault(record, Reason.UNSUPPORTED, "the record is a segment of a larger one")
    fields = head.fields
    kept: KeptResponse | None = None
    refers = record.kind == "revisit" and _UNMODIFIED not in record.fields.get("warc-profile", "")
    if record.kind in {"response", "resource"} and record.reason is None:
        mime = read_media_type(fields if record.head else record.fields)
        kept = KeptResponse(
            record.digest, record.size, ArchivePlace(warc, record.offset, record.length), at=at, mime=mime
        )
    attempt = Attempt(
        hash64(url), url, kind, True, at, 0.0, status, kept, record.reason, record.message,
        (fields.get("etag", "")[:256], fields.get("last-modified", "")[:64]), read_location(fields),
    )  # fmt: skip
    return ImportedRecord(
        attempt, payload=normalise_digest(record.fields.get("warc-payload-digest", "")[:160]), refers=refers
    )


def _parse_date(text: str) -> datetime | None:
    """Read a WARC-Date; a time without a zone is UTC.

    WARC/1.1 allows dates of less precision, down to the year (ISO 28500:2017, section 5.4), which stand for their first
    moment. Some makers write 14 digits, as ARC does.

    >>> str(_parse_date("2024-03")), str(_parse_date("20240301120000")), _parse_date("2024-13")
    ('2024-03-01 00:00:00+00:00', '2024-03-01 12:00:00+00:00', None)
    """
    if _REDUCED_DATE.fullmatch(text):
        text = f"{text}-01-01"[:10]
    elif _DIGITS.fullmatch(text):
        text = f"{text[:8]}T{text[8:]}"
    try:
        at = datetime.fromisoformat(text)
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _report_fault(record: WarcRecord, reason: Reason, message: str) -> ImportedRecord:
    finding = Finding(reason.class_name, f"at byte {record.offset}: {message}", Level.WARN)
    return ImportedRecord(finding=finding, wrong=reason)


SCAN = 256
"""Records of a WARC file that are read together."""

_INDEXED = "sha1"  # the payload digest of indexes

REVISIT = "warc/revisit"
"""The media type of a revisit in an index."""


class BlockJob(NamedTuple):
    """Lines of an index file, to be parsed and selected; `legend` is the column layout before the first."""

    captures: Captures
    source: Source
    options: Mapping[str, Any]
    content: bytes
    legend: Layout | None

    def run(self, _limits: Limits) -> ChosenLines:
        """Parse lines and run the rules on them; a line that cannot be parsed is counted by its fault."""
        rules = IndexRules(self.captures, self.source, self.options)
        wanted: list[CdxLine] = []
        count = 0
        for line in parse_lines(self.content.split(b"\n"), self.legend):
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


class ScanJob(NamedTuple):
    """Records of a WARC file from a position on, to be turned into index lines and selected."""

    captures: Captures
    source: Source
    options: Mapping[str, Any]
    path: Path
    start: int

    def run(self, limits: Limits) -> ChosenLines:
        """Make index lines of the records of a WARC file, and run the rules on them."""
        rules = IndexRules(self.captures, self.source, self.options)
        wanted: list[CdxLine] = []
        count, position = 0, self.start
        for record, method in with_methods(read_records(self.path, self.start, limits, _INDEXED)):
            count, position = count + 1, record.next
            imported = interpret_record(record, self.path.name, CAPTURED, method)
            if imported.attempt is None:
                reason = imported.wrong or Reason.NOT_WANTED
                rules.count(Skip(reason, "", reason.meaning if imported.wrong else f"it is {imported.skipped}"), "")
            elif imported.attempt.reason is not None:
                rules.count(Skip(imported.attempt.reason, "", imported.attempt.reason.meaning), imported.attempt.url)
            else:
                line = _index_line(record, imported, self.path)
                if rules.want(line):
                    wanted.append(line)
            if count >= SCAN and record.kind != "request":  # whose response may follow it
                return ChosenLines(tuple(wanted), rules.left_out(), count, position)
        return ChosenLines(tuple(wanted), rules.left_out(), count, -1)


class ChosenLines(NamedTuple):
    """The wanted lines of a job, what rules left out, and the number of lines.

    `next` is the position after them in a WARC file.
    """

    wanted: tuple[CdxLine, ...]
    left_out: tuple[LeftOutLines, ...]
    lines: int
    next: int = 0


class RecordJob(NamedTuple):
    """A record to be read completely, and verified against the digest of its index line."""

    path: Path
    line: CdxLine

    def run(self, limits: Limits) -> VerifiedRecord:
        """Read a record; raises ArchiveError if it is missing, broken, or not as its index says."""
        line = self.line
        digest = "" if line.mime == REVISIT else line.digest
        record = verify_record(self.path, line.offset or 0, limits, digest=digest)
        imported = interpret_record(record, self.path.name, CAPTURED)
        if imported.attempt is not None and not imported.payload and digest:
            imported = imported._replace(payload=normalise_digest(digest if ":" in digest else f"sha1:{digest}"))
        return VerifiedRecord(record.offset, record.length, record.packed, imported, record.arc)


class VerifiedRecord(NamedTuple):
    """A verified record: its position in bytes, whether it is compressed or of ARC, and its interpretation."""

    offset: int
    length: int
    packed: bool
    imported: ImportedRecord
    arc: bool = False


def _index_line(record: WarcRecord, imported: ImportedRecord, path: Path) -> CdxLine:
    """Return the index line of a record; without a payload digest, as in ARC, the digest is computed."""
    attempt = imported.attempt
    assert attempt is not None
    mime = REVISIT if imported.refers else attempt.kept.mime if attempt.kept else ""
    stamp = attempt.started.strftime("%Y%m%d%H%M%S")
    digest = imported.payload or ("" if imported.refers else warc_digest(f"{_INDEXED}:{record.digests[_INDEXED]}"))
    return CdxLine("", stamp, imported.url, mime, attempt.status, digest, record.length, record.offset, path.name)
