"""Read a feed: its entries' titles are headlines, and what they say is its text."""

from __future__ import annotations

from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING

from windrow.collections.pages.reading.blank import NOTHING, blank, index
from windrow.collections.pages.reading.document import PageDocument
from windrow.collections.pages.reading.link import Link, bare, links
from windrow.collections.pages.reading.markdown import UTF8
from windrow.collections.pages.reading.moment import seconds
from windrow.collections.pages.reading.pile import Pile, pile
from windrow.formats import feed as news
from windrow.formats import html
from windrow.formats.html import PageHead
from windrow.formats.language import normal

if TYPE_CHECKING:
    from windrow.collections.pages.reading.said import ContentHeaders


def feed(raw: bytes, url: str, said: ContentHeaders) -> PageDocument:
    """Read a feed; other XML and JSON is a document without text."""
    found = news.read(raw)
    if found is None:
        return blank()
    told: list[Link] = []
    piles = [Pile("\n".join(filter(None, (found.title, found.description))))]
    for entry in found.entries:
        heap, referred = _entry(entry, url)
        piles.append(heap)
        told += referred
    times = [seconds(time) for one in found.entries for time in (one.updated, one.published)]
    newest = max((time for time in times if time is not None), default=None)
    described = replace(
        NOTHING,
        updated=next((t for t in (seconds(found.updated), newest, seconds(said.last_modified)) if t is not None), None),
        language=normal(found.language) or normal(said.language.partition(",")[0]),
        title=found.title or None,
        description=found.description or None,
        indexiness=index(told),
    )
    columns = zip(*(heap.fields() for heap in piles), strict=True)
    whole = Pile(*("\n".join(filter(None, column)) for column in columns))
    return replace(blank(), pile=whole, description=described, links=bare(told), encoding="utf-8")


def _entry(entry: news.FeedEntry, url: str) -> tuple[Pile, list[Link]]:
    """Read one entry by itself: HTML that is broken in one does not reach into the next."""
    title = escape(entry.title)
    if entry.url:
        title = f'<a href="{escape(entry.url)}">{title}</a>'
    text = f"<main><article><h1>{title}</h1>{entry.html}</article></main>"
    outline = html.read(text.encode("utf-8", "replace"), url, UTF8).outline
    heap = pile(outline, [True] * len(outline.blocks.text))
    big = "\n".join(
        filter(None, (entry.title, heap.big_headlines))
    )  # its title is the first headline, which pile omits
    return replace(heap, big_headlines=big), links(outline, PageHead(base=entry.base), url)
