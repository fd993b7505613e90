"""Find which blocks of a page a person's copy of its main content was made of."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence

WORD = re.compile(r"\w+")
_RUN = 3  # words in a row that are looked for
_NEAR = 60  # words before the first and behind the last sure block where short blocks may lie


def tokens(text: str) -> list[str]:
    """Return the words that the score counts.

    >>> tokens("It's 3 o'clock")
    ['it', 's', '3', 'o', 'clock']
    """
    return WORD.findall(text.lower())


def align(blocks: Sequence[Sequence[str]], gold: Sequence[str]) -> list[float]:
    """Return the share of each block's words that is in the gold text, from 0 to 1; -1 for a block without words.

    Long blocks are placed by runs of three words that occur once, in the gold's order. A block of up to three words
    counts if the gold has it between the places of its neighbours, so that a menu's "Home" is not found in the
    middle of an article. A word of the gold is not counted twice.
    """
    frame = _Frame(blocks, gold)
    frame.find_long()
    frame.hold()
    frame.take_copies()
    frame.find_short()
    return frame.share


class _Frame:
    def __init__(self, blocks: Sequence[Sequence[str]], gold: Sequence[str]) -> None:
        self.blocks, self.gold = blocks, gold
        self.share = [0.0 if block else -1.0 for block in blocks]
        self.place: list[int | None] = [None] * len(blocks)
        self.held: list[int] = []
        self.used = [False] * len(gold)
        self.left = Counter(gold)

    def find_long(self) -> None:
        """Measure the blocks of more than three words, and place those that have a run of their own."""
        runs: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for at in range(len(self.gold) - _RUN + 1):
            runs[tuple(self.gold[at : at + _RUN])].append(at)
        for number, block in enumerate(self.blocks):
            if len(block) <= _RUN:
                continue
            inside = [False] * len(block)
            place = None
            for at in range(len(block) - _RUN + 1):
                positions = runs.get(tuple(block[at : at + _RUN]))
                if positions:
                    inside[at : at + _RUN] = [True] * _RUN
                    if place is None and len(positions) == 1:
                        place = positions[0] - at
            self.share[number] = sum(inside) / len(block)
            if self.share[number] > 0.6:
                self.place[number] = place

    def hold(self) -> None:
        """Keep the longest chain of placed blocks that stands in the gold's order."""
        ends: list[int] = []
        last: list[int] = []
        before: dict[int, int | None] = {}
        for number, place in enumerate(self.place):
            if place is None:
                continue
            at = bisect_right(ends, place)
            before[number] = last[at - 1] if at else None
            ends[at : at + 1], last[at : at + 1] = [place], [number]
        link = last[-1] if last else None
        while link is not None:
            self.held.append(link)
            link = before[link]
        self.held.reverse()
        for number in self.held:
            place = self.place[number] or 0
            for at in range(max(place, 0), min(len(self.gold), place + len(self.blocks[number]))):
                self.used[at] = True
            self.left.subtract(self.blocks[number])

    def take_copies(self) -> None:
        """Count a long block that stands elsewhere only as far as the gold still has its words."""
        held = set(self.held)
        for number, block in enumerate(self.blocks):
            if number in held or len(block) <= _RUN or self.share[number] <= 0.5:
                continue
            have = sum(min(many, max(0, self.left[word])) for word, many in Counter(block).items()) / len(block)
            if have > 0.6:
                self.left.subtract(block)
            else:
                self.share[number] = min(self.share[number], have)

    def find_short(self) -> None:
        """Look for short blocks between their neighbours."""
        first: dict[str, list[int]] = defaultdict(list)
        for at, word in enumerate(self.gold):
            first[word].append(at)
        for number, block in enumerate(self.blocks):
            if not block or len(block) > _RUN:
                continue
            low, high = self._between(number)
            for at in first.get(block[0], ()):
                end = at + len(block)
                if low <= at < high and list(self.gold[at:end]) == list(block) and not self.used[at]:
                    self.used[at:end] = [True] * len(block)
                    self.share[number] = 1.0
                    break

    def _between(self, number: int) -> tuple[int, int]:
        held = self.held
        if not held:
            return 0, len(self.gold)
        at = bisect_left(held, number)
        low = (self.place[held[at - 1]] or 0) + len(self.blocks[held[at - 1]]) - 3 if at else 0
        high = (self.place[held[at]] or 0) + 3 if at < len(held) else len(self.gold)
        if at == 0:
            low = max(0, high - _NEAR - 3 * (held[0] - number))
        if at == len(held):
            high = min(high, low + _NEAR + 3 * (number - held[-1]))
        return low, high
