"""Write and read the headers of WARC/1.1 records (ISO 28500:2017); read the headers of ARC, the older format.

The Internet Archive, and later its crawler Heritrix, wrote ARC from 1996 on, in two versions. The line of a record has
the address, the IP address, a time of 14 digits, the media type and the length. In version 2 there are five fields
between the last two. Some addresses contain blanks, and some media types have a blank before a parameter.
"""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from typing import NamedTuple
from urllib.parse import quote

from windrow.clock import spell
from windrow.digest import warc_digest as spell_digest
from windrow.errors import ArchiveError
from windrow.formats.http import unfold

REVISIT = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
NOT_MODIFIED_PREFIX = "urn:not-modified:"
"""The prefix of the address of a metadata record for a 304 response."""
END = b"\r\n\r\n"  # of a header, and of a record
HTTP_START = b"HTTP/"
"""The first bytes of a block with an HTTP response."""
RECORD_BEGIN = re.compile(rb"[\r\n]*+WARC/(?:1\.[0-9]|0\.1[78])(\r?\n)")
"""Matches the start of a record in every version that is read. The group is the line end, LF or CR LF."""

_REDUCED_DATE = re.compile(r"\d{4}(?:-\d\d)?")
_DIGITS = re.compile(r"\d{14}")
_LENGTH_DIGITS = 20  # characters for the length in an open header
_LEGAL_TARGET = re.compile(r"[A-Za-z0-9_./:?#\[\]@!$&'()*+,;=%~-]*")
_VARIANT_DIGIT = dict(zip("0123456789abcdef", "89ab" * 4, strict=True))
_DIGEST_LENGTH = len(spell_digest("sha256:" + "0" * 64))
_COMPRESSED_SIGNATURES = (b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ",
           b"7z\xbc\xaf", b"Rar!", b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"OggS", b"\x1aE\xdf\xa3")  # fmt: skip


class Header(NamedTuple):
    """A record's header: the record's type, the fields with names in lower case, and the header's length in bytes."""

    kind: str
    fields: dict[str, str]
    length: int


def is_compressed(head: bytes) -> bool:
    """Return whether content with these first bytes is already compressed.

    >>> is_compressed(b"PK" + bytes([3, 4])), is_compressed(b"<xml/>")
    (True, False)
    """
    return head.startswith(_COMPRESSED_SIGNATURES)


def new_record_id() -> str:
    """Return a new WARC-Record-ID: a random UUID as a URN."""
    digits = os.urandom(16).hex()  # like `uuid.uuid4`, in a third of the time
    variant = _VARIANT_DIGIT[digits[16]]
    return f"<urn:uuid:{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}>"


def escape_target(address: str) -> str:
    """Escape the characters of an address that WARC-Target-URI does not allow, such as those of a file name."""
    if _LEGAL_TARGET.fullmatch(address):
        return address
    return quote(address, safe="/:?#[]@!$&'()*+,;=%~", errors="surrogateescape")


def format_header(kind: str, fields: list[tuple[str, str]], length: int) -> bytes:
    """Return the header of a record of the type `kind` whose block has `length` bytes."""
    lines = [f"WARC/1.1\r\nWARC-Type: {kind}"]
    lines += [f"{name}: {value}" for name, value in fields]
    lines.append(f"Content-Length: {length}\r\n\r\n")
    return "\r\n".join(lines).encode()


def format_warcinfo(name: str, fields: list[tuple[str, str]], created: datetime) -> tuple[bytes, str]:
    """Return the warcinfo record at the start of a file with this name, and the record's id."""
    block = "".join(f"{key}: {value}\r\n" for key, value in fields).encode()
    record_id = new_record_id()
    first_fields = [("WARC-Record-ID", record_id), ("WARC-Date", spell(created)), ("WARC-Filename", name)]
    return format_header(
        "warcinfo", [*first_fields, ("Content-Type", "application/warc-fields")], len(block)
    ) + block + END, record_id


def format_open_header(kind: str, fields: list[tuple[str, str]]) -> bytes:
    """Return a header with blanks in place of the length and payload digest, which `fill_open_header` fills in."""
    blank_digest = ("WARC-Payload-Digest", " " * _DIGEST_LENGTH)
    lines = [f"WARC/1.1\r\nWARC-Type: {kind}", *(f"{name}: {value}" for name, value in (*fields, blank_digest))]
    return ("\r\n".join(lines) + f"\r\nContent-Length: {' ' * _LENGTH_DIGITS}\r\n\r\n").encode()


def fill_open_header(open_header: bytes, digest: str, length: int) -> bytes:
    """Fill in the digest and the length in an open header; its size does not change."""
    blank_digest = b"WARC-Payload-Digest: " + b" " * _DIGEST_LENGTH
    filled_digest = b"WARC-Payload-Digest: " + spell_digest(digest).encode()
    filled_length = f"Content-Length: {length:>{_LENGTH_DIGITS}}\r\n".encode()
    return open_header.replace(blank_digest, filled_digest).replace(
        b"Content-Length: " + b" " * _LENGTH_DIGITS + b"\r\n", filled_length
    )


def read_header(block: bytes) -> Header:
    r"""Read the header of a record at the start of `block`; raise ArchiveError if it is missing or not complete.

    Headers of the versions 0.17, 0.18 and 1.0 to 1.9 are read in the same way. `Header.length` includes blank lines
    before the header. A line that begins with a blank continues the field before it.

    >>> read_header(b"WARC/1.0\r\nWARC-Type: response\r\nA: b\r\n c\r\n\r\n").fields["a"]
    'b c'
    """
    begin = RECORD_BEGIN.match(block)
    line_end = begin[1] if begin else b""
    end = block.find(line_end * 2, begin.end() - len(line_end)) if begin else -1
    if begin is None or end < 0:
        raise ArchiveError("the block does not begin with a complete header of a WARC record")
    fields = {}
    text = block[begin.end() : end].decode("utf-8", "surrogateescape")
    for field in unfold(text if line_end == b"\r\n" else text.replace("\n", "\r\n")).split("\r\n"):
        name, _, value = field.partition(":")
        fields[name.strip().lower()] = value.strip()
    return Header(fields.get("warc-type", "").lower(), fields, end + 2 * len(line_end))


def header_ends(block: bytes) -> bool:
    r"""Return whether `block` contains the end of the header with which it begins.

    >>> header_ends(b"WARC/1.0\nA: b\n\n"), header_ends(b"WARC/1.0\r\nA: b\n\n")
    (True, False)
    """
    begin = RECORD_BEGIN.match(block)
    return END in block or bool(begin and begin[1] == b"\n" and b"\n\n" in block)


def is_http_message(header: Header, block_start: bytes) -> bool:
    """Return whether a record's block is an HTTP message; `block_start` has the first bytes of the block.

    Some writers leave out the Content-Type of the block, or write a wrong one.

    >>> [is_http_message(Header(kind, {}, 0), b"HTTP/1.1 200") for kind in ("response", "resource")]
    [True, False]
    """
    if header.fields.get("content-type", "").lower().startswith("application/http"):
        return True
    return header.kind in {"response", "revisit"} and block_start.startswith(HTTP_START)


ARC_BEGIN = re.compile(
    rb"[\r\n]*+([A-Za-z][A-Za-z0-9+.-]{0,30}:[^\r\n]{1,8192}?) ([0-9A-Fa-f.:-]{1,45}) (\d{8,17}) ([^ \r\n]{0,256})"
    rb"(?: [^ \r\n]{0,4096}){0,9}? (\d{1,15})\r?\n"
)
"""Matches the blank lines before an ARC record, and the record's line."""

MAX_ARC_LINE_BYTES = 16_384
"""The maximum size of the line of an ARC record, with the blank lines before it, in bytes."""


def read_arc_line(block: bytes) -> Header:
    r"""Read the line of an ARC record as a WARC header; raise ArchiveError if `block` does not begin with one.

    >>> read_arc_line(b"http://a.example/x 192.0.2.1 20040131120000 text/html 20\n").fields["warc-date"]
    '2004-01-31T12:00:00Z'
    """
    match = ARC_BEGIN.match(block[:MAX_ARC_LINE_BYTES])
    if match is None:
        raise ArchiveError("the block does not begin with the line of an ARC record")
    address, ip, time, kind, length = (part.decode("utf-8", "surrogateescape") for part in match.groups())
    is_web = address.lower().startswith(("http:", "https:"))
    fields = {
        "warc-target-uri": address,
        "warc-ip-address": ip,
        "warc-date": f"{time[:4]}-{time[4:6]}-{time[6:8]}T"
        f"{time[8:10] or '00'}:{time[10:12] or '00'}:{time[12:14] or '00'}Z",
        "content-type": "application/http;msgtype=response" if is_web else kind,
        "content-length": length,
    }
    record_type = "warcinfo" if address.startswith("filedesc:") else "response" if is_web else "resource"
    return Header(record_type, fields, match.end())


def read_date(text: str) -> datetime | None:
    """Return the time of a WARC-Date, or None if it is not valid. A time without a time zone is taken as UTC.

    WARC/1.1 allows less precise dates, such as a year, which mean their first moment (ISO 28500:2017, section
    5.4). Some programs write 14 digits, as in ARC files.

    >>> str(read_date("2024-03")), str(read_date("20240301120000")), read_date("2024-13")
    ('2024-03-01 00:00:00+00:00', '2024-03-01 12:00:00+00:00', None)
    """
    if _REDUCED_DATE.fullmatch(text):
        text = f"{text}-01-01"[:10]
    elif _DIGITS.fullmatch(text):
        text = f"{text[:8]}T{text[8:]}"
    try:
        date = datetime.fromisoformat(text)
        return date.replace(tzinfo=UTC) if date.tzinfo is None else date.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
