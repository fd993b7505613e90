"""Decoding a body's codings: the plain bytes or a reason, and never more memory than allowed."""

import gzip
import tracemalloc
import zlib
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.errors import StepError
from windrow.formats.http import FREE_BYTES, decode_body
from windrow.reasons import Reason

MOST = 4 << 20
TEXT = b"<p>Tea is poured at four.</p>\n" * 400


def decode(body, content="", transfer="", *, most=MOST, ratio=200):
    fields = {"content-encoding": content, "transfer-encoding": transfer}
    return decode_body(body, {name: value for name, value in fields.items() if value}, most=most, ratio=ratio)[0]


def ends_early(body, content):
    return decode_body(body, {"content-encoding": content}, most=MOST, ratio=1000)[1]


def refused(*args, **more):
    with pytest.raises(StepError) as caught:
        decode(*args, **more)
    return caught.value.reason


def raw(body):
    squeezed = zlib.compressobj(wbits=-15)
    return squeezed.compress(body) + squeezed.flush()


def chunked(body, size):
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\nX-Trailer: y\r\n\r\n"


@pytest.mark.parametrize(
    ("body", "coding"),
    [
        (TEXT, ""),
        (TEXT, "identity"),
        (gzip.compress(TEXT, mtime=0), "gzip"),
        (gzip.compress(TEXT, mtime=0), "X-GZip"),
        (gzip.compress(TEXT[:100], mtime=0) + gzip.compress(TEXT[100:], mtime=0), "gzip"),
        (gzip.compress(TEXT, mtime=0) + bytes(20), "gzip"),
        (zlib.compress(TEXT), "deflate"),
        (raw(TEXT), "deflate"),
        (zlib.compress(gzip.compress(TEXT, mtime=0)), "gzip, deflate"),
        (TEXT, "gzip"),
        (b"", "gzip"),
    ],
)
def test_a_coding_is_undone(body, coding):
    assert decode(body, coding) == (TEXT if body else b"")


@given(st.binary(max_size=3000), st.integers(1, 500))
def test_chunks_are_joined_whatever_is_in_them(body, size):
    assert decode(chunked(body, size), transfer="chunked") == body


def test_chunks_lie_around_what_is_compressed():
    assert decode(chunked(gzip.compress(TEXT), 100), "gzip", "chunked") == TEXT
    assert decode(chunked(gzip.compress(TEXT), 100), transfer="gzip, chunked") == TEXT
    assert decode(b"5;name=value\r\nhello\r\n0\r\n\r\n", transfer="chunked") == b"hello"


@pytest.mark.parametrize("body", [TEXT, b"ab\r\nlines of a text that was no longer chunked", b"12\n12\n"])
def test_a_body_that_is_not_chunked_any_more_stays_as_it_is(body):
    assert decode(body, transfer="chunked") == body


def test_what_ends_too_early_is_returned_as_far_as_it_goes():
    whole = gzip.compress(bytes(range(256)) * 4000, 1)
    part = decode(whole[: len(whole) // 2], "gzip", ratio=1000)
    assert 0 < len(part) < 256 * 4000
    assert part == (bytes(range(256)) * 4000)[: len(part)]
    assert ends_early(whole[: len(whole) // 2], "gzip")
    assert ends_early(gzip.compress(TEXT) + gzip.compress(TEXT)[:-1], "gzip")
    assert ends_early(gzip.compress(zlib.compress(TEXT)[:-5]), "deflate, gzip")
    assert not ends_early(whole, "gzip")
    assert not ends_early(gzip.compress(TEXT) + bytes(20), "gzip")
    assert decode(b"5\r\nhello\r\n7\r\nwor", transfer="chunked") == b"hellowor"
    chunked = {"transfer-encoding": "chunked"}
    for body, is_cut in (
        (b"5\r\nhello\r\n7\r\nwor", True), (b"5\r\nhello\r\n", True), (b"5\r\nhello\r\n0\r\n\r\n", False),
        (b"hello", False), (b"5\r\nhello", False),
    ):  # fmt: skip
        assert decode_body(body, chunked, most=MOST, ratio=9)[1] == is_cut


def test_broken_and_unknown_codings_have_their_reasons():
    broken = bytearray(gzip.compress(TEXT))
    broken[10] ^= 0xFF
    assert refused(bytes(broken), "gzip") is Reason.CORRUPT
    assert refused(gzip.compress(TEXT)[:8], "gzip") is Reason.TRUNCATED
    assert decode(gzip.compress(b""), "gzip") == b""
    assert refused(TEXT, "x-magic") is Reason.UNSUPPORTED


def test_a_gzip_body_of_too_many_members_is_refused_and_not_cut():
    members = [gzip.compress(b"%d," % number, 1, mtime=0) for number in range(1_001)]
    assert decode(b"".join(members[:1000]), "gzip").endswith(b",999,")
    assert refused(b"".join(members), "gzip") is Reason.TOO_LARGE


def test_at_most_three_codings_and_a_last_chunked_are_decoded():
    thrice = gzip.compress(gzip.compress(gzip.compress(TEXT)))
    assert decode(chunked(thrice, 100), "gzip, gzip", "gzip, chunked") == TEXT
    assert refused(gzip.compress(thrice), "gzip, gzip, gzip, gzip") is Reason.UNSUPPORTED
    assert refused(thrice, "chunked, gzip, gzip, gzip") is Reason.UNSUPPORTED


def test_a_bomb_is_never_expanded():
    zeros = bytes(64 << 20)
    bomb, wrapped = gzip.compress(zeros, 1), zlib.compress(zeros, 1)
    nested = gzip.compress(gzip.compress(bomb))
    del zeros
    tracemalloc.start()
    assert refused(bomb, "gzip") is Reason.BOMB_RATIO
    assert refused(wrapped, "deflate") is Reason.BOMB_RATIO
    assert refused(nested, "gzip, gzip, gzip") is Reason.BOMB_RATIO
    assert refused(bomb, "gzip", most=MOST, ratio=10_000) is Reason.BOMB_TOTAL
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * MOST


def test_a_ratio_counts_from_a_size_on():
    """A small page of one repeated line is accepted."""
    assert len(decode(gzip.compress(bytes(FREE_BYTES)), "gzip", ratio=10)) == FREE_BYTES
    assert refused(gzip.compress(bytes(FREE_BYTES + 1)), "gzip", ratio=10) is Reason.BOMB_RATIO
    noise = gzip.compress(Random(1).randbytes(FREE_BYTES + 1), 1)
    assert refused(noise, "gzip", most=FREE_BYTES) is Reason.BOMB_TOTAL


@given(st.binary(max_size=300), st.sampled_from(["gzip", "deflate", "gzip, deflate", "br", "zstd"]))
def test_any_bytes_end_in_bytes_or_a_reason(body, coding):
    for given_ in (body, b"\x1f\x8b\x08\x00" + body, gzip.compress(TEXT)[:40] + body):
        try:
            decode(given_, coding, transfer="chunked")
        except StepError as error:
            assert error.reason in {
                Reason.CORRUPT,
                Reason.TRUNCATED,
                Reason.UNSUPPORTED,
                Reason.BOMB_RATIO,
                Reason.BOMB_TOTAL,
            }


def test_brotli_is_undone_within_the_bounds():
    brotli = pytest.importorskip("brotli")
    assert decode(brotli.compress(TEXT), "br") == TEXT
    assert refused(brotli.compress(bytes(32 << 20)), "br") is Reason.BOMB_RATIO
    assert refused(b"\xff" * 40, "br") is Reason.CORRUPT
    assert TEXT.startswith(decode(brotli.compress(TEXT)[:-3], "br"))
    assert ends_early(brotli.compress(TEXT)[:-3], "br")
    assert not ends_early(brotli.compress(TEXT), "br")


def test_zstd_is_undone_within_the_bounds():
    zstandard = pytest.importorskip("zstandard")
    assert decode(zstandard.compress(TEXT), "zstd") == TEXT
    assert refused(zstandard.compress(bytes(32 << 20)), "zstd") is Reason.BOMB_RATIO
    assert refused(b"\xff" * 40, "zstd") is Reason.CORRUPT
    frames = zstandard.compress(TEXT) + zstandard.compress(b"") + zstandard.compress(TEXT)
    assert decode(frames, "zstd") == TEXT * 2
    assert not ends_early(frames, "zstd")


def test_zstd_that_ends_early_is_a_part():
    zstandard = pytest.importorskip("zstandard")
    noise = Random(1).randbytes(400_000)
    coded = zstandard.compress(noise)
    part, is_cut = decode_body(coded[: len(coded) // 2], {"content-encoding": "zstd"}, most=MOST, ratio=1000)
    assert is_cut
    assert len(part) > 100_000
    assert noise.startswith(part)
    second = zstandard.compress(TEXT)
    for size in (1, 4, 10, len(second) - 1):
        assert ends_early(coded + second[:size], "zstd"), size


def test_gzip_whose_second_member_ends_early_is_a_part():
    first = gzip.compress(TEXT)
    for size in (1, 2, 5, 15, 19, len(first) - 1):
        part, is_cut = decode_body(first + first[:size], {"content-encoding": "gzip"}, most=MOST, ratio=1000)
        assert is_cut, size
        assert part.startswith(TEXT), size
    broken = bytearray(first)
    broken[-6] ^= 1  # its checksum
    for later in (bytes(broken), b"\x1f\x8b no gzip"):
        part, is_cut = decode_body(first + later, {"content-encoding": "gzip"}, most=MOST, ratio=1000)
        assert is_cut
        assert part.startswith(TEXT)
    assert refused(bytes(broken), "gzip") is Reason.CORRUPT
    assert refused(b"\x1f", "gzip") is Reason.TRUNCATED
    assert refused(gzip.compress(b"") + first[:5], "gzip") is Reason.TRUNCATED


@pytest.mark.parametrize(("coding", "module"), [("br", "brotli"), ("zstd", "zstandard")])
def test_a_body_cut_before_its_first_decoded_byte_is_truncated_and_not_empty(coding, module):
    compress = pytest.importorskip(module).compress
    assert refused(compress(TEXT)[:5], coding) is Reason.TRUNCATED
    assert decode(compress(b""), coding) == b""
