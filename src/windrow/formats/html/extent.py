"""How much text lies where: sums of each box, and what a box inherits from those around it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from windrow.formats.html.outline import Outline

_PROSE = 12  # a block of as many words, less than a third of them linked, is prose
SHARES = (0.1, 0.3, 0.5, 0.7)
"""Of the words of a page, to find the innermost box that holds as much."""
PROSE_SHARES = (0.5, 0.8)
"""Of its prose."""


class Extent(NamedTuple):
    """Sums by box, over the box and all within it, as columns as long as the outline's boxes."""

    words: list[int]
    linked: list[int]
    prose: list[int]
    """Words in blocks of twelve words and more, less than a third of them linked."""
    blocks: list[int]
    density: list[float]
    """The share of linked words."""


class Around(NamedTuple):
    """What the boxes around a box, itself included, are like, as columns as long as the outline's boxes."""

    densest: list[float]
    """The greatest share of linked words."""
    lightest: list[float]
    """The least."""
    large: list[list[int]]
    """For each of `SHARES`, the innermost box that holds as much of the page's words."""
    telling: list[list[int]]
    """For each of `PROSE_SHARES`, the innermost box that holds as much of the page's prose."""
    repeated: list[int]
    """The box around it that has most siblings of its kind, from three on; else -1."""
    times: list[int]
    """How many there are."""
    near: list[int]
    """Groups of the vocabulary that name it or the two boxes around it."""
    far: list[int]
    """Groups that name any box around it."""


def extent(outline: Outline) -> Extent:
    """Sum up the text of each box."""
    boxes, blocks = outline.boxes, outline.blocks
    count = len(boxes.tag)
    words, linked, prose, number = [0] * count, [0] * count, [0] * count, [0] * count
    for box, size, within in zip(blocks.box, blocks.words, blocks.linked, strict=True):
        words[box] += size
        linked[box] += within
        number[box] += 1
        if size >= _PROSE and within * 3 < size:
            prose[box] += size
    up = boxes.up
    for box in range(count - 1, 0, -1):
        if words[box]:
            around = up[box]
            words[around] += words[box]
            linked[around] += linked[box]
            prose[around] += prose[box]
            number[around] += number[box]
    density = [within / size if size else 0.0 for size, within in zip(words, linked, strict=True)]
    return Extent(words, linked, prose, number, density)


def around(outline: Outline, sums: Extent) -> Around:
    """Carry down to each box what the boxes around it are like."""
    boxes = outline.boxes
    up, count = boxes.up, len(boxes.tag)
    densest, lightest = [0.0] * count, [1.0] * count
    for box, (over, density) in enumerate(zip(up, sums.density, strict=True)):
        if over < 0:
            densest[box] = lightest[box] = density
            continue
        high, low = densest[over], lightest[over]
        densest[box] = max(high, density)
        lightest[box] = min(low, density)
    repeated, times = _repeated(outline, sums)
    near, far = _named(up, boxes.names)
    return Around(
        densest,
        lightest,
        [_innermost(up, sums.words, share) for share in SHARES],
        [_innermost(up, sums.prose, share) for share in PROSE_SHARES],
        repeated,
        times,
        near,
        far,
    )


def _innermost(up: Sequence[int], sums: Sequence[int], share: float) -> list[int]:
    least = max(sums[0] * share, 1)
    found = [0] * len(up)
    for box, (over, size) in enumerate(zip(up, sums, strict=True)):
        if over >= 0:
            found[box] = box if size >= least else found[over]
    return found


def _repeated(outline: Outline, sums: Extent) -> tuple[list[int], list[int]]:
    up, kind = outline.boxes.up, outline.boxes.kind
    siblings: dict[tuple[int, str], int] = {}
    pairs = list(zip(up, kind, strict=True))
    for pair, words in zip(pairs, sums.words, strict=True):
        if words:
            siblings[pair] = siblings.get(pair, 0) + 1
    repeated, times = [-1] * len(up), [0] * len(up)
    for box, pair in enumerate(pairs):
        if box:
            over = pair[0]
            number = siblings.get(pair, 0)
            if number >= 3 and number > times[over]:
                repeated[box], times[box] = box, number
            else:
                repeated[box], times[box] = repeated[over], times[over]
    return repeated, times


def _named(up: Sequence[int], names: Sequence[int]) -> tuple[list[int], list[int]]:
    near, far = list(names), list(names)
    for box in range(1, len(up)):
        over = up[box]
        near[box] |= names[over] | (names[up[over]] if over > 0 else 0)
        far[box] |= far[over]
    return near, far
