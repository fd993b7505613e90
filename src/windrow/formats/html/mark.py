"""What an element is, by its tag, role and attributes: one bit each, so that all ancestors fit one integer."""

from __future__ import annotations

import re
from enum import IntFlag, auto


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
