"""What a document is, by its server's word and its first bytes (WHATWG MIME Sniffing), and in which language.

Nothing is executed here, so the standard's care about scripts is not needed: `nosniff` is not looked at, and what is
called a text but holds a PDF is told as what it is, with `conflict`.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.util import find_spec
from pkgutil import get_data
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

_HEAD = 1445  # bytes that are looked at (section 5.2)
_SPACE = b"\t\n\x0c\r "
_MARKS = (b"\xfe\xff", b"\xff\xfe", b"\xef\xbb\xbf")
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_HTML = re.compile(
    rb"<(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p)[ >]|<!--", re.IGNORECASE
)
_SIGNS: tuple[tuple[bytes, str], ...] = (
    (b"%PDF-", "application/pdf"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"\x00\x00\x01\x00", "image/x-icon"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b\x08", "application/gzip"),
    (b"Rar!\x1a\x07", "application/x-rar-compressed"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"\xfd7zXZ\x00", "application/x-xz"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"OggS\x00", "application/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"fLaC\x00", "audio/flac"),
    (b"\x1a\x45\xdf\xa3", "video/webm"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
    (b"\x7fELF", "application/x-elf"),
    (b"%!PS-Adobe-", "application/postscript"),
)
_INNER = ((b"RIFF", 8, b"WEBPVP", "image/webp"), (b"RIFF", 8, b"WAVE", "audio/wave"),
          (b"RIFF", 8, b"AVI ", "video/avi"), (b"FORM", 8, b"AIFF", "audio/aiff"),
          (b"", 4, b"ftyp", "video/mp4"))  # fmt: skip
_UNSAID = frozenset(("", "unknown/unknown", "application/unknown", "*/*"))
_VAGUE = frozenset(("application/octet-stream", "binary/octet-stream", "application/x-download", "application/download",
                    "application/force-download"))  # fmt: skip
_ROOT = re.compile(
    rb"(?:\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>\[]*(?:\[[^\]]*\]\s*)?>)*+<([A-Za-z_][\w.:-]*)", re.DOTALL
)
_FEEDS = {b"rss": "application/rss+xml", b"feed": "application/atom+xml", b"RDF": "application/rdf+xml"}


class Sniffed(NamedTuple):
    """What a document is: an essence such as `text/html`; `conflict` where its server says something else."""

    essence: str
    conflict: bool = False


def sniff(raw: bytes, claimed: str = "", *, encoded: bool = False) -> Sniffed:
    """Return what the document is; `claimed` is the essence of its Content-Type, `encoded` that this names UTF-16.

    >>> sniff(b"%PDF-1.7", "text/html"), sniff(b" <!DOCTYPE html>"), sniff(b"{}", "application/json")
    (Sniffed(essence='application/pdf', conflict=True), Sniffed(essence='text/html', conflict=False), \
Sniffed(essence='application/json', conflict=False))
    """
    head = raw[:_HEAD]
    sign = signed(head)
    if claimed in _UNSAID:
        return Sniffed(sign or _marked(raw) or _plain(head))
    if claimed in _VAGUE:
        return Sniffed(sign if sign == "application/pdf" else claimed)
    if not textual(claimed):
        return _bytes(raw, claimed, sign)
    if sign:
        return Sniffed(sign, conflict=True)
    if claimed == "text/html":
        return Sniffed(_feed(raw) or claimed)
    garbled = claimed.startswith("text/") and not encoded and _plain(head) != "text/plain"
    return Sniffed("application/octet-stream", conflict=True) if garbled else Sniffed(claimed)


def _bytes(raw: bytes, claimed: str, sign: str) -> Sniffed:
    """Look at what is called a binary document: a page in its stead is common where it is missing."""
    # a PDF may begin late (ISO 32000-1, annex H: within the first 1,024 bytes)
    if not raw or sign or (claimed == "application/pdf" and b"%PDF-" in raw[:1024]):
        lies = bool(sign) and claimed == "application/pdf" and sign != claimed
        return Sniffed(sign if lies else claimed, conflict=lies)
    found = _marked(raw)
    told = claimed == "application/pdf" or claimed.startswith(("image/", "audio/", "video/"))
    return Sniffed(found, conflict=True) if found == "text/html" and told else Sniffed(claimed)


def textual(essence: str) -> bool:
    """Tell whether a media type is one of text.

    >>> textual("application/atom+xml"), textual("image/svg+xml"), textual("image/png")
    (True, True, False)
    """
    return essence.startswith("text/") or essence.endswith(
        ("+xml", "+json", "/xml", "/json", "/javascript", "/markdown", "/xhtml")
    )


def signed(head: bytes) -> str:
    """Return the binary type whose signature the first bytes bear; empty where they bear none."""
    for sign, kind in _SIGNS:
        if head.startswith(sign):
            return kind
    for start, at, inner, kind in _INNER:
        if head.startswith(start) and head.startswith(inner, at):
            return kind
    return ""


def root(raw: bytes) -> bytes:
    """Return the local name of the first element of something like XML; empty where there is none.

    >>> root(b"<?xml version='1.0'?><!-- a --><rdf:RDF xmlns:rdf='x'>")
    b'RDF'
    """
    found = _ROOT.match(raw[:4096].removeprefix(_MARKS[2]))
    return found[1].rpartition(b":")[2] if found else b""


def _feed(raw: bytes) -> str:
    """Tell a feed that is called HTML (section 8.2)."""
    return _FEEDS.get(root(raw), "")


def _marked(raw: bytes) -> str:
    """Tell HTML and XML by their first tag (section 7.1)."""
    start = raw[:_HEAD].removeprefix(_MARKS[2]).lstrip(_SPACE)
    if _HTML.match(start):
        return "text/html"
    return (_feed(raw) or "text/xml") if start.startswith(b"<?xml") else _feed(raw)


def _plain(head: bytes) -> str:
    if head.startswith(_MARKS) or not _BINARY.search(head):
        return "text/plain"
    return "application/octet-stream"


ENOUGH = 0.9
"""How sure the detector must be."""

_LOOKED_AT = 600  # characters: more takes longer, and tells no better
_LEAST = 40


_TAG = re.compile(r"([a-z]{2,3})(?:[-_]([a-z]{4}))?(?:[-_]([a-z]{2}|[0-9]{3}))?(?:[-_].*)?", re.IGNORECASE)


def normal(tag: str) -> str | None:
    """Return a tag of language, script and region as it is best written; None where no such language is registered.

    A script or region that is not registered is left out, and so are variants.

    >>> normal("zh_hant-tw"), normal("ENG-us-x-twain"), normal("en-xx"), normal("xx"), normal("12")
    ('zh-Hant-TW', 'en-US', 'en', None, None)
    """
    found = _TAG.fullmatch(tag.strip())
    if not found:
        return None
    languages, scripts, regions = _registry()
    name, script, region = (part or "" for part in found.groups())
    language_ = languages.get(name.lower())
    if language_ is None:
        return None
    script = script.title() if script.title() in scripts else ""
    region = region.upper() if region.isdigit() or region.upper() in regions else ""
    return "-".join(filter(None, (language_, script, region)))


@cache
def _registry() -> tuple[dict[str, str], frozenset[str], frozenset[str]]:
    """Return languages with their preferred subtag, scripts and regions, as `tools/languages.py` wrote them down."""
    written = (get_data("windrow.formats", "languages.txt") or b"").decode()  # part of the package, as code is
    languages, scripts, regions = map(str.split, written.splitlines())
    known_ = {name: preferred or name for name, _, preferred in (each.partition("=") for each in languages)}
    return known_, frozenset(scripts), frozenset(regions)


def known() -> bool:
    """Tell whether a detector is installed."""
    return find_spec("py3langid") is not None


def language(text: str) -> str | None:
    """Return the language of a text's beginning as an IANA subtag; None where that is not sure, or nobody can tell."""
    begin = text[:_LOOKED_AT]
    if len(begin) < _LEAST:
        return None
    detector = _detector()
    if detector is None:
        return None
    found, sure = detector.classify(begin)
    return str(found) if sure > ENOUGH and found not in {"zxx", "und"} else None


@cache
def _detector() -> LanguageIdentifier | None:
    """Load the model once in each process: a second, and a hundred megabytes."""
    if not known():
        return None
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # noqa: PLC0415 an extra, and slow to load

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
