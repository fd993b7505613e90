"""Captures that indexes name: lines of CDX and CDXJ files, and the payloads of the records that they point to.

The files are anybody's: lines are bounded, broken ones are faults, and what a record inflates to is limited.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, NamedTuple, cast

from isal import igzip, isal_zlib

from windrow.archive.warc_reader import GZIP, WarcRecord, met_at
from windrow.digest import spelled_alike, warc
from windrow.errors import ArchiveError, StepError
from windrow.formats.cdx import LONGEST, CdxFault, Layout, parse_line
from windrow.formats.http import plain, read_head
from windrow.model import CdxLine, Limits
from windrow.reasons import Reason

_BLOCK = 1 << 20
_MEMORY = 8 << 20  # bytes of a payload that are held in memory; larger ones go to a temporary file
_inflated = cast("Callable[[BinaryIO], BinaryIO]", igzip.open)
_UNREADABLE = (EOFError, igzip.BadGzipFile, isal_zlib.error)


class CdxRow(NamedTuple):
    """A line of an index that is no legend, comment or blank: its number, from 1 on, and what it says."""

    number: int
    line: CdxLine | CdxFault


def read_index(path: Path, after: int = 0) -> Iterator[CdxRow]:
    """Yield the lines of a CDX or CDXJ file, plain or gzip, whose number is above `after`.

    A gzip file that breaks off ends in a fault. Raises `ArchiveError` where the file cannot be read.
    """
    layout: Layout | None = None
    number = 0
    try:
        for number, line in enumerate(_lines(path), 1):
            if number <= after and line[:1] not in b" C":
                continue  # a legend holds for what follows it, whatever is skipped
            found = parse_line(line, layout)
            if type(found) is Layout:
                layout = found
            elif found is not None and number > after:
                yield CdxRow(number, cast("CdxLine | CdxFault", found))
    except _UNREADABLE as error:  # type: ignore[misc]
        yield CdxRow(number + 1, CdxFault(Reason.TRUNCATED, f"the file cannot be inflated any further: {error}"[:200]))
    except OSError as error:
        raise ArchiveError(f"{path} cannot be read: {error.strerror or error}") from error


class LineBlock(NamedTuple):
    """Some whole lines of an index file, and the number of the first, from 1 on; `legend` is in force before it."""

    first: int
    content: bytes
    legend: Layout | None


def read_blocks(path: Path, after: int = 0) -> Iterator[LineBlock]:
    """Yield the lines of a CDX or CDXJ file, plain or gzip, some thousand at a time, from the line after `after` on.

    What is longer than a line may be is cut. Raises `ArchiveError` where the file cannot be read or inflated further.
    """
    number, legend = 1, None
    lines: list[bytes] = []
    held = 0
    try:
        for line in _lines(path):
            lines.append(line)
            held += len(line) + 1
            if held < _BLOCK:
                continue
            yield from _block(number, lines, legend, after)
            legend = _last_legend(lines, legend)
            number, lines, held = number + len(lines), [], 0
        yield from _block(number, lines, legend, after)
    except _UNREADABLE as error:  # type: ignore[misc]
        yield from _block(number, lines, legend, after)
        raise ArchiveError(f"{path} cannot be inflated any further: {error}", reason=Reason.TRUNCATED) from error
    except OSError as error:
        raise ArchiveError(f"{path} cannot be read: {error.strerror or error}") from error


def _block(first: int, lines: list[bytes], legend: Layout | None, after: int) -> Iterator[LineBlock]:
    if first + len(lines) - 1 <= after or not lines:
        return
    passed = max(0, after + 1 - first)
    yield LineBlock(first + passed, b"\n".join(lines[passed:]), _last_legend(lines[:passed], legend))


def _last_legend(lines: list[bytes], before: Layout | None) -> Layout | None:
    """Return the legend that is in force after some lines."""
    for line in reversed(lines):
        if line[:5] in {b" CDX ", b"CDX N"} and type(found := parse_line(line)) is Layout:
            return found
    return before


def _lines(path: Path) -> Iterator[bytes]:
    """Yield lines without their ends; of one that is too long, a piece that is told to be so."""
    with path.open("rb") as raw:
        packed = raw.read(len(GZIP)) == GZIP
        raw.seek(0)
        file = _inflated(raw) if packed else raw
        rest, cut = b"", False
        while block := file.read(_BLOCK):
            first, *lines = block.split(b"\n")
            rest = rest if cut else rest + first
            if not lines:
                cut = cut or len(rest) > LONGEST
                continue
            yield rest[: LONGEST + 1]
            yield from lines[:-1]
            rest, cut = lines[-1], False
        if rest:
            yield rest[: LONGEST + 1]


class Payload(NamedTuple):
    """The payload of a record: a seekable view, and what the record and its HTTP head say of it.

    `verified` is True where the digest that was asked for is that of the payload, or of what it is without its chunks.
    A revisit has no payload of its own: `kind` says so, and `record` what it refers to (its fields in lower case).
    """

    view: BinaryIO
    size: int
    digest: str
    kind: str
    status: int | None
    fields: Mapping[str, str]
    record: Mapping[str, str]
    verified: bool


def open_payload(path: Path, offset: int, limits: Limits, *, digest: str = "") -> Payload:
    """Open the payload of the record that begins at `offset` of a WARC or ARC file.

    `digest` is as indexes and WARC files spell it, with its algorithm or, as CDX files have it, without: SHA-1 in
    base 32. Raises `ArchiveError` with its reason: the file or the record is not there or broken, what it inflates to
    is too large, or DIGEST_MISMATCH.
    """
    one, view, verified = _open(path, offset, limits, digest)
    head = read_head(one.head)
    return Payload(view, one.size, one.digest, one.kind, head.status, head.fields, one.fields, verified)


def verify_record(path: Path, offset: int, limits: Limits, *, digest: str = "") -> WarcRecord:
    """Read the record that begins at `offset` from end to end; raises like `open_payload`."""
    one, view, _ = _open(path, offset, limits, digest)
    view.close()
    return one


def _open(path: Path, offset: int, limits: Limits, digest: str) -> tuple[WarcRecord, BinaryIO, bool]:
    wanted = spelled_alike(digest if ":" in digest or not digest else f"sha1:{digest}")
    algorithm = wanted.partition(":")[0]
    if wanted and algorithm not in _ALGORITHMS:
        raise ArchiveError(f"digests of {algorithm[:20]!r} are not known", reason=Reason.UNSUPPORTED)
    spool = SpooledTemporaryFile(max_size=_MEMORY)  # noqa: SIM115 it is the view that is returned
    try:
        one = met_at(path, offset, limits, spool.write, *([algorithm] if wanted else []))
        if one.reason is not None:
            raise ArchiveError(f"{path.name} at {offset}: {one.message}", reason=one.reason)  # noqa: TRY301
        view = cast(BinaryIO, spool)
        fields = read_head(one.head).fields
        verified = bool(wanted) and one.kind != "revisit" and _matches(one, view, fields, wanted, limits)
        view.seek(0)
    except BaseException:
        spool.close()
        raise
    return one, view, verified


_ALGORITHMS = frozenset({"md5", "sha1", "sha256", "sha384", "sha512"})


def _matches(one: WarcRecord, view: BinaryIO, fields: Mapping[str, str], wanted: str, limits: Limits) -> bool:
    """Return True where the payload has the digest, or raise."""
    algorithm = wanted.partition(":")[0]
    if warc(f"{algorithm}:{one.digests[algorithm]}") == wanted:
        return True
    if "chunked" in fields.get("transfer-encoding", "").lower():  # some crawlers digest what is in the chunks
        view.seek(0)
        coding = {"transfer-encoding": fields["transfer-encoding"]}
        try:
            body = plain(view.read(), coding, most=limits.member, ratio=limits.ratio)
        except StepError:
            body = b""
        if _digest(algorithm, body) == wanted:
            return True
    raise ArchiveError(
        f"the record at {one.offset} has {warc(f'{algorithm}:{one.digests[algorithm]}')}, the index says {wanted}",
        reason=Reason.DIGEST_MISMATCH,
    )


def _digest(algorithm: str, body: bytes) -> str:
    return warc(f"{algorithm}:{hashlib.new(algorithm, body, usedforsecurity=False).hexdigest()}")
