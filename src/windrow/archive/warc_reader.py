"""WARC and ARC files of other makers, read record by record in bounded memory, from any record on.

Heritrix, browsertrix, Common Crawl, wget: WARC 0.17 to 1.1 (ISO 28500) and ARC, plain, or a gzip member for each
record. What breaks the format is told with a reason, and reading goes on at the next record that can be found.

FastWARC and warcio read the same formats; neither goes on after a broken record, bounds what a record inflates to, nor
begins in the middle of a file, all of which are needed for files that anybody may have made.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from isal import isal_zlib

from windrow.digest import Hasher
from windrow.errors import ArchiveError
from windrow.formats import warc
from windrow.formats.http import body_at
from windrow.model import Limits
from windrow.reasons import Reason

ENDINGS = (".warc", ".warc.gz", ".warc.zst", ".arc", ".arc.gz")
"""How the names of files of WARC and ARC end."""
GZIP = b"\x1f\x8b\x08"
ZSTD = (b"\x28\xb5\x2f\xfd", b"\x5d\x2a\x4d\x18")
"""How a Zstandard file begins: with a frame, or with the dictionary of all that follow."""

_FIRST_RECORDS = 4  # that say whether a gzip file has a member for each
_HEAD = 64 * 1024  # bytes of a record's header, and of an HTTP head
_BLOCK = 256 * 1024
_FIRST = 16 * 1024  # read for a gzip member at once: most are not larger
_LOOK = 16 * 1024  # bytes in which a record's first line stands
_BRIEF = 64  # bytes of that of WARC, after the usual blank lines
_FREE = 16 * 1024 * 1024  # bytes that any record may inflate to
_WINDOW = 1 << 20
_BROKEN = cast("type[Exception]", isal_zlib.error)
_BLANK = re.compile(rb"[\r\n]*+")
_LINE = re.compile(rb"(?<=\n)[A-Za-z][A-Za-z0-9+.-]{0,30}:|(?<=\n)WARC/")  # where a record may begin
_WASTE = 64 * 1024 * 1024  # bytes that may be read in vain of any file, and
_WASTED = 4  # times its size


class WarcRecord(NamedTuple):
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
    digests: Mapping[str, str] = {}  # hex, by algorithm
    arc: bool = False  # it is one of ARC
    packed: bool = False  # it is a gzip member


class _Form(NamedTuple):
    """What a file's records are like: how one begins, and what reads its header."""

    packed: bool
    begin: re.Pattern[bytes]
    header: Callable[[bytes], warc.Header]
    line: bool  # the header is one line

    def ended(self, text: bytes) -> bool:
        """Tell whether a record's header, which begins so, ends in what was read."""
        begun = _BLANK.sub(b"", text, count=1)
        return b"\n" in begun if self.line else warc.header_ends(begun)


class _Trouble(Exception):
    """Never leaves this module."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class _Plain:
    """A record's bytes as they lie there."""

    def __init__(self, file: BinaryIO, offset: int, ratio: int) -> None:  # noqa: ARG002 both are made alike
        self._file = file
        self._offset = offset
        self._size = os.fstat(file.fileno()).st_size
        file.seek(offset)

    @property
    def fed(self) -> int:
        """Bytes of the file that were read."""
        return self._file.tell() - self._offset

    def read(self, most: int) -> bytes:
        return self._file.read(most)

    def vet(self, wanted: int, form: _Form) -> None:
        """Raise unless a record, or the end, follows after so many bytes: before they are read."""
        here = self._file.tell()
        if here + wanted > self._size:
            raise _Trouble(Reason.TRUNCATED, f"the record ends {here + wanted - self._size} bytes before its length")
        self._file.seek(here + wanted)
        after = self._file.read(_LOOK if form.line else _BRIEF)
        if after.strip(b"\r\n") and not form.begin.match(after):
            raise _Trouble(Reason.SIZE_MISMATCH, "its length is not what its header says")
        self._file.seek(here)

    def end(self, rest: bytes) -> int:
        """Return where the next record begins, `rest` being what was read beyond this one."""
        at = self._file.tell() - len(rest)
        while True:
            self._file.seek(at)
            after = self._file.read(_BRIEF)
            gap = len(after) - len(after.lstrip(b"\r\n"))
            at += gap
            if gap < len(after) or not after:
                return at


class _Gzip:
    """One gzip member, inflated block by block."""

    def __init__(self, file: BinaryIO, offset: int, ratio: int) -> None:
        self._file = file
        self._stream: Any = isal_zlib.decompressobj(wbits=31)
        self._offset = offset
        self._ratio = ratio
        self._fed = self._made = 0
        file.seek(offset)

    @property
    def fed(self) -> int:
        """Bytes of the file that were read."""
        return self._fed

    def vet(self, wanted: int, form: _Form) -> None:
        """Do nothing: what follows is not known before this is inflated."""

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
        if warc.BEGIN.match(more) or warc.ARC_BEGIN.match(more):
            raise _Trouble(Reason.UNSUPPORTED, "one gzip stream holds several records")
        if more:
            raise _Trouble(Reason.SIZE_MISMATCH, "the record is longer than its header says")
        return self._offset + self._fed - len(self._stream.unused_data)


class WarcForm(NamedTuple):
    """What a file is: one of ARC, and whether its records can be read in place or must be parted before."""

    arc: bool
    whole: bool


def vet(path: Path) -> WarcForm:
    """Say what a file is, by its first records; raise `ArchiveError` where it is no WARC file, or cannot be read."""
    try:
        with path.open("rb", buffering=0) as raw:
            file = cast(BinaryIO, raw)
            if file.read(4) in ZSTD:
                return WarcForm(arc=False, whole=True)
            form = _form(file)
            first = islice(_met(file, 0, Limits()), _FIRST_RECORDS) if form.packed else ()
            return WarcForm(form.line, any(one.reason is Reason.UNSUPPORTED for one in first))
    except OSError as error:
        raise ArchiveError(f"it cannot be read: {error.strerror}") from error


def met(path: Path, start: int, limits: Limits, *algorithms: str) -> Iterator[WarcRecord]:
    """Yield the records of a file from the place `start` on, which must be 0 or a record's `next`.

    A payload above `limits.transfer` is passed over. `digests` of a record has those by the `algorithms` that are
    named. Raises `ArchiveError` where the file is no WARC file or the disk cannot be read.
    """
    try:
        with path.open("rb", buffering=0) as raw:
            file = cast(BinaryIO, raw)
            yield from _met(file, start, limits, algorithms)
    except OSError as error:
        raise ArchiveError(f"{path} cannot be read: {error.strerror}") from error


def met_at(path: Path, offset: int, limits: Limits, take: Callable[[bytes], object], *algorithms: str) -> WarcRecord:
    """Return the one record that begins at a place of a file; its payload is given to `take` piece by piece.

    `digests` of what is returned has the payload's digests by the other algorithms that are named. Whatever is wrong is
    the reason of what is returned. Raises `ArchiveError` like `met`.
    """
    try:
        with path.open("rb", buffering=0) as raw:
            file = cast(BinaryIO, raw)
            state = os.fstat(file.fileno())
            form = _form_of(file, state)
            if offset >= state.st_size:
                return WarcRecord(offset, 0, offset, reason=Reason.TRUNCATED, message="the file ends before this place")
            try:
                source = (_Gzip if form.packed else _Plain)(file, offset, limits.ratio)
                return _record(source, offset, limits, form, (take, algorithms))
            except _Trouble as trouble:
                return WarcRecord(offset, 0, offset, reason=trouble.reason, message=str(trouble))
    except OSError as error:
        raise ArchiveError(f"{path} cannot be read: {error.strerror}", reason=_reason(error)) from error


def _reason(error: OSError) -> Reason:
    return Reason.NOT_FOUND if isinstance(error, FileNotFoundError) else Reason.DISK_FAILED


def _met(file: BinaryIO, start: int, limits: Limits, algorithms: tuple[str, ...] = ()) -> Iterator[WarcRecord]:
    form, size = _form(file), os.fstat(file.fileno()).st_size
    make = _Gzip if form.packed else _Plain
    at, wasted = start, 0
    while at < size:
        source = make(file, at, limits.ratio)
        try:
            one = _record(source, at, limits, form, (_pass, algorithms))
        except _Trouble as trouble:
            wasted += source.fed
            if wasted > _WASTE + _WASTED * size:
                # Records within records, each with a length that lies, would be read again and again.
                why = "too much of the file is broken: what follows is not read"
                one = WarcRecord(at, size - at, size, reason=Reason.CORRUPT, message=why)
            else:
                after = _search(file, at + 1, form)
                one = WarcRecord(at, after - at, after, reason=trouble.reason, message=str(trouble))
        yield one
        at = one.next


_last: list[tuple[tuple[int, ...], _Form]] = []  # the file that was read last, and its form


def _form_of(file: BinaryIO, state: os.stat_result) -> _Form:
    """Return the form of a file; that of the last one is remembered, since its records are read in a row."""
    name = (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns)
    if not _last or _last[0][0] != name:
        _last[:] = [(name, _form(file))]
    return _last[0][1]


def _form(file: BinaryIO) -> _Form:
    """Say what a file's records are like, or refuse it."""
    file.seek(0)
    head = file.read(_LOOK)
    packed = head.startswith(GZIP)
    if packed:
        try:
            head = _Gzip(file, 0, _WASTE).read(_LOOK)
        except _Trouble:
            head = b""
    if warc.ARC_BEGIN.match(head) and head.lstrip(b"\r\n").startswith(b"filedesc:"):
        return _Form(packed, warc.ARC_BEGIN, warc.read_line, line=True)
    if packed or not head or warc.BEGIN.match(head):
        return _Form(packed, warc.BEGIN, warc.read_header, line=False)
    what = "it is Zstandard, which has to be taken in" if head[:4] in ZSTD else "it is no WARC file, nor one of ARC"
    raise ArchiveError(what, hint="see docs/howto/read-warc-files.md", reason=Reason.UNSUPPORTED)


def _pass(_piece: bytes) -> None:
    """Take nothing of a payload."""


_Taking = tuple[Callable[[bytes], object], tuple[str, ...]]


def _record(source: _Plain | _Gzip, at: int, limits: Limits, form: _Form, taking: _Taking) -> WarcRecord:
    """Read one record; `taking` is given its payload, and names more digests of it."""
    text = b""
    while not form.ended(text):
        block = source.read(_HEAD) if len(text) < _HEAD else b""
        if not block:
            begun = text.lstrip(b"\r\n").startswith(b"WARC/")
            what = "the record's header has no end" if begun else "no record begins here"
            raise _Trouble(Reason.TRUNCATED if begun else Reason.CORRUPT, what)
        text += block
    try:
        found = form.header(text)
    except ArchiveError:
        raise _Trouble(Reason.CORRUPT, "no record begins here") from None
    written = found.fields.get("content-length", "")
    if not (written.isascii() and written.isdecimal() and len(written) < 16):
        raise _Trouble(Reason.CORRUPT, f"its length is {written[:40]!r}")
    body = _Block(source, text[found.length :], int(written))
    source.vet(int(written) - len(text) + found.length, form)
    head = b""
    if warc.holds_http(found, body.begin(len(warc.HTTP))):
        head = body.head(_HEAD - found.length)
    take, algorithms = taking
    hasher = Hasher(*algorithms)
    large = body.left > limits.transfer
    for piece in body.pieces():
        if not large:
            hasher.update(piece)
            take(piece)
    after = source.end(body.rest)
    reason, message = (Reason.TOO_LARGE, f"more than {limits.transfer} bytes") if large else (None, "")
    size = 0 if large else hasher.size
    others = {name: hasher.hex(name) for name in algorithms}
    return WarcRecord(
        at, after - at, after, found.kind, found.fields, head, hasher.digest(), size, reason, message, others,
        form.line, form.packed,
    )  # fmt: skip


class _Block:
    """A record's block: `left` bytes of it are to come, `rest` is what was read beyond its end."""

    def __init__(self, source: _Plain | _Gzip, begun: bytes, size: int) -> None:
        self._source = source
        self._begun = begun[:size]
        self.rest = begun[size:]
        self.left = size

    def begin(self, count: int) -> bytes:
        """Return the first bytes of the block, which stay in it."""
        while len(self._begun) < min(count, self.left):
            self._begun += self._more(self.left - len(self._begun))
        return self._begun[:count]

    def head(self, most: int) -> bytes:
        """Take an HTTP head of at most so many bytes from the block's beginning; empty where it has none."""
        while (at := body_at(self._begun[:most])) < 0 and len(self._begun) < min(most, self.left):
            self._begun += self._more(self.left - len(self._begun))
        if at < 0:
            return b""
        head, self._begun = self._begun[:at], self._begun[at:]
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


def _search(file: BinaryIO, start: int, form: _Form) -> int:
    """Return where the next record begins after a broken one; the file's end where there is none."""
    at, room = start, _LOOK
    while True:
        file.seek(at - 1)
        window = file.read(room + 1)  # the byte before says whether a line begins
        place = next(_candidates(window, form), None)
        if place is not None or len(window) <= room:
            return at - 1 + (len(window) if place is None else place)
        at += room // 2
        room = min(2 * room, _WINDOW)


def _candidates(window: bytes, form: _Form) -> Iterator[int]:
    """Yield where a record may begin in a window, past its first byte."""
    if not form.packed:
        yield from (found.start() for found in _LINE.finditer(window) if form.begin.match(window, found.start()))
        return
    place = window.find(GZIP, 1)
    while place >= 0:
        if _opens(window[place : place + _LOOK], form):
            yield place
        place = window.find(GZIP, place + 1)


def _opens(begun: bytes, form: _Form) -> bool:
    """Tell whether a gzip member that is a record begins here."""
    try:
        return bool(form.begin.match(isal_zlib.decompressobj(wbits=31).decompress(begun, _LOOK)))
    except _BROKEN:
        return False
