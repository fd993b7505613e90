"""Headline and authors that a page shows where its head tells none."""

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
    """Return the page's headline; empty where it has none.

    It is the first of level 1 that does not just name the site; one that the page's title repeats before any other,
    and one in the main content before one that is not. Where the only one names the site, or is what a title ends
    with, one of level 2 that the title repeats is it.
    """
    names = _sites(head)
    last = _last(head)
    called = {_plain(part) for part in _called(head)} - names
    found = [text for text in _of_level(outline, chosen, 1) if _plain(text) not in names]
    for text in found:
        if _plain(text) in called and _plain(text) != last:
            return text
    if found and _plain(found[0]) != last:
        return found[0]
    lower = (text for text in _of_level(outline, chosen, 2) if _plain(text) in called and _plain(text) != last)
    return next(lower, found[0] if found else "")


def title(head: PageHead, first: str) -> str:
    """Return what an article is called: its headline where the title has it, else the title without the site's name.

    >>> title(PageHead(title="Tea | The Site"), "Today")
    'Tea'
    """
    whole = head.property("og:title") or head.title or head.linked.headline
    told = (whole, head.title, head.linked.headline)
    if first and (not whole or any(_repeats(first, one) for one in told)):
        return first
    names = _sites(head)
    spans = list(_spans(whole))
    kept = [(start, end) for start, end in spans if _plain(whole[start:end]) not in names]
    if not kept:
        return whole or first
    if len(kept) == len(spans) > 1 and not head.property("og:title"):
        kept.pop()  # what stands last names the site, mostly
    return whole[kept[0][0] : kept[-1][1]]


def _repeats(first: str, whole: str) -> bool:
    """Tell whether a title has the headline as the beginning of a part or most of it: a word within may be anything."""
    own = _plain(first)
    parts = [_plain(part) for part in (whole, *_split(whole))]
    return any(f"{part} ".startswith(f"{own} ") or (own in part and 2 * len(own) >= len(part)) for part in parts)


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the parts of a title begin and end; the same part may stand there twice."""
    start = 0
    for gap in _PARTS.finditer(text):
        if gap.start() > start:
            yield start, gap.start()
        start = gap.end()
    if start < len(text):
        yield start, len(text)


def _split(text: str) -> list[str]:
    return [text[start:end] for start, end in _spans(text)]


def _called(head: PageHead) -> Iterator[str]:
    for whole in (head.property("og:title"), head.linked.headline, head.title):
        if whole:
            yield whole
            parts = _split(whole)
            if len(parts) > 1:
                yield from (whole[: whole.rindex(parts[-1])].rstrip(" |\u2013\u2014·•»\u203a:/-"), *parts)


def _sites(head: PageHead) -> set[str]:
    """Return the names of the site that the page tells."""
    return {_plain(name) for name in (head.property("og:site_name"), *head.linked.sites)} - {""}


def _last(head: PageHead) -> str:
    """Return what stands last in a title of several parts, where it mostly names the site."""
    parts = _split(head.title)
    shown = head.property("og:title") or head.linked.headline
    return _plain(parts[-1]) if len(parts) > 1 and _plain(parts[-1]) != _plain(shown) else ""


def _of_level(outline: Outline, chosen: Sequence[bool], level: int) -> list[str]:
    """Return the headlines of a level, those of the main content first."""
    boxes, blocks = outline.boxes, outline.blocks
    main: list[str] = []
    other: list[str] = []
    for box, tag in enumerate(boxes.tag):
        if LEVELS.get(tag) == level:
            inside = range(boxes.first[box], boxes.last[box])
            text = " ".join(" ".join(blocks.text[at] for at in inside).split())
            (main if any(chosen[at] for at in inside) else other).append(text)
    return main + other


def _plain(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))


_PLACES = (
    "[itemprop~=author] [itemprop~=name], [itemprop~=author]", "[rel~=author]", ".p-author .p-name, .p-author",
    ".byline, .by-line, .article-byline, .entry-author, .post-author, .author-name, .author__name, .article-author",
    "[class*=byline], [class*=Byline]", ".author, [class*=author-name], [class*=authorName]",
)  # fmt: skip
"""Where names of authors stand: microdata, links, microformats, and what most systems call the place."""
_LIKELY_PLACES = (
    "[class*=author_name], [class*=author__name], [class*=authorname], [class*=AuthorName]",
    "[class*=author-details-name], [class*=author-box__name]",
    "[class*=meta-author], [class*=__author], [class*=-author]:not(a):not(img), [class*=Author_author]",
    "a[href*='/author/'], a[href*='/authors/']",
)
"""Where they stand as well, with what else there may be: after a page's "by"."""
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


def people(told: Sequence[str]) -> tuple[str, ...]:
    """Return the names in what is told of authors, each once, without "by" and addresses.

    >>> people(["By Ann Lee and Bo Ek | Updated 3 May"])
    ('Ann Lee', 'Bo Ek')
    """
    found: dict[str, str] = {}
    for text in told:
        plain = _REST.sub("", _LEAD.sub("", " ".join(text.split())[:300]))
        for name in _BETWEEN.split(plain):
            name = _LEAD.sub("", name).strip(" .:-\u2013\u2014")  # noqa: PLW2901 - the same name, tidier
            if name and name.casefold() not in _NOBODY and _named(name):
                found.setdefault(name.casefold(), name)
    return tuple(found.values())[:_MOST]


def byline(tree: LexborHTMLParser, text: str, *, likely: bool = False) -> tuple[str, ...]:
    """Return the authors that a page shows; `text` is what the tree was made of.

    With `likely` they are looked for where other things are called after authors too.
    """
    if "uthor" not in text and "yline" not in text:
        return ()
    for selector in _LIKELY_PLACES if likely else _PLACES:
        if found := people(list(_shown(tree, selector))):
            return found
    return ()


def _shown(tree: LexborHTMLParser, selector: str) -> Iterator[str]:
    """Yield the text of the first such place, and of those beside it in one parent."""
    parent = None
    for node in tree.css(selector):
        text = node.attributes.get("content") or node.text(separator=" ") or ""
        if not text.strip() or len(text) > 5 * _LONGEST:
            continue
        if parent is not None and (node.parent is None or node.parent.mem_id != parent):
            return
        parent = node.parent.mem_id if node.parent is not None else 0
        yield text


def _named(name: str) -> bool:
    return (
        len(name) <= _LONGEST
        and len(name.split()) <= _WORDS
        and any(map(str.isalpha, name))
        and not _NO_NAME.search(name)
        and not any(map(str.isdigit, name))
    )
