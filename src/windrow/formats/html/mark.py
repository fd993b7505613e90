"""What an element is, by its tag, role and attributes: one bit each, so that all ancestors fit one integer."""

from __future__ import annotations

import re
from enum import IntFlag, auto


class Mark(IntFlag):
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
    "header": Mark.HEADER,
    "footer": Mark.FOOTER,
    "aside": Mark.ASIDE,
    "nav": Mark.NAV,
    "form": Mark.FORM,
    "main": Mark.MAIN,
    "article": Mark.ARTICLE,
    "section": Mark.SECTION,
    "table": Mark.TABLE,
    "figure": Mark.FIGURE,
    "address": Mark.ADDRESS,
    "code": Mark.CODE,
    "pre": Mark.CODE,
    "ul": Mark.LIST,
    "ol": Mark.LIST,
    "dl": Mark.LIST,
    "menu": Mark.LIST,
    "p": Mark.PARAGRAPH,
    "li": Mark.ITEM,
    "td": Mark.CELL,
    "th": Mark.CELL,
    "button": Mark.BUTTON,
    "select": Mark.CHOICE,
    "dialog": Mark.DIALOG,
    "noscript": Mark.NOSCRIPT,
    "details": Mark.DETAILS,
    "blockquote": Mark.QUOTE,
    **dict.fromkeys(LEVELS, Mark.HEADLINE),
}
BY_TAG = {tag.encode(): int(mark) for tag, mark in _BY_NAME.items()}
"""What an element of this tag is, without its ancestors."""

_BY_ROLE: dict[bytes, int] = {
    b"navigation": int(Mark.NAVIGATION),
    b"main": int(Mark.CENTRE),
    b"banner": int(Mark.BANNER),
    b"contentinfo": int(Mark.CLOSING),
    b"complementary": int(Mark.COMPLEMENT),
    b"article": int(Mark.POST),
    b"dialog": int(Mark.DIALOG),
    b"alertdialog": int(Mark.DIALOG),
    b"button": int(Mark.BUTTON),
}
_UNSEEN, _UNSAID, _HIDDEN = int(Mark.UNSEEN), int(Mark.UNSAID), int(Mark.UNSTYLED)
_UNSTYLED = re.compile(rb"display\s*:\s*none", re.IGNORECASE)


def told(attribute: bytes, value: bytes) -> int:
    """Return what an attribute of an element says that it is.

    >>> Mark(told(b"hidden", b"")) == Mark.UNSEEN
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
    """Tell whether a style takes an element out of what is shown.

    >>> hides(b"color: red; display:none")
    True
    """
    return _UNSTYLED.search(style) is not None
