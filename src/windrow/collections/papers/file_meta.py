"""What a file is, in one pass over its bytes: its size, its three digests, and what its first bytes say."""

from __future__ import annotations

import hashlib
import re
from typing import Any, BinaryIO

from windrow.collections.papers.finding import HTML, JATS, PDF, POSTSCRIPT, UNKNOWN, XML
from windrow.errors import StepError
from windrow.reasons import Reason

_BLOCK = 1 << 16  # small enough to stay in the cache between two digests
_HEAD = 4096
_PDF = re.compile(rb"%PDF-(\d\.\d)")
_XHTML = "application/xhtml+xml"
_XML_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*<\?xml\b|(?:\xef\xbb\xbf)?\s*<(?:article|TEI|[a-z]+:)[\s>]")


def file_meta(view: BinaryIO, most: int) -> dict[str, Any]:
    """Return `file:meta` of a file; raises `StepError` for one that is empty or larger than `most` bytes."""
    sha1, md5, sha256 = (hashlib.new(name, usedforsecurity=False) for name in ("sha1", "md5", "sha256"))
    size, head = 0, b""
    view.seek(0)
    while block := view.read(_BLOCK):
        if not size:
            head = block[:_HEAD]
        size += len(block)
        if size > most:
            raise StepError(f"the file has more than {most} bytes", Reason.TOO_LARGE)
        for one in (sha1, md5, sha256):
            one.update(block)
    if not size:
        raise StepError("the file has no bytes", Reason.TRUNCATED)
    magic_mime, magic = sniffed(head)
    return {
        "size": size,
        "mime": _refined(magic_mime, head),
        "magic": magic,
        "magic_mime": magic_mime,
        "sha1": sha1.hexdigest(),
        "md5": md5.hexdigest(),
        "sha256": sha256.hexdigest(),
    }


def sniffed(head: bytes) -> tuple[str, str]:  # noqa: PLR0911 one kind after the other
    """Return the media type that a file's first bytes tell, and a description in words.

    >>> sniffed(b"%PDF-1.4 ...")
    ('application/pdf', 'PDF document, version 1.4')
    """
    if found := _PDF.search(head[:1024]):
        return PDF, f"PDF document, version {found[1].decode()}"
    if head.startswith((b"%!PS", b"\x04%!PS")):
        return POSTSCRIPT, "PostScript document text"
    if head.startswith(b"\x1f\x8b"):
        return "application/gzip", "gzip compressed data"
    if head.startswith(b"PK\x03\x04"):
        return "application/zip", "Zip archive data"
    if head.startswith((b"\x89PNG\r\n", b"\xff\xd8\xff", b"GIF8")):
        kind = {b"\x89": "png", b"\xff": "jpeg", b"G": "gif"}[head[:1]]
        return f"image/{kind}", f"{kind.upper()} image data"
    start = head[:1024].lower()
    if _XML_START.match(head):
        return XML, "XML document text"
    if any(tag in start for tag in (b"<!doctype html", b"<html", b"<head", b"<body", b"<title")):
        return HTML, "HTML document text"
    if b"\0" in head:
        return UNKNOWN, "data"
    try:
        head[:-3].decode()
    except UnicodeDecodeError:
        return UNKNOWN, "data"
    return "text/plain", "text"


def _refined(kind: str, head: bytes) -> str:
    """Tell apart what is written in XML."""
    start = head[:1024]
    if b"<htm" in start and b"http://www.w3.org/1999/xhtml" in start:
        return _XHTML
    if kind == XML and b"<article " in start.replace(b"<article>", b"<article ") and b"<html" not in start:
        return JATS
    return kind
