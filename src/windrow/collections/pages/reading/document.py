"""Read one HTML page into all that the Summary Database keeps of it; the page is parsed once."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.collections.pages.kind import Mime
from windrow.collections.pages.reading.description import Description, describe
from windrow.collections.pages.reading.link import Link, count, indexiness, links
from windrow.collections.pages.reading.moment import seconds
from windrow.collections.pages.reading.pile import Pile, pile
from windrow.collections.pages.reading.target import LinkClassifier, LinkTarget
from windrow.formats.html import main_content, read
from windrow.model import Finding


@dataclass(frozen=True, slots=True)
class PageDocument:
    """What a page says."""

    pile: Pile
    description: Description
    links: list[Link]
    canonical: str | None
    """The address that the page names as its own, where that is another one."""
    robots: frozenset[str]
    """What `meta name=robots` asks, in lower case."""
    encoding: str
    mime: Mime | None = None
    """What it is; None where that is not known, or its server says something else than its bytes."""
    findings: tuple[Finding, ...] = ()
    """Why there is no text, or not all of it."""
    canonicals: tuple[str, ...] = ()
    """All addresses that the page names as its own, itself among them; where they disagree, none counts."""
    refresh: LinkTarget | None = None
    """Where the page sends its readers on to, where that is another page."""
    asks: tuple[tuple[str, str], ...] = ()
    """What its `meta` elements may ask of robots: name and content."""


def document(
    raw: bytes, url: str, content_type: str = "", *, last_modified: str = "", language: str = ""
) -> PageDocument:
    """Read a page's bytes, as they came from this address; any bytes give a document.

    `content_type`, `last_modified` and `language` are the headers Content-Type, Last-Modified and Content-Language.

    >>> found = document(b"<title>Tea</title><main><h1>Tea</h1><p>Pour <a href=/cup>a cup</a>", "http://a.example/")
    >>> found.links[0].url, found.links[0].text, found.description.headline
    ('http://a.example/cup', 'a cup', 'Tea')
    """
    page = read(raw, url, content_type)
    chosen = main_content(page.outline, page.hint)
    found = links(page.outline, page.head, url)
    index = indexiness(count(found, publishing_date=seconds(page.head.published) is not None))
    compass = LinkClassifier(url, page.head.base)
    named = [target.url for target in compass.targets(page.head.canonicals) if target]
    own = named[0] if len(set(named)) == 1 else compass.here
    onward = next((compass.target(one.href) for one in page.head.related if one.rel == "refresh"), None)
    return PageDocument(
        pile(page.outline, chosen),
        describe(page.head, page.outline, chosen, index=index, last_modified=last_modified, language=language),
        found,
        own if own != compass.here else None,
        page.head.robots,
        page.encoding,
        canonicals=tuple(dict.fromkeys(named)),
        refresh=onward if onward and onward.url != compass.here else None,
        asks=page.head.asks,
    )
