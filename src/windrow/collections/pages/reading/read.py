"""Read a document of any media type; one of a type without a reader becomes a document without text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING

from windrow.collections.pages.code import Mime, mime
from windrow.collections.pages.reading.document import (
    ContentHeaders,
    Description,
    PageDocument,
    Pile,
    describe,
    document,
    pile,
    seconds,
)
from windrow.collections.pages.reading.link import (
    Link,
    LinkClassifier,
    count_links,
    indexiness,
    links,
    place_links,
    without_tags,
)
from windrow.collections.pages.scope import Scope
from windrow.content.charset import decode
from windrow.content.head import PageHead
from windrow.content.page import read_page as read_html
from windrow.errors import MissingExtra, StepError
from windrow.formats import feed as news
from windrow.formats import markdown as marked
from windrow.formats import pdf as portable
from windrow.formats.sniff import detect_language as language_of
from windrow.formats.sniff import normalise_tag, root_name, sniff
from windrow.formats.text import first_paragraph, paragraphs, replace_controls
from windrow.model import Finding, Level
from windrow.reasons import Reason

if TYPE_CHECKING:
    from windrow.collections.pages.reading.document import ContentHeaders

LONGEST = 4 * 1024 * 1024
"""Most characters of a text that are kept."""


def plain(raw: bytes, url: str, headers: ContentHeaders) -> PageDocument:  # noqa: ARG001 the signature of every reader
    """Read plain text; never fails."""
    text = decode(raw, headers.content_type)
    lines = paragraphs(text.text[:LONGEST])
    description = replace(
        NOTHING,
        updated=seconds(headers.last_modified),
        language=normalise_tag(headers.language.partition(",")[0]),
        title=first_paragraph(lines) or None,
        description=paragraph(lines),
    )
    findings = (cut_finding(len(text.text)),) if len(text.text) > LONGEST else ()
    return replace(
        blank_document(*findings), pile=Pile("\n".join(lines)), description=description, encoding=text.encoding
    )


def cut_finding(length: int) -> Finding:
    """Return the finding that only the beginning was read."""
    return Finding(
        Reason.TOO_LARGE.value, f"the text has {length} characters; only the first {LONGEST} are read", Level.NOTE
    )


NOTHING = Description(None, None, None, None, None, None, 0)
_LEAST, _MOST = 80, 1_000  # characters of a paragraph that describes the whole


def blank_document(*findings: Finding) -> PageDocument:
    """Return a document without text."""
    return PageDocument(Pile(), NOTHING, [], None, frozenset(), "", findings=findings)


def paragraph(lines: list[str]) -> str | None:
    """Return the first paragraph that is long enough for a description, cut if it is very long."""
    return next((line[:_MOST] for line in lines if len(line) >= _LEAST), None)


def index(links: list[Link], *, dated: bool = False) -> int:
    """Return the indexiness of a document with these links."""
    return indexiness(count_links(links, publishing_date=dated))


def link(url: str, reference: str, text: str) -> Link | None:
    """Return a link of a document at `url` that is not HTML; None if the reference is not an address."""
    target = LinkClassifier(url).target(reference)
    if target is None:
        return None
    return Link(
        target.url, target.fragment, False, False, False, 0, False, target.destination, target.locality, "",
        text or None,
    )  # fmt: skip


UTF8 = "text/html; charset=utf-8"


def markdown(raw: bytes, url: str, headers: ContentHeaders) -> PageDocument:
    """Read Markdown; a document that is too long is read as plain text."""
    text = decode(raw, headers.content_type)
    if len(text.text) > marked.MAX_CHARACTERS:
        return plain(raw, url, headers)
    converted = marked.read_markdown("\n".join(map(replace_controls, text.text.splitlines())))
    page = read_html(f"<main>{converted.html}</main>".encode(), url, UTF8)
    outline = page.outline
    is_main = [True] * len(outline.blocks.text)
    front_matter = converted.front
    head = PageHead(
        title=front_matter.get("title", ""),
        description=front_matter.get("description", ""),
        language=front_matter.get("lang", "") or front_matter.get("language", ""),
        published=front_matter.get("date", ""),
        modified=front_matter.get("updated", ""),
    )
    page_links = links(outline, head, url)
    description = describe(
        head,
        outline,
        is_main,
        index=index(page_links, dated=seconds(head.published) is not None),
        last_modified=headers.last_modified,
        language=headers.language,
    )
    return PageDocument(pile(outline, is_main), description, without_tags(page_links), None, frozenset(), text.encoding)


_PROGRAM_PREFIX = re.compile(r"(?:microsoft )?(?:word|powerpoint|excel) ?- ", re.IGNORECASE)
_NO_TITLE = re.compile(
    r"|.{1,2}|untitled.*|(?:document|slide|title|page) ?\d*|\S+\.\w{2,5}|.*\.(?:docx?|pptx?|xlsx?|odt|rtf|pdf|tex|qxd)",
    re.IGNORECASE,
)
_BIG = 1  # levels of the table of contents, from 0


def pdf(raw: bytes, url: str, headers: ContentHeaders) -> PageDocument:
    """Read a PDF; raise `StepError` if it is broken, `MissingExtra` if the extra is not installed."""
    file = portable.read_pdf(raw)
    lines = [line for page in file.pages for line in paragraphs(page)]
    text = "\n".join(lines)
    page_links = [
        target for annotation in file.links if (target := link(url, annotation.url, annotation.text)) is not None
    ]
    titles = [(level, title) for level, title in file.contents if title in text]
    description = replace(
        NOTHING,
        created=file.created,
        updated=next((time for time in (file.modified, seconds(headers.last_modified)) if time is not None), None),
        language=normalise_tag(file.language) or normalise_tag(headers.language.partition(",")[0]),
        title=_title(file.title) or first_paragraph(lines) or None,
        description=file.subject or paragraph(lines),
        indexiness=index(page_links, dated=file.created is not None),
    )
    text_pile = Pile(
        text,
        big_headlines="\n".join(title for level, title in titles if level <= _BIG),
        small_headlines="\n".join(title for level, title in titles if level > _BIG),
    )
    findings = []
    if file.cut:
        findings.append(Finding(Reason.TOO_LARGE.value, f"only the first {len(file.pages)} pages are read", Level.NOTE))
    if not text:
        findings.append(Finding("no_text", "its pages contain no text; it may be a scan", Level.NOTE))
    return replace(blank_document(*findings), pile=text_pile, description=description, links=page_links)


def _title(metadata: str) -> str:
    """Return the title in the metadata; empty if a program generated it, for example from a file name."""
    title = _PROGRAM_PREFIX.sub("", metadata, count=1).strip()
    return "" if _NO_TITLE.fullmatch(title) else title


def feed(raw: bytes, url: str, headers: ContentHeaders) -> PageDocument:
    """Read a feed; other XML and JSON gives a document without text."""
    channel = news.read_feed(raw)
    if channel is None:
        return blank_document()
    entry_links: list[Link] = []
    piles = [Pile("\n".join(filter(None, (channel.title, channel.description))))]
    for entry in channel.entries:
        entry_pile, referred = _entry(entry, url)
        piles.append(entry_pile)
        entry_links += referred
    times = [seconds(time) for post in channel.entries for time in (post.updated, post.published)]
    newest = max((time for time in times if time is not None), default=None)
    description = replace(
        NOTHING,
        updated=next(
            (t for t in (seconds(channel.updated), newest, seconds(headers.last_modified)) if t is not None), None
        ),
        language=normalise_tag(channel.language) or normalise_tag(headers.language.partition(",")[0]),
        title=channel.title or None,
        description=channel.description or None,
        indexiness=index(entry_links),
    )
    columns = zip(*(part.fields() for part in piles), strict=True)
    text_pile = Pile(*("\n".join(filter(None, column)) for column in columns))
    return replace(
        blank_document(), pile=text_pile, description=description, links=without_tags(entry_links), encoding="utf-8"
    )


def _entry(entry: news.FeedEntry, url: str) -> tuple[Pile, list[Link]]:
    """Read one entry by itself, so that broken HTML in it does not affect the next one."""
    title = escape(entry.title)
    if entry.url:
        title = f'<a href="{escape(entry.url)}">{title}</a>'
    text = f"<main><article><h1>{title}</h1>{entry.html}</article></main>"
    outline = read_html(text.encode("utf-8", "replace"), url, UTF8).outline
    entry_pile = pile(outline, [True] * len(outline.blocks.text))
    titles = "\n".join(
        filter(None, (entry.title, entry_pile.big_headlines))
    )  # its title is the first headline, which pile omits
    return replace(entry_pile, big_headlines=titles), links(outline, PageHead(base=entry.base), url)


_FEEDS = frozenset(("application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json"))
_MAY_BE_FEEDS = frozenset(("application/xml", "text/xml", "application/json", "text/json"))
_MARKDOWN = frozenset(("text/markdown", "text/x-markdown"))
_ENDINGS = (".md", ".markdown", ".mkd", ".mdown")


def read(raw: bytes, url: str, fields: Mapping[str, str], site: Scope | None = None) -> PageDocument:
    r"""Read a document's bytes, without transfer and content codings, from the address `url`.

    `fields` are the response's headers, by name in lower case. HTML, plain text, Markdown, feeds and PDF are read; for
    any other document, and an unreadable one, the text is empty and findings tell why. If the server declares no media
    type, or one that contradicts the first bytes, these decide (WHATWG MIME Sniffing); in the latter case `mime` is
    None. The locality of links is computed from the hosts and paths of `site` if the page belongs to it, otherwise from
    its host.

    >>> page = read(b"# Tea\n\nPour *hot* water.", "http://a.example/", {"content-type": "text/markdown"})
    >>> page.description.title, page.pile.text
    ('Tea', 'Tea\nPour hot water.')
    """
    content_type = fields.get("content-type", "")
    claimed = mime(content_type)
    headers = ContentHeaders(content_type, fields.get("last-modified", ""), fields.get("content-language", ""))
    charset = dict(claimed.parameters).get("charset", "") if claimed else ""
    sniffed = sniff(raw, claimed.essence if claimed else "", is_utf_16=charset.lower().startswith("utf-16"))
    reader = _choose_reader(sniffed.essence, raw, url)
    try:
        page = reader(raw, url, headers)
    except MissingExtra as error:
        page = blank_document(Finding(Reason.UNSUPPORTED.value, f"{error}; {error.hint}", Level.WARN))
    except StepError as error:
        message = f"{error}; {error.hint}" if error.hint else str(error)
        page = blank_document(Finding(error.reason.value if error.reason else "unread", message, Level.WARN))
    return _add_type_and_language(_place_links(page, url, site), sniffed.essence, claimed, conflict=sniffed.conflict)


def _place_links(page: PageDocument, url: str, site: Scope | None) -> PageDocument:
    """Set the locality of a page's links relative to its site, and correct the indexiness accordingly."""
    if site is None or site.is_single_host or not page.links:
        return page
    placed_links = place_links(page.links, url, site)
    old_indexiness, new_indexiness = (
        indexiness(count_links(page_links, publishing_date=False)) for page_links in (page.links, placed_links)
    )
    description = replace(page.description, indexiness=page.description.indexiness + new_indexiness - old_indexiness)
    return replace(page, links=placed_links, description=description)


def _choose_reader(essence: str, raw: bytes, url: str) -> Callable[[bytes, str, ContentHeaders], PageDocument]:
    if essence == "text/plain" and _lower_path(url).endswith(_ENDINGS):
        return markdown
    if essence in _MAY_BE_FEEDS and root_name(raw) == b"html":
        return _read_html
    return _READERS.get(essence, _read_nothing)


def _read_html(raw: bytes, url: str, headers: ContentHeaders) -> PageDocument:
    return document(raw, url, headers.content_type, last_modified=headers.last_modified, language=headers.language)


def _lower_path(url: str) -> str:
    return url.partition("?")[0].partition("#")[0].lower()


def _add_type_and_language(page: PageDocument, essence: str, claimed: Mime | None, *, conflict: bool) -> PageDocument:
    """Set the media type, and detect the language if the document does not declare one."""
    kind = None if conflict else claimed if claimed and claimed.essence == essence else mime(essence)
    description = page.description
    if description.language is None and page.pile.text:
        description = replace(description, language=language_of(page.pile.text))
    findings = page.findings
    if conflict:
        named_type = claimed.essence if claimed else ""
        findings = (
            *findings,
            Finding("conflict", f"declared as {named_type}, but its first bytes look like {essence}", Level.NOTE),
        )
    return replace(page, description=description, mime=kind, findings=findings)


def _read_nothing(_raw: bytes, _url: str, _said: ContentHeaders) -> PageDocument:
    return blank_document()


_READERS: dict[str, Callable[[bytes, str, ContentHeaders], PageDocument]] = {
    "text/html": _read_html,
    "application/xhtml+xml": _read_html,
    "text/plain": plain,
    "application/pdf": pdf,
    **dict.fromkeys(_MARKDOWN, markdown),
    **dict.fromkeys(_FEEDS | _MAY_BE_FEEDS, feed),
}
