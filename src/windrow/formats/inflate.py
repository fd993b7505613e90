"""A member of an archive, inflated a block at a time and never beyond what its record announces."""

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
    """Read one member as a file; its checksum and size are checked where its end is reached.

    Seeking back starts again from the beginning. The view below is shared: every read seeks first,
    so that several members of one view may be open, in one thread. Closing leaves the view open.
    """

    def __init__(self, view: BinaryIO, *, start: int, packed: int, size: int, crc: int, method: int) -> None:
        """Take the place of the packed bytes, what they inflate to, and how (`STORED`, `DEFLATED`)."""
        super().__init__()
        self._view = view
        self._start = start
        self._packed = packed
        self._size = size
        self._crc = crc
        self._method = method
        self._begin()

    def _begin(self) -> None:
        """Stand at the member's first byte."""
        self._blocks = self._checked()
        self._rest = memoryview(b"")
        self._place = 0

    def blocks(self) -> Iterator[bytes]:
        """Yield what is left, in blocks of at most `BLOCK` bytes."""
        if self._rest:
            rest, self._rest = bytes(self._rest), memoryview(b"")
            self._place += len(rest)
            yield rest
        for block in self._blocks:
            self._place += len(block)
            yield block

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def seekable(self) -> bool:
        """Tell that it can seek."""
        return True

    def tell(self) -> int:
        """Return the place, in inflated bytes."""
        return self._place

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to a place; backward costs as much as reading there from the start."""
        target = max(0, offset + (0, self._place, self._size)[whence])
        if target < self._place:
            self._begin()
        while self._place < target and self._more():
            step = min(target - self._place, len(self._rest))
            self._rest = self._rest[step:]
            self._place += step
        return self._place

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer from the next block."""
        if not self._more():
            return 0
        view = memoryview(buffer).cast("B")
        step = min(len(view), len(self._rest))
        view[:step] = self._rest[:step]
        self._rest = self._rest[step:]
        self._place += step
        return step

    def readall(self) -> bytes:
        """Return what is left."""
        return b"".join(self.blocks())

    def _more(self) -> bool:
        """Have the next block at hand; False at the end."""
        if not self._rest:
            self._rest = memoryview(next(self._blocks, b""))
        return bool(self._rest)

    def _checked(self) -> Iterator[bytes]:
        """Yield the member's blocks, and hold them against its record."""
        crc = size = 0
        for block in self._stored() if self._method == STORED else self._deflated():
            size += len(block)
            if size > self._size:
                raise StepError(f"the member is larger than the {self._size} bytes it announces", Reason.CORRUPT)
            crc = isal_zlib.crc32(block, crc)
            yield block
        if size != self._size:
            raise StepError(f"the member has {size} bytes and announces {self._size}", Reason.CORRUPT)
        if crc != self._crc:
            raise StepError("the member does not match its checksum", Reason.CORRUPT)

    def _stored(self) -> Iterator[bytes]:
        """Yield the packed bytes."""
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
            given = stream.unconsumed_tail or next(packed, b"")
            try:
                block = stream.decompress(given, BLOCK)
            except _BROKEN as error:
                raise StepError(f"the member cannot be inflated: {error}", Reason.CORRUPT) from None
            if block:
                yield block
            elif not given:
                raise StepError("the member ends too early", Reason.CORRUPT)
