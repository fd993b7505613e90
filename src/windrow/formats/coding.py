"""The codings of an HTTP body, undone: chunks (RFC 9112, section 7.1) and content codings (RFC 9110, section 8.4).

A body is hostile until it is plain: it is inflated piece by piece, and none is asked for beyond the bounds. Of a body
that is called gzip, or chunked, its own bytes are believed first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any, NamedTuple, cast

from isal import isal_zlib

from windrow.errors import StepError
from windrow.reasons import Reason

try:
    import brotli
except ImportError:  # an optional part; nobody is asked for br without it
    brotli = cast("ModuleType", None)
try:
    import zstandard
except ImportError:
    zstandard = cast("ModuleType", None)

ASKED = "gzip, deflate"
"""What a crawl says that it takes (Accept-Encoding): that which is always here."""

FREE = 1 << 20
"""Bytes that a body may always inflate to: a short page of one repeated line is no bomb."""

DEEP = 3
"""Codings laid around each other that are undone."""

_BLOCK = 256 * 1024
_MEMBERS = 1_000  # of a gzip file
_WINDOW = 8 << 20  # bytes; what RFC 9659 allows zstd in HTTP
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]{0,4096})?\r\n")
_BROKEN = cast("type[Exception]", isal_zlib.error)

_Blocks = Iterator[tuple[bytes, int]]
"""Plain pieces, and how many coded bytes were taken up for all of them so far."""


class _Bounds(NamedTuple):
    """How far a body of `size` bytes may inflate: to `most` bytes, and to `ratio` times its size."""

    size: int
    most: int
    ratio: int


def plain(body: bytes, fields: Mapping[str, str], *, most: int, ratio: int) -> bytes:
    r"""Return a body without its codings; `fields` are the response's, by name in lower case.

    It may grow to `most` bytes, and beyond `FREE` to `ratio` times what was taken up for it. What ends too early is
    returned as far as it goes. Raises StepError with BOMB_RATIO or BOMB_TOTAL at the bound, CORRUPT where the bytes are
    broken, TRUNCATED where they say nothing yet, UNSUPPORTED for a coding that is not known here.

    >>> import gzip
    >>> plain(gzip.compress(b"tea"), {"content-encoding": "gzip"}, most=100, ratio=10)
    b'tea'
    >>> plain(b"3\r\ntea\r\n0\r\n\r\n", {"transfer-encoding": "chunked"}, most=100, ratio=10)
    b'tea'
    """
    transfer, content = fields.get("transfer-encoding", ""), fields.get("content-encoding", "")
    if not transfer and not content:
        return body
    codings = [*_named(content), *_named(transfer)]
    if len(codings) > DEEP + 1:
        raise StepError(f"{len(codings)} codings around each other", Reason.UNSUPPORTED)
    bounds = _Bounds(len(body), most, ratio)
    for coding in reversed(codings):
        if coding == "chunked":
            body = _unchunked(body)
        elif coding not in _CODINGS:
            raise StepError(f"the coding {coding[:40]!r} is not known here", Reason.UNSUPPORTED)
        elif body and (blocks := _CODINGS[coding](body)) is not None:
            body = _within(blocks, bounds, len(body))
    return body


def _named(field: str) -> list[str]:
    """Return the codings that a field names, in the order in which they were laid on; identity is none."""
    return [one for word in field.split(",") if (one := word.partition(";")[0].strip().lower()) not in {"", "identity"}]


def _within(blocks: _Blocks, bounds: _Bounds, coded: int) -> bytes:
    """Put plain pieces together, up to the bounds; of the whole body, `coded` bytes lie at this depth."""
    made = bytearray()
    for block, taken in blocks:
        made += block
        size = len(made)
        if size > FREE and size > bounds.ratio * max(1, bounds.size * taken // coded):
            raise StepError(f"the body inflates beyond {bounds.ratio} times its size", Reason.BOMB_RATIO)
        if size > bounds.most:
            raise StepError(f"the body inflates to more than {bounds.most} bytes", Reason.BOMB_TOTAL)
    return bytes(made)


def _unchunked(body: bytes) -> bytes:
    """Join chunks as far as they go; a body that does not begin with one is not chunked any more."""
    found = _SIZE.match(body)
    if not found:
        return body
    made = bytearray()  # of small chunks there may be millions
    view = memoryview(body)
    while found and (size := int(found[1], 16)):
        after = found.end() + size
        if not made and body[after : after + 2] != b"\r\n":
            return body  # its first line looks like a size and is none
        made += view[found.end() : after]
        found = _SIZE.match(body, after + 2)
    return bytes(made)


def _gzip(body: bytes) -> _Blocks | None:
    """Inflate gzip (RFC 1952), member after member; what follows the last is passed over."""
    return _members(body) if body.startswith(b"\x1f\x8b") else None


def _members(body: bytes) -> _Blocks:
    rest = body
    for _ in range(_MEMBERS):
        stream = isal_zlib.decompressobj(wbits=31)
        yield from _inflated(stream, rest, len(body) - len(rest))
        rest = stream.unused_data
        if not stream.eof or not rest.startswith(b"\x1f\x8b"):
            return


def _deflate(body: bytes) -> _Blocks:
    """Inflate zlib (RFC 1950), or the bare deflate (RFC 1951) that some servers send under that name."""
    wrapped = len(body) > 1 and body[0] & 15 == 8 and int.from_bytes(body[:2]) % 31 == 0
    return _inflated(isal_zlib.decompressobj(wbits=15 if wrapped else -15), body, 0)


def _inflated(stream: Any, body: bytes, before: int) -> _Blocks:
    """Inflate one stream in pieces; `before` coded bytes were taken up for earlier ones."""
    given, begun = body, False
    while not stream.eof:
        try:
            block = stream.decompress(given, _BLOCK)
        except _BROKEN:
            raise StepError("the compressed body is broken", Reason.CORRUPT) from None
        given = stream.unconsumed_tail
        if not block and not given:
            if begun or stream.eof:
                return
            raise StepError("the compressed body ends before it says anything", Reason.TRUNCATED)
        begun = True
        yield block, before + len(body) - len(given) - len(stream.unused_data)


def _brotli(body: bytes) -> _Blocks:
    """Expand brotli (RFC 7932)."""
    stream = brotli.Decompressor()
    try:
        block = stream.process(body, output_buffer_limit=_BLOCK)
        while block or not stream.is_finished():
            yield block, len(body)
            if stream.can_accept_more_data():
                return
            block = stream.process(b"", output_buffer_limit=_BLOCK)
    except brotli.error:
        raise StepError("the compressed body is broken", Reason.CORRUPT) from None


def _zstd(body: bytes) -> _Blocks:
    """Expand Zstandard (RFC 8878), within the window of RFC 9659."""
    reader = zstandard.ZstdDecompressor(max_window_size=_WINDOW).stream_reader(body, read_across_frames=True)
    try:
        while block := reader.read(_BLOCK):
            yield block, len(body)
    except zstandard.ZstdError:
        raise StepError("the compressed body is broken", Reason.CORRUPT) from None


_CODINGS: dict[str, Callable[[bytes], _Blocks | None]] = {"gzip": _gzip, "x-gzip": _gzip, "deflate": _deflate}
if brotli is not None and hasattr(brotli.Decompressor, "can_accept_more_data"):  # older ones know no bound
    _CODINGS["br"] = _brotli
if zstandard is not None:
    _CODINGS["zstd"] = _zstd
