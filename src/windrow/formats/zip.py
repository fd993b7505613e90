"""Read untrusted zip archives by their directory, with limits and checks; never unpack them to disk.

`read_members` reads the directory and checks every entry before a byte is inflated. `open_member` inflates one entry,
and stops if it has more bytes than it announces. The name of a member is only looked up in the directory; it is never
used as the path of a file. Limits are checked before bytes are read. Every fault has a reason: that of a `StepError`
about the whole zip, or that of a single entry.
"""

from __future__ import annotations

import io
import re
import stat
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from struct import Struct
from typing import BinaryIO, NamedTuple, cast
from weakref import WeakKeyDictionary

from windrow.errors import StepError
from windrow.formats.inflate import BLOCK_BYTES, DEFLATED, STORED, InflatedMember
from windrow.model import Limits
from windrow.reasons import Reason

END_RECORD = Struct("<4s4H2LH")
END64_RECORD = Struct("<4sQ2H2L4Q")
LOCATOR_RECORD = Struct("<4sLQL")
CENTRAL_RECORD = Struct("<4s2B5H3L5H2L")
NAME_LENGTHS = Struct("<3H")  # the lengths of name, extra field and comment, at offset 28 of a central record
LOCAL_RECORD = Struct("<4s5H3L2H")
_DESCRIPTORS = (Struct("<LQQ"), Struct("<LLL"))  # CRC and sizes behind a member that was packed as a stream
_MAX_UNLISTED_NAME = 1024  # bytes of a name that is searched for between entries
MAX_MEAN_RECORD_BYTES = 1024
"""The maximum mean size of directory records, in bytes, so that memory use is limited."""
SLICE_BYTES = 1 << 20  # bytes that are searched at once
# Flags, methods and systems of a record (APPNOTE.TXT, sections 4.4.2, 4.4.4 and 4.4.5).
_ENCRYPTED_FLAGS = 0x1 | 0x40 | 0x2000  # encrypted, strongly encrypted, directory masked
_PATCH_FLAG = 0x20
_STREAMED_FLAG = 0x8
_UTF_8_FLAG = 0x800
_AES_METHOD = 99
_METHOD_NAMES = {
    1: "Shrink", 6: "Implode", 9: "Deflate64", 12: "BZIP2", 14: "LZMA", 20: "Zstandard", 93: "Zstandard", 94: "MP3",
    95: "XZ", 96: "JPEG", 97: "WavPack", 98: "PPMd",
}  # fmt: skip
_UNIX_SYSTEM = 3
_MAX_COMMENT_BYTES = 0xFFFF
MAX_OFFSET = 1 << 62
"""Offsets from this one on are beyond the end of any file. They are refused, since seeking to them may fail."""


class DirectoryRecord(NamedTuple):
    """A record of the central directory; `offset` is the place of the member's own header in the file."""

    raw: bytes  # the name's bytes
    name: str
    flags: int
    method: int
    crc: int
    packed: int  # bytes in the zip
    size: int  # bytes after inflation
    offset: int
    mode: int  # the Unix file mode, or 0 if the entry was made on another system


class _DirectoryEnd(NamedTuple):
    """The directory's offset, size in bytes and number of records, according to the end record."""

    start: int
    size: int
    announced_count: int
    zip_start: int  # the number of bytes before the zip, such as those of a program that unpacks it


def read_directory(view: BinaryIO, limits: Limits) -> tuple[list[DirectoryRecord], int]:
    """Return the records of a zip, and the offset of its directory.

    Raise StepError if the directory is missing, broken, or too large for `limits.members` records. A directory that is
    too large is not read.
    """
    end = _find_directory_end(view)
    directory_bytes = _read_directory_bytes(view, end, limits)
    positions = _record_offsets(directory_bytes, limits)
    records = [_read_record(directory_bytes, position, end.zip_start) for position in positions]
    if len(records) != end.announced_count:
        raise StepError(f"the zip announces {end.announced_count} members but has {len(records)}", Reason.CORRUPT)
    return records, end.start


def find_record(view: BinaryIO, name: str, limits: Limits) -> DirectoryRecord:
    """Return the record with the name `name`; raise StepError if no record or several records have this name.

    Records with other names are not parsed. Raise StepError, too, if the directory cannot be read.
    """
    directory = _cached_directory(view, limits)
    positions = [position for raw in _encode_name(name) for position in directory.offsets_by_name.get(raw, ())]
    records = [
        record
        for position in positions
        if (record := _read_record(directory.content, position, directory.zip_start)).name == name
    ]
    if not records:
        raise StepError(f"the zip does not have a member {name!r}", Reason.NOT_FOUND)
    if len(records) > 1:
        raise StepError(f"the zip has several members with the name {name!r}", Reason.DUPLICATE_MEMBER)
    return records[0]


def _encode_name(name: str) -> set[bytes]:
    return {name.encode("utf-8", "replace"), name.encode("cp437", "replace")}


class _Directory(NamedTuple):
    """A directory as read with `limits`: its bytes, and a dict from encoded names to the offsets of its records."""

    content: bytes
    zip_start: int
    offsets_by_name: dict[bytes, list[int]]
    limits: Limits


_DIRECTORIES: WeakKeyDictionary[BinaryIO, _Directory] = WeakKeyDictionary()
"""The directories of open zips: reading one again for each member would take quadratic time."""


def _cached_directory(view: BinaryIO, limits: Limits) -> _Directory:
    """Return the directory of an open zip. It is read again only if the limits differ from those of the last read."""
    directory = _DIRECTORIES.get(view)
    if directory is None or directory.limits != limits:
        end = _find_directory_end(view)
        directory_bytes = _read_directory_bytes(view, end, limits)
        positions: dict[bytes, list[int]] = {}
        for position in _record_offsets(directory_bytes, limits):
            positions.setdefault(_raw_name(directory_bytes, position), []).append(position)
        directory = _DIRECTORIES[view] = _Directory(directory_bytes, end.zip_start, positions, limits)
    return directory


def read_exactly(view: BinaryIO, offset: int, size: int) -> bytes:
    """Return exactly `size` bytes at `offset`; raise StepError with TRUNCATED if the file ends earlier."""
    if offset >= MAX_OFFSET:
        raise StepError("the offset of a record is far beyond the end of the zip", Reason.TRUNCATED)
    view.seek(offset)
    pieces = []
    bytes_left = size
    while bytes_left and (piece := view.read(bytes_left)):
        pieces.append(piece)
        bytes_left -= len(piece)
    if bytes_left:
        raise StepError("the zip ends within a record", Reason.TRUNCATED)
    return b"".join(pieces)


def _find_directory_end(view: BinaryIO) -> _DirectoryEnd:
    """Find the directory by the end record (22 bytes and a comment at the end of the file), or raise StepError."""
    file_size = view.seek(0, io.SEEK_END)
    max_tail = END_RECORD.size + _MAX_COMMENT_BYTES
    tail = read_exactly(view, max(0, file_size - max_tail), min(file_size, max_tail))
    position = tail.rfind(b"PK\x05\x06")
    while position >= 0:
        if position + END_RECORD.size <= len(tail):
            *_, comment = fields = END_RECORD.unpack_from(tail, position)
            if position + END_RECORD.size + comment == len(tail):
                return _locate_directory(view, file_size - len(tail) + position, fields)
        position = tail.rfind(b"PK\x05\x06", 0, position + 3)
    if file_size and read_exactly(view, 0, min(4, file_size)) == b"PK\x03\x04":
        if trailing_count := _count_trailing_bytes(view, file_size):
            raise StepError(f"{trailing_count} bytes follow the end of the zip", Reason.TRAILING_BYTES)
        raise StepError("the zip has no directory at its end", Reason.TRUNCATED)
    raise StepError("the file has no zip directory", Reason.NOT_A_ZIP)


def _count_trailing_bytes(view: BinaryIO, file_size: int) -> int:
    """Return the number of bytes after the zip's end record, or 0 if no end record fits a directory before it."""
    for start in range(0, file_size, SLICE_BYTES):
        slice_bytes = read_exactly(view, start, min(SLICE_BYTES + END_RECORD.size, file_size - start))
        position = slice_bytes.find(b"PK\x05\x06")
        while position >= 0 and position + END_RECORD.size <= len(slice_bytes):
            _, _, _, _, count, size, offset, comment = END_RECORD.unpack_from(slice_bytes, position)
            record_start = start + position
            end = record_start + END_RECORD.size + comment
            # The condition is false for the end record of a zip that is stored in this one.
            if count and size + offset == record_start and read_exactly(view, offset, 4) == b"PK\x01\x02":
                return max(0, int(file_size - end))
            position = slice_bytes.find(b"PK\x05\x06", position + 1)
    return 0


def _locate_directory(view: BinaryIO, position: int, end_fields: tuple[int, ...]) -> _DirectoryEnd:
    """Return where the directory is, according to the end record at offset `position`.

    If a 64-bit end record precedes it, the numbers in the 64-bit record are used. Raises StepError if the directory is
    elsewhere, if the zip is a part of a split zip, or if another zip, whose members would be passed over, precedes it.
    """
    _, disk, first_disk, count_on_disk, record_count, size, offset, _ = end_fields
    record_start = position
    if position >= LOCATOR_RECORD.size:
        signature, *_ = LOCATOR_RECORD.unpack(read_exactly(view, position - LOCATOR_RECORD.size, LOCATOR_RECORD.size))
        if signature == b"PK\x06\x07":
            record_start = position - LOCATOR_RECORD.size - END64_RECORD.size
            if record_start < 0:
                raise StepError("the 64-bit end record is missing", Reason.CORRUPT)
            signature, _, _, _, disk, first_disk, count_on_disk, record_count, size, offset = END64_RECORD.unpack(
                read_exactly(view, record_start, END64_RECORD.size)
            )
            if signature != b"PK\x06\x06":
                raise StepError("the 64-bit end record is missing", Reason.CORRUPT)
    if disk or first_disk or count_on_disk != record_count:
        raise StepError("the zip is one part of a split zip", Reason.UNSUPPORTED)
    start = record_start - size
    if start < 0 or offset > start:
        raise StepError("the directory is not at the offset in the end record", Reason.CORRUPT)
    if start > offset and read_exactly(view, 0, 4) == b"PK\x03\x04":
        raise StepError("the file is several zips in a row, or a zip with a wrong directory", Reason.TRAILING_BYTES)
    return _DirectoryEnd(start, size, record_count, start - offset)


def _read_directory_bytes(view: BinaryIO, end: _DirectoryEnd, limits: Limits) -> bytes:
    if end.announced_count > limits.members or end.size > limits.members * MAX_MEAN_RECORD_BYTES:
        raise StepError(
            f"the directory has {end.announced_count} members in {end.size} bytes; "
            f"the limits are {limits.members} and {limits.members * MAX_MEAN_RECORD_BYTES}",
            Reason.TOO_MANY_MEMBERS,
        )
    return read_exactly(view, end.start, end.size)


def _record_offsets(directory_bytes: bytes, limits: Limits) -> Iterator[int]:
    position = record_count = 0
    while position < len(directory_bytes):
        record_end = position + CENTRAL_RECORD.size
        if not directory_bytes.startswith(b"PK\x01\x02", position) or record_end > len(directory_bytes):
            raise StepError("the directory contains bytes that are not a record", Reason.CORRUPT)
        record_end += sum(NAME_LENGTHS.unpack_from(directory_bytes, position + 28))
        record_count += 1
        if record_end > len(directory_bytes):
            raise StepError("the directory ends within a record", Reason.CORRUPT)
        if record_count > limits.members:
            raise StepError(f"the zip has more than {limits.members} members", Reason.TOO_MANY_MEMBERS)
        yield position
        position = record_end


def _raw_name(directory_bytes: bytes, position: int) -> bytes:
    start = position + CENTRAL_RECORD.size
    return directory_bytes[start : start + int.from_bytes(directory_bytes[position + 28 : position + 30], "little")]


def _read_record(directory_bytes: bytes, position: int, zip_start: int) -> DirectoryRecord:
    """Return the record at a position in the directory; its `offset` counts from the start of the file."""
    fields = CENTRAL_RECORD.unpack_from(directory_bytes, position)
    _, _, made_on, _, flags, method, _, _, crc, packed, size, name_length, extra_length, _, _, _, attributes, offset = (
        fields
    )
    raw = _raw_name(directory_bytes, position)
    start = position + CENTRAL_RECORD.size + name_length
    size, packed, offset = _read_zip64_values(directory_bytes[start : start + extra_length], size, packed, offset)
    mode = attributes >> 16 if made_on == _UNIX_SYSTEM else 0  # its upper half is a Unix file mode
    return DirectoryRecord(raw, _read_name(raw, flags), flags, method, crc, packed, size, offset + zip_start, mode)


def _read_zip64_values(extra: bytes, *values: int) -> tuple[int, ...]:
    """Return the values; those that are marked as too large for 32 bits are read from the 64-bit extra field."""
    if 0xFFFFFFFF not in values:
        return values
    position = 0
    while position + 4 <= len(extra):
        field_id = int.from_bytes(extra[position : position + 2], "little")
        length = int.from_bytes(extra[position + 2 : position + 4], "little")
        body = extra[position + 4 : position + 4 + length]
        if field_id == 1:
            full_values = []
            for value in values:
                is_wide = value == 0xFFFFFFFF and len(body) >= 8
                full_values.append(int.from_bytes(body[:8], "little") if is_wide else value)
                body = body[8:] if is_wide else body
            return tuple(full_values)
        position += 4 + length
    return values


def _read_name(raw: bytes, flags: int) -> str:
    return raw.decode("utf-8" if flags & _UTF_8_FLAG else "cp437", "backslashreplace")


ARCHIVE_NAME = re.compile(r"\.(zip|jar|t?gz|tar|t?bz2?|t?xz|7z|rar|zst|lz4?|lzma|cab|arj|z)\Z", re.IGNORECASE)
SIGNATURES = (b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07")
UNSAFE_NAME = re.compile(r"[\x00-\x1f\x7f\\]|\A/|\A[A-Za-z]:|(\A|/)\.\.(/|\Z)|\A\Z")


class ZipMember(NamedTuple):
    """An entry of a zip; `reason` is why it must not be read, or None if it may be read.

    `size` and `packed` are its bytes after and before inflation, as the entry announces them. `start` is the offset of
    the packed bytes in the zip's view. `crc` is the CRC-32 of its content. Reading checks size and CRC.
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
        """Whether the entry is a folder, by its name."""
        return self.name.endswith("/")

    @property
    def refusal(self) -> str:
        """Why the entry must not be read, with the name of an unsupported compression method, or "" if it may be read.

        >>> ZipMember("a.xml", 1, 1, 0, 0, 14, Reason.UNSUPPORTED).refusal
        'the format or compression method is not supported: LZMA'
        """
        if self.reason is None:
            return ""
        is_method = self.reason is Reason.UNSUPPORTED and self.method not in (STORED, DEFLATED)
        method_text = f": {_METHOD_NAMES.get(self.method, f'method {self.method}')}" if is_method else ""
        return f"{self.reason.meaning}{method_text}"


class Gap(NamedTuple):
    """Bytes before, between or behind the members of a zip that belong to none of them."""

    offset: int
    size: int


def read_members(view: BinaryIO, limits: Limits, *, refuse_archives: bool = True) -> list[ZipMember]:
    """Return the entries of a zip, as `read_contents` does, without its gaps.

    >>> import io, zipfile
    >>> with zipfile.ZipFile(made := io.BytesIO(), "w") as archive:
    ...     archive.writestr("a.xml", "<a/>")
    >>> [(member.name, member.size, member.reason) for member in read_members(made, Limits())]
    [('a.xml', 4, None)]
    """
    return read_contents(view, limits, refuse_archives=refuse_archives)[0]


def read_contents(view: BinaryIO, limits: Limits, *, refuse_archives: bool = True) -> tuple[list[ZipMember], list[Gap]]:
    """Return the entries of a zip in its directory's order, and the gaps before, between and behind them.

    Raises StepError, for the whole zip, if it is not a zip, is broken, cut or split, has too many entries, announces
    more than `limits.total_size` bytes, or has entries that overlap, as in zip bombs, that contradict their own headers
    or that its directory does not name. Any other fault is the `reason` of a single entry; with `refuse_archives`, the
    name of an archive is such a fault.
    """
    records, end = read_directory(view, limits)
    if sum(record.size for record in records) > limits.total_size:
        raise StepError(f"the members have more than {limits.total_size} bytes together", Reason.BOMB_TOTAL)
    starts = [_find_content_start(view, record) for record in records]
    gaps = _find_gaps(view, records, starts, end)
    known_names: set[str] = set()
    entries = []
    for record, start in zip(records, starts, strict=True):
        is_known = record.name in known_names
        reason = Reason.DUPLICATE_MEMBER if is_known else _find_fault(record, limits, refuse_archives=refuse_archives)
        known_names.add(record.name)
        entries.append(_to_member(record, start, reason))
    return entries, gaps


def open_member(view: BinaryIO, name: str, limits: Limits) -> BinaryIO:
    """Open the member with this name as a seekable, read-only file.

    `read_members` must have accepted the zip before; only this entry is checked again. Raise StepError if the entry
    must not be read or has the name of an archive. Reading raises StepError for content of another size or checksum.
    """
    record = find_record(view, name, limits)
    member = _to_member(record, _find_content_start(view, record), _find_fault(record, limits))
    return cast("BinaryIO", io.BufferedReader(open_inflated(view, member), BLOCK_BYTES))


def open_inflated(view: BinaryIO, member: ZipMember) -> InflatedMember:
    """Open a member that `read_members` returned; raise StepError if it has a `reason`."""
    if member.reason:
        raise StepError(f"{member.name!r} is refused: {member.refusal}", member.reason)
    return InflatedMember(
        view, start=member.start, packed=member.packed, size=member.size, crc=member.crc, method=member.method
    )


def read_blocks(view: BinaryIO, member: ZipMember) -> Iterator[bytes]:
    """Yield a member's content in blocks; raise StepError if it has a `reason`, or if its size or checksum is wrong."""
    return open_inflated(view, member).blocks()


def is_archive_start(head: bytes) -> bool:
    """Return whether `head` has the signature of a known kind of archive or compressed file.

    >>> is_archive_start(b"<?xml version='1.0'?>"), is_archive_start(b"PK" + bytes([3, 4]))
    (False, True)
    """
    return head.startswith(SIGNATURES)


def _to_member(record: DirectoryRecord, start: int, reason: Reason | None) -> ZipMember:
    return ZipMember(record.name, record.size, record.packed, start, record.crc, record.method, reason)


def _find_content_start(view: BinaryIO, record: DirectoryRecord) -> int:
    """Return the offset of an entry's packed bytes; raise StepError if its own header contradicts `record`."""
    own_header = read_exactly(view, record.offset, LOCAL_RECORD.size)
    signature, _, flags, method, *_, name_length, extra_length = LOCAL_RECORD.unpack(own_header)
    if signature != b"PK\x03\x04":
        raise StepError(f"{record.name!r} is not at the offset that the directory of the zip gives", Reason.CORRUPT)
    name = read_exactly(view, record.offset + LOCAL_RECORD.size, name_length)
    if name != record.raw or method != record.method or (flags ^ record.flags) & 1:
        raise StepError(f"the header of {record.name!r} contradicts the directory of the zip", Reason.CORRUPT)
    return record.offset + LOCAL_RECORD.size + int(name_length) + int(extra_length)


def _find_gaps(view: BinaryIO, records: list[DirectoryRecord], starts: list[int], directory_start: int) -> list[Gap]:
    """Return the bytes before the directory that belong to no entry.

    Raise StepError if entries share bytes with each other or with the directory, or if there is an unlisted entry in
    a gap. Zip bombs use overlaps to inflate the same packed bytes thousands of times; archivers never write them.
    """
    gaps: list[Gap] = []
    end_of_previous = 0
    raw_names = {record.raw for record in records}

    def add_gap(end: int) -> None:
        if end > end_of_previous:
            _refuse_unlisted(view, end_of_previous, end, raw_names)
            gaps.append(Gap(end_of_previous, end - end_of_previous))

    for record, start in sorted(zip(records, starts, strict=True), key=lambda pair: pair[0].offset):
        if record.offset < end_of_previous:
            raise StepError(f"{record.name!r} overlaps another member", Reason.BOMB_OVERLAP)
        add_gap(record.offset)
        end_of_previous = start + record.packed
        if record.flags & _STREAMED_FLAG:
            end_of_previous += _descriptor_size(view, record, end_of_previous, directory_start)
    if end_of_previous > directory_start:
        raise StepError("a member overlaps the directory of the zip", Reason.CORRUPT)
    add_gap(directory_start)
    return gaps


def _descriptor_size(view: BinaryIO, record: DirectoryRecord, start: int, end: int) -> int:
    """Return the size of an entry's data descriptor at offset `start`, or 0 if there is none before `end`."""
    following = read_exactly(view, start, max(0, min(end - start, 24)))
    signature = b"PK\x07\x08" if following.startswith(b"PK\x07\x08") else b""
    for layout in _DESCRIPTORS:
        descriptor = following[len(signature) : len(signature) + layout.size]
        if len(descriptor) == layout.size and layout.unpack(descriptor) == (record.crc, record.packed, record.size):
            return len(signature) + layout.size
    return 0


def _refuse_unlisted(view: BinaryIO, start: int, end: int, raw_names: AbstractSet[bytes]) -> None:
    """Raise StepError if an entry that the directory does not name begins between two others, from `start` to `end`.

    The first header in the gap decides: an earlier version of an entry may remain there. The signature alone may stand
    in other bytes, such as those of a program before the zip; in a header, a printable name follows.
    """
    while end - start >= LOCAL_RECORD.size:
        gap = read_exactly(view, start, min(end - start, BLOCK_BYTES))
        position = gap.find(b"PK\x03\x04")
        while position >= 0:
            name_length = int.from_bytes(gap[position + 26 : position + 28], "little")
            name_start = position + LOCAL_RECORD.size
            raw = gap[name_start : name_start + min(name_length, _MAX_UNLISTED_NAME)]
            if raw in raw_names:
                return
            if raw and len(raw) == name_length and min(raw) >= 0x20:
                raise StepError(f"{_read_name(raw, 0)[:200]!r} is not in the directory of the zip", Reason.CORRUPT)
            position = gap.find(b"PK\x03\x04", position + 4)
        if len(gap) == end - start:
            return
        start += len(gap) - LOCAL_RECORD.size - _MAX_UNLISTED_NAME  # a header may begin at the end of these bytes


def _find_fault(record: DirectoryRecord, limits: Limits, *, refuse_archives: bool = True) -> Reason | None:
    """Return why an entry must not be read, judging by its record, or None if it may be read."""
    kind = stat.S_IFMT(record.mode)
    faults = (
        (UNSAFE_NAME.search(record.name), Reason.UNSAFE_NAME),
        (record.name.endswith("/") or kind not in (0, stat.S_IFREG), Reason.NOT_A_FILE),
        (record.flags & _ENCRYPTED_FLAGS or record.method == _AES_METHOD, Reason.ENCRYPTED),
        (record.method not in (STORED, DEFLATED) or record.flags & _PATCH_FLAG, Reason.UNSUPPORTED),
        (refuse_archives and ARCHIVE_NAME.search(record.name), Reason.NESTED_ARCHIVE),
        (record.size > limits.member_size, Reason.TOO_LARGE),
        (record.size > record.packed * limits.ratio, Reason.BOMB_RATIO),
    )
    return next((reason for is_fault, reason in faults if is_fault), None)
