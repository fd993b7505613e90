"""Mark the words that differ between an old line and the new one that took its place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from windrow.model import DiffLine

_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
_MAX_COMPARED_WORDS = 2_000  # of a pair of lines; longer lines are shown without marks
_LEAST_SHARE = 0.3  # of equal words: lines with less in common are different lines


class MarkedLine(NamedTuple):
    """A line of a difference, as pieces: (text, whether it differs from the line on the other side)."""

    sign: str
    pieces: tuple[tuple[str, bool], ...]


def mark_words(lines: Iterable[DiffLine]) -> list[MarkedLine]:
    """Return the lines of a comparison with the words marked that were changed within a line.

    >>> [line.pieces for line in mark_words([DiffLine("-", "every hour, daily"), DiffLine("+", "every day, daily")])]
    [(('every ', False), ('hour', True), (', daily', False)), (('every ', False), ('day', True), (', daily', False))]
    """
    marked: list[MarkedLine] = []
    removed: list[str] = []
    added: list[str] = []
    for sign, text in [*lines, DiffLine(" ", "")]:
        if sign == "-" and not added:
            removed.append(text)
        elif sign == "+":
            added.append(text)
        else:
            marked += _mark_block(removed, added)
            removed, added = ([text], []) if sign == "-" else ([], [])
            if sign != "-":
                marked.append(MarkedLine(sign, ((text, False),)))
    return marked[:-1]


def _mark_block(removed: Sequence[str], added: Sequence[str]) -> list[MarkedLine]:
    pairs = [_mark_pair(old, new) for old, new in zip(removed, added, strict=False)]
    old_lines = [*(old for old, _ in pairs), *(((text, False),) for text in removed[len(pairs) :])]
    new_lines = [*(new for _, new in pairs), *(((text, False),) for text in added[len(pairs) :])]
    return [*(MarkedLine("-", old) for old in old_lines), *(MarkedLine("+", new) for new in new_lines)]


def _mark_pair(old: str, new: str) -> tuple[tuple[tuple[str, bool], ...], tuple[tuple[str, bool], ...]]:
    old_words, new_words = _WORDS.findall(old), _WORDS.findall(new)
    plain = ((old, False),), ((new, False),)
    if len(old_words) + len(new_words) > _MAX_COMPARED_WORDS:
        return plain
    matcher = SequenceMatcher(None, old_words, new_words, autojunk=False)
    if matcher.ratio() < _LEAST_SHARE:
        return plain
    sides: tuple[list[tuple[str, bool]], list[tuple[str, bool]]] = ([], [])
    for tag, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        for side, words in zip(sides, (old_words[old_start:old_end], new_words[new_start:new_end]), strict=True):
            if words:
                side.append(("".join(words), tag != "equal"))
    return tuple(sides[0]), tuple(sides[1])
