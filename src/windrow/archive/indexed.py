"""Read CDX and CDXJ files, and verify the records that they point to.

The files come from others: the length of lines and the inflated size of records are limited.
"""

from __future__ import annotations

import hashlib
import io
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from isal import igzip, isal_zlib

from windrow.archive.warc_reader import GZIP, STATED, USUAL_ALGORITHM, WarcRecord, read_record_at, stated_digest
from windrow.digest import ALGORITHM, PAYLOAD_ALGORITHMS, normalise_digest, warc_digest
from windrow.errors import ArchiveError, StepError
from windrow.formats.cdx import MAX_LINE_BYTES, Layout, parse_line
from windrow.formats.http import decode_body, read_head
from windrow.model import Limits
from windrow.reasons import Reason

_BLOCK_SIZE = 1 << 20  # bytes
_open_gzip = cast("Callable[[BinaryIO], BinaryIO]", igzip.open)
_INFLATE_ERRORS = (EOFError, igzip.BadGzipFile, isal_zlib.error)


class LineBlock(NamedTuple):
    """Lines of an index file, in one text. The first one is line `first` of the file, counted from 1.

    `legend` is the last layout that the file declares before these lines, or None.
    """

    first: int
    content: bytes
    legend: Layout | None


def read_blocks(path: Path, after_line: int = 0) -> Iterator[LineBlock]:
    """Yield the lines after line `after_line` of a CDX or CDXJ file, plain or gzip, in blocks of about a megabyte.

    A line of more than `MAX_LINE_BYTES` bytes may be cut to one byte more than that. Raises ArchiveError if the file
    cannot be read or, after the lines before the damage, if it cannot be inflated.
    """
    first_number, legend = 1, None
    lines: list[bytes] = []
    size = 0
    try:
        for line in _read_lines(path):
            lines.append(line)
            size += len(line) + 1
            if size < _BLOCK_SIZE:
                continue
            yield from _slice_block(first_number, lines, legend, after_line)
            legend = last_legend(lines, legend)
            first_number, lines, size = first_number + len(lines), [], 0
        yield from _slice_block(first_number, lines, legend, after_line)
    except _INFLATE_ERRORS as error:  # type: ignore[misc]
        yield from _slice_block(first_number, lines, legend, after_line)
        raise ArchiveError(f"the end of {path} cannot be inflated: {error}", reason=Reason.TRUNCATED) from error
    except OSError as error:
        raise ArchiveError(f"{path} cannot be read: {error.strerror or error}") from error


def _slice_block(first_number: int, lines: list[bytes], legend: Layout | None, after_line: int) -> Iterator[LineBlock]:
    """Yield the `lines` after line `after_line` as one block. `legend` is the layout declared before `lines`."""
    if first_number + len(lines) - 1 <= after_line or not lines:
        return
    skipped = max(0, after_line + 1 - first_number)
    yield LineBlock(first_number + skipped, b"\n".join(lines[skipped:]), last_legend(lines[:skipped], legend))


def last_legend(lines: list[bytes], previous: Layout | None) -> Layout | None:
    """Return the layout that the last legend in `lines` declares, or `previous` if there is none."""
    for line in reversed(lines):
        if line.lstrip().startswith(b"CDX ") and type(legend := parse_line(line)) is Layout:
            return legend
    return previous


def _read_lines(path: Path) -> Iterator[bytes]:
    """Yield lines without their line feeds. A line that spans blocks is cut to one byte more than is allowed."""
    with path.open("rb") as raw:
        is_gzip = raw.read(len(GZIP)) == GZIP
        raw.seek(0)
        file = _open_gzip(raw) if is_gzip else raw
        remainder, is_cut, start = b"", False, BOM_UTF8  # some editors write it, also before a legend
        while block := file.read(_BLOCK_SIZE):
            block, start = block.removeprefix(start), b""
            first_line, *lines = block.split(b"\n")
            remainder = remainder if is_cut else remainder + first_line
            if not lines:
                is_cut = is_cut or len(remainder) > MAX_LINE_BYTES
                continue
            yield remainder[: MAX_LINE_BYTES + 1]
            yield from lines[:-1]
            remainder, is_cut = lines[-1], False
        if remainder:
            yield remainder[: MAX_LINE_BYTES + 1]


def verify_record(path: Path, offset: int, limits: Limits, *, digest: str = "") -> WarcRecord:
    """Read the record at `offset` in a WARC or ARC file, compare its payload with `digest`, and return the record.

    `digest` is written as in WARC files, with its algorithm, or as in CDX files, where it is SHA-1 in base 32. Nothing
    is compared if the digest is empty, or if the record is a revisit, which has no payload. Raises ArchiveError with a
    reason if the file or record is missing or broken, if the record is too large, if the algorithm is not supported, if
    neither the payload nor its content without chunks has the digest (DIGEST_MISMATCH), or like `verify_block`.
    """
    place_text = f"the record at byte {offset:,} of {path.name}"
    expected = normalise_digest(digest if ":" in digest or not digest else f"sha1:{digest}")
    algorithm = expected.partition(":")[0]
    if expected and algorithm not in PAYLOAD_ALGORITHMS:
        message = f"{place_text} cannot be verified: the digest algorithm {algorithm[:20]!r} is not supported"
        raise ArchiveError(message, reason=Reason.UNSUPPORTED)
    record = read_record_at(path, offset, limits, lambda _piece: None, STATED, *([algorithm] if expected else []))
    if record.reason is not None:
        raise ArchiveError(f"{place_text} cannot be used: {record.message}", reason=record.reason)
    if expected and record.kind != "revisit":
        _compare_digest(record, place_text, path, expected, limits)
    verify_block(path, record)
    return record


def verify_block(path: Path, record: WarcRecord) -> None:
    """Raise ArchiveError (DIGEST_MISMATCH) if the block of a record, read with STATED, differs from its stated digest.

    A block is the head of HTTP and the payload; that of a revisit is only the head.
    """
    if record.block_fault:
        message = f"the record at byte {record.offset:,} of {path.name} {record.block_fault}"
        raise ArchiveError(message, reason=Reason.DIGEST_MISMATCH)


def verify_stated_digest(path: Path, record: WarcRecord, limits: Limits) -> str:
    """Return the payload digest that a record states, or its SHA-1 if it states none: revisits refer to it.

    Return "" if it states one that cannot be computed.

    `record` was read with its STATED digest. If that is not the digest of its payload, the record is read again, since
    some crawlers state the digest of the content without chunks. Raises ArchiveError (DIGEST_MISMATCH) if the stated
    digest is neither, unless the record is a revisit.
    """
    stated = stated_digest(record.fields)
    if not stated and USUAL_ALGORITHM in record.digests:
        return warc_digest(f"{USUAL_ALGORITHM}:{record.digests[USUAL_ALGORITHM]}")
    algorithm = stated.partition(":")[0]
    if algorithm not in PAYLOAD_ALGORITHMS:
        return ""
    hex_digest = record.digest if algorithm == ALGORITHM else f"{algorithm}:{record.digests[algorithm]}"
    if warc_digest(hex_digest) != stated:
        verify_record(path, record.offset, limits, digest=stated)
    return stated


def _compare_digest(record: WarcRecord, place_text: str, path: Path, expected: str, limits: Limits) -> None:
    """Raise ArchiveError (DIGEST_MISMATCH) unless the payload, or its content without chunks, has digest `expected`."""
    algorithm = expected.partition(":")[0]
    payload_digest = warc_digest(f"{algorithm}:{record.digests[algorithm]}")
    if payload_digest == expected:
        return
    coding = read_head(record.head).fields.get("transfer-encoding", "")
    if "chunked" in coding.lower():  # some crawlers compute the digest of the content of the chunks
        payload = io.BytesIO()
        read_record_at(path, record.offset, limits, payload.write)
        try:
            body, _ = decode_body(
                payload.getvalue(), {"transfer-encoding": coding}, most=limits.member_size, ratio=limits.ratio
            )
        except StepError:
            body = b""
        body_hash = hashlib.new(algorithm, body, usedforsecurity=False)
        if warc_digest(f"{algorithm}:{body_hash.hexdigest()}") == expected:
            return
    raise ArchiveError(f"{place_text} has {payload_digest}, but {expected} is stated", reason=Reason.DIGEST_MISMATCH)
