"""Write and read headers of WARC/1.1 records (ISO 28500:2017), and read those of ARC, its predecessor.

The Internet Archive wrote two versions of ARC from 1996 on, Heritrix until 2009 and later: a record's line has the
address, the IP address, a time of 14 digits, the media type and the length, and in version 2 five fields between the
last two. Some addresses hold blanks, and some media types have one before a parameter.
"""

from __future__ import annotations

import os
import re
from datetime import datetime
from typing import NamedTuple
from urllib.parse import quote

from windrow.clock import spell
from windrow.digest import warc_digest as spell_digest
from windrow.errors import ArchiveError
from windrow.formats.http import unfold

REVISIT = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
NOT_MODIFIED = "urn:not-modified:"
"""The prefix of the address of a metadata record for a response 304."""
END = b"\r\n\r\n"
HTTP = b"HTTP/"
"""The start of a block that holds an HTTP response."""
BEGIN = re.compile(rb"[\r\n]*+WARC/(?:1\.[0-9]|0\.1[78])(\r?\n)")
"""The start of a record, for all versions that are read; some writers end header lines with a bare line feed."""

_LENGTH_ROOM = 20
_LEGAL = re.compile(r"[A-Za-z0-9_./:?#\[\]@!$&'()*+,;=%~-]*")
_VARIANT = dict(zip("0123456789abcdef", "89ab" * 4, strict=True))
_DIGEST_ROOM = len(spell_digest("sha256:" + "0" * 64))
_PACKED = (b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf", b"Rar!",
           b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"OggS", b"\x1aE\xdf\xa3")  # fmt: skip


class Header(NamedTuple):
    """A record's header: its type, its fields by name in lower case, and its own length in bytes."""

    kind: str
    fields: dict[str, str]
    length: int


def packed(head: bytes) -> bool:
    """Return whether content is already compressed, by its first bytes.

    >>> packed(b"PK" + bytes([3, 4])), packed(b"<xml/>")
    (True, False)
    """
    return head.startswith(_PACKED)


def record_id() -> str:
    """Return a new WARC-Record-ID: a random UUID as a URN."""
    digits = os.urandom(16).hex()  # as `uuid.uuid4`, in a third of the time
    return (
        f"<urn:uuid:{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{_VARIANT[digits[16]]}{digits[17:20]}-{digits[20:]}>"
    )


def target(address: str) -> str:
    """Escape an address so that it is a valid WARC-Target-URI, whatever characters a file's name has."""
    if _LEGAL.fullmatch(address):
        return address
    return quote(address, safe="/:?#[]@!$&'()*+,;=%~", errors="surrogateescape")


def header(kind: str, fields: list[tuple[str, str]], length: int) -> bytes:
    """Return a record's header for a block of `length` bytes."""
    lines = [f"WARC/1.1\r\nWARC-Type: {kind}"]
    lines += [f"{name}: {value}" for name, value in fields]
    lines.append(f"Content-Length: {length}\r\n\r\n")
    return "\r\n".join(lines).encode()


def warcinfo(name: str, fields: list[tuple[str, str]], at: datetime) -> tuple[bytes, str]:
    """Return the warcinfo record for the start of a file, and its id."""
    block = "".join(f"{key}: {value}\r\n" for key, value in fields).encode()
    record = record_id()
    head = [("WARC-Record-ID", record), ("WARC-Date", spell(at)), ("WARC-Filename", name)]
    return header("warcinfo", [*head, ("Content-Type", "application/warc-fields")], len(block)) + block + END, record


def open_header(kind: str, fields: list[tuple[str, str]]) -> bytes:
    """Return a header with blanks for length and payload digest, which `close_header` fills in."""
    blank_digest = ("WARC-Payload-Digest", " " * _DIGEST_ROOM)
    lines = [f"WARC/1.1\r\nWARC-Type: {kind}", *(f"{name}: {value}" for name, value in (*fields, blank_digest))]
    return ("\r\n".join(lines) + f"\r\nContent-Length: {' ' * _LENGTH_ROOM}\r\n\r\n").encode()


def close_header(open_: bytes, digest: str, length: int) -> bytes:
    """Fill in the blanks of an open header; its size does not change."""
    blank_digest = b"WARC-Payload-Digest: " + b" " * _DIGEST_ROOM
    filled_digest = b"WARC-Payload-Digest: " + spell_digest(digest).encode()
    filled_length = f"Content-Length: {length:>{_LENGTH_ROOM}}\r\n".encode()
    return open_.replace(blank_digest, filled_digest).replace(
        b"Content-Length: " + b" " * _LENGTH_ROOM + b"\r\n", filled_length
    )


def read_header(block: bytes) -> Header:
    r"""Read the header of a record at the start of `block`; ArchiveError if `block` does not begin with one.

    Versions 0.17 to 1.1 do not differ in what is read. Blank lines before a header belong to it, and a line that
    begins with a blank continues the previous field.

    >>> read_header(b"WARC/1.0\r\nWARC-Type: response\r\nA: b\r\n c\r\n\r\n").fields["a"]
    'b c'
    """
    begin = BEGIN.match(block)
    line_end = begin[1] if begin else b""
    end = block.find(line_end * 2, begin.end() - len(line_end)) if begin else -1
    if begin is None or end < 0:
        raise ArchiveError("the block does not begin with a WARC record")
    fields = {}
    text = block[begin.end() : end].decode("utf-8", "surrogateescape")
    for field in unfold(text if line_end == b"\r\n" else text.replace("\n", "\r\n")).split("\r\n"):
        name, _, value = field.partition(":")
        fields[name.strip().lower()] = value.strip()
    return Header(fields.get("warc-type", "").lower(), fields, end + 2 * len(line_end))


def header_ends(block: bytes) -> bool:
    r"""Return whether the header at the start of `block` also ends in it.

    >>> header_ends(b"WARC/1.0\nA: b\n\n"), header_ends(b"WARC/1.0\r\nA: b\n\n")
    (True, False)
    """
    begin = BEGIN.match(block)
    return END in block or bool(begin and begin[1] == b"\n" and b"\n\n" in block)


def holds_http(header_: Header, start: bytes) -> bool:
    """Return whether a record's block, of which `start` is the first bytes, is an HTTP message.

    Some writers leave out its Content-Type, or give a wrong one.

    >>> holds_http(Header("response", {}, 0), b"HTTP/1.1 200"), holds_http(Header("resource", {}, 0), b"HTTP/1.1 200")
    (True, False)
    """
    if header_.fields.get("content-type", "").lower().startswith("application/http"):
        return True
    return header_.kind in {"response", "revisit"} and start.startswith(HTTP)


ARC_BEGIN = re.compile(
    rb"[\r\n]*+([A-Za-z][A-Za-z0-9+.-]{0,30}:[^\r\n]{1,8192}?) ([0-9A-Fa-f.:-]{1,45}) (\d{8,17}) ([^ \r\n]{0,256})"
    rb"(?: [^ \r\n]{0,4096}){0,9}? (\d{1,15})\r?\n"
)
"""The start of a record: its line, after the blank lines that separate it from the previous record."""

LONGEST = 16_384
"""The most bytes of the line of a record."""


def read_line(block: bytes) -> Header:
    r"""Read the line of an ARC record as fields of a WARC header; ArchiveError if `block` does not begin with one.

    >>> read_line(b"http://a.example/x 192.0.2.1 20040131120000 text/html 20\n").fields["warc-date"]
    '2004-01-31T12:00:00Z'
    """
    match = ARC_BEGIN.match(block[:LONGEST])
    if match is None:
        raise ArchiveError("the block does not begin with an ARC record")
    address, ip, at, kind, length = (part.decode("utf-8", "surrogateescape") for part in match.groups())
    is_web = address.lower().startswith(("http:", "https:"))
    fields = {
        "warc-target-uri": address,
        "warc-ip-address": ip,
        "warc-date": f"{at[:4]}-{at[4:6]}-{at[6:8]}T{at[8:10] or '00'}:{at[10:12] or '00'}:{at[12:14] or '00'}Z",
        "content-type": "application/http;msgtype=response" if is_web else kind,
        "content-length": length,
    }
    name = "warcinfo" if address.startswith("filedesc:") else "response" if is_web else "resource"
    return Header(name, fields, match.end())
