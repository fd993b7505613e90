"""What the head and the address of a page say about its kind, before its text is looked at."""

from __future__ import annotations

import re
from dataclasses import dataclass

TYPES = ("article|blogposting|report", "product|offer", "itemlist", "discussionforum|qapage|comment",
         "faqpage|question", "person|profile", "breadcrumb", "website|webpage", "collectionpage",
         "organization|business")  # fmt: skip
"""Of schema.org, by family."""
ADDRESSES = (r"forum|thread|topic|discuss|community|viewtopic|/t/|/questions?/|comments|board",
             r"/products?/|/p/|/dp/|/item|/itm|-p-|/shop/|sku",
             r"/collections?/|/category|/categories|/c/|/tag|/shop|/browse|/list|/search|/best",
             r"docs?[./]|/docs|documentation|/api|reference|manual|/guide|learn|help|support",
             r"/blog|/news|/article|/\d{4}/\d\d|/post|/story|/stories",
             r"\?")  # fmt: skip
"""Words in addresses that tell of forums, products, collections, documentation and articles; and a query."""

_TYPES = [re.compile(each) for each in TYPES]
_ADDRESSES = [re.compile(each) for each in ADDRESSES]
_TYPE = re.compile(r'"@type"\s*:\s*(?:"([^"]{1,80})"|\[([^\]]{1,200})\])')
_KINDS = {"website": 1, "article": 2, "product": 3}


@dataclass(frozen=True, slots=True)
class PageHint:
    """What the head and the address say of a page's kind; all of it may be missing."""

    kind: int = 0
    """Of OpenGraph: 0 none, 1 website, 2 article, 3 product, 4 another."""
    types: int = 0
    """Of schema.org, named in JSON-LD: a bit for each of `TYPES`."""
    steps: int = 0
    """In the address's path."""
    digits: int = 0
    """In the address's path."""
    address: int = 0
    """A bit for each of `ADDRESSES`."""


def hint(url: str, kind: str | None, json_ld: str) -> PageHint:
    """Gather what the address, `og:type` and the JSON-LD of a page say of its kind.

    >>> hint("http://a.example/forum/t/9?x=1", "article", '{"@type": "Product"}')
    PageHint(kind=2, types=2, steps=3, digits=1, address=33)
    """
    types = " ".join(one or many for one, many in _TYPE.findall(json_ld)).lower()
    where = url.partition("://")[2].partition("#")[0].lower()
    path = where.partition("?")[0].partition("/")[2].strip("/")
    word = (kind or "").strip().lower()
    return PageHint(
        0 if not word else _KINDS.get(word, 3 if "product" in word else 4),
        sum(1 << at for at, each in enumerate(_TYPES) if types and each.search(types)),
        path.count("/") + 1 if path else 0,
        sum(map(str.isdigit, path)),
        sum(1 << at for at, each in enumerate(_ADDRESSES) if each.search(where)),
    )
