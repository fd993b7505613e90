"""Read a document of any kind: what it is decides who reads it; what has no reader is a file without text."""

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
from windrow.collections.pages.reading.link import Link, LinkClassifier, bare, count, indexiness, links, placed
from windrow.collections.pages.scope import Scope
from windrow.content.charset import decode
from windrow.content.head import PageHead
from windrow.content.page import read as read_html
from windrow.errors import MissingExtra, StepError
from windrow.formats import feed as news
from windrow.formats import markdown as marked
from windrow.formats import pdf as portable
from windrow.formats.sniff import language as language_of
from windrow.formats.sniff import normal, root, sniff
from windrow.formats.text import clean, first, paragraphs
from windrow.model import Finding, Level
from windrow.reasons import Reason

if TYPE_CHECKING:
    from windrow.collections.pages.reading.document import ContentHeaders

LONGEST = 4 * 1024 * 1024
"""Characters of a text that are kept."""


def plain(raw: bytes, url: str, said: ContentHeaders) -> PageDocument:  # noqa: ARG001 every reader is asked in one way
    """Read a text; any bytes give one."""
    text = decode(raw, said.content_type)
    lines = paragraphs(text.text[:LONGEST])
    told = replace(
        NOTHING,
        updated=seconds(said.last_modified),
        language=normal(said.language.partition(",")[0]),
        title=first(lines) or None,
        description=paragraph(lines),
    )
    findings = (cut(len(text.text)),) if len(text.text) > LONGEST else ()
    return replace(blank(*findings), pile=Pile("\n".join(lines)), description=told, encoding=text.encoding)


def cut(length: int) -> Finding:
    """Say that only the beginning was read."""
    return Finding(Reason.TOO_LARGE.value, f"{length} characters, the first {LONGEST} are read", Level.NOTE)


NOTHING = Description(None, None, None, None, None, None, 0)
_LEAST, _MOST = 80, 1_000  # characters of a paragraph that describes the whole


def blank(*findings: Finding) -> PageDocument:
    """Return a document without text."""
    return PageDocument(Pile(), NOTHING, [], None, frozenset(), "", findings=findings)


def paragraph(lines: list[str]) -> str | None:
    """Return the first paragraph that is long enough to describe the whole, cut where it is very long."""
    return next((line[:_MOST] for line in lines if len(line) >= _LEAST), None)


def index(links: list[Link], *, dated: bool = False) -> int:
    """Say how much a document is an index of others."""
    return indexiness(count(links, publishing_date=dated))


def link(url: str, reference: str, text: str) -> Link | None:
    """Return a link of a document at `url` that is not written in HTML; None where the reference means no address."""
    target = LinkClassifier(url).target(reference)
    if target is None:
        return None
    return Link(
        target.url, target.fragment, False, False, False, 0, False, target.destination, target.locality, "",
        text or None,
    )  # fmt: skip


UTF8 = "text/html; charset=utf-8"


def markdown(raw: bytes, url: str, said: ContentHeaders) -> PageDocument:
    """Read Markdown; one that is too long is read as plain text."""
    text = decode(raw, said.content_type)
    if len(text.text) > marked.LONGEST:
        return plain(raw, url, said)
    found = marked.read("\n".join(map(clean, text.text.splitlines())))
    page = read_html(f"<main>{found.html}</main>".encode(), url, UTF8)
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


_PROGRAM = re.compile(r"(?:microsoft )?(?:word|powerpoint|excel) ?- ", re.IGNORECASE)
_NO_TITLE = re.compile(
    r"|.{1,2}|untitled.*|(?:document|slide|title|page) ?\d*|\S+\.\w{2,5}|.*\.(?:docx?|pptx?|xlsx?|odt|rtf|pdf|tex|qxd)",
    re.IGNORECASE,
)
_BIG = 1  # levels of the table of contents, from 0


def pdf(raw: bytes, url: str, said: ContentHeaders) -> PageDocument:
    """Read a PDF; what cannot be read raises `StepError` or `MissingExtra`."""
    found = portable.read(raw)
    lines = [line for page in found.pages for line in paragraphs(page)]
    text = "\n".join(lines)
    told = [one for there in found.links if (one := link(url, there.url, there.text)) is not None]
    titles = [(level, title) for level, title in found.contents if title in text]
    described = replace(
        NOTHING,
        created=found.created,
        updated=next((time for time in (found.modified, seconds(said.last_modified)) if time is not None), None),
        language=normal(found.language) or normal(said.language.partition(",")[0]),
        title=_title(found.title) or first(lines) or None,
        description=found.subject or paragraph(lines),
        indexiness=index(told, dated=found.created is not None),
    )
    whole = Pile(
        text,
        big_headlines="\n".join(title for level, title in titles if level <= _BIG),
        small_headlines="\n".join(title for level, title in titles if level > _BIG),
    )
    findings = []
    if found.cut:
        findings.append(Finding(Reason.TOO_LARGE.value, f"the first {len(found.pages)} pages are read", Level.NOTE))
    if not text:
        findings.append(Finding("no_text", "its pages hold no text; it may be scanned", Level.NOTE))
    return replace(blank(*findings), pile=whole, description=described, links=told)


def _title(said: str) -> str:
    """Return the title of the metadata, where it is one and not what a program put there."""
    title = _PROGRAM.sub("", said, count=1).strip()
    return "" if _NO_TITLE.fullmatch(title) else title


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
    outline = read_html(text.encode("utf-8", "replace"), url, UTF8).outline
    heap = pile(outline, [True] * len(outline.blocks.text))
    big = "\n".join(
        filter(None, (entry.title, heap.big_headlines))
    )  # its title is the first headline, which pile omits
    return replace(heap, big_headlines=big), links(outline, PageHead(base=entry.base), url)


_FEEDS = frozenset(("application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json"))
_MAY_BE_FEEDS = frozenset(("application/xml", "text/xml", "application/json", "text/json"))
_MARKDOWN = frozenset(("text/markdown", "text/x-markdown"))
_ENDINGS = (".md", ".markdown", ".mkd", ".mdown")


def read(raw: bytes, url: str, fields: Mapping[str, str], site: Scope | None = None) -> PageDocument:
    r"""Read a document's bytes, without transfer and content codings, as they came from this address.

    `fields` are the response's, by name in lower case. HTML, plain text, Markdown, feeds and PDF are read; any other
    document, and one that cannot be read, has no text, and findings that say why. Where the server does not say what
    it is, or says what its first bytes deny, these decide (WHATWG MIME Sniffing); in the latter case `mime` is None.
    How far links reach is told by the hosts and paths of `site`, where the page lies in it, else by its own host.

    >>> found = read(b"# Tea\n\nPour *hot* water.", "http://a.example/", {"content-type": "text/markdown"})
    >>> found.description.title, found.pile.text
    ('Tea', 'Tea\nPour hot water.')
    """
    told = fields.get("content-type", "")
    claimed = mime(told)
    said = ContentHeaders(told, fields.get("last-modified", ""), fields.get("content-language", ""))
    charset = dict(claimed.parameters).get("charset", "") if claimed else ""
    found = sniff(raw, claimed.essence if claimed else "", encoded=charset.lower().startswith("utf-16"))
    reader = _reader(found.essence, raw, url)
    try:
        read_ = reader(raw, url, said)
    except MissingExtra as error:
        read_ = blank(Finding(Reason.UNSUPPORTED.value, f"{error}; {error.hint}", Level.WARN))
    except StepError as error:
        why = f"{error}; {error.hint}" if error.hint else str(error)
        read_ = blank(Finding(error.reason.value if error.reason else "unread", why, Level.WARN))
    return _told(_placed(read_, url, site), found.essence, claimed, conflict=found.conflict)


def _placed(found: PageDocument, url: str, site: Scope | None) -> PageDocument:
    """Say of the links of a page how far they reach from its site; its indexiness is made of that."""
    if site is None or site.alone or not found.links:
        return found
    links = placed(found.links, url, site)
    before, after = (indexiness(count(some, publishing_date=False)) for some in (found.links, links))
    said = replace(found.description, indexiness=found.description.indexiness + after - before)
    return replace(found, links=links, description=said)


def _reader(essence: str, raw: bytes, url: str) -> Callable[[bytes, str, ContentHeaders], PageDocument]:
    if essence == "text/plain" and _path(url).endswith(_ENDINGS):
        return markdown
    if essence in _MAY_BE_FEEDS and root(raw) == b"html":
        return _page
    return _READERS.get(essence, _file)


def _page(raw: bytes, url: str, said: ContentHeaders) -> PageDocument:
    return document(raw, url, said.content_type, last_modified=said.last_modified, language=said.language)


def _path(url: str) -> str:
    return url.partition("?")[0].partition("#")[0].lower()


def _told(found: PageDocument, essence: str, claimed: Mime | None, *, conflict: bool) -> PageDocument:
    """Add what it is, and its language where it does not say it itself."""
    kind = None if conflict else claimed if claimed and claimed.essence == essence else mime(essence)
    said = found.description
    if said.language is None and found.pile.text:
        said = replace(said, language=language_of(found.pile.text))
    findings = found.findings
    if conflict:
        was = claimed.essence if claimed else ""
        findings = (*findings, Finding("conflict", f"it is called {was} and looks like {essence}", Level.NOTE))
    return replace(found, description=said, mime=kind, findings=findings)


def _file(_raw: bytes, _url: str, _said: ContentHeaders) -> PageDocument:
    return blank()


_READERS: dict[str, Callable[[bytes, str, ContentHeaders], PageDocument]] = {
    "text/html": _page,
    "application/xhtml+xml": _page,
    "text/plain": plain,
    "application/pdf": pdf,
    **dict.fromkeys(_MARKDOWN, markdown),
    **dict.fromkeys(_FEEDS | _MAY_BE_FEEDS, feed),
}
