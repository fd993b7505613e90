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
from operator import mul
from typing import NamedTuple, Protocol

Column = Sequence[float]
Node = tuple[int, int, int]
"""A question's number, then the places of what follows a yes and a no: questions first, the leaves behind them."""

_MOST = 254  # boxes side by side: one byte numbers them, and 255 says: not a block
_WIDEST = 1_000  # blocks side by side
_NO = b"\xff"
_LOW = [bytes(number <= bound for number in range(255)) + b"\0" for bound in range(255)]


@dataclass(frozen=True, slots=True)
class Forest:
    """Trees that ask whether a trait is at most so much."""

    traits: tuple[str, ...]
    bounds: tuple[tuple[float, ...], ...]
    """For each trait, in ascending order, the bounds that it is compared with; a question is one bound of one trait,
    and they are numbered through."""
    trees: tuple[tuple[Node, ...], ...]
    """The first node is the root."""
    leaves: tuple[tuple[int, ...], ...]
    """For each tree; from 0. Their sum over all trees stays below 65,536."""
    scale: float
    """What a unit of the sum is worth, in log odds."""
    offset: float
    """The log odds of a sum of 0."""


class Source(Protocol):
    """Where the forest finds the traits it asks for."""

    homes: Sequence[int]
    """For each block, the place of its box in the columns of boxes."""

    def of_page(self, name: str) -> float | None:
        """Return a trait of the page, None where it is not one."""
        ...

    def of_bit(self, name: str) -> tuple[Sequence[int], int] | None:
        """Return for a yes or no of boxes the integer of each box and the bit that counts; else None."""
        ...

    def of_box(self, name: str) -> Column | None:
        """Return a trait of boxes, None where it is not one."""
        ...

    def of_block(self, name: str) -> Column:
        """Return a trait of blocks."""
        ...


def judge(forest: Forest, source: Source) -> list[float]:
    """Return for each block the probability that the forest gives it."""
    columns = [_column(name, source) for name in forest.traits]
    homes = source.homes
    sums = array("H")
    while len(sums) < len(homes):
        start = len(sums)
        seats = _Seats(homes, start)
        sets: list[int] = []
        for column, bounds in zip(columns, forest.bounds, strict=True):
            sets += seats.sets(column, bounds)
        sums.frombytes(_total(forest, seats.whole, sets).to_bytes(2 * seats.count, "little"))
    return [1.0 / (1.0 + math.exp(-(total * forest.scale + forest.offset))) for total in sums]


class _Column(NamedTuple):
    """A trait: one number, or a number for each box or block, or a bit of an integer for each box."""

    values: Column
    sort: int
    bit: int = 0


_PAGE, _BIT, _BOX, _BLOCK = range(4)


def _column(name: str, source: Source) -> _Column:
    page = source.of_page(name)
    if page is not None:
        return _Column([page], _PAGE)
    bit = source.of_bit(name)
    if bit is not None:
        return _Column(bit[0], _BIT, bit[1])
    box = source.of_box(name)
    return _Column(source.of_block(name), _BLOCK) if box is None else _Column(box, _BOX)


class _Seats:
    """The blocks that are judged side by side, and sets of them."""

    __slots__ = ("_apart", "_boxes", "_own", "_start", "count", "whole")

    def __init__(self, homes: Sequence[int], start: int) -> None:
        """Seat the blocks from this one on: as many as lie in `_MOST` boxes, and no more than `_WIDEST`."""
        own = homes[start : start + _WIDEST]
        numbers = sorted(set(own))
        if len(numbers) > _MOST:
            own = own[:_MOST]
            numbers = sorted(set(own))
        self._start = start
        self._own = numbers
        self.count = len(own)
        self.whole = int.from_bytes(b"\1\0" * self.count, "little")
        place = {home: at for at, home in enumerate(numbers)}
        self._boxes = self._spread(bytes([place[home] for home in own]))
        self._apart: dict[int, tuple[list[int], bytes]] = {}

    def sets(self, column: _Column, bounds: Sequence[float]) -> list[int]:
        """Return for each bound the set of the blocks whose trait is at most so much."""
        values, sort, bit = column
        if sort == _PAGE:
            return [self.whole if values[0] <= bound else 0 for bound in bounds]
        if sort == _BIT:
            return [self._without(values, bit)] * len(bounds)
        if sort == _BOX:
            own = values if len(values) == len(self._own) else [values[home] for home in self._own]
            ranked = self._boxes.translate(_ranks(own, bounds).ljust(256, _NO))
        else:
            ranked = self._spread(_ranks(values[self._start : self._start + self.count], bounds))
        return [int.from_bytes(ranked.translate(low), "little") for low in _LOW[: len(bounds)]]

    def _without(self, values: Column, bit: int) -> int:
        """Return the set of the blocks whose box has not this bit in its integer; few boxes' integers differ."""
        known = self._apart.get(id(values))
        if known is None:
            own = [int(values[home]) for home in self._own]
            apart = list(dict.fromkeys(own))
            place = {value: at for at, value in enumerate(apart)}
            known = (apart, self._boxes.translate(bytes([place[value] for value in own]).ljust(256, _NO)))
            self._apart[id(values)] = known
        apart, seats = known
        table = bytes([0 if value & bit else 1 for value in apart]).ljust(256, b"\0")
        return int.from_bytes(seats.translate(table), "little")

    @staticmethod
    def _spread(values: bytes) -> bytes:
        """Give each block its two bytes: its value, and what is never in a set."""
        found = bytearray(_NO) * (2 * len(values))
        found[::2] = values
        return bytes(found)


def _ranks(values: Column, bounds: Sequence[float]) -> bytes:
    """Return how many bounds lie below each value; many values are equal."""
    apart = dict.fromkeys(values, 0)
    for value in apart:
        apart[value] = bisect_left(bounds, value)
    return bytes(map(apart.__getitem__, values))


def _total(forest: Forest, whole: int, sets: Sequence[int]) -> int:
    """Add up all trees: two bytes for each block."""
    total = 0
    for tree, leaves in zip(forest.trees, forest.leaves, strict=True):
        inside = [whole] * (len(tree) + len(leaves))
        for at, (question, yes, no) in enumerate(tree):
            here = inside[at]
            inside[yes] = both = here & sets[question]
            inside[no] = here ^ both
        total += sum(map(mul, inside[len(tree) :], leaves))
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
        bounds.append(tuple(map(float, numbers.split())))
        starts.append(starts[-1] + len(bounds[-1]))
    trees, leaves = [], []
    for line in lines[blank + 1 :]:
        nodes: list[Node] = []
        values: list[int] = []
        words = line.split()
        _plant(iter(words), nodes, values, starts, len(words) // 2)
        trees.append(tuple(nodes))
        leaves.append(tuple(values))
    return Forest(tuple(names), tuple(bounds), tuple(trees), tuple(leaves), scale, offset)


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
