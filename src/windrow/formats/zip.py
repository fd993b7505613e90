"""Zip archives from strangers: bounded, checked, never unpacked to disk.

`members` reads the directory and judges every entry before a byte is inflated; `open_member`
inflates one, and stops where it would grow beyond what its entry announces. Nothing is ever named
by the archive: a member is only a name to look up and bytes to read. Faults are `StepError`s.
"""

from __future__ import annotations

import io
import re
import stat
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple, cast

from windrow.errors import StepError
from windrow.formats import directory
from windrow.formats.directory import LOCAL, DirectoryRecord
from windrow.formats.inflate import BLOCK, DEFLATED, STORED, Inflated
from windrow.model import Limits
from windrow.reasons import Reason

ARCHIVE = re.compile(r"\.(zip|jar|t?gz|tar|t?bz2?|t?xz|7z|rar|zst|lz4?|lzma|cab|arj|z)\Z", re.IGNORECASE)
MAGIC = (b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07")
UNSAFE = re.compile(r"[\x00-\x1f\x7f\\]|\A/|\A[A-Za-z]:|(\A|/)\.\.(/|\Z)|\A\Z")


class ZipMember(NamedTuple):
    """One entry of an archive. With a `reason` it must not, or cannot, be read.

    `start` is where its packed bytes begin in the view. Sizes are in bytes; the entry announces
    them, and reading holds it to that.
    """

    name: str
    size: int
    packed: int
    start: int
    crc: int
    method: int
    reason: Reason | None = None

    @property
    def is_folder(self) -> bool:
        """Tell whether the entry is a directory."""
        return self.name.endswith("/")


def members(view: BinaryIO, limits: Limits) -> list[ZipMember]:
    """Return the entries of an archive in its directory's order.

    An archive is refused as a whole (`StepError`) where it is none, is cut off, is in parts, has
    too many entries, announces more than `limits.total` bytes, or has entries that overlap or
    differ from their own headers, as bombs do. An entry carries its own reason otherwise.

    >>> import io, zipfile
    >>> with zipfile.ZipFile(made := io.BytesIO(), "w") as archive:
    ...     archive.writestr("a.xml", "<a/>")
    >>> [(member.name, member.size, member.reason) for member in members(made, Limits())]
    [('a.xml', 4, None)]
    """
    records, end = directory.read(view, limits)
    if sum(record.size for record in records) > limits.total:
        raise StepError(f"the members are larger than {limits.total} bytes together", Reason.BOMB_TOTAL)
    starts = [_start(view, record) for record in records]
    _apart(records, starts, end)
    seen: set[str] = set()
    found = []
    for record, start in zip(records, starts, strict=True):
        reason = Reason.DUPLICATE_MEMBER if record.name in seen else _fault(record, limits)
        seen.add(record.name)
        found.append(_member(record, start, reason))
    return found


def open_member(view: BinaryIO, name: str, limits: Limits) -> BinaryIO:
    """Open the one member of this name as a seekable, read-only file.

    The archive is taken to have passed `members` before; only this entry is judged again.
    Reading beyond what it announces, or to an end that does not match its checksum, raises.
    """
    record = directory.find(view, name, limits)
    member = _member(record, _start(view, record), _fault(record, limits))
    return cast("BinaryIO", io.BufferedReader(inflate(view, member), BLOCK))


def inflate(view: BinaryIO, member: ZipMember) -> Inflated:
    """Open a member that `members` found; one with a reason is refused."""
    if member.reason:
        raise StepError(f"{member.name!r} is refused: {member.reason.meaning}", member.reason)
    return Inflated(
        view,
        start=member.start,
        packed=member.packed,
        size=member.size,
        crc=member.crc,
        method=member.method,
    )


def blocks(view: BinaryIO, member: ZipMember) -> Iterator[bytes]:
    """Yield a member's content block by block, checked at the end."""
    return inflate(view, member).blocks()


def is_archive(head: bytes) -> bool:
    """Tell whether a document's first bytes are those of an archive.

    >>> is_archive(b"<?xml version='1.0'?>"), is_archive(b"PK" + bytes([3, 4]))
    (False, True)
    """
    return head.startswith(MAGIC)


def _member(record: DirectoryRecord, start: int, reason: Reason | None) -> ZipMember:
    """Make the entry of a directory record."""
    return ZipMember(record.name, record.size, record.packed, start, record.crc, record.method, reason)


def _start(view: BinaryIO, record: DirectoryRecord) -> int:
    """Hold an entry's own header against the directory; return where its packed bytes start."""
    head = LOCAL.unpack(directory.at(view, record.offset, LOCAL.size))
    mark, flags, method, names, extras = head[0], head[2], head[3], head[9], head[10]
    if mark != b"PK\x03\x04":
        raise StepError(f"{record.name!r} does not lie where the directory says", Reason.CORRUPT)
    name = directory.at(view, record.offset + LOCAL.size, names)
    if name != record.raw or method != record.method or (flags ^ record.flags) & 1:
        raise StepError(f"the header of {record.name!r} contradicts the directory", Reason.CORRUPT)
    return record.offset + LOCAL.size + int(names) + int(extras)


def _apart(records: list[DirectoryRecord], starts: list[int], end: int) -> None:
    """Refuse entries that share bytes with one another or with the directory.

    Overlap is how one kernel of packed bytes is made to inflate thousands of times; no archiver
    writes it.
    """
    reach = 0
    for record, start in sorted(zip(records, starts, strict=True), key=lambda pair: pair[0].offset):
        if record.offset < reach:
            raise StepError(f"{record.name!r} overlaps another member", Reason.BOMB_OVERLAP)
        reach = start + record.packed
    if reach > end:
        raise StepError("a member runs into the directory", Reason.CORRUPT)


def _fault(record: DirectoryRecord, limits: Limits) -> Reason | None:
    """Judge one entry by what it announces of itself."""
    kind = stat.S_IFMT(record.mode)
    faults = (
        (UNSAFE.search(record.name), Reason.UNSAFE_NAME),
        (record.name.endswith("/") or kind not in (0, stat.S_IFREG), Reason.NOT_A_FILE),
        (record.flags & 0x2041 or record.method == 99, Reason.ENCRYPTED),
        (record.method not in (STORED, DEFLATED) or record.flags & 0x20, Reason.UNSUPPORTED),
        (ARCHIVE.search(record.name), Reason.NESTED_ARCHIVE),
        (record.size > limits.member, Reason.TOO_LARGE),
        (record.size > record.packed * limits.ratio, Reason.BOMB_RATIO),
    )
    return next((reason for found, reason in faults if found), None)
