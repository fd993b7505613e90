"""Add up the trees of a boosted forest for many blocks of text at once, without a library of numbers.

Blocks are judged side by side: a set of blocks is one large integer, two bytes to a block, 1 for a block in the set.
A question of the forest ("is this trait at most so much?") is such a set, made by `bytes.translate`; a tree is walked
once for all blocks, splitting its set by `&` and `^`; a leaf adds its value to all its blocks by one multiplication.
Python's integers do this at the speed of C: a page of 300 blocks passes a tree in a few microseconds.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from typing import Protocol

Column = Sequence[float]
Node = tuple[int, int, int]
"""A question's number, then where each answer leads: a node's number, or a leaf's as its complement (`~leaf`)."""

MOST = 254  # blocks or boxes side by side: one byte numbers them, and 255 says: not a block
_NO = 255
_LOW = [bytes(1 if n <= bound else 0 for n in range(_NO)) + b"\0" for bound in range(_NO)]


@dataclass(frozen=True, slots=True)
class Forest:
    """Trees that ask whether a trait is at most so much."""

    traits: tuple[str, ...]
    bounds: tuple[tuple[float, ...], ...]
    """For each trait, in ascending order, the bounds that it is compared with."""
    questions: tuple[tuple[int, int], ...]
    """A trait's number and the number of one of its bounds."""
    trees: tuple[tuple[Node, ...], ...]
    """The first node is the root; yes comes first."""
    leaves: tuple[tuple[int, ...], ...]
    """For each tree; from 0. Their sum over all trees stays below 65,536."""
    scale: float
    """What a unit of the sum is worth, in log odds."""
    offset: float
    """The log odds of a sum of 0."""


def likelihood(forest: Forest, total: int) -> float:
    """Return the probability that a sum stands for."""
    return 1.0 / (1.0 + math.exp(-(total * forest.scale + forest.offset)))


class Source(Protocol):
    """Where the forest finds the traits it asks for."""

    homes: Sequence[int]
    """For each block, the place of its box in the columns of boxes."""

    def of_page(self, name: str) -> float | None:
        """Return a trait of the page, None where it is not one."""
        ...

    def of_box(self, name: str) -> Column | None:
        """Return a trait of boxes, None where it is not one."""
        ...

    def of_block(self, name: str) -> Column:
        """Return a trait of blocks."""
        ...


def judge(forest: Forest, source: Source) -> list[float]:
    """Return for each block the probability that the forest gives it."""
    traits = [_Trait(name, source) for name in forest.traits]
    homes = source.homes
    found: list[float] = []
    for start in range(0, len(homes), MOST):
        found += _side_by_side(forest, traits, homes[start : start + MOST], start)
    return found


class _Trait:
    """One trait of all blocks, computed when a question first needs it."""

    __slots__ = ("_column", "_name", "_source", "of_box", "value")

    def __init__(self, name: str, source: Source) -> None:
        self._name, self._source = name, source
        self.value = source.of_page(name)
        self.of_box = False
        self._column: Column | None = None

    def column(self) -> Column:
        """Return its values, by box or by block."""
        if self._column is None:
            column = self._source.of_box(self._name)
            self.of_box = column is not None
            self._column = self._source.of_block(self._name) if column is None else column
        return self._column


def _side_by_side(forest: Forest, traits: Sequence[_Trait], homes: Sequence[int], start: int) -> list[float]:
    count = len(homes)
    whole = int.from_bytes(b"\1\0" * count, "little")
    own = sorted(set(homes))
    seat = {home: at for at, home in enumerate(own)}
    seats = bytearray(b"\xff") * (2 * count)
    seats[::2] = bytes([seat[home] for home in homes])
    ranks: dict[int, bytes] = {}
    sets: dict[int, int] = {}

    def answer(question: int) -> int:
        number, bound = forest.questions[question]
        trait = traits[number]
        if trait.value is not None:
            yes = whole if trait.value <= forest.bounds[number][bound] else 0
        else:
            rank = ranks.get(number)
            if rank is None:
                rank = ranks[number] = _rank(trait, forest.bounds[number], own, seats, start, count)
            yes = int.from_bytes(rank.translate(_LOW[bound]), "little")
        sets[question] = yes
        return yes

    total = 0
    for tree, leaves in zip(forest.trees, forest.leaves, strict=True):
        waiting = [(0, whole)]
        while waiting:
            at, inside = waiting.pop()
            if at < 0:
                total += inside * leaves[~at]
                continue
            question, yes_to, no_to = tree[at]
            yes = sets.get(question)
            if yes is None:
                yes = answer(question)
            yes &= inside
            if yes:
                waiting.append((yes_to, yes))
            if yes != inside:
                waiting.append((no_to, inside ^ yes))
    sums = array("H", total.to_bytes(2 * count, "little"))
    return list(map(partial(likelihood, forest), sums))


def _rank(
    trait: _Trait, bounds: Sequence[float], own: Sequence[int], seats: bytearray, start: int, count: int
) -> bytes:
    """Return for each block, in its two bytes, how many bounds lie below its trait, and 255."""
    column = trait.column()
    if trait.of_box:
        ranks = bytes(map(bisect_left, repeat(bounds), [column[home] for home in own]))
        return bytes(seats).translate(ranks + bytes([_NO]) * (256 - len(ranks)))
    found = bytearray(b"\xff") * (2 * count)
    found[::2] = bytes(map(bisect_left, repeat(bounds), column[start : start + count]))
    return bytes(found)


def grown(text: str) -> Forest:
    """Read a forest as it is written down.

    The first line has scale and offset; then a line for each trait, its name, a colon and its bounds; an empty line;
    and a line for each tree, from the root down: a question as `trait.bound` by their numbers, followed by what comes
    at a yes and what comes at a no, and a leaf as its value.

    >>> grown("0.1 -3\\nwords: 4 9\\n\\n0.1 0 0.0 7 60").trees
    (((0, -1, 1), (1, -2, -3)),)
    """
    first, *lines = text.strip().splitlines()
    scale, offset = map(float, first.split())
    blank = lines.index("")
    traits = [line.rpartition(": ") for line in lines[:blank]]
    questions: dict[tuple[int, int], int] = {}
    trees, leaves = [], []
    for line in lines[blank + 1 :]:
        nodes: list[Node] = []
        values: list[int] = []
        _plant(iter(line.split()), nodes, values, questions)
        trees.append(tuple(nodes))
        leaves.append(tuple(values))
    bounds = tuple(tuple(map(float, numbers.split())) for _, _, numbers in traits)
    names = tuple(name for name, _, _ in traits)
    return Forest(names, bounds, tuple(questions), tuple(trees), tuple(leaves), scale, offset)


def _plant(words: Iterator[str], nodes: list[Node], leaves: list[int], questions: dict[tuple[int, int], int]) -> int:
    word = next(words)
    trait, point, bound = word.partition(".")
    if not point:
        leaves.append(int(word))
        return ~(len(leaves) - 1)
    question = questions.setdefault((int(trait), int(bound)), len(questions))
    at = len(nodes)
    nodes.append((question, 0, 0))
    yes = _plant(words, nodes, leaves, questions)
    nodes[at] = (question, yes, _plant(words, nodes, leaves, questions))
    return at
