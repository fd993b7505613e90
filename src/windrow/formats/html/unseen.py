"""Tell which blocks of a page are hidden from its readers, and which of them a script is going to show."""

from __future__ import annotations

from windrow.formats.html.mark import PageLocation
from windrow.formats.html.outline import Outline

HIDDEN = int(PageLocation.UNSEEN | PageLocation.UNSTYLED | PageLocation.NOSCRIPT)
"""`hidden`, `display: none`, `noscript`."""
_SENTENCE = 12  # words of a block that is prose
_PASSAGE = 50  # words of prose that are written to be read, and hidden until a script shows them


def unseen(outline: Outline) -> frozenset[int]:
    """Return the blocks that lie in something hidden."""
    marks = outline.boxes.marks
    if not any(each & HIDDEN for each in marks):
        return frozenset()
    return frozenset(at for at, box in enumerate(outline.blocks.box) if marks[box] & HIDDEN)


def silent(outline: Outline) -> frozenset[int]:
    """Return the hidden blocks that can be no main content.

    A page may write its text into a hidden box and have a script show it: the panels of tabs, text that is streamed, a
    whole forum for those without scripts. So a hidden box that holds a passage of prose may be content, unless what is
    shown says the same.
    """
    hidden = unseen(outline)
    if not hidden:
        return hidden
    boxes, blocks = outline.boxes, outline.blocks
    shown = {text for at, text in enumerate(blocks.text) if at not in hidden}
    found = set(hidden)
    for box, mark in enumerate(boxes.marks):
        if not mark & HIDDEN or (box and boxes.marks[boxes.up[box]] & HIDDEN):
            continue
        inside = range(boxes.first[box], boxes.last[box])
        prose = [at for at in inside if blocks.words[at] >= _SENTENCE and blocks.linked[at] * 3 < blocks.words[at]]
        if sum(blocks.words[at] for at in prose if blocks.text[at] not in shown) >= _PASSAGE:
            found.difference_update(at for at in inside if blocks.text[at] not in shown)
    return frozenset(found)
