"""Answers of broken and hostile servers: what is read of each, what is kept, and whether its connection is reused.

Each is given whole and in pieces of a few bytes; both are read alike. A reason stands for an answer that is refused.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest

from windrow.errors import WindrowError
from windrow.formats.http_response import ResponseHead, ResponseReader
from windrow.reasons import Reason

REFUSED, CUT = Reason.PROTOCOL_ERROR, Reason.INTERRUPTED
OPEN, CLOSED = True, False


class Expected(NamedTuple):
    """An answer in two parts, its last head and what follows; what is read as its body, and whether the connection stays open."""

    head: bytes
    rest: bytes
    body: bytes | Reason
    lives: bool = CLOSED
    before: bytes = b""  # interim heads


def ok(*lines: bytes, rest: bytes = b"hello", body: bytes | Reason = b"hello", lives: bool = CLOSED) -> Expected:
    """Return an answer 200 whose head has some lines."""
    return Expected(b"\r\n".join((b"HTTP/1.1 200 OK", *lines, b"", b"")), rest, body, lives)


def sized(*lines: bytes, lives: bool = CLOSED) -> Expected:
    """Return an answer with some lines before a good Content-Length."""
    return ok(*lines, b"Content-Length: 5", lives=lives)


def begun(first: bytes, lives: bool = CLOSED) -> Expected:
    """Return an answer with another status line."""
    return Expected(first + b"\r\nContent-Length: 5\r\n\r\n", b"hello", b"hello", lives)


def chunked(rest: bytes, body: bytes | Reason = b"hello", lives: bool = OPEN) -> Expected:
    """Return an answer in chunks."""
    return ok(b"Transfer-Encoding: chunked", rest=rest, body=body, lives=lives)


CHUNKS = b"5\r\nhello\r\n0\r\n\r\n"
LENGTHS = {
    "told twice alike": ok(b"Content-Length: 5", b"Content-Length: 5", lives=OPEN),
    "told twice in one field": ok(b"Content-Length: 5, 5", lives=OPEN),
    "told twice and different": ok(b"Content-Length: 5", b"Content-Length: 6", body=REFUSED),
    "with a plus": ok(b"Content-Length: +5", body=REFUSED),
    "with an underscore": ok(b"Content-Length: 0_5", body=REFUSED),
    "negative": ok(b"Content-Length: -1", body=REFUSED),
    "hexadecimal": ok(b"Content-Length: 0x5", body=REFUSED),
    "in Arabic digits": ok("Content-Length: \u0665".encode(), body=REFUSED),
    "beyond 64 bits": ok(b"Content-Length: 18446744073709551621", body=REFUSED),
    "behind a vertical tab": ok(b"Content-Length: \x0b5", body=REFUSED),
    "with a blank before its colon": ok(b"Content-Length : 5"),
    "with more behind it": ok(b"Content-Length: 5", rest=b"helloHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbad"),
    "of a 204": Expected(b"HTTP/1.1 204 N\r\nContent-Length: 5\r\n\r\n", b"hello", b""),
    "of a 304": Expected(b"HTTP/1.1 304 N\r\nContent-Length: 5\r\n\r\n", b"", b""),
    "not in a 304": Expected(b"HTTP/1.1 304 N\r\n\r\n", b"", b"", OPEN),
    "cut off": ok(b"Content-Length: 50", body=CUT),
}
CODINGS = {
    "a length beside chunks": ok(b"Content-Length: 3", b"Transfer-Encoding: chunked", rest=CHUNKS),
    "an empty word behind chunked": ok(b"Transfer-Encoding: chunked,", rest=CHUNKS, lives=OPEN),
    "gzip within chunks": ok(b"Transfer-Encoding: gzip, chunked", rest=CHUNKS, lives=OPEN),
    "identity around chunks": ok(b"Transfer-Encoding: chunked, identity", rest=CHUNKS, body=CHUNKS),
    "an unknown coding": ok(b"Transfer-Encoding: xchunked", rest=CHUNKS, body=CHUNKS),
    "a vertical tab before chunked": ok(b"Transfer-Encoding: \x0bchunked", rest=CHUNKS, body=CHUNKS),
    "a form feed behind chunked": ok(b"Transfer-Encoding: chunked\x0c", rest=CHUNKS, body=CHUNKS),
    "chunked in two fields": ok(b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked", rest=CHUNKS),
    "chunked twice in one field": ok(b"Transfer-Encoding: chunked, chunked", rest=CHUNKS),
    "chunks in HTTP/1.0": Expected(
        b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n", CHUNKS, b"hello"
    ),
}
CHUNKED = {
    "a negative size": chunked(b"-5\r\nhello\r\n0\r\n\r\n", REFUSED),
    "a size with 0x": chunked(b"0x5\r\nhello\r\n0\r\n\r\n", REFUSED),
    "a size with an underscore": chunked(b"0_5\r\nhello\r\n0\r\n\r\n", REFUSED),
    "a size of 18 digits": chunked(b"0" * 17 + b"5\r\nhello\r\n0\r\n\r\n", REFUSED),
    "bare line feeds": chunked(b"5\nhello\n0\n\n"),
    "a blank behind the size": chunked(b"5 \r\nhello\r\n0\r\n\r\n"),
    "an extension of 3 KB": chunked(b"5;" + b"x" * 3000 + b"\r\nhello\r\n0\r\n\r\n"),
    "an extension of 100 KB": chunked(b"5;" + b"x" * 100_000 + b"\r\nhello\r\n0\r\n\r\n", REFUSED),
    "an extension with a line feed": chunked(b"5;a\nb\r\nhello\r\n0\r\n\r\n", REFUSED),
    "an extension of 1 KB at each byte": chunked((b"1;" + b"e" * 1000 + b"\r\nx\r\n") * 3000 + b"0\r\n\r\n", REFUSED),
    "an extension of 10 bytes at each byte": chunked(b"1;e=12345678\r\nx\r\n" * 9000 + b"0\r\n\r\n", b"x" * 9000),
    "sizes of 16 digits at each byte": chunked((b"0" * 15 + b"1\r\nx\r\n") * 30_000 + b"0\r\n\r\n", REFUSED),
    "no line's end behind a chunk": chunked(b"5\r\nhelloXX0\r\n\r\n", REFUSED),
    "a vertical tab as the end of a chunk": chunked(b"5\r\nhello\x0b\r\n0\r\n\r\n", REFUSED),
    "a vertical tab as the last line": chunked(b"5\r\nhello\r\n0\r\n\x0b\r\n", CUT),
    "trailers of 200 KB": chunked(b"5\r\nhello\r\n0\r\n" + b"T: x\r\n" * 40_000 + b"\r\n", REFUSED),
    "an end within a chunk": chunked(b"50\r\nhello", CUT),
    "an end before the last chunk": chunked(b"5\r\nhello\r\n", CUT),
}
HEADS = {
    "a folded line": sized(b"X: a\r\n b", lives=OPEN),
    "a length folded behind another field": sized(b"X: a\r\n Content-Length: 3", lives=OPEN),
    "a length in two lines": ok(b"Content-Length:\r\n\t5", lives=OPEN),
    "a first line that is folded": sized(b" Content-Length: 3"),
    "NUL in a value": sized(b"X: a\x00b"),
    "NUL in a name": sized(b"X\x00: a"),
    "an escape in a value": sized(b"X: \x1b[2J"),
    "a lone carriage return in a value": sized(b"X: a\rContent-Length: 3"),
    "a carriage return too many": sized(b"X: a\r"),
    "a tab before a colon": sized(b"X\t: a"),
    "a blank before a colon": sized(b"X : a"),
    "a blank before a later colon": sized(b"X: a : b", lives=OPEN),
    "a blank in a name": sized(b"X y: a", lives=OPEN),
    "no colon": sized(b"nonsense", lives=OPEN),
    "Latin-1 in a value": sized(b"X: caf\xe9", lives=OPEN),
    "9,000 fields": sized(*[b"A: b"] * 9000, lives=OPEN),
    "5,000 fields": sized(*[b"Aaa: b"] * 5000, lives=OPEN),
    "130,000 fields": sized(*[b"Aaa: b"] * 130_000)._replace(body=REFUSED),
    "a value of 30 KB": sized(b"Set-Cookie: " + b"x" * 30_000, lives=OPEN),
    "bare line feeds": Expected(b"HTTP/1.1 200 OK\nContent-Length: 5\n\n", b"hello", b"hello", OPEN),
    "some bare line feeds": Expected(b"HTTP/1.1 200 OK\r\nA: b\nContent-Length: 5\r\n\n", b"hello", b"hello", OPEN),
    "an end within the head": Expected(b"HTTP/1.1 200 OK\r\nContent-Le", b"", CUT),
}
FIRST_LINES = {
    "no words": begun(b"HTTP/1.1 200", OPEN),
    "two blanks": begun(b"HTTP/1.1  200 OK", OPEN),
    "HTTP/2.0": begun(b"HTTP/2.0 200 OK", OPEN),
    "status 999": begun(b"HTTP/1.1 999 X", OPEN),
    "status 099": begun(b"HTTP/1.1 099 X")._replace(body=REFUSED),
    "a carriage return too many": Expected(b"HTTP/1.1 200 OK\r\r\n\r\n", b"Content-Length: 5\r\n\r\nhello", REFUSED),
    "HTTP/0.9": Expected(b"hello world, no head at all\r\n\r\n", b"", REFUSED),
    "another protocol": Expected(b"HTTP/1.1 101 S\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", b"hello", REFUSED),
    "an interim answer": sized(lives=OPEN)._replace(before=b"HTTP/1.1 100 Go\r\n\r\n"),
    "an interim answer with NUL": sized()._replace(before=b"HTTP/1.1 103 Early\r\nLink: \x00\r\n\r\n"),
    "10,000 interim answers": sized()._replace(before=b"HTTP/1.1 103 E\r\nLink: x\r\n\r\n" * 10_000, body=REFUSED),
}
ANSWERS = {
    f"{name}: {key}": value
    for name, table in (
        *(("length", LENGTHS), ("coding", CODINGS), ("chunks", CHUNKED)),
        *(("head", HEADS), ("first line", FIRST_LINES)),
    )
    for key, value in table.items()
}


def take(content: bytes, step: int) -> tuple[list[ResponseHead], bytes | Reason, bool]:
    """Read an answer in pieces as a line does, which ends behind it; return heads, body, and whether the connection stays open."""
    heads: list[ResponseHead] = []
    body = bytearray()
    reader = ResponseReader("http://h/", heads.append, body.extend)
    try:
        for at in range(0, len(content), step):
            if reader.is_done:
                reader.is_reusable = False  # further bytes that nothing requested
                break
            reader.feed(memoryview(content)[at : at + step])
        if not reader.is_done:
            reader.end()
    except WindrowError as error:
        assert error.reason is not None
        return heads, error.reason, False
    return heads, bytes(body), reader.is_reusable


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("step", [1 << 16, 7])
def test_an_answer_is_read_in_one_way_and_kept_as_it_came(name: str, step: int) -> None:
    expected = ANSWERS[name]
    lives = False if isinstance(expected.body, Reason) else expected.lives
    heads, body, alive = take(expected.before + expected.head + expected.rest, step)
    assert (body, alive) == (expected.body, lives)
    if not isinstance(body, Reason):
        assert [head.text for head in heads] == [expected.head]


@pytest.mark.parametrize("extension", [0, 9, 10, 11, 12, 13, 14, 15, 40, 100])
def test_the_room_of_chunks_own_lines_does_not_depend_on_how_they_arrive(extension: int) -> None:
    content = chunked((b"1;" + b"e" * extension + b"\r\nx\r\n") * 3_000 + b"0\r\n\r\n").head
    content += (b"1;" + b"e" * extension + b"\r\nx\r\n") * 3_000 + b"0\r\n\r\n"
    taken = {step: take(content, step)[1] for step in (1, 7, 1000, 1 << 16, len(content))}
    assert len({*taken.values()}) == 1
    lines = 3_000 * (6 + extension)
    assert isinstance(taken[7], Reason) == (lines > 65_536 + 16 * 3_000)
