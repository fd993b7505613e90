"""A record of unknown length that comes part by part: written to a file until it ends."""

from __future__ import annotations

import re
import zlib
from typing import BinaryIO

from windrow.errors import TerminalFailure
from windrow.reasons import Reason

HEAD = 64 * 2**10
"""Bytes in which the header of a record that is not packed must end."""

_INFLATED = 2**20  # bytes that are inflated at a time, and thrown away
_GZIP = b"\x1f\x8b"
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d{1,18})[ \t]*\r\n", re.IGNORECASE)
_AFTER = 4  # bytes of two line ends behind a record


class GrowingRecord:
    """A gzip member, or a WARC record that is not packed, cut off at its end.

    A member ends where its stream says so, whatever comes behind it; a record where its Content-Length says so. What
    is neither is refused: of a record of ARC that is not packed nothing but an index knows the length.
    """

    def __init__(self, file: BinaryIO, name: str) -> None:
        """Write to a file; `name` is that of the record in errors."""
        self._file = file
        self._name = name
        self._inflating: zlib._Decompress | None = None
        self._head = b""
        self._left: int | None = None  # bytes of a record that is not packed, once its header is there
        self.seen = 0
        self.ended = False

    def write(self, block: bytes) -> None:
        """Take the next bytes; those behind the end are left out."""
        self.seen += len(block)
        if self.ended:
            return
        if self._inflating is not None:
            self._inflate(block)
        elif self._left is not None:
            self._take_plain(block)
        else:
            self._head += block
            self._begin()

    def _begin(self) -> None:
        """Look at the first bytes, as many as there are."""
        if len(self._head) < len(_GZIP):
            return
        if self._head.startswith(_GZIP):
            self._inflating, begun, self._head = zlib.decompressobj(31), self._head, b""
            self._inflate(begun)
        else:
            self._begin_plain(self._head)

    def _inflate(self, block: bytes) -> None:
        member, rest = self._inflating, block
        assert member is not None
        try:
            while rest and not member.eof:
                member.decompress(rest, _INFLATED)
                rest = member.unconsumed_tail
        except zlib.error as error:
            raise TerminalFailure(f"{self._name}: no whole gzip member is there: {error}", Reason.CORRUPT) from error
        self.ended = member.eof
        self._file.write(block[: len(block) - len(member.unused_data)])

    def _begin_plain(self, begun: bytes) -> None:
        """Look for the end of the header, which says how long the record is."""
        if not begun.startswith(b"WARC/"[: len(begun)]):
            told = "the line says no length, and neither a gzip member nor a WARC record begins there"
            raise TerminalFailure(f"{self._name}: {told}", Reason.BAD_LINE)
        end = begun.find(b"\r\n\r\n")
        if end < 0:
            if len(begun) > HEAD:
                raise TerminalFailure(f"{self._name}: the record's header has no end", Reason.CORRUPT)
            return
        length = _LENGTH.search(begun, 0, end + 2)
        if length is None:
            raise TerminalFailure(f"{self._name}: the record's header says no length", Reason.CORRUPT)
        self._left, self._head = end + _AFTER + int(length[1]) + _AFTER, b""
        self._take_plain(begun)

    def _take_plain(self, block: bytes) -> None:
        assert self._left is not None
        self._file.write(block[: self._left])
        self._left -= min(len(block), self._left)
        self.ended = self._left == 0
