"""Read events in XML, HTML and feeds, using paths and CSS selectors.

Paths in XML consist of local names, without prefixes and namespaces; `a/b|a/c` selects the items at both paths, and
`a/b@NAME` selects an attribute. A document type that names only an external DTD is removed, as the DTD is never loaded;
a document type with declarations is refused.

In HTML, an empty selector selects the item itself, `SELECTOR@NAME` selects an attribute, and `column:NAME` selects the
cell of a table row below the heading NAME.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

from lxml import etree
from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from windrow.caps import EVENT_PAGE_BYTES
from windrow.collections.events.parser import RawEvent, SkippedPart, SourceDocument
from windrow.collections.events.readers.by_fields import (
    build_event,
    count_invalid_bytes,
    join_url,
    read_json,
)
from windrow.collections.events.readers.html_text import visible_text
from windrow.collections.events.readers.paging import next_address
from windrow.content.tree import parse, parse_counting
from windrow.content.xhtml import PageText, decode_page, describe_fault
from windrow.errors import StepError
from windrow.formats import xml
from windrow.formats.feed import build_feed_tree, count_hidden_entries
from windrow.formats.text import replace_controls
from windrow.formats.url import has_web_scheme
from windrow.model import Limits
from windrow.reasons import Reason

_XML_LIMITS = Limits()
_ELEMENT_NAME = re.compile(r"[A-Za-z_][\w.-]*")
_SELECTS_NOTHING = "selects nothing; set `root` if the document may have no events"
_PATH_STEP = re.compile(r"(^|/)(?=[A-Za-z_])")


def read_xml(document: SourceDocument) -> Iterator[RawEvent | SkippedPart]:
    """Yield the events of an XML document.

    Raise StepError if `xml_tree` does, or if `items` selects nothing. But if `root` is set, a document without elements
    of the last name in `items` is valid, and has no events.
    """
    root = xml_tree(document)
    has_events, rules = False, document.rules
    paths = rules.items.split("|") if rules.items else []
    elements = chain.from_iterable(root.iterfind(any_namespace(path)) for path in paths) if paths else iter([root])
    for element in elements:
        has_events = True
        text = etree.tostring(element, encoding="unicode", with_tail=False)
        document = document._replace(base=join_url(document.url, element.base or ""))  # `xml:base`
        yield build_event(document, lambda path, element=element: element_text(element, path), text)  # type: ignore[misc]
    if has_events:
        return
    names = {name for path in paths if _ELEMENT_NAME.fullmatch(name := path.rpartition("/")[2])}
    count = sum(1 for name in names for _ in root.iterdescendants(f"{{*}}{name}"))
    if count:
        message = f"the setting `items`, {rules.items!r}, selects nothing; elements of that name elsewhere: {count}"
        raise StepError(message, Reason.WRONG_ROOT)
    if not rules.root:
        raise StepError(f"the setting `items`, {rules.items!r}, {_SELECTS_NOTHING}", Reason.WRONG_ROOT)


def xml_tree(document: SourceDocument) -> etree._Element:
    """Parse XML; raise StepError if `xml.admit` refuses it, or if it is not well-formed or has the wrong root."""
    admitted = xml.admit(document.content.lstrip(b" \t\r\n"), _XML_LIMITS, may_name_dtd=True)
    wanted_root = document.rules.root
    if wanted_root and admitted.root != wanted_root:
        raise StepError(f"the root is {admitted.root[:60]!r}, not {wanted_root!r}", Reason.WRONG_ROOT)
    return xml.build_tree(admitted.content)


def any_namespace(path: str) -> str:
    """Make a path match elements in any namespace.

    >>> any_namespace("a/b-c"), any_namespace("./a")
    ('{*}a/{*}b-c', './{*}a')
    """
    return _PATH_STEP.sub(r"\1{*}", path)


def element_text(element: etree._Element, path: str) -> str | None:
    """Return the texts of all elements at a path, joined by commas; None if there are no elements.

    The path `PATH@NAME` gives the texts of an attribute.
    """
    element_path, _, attribute = path.partition("@")
    element_path = element_path.rstrip("/")
    matches = element.findall(any_namespace(element_path)) if element_path else [element]
    if attribute:
        texts = [attribute_text for match in matches if (attribute_text := match.get(attribute))]
    else:
        texts = [text for match in matches if (text := " ".join(_joined_text(match).split()))]
    return replace_controls(", ".join(texts)) if matches else None


_FORMATTING_NAMES = frozenset(
    ("a", "abbr", "b", "big", "em", "font", "i", "mark", "s", "small", "strong", "sub", "sup", "u")
)


def _joined_text(element: etree._Element) -> str:
    """Return the text in an element, with spaces at the tags in it, except at those that format a part of a word."""
    pieces: list[str] = []
    for event, part in etree.iterwalk(element, events=("start", "end", "comment", "pi")):
        is_within = part is not element
        if is_within and isinstance(part.tag, str) and etree.QName(part).localname.lower() not in _FORMATTING_NAMES:
            pieces.append(" ")
        pieces.append((part.text if event == "start" else part.tail if is_within else "") or "")
    return "".join(pieces)


_MAX_HTML_SIZE = EVENT_PAGE_BYTES.number  # bytes of a page, and characters of all its events
_COLUMN_PREFIX = "column:"


def read_html(document: SourceDocument) -> Iterator[RawEvent | SkippedPart]:
    """Yield the events of a page.

    The row of headings of a table is not an event. If the HTML of all events is too large, a SkippedPart is the last
    part. Raise StepError if `root` selects nothing, if the page has no events and `root` is not set, if the page is too
    large, or if a selector is not valid.
    """
    decoded, rules = decode_document(document), document.rules
    page, left_out = parse_counting(decoded.html)
    document = document._replace(base=joining_address(page, document.url))
    yield from count_faults(document, decoded)
    for excess in left_out:
        yield SkippedPart(Reason.TOO_LARGE, f"the page has {excess.cap.rule}; {excess.number} are left out")
    if rules.root and _select_first(page.root, rules.root) is None:
        raise StepError(f"the setting `root`, {rules.root!r}, selects nothing", Reason.WRONG_ROOT)
    nodes = _select_all(page.root, rules.items)
    if not nodes and not rules.root:
        raise StepError(f"the setting `items`, {rules.items!r}, {_SELECTS_NOTHING}", Reason.WRONG_ROOT)
    tables: dict[int, _Table] = {}
    html_size = 0
    for number, node in enumerate(nodes):
        text = node.html or ""
        html_size += len(text)
        if html_size > _MAX_HTML_SIZE:
            message = f"the HTML of the events has more than {_MAX_HTML_SIZE} characters"
            yield SkippedPart(Reason.TOO_LARGE, f"{message}; {len(nodes) - number} of {len(nodes)} are not read")
            return
        part = build_event(document, lambda path, node=node: _node_text(node, path, tables), text)  # type: ignore[misc]
        if not (isinstance(part, SkippedPart) and _is_heading_row(node)):
            yield part


def _is_heading_row(node: LexborNode) -> bool:
    return node.tag == "tr" and not any(cell.tag == "td" for cell in node.iter())


def next_html_page(document: SourceDocument) -> str:
    """Return the address of the next page, from the element that the rule `next_page` selects or the first link in it.

    Return an empty text if there is no link, if it leads to the page itself, or if its address is a fragment or a
    script, as in a disabled link. Raise StepError if the address is not valid.
    """
    rule = document.rules.next_page
    if not rule:
        return ""
    page = html_tree(document)
    document = document._replace(base=joining_address(page, document.url))
    node = _select_first(page.root, rule)
    if node is not None and not node.attributes.get("href"):
        node = _select_first(node, "a[href]")
    href = ((node.attributes.get("href") or "") if node is not None else "").strip()
    if (
        not href
        or href.startswith("#")
        or href.lower().startswith("javascript:")
        or join_url(document.base, href) == document.url
    ):
        return ""
    return next_address(document, href)


def joining_address(page: LexborHTMLParser, url: str) -> str:
    """Return the address with which the relative addresses in a page are joined, from its element `base` or its own."""
    element = page.css_first("base[href]")
    base = join_url(url, (element.attributes["href"] or "").strip()) if element is not None else ""
    return base if has_web_scheme(base) else url


def html_tree(document: SourceDocument) -> LexborHTMLParser:
    """Parse a page; raise StepError if it is too large or has too many tags."""
    return parse(decode_document(document).html)


def decode_document(document: SourceDocument) -> PageText:
    """Decode a page, with U+FFFD for bytes that are not valid; raise StepError if it is too large."""
    if len(document.content) > _MAX_HTML_SIZE:
        raise StepError(f"the page has {len(document.content)} bytes; the limit is {_MAX_HTML_SIZE}", Reason.TOO_LARGE)
    return decode_page(document.content, document.media)


def count_faults(document: SourceDocument, decoded: PageText) -> Iterator[SkippedPart]:
    """Yield a SkippedPart for bytes of a page that are not valid, and one for XML that is not well-formed."""
    yield from count_invalid_bytes(document.content, decoded.html)
    if decoded.fault:
        yield SkippedPart(Reason.NOT_WELL_FORMED, describe_fault(decoded.fault))


def _select_all(node: LexborNode | None, selector: str) -> list[LexborNode]:
    try:
        return list(node.css(selector)) if node is not None else []
    except (SelectolaxError, ValueError) as error:
        raise StepError(f"{selector!r} is not a CSS selector: {error}"[:300], Reason.STEP_FAILED) from None


def _select_first(node: LexborNode | None, selector: str) -> LexborNode | None:
    nodes = _select_all(node, selector)
    return nodes[0] if nodes else None


def _node_text(event_node: LexborNode, path: str, tables: dict[int, _Table]) -> str | None:
    """Return the text, attribute or table cell at a path in an event's node; None if the path selects nothing."""
    if path.startswith(_COLUMN_PREFIX):
        return _cell_text(event_node, path.removeprefix(_COLUMN_PREFIX), tables)
    selector, _, attribute = path.rpartition("@") if "@" in path else (path, "", "")
    node = _select_first(event_node, selector) if selector else event_node
    if node is None:
        return None
    text = (node.attributes.get(attribute) or "") if attribute else visible_text(node)
    return replace_controls(" ".join(text.split()))


class _Table(NamedTuple):
    """A table with headings: the heading of each column, and the cells of each row, by `mem_id` of the row.

    `cells` are (column, cell). A cell that spans several columns is in the first of them, and one that spans several
    rows is in each of them.
    """

    headings: list[str]
    cells: dict[int, list[tuple[int, LexborNode]]]


def _cell_text(row: LexborNode, heading: str, tables: dict[int, _Table]) -> str | None:
    """Return the texts of a row's cells below a heading, which may span several; None if the row has no such cell.

    `tables` caches each table by its `mem_id`.
    """
    node = row.parent
    while node is not None and node.tag != "table":
        node = node.parent
    if node is None:
        return None
    if node.mem_id not in tables:
        tables[node.mem_id] = _read_table(node)
    table, heading = tables[node.mem_id], heading.casefold()
    if heading not in table.headings:
        return None
    first = table.headings.index(heading)
    last = next((column for column in range(first, len(table.headings)) if table.headings[column] != heading), None)
    columns = range(first, len(table.headings) if last is None else last)
    cells = [cell for column, cell in table.cells.get(row.mem_id, ()) if column in columns]
    return replace_controls(" ".join(map(visible_text, cells))) if cells else None


def _read_table(table: LexborNode) -> _Table:
    rows = [row for part in table.iter() for row in ([part] if part.tag == "tr" else part.iter()) if row.tag == "tr"]
    cells_by_row: dict[int, list[tuple[int, LexborNode]]] = {}
    headings: list[str] = []
    spanning: dict[int, tuple[LexborNode, int, int]] = {}  # by column: cell, columns, rows that it still spans
    section = None
    for row in rows:
        if row.parent is not None and row.parent.mem_id != section:  # a cell does not span rows of the next section
            spanning, section = {}, row.parent.mem_id
        own_cells = [cell for cell in row.iter() if cell.tag in {"td", "th"}]
        placed, column = dict(spanning), 0
        for cell in own_cells:
            while column in placed:
                column += placed[column][1]
            width = _read_span(cell, "colspan")
            placed[column] = cell, width, _read_span(cell, "rowspan")
            column += width
        spanning = {column: (cell, width, height - 1) for column, (cell, width, height) in placed.items() if height > 1}
        cells_by_row[row.mem_id] = [(column, placed[column][0]) for column in sorted(placed)]
        if not headings and any(cell.tag == "th" for cell in own_cells):
            for column in sorted(placed):
                cell, width, _ = placed[column]
                headings += [visible_text(cell).casefold()] * width
    return _Table(headings, cells_by_row)


def _read_span(cell: LexborNode, name: str) -> int:
    """Return how many columns or rows a cell spans; a `rowspan` of 0 spans all rows of its section, as in browsers."""
    digits = (cell.attributes.get(name) or "").strip()
    number = int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 6 else 1
    if name == "rowspan":
        return min(number, _MAX_ROWSPAN) or _MAX_ROWSPAN
    return min(number, _MAX_COLSPAN) or 1


_MAX_ROWSPAN, _MAX_COLSPAN = 65_534, 1_000
"""The bounds of the HTML standard; browsers use them in place of larger numbers."""


_FEED_FIELDS = {
    "id": "guid|id", "title": "title", "start": "pubDate|date|published|issued|updated|modified",
    "description": "description|summary|encoded|content", "url": "link|guid",
}  # fmt: skip
_JSON_FEED_FIELDS = {
    "id": "id", "title": "title", "start": "date_published|date_modified",
    "description": "content_text|summary|content_html", "url": "url|id",
}  # fmt: skip


def read_feed(document: SourceDocument) -> Iterator[RawEvent | SkippedPart]:
    """Yield the entries of an RSS, Atom or JSON feed as events; raise StepError if the document is not a feed."""
    first_bytes = document.content.lstrip(b" \t\r\n\xef\xbb\xbf")
    if first_bytes.startswith(b"{"):
        rules = replace(document.rules, items="items", fields={**_JSON_FEED_FIELDS, **document.rules.fields})
        yield from read_json(document._replace(rules=rules))
        return
    admitted = xml.admit(document.content.lstrip(b" \t\r\n"), _XML_LIMITS, may_name_dtd=True)
    if admitted.root not in {"rss", "RDF", "feed"}:
        raise StepError(f"the document is not a feed: its root is {admitted.root[:40]!r}", Reason.WRONG_ROOT)
    tree = build_feed_tree(admitted)
    yield from count_invalid_bytes(admitted.content, admitted.content.decode("utf-8", "replace"))
    if not xml.is_whole(admitted):
        yield SkippedPart(Reason.TRUNCATED, f"the feed does not end with </{admitted.root}>, so events may be missing")
    document = document._replace(rules=replace(document.rules, fields={**_FEED_FIELDS, **document.rules.fields}))
    entries = list(tree.iterdescendants("{*}item", "{*}entry"))
    if hidden := count_hidden_entries(admitted, tree, len(entries)):
        message = f"the feed is not well-formed, so {hidden} of its entries cannot be read"
        yield SkippedPart(Reason.NOT_WELL_FORMED, message)
    for entry in entries:
        text = etree.tostring(entry, encoding="unicode", with_tail=False)
        yield build_event(document, lambda path, entry=entry: _entry_text(entry, path), text)  # type: ignore[misc]


def _entry_text(entry: etree._Element, path: str) -> str | None:
    """Return the first text or link in the children NAME of an entry; None if there is none.

    If `path` is NAME@ATTRIBUTE, return this attribute of the first child NAME. If it is `category`, return all
    categories, joined by commas.
    """
    if path == "category":
        children = entry.iterchildren("{*}category")
        names = (child.get("label") or child.get("term") or _joined_text(child) for child in children)
        return replace_controls(", ".join(filter(None, (" ".join(name.split()) for name in names)))) or None
    name, _, attribute = path.partition("@")
    for child in entry.iterchildren(f"{{*}}{name}"):
        if attribute:
            return child.get(attribute)
        href = child.get("href")
        if name == "link" and href and child.get("rel", "alternate") != "alternate":
            continue
        text = href if name == "link" and href else _joined_text(child)
        if name == "link" and child.base:  # `xml:base`
            text = join_url(child.base, text.strip())
        if name == "guid" and path == "guid" and child.get("isPermaLink") == "false" and text.strip() == "":
            continue
        if text and text.strip():
            return replace_controls(text)
    return None
