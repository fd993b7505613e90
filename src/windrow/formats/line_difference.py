"""Compare two texts line by line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from windrow.model import DiffLine

MAX_COMPARED_LINES = 4_000
"""The maximum number of lines of a changed part that are compared; in a longer part, all lines count as changed."""


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
        yield from (DiffLine("-", text) for text in removed)
        yield from (DiffLine("+", text) for text in added)
    else:
        for operation, old_start, old_end, new_start, new_end in SequenceMatcher(None, removed, added).get_opcodes():
            if operation == "equal":
                yield from (DiffLine(" ", text) for text in added[new_start:new_end])
            else:
                yield from (DiffLine("-", text) for text in removed[old_start:old_end])
                yield from (DiffLine("+", text) for text in added[new_start:new_end])
    yield from (DiffLine(" ", text) for text in new[len(new) - tail_count :])


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
