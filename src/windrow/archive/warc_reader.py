"""Read WARC and ARC files of other crawlers record by record, in bounded memory, from any record on.

Heritrix, browsertrix, Common Crawl, wget: WARC 0.17 to 1.1 (ISO 28500) and ARC, plain, or with a gzip member for each
record. A broken record is returned with a reason, and reading continues at the next record that can be found.

FastWARC and warcio read the same formats; neither continues after a broken record, limits the inflated size of a
record, or begins in the middle of a file, all of which untrusted files need.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from isal import isal_zlib

from windrow.digest import Hasher
from windrow.errors import ArchiveError
from windrow.formats import warc
from windrow.formats.http import find_body
from windrow.model import Limits
from windrow.reasons import Reason

ENDINGS = (".warc", ".warc.gz", ".warc.zst", ".arc", ".arc.gz")
"""The endings of the names of WARC and ARC files."""
GZIP = b"\x1f\x8b\x08"
ZSTD = (b"\x28\xb5\x2f\xfd", b"\x5d\x2a\x4d\x18")
"""The starts of a Zstandard file: a frame, or a dictionary for all frames."""

_FIRST_RECORDS = 4  # are read to see whether a gzip file has a member for each record
_HEAD = 64 * 1024  # bytes of a record's header, and of an HTTP head
_BLOCK = 256 * 1024
_FIRST = 16 * 1024  # bytes read first of a gzip member: most are not larger
_LOOK = 16 * 1024  # bytes that hold the first line of a record
_BRIEF = 64  # bytes that hold the first line of a WARC record, after the usual blank lines
_FREE = 16 * 1024 * 1024  # bytes that a record may inflate to at any ratio
_WINDOW = 1 << 20
_BROKEN = cast("type[Exception]", isal_zlib.error)
_BLANK = re.compile(rb"[\r\n]*+")
_LINE = re.compile(rb"(?<=\n)[A-Za-z][A-Za-z0-9+.-]{0,30}:|(?<=\n)WARC/")  # where a record may begin
_WASTE = 64 * 1024 * 1024  # the most bytes of a file that may be read for broken records, plus
_WASTED = 4  # times its size


class WarcRecord(NamedTuple):
    """A record, or a broken stretch of a file.

    `offset` and `length` are its place in the file, `next` is the offset of the next record. `head` is the HTTP head of
    its block, `digest` and `size` are those of the rest, the payload. With a `reason` it cannot be used.
    """

    offset: int
    length: int
    next: int
    kind: str = ""
    fields: Mapping[str, str] = {}
    head: bytes = b""
    digest: str = ""
    size: int = 0
    reason: Reason | None = None
    message: str = ""
    digests: Mapping[str, str] = {}  # hex, by algorithm
    arc: bool = False  # the file is ARC
    packed: bool = False  # the record is a gzip member


class _Form(NamedTuple):
    """The form of a file's records: the start of a record, and the function that reads its header."""

    packed: bool
    begin: re.Pattern[bytes]
    header: Callable[[bytes], warc.Header]
    line: bool  # the header is one line

    def header_ends(self, text: bytes) -> bool:
        """Tell whether the header at the start of `text` also ends in it."""
        stripped = _BLANK.sub(b"", text, count=1)
        return b"\n" in stripped if self.line else warc.header_ends(stripped)


class _BrokenRecord(Exception):
    """A record is broken; caught in this module."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class _PlainSource:
    """The bytes of a record that is not compressed."""

    def __init__(self, file: BinaryIO, offset: int, ratio: int) -> None:  # noqa: ARG002 as of `_GzipSource`
        self._file = file
        self._offset = offset
        self._size = os.fstat(file.fileno()).st_size
        file.seek(offset)

    @property
    def fed(self) -> int:
        """Bytes of the file that were read."""
        return self._file.tell() - self._offset

    def read(self, most: int) -> bytes:
        return self._file.read(most)

    def check_length(self, size: int, form: _Form) -> None:
        """Raise `_BrokenRecord` unless a record or the end of the file follows after `wanted` more bytes."""
        position = self._file.tell()
        if position + size > self._size:
            raise _BrokenRecord(
                Reason.TRUNCATED, f"the record ends {position + size - self._size} bytes before its length"
            )
        self._file.seek(position + size)
        next_bytes = self._file.read(_LOOK if form.line else _BRIEF)
        if next_bytes.strip(b"\r\n") and not form.begin.match(next_bytes):
            raise _BrokenRecord(Reason.SIZE_MISMATCH, "the record's length is not what its header says")
        self._file.seek(position)

    def end(self, surplus: bytes) -> int:
        """Return the offset of the next record; `rest` was read beyond this one."""
        offset = self._file.tell() - len(surplus)
        while True:
            self._file.seek(offset)
            next_bytes = self._file.read(_BRIEF)
            gap = len(next_bytes) - len(next_bytes.lstrip(b"\r\n"))
            offset += gap
            if gap < len(next_bytes) or not next_bytes:
                return offset


class _GzipSource:
    """One gzip member, inflated block by block."""

    def __init__(self, file: BinaryIO, offset: int, ratio: int) -> None:
        self._file = file
        self._stream: Any = isal_zlib.decompressobj(wbits=31)
        self._offset = offset
        self._ratio = ratio
        self._fed = self._inflated = 0
        file.seek(offset)

    @property
    def fed(self) -> int:
        """Bytes of the file that were read."""
        return self._fed

    def check_length(self, wanted: int, form: _Form) -> None:
        """Do nothing: what follows is only known after inflating the record."""

    def read(self, most: int) -> bytes:
        stream = self._stream
        while not stream.eof:
            packed = stream.unconsumed_tail
            if not packed:
                packed = self._file.read(_BLOCK if self._fed else _FIRST)
                if not packed:
                    raise _BrokenRecord(Reason.TRUNCATED, "the file ends within a record")
                self._fed += len(packed)
            try:
                block: bytes = stream.decompress(packed, most)
            except _BROKEN as error:
                raise _BrokenRecord(Reason.CORRUPT, f"the record cannot be inflated: {error}"[:200]) from None
            if block:
                self._inflated += len(block)
                if self._inflated > max(_FREE, self._ratio * self._fed):
                    raise _BrokenRecord(Reason.BOMB_RATIO, f"the record inflates beyond {self._ratio} times its size")
                return block
        return b""

    def end(self, surplus: bytes) -> int:
        """Return the offset of the next member; `_BrokenRecord` if anything follows the record in its own member."""
        while not surplus.strip(b"\r\n") and (block := self.read(_HEAD)):
            surplus = block
        surplus_text = surplus.lstrip(b"\r\n")
        if warc.RECORD_BEGIN.match(surplus_text) or warc.ARC_BEGIN.match(surplus_text):
            raise _BrokenRecord(Reason.UNSUPPORTED, "one gzip stream holds several records")
        if surplus_text:
            raise _BrokenRecord(Reason.SIZE_MISMATCH, "the record is longer than its header says")
        return self._offset + self._fed - len(self._stream.unused_data)


class WarcForm(NamedTuple):
    """The form of a file: whether it is ARC, and whether it must be repacked before records are read."""

    arc: bool
    must_repack: bool


def detect_form(path: Path) -> WarcForm:
    """Determine a file's form from its first records; ArchiveError if it is not a WARC file or cannot be read."""
    try:
        with path.open("rb", buffering=0) as raw:
            file = cast(BinaryIO, raw)
            if file.read(4) in ZSTD:
                return WarcForm(arc=False, must_repack=True)
            form = _detect_records_form(file)
            first_records = islice(_read_records(file, 0, Limits()), _FIRST_RECORDS) if form.packed else ()
            return WarcForm(form.line, any(record.reason is Reason.UNSUPPORTED for record in first_records))
    except OSError as error:
        raise ArchiveError(f"the file cannot be read: {error.strerror}") from error


def read_records(path: Path, start: int, limits: Limits, *algorithms: str) -> Iterator[WarcRecord]:
    """Yield the records of a file from offset `start`, which must be 0 or the `next` of a record.

    A payload above `limits.transfer_size` bytes is skipped. Each record's `digests` has one by each of `algorithms`.
    ArchiveError if the file is not a WARC file or cannot be read.
    """
    try:
        with path.open("rb", buffering=0) as raw:
            file = cast(BinaryIO, raw)
            yield from _read_records(file, start, limits, algorithms)
    except OSError as error:
        raise ArchiveError(f"{path} cannot be read: {error.strerror}") from error


def met_at(path: Path, offset: int, limits: Limits, take: Callable[[bytes], object], *algorithms: str) -> WarcRecord:
    """Return the record that begins at an offset of a file; its payload is passed to `take` piece by piece.

    Its `digests` has those of the payload by `algorithms`. A broken record is returned with a reason. ArchiveError as
    of `read_records`.
    """
    try:
        with path.open("rb", buffering=0) as raw:
            file = cast(BinaryIO, raw)
            state = os.fstat(file.fileno())
            form = _cached_form(file, state)
            if offset >= state.st_size:
                return WarcRecord(
                    offset, 0, offset, reason=Reason.TRUNCATED, message="the file ends before this offset"
                )
            try:
                source = (_GzipSource if form.packed else _PlainSource)(file, offset, limits.ratio)
                return _read_record(source, offset, limits, form, (take, algorithms))
            except _BrokenRecord as trouble:
                return WarcRecord(offset, 0, offset, reason=trouble.reason, message=str(trouble))
    except OSError as error:
        raise ArchiveError(f"{path} cannot be read: {error.strerror}", reason=_reason(error)) from error


def _reason(error: OSError) -> Reason:
    return Reason.NOT_FOUND if isinstance(error, FileNotFoundError) else Reason.DISK_FAILED


def _read_records(file: BinaryIO, start: int, limits: Limits, algorithms: tuple[str, ...] = ()) -> Iterator[WarcRecord]:
    form, size = _detect_records_form(file), os.fstat(file.fileno()).st_size
    make = _GzipSource if form.packed else _PlainSource
    offset, wasted = start, 0
    while offset < size:
        source = make(file, offset, limits.ratio)
        try:
            record = _read_record(source, offset, limits, form, (_ignore_payload, algorithms))
        except _BrokenRecord as trouble:
            wasted += source.fed
            if wasted > _WASTE + _WASTED * size:
                # Nested records with false lengths would be read again and again.
                message = "too much of the file is broken: the rest is not read"
                record = WarcRecord(offset, size - offset, size, reason=Reason.CORRUPT, message=message)
            else:
                next_offset = _find_next_record(file, offset + 1, form)
                record = WarcRecord(
                    offset, next_offset - offset, next_offset, reason=trouble.reason, message=str(trouble)
                )
        yield record
        offset = record.next


_cached_forms: list[tuple[tuple[int, ...], _Form]] = []  # the identity of the last file, and its form


def _cached_form(file: BinaryIO, state: os.stat_result) -> _Form:
    """Return the form of a file; the last one is cached, since a file's records are mostly read in a row."""
    name = (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns)
    if not _cached_forms or _cached_forms[0][0] != name:
        _cached_forms[:] = [(name, _detect_records_form(file))]
    return _cached_forms[0][1]


def _detect_records_form(file: BinaryIO) -> _Form:
    """Determine the form of a file's records; ArchiveError if it is neither WARC nor ARC."""
    file.seek(0)
    head = file.read(_LOOK)
    packed = head.startswith(GZIP)
    if packed:
        try:
            head = _GzipSource(file, 0, _WASTE).read(_LOOK)
        except _BrokenRecord:
            head = b""
    if warc.ARC_BEGIN.match(head) and head.lstrip(b"\r\n").startswith(b"filedesc:"):
        return _Form(packed, warc.ARC_BEGIN, warc.read_arc_line, line=True)
    if packed or not head or warc.RECORD_BEGIN.match(head):
        return _Form(packed, warc.RECORD_BEGIN, warc.read_header, line=False)
    message = "it is Zstandard, which must be imported first" if head[:4] in ZSTD else "it is not a WARC or ARC file"
    raise ArchiveError(message, hint="see docs/howto/read-warc-files.md", reason=Reason.UNSUPPORTED)


def _ignore_payload(_piece: bytes) -> None:
    """Ignore a piece of a payload."""


_PayloadSink = tuple[Callable[[bytes], object], tuple[str, ...]]


def _read_record(
    source: _PlainSource | _GzipSource, at: int, limits: Limits, form: _Form, payload_sink: _PayloadSink
) -> WarcRecord:
    """Read one record; `payload_sink` has the function that takes its payload, and the names of further digests."""
    text = b""
    while not form.header_ends(text):
        block = source.read(_HEAD) if len(text) < _HEAD else b""
        if not block:
            has_begun = text.lstrip(b"\r\n").startswith(b"WARC/")
            problem = "the record's header does not end" if has_begun else "no record begins here"
            raise _BrokenRecord(Reason.TRUNCATED if has_begun else Reason.CORRUPT, problem)
        text += block
    try:
        header = form.header(text)
    except ArchiveError:
        raise _BrokenRecord(Reason.CORRUPT, "no record begins here") from None
    length_text = header.fields.get("content-length", "")
    if not (length_text.isascii() and length_text.isdecimal() and len(length_text) < 16):
        raise _BrokenRecord(Reason.CORRUPT, f"the record's length is {length_text[:40]!r}")
    body = _Block(source, text[header.length :], int(length_text))
    source.check_length(int(length_text) - len(text) + header.length, form)
    head = b""
    if warc.is_http_message(header, body.begin(len(warc.HTTP_START))):
        head = body.head(_HEAD - header.length)
    take, algorithms = payload_sink
    hasher = Hasher(*algorithms)
    too_large = body.left > limits.transfer_size
    for piece in body.pieces():
        if not too_large:
            hasher.update(piece)
            take(piece)
    next_offset = source.end(body.rest)
    reason, message = (Reason.TOO_LARGE, f"more than {limits.transfer_size} bytes") if too_large else (None, "")
    size = 0 if too_large else hasher.size
    digests = {name: hasher.hex(name) for name in algorithms}
    return WarcRecord(
        at, next_offset - at, next_offset, header.kind, header.fields, head, hasher.digest(), size, reason, message,
        digests,
        form.line, form.packed,
    )  # fmt: skip


class _Block:
    """A record's block; `left` are the bytes still to come, `rest` was read beyond its end."""

    def __init__(self, source: _PlainSource | _GzipSource, start: bytes, size: int) -> None:
        self._source = source
        self._start = start[:size]
        self.rest = start[size:]
        self.left = size

    def begin(self, count: int) -> bytes:
        """Return the first `count` bytes of the block without consuming them."""
        while len(self._start) < min(count, self.left):
            self._start += self._read_more(self.left - len(self._start))
        return self._start[:count]

    def head(self, most: int) -> bytes:
        """Consume and return an HTTP head of at most `most` bytes; empty if the block does not begin with one."""
        while (at := find_body(self._start[:most])) < 0 and len(self._start) < min(most, self.left):
            self._start += self._read_more(self.left - len(self._start))
        if at < 0:
            return b""
        head, self._start = self._start[:at], self._start[at:]
        self.left -= len(head)
        return head

    def pieces(self) -> Iterator[bytes]:
        while self.left:
            piece = self._start or self._read_more(self.left)
            self._start = b""
            self.left -= len(piece)
            yield piece

    def _read_more(self, size: int) -> bytes:
        block = self._source.read(min(size, _BLOCK))
        if not block:
            raise _BrokenRecord(Reason.TRUNCATED, f"the record ends {size} bytes before its length")
        return block


def _find_next_record(file: BinaryIO, start: int, form: _Form) -> int:
    """Return the offset of the next record after a broken one, or the end of the file."""
    offset, room = start, _LOOK
    while True:
        file.seek(offset - 1)
        window = file.read(room + 1)  # the byte before shows whether a line begins
        candidate = next(_candidates(window, form), None)
        if candidate is not None or len(window) <= room:
            return offset - 1 + (len(window) if candidate is None else candidate)
        offset += room // 2
        room = min(2 * room, _WINDOW)


def _candidates(window: bytes, form: _Form) -> Iterator[int]:
    """Yield the offsets in a window, except 0, at which a record may begin."""
    if not form.packed:
        yield from (match.start() for match in _LINE.finditer(window) if form.begin.match(window, match.start()))
        return
    position = window.find(GZIP, 1)
    while position >= 0:
        if _begins_record(window[position : position + _LOOK], form):
            yield position
        position = window.find(GZIP, position + 1)


def _begins_record(start: bytes, form: _Form) -> bool:
    """Tell whether these bytes are the start of a gzip member with a record."""
    try:
        return bool(form.begin.match(isal_zlib.decompressobj(wbits=31).decompress(start, _LOOK)))
    except _BROKEN:
        return False
