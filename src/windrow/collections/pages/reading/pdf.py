"""Read a PDF: its text by paragraphs, and what its metadata and annotations say."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from windrow.collections.pages.reading.blank import NOTHING, blank, index, link, paragraph
from windrow.collections.pages.reading.document import PageDocument
from windrow.collections.pages.reading.moment import seconds
from windrow.collections.pages.reading.pile import Pile
from windrow.formats import pdf as portable
from windrow.formats.language import normal
from windrow.formats.paragraph import first, paragraphs
from windrow.model import Finding, Level
from windrow.reasons import Reason

if TYPE_CHECKING:
    from windrow.collections.pages.reading.said import ContentHeaders

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
