"""Read a plain text: its paragraphs, and its first line as title."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.collections.pages.reading.blank import NOTHING, blank, paragraph
from windrow.collections.pages.reading.document import PageDocument
from windrow.collections.pages.reading.moment import seconds
from windrow.collections.pages.reading.pile import Pile
from windrow.formats.html.charset import decode
from windrow.formats.language import normal
from windrow.formats.paragraph import first, paragraphs
from windrow.model import Finding, Level
from windrow.reasons import Reason

if TYPE_CHECKING:
    from windrow.collections.pages.reading.said import ContentHeaders

from dataclasses import replace

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
