"""Read a page from its bytes, and choose its main content."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import accumulate
from typing import NamedTuple

from windrow.caps import Excess
from windrow.content.features import Features
from windrow.content.forest import estimate_probabilities, load_forests
from windrow.content.head import PageHead, read_page_head
from windrow.content.markup import build_outline
from windrow.content.measures import measure_page
from windrow.content.outline import Outline, PageLocation
from windrow.content.tail import remove_captions, remove_tail
from windrow.content.traits import PageTraits, read_page_traits
from windrow.content.tree import (
    HIDDEN,
    MIN_PROSE_WORDS,
    parse_counting,
    remove_silent_elements,
    remove_texts,
    serialise_body,
)
from windrow.content.xhtml import decode_page


class Page(NamedTuple):
    """A page as read: its address and encoding, its metadata, its outline and its traits."""

    url: str
    encoding: str
    head: PageHead
    outline: Outline
    traits: PageTraits
    left_out: tuple[Excess, ...] = ()
    """For each cap that the page exceeds, how much is left out."""
    fault: str = ""
    """Why a page that should be XML was read as HTML, or empty."""


def read_page(raw: bytes, url: str = "", content_type: str = "", ignored: Sequence[str] = ()) -> Page:
    """Read a page's bytes in linear time; raise StepError if it has too many tags or its tree does not fit into memory.

    The outline leaves out the text of elements in the body that match one of the CSS selectors in `ignored`.

    >>> page = read_page(b"<title>A</title><p>One <b>two</b><p>Three")
    >>> page.head.title, page.outline.blocks.text
    ('A', ['One two', 'Three'])
    """
    text = decode_page(raw, content_type)
    tree, left_out = parse_counting(raw if text.is_as_sent else text.html)  # valid UTF-8 is not encoded again
    page_head = read_page_head(tree)
    if ignored:
        remove_texts(tree, ignored)
    remove_silent_elements(tree)
    outline = build_outline(serialise_body(tree))
    traits = read_page_traits(url, page_head.property("og:type"), page_head.json_ld)
    return Page(url, text.encoding, page_head, outline, traits, left_out + page_head.left_out, text.fault)


_MAIN, _ARTICLE = int(PageLocation.MAIN | PageLocation.CENTRE), int(PageLocation.ARTICLE | PageLocation.POST)
_MIN_COPIED_WORDS = 8  # the fewest words of a block that is a copy; shorter ones are repeated by chance
_MIN_CERTAIN_LIKELIHOOD = 0.5  # of a block of prose that is certainly main content
_MIN_CERTAIN_WORDS = 100  # the fewest words of certain prose from which the box of the text is found
_MOSTLY_PROSE_SHARE, _TEXT_BOX_SHARE, _LIST_BOX_SHARE = 0.85, 0.6, 0.9
_MAX_BRIEF_WORDS = 100  # of a short `main` or article, which is taken as a whole
_NOT_CONTENT = HIDDEN | int(
    PageLocation.NAV
    | PageLocation.NAVIGATION
    | PageLocation.ASIDE
    | PageLocation.FOOTER
    | PageLocation.FORM
    | PageLocation.CHOICE
    | PageLocation.BUTTON
)
_MISSED_WORD_WEIGHT = 0.7
"""The weight of a missed word relative to a surplus word. It is below 1 because the forests overestimate
likelihoods."""


class BlockFate(StrEnum):
    """Why a block was chosen as main content or left out; the values are shown to people."""

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
    """The fate of each block of a page, and a dict from the numbers of judged blocks to their likelihoods (0 to 1)."""

    fates: list[BlockFate]
    likelihoods: Mapping[int, float]

    def taken(self) -> list[bool]:
        """Return for each block whether it is main content."""
        kept_fate, marked_fate = BlockFate.KEPT, BlockFate.MARKED
        return [fate is kept_fate or fate is marked_fate for fate in self.fates]


def main_content(outline: Outline, traits: PageTraits | None = None) -> list[bool]:
    """Return for each block whether it is main content. `traits` is None if they are not known."""
    return choose_main_content(outline, traits).taken()


def choose_main_content(outline: Outline, traits: PageTraits | None = None, *, captions: bool = False) -> Choice:
    """Choose the main content of a page; return the fate of each block.

    Only the blocks in `PageMeasures.judged` are considered, usually without navigation, footers, choices and hidden
    text. A forest judges each of them, and a second forest also uses the likelihoods from the first forest for
    neighbours and surrounding boxes. Then the likeliest blocks are taken, as many as maximise the expected F measure,
    so that some are taken even if little is certain. Of these, blocks after the text, copies and an article's tail are
    left out, and so are the captions of an article's pictures unless `captions` is true. A short text that the page
    marks as its main content is taken as a whole.
    """
    fates = [BlockFate.ASIDE] * len(outline.blocks.text)
    if not fates:
        return Choice([], {})
    traits = traits or PageTraits()
    measures = measure_page(outline, traits)
    if not measures.judged:
        return Choice(fates, {})
    first, second = load_forests()
    features = Features(measures)
    features.add_likelihoods(estimate_probabilities(first, features))
    return choose_blocks(outline, traits, measures.judged, estimate_probabilities(second, features), captions=captions)


def choose_blocks(
    outline: Outline, traits: PageTraits, judged: Sequence[int], likelihoods: Sequence[float], *, captions: bool = False
) -> Choice:
    """Return the fate of each block; `likelihoods` has the second forest's likelihood of each block in `judged`."""
    min_likelihood = find_threshold(likelihoods, [outline.blocks.words[block] for block in judged])
    likelihood_by_block = dict(zip(judged, likelihoods, strict=True))
    taken = {block: likelihood for block, likelihood in likelihood_by_block.items() if likelihood >= min_likelihood}
    before_end = _drop_after_text(outline, taken)
    fates = [BlockFate.ASIDE] * len(outline.blocks.text)
    for fate, blocks in (
        (BlockFate.UNLIKELY, judged),
        (BlockFate.BEHIND, taken),
        (BlockFate.REPEATED, before_end),
        (BlockFate.KEPT, _drop_copies(outline, before_end)),
        (BlockFate.MARKED, _short_main_blocks(outline)),
    ):
        for block in blocks:
            fates[block] = fate
    choice = Choice(fates, likelihood_by_block)
    leave_out(choice, remove_tail(outline, traits, choice.taken()), BlockFate.TAIL)
    if not captions:
        leave_out(choice, remove_captions(outline, traits, choice.taken()), BlockFate.CAPTION)
    return choice


def leave_out(choice: Choice, chosen: Sequence[bool], new_fate: BlockFate) -> None:
    """Set `new_fate` for taken blocks that are not `chosen`, and KEPT for chosen blocks that were not taken."""
    for block, (was_taken, is_taken) in enumerate(zip(choice.taken(), chosen, strict=True)):
        if was_taken != is_taken:
            choice.fates[block] = BlockFate.KEPT if is_taken else new_fate


def _drop_after_text(outline: Outline, taken: Mapping[int, float]) -> list[int]:
    """Return the taken blocks, without blocks after the box of the text: they are mostly teasers of other pages.

    The box of the text is the innermost box with 60 % of the certain prose, or with 90 % on a page that is not mostly
    prose, because lists and products have a box for each of their texts. Without much certain prose, all blocks remain.
    """
    boxes, blocks = outline.boxes, outline.blocks
    certain_words = [0] * len(blocks.words)
    prose_words = 0
    for block, likelihood in taken.items():
        word_count = blocks.words[block]
        if word_count >= MIN_PROSE_WORDS and blocks.linked[block] * 3 < word_count:
            prose_words += word_count
            certain_words[block] = word_count if likelihood >= _MIN_CERTAIN_LIKELIHOOD else 0
    words_before = list(accumulate(certain_words, initial=0))
    if words_before[-1] < _MIN_CERTAIN_WORDS:
        return list(taken)
    is_mostly_prose = prose_words >= _MOSTLY_PROSE_SHARE * sum(blocks.words[block] for block in taken)
    min_words = words_before[-1] * (_TEXT_BOX_SHARE if is_mostly_prose else _LIST_BOX_SHARE)
    large_boxes = [
        box
        for box in range(len(boxes.tag))
        if words_before[boxes.stop[box]] - words_before[boxes.first[box]] >= min_words
    ]
    end_block = boxes.stop[max(large_boxes, key=lambda box: (boxes.depth[box], box))]
    return [block for block in taken if block < end_block]


def _drop_copies(outline: Outline, taken: Iterable[int]) -> Iterator[int]:
    """Yield the taken blocks without copies: blocks of 8 words or more that repeat one in a box of another parent."""
    parents, blocks = outline.boxes.parent, outline.blocks
    parent_by_text: dict[str, int] = {}
    for block in taken:
        parent = parents[blocks.box[block]]
        if blocks.words[block] < _MIN_COPIED_WORDS or parent_by_text.setdefault(blocks.text[block], parent) == parent:
            yield block


def _short_main_blocks(outline: Outline) -> list[int]:
    """Return the blocks of the only `main` or, on a page without `main`, of the only article, if its text is short.

    Forests take too few of such blocks. Blocks in navigation, asides, footers, forms, choices, buttons and hidden
    elements are left out.
    """
    boxes, blocks = outline.boxes, outline.blocks
    for location in (_MAIN, _ARTICLE):
        outermost_boxes = [
            box
            for box, box_location in enumerate(boxes.locations)
            if box_location & location and not boxes.locations[boxes.parent[box]] & location
        ]
        if outermost_boxes:
            break
    else:
        return []
    first, stop = boxes.first[outermost_boxes[0]], boxes.stop[outermost_boxes[0]]
    if len(outermost_boxes) > 1 or sum(blocks.words[first:stop]) > _MAX_BRIEF_WORDS:
        return []
    return [block for block in range(first, stop) if not boxes.locations[blocks.box[block]] & _NOT_CONTENT]


def find_threshold(likelihoods: Sequence[float], words: Sequence[int]) -> float:
    """Return the minimum likelihood of taken blocks that gives the greatest expected F measure of words.

    >>> find_threshold([0.9, 0.8, 0.1], [100, 50, 100])
    0.8
    """
    expected_words = _MISSED_WORD_WEIGHT * sum(map(float.__mul__, likelihoods, map(float, words)))
    expected_hits = taken_words = best_measure = 0.0
    threshold = 1.0
    for likelihood, word_count in sorted(zip(likelihoods, words, strict=True), reverse=True):
        expected_hits += likelihood * word_count
        taken_words += word_count
        f_measure = expected_hits / (taken_words + expected_words)
        if f_measure > best_measure:
            best_measure, threshold = f_measure, likelihood
    return threshold
