"""Erase records of the archive by overwriting them with records of the same length, so that no offset changes.

A record is replaced by a `metadata` record which states that a record was taken down, padded with blanks. In a
compressed file, the new record is a gzip member of the same length, padded in its header (RFC 1952, section 2.3.1), or
with stored blocks if the padding is long. A record that is too short for this is replaced by line breaks or by an empty
gzip member. Erasing can be repeated, even after a crash.
"""

from __future__ import annotations

import os
import re
import shutil
import zlib
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from windrow.archive.import_file import sync
from windrow.archive.warc_reader import read_records
from windrow.archive.warc_writer import map_write_errors
from windrow.clock import spell
from windrow.errors import ArchiveError
from windrow.formats.warc import END, format_header, new_record_id
from windrow.model import Limits

_NOTICE = b"This record was taken down.\n"
_MAX_EXTRA_FIELD = 65_000  # the maximum number of bytes of a gzip member's extra field
_MAX_STORED_BLOCK = 65_535  # the maximum number of bytes of a stored block (RFC 1951, section 3.2.4)
_GZIP_MAGIC = b"\x1f\x8b\x08"
_GZIP_FRAME_SIZE = 18  # the number of bytes of a member's shortest header and its trailer
_HEAD_SIZE = 1 << 16  # the maximum number of bytes that are read to recognise a record
_RECORD_HEAD = re.compile(
    rb"WARC/(?:(?!\r\n\r\n).)*\r\nWARC-Target-URI:|[a-z]+:\S+ \S+ [0-9]{14} ", re.DOTALL | re.IGNORECASE
)
"""Matches the start of a record about an address in a WARC or ARC file. A record that `erase` writes has no address."""
_URN_PREFIX = re.compile(r"urn:[A-Za-z0-9.-]{1,40}:(?=https?://)")


class ErasedSpan(NamedTuple):
    """The offset and length of a record in its file, in bytes."""

    offset: int
    length: int


def erase(folder: Path, warc: str, spans: list[ErasedSpan], erased_at: datetime) -> int:
    """Overwrite the records `spans` of the file `warc`, flush the file, and return the number of bytes overwritten.

    `erased_at` is the WARC-Date of the new records. A file with several hard links, such as an imported file, is first
    replaced by a copy. Raises DiskFull, and ArchiveError if the file is not in the archive `folder` or cannot be
    written, or if a record is too short for a gzip member.
    """
    path = folder / warc
    if not path.resolve().is_relative_to(folder.resolve()) or path.is_symlink() or not path.is_file():
        raise ArchiveError(f"{warc} is not a file of the archive {folder}", hint=f"ls -l {folder}")
    fill = _fill_member if warc.endswith(".gz") else _fill_record
    with map_write_errors(path):
        if path.stat().st_nlink > 1:
            _unlink_copy(path)
        fd = os.open(path, os.O_RDWR)
        try:
            for span in spans:
                _write_at(fd, fill(span.length, erased_at), span.offset)
            os.fdatasync(fd)
        finally:
            os.close(fd)
    return sum(span.length for span in spans)


def has_record(path: Path, span: ErasedSpan) -> bool:
    """Return whether a file has a record about an address at a place from which a record was erased.

    A file that is missing or cannot be read, or that ends before the place, has none there.
    """
    try:
        with path.open("rb") as file:
            file.seek(span.offset)
            head = file.read(min(span.length, _HEAD_SIZE))
        if path.suffix == ".gz":
            head = zlib.decompressobj(31).decompress(head, _HEAD_SIZE)
    except (OSError, zlib.error):
        return False
    return _RECORD_HEAD.match(head) is not None


def target_address(fields: Mapping[str, str]) -> str:
    """Return the address in a record's WARC fields, without a URN before it, or "" if the record has no address.

    >>> target_address({"warc-target-uri": "<urn:text:https://example.org/a>"})
    'https://example.org/a'
    """
    return _URN_PREFIX.sub("", fields.get("warc-target-uri", "").strip("<> "))


def _unlink_copy(path: Path) -> None:
    """Replace a file with a copy, so that its other hard links keep the old bytes."""
    copy = path.with_name(f".{path.name}.part")
    copy.unlink(missing_ok=True)  # a link of this name is not followed
    shutil.copyfile(path, copy)
    with copy.open("rb") as file:
        os.fsync(file.fileno())
    copy.replace(path)
    sync(path.parent)  # a power cut must not bring the old bytes back


def related_records(
    path: Path,
    bounds: tuple[int, int],
    limits: Limits,
    is_target: Callable[[str], bool],
    report: Callable[[int], object] = lambda _offset: None,
) -> Iterator[ErasedSpan]:
    """Yield the spans of a file's records about an address for which `is_target` returns True.

    Only records that begin at the first offset of `bounds` or after it, and before the second, are yielded. The first
    offset must be 0 or the end of a record. Requests, and other crawlers' records about a response, have the address of
    the response. `report` is called with the offset of each broken part of the file.
    """
    start, end = bounds
    for record in read_records(path, start, limits):
        if record.offset >= end:
            return
        address = target_address(record.fields)
        if record.reason is not None and not record.fields:
            report(record.offset)
        if address and is_target(address):
            yield ErasedSpan(record.offset, record.length)


def _fill_record(length: int, erased_at: datetime) -> bytes:
    """Return a record of exactly `length` bytes, or only line breaks if that is too short for a record."""
    # The digits of the block's size need room themselves: if no size fits, one fits with another blank in the header.
    for content_type in ("text/plain", "text/plain "):
        fields = [("WARC-Record-ID", new_record_id()), ("WARC-Date", spell(erased_at)), ("Content-Type", content_type)]
        room = length - len(format_header("metadata", fields, 0)) - len(END)
        for digit_count in range(1, 12):
            size = room - digit_count + 1
            if size >= 0 and len(str(size)) == digit_count:
                return format_header("metadata", fields, size) + (_NOTICE + b" " * size)[:size] + END
    return (b"\r\n" * length)[:length]  # readers skip empty lines


def _fill_member(length: int, erased_at: datetime) -> bytes:
    """Return a gzip member of `length` bytes, with a record if it fits. Raises ArchiveError if no member fits."""
    fields = [("WARC-Record-ID", new_record_id()), ("WARC-Date", spell(erased_at)), ("Content-Type", "text/plain")]
    record = format_header("metadata", fields, len(_NOTICE)) + _NOTICE + END
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(record) + packer.flush()
    padding = length - len(packed) - _GZIP_FRAME_SIZE
    if padding > _MAX_EXTRA_FIELD:
        room = length - _GZIP_FRAME_SIZE - 64
        record = _fill_record(room - 5 * (room // _MAX_STORED_BLOCK + 1), erased_at)
        packed = _store_blocks(record)
        padding = length - len(packed) - _GZIP_FRAME_SIZE
    if padding < 0:  # too short for a record: an empty member
        record, packed = b"", b"\x03\0"
        padding = length - len(packed) - _GZIP_FRAME_SIZE
    if padding < 0:
        raise ArchiveError(f"a record of {length} bytes cannot be erased: it is too short for a gzip member")
    trailer = zlib.crc32(record).to_bytes(4, "little") + (len(record) & 0xFFFFFFFF).to_bytes(4, "little")
    return _gzip_head(padding) + packed + trailer


def _gzip_head(padding: int) -> bytes:
    """Return a gzip member's header that is `padding` bytes longer than the shortest one."""
    if padding == 0:
        return _GZIP_MAGIC + b"\0" * 6 + b"\xff"
    if padding < 6:  # too few for an extra field: a comment of blanks
        return _GZIP_MAGIC + b"\x10" + b"\0" * 5 + b"\xff" + b" " * (padding - 1) + b"\0"
    extra_size = padding - 2
    field = b"WR" + (extra_size - 4).to_bytes(2, "little") + b"\0" * (extra_size - 4)
    return _GZIP_MAGIC + b"\x04" + b"\0" * 5 + b"\xff" + extra_size.to_bytes(2, "little") + field


def _store_blocks(content: bytes) -> bytes:
    blocks = []
    for start in range(0, len(content), _MAX_STORED_BLOCK):
        part = content[start : start + _MAX_STORED_BLOCK]
        size, is_last = len(part), start + _MAX_STORED_BLOCK >= len(content)
        blocks.append(bytes([is_last]) + size.to_bytes(2, "little") + (size ^ 0xFFFF).to_bytes(2, "little") + part)
    return b"".join(blocks)


def _write_at(fd: int, content: bytes, offset: int) -> None:
    remaining = memoryview(content)
    while remaining:
        count = os.pwrite(fd, remaining, offset)
        remaining, offset = remaining[count:], offset + count
