"""Read section pages: pages with links to articles, such as a front page."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from windrow.collections.news.wanted_paths import UNLIKELY_RULE, count_refusals, find_refusal
from windrow.content.page import Page, read_page
from windrow.contract import LeftOutCount
from windrow.formats.url import is_front_page, normalise, parts

_PATH_WITH_DATE = re.compile(r"/(?:19|20)\d\d[/-](?:0?[1-9]|1[0-2]|[a-z]{3})(?:[/-]|$)")
_PATH_WITH_SLUG = re.compile(r"[^/-]-[^/-]++-[^/-]++-[^/-]++/?$|article[_/-]|-\d{4,}+(?:\.html?|/)?$")
_PATH_OF_OTHERS = re.compile(r"(?i)/(?:tags?|category|categories|authors?|topic|search|page|wp-content|login|about)/"
                          r"|\.(?:jpe?g|png|gif|pdf|mp[34]|zip|css|js)$")  # fmt: skip


def read_section(body: bytes, url: str, content_type: str) -> Page | None:
    """Read the page at `url`; return None for a document without links in HTML or JSON-LD, such as mere JSON."""
    if body[:2048].removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in {b"{", b"["}:
        return None  # JSON, perhaps with markup in its texts
    has_links = any(mark in body[: 1 << 20] for mark in (b"<a ", b"<A ", b"ItemList"))
    return read_page(body, url, content_type) if has_links else None


def visible_text(page: Page) -> str:
    """Return the text of all blocks of a page."""
    return "\n".join(page.outline.blocks.text)


def find_article_links(
    page: Page, url: str, options: Mapping[str, Any]
) -> tuple[Sequence[str], tuple[LeftOutCount, ...]]:
    """Return the links of a section page that lead to articles of its own site, in order, and counts of the others.

    The addresses in its JSON-LD lists are links, too, after the others: some pages show their articles by a script.

    Links to other sites are not counted. The paths of articles are those that the settings name or, if they name none,
    those that look like an article's.
    """
    base = normalise(page.head.base, url).url if page.head.base else url
    own_origins = {parts(normalise(origin).url).origin for origin in options.get("origins", ())}
    refusals: dict[str, str] = {}
    for reference in (*(anchor.href for anchor in page.outline.anchors), *page.head.linked.listed):
        address = normalise(reference, base).url if reference else ""
        if not address or address in refusals or is_front_page(address) or address == url:
            continue
        if _bare_host_name(address) == _bare_host_name(url) or parts(address).origin in own_origins:
            path = urlsplit(address).path
            looks_like_article = bool(_PATH_WITH_DATE.search(path) or _PATH_WITH_SLUG.search(path))
            is_article = bool(options.get("article")) or (looks_like_article and not _PATH_OF_OTHERS.search(path))
            refusals[address] = find_refusal(address, options) or ("" if is_article else UNLIKELY_RULE)
    return [address for address, refusal in refusals.items() if not refusal], count_refusals(refusals)


def _bare_host_name(url: str) -> str:
    return (urlsplit(url).hostname or "").removeprefix("www.")
