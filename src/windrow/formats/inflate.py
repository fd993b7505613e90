"""Read a member of a zip archive as a file. It is inflated block by block, up to the size in its record."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

from isal import isal_zlib

from windrow.errors import StepError
from windrow.reasons import Reason

BLOCK_BYTES = 256 * 1024
"""The maximum number of bytes that are read or inflated at once."""

STORED, DEFLATED = 0, 8  # compression methods (APPNOTE.TXT, section 4.4.5)
_INFLATE_ERROR = cast("type[Exception]", isal_zlib.error)


class InflatedMember(io.RawIOBase):
    """A member as a read-only file; its checksum and size are checked when its end is reached.

    Every read seeks in the zip's view first, so that several members may be open in one thread. Closing the member does
    not close the view. Reading raises StepError if the member is broken or does not have the announced size.
    `surplus` is, once the end is reached, the number of packed bytes behind the end of the deflate stream.
    """

    def __init__(self, view: BinaryIO, *, start: int, packed: int, size: int, crc: int, method: int) -> None:
        """Read `packed` bytes at `start`; `method` inflates them to `size` bytes, whose CRC-32 is `crc`."""
        super().__init__()
        self._view = view
        self._start = start
        self._packed = packed
        self._size = size
        self._crc = crc
        self._method = method
        self.surplus = 0
        self._restart()

    def _restart(self) -> None:
        self._blocks = self._checked_blocks()
        self._unread = memoryview(b"")
        self._position = 0

    def blocks(self) -> Iterator[bytes]:
        """Yield the content from the current position to the end, in blocks of at most `BLOCK_BYTES` bytes."""
        if self._unread:
            unread, self._unread = bytes(self._unread), memoryview(b"")
            self._position += len(unread)
            yield unread
        for block in self._blocks:
            self._position += len(block)
            yield block

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position in inflated bytes."""
        return self._position

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to a position in inflated bytes, at most to the end, and return it; going back inflates from the start."""
        target = max(0, offset + (0, self._position, self._size)[whence])
        if target < self._position:
            self._restart()
        while self._position < target and self._load_block():
            byte_count = min(target - self._position, len(self._unread))
            self._unread = self._unread[byte_count:]
            self._position += byte_count
        return self._position

    def readinto(self, buffer: Any) -> int:
        """Copy the next bytes, at most to the end of a block, into the buffer; return their number (0 at the end)."""
        if not self._load_block():
            return 0
        view = memoryview(buffer).cast("B")
        byte_count = min(len(view), len(self._unread))
        view[:byte_count] = self._unread[:byte_count]
        self._unread = self._unread[byte_count:]
        self._position += byte_count
        return byte_count

    def readall(self) -> bytes:
        """Return the content from the current position to the end."""
        return b"".join(self.blocks())

    def _load_block(self) -> bool:
        if not self._unread:
            self._unread = memoryview(next(self._blocks, b""))
        return bool(self._unread)

    def _checked_blocks(self) -> Iterator[bytes]:
        crc = size = 0
        for block in self._read_packed() if self._method == STORED else self._inflate_blocks():
            size += len(block)
            if size > self._size:
                raise StepError(
                    f"the member has more than the {self._size} bytes that the zip states for it", Reason.CORRUPT
                )
            crc = isal_zlib.crc32(block, crc)
            yield block
        if size != self._size:
            raise StepError(f"the member has {size} bytes, but the zip states {self._size}", Reason.CORRUPT)
        if crc != self._crc:
            raise StepError("the member does not match its checksum", Reason.CORRUPT)

    def _read_packed(self) -> Iterator[bytes]:
        bytes_read = 0
        while bytes_read < self._packed:
            self._view.seek(self._start + bytes_read)
            block = self._view.read(min(BLOCK_BYTES, self._packed - bytes_read))
            if not block:
                raise StepError("the zip ends within the member", Reason.TRUNCATED)
            bytes_read += len(block)
            yield block

    def _inflate_blocks(self) -> Iterator[bytes]:
        packed = self._read_packed()
        stream = isal_zlib.decompressobj(wbits=-15)
        bytes_left = self._packed
        while not stream.eof:
            if not (pending := stream.unconsumed_tail):
                pending = next(packed, b"")
                bytes_left -= len(pending)
            try:
                block = stream.decompress(pending, BLOCK_BYTES)
            except _INFLATE_ERROR as error:
                raise StepError(f"the member cannot be inflated: {error}", Reason.CORRUPT) from None
            if block:
                yield block
            elif not pending:
                raise StepError("the member's packed bytes end before its deflate stream does", Reason.CORRUPT)
        self.surplus = bytes_left + len(stream.unused_data)
