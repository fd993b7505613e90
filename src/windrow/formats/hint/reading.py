"""Read a sitemap (XML, text, gzip) or a feed (RSS, Atom, JSON Feed), whatever the server calls it.

A hint is not a document that anyone stands for: what is broken is read as far as it goes. But XML with
a document type is refused, and so is what inflates beyond the protocol's own limits.
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, cast

from isal import isal_zlib
from lxml import etree

from windrow.errors import StepError
from windrow.formats import xml
from windrow.formats.hint import feed, sitemap
from windrow.formats.hint.hint import CAP, ENTRIES, HintKind, UrlHint, UrlHints
from windrow.formats.moment import moment
from windrow.formats.url import normalise
from windrow.model import Limits
from windrow.reasons import Reason

_GZIP = b"\x1f\x8b"
_BROKEN = cast("type[Exception]", isal_zlib.error)
_MEMBERS = 1_000  # of a gzip file
_SPACE = b" \t\r\n"
_LIMITS = Limits(member=CAP, elements=1_000_000)
_KINDS = {
    "urlset": (HintKind.SITEMAP, "url", sitemap.entry),
    "sitemapindex": (HintKind.INDEX, "sitemap", sitemap.entry),
    "rss": (HintKind.FEED, "item", feed.item),
    "RDF": (HintKind.FEED, "item", feed.item),
    "feed": (HintKind.FEED, "entry", feed.entry),
}
_LINE = re.compile(r"[^\r\n]++")
_LINES = 10 * ENTRIES  # of a text; few of them are no addresses

Found = Iterable[tuple[str, str, str]]
"""Address, time and base, as they are written."""


def read(content: bytes, base: str) -> UrlHints:
    r"""Return the hints of a document that lies at the normal address `base`.

    >>> read(b"https://example.org/a\nhttps://example.org/b", "https://example.org/sitemap.txt").entries[1].url
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
        return _gather(HintKind.FEED, feed.items(plain), base)
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
