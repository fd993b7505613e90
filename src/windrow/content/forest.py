"""Add up the trees of a boosted forest for many blocks of text at once, without a library of numbers.

Blocks are judged side by side: a set of blocks is one large integer, two bytes to a block, 1 for a block in the set.
Traits are grades of one byte (see `grade`), laid out in the same way. A question of the forest ("is this grade at most
so much?") is answered for all blocks by one subtraction, which leaves a 1 in the upper byte of a yes; a tree is walked
once for all blocks, splitting its set by `&` and `^`; a leaf adds its value to all its blocks by one multiplication.
Python's integers do this at the speed of C: a page of 300 blocks passes a tree in a few microseconds.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from functools import cache
from pkgutil import get_data
from typing import NamedTuple, Protocol

Node = tuple[int, int, int]
"""A question's number, then the places of what follows a yes and a no: questions first, the leaves behind them."""

_WIDEST = 1_000  # blocks side by side


class Forest(NamedTuple):
    """Trees that ask whether the grade of a trait is at most so much; grades are from 0 to 254."""

    traits: tuple[str, ...]
    bounds: tuple[tuple[int, ...], ...]
    """For each trait, in ascending order, the bounds that it is compared with."""
    questions: tuple[tuple[int, int], ...]
    """All bounds of all traits, numbered through: the number of the trait, and the bound."""
    trees: tuple[tuple[Node, ...], ...]
    """The first node is the root."""
    leaves: tuple[tuple[int, ...], ...]
    """For each tree; from 0. Their sum over all trees stays below 65,536."""
    scale: float
    """What a unit of the sum is worth, in log odds."""
    offset: float
    """The log odds of a sum of 0."""


class TraitSource(Protocol):
    """Where the forest finds the traits it asks for."""

    count: int
    """How many blocks there are."""

    def of_page(self, name: str) -> int | None:
        """Return a trait that all blocks share, None where it is not one."""
        ...

    def of_block(self, name: str) -> bytes:
        """Return any other trait, a grade for each block; a yes is 1, a no 0."""
        ...


def judge(forest: Forest, source: TraitSource) -> list[float]:
    """Return for each block the probability that the forest gives it."""
    asked = [_asked(name, source) for name in forest.traits]
    sums = array("H")
    for start in range(0, source.count, _WIDEST):
        seats = _Seats(start, min(source.count, start + _WIDEST))
        total = _total(forest, seats, list(map(seats.spread, asked)))
        sums.frombytes(total.to_bytes(2 * seats.count, "little"))
    return [1.0 / (1.0 + math.exp(-(total * forest.scale + forest.offset))) for total in sums]


def _asked(name: str, source: TraitSource) -> int | bytes:
    page = source.of_page(name)
    return source.of_block(name) if page is None else page


class _Seats:
    """The blocks that are judged side by side, and sets of them."""

    __slots__ = ("_end", "_passes", "_start", "count", "whole")

    def __init__(self, start: int, end: int) -> None:
        """Seat the blocks from `start` up to `end`."""
        self._start, self._end = start, end
        self._passes: dict[int, int] = {}
        self.count = end - start
        self.whole = int.from_bytes(b"\1\0" * self.count, "little")

    def spread(self, grades: int | bytes) -> int:
        """Return the grades of a trait seat by seat; a trait of the page has the same one at every seat."""
        if isinstance(grades, int):
            return self.whole * grades
        spread = bytearray(2 * self.count)
        spread[::2] = grades[self._start : self._end]
        return int.from_bytes(spread, "little")

    def within(self, column: int, bound: int) -> int:
        """Return the set of the blocks whose grade is at most so much: of 256 and the bound, at least 256 are left."""
        passes = self._passes.get(bound)
        if passes is None:
            passes = self._passes[bound] = self.whole * (256 + bound)
        return (passes - column) >> 8 & self.whole


def _total(forest: Forest, seats: _Seats, columns: Sequence[int]) -> int:
    """Add up all trees: two bytes for each block; a third of the questions is asked of no block, and not answered."""
    total = 0
    questions, within, whole = forest.questions, seats.within, seats.whole
    sets: list[int | None] = [None] * len(questions)
    for tree, leaves in zip(forest.trees, forest.leaves, strict=True):
        inside = [0] * (len(tree) + len(leaves))
        inside[0] = whole
        for here, (question, yes, no) in zip(inside, tree, strict=False):  # filled in from the root down
            if here:
                among = sets[question]
                if among is None:
                    trait, bound = questions[question]
                    among = sets[question] = within(columns[trait], bound)
                inside[yes] = both = here & among
                inside[no] = here ^ both
        for here, leaf in zip(inside[len(tree) :], leaves, strict=True):
            if here:
                total += here * leaf
    return total


def grown(text: str) -> Forest:
    """Read a forest as it is written down.

    The first line has scale and offset; then a line for each trait, its name, a colon and its bounds; an empty line;
    and a line for each tree, from the root down: a question as `trait.bound` by their numbers, followed by what comes
    at a yes and what comes at a no, and a leaf as its value.

    >>> grown(chr(10).join(["0.1 -3", "words: 4 9", "", "0.1 0 0.0 7 60"])).trees
    (((1, 2, 1), (0, 3, 4)),)
    """
    first, *lines = text.strip().splitlines()
    scale, offset = map(float, first.split())
    blank = lines.index("")
    names, bounds, starts = [], [], [0]
    for line in lines[:blank]:
        name, _, numbers = line.rpartition(": ")
        names.append(name)
        bounds.append(tuple(map(int, numbers.split())))
        starts.append(starts[-1] + len(bounds[-1]))
    trees, leaves = [], []
    for line in lines[blank + 1 :]:
        nodes: list[Node] = []
        values: list[int] = []
        words = line.split()
        _plant(iter(words), nodes, values, starts, len(words) // 2)
        trees.append(tuple(nodes))
        leaves.append(tuple(values))
    questions = tuple((at, bound) for at, each in enumerate(bounds) for bound in each)
    return Forest(tuple(names), tuple(bounds), questions, tuple(trees), tuple(leaves), scale, offset)


def _plant(words: Iterator[str], nodes: list[Node], leaves: list[int], starts: Sequence[int], inner: int) -> int:
    """Plant a tree of so many questions; return the place of its root among questions and leaves."""
    trait, point, bound = next(words).partition(".")
    if not point:
        leaves.append(int(trait))
        return inner + len(leaves) - 1
    at = len(nodes)
    nodes.append((0, 0, 0))
    yes = _plant(words, nodes, leaves, starts, inner)
    nodes[at] = (starts[int(trait)] + int(bound), yes, _plant(words, nodes, leaves, starts, inner))
    return at


DIGEST = "4397ef4bef0f15970b9694c022ec5dd065fe1015de692c6e1ace87fdc4fb05e4"
"""SHA-256 of `weights.txt`."""
BETWEEN = "\n\n----\n\n"
"""What stands between the first forest and the second."""


def written() -> bytes:
    """Return the file, which is part of the package as code is."""
    return get_data("windrow.content", "weights.txt") or b""


@cache
def forests() -> tuple[Forest, Forest]:
    """Return the first forest and the second, read when the first page is judged."""
    first, second = map(grown, written().decode().split(BETWEEN))
    return first, second
