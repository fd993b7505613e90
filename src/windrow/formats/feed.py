"""Read feeds with their entries' HTML: RSS 0.9 to 2.0, Atom (RFC 4287), JSON Feed 1.0 and 1.1; sitemaps of news."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from html import escape, unescape
from typing import Any, NamedTuple

from lxml import etree

from windrow.caps import FEED_BYTES, FEED_ENTRIES
from windrow.errors import StepError
from windrow.formats import url_hints, xml
from windrow.formats.json_names import PERSON_KEYS, TOPIC_KEYS, find_names
from windrow.formats.json_page import load_json
from windrow.formats.text import remove_tags, replace_controls, replace_lone_surrogates
from windrow.formats.url_hints import JSON_FEED_VERSIONS, first_child_text
from windrow.model import Limits
from windrow.reasons import Reason

MAX_ENTRIES = FEED_ENTRIES.number
"""The maximum number of entries that are read; reading them takes about ten seconds. `Feed.left_out` counts the
rest."""

_MAX_BYTES = FEED_BYTES.number  # a feed is in memory as a whole
_LIMITS = Limits(member_size=_MAX_BYTES, elements=500_000)
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_RSS_AUTHOR = re.compile(r"^[^\s@]+@[^\s@]+ \(([^()]+)\)$")
"""Matches an author of RSS 2.0: an e-mail address, and the name in parentheses."""
_XHTML = "{http://www.w3.org/1999/xhtml}"


class FeedEntry(NamedTuple):
    """An entry; missing fields are empty.

    Addresses in `html` may be relative to `base` (`xml:base`); `url` and `base` may be relative to the feed's address.
    """

    title: str
    html: str
    url: str
    base: str
    published: str
    updated: str
    authors: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Feed:
    """A feed and its entries. Titles and the description are plain text; addresses and times are as written.

    `left_out` is the number of entries that cannot be read or come after the first `MAX_ENTRIES`. `is_whole` is false
    if the document ends too early, or other bytes follow its end. `next` is the address of the next page, with older
    entries (RFC 5005, section 3; `next_url` of JSON Feed 1.1); `generator` is the program that made the feed.
    """

    title: str
    description: str
    language: str
    updated: str
    entries: tuple[FeedEntry, ...]
    left_out: int = 0
    is_whole: bool = True
    next: str = ""
    generator: str = ""


def read_feed(raw: bytes) -> Feed | None:
    """Read a feed; return None for another document, and raise StepError for a document that cannot be read.

    >>> feed = read_feed(b"<rss><channel><title>Tea</title><item><title>A &amp;amp; B</title></item></channel></rss>")
    >>> feed.title, feed.entries[0].title
    ('Tea', 'A & B')
    """
    if len(raw) > _MAX_BYTES:
        raise StepError(f"the feed has {len(raw)} bytes; the limit is {_MAX_BYTES}", Reason.TOO_LARGE)
    trimmed = raw.lstrip(b" \t\r\n")
    if trimmed.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n").startswith(b"{"):
        return _read_json_feed(raw)
    admitted = xml.admit(trimmed, _LIMITS, may_name_dtd=True)
    if admitted.root not in {"rss", "RDF", "feed"}:
        return None
    root = build_feed_tree(admitted)
    try:
        feed = _read_atom(root) if admitted.root == "feed" else _read_rss(root)
    except UnicodeDecodeError:
        raise StepError("the feed contains lone surrogates, which are not characters", Reason.WRONG_ENCODING) from None
    if not root.getroottree().parser.error_log:
        return feed
    hidden = count_hidden_entries(admitted, root, len(feed.entries) + feed.left_out)
    return replace(feed, left_out=feed.left_out + hidden, is_whole=xml.is_whole(admitted))


def build_feed_tree(admitted: xml.XmlText) -> etree._Element:
    """Build the tree of a feed or sitemap that `admit` returned as far as possible, without addresses that are cut.

    Bytes that are not UTF-8 are escaped in addresses, and become U+FFFD elsewhere.
    """
    content = xml.escape_undecodable(admitted.content, *url_hints.ADDRESS_ELEMENTS)
    return xml.build_tree(xml.empty_unclosed(content, *url_hints.ADDRESS_ELEMENTS), recover=True)


def count_hidden_entries(admitted: xml.XmlText, root: etree._Element, count: int) -> int:
    """Return how many entries a feed has besides the `count` entries in its tree: a malformed element may hide some."""
    if not root.getroottree().parser.error_log:
        return 0
    return max(0, xml.count_start_tags(admitted.content, "entry" if admitted.root == "feed" else "item") - count)


def read_news_sitemap(raw: bytes) -> tuple[tuple[FeedEntry, ...], int]:
    """Read the titles, dates and keywords in a sitemap of news; return no entries of another document.

    The second value is the number of entries that are left out, as in `Feed.left_out`. Raise StepError for a document
    that cannot be read.

    >>> news = read_news_sitemap(b"<urlset><url><loc>/a</loc><news><title>R&amp;amp;D</title></news></url></urlset>")
    >>> news[0][0].title
    'R&amp;D'
    """
    admitted = xml.admit(raw.lstrip(b" \t\r\n"), _LIMITS, may_name_dtd=True)
    if admitted.root != "urlset":
        return (), 0
    root = build_feed_tree(admitted)
    return _read_entries(root.iterdescendants("{*}url"), _read_news_url)


def _read_news_url(element: etree._Element) -> FeedEntry:
    news = next(element.iterchildren("{*}news"), element)
    title = " ".join(replace_controls(first_child_text(news, "title")).split())  # it is not HTML
    published = first_child_text(news, "publication_date")
    return FeedEntry(title, "", first_child_text(element, "loc"), "", published, "", (), tuple(_subjects(news)))


def _read_rss(root: etree._Element) -> Feed:
    channel = next(root.iterchildren("{*}channel"), root)
    entries, left_out = _read_entries(root.iterdescendants("{*}item"), _read_rss_item)
    return Feed(
        _plain_text(first_child_text(channel, "title")),
        _plain_text(first_child_text(channel, "description")),
        first_child_text(channel, "language"),
        first_child_text(channel, "lastBuildDate", "pubDate", "date"),
        entries,
        left_out,
        next=_find_next(channel),
        generator=first_child_text(channel, "generator"),
    )


def _read_entries(
    elements: Iterable[etree._Element], read_entry: Callable[[etree._Element], FeedEntry]
) -> tuple[tuple[FeedEntry, ...], int]:
    """Return the entries that can be read, at most `MAX_ENTRIES`, and the number of elements that are left out."""
    entries: list[FeedEntry] = []
    left_out = 0
    for element in elements:
        try:
            entry = read_entry(element) if len(entries) < MAX_ENTRIES else None
        except UnicodeDecodeError:  # lone surrogates
            entry = None
        if entry is None:
            left_out += 1
        else:
            entries.append(entry)
    return tuple(entries), left_out


def _read_rss_item(element: etree._Element) -> FeedEntry:
    url, _ = url_hints.read_rss_item(element)
    title = _plain_text(first_child_text(element, "title"))
    html = first_child_text(element, "encoded") or first_child_text(element, "description")
    published, updated = first_child_text(element, "pubDate", "date"), first_child_text(element, "updated")
    authors = _child_texts(element, "creator") or [
        _RSS_AUTHOR.sub(r"\1", text) for text in _child_texts(element, "author")
    ]
    return FeedEntry(
        title, html, url, url_hints.find_address_for_links(element), published, updated, tuple(authors),
        (*_child_texts(element, "category"), *_subjects(element)),
    )  # fmt: skip


def _subjects(element: etree._Element) -> list[str]:
    """Return the texts of `dc:subject`, and the words in `media:keywords` and `itunes:keywords`."""
    keywords = (word.strip() for text in _child_texts(element, "keywords") for word in text.split(","))
    return [*_child_texts(element, "subject"), *filter(None, keywords)]


def _child_texts(element: etree._Element, name: str) -> list[str]:
    texts = (_plain_text(url_hints.all_text(child)) for child in element.iterchildren(f"{{*}}{name}"))
    return [text for text in texts if text]


def _read_atom(root: etree._Element) -> Feed:
    entries, left_out = _read_entries(root.iterchildren("{*}entry"), _read_atom_entry)
    return Feed(
        _plain_text(_text_construct(root, "title")[0]),
        _plain_text(_text_construct(root, "subtitle", "tagline")[0]),
        root.get(_LANGUAGE, ""),
        first_child_text(root, "updated", "modified"),
        entries,
        left_out,
        next=_find_next(root),
        generator=first_child_text(root, "generator"),
    )


def _find_next(element: etree._Element) -> str:
    """Return the address of the next page of a feed, as the feed or its channel `element` writes it, or ""."""
    links = (link for link in element.iterchildren("{*}link") if link.get("rel", "").strip().lower() == "next")
    addresses = (url_hints.resolve_address(link, link.get("href", "").strip()) for link in links)
    return next(filter(None, addresses), "")


def _atom_authors(element: etree._Element) -> list[str]:
    return [name for author in element.iterchildren("{*}author") for name in _child_texts(author, "name")]


def _read_atom_entry(element: etree._Element) -> FeedEntry:
    url, _ = url_hints.read_atom_entry(element)
    title = _plain_text(_text_construct(element, "title")[0])
    html, base = _text_construct(element, "content", "summary")
    published = first_child_text(element, "published", "issued")
    updated = first_child_text(element, "updated", "modified")
    # An entry without authors has those of its source or, if that has none, of the feed (RFC 4287, section 4.2.1).
    parents = (element, element.find("{*}source"), element.getparent())
    authors = next(filter(None, (_atom_authors(parent) for parent in parents if parent is not None)), [])
    labels = [child.get("label", "") or child.get("term", "") for child in element.iterchildren("{*}category")]
    categories = filter(None, map(_plain_text, labels))
    return FeedEntry(title, html, url, base, published, updated, tuple(authors), (*categories, *_subjects(element)))


def _text_construct(element: etree._Element, *names: str) -> tuple[str, str]:
    """Return as HTML the first child with text, in the order of `names` (RFC 4287, 3.1 and 4.1.3), and its base."""
    for name in names:
        for child in url_hints.named_children(element, name):
            if html := _read_construct(child):
                return html, url_hints.find_address_for_links(child)
    return "", ""


def _read_construct(child: etree._Element) -> str:
    text_type = (child.get("type") or child.get("mode") or "text").lower()
    if text_type in {"xhtml", "application/xhtml+xml", "xml"} or len(child):
        etree.cleanup_namespaces(child)
        _apply_bases(child)
        inside = (etree.tostring(part, encoding="unicode", method="html") for part in _without_namespace(child))
        return escape(child.text or "") + "".join(inside)
    content = child.text or ""
    return content if text_type in {"html", "text/html", "escaped"} else escape(content)


def _apply_bases(element: etree._Element) -> None:
    """Resolve the addresses below an element by each `xml:base` there, which HTML does not have, innermost first."""
    for based in reversed([part for part in element.iterdescendants() if part.get(url_hints.BASE)]):
        base = based.get(url_hints.BASE, "").strip()
        for part in based.iter():
            for name in ("href", "src"):
                if address := part.get(name):
                    part.set(name, url_hints.join_address(base, address))


def _without_namespace(element: etree._Element) -> list[etree._Element]:
    """Remove the namespace of XHTML from all elements below `element`, because HTML has none; return its children.

    An element whose name HTML does not allow, such as `a:b`, becomes a `span`.
    """
    for descendant in element.iterdescendants(f"{_XHTML}*"):
        try:
            descendant.tag = str(descendant.tag)[len(_XHTML) :]
        except ValueError:
            descendant.tag = "span"
    return list(element)


def _plain_text(html: str) -> str:
    return " ".join(replace_controls(unescape(remove_tags(html))).split())


def _read_json_feed(raw: bytes) -> Feed | None:
    try:
        document = load_json(raw)
    except (ValueError, RecursionError):
        raise StepError("the document is not JSON, or is nested too deeply", Reason.NOT_WELL_FORMED) from None
    if not isinstance(document, dict) or not _first_member(document, "version").startswith(JSON_FEED_VERSIONS):
        return None
    item_list = document.get("items")
    all_items = item_list if isinstance(item_list, list) else []
    items = [item for item in all_items if isinstance(item, dict)][:MAX_ENTRIES]
    entries = tuple(
        FeedEntry(
            _plain_text(_first_member(item, "title")),
            _first_member(item, "content_html") or escape(_first_member(item, "content_text", "summary")),
            replace_lone_surrogates(url_hints.json_item_address(item)),
            "",
            _first_member(item, "date_published"),
            _first_member(item, "date_modified"),
            tuple(_author_names(item)),
            tuple(_texts_of(list(find_names(item.get("tags"), TOPIC_KEYS)))),
        )
        for item in items
    )
    return Feed(
        _plain_text(_first_member(document, "title")),
        _plain_text(_first_member(document, "description")),
        _first_member(document, "language"),
        "",
        entries,
        len(all_items) - len(entries),
        next=_first_member(document, "next_url"),
    )


def _author_names(item: dict[str, Any]) -> list[str]:
    """Return the names of an item's authors, from its `authors` or otherwise from its `author`, as in JSON Feed 1.0."""
    names = (list(find_names(item.get(name), PERSON_KEYS)) for name in ("authors", "author"))
    return _texts_of(next(filter(None, names), []))


def _texts_of(values: Any) -> list[str]:
    texts = [value for value in values if isinstance(value, str)] if isinstance(values, list) else []
    return [text for text in (replace_lone_surrogates(_plain_text(text)) for text in texts) if text]


def _first_member(members: dict[str, Any], *names: str) -> str:
    """Return the first of these members that is a non-empty string, or ""; its lone surrogates become `?`."""
    text = next((value for name in names if isinstance(value := members.get(name), str) and value), "")
    return replace_lone_surrogates(text)
