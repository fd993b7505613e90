"""A page as the forests' features see it: sums and shares for each box, some as grades of one byte."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate, repeat
from operator import add, itemgetter, mul, sub, truediv
from typing import NamedTuple, Protocol, TypeVar

from windrow.content.hints import PageHint
from windrow.content.outline import LEVELS, Outline, PageLocation
from windrow.content.tree import hidden_blocks

Scale = tuple[float, ...]

COUNT: Scale = (
    0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 18, 22, 27, 33, 40, 50, 60, 75, 90, 110, 140, 180, 240, 320, 420, 560, 750,
    1_000, 1_400, 2_000, 3_000, 4_500, 7_000, 12_000,
)  # fmt: skip
"""Bounds for counts of words, blocks, links."""
SHARE: Scale = (
    0, 0.003, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.13, 0.17, 0.21, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65,
    0.7, 0.75, 0.8, 0.85, 0.9, 0.93, 0.96, 0.98, 0.99, 0.998,
)  # fmt: skip
"""Bounds for shares of a whole."""
LETTERS: Scale = (2, 2.5, 3, 3.5, 4, 4.3, 4.6, 4.8, 5, 5.2, 5.4, 5.6, 5.8, 6, 6.3, 6.6, 7, 7.5, 8, 9, 10, 12, 15, 20)
"""Bounds for the mean letters of a word."""
STEPS: Scale = (
    -1_000, -300, -200, -140, -100, -70, -50, -35, -25, -20, -15, -12, -10, -8, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4,
    5, 6, 8, 10, 12, 15, 20, 25, 35, 50, 70, 100, 140, 200, 300,
)  # fmt: skip
"""Bounds for distances in blocks."""
BEYOND = 254
"""The grade of a neighbour that is outside the page."""


def grade(values: Iterable[float], scale: Scale) -> bytes:
    """Return the grade of each number: how many bounds of the scale are less.

    >>> list(grade([0, 1, 11, 1e9], COUNT))
    [0, 1, 10, 36]
    """
    return bytes(map(bisect_left, repeat(scale), values))


def shared(values: Sequence[float], whole: float) -> bytes:
    """Return the grades of parts of a whole; equal parts, which are frequent among boxes, are graded once."""
    known = {value: bisect_left(SHARE, value / whole) for value in set(values)}
    return bytes(map(known.__getitem__, values))


_COUNTED = grade(range(int(COUNT[-1]) + 1), COUNT)


def counted(values: Sequence[int]) -> bytes:
    """Return the grades of counts, which are never negative, on the scale `COUNT`.

    >>> counted([0, 1, 11, 10**9]) == grade([0, 1, 11, 10**9], COUNT)
    True
    """
    try:
        return bytes(map(_COUNTED.__getitem__, values))
    except IndexError:
        return grade(values, COUNT)


T = TypeVar("T")

_PROSE = 12  # the least words of a block of prose, of which less than a third may be linked
_MANY = 3  # the least siblings of one kind that count as a repetition


class Picker(Protocol):
    """Returns the values of a column at fixed positions, at the speed of C."""

    def __call__(self, values: Sequence[T], /) -> tuple[T, ...]:
        """Return the values."""


def picker(places: Sequence[int]) -> Picker:
    """Return a picker of these positions."""
    if len(places) > 1:
        return itemgetter(*places)
    return lambda values: tuple(values[place] for place in places)


class Extent(NamedTuple):
    """Sums over each box and all within it; each column has one entry for each box."""

    words: list[int]
    linked: list[int]
    prose: list[int]
    """Words in blocks of twelve words and more, less than a third of them linked."""
    blocks: list[int]
    dense: bytes
    """The share of linked words, graded."""
    share: bytes
    """The share of the page's words, graded."""
    telling: bytes
    """The share of the page's prose, graded."""


class Around(NamedTuple):
    """Measures of each box and the boxes around it; each column has one entry for each box."""

    densest: list[int]
    """The greatest share of linked words, graded."""
    repeated: list[int]
    """The box around it with the most siblings of its kind, at least three, or the body."""
    times: list[int]
    """The number of these siblings."""
    near: list[int]
    """Groups of the vocabulary in the names of it or the two boxes around it."""
    far: list[int]
    """Groups of the vocabulary in the names of any box around it."""


def extent(outline: Outline) -> Extent:
    """Return the sums and shares of the text of each box."""
    boxes, blocks = outline.boxes, outline.blocks
    first, last = picker(boxes.first), picker(boxes.last)
    prose = [
        size if size >= _PROSE and within * 3 < size else 0
        for size, within in zip(blocks.words, blocks.linked, strict=True)
    ]

    def total(column: Sequence[int]) -> list[int]:
        running = list(accumulate(column, initial=0))
        return list(map(sub, last(running), first(running)))

    words, linked, prose_words = total(blocks.words), total(blocks.linked), total(prose)
    return Extent(
        words,
        linked,
        prose_words,
        list(map(sub, boxes.last, boxes.first)),
        shared(list(map(truediv, linked, words)), 1),
        shared(words, words[0]),
        shared(prose_words, prose_words[0] or 1),
    )


def around(outline: Outline, dense: bytes) -> Around:
    """Return measures of each box together with the boxes around it."""
    boxes = outline.boxes
    parents, names = boxes.up, boxes.names
    # siblings of a kind also have the same path; numbers are counted faster than pairs
    pairs = list(map(add, map(mul, parents, repeat(max(boxes.path) + 1)), boxes.path))
    siblings = list(map(Counter(pairs).__getitem__, pairs))
    densest, repeated, times = [dense[0]], [0], [0]
    near, far = [names[0]], [names[0]]
    for box in range(1, len(parents)):
        parent = parents[box]
        density, parent_density = dense[box], densest[parent]
        densest.append(density if density > parent_density else parent_density)  # noqa: FURB136 - in half of the time
        number, most = siblings[box], times[parent]
        if number >= _MANY and number > most:
            repeated.append(box)
            times.append(number)
        else:
            repeated.append(repeated[parent])
            times.append(most)
        own_names = names[box]
        near.append(own_names | names[parent] | names[parents[parent]])
        far.append(own_names | far[parent])
    return Around(densest, repeated, times, near, far)


def innermost(outline: Outline, sums: Sequence[int], shares: Sequence[float]) -> list[list[int]]:
    """Return, for each share in ascending order, the innermost box around each block with that share of the sum."""
    boxes, whole = outline.boxes, sums[0] or 1
    large: Iterable[int] = range(len(sums))
    columns = []
    for share in shares:
        large = [box for box in large if sums[box] >= whole * share]
        boxes_of_blocks = [0] * len(outline.blocks.text)
        for box in large:
            first, last = boxes.first[box], boxes.last[box]
            boxes_of_blocks[first:last] = [box] * (last - first)
        columns.append(boxes_of_blocks)
    return columns


ABOVE = 4
"""The steps up from a block's box that have features."""
SHARES = (0.1, 0.3, 0.5, 0.7)
"""The shares of a page's words for `View.large`."""
PROSE_SHARES = (0.5, 0.8)
"""The shares of its prose for `View.telling`."""
_NEVER = int(PageLocation.NAV | PageLocation.NAVIGATION | PageLocation.FOOTER | PageLocation.CHOICE)
_ENOUGH = 0.1


class View(NamedTuple):
    """The input of the features."""

    outline: Outline
    sums: Extent
    around: Around
    hint: PageHint
    kept: list[int]
    """The numbers of the blocks to be judged."""
    keep: Picker
    """Picks the values of these blocks from a column of all blocks."""
    above: list[Picker]
    """For each number of steps from 0, picks for these blocks the values of the boxes that many steps up."""
    levels: list[int]
    """By box, its level if it is a headline, and 0 otherwise."""
    alike: tuple[list[int], list[int], list[int]]
    """By path: the number of blocks in boxes of this path, their words, and their linked words."""
    large: dict[float, Sequence[int]]
    """For each of `SHARES`, the innermost box around each kept block that holds as much of the page's words."""
    telling: dict[float, Sequence[int]]
    """For each of `PROSE_SHARES`, the innermost box that holds as much of the page's prose."""
    under: list[tuple[int, int, int]]
    """By block: the level of the last headline before it, and the blocks and words since."""


def view(outline: Outline, hint: PageHint) -> View:
    """Return the view of an outline with at least one block."""
    sums = extent(outline)
    boxes, blocks = outline.boxes, outline.blocks
    kept = _kept(outline, sums.words[0])
    keep = picker(kept)
    parents = [0, *boxes.up[1:]]
    boxes_above: Sequence[int] = keep(blocks.box)
    above = [picker(boxes_above)]
    for _ in range(1, ABOVE):
        boxes_above = above[-1](parents)
        above.append(picker(boxes_above))
    levels = list(map(LEVELS.get, boxes.tag, repeat(0)))
    return View(
        outline,
        sums,
        around(outline, sums.dense),
        hint,
        kept,
        keep,
        above,
        levels,
        _alike(outline),
        dict(zip(SHARES, map(keep, innermost(outline, sums.words, SHARES)), strict=True)),
        dict(zip(PROSE_SHARES, map(keep, innermost(outline, sums.prose, PROSE_SHARES)), strict=True)),
        _under(outline, levels),
    )


def _kept(outline: Outline, total: int) -> list[int]:
    """Return the blocks that are not hidden, without those in navigation, footers or choices if others remain."""
    marks, blocks = outline.boxes.marks, outline.blocks
    hidden = hidden_blocks(outline)
    visible = [block for block in range(len(blocks.box)) if block not in hidden] if hidden else range(len(blocks.box))
    kept = [block for block in visible if not marks[blocks.box[block]] & _NEVER]
    kept_words = sum(blocks.words[block] for block in kept)
    return kept if kept_words >= total * _ENOUGH and kept else list(visible)


def _alike(outline: Outline) -> tuple[list[int], list[int], list[int]]:
    path, blocks = outline.boxes.path, outline.blocks
    count = max(path) + 1
    times, words, linked = [0] * count, [0] * count, [0] * count
    for box, size, within in zip(blocks.box, blocks.words, blocks.linked, strict=True):
        path_number = path[box]
        times[path_number] += 1
        words[path_number] += size
        linked[path_number] += within
    return times, words, linked


def _under(outline: Outline, levels: Sequence[int]) -> list[tuple[int, int, int]]:
    headlines = []
    level = blocks = words = 0
    for box, size in zip(outline.blocks.box, outline.blocks.words, strict=True):
        headlines.append((level, blocks, words))
        if levels[box]:
            level, blocks, words = levels[box], 0, 0
        else:
            blocks += 1
            words += size
    return headlines
