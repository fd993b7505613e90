"""Tell the main content of a page from what stands around it on every page of its site."""

from __future__ import annotations

from collections.abc import Sequence

from windrow.formats.html.forest import judge
from windrow.formats.html.hint import Hint
from windrow.formats.html.mark import Mark
from windrow.formats.html.outline import Outline
from windrow.formats.html.trait import Traits
from windrow.formats.html.unseen import HIDDEN
from windrow.formats.html.view import view
from windrow.formats.html.weight import FIRST, SECOND

_MAIN, _ARTICLE = int(Mark.MAIN | Mark.CENTRE), int(Mark.ARTICLE | Mark.POST)
_BRIEF = 100  # words
_BESIDE = HIDDEN | int(Mark.NAV | Mark.NAVIGATION | Mark.ASIDE | Mark.FOOTER | Mark.FORM | Mark.CHOICE | Mark.BUTTON)
_CAUTION = 0.7
"""How much a word missed counts beside a word too many; below 1 for forests that were taught to be generous."""


def main_content(outline: Outline, hint: Hint | None = None) -> list[bool]:
    """Say of each block whether it belongs to the main content.

    Navigation, footers and lists of choices are none. A forest judges each of the other blocks, and a second one knows
    what the first thinks of its neighbours and of the boxes around it; then as many of the likeliest are taken as
    promise the best balance of words found and words too many, so that a page of which little is sure gives more, not
    nothing.
    """
    if not outline.blocks.text:
        return []
    seen = view(outline, hint or Hint())
    if not seen.kept:
        return [False] * len(outline.blocks.text)
    traits = Traits(seen)
    traits.hear(judge(FIRST, traits))
    likely = judge(SECOND, traits)
    least = threshold(likely, [outline.blocks.words[at] for at in seen.kept])
    chosen = [False] * len(outline.blocks.text)
    for at, chance in zip(seen.kept, likely, strict=True):
        chosen[at] = chance >= least
    for at in _brief(outline):
        chosen[at] = True
    return chosen


def _brief(outline: Outline) -> list[int]:
    """Return the blocks of a page's one `main` or article, if they are few words, in which a forest finds too little.

    What its author calls the main content is believed: headlines, code and quotations too.
    """
    boxes, blocks = outline.boxes, outline.blocks
    for mark in (_MAIN, _ARTICLE):
        tops = [at for at, each in enumerate(boxes.marks) if each & mark and not boxes.marks[boxes.up[at]] & mark]
        if tops:
            break
    else:
        return []
    first, last = boxes.first[tops[0]], boxes.last[tops[0]]
    if len(tops) > 1 or sum(blocks.words[first:last]) > _BRIEF:
        return []
    return [at for at in range(first, last) if not boxes.marks[blocks.box[at]] & _BESIDE]


def threshold(likely: Sequence[float], words: Sequence[int]) -> float:
    """Return the least likelihood to take, so that the expected F measure of the words is greatest.

    >>> threshold([0.9, 0.8, 0.1], [100, 50, 100])
    0.8
    """
    wanted = _CAUTION * sum(map(float.__mul__, likely, map(float, words)))
    good = taken = best = 0.0
    least = 1.0
    for chance, size in sorted(zip(likely, words, strict=True), reverse=True):
        good += chance * size
        taken += size
        value = good / (taken + wanted)
        if value > best:
            best, least = value, chance
    return least
