"""A member of a zip archive as a file, inflated block by block and never beyond the size that its record announces."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

from isal import isal_zlib

from windrow.errors import StepError
from windrow.reasons import Reason

BLOCK = 256 * 1024
STORED, DEFLATED = 0, 8
_BROKEN = cast("type[Exception]", isal_zlib.error)


class Inflated(io.RawIOBase):
    """One member as a read-only file; its checksum and size are checked when its end is reached.

    Seeking back starts again from the beginning. The archive's `view` is shared: every read seeks first, so that
    several members may be open in one thread. Closing leaves the view open. StepError if the member is faulty.
    """

    def __init__(self, view: BinaryIO, *, start: int, packed: int, size: int, crc: int, method: int) -> None:
        """Read `packed` bytes from `start`, which inflate to `size` bytes by `method` (`STORED` or `DEFLATED`)."""
        super().__init__()
        self._view = view
        self._start = start
        self._packed = packed
        self._size = size
        self._crc = crc
        self._method = method
        self._begin()

    def _begin(self) -> None:
        """Start again at the member's first byte."""
        self._blocks = self._checked_blocks()
        self._rest = memoryview(b"")
        self._position = 0

    def blocks(self) -> Iterator[bytes]:
        """Yield the rest in blocks of at most `BLOCK` bytes."""
        if self._rest:
            rest, self._rest = bytes(self._rest), memoryview(b"")
            self._position += len(rest)
            yield rest
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
        """Go to a position in inflated bytes and return it; going back inflates again from the start."""
        target = max(0, offset + (0, self._position, self._size)[whence])
        if target < self._position:
            self._begin()
        while self._position < target and self._load_block():
            step = min(target - self._position, len(self._rest))
            self._rest = self._rest[step:]
            self._position += step
        return self._position

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer from the next block."""
        if not self._load_block():
            return 0
        view = memoryview(buffer).cast("B")
        step = min(len(view), len(self._rest))
        view[:step] = self._rest[:step]
        self._rest = self._rest[step:]
        self._position += step
        return step

    def readall(self) -> bytes:
        """Return the rest."""
        return b"".join(self.blocks())

    def _load_block(self) -> bool:
        """Load the next block if none is left; return whether one is left."""
        if not self._rest:
            self._rest = memoryview(next(self._blocks, b""))
        return bool(self._rest)

    def _checked_blocks(self) -> Iterator[bytes]:
        """Yield the member's blocks, and check size and checksum against its record."""
        crc = size = 0
        for block in self._stored() if self._method == STORED else self._deflated():
            size += len(block)
            if size > self._size:
                raise StepError(
                    f"the member has more than the {self._size} bytes that its record announces", Reason.CORRUPT
                )
            crc = isal_zlib.crc32(block, crc)
            yield block
        if size != self._size:
            raise StepError(f"the member has {size} bytes; its record announces {self._size}", Reason.CORRUPT)
        if crc != self._crc:
            raise StepError("the member does not match its checksum", Reason.CORRUPT)

    def _stored(self) -> Iterator[bytes]:
        done = 0
        while done < self._packed:
            self._view.seek(self._start + done)
            block = self._view.read(min(BLOCK, self._packed - done))
            if not block:
                raise StepError("the archive ends within a member", Reason.TRUNCATED)
            done += len(block)
            yield block

    def _deflated(self) -> Iterator[bytes]:
        """Yield the inflated bytes of a deflate stream (RFC 1951)."""
        packed = self._stored()
        stream = isal_zlib.decompressobj(wbits=-15)
        while not stream.eof:
            pending = stream.unconsumed_tail or next(packed, b"")
            try:
                block = stream.decompress(pending, BLOCK)
            except _BROKEN as error:
                raise StepError(f"the member cannot be inflated: {error}", Reason.CORRUPT) from None
            if block:
                yield block
            elif not pending:
                raise StepError("the member ends too early", Reason.CORRUPT)
