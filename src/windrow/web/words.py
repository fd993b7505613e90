"""Mark the words that differ between an old line and the new one that took its place."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import NamedTuple

from windrow.model import DiffLine, TextChange

_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
_MAX_PAIR_WORK = 6_000  # words of a pair of lines, and pairs of equal words in them: at most about 0.5 s
_MAX_WORK = 30_000  # of all pairs of lines of a page; the lines beyond either maximum are shown without marks
_LEAST_SHARE = 0.3  # of equal words: lines with less in common are different lines


class MarkedLine(NamedTuple):
    """A line of a difference, as pieces: (text, whether it differs from the line on the other side)."""

    sign: str
    pieces: tuple[tuple[str, bool], ...]


class LinePair(NamedTuple):
    """A line of the old version and the line of the new version beside it; None where a version has none."""

    old: MarkedLine | None
    new: MarkedLine | None


def mark_words(lines: Iterable[DiffLine]) -> list[MarkedLine]:
    """Return the lines of a comparison with the words marked that were changed within a line.

    >>> [line.pieces for line in mark_words([DiffLine("-", "every hour, daily"), DiffLine("+", "every day, daily")])]
    [(('every ', False), ('hour', True), (', daily', False)), (('every ', False), ('day', True), (', daily', False))]
    """
    return _mark_lines(lines, _Marker())


def mark_changes(changes: Iterable[TextChange]) -> list[tuple[str, list[MarkedLine]]]:
    """Return the name of each field with its old and its new value as lines; an empty value is left out."""
    marker = _Marker()
    return [
        (change.field, _mark_lines([line for line in values if line.text], marker))
        for change in changes
        if (values := (DiffLine("-", change.before), DiffLine("+", change.after)))
    ]


def pair_lines(lines: Iterable[DiffLine]) -> list[LinePair]:
    """Return the lines of a comparison side by side, with the words marked as in `mark_words`.

    An unchanged line, or the sign that lines are left out, is the same object on both sides.

    >>> for old, new in pair_lines([DiffLine("-", "one"), DiffLine("+", "one"), DiffLine("+", "two")]):
    ...     print(old and old.pieces, new and new.pieces)
    (('one', False),) (('one', False),)
    None (('two', False),)
    """
    return [LinePair(*sides) for old, new in _mark_blocks(lines, _Marker()) for sides in zip_longest(old, new)]


def _mark_lines(lines: Iterable[DiffLine], marker: _Marker) -> list[MarkedLine]:
    return [line for old, new in _mark_blocks(lines, marker) for line in ([*old, *new] if old is not new else old)]


def _mark_blocks(lines: Iterable[DiffLine], marker: _Marker) -> Iterator[tuple[list[MarkedLine], list[MarkedLine]]]:
    """Yield removed lines with the lines added in their place; any other line by itself, as one list for both sides."""
    removed: list[str] = []
    added: list[str] = []
    for sign, text in [*lines, DiffLine("", "")]:
        if sign == "-" and not added:
            removed.append(text)
        elif sign == "+":
            added.append(text)
        else:
            yield _mark_block(removed, added, marker)
            removed, added = ([text], []) if sign == "-" else ([], [])
            if sign and sign != "-":
                unchanged = [MarkedLine(sign, ((text, False),))]
                yield unchanged, unchanged


def _mark_block(
    removed: Sequence[str], added: Sequence[str], marker: _Marker
) -> tuple[list[MarkedLine], list[MarkedLine]]:
    pairs = [marker.mark_pair(old, new) for old, new in zip(removed, added, strict=False)]
    old_lines = [*(old for old, _ in pairs), *(((text, False),) for text in removed[len(pairs) :])]
    new_lines = [*(new for _, new in pairs), *(((text, False),) for text in added[len(pairs) :])]
    return [MarkedLine("-", old) for old in old_lines], [MarkedLine("+", new) for new in new_lines]


class _Marker:
    """Marks the words of pairs of lines until they take too long: two lines of one word, repeated, take minutes."""

    def __init__(self) -> None:
        self._left = _MAX_WORK

    def mark_pair(self, old: str, new: str) -> tuple[tuple[tuple[str, bool], ...], tuple[tuple[str, bool], ...]]:
        old_words, new_words = _WORDS.findall(old), _WORDS.findall(new)
        plain = ((old, False),), ((new, False),)
        counts = Counter(word for word in new_words if not word.isspace())
        work = len(old_words) + len(new_words) + sum(counts[word] for word in old_words)
        if work > min(_MAX_PAIR_WORK, self._left):
            return plain
        self._left -= work
        # Spaces only belong to the words beside them: compared as words, they would take nearly all of the time.
        matcher = SequenceMatcher(str.isspace, old_words, new_words, autojunk=False)
        if matcher.ratio() < _LEAST_SHARE:
            return plain
        sides: tuple[list[tuple[str, bool]], list[tuple[str, bool]]] = ([], [])
        for tag, old_start, old_end, new_start, new_end in matcher.get_opcodes():
            for side, words in zip(sides, (old_words[old_start:old_end], new_words[new_start:new_end]), strict=True):
                if words:
                    side.append(("".join(words), tag != "equal"))
        return tuple(sides[0]), tuple(sides[1])
