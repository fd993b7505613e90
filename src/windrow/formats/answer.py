"""An HTTP/1.1 answer taken apart as it arrives (RFC 9112): its head once, then its body without framing.

Servers are strangers: a bare line feed ends a line too, a folded line is read as one, a line without a colon
is passed over. What cannot be understood, or would have no end, is refused. An answer that others may read in another
way is read once, kept as it came, and the line is closed behind it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from windrow.errors import TerminalFailure, TransientFailure
from windrow.reasons import Reason

HEAD = 1 << 16
"""Most bytes of a head, of the trailers, and of all heads before the last."""

_LINES = 16
"""Bytes of chunks' own lines that may come for each byte of a body, beyond the first `HEAD`."""

_LINE = 4096  # most bytes of a line that tells a chunk's size
_NAME = b"HTTP/"  # with which an answer begins
_STATUS = re.compile(rb"HTTP/(\d)\.(\d) ++(\d{3})(?:[ \t][^\r\n]*+)?\r?\n")
_END = re.compile(rb"\n\r?\n")
_FRAMING = re.compile(rb"\n(content-length|transfer-encoding|connection)[ \t]*+:[ \t]*+([^\r\n]*+)", re.IGNORECASE)
_BLANK = b" \t"  # what may stand around a value: `bytes.strip()` alone takes off vertical tabs and form feeds too
_CONTROLS = bytes({*range(32)} - {*b"\t\r\n"})
_SPACED_NAME = re.compile(rb"\n[^\r\n:]*+(?<=[ \t]):")
_NOTHING: frozenset[bytes] = frozenset()
_FOLD = re.compile(rb"\r?\n[ \t]++")
_SIZE = re.compile(rb"[ \t]*+([0-9A-Fa-f]{1,16})[ \t]*+(?:;[^\n]*+\n|\r?\n)")
_NEXT = re.compile(rb"\r?\n([0-9A-Fa-f]{1,16})\r?\n")  # the end of a chunk, and the size of the next
_TINY = 1024  # bytes of a chunk that is handed on together with others'


class AnswerHead(NamedTuple):
    """The head of an answer: `text` is all of it as it came.

    `size` is that of the body, where it is told before; `stays` says that the line outlives the answer.
    """

    status: int
    text: bytes
    size: int | None
    chunked: bool
    stays: bool


class AnswerReader:
    r"""Takes one answer apart, block by block.

    >>> got = []
    >>> reader = AnswerReader("http://h/", got.append, lambda block: got.append(bytes(block)))
    >>> reader.feed(memoryview(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel")); reader.feed(memoryview(b"lo"))
    >>> got[0].status, got[1:], reader.done, reader.keep
    (200, [b'hel', b'lo'], True, True)
    """

    __slots__ = (
        "_before",
        "_begin",
        "_chunks",
        "_connect",
        "_head",
        "_left",
        "_stays",
        "_where",
        "_write",
        "begun",
        "done",
        "keep",
    )

    def __init__(
        self,
        where: str,
        begin: Callable[[AnswerHead], None],
        write: Callable[[memoryview], None],
        *,
        connect: bool = False,
    ) -> None:
        """Give the head to `begin` and pieces of the body to `write`; a piece is valid for the call only.

        `where` is what errors name. With `connect` it is CONNECT that is answered: success has no body, whatever its
        head says, and the line stays (RFC 9110, section 9.3.6).
        """
        self._where = where
        self._connect = connect
        self._begin = begin
        self._write = write
        self._head: bytearray | None = bytearray()
        self._before = 0  # bytes of blank lines and interim heads that came before the last head
        self._left = 0  # bytes of the body that are to come; -1: all until the line ends
        self._chunks: _Chunks | None = None
        self._stays = True  # as far as interim heads tell
        self.begun = False  # something came
        self.done = False
        self.keep = False  # the line may be used again

    def feed(self, block: memoryview) -> None:
        """Take the next bytes of the line."""
        self.begun = True
        if self._head is not None:
            rest = self._heads(block)
            if rest is None:
                return
            block = rest
        if self._chunks is not None:
            used = self._chunks.feed(block)
            self.done = self._chunks.done
            self.keep = self.keep and (not self.done or used == len(block))
        elif self._left < 0:
            if block:
                self._write(block)
        else:
            if len(block) > self._left:
                self.keep = False
                block = block[: self._left]
            if block:
                self._write(block)
            self._left -= len(block)
            self.done = self._left == 0

    def end(self) -> None:
        """Take the end of the line."""
        self.keep = False
        if self.done:
            return
        if self._head is None and self._chunks is None and self._left < 0:
            self.done = True
            return
        raise TransientFailure(f"{self._where}: the line ended before the answer did", Reason.INTERRUPTED)

    def _heads(self, block: memoryview) -> memoryview | None:
        """Gather the head; return what is behind it, or None where it is not whole yet."""
        held = self._head
        assert held is not None
        start = len(held)
        held += block
        at = 0  # where in it the next head begins
        while True:
            while held.startswith((b"\r", b"\n"), at):
                at += 1
            found = _END.search(held, max(at, start - 2))
            end = found.end() if found else len(held)
            if self._before + end > HEAD:
                raise TerminalFailure(f"{self._where}: a head of more than {HEAD} bytes", Reason.PROTOCOL_ERROR)
            if found is None:
                if end - at >= len(_NAME) and not held.startswith(_NAME, at):
                    raise TerminalFailure(f"{self._where}: no answer in HTTP/1.1", Reason.PROTOCOL_ERROR)
                self._before += at
                del held[:at]
                return None
            head = read_head(bytes(held[at:end]), self._where)
            if head.status >= 200:
                break
            self._stays = self._stays and head.stays
            if head.status == 101:
                raise TerminalFailure(f"{self._where}: another protocol, unasked", Reason.PROTOCOL_ERROR)
            at = end
        self._head = None
        if self._connect and head.status < 300:
            head = head._replace(size=0, chunked=False, stays=True)
        elif not self._stays:
            head = head._replace(stays=False)
        self._frame(head)
        self._begin(head)
        return block[end - start :]

    def _frame(self, head: AnswerHead) -> None:
        """Learn where the body ends (RFC 9112, section 6.3) and whether the line outlives it."""
        self.keep = head.stays
        if head.chunked:
            self._chunks = _Chunks(self._where, self._write)
        elif head.size is None:
            self.keep = False
            self._left = -1
        else:
            self._left = head.size


class _Chunks:
    """A chunked body (RFC 9112, section 7.1)."""

    __slots__ = ("_behind", "_left", "_line", "_room", "_trailer", "_where", "_write", "done")

    def __init__(self, where: str, write: Callable[[memoryview], None]) -> None:
        self._where = where
        self._write = write
        self._left = 0
        self._line: bytearray | None = bytearray()  # of the size, or None within a chunk
        self._behind = False  # a chunk is through, but for the end of its line
        self._trailer: int | None = None  # bytes of trailers so far
        self._room = HEAD  # bytes of lines that may still come
        self.done = False

    def feed(self, block: memoryview) -> int:
        """Take some bytes; return how many belong to the body."""
        at, whole = 0, len(block)
        tiny = bytearray()  # the bytes of small chunks: there may be a million of them
        while at < whole and not self.done:
            if self._line is None:
                size = min(self._left, whole - at)
                if size <= _TINY:
                    tiny += block[at : at + size]
                else:
                    self._hand(tiny)
                    self._write(block[at : at + size])
                at += size
                self._left -= size
                self._room += _LINES * size
                if not self._left:
                    at = self._next(block, at)
                continue
            piece = bytes(block[at : at + _LINE])
            end = piece.find(b"\n") + 1
            self._line += piece[:end] if end else piece
            at += end or len(piece)
            if len(self._line) > _LINE:
                raise TerminalFailure(f"{self._where}: an endless line in a chunked body", Reason.PROTOCOL_ERROR)
            if end:
                self._told(bytes(self._line))
        self._hand(tiny)
        return at

    def _hand(self, tiny: bytearray) -> None:
        """Hand on what was gathered of small chunks."""
        if tiny:
            self._write(memoryview(bytes(tiny)))
            tiny.clear()

    def _next(self, block: memoryview, at: int) -> int:
        """Go from the end of a chunk to the next one where that is written as it mostly is; return the place."""
        found = _NEXT.match(block, at)
        if found and (size := int(found[1], 16)):
            self._left = size
            self._pass(found.end() - at)
            return found.end()
        self._line, self._behind = bytearray(), True
        return at

    def _pass(self, size: int) -> None:
        """Count the bytes of a line; many that are each of a lawful size may not take far more than the body."""
        self._room -= size
        if self._room < 0:
            raise TerminalFailure(f"{self._where}: a chunked body that is mostly lines", Reason.PROTOCOL_ERROR)

    def _told(self, line: bytes) -> None:
        """Take a whole line: the end of a chunk, the size of the next, or a trailer."""
        self._line = bytearray()
        if self._trailer is not None:
            self._trailer += len(line)
            if self._trailer > HEAD:
                raise TerminalFailure(f"{self._where}: endless trailers", Reason.PROTOCOL_ERROR)
            self.done = not line.strip(b" \t\r\n")
            return
        self._pass(len(line))
        if self._behind and not line.strip(b" \t\r\n"):
            self._behind = False
            return
        found = _SIZE.fullmatch(line)
        if not found:
            raise TerminalFailure(f"{self._where}: a chunk without a size", Reason.PROTOCOL_ERROR)
        self._left = int(found[1], 16)
        if self._left:
            self._line = None
        else:
            self._trailer = 0


def read_head(text: bytes, where: str) -> AnswerHead:
    """Read how an answer is framed, from its whole head, or raise PROTOCOL_ERROR."""
    first = _STATUS.match(text)
    if not first:
        raise TerminalFailure(f"{where}: no answer in HTTP/1.1", Reason.PROTOCOL_ERROR)
    joined, odd = text, False
    if b"\n " in text or b"\n\t" in text:
        joined = _FOLD.sub(b" ", text)
        odd = text[first.end()] in _BLANK  # there is no field yet that it could go on with
    said: dict[bytes, bytes] = {}
    for name, value in _FRAMING.findall(joined):
        known = name.lower()
        said[known] = said[known] + b"," + value if known in said else value
    status, old = int(first[3]), first[1] == b"1" and first[2] == b"0"
    words = {*_words(said[b"connection"])} if b"connection" in said else _NOTHING
    stays = (b"keep-alive" in words if old else b"close" not in words) and not odd and not _is_odd(joined)
    if status in {204, 304} or status < 200:
        return AnswerHead(status, text, 0, chunked=False, stays=stays)
    told = said.get(b"content-length")
    if b"transfer-encoding" in said:
        codings = [*filter(None, _words(said[b"transfer-encoding"]))]  # RFC 9110, section 5.6.1.2
        chunked = codings[-1:] == [b"chunked"]
        certain = told is None and codings.count(b"chunked") == 1 and not old
        return AnswerHead(status, text, None, chunked, stays and chunked and certain)
    size = None if told is None else _length(told, where)
    return AnswerHead(status, text, size, chunked=False, stays=stays and size is not None)


def _words(value: bytes) -> list[bytes]:
    """Return the words of a field's value, which commas part, in lower case."""
    return [word.strip(_BLANK) for word in value.lower().split(b",")]


def _is_odd(head: bytes) -> bool:
    """Tell whether a head holds what some read in another way: control characters, lone CR, a blank before a colon."""
    if head.translate(None, _CONTROLS) != head or head.count(b"\r") != head.count(b"\r\n"):
        return True
    return (b" :" in head or b"\t:" in head) and _SPACED_NAME.search(head) is not None


def _length(told: bytes, where: str) -> int:
    """Read Content-Length; one that is told twice must agree with itself."""
    if told.isdigit() and len(told) < 19:
        return int(told)
    one, *more = {*_words(told)}
    if not more and one.isdigit() and len(one) < 19:
        return int(one)
    raise TerminalFailure(f"{where}: no telling how long the answer is", Reason.PROTOCOL_ERROR)
