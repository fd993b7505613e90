"""Compute the measures of a page on which the forests' features are based, such as sums of the text in each box.

Many measures are grades. Most grades are the number of bounds in a scale that are smaller than a value.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate, repeat
from operator import add, itemgetter, mul, sub, truediv
from typing import NamedTuple, Protocol, TypeVar

from windrow.content.outline import LEVELS, Outline, PageLocation
from windrow.content.traits import PageTraits
from windrow.content.tree import MIN_PROSE_WORDS, find_excluded_blocks

Scale = tuple[float, ...]

COUNT_SCALE: Scale = (
    0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 18, 22, 27, 33, 40, 50, 60, 75, 90, 110, 140, 180, 240, 320, 420, 560, 750,
    1_000, 1_400, 2_000, 3_000, 4_500, 7_000, 12_000,
)  # fmt: skip
"""Bounds for counts of words, blocks and links."""
SHARE_SCALE: Scale = (
    0, 0.003, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.13, 0.17, 0.21, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65,
    0.7, 0.75, 0.8, 0.85, 0.9, 0.93, 0.96, 0.98, 0.99, 0.998,
)  # fmt: skip
"""Bounds for shares of a whole."""
LETTER_SCALE: Scale = (2, 2.5, 3, 3.5, 4, 4.3, 4.6, 4.8, 5, 5.2, 5.4, 5.6, 5.8, 6, 6.3, 6.6, 7, 7.5, 8, 9, 10, 12, 15,
                       20)  # fmt: skip
"""Bounds for the mean number of characters in a word."""
DISTANCE_SCALE: Scale = (
    -1_000, -300, -200, -140, -100, -70, -50, -35, -25, -20, -15, -12, -10, -8, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4,
    5, 6, 8, 10, 12, 15, 20, 25, 35, 50, 70, 100, 140, 200, 300,
)  # fmt: skip
"""Bounds for distances in blocks."""
OUTSIDE_GRADE = 254
"""The grade for a neighbour outside the page. For features of `likelihoods`, it is 0 instead."""


def grade(values: Iterable[float], scale: Scale) -> bytes:
    """Return the grade of each value: the number of bounds in the scale that are smaller than the value.

    >>> list(grade([0, 1, 11, 1e9], COUNT_SCALE))
    [0, 1, 10, 36]
    """
    return bytes(map(bisect_left, repeat(scale), values))


def grade_shares(values: Sequence[float], whole: float) -> bytes:
    """Return the grade of each value's share of `whole`. Equal values are frequent among boxes, and are graded once."""
    grade_by_value = {value: bisect_left(SHARE_SCALE, value / whole) for value in set(values)}
    return bytes(map(grade_by_value.__getitem__, values))


_COUNT_GRADES = grade(range(int(COUNT_SCALE[-1]) + 1), COUNT_SCALE)


def grade_counts(values: Sequence[int]) -> bytes:
    """Return the grades of counts on the scale `COUNT_SCALE`; counts must not be negative.

    >>> grade_counts([0, 1, 11, 10**9]) == grade([0, 1, 11, 10**9], COUNT_SCALE)
    True
    """
    try:
        return bytes(map(_COUNT_GRADES.__getitem__, values))
    except IndexError:
        return grade(values, COUNT_SCALE)


T = TypeVar("T")

_MIN_SIBLINGS = 3  # the fewest boxes of one kind in a box that count as a repetition


class Picker(Protocol):
    """A function that returns the values of a column at fixed positions."""

    def __call__(self, values: Sequence[T], /) -> tuple[T, ...]:
        """Return the values at the positions."""


def make_picker(positions: Sequence[int]) -> Picker:
    """Return a function that picks the values at these positions."""
    if len(positions) > 1:
        return itemgetter(*positions)
    return lambda values: tuple(values[position] for position in positions)


class BoxSums(NamedTuple):
    """Sums over all text in each box and in the boxes within it; each column has one number for each box."""

    words: list[int]
    linked: list[int]
    """The number of words in links."""
    prose: list[int]
    """The number of words in blocks of prose: at least twelve words, less than a third of them linked."""
    blocks: list[int]
    link_density: bytes
    """The share of the words of the box that are linked, as a grade."""
    word_share: bytes
    """The share of the page's words that are in the box, as a grade."""
    prose_share: bytes
    """The share of the page's prose that is in the box, as a grade."""


class BoxSurroundings(NamedTuple):
    """Measures of each box and the boxes around it; each column has one number for each box."""

    densest: list[int]
    """The greatest share of linked words among the box and the boxes around it, as a grade."""
    repeated_box: list[int]
    """Of the box and the boxes around it, the one with the most siblings of its kind, or 0 if none has two siblings."""
    repetitions: list[int]
    """The number of boxes that are `repeated_box` or its siblings of the same kind, or 0 if `repeated_box` is 0."""
    near_groups: list[int]
    """The groups (`traits.GROUP_BITS`) of the names of the box and of the two boxes around it."""
    far_groups: list[int]
    """The groups (`traits.GROUP_BITS`) of the names of the box and of all boxes around it."""


def sum_boxes(outline: Outline) -> BoxSums:
    """Return the sums and shares of the text in each box."""
    boxes, blocks = outline.boxes, outline.blocks
    pick_first, pick_stop = make_picker(boxes.first), make_picker(boxes.stop)
    prose = [
        word_count if word_count >= MIN_PROSE_WORDS and linked_words * 3 < word_count else 0
        for word_count, linked_words in zip(blocks.words, blocks.linked, strict=True)
    ]

    def sum_by_box(column: Sequence[int]) -> list[int]:
        running_sums = list(accumulate(column, initial=0))
        return list(map(sub, pick_stop(running_sums), pick_first(running_sums)))

    words, linked, prose_words = sum_by_box(blocks.words), sum_by_box(blocks.linked), sum_by_box(prose)
    return BoxSums(
        words,
        linked,
        prose_words,
        list(map(sub, boxes.stop, boxes.first)),
        grade_shares(list(map(truediv, linked, words)), whole=1),
        grade_shares(words, words[0]),
        grade_shares(prose_words, prose_words[0] or 1),
    )


def measure_surroundings(outline: Outline, link_density: bytes) -> BoxSurroundings:
    """Return measures of each box and the boxes around it; `link_density` has a grade for each box."""
    boxes = outline.boxes
    parents, name_groups = boxes.parent, boxes.name_groups
    # siblings of the same kind also have the same path; numbers are counted faster than pairs
    pairs = list(map(add, map(mul, parents, repeat(max(boxes.path) + 1)), boxes.path))
    siblings = list(map(Counter(pairs).__getitem__, pairs))
    densest, repeated_box, repetitions = [link_density[0]], [0], [0]
    near_groups, far_groups = [name_groups[0]], [name_groups[0]]
    for box in range(1, len(parents)):
        parent = parents[box]
        density, parent_density = link_density[box], densest[parent]
        densest.append(density if density > parent_density else parent_density)  # noqa: FURB136 - in half of the time
        sibling_count, most_around = siblings[box], repetitions[parent]
        if sibling_count >= _MIN_SIBLINGS and sibling_count > most_around:
            repeated_box.append(box)
            repetitions.append(sibling_count)
        else:
            repeated_box.append(repeated_box[parent])
            repetitions.append(most_around)
        own_groups = name_groups[box]
        near_groups.append(own_groups | name_groups[parent] | name_groups[parents[parent]])
        far_groups.append(own_groups | far_groups[parent])
    return BoxSurroundings(densest, repeated_box, repetitions, near_groups, far_groups)


def find_innermost_boxes(outline: Outline, sums: Sequence[int], shares: Sequence[float]) -> list[list[int]]:
    """Return, for each share and block, the innermost box around the block with at least this share of the body's sum.

    `shares` are ascending. `sums` has the sum of each box, the body first. If the body's sum is 0, return the body.
    """
    boxes, total = outline.boxes, sums[0] or 1
    large_boxes: Iterable[int] = range(len(sums))
    columns = []
    for share in shares:
        large_boxes = [box for box in large_boxes if sums[box] >= total * share]
        boxes_of_blocks = [0] * len(outline.blocks.text)
        for box in large_boxes:
            first, stop = boxes.first[box], boxes.stop[box]
            boxes_of_blocks[first:stop] = [box] * (stop - first)
        columns.append(boxes_of_blocks)
    return columns


LEVELS_ABOVE = 4
"""The number of boxes that have features for a block: its own box, and the boxes 1 to 3 steps above it."""
WORD_SHARES = (0.1, 0.3, 0.5, 0.7)
"""The shares of a page's words for `PageMeasures.word_boxes`."""
PROSE_SHARES = (0.5, 0.8)
"""The shares of a page's prose for `PageMeasures.prose_boxes`."""
_NEVER_JUDGED = int(PageLocation.NAV | PageLocation.NAVIGATION | PageLocation.FOOTER | PageLocation.CHOICE)
_MIN_JUDGED_SHARE = 0.1  # of the page's words; if less is outside _NEVER_JUDGED, those blocks are judged too


class PageMeasures(NamedTuple):
    """A page's outline, its traits, and the measures from which its features are computed."""

    outline: Outline
    sums: BoxSums
    surroundings: BoxSurroundings
    traits: PageTraits
    judged: list[int]
    """The numbers of the blocks that the forests judge, in the page's order."""
    pick: Picker
    """Picks the values of the judged blocks from a column of all blocks."""
    pick_above: list[Picker]
    """Item n picks from a column of boxes, for each judged block, the value of the box n steps up, or of the body."""
    headline_levels: list[int]
    """For each box, the level from 1 to 6 if it is a headline, and otherwise 0."""
    path_sums: tuple[list[int], list[int], list[int]]
    """For each number in `Boxes.path`, the number of blocks, words and linked words directly in its boxes."""
    word_boxes: dict[float, Sequence[int]]
    """For each of `WORD_SHARES`, the innermost box around each judged block with at least this share of the words."""
    prose_boxes: dict[float, Sequence[int]]
    """For each of `PROSE_SHARES`, the innermost box around each judged block with at least this share of the prose."""
    since_headline: list[tuple[int, int, int]]
    """For each block: the level of the last headline before it (0: none), and the number of blocks and of words since
    that headline, or since the start of the page."""


def measure_page(outline: Outline, traits: PageTraits) -> PageMeasures:
    """Compute the measures of a page whose outline has at least one block."""
    sums = sum_boxes(outline)
    boxes, blocks = outline.boxes, outline.blocks
    judged = _find_judged_blocks(outline, sums.words[0])
    pick = make_picker(judged)
    parents = [0, *boxes.parent[1:]]
    boxes_above: Sequence[int] = pick(blocks.box)
    pick_above = [make_picker(boxes_above)]
    for _ in range(1, LEVELS_ABOVE):
        boxes_above = pick_above[-1](parents)
        pick_above.append(make_picker(boxes_above))
    levels = list(map(LEVELS.get, boxes.tag, repeat(0)))
    return PageMeasures(
        outline=outline,
        sums=sums,
        surroundings=measure_surroundings(outline, sums.link_density),
        traits=traits,
        judged=judged,
        pick=pick,
        pick_above=pick_above,
        headline_levels=levels,
        path_sums=_sum_by_path(outline),
        word_boxes=dict(
            zip(WORD_SHARES, map(pick, find_innermost_boxes(outline, sums.words, WORD_SHARES)), strict=True)
        ),
        prose_boxes=dict(
            zip(PROSE_SHARES, map(pick, find_innermost_boxes(outline, sums.prose, PROSE_SHARES)), strict=True)
        ),
        since_headline=_measure_since_headlines(outline, levels),
    )


def _find_judged_blocks(outline: Outline, page_words: int) -> list[int]:
    """Return the numbers of blocks outside navigation, footers and choices, or of all blocks if those have few words.

    Blocks that `find_excluded_blocks` returns are left out.
    """
    locations, blocks = outline.boxes.locations, outline.blocks
    hidden = find_excluded_blocks(outline)
    visible = [block for block in range(len(blocks.box)) if block not in hidden] if hidden else range(len(blocks.box))
    judged = [block for block in visible if not locations[blocks.box[block]] & _NEVER_JUDGED]
    judged_words = sum(blocks.words[block] for block in judged)
    return judged if judged_words >= page_words * _MIN_JUDGED_SHARE and judged else list(visible)


def _sum_by_path(outline: Outline) -> tuple[list[int], list[int], list[int]]:
    path_by_box, blocks = outline.boxes.path, outline.blocks
    path_count = max(path_by_box) + 1
    times, words, linked = [0] * path_count, [0] * path_count, [0] * path_count
    for box, word_count, linked_words in zip(blocks.box, blocks.words, blocks.linked, strict=True):
        path = path_by_box[box]
        times[path] += 1
        words[path] += word_count
        linked[path] += linked_words
    return times, words, linked


def _measure_since_headlines(outline: Outline, level_by_box: Sequence[int]) -> list[tuple[int, int, int]]:
    measures = []
    level = blocks = words = 0
    for box, word_count in zip(outline.blocks.box, outline.blocks.words, strict=True):
        measures.append((level, blocks, words))
        if level_by_box[box]:
            level, blocks, words = level_by_box[box], 0, 0
        else:
            blocks += 1
            words += word_count
    return measures
