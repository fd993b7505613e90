"""Read the heads of archived HTTP responses and their fields, and decode the bodies.

A body may be an attack, so it is inflated piece by piece, and only up to a size and a ratio. Its bytes decide whether
it is really gzip or chunked, because some servers announce codings that they did not apply.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from functools import lru_cache
from types import ModuleType
from typing import Any, NamedTuple, cast

from isal import isal_zlib

from windrow.caps import GZIP_MEMBERS, HTTP_CODINGS, URL_CHARACTERS
from windrow.errors import StepError
from windrow.formats.moment import read_utc_time
from windrow.reasons import Reason

_LIST_SEPARATORS = dict.fromkeys(("content-encoding", "content-language", "link", "transfer-encoding"), ", ")
_LIST_SEPARATORS["x-robots-tag"] = "\n"
"""A dict from fields whose values are lists (RFC 9110, section 5.3) to the separators that join several values."""

_BLANKS = " \t\r"
"""Characters that may surround a name or a value; `str.strip()` would also remove the second byte of `à` in UTF-8."""

_FOLD = re.compile(r"\r\n[ \t]++")
_BLANK_LINES = re.compile(rb"[\r\n]*+")  # some servers begin with blank lines (RFC 9112, section 2.2)
_HEAD_END = re.compile(rb"\r\n\r\n|\n\n")


class HttpHead(NamedTuple):
    """A response's status (None if it is not three digits), and its fields as `join_fields` returns them."""

    status: int | None
    fields: Mapping[str, str]


def unfold(text: str) -> str:
    r"""Join each continuation line (a blank follows CR LF) to the line before it (RFC 9112, section 5.2).

    >>> unfold("Date: Sat,\r\n\t21 Nov 2026\r\nETag: x")
    'Date: Sat, 21 Nov 2026\r\nETag: x'
    """
    return _FOLD.sub(" ", text) if "\r\n " in text or "\r\n\t" in text else text


def find_body(block: bytes) -> int:
    r"""Return the offset of the body in a block that begins with a response's head, or -1 if the head is incomplete.

    >>> find_body(b"HTTP/1.1 200 OK\r\n\r\nbody"), find_body(b"HTTP/1.0 200 OK\nA: b\n\nbody"), find_body(b"none")
    (19, 22, -1)
    """
    blank_lines = _BLANK_LINES.match(block)
    end = _HEAD_END.search(block, blank_lines.end() if blank_lines else 0)
    return end.end() if end else -1


@lru_cache(maxsize=64)
def read_head(head: bytes) -> HttpHead:
    r"""Read a response's head, whose lines may end in a bare line feed. It never raises an error.

    >>> read_head(b"HTTP/1.1 200 OK\r\nETag: \"x\"\r\n\r\n")
    HttpHead(status=200, fields={'etag': '"x"'})
    """
    text = head.decode("latin-1").lstrip("\r\n").replace("\r\n", "\n").replace("\n", "\r\n")
    status_line, *lines = unfold(text).split("\r\n")
    status_words = status_line.split(" ")[1:2]
    status = (
        int(status_words[0])
        if status_words and status_words[0].isascii() and status_words[0].isdecimal() and len(status_words[0]) == 3
        else None
    )
    pairs = (line.partition(":") for line in lines)
    return HttpHead(
        status, join_fields((name.strip(_BLANKS), value.strip(_BLANKS)) for name, colon, value in pairs if colon)
    )


def is_interim(head: bytes) -> bool:
    r"""Return whether a head is that of an interim response, which the head of the whole response may follow.

    That is any status from 100 to 199 but 101, after which the connection has another protocol (RFC 9110, section
    15.2).

    >>> is_interim(b"HTTP/1.1 103 Early Hints\r\n\r\n"), is_interim(b"HTTP/1.1 200 OK\r\n\r\n")
    (True, False)
    """
    status = read_head(head).status or 0
    return 100 <= status < 200 and status != 101


def join_fields(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    r"""Return a dict from the names of fields, in lower case, to their values.

    The values of a repeated field are joined if it is a list; otherwise the first one is kept. Values of `X-Robots-Tag`
    are joined by line feeds, because an agent's name applies only within its own value.

    >>> join_fields([("Link", "<a>"), ("ETag", "x"), ("etag", "y"), ("LINK", "<b>")])
    {'link': '<a>, <b>', 'etag': 'x'}
    """
    fields: dict[str, str] = {}
    for written_name, value in pairs:
        name = written_name.lower()
        if name not in fields:
            fields[name] = value
        elif name in _LIST_SEPARATORS:
            fields[name] += _LIST_SEPARATORS[name] + value
    return fields


def redecode_as_utf_8(value: str) -> str:
    """Decode a field's value as UTF-8 after it was decoded as Latin-1; return it unchanged if it is not UTF-8.

    >>> redecode_as_utf_8("/caf\u00c3\u00a9"), redecode_as_utf_8("/caf\u00e9")
    ('/caf\u00e9', '/caf\u00e9')
    """
    if value.isascii():
        return value
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return value


def read_location(status: int | None, fields: Mapping[str, str]) -> str:
    """Return the Location of a redirect, or "" if the field is missing or too long for an address.

    With another status it is not where the document is (RFC 9110, section 10.2.2), so the result is "".

    >>> [read_location(status, {"location": "/a"}) for status in (200, 301, 304)]
    ['', '/a', '']
    """
    if status is None or not 300 <= status < 400 or status == 304:
        return ""
    location = redecode_as_utf_8(fields.get("location", ""))
    return "" if location[URL_CHARACTERS.number :] else location


def find_validator(fields: Mapping[str, str]) -> str:
    """Return the validator for If-Range: a strong ETag, or a strong Last-Modified if there is no ETag, or else "".

    Last-Modified is strong if the response was sent at least a second later (RFC 9110, sections 8.8.2.2 and 13.1.5):
    within that second the file may have changed again.

    >>> find_validator({"etag": '"a"', "last-modified": "Sat, 21 Nov 2026 12:00:00 GMT"})
    '"a"'
    >>> find_validator({"etag": 'W/"a"'})
    ''
    """
    etag, last_modified = fields.get("etag", ""), fields.get("last-modified", "")
    if etag.startswith('"') and etag.endswith('"') and len(etag) > 1:
        return etag
    sent_at, changed_at = read_utc_time(fields.get("date", "")), read_utc_time(last_modified)
    is_strong = sent_at is not None and changed_at is not None and sent_at - changed_at >= timedelta(seconds=1)
    return last_modified if is_strong and not etag else ""


def is_same_version(expected: str, fields: Mapping[str, str]) -> bool:
    """Return whether a partial response belongs to the version whose validator, from `find_validator`, is `expected`.

    This detects a server that ignores If-Range: a partial response must repeat the ETag (RFC 9110, section 15.3.7), but
    may leave out Last-Modified. If `expected` is "", return False.

    >>> is_same_version('"a"', {"etag": '"b"'}), is_same_version('"a"', {}), is_same_version('"a"', {"etag": '"a"'})
    (False, False, True)
    """
    if expected.startswith('"'):
        return fields.get("etag") == expected
    return bool(expected) and fields.get("last-modified", expected) == expected


def read_media_type(fields: Mapping[str, str]) -> str:
    """Return Content-Type in lower case without parameters, or "" if it is missing or not valid.

    >>> read_media_type({"content-type": "Text/HTML; charset=utf-8"})
    'text/html'
    """
    return _media_type(fields.get("content-type", "")[:1000])


@lru_cache(maxsize=256)
def _media_type(text: str) -> str:
    kind = text.partition(";")[0].strip().lower()
    is_valid = kind.isascii() and kind.isprintable() and " " not in kind and kind.count("/") == 1 and len(kind) <= 128
    return kind if is_valid else ""


try:
    import brotli
except ImportError:  # an extra; without it a body in br is UNSUPPORTED
    brotli = cast("ModuleType", None)
try:
    import zstandard
except ImportError:
    zstandard = cast("ModuleType", None)

ACCEPT_ENCODING = "gzip, deflate"
"""The Accept-Encoding of a crawl: the codings that need no extra."""

FREE_BYTES = 1 << 20
"""The size up to which a body may inflate at any ratio: a short page of one repeated line is not a bomb."""

CUT_BODY = "the coded body ends too early, so only a part of it was read"
"""The message of an attempt whose body is cut, but could be decoded up to there."""

MAX_CODINGS = HTTP_CODINGS.number
"""The maximum number of codings of a body that are decoded, besides a final `chunked`."""

_BLOCK_BYTES = 256 * 1024
_MAX_GZIP_MEMBERS = GZIP_MEMBERS.number
_CODED_BLOCK_BYTES = 512  # its output cannot be bounded: at most 128 KiB for each 4 bytes, so 16 MiB
_MAX_WINDOW_BYTES = 8 << 20  # the limit of RFC 9659 for zstd in HTTP
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]{0,4096})?\r\n")
_INFLATE_ERROR = cast("type[Exception]", isal_zlib.error)

_Blocks = Iterator[tuple[bytes, int]]
"""Decoded pieces, each with the number of coded bytes up to its end (br, zstd: the number of all coded bytes).

If a body ends too early, its last piece is `_CUT`.
"""
_CUT = (b"", -1)


class _BodyBounds(NamedTuple):
    """The bounds for a body of `size` coded bytes. `most` and `ratio` have the same meaning as in `decode_body`."""

    size: int
    most: int
    ratio: int


def decode_body(body: bytes, fields: Mapping[str, str], *, most: int, ratio: int) -> tuple[bytes, bool]:
    r"""Decode a body, and return whether it ends too early: its chunks, gzip, deflate, br or zstd.

    `fields` are those of its response, as `join_fields` returns them, and name the codings.

    An inflated body may have at most `most` bytes and, beyond `FREE_BYTES`, at most `ratio` times the coded bytes that
    were consumed (for br and zstd: all coded bytes). If the body ends too early, the decoded part is returned. Raise
    StepError: BOMB_RATIO or BOMB_TOTAL beyond these bounds, CORRUPT for broken bytes, TRUNCATED if a compressed body
    ends before its first decoded byte, UNSUPPORTED for an unknown coding or too many codings, TOO_LARGE for too many
    members of gzip.

    >>> import gzip
    >>> decode_body(gzip.compress(b"tea"), {"content-encoding": "gzip"}, most=100, ratio=10)
    (b'tea', False)
    >>> decode_body(b"3\r\ntea\r\n0\r\n\r\n", {"transfer-encoding": "chunked"}, most=100, ratio=10)
    (b'tea', False)
    """
    transfer, content = fields.get("transfer-encoding", ""), fields.get("content-encoding", "")
    if not transfer and not content:
        return body, False
    is_cut = False
    codings = [*_coding_names(content), *_coding_names(transfer)]
    count = len(codings) - (codings[-1:] == ["chunked"])
    if count > MAX_CODINGS:
        raise StepError(f"the body has {count} codings; the limit is {MAX_CODINGS}", Reason.UNSUPPORTED)
    bounds = _BodyBounds(len(body), most, ratio)
    for coding in reversed(codings):
        if coding == "chunked":
            body, ends_early = _join_chunks(body)
            is_cut = is_cut or ends_early
        elif coding not in _DECODERS:
            raise StepError(f"the coding {coding[:40]!r} is not supported", Reason.UNSUPPORTED)
        elif body and (blocks := _DECODERS[coding](body)) is not None:
            body, ends_early = _join_within_bounds(blocks, bounds, len(body))
            is_cut = is_cut or ends_early
    return body, is_cut


_NO_CODINGS = frozenset({"", "identity", "none", "utf-8", "utf8", "iso-8859-1", "binary", "8bit"})


def _coding_names(field: str) -> list[str]:
    """Return the codings in a field's value, in the order in which they were applied.

    Names that do not change the bytes are left out: `identity`, and what some servers state by mistake.

    >>> _coding_names("gzip, UTF-8"), _coding_names("none")
    (['gzip'], [])
    """
    return [
        coding for word in field.split(",") if (coding := word.partition(";")[0].strip().lower()) not in _NO_CODINGS
    ]


def _join_within_bounds(blocks: _Blocks, bounds: _BodyBounds, coded_size: int) -> tuple[bytes, bool]:
    """Join decoded pieces, and return whether they end too early; raise StepError beyond the bounds.

    `coded_size` is the size before this decoding. Raise StepError (TRUNCATED) if they end before the first byte.
    """
    decoded = bytearray()
    for block, consumed in blocks:
        if consumed < 0:
            if not decoded:  # an empty body would hide the loss
                raise StepError("the compressed body ends before its first decoded byte", Reason.TRUNCATED)
            return bytes(decoded), True
        decoded += block
        size = len(decoded)
        if size > FREE_BYTES and size > bounds.ratio * max(1, bounds.size * consumed // coded_size):
            raise StepError(f"the body inflates beyond {bounds.ratio} times its size", Reason.BOMB_RATIO)
        if size > bounds.most:
            raise StepError(f"the body inflates to more than {bounds.most} bytes", Reason.BOMB_TOTAL)
    return bytes(decoded), False


def _join_chunks(body: bytes) -> tuple[bytes, bool]:
    """Join the chunks of a body up to the first invalid one, and return whether the last chunk, of size 0, is missing.

    A body without chunks is returned unchanged.
    """
    size_line = _CHUNK_SIZE.match(body)
    if not size_line:
        return body, False
    joined_chunks = bytearray()  # there may be millions of small chunks
    view = memoryview(body)
    while size_line and (size := int(size_line[1], 16)):
        chunk_end = size_line.end() + size
        if not joined_chunks and body[chunk_end : chunk_end + 2] != b"\r\n":
            return body, False  # the first line only looks like a chunk size
        joined_chunks += view[size_line.end() : chunk_end]
        size_line = _CHUNK_SIZE.match(body, chunk_end + 2)
    return bytes(joined_chunks), size_line is None


def _inflate_gzip(body: bytes) -> _Blocks | None:
    """Inflate all members of gzip (RFC 1952), ignoring bytes after the last one; return None if it is not gzip."""
    return _inflate_gzip_members(body) if _begins_like_gzip(body) else None


def _begins_like_gzip(body: bytes) -> bool:
    """Return whether these bytes begin with the signature of gzip, or, if there is only one, with its first byte."""
    return body != b"" and b"\x1f\x8b".startswith(body[:2])


def _inflate_gzip_members(body: bytes) -> _Blocks:
    remaining = body
    for number in range(_MAX_GZIP_MEMBERS):
        stream = isal_zlib.decompressobj(wbits=31)
        try:
            yield from _inflate_stream(stream, remaining, len(body) - len(remaining))
        except StepError:
            if number == 0:
                raise
            yield _CUT  # the members before it are whole
            return
        remaining = stream.unused_data
        if not stream.eof or not _begins_like_gzip(remaining):
            return
    raise StepError(f"the gzip body has more than {_MAX_GZIP_MEMBERS} members", Reason.TOO_LARGE)


def _inflate_deflate(body: bytes) -> _Blocks:
    """Inflate zlib (RFC 1950), or bare deflate (RFC 1951), which some servers send under this name."""
    has_zlib_header = len(body) > 1 and body[0] & 15 == 8 and int.from_bytes(body[:2]) % 31 == 0
    return _inflate_stream(isal_zlib.decompressobj(wbits=15 if has_zlib_header else -15), body, consumed_before=0)


def _inflate_stream(stream: Any, body: bytes, consumed_before: int) -> _Blocks:
    """Inflate one stream in pieces. Earlier streams of the body consumed `consumed_before` coded bytes."""
    pending = body
    while not stream.eof:
        try:
            block = stream.decompress(pending, _BLOCK_BYTES)
        except _INFLATE_ERROR:
            raise StepError("the compressed body is broken", Reason.CORRUPT) from None
        pending = stream.unconsumed_tail
        if not block and not pending:
            if not stream.eof:
                yield _CUT
            return
        yield block, consumed_before + len(body) - len(pending) - len(stream.unused_data)


def _decode_brotli(body: bytes) -> _Blocks:
    stream = brotli.Decompressor()
    try:
        block = stream.process(body, output_buffer_limit=_BLOCK_BYTES)
        while block or not stream.is_finished():
            yield block, len(body)
            if stream.can_accept_more_data():
                if not stream.is_finished():
                    yield _CUT
                return
            block = stream.process(b"", output_buffer_limit=_BLOCK_BYTES)
    except brotli.error:
        raise StepError("the compressed body is broken", Reason.CORRUPT) from None


def _decode_zstd(body: bytes) -> _Blocks:
    """Decode frame by frame: a reader across frames does not show whether the last one ended."""
    decompressor = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW_BYTES)
    frame = decompressor.decompressobj()
    position = 0
    try:
        while position < len(body):
            if frame.eof:
                frame = decompressor.decompressobj()
            piece = body[position : position + _CODED_BLOCK_BYTES]
            block = frame.decompress(piece)
            position += len(piece) - len(frame.unused_data)
            yield block, len(body)
    except zstandard.ZstdError:
        raise StepError("the compressed body is broken", Reason.CORRUPT) from None
    if not frame.eof:
        yield _CUT


_DECODERS: dict[str, Callable[[bytes], _Blocks | None]] = {"gzip": _inflate_gzip, "deflate": _inflate_deflate}
_DECODERS["x-gzip"] = _inflate_gzip
if brotli is not None and hasattr(brotli.Decompressor, "can_accept_more_data"):  # older ones cannot bound their output
    _DECODERS["br"] = _decode_brotli
if zstandard is not None:
    _DECODERS["zstd"] = _decode_zstd
