"""What a sitemap or a feed tells, and how much of it is listened to."""

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
"""Bytes of a sitemap, uncompressed (Sitemaps protocol 0.9)."""

ENTRIES = 50_000
"""Entries of a sitemap (Sitemaps protocol 0.9); a feed has as many at most."""


class HintKind(StrEnum):
    """What kind of hints a document holds."""

    SITEMAP = "sitemap"  # pages of the site
    INDEX = "index"  # further sitemaps
    FEED = "feed"  # what is new
    NONE = "none"


class UrlHint(NamedTuple):
    """A normal address, and when it is said to have changed (UTC), if that is told."""

    url: str
    modified: datetime | None = None


@dataclass(frozen=True, slots=True)
class UrlHints:
    """What was read; a `reason` tells why it is not all, or nothing. `refused` counts what is no address."""

    kind: HintKind
    entries: tuple[UrlHint, ...] = ()
    reason: Reason | None = None
    refused: int = 0


def sitemap_entry(element: etree._Element) -> tuple[str, str, str]:
    """Return the address and the time of a `url` or `sitemap` element."""
    return text(element, "loc"), text(element, "lastmod"), ""


def text(element: etree._Element, *names: str) -> str:
    """Return the text of the first child of one of these local names that has any, the names in order of trust."""
    for name in names:
        for child in element.iterchildren(f"{{*}}{name}"):
            if (written := (child.text or "").strip()) != "":
                return written
    return ""


_BASE = "{http://www.w3.org/XML/1998/namespace}base"
_ABOUT = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}about"
_JSON = 8 * 1024 * 1024  # bytes: JSON is read as a whole
VERSION = ("https://jsonfeed.org/version/", "http://jsonfeed.org/version/")


def item(element: etree._Element) -> tuple[str, str, str]:
    """Return address, time and base of an RSS item; a `guid` is an address unless it says otherwise."""
    address = text(element, "link") or _alternate(element) or element.get(_ABOUT, "")
    if not address:
        for guid in element.iterchildren("guid"):
            if guid.get("isPermaLink", "true").strip().lower() == "true":
                address = (guid.text or "").strip()
    return address, text(element, "updated", "modified", "pubDate", "date"), _within(element)


def feed_entry(element: etree._Element) -> tuple[str, str, str]:
    """Return address, time and base of an Atom entry."""
    return _alternate(element), text(element, "updated", "modified", "published", "issued"), _within(element)


def items(content: bytes) -> Iterator[tuple[str, str, str]]:
    """Yield address and time of the items of a JSON Feed."""
    if len(content) > _JSON:
        raise StepError(f"{len(content)} bytes, at most {_JSON} allowed", Reason.TOO_LARGE)
    try:
        read = json.loads(content)
    except (ValueError, RecursionError):
        raise StepError("this is no JSON", Reason.NOT_WELL_FORMED) from None
    if not isinstance(read, dict) or not str(read.get("version", "")).startswith(VERSION):
        raise StepError("this is no JSON Feed", Reason.WRONG_ROOT)
    listed = read.get("items")
    if not isinstance(listed, list):
        raise StepError("this JSON Feed has no list of items", Reason.NOT_VALID)
    for one in listed:
        if isinstance(one, dict):
            yield _told(one, "url", "id"), _told(one, "date_modified", "date_published"), ""


def _told(one: dict[str, object], *names: str) -> str:
    """Return the first of these members that is a text."""
    return next((value for name in names if isinstance(value := one.get(name), str) and value), "")


def _alternate(element: etree._Element) -> str:
    """Return where the page of an entry is (RFC 4287, section 4.2.7)."""
    for link in element.iterchildren("{*}link"):
        if link.get("href") and link.get("rel", "alternate").strip().lower() == "alternate":
            return link.get("href", "")
    return ""


def _within(element: etree._Element) -> str:
    """Return the nearest `xml:base` (XML Base), if there is one."""
    if own := element.get(_BASE):
        return own
    return next((found for above in element.iterancestors() if (found := above.get(_BASE))), "")


_GZIP = b"\x1f\x8b"
_BROKEN = cast("type[Exception]", isal_zlib.error)
_MEMBERS = 1_000  # of a gzip file
_SPACE = b" \t\r\n"
_LIMITS = Limits(member=CAP, elements=1_000_000)
_KINDS = {
    "urlset": (HintKind.SITEMAP, "url", sitemap_entry),
    "sitemapindex": (HintKind.INDEX, "sitemap", sitemap_entry),
    "rss": (HintKind.FEED, "item", item),
    "RDF": (HintKind.FEED, "item", item),
    "feed": (HintKind.FEED, "entry", feed_entry),
}
_LINE = re.compile(r"[^\r\n]++")
_LINES = 10 * ENTRIES  # of a text; few of them are no addresses

_OF_A_FEED = frozenset((None, Reason.TOO_MANY_ELEMENTS, Reason.WRONG_ENCODING))  # why a JSON feed is not read whole

Found = Iterable[tuple[str, str, str]]
"""Address, time and base, as they are written."""


def read(content: bytes, base: str) -> UrlHints:
    r"""Return the hints of a document that lies at the normal address `base`.

    >>> read(b"https://example.org/a\nhttps://example.org/b", "https://example.org/txt").entries[1].url
    'https://example.org/b'
    """
    try:
        plain = _inflate(content[: CAP + 1]) if content.startswith(_GZIP) else content
    except StepError as error:
        return UrlHints(HintKind.NONE, reason=error.reason)
    if len(plain) > CAP:  # never read beyond what the protocol allows
        return UrlHints(HintKind.NONE, reason=Reason.TOO_LARGE)
    start = plain.removeprefix(codecs.BOM_UTF8)[:4096].lstrip(_SPACE)
    if start.startswith((b"<", *(mark for mark, _ in xml.MARKS), *(shape for shape, _ in xml.SHAPES))):
        return _marked(plain, base)
    if start.startswith(b"{"):
        found = _gather(HintKind.FEED, items(plain), base)
        return found if found.reason in _OF_A_FEED else UrlHints(HintKind.NONE, reason=found.reason)
    return _text(plain, base)


def _marked(content: bytes, base: str) -> UrlHints:
    """Read XML, element by element, so that memory stays flat."""
    begun = content.lstrip(_SPACE) if content[:1] in _SPACE else content  # before the XML declaration: common
    try:
        text = xml.admit(begun, _LIMITS)
    except StepError as error:
        return UrlHints(HintKind.NONE, reason=error.reason)
    if text.root not in _KINDS:
        return UrlHints(HintKind.NONE, reason=Reason.WRONG_ROOT)
    kind, tag, entry = _KINDS[text.root]
    return _gather(kind, _elements(text.content, tag, entry), base)


def _elements(content: bytes, tag: str, entry: Any) -> Iterator[tuple[str, str, str]]:
    """Yield what each entry says, and drop it."""
    options: dict[str, Any] = xml.OPTIONS | {"recover": True}
    reader = etree.iterparse(io.BytesIO(xml.mended(content)), events=("end",), tag=f"{{*}}{tag}", **options)
    try:
        for _, element in reader:
            if element.getroottree().docinfo.internalDTD is not None:
                raise StepError("a document type declaration is refused", Reason.DTD_FORBIDDEN)
            yield entry(element)
            element.clear()
            while (before := element.getprevious()) is not None:
                before.getparent().remove(before)
    except etree.XMLSyntaxError:
        raise StepError("the document is broken", Reason.NOT_WELL_FORMED) from None


def _text(content: bytes, base: str) -> UrlHints:
    """Read a text sitemap: one whole address a line; a text of other things is none."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return UrlHints(HintKind.NONE, reason=Reason.WRONG_ENCODING)
    lines = (line[0].strip() for line in islice(_LINE.finditer(text), _LINES))
    found = _gather(
        HintKind.SITEMAP, ((line, "", "") for line in lines if line.startswith(("http://", "https://"))), base
    )
    return found if found.entries else UrlHints(HintKind.NONE, reason=Reason.UNSUPPORTED)


def _gather(kind: HintKind, found: Found, base: str) -> UrlHints:
    """Bring addresses and times to their normal form, each address once; all that are read count for the limit."""
    entries: dict[str, UrlHint] = {}
    refused = 0
    try:
        for read_, (written, time, within) in enumerate(found):
            if read_ >= ENTRIES:
                return UrlHints(kind, tuple(entries.values()), Reason.TOO_MANY_ELEMENTS, refused)
            inner = normalise(within, base).url if within else ""
            url = normalise(written, inner or base).url if written else ""
            if not url:
                refused += 1
            else:
                entries.setdefault(url, UrlHint(url, moment(time)))
    except UnicodeDecodeError:
        return UrlHints(kind, tuple(entries.values()), Reason.WRONG_ENCODING, refused)
    except StepError as error:
        kept = () if error.reason is Reason.DTD_FORBIDDEN else tuple(entries.values())
        return UrlHints(kind, kept, error.reason, refused)
    return UrlHints(kind, tuple(entries.values()), None, refused)


def _inflate(content: bytes) -> bytes:
    """Inflate gzip (RFC 1952), its first thousand members, to at most `CAP` bytes."""
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
            raise StepError(f"it inflates to more than {CAP} bytes", Reason.BOMB_TOTAL)
        if not stream.eof:
            raise StepError("the gzip ends too early", Reason.TRUNCATED)
        rest = stream.unused_data
    return bytes(inflated)


__all__ = ["CAP", "ENTRIES", "HintKind", "UrlHint", "UrlHints"]
