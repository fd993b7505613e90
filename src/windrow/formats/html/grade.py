"""Grades: numbers of any size in one byte, as the forest compares them; finer where small differences tell."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import repeat

Scale = tuple[float, ...]

COUNT: Scale = (
    0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 18, 22, 27, 33, 40, 50, 60, 75, 90, 110, 140, 180, 240, 320, 420, 560, 750,
    1_000, 1_400, 2_000, 3_000, 4_500, 7_000, 12_000,
)  # fmt: skip
"""Of words, blocks, links."""
SHARE: Scale = (
    0, 0.003, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.13, 0.17, 0.21, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65,
    0.7, 0.75, 0.8, 0.85, 0.9, 0.93, 0.96, 0.98, 0.99, 0.998,
)  # fmt: skip
"""Of parts of a whole."""
LETTERS: Scale = (2, 2.5, 3, 3.5, 4, 4.3, 4.6, 4.8, 5, 5.2, 5.4, 5.6, 5.8, 6, 6.3, 6.6, 7, 7.5, 8, 9, 10, 12, 15, 20)
"""Of a word, on average."""
STEPS: Scale = (
    -1_000, -300, -200, -140, -100, -70, -50, -35, -25, -20, -15, -12, -10, -8, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4,
    5, 6, 8, 10, 12, 15, 20, 25, 35, 50, 70, 100, 140, 200, 300,
)  # fmt: skip
"""Blocks from here to there."""
BEYOND = 254
"""The grade of what lies beyond the page."""


def grade(values: Iterable[float], scale: Scale) -> bytes:
    """Return for each number how many of the scale are less.

    >>> list(grade([0, 1, 11, 1e9], COUNT))
    [0, 1, 10, 36]
    """
    return bytes(map(bisect_left, repeat(scale), values))


def shared(values: Sequence[float], whole: float) -> bytes:
    """Return the grades of parts of a whole; of equal parts, which are many among boxes, the grade is sought once."""
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
