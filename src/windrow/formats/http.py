"""The head of an HTTP response as it is kept: its status, its fields, and what tells versions apart."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import timedelta
from functools import lru_cache
from typing import NamedTuple

from windrow.formats.moment import moment

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
