"""Compare two texts line by line."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from windrow.model import DiffLine

MAX_COMPARED_LINES = 4_000
"""The maximum number of lines of a changed part that are compared; in a longer part, all lines count as changed."""

MAX_COMPARED_PAIRS = 2_000
"""The maximum number of lines, and of pairs of equal lines, of a part that is compared in every way.

The time grows with the product of both. A larger part is divided at the lines that it has once in each text.
"""


class LineDifference(NamedTuple):
    """Changed lines with the lines around them, and the numbers of added and removed lines."""

    lines: tuple[DiffLine, ...]
    added: int
    removed: int


def compare_lines(old: Sequence[str], new: Sequence[str], *, context: int) -> LineDifference:
    """Compare two texts, given as lines; keep at most `context` unchanged lines before and after each change.

    >>> compare_lines(["a", "b"], ["a", "c"], context=0).lines[1]
    DiffLine(sign='-', text='b')
    """
    all_lines = list(_diff_lines(old, new))
    signs = [line.sign for line in all_lines]
    added, removed = signs.count("+"), signs.count("-")
    return LineDifference(tuple(_fold_unchanged(all_lines, context)) if added or removed else (), added, removed)


def _diff_lines(old: Sequence[str], new: Sequence[str]) -> Iterator[DiffLine]:
    """Yield every line of both texts, in order, with its sign: `-` removed, `+` added, or a space for unchanged."""
    head_count = _count_equal_lines(old, new)  # unchanged lines at the beginning
    tail_count = _count_equal_lines(old[head_count:][::-1], new[head_count:][::-1])  # unchanged lines at the end
    yield from (DiffLine(" ", text) for text in new[:head_count])
    removed, added = old[head_count : len(old) - tail_count], new[head_count : len(new) - tail_count]
    if max(len(removed), len(added)) > MAX_COMPARED_LINES:
        yield from _yield_changed(removed, added)
    else:
        anchors = [] if _count_pairs(removed, added) <= MAX_COMPARED_PAIRS else _find_anchors(removed, added)
        old_start = new_start = 0
        for old_index, new_index in anchors:
            yield from _diff_part(removed[old_start:old_index], added[new_start:new_index])
            yield DiffLine(" ", added[new_index])
            old_start, new_start = old_index + 1, new_index + 1
        yield from _diff_part(removed[old_start:], added[new_start:])
    yield from (DiffLine(" ", text) for text in new[len(new) - tail_count :])


def _diff_part(removed: Sequence[str], added: Sequence[str]) -> Iterator[DiffLine]:
    """Yield the lines of a part as `_diff_lines` does; if the part is too large, all its lines count as changed."""
    if _count_pairs(removed, added) > MAX_COMPARED_PAIRS:
        yield from _yield_changed(removed, added)
        return
    for operation, old_start, old_end, new_start, new_end in SequenceMatcher(None, removed, added).get_opcodes():
        if operation == "equal":
            yield from (DiffLine(" ", text) for text in added[new_start:new_end])
        else:
            yield from _yield_changed(removed[old_start:old_end], added[new_start:new_end])


def _yield_changed(removed: Sequence[str], added: Sequence[str]) -> Iterator[DiffLine]:
    yield from (DiffLine("-", text) for text in removed)
    yield from (DiffLine("+", text) for text in added)


def _count_pairs(removed: Sequence[str], added: Sequence[str]) -> int:
    """Return the number of lines of two texts that some line of the other equals, and of all pairs of equal lines."""
    counts = Counter(added)
    pairs = [counts[text] for text in removed if text in counts]
    return len(pairs) + sum(pairs)


def _find_anchors(removed: Sequence[str], added: Sequence[str]) -> list[tuple[int, int]]:
    """Return the most pairs (index in `removed`, index in `added`) of lines that are once in each, in order in both."""
    removed_counts, added_counts = Counter(removed), Counter(added)
    added_index = {text: index for index, text in enumerate(added) if added_counts[text] == 1}
    pairs = [
        (index, added_index[text])
        for index, text in enumerate(removed)
        if removed_counts[text] == 1 and text in added_index
    ]
    ends: list[int] = []  # the lowest last index in `added` of a chain, by the length of the chain
    last_pairs: list[int] = []  # the number of the pair with this index
    previous: list[int] = []
    for number, (_, new_index) in enumerate(pairs):
        length = bisect_left(ends, new_index)
        previous.append(last_pairs[length - 1] if length else -1)
        ends[length : length + 1] = [new_index]
        last_pairs[length : length + 1] = [number]
    chain: list[tuple[int, int]] = []
    number = last_pairs[-1] if last_pairs else -1
    while number >= 0:
        chain.append(pairs[number])
        number = previous[number]
    return chain[::-1]


def _count_equal_lines(left: Sequence[str], right: Sequence[str]) -> int:
    for index, (left_line, right_line) in enumerate(zip(left, right, strict=False)):
        if left_line != right_line:
            return index
    return min(len(left), len(right))


def _fold_unchanged(lines: Sequence[DiffLine], context: int) -> Iterator[DiffLine]:
    """Yield the lines; in place of lines that are more than `context` lines from any change, yield their number."""
    is_shown = [False] * len(lines)
    last_change = -context - 1
    for index, line in enumerate(lines):
        last_change = index if line.sign != " " else last_change
        is_shown[index] = index - last_change <= context
    next_change = len(lines) + context
    for index in range(len(lines) - 1, -1, -1):
        next_change = index if lines[index].sign != " " else next_change
        is_shown[index] = is_shown[index] or next_change - index <= context
    hidden_count = 0
    for index, line in enumerate(lines):
        if not is_shown[index]:
            hidden_count += 1
            continue
        if hidden_count:
            yield _describe_hidden(hidden_count)
        hidden_count = 0
        yield line
    if hidden_count:
        yield _describe_hidden(hidden_count)


def _describe_hidden(count: int) -> DiffLine:
    return DiffLine("@", f"{count:,} line{'s' * (count != 1)}")
