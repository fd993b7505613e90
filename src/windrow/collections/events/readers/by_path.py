"""Events of XML, HTML and feeds, found by paths and selectors.

Of several kinds of items each has a path: `a/b|a/c`.

Names are local ones: prefixes and namespaces are left out. A document type that names only a DTD elsewhere is left out
too, as nothing of it is ever read; one with declarations of its own is refused.

An empty selector is the item itself, and `column:NAME` the cell of a table's row below the heading NAME.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from lxml import etree
from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from windrow.collections.events.parser import ParserInput, RawEvent, Unread
from windrow.collections.events.readers.by_fields import event_of, read_json, text_of
from windrow.errors import StepError
from windrow.formats import xml
from windrow.formats.feed import ENTRIES
from windrow.formats.text import clean
from windrow.model import Limits
from windrow.reasons import Reason

MOST = 10_000
"""Events of one document that are read."""

_LIMITS = Limits(member=64 << 20, elements=2_000_000)
_DOCTYPE = re.compile(rb"<!DOCTYPE\s+[\w:.-]+(?:\s+(?:PUBLIC|SYSTEM)(?:\s+(?:\"[^\"<>]*\"|'[^'<>]*'))*)?\s*>")
_STEP = re.compile(r"(^|/)(?=[A-Za-z_])")


def read_xml(given: ParserInput) -> Iterator[RawEvent | Unread]:
    """Yield the events of a document."""
    root = xml_tree(given)
    found = 0
    paths = given.rules.items.split("|") if given.rules.items else []
    items = chain.from_iterable(root.iterfind(local(path)) for path in paths) if paths else iter([root])
    for one in items:
        if found >= MOST:
            yield Unread(Reason.TOO_LARGE, f"more than {MOST} events")
            return
        found += 1
        text = etree.tostring(one, encoding="unicode", with_tail=False)
        yield event_of(given, lambda path, one=one: told(one, path), text)  # type: ignore[misc]
    if not found and not given.rules.root:
        raise StepError(f"there is nothing at {given.rules.items!r}; name `root` where that may be", Reason.WRONG_ROOT)


def xml_tree(given: ParserInput) -> etree._Element:
    """Return the root of a document; StepError where it is not the one that its parser wants."""
    content = _DOCTYPE.sub(b"", given.content.lstrip(b" \t\r\n"), count=1)
    admitted = xml.admit(content, _LIMITS)
    wanted = given.rules.root
    if wanted and admitted.root != wanted:
        raise StepError(f"the root is {admitted.root[:60]!r}, not {wanted!r}", Reason.WRONG_ROOT)
    return xml.tree(admitted.content)


def local(path: str) -> str:
    """Return a path that finds elements whatever their namespace.

    >>> local("a/b-c"), local("./a")
    ('{*}a/{*}b-c', './{*}a')
    """
    return _STEP.sub(r"\1{*}", path)


def told(one: etree._Element, path: str) -> str | None:
    """Return the text of the element at a path, all texts of several joined by commas, or that of an attribute."""
    elements, _, attribute = path.partition("@")
    elements = elements.rstrip("/")
    found = one.findall(local(elements)) if elements else [one]
    if attribute:
        values = [value for each in found if (value := each.get(attribute))]
    else:
        values = [text for each in found if (text := " ".join("".join(map(str, each.itertext())).split()))]
    return clean(", ".join(values)) if found else None


_CAP = 32 << 20
_COLUMN = "column:"


def read_html(given: ParserInput) -> Iterator[RawEvent | Unread]:
    """Yield the events of a page."""
    page = html_tree(given)
    if given.rules.root and _first(page.root, given.rules.root) is None:
        raise StepError(f"there is nothing at {given.rules.root!r}", Reason.WRONG_ROOT)
    items = _all(page.root, given.rules.items)
    if not items and not given.rules.root:
        raise StepError(f"there is nothing at {given.rules.items!r}; name `root` where that may be", Reason.WRONG_ROOT)
    columns: dict[int, list[str]] = {}
    size = 0
    for one in items[:MOST]:
        text = one.html or ""
        size += len(text)
        if size > _CAP:
            yield Unread(Reason.TOO_LARGE, "its events lie within one another: what is in all of them is too much")
            return
        yield event_of(given, lambda path, one=one: _told(one, path, columns), text)  # type: ignore[misc]
    if len(items) > MOST:
        yield Unread(Reason.TOO_LARGE, f"more than {MOST} events")


def next_html_page(given: ParserInput) -> str:
    """Return the address of the next page: that of the link that `next` selects."""
    found = _first(html_tree(given).root, given.rules.next) if given.rules.next else None
    return (found.attributes.get("href") or "") if found is not None else ""


def html_tree(given: ParserInput) -> LexborHTMLParser:
    """Parse a page."""
    if len(given.content) > _CAP:
        raise StepError(f"{len(given.content)} bytes, at most {_CAP} allowed", Reason.TOO_LARGE)
    return LexborHTMLParser(text_of(given.content, given.media))


def _all(node: LexborNode | None, selector: str) -> list[LexborNode]:
    try:
        return list(node.css(selector)) if node is not None else []
    except (SelectolaxError, ValueError) as error:
        raise StepError(f"{selector!r} is no selector: {error}"[:300], Reason.STEP_FAILED) from None


def _first(node: LexborNode | None, selector: str) -> LexborNode | None:
    found = _all(node, selector)
    return found[0] if found else None


def _told(item: LexborNode, path: str, columns: dict[int, list[str]]) -> str | None:
    """Return what a path of an item finds."""
    if path.startswith(_COLUMN):
        return _cell(item, path.removeprefix(_COLUMN), columns)
    selector, _, attribute = path.rpartition("@") if "@" in path else (path, "", "")
    found = _first(item, selector) if selector else item
    if found is None:
        return None
    text = (found.attributes.get(attribute) or "") if attribute else found.text(separator=" ")
    return clean(" ".join(text.split()))


def _cell(row: LexborNode, name: str, columns: dict[int, list[str]]) -> str | None:
    """Return the cell of a row below a heading."""
    table = row.parent
    while table is not None and table.tag != "table":
        table = table.parent
    if table is None:
        return None
    if table.mem_id not in columns:
        head = _first(table, "tr:has(th)")
        cells = _all(head, "th, td") if head is not None else []
        columns[table.mem_id] = [" ".join(cell.text(separator=" ").split()).casefold() for cell in cells]
    headings = columns[table.mem_id]
    cells = [cell for cell in row.iter() if cell.tag in {"td", "th"}]
    wanted = name.casefold()
    if wanted not in headings or headings.index(wanted) >= len(cells):
        return None
    return clean(" ".join(cells[headings.index(wanted)].text(separator=" ").split()))


_FEED_LIMITS = Limits(member=64 << 20, elements=1_000_000)
_FIELDS = {
    "id": "guid|id", "title": "title", "start": "pubDate|date|published|issued|updated|modified",
    "description": "description|summary|encoded|content", "url": "link|guid",
}  # fmt: skip
_JSON_FIELDS = {
    "id": "id", "title": "title", "start": "date_published|date_modified",
    "description": "content_text|summary|content_html", "url": "url|id",
}  # fmt: skip


def read_feed(given: ParserInput) -> Iterator[RawEvent | Unread]:
    """Yield the entries of a feed."""
    start = given.content.lstrip(b" \t\r\n\xef\xbb\xbf")
    if start.startswith(b"{"):
        rules = replace(given.rules, items="items", fields={**_JSON_FIELDS, **given.rules.fields})
        yield from read_json(given._replace(rules=rules))
        return
    admitted = xml.admit(given.content.lstrip(b" \t\r\n"), _FEED_LIMITS)
    if admitted.root not in {"rss", "RDF", "feed"}:
        raise StepError(f"this is no feed: its root is {admitted.root[:40]!r}", Reason.WRONG_ROOT)
    tree = xml.tree(admitted.content, recover=True)
    given = given._replace(rules=replace(given.rules, fields={**_FIELDS, **given.rules.fields}))
    for number, entry in enumerate(tree.iterdescendants("{*}item", "{*}entry")):
        if number >= ENTRIES:
            yield Unread(Reason.TOO_LARGE, f"more than {ENTRIES} entries")
            return
        text = etree.tostring(entry, encoding="unicode", with_tail=False)
        yield event_of(given, lambda path, entry=entry: _look(entry, path), text)  # type: ignore[misc]


def _look(entry: etree._Element, path: str) -> str | None:
    """Return what an element of this local name says: of a link its address, else its text."""
    name, _, attribute = path.partition("@")
    for child in entry.iterchildren(f"{{*}}{name}"):
        if attribute:
            return child.get(attribute)
        href = child.get("href")
        if name == "link" and href and child.get("rel", "alternate") != "alternate":
            continue
        told = href if name == "link" and href else "".join(map(str, child.itertext()))
        if name == "guid" and path == "guid" and child.get("isPermaLink") == "false" and told.strip() == "":
            continue
        if told and told.strip():
            return clean(told)
    return None
