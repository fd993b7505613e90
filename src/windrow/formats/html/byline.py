"""Who wrote an article, as its page shows it, where its head does not say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser

_PLACES = (
    "[itemprop~=author] [itemprop~=name], [itemprop~=author]", "[rel~=author]", ".p-author .p-name, .p-author",
    ".byline, .by-line, .article-byline, .entry-author, .post-author, .author-name, .author__name, .article-author",
    "[class*=byline], [class*=Byline]", ".author, [class*=author-name], [class*=authorName]",
)  # fmt: skip
"""Where names of authors stand: microdata, links, microformats, and what most systems call the place."""
_LEAD = re.compile(r"^(?:(?:written|posted|published|words|story|text|reported)\s+)?by\b(?:[:\s]+|$)"
                   r"|^(?:author|von|par|por|di|door|av)s?\b[:\s]+",
                   re.IGNORECASE)  # fmt: skip
_BETWEEN = re.compile(r"\s*(?:,|;|\||&|\band\b|\bund\b|\bet\b|\by\b)\s*")
_REST = re.compile(
    r"\s+(?:[|•·\u2013\u2014-]\s|on\s|in\s|updated\b|published\b|posted\b|last\b|\d).*$|[|•·(].*$", re.IGNORECASE
)
_ADDRESS = re.compile(r"://|@|\.com\b|\bwww\.", re.IGNORECASE)
_NOBODY = frozenset(("the author", "author", "admin", "administrator", "editor", "staff", "guest"))
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


def byline(tree: LexborHTMLParser, text: str) -> tuple[str, ...]:
    """Return the authors that a page shows; `text` is what the tree was made of."""
    if "author" not in text and "yline" not in text:
        return ()
    for selector in _PLACES:
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
        and not _ADDRESS.search(name)
        and not any(map(str.isdigit, name))
    )
