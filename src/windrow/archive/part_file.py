"""The part file of a large transfer: an unfinished WARC file.

It begins with a warcinfo record, the request if there is one, and the header of the capture's record, with blanks
instead of length and digest. The body is appended while it arrives. If a transfer is interrupted, the file may be kept,
and the next transfer continues at its end. When the body is complete, length and digest are filled in, and the file is
moved into the archive, unless the body is archived in another file.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from windrow.archive.warc_writer import map_write_errors, write_all
from windrow.caps import HTTP_HEAD_BYTES, WARC_HEADER_BYTES
from windrow.digest import Hasher
from windrow.errors import ArchiveError
from windrow.formats.warc import END, Header, fill_open_header, read_header

_BLOCK_SIZE = 1 << 20  # bytes


class FirstRecords(NamedTuple):
    """The offset and header of the first record that is neither warcinfo nor a request, and the request before it."""

    offset: int
    header: Header
    request: bytes  # at most `HTTP_HEAD_BYTES`; empty if there is no request record before that record


def read_first_records(file: int) -> FirstRecords:
    """Read the beginning of the file with this descriptor, up to the header of its first capture.

    Raises ArchiveError, KeyError or ValueError if the file does not begin with such WARC records.
    """
    offset, request = 0, b""
    while (header := read_header(os.pread(file, WARC_HEADER_BYTES.number, offset))).kind in {"warcinfo", "request"}:
        start, length = offset + header.length, int(header.fields["content-length"])
        if not 0 <= length <= os.fstat(file).st_size:
            raise ArchiveError("a record states a length that is negative or larger than the file")
        if header.kind == "request":
            request = os.pread(file, min(length, HTTP_HEAD_BYTES.number), start)
        offset = start + length + len(END)
    return FirstRecords(offset, header, request)


class PartFile:
    """The part file of one transfer. A thread computes the digest of the body while the body is written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with map_write_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.is_symlink():  # windrow made no link, and what it leads to would be emptied
                path.unlink()
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        self._size = os.fstat(self._fd).st_size
        self._record_offset = self._block_offset = self._body_offset = 0
        self.head = self.request = b""  # the HTTP head of the earlier response in the file, and its request
        self.date: datetime | None = None  # the WARC-Date of that response
        self._changed = threading.Condition()
        self._is_complete = False
        self._digest_thread: threading.Thread | None = None
        self._hasher = Hasher()
        self._read_error: OSError | None = None
        if self._size:
            self._find_body()

    def _find_body(self) -> None:
        """Find the record and its body in the file that an earlier transfer left. Empty the file if it is broken."""
        try:
            self._record_offset, record, request = read_first_records(self._fd)
            date = datetime.fromisoformat(record.fields["warc-date"])
        except (ArchiveError, KeyError, ValueError):
            self.clear()
            return
        self._block_offset = self._body_offset = self._record_offset + record.length
        block = os.pread(self._fd, HTTP_HEAD_BYTES.number + len(END), self._block_offset)
        if record.kind == "response" and END in block:
            self._body_offset += block.index(END) + len(END)
        has_no_body = record.kind == "response" and self._body_offset == self._block_offset
        if self._size < self._body_offset or has_no_body or date.tzinfo is None:
            self.clear()
            return
        self.head, self.request = block[: self._body_offset - self._block_offset], request
        self.date = date

    @property
    def body_size(self) -> int:
        """The number of bytes of the body that are in the file."""
        return max(0, self._size - self._body_offset)

    @property
    def has_begun(self) -> bool:
        """Whether the record's header is written."""
        return self._body_offset > 0

    def clear(self) -> None:
        """Empty the file."""
        os.ftruncate(self._fd, 0)
        self._size = self._record_offset = self._block_offset = self._body_offset = 0
        self.head = self.request = b""
        self.date = None

    def begin(self, info: bytes, header: bytes, http_head: bytes) -> None:
        """Empty the file; write the records `info`, and the WARC header and HTTP head of the capture's record."""
        self.clear()
        write_all(self._fd, info + header + http_head, self.path)
        self._record_offset = len(info)
        self._block_offset = self._record_offset + len(header)
        self._body_offset = self._size = self._block_offset + len(http_head)

    def write(self, block: bytes | memoryview) -> None:
        """Append a block to the body."""
        if self._digest_thread is None:
            os.lseek(self._fd, self._size, os.SEEK_SET)
            self._digest_thread = threading.Thread(target=self._digest_body, daemon=True)
            self._digest_thread.start()
        write_all(self._fd, block, self.path)
        with self._changed:
            self._size += len(block)
            self._changed.notify()

    def _digest_body(self) -> None:
        """Compute the digest of the growing body from the file, so that `write` does not wait for it."""
        offset = self._body_offset
        buffer = bytearray(_BLOCK_SIZE)
        try:
            while True:
                with self._changed:
                    while self._size - offset < _BLOCK_SIZE and not self._is_complete:
                        self._changed.wait()
                    available = min(self._size - offset, _BLOCK_SIZE)
                if available <= 0:
                    return
                count = os.preadv(self._fd, [memoryview(buffer)[:available]], offset)
                self._hasher.update(memoryview(buffer)[:count])
                offset += count
        except OSError as error:
            self._read_error = error

    def digest(self) -> str:
        """Return the digest of the complete body. Raises ArchiveError if the body cannot be read from the file."""
        if self._digest_thread is None:
            self._digest_thread = threading.Thread(target=self._digest_body, daemon=True)
            self._digest_thread.start()
        with self._changed:
            self._is_complete = True
            self._changed.notify()
        self._digest_thread.join()
        if self._read_error:
            raise ArchiveError(f"{self.path} cannot be read: {self._read_error.strerror}")
        return self._hasher.digest()

    def read(self, count: int | None = None, start: int = 0) -> bytes:
        """Return at most `count` bytes (None: all bytes) of the body from `start` on."""
        return os.pread(self._fd, self.body_size if count is None else count, self._body_offset + start)

    def finish(self, digest: str, destination: Path) -> tuple[int, int]:
        """Complete the record, close the file, move it to `destination`, and return the record's offset and length."""
        os.lseek(self._fd, self._size, os.SEEK_SET)
        try:
            write_all(self._fd, END, self.path)
        except ArchiveError:
            os.ftruncate(self._fd, self._size)  # the next transfer continues at the end of the body
            raise
        with map_write_errors(self.path):
            open_header = os.pread(self._fd, self._block_offset - self._record_offset, self._record_offset)
            os.pwrite(
                self._fd, fill_open_header(open_header, digest, self._size - self._block_offset), self._record_offset
            )
            os.fdatasync(self._fd)
            self.path.rename(destination)
        length = self._size + len(END) - self._record_offset
        self.close()
        return self._record_offset, length

    def close(self) -> None:
        """Wait until the digest is computed, and close the file without removing it."""
        with self._changed:
            self._is_complete = True
            self._changed.notify()
        if self._digest_thread is not None:
            self._digest_thread.join()
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def drop(self) -> None:
        """Close and remove the file."""
        self.close()
        with suppress(FileNotFoundError):
            self.path.unlink()
