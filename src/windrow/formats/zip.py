"""Read untrusted zip archives by their directory: with limits and checks, never unpacked to disk.

`members` reads the directory and judges every entry before a byte is inflated; `open_member`
inflates one entry, and stops if it grows beyond the size that it announces. A member's name never names a
file on this machine: it is only looked up in the directory. Limits are checked before bytes are read, and every
fault is a `StepError` with its reason.
"""

from __future__ import annotations

import io
import re
import stat
from collections.abc import Iterator
from struct import Struct
from typing import BinaryIO, NamedTuple, cast
from weakref import WeakKeyDictionary

from windrow.errors import StepError
from windrow.formats.inflate import BLOCK, DEFLATED, STORED, Inflated
from windrow.model import Limits
from windrow.reasons import Reason

END = Struct("<4s4H2LH")
END64 = Struct("<4sQ2H2L4Q")
LOCATOR = Struct("<4sLQL")
CENTRAL = Struct("<4s2B5H3L5H2L")
LENGTHS = Struct("<3H")  # of name, extra field and comment, 28 bytes into a record
LOCAL = Struct("<4s5H3L2H")
ROOM = 1024
"""The most bytes of a directory record on average: it limits memory use."""
SLICE = 1 << 20
# Flags, methods and systems of a record (APPNOTE.TXT, sections 4.4.2, 4.4.4 and 4.4.5).
_ENCRYPTED_FLAGS = 0x1 | 0x40 | 0x2000  # encrypted, strongly encrypted, directory masked
_PATCHED = 0x20
_UTF_8 = 0x800
_AES = 99
_UNIX = 3
_MAX_COMMENT = 0xFFFF
FAR = 1 << 62
"""An offset beyond the end of any file; some files cannot even seek there."""


class DirectoryRecord(NamedTuple):
    """One record of the central directory; `offset` is that of the member's own header in the file."""

    raw: bytes  # the name's bytes
    name: str
    flags: int
    method: int
    crc: int
    packed: int
    size: int
    offset: int
    mode: int  # Unix file mode, 0 if the archive was made on another system


class _End(NamedTuple):
    """The position of the directory, and the number of records that it announces."""

    start: int
    size: int
    announced: int
    shift: int  # bytes of the file before the archive


def read(view: BinaryIO, limits: Limits) -> tuple[list[DirectoryRecord], int]:
    """Return the records of an archive, and the offset of its directory.

    A directory that is too large for `limits.members` records is refused unread.
    """
    end = _end(view)
    content = _content(view, end, limits)
    records = [_read_record(content, position, end.shift) for position in _places(content, limits)]
    if len(records) != end.announced:
        raise StepError(f"the directory announces {end.announced} members and has {len(records)}", Reason.CORRUPT)
    return records, end.start


def find(view: BinaryIO, name: str, limits: Limits) -> DirectoryRecord:
    """Return the record of this name without parsing the others; StepError if the archive has none or several."""
    directory = _directory(view, limits)
    positions = [position for raw in _encodings(name) for position in directory.places.get(raw, ())]
    records = [
        record
        for position in positions
        if (record := _read_record(directory.content, position, directory.shift)).name == name
    ]
    if not records:
        raise StepError(f"the archive has no member {name!r}", Reason.NOT_FOUND)
    if len(records) > 1:
        raise StepError(f"the archive has several members {name!r}", Reason.DUPLICATE_MEMBER)
    return records[0]


def _encodings(name: str) -> set[bytes]:
    """Return the bytes with which an archive may write a name."""
    return {name.encode("utf-8", "replace"), name.encode("cp437", "replace")}


class _Directory(NamedTuple):
    """A directory's bytes, and the offsets in it of each name's records."""

    content: bytes
    shift: int
    places: dict[bytes, list[int]]
    limits: Limits


_DIRECTORIES: WeakKeyDictionary[BinaryIO, _Directory] = WeakKeyDictionary()
"""The directories of open archives: searching one for each member would take time quadratic in their number."""


def _directory(view: BinaryIO, limits: Limits) -> _Directory:
    directory = _DIRECTORIES.get(view)
    if directory is None or directory.limits != limits:
        end = _end(view)
        content = _content(view, end, limits)
        positions: dict[bytes, list[int]] = {}
        for position in _places(content, limits):
            positions.setdefault(_raw(content, position), []).append(position)
        directory = _DIRECTORIES[view] = _Directory(content, end.shift, positions, limits)
    return directory


def at(view: BinaryIO, offset: int, size: int) -> bytes:
    """Read exactly `size` bytes at `offset`; StepError with TRUNCATED if the file ends earlier."""
    if offset >= FAR:
        raise StepError("a record lies far beyond the end of the archive", Reason.TRUNCATED)
    view.seek(offset)
    parts = []
    left = size
    while left and (part := view.read(left)):
        parts.append(part)
        left -= len(part)
    if left:
        raise StepError("the archive ends within a record", Reason.TRUNCATED)
    return b"".join(parts)


def _end(view: BinaryIO) -> _End:
    """Find and read the end record: 22 bytes and a comment at the end of the archive."""
    length = view.seek(0, 2)
    most = END.size + _MAX_COMMENT
    tail = at(view, max(0, length - most), min(length, most))
    position = tail.rfind(b"PK\x05\x06")
    while position >= 0:
        if position + END.size <= len(tail):
            *_, comment = fields = END.unpack_from(tail, position)
            if position + END.size + comment == len(tail):
                return _locate_directory(view, length - len(tail) + position, fields)
        position = tail.rfind(b"PK\x05\x06", 0, position + 3)
    if length and at(view, 0, min(4, length)) == b"PK\x03\x04":
        if surplus := _count_trailing_bytes(view, length):
            raise StepError(f"{surplus} bytes follow the end of the archive", Reason.TRAILING_BYTES)
        raise StepError("the archive has no directory at its end", Reason.TRUNCATED)
    raise StepError("no zip directory was found", Reason.NOT_A_ZIP)


def _count_trailing_bytes(view: BinaryIO, length: int) -> int:
    """Return the number of bytes after an end record that matches the start of the file; 0 if no end record matches."""
    for start in range(0, length, SLICE):
        part = at(view, start, min(SLICE + END.size, length - start))
        position = part.find(b"PK\x05\x06")
        while position >= 0 and position + END.size <= len(part):
            _, _, _, _, count, size, offset, comment = END.unpack_from(part, position)
            record_start = start + position
            end = record_start + END.size + comment
            # The end record of an archive that is stored as a member of this one does not match.
            if count and size + offset == record_start and at(view, offset, 4) == b"PK\x01\x02":
                return max(0, int(length - end))
            position = part.find(b"PK\x05\x06", position + 1)
    return 0


def _locate_directory(view: BinaryIO, position: int, fields: tuple[int, ...]) -> _End:
    """Find the directory by the fields of the end record at `position`, or by a 64-bit end record before it."""
    _, disk, first, count_here, count, size, offset, _ = fields
    record_start = position
    if position >= LOCATOR.size:
        mark, *_ = LOCATOR.unpack(at(view, position - LOCATOR.size, LOCATOR.size))
        if mark == b"PK\x06\x07":
            record_start = position - LOCATOR.size - END64.size
            if record_start < 0:
                raise StepError("the 64-bit end record is missing", Reason.CORRUPT)
            mark, _, _, _, disk, first, count_here, count, size, offset = END64.unpack(
                at(view, record_start, END64.size)
            )
            if mark != b"PK\x06\x06":
                raise StepError("the 64-bit end record is missing", Reason.CORRUPT)
    if disk or first or count_here != count:
        raise StepError("the archive is one part of a split archive", Reason.UNSUPPORTED)
    start = record_start - size
    if start < 0 or offset > start:
        raise StepError("the directory is not where the end record says", Reason.CORRUPT)
    return _End(start, size, count, start - offset)


def _content(view: BinaryIO, end: _End, limits: Limits) -> bytes:
    """Read the directory's bytes; StepError if it is too large for the allowed number of records."""
    if end.announced > limits.members or end.size > limits.members * ROOM:
        raise StepError(
            f"the directory has {end.announced} members in {end.size} bytes; the limit is {limits.members} members",
            Reason.TOO_MANY_MEMBERS,
        )
    return at(view, end.start, end.size)


def _places(content: bytes, limits: Limits) -> Iterator[int]:
    """Yield the offset of each record in a directory; StepError if it holds anything else."""
    position = number = 0
    while position < len(content):
        stop = position + CENTRAL.size
        if not content.startswith(b"PK\x01\x02", position) or stop > len(content):
            raise StepError("the directory holds something that is not a record", Reason.CORRUPT)
        stop += sum(LENGTHS.unpack_from(content, position + 28))
        number += 1
        if stop > len(content):
            raise StepError("the directory ends within a record", Reason.CORRUPT)
        if number > limits.members:
            raise StepError(f"the archive has more than {limits.members} members", Reason.TOO_MANY_MEMBERS)
        yield position
        position = stop


def _raw(content: bytes, position: int) -> bytes:
    """Return the bytes of a record's name."""
    start = position + CENTRAL.size
    return content[start : start + int.from_bytes(content[position + 28 : position + 30], "little")]


def _read_record(content: bytes, position: int, shift: int) -> DirectoryRecord:
    (_, _, system, _, flags, method, _, _, crc, packed, size, names, extras, _, _, _, attributes, offset) = (
        CENTRAL.unpack_from(content, position)
    )
    raw = _raw(content, position)
    start = position + CENTRAL.size + names
    size, packed, offset = _read_zip64_values(content[start : start + extras], size, packed, offset)
    mode = attributes >> 16 if system == _UNIX else 0
    return DirectoryRecord(raw, _decode(raw, flags), flags, method, crc, packed, size, offset + shift, mode)


def _read_zip64_values(extra: bytes, *values: int) -> tuple[int, ...]:
    """Return values with those that do not fit into 32 bits replaced by those of the 64-bit extra field."""
    if 0xFFFFFFFF not in values:
        return values
    position = 0
    while position + 4 <= len(extra):
        kind = int.from_bytes(extra[position : position + 2], "little")
        length = int.from_bytes(extra[position + 2 : position + 4], "little")
        body = extra[position + 4 : position + 4 + length]
        if kind == 1:
            replaced = []
            for value in values:
                is_wide = value == 0xFFFFFFFF and len(body) >= 8
                replaced.append(int.from_bytes(body[:8], "little") if is_wide else value)
                body = body[8:] if is_wide else body
            return tuple(replaced)
        position += 4 + length
    return values


def _decode(raw: bytes, flags: int) -> str:
    """Decode a member's name; bytes that do not fit the encoding of its flag become visible escapes."""
    return raw.decode("utf-8" if flags & _UTF_8 else "cp437", "backslashreplace")


ARCHIVE = re.compile(r"\.(zip|jar|t?gz|tar|t?bz2?|t?xz|7z|rar|zst|lz4?|lzma|cab|arj|z)\Z", re.IGNORECASE)
MAGIC = (b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07")
UNSAFE = re.compile(r"[\x00-\x1f\x7f\\]|\A/|\A[A-Za-z]:|(\A|/)\.\.(/|\Z)|\A\Z")


class ZipMember(NamedTuple):
    """One entry of an archive; with a `reason` it must not or cannot be read.

    `start` is the offset of its packed bytes in the view. Sizes are in bytes, as the entry announces
    them; reading checks them.
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
        """Whether the entry is a directory."""
        return self.name.endswith("/")


def members(view: BinaryIO, limits: Limits) -> list[ZipMember]:
    """Return the entries of an archive in its directory's order.

    The whole archive is refused (`StepError`) if it is not a zip, is truncated, is split, has
    too many entries, announces more than `limits.total_size` bytes, or has entries that overlap or
    differ from their own headers, as zip bombs do. Other faults are the `reason` of a single entry.

    >>> import io, zipfile
    >>> with zipfile.ZipFile(made := io.BytesIO(), "w") as archive:
    ...     archive.writestr("a.xml", "<a/>")
    >>> [(member.name, member.size, member.reason) for member in members(made, Limits())]
    [('a.xml', 4, None)]
    """
    records, end = read(view, limits)
    if sum(record.size for record in records) > limits.total_size:
        raise StepError(f"the members are larger than {limits.total_size} bytes together", Reason.BOMB_TOTAL)
    starts = [_start(view, record) for record in records]
    _refuse_overlaps(records, starts, end)
    seen: set[str] = set()
    entries = []
    for record, start in zip(records, starts, strict=True):
        reason = Reason.DUPLICATE_MEMBER if record.name in seen else _fault(record, limits)
        seen.add(record.name)
        entries.append(_member(record, start, reason))
    return entries


def open_member(view: BinaryIO, name: str, limits: Limits) -> BinaryIO:
    """Open the member of this name as a seekable, read-only file.

    The archive must have passed `members` before; only this entry is judged again. Reading raises
    StepError if the member is larger than it announces or does not match its checksum.
    """
    record = find(view, name, limits)
    member = _member(record, _start(view, record), _fault(record, limits))
    return cast("BinaryIO", io.BufferedReader(inflate(view, member), BLOCK))


def inflate(view: BinaryIO, member: ZipMember) -> Inflated:
    """Open a member that `members` returned; StepError if it has a reason."""
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
    """Yield a member's content block by block; size and checksum are checked at the end."""
    return inflate(view, member).blocks()


def is_archive(head: bytes) -> bool:
    """Return whether a document's first bytes are those of an archive or a compressed file.

    >>> is_archive(b"<?xml version='1.0'?>"), is_archive(b"PK" + bytes([3, 4]))
    (False, True)
    """
    return head.startswith(MAGIC)


def _member(record: DirectoryRecord, start: int, reason: Reason | None) -> ZipMember:
    return ZipMember(record.name, record.size, record.packed, start, record.crc, record.method, reason)


def _start(view: BinaryIO, record: DirectoryRecord) -> int:
    """Check an entry's own header against the directory; return the offset of its packed bytes."""
    mark, _, flags, method, *_, names, extras = LOCAL.unpack(at(view, record.offset, LOCAL.size))
    if mark != b"PK\x03\x04":
        raise StepError(f"{record.name!r} is not where the directory says", Reason.CORRUPT)
    name = at(view, record.offset + LOCAL.size, names)
    if name != record.raw or method != record.method or (flags ^ record.flags) & 1:
        raise StepError(f"the header of {record.name!r} contradicts the directory", Reason.CORRUPT)
    return record.offset + LOCAL.size + int(names) + int(extras)


def _refuse_overlaps(records: list[DirectoryRecord], starts: list[int], end: int) -> None:
    """Raise StepError for entries that share bytes with each other or with the directory.

    Zip bombs use overlaps to inflate the same packed bytes thousands of times; archivers never write them.
    """
    reach = 0
    for record, start in sorted(zip(records, starts, strict=True), key=lambda pair: pair[0].offset):
        if record.offset < reach:
            raise StepError(f"{record.name!r} overlaps another member", Reason.BOMB_OVERLAP)
        reach = start + record.packed
    if reach > end:
        raise StepError("a member runs into the directory", Reason.CORRUPT)


def _fault(record: DirectoryRecord, limits: Limits) -> Reason | None:
    """Return why an entry must not be read, by what its record announces; None if it may."""
    kind = stat.S_IFMT(record.mode)
    faults = (
        (UNSAFE.search(record.name), Reason.UNSAFE_NAME),
        (record.name.endswith("/") or kind not in (0, stat.S_IFREG), Reason.NOT_A_FILE),
        (record.flags & _ENCRYPTED_FLAGS or record.method == _AES, Reason.ENCRYPTED),
        (record.method not in (STORED, DEFLATED) or record.flags & _PATCHED, Reason.UNSUPPORTED),
        (ARCHIVE.search(record.name), Reason.NESTED_ARCHIVE),
        (record.size > limits.member_size, Reason.TOO_LARGE),
        (record.size > record.packed * limits.ratio, Reason.BOMB_RATIO),
    )
    return next((reason for is_fault, reason in faults if is_fault), None)
