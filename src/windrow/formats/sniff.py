"""Determine the media type of a document (WHATWG MIME Sniffing), and the language of a text.

Nothing is executed here, so the standard's precautions about scripts are not needed. `nosniff` is ignored, and a PDF
that is announced as text is reported as a PDF, with `conflict`.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.util import find_spec
from pkgutil import get_data
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

_EXAMINED_BYTES = 1445  # section 5.2
_WHITE_SPACE = b"\t\n\x0c\r "
_BYTE_ORDER_MARKS = (b"\xfe\xff", b"\xff\xfe", b"\xef\xbb\xbf")
_BINARY_BYTE = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_HTML_START = re.compile(
    rb"<(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p)[ >]|<!--", re.IGNORECASE
)
_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"%PDF-", "application/pdf"), (b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"), (b"GIF89a", "image/gif"), (b"\x00\x00\x01\x00", "image/x-icon"),
    (b"PK\x03\x04", "application/zip"), (b"\x1f\x8b\x08", "application/gzip"),
    (b"Rar!\x1a\x07", "application/x-rar-compressed"), (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"\xfd7zXZ\x00", "application/x-xz"), (b"\x28\xb5\x2f\xfd", "application/zstd"), (b"OggS\x00", "application/ogg"),
    (b"ID3", "audio/mpeg"), (b"fLaC\x00", "audio/flac"), (b"\x1a\x45\xdf\xa3", "video/webm"), (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"), (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
    (b"\x7fELF", "application/x-elf"), (b"%!PS-Adobe-", "application/postscript"),
)  # fmt: skip
_TWO_PART_SIGNATURES = ((b"RIFF", 8, b"WEBPVP", "image/webp"), (b"RIFF", 8, b"WAVE", "audio/wave"),
          (b"RIFF", 8, b"AVI ", "video/avi"), (b"FORM", 8, b"AIFF", "audio/aiff"),
          (b"", 4, b"ftyp", "video/mp4"))  # fmt: skip
_FIRST_BYTES = (*(signature for signature, _ in _SIGNATURES), b"RIFF", b"FORM")
_UNKNOWN_TYPES = frozenset(("", "unknown/unknown", "application/unknown", "*/*"))
_DOWNLOAD_TYPES = frozenset(("application/octet-stream", "binary/octet-stream", "application/x-download",
                             "application/download", "application/force-download"))  # fmt: skip
_ROOT_ELEMENT = re.compile(
    rb"(?>(?:\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>\[]*(?:\[[^\]]*\]\s*)?>)*)<([A-Za-z_][\w.:-]*)", re.DOTALL
)
_FEED_TYPE_BY_ROOT = {b"rss": "application/rss+xml", b"feed": "application/atom+xml", b"RDF": "application/rdf+xml"}


class MediaType(NamedTuple):
    """A document's media type.

    `essence` has no parameters: `text/html`. `conflict` is whether `essence` differs from the announced type because
    the document contradicts that type. A feed announced as HTML and a PDF announced as a download do not contradict it.
    """

    essence: str
    conflict: bool = False


def sniff(raw: bytes, claimed: str = "", *, is_utf_16: bool = False) -> MediaType:
    """Determine the media type of a document.

    `claimed` is the media type in Content-Type, in lower case and without parameters; it is empty if it is missing.
    `is_utf_16` is whether the charset in Content-Type is UTF-16.

    >>> sniff(b"%PDF-1.7", "text/html"), sniff(b" <!DOCTYPE html>"), sniff(b"{}", "application/json")
    (MediaType(essence='application/pdf', conflict=True), MediaType(essence='text/html', conflict=False), \
MediaType(essence='application/json', conflict=False))
    """
    head = raw[:_EXAMINED_BYTES]
    signed_type = signature_type(head)
    if claimed in _UNKNOWN_TYPES:
        return MediaType(signed_type or _markup_type(raw) or _text_or_binary(head))
    if claimed in _DOWNLOAD_TYPES:
        return MediaType(signed_type if signed_type == "application/pdf" else claimed)
    if not is_textual(claimed):
        return _sniff_binary(raw, claimed, signed_type)
    if signed_type:
        return MediaType(signed_type, conflict=True)
    if claimed == "text/html":
        return MediaType(_feed_type(raw) or claimed)
    is_binary = claimed.startswith("text/") and not is_utf_16 and _text_or_binary(head) != "text/plain"
    return MediaType("application/octet-stream", conflict=True) if is_binary else MediaType(claimed)


def _sniff_binary(raw: bytes, claimed: str, signed_type: str) -> MediaType:
    """Return the type of a document that is announced as binary; it may be a page, sent instead of a missing file.

    `signed_type` is the type whose signature the first bytes have, or an empty text.
    """
    # a PDF's header may come late (ISO 32000-1, annex H: within the first 1,024 bytes)
    if not raw or signed_type or (claimed == "application/pdf" and b"%PDF-" in raw[:1024]):
        is_wrong = bool(signed_type) and claimed == "application/pdf" and signed_type != claimed
        return MediaType(signed_type if is_wrong else claimed, conflict=is_wrong)
    media_type = _markup_type(raw)
    is_media = claimed == "application/pdf" or claimed.startswith(("image/", "audio/", "video/"))
    return MediaType(media_type, conflict=True) if media_type == "text/html" and is_media else MediaType(claimed)


def is_textual(essence: str) -> bool:
    """Return whether documents of a media type are text.

    >>> is_textual("application/atom+xml"), is_textual("image/svg+xml"), is_textual("image/png")
    (True, True, False)
    """
    return essence.startswith("text/") or essence.endswith(
        ("+xml", "+json", "/xml", "/json", "/javascript", "/markdown", "/xhtml")
    )


def signature_type(head: bytes) -> str:
    """Return the binary type whose signature the first bytes have, or "" if they have no known signature."""
    if not (head.startswith(_FIRST_BYTES) or head.startswith(b"ftyp", 4)):  # as nearly all documents
        return ""
    for signature, media_type in _SIGNATURES:
        if head.startswith(signature):
            return media_type
    for first_part, offset, second_part, media_type in _TWO_PART_SIGNATURES:
        if head.startswith(first_part) and head.startswith(second_part, offset):
            return media_type
    return ""


def root_name(raw: bytes) -> bytes:
    """Return the local name of the first element in the first 4,096 bytes of XML or similar markup, or b"".

    >>> root_name(b"<?xml version='1.0'?><!-- a --><rdf:RDF xmlns:rdf='x'>")
    b'RDF'
    """
    root_tag = _ROOT_ELEMENT.match(raw[:4096].removeprefix(_BYTE_ORDER_MARKS[2]))
    return root_tag[1].rpartition(b":")[2] if root_tag else b""


def _feed_type(raw: bytes) -> str:
    return _FEED_TYPE_BY_ROOT.get(root_name(raw), "")


def _markup_type(raw: bytes) -> str:
    """Return the type of HTML, XML or a feed by how it begins (section 7.1), or "" for other documents."""
    start = raw[:_EXAMINED_BYTES].removeprefix(_BYTE_ORDER_MARKS[2]).lstrip(_WHITE_SPACE)
    if _HTML_START.match(start):
        return "text/html"
    return (_feed_type(raw) or "text/xml") if start.startswith(b"<?xml") else _feed_type(raw)


def _text_or_binary(head: bytes) -> str:
    if head.startswith(_BYTE_ORDER_MARKS) or not _BINARY_BYTE.search(head):
        return "text/plain"
    return "application/octet-stream"


MIN_PROBABILITY = 0.9
"""A detected language is accepted if its probability is higher than this."""

_EXAMINED_CHARACTERS = 600  # of a text; more take longer and do not improve the result
_MIN_CHARACTERS = 40  # the language of a shorter text is not detected
_LANGUAGE_TAG = re.compile(r"([a-z]{2,3})(?:[-_]([a-z]{4}))?(?:[-_]([a-z]{2}|[0-9]{3}))?(?:[-_].*)?", re.IGNORECASE)


_NO_LANGUAGE = frozenset(("und", "mul", "zxx", "mis"))


def normalise_tag(tag: str) -> str | None:
    """Return a language tag (BCP 47) in its preferred spelling, or None if it has no registered language.

    Tags that name no single language (`und`, `mul`, `zxx`, `mis`) are None. Variants and extensions are left out, and
    so are unregistered scripts, and unregistered regions that are letters.

    >>> [normalise_tag(tag) for tag in ("zh_hant-tw", "ENG-us-x-twain", "en-xx", "xx", "und")]
    ['zh-Hant-TW', 'en-US', 'en', None, None]
    """
    match = _LANGUAGE_TAG.fullmatch(tag.strip())
    if not match:
        return None
    languages, scripts, regions = _language_registry()
    language_name, script, region = (part or "" for part in match.groups())
    preferred = languages.get(language_name.lower())
    if preferred is None or preferred in _NO_LANGUAGE:
        return None
    script = script.title() if script.title() in scripts else ""
    region = region.upper() if region.isdigit() or region.upper() in regions else ""
    return "-".join(filter(None, (preferred, script, region)))


@cache
def _language_registry() -> tuple[dict[str, str], frozenset[str], frozenset[str]]:
    """Return the preferred subtag of each registered language, the registered scripts, and the registered regions.

    The registry is a file in this package, which `tools/languages.py` writes.
    """
    registry = (get_data("windrow.formats", "languages.txt") or b"").decode()
    languages, scripts, regions = map(str.split, registry.splitlines())
    preferred_by_name = {name: preferred or name for name, _, preferred in (line.partition("=") for line in languages)}
    return preferred_by_name, frozenset(scripts), frozenset(regions)


def is_detector_installed() -> bool:
    """Return whether the extra `language` is installed."""
    return find_spec("py3langid") is not None


def detect_language(text: str) -> str | None:
    """Return the language of a text's beginning as an IANA subtag.

    Return None if the language is not certain, the text is too short, or the extra `language` is not installed.
    """
    beginning = text[:_EXAMINED_CHARACTERS]
    if len(beginning) < _MIN_CHARACTERS:
        return None
    detector = _detector()
    if detector is None:
        return None
    tag, probability = detector.classify(beginning)
    return str(tag) if probability > MIN_PROBABILITY and tag not in {"zxx", "und"} else None


@cache
def _detector() -> LanguageIdentifier | None:
    """Load the model once in each process (it takes a second and 100 MB); return None without the extra `language`."""
    if not is_detector_installed():
        return None
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # noqa: PLC0415 an extra, and slow to load

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
