"""Interpret records in WARC files of other programs, select them by rules, and compare them with their index lines."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from windrow.archive import verify_record, verify_stated_digest
from windrow.archive.erase import target_address
from windrow.archive.warc_reader import WarcRecord, read_record_at, read_records, stated_digest
from windrow.clock import now
from windrow.contract import CAPTURED, NOT_MODIFIED, Captures, Skip
from windrow.digest import EMPTY_DIGESTS, hash64, normalise_digest, warc_digest
from windrow.engine.captures.rules import IndexRules, LeftOutLines
from windrow.errors import ArchiveError, StepError
from windrow.formats.cdx import CaptureColumns, CdxFault, Layout, parse_lines, surt
from windrow.formats.http import CUT_BODY, decode_body, read_head, read_location, read_media_type
from windrow.formats.text import replace_lone_surrogates
from windrow.formats.url import describe_bad_address, normalise, parts
from windrow.formats.warc import read_date
from windrow.ledger.captures import FailedLine
from windrow.model import ArchivePlace, Attempt, CdxLine, Finding, KeptResponse, Level, Limits, Source
from windrow.reasons import Reason

_IMPORTED_KINDS = frozenset({"response", "resource", "revisit"})
_UNMODIFIED = "server-not-modified"
_OK = 200
_ROBOTS = "/robots.txt"


class ImportedRecord(NamedTuple):
    """A record as windrow interprets it: `interpret_record` sets exactly one of `attempt`, `skipped` and `wrong`.

    `skipped` describes a record that is ignored, such as "warcinfo" or "answer to POST". `wrong` is why a record cannot
    be imported; `finding` explains it. An import sets both for an attempt too, if its bytes do not have their stated
    digest or cannot be read. `payload` is the digest of the body, and `url` is the address, both as the record states
    them. `refers` is true for a revisit whose bytes are in another record; without a head of its own, its status is
    that of the other record, and the `status` of `attempt` is None. A record with a part of a body is imported
    with a finding, which is the message of the attempt, too.
    """

    attempt: Attempt | None = None
    skipped: str = ""
    finding: Finding | None = None
    wrong: Reason | None = None
    payload: str = ""
    refers: bool = False
    url: str = ""

    @property
    def is_truncated(self) -> bool:
        """Whether the record has only a part of a body."""
        return self.attempt is not None and self.finding is not None and self.wrong is None


def with_methods(records: Iterable[WarcRecord]) -> Iterator[tuple[WarcRecord, str]]:
    """Yield each record with the HTTP method of its request.

    The method is "" if the record is not a response, or if its request is not directly before or after it.
    """
    preceding: WarcRecord | None = None
    response: WarcRecord | None = None
    for record in records:
        if response is not None:
            yield response, _request_method(response, preceding) or _request_method(response, record)
            preceding, response = response, None
        if record.kind == "response":
            response = record
        else:
            yield record, ""
            preceding = record
    if response is not None:
        yield response, _request_method(response, preceding)


def _request_method(response: WarcRecord, request: WarcRecord | None) -> str:
    """Return the HTTP method of `request`, or "" if it is not the request of the response."""
    if request is None or request.kind != "request":
        return ""
    for record, other in ((response, request), (request, response)):
        record_id = record.fields.get("warc-record-id", "")
        if record_id and record_id == other.fields.get("warc-concurrent-to", ""):
            return request.head[:16].partition(b" ")[0].decode("latin-1")
    return ""


def interpret_record(record: WarcRecord, warc: str, kind: int, method: str = "") -> ImportedRecord:
    """Interpret a record of the WARC file `warc`: as an attempt at an address, as ignored, or as faulty.

    `kind` is the kind of the address, such as CAPTURED. `method` is the HTTP method of the record's request, or "" if
    it is not known.
    """
    if record.reason is not None and record.reason is not Reason.TOO_LARGE:
        return _report_fault(record, record.reason, record.message)
    address_text = (
        target_address(record.fields)
        if _is_not_modified(record)
        else record.fields.get("warc-target-uri", "").strip("<> ")
    )
    if skipped := _why_skipped(record, address_text, method):
        return ImportedRecord(skipped=skipped)
    address, captured_at = normalise(address_text), read_date(record.fields.get("warc-date", ""))
    if not address.url:
        message = f"its address {describe_bad_address(address_text)}" if address_text else "it has no address"
        return _report_fault(record, address.reason or Reason.BAD_ADDRESS, message)
    if problem := _why_impossible(captured_at):
        message = f"its WARC-Date {record.fields.get('warc-date', '')[:40]!r} {problem}"
        return _report_fault(record, Reason.BAD_DATE, message)
    assert captured_at is not None
    if parts(address.url).path == _ROBOTS:
        return ImportedRecord(skipped="robots.txt")
    return _import_response(record, warc, address.url, captured_at, kind)._replace(url=address_text)


def _why_skipped(record: WarcRecord, address: str, method: str) -> str:
    """Return why a record is ignored for its method, kind or scheme, such as "answer to POST", or "" if it is not."""
    if method not in {"", "GET"}:
        return f"answer to {method[:10]}"
    if record.kind not in _IMPORTED_KINDS and not _is_not_modified(record):
        return record.kind[:40] or "unnamed"
    scheme = address.partition(":")[0].lower()
    return "" if not address or scheme in {"http", "https"} else f"{scheme[:20]} address"


def _is_not_modified(record: WarcRecord) -> bool:
    return record.kind == "metadata" and bool(record.head) and read_head(record.head).status == NOT_MODIFIED


def _import_response(record: WarcRecord, warc: str, url: str, captured_at: datetime, kind: int) -> ImportedRecord:
    head, payload = read_head(record.head), stated_digest(record.fields)
    status = head.status if record.head else None
    is_unmodified = _UNMODIFIED in record.fields.get("warc-profile", "")
    refers = record.kind == "revisit" and not is_unmodified
    if not status and record.kind != "response" and not refers:
        status = NOT_MODIFIED if is_unmodified else _OK
    if status is None and not refers:
        return _report_fault(record, Reason.PROTOCOL_ERROR, "it is not an HTTP response")
    if status is None and payload in EMPTY_DIGESTS:  # answers with any status may be empty
        return ImportedRecord(skipped="revisit of an empty body, without its status")
    if status is not None and not 200 <= status < 600:
        return ImportedRecord(skipped=f"response with status {status}")
    if "warc-segment-number" in record.fields:
        return _report_fault(record, Reason.UNSUPPORTED, "it is a segment of a larger record")
    fields = head.fields
    response: KeptResponse | None = None
    message = record.message
    finding = None
    if record.kind in {"response", "resource"} and record.reason is None:
        mime = read_media_type(fields if record.head else record.fields)
        response = KeptResponse(
            record.digest, record.size, ArchivePlace(warc, record.offset, record.length), at=captured_at, mime=mime
        )
        if message := _why_truncated(record, fields, status or _OK):
            finding = _report_fault(record, Reason.TRUNCATED, message).finding
    attempt = Attempt(
        hash64(url), url, kind, True, captured_at, 0.0, status, response, record.reason, message,
        (fields.get("etag", "")[:256], fields.get("last-modified", "")[:64]), read_location(status, fields),
    )  # fmt: skip
    return ImportedRecord(attempt, finding=finding, payload=payload, refers=refers)


def _why_truncated(record: WarcRecord, fields: Mapping[str, str], status: int) -> str:
    """Return why a record has only a part of a body, or "". `fields` are those of its HTTP head.

    The program that wrote the record says so (ISO 28500, section 5.13), or the body is shorter than its Content-Length.
    An empty body may be the answer to a HEAD request, and a 304 states the length of the body that it does not have.
    """
    if cause := record.fields.get("warc-truncated", "").strip():
        return f"it has only a part of the body (WARC-Truncated: {cause[:40]})"
    is_bodiless = not record.size or status == NOT_MODIFIED
    length = "" if is_bodiless or "transfer-encoding" in fields else fields.get("content-length", "")
    if length.isascii() and length.isdecimal() and len(length) < 16 and record.size < int(length):
        return f"it has {record.size:,} of the {int(length):,} bytes of the body that its Content-Length states"
    return ""


def mark_cut_body(path: Path, record: WarcRecord, imported: ImportedRecord, limits: Limits) -> ImportedRecord:
    """Mark a record whose body ends within its chunks or its compression: it has only a part of the body.

    Only decoding shows that, so such a record of the file `path` is read once more. One that has a finding already, or
    whose body is larger than readers accept, is returned as it is. Raises ArchiveError if the file cannot be read.
    """
    attempt, fields = imported.attempt, read_head(record.head).fields
    is_coded = not fields.keys().isdisjoint({"content-encoding", "transfer-encoding"})
    if not is_coded or attempt is None or attempt.kept is None or imported.finding or record.size > limits.member_size:
        return imported
    body = io.BytesIO()
    read_record_at(path, record.offset, limits, body.write)
    with suppress(StepError):  # the reader of the body reports it
        if decode_body(body.getvalue(), fields, most=limits.member_size, ratio=limits.ratio)[1]:
            finding = _report_fault(record, Reason.TRUNCATED, CUT_BODY).finding
            return imported._replace(attempt=attempt._replace(message=CUT_BODY), finding=finding)
    return imported


_FIRST_YEAR = 1989
"""The year in which the web was proposed: nothing was captured before it."""

_CLOCK_ALLOWANCE = timedelta(minutes=5)
"""How much the clock of the program that made a capture may be ahead of the present time.

Until that time comes, such a capture stands before all others of its address, so it is short. WARC files that are
imported into a crawl, where it would end pages that are fetched meanwhile, are not read on before that time.
"""

_TIMESTAMP = "%Y%m%d%H%M%S"  # as in index lines
_FIRST_TIMESTAMP = f"{_FIRST_YEAR}0101000000"


def _why_impossible(captured_at: datetime | None) -> str:
    """Return why a capture cannot have been made at a time (None: a time that is not valid), or "" if it can.

    Versions are ordered by the times of their captures: one with a time in the future would stay the current version,
    whatever is captured later.

    >>> from datetime import UTC
    >>> _why_impossible(datetime(9999, 12, 31, tzinfo=UTC)), _why_impossible(datetime(1989, 1, 1, tzinfo=UTC))
    ('is in the future', '')
    """
    if captured_at is None:
        return "is not valid"
    if captured_at.year < _FIRST_YEAR:
        return f"is before {_FIRST_YEAR}"
    return "is in the future" if captured_at - _CLOCK_ALLOWANCE > now() else ""


def is_ahead(record: WarcRecord) -> bool:
    """Return whether a record has a time that is still to come, though no later than a wrong clock may make it."""
    captured_at = read_date(record.fields.get("warc-date", ""))
    return captured_at is not None and now() < captured_at <= now() + _CLOCK_ALLOWANCE


def _report_fault(record: WarcRecord, reason: Reason, message: str) -> ImportedRecord:
    finding = Finding(reason.class_name, f"the record at byte {record.offset:,}: {message}", Level.WARN)
    return ImportedRecord(finding=finding, wrong=reason)


SCAN_RECORDS = 256
"""The number of records of a WARC file after which a job ends, though not between a request and its response."""

_INDEX_DIGEST = "sha1"  # the algorithm of payload digests in indexes

_LINE_ENDS = 4  # the bytes of the two line ends after a record

REVISIT = "warc/revisit"
"""The media type of a revisit in an index."""


class BlockJob(NamedTuple):
    """A job that parses lines of an index file and selects the wanted ones.

    `legend` is the layout that the file declares, or None.
    """

    captures: Captures
    source: Source
    options: Mapping[str, Any]
    content: bytes
    legend: Layout | None

    def run(self, _limits: Limits) -> ChosenLines:
        """Parse the lines and run the rules on them.

        A line that cannot be parsed is counted as left out, and so is a wanted one with an impossible time.
        """
        rules = IndexRules(self.captures, self.source, self.options)
        wanted: list[CdxLine] = []
        count = 0
        for line in parse_lines(self.content.split(b"\n"), self.legend):
            if type(line) is CaptureColumns:
                count += len(line.key)
                wanted += rules.select_columns(line)
            elif type(line) is CdxLine:
                count += 1
                if rules.is_wanted(line):
                    wanted.append(line)
            elif type(line) is CdxFault:
                count += 1
                rules.count_left_out(Skip(line.reason, "", line.reason.meaning), line.line)
        latest = f"{now() + _CLOCK_ALLOWANCE:{_TIMESTAMP}}"
        possible: list[CdxLine] = []
        for line in wanted:
            if _FIRST_TIMESTAMP <= line.timestamp <= latest:  # 14 digits are ordered as times are
                possible.append(line)
            else:
                problem = _why_impossible(read_date(line.timestamp))
                rules.count_left_out(Skip(Reason.BAD_DATE, "", f"the time of the index line {problem}"), line.url)
        return ChosenLines(tuple(possible), rules.left_out(), count)


class ScanJob(NamedTuple):
    """A job that makes index lines for the records of a WARC file, and selects the wanted ones.

    It begins with the record at the offset `start`.
    """

    captures: Captures
    source: Source
    options: Mapping[str, Any]
    path: Path
    start: int

    def run(self, limits: Limits) -> ChosenLines:
        """Read at least SCAN_RECORDS records, or all if fewer are left, make index lines for them, and run the rules.

        Records that are not captures or cannot be used do not get a line, and are counted as left out.
        """
        rules = IndexRules(self.captures, self.source, self.options)
        wanted: list[CdxLine] = []
        count, position = 0, self.start
        for record, method in with_methods(read_records(self.path, self.start, limits, _INDEX_DIGEST)):
            count, position = count + 1, record.next
            imported = interpret_record(record, self.path.name, CAPTURED, method)
            if imported.attempt is None:
                reason = imported.wrong or Reason.NOT_WANTED
                why = reason.meaning if imported.wrong else f"the record is left out: {imported.skipped}"
                rules.count_left_out(Skip(reason, "", why), "")
            elif imported.attempt.reason is not None:
                reason = imported.attempt.reason
                rules.count_left_out(Skip(reason, "", reason.meaning), imported.attempt.url)
            else:
                line = _index_line(record, imported, self.path)
                if rules.is_wanted(line):
                    wanted.append(line)
            if count >= SCAN_RECORDS and record.kind != "request":  # its response may follow
                return ChosenLines(tuple(wanted), rules.left_out(), count, position)
        return ChosenLines(tuple(wanted), rules.left_out(), count, -1)


class ChosenLines(NamedTuple):
    """The result of a job: the wanted lines, how many lines each rule left out, and how many were read.

    For a WARC file without an index, records are counted instead of lines.
    """

    wanted: tuple[CdxLine, ...]
    left_out: tuple[LeftOutLines, ...]
    lines: int
    next: int = 0  # the offset of the next record in a WARC file, -1 after the last one; unused for an index file


def is_same_capture(line: CdxLine, other: CdxLine) -> bool:
    """Return whether two index lines state the same time, address and, if both have one, payload digest."""
    digests = {
        normalise_digest(text if ":" in text else f"sha1:{text}") for text in (line.digest, other.digest) if text
    }
    is_one_page = line.url == other.url or surt(normalise(line.url).url) == surt(normalise(other.url).url)
    return line.timestamp == other.timestamp and is_one_page and len(digests) < 2


class WantedRecord:
    """A wanted line of an index, and where its record is.

    `warc_path` is the WARC file that the line names, or None if it is not in a folder of the source or if several files
    may be meant. `source_path` is the file from which the record is copied, at `offset`: the WARC file, or a file with
    only this record, fetched from another machine, or None. `key` identifies the record on the ledger, with
    `elsewhere` as its file if `warc_path` is None. `failed_key` is the key under which the ledger has the failure that
    is retried, or None if the record is not retried. `replaced` is the number of the attempt that took
    another record from there, or 0.
    """

    __slots__ = ("failed_key", "key", "line", "offset", "replaced", "source_path", "warc_path")

    def __init__(
        self, line: CdxLine, warc_path: Path | None, elsewhere: str, failed_key: FailedLine | None = None
    ) -> None:
        self.line = line
        self.warc_path = self.source_path = warc_path
        self.offset = line.offset
        name = replace_lone_surrogates(str(warc_path) if warc_path else elsewhere, "backslashreplace")
        self.key = ArchivePlace(name, line.offset or 0, 0)
        self.failed_key = failed_key
        self.replaced = 0


class RecordJob(NamedTuple):
    """A job that reads a record completely, and compares it with its index line: address, length and digest."""

    path: Path
    line: CdxLine

    def run(self, limits: Limits) -> VerifiedRecord:
        """Read a record, and compare it with its index line.

        Raises ArchiveError if the record is missing, broken, too large or cannot be verified, or if it contradicts its
        index line or its own digest. Unless the record is a revisit, the digest `payload` in the result was verified.
        """
        line = self.line
        digest = "" if line.mime == REVISIT else line.digest
        record = verify_record(self.path, line.offset or 0, limits, digest=digest)
        imported = interpret_record(record, self.path.name, CAPTURED)
        if imported.attempt is not None:
            _compare_line(line, imported.attempt.url, record.length)
        payload = normalise_digest(digest if ":" in digest or not digest else f"sha1:{digest}")
        if imported.refers:
            imported = imported._replace(payload=imported.payload or payload)
        elif imported.attempt is not None and imported.payload != payload:
            imported = imported._replace(payload=verify_stated_digest(self.path, record, limits) or payload)
        imported = mark_cut_body(self.path, record, imported, limits)
        return VerifiedRecord(record.offset, record.length, record.packed, imported, record.arc)


def _compare_line(line: CdxLine, url: str, length: int) -> None:
    """Raise ArchiveError (BAD_LINE) if a record does not have the address or the length that its index line states.

    Addresses are equal if they have the same SURT key: for example, `http` or `https`, `www` and letter case do not
    matter. The two lengths may differ by the line ends after the record. A length of 0 or None in the index line means
    that it is not known.
    """
    if surt(normalise(line.url).url) != surt(url):
        raise ArchiveError("the record's address differs from that of its index line", reason=Reason.BAD_LINE)
    if line.length and abs(line.length - length) > _LINE_ENDS:
        message = f"the record has {length} bytes, but its index line states {line.length}"
        raise ArchiveError(message, reason=Reason.BAD_LINE)


class VerifiedRecord(NamedTuple):
    """A verified record: its offset and length in the file, in bytes, and its interpretation."""

    offset: int
    length: int
    packed: bool  # whether it is compressed
    imported: ImportedRecord
    arc: bool = False  # whether it is a record of an ARC file


def _index_line(record: WarcRecord, imported: ImportedRecord, path: Path) -> CdxLine:
    """Return the index line of a record.

    If the record does not state the digest of its body, as in ARC files, the line has the computed digest, or "" if the
    bytes are in another record.
    """
    attempt = imported.attempt
    assert attempt is not None
    mime = REVISIT if imported.refers else attempt.kept.mime if attempt.kept else ""
    stamp = attempt.started.strftime("%Y%m%d%H%M%S")
    digest = imported.payload or (
        "" if imported.refers else warc_digest(f"{_INDEX_DIGEST}:{record.digests[_INDEX_DIGEST]}")
    )
    status = attempt.status or _OK  # that of a revisit without a head is looked up when it is copied
    return CdxLine("", stamp, imported.url, mime, status, digest, record.length, record.offset, path.name)


BATCH_RECORDS = 128
"""The maximum number of records that are read, copied and stored together, as a batch."""

BATCH_BYTES = 256 * 2**20
"""The maximum number of bytes in a batch, by the lengths in index lines. A larger record is a batch of its own."""

_ASSUMED_LENGTH = BATCH_BYTES // 64  # bytes of a record whose index line has no length


def batch_lines(lines: Sequence[CdxLine]) -> Iterator[list[CdxLine]]:
    """Yield lines in batches of at most BATCH_RECORDS records and, if there are several, BATCH_BYTES bytes."""
    batch: list[CdxLine] = []
    remaining_bytes = BATCH_BYTES
    for line in lines:
        length = _ASSUMED_LENGTH if line.length is None else line.length
        if batch and (len(batch) == BATCH_RECORDS or length > remaining_bytes):
            yield batch
            batch, remaining_bytes = [], BATCH_BYTES
        batch.append(line)
        remaining_bytes -= length
    if batch:
        yield batch
