"""Compute the features of a page and its blocks for the forests, as grades of one byte (see `view.grade`).

A feature of blocks is `bytes` with a grade for each judged block (`View.judged`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import accumulate, repeat
from operator import eq, itemgetter, sub, truediv

from windrow.content.hints import ADDRESS_PATTERNS, GROUPS, TYPE_PATTERNS
from windrow.content.likelihoods import LIKELIHOOD_FEATURES, Likelihoods
from windrow.content.outline import PageLocation
from windrow.content.view import (
    COUNT_SCALE,
    DISTANCE_SCALE,
    LETTER_SCALE,
    LEVELS_ABOVE,
    OUTSIDE_GRADE,
    PROSE_SHARES,
    SHARE_SCALE,
    WORD_SHARES,
    Scale,
    View,
    grade,
    grade_counts,
)

Feature = Callable[[View], bytes]

_MIN_PROSE_WORDS = 15  # of the first and the last block of prose
_NEIGHBOUR_OFFSETS = (-2, -1, 1, 2)
_END_CHARACTERS = frozenset('.!?…:”"。')
_MONEY = re.compile(r"[$€£¥]\s?\d|\d\s?[$€£¥]")


def _shift_column(column: Sequence[int], offset: int) -> Sequence[int]:
    """Return for each block the number of the block `offset` blocks after it, or `OUTSIDE_GRADE` outside the page."""
    edge = [OUTSIDE_GRADE] * min(abs(offset), len(column))
    return [*column[offset:], *edge] if offset > 0 else [*edge, *column[: len(column) + offset]]


def _grade_of_neighbour(view: View, feature: Callable[[View], bytes], offset: int) -> bytes:
    return bytes(view.pick(_shift_column(feature(view), offset)))


def _word_grades(view: View) -> bytes:
    return grade_counts(view.outline.blocks.words)


def _link_density(view: View) -> bytes:
    blocks = view.outline.blocks
    return grade(map(truediv, blocks.linked, blocks.words), SHARE_SCALE)


def _tag_numbers(view: View) -> bytes:
    tag = view.outline.boxes.tag
    return bytes(map(TAG_NUMBERS.get, map(tag.__getitem__, view.outline.blocks.box), repeat(0)))


def _has_path_of_neighbour(view: View, offset: int) -> bytes:
    paths = list(map(view.outline.boxes.path.__getitem__, view.outline.blocks.box))
    return bytes(view.pick(list(map(eq, paths, _shift_column(paths, offset)))))


def _words_so_far(view: View) -> bytes:
    """Return the graded share of the page's words up to the end of each block."""
    words_up_to_end = view.pick(list(accumulate(view.outline.blocks.words)))
    return grade(map(truediv, words_up_to_end, repeat(view.sums.words[0])), SHARE_SCALE)


def _distance_from_start(view: View, start_kind: str) -> bytes:
    """Return the graded distance of each block from a start, in blocks; negative before it.

    The start is the first h1 (`start_kind` "h1"), or the first or the last block of prose ("first", "last").
    """
    blocks, tags = view.outline.blocks, view.outline.boxes.tag
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
        return bytes(len(view.judged))
    return grade([block - start for block in view.judged], DISTANCE_SCALE)


def _since_headline(view: View, measure: int) -> bytes:
    """Return the graded value at position `measure` of `View.since_headline` for each block."""
    return grade_counts(list(map(itemgetter(measure), view.pick(view.since_headline))))


def _texts(view: View) -> Sequence[str]:
    return view.pick(view.outline.blocks.text)


def _mean_word_length(view: View) -> bytes:
    """Return the graded mean length of each block's words."""
    return grade(map(truediv, map(len, _texts(view)), view.pick(view.outline.blocks.words)), LETTER_SCALE)


def _copy_count(view: View) -> bytes:
    times = Counter(view.outline.blocks.text)
    return grade_counts(list(map(times.__getitem__, _texts(view))))


def _count_text(view: View, searched: str) -> bytes:
    return grade_counts([text.count(searched) for text in _texts(view)])


def _position_in_page(view: View) -> bytes:
    count = len(view.outline.blocks.text)
    return grade([block / count for block in view.judged], SHARE_SCALE)


BLOCK_FEATURES: dict[str, Feature] = {
    "words": lambda view: grade_counts(view.pick(view.outline.blocks.words)),
    "density": lambda view: bytes(view.pick(_link_density(view))),
    "links": lambda view: grade_counts(view.pick(view.outline.blocks.links)),
    "number": lambda view: grade_counts(view.judged),
    "place": _position_in_page,
    "before": _words_so_far,
    "copies": _copy_count,
    "ending": lambda view: bytes([text[-1] in _END_CHARACTERS for text in _texts(view)]),
    "commas": partial(_count_text, searched=","),
    "stops": partial(_count_text, searched=". "),
    "letters": _mean_word_length,
    "capital": lambda view: bytes([text[0].isupper() for text in _texts(view)]),
    "digit": lambda view: bytes([text[0].isdigit() for text in _texts(view)]),
    "money": lambda view: bytes([_MONEY.search(text) is not None for text in _texts(view)]),
    **{f"from {kind}": partial(_distance_from_start, start_kind=kind) for kind in ("h1", "first", "last")},
    **{
        f"under {measure}": partial(_since_headline, measure=at)
        for at, measure in enumerate(("level", "blocks", "words"))
    },
    **{f"words {by:+}": partial(_grade_of_neighbour, feature=_word_grades, offset=by) for by in _NEIGHBOUR_OFFSETS},
    **{f"density {by:+}": partial(_grade_of_neighbour, feature=_link_density, offset=by) for by in _NEIGHBOUR_OFFSETS},
    **{f"tag {by:+}": partial(_grade_of_neighbour, feature=_tag_numbers, offset=by) for by in _NEIGHBOUR_OFFSETS},
    **{f"same {by:+}": partial(_has_path_of_neighbour, offset=by) for by in _NEIGHBOUR_OFFSETS},
}


BoxFeature = Callable[[View], bytes]

TAGS = (
    "p", "li", "td", "th", "dt", "dd", "pre", "blockquote", "figcaption", "button", "option", "label", "summary",
    "h1", "h2", "h3", "h4", "h5", "h6", "div", "section", "article", "form", "address", "caption", "legend",
    "textarea", "noscript", "select", "main",
)  # fmt: skip
TAG_NUMBERS = {tag: at + 1 for at, tag in enumerate(TAGS)}


def _box_words(view: View, steps: int) -> bytes:
    return grade_counts(view.pick_above[steps](view.sums.words))


def _box_density(view: View, steps: int) -> bytes:
    return bytes(view.pick_above[steps](view.sums.link_density))


def _share_of_page(view: View, steps: int) -> bytes:
    return bytes(view.pick_above[steps](view.sums.word_share))


def _box_blocks(view: View, steps: int) -> bytes:
    return grade_counts(view.pick_above[steps](view.sums.blocks))


def _prose_share(view: View, steps: int) -> bytes:
    return bytes(view.pick_above[steps](view.sums.prose_share))


def _depth_below(view: View, boxes: Iterable[int]) -> bytes:
    depth = view.outline.boxes.depth
    return bytes(map(sub, view.pick_above[0](depth), map(depth.__getitem__, boxes)))


def _large_density(view: View, share: float) -> bytes:
    return bytes(map(view.sums.link_density.__getitem__, view.word_boxes[share]))


def _large_depth(view: View, share: float) -> bytes:
    return _depth_below(view, view.word_boxes[share])


def _telling_depth(view: View, share: float) -> bytes:
    return _depth_below(view, view.prose_boxes[share])


def _telling_share(view: View, share: float) -> bytes:
    return bytes(map(view.sums.word_share.__getitem__, view.prose_boxes[share]))


def _measure_path(view: View, measure: str) -> bytes:
    """Return for each block a graded measure of all blocks whose boxes have the same path as its box.

    `measure` is `times` (their number), `words`, `density` (the share of linked words) or `mean` (words of a block).
    """
    times, words, linked = view.path_sums
    paths = view.pick_above[0](view.outline.boxes.path)
    if measure in {"times", "words"}:
        return grade_counts([(times if measure == "times" else words)[path] for path in paths])
    numerators, denominators, scale = (
        (linked, words, SHARE_SCALE) if measure == "density" else (words, times, COUNT_SCALE)
    )
    return grade([numerators[path] / denominators[path] for path in paths], scale)


def _measure_repetition(view: View, measure: str) -> bytes:
    """Return for each block a graded measure of its box in `BoxSurroundings.repeated_box`.

    `measure` is `depth` (the steps from the block's box up to it), `words`, or `share` (the share of the page's words
    that its parent contains).
    """
    words, parents = view.sums.words, view.outline.boxes.parent
    boxes = view.pick_above[0](view.surroundings.repeated_box)
    if measure == "depth":
        return _depth_below(view, boxes)
    if measure == "words":
        return grade_counts([words[box] if box else 0 for box in boxes])
    return bytes([view.sums.word_share[parents[box]] if box else 0 for box in boxes])


def _least_density(view: View) -> bytes:
    """Return for each block the graded share of linked words of that box around it whose share is the least."""
    least_by_box = list(view.sums.link_density)
    for box, parent in enumerate(view.outline.boxes.parent[1:], 1):
        least_by_box[box] = min(least_by_box[box], least_by_box[parent])
    return bytes(view.pick_above[0](least_by_box))


def _headline_level(view: View) -> bytes:
    """Return for each block the level of the headline that is its box or its box's parent; 0 if neither is one."""
    levels, parent_levels = view.pick_above[0](view.headline_levels), view.pick_above[1](view.headline_levels)
    return bytes([level or parent_level for level, parent_level in zip(levels, parent_levels, strict=True)])


BOX_FEATURES: dict[str, BoxFeature] = {
    "depth": lambda view: bytes(view.pick_above[0](view.outline.boxes.depth)),
    "tag": lambda view: bytes(map(TAG_NUMBERS.get, view.pick_above[0](view.outline.boxes.tag), repeat(0))),
    "headline": _headline_level,
    "densest": lambda view: bytes(view.pick_above[0](view.surroundings.densest)),
    "lightest": _least_density,
    **{f"words {n}": partial(_box_words, steps=n) for n in range(LEVELS_ABOVE)},
    **{f"density {n}": partial(_box_density, steps=n) for n in range(LEVELS_ABOVE)},
    **{f"share {n}": partial(_share_of_page, steps=n) for n in range(LEVELS_ABOVE)},
    **{f"blocks {n}": partial(_box_blocks, steps=n) for n in range(LEVELS_ABOVE)},
    **{f"prose {n}": partial(_prose_share, steps=n) for n in range(LEVELS_ABOVE)},
    **{f"large density {share}": partial(_large_density, share=share) for share in WORD_SHARES},
    **{f"large depth {share}": partial(_large_depth, share=share) for share in WORD_SHARES},
    **{f"telling depth {share}": partial(_telling_depth, share=share) for share in PROSE_SHARES},
    **{f"telling share {share}": partial(_telling_share, share=share) for share in PROSE_SHARES},
    **{
        f"alike {measure}": partial(_measure_path, measure=measure) for measure in ("times", "words", "density", "mean")
    },
    "repeat times": lambda view: grade_counts(view.pick_above[0](view.surroundings.repetitions)),
    **{f"repeat {measure}": partial(_measure_repetition, measure=measure) for measure in ("depth", "words", "share")},
}


PageFeature = Callable[[View], int]


def _grade_page(measure: Callable[[View], float], scale: Scale) -> PageFeature:
    return lambda view: grade([measure(view)], scale)[0]


def _count_tag(tag: str) -> PageFeature:
    return lambda view: grade([view.outline.boxes.tag.count(tag)], COUNT_SCALE)[0]


def _has_type(view: View, bit: int) -> int:
    return view.hint.types >> bit & 1


def _has_address(view: View, bit: int) -> int:
    return view.hint.address >> bit & 1


def _box_tags(view: View) -> list[str]:
    return view.outline.boxes.tag


PAGE_FEATURES: dict[str, PageFeature] = {
    "page words": _grade_page(lambda view: view.sums.words[0], COUNT_SCALE),
    "page blocks": _grade_page(lambda view: view.sums.blocks[0], COUNT_SCALE),
    "page density": lambda view: view.sums.link_density[0],
    "page prose": _grade_page(lambda view: view.sums.prose[0], COUNT_SCALE),
    "page telling": _grade_page(lambda view: view.sums.prose[0] / view.sums.words[0], SHARE_SCALE),
    **{f"page {tag}": _count_tag(tag) for tag in ("article", "h1", "h2", "h3", "li", "main", "td", "section")},
    "page p": _grade_page(lambda view: _box_tags(view).count("p") / len(_box_tags(view)), SHARE_SCALE),
    "page times": _grade_page(lambda view: max(view.surroundings.repetitions), COUNT_SCALE),
    "page alike": _grade_page(lambda view: max(view.path_sums[1]) / view.sums.words[0], SHARE_SCALE),
    "page kept": _grade_page(lambda view: len(view.judged) / len(view.outline.blocks.text), SHARE_SCALE),
    "page kind": lambda view: view.hint.kind,
    "page steps": _grade_page(lambda view: view.hint.steps, COUNT_SCALE),
    "page digits": _grade_page(lambda view: view.hint.digits, COUNT_SCALE),
    **{f"type {at}": partial(_has_type, bit=at) for at in range(len(TYPE_PATTERNS))},
    **{f"address {at}": partial(_has_address, bit=at) for at in range(len(ADDRESS_PATTERNS))},
}


BIT_FEATURES: dict[str, tuple[str, int]] = {
    **{f"in {str(mark.name).lower()}": ("marks", int(mark)) for mark in PageLocation},
    **{f"near {group}": ("near", 1 << at) for at, group in enumerate(GROUPS)},
    **{f"far {group}": ("far", 1 << at) for at, group in enumerate(GROUPS)},
}
_BLOCK_AND_BOX_FEATURES = BLOCK_FEATURES | BOX_FEATURES

FIRST_FEATURE_NAMES = (*PAGE_FEATURES, *BOX_FEATURES, *BLOCK_FEATURES, *BIT_FEATURES)
"""The features that the first forest may use."""
SECOND_FEATURE_NAMES = tuple(LIKELIHOOD_FEATURES)
"""The further features of the second forest, from the likelihoods of the first."""


class Features:
    """The features of one page as grades, each computed at its first use; a `forest.FeatureSource`."""

    __slots__ = ("_bits", "_block_grades", "_likelihoods", "_page_grades", "_view", "count")

    def __init__(self, view: View) -> None:
        """Prepare the features of a page with at least one block."""
        self._view = view
        self._likelihoods: Likelihoods | None = None
        self._block_grades: dict[str, bytes] = {}
        self._page_grades: dict[str, int] = {}
        self.count = len(view.judged)
        pick, surroundings = view.pick_above[0], view.surroundings
        self._bits: dict[str, Sequence[int]] = {
            "marks": pick(view.outline.boxes.locations),
            "near": pick(surroundings.near_groups),
            "far": pick(surroundings.far_groups),
        }

    def add_likelihoods(self, likely: Sequence[float]) -> None:
        """Add the features from the first forest's likelihoods, one likelihood for each block in `View.judged`."""
        self._likelihoods = Likelihoods(self._view, likely)

    def of_page(self, name: str) -> int | None:
        """Return the grade of a feature of the page, or None if the name is that of a feature of blocks."""
        if name not in PAGE_FEATURES:
            return None
        shared_grade = self._page_grades.get(name)
        if shared_grade is None:
            shared_grade = self._page_grades[name] = PAGE_FEATURES[name](self._view)
        return shared_grade

    def of_block(self, name: str) -> bytes:
        """Return a feature of blocks or of their boxes: a grade for each block."""
        grades = self._block_grades.get(name)
        if grades is None:
            grades = self._of_bit(*BIT_FEATURES[name]) if name in BIT_FEATURES else self._measure(name)
            self._block_grades[name] = grades
        return grades

    def _of_bit(self, name: str, bit: int) -> bytes:
        return bytes([marks & bit != 0 for marks in self._bits[name]])

    def _measure(self, name: str) -> bytes:
        measure = LIKELIHOOD_FEATURES.get(name)
        if measure is None or self._likelihoods is None:
            return _BLOCK_AND_BOX_FEATURES[name](self._view)
        return measure(self._likelihoods)

    def column(self, name: str) -> bytes:
        """Return any feature as a grade for each block, as `tools/teach.py` needs it."""
        page_grade = self.of_page(name)
        return self.of_block(name) if page_grade is None else bytes([page_grade]) * self.count
