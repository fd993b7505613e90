"""Write WARC files: append records to a file, and begin the next file when it is full."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from isal import igzip_lib

from windrow.errors import DISK_FULL_ERRNOS, ArchiveError, DiskFull
from windrow.formats.warc import format_warcinfo
from windrow.model import ArchivePlace
from windrow.reasons import Reason

ISAL_LEVEL = 2
"""The compression level of ISA-L. It compresses nearly as well as zlib's default level, and ten times as fast."""

_BLOCK_SIZE = 1 << 20  # bytes


@contextmanager
def map_write_errors(path: Path) -> Iterator[None]:
    """Raise `DiskFull` or `ArchiveError` for an OSError in the block. `path` is the file that is written."""
    try:
        yield
    except OSError as error:
        raise _write_error(error, path) from error


@contextmanager
def map_read_errors(path: Path) -> Iterator[None]:
    """Raise `ArchiveError` for an OSError in the block. `path` is the file that is read."""
    try:
        yield
    except OSError as error:
        reason = Reason.NOT_FOUND if isinstance(error, FileNotFoundError) else Reason.DISK_FAILED
        raise ArchiveError(f"{path} cannot be read: {error.strerror}", reason=reason) from error


def _write_error(error: OSError, path: Path) -> DiskFull | ArchiveError:
    if error.errno in DISK_FULL_ERRNOS:
        return DiskFull(f"the disk is full: {path.name} cannot be written")
    return ArchiveError(f"{path.name} cannot be written: {error.strerror}")


def _compress(record: bytes) -> bytes:
    return igzip_lib.compress(record, ISAL_LEVEL, igzip_lib.COMP_GZIP)


def write_all(fd: int, content: bytes | memoryview, path: Path) -> None:
    """Write all of `content` to the descriptor `fd` of the file `path`, or raise `DiskFull` or `ArchiveError`."""
    try:
        count = os.write(fd, content)
        while count < len(content):
            count += os.write(fd, memoryview(content)[count:])
    except OSError as error:
        raise _write_error(error, path) from error


def _read_blocks(path: Path, offset: int, length: int) -> Iterator[bytes]:
    with map_read_errors(path), path.open("rb", buffering=0) as file:
        file.seek(offset)
        while length:
            block = file.read(min(length, _BLOCK_SIZE))
            if not block:
                raise ArchiveError(f"{path.name} ends within the record at byte {offset:,}")
            length -= len(block)
            yield block


class WarcWriter:
    """Appends records to files named `PREFIX-NNNNN.warc[.gz]`. Several threads may use it.

    `append`, `copy` and `write` raise DiskFull or ArchiveError if a file cannot be written, or read to be copied.
    """

    def __init__(self, folder: Path, prefix: str, *, gzip: bool, rotate: int, info: list[tuple[str, str]]) -> None:
        """Prepare to write files in `folder`. When a file has `rotate` bytes or more, the next record begins a new one.

        `info` has the fields of the warcinfo record with which each file begins.
        """
        self._folder = folder
        self._prefix = prefix
        self._gzip = gzip
        self._rotate = rotate
        self._info = info
        self._lock = threading.Lock()
        self._number = 0
        self._fd = -1
        self._size = 0
        self._path = folder
        self._name = ""

    def append(self, record: bytes, preceding: bytes = b"") -> ArchivePlace:
        """Write the record `preceding`, unless it is empty, and then `record`. Return the place of `record`."""
        if self._gzip:
            record = _compress(record)
            preceding = preceding and _compress(preceding)
        with self._lock:
            if self._fd < 0 or self._size >= self._rotate:
                self._open_next()
            offset = self._size + len(preceding)
            try:
                write_all(self._fd, preceding + record, self._path)
            except ArchiveError:
                os.ftruncate(self._fd, self._size)
                raise
            self._size = offset + len(record)
            return ArchivePlace(self._name, offset, len(record))

    def copy(self, path: Path, offset: int, length: int) -> ArchivePlace:
        """Copy a record from another file as it is, and return its new place. Both files must be gzip, or neither."""
        return self.write(_read_blocks(path, offset, length))

    def write(self, blocks: Iterable[bytes]) -> ArchivePlace:
        """Write the blocks of a record as they are, and return its place. If that fails, remove what was written."""
        with self._lock:
            if self._fd < 0 or self._size >= self._rotate:
                self._open_next()
            length = 0
            try:
                for block in blocks:
                    write_all(self._fd, block, self._path)
                    length += len(block)
            except BaseException:
                os.ftruncate(self._fd, self._size)
                raise
            place = ArchivePlace(self._name, self._size, length)
            self._size += length
            return place

    def _open_next(self) -> None:
        self.close()
        while self._fd < 0:
            self._number += 1
            self._path = self._folder / f"{self._prefix}-{self._number:05}.warc{'.gz' if self._gzip else ''}"
            # In a session of several harvests, several fetchers use the same prefix, one after another.
            with map_write_errors(self._path), suppress(FileExistsError):
                self._fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        self._name = self._path.name
        info_record, _ = format_warcinfo(self._name, self._info, datetime.now(UTC))
        info_record = _compress(info_record) if self._gzip else info_record
        try:
            write_all(self._fd, info_record, self._path)
        except ArchiveError:
            # After a partial record, the offsets of all later records would be wrong.
            os.close(self._fd)
            self._fd = -1
            self._path.unlink()
            raise
        self._size = len(info_record)

    def sync(self) -> None:
        """Flush the current file, if there is one, to the disk; raise DiskFull or ArchiveError if that fails."""
        with self._lock:  # another thread may close the file and open the next one
            fd, path = os.dup(self._fd) if self._fd >= 0 else -1, self._path
        if fd >= 0:
            try:
                with map_write_errors(path):
                    os.fdatasync(fd)
            finally:
                os.close(fd)

    def close(self) -> None:
        """Flush and close the current file, if there is one; raise DiskFull or ArchiveError if flushing fails."""
        if self._fd >= 0:
            try:
                with map_write_errors(self._path):
                    os.fdatasync(self._fd)
            finally:
                os.close(self._fd)
                self._fd = -1
