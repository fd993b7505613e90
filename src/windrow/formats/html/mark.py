"""What an element is, by its tag, role and attributes: one bit each, so that all ancestors fit one integer."""

from __future__ import annotations

import re
from collections.abc import Mapping
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

BY_TAG: dict[str, int] = {
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
BY_TAG = {tag: int(mark) for tag, mark in BY_TAG.items()}

_BY_ROLE: dict[str, int] = {
    "navigation": int(Mark.NAVIGATION),
    "main": int(Mark.CENTRE),
    "banner": int(Mark.BANNER),
    "contentinfo": int(Mark.CLOSING),
    "complementary": int(Mark.COMPLEMENT),
    "article": int(Mark.POST),
    "dialog": int(Mark.DIALOG),
    "alertdialog": int(Mark.DIALOG),
    "button": int(Mark.BUTTON),
}
_UNSEEN, _UNSAID, _HIDDEN = int(Mark.UNSEEN), int(Mark.UNSAID), int(Mark.UNSTYLED)
_UNSTYLED = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)


def marks(tag: str, attributes: Mapping[str, str | None]) -> int:
    """Return what an element of this tag with these attributes is, without its ancestors.

    >>> Mark(marks("nav", {"hidden": None})) == Mark.NAV | Mark.UNSEEN
    True
    """
    found = BY_TAG.get(tag, 0)
    if not attributes:
        return found
    role = attributes.get("role")
    if role:
        found |= _BY_ROLE.get(role, 0)
    if "hidden" in attributes:
        found |= _UNSEEN
    if attributes.get("aria-hidden") == "true":
        found |= _UNSAID
    style = attributes.get("style")
    if style and _UNSTYLED.search(style):
        found |= _HIDDEN
    return found
