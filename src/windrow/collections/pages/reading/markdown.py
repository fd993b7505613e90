"""Read Markdown: it becomes HTML, all of whose text is main content."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.collections.pages.reading.blank import index
from windrow.collections.pages.reading.description import describe
from windrow.collections.pages.reading.document import PageDocument
from windrow.collections.pages.reading.link import bare, links
from windrow.collections.pages.reading.moment import seconds
from windrow.collections.pages.reading.pile import pile
from windrow.collections.pages.reading.plain import plain
from windrow.formats import html
from windrow.formats import markdown as marked
from windrow.formats.html import PageHead
from windrow.formats.html.charset import decode
from windrow.formats.paragraph import clean

if TYPE_CHECKING:
    from windrow.collections.pages.reading.said import ContentHeaders

UTF8 = "text/html; charset=utf-8"


def markdown(raw: bytes, url: str, said: ContentHeaders) -> PageDocument:
    """Read Markdown; one that is too long is read as plain text."""
    text = decode(raw, said.content_type)
    if len(text.text) > marked.LONGEST:
        return plain(raw, url, said)
    found = marked.read("\n".join(map(clean, text.text.splitlines())))
    page = html.read(f"<main>{found.html}</main>".encode(), url, UTF8)
    outline = page.outline
    chosen = [True] * len(outline.blocks.text)
    front = found.front
    head = PageHead(
        title=front.get("title", ""),
        description=front.get("description", ""),
        language=front.get("lang", "") or front.get("language", ""),
        published=front.get("date", ""),
        modified=front.get("updated", ""),
    )
    told = links(outline, head, url)
    described = describe(
        head,
        outline,
        chosen,
        index=index(told, dated=seconds(head.published) is not None),
        last_modified=said.last_modified,
        language=said.language,
    )
    return PageDocument(pile(outline, chosen), described, bare(told), None, frozenset(), text.encoding)
