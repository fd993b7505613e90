"""An answer is parsed the same way in any pieces, and an endless one is not read for ever."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.errors import TransportError
from windrow.formats.http_response import MAX_HEAD_BYTES, ResponseReader
from windrow.reasons import Reason


def take(text, cuts=(), ended=True):
    """Feed a text in pieces; return statuses, body and the reader."""
    heads, body = [], bytearray()
    reader = ResponseReader("http://h/", heads.append, body.extend)
    at = 0
    for cut in sorted({*(cut for cut in cuts if cut < len(text)), len(text)}):
        if not reader.is_done:
            reader.feed(memoryview(text[at:cut]))
        at = cut
    if ended:
        reader.end()
    return heads, bytes(body), reader


ANSWERS = {
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello": (b"hello", True),
    b"HTTP/1.1 200 OK\nContent-Length: 5\n\nhello": (b"hello", True),
    b"HTTP/1.0 200 OK\r\n\r\nhello": (b"hello", False),
    b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5, 5\r\n\r\nhello": (b"hello", True),
    b"HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 5\r\n\r\nhello": (b"hello", False),
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nhel\r\n2\nlo\r\n0\r\nT: x\r\n\r\n": (
        b"hello",
        True,
    ),
    b"HTTP/1.1 200\r\nTransfer-Encoding: gzip,\r\n chunked\r\nContent-Length: 1\r\n\r\n5\r\nhello\r\n0\r\n\r\n": (
        b"hello",
        False,
    ),
    b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello": (b"hello", True),
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 2\r\n\r\nhello": (b"hello", False),
    b"HTTP/1.1 404 Not Found\r\n\r\nhello": (b"hello", False),  # an error without a length
    b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n": (b"", True),
    b"\r\nHTTP/1.1 304 Not Modified\r\nContent-Length: 500\r\n\r\n": (b"", False),
    b"HTTP/1.1 304 Not Modified\r\nETag: x\r\nContent-Length: 0\r\n\r\n": (b"", True),
    b"HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n": (b"", False),
    b"HTTP/1.1 204 None\r\nContent-Length: 9\r\n\r\n": (b"", False),
    b"HTTP/1.1 204 None\r\n\r\n": (b"", True),
    b"HTTP/1.1 103 Early\r\nContent-Length: 9\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello": (
        b"hello",
        False,
    ),
    b"HTTP/1.1 204 None\r\nTransfer-Encoding: chunked\r\n\r\n": (b"", False),
}


@pytest.mark.parametrize("text", ANSWERS)
def test_bodies_end_where_they_say(text):
    body, keep = ANSWERS[text]
    heads, body_read, reader = take(text, ended=False)
    before = (body_read, reader.is_done)
    if not reader.is_done:  # an answer that ends with the connection
        reader.end()
    assert (len(heads), body_read, reader.is_done, reader.is_reusable) == (1, body, True, keep), before


@given(text=st.sampled_from(sorted(ANSWERS)), cuts=st.lists(st.integers(1, 200), max_size=12))
def test_it_does_not_matter_how_it_arrives(text, cuts):
    heads, body, reader = take(text, cuts)
    assert (len(heads), body, reader.is_done) == (1, ANSWERS[text][0], True)


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "text",
    [
        b"SSH-2.0-OpenSSH\r\n",
        b"ICY 200 OK\r\n\r\n",
        b"<html>a page without a head</html>",
        b"HTTP/1.1 two hundred\r\n\r\n",
        b"HTTP/2.0 2000 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5 5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0x5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 30 + b"\r\n\r\nhello",
        CHUNKED + b"five\r\nhello",
        CHUNKED + b"-5\r\nhello",
        CHUNKED + b"0x5\r\nhello",
        CHUNKED + b"f" * 17 + b"\r\nhello",
        CHUNKED + b"1" * 5000,
        CHUNKED + b"5;" + b"x" * 5000,
        CHUNKED + b"\r\n5\r\nhello",
        CHUNKED + b"5\r\nhello" + b"\r\n" * 10,
        CHUNKED + b"5\r\nhello, world\r\n0\r\n\r\n",
        CHUNKED + b"0\r\n" + b"a: b\r\n" * MAX_HEAD_BYTES,
        b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * MAX_HEAD_BYTES,
        b"HTTP/1.1 100 Go on\r\n\r\n" * MAX_HEAD_BYTES,
        b"\r\n" * MAX_HEAD_BYTES,
        b"HTTP/1.1 101 Switching\r\n\r\n",
    ],
)
@pytest.mark.parametrize("step", [0, 7])
def test_what_is_no_answer_is_refused_before_it_ends(text, step):
    with pytest.raises(TransportError) as caught:
        take(text, range(step, len(text), step) if step else (), ended=False)
    assert caught.value.reason is Reason.PROTOCOL_ERROR


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"ICY 200 OK\r\n\r\n", "does not begin with a valid HTTP status line"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1234567890123456789\r\n\r\n", "is not one number of at most 18 digits"),
    ],
)
def test_a_refused_head_says_what_is_wrong(text, problem):
    with pytest.raises(TransportError, match=problem):
        take(text, ended=False)


def test_a_huge_chunk_is_not_waited_for():
    """Its size is only announced: the caller bounds the bytes that come."""
    _, body, reader = take(CHUNKED + b"ffffffffffffffff\r\nhello", ended=False)
    assert (body, reader.is_done) == (b"hello", False)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"HT",
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 103 Early\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
        CHUNKED,
        CHUNKED + b"5",
        CHUNKED + b"5\r\nhel",
        CHUNKED + b"5\r\nhello",
        CHUNKED + b"5\r\nhello\r\n",
        CHUNKED + b"5\r\nhello\r\n0\r\n",
        CHUNKED + b"5\r\nhello\r\n0\r\nT: x\r\n",
    ],
)
def test_an_answer_that_breaks_off_is_known_to(text):
    with pytest.raises(TransportError) as caught:
        take(text)
    assert caught.value.reason is Reason.INTERRUPTED


def test_more_than_was_asked_for_closes_the_line():
    _, body, reader = take(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello, world", ended=False)
    assert (body, reader.is_done, reader.is_reusable) == (b"hello", True, False)
