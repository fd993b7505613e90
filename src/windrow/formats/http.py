"""HTTP answers as they are kept: the head, its fields, and the codings of a body undone.

A body is hostile until it is plain: it is inflated piece by piece, and none is asked for beyond the bounds. Of a body
that is called gzip, or chunked, its own bytes are believed first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from functools import lru_cache
from types import ModuleType
from typing import Any, NamedTuple, cast

from isal import isal_zlib

from windrow.errors import StepError
from windrow.formats.moment import moment
from windrow.reasons import Reason

_LISTS = dict.fromkeys(("content-encoding", "content-language", "link", "transfer-encoding"), ", ")
_LISTS["x-robots-tag"] = "\n"
"""Fields that may come in several lines (RFC 9110, section 5.3), and what stands between their values."""

_AROUND = " \t\r"
"""What may stand around a name or a value: `str.strip()` alone takes off half a letter of UTF-8 too, as of à."""

_FOLD = re.compile(r"\r\n[ \t]++")
_BLANK = re.compile(rb"[\r\n]*+")  # some servers begin with it (RFC 9112, section 2.2)
_HEAD_END = re.compile(rb"\r\n\r\n|\n\n")


class HttpHead(NamedTuple):
    """A response's status and its fields, as `joined` spells them."""

    status: int | None
    fields: Mapping[str, str]


def unfold(text: str) -> str:
    r"""Join lines that go on with the field before (RFC 9112, section 5.2): those that begin with a blank.

    >>> unfold("Date: Sat,\r\n\t21 Nov 2026\r\nETag: x")
    'Date: Sat, 21 Nov 2026\r\nETag: x'
    """
    return _FOLD.sub(" ", text) if "\r\n " in text or "\r\n\t" in text else text


def body_at(block: bytes) -> int:
    r"""Return where the body begins in a block that begins with a head; -1 where the head has no end.

    >>> body_at(b"HTTP/1.1 200 OK\r\n\r\nbody"), body_at(b"HTTP/1.0 200 OK\nA: b\n\nbody"), body_at(b"none")
    (19, 22, -1)
    """
    blank = _BLANK.match(block)
    found = _HEAD_END.search(block, blank.end() if blank else 0)
    return found.end() if found else -1


@lru_cache(maxsize=64)
def read_head(head: bytes) -> HttpHead:
    r"""Read a response's head, whose lines may end in a bare line feed; nothing in it is fatal.

    >>> read_head(b"HTTP/1.1 200 OK\r\nETag: \"x\"\r\n\r\n")
    HttpHead(status=200, fields={'etag': '"x"'})
    """
    text = head.decode("latin-1").lstrip("\r\n").replace("\r\n", "\n").replace("\n", "\r\n")
    first, *lines = unfold(text).split("\r\n")
    word = first.split(" ")[1:2]
    status = int(word[0]) if word and word[0].isascii() and word[0].isdecimal() and len(word[0]) == 3 else None
    split = (line.partition(":") for line in lines)
    return HttpHead(
        status, joined((name.strip(_AROUND), value.strip(_AROUND)) for name, colon, value in split if colon)
    )


def joined(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    r"""Return fields by name in lower case: all values of a list, of any other field the first.

    The values of `X-Robots-Tag` are parted by line feeds, since an agent's name holds to the end of its own only.

    >>> joined([("Link", "<a>"), ("ETag", "x"), ("etag", "y"), ("LINK", "<b>")])
    {'link': '<a>, <b>', 'etag': 'x'}
    """
    fields: dict[str, str] = {}
    for spelt, value in pairs:
        name = spelt.lower()
        if name not in fields:
            fields[name] = value
        elif name in _LISTS:
            fields[name] += _LISTS[name] + value
    return fields


def as_utf_8(value: str) -> str:
    """Return a field's value as its server meant it: fields are read as Latin-1, and letters are mostly UTF-8.

    >>> as_utf_8("/caf\u00c3\u00a9"), as_utf_8("/caf\u00e9")
    ('/caf\u00e9', '/caf\u00e9')
    """
    if value.isascii():
        return value
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return value


def location(fields: Mapping[str, str]) -> str:
    """Return where a response says that its page is, as it is put on record; empty where it says nothing."""
    return as_utf_8(fields.get("location", ""))[:2048]


def validator(fields: Mapping[str, str]) -> str:
    """Return what If-Range may name: a strong ETag, else a Last-Modified that is strong; else nothing.

    The time is strong when the response was sent at least a second later (RFC 9110, sections
    8.8.2.2 and 13.1.5): within that second the file may have changed once more.

    >>> validator({"etag": '"a"', "last-modified": "Sat, 21 Nov 2026 12:00:00 GMT"})
    '"a"'
    >>> validator({"etag": 'W/"a"'})
    ''
    """
    etag, told = fields.get("etag", ""), fields.get("last-modified", "")
    if etag.startswith('"') and etag.endswith('"') and len(etag) > 1:
        return etag
    sent, changed = moment(fields.get("date", "")), moment(told)
    strong = sent is not None and changed is not None and sent - changed >= timedelta(seconds=1)
    return told if strong and not etag else ""


def same(held: str, fields: Mapping[str, str]) -> bool:
    """Tell whether a partial response is of the version that `held` (from `validator`) names.

    A server that ignores If-Range is found out by this: it must repeat the ETag (RFC 9110, section
    15.3.7), and may leave out Last-Modified.

    >>> same('"a"', {"etag": '"b"'}), same('"a"', {}), same('"a"', {"etag": '"a"'})
    (False, False, True)
    """
    if held.startswith('"'):
        return fields.get("etag") == held
    return bool(held) and fields.get("last-modified", held) == held


def media_type(fields: Mapping[str, str]) -> str:
    """Return the media type that Content-Type tells, without its parameters; empty where it is none.

    >>> media_type({"content-type": "Text/HTML; charset=utf-8"})
    'text/html'
    """
    return _media_type(fields.get("content-type", "")[:1000])


@lru_cache(maxsize=256)
def _media_type(text: str) -> str:
    kind = text.partition(";")[0].strip().lower()
    sound = kind.isascii() and kind.isprintable() and " " not in kind and kind.count("/") == 1 and len(kind) <= 128
    return kind if sound else ""


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
