"""Read what is no HTML as a page: plain text, Markdown, PDF, feeds, and what has no text."""

from __future__ import annotations

import re
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING

from windrow.collections.pages.reading.document import Description, PageDocument, Pile, describe, pile, seconds
from windrow.collections.pages.reading.link import Link, LinkClassifier, bare, count, indexiness, links
from windrow.formats import feed as news
from windrow.formats import html
from windrow.formats import markdown as marked
from windrow.formats import pdf as portable
from windrow.formats.html import PageHead
from windrow.formats.html.charset import decode
from windrow.formats.language import normal
from windrow.formats.paragraph import clean, first, paragraphs
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
    outline = html.read(text.encode("utf-8", "replace"), url, UTF8).outline
    heap = pile(outline, [True] * len(outline.blocks.text))
    big = "\n".join(
        filter(None, (entry.title, heap.big_headlines))
    )  # its title is the first headline, which pile omits
    return replace(heap, big_headlines=big), links(outline, PageHead(base=entry.base), url)
