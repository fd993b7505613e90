"""Evaluate a forest of boosted trees for many blocks of text at once, without a numerical library.

Blocks are judged in parallel: a set of blocks is one large integer with two bytes for each block, 1 for a block in the
set. Features are grades of one byte (see `grade`), laid out in the same way. A question ("is this grade at most
the bound?") is answered for all blocks by one subtraction that leaves a 1 in the upper byte for yes; a tree is walked
once for all blocks, splitting the set by `&` and `^`; a leaf adds its value to all its blocks by one multiplication.
Python's integers do this at the speed of C: a tree takes a few microseconds for a page of 300 blocks.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from functools import cache
from pkgutil import get_data
from typing import NamedTuple, Protocol

Node = tuple[int, int, int]
"""A question's number, then the positions of the nodes after a yes and a no; leaves are numbered after questions."""

_WIDEST = 1_000  # blocks judged at once


class Forest(NamedTuple):
    """Trees of questions whether the grade of a feature is at most a bound; grades are from 0 to 254."""

    features: tuple[str, ...]
    bounds: tuple[tuple[int, ...], ...]
    """For each feature the bounds that it is compared with, ascending."""
    questions: tuple[tuple[int, int], ...]
    """All pairs of a feature's number and a bound; a question's number is its position."""
    trees: tuple[tuple[Node, ...], ...]
    """The first node is the root."""
    leaves: tuple[tuple[int, ...], ...]
    """The values of each tree's leaves, from 0; their sum over all trees is below 65,536."""
    scale: float
    """The log odds of one unit of the sum."""
    offset: float
    """The log odds of a sum of 0."""


class FeatureSource(Protocol):
    """Returns the features of a page's blocks by name."""

    count: int
    """The number of blocks."""

    def of_page(self, name: str) -> int | None:
        """Return the grade of a feature of the page, or None if it is a feature of blocks."""

    def of_block(self, name: str) -> bytes:
        """Return a feature of blocks, a grade for each block; yes is 1, no is 0."""


def judge(forest: Forest, source: FeatureSource) -> list[float]:
    """Return for each block the probability that the forest gives it."""
    features = [_feature(name, source) for name in forest.features]
    sums = array("H")
    for start in range(0, source.count, _WIDEST):
        batch = _Batch(start, min(source.count, start + _WIDEST))
        total = _total(forest, batch, list(map(batch.spread, features)))
        sums.frombytes(total.to_bytes(2 * batch.count, "little"))
    return [1.0 / (1.0 + math.exp(-(total * forest.scale + forest.offset))) for total in sums]


def _feature(name: str, source: FeatureSource) -> int | bytes:
    page = source.of_page(name)
    return source.of_block(name) if page is None else page


class _Batch:
    """Blocks that are judged at once; a set of them is an integer with two bytes for each block."""

    __slots__ = ("_end", "_passes", "_start", "all_blocks", "count")

    def __init__(self, start: int, end: int) -> None:
        """Hold the blocks from `start` up to `end`, which is not among them."""
        self._start, self._end = start, end
        self._passes: dict[int, int] = {}
        self.count = end - start
        self.all_blocks = int.from_bytes(b"\1\0" * self.count, "little")

    def spread(self, grades: int | bytes) -> int:
        """Return the grades of a feature as an integer, two bytes for each block; a page's grade is repeated."""
        if isinstance(grades, int):
            return self.all_blocks * grades
        spread = bytearray(2 * self.count)
        spread[::2] = grades[self._start : self._end]
        return int.from_bytes(spread, "little")

    def within(self, column: int, bound: int) -> int:
        """Return the set of blocks whose grade is at most `bound`: then 256 + bound - grade is at least 256."""
        passes = self._passes.get(bound)
        if passes is None:
            passes = self._passes[bound] = self.all_blocks * (256 + bound)
        return (passes - column) >> 8 & self.all_blocks


def _total(forest: Forest, batch: _Batch, columns: Sequence[int]) -> int:
    """Return the sum of all trees, two bytes for each block; only questions that a block reaches are answered."""
    total = 0
    questions, within, all_blocks = forest.questions, batch.within, batch.all_blocks
    passing_by_question: list[int | None] = [None] * len(questions)
    for tree, leaves in zip(forest.trees, forest.leaves, strict=True):
        sets_by_node = [0] * (len(tree) + len(leaves))
        sets_by_node[0] = all_blocks
        for blocks, (question, yes, no) in zip(sets_by_node, tree, strict=False):  # filled from the root down
            if blocks:
                passing = passing_by_question[question]
                if passing is None:
                    feature, bound = questions[question]
                    passing = passing_by_question[question] = within(columns[feature], bound)
                sets_by_node[yes] = yes_blocks = blocks & passing
                sets_by_node[no] = blocks ^ yes_blocks
        for blocks, leaf in zip(sets_by_node[len(tree) :], leaves, strict=True):
            if blocks:
                total += blocks * leaf
    return total


def read_forest(text: str) -> Forest:
    """Read a forest from its text.

    The first line has scale and offset; then a line for each feature with its name, a colon and its bounds; an empty
    line; and a line for each tree in prefix order: a question as `feature.bound` by their numbers, followed by the
    subtrees for yes and no, and a leaf as its value.

    >>> read_forest(chr(10).join(["0.1 -3", "words: 4 9", "", "0.1 0 0.0 7 60"])).trees
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
        tree_leaves: list[int] = []
        words = line.split()
        _read_tree(iter(words), nodes, tree_leaves, starts, len(words) // 2)
        trees.append(tuple(nodes))
        leaves.append(tuple(tree_leaves))
    questions = tuple((feature, bound) for feature, own_bounds in enumerate(bounds) for bound in own_bounds)
    return Forest(tuple(names), tuple(bounds), questions, tuple(trees), tuple(leaves), scale, offset)


def _read_tree(words: Iterator[str], nodes: list[Node], leaves: list[int], starts: Sequence[int], inner: int) -> int:
    """Append the nodes of a tree of `inner` questions; return the position of its root among questions and leaves."""
    feature, point, bound = next(words).partition(".")
    if not point:
        leaves.append(int(feature))
        return inner + len(leaves) - 1
    position = len(nodes)
    nodes.append((0, 0, 0))
    yes = _read_tree(words, nodes, leaves, starts, inner)
    nodes[position] = (starts[int(feature)] + int(bound), yes, _read_tree(words, nodes, leaves, starts, inner))
    return position


DIGEST = "4397ef4bef0f15970b9694c022ec5dd065fe1015de692c6e1ace87fdc4fb05e4"
"""SHA-256 of `weights.txt`."""
BETWEEN = "\n\n----\n\n"
"""The separator of the two forests in the file."""


def weights() -> bytes:
    """Return the bytes of `weights.txt`, a file of the package."""
    return get_data("windrow.content", "weights.txt") or b""


@cache
def forests() -> tuple[Forest, Forest]:
    """Return the first and the second forest; they are read when the first page is judged."""
    first, second = map(read_forest, weights().decode().split(BETWEEN))
    return first, second
