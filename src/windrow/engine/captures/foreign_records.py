"""Index lines and records of other makers' WARC files, read in the killable pool: chosen by rules, and verified."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from windrow.archive import verify_record
from windrow.archive.warc_reader import WarcRecord, met
from windrow.contract import CAPTURED, Captures, Skip
from windrow.digest import spelled_alike, warc
from windrow.engine.captures.rules import IndexRules, LeftOutLines
from windrow.engine.crawl.warc_record import ImportedRecord, look, with_methods
from windrow.formats.cdx import CaptureColumns, CdxFault, Layout, parse_lines
from windrow.model import CdxLine, Limits, Source
from windrow.reasons import Reason

SCAN = 256
"""Records of a WARC file that are looked at together."""

_INDEXED = "sha1"  # the digest of payloads that indexes have

REVISIT = "warc/revisit"
"""The media type by which an index says that a record repeats known bytes."""


class BlockJob(NamedTuple):
    """Lines of an index file, to be parsed and chosen from; `legend` is in force before the first."""

    source: Source
    options: Mapping[str, Any]
    content: bytes
    legend: Layout | None

    def run(self, captures: Captures, _limits: Limits) -> ChosenLines:
        """Parse the lines, and run the rules on them."""
        return choose_block(captures, self)


class ScanJob(NamedTuple):
    """Some records of a WARC file from a place on, to be chosen from; all of them become index lines."""

    source: Source
    options: Mapping[str, Any]
    path: Path
    start: int
    most: int = SCAN

    def run(self, captures: Captures, limits: Limits) -> ChosenLines:
        """Make index lines of the records, and run the rules on them."""
        return scan(captures, self, limits)


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

    def run(self, _captures: Captures, limits: Limits) -> VerifiedRecord:
        """Read and verify the record."""
        return read_record(self, limits)


class VerifiedRecord(NamedTuple):
    """A record that is as its index says: where it lies in its file, whether packed or one of ARC, what it tells."""

    offset: int
    length: int
    packed: bool
    told: ImportedRecord
    arc: bool = False


def choose_block(captures: Captures, job: BlockJob) -> ChosenLines:
    """Parse lines and run the rules on them; what is no line of an index is counted by its fault."""
    rules = IndexRules(captures, job.source, job.options)
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


def scan(captures: Captures, job: ScanJob, limits: Limits) -> ChosenLines:
    """Make index lines of the records of a WARC file, and run the rules on them."""
    rules = IndexRules(captures, job.source, job.options)
    wanted: list[CdxLine] = []
    count, after = 0, job.start
    for one, method in with_methods(met(job.path, job.start, limits, _INDEXED)):
        count, after = count + 1, one.next
        told = look(one, job.path.name, CAPTURED, method)
        if told.visit is None:
            reason = told.wrong or Reason.NOT_WANTED
            rules.count(Skip(reason, "", reason.meaning if told.wrong else f"it is {told.skipped}"), "")
        elif told.visit.reason is not None:
            rules.count(Skip(told.visit.reason, "", told.visit.reason.meaning), told.visit.url)
        else:
            line = _line(one, told, job.path)
            if rules.want(line):
                wanted.append(line)
        if count >= job.most and one.kind != "request":  # which may say how the answer behind it was asked for
            return ChosenLines(tuple(wanted), rules.left_out(), count, after)
    return ChosenLines(tuple(wanted), rules.left_out(), count, -1)


def _line(one: WarcRecord, told: ImportedRecord, path: Path) -> CdxLine:
    """Return the index line of a record; where it names no digest of its payload, as in ARC, with that of its bytes."""
    visit = told.visit
    assert visit is not None
    mime = REVISIT if told.refers else visit.kept.mime if visit.kept else ""
    stamp = visit.started.strftime("%Y%m%d%H%M%S")
    digest = told.payload or ("" if told.refers else warc(f"{_INDEXED}:{one.digests[_INDEXED]}"))
    return CdxLine("", stamp, told.url, mime, visit.status, digest, one.length, one.offset, path.name)


def read_record(job: RecordJob, limits: Limits) -> VerifiedRecord:
    """Read a record; ArchiveError, with its reason, where it is not there, broken, or not what its index says."""
    line = job.line
    digest = "" if line.mime == REVISIT else line.digest
    one = verify_record(job.path, line.offset or 0, limits, digest=digest)
    told = look(one, job.path.name, CAPTURED)
    if told.visit is not None and not told.payload and digest:
        told = told._replace(payload=spelled_alike(digest if ":" in digest else f"sha1:{digest}"))
    return VerifiedRecord(one.offset, one.length, one.packed, told, one.arc)
