"""Return the text of HTML on one line, as readers of a page see it."""

from __future__ import annotations

import re
from html import unescape

from selectolax.lexbor import LexborHTMLParser, LexborNode

from windrow.content.tree import CHANGED_SELECTOR, HIDING_SELECTOR, is_hidden, remove_silent_elements

_TAGS = r"</?(?:b|i|u|s|em|strong|mark|small|big|font|abbr|sub|sup|wbr)(?:\s(?:\"[^\"]*\"|[^\">])*)?>"
_TAGS_IN_WORD = re.compile(rf"(?<=[^\W\d_])(?:{_TAGS})+(?=([^\W\d_])|[,.;:!?)])|(?<=\d)<sup>(?=[a-z])")
_FORMATTING = "b, i, u, s, em, strong, mark, small, big, font, abbr, sub, sup, wbr"
_PARENTS = {"tr": "<table><tr>", "tbody": "<table>", "thead": "<table>", "tfoot": "<table>", "table": "<table>"}
"""The tags without which the parser would drop those in a part of a table."""


def visible_text(node: LexborNode) -> str:
    """Return the text of a node without hidden elements, and without what `remove_silent_elements` removes.

    There are spaces at the tags in it, except at those that format a part of a word.

    >>> visible_text(LexborHTMLParser("<p>Zon<b>ing</b> Bo<wbr>ard<i>, Hall</i><br>4<sup>th</sup> <b>Mon</b>May").body)
    'Zoning Board, Hall 4th Mon May'
    """
    if node.css_matches(f"{CHANGED_SELECTOR}, {_FORMATTING}"):
        begin = _PARENTS.get(node.tag or "", "")
        page = LexborHTMLParser(f"{begin}{node.inner_html or ''}")
        remove_silent_elements(page)
        for styled in reversed(page.css(HIDING_SELECTOR)):  # nested ones first
            if is_hidden(styled.attributes):
                styled.decompose()
        node = LexborHTMLParser(_TAGS_IN_WORD.sub(_join_word, page.html or "")).root or node
    return " ".join(node.text(separator=" ").split())


def _join_word(tags: re.Match[str]) -> str:
    """Return nothing in place of tags within a word; a capital letter after a tag begins the next one."""
    return tags[0] if tags[1] and not tags[1].islower() else ""


_REFERENCE = re.compile(r"&(?:#\d{1,7}|#x[\da-f]{1,6}|[a-z][a-z\d]{1,31});", re.IGNORECASE | re.ASCII)


def decode_references(text: str) -> str:
    """Decode the character references that many sources write into plain text, also those that were encoded twice.

    >>> decode_references("Mayor&#39;s Arts &amp;amp; Crafts, R&D"), decode_references("?a=1&copy=2")
    ("Mayor's Arts & Crafts, R&D", '?a=1&copy=2')
    """
    for _ in range(2 if "&" in text else 0):
        text = _REFERENCE.sub(lambda reference: unescape(reference[0]), text)
    return text
