"""The forest's arithmetic on large integers gives the sums of trees walked one by one."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.content.features import FIRST_FEATURE_NAMES, SECOND_FEATURE_NAMES
from windrow.content.forest import Forest, estimate_probabilities, load_forests, read_forest

SMALL = read_forest("0.01 -1\npage: 5\nbox: 1 2 3\nblock: 0\nbit: 0\n\n0.0 1.1 10 20 2.0 0 300\n1.0 3.0 1 2 1.2 3 4")
Block = tuple[int, int, int]


class Rows:
    """Features by name for some blocks."""

    def __init__(self, page: int, blocks: list[Block]) -> None:
        self.page = page
        self.blocks = blocks
        self.count = len(blocks)

    def of_page(self, name: str) -> int | None:
        return self.page if name == "page" else None

    def of_block(self, name: str) -> bytes:
        return bytes([self.value(name, at) for at in range(self.count)])

    def value(self, name: str, at: int) -> int:
        box, block, bits = self.blocks[at]
        return {"page": self.page, "box": box, "block": block, "bit": bits >> 2 & 1}[name]


def score_by_walking(forest: Forest, rows: Rows, at: int) -> float:
    asked = [(name, bound) for name, bounds in zip(forest.features, forest.bounds, strict=True) for bound in bounds]
    total = 0
    for tree, leaves in zip(forest.trees, forest.leaves, strict=True):
        place = 0
        while place < len(tree):
            question, yes, no = tree[place]
            name, bound = asked[question]
            place = yes if rows.value(name, at) <= bound else no
        total += leaves[place - len(tree)]
    return 1 / (1 + math.exp(-(total * forest.scale + forest.offset)))


blocks = st.tuples(st.integers(0, 4), st.integers(0, 1), st.integers(0, 2000))


@given(st.integers(0, 10), st.lists(blocks, max_size=60))
def test_many_at_once_as_one_by_one(page: int, blocks: list[Block]) -> None:
    rows = Rows(page, blocks)
    assert estimate_probabilities(SMALL, rows) == [score_by_walking(SMALL, rows, at) for at in range(len(blocks))]


@pytest.mark.parametrize("apart", [8, 3000])
def test_more_blocks_than_fit_side_by_side(apart: int) -> None:
    rows = Rows(3, [(n % 5, n % 2, n % apart) for n in range(3000)])
    assert estimate_probabilities(SMALL, rows) == [score_by_walking(SMALL, rows, at) for at in range(3000)]


@pytest.mark.parametrize(
    ("forest", "names"),
    [*zip(load_forests(), (FIRST_FEATURE_NAMES, (*FIRST_FEATURE_NAMES, *SECOND_FEATURE_NAMES)), strict=True)],
)
def test_the_forests_that_are_shipped_are_whole(forest: Forest, names: tuple[str, ...]) -> None:
    assert set(forest.features) <= set(names)
    assert sum(map(max, forest.leaves)) < 2**16
    assert all(len(leaves) == len(tree) + 1 for tree, leaves in zip(forest.trees, forest.leaves, strict=True))
    assert all(list(bounds) == sorted(set(bounds)) and max(bounds) < 255 for bounds in forest.bounds)
