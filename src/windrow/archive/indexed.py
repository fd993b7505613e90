"""Read CDX and CDXJ files, and the payloads of the records that they point to.

The files are untrusted: lines have a limit, broken ones become faults, and the inflated size of records is limited.
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
_open_gzip = cast("Callable[[BinaryIO], BinaryIO]", igzip.open)
_UNREADABLE = (EOFError, igzip.BadGzipFile, isal_zlib.error)


class CdxRow(NamedTuple):
    """A line of an index with a capture or a fault, and its number, from 1."""

    number: int
    line: CdxLine | CdxFault


def read_index(path: Path, after: int = 0) -> Iterator[CdxRow]:
    """Yield the lines of a CDX or CDXJ file, plain or gzip, whose number is above `after`.

    A truncated gzip file ends with a fault. ArchiveError if the file cannot be read.
    """
    layout: Layout | None = None
    number = 0
    try:
        for number, line in enumerate(_lines(path), 1):
            if number <= after and line[:1] not in b" C":
                continue  # skipped lines may hold a legend for later ones
            parsed = parse_line(line, layout)
            if type(parsed) is Layout:
                layout = parsed
            elif parsed is not None and number > after:
                yield CdxRow(number, cast("CdxLine | CdxFault", parsed))
    except _UNREADABLE as error:  # type: ignore[misc]
        yield CdxRow(number + 1, CdxFault(Reason.TRUNCATED, f"the rest of the file cannot be inflated: {error}"[:200]))
    except OSError as error:
        raise ArchiveError(f"{path} cannot be read: {error.strerror or error}") from error


class LineBlock(NamedTuple):
    """Complete lines of an index file, and the number of the first, from 1; `legend` applies to it."""

    first: int
    content: bytes
    legend: Layout | None


def read_blocks(path: Path, after: int = 0) -> Iterator[LineBlock]:
    """Yield the lines of a CDX or CDXJ file, plain or gzip, some thousand at a time, beginning after line `after`.

    Lines that are too long are cut. ArchiveError if the file cannot be read or inflated.
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
        raise ArchiveError(f"the rest of {path} cannot be inflated: {error}", reason=Reason.TRUNCATED) from error
    except OSError as error:
        raise ArchiveError(f"{path} cannot be read: {error.strerror or error}") from error


def _block(first: int, lines: list[bytes], legend: Layout | None, after: int) -> Iterator[LineBlock]:
    if first + len(lines) - 1 <= after or not lines:
        return
    skipped = max(0, after + 1 - first)
    yield LineBlock(first + skipped, b"\n".join(lines[skipped:]), _last_legend(lines[:skipped], legend))


def _last_legend(lines: list[bytes], before: Layout | None) -> Layout | None:
    """Return the legend that applies after these lines."""
    for line in reversed(lines):
        if line[:5] in {b" CDX ", b"CDX N"} and type(legend := parse_line(line)) is Layout:
            return legend
    return before


def _lines(path: Path) -> Iterator[bytes]:
    """Yield lines without their line feeds; a line that is too long is cut to one byte more than allowed."""
    with path.open("rb") as raw:
        packed = raw.read(len(GZIP)) == GZIP
        raw.seek(0)
        file = _open_gzip(raw) if packed else raw
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
    """The payload of a record: a seekable view, and data of the record and its HTTP head.

    `fields` are those of the HTTP head, `record` those of the record, both by name in lower case. `verified` says that
    the payload, or its content without chunks, has the digest that was given. A revisit (its `kind`) has no payload;
    `record` says what it refers to.
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
    """Open the payload of the record that begins at `offset` in a WARC or ARC file.

    `digest` is spelt as in WARC files, with its algorithm, or as in CDX files: SHA-1 in base 32. ArchiveError with a
    reason if the file or record is missing or broken, if it inflates to too many bytes, or if the digest differs
    (DIGEST_MISMATCH).
    """
    record, view, verified = _open(path, offset, limits, digest)
    head = read_head(record.head)
    return Payload(view, record.size, record.digest, record.kind, head.status, head.fields, record.fields, verified)


def verify_record(path: Path, offset: int, limits: Limits, *, digest: str = "") -> WarcRecord:
    """Read all of the record that begins at `offset`; raises as `open_payload` does."""
    record, view, _ = _open(path, offset, limits, digest)
    view.close()
    return record


def _open(path: Path, offset: int, limits: Limits, digest: str) -> tuple[WarcRecord, BinaryIO, bool]:
    wanted = spelled_alike(digest if ":" in digest or not digest else f"sha1:{digest}")
    algorithm = wanted.partition(":")[0]
    if wanted and algorithm not in _ALGORITHMS:
        raise ArchiveError(f"the digest algorithm {algorithm[:20]!r} is not supported", reason=Reason.UNSUPPORTED)
    spool = SpooledTemporaryFile(max_size=_MEMORY)  # noqa: SIM115 it is returned
    try:
        record = met_at(path, offset, limits, spool.write, *([algorithm] if wanted else []))
        if record.reason is not None:
            raise ArchiveError(f"{path.name} at {offset}: {record.message}", reason=record.reason)  # noqa: TRY301
        view = cast(BinaryIO, spool)
        fields = read_head(record.head).fields
        verified = bool(wanted) and record.kind != "revisit" and _matches(record, view, fields, wanted, limits)
        view.seek(0)
    except BaseException:
        spool.close()
        raise
    return record, view, verified


_ALGORITHMS = frozenset({"md5", "sha1", "sha256", "sha384", "sha512"})


def _matches(record: WarcRecord, view: BinaryIO, fields: Mapping[str, str], wanted: str, limits: Limits) -> bool:
    """Return True if the payload has the digest, else raise ArchiveError with DIGEST_MISMATCH."""
    algorithm = wanted.partition(":")[0]
    if warc(f"{algorithm}:{record.digests[algorithm]}") == wanted:
        return True
    if "chunked" in fields.get("transfer-encoding", "").lower():  # some crawlers digest the content of the chunks
        view.seek(0)
        coding = {"transfer-encoding": fields["transfer-encoding"]}
        try:
            body = plain(view.read(), coding, most=limits.member, ratio=limits.ratio)
        except StepError:
            body = b""
        if _digest(algorithm, body) == wanted:
            return True
    digest = warc(f"{algorithm}:{record.digests[algorithm]}")
    raise ArchiveError(
        f"the record at {record.offset} has {digest}, the index says {wanted}",
        reason=Reason.DIGEST_MISMATCH,
    )


def _digest(algorithm: str, body: bytes) -> str:
    return warc(f"{algorithm}:{hashlib.new(algorithm, body, usedforsecurity=False).hexdigest()}")
