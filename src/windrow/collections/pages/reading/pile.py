"""The text pile of a page: six texts, and the digest by which equal pages are known (Summary Database 0.0.0)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from windrow.formats.html import Outline, PageLocation, table_row, unseen
from windrow.formats.html.mark import LEVELS

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
