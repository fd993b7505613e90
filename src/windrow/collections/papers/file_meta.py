"""The size, digests and media type of a file, for the cell `file:meta`."""

from __future__ import annotations

import hashlib
import re
from typing import Any, BinaryIO

from windrow.collections.papers.capture_rules import HTML, JATS, PDF, POSTSCRIPT, UNKNOWN, XML
from windrow.errors import StepError
from windrow.reasons import Reason

_BLOCK_SIZE = 1 << 16  # bytes; a block stays in the cache of the processor from one digest to the next
_HEAD_SIZE = 4096  # bytes that `sniff_type` gets
_PDF_VERSION = re.compile(rb"%PDF-(\d\.\d)")
XHTML = "application/xhtml+xml"
_XML_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*<\?xml\b|(?:\xef\xbb\xbf)?\s*<(?:article|TEI|[a-z]+:)[\s>]"
                        rb"|(?:\xef\xbb\xbf)?\s*<!DOCTYPE\s+article\b")  # fmt: skip
_JATS_ROOT = re.compile(
    rb"(?:\xef\xbb\xbf)?(?>\s|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^\[\]<>]*>)*<article[\s>]", re.DOTALL
)  # below declarations and comments


def file_meta(view: BinaryIO, max_size: int) -> dict[str, Any]:
    """Return the content of `file:meta`; raise `StepError` if the file is empty or has more than `max_size` bytes."""
    sha1, md5, sha256 = (hashlib.new(name, usedforsecurity=False) for name in ("sha1", "md5", "sha256"))
    size, head = 0, b""
    view.seek(0)
    while block := view.read(_BLOCK_SIZE):
        if not size:
            head = block
        size += len(block)
        if size > max_size:
            raise StepError(f"the file has more than {max_size} bytes", Reason.TOO_LARGE)
        for hash_ in (sha1, md5, sha256):
            hash_.update(block)
    if not size:
        raise StepError("the file is empty", Reason.TRUNCATED)
    detected_type, description = sniff_type(head[:_HEAD_SIZE])
    return {
        "size": size, "mime": _refine_type(detected_type, head), "magic": description, "magic_mime": detected_type,
        "sha1": sha1.hexdigest(), "md5": md5.hexdigest(), "sha256": sha256.hexdigest(),
    }  # fmt: skip


def sniff_type(head: bytes) -> tuple[str, str]:  # noqa: PLR0911 one return for each type
    """Return (media type, description in words) of a file, given its first bytes.

    >>> sniff_type(b"%PDF-1.4 ...")
    ('application/pdf', 'PDF document, version 1.4')
    """
    if match := _PDF_VERSION.search(head[:1024]):
        return PDF, f"PDF document, version {match[1].decode()}"
    if head.startswith((b"%!PS", b"\x04%!PS")):
        return POSTSCRIPT, "PostScript document text"
    if head.startswith(b"\x1f\x8b"):
        return "application/gzip", "gzip compressed data"
    if head.startswith(b"PK\x03\x04"):
        return "application/zip", "Zip archive data"
    if head.startswith((b"\x89PNG\r\n", b"\xff\xd8\xff", b"GIF8")):
        image_format = {b"\x89": "png", b"\xff": "jpeg", b"G": "gif"}[head[:1]]
        return f"image/{image_format}", f"{image_format.upper()} image data"
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


def _refine_type(detected_type: str, head: bytes) -> str:
    start = head[:1024]
    if b"<htm" in start and b"http://www.w3.org/1999/xhtml" in start:
        return XHTML
    has_article = b"<article " in start.replace(b"<article>", b"<article ") and b"<html" not in start
    if detected_type == XML and (has_article or _JATS_ROOT.match(head)):
        return JATS
    return detected_type
