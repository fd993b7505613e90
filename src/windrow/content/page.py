"""Read a page from its bytes, and choose its main content."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import accumulate
from typing import NamedTuple

from windrow.content.charset import decode
from windrow.content.features import Features
from windrow.content.forest import forests, judge
from windrow.content.head import PageHead, head
from windrow.content.hints import PageHint, hint
from windrow.content.outline import Outline, PageLocation
from windrow.content.tail import without_captions, without_tail
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
    """Read a page's bytes in time linear in their number; StepError if it has too many elements or tags.

    >>> page = read(b"<title>A</title><p>One <b>two</b><p>Three")
    >>> page.head.title, page.outline.blocks.text
    ('A', ['One two', 'Three'])
    """
    text = decode(raw, content_type)
    # valid UTF-8 need not be encoded again
    is_same = text.encoding == "utf-8" and text.source != "bom" and "\ufffd" not in text.text
    tree = parse(raw if is_same else text.text)
    page_head = head(tree)
    silence(tree)
    return Page(
        url, text.encoding, page_head, walk(body(tree)), hint(url, page_head.property("og:type"), page_head.json_ld)
    )


_MAIN, _ARTICLE = int(PageLocation.MAIN | PageLocation.CENTRE), int(PageLocation.ARTICLE | PageLocation.POST)
_SENTENCE = 12  # the least words of a block of prose
_COPIED = 8  # the least words of a block that is not repeated by chance
_SURE = 0.5
_ENOUGH = 100  # the least words of certain prose to find the box of the text
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
"""The weight of a missed word compared to a surplus one; below 1, since the forests were trained to be generous."""


class BlockFate(StrEnum):
    """Why a block was taken as main content or left out, as text for people."""

    KEPT = "main content"
    MARKED = "marked by the page as its main content, which is short"
    ASIDE = "navigation, footer, form, or hidden"
    UNLIKELY = "unlikely to be main content"
    BEHIND = "after the box with the text"
    REPEATED = "repeated from another box"
    TAIL = "a section after the text: authors, related articles, comments"
    CAPTION = "the caption of a picture"

    @property
    def taken(self) -> bool:
        """Whether the block is main content."""
        return self is BlockFate.KEPT or self is BlockFate.MARKED


class Choice(NamedTuple):
    """The fate of each block of a page, and the likelihoods of the judged ones, from 0 to 1, by block number."""

    fates: list[BlockFate]
    likely: Mapping[int, float]

    def taken(self) -> list[bool]:
        """Return for each block whether it is main content."""
        kept, marked = BlockFate.KEPT, BlockFate.MARKED
        return [fate is kept or fate is marked for fate in self.fates]


def main_content(outline: Outline, hint: PageHint | None = None) -> list[bool]:
    """Return for each block whether it is main content."""
    return choose(outline, hint).taken()


def choose(outline: Outline, hint: PageHint | None = None, *, captions: bool = False) -> Choice:
    """Choose the main content of a page; return the fate of each block.

    Navigation, footers and lists of choices are left out. A forest judges each of the other blocks, and a second one
    also uses the first one's likelihoods of neighbours and surrounding boxes. Then the likeliest blocks are taken, as
    many as maximise the expected F measure; so a page on which little is certain gives more text
    instead of none. The captions of an article's pictures are left out unless `captions` are wanted.
    """
    aside = [BlockFate.ASIDE] * len(outline.blocks.text)
    if not aside:
        return Choice([], {})
    hint = hint or PageHint()
    page_view = view(outline, hint)
    if not page_view.kept:
        return Choice(aside, {})
    first, second = forests()
    features = Features(page_view)
    features.add_likelihoods(judge(first, features))
    return select(outline, hint, page_view.kept, judge(second, features), captions=captions)


def select(
    outline: Outline, hint: PageHint, kept: Sequence[int], likely: Sequence[float], *, captions: bool = False
) -> Choice:
    """Return the fate of each block; `likely` has the forests' likelihoods of the blocks in `kept`."""
    least = threshold(likely, [outline.blocks.words[block] for block in kept])
    chances = dict(zip(kept, likely, strict=True))
    taken = {block: chance for block, chance in chances.items() if chance >= least}
    before_end = _before_end(outline, taken)
    fates = [BlockFate.ASIDE] * len(outline.blocks.text)
    for fate, blocks in (
        (BlockFate.UNLIKELY, kept),
        (BlockFate.BEHIND, taken),
        (BlockFate.REPEATED, before_end),
        (BlockFate.KEPT, _without_copies(outline, before_end)),
        (BlockFate.MARKED, _short_main_blocks(outline)),
    ):
        for block in blocks:
            fates[block] = fate
    choice = Choice(fates, chances)
    leave_out(choice, without_tail(outline, hint, choice.taken()), BlockFate.TAIL)
    if not captions:
        leave_out(choice, without_captions(outline, hint, choice.taken()), BlockFate.CAPTION)
    return choice


def leave_out(choice: Choice, chosen: Sequence[bool], fate: BlockFate) -> None:
    """Set `fate` for blocks that were taken and are not in `chosen`, and KEPT for those that are only in `chosen`."""
    for block, (was_taken, is_taken) in enumerate(zip(choice.taken(), chosen, strict=True)):
        if was_taken != is_taken:
            choice.fates[block] = BlockFate.KEPT if is_taken else fate


def _before_end(outline: Outline, taken: Mapping[int, float]) -> list[int]:
    """Return the taken blocks without those after the box of the certain prose, mostly teasers of other pages.

    On a page that is mostly prose, this is the innermost box with 60 % of it; on any other page, with 90 %, since
    lists and products have a box for each of their texts.
    """
    boxes, blocks = outline.boxes, outline.blocks
    certain_words = [0] * len(blocks.words)
    prose = 0
    for block, chance in taken.items():
        size = blocks.words[block]
        if size >= _SENTENCE and blocks.linked[block] * 3 < size:
            prose += size
            certain_words[block] = size if chance >= _SURE else 0
    running = list(accumulate(certain_words, initial=0))
    if running[-1] < _ENOUGH:
        return list(taken)
    mostly = prose >= _MOSTLY * sum(blocks.words[block] for block in taken)
    least = running[-1] * (_HALF if mostly else _NEARLY_ALL)
    holds = [
        block for block in range(len(boxes.tag)) if running[boxes.last[block]] - running[boxes.first[block]] >= least
    ]
    end = boxes.last[max(holds, key=lambda block: (boxes.depth[block], block))]
    return [block for block in taken if block < end]


def _without_copies(outline: Outline, taken: Iterable[int]) -> Iterator[int]:
    """Yield the blocks that do not repeat one of another box: some pages have a second copy of their text."""
    parents, blocks = outline.boxes.up, outline.blocks
    known: dict[str, int] = {}
    for block in taken:
        parent = parents[blocks.box[block]]
        if blocks.words[block] < _COPIED or known.setdefault(blocks.text[block], parent) == parent:
            yield block


def _short_main_blocks(outline: Outline) -> list[int]:
    """Return all blocks of a page's only `main` or article if it has few words, in which a forest finds too little.

    The page's own marking is trusted, also for headlines, code and quotations.
    """
    boxes, blocks = outline.boxes, outline.blocks
    for mark in (_MAIN, _ARTICLE):
        tops = [
            number
            for number, each in enumerate(boxes.marks)
            if each & mark and not boxes.marks[boxes.up[number]] & mark
        ]
        if tops:
            break
    else:
        return []
    first, last = boxes.first[tops[0]], boxes.last[tops[0]]
    if len(tops) > 1 or sum(blocks.words[first:last]) > _BRIEF:
        return []
    return [number for number in range(first, last) if not boxes.marks[blocks.box[number]] & _BESIDE]


def threshold(likely: Sequence[float], words: Sequence[int]) -> float:
    """Return the least likelihood to take that maximises the expected F measure of the words.

    >>> threshold([0.9, 0.8, 0.1], [100, 50, 100])
    0.8
    """
    expected_words = _CAUTION * sum(map(float.__mul__, likely, map(float, words)))
    expected_hits = taken = best = 0.0
    least = 1.0
    for chance, size in sorted(zip(likely, words, strict=True), reverse=True):
        expected_hits += chance * size
        taken += size
        f_measure = expected_hits / (taken + expected_words)
        if f_measure > best:
            best, least = f_measure, chance
    return least
