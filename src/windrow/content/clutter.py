"""Remove the elements of HTML that are not part of its text: forms, navigation, and what is named as clutter.

What an element contains decides, too: an element with prose is kept, although its tag or its name is that of clutter.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from windrow.content.markup import build_outline_from_pieces, split_markup
from windrow.content.tree import MIN_PASSAGE_WORDS, MIN_PROSE_WORDS, parse, remove_silent_elements

if TYPE_CHECKING:
    from collections.abc import Callable

    from selectolax.lexbor import LexborHTMLParser, LexborNode

_REMOVED = "form, button, select, textarea, nav, dialog, .screen-reader-text, .sr-only, .visually-hidden"
_CLUTTER_WORDS = ("relat", "recommend", "share", "sharing", "social", "newsletter", "subscri", "promo", "advert",
          "addtoany", "a2a_", "outbrain", "taboola", "inline-editorial", "tncms", "readmore", "read-more", "also",
          "signup", "sign-up", "jp-", "sharedaddy", "comments", "ad-slot", "adsbygoogle", "teaser")  # fmt: skip
_CLUTTER_SELECTOR = ", ".join(f"[class*={word}], [id*={word}]" for word in _CLUTTER_WORDS)
_CERTAIN_NAMES = re.compile(
    r"(?i)\b(?:sharedaddy|sd-sharing\S*|jp-relatedposts|addtoany\S*|a2a_kit|a2a_\w+|share-?this\S*|outbrain\S*|taboola\S*"
    r"|tncms-inline-relcontent|inline-editorial\S*|adsbygoogle|yarpp\S*|social-?(?:share|sharing|links|media|icons"
    r"|buttons?)|share-?(?:buttons?|bar|links|tools|icons)|newsletter-?(?:signup|form|box)\S*|ad-slot)(?![\w-])"
)
_NAMES_OF_OTHER_ARTICLES = re.compile(
    r"(?i)\b(?:related-?(?:posts?|articles?|stories|content|links?)|recommended-?(?:posts?|articles?|stories))(?![\w-])"
)
_LIKELY_NAMES = re.compile(
    r"(?i)(?:^|[\s_-])(?:related|recommend(?:ed|ations?)|sharing|share|social|newsletter|subscribe|promo|advert(?:isement)?"
    r"|read-?more|more-stories|also-?(?:read|like)|see-also|signup|sign-up|teasers?)(?=$|[\s_-])"
)
_TEXT_ELEMENTS = frozenset(
    ("body", "html", "main", "article", "h1", "h2", "h3", "h4", "h5", "h6", "p", "span", "b", "strong")
)
_MAX_LIKELY_CHARACTERS, _MAX_CERTAIN_CHARACTERS = 600, 6_000  # of clutter, by the kind of its name
_MAX_FORM_CHARACTERS = 1_500
_MAX_NESTED = 8  # kept elements around one that is examined: reading the text of each again takes quadratic time
_CHOICE_FIELDS = "select, [type=checkbox i], [type=radio i]"
_TEXT_FIELDS = (
    "textarea, input:not([type=checkbox i], [type=radio i], [type=hidden i], [type=submit i], [type=button i]"
)
_TEXT_FIELDS += ", [type=image i], [type=reset i])"
"""Matches fields that take text, such as those of a search, a newsletter or a comment."""


def remove_clutter(tree: LexborHTMLParser, html: str) -> None:
    """Remove forms, buttons, navigation, dialogs, hidden elements, and short elements whose class or id names clutter.

    Elements that contain text of the article remain. `tree` was parsed from `html`.
    """
    lower_html = html.lower()
    if "hidden" in lower_html:
        _remove_hidden(tree)
    kept_levels: dict[int, int] = {}
    for node in tree.css(_REMOVED):
        if node.parent is not None and (level := _count_levels(node, kept_levels)) <= _MAX_NESTED:
            if _has_content(node):
                kept_levels[node.mem_id] = level + 1
            else:
                node.decompose()
    if any(word in lower_html for word in _CLUTTER_WORDS):
        kept_levels.clear()
        for node in tree.css(_CLUTTER_SELECTOR):
            if node.tag in _TEXT_ELEMENTS or node.parent is None or not (is_clutter := _find_test(node)):
                continue
            if (level := _count_levels(node, kept_levels)) <= _MAX_NESTED:
                if is_clutter(node):
                    node.decompose()
                else:
                    kept_levels[node.mem_id] = level + 1


def count_clutter_words(html: str) -> int:
    """Return the number of words that `remove_clutter` removes from HTML.

    >>> count_clutter_words("<p>Tea<nav><a href=/>Home page</a></nav>")
    2
    """
    tree = parse(html)
    remove_silent_elements(tree)
    words_before = _count_words(tree.body) if tree.body is not None else 0
    remove_clutter(tree, html)
    return words_before - _count_words(tree.body) if tree.body is not None else 0


def _count_levels(node: LexborNode, kept_levels: dict[int, int]) -> int:
    """Return the number of kept elements around an element; it may be too low while fewer than `_MAX_NESTED` are kept.

    `kept_levels` has this number for elements that are processed, the kept element itself included. Elements must come
    in document order. Those around `node` are added, so that many calls take time linear in the size of the tree.
    """
    if len(kept_levels) < _MAX_NESTED:
        return 0
    passed = []
    outer = node.parent
    while outer is not None and outer.mem_id not in kept_levels:
        passed.append(outer.mem_id)
        outer = outer.parent
    level = kept_levels[outer.mem_id] if outer is not None else 0
    kept_levels.update(dict.fromkeys(passed, level))
    return level


def _remove_hidden(tree: LexborHTMLParser) -> None:
    """Remove hidden elements, but show those with a passage of prose, such as the panel of a tab: scripts show them."""
    for node in tree.css("[hidden]"):
        if node.parent is None or "hidden" not in (attributes := node.attributes):
            continue  # it was removed or is shown with the element around it
        if attributes["hidden"] != "until-found" and _count_prose_words(node) < MIN_PASSAGE_WORDS:
            node.decompose()
            continue
        for shown in node.css("[hidden]"):  # the element itself, too
            del shown.attrs["hidden"]


def _has_content(node: LexborNode) -> bool:
    """Return whether an element that `_REMOVED` matches has text of the article, such as a form around all of it.

    A button that opens another element is a headline, for example in a list of questions.
    """
    attributes = node.attributes
    if node.tag == "form":
        has_text_field = node.css_first(_TEXT_FIELDS) is not None
        if len(node.text() or "") > _MAX_FORM_CHARACTERS or not (has_text_field or node.css_first(_CHOICE_FIELDS)):
            return True
        return _count_prose_words(node) >= (MIN_PASSAGE_WORDS if has_text_field else MIN_PROSE_WORDS)
    if node.tag == "nav":
        return 2 * sum(map(_count_words, node.css("a"))) < _count_words(node)
    if node.tag == "dialog":
        return "open" in attributes
    return node.tag == "button" and ("aria-expanded" in attributes or "aria-controls" in attributes)


def _find_test(node: LexborNode) -> Callable[[LexborNode], bool] | None:
    """Return the function that tells by its text whether an element is clutter; None if no name makes it likely."""
    attributes = node.attributes
    names = f"{attributes.get('class') or ''} {attributes.get('id') or ''}"
    if _CERTAIN_NAMES.search(names):
        return _is_short
    if _NAMES_OF_OTHER_ARTICLES.search(names):
        return _lists_other_articles
    return _is_mostly_links if _LIKELY_NAMES.search(names) else None


def _is_short(node: LexborNode) -> bool:
    return len(node.text() or "") <= _MAX_CERTAIN_CHARACTERS


def _lists_other_articles(node: LexborNode) -> bool:
    """Return whether an element that is named as a list of other articles is short, and has links or no prose."""
    return _is_short(node) and (node.css_first("a[href]") is not None or _count_words(node) < MIN_PROSE_WORDS)


def _is_mostly_links(node: LexborNode) -> bool:
    text_size = len(" ".join((node.text() or "").split()))
    linked_size = sum(len(" ".join((link.text() or "").split())) for link in node.css("a"))
    return text_size <= _MAX_LIKELY_CHARACTERS and linked_size * 2 >= text_size


def _count_prose_words(node: LexborNode) -> int:
    """Return the number of words in blocks of prose, of which less than a third may be linked."""
    blocks = build_outline_from_pieces(split_markup((node.html or "").encode("utf-8", "replace"))).blocks
    return sum(
        words
        for words, linked in zip(blocks.words, blocks.linked, strict=True)
        if words >= MIN_PROSE_WORDS and linked * 3 < words
    )


def _count_words(node: LexborNode) -> int:
    return len((node.text(separator=" ") or "").split())
