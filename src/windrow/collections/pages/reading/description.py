"""What a page is about, in the columns of `document_description`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from windrow.collections.pages.reading.moment import seconds
from windrow.formats.html import Outline, PageHead, PageLocation, headline
from windrow.formats.language import normal

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
