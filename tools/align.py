"""Find the blocks of a page that are in a person's copy of its main content, the gold text."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence

WORD = re.compile(r"\w+")
_RUN = 3  # words in a row that are searched for in the gold text
_NEAR = 60  # words before the first and after the last placed block in which short blocks are searched for


def tokens(text: str) -> list[str]:
    """Return the words of a text that the score counts.

    >>> tokens("It's 3 o'clock")
    ['it', 's', '3', 'o', 'clock']
    """
    return WORD.findall(text.lower())


def align(blocks: Sequence[Sequence[str]], gold: Sequence[str]) -> list[float]:
    """Return the share of each block's words that is in the gold text, from 0 to 1; -1 for a block without words.

    A block of more than three words is placed where the gold text has one of its runs of three words, if it has the run
    only once and in the order of the blocks. A shorter block counts if the gold text has it between the blocks that are
    placed before and after it, so that a menu's "Home" is not found in the middle of an article. A word of the gold
    text is not counted twice.
    """
    alignment = _Alignment(blocks, gold)
    alignment.measure_long()
    alignment.choose_chain()
    alignment.limit_copies()
    alignment.find_short()
    return alignment.share


class _Alignment:
    """The blocks and the gold text: `place` is a block's first word in the gold text, `chain` the placed blocks."""

    def __init__(self, blocks: Sequence[Sequence[str]], gold: Sequence[str]) -> None:
        self.blocks, self.gold = blocks, gold
        self.share = [0.0 if block else -1.0 for block in blocks]
        self.place: list[int | None] = [None] * len(blocks)
        self.chain: list[int] = []  # indexes of blocks
        self.used = [False] * len(gold)
        self.remaining = Counter(gold)  # words that no block was counted for

    def measure_long(self) -> None:
        """Measure the blocks of more than three words, and place those that have a run which occurs once."""
        runs: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for offset in range(len(self.gold) - _RUN + 1):
            runs[tuple(self.gold[offset : offset + _RUN])].append(offset)
        for number, block in enumerate(self.blocks):
            if len(block) <= _RUN:
                continue
            inside = [False] * len(block)
            place = None
            for offset in range(len(block) - _RUN + 1):
                gold_offsets = runs.get(tuple(block[offset : offset + _RUN]))
                if gold_offsets:
                    inside[offset : offset + _RUN] = [True] * _RUN
                    if place is None and len(gold_offsets) == 1:
                        place = gold_offsets[0] - offset
            self.share[number] = sum(inside) / len(block)
            if self.share[number] > 0.6:
                self.place[number] = place

    def choose_chain(self) -> None:
        """Choose the longest chain of placed blocks that have the same order in the page and in the gold text."""
        ends: list[int] = []  # by length of a chain, the lowest place at which such a chain ends
        last: list[int] = []  # the block at that place
        before: dict[int, int | None] = {}
        for number, place in enumerate(self.place):
            if place is None:
                continue
            length = bisect_right(ends, place)
            before[number] = last[length - 1] if length else None
            ends[length : length + 1], last[length : length + 1] = [place], [number]
        link = last[-1] if last else None
        while link is not None:
            self.chain.append(link)
            link = before[link]
        self.chain.reverse()
        for number in self.chain:
            place = self.place[number] or 0
            for offset in range(max(place, 0), min(len(self.gold), place + len(self.blocks[number]))):
                self.used[offset] = True
            self.remaining.subtract(self.blocks[number])

    def limit_copies(self) -> None:
        """Lower the share of each long block outside the chain to that of its words which the gold text still has."""
        chain = set(self.chain)
        for number, block in enumerate(self.blocks):
            if number in chain or len(block) <= _RUN or self.share[number] <= 0.5:
                continue
            counts = Counter(block).items()
            available = sum(min(count, max(0, self.remaining[word])) for word, count in counts) / len(block)
            if available > 0.6:
                self.remaining.subtract(block)
            else:
                self.share[number] = min(self.share[number], available)

    def find_short(self) -> None:
        """Find each block of up to three words in the gold text, between the nearest blocks of the chain."""
        offsets: dict[str, list[int]] = defaultdict(list)
        for offset, word in enumerate(self.gold):
            offsets[word].append(offset)
        for number, block in enumerate(self.blocks):
            if not block or len(block) > _RUN:
                continue
            low, high = self._range_of(number)
            for offset in offsets.get(block[0], ()):
                end = offset + len(block)
                if low <= offset < high and list(self.gold[offset:end]) == list(block) and not self.used[offset]:
                    self.used[offset:end] = [True] * len(block)
                    self.share[number] = 1.0
                    break

    def _range_of(self, number: int) -> tuple[int, int]:
        """Return the offsets in the gold text between which the short block `number` may begin."""
        chain = self.chain
        if not chain:
            return 0, len(self.gold)
        index = bisect_left(chain, number)
        low = (self.place[chain[index - 1]] or 0) + len(self.blocks[chain[index - 1]]) - 3 if index else 0
        high = (self.place[chain[index]] or 0) + 3 if index < len(chain) else len(self.gold)
        if index == 0:
            low = max(0, high - _NEAR - 3 * (chain[0] - number))
        if index == len(chain):
            high = min(high, low + _NEAR + 3 * (number - chain[-1]))
        return low, high
