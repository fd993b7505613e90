"""Read an HTML page: its description, its dates, its links, and its text as a text pile of the Summary Database."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC

from windrow.caps import HEAD_VALUE, Excess
from windrow.collections.pages.code import Mime
from windrow.collections.pages.reading.link import (
    FRAME_RELATION,
    REFRESH_TAG,
    Link,
    LinkClassifier,
    compute_indexiness,
    count_links,
    find_links,
)
from windrow.content.article import find_headline
from windrow.content.head import PageHead
from windrow.content.outline import Outline, PageLocation, find_table_row
from windrow.content.page import Page, main_content, read_page
from windrow.content.tail import headline_level
from windrow.content.tree import find_unseen_blocks
from windrow.content.xhtml import decode_page, describe_fault
from windrow.formats.moment import read_page_time
from windrow.formats.sniff import normalise_tag
from windrow.formats.text import counted
from windrow.model import Finding, Level
from windrow.reasons import Reason


def parse_unix_time(text: str) -> int | None:
    """Return the UNIX time of a date in any form that `windrow.formats.moment.read_page_time` reads, or None.

    A date without a zone is in UTC.

    >>> [parse_unix_time(text) for text in ("2024-03-01T12:00:00+01:00", "Thu, 01 Jan 1970 00:01:00 GMT", "yesterday")]
    [1709290800, 60, None]
    """
    time = read_page_time(text)
    if time is None:
        return None
    try:
        return int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp())
    except OverflowError:
        return None


@dataclass(frozen=True, slots=True)
class ContentHeaders:
    """The values of the headers Content-Type, Last-Modified and Content-Language, each empty if it is missing."""

    content_type: str = ""
    last_modified: str = ""
    language: str = ""


_MIN_DESCRIPTION_LENGTH = 80  # characters of a paragraph that is used as the description
_MAX_FRAMESET_BYTES = 16_384  # bytes at the start of a page, in which a frameset must begin
_PARAGRAPH_BIT = int(PageLocation.PARAGRAPH)


@dataclass(frozen=True, slots=True)
class Description:
    """A page's description. Missing fields are None, times are in UNIX seconds."""

    created: int | None
    updated: int | None
    language: str | None
    """A language tag (BCP 47), which may contain a script and a region."""
    title: str | None
    headline: str | None
    description: str | None
    indexiness: int  # above 0 for a list of links, below 0 for a page of content


def describe(
    head: PageHead,
    outline: Outline,
    is_main: Sequence[bool],
    *,
    indexiness: int = 0,
    last_modified: str = "",
    language: str = "",
) -> Description:
    """Describe a page; `is_main` tells for each block whether it is main content.

    `last_modified` and `language` are the headers Last-Modified and Content-Language, which are used if `head` does not
    have the date of the last change or the language. The title is `title`, `og:title` or the headline. The
    description is `description`, `og:description` or the main content's first paragraph of at least 80 characters.
    """
    first_headline = find_headline(outline, is_main, head)
    if first_headline[-1:] in _SIGNS:
        first_headline = _LINK_SIGN.sub("", first_headline)
    return Description(
        created=parse_unix_time(head.published),
        updated=_parse_first_time(head.modified, last_modified),
        language=normalise_tag(head.language) or normalise_tag(language.partition(",")[0]),
        title=head.title or head.property("og:title") or first_headline or None,
        headline=first_headline or None,
        description=head.description or head.property("og:description") or _find_first_paragraph(outline, is_main),
        indexiness=indexiness,
    )


def _parse_first_time(*texts: str) -> int | None:
    return next((time for text in texts if (time := parse_unix_time(text)) is not None), None)


def _find_first_paragraph(outline: Outline, is_main: Sequence[bool]) -> str | None:
    blocks = outline.blocks
    for text, box, is_content in zip(blocks.text, blocks.box, is_main, strict=True):
        if is_content and len(text) >= _MIN_DESCRIPTION_LENGTH and outline.boxes.locations[box] & _PARAGRAPH_BIT:
            return " ".join(text.split())[: HEAD_VALUE.number]
    return None


_LINK_SIGN = re.compile(r"\s*[¶§\U0001f517]\s*$|\s*\[(?:edit|edit source|bearbeiten|modifier|editar|modifica)\]\s*$")
"""Matches ends of headlines in manuals and encyclopedias: a sign that links to the headline, or a link to edit it."""
_SIGNS = frozenset("¶§\U0001f517]")  # the last characters of such ends
_MAX_BIG_LEVEL = 3  # the lowest level of a big headline
_CODE_BIT, _QUOTE_BIT, _HEADLINE_BIT = int(PageLocation.CODE), int(PageLocation.QUOTE), int(PageLocation.HEADLINE)


@dataclass(frozen=True, slots=True)
class Pile:
    """A page's text pile. `text` and `secondary_text` are its visible text; other fields repeat parts of `text`."""

    text: str = ""
    """The main content, with about one line for each paragraph."""
    secondary_text: str = ""
    """All other visible text."""
    big_headlines: str = ""
    """Big headlines, one on each line: in HTML, those of levels 1 to 3, except the first of level 1."""
    small_headlines: str = ""
    """Headlines of lower levels than the big ones, one on each line."""
    code_text: str = ""
    quote_text: str = ""

    def fields(self) -> tuple[str, str, str, str, str, str]:
        """Return the six texts in the order of the columns of `text_pile`."""
        return (
            self.text,
            self.secondary_text,
            self.big_headlines,
            self.small_headlines,
            self.code_text,
            self.quote_text,
        )

    def digest(self) -> bytes:
        """Return the 512-bit BLAKE2b digest of the six texts in UTF-8, with three line feeds between them.

        >>> Pile("Hello world", "Menu", "Hello").digest().hex()[:16]
        'c8c9d5dcdc2a7b50'
        """
        return hashlib.blake2b("\n\n\n".join(self.fields()).encode()).digest()

    def __bool__(self) -> bool:
        return any(self.fields())


def make_pile(outline: Outline, is_main: Sequence[bool]) -> Pile:
    """Make a page's text pile; `is_main` tells for each block whether it is main content."""
    boxes, blocks = outline.boxes, outline.blocks
    texts: tuple[list[str], ...] = ([], [], [], [], [], [])
    main, secondary, big_headlines, small_headlines, code, quote = texts
    is_primary = True  # whether the next headline of level 1 is the first one
    hidden_blocks = find_unseen_blocks(outline)
    row = -1  # the table row of the block, or -1
    for number, (text, box) in enumerate(zip(blocks.text, blocks.box, strict=True)):
        if not is_main[number]:
            if number not in hidden_blocks:
                secondary.append(text)
            continue
        previous_row, row = row, find_table_row(outline, box)
        _append_text(main, text, is_same_row=row == previous_row >= 0)
        location = boxes.locations[box]
        level = headline_level(outline, box) if location & _HEADLINE_BIT else 0
        if level == 1 and is_primary:
            is_primary = False
        elif level:
            headline = " ".join(text.split("\n"))
            headline = _LINK_SIGN.sub("", headline) if headline[-1:] in _SIGNS else headline
            (big_headlines if level <= _MAX_BIG_LEVEL else small_headlines).append(headline)
        if location & _CODE_BIT:
            code.append(text)
        elif number in blocks.code:
            code.extend(blocks.code[number])
        if location & _QUOTE_BIT:
            quote.append(text)
        elif number in blocks.quote:
            quote.extend(blocks.quote[number])
    return Pile(*("\n".join(part).strip() for part in texts))


def _append_text(lines: list[str], text: str, *, is_same_row: bool) -> None:
    if is_same_row:
        lines[-1] += f"\t{text}"
    else:
        lines.append(text)


@dataclass(frozen=True, slots=True)
class PageDocument:
    """A document as its reader returns it."""

    pile: Pile
    description: Description
    links: list[Link]
    canonical: str | None
    """The canonical address that the page names; None if it names none, several, or its own address."""
    robots: frozenset[str]
    """The directives of `meta name=robots`, in lower case."""
    encoding: str
    """The character encoding, or empty for a PDF and for a document that was not read."""
    mime: Mime | None = None
    """The media type; None if it is unknown, or if the server declares a type that contradicts the bytes."""
    findings: tuple[Finding, ...] = ()
    """Reasons why text is missing, in whole or in part, and conflicts about the media type."""
    canonicals: tuple[str, ...] = ()
    """All canonical addresses that the page names, each once. Its own address may be among them."""
    refresh: Link | None = None
    """The first link of a `meta http-equiv=refresh`, or None if there is none or if it leads to the page itself."""
    robots_metas: tuple[tuple[str, str], ...] = ()
    """The name and content of each `meta` element that may hide the page from searches."""
    left_out: tuple[Excess, ...] = ()
    """How much each cap leaves out of the document."""
    refused_links: Mapping[Reason, int] = field(default_factory=dict)
    """How many links are not among `links` because their address is not valid or too long, by reason."""


UNREAD_JSON_LD = "unread_json_ld"
"""The kind of a finding that scripts beside the text cannot be read. It is no reason against the document."""

_FRAME_TAG = re.compile(
    r"""<(/?)(frameset|noframes|frame)(?=[\s/>])((?>(?:"[^"]*+"|'[^']*+'|[^>])*))>""", re.IGNORECASE
)
_FRAME_ADDRESS = re.compile(r"""\ssrc\s*=\s*("[^"]*"|'[^']*'|[^\s>]+)""", re.IGNORECASE)
_FRAME_TITLE = re.compile(r"""\s(?:title|name)\s*=\s*("[^"]*"|'[^']*'|[^\s>]+)""", re.IGNORECASE)


def _read_page(raw: bytes, url: str, content_type: str, ignored: Sequence[str]) -> Page:
    """Read a page; if a frameset begins in its first `_MAX_FRAMESET_BYTES`, read it as `_show_frames` returns it."""
    if b"<frameset" not in raw[:_MAX_FRAMESET_BYTES].replace(b"\0", b"").lower():  # also in UTF-16
        return read_page(raw, url, content_type, ignored)
    text = decode_page(raw, content_type)
    shown = _show_frames(text.html).encode("utf-8", "replace")
    return read_page(shown, url, "text/html; charset=utf-8", ignored)._replace(encoding=text.encoding, fault=text.fault)


def _show_frames(html: str) -> str:
    """Return a page with links in place of its frames, and with the content of `noframes`.

    >>> _show_frames("<frameset><frame src='a.html' name='menu'></frameset>")
    "<div><a rel=x-frame href='a.html'>menu</a></div>"
    """

    def replace_tag(match: re.Match[str]) -> str:
        if match[2].lower() != "frame":
            return f"<{match[1]}div{match[3]}>"
        address, title = _FRAME_ADDRESS.search(match[3]), _FRAME_TITLE.search(match[3])
        if address is None:
            return f"<br{match[3]}>"
        shown_title = title[1].strip("\"'") if title else ""
        return f"<a rel={FRAME_RELATION} href={address[1]}>{shown_title}</a>"

    return _FRAME_TAG.sub(replace_tag, html)


def read_html_page(
    raw: bytes, url: str, content_type: str = "", *, last_modified: str = "", language: str = "",
    ignored: Sequence[str] = (),
) -> PageDocument:  # fmt: skip
    """Read the bytes of an HTML page at the address `url`; raise StepError if it has too many elements.

    `content_type`, `last_modified` and `language` are the headers Content-Type, Last-Modified and Content-Language.
    The text of elements that the CSS selectors `ignored` match is left out.

    >>> page = read_html_page(b"<title>Tea</title><main><h1>Tea</h1><p>Pour <a href=/cup>a cup</a>", "http://a.example/")
    >>> page.links[0].url, page.links[0].text, page.description.headline
    ('http://a.example/cup', 'a cup', 'Tea')
    """
    page = _read_page(raw, url, content_type, ignored)
    is_main = main_content(page.outline, page.traits)
    classifier = LinkClassifier(url, page.head.base)
    page_links = find_links(page.outline, page.head, classifier)
    indexiness = compute_indexiness(count_links(page_links, has_date=parse_unix_time(page.head.published) is not None))
    canonicals = [target.url for target in classifier.find_targets(page.head.canonicals) if target]
    canonical = canonicals[0] if len(set(canonicals)) == 1 else classifier.page_url
    refresh = next((link for link in page_links if link.html_tag == REFRESH_TAG), None)
    return PageDocument(
        make_pile(page.outline, is_main),
        describe(
            page.head, page.outline, is_main, indexiness=indexiness, last_modified=last_modified, language=language
        ),
        page_links,
        canonical if canonical != classifier.page_url else None,
        page.head.robots,
        page.encoding,
        findings=tuple(_find_faults(page)),
        canonicals=tuple(dict.fromkeys(canonicals)),
        refresh=refresh if refresh and refresh.url != classifier.page_url else None,
        robots_metas=page.head.robots_metas,
        left_out=page.left_out,
        refused_links=classifier.refused,
    )


def _find_faults(page: Page) -> Iterator[Finding]:
    if page.fault:
        yield Finding(Reason.NOT_WELL_FORMED.value, describe_fault(page.fault), Level.NOTE)
    if unread_scripts := page.head.linked.unread_scripts:
        message = f"of its JSON-LD, {counted(unread_scripts, 'script')} cannot be read"
        yield Finding(UNREAD_JSON_LD, message, Level.NOTE)
