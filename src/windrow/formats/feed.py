"""Read feeds with their entries' HTML: RSS 0.9 to 2.0, Atom (RFC 4287), JSON Feed 1.0 and 1.1."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from html import escape, unescape
from typing import Any, NamedTuple

from lxml import etree

from windrow.errors import StepError
from windrow.formats import url_hints as hint
from windrow.formats import xml
from windrow.formats.text import clean
from windrow.formats.url_hints import text
from windrow.model import Limits
from windrow.reasons import Reason

ENTRIES = 5_000
"""The most entries that are read; the rest is ignored."""

_CAP = 16 * 1024 * 1024  # bytes: feeds are read as a whole
_LIMITS = Limits(member_size=_CAP, elements=500_000)
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_XHTML = "{http://www.w3.org/1999/xhtml}"


class FeedEntry(NamedTuple):
    """One entry; missing fields are empty. The title is plain text; relative addresses start from `base`."""

    title: str
    html: str
    url: str
    base: str
    published: str
    updated: str


@dataclass(frozen=True, slots=True)
class Feed:
    """A feed and its entries; its texts are plain, addresses and times are as written."""

    title: str
    description: str
    language: str
    updated: str
    entries: tuple[FeedEntry, ...]


def read(raw: bytes) -> Feed | None:
    """Read a feed; None if the document is not a feed, `StepError` with a reason if it cannot be read.

    >>> feed = read(b"<rss><channel><title>Tea</title><item><title>A &amp;amp; B</title></item></channel></rss>")
    >>> feed.title, feed.entries[0].title
    ('Tea', 'A & B')
    """
    if len(raw) > _CAP:
        raise StepError(f"the feed has {len(raw)} bytes; the limit is {_CAP}", Reason.TOO_LARGE)
    start = raw.lstrip(b" \t\r\n")
    if start.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n").startswith(b"{"):
        return _json(raw)
    admitted = xml.admit(start, _LIMITS)
    if admitted.root not in {"rss", "RDF", "feed"}:
        return None
    root = xml.tree(admitted.content, recover=True)
    try:
        return _atom(root) if admitted.root == "feed" else _rss(root)
    except UnicodeDecodeError:
        raise StepError("the feed holds lone surrogates, which are not characters", Reason.WRONG_ENCODING) from None


def _rss(root: etree._Element) -> Feed:
    channel = next(root.iterchildren("{*}channel"), root)
    elements = [*root.iterdescendants("{*}item")][:ENTRIES]
    return Feed(
        _plain(text(channel, "title")),
        _plain(text(channel, "description")),
        text(channel, "language"),
        text(channel, "lastBuildDate", "pubDate", "date"),
        tuple(_item(element) for element in elements),
    )


def _item(element: etree._Element) -> FeedEntry:
    url, _, base = hint.item(element)
    html = text(element, "encoded") or text(element, "description")
    return FeedEntry(
        _plain(text(element, "title")), html, url, base, text(element, "pubDate", "date"), text(element, "updated")
    )


def _atom(root: etree._Element) -> Feed:
    entries = [*root.iterchildren("{*}entry")][:ENTRIES]
    return Feed(
        _plain(_text_construct(root, "title")),
        _plain(_text_construct(root, "subtitle", "tagline")),
        root.get(_LANGUAGE, ""),
        text(root, "updated", "modified"),
        tuple(_entry(entry) for entry in entries),
    )


def _entry(element: etree._Element) -> FeedEntry:
    url, _, base = hint.feed_entry(element)
    title = _plain(_text_construct(element, "title"))
    html = _text_construct(element, "content") or _text_construct(element, "summary")
    published, updated = text(element, "published", "issued"), text(element, "updated", "modified")
    return FeedEntry(title, html, url, base, published, updated)


def _text_construct(element: etree._Element, *names: str) -> str:
    """Return an Atom text construct as HTML (RFC 4287, sections 3.1 and 4.1.3)."""
    for name in names:
        for child in element.iterchildren(f"{{*}}{name}"):
            kind = (child.get("type") or child.get("mode") or "text").lower()
            if kind in {"xhtml", "application/xhtml+xml", "xml"} or len(child):
                etree.cleanup_namespaces(child)
                inside = (
                    etree.tostring(child_element, encoding="unicode", method="html")
                    for child_element in _without_namespace(child)
                )
                return escape(child.text or "") + "".join(inside)
            content = child.text or ""
            return content if kind in {"html", "text/html", "escaped"} else escape(content)
    return ""


def _without_namespace(element: etree._Element) -> list[etree._Element]:
    """Remove the namespace of XHTML from all elements below this one, since HTML has none; return its children."""
    for descendant in element.iterdescendants(f"{_XHTML}*"):
        descendant.tag = str(descendant.tag)[len(_XHTML) :]
    return list(element)


def _plain(written: str) -> str:
    """Return a title without HTML tags and escapes, its white space collapsed."""
    return " ".join(clean(unescape(_TAG.sub("", written))).split())


def _json(raw: bytes) -> Feed | None:
    try:
        document = json.loads(raw)
    except (ValueError, RecursionError):
        raise StepError("this is not JSON", Reason.NOT_WELL_FORMED) from None
    if not isinstance(document, dict) or not _first_text(document, "version").startswith(hint.VERSION):
        return None
    listed = document.get("items")
    items = [item for item in listed if isinstance(item, dict)][:ENTRIES] if isinstance(listed, list) else []
    entries = tuple(
        FeedEntry(
            _first_text(item, "title"),
            _first_text(item, "content_html") or escape(_first_text(item, "content_text", "summary")),
            _first_text(item, "url", "id"),
            "",
            _first_text(item, "date_published"),
            _first_text(item, "date_modified"),
        )
        for item in items
    )
    return Feed(
        _first_text(document, "title"),
        _first_text(document, "description"),
        _first_text(document, "language"),
        "",
        entries,
    )


def _first_text(members: dict[str, Any], *names: str) -> str:
    """Return the first of these members that is a string and not empty; lone surrogates in it are replaced."""
    text_value = next((value for name in names if isinstance(value := members.get(name), str) and value), "")
    return text_value.encode("utf-8", "replace").decode()
