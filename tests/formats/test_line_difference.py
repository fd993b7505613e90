"""Two texts compared line by line: complete whatever they are, and in a bounded number of steps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.formats import line_difference
from windrow.formats.line_difference import compare_lines

TEXTS = st.lists(st.sampled_from("abcdefgh"), max_size=40)


@given(old=TEXTS, new=TEXTS, most=st.sampled_from([0, 5, 50, 2_000]))
def test_a_difference_has_all_lines_of_both_texts_in_order(old: list[str], new: list[str], most: int) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(line_difference, "MAX_COMPARED_PAIRS", most)
        lines = compare_lines(old, new, context=len(old) + len(new)).lines
    if old == new:
        assert lines == ()
        return
    assert [line.text for line in lines if line.sign != "+"] == old
    assert [line.text for line in lines if line.sign != "-"] == new


def count_steps(monkeypatch: pytest.MonkeyPatch, old: list[str], new: list[str]) -> int:
    """Return how many pairs of equal lines all parts have that are compared in every way."""
    pairs = [0]

    class Counting(line_difference.SequenceMatcher):  # type: ignore[type-arg]
        def __init__(self, junk: None, removed: list[str], added: list[str]) -> None:
            super().__init__(junk, removed, added)
            pairs.append(sum(len(self.b2j.get(text, ())) for text in removed) * len(removed))

    monkeypatch.setattr(line_difference, "SequenceMatcher", Counting)
    compare_lines(old, new, context=0)
    return max(pairs)


@pytest.mark.parametrize("texts", [1, 3, 49, 100, 995, 1_990])
def test_repeated_lines_between_new_ones_take_few_steps(monkeypatch: pytest.MonkeyPatch, texts: int) -> None:
    old, new = (
        [line for number in range(1_990) for line in (f"text {number % texts}", f"{edition} {number}")]
        for edition in ("first", "second")
    )
    assert count_steps(monkeypatch, old, new) <= 2_000**2


def test_lines_that_are_there_once_divide_a_large_text() -> None:
    old = [line for number in range(1_500) for line in (f"line {number}", "same", f"first {number}")][:3_900]
    new = [line for number in range(1_500) for line in (f"line {number}", "same", f"second {number}")][:3_900]
    difference = compare_lines(old, new, context=0)
    assert (difference.added, difference.removed) == (1_300, 1_300)
