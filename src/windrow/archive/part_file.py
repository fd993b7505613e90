"""The part file of a large transfer: an unfinished WARC file.

It begins with a warcinfo record and the header of the capture's record with blanks for length and digest;
the body follows as it arrives. A broken transfer leaves the file, and the next one continues at its
end. When the body is complete, the blanks are filled in and the file is moved into the archive.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path

from windrow.archive.warc_writer import guarded, write_all
from windrow.digest import Hasher
from windrow.errors import ArchiveError
from windrow.formats.warc import END, Header, fill_open_header, read_header

_BLOCK = 1 << 20


def find_document(head: bytes) -> tuple[int, Header]:
    """Return offset and header of the document's record, after the warcinfo and request records of its file."""
    at = 0
    while (record := read_header(head[at:])).kind in {"warcinfo", "request"}:
        at += record.length + int(record.fields["content-length"]) + len(END)
    return at, record


def find_request(head: bytes) -> bytes:
    """Return the request in a file's head, or empty bytes if there is none."""
    at = 0
    while (record := read_header(head[at:])).kind in {"warcinfo", "request"}:
        length = int(record.fields["content-length"])
        if record.kind == "request":
            return head[at + record.length : at + record.length + length]
        at += record.length + length + len(END)
    return b""


class PartFile:
    """A body that is written to disk, while a thread digests it."""

    def __init__(self, path: Path) -> None:
        """Open the part left by an earlier transfer, or a new one."""
        self.path = path
        with guarded(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        self._size = os.fstat(self._fd).st_size
        self._record = self._block = self._body = 0
        self.head = self.request = b""  # the HTTP heads of the first transfer
        self.date = ""  # its WARC-Date
        self._changed = threading.Condition()
        self._complete = False
        self._digest_thread: threading.Thread | None = None
        self._hasher = Hasher()
        self._failed: OSError | None = None
        if self._size:
            self._find_body()

    def _find_body(self) -> None:
        """Find the record and its body in the part file of an earlier transfer; a broken one is emptied."""
        head = os.pread(self._fd, 65536, 0)
        try:
            self._record, record = find_document(head)
        except (ArchiveError, KeyError, ValueError):
            self.clear()
            return
        self._block = self._body = self._record + record.length
        if record.kind == "response":
            self._body = max(self._block, head.find(END, self._block) + len(END))
        if self._size < self._body or (record.kind == "response" and self._body == self._block):
            self.clear()
            return
        self.head, self.request = head[self._block : self._body], find_request(head)
        self.date = record.fields.get("warc-date", "")

    @property
    def held(self) -> int:
        """Bytes of the body in the file."""
        return max(0, self._size - self._body)

    @property
    def begun(self) -> bool:
        """Whether the record's header is written."""
        return self._body > 0

    def clear(self) -> None:
        """Empty the file."""
        os.ftruncate(self._fd, 0)
        self._size = self._record = self._block = self._body = 0
        self.head = self.request = b""
        self.date = ""

    def begin(self, info: bytes, header: bytes, http_head: bytes) -> None:
        """Empty the file and write everything that precedes the body."""
        self.clear()
        write_all(self._fd, info + header + http_head, self.path)
        self._record = len(info)
        self._block = self._record + len(header)
        self._body = self._size = self._block + len(http_head)

    def write(self, block: bytes | memoryview) -> None:
        """Append to the body."""
        if self._digest_thread is None:
            os.lseek(self._fd, self._size, os.SEEK_SET)
            self._digest_thread = threading.Thread(target=self._digest_body, daemon=True)
            self._digest_thread.start()
        write_all(self._fd, block, self.path)
        with self._changed:
            self._size += len(block)
            self._changed.notify()

    def _digest_body(self) -> None:
        """Digest the body while it grows: reading it back costs less than making the writer wait."""
        at = self._body
        buffer = bytearray(_BLOCK)
        try:
            while True:
                with self._changed:
                    while self._size - at < _BLOCK and not self._complete:
                        self._changed.wait()
                    room = min(self._size - at, _BLOCK)
                if room <= 0:
                    return
                count = os.preadv(self._fd, [memoryview(buffer)[:room]], at)
                self._hasher.update(memoryview(buffer)[:count])
                at += count
        except OSError as error:
            self._failed = error

    def digest(self) -> str:
        """Return the digest of the whole body, when the thread is done; ArchiveError if the file cannot be read."""
        if self._digest_thread is None:
            self._digest_thread = threading.Thread(target=self._digest_body, daemon=True)
            self._digest_thread.start()
        with self._changed:
            self._complete = True
            self._changed.notify()
        self._digest_thread.join()
        if self._failed:
            raise ArchiveError(f"{self.path.name} cannot be read back: {self._failed.strerror}")
        return self._hasher.digest()

    def read(self, count: int | None = None, start: int = 0) -> bytes:
        """Return the whole body, or `count` bytes from `start`."""
        return os.pread(self._fd, self.held if count is None else count, self._body + start)

    def finish(self, digest: str, destination: Path) -> tuple[int, int]:
        """Fill in the blanks, move the file into the archive, and return the record's offset and length."""
        os.lseek(self._fd, self._size, os.SEEK_SET)
        try:
            write_all(self._fd, END, self.path)
        except ArchiveError:
            os.ftruncate(self._fd, self._size)  # the next transfer continues at the end of the body
            raise
        with guarded(self.path):
            blank = os.pread(self._fd, self._block - self._record, self._record)
            os.pwrite(self._fd, fill_open_header(blank, digest, self._size - self._block), self._record)
            os.fdatasync(self._fd)
            self.path.rename(destination)
        length = self._size + len(END) - self._record
        self.close()
        return self._record, length

    def close(self) -> None:
        """Stop the thread and close the file, which is kept for the next transfer."""
        with self._changed:
            self._complete = True
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
