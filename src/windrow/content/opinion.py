"""What a first judgement of all blocks says of each block's surroundings, as grades for the second judgement."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import accumulate, repeat
from operator import add, mul, sub

from windrow.content.view import ABOVE, View, counted, picker

_STEPS = 50
_NEAR = 5  # blocks on both sides
_SURE, _PROSE = 0.7, 12
"""A block of so many words that is so likely is surely of the text."""
CENTRES = (0.5, 0.8)
"""Of all that is likely, to find the innermost box that holds as much: the box of the text."""
_BEFORE, _BEHIND = 1, 2


class Likelihoods:
    """Likelihoods of blocks, and their means by box, each block weighed by its words; both in grades too."""

    __slots__ = ("by_box", "centres", "graded", "likely", "mass", "view", "words")

    def __init__(self, view: View, likely: Sequence[float]) -> None:
        """Sum up the likelihoods of the blocks that were judged."""
        boxes, words = view.outline.boxes, view.outline.blocks.words
        self.view = view
        self.likely = likely
        self.words = view.keep(words)
        """Of the blocks judged."""
        self.mass = list(map(mul, likely, self.words))
        taken, wished = [0.0] * len(words), [0.0] * len(words)
        for at, size, mass in zip(view.kept, self.words, self.mass, strict=True):
            taken[at], wished[at] = size, mass
        first, last = picker(boxes.first), picker(boxes.last)
        sums = []
        for column in (taken, wished):
            running = list(accumulate(column, initial=0.0))
            sums.append(map(sub, last(running), first(running)))
        self.graded = _grade(likely)
        whole, held = map(list, sums)
        self.by_box = _grade([mass / size if size else 0.0 for size, mass in zip(whole, held, strict=True)])
        self.centres = {share: _centre(held, boxes.depth, share) for share in CENTRES}
        """For each of `CENTRES`, the box."""


Trait = Callable[[Likelihoods], bytes]


def _grade(values: Iterable[float]) -> bytes:
    """Return grades from 1 to 51; likelihoods need no finer ones."""
    return bytes(map(int, map(add, map(mul, values, repeat(_STEPS)), repeat(1.5))))


def _shift(opinion: Likelihoods, by: int) -> bytes:
    own = opinion.graded
    edge = bytes(min(abs(by), len(own)))
    return own[by:] + edge if by > 0 else edge + own[: len(own) + by]


def _box(opinion: Likelihoods, steps: int) -> bytes:
    return bytes(opinion.view.above[steps](opinion.by_box))


def _repeated(opinion: Likelihoods) -> bytes:
    return bytes(map(opinion.by_box.__getitem__, opinion.view.above[0](opinion.view.around.repeated)))


def _path(opinion: Likelihoods) -> bytes:
    """Return the mean of the blocks in boxes of one path."""
    paths = opinion.view.above[0](opinion.view.outline.boxes.path)
    taken, wished = dict.fromkeys(paths, 0.0), dict.fromkeys(paths, 0.0)
    for path, size, mass in zip(paths, opinion.words, opinion.mass, strict=True):
        taken[path] += size
        wished[path] += mass
    return _grade([wished[path] / taken[path] for path in paths])


def _near(opinion: Likelihoods) -> bytes:
    """Return the mean of the blocks around."""
    count = len(opinion.words)
    taken = list(accumulate(opinion.words, initial=0))
    wished = list(accumulate(opinion.mass, initial=0.0))
    low = [0] * min(_NEAR, count) + list(range(count - _NEAR))
    high = [*range(_NEAR + 1, count + 1), *repeat(count, min(_NEAR, count))]
    return _grade([(wished[b] - wished[a]) / (taken[b] - taken[a]) for a, b in zip(low, high, strict=True)])


def _centre(held: Sequence[float], depth: Sequence[int], share: float) -> int:
    """Return the innermost box that holds more than this share of the whole."""
    least = held[0] * share
    return max((at for at, mass in enumerate(held) if mass >= least), key=depth.__getitem__)


def _side(opinion: Likelihoods, share: float) -> bytes:
    """Tell whether a block lies in the box of the text, before, or behind it."""
    boxes, centre = opinion.view.outline.boxes, opinion.centres[share]
    first, last = boxes.first[centre], boxes.last[centre]
    kept = opinion.view.kept  # in the page's order
    before, behind = bisect_left(kept, first), len(kept) - bisect_left(kept, last)
    return bytes((_BEFORE,)) * before + bytes(len(kept) - before - behind) + bytes((_BEHIND,)) * behind


def _behind(opinion: Likelihoods, share: float) -> bytes:
    """Count the blocks that are judged since the end of the box of the text."""
    last = opinion.view.outline.boxes.last[opinion.centres[share]]
    kept = opinion.view.kept
    until = bisect_left(kept, last)
    return bytes(until) + counted([at - last + 1 for at in kept[until:]])


def _apart(opinion: Likelihoods, share: float) -> bytes:
    """Count the boxes between a block's own and the box of the text that it lies in, or the one around both."""
    boxes, centre = opinion.view.outline.boxes, opinion.centres[share]
    around = {centre: 0}
    steps = 0
    while centre > 0:
        centre = boxes.up[centre]
        steps += 1
        around[centre] = steps
    homes = opinion.view.keep(opinion.view.outline.blocks.box)
    distances: dict[int, int] = {}
    for home in set(homes):
        box = home
        while box not in around:
            box = boxes.up[box]
        distances[home] = around[box]
    return counted(list(map(distances.__getitem__, homes)))


def _since(opinion: Likelihoods, *, words: bool, back: bool) -> bytes:
    """Count the blocks, or words, to the last or the next sure one."""
    told = []
    gone = 9_999
    order = zip(opinion.likely, opinion.words, strict=True)
    for chance, size in reversed(list(order)) if back else order:
        if chance >= _SURE and size >= _PROSE:
            gone = 0
        told.append(gone)
        gone += size if words else 1
    return counted(told[::-1] if back else told)


OF_OPINION: dict[str, Trait] = {
    "likely": lambda opinion: opinion.graded,
    **{f"likely {by:+}": partial(_shift, by=by) for by in (-2, -1, 1, 2)},
    **{f"likely box {steps}": partial(_box, steps=steps) for steps in range(ABOVE)},
    "likely repeated": _repeated,
    "likely path": _path,
    "likely near": _near,
    "likely page": lambda opinion: opinion.by_box[:1] * len(opinion.likely),
    **{f"side {share}": partial(_side, share=share) for share in CENTRES},
    **{f"behind {share}": partial(_behind, share=share) for share in CENTRES},
    **{f"apart {share}": partial(_apart, share=share) for share in CENTRES},
    "sure since": partial(_since, words=False, back=False),
    "sure until": partial(_since, words=False, back=True),
    "sure words": partial(_since, words=True, back=False),
    "likely most": lambda opinion: bytes([max(opinion.graded)]) * len(opinion.likely),
}
