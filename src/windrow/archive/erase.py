"""Erase records of the archive: other bytes of the same length take their place, so that nothing else moves.

A record becomes a `metadata` record that says so and is padded with blanks: as it is in an uncompressed file,
and in a compressed one as a gzip member of exactly the length of the old one. The padding of a member stands
in its extra field (RFC 1952, section 2.3.1.1), or in stored blocks where it is long. Erasing again, after a
crash in the middle of it too, writes the same kind of record to the same place.
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

from windrow.archive.warc_reader import met
from windrow.archive.warc_writer import guarded
from windrow.errors import ArchiveError
from windrow.formats.warc import END, header, record_id, stamp
from windrow.model import Limits

_TOLD = b"This record was taken down.\n"
_EXTRA = 65_000  # bytes of a gzip member's extra field that are made use of
_STORED = 65_535  # bytes of one stored block (RFC 1951, section 3.2.4)
_MAGIC = b"\x1f\x8b\x08"
_URN = re.compile(r"urn:[A-Za-z0-9.-]{1,40}:(?=https?://)")


class ErasedSpan(NamedTuple):
    """Where a record stands in its file."""

    offset: int
    length: int


def erase(folder: Path, warc: str, spans: list[ErasedSpan], at: datetime) -> int:
    """Overwrite records of one file, and return the bytes that this took; they are on the disk then.

    A file that has another name elsewhere, as one that was taken in may, is parted from that one before.
    Raises ArchiveError where the file is none of this archive, or is not there.
    """
    path = folder / warc
    if not path.resolve().is_relative_to(folder.resolve()) or path.is_symlink() or not path.is_file():
        raise ArchiveError(f"{warc} is no file of the archive {folder}", hint="look for it there, then ask again")
    with guarded(path):
        if path.stat().st_nlink > 1:
            _part(path)
        fd = os.open(path, os.O_RDWR)
        try:
            for span in spans:
                fill = _member(span.length, at) if warc.endswith(".gz") else _record(span.length, at)
                _write(fd, fill, span.offset)
            os.fdatasync(fd)
        finally:
            os.close(fd)
    return sum(span.length for span in spans)


def about(fields: Mapping[str, str]) -> str:
    """Return the address that a record with these fields is about, as it is written there; empty for none.

    >>> about({"warc-target-uri": "<urn:text:https://example.org/a>"})
    'https://example.org/a'
    """
    return _URN.sub("", fields.get("warc-target-uri", "").strip("<> "))


def _part(path: Path) -> None:
    """Give a file bytes of its own."""
    copy = path.with_name(f".{path.name}.part")
    shutil.copyfile(path, copy)
    with copy.open("rb") as file:
        os.fsync(file.fileno())
    copy.replace(path)


def related(path: Path, bounds: tuple[int, int], limits: Limits, ours: Callable[[str], bool]) -> Iterator[ErasedSpan]:
    """Yield the records between two places of a file that are about an address which is `ours`.

    The first bound is 0 or where a record ends. A request is about an address like its response, and so is what
    another maker's crawler noted of it (`about`).
    """
    for one in met(path, bounds[0], limits):
        if one.offset >= bounds[1]:
            return
        uri = about(one.fields)
        if uri and ours(uri):
            yield ErasedSpan(one.offset, one.length)


def _record(length: int, at: datetime) -> bytes:
    """Return a record of exactly this length, or as many blanks."""
    # The block's length has digits of its own: where no number fits, it does with one more blank in the header.
    for kind in ("text/plain", "text/plain "):
        fields = [("WARC-Record-ID", record_id()), ("WARC-Date", stamp(at)), ("Content-Type", kind)]
        spare = length - len(header("metadata", fields, 0)) - len(END)
        for digits in range(1, 12):
            size = spare - digits + 1
            if size >= 0 and len(str(size)) == digits:
                return header("metadata", fields, size) + (_TOLD + b" " * size)[:size] + END
    return (b"\r\n" * length)[:length]  # too short for any record; readers pass over empty lines


def _member(length: int, at: datetime) -> bytes:
    """Return a gzip member of exactly this length that holds one record."""
    fields = [("WARC-Record-ID", record_id()), ("WARC-Date", stamp(at)), ("Content-Type", "text/plain")]
    record = header("metadata", fields, len(_TOLD)) + _TOLD + END
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(record) + packer.flush()
    spare = length - len(packed) - 18
    if spare > _EXTRA:
        room = length - 18 - 64
        record = _record(room - 5 * (room // _STORED + 1), at)
        packed = _stored(record)
        spare = length - len(packed) - 18
    if spare < 0:  # too short for any record: a member that holds nothing
        record, packed = b"", b"\x03\0"
        spare = length - len(packed) - 18
    if spare < 0:
        raise ArchiveError(f"{length} bytes are no record")
    trailer = zlib.crc32(record).to_bytes(4, "little") + (len(record) & 0xFFFFFFFF).to_bytes(4, "little")
    return _gzip_head(spare) + packed + trailer


def _gzip_head(spare: int) -> bytes:
    """Return a member's header, longer than it need be by `spare` bytes."""
    if spare == 0:
        return _MAGIC + b"\0" * 6 + b"\xff"
    if spare < 6:  # too few for an extra field: a comment of blanks
        return _MAGIC + b"\x10" + b"\0" * 5 + b"\xff" + b" " * (spare - 1) + b"\0"
    inside = spare - 2
    field = b"WR" + (inside - 4).to_bytes(2, "little") + b"\0" * (inside - 4)
    return _MAGIC + b"\x04" + b"\0" * 5 + b"\xff" + inside.to_bytes(2, "little") + field


def _stored(content: bytes) -> bytes:
    """Return content as stored blocks of deflate."""
    blocks = []
    for start in range(0, len(content), _STORED):
        part = content[start : start + _STORED]
        size, last = len(part), start + _STORED >= len(content)
        blocks.append(bytes([last]) + size.to_bytes(2, "little") + (size ^ 0xFFFF).to_bytes(2, "little") + part)
    return b"".join(blocks)


def _write(fd: int, content: bytes, offset: int) -> None:
    rest = memoryview(content)
    while rest:
        count = os.pwrite(fd, rest, offset)
        rest, offset = rest[count:], offset + count
