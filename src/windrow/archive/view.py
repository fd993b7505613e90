"""Read captures from the archive: the body of a capture as a seekable, read-only file."""

from __future__ import annotations

import io
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from isal import isal_zlib
from isal.igzip_lib import error as IsalError  # noqa: N812

from windrow.errors import ArchiveError
from windrow.formats.http import HttpHead, find_body, is_interim, read_head
from windrow.formats.warc import HTTP_START, is_http_message, read_header
from windrow.model import ArchivePlace

_HEADER_SIZE = 1 << 16  # the number of bytes of a record that are read to find its header
_MAX_UNCHECKED_LENGTH = 1 << 30  # bytes; a longer stated length is first limited to the size of the file
_GZIP_START = b"\x1f\x8b\x08"
_READ_ERRORS = (OSError, zlib.error, cast("type[Exception]", IsalError), KeyError, ValueError, TypeError, OverflowError)
"""What reading a record raises if the file, or the place of the record on the ledger, is wrong."""


class FileSlice(io.RawIOBase):
    """A part of a file as a read-only file."""

    def __init__(self, path: Path, start: int, size: int) -> None:
        super().__init__()
        self._file = path.open("rb", buffering=0)
        self._start = start
        self._size = size
        self._position = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Change the position, which counts from the start of the part, and return the new one."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(0, base + offset)
        return self._position

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Read into the buffer, at most up to the end of the part. Return the number of bytes read."""
        room = max(0, min(len(buffer), self._size - self._position))
        self._file.seek(self._start + self._position)
        count = self._file.readinto(memoryview(buffer)[:room]) or 0
        self._position += count
        return count

    def close(self) -> None:
        """Close the underlying file."""
        self._file.close()
        super().close()


class Capture(NamedTuple):
    """A capture: `view` is its body as a file, `fields` has the fields of its HTTP response by name in lower case.

    Without an HTTP response, `fields` has only the record's `content-type`, if it is stated, and `status` is None.
    """

    view: BinaryIO
    fields: Mapping[str, str]
    status: int | None = None


def open_capture(folder: Path, place: ArchivePlace) -> BinaryIO:
    """Open the body of a capture. Raises ArchiveError if it cannot be read from the archive."""
    return open_response(folder, place).view


def open_response(folder: Path, place: ArchivePlace) -> Capture:
    """Open a capture's body, and read its HTTP status and fields; raise ArchiveError if they cannot be read."""
    try:
        if place.warc.endswith(".gz"):
            record = bytes(isal_zlib.decompress(_read_start(folder, place, place.length), 31))
            start, size, head = _locate_body(record)
            return Capture(io.BytesIO(record[start : start + size]), head.fields, head.status)
        record = _read_start(folder, place, min(place.length, _HEADER_SIZE))
        start, size, head = _locate_body(record)
        path = folder / place.warc
        if place.offset + max(place.length, start + size) > path.stat().st_size:
            raise ArchiveError(f"{place.warc} ends within the record at byte {place.offset:,}")
        view = io.BufferedReader(FileSlice(path, place.offset + start, size), 1 << 16)
    except _READ_ERRORS as error:
        raise _unreadable_record(place, error) from error
    return Capture(cast(BinaryIO, view), head.fields, head.status)


def record_id(folder: Path, place: ArchivePlace) -> str:
    """Return the WARC-Record-ID of a record, or "" if it has none. Raises ArchiveError if it cannot be read."""
    try:
        head = _read_start(folder, place, min(place.length, _HEADER_SIZE))
        if place.warc.endswith(".gz"):
            head = bytes(isal_zlib.decompressobj(31).decompress(head, _HEADER_SIZE))
    except _READ_ERRORS as error:
        raise _unreadable_record(place, error) from error
    return read_header(head).fields.get("warc-record-id", "")


def read_request(folder: Path, place: ArchivePlace) -> bytes:
    """Return the HTTP request that led to a capture, from the record before the capture's, or b"" if it is not there.

    The archive has each request directly before the response; other programs may store it elsewhere, or not at all.
    Raises ArchiveError if the capture cannot be read.
    """
    is_packed, start = place.warc.endswith(".gz"), max(0, place.offset - _HEADER_SIZE)
    capture_id = record_id(folder, place)
    window = _read_start(folder, place._replace(offset=start), place.offset - start)
    mark = _GZIP_START if is_packed else b"WARC/1."
    position = window.rfind(mark)
    while position >= 0:
        try:
            record = bytes(isal_zlib.decompress(window[position:], 31)) if is_packed else window[position:]
            header = read_header(record)
            if header.kind == "request" and header.fields.get("warc-concurrent-to") == capture_id != "":
                return record[header.length : header.length + int(header.fields["content-length"])]
        except _READ_ERRORS:
            pass  # these bytes are not the start of a record
        position = window.rfind(mark, 0, position)
    return b""


def _unreadable_record(place: ArchivePlace, error: Exception) -> ArchiveError:
    return ArchiveError(f"the record at byte {place.offset} of {place.warc} cannot be read: {error}")


def _read_start(folder: Path, place: ArchivePlace, length: int) -> bytes:
    """Read at most `length` bytes from the start of a record. No file object is made, since that would take longer.

    Raises ArchiveError if the file's path leads out of the archive, and OSError if the file cannot be read.
    """
    if place.warc.startswith("/") or (".." in place.warc and ".." in place.warc.split("/")):
        raise ArchiveError(f"the file {place.warc} is not in the archive")
    descriptor = os.open(f"{folder}/{place.warc}", os.O_RDONLY)
    try:
        if length > _MAX_UNCHECKED_LENGTH:
            length = min(length, os.fstat(descriptor).st_size)
        return os.pread(descriptor, length, place.offset)
    finally:
        os.close(descriptor)


def _locate_body(record: bytes) -> tuple[int, int, HttpHead]:
    header = read_header(record)
    content_type, size = header.fields.get("content-type", ""), int(header.fields["content-length"])
    if size < 0:
        raise ArchiveError("the Content-Length of a record is negative")
    if not is_http_message(header, record[header.length : header.length + len(HTTP_START)]):
        return header.length, size, HttpHead(None, {"content-type": content_type} if content_type else {})
    start, end, head = header.length, header.length + size, b""
    limit = end
    while (head_size := find_body(record[start:limit])) > 0:
        head, start, limit = record[start : start + head_size], start + head_size, min(end, _HEADER_SIZE)
        if not (record.startswith(HTTP_START, start, end) and is_interim(head)):
            break
    return start, end - start, read_head(head)
