"""Read the addresses in sitemaps and feeds, within limits."""

from __future__ import annotations

import codecs
import io
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import islice
from typing import Any, NamedTuple, cast

from isal import isal_zlib
from lxml import etree

from windrow.errors import StepError
from windrow.formats import xml
from windrow.formats.moment import moment
from windrow.formats.url import normalise
from windrow.model import Limits
from windrow.reasons import Reason

CAP = 50 * 1024 * 1024
"""The most bytes of a sitemap, uncompressed (Sitemaps protocol 0.9)."""

ENTRIES = 50_000
"""The most entries of a sitemap (Sitemaps protocol 0.9), also applied to feeds."""


class HintKind(StrEnum):
    """The kind of a document with hints."""

    SITEMAP = "sitemap"  # pages of the site
    INDEX = "index"  # further sitemaps
    FEED = "feed"  # new pages
    NONE = "none"


class UrlHint(NamedTuple):
    """A normalised address, and the time of its last change (UTC) if the document gives it."""

    url: str
    modified: datetime | None = None


@dataclass(frozen=True, slots=True)
class UrlHints:
    """The hints of a document; `reason` says why some or all are missing; `refused` counts invalid addresses."""

    kind: HintKind
    entries: tuple[UrlHint, ...] = ()
    reason: Reason | None = None
    refused: int = 0


def sitemap_entry(element: etree._Element) -> tuple[str, str, str]:
    """Return address, time and an empty base of a `url` or `sitemap` element."""
    return text(element, "loc"), text(element, "lastmod"), ""


def text(element: etree._Element, *names: str) -> str:
    """Return the first text that is not empty among the children of these local names, the most trusted name first."""
    for name in names:
        for child in element.iterchildren(f"{{*}}{name}"):
            if (child_text := (child.text or "").strip()) != "":
                return child_text
    return ""


_BASE = "{http://www.w3.org/XML/1998/namespace}base"
_ABOUT = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}about"
_JSON = 8 * 1024 * 1024  # bytes: JSON is read as a whole
VERSION = ("https://jsonfeed.org/version/", "http://jsonfeed.org/version/")


def item(element: etree._Element) -> tuple[str, str, str]:
    """Return address, time and base of an RSS item; a `guid` is an address unless `isPermaLink` is false."""
    address = text(element, "link") or _alternate(element) or element.get(_ABOUT, "")
    if not address:
        for guid in element.iterchildren("guid"):
            if guid.get("isPermaLink", "true").strip().lower() == "true":
                address = (guid.text or "").strip()
    return address, text(element, "updated", "modified", "pubDate", "date"), _relative_to(element)


def feed_entry(element: etree._Element) -> tuple[str, str, str]:
    """Return address, time and base of an Atom entry."""
    return _alternate(element), text(element, "updated", "modified", "published", "issued"), _relative_to(element)


def items(content: bytes) -> Iterator[tuple[str, str, str]]:
    """Yield address, time and an empty base of the items of a JSON Feed."""
    if len(content) > _JSON:
        raise StepError(f"the JSON has {len(content)} bytes; the limit is {_JSON}", Reason.TOO_LARGE)
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        raise StepError("this is not JSON", Reason.NOT_WELL_FORMED) from None
    if not isinstance(document, dict) or not str(document.get("version", "")).startswith(VERSION):
        raise StepError("this is not a JSON Feed", Reason.WRONG_ROOT)
    listed = document.get("items")
    if not isinstance(listed, list):
        raise StepError("this JSON Feed has no list of items", Reason.NOT_VALID)
    for item_ in listed:
        if isinstance(item_, dict):
            yield _first_text(item_, "url", "id"), _first_text(item_, "date_modified", "date_published"), ""


def _first_text(members: dict[str, object], *names: str) -> str:
    """Return the first of these members that is a string and not empty."""
    return next((value for name in names if isinstance(value := members.get(name), str) and value), "")


def _alternate(element: etree._Element) -> str:
    """Return the address of an entry's page (RFC 4287, section 4.2.7)."""
    for link in element.iterchildren("{*}link"):
        if link.get("href") and link.get("rel", "alternate").strip().lower() == "alternate":
            return link.get("href", "")
    return ""


def _relative_to(element: etree._Element) -> str:
    """Return the nearest `xml:base` (XML Base) of an element, or an empty text if none is set."""
    if own_base := element.get(_BASE):
        return own_base
    return next((base for ancestor in element.iterancestors() if (base := ancestor.get(_BASE))), "")


_GZIP = b"\x1f\x8b"
_BROKEN = cast("type[Exception]", isal_zlib.error)
_MEMBERS = 1_000  # of a gzip file
_SPACE = b" \t\r\n"
_LIMITS = Limits(member_size=CAP, elements=1_000_000)
_KINDS = {
    "urlset": (HintKind.SITEMAP, "url", sitemap_entry),
    "sitemapindex": (HintKind.INDEX, "sitemap", sitemap_entry),
    "rss": (HintKind.FEED, "item", item),
    "RDF": (HintKind.FEED, "item", item),
    "feed": (HintKind.FEED, "entry", feed_entry),
}
_LINE = re.compile(r"[^\r\n]++")
_LINES = 10 * ENTRIES  # of a text sitemap, with lines that are not addresses

_OF_A_FEED = frozenset((None, Reason.TOO_MANY_ELEMENTS, Reason.WRONG_ENCODING))  # of a JSON feed that was read, in part

Rows = Iterable[tuple[str, str, str]]
"""Address, time and base as written."""


def read(content: bytes, base: str) -> UrlHints:
    r"""Read the hints of a document; `base` is its own normalised address. Never raises.

    >>> read(b"https://example.org/a\nhttps://example.org/b", "https://example.org/txt").entries[1].url
    'https://example.org/b'
    """
    try:
        plain = _inflate(content[: CAP + 1]) if content.startswith(_GZIP) else content
    except StepError as error:
        return UrlHints(HintKind.NONE, reason=error.reason)
    if len(plain) > CAP:
        return UrlHints(HintKind.NONE, reason=Reason.TOO_LARGE)
    start = plain.removeprefix(codecs.BOM_UTF8)[:4096].lstrip(_SPACE)
    if start.startswith((b"<", *(mark for mark, _ in xml.MARKS), *(shape for shape, _ in xml.SHAPES))):
        return _read_xml(plain, base)
    if start.startswith(b"{"):
        hints = _gather(HintKind.FEED, items(plain), base)
        return hints if hints.reason in _OF_A_FEED else UrlHints(HintKind.NONE, reason=hints.reason)
    return _read_text(plain, base)


def _read_xml(content: bytes, base: str) -> UrlHints:
    """Read the hints of XML element by element, so that memory use does not grow."""
    stripped = content.lstrip(_SPACE) if content[:1] in _SPACE else content  # many have it before the declaration
    try:
        text = xml.admit(stripped, _LIMITS)
    except StepError as error:
        return UrlHints(HintKind.NONE, reason=error.reason)
    if text.root not in _KINDS:
        return UrlHints(HintKind.NONE, reason=Reason.WRONG_ROOT)
    kind, tag, entry = _KINDS[text.root]
    return _gather(kind, _elements(text.content, tag, entry), base)


def _elements(content: bytes, tag: str, entry: Any) -> Iterator[tuple[str, str, str]]:
    """Yield address, time and base of each element of this name, and free the element."""
    options: dict[str, Any] = xml.OPTIONS | {"recover": True}
    reader = etree.iterparse(io.BytesIO(xml.replace_surrogates(content)), events=("end",), tag=f"{{*}}{tag}", **options)
    try:
        for _, element in reader:
            if element.getroottree().docinfo.internalDTD is not None:
                raise StepError("a document type declaration is refused", Reason.DTD_FORBIDDEN)
            yield entry(element)
            element.clear()
            while (previous := element.getprevious()) is not None:
                previous.getparent().remove(previous)
    except etree.XMLSyntaxError:
        raise StepError("the document is broken", Reason.NOT_WELL_FORMED) from None


def _read_text(content: bytes, base: str) -> UrlHints:
    """Read a text sitemap: an absolute address on each line; other lines are ignored."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return UrlHints(HintKind.NONE, reason=Reason.WRONG_ENCODING)
    lines = (line[0].strip() for line in islice(_LINE.finditer(text), _LINES))
    hints = _gather(
        HintKind.SITEMAP, ((line, "", "") for line in lines if line.startswith(("http://", "https://"))), base
    )
    return hints if hints.entries else UrlHints(HintKind.NONE, reason=Reason.UNSUPPORTED)


def _gather(kind: HintKind, rows: Rows, base: str) -> UrlHints:
    """Return rows as hints with normalised addresses, each once; repeated and refused ones count for the limit too."""
    entries: dict[str, UrlHint] = {}
    refused = 0
    try:
        for number, (address, modified, entry_base) in enumerate(rows):
            if number >= ENTRIES:
                return UrlHints(kind, tuple(entries.values()), Reason.TOO_MANY_ELEMENTS, refused)
            inner_base = normalise(entry_base, base).url if entry_base else ""
            url = normalise(address, inner_base or base).url if address else ""
            if not url:
                refused += 1
            else:
                entries.setdefault(url, UrlHint(url, moment(modified)))
    except UnicodeDecodeError:
        return UrlHints(kind, tuple(entries.values()), Reason.WRONG_ENCODING, refused)
    except StepError as error:
        kept = () if error.reason is Reason.DTD_FORBIDDEN else tuple(entries.values())
        return UrlHints(kind, kept, error.reason, refused)
    return UrlHints(kind, tuple(entries.values()), None, refused)


def _inflate(content: bytes) -> bytes:
    """Inflate gzip (RFC 1952), at most a thousand members and `CAP` bytes; StepError if broken or too large."""
    inflated = bytearray()
    rest = content
    for _ in range(_MEMBERS):
        if not rest.startswith(_GZIP):
            break
        stream = isal_zlib.decompressobj(wbits=31)
        try:
            inflated += stream.decompress(rest, CAP + 1 - len(inflated))
        except _BROKEN:
            raise StepError("the gzip cannot be inflated", Reason.CORRUPT) from None
        if len(inflated) > CAP:
            raise StepError(f"the gzip inflates to more than {CAP} bytes", Reason.BOMB_TOTAL)
        if not stream.eof:
            raise StepError("the gzip ends too early", Reason.TRUNCATED)
        rest = stream.unused_data
    return bytes(inflated)


__all__ = ["CAP", "ENTRIES", "HintKind", "UrlHint", "UrlHints"]
