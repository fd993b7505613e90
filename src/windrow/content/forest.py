"""Evaluate a forest of boosted trees for many blocks of text at once, without a numerical library.

Blocks are judged in parallel: a set of blocks is one large integer with two bytes for each block, 1 for a block in the
set. Features are grades of one byte (see `measures.grade`), also in two bytes for each block. A question ("is this
grade at most the bound?") is answered for all blocks by one subtraction, after which the upper byte is 1 for yes. A
tree is evaluated once for all blocks, splitting the set by `&` and `^`. A leaf adds its value to all its blocks by one
multiplication. Python's integers do this at the speed of C: a tree takes a few microseconds for a page of 300 blocks.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from functools import cache
from pkgutil import get_data
from typing import NamedTuple, Protocol

Node = tuple[int, int, int]
"""The number of a question, and the positions of the nodes for yes and for no; leaves have the positions after all
nodes."""

_BATCH_BLOCKS = 1_000  # blocks that are judged at once


class Forest(NamedTuple):
    """Trees whose questions are: is the grade of this feature at most this bound? Grades are from 0 to 254."""

    features: tuple[str, ...]
    bounds: tuple[tuple[int, ...], ...]
    """For each feature, the bounds with which its grade is compared, in ascending order."""
    questions: tuple[tuple[int, int], ...]
    """All pairs of a feature's number and a bound; the position of a pair is the question's number."""
    trees: tuple[tuple[Node, ...], ...]
    """The nodes of each tree; the first one is the root."""
    leaves: tuple[tuple[int, ...], ...]
    """The values of each tree's leaves, 0 or more. The sum of one leaf from each tree is below 65,536."""
    scale: float
    """The log odds that each 1 in the sum of leaves adds."""
    offset: float
    """The log odds of a sum of 0."""


class FeatureSource(Protocol):
    """An object that returns the features of a page and its blocks by name."""

    count: int
    """The number of blocks."""

    def of_page(self, name: str) -> int | None:
        """Return the grade of a feature of the page, or None if it is a feature of blocks."""

    def of_block(self, name: str) -> bytes:
        """Return the grade of each block for a block feature; for a yes/no feature, 1 is yes and 0 is no."""


def estimate_probabilities(forest: Forest, source: FeatureSource) -> list[float]:
    """Return for each block the probability that it is main content, from 0 to 1, as the forest estimates it."""
    features = [_read_feature(name, source) for name in forest.features]
    sums = array("H")
    for start in range(0, source.count, _BATCH_BLOCKS):
        batch = _Batch(start, min(source.count, start + _BATCH_BLOCKS))
        total = _sum_leaves(forest, batch, list(map(batch.spread, features)))
        sums.frombytes(total.to_bytes(2 * batch.count, "little"))
    return [1.0 / (1.0 + math.exp(-(total * forest.scale + forest.offset))) for total in sums]


def _read_feature(name: str, source: FeatureSource) -> int | bytes:
    page_grade = source.of_page(name)
    return source.of_block(name) if page_grade is None else page_grade


class _Batch:
    """Blocks that are judged at once; a set of them is an integer with two bytes for each block."""

    __slots__ = ("_end", "_start", "_sums_by_bound", "all_blocks", "count")

    def __init__(self, start: int, end: int) -> None:
        """Take the blocks from number `start` up to, but not including, `end`."""
        self._start, self._end = start, end
        self._sums_by_bound: dict[int, int] = {}  # 256 + bound for each block
        self.count = end - start
        self.all_blocks = int.from_bytes(b"\1\0" * self.count, "little")

    def spread(self, grades: int | bytes) -> int:
        """Return the grades of a feature as an integer with two bytes for each block; a page's grade is repeated."""
        if isinstance(grades, int):
            return self.all_blocks * grades
        column = bytearray(2 * self.count)
        column[::2] = grades[self._start : self._end]
        return int.from_bytes(column, "little")

    def select_at_most(self, column: int, bound: int) -> int:
        """Return the set of the blocks whose grade in `column` is at most `bound`.

        For the selected blocks, 256 + bound - grade is at least 256, so that the upper byte is 1.
        """
        sums = self._sums_by_bound.get(bound)
        if sums is None:
            sums = self._sums_by_bound[bound] = self.all_blocks * (256 + bound)
        return (sums - column) >> 8 & self.all_blocks


def _sum_leaves(forest: Forest, batch: _Batch, columns: Sequence[int]) -> int:
    """Return for each block the sum of the leaves that it reaches, as one integer with two bytes for each block.

    `columns` has the grades of each feature as `_Batch.spread` returns them. A question is answered only if a block
    reaches it.
    """
    total = 0
    questions, select_at_most, all_blocks = forest.questions, batch.select_at_most, batch.all_blocks
    passing_by_question: list[int | None] = [None] * len(questions)
    for tree, leaves in zip(forest.trees, forest.leaves, strict=True):
        sets_by_node = [0] * (len(tree) + len(leaves))
        sets_by_node[0] = all_blocks
        for block_set, (question, yes, no) in zip(sets_by_node, tree, strict=False):  # filled from the root down
            if block_set:
                passing = passing_by_question[question]
                if passing is None:
                    feature, bound = questions[question]
                    passing = passing_by_question[question] = select_at_most(columns[feature], bound)
                sets_by_node[yes] = yes_blocks = block_set & passing
                sets_by_node[no] = block_set ^ yes_blocks
        for block_set, leaf in zip(sets_by_node[len(tree) :], leaves, strict=True):
            if block_set:
                total += block_set * leaf
    return total


def read_forest(text: str) -> Forest:
    """Read a forest from its text.

    The first line has the scale and offset. Then come a line for each feature, with its name, a colon and its bounds;
    an empty line; and a line for each tree in prefix order. A question is written as `feature.bound`, the feature's
    number and the bound's position, before the subtrees for yes and for no. A leaf is written as its value.

    >>> read_forest(chr(10).join(["0.1 -3", "words: 4 9", "", "0.1 0 0.0 7 60"])).trees
    (((1, 2, 1), (0, 3, 4)),)
    """
    scale_line, *lines = text.strip().splitlines()
    scale, offset = map(float, scale_line.split())
    blank = lines.index("")
    names, bounds, first_questions = [], [], [0]
    for line in lines[:blank]:
        name, _, numbers = line.rpartition(": ")
        names.append(name)
        bounds.append(tuple(map(int, numbers.split())))
        first_questions.append(first_questions[-1] + len(bounds[-1]))
    trees, leaves = [], []
    for line in lines[blank + 1 :]:
        nodes: list[Node] = []
        tree_leaves: list[int] = []
        words = line.split()
        _read_tree(iter(words), nodes, tree_leaves, first_questions, len(words) // 2)
        trees.append(tuple(nodes))
        leaves.append(tuple(tree_leaves))
    questions = tuple((feature, bound) for feature, feature_bounds in enumerate(bounds) for bound in feature_bounds)
    return Forest(tuple(names), tuple(bounds), questions, tuple(trees), tuple(leaves), scale, offset)


def _read_tree(
    words: Iterator[str], nodes: list[Node], leaves: list[int], first_questions: Sequence[int], question_count: int
) -> int:
    """Append the nodes of a subtree to `nodes` and its leaves to `leaves`; return the position of its root.

    `first_questions` has the number of each feature's first question. The positions of leaves follow those of the
    tree's `question_count` questions.
    """
    feature, separator, bound = next(words).partition(".")
    if not separator:
        leaves.append(int(feature))
        return question_count + len(leaves) - 1
    position = len(nodes)
    nodes.append((0, 0, 0))
    yes = _read_tree(words, nodes, leaves, first_questions, question_count)
    no = _read_tree(words, nodes, leaves, first_questions, question_count)
    nodes[position] = (first_questions[int(feature)] + int(bound), yes, no)
    return position


FOREST_SEPARATOR = "\n\n----\n\n"
"""The separator between the two forests in `weights.txt`."""


def read_weights() -> bytes:
    """Return the bytes of `weights.txt`, a file in this package."""
    return get_data("windrow.content", "weights.txt") or b""


@cache
def load_forests() -> tuple[Forest, Forest]:
    """Return the first and the second forest, which are read once in each process."""
    first, second = map(read_forest, read_weights().decode().split(FOREST_SEPARATOR))
    return first, second
