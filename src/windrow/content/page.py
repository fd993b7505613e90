"""Read a page: bytes and what is known of them in, one value out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import accumulate
from typing import NamedTuple

from windrow.content.charset import decode
from windrow.content.forest import forests, judge
from windrow.content.head import PageHead, head
from windrow.content.hints import PageHint, hint
from windrow.content.outline import Outline, PageLocation
from windrow.content.tail import without_captions, without_tail
from windrow.content.traits import Traits
from windrow.content.tree import HIDDEN, body, parse, silence
from windrow.content.view import view
from windrow.content.walk import walk


class Page(NamedTuple):
    """A page that was read."""

    url: str
    encoding: str
    head: PageHead
    outline: Outline
    hint: PageHint


def read(raw: bytes, url: str = "", content_type: str = "") -> Page:
    """Read a page's bytes; any bytes give a page, in time that grows with their number.

    >>> page = read(b"<title>A</title><p>One <b>two</b><p>Three")
    >>> page.head.title, page.outline.blocks.text
    ('A', ['One two', 'Three'])
    """
    text = decode(raw, content_type)
    # a text that is UTF-8 without a fault need not be written so again
    same = text.encoding == "utf-8" and text.source != "bom" and "\ufffd" not in text.text
    tree = parse(raw if same else text.text)
    said = head(tree)
    silence(tree)
    return Page(url, text.encoding, said, walk(body(tree)), hint(url, said.property("og:type"), said.json_ld))


_MAIN, _ARTICLE = int(PageLocation.MAIN | PageLocation.CENTRE), int(PageLocation.ARTICLE | PageLocation.POST)
_SENTENCE = 12  # words of a block that is prose
_COPIED = 8  # words of a block that is not repeated by chance
_SURE = 0.5
_ENOUGH = 100  # words of sure prose that tell where the text lies
_MOSTLY, _HALF, _NEARLY_ALL = 0.85, 0.6, 0.9
_BRIEF = 100  # words
_BESIDE = HIDDEN | int(
    PageLocation.NAV
    | PageLocation.NAVIGATION
    | PageLocation.ASIDE
    | PageLocation.FOOTER
    | PageLocation.FORM
    | PageLocation.CHOICE
    | PageLocation.BUTTON
)
_CAUTION = 0.7
"""How much a word missed counts beside a word too many; below 1 for forests that were taught to be generous."""


class BlockFate(StrEnum):
    """What became of a block when the main content was chosen, in words for people."""

    KEPT = "main content"
    MARKED = "all that the page marks as its main content"
    ASIDE = "navigation, footer, form, or hidden"
    UNLIKELY = "unlikely to be main content"
    BEHIND = "behind the box that holds the text"
    REPEATED = "said before in another box"
    TAIL = "a section behind the text: authors, related articles, comments"
    CAPTION = "the caption of a picture"

    @property
    def taken(self) -> bool:
        """Whether the block is main content."""
        return self is BlockFate.KEPT or self is BlockFate.MARKED


class Choice(NamedTuple):
    """What became of each block of a page, and how likely the judged ones are, from 0 to 1, by their numbers."""

    fates: list[BlockFate]
    likely: Mapping[int, float]

    def taken(self) -> list[bool]:
        """Say of each block whether it is main content."""
        kept, marked = BlockFate.KEPT, BlockFate.MARKED
        return [fate is kept or fate is marked for fate in self.fates]


def main_content(outline: Outline, hint: PageHint | None = None) -> list[bool]:
    """Say of each block whether it belongs to the main content."""
    return choose(outline, hint).taken()


def choose(outline: Outline, hint: PageHint | None = None, *, captions: bool = False) -> Choice:
    """Choose the main content of a page, and say of each block why it is none of it.

    Navigation, footers and lists of choices are none. A forest judges each of the other blocks, and a second one knows
    what the first thinks of its neighbours and of the boxes around it; then as many of the likeliest are taken as
    promise the best balance of words found and words too many, so that a page of which little is sure gives more, not
    nothing. The captions of an article's pictures are none of its text, unless `captions` are wanted.
    """
    aside = [BlockFate.ASIDE] * len(outline.blocks.text)
    if not aside:
        return Choice([], {})
    hint = hint or PageHint()
    seen = view(outline, hint)
    if not seen.kept:
        return Choice(aside, {})
    first, second = forests()
    traits = Traits(seen)
    traits.hear(judge(first, traits))
    return select(outline, hint, seen.kept, judge(second, traits), captions=captions)


def select(
    outline: Outline, hint: PageHint, kept: Sequence[int], likely: Sequence[float], *, captions: bool = False
) -> Choice:
    """Say of each block what becomes of it; `likely` is what the forests say of those in `kept`."""
    least = threshold(likely, [outline.blocks.words[at] for at in kept])
    chances = dict(zip(kept, likely, strict=True))
    taken = {at: chance for at, chance in chances.items() if chance >= least}
    until = _until(outline, taken)
    fates = [BlockFate.ASIDE] * len(outline.blocks.text)
    for fate, blocks in (
        (BlockFate.UNLIKELY, kept),
        (BlockFate.BEHIND, taken),
        (BlockFate.REPEATED, until),
        (BlockFate.KEPT, _once(outline, until)),
        (BlockFate.MARKED, _brief(outline)),
    ):
        for at in blocks:
            fates[at] = fate
    choice = Choice(fates, chances)
    leave_out(choice, without_tail(outline, hint, choice.taken()), BlockFate.TAIL)
    if not captions:
        leave_out(choice, without_captions(outline, hint, choice.taken()), BlockFate.CAPTION)
    return choice


def leave_out(choice: Choice, chosen: Sequence[bool], fate: BlockFate) -> None:
    """Give a fate to the taken blocks that are not chosen any more, and take those that are chosen besides."""
    for at, (before, now) in enumerate(zip(choice.taken(), chosen, strict=True)):
        if before != now:
            choice.fates[at] = BlockFate.KEPT if now else fate


def _until(outline: Outline, taken: Mapping[int, float]) -> list[int]:
    """Leave out what follows the box that holds the sure prose: it is seldom the page's, but teasers of other pages.

    On a page that is mostly prose, the box is the innermost one that holds more than half of it; on any other page it
    must hold nearly all, since lists and products have a box for each of their texts.
    """
    boxes, blocks = outline.boxes, outline.blocks
    sure = [0] * len(blocks.words)
    prose = 0
    for at, chance in taken.items():
        size = blocks.words[at]
        if size >= _SENTENCE and blocks.linked[at] * 3 < size:
            prose += size
            sure[at] = size if chance >= _SURE else 0
    running = list(accumulate(sure, initial=0))
    if running[-1] < _ENOUGH:
        return list(taken)
    mostly = prose >= _MOSTLY * sum(blocks.words[at] for at in taken)
    least = running[-1] * (_HALF if mostly else _NEARLY_ALL)
    holds = [at for at in range(len(boxes.tag)) if running[boxes.last[at]] - running[boxes.first[at]] >= least]
    end = boxes.last[max(holds, key=lambda at: (boxes.depth[at], at))]
    return [at for at in taken if at < end]


def _once(outline: Outline, taken: Iterable[int]) -> Iterator[int]:
    """Yield blocks, but for those that another box has held before: some pages have a second copy of their text."""
    up, blocks = outline.boxes.up, outline.blocks
    known: dict[str, int] = {}
    for at in taken:
        over = up[blocks.box[at]]
        if blocks.words[at] < _COPIED or known.setdefault(blocks.text[at], over) == over:
            yield at


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
