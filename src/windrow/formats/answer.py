"""Read an HTTP/1.1 response as it arrives (RFC 9112): its head once, then its body without framing.

Servers err in many ways: a bare line feed ends a line too, a folded line is read as one line, a line without a colon
is skipped. A response that cannot be understood, or would have no end, is refused. After a response that other readers
may understand differently the connection is closed, so that bytes after it are not taken for the next response.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from windrow.errors import TerminalFailure, TransientFailure
from windrow.reasons import Reason

HEAD = 1 << 16
"""The most bytes of a head, of the trailers, and of all heads before the final one."""

_LINES = 16
"""The most bytes of chunk-size lines for each byte of a body, beyond the first `HEAD` bytes."""

_LINE = 4096  # the most bytes of a chunk-size line
_NAME = b"HTTP/"  # a response begins with it
_STATUS = re.compile(rb"HTTP/(\d)\.(\d) ++(\d{3})(?:[ \t][^\r\n]*+)?\r?\n")
_END = re.compile(rb"\n\r?\n")
_FRAMING = re.compile(rb"\n(content-length|transfer-encoding|connection)[ \t]*+:[ \t]*+([^\r\n]*+)", re.IGNORECASE)
_BLANK = b" \t"  # may surround a value; `bytes.strip()` would also remove vertical tabs and form feeds
_CONTROLS = bytes({*range(32)} - {*b"\t\r\n"})
_SPACED_NAME = re.compile(rb"\n[^\r\n:]*+(?<=[ \t]):")
_NOTHING: frozenset[bytes] = frozenset()
_FOLD = re.compile(rb"\r?\n[ \t]++")
_SIZE = re.compile(rb"[ \t]*+([0-9A-Fa-f]{1,16})[ \t]*+(?:;[^\n]*+\n|\r?\n)")
_NEXT = re.compile(rb"\r?\n([0-9A-Fa-f]{1,16})\r?\n")  # the end of a chunk, and the size of the next
_TINY = 1024  # bytes; smaller chunks are passed on several at a time


class AnswerHead(NamedTuple):
    """The head of a response; `text` is the whole head as it was received.

    `size` is the body's in bytes, None if it is not announced; `stays` says that the connection can be used again.
    """

    status: int
    text: bytes
    size: int | None
    chunked: bool
    stays: bool


class AnswerReader:
    r"""Reads one response, block by block.

    >>> got = []
    >>> reader = AnswerReader("http://h/", got.append, lambda block: got.append(bytes(block)))
    >>> reader.feed(memoryview(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel")); reader.feed(memoryview(b"lo"))
    >>> got[0].status, got[1:], reader.done, reader.keep
    (200, [b'hel', b'lo'], True, True)
    """

    __slots__ = (
        "_address",
        "_before",
        "_begin",
        "_chunks",
        "_connect",
        "_head",
        "_left",
        "_stays",
        "_write",
        "begun",
        "done",
        "keep",
    )

    def __init__(
        self,
        address: str,
        begin: Callable[[AnswerHead], None],
        write: Callable[[memoryview], None],
        *,
        connect: bool = False,
    ) -> None:
        """Pass the head to `begin` and pieces of the body to `write`; a piece is valid only during the call.

        `address` is named in errors. With `connect` the request was CONNECT: a success has no body, whatever its head
        says, and the connection stays open (RFC 9110, section 9.3.6).
        """
        self._address = address
        self._connect = connect
        self._begin = begin
        self._write = write
        self._head: bytearray | None = bytearray()
        self._before = 0  # bytes of blank lines and interim heads before the final head
        self._left = 0  # bytes of the body still to come; -1: all until the connection closes
        self._chunks: _Chunks | None = None
        self._stays = True  # False once an interim head asked to close
        self.begun = False  # at least one block was received
        self.done = False
        self.keep = False  # the connection may be used again

    def feed(self, block: memoryview) -> None:
        """Take the next bytes of the connection; TerminalFailure if they break the protocol."""
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
        """Take the end of the connection; TransientFailure if the response is not complete."""
        self.keep = False
        if self.done:
            return
        if self._head is None and self._chunks is None and self._left < 0:
            self.done = True
            return
        raise TransientFailure(
            f"{self._address}: the connection closed before the end of the answer", Reason.INTERRUPTED
        )

    def _heads(self, block: memoryview) -> memoryview | None:
        """Collect the head; return what follows it, or None if it is not complete yet."""
        buffer = self._head
        assert buffer is not None
        start = len(buffer)
        buffer += block
        head_start = 0  # where the next head begins in the buffer
        while True:
            while buffer.startswith((b"\r", b"\n"), head_start):
                head_start += 1
            blank_line = _END.search(buffer, max(head_start, start - 2))
            end = blank_line.end() if blank_line else len(buffer)
            if self._before + end > HEAD:
                raise TerminalFailure(
                    f"{self._address}: the answer's head has more than {HEAD} bytes", Reason.PROTOCOL_ERROR
                )
            if blank_line is None:
                if end - head_start >= len(_NAME) and not buffer.startswith(_NAME, head_start):
                    raise TerminalFailure(f"{self._address}: the answer is not HTTP/1.1", Reason.PROTOCOL_ERROR)
                self._before += head_start
                del buffer[:head_start]
                return None
            head = read_head(bytes(buffer[head_start:end]), self._address)
            if head.status >= 200:
                break
            self._stays = self._stays and head.stays
            if head.status == 101:
                raise TerminalFailure(
                    f"{self._address}: the server switched protocols without being asked to", Reason.PROTOCOL_ERROR
                )
            head_start = end
        self._head = None
        if self._connect and head.status < 300:
            head = head._replace(size=0, chunked=False, stays=True)
        elif not self._stays:
            head = head._replace(stays=False)
        self._frame(head)
        self._begin(head)
        return block[end - start :]

    def _frame(self, head: AnswerHead) -> None:
        """Remember where the body ends (RFC 9112, section 6.3) and whether the connection stays open."""
        self.keep = head.stays
        if head.chunked:
            self._chunks = _Chunks(self._address, self._write)
        elif head.size is None:
            self.keep = False
            self._left = -1
        else:
            self._left = head.size


class _Chunks:
    """A chunked body (RFC 9112, section 7.1)."""

    __slots__ = ("_address", "_chunk_end", "_left", "_line", "_line_budget", "_trailer", "_write", "done")

    def __init__(self, address: str, write: Callable[[memoryview], None]) -> None:
        self._address = address
        self._write = write
        self._left = 0
        self._line: bytearray | None = bytearray()  # the chunk-size line so far; None within a chunk
        self._chunk_end = False  # a chunk was read, but not the line end after it
        self._trailer: int | None = None  # bytes of trailers so far
        self._line_budget = HEAD  # bytes of chunk-size lines still allowed
        self.done = False

    def feed(self, block: memoryview) -> int:
        """Take some bytes; return how many belong to this response."""
        position, size_of_block = 0, len(block)
        tiny = bytearray()  # small chunks are collected: there may be a million of them
        while position < size_of_block and not self.done:
            if self._line is None:
                size = min(self._left, size_of_block - position)
                if size <= _TINY:
                    tiny += block[position : position + size]
                else:
                    self._flush(tiny)
                    self._write(block[position : position + size])
                position += size
                self._left -= size
                self._line_budget += _LINES * size
                if not self._left:
                    position = self._begin_next(block, position)
                continue
            piece = bytes(block[position : position + _LINE])
            end = piece.find(b"\n") + 1
            self._line += piece[:end] if end else piece
            position += end or len(piece)
            if len(self._line) > _LINE:
                raise TerminalFailure(
                    f"{self._address}: a line of the chunked body has more than {_LINE} bytes", Reason.PROTOCOL_ERROR
                )
            if end:
                self._read_line(bytes(self._line))
        self._flush(tiny)
        return position

    def _flush(self, tiny: bytearray) -> None:
        """Write the small chunks that were collected."""
        if tiny:
            self._write(memoryview(bytes(tiny)))
            tiny.clear()

    def _begin_next(self, block: memoryview, position: int) -> int:
        """Read the end of a chunk and the usual form of the next size line at once; return the position after them."""
        size_line = _NEXT.match(block, position)
        if size_line and (size := int(size_line[1], 16)):
            self._left = size
            self._count_line(size_line.end() - position)
            return size_line.end()
        self._line, self._chunk_end = bytearray(), True
        return position

    def _count_line(self, size: int) -> None:
        """Count the bytes of a chunk-size line; all of them together may not be far larger than the body."""
        self._line_budget -= size
        if self._line_budget < 0:
            raise TerminalFailure(f"{self._address}: the chunked body is mostly size lines", Reason.PROTOCOL_ERROR)

    def _read_line(self, line: bytes) -> None:
        """Take a complete line: the end of a chunk, the size of the next, or a trailer."""
        self._line = bytearray()
        if self._trailer is not None:
            self._trailer += len(line)
            if self._trailer > HEAD:
                raise TerminalFailure(
                    f"{self._address}: the trailers have more than {HEAD} bytes", Reason.PROTOCOL_ERROR
                )
            self.done = not line.strip(b" \t\r\n")
            return
        self._count_line(len(line))
        if self._chunk_end and not line.strip(b" \t\r\n"):
            self._chunk_end = False
            return
        size_line = _SIZE.fullmatch(line)
        if not size_line:
            raise TerminalFailure(f"{self._address}: a chunk has no size", Reason.PROTOCOL_ERROR)
        self._left = int(size_line[1], 16)
        if self._left:
            self._line = None
        else:
            self._trailer = 0


def read_head(text: bytes, address: str) -> AnswerHead:
    """Read how a response is framed from its complete head; TerminalFailure with PROTOCOL_ERROR if it is not valid."""
    status_line = _STATUS.match(text)
    if not status_line:
        raise TerminalFailure(f"{address}: the answer is not HTTP/1.1", Reason.PROTOCOL_ERROR)
    unfolded, is_odd = text, False
    if b"\n " in text or b"\n\t" in text:
        unfolded = _FOLD.sub(b" ", text)
        is_odd = text[status_line.end()] in _BLANK  # a continuation line before any field
    framing: dict[bytes, bytes] = {}
    for name, value in _FRAMING.findall(unfolded):
        key = name.lower()
        framing[key] = framing[key] + b"," + value if key in framing else value
    status, is_http_1_0 = int(status_line[3]), status_line[1] == b"1" and status_line[2] == b"0"
    connection_words = {*_words(framing[b"connection"])} if b"connection" in framing else _NOTHING
    stays = (
        (b"keep-alive" in connection_words if is_http_1_0 else b"close" not in connection_words)
        and not is_odd
        and not _is_odd(unfolded)
    )
    if status in {204, 304} or status < 200:
        return AnswerHead(status, text, 0, chunked=False, stays=stays)
    length = framing.get(b"content-length")
    if b"transfer-encoding" in framing:
        codings = [*filter(None, _words(framing[b"transfer-encoding"]))]  # RFC 9110, section 5.6.1.2
        chunked = codings[-1:] == [b"chunked"]
        is_certain = length is None and codings.count(b"chunked") == 1 and not is_http_1_0
        return AnswerHead(status, text, None, chunked, stays and chunked and is_certain)
    size = None if length is None else _length(length, address)
    return AnswerHead(status, text, size, chunked=False, stays=stays and size is not None)


def _words(value: bytes) -> list[bytes]:
    """Return the comma-separated words of a field's value, in lower case."""
    return [word.strip(_BLANK) for word in value.lower().split(b",")]


def _is_odd(head: bytes) -> bool:
    """Return whether readers may disagree on a head: control characters, a lone CR, a blank before a colon."""
    if head.translate(None, _CONTROLS) != head or head.count(b"\r") != head.count(b"\r\n"):
        return True
    return (b" :" in head or b"\t:" in head) and _SPACED_NAME.search(head) is not None


def _length(text: bytes, address: str) -> int:
    """Read Content-Length; if it is given twice, both must be equal."""
    if text.isdigit() and len(text) < 19:
        return int(text)
    length, *others = {*_words(text)}
    if not others and length.isdigit() and len(length) < 19:
        return int(length)
    raise TerminalFailure(f"{address}: Content-Length is not one number", Reason.PROTOCOL_ERROR)
