"""Read an HTTP/1.1 response as it arrives (RFC 9112): its head as a whole, then its body without chunk sizes.

Some errors of servers are tolerated: a bare line feed also ends a line, a folded line is read as one line, and a line
without a colon is skipped. A response that cannot be understood, or that exceeds a limit, is refused. If other readers
might see the end of a response elsewhere, the connection is not used again.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from windrow.caps import HTTP_HEAD_BYTES
from windrow.errors import TerminalFailure, TransientFailure
from windrow.reasons import Reason

MAX_HEAD_BYTES = HTTP_HEAD_BYTES.number
"""The maximum total size of a response's heads, and of its trailers, in bytes."""

_MAX_SIZE_LINE_RATIO = 16
"""All chunk-size lines may have `MAX_HEAD_BYTES` bytes in total, and this many more for each byte of the body."""

_MAX_SIZE_LINE_BYTES = 4096  # the most bytes of a chunk-size line
_RESPONSE_START = b"HTTP/"  # the first bytes of every response
_NO_STATUS_LINE = "the response does not begin with a valid HTTP status line"
_STATUS_LINE = re.compile(rb"HTTP/(\d)\.(\d) ++(\d{3})(?:[ \t][^\r\n]*+)?\r?\n")
_HEAD_END = re.compile(rb"\n\r?\n")
_FRAMING = re.compile(rb"\n(content-length|transfer-encoding|connection)[ \t]*+:[ \t]*+([^\r\n]*+)", re.IGNORECASE)
_BLANKS = b" \t"  # may surround a value; `bytes.strip()` would also remove vertical tabs and form feeds
_CONTROL_BYTES = bytes({*range(32)} - {*b"\t\r\n"})
_SPACED_NAME = re.compile(rb"\n[^\r\n:]*+(?<=[ \t]):")
_NO_WORDS: frozenset[bytes] = frozenset()
_FOLD = re.compile(rb"\r?\n[ \t]++")
_SIZE_LINE = re.compile(rb"[ \t]*+([0-9A-Fa-f]{1,16})[ \t]*+(?:;[^\n]*+\n|\r?\n)")
_CHUNK_END_AND_SIZE = re.compile(rb"\r?\n([0-9A-Fa-f]{1,16})\r?\n")  # the end of a chunk, and the size of the next
_SMALL_CHUNK_BYTES = 1024  # chunks up to this size are joined before they are passed on


class ResponseHead(NamedTuple):
    """The head of a response; `text` is the whole head as it was received.

    `size` is the number of bytes of the body, or None if the head does not announce it. `chunked` is whether the body
    is sent in chunks. `stays` is whether the connection can be used again after the response.
    """

    status: int
    text: bytes
    size: int | None
    chunked: bool
    stays: bool


SURPLUS_RULE = "a response is longer than its Content-Length states; the rest of it is not read"
"""The rule under which responses are counted that were cut at a wrong Content-Length."""
UNCLOSED_RULE = "a response without a length ended without a TLS alert; its end may be missing"
"""The rule under which responses are counted that may have been cut."""


class ResponseReader:
    r"""Reads one response from blocks of bytes.

    >>> parts = []
    >>> reader = ResponseReader("http://h/", parts.append, lambda piece: parts.append(bytes(piece)))
    >>> reader.feed(memoryview(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel")); reader.feed(memoryview(b"lo"))
    >>> parts[0].status, parts[1:], reader.is_done, reader.is_reusable
    (200, [b'hel', b'lo'], True, True)
    """

    __slots__ = (
        "_address", "_bytes_left", "_chunks", "_head", "_is_connect", "_may_stay_open", "_on_body", "_on_head",
        "_skipped_bytes", "doubt", "has_begun", "is_done", "is_reusable",
    )  # fmt: skip

    def __init__(
        self,
        address: str,
        on_head: Callable[[ResponseHead], None],
        on_body: Callable[[memoryview], None],
        *,
        is_connect: bool = False,
    ) -> None:
        """Pass the head to `on_head`, and the body piece by piece to `on_body`; a piece is valid only during the call.

        `address` is named in errors. `is_connect` is whether the request is CONNECT: its successful response has no
        body, whatever the head announces, and the connection stays open (RFC 9110, section 9.3.6).
        """
        self._address = address
        self._is_connect = is_connect
        self._on_head = on_head
        self._on_body = on_body
        self._head: bytearray | None = bytearray()
        self._skipped_bytes = 0  # bytes of blank lines and interim heads that were removed from `_head`
        self._bytes_left = 0  # bytes of the body still to come; -1 if it ends with the connection
        self._chunks: _ChunkReader | None = None
        self._may_stay_open = True  # False after an interim head that announces the close of the connection
        self.has_begun = False  # at least one block was received
        self.is_done = False
        self.is_reusable = False  # the connection may be used again
        self.doubt = ""  # why the body may not be whole: SURPLUS_RULE, UNCLOSED_RULE, or empty

    def feed(self, block: memoryview) -> None:
        """Read the next bytes of the connection; raise TerminalFailure if they are not valid or exceed a limit."""
        self.has_begun = True
        if self._head is not None:
            bytes_after_head = self._read_heads(block)
            if bytes_after_head is None:
                return
            block = bytes_after_head
        if self._chunks is not None:
            used_bytes = self._chunks.feed(block)
            self.is_done = self._chunks.is_done
            self.is_reusable = self.is_reusable and (not self.is_done or used_bytes == len(block))
        elif self._bytes_left < 0:
            if block:
                self._on_body(block)
        else:
            if len(block) > self._bytes_left:
                self.is_reusable = False
                if self._bytes_left > 0 and bytes(block[self._bytes_left :]).strip():
                    self.doubt = SURPLUS_RULE
                block = block[: self._bytes_left]
            if block:
                self._on_body(block)
            self._bytes_left -= len(block)
            self.is_done = self._bytes_left == 0

    def end(self, *, is_closed_properly: bool = True) -> None:
        """Process the end of the connection; raise TransientFailure if the response is not complete.

        `is_closed_properly` is False if TLS ended without an alert: then a body that ends with the connection may have
        been cut (RFC 9112, section 9.8).
        """
        self.is_reusable = False
        if self.is_done:
            return
        if self._head is None and self._chunks is None and self._bytes_left < 0:
            self.is_done = True
            self.doubt = "" if is_closed_properly else UNCLOSED_RULE
            return
        raise TransientFailure(
            f"{self._address}: the connection was closed before the end of the response", Reason.INTERRUPTED
        )

    def _read_heads(self, block: memoryview) -> memoryview | None:
        """Read heads, and pass the final one on; return the bytes after it, or None if it is not complete yet."""
        buffer = self._head
        assert buffer is not None
        start = len(buffer)  # where the block begins in the buffer
        buffer += block
        head_start = 0  # where the next head begins in the buffer
        while True:
            while buffer.startswith((b"\r", b"\n"), head_start):
                head_start += 1
            blank_line = _HEAD_END.search(buffer, max(head_start, start - 2))
            end = blank_line.end() if blank_line else len(buffer)
            if self._skipped_bytes + end > MAX_HEAD_BYTES:
                raise TerminalFailure(
                    f"{self._address}: the head of the response has more than {MAX_HEAD_BYTES} bytes",
                    Reason.PROTOCOL_ERROR,
                )
            if blank_line is None:
                if end - head_start >= len(_RESPONSE_START) and not buffer.startswith(_RESPONSE_START, head_start):
                    raise TerminalFailure(f"{self._address}: {_NO_STATUS_LINE}", Reason.PROTOCOL_ERROR)
                self._skipped_bytes += head_start
                del buffer[:head_start]
                return None
            head = read_response_head(bytes(buffer[head_start:end]), self._address)
            if head.status >= 200:
                break
            self._may_stay_open = self._may_stay_open and head.stays
            if head.status == 101:
                raise TerminalFailure(
                    f"{self._address}: the server switched protocols without a request for it", Reason.PROTOCOL_ERROR
                )
            head_start = end
        self._head = None
        if self._is_connect and head.status < 300:
            head = head._replace(size=0, chunked=False, stays=True)
        elif not self._may_stay_open:
            head = head._replace(stays=False)
        self._set_framing(head)
        self._on_head(head)
        return block[end - start :]

    def _set_framing(self, head: ResponseHead) -> None:
        """Set where the body ends (RFC 9112, section 6.3) and whether the connection can be used again."""
        self.is_reusable = head.stays
        if head.chunked:
            self._chunks = _ChunkReader(self._address, self._on_body)
        elif head.size is None:
            self.is_reusable = False
            self._bytes_left = -1
        else:
            self._bytes_left = head.size


class _ChunkReader:
    """Reads a chunked body (RFC 9112, section 7.1), and passes its content to `on_body`."""

    __slots__ = (
        "_address", "_awaits_chunk_end", "_bytes_left", "_line", "_on_body", "_size_line_bytes_left", "_trailer_bytes",
        "is_done",
    )  # fmt: skip

    def __init__(self, address: str, on_body: Callable[[memoryview], None]) -> None:
        self._address = address
        self._on_body = on_body
        self._bytes_left = 0
        self._line: bytearray | None = bytearray()  # the chunk-size line so far; None within a chunk
        self._awaits_chunk_end = False  # a chunk was read, but not the line end after it
        self._trailer_bytes: int | None = None  # bytes of trailers so far; None before the last chunk's size
        self._size_line_bytes_left = MAX_HEAD_BYTES  # bytes of chunk-size lines still allowed
        self.is_done = False

    def feed(self, block: memoryview) -> int:
        """Read the next bytes; return how many belong to this response. Raise TerminalFailure if they are not valid."""
        position, block_size = 0, len(block)
        small_chunks = bytearray()  # small chunks are collected: there may be a million of them
        while position < block_size and not self.is_done:
            if self._line is None:
                size = min(self._bytes_left, block_size - position)
                if size <= _SMALL_CHUNK_BYTES:
                    small_chunks += block[position : position + size]
                else:
                    self._flush(small_chunks)
                    self._on_body(block[position : position + size])
                position += size
                self._bytes_left -= size
                self._size_line_bytes_left += _MAX_SIZE_LINE_RATIO * size
                if not self._bytes_left:
                    position = self._read_next_size(block, position)
                continue
            piece = bytes(block[position : position + _MAX_SIZE_LINE_BYTES])
            end = piece.find(b"\n") + 1
            self._line += piece[:end] if end else piece
            position += end or len(piece)
            if len(self._line) > _MAX_SIZE_LINE_BYTES:
                raise TerminalFailure(
                    f"{self._address}: a line of the chunked body has more than {_MAX_SIZE_LINE_BYTES} bytes",
                    Reason.PROTOCOL_ERROR,
                )
            if end:
                self._read_line(bytes(self._line))
        self._flush(small_chunks)
        return position

    def _flush(self, small_chunks: bytearray) -> None:
        if small_chunks:
            self._on_body(memoryview(bytes(small_chunks)))
            small_chunks.clear()

    def _read_next_size(self, block: memoryview, position: int) -> int:
        """Read the end of a chunk and the next size line in its usual form; return the position after them.

        If the bytes are incomplete, in another form or the last size (0), the position does not change, and
        `_read_line` reads them.
        """
        size_line = _CHUNK_END_AND_SIZE.match(block, position)
        if size_line and (size := int(size_line[1], 16)):
            self._bytes_left = size
            self._count_size_line(size_line.end() - position)
            return size_line.end()
        self._line, self._awaits_chunk_end = bytearray(), True
        return position

    def _count_size_line(self, byte_count: int) -> None:
        self._size_line_bytes_left -= byte_count
        if self._size_line_bytes_left < 0:
            raise TerminalFailure(
                f"{self._address}: the chunk-size lines are far larger than the body", Reason.PROTOCOL_ERROR
            )

    def _read_line(self, line: bytes) -> None:
        """Process a complete line: the end of a chunk, the size of the next chunk, or a trailer."""
        self._line = bytearray()
        if self._trailer_bytes is not None:
            self._trailer_bytes += len(line)
            if self._trailer_bytes > MAX_HEAD_BYTES:
                raise TerminalFailure(
                    f"{self._address}: the trailers have more than {MAX_HEAD_BYTES} bytes", Reason.PROTOCOL_ERROR
                )
            self.is_done = not line.strip(b" \t\r\n")
            return
        self._count_size_line(len(line))
        if self._awaits_chunk_end and not line.strip(b" \t\r\n"):
            self._awaits_chunk_end = False
            return
        size_line = _SIZE_LINE.fullmatch(line)
        if not size_line:
            raise TerminalFailure(f"{self._address}: the size of a chunk is not valid", Reason.PROTOCOL_ERROR)
        self._bytes_left = int(size_line[1], 16)
        if self._bytes_left:
            self._line = None
        else:
            self._trailer_bytes = 0


def read_response_head(text: bytes, address: str) -> ResponseHead:
    """Read a complete head; raise TerminalFailure if its status line or length is invalid. Errors name `address`."""
    status_line = _STATUS_LINE.match(text)
    if not status_line:
        raise TerminalFailure(f"{address}: {_NO_STATUS_LINE}", Reason.PROTOCOL_ERROR)
    unfolded, has_odd_fold = text, False
    if b"\n " in text or b"\n\t" in text:
        unfolded = _FOLD.sub(b" ", text)
        has_odd_fold = text[status_line.end()] in _BLANKS  # the line after the status line cannot continue a field
    framing: dict[bytes, bytes] = {}
    for name, value in _FRAMING.findall(unfolded):
        field_name = name.lower()
        framing[field_name] = framing[field_name] + b"," + value if field_name in framing else value
    status, is_http_1_0 = int(status_line[3]), status_line[1] == b"1" and status_line[2] == b"0"
    connection_words = {*_split_words(framing[b"connection"])} if b"connection" in framing else _NO_WORDS
    is_reusable = (
        (b"keep-alive" in connection_words if is_http_1_0 else b"close" not in connection_words)
        and not has_odd_fold
        and not _is_ambiguous(unfolded)
    )
    if status in {204, 304} or status < 200:
        # If the server sent a body anyway, it would be read as the next response on the connection.
        has_body = b"transfer-encoding" in framing or framing.get(b"content-length", b"0").strip(b"0") != b""
        return ResponseHead(status, text, 0, chunked=False, stays=is_reusable and not has_body)
    length = framing.get(b"content-length")
    if b"transfer-encoding" in framing:
        codings = [*filter(None, _split_words(framing[b"transfer-encoding"]))]  # RFC 9110, section 5.6.1.2
        is_chunked = codings[-1:] == [b"chunked"]
        is_certain = length is None and codings.count(b"chunked") == 1 and not is_http_1_0
        return ResponseHead(status, text, None, is_chunked, is_reusable and is_chunked and is_certain)
    size = None if length is None else _read_length(length, address)
    return ResponseHead(status, text, size, chunked=False, stays=is_reusable and size is not None)


def _split_words(value: bytes) -> list[bytes]:
    return [word.strip(_BLANKS) for word in value.lower().split(b",")]


def _is_ambiguous(head: bytes) -> bool:
    """Return whether other readers may read a head differently: control bytes, a lone CR, a blank before a colon."""
    if head.translate(None, _CONTROL_BYTES) != head or head.count(b"\r") != head.count(b"\r\n"):
        return True
    return (b" :" in head or b"\t:" in head) and _SPACED_NAME.search(head) is not None


def _read_length(text: bytes, address: str) -> int:
    if text.isdigit() and len(text) < 19:
        return int(text)
    length, *other_lengths = {*_split_words(text)}
    if not other_lengths and length.isdigit() and len(length) < 19:
        return int(length)
    raise TerminalFailure(f"{address}: Content-Length is not one number of at most 18 digits", Reason.PROTOCOL_ERROR)
