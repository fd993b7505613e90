"""What a page says: its description, its dates, and its text in the piles of the Summary Database."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC

from windrow.collections.pages.code import Mime
from windrow.collections.pages.reading.link import Link, LinkClassifier, LinkTarget, count, indexiness, links
from windrow.content.article_parts import headline
from windrow.content.head import PageHead
from windrow.content.outline import LEVELS, Outline, PageLocation, table_row
from windrow.content.page import main_content, read
from windrow.content.tree import unseen
from windrow.formats.moment import written
from windrow.formats.sniff import normal
from windrow.model import Finding


def seconds(text: str) -> int | None:
    """Return the time that a date means, in the spellings of `formats.moment`; None where it means none.

    Without a zone it is UTC.

    >>> seconds("2024-03-01T12:00:00+01:00"), seconds("Thu, 01 Jan 1970 00:01:00 GMT"), seconds("yesterday")
    (1709290800, 60, None)
    """
    when = written(text)
    if when is None:
        return None
    try:
        return int((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp())
    except OverflowError:
        return None


@dataclass(frozen=True, slots=True)
class ContentHeaders:
    """The headers Content-Type, Last-Modified and Content-Language; empty where there are none."""

    content_type: str = ""
    last_modified: str = ""
    language: str = ""


_PARAGRAPH = 80  # characters that make the first paragraph fit for a description
_LINES = int(PageLocation.PARAGRAPH)


@dataclass(frozen=True, slots=True)
class Description:
    """A page's description; None where it says nothing. Times are UNIX seconds."""

    created: int | None
    updated: int | None
    language: str | None
    """A BCP 47 tag of language, script and region."""
    title: str | None
    headline: str | None
    description: str | None
    indexiness: int


def describe(
    head: PageHead,
    outline: Outline,
    chosen: Sequence[bool],
    *,
    index: int = 0,
    last_modified: str = "",
    language: str = "",
) -> Description:
    """Describe a page; `last_modified` and `language` are the headers Last-Modified and Content-Language.

    Trusted first is what was written for machines: JSON-LD, then `article:` properties, then the headers; `title`
    before `og:title` before the first headline; `description` before `og:description` before the first paragraph of
    80 characters.
    """
    first = headline(outline, chosen, head)
    return Description(
        created=seconds(head.published),
        updated=_first_time(head.modified, last_modified),
        language=normal(head.language) or normal(language.partition(",")[0]),
        title=head.title or head.property("og:title") or first or None,
        headline=first or None,
        description=head.description or head.property("og:description") or _paragraph(outline, chosen),
        indexiness=index,
    )


def _first_time(*written: str) -> int | None:
    return next((found for each in written if (found := seconds(each)) is not None), None)


def _paragraph(outline: Outline, chosen: Sequence[bool]) -> str | None:
    blocks = outline.blocks
    for text, box, keep in zip(blocks.text, blocks.box, chosen, strict=True):
        if keep and len(text) >= _PARAGRAPH and outline.boxes.marks[box] & _LINES:
            return " ".join(text.split())
    return None


_BIG = 3  # headlines down to this level are big
_CODE, _QUOTE, _HEADLINE = int(PageLocation.CODE), int(PageLocation.QUOTE), int(PageLocation.HEADLINE)


@dataclass(frozen=True, slots=True)
class Pile:
    """A page's text: `text` and `secondary_text` are the whole page, the other four copies of parts of `text`."""

    text: str = ""
    """The main content, about a line for each paragraph."""
    secondary_text: str = ""
    """All else that is shown."""
    big_headlines: str = ""
    """Levels 2 and 3, and level 1 after the first, a line each; the first is the page's primary headline."""
    small_headlines: str = ""
    code_text: str = ""
    quote_text: str = ""

    def fields(self) -> tuple[str, str, str, str, str, str]:
        """Return the six texts in the order of the table."""
        return (
            self.text,
            self.secondary_text,
            self.big_headlines,
            self.small_headlines,
            self.code_text,
            self.quote_text,
        )

    def digest(self) -> bytes:
        """Return the BLAKE2b digest of 512 bits: the six texts in UTF-8 with three line feeds between them.

        >>> Pile("Hello world", "Menu", "Hello").digest().hex()[:16]
        'c8c9d5dcdc2a7b50'
        """
        return hashlib.blake2b("\n\n\n".join(self.fields()).encode()).digest()

    def __bool__(self) -> bool:
        """Say whether there is any text."""
        return any(self.fields())


def pile(outline: Outline, chosen: Sequence[bool]) -> Pile:
    """Heap up a page's text; `chosen` says of each block whether it is main content."""
    boxes, blocks = outline.boxes, outline.blocks
    texts: tuple[list[str], ...] = ([], [], [], [], [], [])
    main, secondary, big, small, code, quote = texts
    first = True
    hidden = unseen(outline)
    row = -1
    for at, (text, box) in enumerate(zip(blocks.text, blocks.box, strict=True)):
        if not chosen[at]:
            if at not in hidden:
                secondary.append(text)
            continue
        before, row = row, table_row(outline, box)
        _write(main, text, same_row=row == before >= 0)
        marks = boxes.marks[box]
        level = _level(outline, box) if marks & _HEADLINE else 0
        if level == 1 and first:
            first = False
        elif level:
            (big if level <= _BIG else small).append(" ".join(text.split("\n")))
        if marks & _CODE:
            code.append(text)
        elif at in blocks.code:
            code.extend(blocks.code[at])
        if marks & _QUOTE:
            quote.append(text)
        elif at in blocks.quote:
            quote.extend(blocks.quote[at])
    return Pile(*("\n".join(each).strip() for each in texts))


def _write(lines: list[str], text: str, *, same_row: bool) -> None:
    if same_row:
        lines[-1] += f"\t{text}"
    else:
        lines.append(text)


def _level(outline: Outline, box: int) -> int:
    """Return the level of the headline that this box, which is marked so, is or lies in."""
    boxes = outline.boxes
    while box > 0 and boxes.tag[box] not in LEVELS:
        box = boxes.up[box]
    return LEVELS.get(boxes.tag[box], 0)


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
