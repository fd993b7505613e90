"""Read the addresses in sitemaps and feeds, within limits."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from itertools import islice
from typing import Any, NamedTuple, cast
from urllib.parse import urljoin, urlsplit

from isal import isal_zlib
from lxml import etree

from windrow.caps import GZIP_MEMBERS, JSON_FEED_BYTES, SITEMAP_BYTES, SITEMAP_ENTRIES
from windrow.errors import StepError
from windrow.formats import xml
from windrow.formats.http import read_media_type
from windrow.formats.json_page import load_json
from windrow.formats.moment import read_utc_time
from windrow.formats.url import has_web_scheme, normalise
from windrow.model import Limits
from windrow.reasons import Reason

MAX_BYTES = SITEMAP_BYTES.number
"""The maximum size of a sitemap (Sitemaps protocol 0.9), and of a feed, uncompressed, in bytes."""

MAX_ENTRIES = SITEMAP_ENTRIES.number
"""The maximum number of entries of a sitemap (Sitemaps protocol 0.9), and of a feed."""

_Row = tuple[str, str]
"""The address of an entry, which may be relative to that of the document, and the time of its last change as written.

A missing value is empty.
"""


ADDRESS_ELEMENTS = ("loc", "link", "guid")
"""The elements whose text is an address."""


class HintKind(StrEnum):
    """What a document is: a sitemap, an index of sitemaps, a feed, or something else."""

    SITEMAP = "sitemap"  # has addresses of pages
    INDEX = "index"  # has addresses of sitemaps
    FEED = "feed"  # has addresses of new pages
    NONE = "none"


class UrlHint(NamedTuple):
    """A normalised address, and the time of its last change (UTC), or None if the document does not give it."""

    url: str
    modified: datetime | None = None


@dataclass(frozen=True, slots=True)
class UrlHints:
    """The addresses that a sitemap or feed names.

    `reason` is why hints are missing, or None. `refused` is the number of entries without a valid address; `left_out`
    is the number of entries after the first `MAX_ENTRIES`. `unread_times` is the number of entries whose time of change
    cannot be read.
    """

    kind: HintKind
    entries: tuple[UrlHint, ...] = ()
    reason: Reason | None = None
    refused: int = 0
    left_out: int = 0
    unread_times: int = 0


def read_sitemap_entry(element: etree._Element) -> _Row:
    """Return the address and time of a `url` or `sitemap` element."""
    return first_child_text(element, "loc"), first_child_text(element, "lastmod")


def first_child_text(element: etree._Element, *names: str) -> str:
    """Return the first text among the children with these local names, in the order of the names, or ""."""
    for name in names:
        for child in named_children(element, name):
            # What follows a tag within an address is not part of it.
            text = child.text or "" if name in ADDRESS_ELEMENTS else all_text(child)
            if child_text := text.strip():
                return child_text
    return ""


def named_children(element: etree._Element, name: str) -> list[etree._Element]:
    """Return children with a local name, those with the element's own prefix first: `title` before `media:title`."""
    return sorted(element.iterchildren(f"{{*}}{name}"), key=lambda child: child.prefix != element.prefix)


def all_text(element: etree._Element) -> str:
    """Return the text of an element and of all elements in it, such as `b` in a title that is not escaped."""
    return "".join(map(str, element.itertext())) if len(element) else element.text or ""


_PAGE_TYPES = frozenset(("", "text/html", "application/xhtml+xml"))
BASE = "{http://www.w3.org/XML/1998/namespace}base"
_ABOUT = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}about"
_MAX_JSON_BYTES = JSON_FEED_BYTES.number  # JSON is in memory as a whole
JSON_FEED_VERSIONS = ("https://jsonfeed.org/version/", "http://jsonfeed.org/version/")


def read_rss_item(element: etree._Element) -> _Row:
    """Return the address and time of an RSS item; without a link, its address is a `guid` that is a permalink.

    A `guid` that does not say so is one if it is a web address: many have numbers.
    """
    address = first_child_text(element, "link") or _alternate_link(element) or element.get(_ABOUT, "")
    if not address:
        for guid in element.iterchildren("guid"):
            text, is_address = (guid.text or "").strip(), guid.get("isPermaLink", "").strip().lower()
            if is_address == "true" or (not is_address and has_web_scheme(text)):
                address = text
    time = first_child_text(element, "updated", "modified", "pubDate", "date")
    return resolve_address(element, address), time


def read_atom_entry(element: etree._Element) -> _Row:
    """Return the address and time of an Atom entry."""
    time = first_child_text(element, "updated", "modified", "published", "issued")
    return _alternate_link(element), time


def read_json_feed_items(content: bytes) -> Iterator[_Row]:
    """Yield a row for each item of a JSON Feed; raise StepError if it is not one, or too large."""
    if len(content) > _MAX_JSON_BYTES:
        raise StepError(f"the JSON has {len(content)} bytes; the limit is {_MAX_JSON_BYTES}", Reason.TOO_LARGE)
    try:
        document = load_json(content)
    except (ValueError, RecursionError):
        raise StepError("the document is not JSON, or is nested too deeply", Reason.NOT_WELL_FORMED) from None
    if not isinstance(document, dict) or not str(document.get("version", "")).startswith(JSON_FEED_VERSIONS):
        raise StepError("the document is not a JSON Feed", Reason.WRONG_ROOT)
    item_list = document.get("items")
    if not isinstance(item_list, list):
        raise StepError("the JSON Feed has no list of items", Reason.NOT_VALID)
    for item in item_list:
        members = item if isinstance(item, dict) else {}  # an item that is not an object counts as refused
        yield json_item_address(members), _first_member(members, "date_modified", "date_published")


def json_item_address(members: dict[str, object]) -> str:
    """Return the address of an item of a JSON Feed: its `url`, its `id` if that is a web address, or `external_url`."""
    item_id = _first_member(members, "id")
    return _first_member(members, "url") or (
        item_id if has_web_scheme(item_id) else _first_member(members, "external_url")
    )


def _first_member(members: dict[str, object], *names: str) -> str:
    return next((value for name in names if isinstance(value := members.get(name), str) and value), "")


def _alternate_link(element: etree._Element) -> str:
    """Return the address of an entry in its first link to a page or, if it has none, to another format."""
    address = ""
    for link in element.iterchildren("{*}link"):
        if link.get("href") and link.get("rel", "alternate").strip().lower() == "alternate":
            if read_media_type({"content-type": link.get("type", "")}) in _PAGE_TYPES:
                return resolve_address(link, link.get("href", ""))
            address = address or resolve_address(link, link.get("href", ""))
    return address


def resolve_address(element: etree._Element, address: str) -> str:
    """Resolve an address in an element by the base of the element. The result is "" if the address is."""
    return join_address(find_address_for_links(element), address) if address else ""


def find_address_for_links(element: etree._Element) -> str:
    """Return the base of an element: each `xml:base` is relative to that of the parent. It is "" if there is none.

    The result may be relative to the address of the document.

    Source: RFC 4287, section 2, and W3C XML Base, section 4.

    >>> find_address_for_links(etree.fromstring('<a xml:base="/x/"><b xml:base="y/"/></a>')[0])
    '/x/y/'
    """
    base = ""
    for node in (element, *element.iterancestors()):
        if own_base := node.get(BASE, "").strip():
            base = join_address(own_base, base) if base else own_base
    return base


def join_address(base: str, address: str) -> str:
    """Resolve an address against a base that may itself be relative; return it unchanged if one is not valid.

    A result that is relative keeps each `..`, so that bases can be joined in any order.

    >>> join_address("https://example.org/a/b/", join_address("../c/", "d")), join_address("../c/", "../d")
    ('https://example.org/a/c/d', '../c/../d')
    """
    address = address.strip()
    try:
        base_parts, parts = urlsplit(base), urlsplit(address)
        is_rooted = any(each.scheme or each.netloc or each.path.startswith("/") for each in (base_parts, parts))
        if is_rooted or not parts.path:
            return urljoin(base, address)
    except ValueError:
        return address
    folder, _, name = base_parts.path.rpartition("/")
    folders = (folder, name, "") if name in {".", ".."} else (folder, "")
    # `urljoin` would remove each `..` for which this base has no folder; the outer base or the document may have one.
    return "/".join(folders).lstrip("/") + address


GZIP = b"\x1f\x8b"
"""The bytes with which gzip begins."""
_INFLATE_ERROR = cast("type[Exception]", isal_zlib.error)
_BLANKS = b" \t\r\n"
_LIMITS = Limits(member_size=MAX_BYTES, elements=1_000_000)
_KIND_BY_ROOT = {
    "urlset": (HintKind.SITEMAP, "url", read_sitemap_entry),
    "sitemapindex": (HintKind.INDEX, "sitemap", read_sitemap_entry),
    "rss": (HintKind.FEED, "item", read_rss_item),
    "RDF": (HintKind.FEED, "item", read_rss_item),
    "feed": (HintKind.FEED, "entry", read_atom_entry),
}
_TEXT_LINE = re.compile(r"[^\r\n]++")
_MAX_LINES = 10 * MAX_ENTRIES  # lines of a text sitemap that are read; those beyond `MAX_ENTRIES` are only counted

# reasons that do not prevent the use of a JSON Feed's hints; None: all could be read
_FEED_REASONS = frozenset((None, Reason.TOO_MANY_ELEMENTS, Reason.WRONG_ENCODING))


def read_hints(content: bytes, base: str) -> UrlHints:
    r"""Read the addresses in a sitemap or feed, which may be gzip; `base` is the document's normalised address.

    Never raises an error: the `kind` of any other document is NONE.

    XML that does not end with its root has the reason TRUNCATED, and an address that is cut is refused.

    Bytes other than zeros after a gzip file give the reason CORRUPT, since they may be a broken member of the file.

    >>> read_hints(b"https://example.org/a\nhttps://example.org/b", "https://example.org/txt").entries[1].url
    'https://example.org/b'
    """
    try:
        plain, remainder = inflate_gzip(content[: MAX_BYTES + 1]) if content.startswith(GZIP) else (content, b"")
    except StepError as error:
        return UrlHints(HintKind.NONE, reason=error.reason)
    if len(plain) > MAX_BYTES:
        return UrlHints(HintKind.NONE, reason=Reason.TOO_LARGE)
    hints = _read_plain(plain, base)
    return replace(hints, reason=Reason.CORRUPT) if remainder.strip(b"\0") and not hints.reason else hints


def _read_plain(plain: bytes, base: str) -> UrlHints:
    start = plain.removeprefix(codecs.BOM_UTF8)[:4096].lstrip(_BLANKS)
    if start.startswith(
        (b"<", *(mark for mark, _ in xml.BYTE_ORDER_MARKS), *(shape for shape, _ in xml.FIRST_CHARACTERS))
    ):
        return _read_xml(plain, base)
    if start.startswith(b"{"):
        hints = _gather_hints(HintKind.FEED, read_json_feed_items(plain), base)
        return hints if hints.reason in _FEED_REASONS else UrlHints(HintKind.NONE, reason=hints.reason)
    return _read_text(plain, base)


def _read_xml(content: bytes, base: str) -> UrlHints:
    """Read the addresses in XML element by element, so that no tree of the whole document is in memory."""
    stripped = content.lstrip(_BLANKS) if content[:1] in _BLANKS else content  # many have it before the declaration
    try:
        admitted = xml.admit(stripped, _LIMITS, may_name_dtd=True)
    except StepError as error:
        return UrlHints(HintKind.NONE, reason=error.reason)
    if admitted.root not in _KIND_BY_ROOT:
        return UrlHints(HintKind.NONE, reason=Reason.WRONG_ROOT)
    kind, tag, read_entry = _KIND_BY_ROOT[admitted.root]
    hints = _gather_hints(kind, _read_elements(admitted.content, tag, read_entry), base)
    return hints if hints.reason or xml.is_whole(admitted) else replace(hints, reason=Reason.TRUNCATED)


def _read_elements(content: bytes, tag: str, read_entry: Any) -> Iterator[_Row]:
    """Yield what `read_entry` returns for each element with the local name `tag`, even in XML that is not well-formed.

    Each element is freed before the next one is read. An element with lone surrogates gives an empty row; so does, at
    the end, each element that the parser skipped because the document is malformed. Raise StepError for a document type
    declaration, or if the parser gives up.
    """
    read_count = 0
    options: dict[str, Any] = xml.PARSER_OPTIONS | {"recover": True}
    repaired = xml.repair_references(xml.empty_unclosed(xml.escape_undecodable(content), *ADDRESS_ELEMENTS))
    reader = etree.iterparse(io.BytesIO(repaired), events=("end",), tag=f"{{*}}{tag}", **options)
    try:
        for _, element in reader:
            if element.getroottree().docinfo.internalDTD is not None:
                raise StepError("a document type declaration is refused", Reason.DTD_FORBIDDEN)
            try:
                entry = read_entry(element)
            except UnicodeDecodeError:  # lone surrogates: the entry counts as refused
                entry = ("", "")
            read_count += 1
            yield entry
            element.clear()
            while (previous := element.getprevious()) is not None:
                previous.getparent().remove(previous)
    except etree.XMLSyntaxError:
        raise StepError("the XML is not well-formed", Reason.NOT_WELL_FORMED) from None
    if reader.error_log:
        for _ in range(xml.count_start_tags(content, tag) - read_count):
            yield "", ""


def _read_text(content: bytes, base: str) -> UrlHints:
    """Read a text sitemap, with an absolute address on each line; other lines, except comments, are refused."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return UrlHints(HintKind.NONE, reason=Reason.WRONG_ENCODING)
    line_matches = _TEXT_LINE.finditer(text)
    lines = (match[0].strip() for match in islice(line_matches, _MAX_LINES))
    addresses = (line if has_web_scheme(line) else "" for line in lines if line and line[0] != "#")
    hints = _gather_hints(HintKind.SITEMAP, ((address, "") for address in addresses), base)
    if next(line_matches, None) and not hints.left_out:  # comments are among the lines that were read
        hints = replace(hints, reason=Reason.TOO_MANY_ELEMENTS, left_out=1)
    return hints if hints.entries else UrlHints(HintKind.NONE, reason=Reason.UNSUPPORTED)


def _gather_hints(kind: HintKind, rows: Iterable[_Row], base: str) -> UrlHints:
    """Return the rows as hints with normalised addresses, each once with its newest time of change.

    The limit `MAX_ENTRIES` includes repeated and refused addresses.
    """
    entries: dict[str, UrlHint] = {}
    refused = left_out = unread_times = 0
    try:
        for count, (address, modified) in enumerate(rows):
            if count >= MAX_ENTRIES:
                left_out += 1
                continue
            url = normalise(address, base).url if address else ""
            if not url:
                refused += 1
                continue
            time, former = read_utc_time(modified), entries.get(url)
            unread_times += bool(modified.strip()) and time is None
            if former is None or (time and (former.modified is None or time > former.modified)):
                entries[url] = UrlHint(url, time)
        reason = Reason.TOO_MANY_ELEMENTS if left_out else None
    except UnicodeDecodeError:
        reason = Reason.WRONG_ENCODING
    except StepError as error:
        reason = error.reason
    kept_hints = () if reason is Reason.DTD_FORBIDDEN else tuple(entries.values())
    return UrlHints(kind, kept_hints, reason, refused, left_out, unread_times)


def inflate_gzip(content: bytes) -> tuple[bytes, bytes]:
    """Inflate members of gzip (RFC 1952); return the inflated bytes, and the bytes after the last member.

    Raise StepError for broken, cut or too many bytes, or too many members.
    """
    inflated = bytearray()
    remaining = content
    for _ in range(GZIP_MEMBERS.number + 1):
        if not remaining.startswith(GZIP):
            break
        stream = isal_zlib.decompressobj(wbits=31)
        try:
            inflated += stream.decompress(remaining, MAX_BYTES + 1 - len(inflated))
        except _INFLATE_ERROR:
            raise StepError("the gzip data cannot be inflated", Reason.CORRUPT) from None
        if len(inflated) > MAX_BYTES:
            raise StepError(f"the gzip data inflates to more than {MAX_BYTES} bytes", Reason.BOMB_TOTAL)
        if not stream.eof:
            raise StepError("the gzip data ends too early", Reason.TRUNCATED)
        remaining = stream.unused_data
    else:
        raise StepError(f"the gzip data has more than {GZIP_MEMBERS.number} members", Reason.TOO_LARGE)
    return bytes(inflated), remaining
