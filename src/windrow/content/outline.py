"""A page laid flat: boxes, blocks of text and anchors as columns; what an element is, by its start tag."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import IntFlag, auto
from typing import NamedTuple

from windrow.content.hints import groups


class PageLocation(IntFlag):
    """What a part of a page lies in; the first fifteen are the locations of links in the Summary Database."""

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
    CHOICE = auto()
    DIALOG = auto()
    NOSCRIPT = auto()
    DETAILS = auto()
    QUOTE = auto()
    UNSEEN = auto()
    UNSAID = auto()
    UNSTYLED = auto()
    NAVIGATION = auto()
    CENTRE = auto()
    BANNER = auto()
    CLOSING = auto()
    COMPLEMENT = auto()
    POST = auto()


LEVELS = {"h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6}

_BY_NAME: dict[str, int] = {
    "header": PageLocation.HEADER,
    "footer": PageLocation.FOOTER,
    "aside": PageLocation.ASIDE,
    "nav": PageLocation.NAV,
    "form": PageLocation.FORM,
    "main": PageLocation.MAIN,
    "article": PageLocation.ARTICLE,
    "section": PageLocation.SECTION,
    "table": PageLocation.TABLE,
    "figure": PageLocation.FIGURE,
    "address": PageLocation.ADDRESS,
    "code": PageLocation.CODE,
    "pre": PageLocation.CODE,
    "ul": PageLocation.LIST,
    "ol": PageLocation.LIST,
    "dl": PageLocation.LIST,
    "menu": PageLocation.LIST,
    "p": PageLocation.PARAGRAPH,
    "li": PageLocation.ITEM,
    "td": PageLocation.CELL,
    "th": PageLocation.CELL,
    "button": PageLocation.BUTTON,
    "select": PageLocation.CHOICE,
    "dialog": PageLocation.DIALOG,
    "noscript": PageLocation.NOSCRIPT,
    "details": PageLocation.DETAILS,
    "blockquote": PageLocation.QUOTE,
    **dict.fromkeys(LEVELS, PageLocation.HEADLINE),
}
BY_TAG = {tag.encode(): int(mark) for tag, mark in _BY_NAME.items()}
"""What an element of this tag is, without its ancestors."""

_BY_ROLE: dict[bytes, int] = {
    b"navigation": int(PageLocation.NAVIGATION),
    b"main": int(PageLocation.CENTRE),
    b"banner": int(PageLocation.BANNER),
    b"contentinfo": int(PageLocation.CLOSING),
    b"complementary": int(PageLocation.COMPLEMENT),
    b"article": int(PageLocation.POST),
    b"dialog": int(PageLocation.DIALOG),
    b"alertdialog": int(PageLocation.DIALOG),
    b"button": int(PageLocation.BUTTON),
}
_UNSEEN, _UNSAID, _HIDDEN = int(PageLocation.UNSEEN), int(PageLocation.UNSAID), int(PageLocation.UNSTYLED)
_DISPLAY = re.compile(rb"(?:\A|;)\s*+display\s*+:\s*+([a-z-]++)\s*+(?![^;!\s])", re.IGNORECASE)
"""A whole declaration, and no part of another one's name or value."""


def told(attribute: bytes, value: bytes) -> int:
    """Return what an attribute of an element says that it is.

    >>> PageLocation(told(b"hidden", b"")) == PageLocation.UNSEEN
    True
    """
    if attribute == b"role":
        return _BY_ROLE.get(value, 0)
    if attribute == b"style":
        return _HIDDEN if hides(value) else 0
    if attribute == b"aria-hidden":
        return _UNSAID if value == b"true" else 0
    return _UNSEEN if attribute == b"hidden" and value != b"until-found" else 0


def hides(style: bytes) -> bool:
    """Tell whether a style takes an element out of what is shown: by its last word on it.

    >>> hides(b"color: red; display:none"), hides(b"--display: none"), hides(b"display: none; display: block")
    (True, False, False)
    """
    told = _DISPLAY.findall(style)
    return bool(told) and told[-1].lower() == b"none"


_CELL = int(PageLocation.CELL)


class Anchor(NamedTuple):
    """An element of the page's body that refers to something, as it was written."""

    tag: str
    href: str
    rel: str
    text: str
    """What it says, or its label, title or picture's text where it says nothing."""
    marks: int
    """What it lies in, as `PageLocation` has it."""
    headline: bool
    """Whether a headline lies inside it."""


@dataclass(frozen=True, slots=True)
class Boxes:
    """The elements that are laid out as boxes and hold text, in the order in which they open; number 0 is the body.

    Elements in the line of text (`b`, `span`, `a`) are no boxes, and one nested deeper than 200 boxes is none either.
    """

    tag: list[str] = field(default_factory=list)
    up: list[int] = field(default_factory=list)
    """The number of the box around it; -1 for the body."""
    depth: list[int] = field(default_factory=list)
    marks: list[int] = field(default_factory=list)
    """What it is and lies in, as `PageLocation` has it."""
    names: list[int] = field(default_factory=list)
    """Its own groups of the vocabulary."""
    path: list[int] = field(default_factory=list)
    """Equal for boxes whose tags and classes are equal, all the way up."""
    kind: list[str] = field(default_factory=list)
    """Equal for boxes whose tags and classes are equal."""
    first: list[int] = field(default_factory=list)
    """The first block within it."""
    last: list[int] = field(default_factory=list)
    """The block behind its last."""
    start: list[bytes] = field(default_factory=list)
    """Its start tag as written, without its brackets."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """The runs of text between the borders of boxes, in the page's order; none is empty."""

    text: list[str] = field(default_factory=list)
    """Spaces are collapsed; a line feed stands for `br`, and for itself within `pre`."""
    words: list[int] = field(default_factory=list)
    linked: list[int] = field(default_factory=list)
    """How many of the words lie in links."""
    links: list[int] = field(default_factory=list)
    box: list[int] = field(default_factory=list)
    end: list[int] = field(default_factory=list)
    """The number of the tag that ends it, counted over all tags within the body."""
    code: dict[int, list[str]] = field(default_factory=dict)
    """By block, what is marked up as code within its lines."""
    quote: dict[int, list[str]] = field(default_factory=dict)
    """By block, what is marked up as quotation within its lines."""


@dataclass(frozen=True, slots=True)
class Outline:
    """A page laid flat."""

    boxes: Boxes = field(default_factory=Boxes)
    blocks: Blocks = field(default_factory=Blocks)
    anchors: list[Anchor] = field(default_factory=list)


def table_row(outline: Outline, box: int) -> int:
    """Return the row of a table that a box lies in, if its cell is one block of text; else -1."""
    boxes = outline.boxes
    if not boxes.marks[box] & _CELL:
        return -1
    while boxes.tag[box] not in {"td", "th"}:
        box = boxes.up[box]
    return boxes.up[box] if boxes.last[box] - boxes.first[box] == 1 else -1


class Shape(NamedTuple):
    """A box as far as its start tag tells."""

    tag: str
    marks: int
    names: int
    """The groups of the vocabulary that its names belong to."""
    kind: str
    """Equal for boxes whose tags and classes are equal."""


BODY = Shape("body", 0, 0, "body")

_SHAPING = re.compile(rb' (class|id|role|itemprop|style|hidden|aria-hidden)="([^"]*+)"')
_NAMING = frozenset({b"id", b"role", b"itemprop"})


def shape(tag: bytes) -> Shape:
    """Return the shape of a box.

    >>> shape(b'nav class="top"').kind
    'nav top'
    """
    kind = name = tag.partition(b" ")[0]
    marks = BY_TAG.get(name, 0)
    names = b""
    for attribute, value in _SHAPING.findall(tag) if kind is not tag else ():
        if attribute == b"class":
            kind = b"%b %b" % (name, value)
            names = value + b" " + names
        else:
            marks |= told(attribute, value)
            if attribute in _NAMING:
                names += value + b" "
    if b"-" in name:
        names += name
    return Shape(name.decode(), marks, groups(names) if names else 0, kind.decode())


def attribute(tag: bytes, opening: bytes) -> str:
    """Return the value of the attribute that is written like this up to its first quote; empty where it has none.

    >>> attribute(b'a title="A&amp;B" href=""', b' title="')
    'A&B'
    """
    value = tag.partition(opening)[2].partition(b'"')[0].decode()
    return unescaped(value.replace("&quot;", '"')) if "&" in value else value


def unescaped(text: str) -> str:
    """Undo the escapes that a tree's text is written with.

    >>> unescaped("&lt;a&gt; &amp;lt;")
    '<a> &lt;'
    """
    return text.replace("&nbsp;", "\xa0").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
