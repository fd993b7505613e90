"""Define a page's outline: its boxes, blocks of text and anchors in columns; read a box's shape from its tag."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import IntFlag, auto
from typing import NamedTuple

from windrow.content.traits import find_groups


class PageLocation(IntFlag):
    """The kinds of elements around a part of a page; the Summary Database has the first fifteen for its links."""

    HEADER = auto()
    FOOTER = auto()
    ASIDE = auto()
    NAV = auto()
    FORM = auto()
    MAIN = auto()
    ARTICLE = auto()
    SECTION = auto()
    TABLE = auto()
    FIGURE = auto()
    ADDRESS = auto()
    CODE = auto()
    HEADLINE = auto()
    LIST = auto()
    PARAGRAPH = auto()
    ITEM = auto()
    CELL = auto()
    BUTTON = auto()
    CHOICE = auto()  # `select`
    DIALOG = auto()
    NOSCRIPT = auto()
    DETAILS = auto()
    QUOTE = auto()
    UNSEEN = auto()  # the attributes `hidden` and `popover`, or a `dialog` that is not open
    UNSAID = auto()  # `aria-hidden`
    UNSTYLED = auto()  # `display: none`
    NAVIGATION = auto()  # this and all below: values of `role`
    CENTRE = auto()  # `main`
    BANNER = auto()
    CLOSING = auto()  # `contentinfo`
    COMPLEMENT = auto()  # `complementary`
    POST = auto()  # `article`


LEVELS = {"h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6}  # of headlines

_LOCATION_BY_TAG_NAME: dict[str, int] = {
    "header": PageLocation.HEADER, "footer": PageLocation.FOOTER, "aside": PageLocation.ASIDE, "nav": PageLocation.NAV,
    "form": PageLocation.FORM, "main": PageLocation.MAIN, "article": PageLocation.ARTICLE,
    "section": PageLocation.SECTION, "table": PageLocation.TABLE, "figure": PageLocation.FIGURE,
    "address": PageLocation.ADDRESS, "code": PageLocation.CODE, "pre": PageLocation.CODE, "ul": PageLocation.LIST,
    "ol": PageLocation.LIST, "dl": PageLocation.LIST, "menu": PageLocation.LIST, "p": PageLocation.PARAGRAPH,
    "li": PageLocation.ITEM, "td": PageLocation.CELL, "th": PageLocation.CELL, "button": PageLocation.BUTTON,
    "select": PageLocation.CHOICE, "dialog": PageLocation.DIALOG, "noscript": PageLocation.NOSCRIPT,
    "details": PageLocation.DETAILS, "blockquote": PageLocation.QUOTE, **dict.fromkeys(LEVELS, PageLocation.HEADLINE),
}  # fmt: skip
LOCATION_BY_TAG = {tag.encode(): int(location) for tag, location in _LOCATION_BY_TAG_NAME.items()}
"""A dict from the names of tags to the `PageLocation` flags that their elements add."""

_LOCATION_BY_ROLE: dict[bytes, int] = {
    b"navigation": int(PageLocation.NAVIGATION), b"main": int(PageLocation.CENTRE),
    b"banner": int(PageLocation.BANNER), b"contentinfo": int(PageLocation.CLOSING),
    b"complementary": int(PageLocation.COMPLEMENT), b"article": int(PageLocation.POST),
    b"dialog": int(PageLocation.DIALOG), b"alertdialog": int(PageLocation.DIALOG), b"button": int(PageLocation.BUTTON),
}  # fmt: skip
_UNSEEN, _UNSAID, _UNSTYLED = int(PageLocation.UNSEEN), int(PageLocation.UNSAID), int(PageLocation.UNSTYLED)
_DISPLAY = re.compile(rb"(?:\A|;)\s*+display\s*+:\s*+([a-z-]++)\s*+(?![^;!\s])", re.IGNORECASE)
"""Matches a declaration of `display`, but not a part of another declaration; its group is the value."""


def attribute_location(attribute: bytes, value: bytes) -> int:
    """Return the `PageLocation` flag that an attribute adds to its element, or 0.

    >>> PageLocation(attribute_location(b"hidden", b"")) == PageLocation.UNSEEN
    True
    """
    if attribute == b"role":
        return _LOCATION_BY_ROLE.get(value, 0)
    if attribute == b"style":
        return _UNSTYLED if hides(value) else 0
    if attribute == b"aria-hidden":
        return _UNSAID if value == b"true" else 0
    return _UNSEEN if attribute == b"popover" or (attribute == b"hidden" and value != b"until-found") else 0


def hides(style: bytes) -> bool:
    """Return whether the last `display` in a style is `none`, which hides the element.

    >>> hides(b"color: red; display:none"), hides(b"--display: none"), hides(b"display: none; display: block")
    (True, False, False)
    """
    displays = _DISPLAY.findall(style)
    return bool(displays) and displays[-1].lower() == b"none"


_CELL = int(PageLocation.CELL)


class Anchor(NamedTuple):
    """An element of the body with an address, such as a link, a picture or a form; the address is as written."""

    tag: str
    href: str
    rel: str
    """The attribute `rel`; for a further address of an element, the name of the attribute that has it: `poster`;
    for a `source` with a `src`, the name of the element around it, `audio` or `video`."""
    text: str
    """The text of a link; for a link without text, and for other elements, the label, title or alternative text."""
    locations: int
    """The `PageLocation` flags of the elements around it."""
    headline: bool
    """Whether it contains a headline."""


@dataclass(frozen=True, slots=True)
class Boxes:
    """The elements that browsers lay out as boxes and that contain text, in document order; number 0 is the body.

    Inline elements (`b`, `span`, `a`) are not boxes. Neither are elements nested deeper than 200 boxes.
    """

    tag: list[str] = field(default_factory=list)
    parent: list[int] = field(default_factory=list)
    """The number of the parent box, or -1 for the body."""
    depth: list[int] = field(default_factory=list)
    locations: list[int] = field(default_factory=list)
    """The `PageLocation` flags of the box and the elements around it."""
    name_groups: list[int] = field(default_factory=list)
    """The groups (`traits.GROUP_BITS`) of the words in its own classes, id, role and `itemprop`."""
    path: list[int] = field(default_factory=list)
    """A number that boxes share if they and all boxes around them have the same kinds."""
    kind: list[str] = field(default_factory=list)
    """The name of its tag, and its classes as written."""
    first: list[int] = field(default_factory=list)
    """The number of its first block."""
    stop: list[int] = field(default_factory=list)
    """One more than the number of its last block."""
    start_tag: list[bytes] = field(default_factory=list)
    """Its start tag as serialised, without its brackets."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """The texts between the borders of boxes, in the page's order; empty texts are left out."""

    text: list[str] = field(default_factory=list)
    """The text with single spaces, and a line feed for `br`. In `pre`, only spaces at the ends of lines, and empty
    lines at the start and the end, are removed."""
    words: list[int] = field(default_factory=list)
    linked: list[int] = field(default_factory=list)
    """The number of words in links."""
    links: list[int] = field(default_factory=list)
    """The number of links that begin in it."""
    box: list[int] = field(default_factory=list)
    """The number of the innermost box around it."""
    end_tag: list[int] = field(default_factory=list)
    """The number of the tag that ends it, from 0, among all tags after the body's start tag."""
    code: dict[int, list[str]] = field(default_factory=dict)
    """A dict from the numbers of blocks to the texts of their inline code."""
    quote: dict[int, list[str]] = field(default_factory=dict)
    """A dict from the numbers of blocks to the texts of their inline quotations."""


@dataclass(frozen=True, slots=True)
class Outline:
    """The boxes, blocks and anchors of a page's body."""

    boxes: Boxes = field(default_factory=Boxes)
    blocks: Blocks = field(default_factory=Blocks)
    anchors: list[Anchor] = field(default_factory=list)


def find_table_row(outline: Outline, box: int) -> int:
    """Return the box number of the table row around a box, or -1 outside cells or in a cell with several blocks."""
    boxes = outline.boxes
    if not boxes.locations[box] & _CELL:
        return -1
    while boxes.tag[box] not in {"td", "th"}:
        box = boxes.parent[box]
    return boxes.parent[box] if boxes.stop[box] - boxes.first[box] == 1 else -1


class Shape(NamedTuple):
    """The properties of a box that follow from its start tag."""

    tag: str
    locations: int
    name_groups: int
    """The groups (`traits.GROUP_BITS`) of the words in its classes, id, role and `itemprop`."""
    kind: str
    """The name of the tag, and the classes as written."""


BODY = Shape("body", locations=0, name_groups=0, kind="body")

_SHAPE_ATTRIBUTE = re.compile(rb' (class|id|role|itemprop|style|hidden|popover|aria-hidden)="([^"]*+)"')
_TAB_PANEL = (b"role", b"tabpanel")
_NAMING_ATTRIBUTES = frozenset({b"id", b"role", b"itemprop"})


def read_shape(tag: bytes) -> Shape:
    """Return the shape of a box, given its start tag without brackets. The panel of a tab does not count as hidden.

    >>> read_shape(b'nav class="top"').kind
    'nav top'
    """
    kind = name = tag.partition(b" ")[0]
    location = LOCATION_BY_TAG.get(name, 0)
    if name == b"dialog" and b' open="' not in tag:
        location |= _UNSEEN
    names, is_panel = b"", False
    for attribute_name, value in _SHAPE_ATTRIBUTE.findall(tag) if kind is not tag else ():
        if attribute_name == b"class":
            kind = b"%b %b" % (name, value)
            names = value + b" " + names
        else:
            location |= attribute_location(attribute_name, value)
            if attribute_name in _NAMING_ATTRIBUTES:
                names += value + b" "
            is_panel = is_panel or (attribute_name, value) == _TAB_PANEL
    if is_panel:  # a script shows one panel at a time
        location &= ~(_UNSEEN | _UNSTYLED)
    if b"-" in name:
        names += name
    return Shape(name.decode(), location, find_groups(names) if names else 0, kind.decode())


def read_attribute(tag: bytes, opening: bytes) -> str:
    """Return the value of an attribute of a start tag, or ""; `opening` is a space, the attribute's name, and `="`.

    >>> read_attribute(b'a title="A&amp;B" href=""', b' title="')
    'A&B'
    """
    value = tag.partition(opening)[2].partition(b'"')[0].decode()
    return unescape(value.replace("&quot;", '"')) if "&" in value else value


def unescape(text: str) -> str:
    """Return a text of a serialised tree with its character references replaced.

    >>> unescape("&lt;a&gt; &amp;lt;")
    '<a> &lt;'
    """
    return text.replace("&nbsp;", "\xa0").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
