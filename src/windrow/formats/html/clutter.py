"""Take from an article what is not of its text: boxes of related articles, buttons to share, forms, advertisements."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_NEVER = "form, button, select, textarea, nav, dialog, [hidden], .screen-reader-text, .sr-only, .visually-hidden"
_HINTS = ("relat", "recommend", "share", "sharing", "social", "newsletter", "subscri", "promo", "advert", "addtoany",
          "a2a_", "outbrain", "taboola", "inline-editorial", "tncms", "readmore", "read-more", "also", "signup",
          "sign-up", "jp-", "sharedaddy", "comments", "ad-slot", "adsbygoogle", "teaser")  # fmt: skip
_NAMED = ", ".join(f"[class*={one}], [id*={one}]" for one in _HINTS)
_CERTAIN = re.compile(
    r"(?i)\b(?:sharedaddy|sd-sharing\S*|jp-relatedposts|addtoany\S*|a2a_kit|a2a_\w+|share-?this\S*|outbrain\S*|taboola\S*"
    r"|tncms-inline-relcontent|inline-editorial\S*|adsbygoogle|yarpp\S*|related-?(?:posts?|articles?|stories|content"
    r"|links?)|recommended-?(?:posts?|articles?|stories)|social-?(?:share|sharing|links|media|icons|buttons?)|"
    r"share-?(?:buttons?|bar|links|tools|icons)|newsletter-?(?:signup|form|box)\S*|ad-slot)(?![\w-])"
)
_LIKELY = re.compile(
    r"(?i)(?:^|[\s_-])(?:related|recommend(?:ed|ations?)|sharing|share|social|newsletter|subscribe|promo|advert(?:isement)?"
    r"|read-?more|more-stories|also-?(?:read|like)|see-also|signup|sign-up|teasers?)(?=$|[\s_-])"
)
_TEXTS = frozenset(("body", "html", "main", "article", "h1", "h2", "h3", "h4", "h5", "h6", "p", "span", "b", "strong"))
_FEW = 600  # characters of a box that is only likely to be none of the text
_PROSE = 1_500  # characters in a form that holds the whole text, as some systems have it


def declutter(tree: LexborHTMLParser, html: str) -> None:
    """Take out what is certainly none of the text, and boxes that are called so and hold little but links.

    `html` is what the tree was made of.
    """
    for node in tree.css(_NEVER):
        if node.tag == "form" and len(node.text() or "") > _PROSE:
            _unwrap(node)
        elif node.parent is not None and not (node.tag == "button" and _is_headline(node)):
            node.decompose()
    lower = html.lower()
    if any(one in lower for one in _HINTS):
        for node in tree.css(_NAMED):
            if node.tag not in _TEXTS and node.parent is not None and _is_clutter(node):
                node.decompose()


def _unwrap(form: LexborNode) -> None:
    form.unwrap()


def _is_headline(button: LexborNode) -> bool:
    """Tell whether a button opens what stands below it, as the headlines of some lists of questions do."""
    return "aria-expanded" in button.attributes or "aria-controls" in button.attributes


def _is_clutter(node: LexborNode) -> bool:
    attributes = node.attributes
    names = f"{attributes.get('class') or ''} {attributes.get('id') or ''}"
    if _CERTAIN.search(names):
        return len(node.text() or "") <= 4 * _PROSE
    if not _LIKELY.search(names):
        return False
    size = len(" ".join((node.text() or "").split()))
    linked = sum(len(" ".join((one.text() or "").split())) for one in node.css("a"))
    return size <= _FEW and linked * 2 >= size
