"""How much text lies where: sums of each box, and what a box inherits from those around it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate, repeat
from operator import add, itemgetter, mul, sub, truediv
from typing import NamedTuple, Protocol, TypeVar

from windrow.formats.html.grade import shared
from windrow.formats.html.outline import Outline

T = TypeVar("T")

_PROSE = 12  # a block of as many words, less than a third of them linked, is prose
_MANY = 3  # siblings of one kind that make a repetition


class Picker(Protocol):
    """Takes the values at some places out of a column, at the speed of C."""

    def __call__(self, values: Sequence[T], /) -> tuple[T, ...]:
        """Return the values."""
        ...


def picker(places: Sequence[int]) -> Picker:
    """Return what takes these places out of any column."""
    if len(places) > 1:
        return itemgetter(*places)
    return lambda values: tuple(values[place] for place in places)


class Extent(NamedTuple):
    """Sums by box, over the box and all within it, as columns as long as the outline's boxes."""

    words: list[int]
    linked: list[int]
    prose: list[int]
    """Words in blocks of twelve words and more, less than a third of them linked."""
    blocks: list[int]
    dense: bytes
    """The share of linked words, graded."""
    share: bytes
    """Of the page's words, graded."""
    telling: bytes
    """The share of the page's prose, graded."""


class Around(NamedTuple):
    """What the boxes around a box, itself included, are like, as columns as long as the outline's boxes."""

    densest: list[int]
    """The greatest share of linked words, graded."""
    repeated: list[int]
    """The box around it that has most siblings of its kind, from three on; else the body."""
    times: list[int]
    """How many there are."""
    near: list[int]
    """Groups of the vocabulary that name it or the two boxes around it."""
    far: list[int]
    """Groups that name any box around it."""


def extent(outline: Outline) -> Extent:
    """Sum up the text of each box."""
    boxes, blocks = outline.boxes, outline.blocks
    first, last = picker(boxes.first), picker(boxes.last)
    prose = [
        size if size >= _PROSE and within * 3 < size else 0
        for size, within in zip(blocks.words, blocks.linked, strict=True)
    ]

    def total(column: Sequence[int]) -> list[int]:
        running = list(accumulate(column, initial=0))
        return list(map(sub, last(running), first(running)))

    words, linked, told = total(blocks.words), total(blocks.linked), total(prose)
    return Extent(
        words,
        linked,
        told,
        list(map(sub, boxes.last, boxes.first)),
        shared(list(map(truediv, linked, words)), 1),
        shared(words, words[0]),
        shared(told, told[0] or 1),
    )


def around(outline: Outline, dense: bytes) -> Around:
    """Carry down to each box what the boxes around it are like."""
    boxes = outline.boxes
    up, names = boxes.up, boxes.names
    # siblings of a kind have one path too; as numbers they are counted sooner than as pairs
    pairs = list(map(add, map(mul, up, repeat(max(boxes.path) + 1)), boxes.path))
    siblings = list(map(Counter(pairs).__getitem__, pairs))
    densest, repeated, times = [dense[0]], [0], [0]
    near, far = [names[0]], [names[0]]
    for box in range(1, len(up)):
        over = up[box]
        density, high = dense[box], densest[over]
        densest.append(density if density > high else high)  # noqa: FURB136 - in half of the time
        number, most = siblings[box], times[over]
        if number >= _MANY and number > most:
            repeated.append(box)
            times.append(number)
        else:
            repeated.append(repeated[over])
            times.append(most)
        own = names[box]
        near.append(own | names[over] | names[up[over]])
        far.append(own | far[over])
    return Around(densest, repeated, times, near, far)


def innermost(outline: Outline, sums: Sequence[int], shares: Sequence[float]) -> list[list[int]]:
    """Return for each share, from the least on, and each block the innermost box around it that holds so much."""
    boxes, whole = outline.boxes, sums[0] or 1
    large: Iterable[int] = range(len(sums))
    columns = []
    for share in shares:
        large = [box for box in large if sums[box] >= whole * share]
        found = [0] * len(outline.blocks.text)
        for box in large:
            first, last = boxes.first[box], boxes.last[box]
            found[first:last] = [box] * (last - first)
        columns.append(found)
    return columns
