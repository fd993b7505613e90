"""Compute the features of a page and its blocks for the forests, as grades of one byte, mostly with `measures.grade`.

A feature of blocks is `bytes` with a grade for each judged block (`PageMeasures.judged`). In parameters, `steps` is the
number of boxes from a block's own box up, `offset` is the number of blocks to a neighbour, and `share` is one of
`WORD_SHARES` or `PROSE_SHARES`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import accumulate, repeat
from operator import eq, itemgetter, sub, truediv

from windrow.content.likelihoods import LIKELIHOOD_FEATURES, Likelihoods
from windrow.content.measures import (
    COUNT_SCALE,
    DISTANCE_SCALE,
    LETTER_SCALE,
    LEVELS_ABOVE,
    OUTSIDE_GRADE,
    PROSE_SHARES,
    SHARE_SCALE,
    WORD_SHARES,
    PageMeasures,
    Scale,
    grade,
    grade_counts,
)
from windrow.content.outline import PageLocation
from windrow.content.traits import ADDRESS_PATTERNS, GROUP_BITS, TYPE_PATTERNS

Feature = Callable[[PageMeasures], bytes]

_MIN_PROSE_WORDS = 15  # the fewest words of the first and the last block of prose
_NEIGHBOUR_OFFSETS = (-2, -1, 1, 2)
_END_CHARACTERS = frozenset('.!?…:”"。')
_MONEY = re.compile(r"[$€£¥]\s?\d|\d\s?[$€£¥]")


def _shift_column(column: Sequence[int], offset: int, outside: int = OUTSIDE_GRADE) -> Sequence[int]:
    """Return a column in which each block has the value of the block `offset` blocks after it (if negative, before it).

    If there is no such block, the value is `outside`.
    """
    edge = [outside] * min(abs(offset), len(column))
    return [*column[offset:], *edge] if offset > 0 else [*edge, *column[: len(column) + offset]]


def _grade_of_neighbour(page: PageMeasures, feature: Feature, offset: int) -> bytes:
    return bytes(page.pick(_shift_column(feature(page), offset)))


def _word_grades(page: PageMeasures) -> bytes:
    return grade_counts(page.outline.blocks.words)


def _link_density(page: PageMeasures) -> bytes:
    blocks = page.outline.blocks
    return grade(map(truediv, blocks.linked, blocks.words), SHARE_SCALE)


def _tag_numbers(page: PageMeasures) -> bytes:
    tag = page.outline.boxes.tag
    return bytes(map(TAG_NUMBERS.get, map(tag.__getitem__, page.outline.blocks.box), repeat(0)))


def _has_path_of_neighbour(page: PageMeasures, offset: int) -> bytes:
    paths = list(map(page.outline.boxes.path.__getitem__, page.outline.blocks.box))
    return bytes(page.pick(list(map(eq, paths, _shift_column(paths, offset, outside=-1)))))


def _words_so_far(page: PageMeasures) -> bytes:
    """Return for each block the share of the page's words that are in it or before it, as a grade."""
    words_up_to_end = page.pick(list(accumulate(page.outline.blocks.words)))
    return grade(map(truediv, words_up_to_end, repeat(page.sums.words[0])), SHARE_SCALE)


def _distance_from_start(page: PageMeasures, start_kind: str) -> bytes:
    """Return for each block its distance in blocks from a start block (negative before it), as a grade.

    The start block is the first block in an h1 (`start_kind` "h1"), or the first or the last block of prose ("first",
    "last"). All grades are 0 if the page has no such block.
    """
    blocks, tags = page.outline.blocks, page.outline.boxes.tag
    if start_kind == "h1":
        start_blocks = (block for block, box in enumerate(blocks.box) if tags[box] == "h1")
    else:
        candidates = range(len(blocks.words)) if start_kind == "first" else range(len(blocks.words) - 1, -1, -1)
        start_blocks = (
            block
            for block in candidates
            if blocks.words[block] >= _MIN_PROSE_WORDS and blocks.linked[block] * 3 < blocks.words[block]
        )
    start = next(start_blocks, None)
    if start is None:
        return bytes(len(page.judged))
    return grade([block - start for block in page.judged], DISTANCE_SCALE)


def _since_headline(page: PageMeasures, measure: int) -> bytes:
    """Return for each block an item of its `PageMeasures.since_headline` as a grade; `measure` is the item's index."""
    return grade_counts(list(map(itemgetter(measure), page.pick(page.since_headline))))


def _texts(page: PageMeasures) -> Sequence[str]:
    return page.pick(page.outline.blocks.text)


def _mean_word_length(page: PageMeasures) -> bytes:
    return grade(map(truediv, map(len, _texts(page)), page.pick(page.outline.blocks.words)), LETTER_SCALE)


def _copy_count(page: PageMeasures) -> bytes:
    count_by_text = Counter(page.outline.blocks.text)
    return grade_counts(list(map(count_by_text.__getitem__, _texts(page))))


def _count_text(page: PageMeasures, searched: str) -> bytes:
    return grade_counts([text.count(searched) for text in _texts(page)])


def _position_in_page(page: PageMeasures) -> bytes:
    count = len(page.outline.blocks.text)
    return grade([block / count for block in page.judged], SHARE_SCALE)


BLOCK_FEATURES: dict[str, Feature] = {
    "words": lambda page: grade_counts(page.pick(page.outline.blocks.words)),
    "density": lambda page: bytes(page.pick(_link_density(page))),
    "links": lambda page: grade_counts(page.pick(page.outline.blocks.links)),
    "number": lambda page: grade_counts(page.judged),
    "place": _position_in_page,
    "before": _words_so_far,
    "copies": _copy_count,
    "ending": lambda page: bytes([text[-1] in _END_CHARACTERS for text in _texts(page)]),
    "commas": partial(_count_text, searched=","),
    "stops": partial(_count_text, searched=". "),
    "letters": _mean_word_length,
    "capital": lambda page: bytes([text[0].isupper() for text in _texts(page)]),
    "digit": lambda page: bytes([text[0].isdigit() for text in _texts(page)]),
    "money": lambda page: bytes([_MONEY.search(text) is not None for text in _texts(page)]),
    **{f"from {kind}": partial(_distance_from_start, start_kind=kind) for kind in ("h1", "first", "last")},
    **{
        f"under {measure}": partial(_since_headline, measure=index)
        for index, measure in enumerate(("level", "blocks", "words"))
    },
    **{f"words {n:+}": partial(_grade_of_neighbour, feature=_word_grades, offset=n) for n in _NEIGHBOUR_OFFSETS},
    **{f"density {n:+}": partial(_grade_of_neighbour, feature=_link_density, offset=n) for n in _NEIGHBOUR_OFFSETS},
    **{f"tag {n:+}": partial(_grade_of_neighbour, feature=_tag_numbers, offset=n) for n in _NEIGHBOUR_OFFSETS},
    **{f"same {n:+}": partial(_has_path_of_neighbour, offset=n) for n in _NEIGHBOUR_OFFSETS},
}


TAGS = (
    "p", "li", "td", "th", "dt", "dd", "pre", "blockquote", "figcaption", "button", "option", "label", "summary",
    "h1", "h2", "h3", "h4", "h5", "h6", "div", "section", "article", "form", "address", "caption", "legend",
    "textarea", "noscript", "select", "main",
)  # fmt: skip
TAG_NUMBERS = {tag: number for number, tag in enumerate(TAGS, 1)}  # 0 stands for all others


def _box_words(page: PageMeasures, steps: int) -> bytes:
    return grade_counts(page.pick_above[steps](page.sums.words))


def _box_density(page: PageMeasures, steps: int) -> bytes:
    return bytes(page.pick_above[steps](page.sums.link_density))


def _share_of_page(page: PageMeasures, steps: int) -> bytes:
    return bytes(page.pick_above[steps](page.sums.word_share))


def _box_blocks(page: PageMeasures, steps: int) -> bytes:
    return grade_counts(page.pick_above[steps](page.sums.blocks))


def _prose_share(page: PageMeasures, steps: int) -> bytes:
    return bytes(page.pick_above[steps](page.sums.prose_share))


def _depth_below(page: PageMeasures, boxes: Iterable[int]) -> bytes:
    """Return how many levels the box of each block is below the box that `boxes` has for the block."""
    depth = page.outline.boxes.depth
    return bytes(map(sub, page.pick_above[0](depth), map(depth.__getitem__, boxes)))


def _word_box_density(page: PageMeasures, share: float) -> bytes:
    return bytes(map(page.sums.link_density.__getitem__, page.word_boxes[share]))


def _word_box_depth(page: PageMeasures, share: float) -> bytes:
    return _depth_below(page, page.word_boxes[share])


def _prose_box_depth(page: PageMeasures, share: float) -> bytes:
    return _depth_below(page, page.prose_boxes[share])


def _prose_box_share(page: PageMeasures, share: float) -> bytes:
    return bytes(map(page.sums.word_share.__getitem__, page.prose_boxes[share]))


def _measure_path(page: PageMeasures, measure: str) -> bytes:
    """Return for each block a measure, as a grade, of all blocks whose boxes have the same path as the block's box.

    `measure` is `times` (the number of blocks), `words`, `density` (the share of linked words) or `mean` (words per
    block).
    """
    times, words, linked = page.path_sums
    paths = page.pick_above[0](page.outline.boxes.path)
    if measure in {"times", "words"}:
        return grade_counts([(times if measure == "times" else words)[path] for path in paths])
    numerators, denominators, scale = (
        (linked, words, SHARE_SCALE) if measure == "density" else (words, times, COUNT_SCALE)
    )
    return grade([numerators[path] / denominators[path] for path in paths], scale)


def _measure_repetition(page: PageMeasures, measure: str) -> bytes:
    """Return for each block a measure of the `BoxSurroundings.repeated_box` of its own box.

    `measure` is `depth` (the number of steps from the block's box up to the repeated box), `words` (the words in the
    repeated box, as a grade), or `share` (the share of the page's words in that box's parent, as a grade). If there is
    no repeated box, `depth` is the number of steps up to the body, and `words` and `share` are 0.
    """
    words, parents = page.sums.words, page.outline.boxes.parent
    boxes = page.pick_above[0](page.surroundings.repeated_box)
    if measure == "depth":
        return _depth_below(page, boxes)
    if measure == "words":
        return grade_counts([words[box] if box else 0 for box in boxes])
    return bytes([page.sums.word_share[parents[box]] if box else 0 for box in boxes])


def _least_density(page: PageMeasures) -> bytes:
    """Return for each block the smallest share of linked words among its box and the boxes around it, as a grade."""
    least_by_box = list(page.sums.link_density)
    for box, parent in enumerate(page.outline.boxes.parent[1:], 1):
        least_by_box[box] = min(least_by_box[box], least_by_box[parent])
    return bytes(page.pick_above[0](least_by_box))


def _headline_level(page: PageMeasures) -> bytes:
    """Return for each block the level of the headline that is its box or its box's parent, or 0 if there is none."""
    levels, parent_levels = page.pick_above[0](page.headline_levels), page.pick_above[1](page.headline_levels)
    return bytes([level or parent_level for level, parent_level in zip(levels, parent_levels, strict=True)])


BOX_FEATURES: dict[str, Feature] = {
    "depth": lambda page: bytes(page.pick_above[0](page.outline.boxes.depth)),
    "tag": lambda page: bytes(map(TAG_NUMBERS.get, page.pick_above[0](page.outline.boxes.tag), repeat(0))),
    "headline": _headline_level,
    "densest": lambda page: bytes(page.pick_above[0](page.surroundings.densest)),
    "lightest": _least_density,
    **{f"words {n}": partial(_box_words, steps=n) for n in range(LEVELS_ABOVE)},
    **{f"density {n}": partial(_box_density, steps=n) for n in range(LEVELS_ABOVE)},
    **{f"share {n}": partial(_share_of_page, steps=n) for n in range(LEVELS_ABOVE)},
    **{f"blocks {n}": partial(_box_blocks, steps=n) for n in range(LEVELS_ABOVE)},
    **{f"prose {n}": partial(_prose_share, steps=n) for n in range(LEVELS_ABOVE)},
    **{f"large density {share}": partial(_word_box_density, share=share) for share in WORD_SHARES},
    **{f"large depth {share}": partial(_word_box_depth, share=share) for share in WORD_SHARES},
    **{f"telling depth {share}": partial(_prose_box_depth, share=share) for share in PROSE_SHARES},
    **{f"telling share {share}": partial(_prose_box_share, share=share) for share in PROSE_SHARES},
    **{
        f"alike {measure}": partial(_measure_path, measure=measure) for measure in ("times", "words", "density", "mean")
    },
    "repeat times": lambda page: grade_counts(page.pick_above[0](page.surroundings.repetitions)),
    **{f"repeat {measure}": partial(_measure_repetition, measure=measure) for measure in ("depth", "words", "share")},
}


PageFeature = Callable[[PageMeasures], int]


def _grade_page(measure: Callable[[PageMeasures], float], scale: Scale) -> PageFeature:
    return lambda page: grade([measure(page)], scale)[0]


def _count_tag(tag: str) -> PageFeature:
    return lambda page: grade([page.outline.boxes.tag.count(tag)], COUNT_SCALE)[0]


def _has_type(page: PageMeasures, bit: int) -> int:
    return page.traits.types >> bit & 1


def _has_address(page: PageMeasures, bit: int) -> int:
    return page.traits.address >> bit & 1


def _box_tags(page: PageMeasures) -> list[str]:
    return page.outline.boxes.tag


PAGE_FEATURES: dict[str, PageFeature] = {
    "page words": _grade_page(lambda page: page.sums.words[0], COUNT_SCALE),
    "page blocks": _grade_page(lambda page: page.sums.blocks[0], COUNT_SCALE),
    "page density": lambda page: page.sums.link_density[0],
    "page prose": _grade_page(lambda page: page.sums.prose[0], COUNT_SCALE),
    "page telling": _grade_page(lambda page: page.sums.prose[0] / page.sums.words[0], SHARE_SCALE),
    **{f"page {tag}": _count_tag(tag) for tag in ("article", "h1", "h2", "h3", "li", "main", "td", "section")},
    "page p": _grade_page(lambda page: _box_tags(page).count("p") / len(_box_tags(page)), SHARE_SCALE),
    "page times": _grade_page(lambda page: max(page.surroundings.repetitions), COUNT_SCALE),
    "page alike": _grade_page(lambda page: max(page.path_sums[1]) / page.sums.words[0], SHARE_SCALE),
    "page kept": _grade_page(lambda page: len(page.judged) / len(page.outline.blocks.text), SHARE_SCALE),
    "page kind": lambda page: page.traits.kind,
    "page steps": _grade_page(lambda page: page.traits.steps, COUNT_SCALE),
    "page digits": _grade_page(lambda page: page.traits.digits, COUNT_SCALE),
    **{f"type {bit}": partial(_has_type, bit=bit) for bit in range(len(TYPE_PATTERNS))},
    **{f"address {bit}": partial(_has_address, bit=bit) for bit in range(len(ADDRESS_PATTERNS))},
}


BIT_FEATURES: dict[str, tuple[str, int]] = {  # by name: the key in `Features._bits`, and the bit
    **{f"in {str(location.name).lower()}": ("locations", int(location)) for location in PageLocation},
    **{f"near {group}": ("near", bit) for group, bit in GROUP_BITS.items()},
    **{f"far {group}": ("far", bit) for group, bit in GROUP_BITS.items()},
}
_BLOCK_AND_BOX_FEATURES = BLOCK_FEATURES | BOX_FEATURES

FIRST_FEATURE_NAMES = (*PAGE_FEATURES, *BOX_FEATURES, *BLOCK_FEATURES, *BIT_FEATURES)
"""The names of the features that the first forest may use."""
SECOND_FEATURE_NAMES = tuple(LIKELIHOOD_FEATURES)
"""The names of the further features for the second forest, computed from the likelihoods of the first forest."""


class Features:
    """The features of one page as grades, each computed when it is first used; a `forest.FeatureSource`."""

    __slots__ = ("_bits", "_block_grades", "_likelihoods", "_page", "_page_grades", "count")

    def __init__(self, page: PageMeasures) -> None:
        self._page = page
        self._likelihoods: Likelihoods | None = None
        self._block_grades: dict[str, bytes] = {}
        self._page_grades: dict[str, int] = {}
        self.count = len(page.judged)
        pick, surroundings = page.pick_above[0], page.surroundings
        self._bits: dict[str, Sequence[int]] = {
            "locations": pick(page.outline.boxes.locations),
            "near": pick(surroundings.near_groups),
            "far": pick(surroundings.far_groups),
        }

    def add_likelihoods(self, likelihoods: Sequence[float]) -> None:
        """Add the features from the first forest's likelihoods; `likelihoods` has one for each judged block."""
        self._likelihoods = Likelihoods(self._page, likelihoods)

    def of_page(self, name: str) -> int | None:
        """Return the grade of a feature of the page, or None if it is a feature of blocks."""
        if name not in PAGE_FEATURES:
            return None
        page_grade = self._page_grades.get(name)
        if page_grade is None:
            page_grade = self._page_grades[name] = PAGE_FEATURES[name](self._page)
        return page_grade

    def of_block(self, name: str) -> bytes:
        """Return the grade of each judged block for a feature, which must not be a feature of the page."""
        grades = self._block_grades.get(name)
        if grades is None:
            grades = self._of_bit(*BIT_FEATURES[name]) if name in BIT_FEATURES else self._measure(name)
            self._block_grades[name] = grades
        return grades

    def _of_bit(self, name: str, bit: int) -> bytes:
        return bytes([bits & bit != 0 for bits in self._bits[name]])

    def _measure(self, name: str) -> bytes:
        measure = LIKELIHOOD_FEATURES.get(name)
        if measure is None or self._likelihoods is None:
            return _BLOCK_AND_BOX_FEATURES[name](self._page)
        return measure(self._likelihoods)

    def column(self, name: str) -> bytes:
        """Return any feature as a grade for each judged block, for `tools/teach.py`."""
        page_grade = self.of_page(name)
        return self.of_block(name) if page_grade is None else bytes([page_grade]) * self.count
