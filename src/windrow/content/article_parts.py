"""Find the headline, title and authors of an article, also from what the page shows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from windrow.content.head import PageHead
from windrow.content.outline import LEVELS, Outline

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser

_PARTS = re.compile(r"\s+[|\u2013\u2014·•»\u203a:/-]{1,2}\s+|\s*[|»]\s*|\s+::\s+")
_WORD = re.compile(r"\w+")


def headline(outline: Outline, chosen: Sequence[bool], head: PageHead) -> str:
    """Return the page's headline; empty if it has none.

    It is the first of level 1 that does not only name the site; preferred are those that the page's title repeats, then
    those in the main content. If the only one names the site or is the end of the title, a headline of level 2 that
    the title repeats is taken instead.
    """
    names = _sites(head)
    last = _last(head)
    called = {_plain(part) for part in _title_parts(head)} - names
    headlines = [text for text in _of_level(outline, chosen, 1) if _plain(text) not in names]
    for text in headlines:
        if _plain(text) in called and _plain(text) != last:
            return text
    if headlines and _plain(headlines[0]) != last:
        return headlines[0]
    lower = (text for text in _of_level(outline, chosen, 2) if _plain(text) in called and _plain(text) != last)
    return next(lower, headlines[0] if headlines else "")


def title(head: PageHead, first: str) -> str:
    """Return an article's title: its headline `first` if the page's title has it, else that title without the site.

    >>> title(PageHead(title="Tea | The Site"), "Today")
    'Tea'
    """
    whole = head.property("og:title") or head.title or head.linked.headline
    titles = (whole, head.title, head.linked.headline)
    if first and (not whole or any(_repeats(first, title_) for title_ in titles)):
        return first
    names = _sites(head)
    spans = list(_spans(whole))
    kept = [(start, end) for start, end in spans if _plain(whole[start:end]) not in names]
    if not kept:
        return whole or first
    if len(kept) == len(spans) > 1 and not head.property("og:title"):
        kept.pop()  # the last part is mostly the site's name
    return whole[kept[0][0] : kept[-1][1]]


def _repeats(first: str, whole: str) -> bool:
    """Tell whether a part of a title begins with the headline or is mostly the headline."""
    own = _plain(first)
    parts = [_plain(part) for part in (whole, *_split(whole))]
    return any(f"{part} ".startswith(f"{own} ") or (own in part and 2 * len(own) >= len(part)) for part in parts)


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each part of a title; the same text may occur twice."""
    start = 0
    for gap in _PARTS.finditer(text):
        if gap.start() > start:
            yield start, gap.start()
        start = gap.end()
    if start < len(text):
        yield start, len(text)


def _split(text: str) -> list[str]:
    return [text[start:end] for start, end in _spans(text)]


def _title_parts(head: PageHead) -> Iterator[str]:
    for whole in (head.property("og:title"), head.linked.headline, head.title):
        if whole:
            yield whole
            parts = _split(whole)
            if len(parts) > 1:
                yield from (whole[: whole.rindex(parts[-1])].rstrip(" |\u2013\u2014·•»\u203a:/-"), *parts)


def _sites(head: PageHead) -> set[str]:
    """Return the names of the site in the page's metadata, as `_plain` spells them."""
    return {_plain(name) for name in (head.property("og:site_name"), *head.linked.sites)} - {""}


def _last(head: PageHead) -> str:
    """Return the last part of a title of several parts, which is mostly the site's name; else an empty string."""
    parts = _split(head.title)
    shown = head.property("og:title") or head.linked.headline
    return _plain(parts[-1]) if len(parts) > 1 and _plain(parts[-1]) != _plain(shown) else ""


def _of_level(outline: Outline, chosen: Sequence[bool], level: int) -> list[str]:
    """Return the headlines of a level, those in the main content first."""
    boxes, blocks = outline.boxes, outline.blocks
    main: list[str] = []
    elsewhere: list[str] = []
    for box, tag in enumerate(boxes.tag):
        if LEVELS.get(tag) == level:
            inside = range(boxes.first[box], boxes.last[box])
            text = " ".join(" ".join(blocks.text[at] for at in inside).split())
            (main if any(chosen[at] for at in inside) else elsewhere).append(text)
    return main + elsewhere


def _plain(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))


_PLACES = (
    "[itemprop~=author] [itemprop~=name], [itemprop~=author]", "[rel~=author]", ".p-author .p-name, .p-author",
    ".byline, .by-line, .article-byline, .entry-author, .post-author, .author-name, .author__name, .article-author",
    "[class*=byline], [class*=Byline]", ".author, [class*=author-name], [class*=authorName]",
)  # fmt: skip
"""Elements with authors' names: microdata, links, microformats, and the classes that most systems use."""
_LIKELY_PLACES = (
    "[class*=author_name], [class*=author__name], [class*=authorname], [class*=AuthorName]",
    "[class*=author-details-name], [class*=author-box__name]",
    "[class*=meta-author], [class*=__author], [class*=-author]:not(a):not(img), [class*=Author_author]",
    "a[href*='/author/'], a[href*='/authors/']",
)
"""Less certain elements, which may also hold other text; used only if nothing else gives a name."""
_LEAD = re.compile(r"^(?:(?:written|posted|published|words|story|text|reported)\s+)?by\b(?:[:\s]+|$)"
                   r"|^(?:author|contributor|von|par|por|di|door|av)s?\b[:\s]+",
                   re.IGNORECASE)  # fmt: skip
_BETWEEN = re.compile(r"\s*(?:,|;|\||&|\band\b|\bund\b|\bet\b|\by\b)\s*")
_REST = re.compile(
    r"\s+(?:[|•·\u22c5\u2013\u2014-]\s|on\s|in\s|updated\b|published\b|posted\b|last\b|\d).*$|[|•·\u22c5(].*$",
    re.IGNORECASE,
)
_NO_NAME = re.compile(r"://|@|\*|\.com\b|\bwww\.|:|^(?:an?|updated|published|last)\s", re.IGNORECASE)
_NOBODY = frozenset(("the author", "author", "admin", "administrator", "editor", "staff", "guest", "authors"))
_LONGEST, _WORDS, _MOST = 60, 5, 10


def people(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the names in texts about authors, each once, without "by" and addresses.

    >>> people(["By Ann Lee and Bo Ek | Updated 3 May"])
    ('Ann Lee', 'Bo Ek')
    """
    names: dict[str, str] = {}
    for text in texts:
        plain = _REST.sub("", _LEAD.sub("", " ".join(text.split())[:300]))
        for name in _BETWEEN.split(plain):
            name = _LEAD.sub("", name).strip(" .:-\u2013\u2014")  # noqa: PLW2901 - the same name
            if name and name.casefold() not in _NOBODY and _is_name(name):
                names.setdefault(name.casefold(), name)
    return tuple(names.values())[:_MOST]


def byline(tree: LexborHTMLParser, text: str, *, likely: bool = False) -> tuple[str, ...]:
    """Return the authors that a page shows; `text` is the source of the tree.

    With `likely` also less certain elements are searched.
    """
    if "uthor" not in text and "yline" not in text:
        return ()
    for selector in _LIKELY_PLACES if likely else _PLACES:
        if names := people(list(_shown(tree, selector))):
            return names
    return ()


def _shown(tree: LexborHTMLParser, selector: str) -> Iterator[str]:
    """Yield the text of the first element with this selector, and of its siblings with it."""
    parent = None
    for node in tree.css(selector):
        text = node.attributes.get("content") or node.text(separator=" ") or ""
        if not text.strip() or len(text) > 5 * _LONGEST:
            continue
        if parent is not None and (node.parent is None or node.parent.mem_id != parent):
            return
        parent = node.parent.mem_id if node.parent is not None else 0
        yield text


def _is_name(name: str) -> bool:
    return (
        len(name) <= _LONGEST
        and len(name.split()) <= _WORDS
        and any(map(str.isalpha, name))
        and not _NO_NAME.search(name)
        and not any(map(str.isdigit, name))
    )
