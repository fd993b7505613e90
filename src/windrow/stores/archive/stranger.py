"""WARC files of other makers, read record by record in bounded memory, from any record on.

Heritrix, browsertrix, Common Crawl, wget: WARC 1.0 and 1.1 (ISO 28500), plain, or a gzip member for each record. What
breaks the format is told with a reason, and reading goes on at the next record that can be found.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from isal import isal_zlib

from windrow.digest import Hasher
from windrow.errors import ArchiveError
from windrow.formats.warc import END, read_header
from windrow.model import Limits
from windrow.reasons import Reason

GZIP = b"\x1f\x8b\x08"
_HEAD = 64 * 1024  # bytes of a record's header, and of an HTTP head
_BLOCK = 256 * 1024
_FIRST = 16 * 1024  # read for a gzip member at once: most are not larger
_FREE = 16 * 1024 * 1024  # bytes that any record may inflate to
_WINDOW = 1 << 20
_BROKEN = cast("type[Exception]", isal_zlib.error)
_BEGIN = re.compile(rb"WARC/1\.[0-9]\r\n")
_GAP = re.compile(rb"[\r\n]*")


class Met(NamedTuple):
    """A record, or what is in the place of one.

    `offset` and `length` are its place in the file, `next` where the record after it begins. `head` is the HTTP head of
    its block, `digest` and `size` those of the rest, the payload. With a `reason` it cannot be used.
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


class _Trouble(Exception):
    """Never leaves this module."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class _Plain:
    """A record's bytes as they lie there."""

    def __init__(self, file: BinaryIO, offset: int, ratio: int) -> None:  # noqa: ARG002 both are made alike
        self._file = file
        file.seek(offset)

    def read(self, most: int) -> bytes:
        return self._file.read(most)

    def end(self, rest: bytes) -> int:
        """Return where the next record begins, `rest` being what was read beyond this one."""
        at = self._file.tell() - len(rest)
        self._file.seek(at)
        gap = _GAP.match(self._file.read(16))
        return at + (gap.end() if gap else 0)


class _Gzip:
    """One gzip member, inflated block by block."""

    def __init__(self, file: BinaryIO, offset: int, ratio: int) -> None:
        self._file = file
        self._stream: Any = isal_zlib.decompressobj(wbits=31)
        self._offset = offset
        self._ratio = ratio
        self._fed = self._made = 0
        file.seek(offset)

    def read(self, most: int) -> bytes:
        stream = self._stream
        while not stream.eof:
            given = stream.unconsumed_tail
            if not given:
                given = self._file.read(_BLOCK if self._fed else _FIRST)
                if not given:
                    raise _Trouble(Reason.TRUNCATED, "the file ends within a record")
                self._fed += len(given)
            try:
                block: bytes = stream.decompress(given, most)
            except _BROKEN as error:
                raise _Trouble(Reason.CORRUPT, f"the record cannot be inflated: {error}"[:200]) from None
            if block:
                self._made += len(block)
                if self._made > max(_FREE, self._ratio * self._fed):
                    raise _Trouble(Reason.BOMB_RATIO, f"the record inflates beyond {self._ratio} times its size")
                return block
        return b""

    def end(self, rest: bytes) -> int:
        """Return where the next member begins; what follows the record in its own member is a fault."""
        while not rest.strip(b"\r\n") and (block := self.read(_HEAD)):
            rest = block
        more = rest.lstrip(b"\r\n")
        if _BEGIN.match(more):
            word = "it is one gzip stream, not one for each record: warcio recompress FILE NEW"
            raise _Trouble(Reason.UNSUPPORTED, word)
        if more:
            raise _Trouble(Reason.SIZE_MISMATCH, "the record is longer than its header says")
        return self._offset + self._fed - len(self._stream.unused_data)


def vet(path: Path) -> None:
    """Raise `ArchiveError` where a file is no WARC file, or cannot be read."""
    try:
        with path.open("rb") as file:
            _packed(file)
    except OSError as error:
        raise ArchiveError(f"it cannot be read: {error.strerror}") from error


def met(path: Path, start: int, limits: Limits) -> Iterator[Met]:
    """Yield the records of a file from the place `start` on, which must be 0 or a record's `next`.

    A payload above `limits.transfer` is passed over. Raises `ArchiveError` where the file is no WARC file or the
    disk cannot be read.
    """
    try:
        with path.open("rb", buffering=0) as raw:
            file = cast(BinaryIO, raw)
            yield from _met(file, start, limits)
    except OSError as error:
        raise ArchiveError(f"{path} cannot be read: {error.strerror}") from error


def _met(file: BinaryIO, start: int, limits: Limits) -> Iterator[Met]:
    packed, size = _packed(file), os.fstat(file.fileno()).st_size
    make = _Gzip if packed else _Plain
    at = start
    while at < size:
        try:
            one = _record(make(file, at, limits.ratio), at, limits)
        except _Trouble as trouble:
            after = size if trouble.reason is Reason.UNSUPPORTED else _search(file, at + 1, packed=packed)
            one = Met(at, after - at, after, reason=trouble.reason, message=str(trouble))
        if not packed and one.reason is None and one.next < size and not _begins(file, one.next):
            after = _search(file, at + 1, packed=False)
            why = "its length is not what its header says"
            one = Met(at, after - at, after, one.kind, one.fields, reason=Reason.SIZE_MISMATCH, message=why)
        yield one
        at = one.next


def _packed(file: BinaryIO) -> bool:
    """Tell gzip from plain, or refuse the file."""
    head = file.read(16)
    if head.startswith(GZIP):
        return True
    if not head or _BEGIN.match(head):
        return False
    raise ArchiveError("it is no WARC file of version 1, plain or in gzip", hint="see docs/howto/read-warc-files.md")


def _record(source: _Plain | _Gzip, at: int, limits: Limits) -> Met:
    """Read one record."""
    text = b""
    while END not in text:
        block = source.read(_HEAD) if len(text) < _HEAD else b""
        if not block:
            what = "no record begins here" if not text.startswith(b"WARC/") else "the record's header has no end"
            raise _Trouble(Reason.TRUNCATED if text.startswith(b"WARC/") else Reason.CORRUPT, what)
        text += block
    try:
        found = read_header(text)
    except ArchiveError:
        raise _Trouble(Reason.CORRUPT, "no record of WARC 1 begins here") from None
    written = found.fields.get("content-length", "")
    if not (written.isascii() and written.isdecimal() and len(written) < 16):
        raise _Trouble(Reason.CORRUPT, f"its length is {written[:40]!r}")
    body = _Block(source, text[found.length :], int(written))
    head = b""
    if found.fields.get("content-type", "").lower().startswith("application/http"):
        head = body.head(_HEAD - found.length)
    hasher = Hasher()
    large = body.left > limits.transfer
    for piece in body.pieces():
        if not large:
            hasher.update(piece)
    after = source.end(body.rest)
    reason, message = (Reason.TOO_LARGE, f"more than {limits.transfer} bytes") if large else (None, "")
    size = 0 if large else hasher.size
    return Met(at, after - at, after, found.kind, found.fields, head, hasher.digest(), size, reason, message)


class _Block:
    """A record's block: `left` bytes of it are to come, `rest` is what was read beyond its end."""

    def __init__(self, source: _Plain | _Gzip, begun: bytes, size: int) -> None:
        self._source = source
        self._begun = begun[:size]
        self.rest = begun[size:]
        self.left = size

    def head(self, most: int) -> bytes:
        """Take an HTTP head of at most so many bytes from the block's beginning; empty where it has none."""
        while END not in self._begun and len(self._begun) < min(most, self.left):
            self._begun += self._more(self.left - len(self._begun))
        at = self._begun.find(END, 0, most)
        if at < 0:
            return b""
        head, self._begun = self._begun[: at + len(END)], self._begun[at + len(END) :]
        self.left -= len(head)
        return head

    def pieces(self) -> Iterator[bytes]:
        """Yield what is left of the block."""
        while self.left:
            piece = self._begun or self._more(self.left)
            self._begun = b""
            self.left -= len(piece)
            yield piece

    def _more(self, wanted: int) -> bytes:
        block = self._source.read(min(wanted, _BLOCK))
        if not block:
            raise _Trouble(Reason.TRUNCATED, f"the record ends {wanted} bytes before its length")
        return block


def _begins(file: BinaryIO, at: int) -> bool:
    file.seek(at)
    return bool(_BEGIN.match(file.read(16)))


def _search(file: BinaryIO, start: int, *, packed: bool) -> int:
    """Return where the next record begins after a broken one; the file's end where there is none."""
    at = start
    while True:
        file.seek(at)
        window = file.read(_WINDOW)
        for place in _candidates(window, packed=packed):
            if not packed or _opens(file, at + place):
                return at + place
        if len(window) < _WINDOW:
            return at + len(window)
        at += _WINDOW - 16


def _candidates(window: bytes, *, packed: bool) -> Iterator[int]:
    if not packed:
        yield from (found.start() for found in _BEGIN.finditer(window) if window[: found.start()][-1:] in b"\n")
        return
    place = window.find(GZIP)
    while place >= 0:
        yield place
        place = window.find(GZIP, place + 1)


def _opens(file: BinaryIO, at: int) -> bool:
    """Tell whether a gzip member that is a record begins here."""
    try:
        return bool(_BEGIN.match(_Gzip(file, at, 1 << 20).read(16)))
    except _Trouble:
        return False
