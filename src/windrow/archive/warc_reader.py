"""Read WARC and ARC files record by record, in bounded memory, from any record on.

The files may be windrow's own, or come from Heritrix, browsertrix, Common Crawl or wget: WARC 0.17 to 1.1 (ISO 28500)
or ARC, plain, or with a gzip member for each record. A broken record is returned with a reason, and reading continues
at the next record that can be found, unless too much of the file is broken.

FastWARC and warcio read the same formats, but lack what files of other crawlers need: continuing after a broken record,
a limit on the inflated size of a record, and beginning in the middle of a file.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from isal import isal_zlib

from windrow.caps import WARC_HEADER_BYTES
from windrow.digest import ALGORITHM, PAYLOAD_ALGORITHMS, Hasher, normalise_digest, warc_digest
from windrow.errors import ArchiveError
from windrow.formats import warc
from windrow.formats.http import find_body, is_interim
from windrow.model import Limits
from windrow.reasons import Reason

WARC_SUFFIXES = (".warc", ".warc.gz", ".warc.zst", ".arc", ".arc.gz")
"""The suffixes of the names of WARC and ARC files."""
PACKED_SUFFIXES = tuple(
    f"{suffix}{end}" for suffix in WARC_SUFFIXES for end in (".bz2", ".xz", ".lz4", ".zip", ".open")
)
"""The suffixes of files that are not read: WARC files that are packed in other ways, or that a crawler is writing."""
GZIP = b"\x1f\x8b\x08"
ZSTD = (b"\x28\xb5\x2f\xfd", b"\x5d\x2a\x4d\x18")
"""The first bytes of a Zstandard file that begins with a frame, or with a dictionary for all frames."""

STATED = "stated"
"""Stands, in place of an algorithm's name, for the algorithm of the payload digest that a record states.

It is USUAL_ALGORITHM if the record states none. With it, a record is compared with its WARC-Block-Digest, too.
"""

USUAL_ALGORITHM = "sha1"
"""The algorithm of nearly all payload digests in WARC files."""

_MAX_PROBED_RECORDS = 4  # the maximum number of records read to see whether each is a gzip member
_MAX_HEADER = WARC_HEADER_BYTES.number  # the maximum number of bytes of a record's header with the HTTP head after it
_BLOCK_SIZE = 256 * 1024  # bytes
_FIRST_READ = 16 * 1024  # the number of bytes read first of a gzip member: most are not larger
_PROBE_SIZE = 16 * 1024  # enough bytes for the first line of any record
_SHORT_PROBE_SIZE = 64  # enough bytes for the first line of a WARC record, after blank lines
_FREE_INFLATION = 16 * 1024 * 1024  # the number of bytes to which a record may inflate at any ratio
_MAX_SEARCH_WINDOW = 1 << 20  # bytes
_INFLATE_ERROR = cast("type[Exception]", isal_zlib.error)
_RECORD_END = b"\r\n\r\n"
_BLANK_LINES = re.compile(rb"[\r\n]*+")
_RECORD_START = re.compile(rb"(?<=[\n\0])[A-Za-z][A-Za-z0-9+.-]{0,30}:|(?<=[\n\0])WARC/")  # where a record may begin
# A file is not read further after this many bytes of broken records: the first, plus the second times the file's size.
_MAX_WASTE_FLAT, _MAX_WASTE_RATIO = 64 * 1024 * 1024, 4


class WarcRecord(NamedTuple):
    """A record of a file, or a broken part of the file. With a `reason`, it is broken or too large and cannot be used.

    `offset` and `length` are its place in the file. `next` is the offset of the next record or of the end. `head` is
    the HTTP head at the start of the record's block, or b"". `digest` and `size` describe the payload, which follows
    the head, unless there is a `reason`, which `message` explains.
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
    digests: Mapping[str, str] = {}  # other digests of the payload in hex, by algorithm
    arc: bool = False  # whether the file is ARC
    packed: bool = False  # whether the record is a gzip member
    block_fault: str = ""  # how its block differs from its WARC-Block-Digest, if that was compared


def stated_digest(fields: Mapping[str, str]) -> str:
    """Return the WARC-Payload-Digest of a record in the form of `normalise_digest`, or "" if its fields have none."""
    return _digest_field(fields, "warc-payload-digest")


def _digest_field(fields: Mapping[str, str], name: str) -> str:
    return normalise_digest(fields.get(name, "")[:160])


class _Form(NamedTuple):
    is_gzip: bool  # whether each record is a gzip member
    start_pattern: re.Pattern[bytes]  # matches the start of a record
    read_header: Callable[[bytes], warc.Header]
    is_arc: bool  # whether the header is one line, as in ARC files

    def header_ends(self, text: bytes) -> bool:
        """Return whether the header that begins at the start of `text` is complete."""
        stripped = _BLANK_LINES.sub(b"", text, count=1)
        return b"\n" in stripped if self.is_arc else warc.header_ends(stripped)


class _BrokenRecord(Exception):
    """A record is broken. This error is caught in this module."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class _PlainSource:
    """The bytes of a record that is not compressed."""

    def __init__(self, file: BinaryIO, offset: int, ratio: int) -> None:  # noqa: ARG002 as in `_GzipSource`
        self._file = file
        self._offset = offset
        self._size = os.fstat(file.fileno()).st_size
        file.seek(offset)

    @property
    def bytes_read(self) -> int:
        return self._file.tell() - self._offset

    def read(self, max_size: int) -> bytes:
        return self._file.read(max_size)

    def is_empty(self) -> bool:
        """Return False, since only a gzip member can be empty."""
        return False

    def check_length(self, size: int, form: _Form) -> None:
        """Raise `_BrokenRecord` unless the record ends after `size` more bytes.

        It does if another record, the end of the file, or only NUL follows, or the two empty lines that end a record of
        WARC: then something else was written into the file after the record, and the record itself is whole.
        """
        position = self._file.tell()
        if position + size > self._size:
            missing = position + size - self._size
            raise _BrokenRecord(Reason.TRUNCATED, f"the record is {missing} bytes shorter than its header states")
        self._file.seek(position + size)
        next_bytes = self._file.read(_PROBE_SIZE if form.is_arc else _SHORT_PROBE_SIZE)
        has_end = not next_bytes.strip(b"\r\n\0") or (next_bytes.startswith(_RECORD_END) and not form.is_arc)
        if not has_end and not form.start_pattern.match(next_bytes):
            raise _BrokenRecord(Reason.SIZE_MISMATCH, "the record does not have the length that its header states")
        self._file.seek(position)

    def find_end(self, surplus: bytes) -> int:
        """Return the offset of the next record or of the file's end. `surplus` was read after the record's end."""
        offset = self._file.tell() - len(surplus)
        while True:
            self._file.seek(offset)
            next_bytes = self._file.read(_SHORT_PROBE_SIZE)
            blank_count = len(next_bytes) - len(next_bytes.lstrip(b"\r\n"))
            offset += blank_count
            if blank_count < len(next_bytes) or not next_bytes:
                return offset


class _GzipSource:
    """The bytes of a record that is a gzip member, inflated block by block."""

    def __init__(self, file: BinaryIO, offset: int, ratio: int) -> None:
        self._file = file
        self._stream: Any = isal_zlib.decompressobj(wbits=31)
        self._offset = offset
        self._ratio = ratio
        self._bytes_read = self._inflated_size = 0
        file.seek(offset)

    @property
    def bytes_read(self) -> int:
        return self._bytes_read

    def is_empty(self) -> bool:
        """Return whether this gzip member was read to its end and is empty, as the last one in a file of bgzip is."""
        return bool(self._stream.eof) and not self._inflated_size

    def check_length(self, size: int, form: _Form) -> None:
        """Do nothing, since the length is checked while the record is inflated."""

    def read(self, max_size: int) -> bytes:
        """Return at most `max_size` inflated bytes, b"" at the end; raise `_BrokenRecord` for damage or a bomb."""
        stream = self._stream
        while not stream.eof:
            packed = stream.unconsumed_tail
            if not packed:
                packed = self._file.read(_BLOCK_SIZE if self._bytes_read else _FIRST_READ)
                if not packed:
                    raise _BrokenRecord(Reason.TRUNCATED, "the file ends within a record")
                self._bytes_read += len(packed)
            try:
                block: bytes = stream.decompress(packed, max_size)
            except _INFLATE_ERROR as error:
                raise _BrokenRecord(Reason.CORRUPT, f"the record cannot be inflated: {error}"[:200]) from None
            if block:
                self._inflated_size += len(block)
                if self._inflated_size > max(_FREE_INFLATION, self._ratio * self._bytes_read):
                    message = f"the record inflates to more than {self._ratio} times its size"
                    raise _BrokenRecord(Reason.BOMB_RATIO, message)
                return block
        return b""

    def find_end(self, surplus: bytes) -> int:
        """Return the offset after this gzip member. `surplus` has the bytes that were inflated after the record's end.

        Raises `_BrokenRecord` if more than blank lines follow the record in its gzip member.
        """
        while not surplus.strip(b"\r\n") and (block := self.read(_MAX_HEADER)):
            surplus = block
        surplus_text = surplus.lstrip(b"\r\n")
        if warc.RECORD_BEGIN.match(surplus_text) or warc.ARC_BEGIN.match(surplus_text):
            raise _BrokenRecord(Reason.UNSUPPORTED, "one gzip member contains several records")
        if surplus_text:
            raise _BrokenRecord(Reason.SIZE_MISMATCH, "the record is longer than its header states")
        return self._offset + self._bytes_read - len(self._stream.unused_data)


class WarcForm(NamedTuple):
    """The form of a file: whether it is ARC, and whether it must be repacked before reading can begin at any record."""

    arc: bool  # False for a Zstandard file, whose content is not looked at
    must_repack: bool


def detect_form(path: Path) -> WarcForm:
    """Determine the form of a file from its first records.

    A file that is empty, or gzip and not ARC, is treated as WARC. Raises ArchiveError if the file cannot be read, or is
    not WARC, ARC, gzip or Zstandard.
    """
    try:
        with path.open("rb", buffering=0) as raw:
            file = cast(BinaryIO, raw)
            if file.read(4) in ZSTD:
                return WarcForm(arc=False, must_repack=True)
            form = _detect_records_form(file)
            first_records = islice(_read_records(file, 0, Limits()), _MAX_PROBED_RECORDS) if form.is_gzip else ()
            return WarcForm(form.is_arc, any(record.reason is Reason.UNSUPPORTED for record in first_records))
    except OSError as error:
        raise ArchiveError(f"the file cannot be read: {error.strerror}") from error


def read_records(path: Path, start: int, limits: Limits, *algorithms: str) -> Iterator[WarcRecord]:
    """Yield the records of a file from the offset `start` on, which must be 0 or the `next` of a record.

    A broken part of the file, or a record whose payload has more than `limits.transfer_size` bytes, is yielded with a
    reason. `digests` of any other record has a digest for each of `algorithms`; STATED adds one unless the record
    states a digest that cannot be computed, or is SHA-256. Raises ArchiveError if the file cannot be read, or is not
    WARC, ARC, gzip or empty.
    """
    try:
        with path.open("rb", buffering=0) as raw:
            file = cast(BinaryIO, raw)
            yield from _read_records(file, start, limits, algorithms)
    except OSError as error:
        raise ArchiveError(f"{path} cannot be read: {error.strerror}") from error


def read_record_at(
    path: Path, offset: int, limits: Limits, write: Callable[[bytes], object], *algorithms: str
) -> WarcRecord:
    """Return the record that begins at an offset of a file. `write` is called with each piece of its payload.

    `digests` is filled as by `read_records`. The record has a `reason` if it is broken, if the file ends at or before
    the offset, or if its payload is too large; `write` is not called then. Raises ArchiveError like `read_records`.
    """
    try:
        with path.open("rb", buffering=0) as raw:
            file = cast(BinaryIO, raw)
            file_status = os.fstat(file.fileno())
            form = _cached_form(file, file_status)
            if offset >= file_status.st_size:
                return WarcRecord(
                    offset, 0, offset, reason=Reason.TRUNCATED, message="the file ends before this offset"
                )
            try:
                source = (_GzipSource if form.is_gzip else _PlainSource)(file, offset, limits.ratio)
                return _read_record(source, offset, limits, form, (write, algorithms))
            except _BrokenRecord as error:
                return WarcRecord(offset, 0, offset, reason=error.reason, message=str(error))
    except OSError as error:
        reason = Reason.NOT_FOUND if isinstance(error, FileNotFoundError) else Reason.DISK_FAILED
        raise ArchiveError(f"{path} cannot be read: {error.strerror}", reason=reason) from error


def _read_records(file: BinaryIO, start: int, limits: Limits, algorithms: tuple[str, ...] = ()) -> Iterator[WarcRecord]:
    form, size = _detect_records_form(file), os.fstat(file.fileno()).st_size
    source_class = _GzipSource if form.is_gzip else _PlainSource
    offset, wasted_bytes = start, 0
    while offset < size:
        source = source_class(file, offset, limits.ratio)
        try:
            record = _read_record(source, offset, limits, form, (lambda _piece: None, algorithms))
        except _BrokenRecord as error:
            if source.is_empty():
                offset = source.find_end(b"")
                continue
            wasted_bytes += source.bytes_read
            if wasted_bytes > _MAX_WASTE_FLAT + _MAX_WASTE_RATIO * size:
                # Nested records with false lengths would be read again and again.
                message = "too much of the file is broken: the remainder is not read"
                record = WarcRecord(offset, size - offset, size, reason=Reason.CORRUPT, message=message)
            else:
                next_offset = _find_next_record(file, offset + 1, form)
                record = WarcRecord(offset, next_offset - offset, next_offset, reason=error.reason, message=str(error))
        yield record
        offset = record.next


_cached_forms: list[tuple[tuple[int, ...], _Form]] = []  # the identity of the last file, and its form


def _cached_form(file: BinaryIO, status: os.stat_result) -> _Form:
    """Return the form of a file. The form of the last file is cached, since records are usually read one by one."""
    identity = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
    if not _cached_forms or _cached_forms[0][0] != identity:
        _cached_forms[:] = [(identity, _detect_records_form(file))]
    return _cached_forms[0][1]


def _detect_records_form(file: BinaryIO) -> _Form:
    file.seek(0)
    head = file.read(_PROBE_SIZE)
    is_gzip = head.startswith(GZIP)
    if is_gzip:
        try:
            head = _GzipSource(file, 0, Limits().ratio).read(_PROBE_SIZE)
        except _BrokenRecord:
            head = b""
    if warc.ARC_BEGIN.match(head) and head.lstrip(b"\r\n").startswith(b"filedesc:"):
        return _Form(is_gzip, warc.ARC_BEGIN, warc.read_arc_line, is_arc=True)
    if is_gzip or not head or warc.RECORD_BEGIN.match(head):
        return _Form(is_gzip, warc.RECORD_BEGIN, warc.read_header, is_arc=False)
    message = "it is Zstandard and must be imported first" if head[:4] in ZSTD else "it is not a WARC or ARC file"
    raise ArchiveError(message, hint="see docs/howto/read-warc-files.md", reason=Reason.UNSUPPORTED)


_PayloadSink = tuple[Callable[[bytes], object], tuple[str, ...]]
"""A function that is called with each piece of a payload, and the algorithms of digests to compute besides SHA-256."""


def _read_record(
    source: _PlainSource | _GzipSource, offset: int, limits: Limits, form: _Form, payload_sink: _PayloadSink
) -> WarcRecord:
    text = b""
    while not form.header_ends(text):
        block = source.read(_MAX_HEADER) if len(text) < _MAX_HEADER else b""
        if not block:
            has_begun = text.lstrip(b"\r\n").startswith(b"WARC/")
            problem = "the record's header does not end" if has_begun else "no record begins here"
            raise _BrokenRecord(Reason.TRUNCATED if has_begun else Reason.CORRUPT, problem)
        text += block
    try:
        header = form.read_header(text)
    except ArchiveError:
        raise _BrokenRecord(Reason.CORRUPT, "no record begins here") from None
    length_text = header.fields.get("content-length", "")
    if not (length_text.isascii() and length_text.isdecimal() and len(length_text) < 16):
        raise _BrokenRecord(Reason.CORRUPT, f"the record's Content-Length {length_text[:40]!r} is not valid")
    write, algorithms = payload_sink
    block_digest = _digest_field(header.fields, "warc-block-digest") if STATED in algorithms else ""
    body = _Block(source, text[header.length :], int(length_text), block_digest)
    source.check_length(int(length_text) - len(text) + header.length, form)
    head = b""
    if warc.is_http_message(header, body.peek(len(warc.HTTP_START))):
        head = body.read_head(_MAX_HEADER - header.length)
    if STATED in algorithms:
        algorithm = stated_digest(header.fields).partition(":")[0] or USUAL_ALGORITHM
        stated = {algorithm} & PAYLOAD_ALGORITHMS - {ALGORITHM}
        algorithms = (*({*algorithms, *stated} - {STATED}),)
    hasher = Hasher(*algorithms)
    is_too_large = body.remaining > limits.transfer_size
    for piece in body.pieces():
        if not is_too_large:
            hasher.update(piece)
            write(piece)
    next_offset = source.find_end(body.surplus)
    return WarcRecord(
        offset, next_offset - offset, next_offset, header.kind, header.fields, head,
        digest=hasher.digest(), size=0 if is_too_large else hasher.size,
        reason=Reason.TOO_LARGE if is_too_large else None,
        message=f"its payload has more than {limits.transfer_size} bytes" if is_too_large else "",
        digests={name: hasher.hex(name) for name in algorithms}, arc=form.is_arc, packed=form.is_gzip,
        block_fault=body.fault(),
    )  # fmt: skip


class _Block:
    """A record's block. `remaining` is the number of bytes to consume, `surplus` has the bytes read after its end.

    What is consumed is compared with `stated`, a digest in the form of `normalise_digest`, or "".
    """

    def __init__(self, source: _PlainSource | _GzipSource, start: bytes, size: int, stated: str) -> None:
        self._source = source
        self._start = start[:size]
        self.surplus = start[size:]
        self.remaining = size
        self._stated, algorithm = stated, stated.partition(":")[0]
        is_computable = algorithm in PAYLOAD_ALGORITHMS
        self._hash = hashlib.new(algorithm, usedforsecurity=False) if is_computable else None

    def peek(self, count: int) -> bytes:
        """Return the first `count` bytes of the block, or all if it has fewer, without consuming them."""
        while len(self._start) < min(count, self.remaining):
            self._start += self._read_more(self.remaining - len(self._start))
        return self._start[:count]

    def read_head(self, max_size: int) -> bytes:
        """Consume and return the HTTP head at the start, or return b"" if it does not end within `max_size` bytes.

        Heads of interim responses before it are consumed, too.
        """
        mark, start, end = warc.HTTP_START, 0, 0  # of the last head
        while True:
            while (size := find_body(self._start[end:max_size])) < 0 and len(self._start) < min(
                max_size, self.remaining
            ):
                self._start += self._read_more(self.remaining - len(self._start))
            if size < 0:
                break
            start, end = end, end + size
            following = self._start[end : end + len(mark)]
            if following != mark[: len(following)] or not is_interim(self._start[start:end]):
                break
            if self.peek(end + len(mark))[end:] != mark:
                break
        if self._hash:
            self._hash.update(self._start[:end])
        head, self._start = self._start[start:end], self._start[end:]
        self.remaining -= end
        return head

    def pieces(self) -> Iterator[bytes]:
        while self.remaining:
            piece = self._start or self._read_more(self.remaining)
            self._start = b""
            self.remaining -= len(piece)
            if self._hash:
                self._hash.update(piece)
            yield piece

    def fault(self) -> str:
        """Return how the block, which was consumed, differs from its stated digest, or "" if it does not."""
        computed = warc_digest(f"{self._hash.name}:{self._hash.hexdigest()}") if self._hash else self._stated
        return f"has {computed}, but {self._stated} is stated for its block" if computed != self._stated else ""

    def _read_more(self, missing: int) -> bytes:
        block = self._source.read(min(missing, _BLOCK_SIZE))
        if not block:
            raise _BrokenRecord(Reason.TRUNCATED, f"the record is {missing} bytes shorter than its header states")
        return block


def _find_next_record(file: BinaryIO, start: int, form: _Form) -> int:
    """Return the first offset from `start` on at which a record may begin, or the offset of the end of the file."""
    offset, window_size = start, _PROBE_SIZE
    while True:
        file.seek(offset - 1)
        window = file.read(window_size + 1)  # its first byte shows whether a line begins at the second
        candidate = next(_find_candidates(window, form), None)
        if candidate is not None or len(window) <= window_size:
            return offset - 1 + (len(window) if candidate is None else candidate)
        offset += window_size // 2
        window_size = min(2 * window_size, _MAX_SEARCH_WINDOW)


def _find_candidates(window: bytes, form: _Form) -> Iterator[int]:
    """Yield the offsets in `window`, a part of a file, at which a record may begin. Its first byte is not tried."""
    if not form.is_gzip:
        yield from (
            match.start() for match in _RECORD_START.finditer(window) if form.start_pattern.match(window, match.start())
        )
        return
    position = window.find(GZIP, 1)
    while position >= 0:
        if _begins_record(window[position : position + _PROBE_SIZE], form):
            yield position
        position = window.find(GZIP, position + 1)


def _begins_record(start: bytes, form: _Form) -> bool:
    try:
        return bool(form.start_pattern.match(isal_zlib.decompressobj(wbits=31).decompress(start, _PROBE_SIZE)))
    except _INFLATE_ERROR:
        return False
