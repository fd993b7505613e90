"""Features of the second forest, from the first forest's likelihoods of a block's surroundings."""

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
"""The least likelihood and words of a block that counts as certain."""
CENTRES = (0.5, 0.8)
"""Shares of the page's likely words; the box of the text is the innermost box that holds as much."""
_BEFORE, _BEHIND = 1, 2


class Likelihoods:
    """Likelihoods of blocks and their means by box, weighted by words; both also as grades."""

    __slots__ = ("by_box", "centres", "graded", "likely", "mass", "view", "words")

    def __init__(self, view: View, likely: Sequence[float]) -> None:
        boxes, words = view.outline.boxes, view.outline.blocks.words
        self.view = view
        self.likely = likely
        self.words = view.keep(words)
        """Of the judged blocks."""
        self.mass = list(map(mul, likely, self.words))
        sizes, masses = [0.0] * len(words), [0.0] * len(words)
        for block, size, mass in zip(view.kept, self.words, self.mass, strict=True):
            sizes[block], masses[block] = size, mass
        first, last = picker(boxes.first), picker(boxes.last)
        sums = []
        for column in (sizes, masses):
            cumulative = list(accumulate(column, initial=0.0))
            sums.append(map(sub, last(cumulative), first(cumulative)))
        self.graded = _grade(likely)
        box_sizes, box_masses = map(list, sums)
        self.by_box = _grade([mass / size if size else 0.0 for size, mass in zip(box_sizes, box_masses, strict=True)])
        self.centres = {share: _centre(box_masses, boxes.depth, share) for share in CENTRES}
        """The box of the text for each of `CENTRES`."""


Feature = Callable[[Likelihoods], bytes]


def _grade(values: Iterable[float]) -> bytes:
    """Return likelihoods as grades from 1 to 51; the grade 0 is for places outside the page."""
    return bytes(map(int, map(add, map(mul, values, repeat(_STEPS)), repeat(1.5))))


def _shift(likelihoods: Likelihoods, offset: int) -> bytes:
    grades = likelihoods.graded
    edge = bytes(min(abs(offset), len(grades)))
    return grades[offset:] + edge if offset > 0 else edge + grades[: len(grades) + offset]


def _box(likelihoods: Likelihoods, steps: int) -> bytes:
    return bytes(likelihoods.view.above[steps](likelihoods.by_box))


def _repeated(likelihoods: Likelihoods) -> bytes:
    return bytes(map(likelihoods.by_box.__getitem__, likelihoods.view.above[0](likelihoods.view.around.repeated)))


def _path(likelihoods: Likelihoods) -> bytes:
    """Return the mean over all blocks whose boxes have the same path."""
    paths = likelihoods.view.above[0](likelihoods.view.outline.boxes.path)
    sizes, masses = dict.fromkeys(paths, 0.0), dict.fromkeys(paths, 0.0)
    for path, size, mass in zip(paths, likelihoods.words, likelihoods.mass, strict=True):
        sizes[path] += size
        masses[path] += mass
    return _grade([masses[path] / sizes[path] for path in paths])


def _near(likelihoods: Likelihoods) -> bytes:
    """Return the mean over a block and its neighbours, `_NEAR` on each side."""
    count = len(likelihoods.words)
    sizes = list(accumulate(likelihoods.words, initial=0))
    masses = list(accumulate(likelihoods.mass, initial=0.0))
    starts = [0] * min(_NEAR, count) + list(range(count - _NEAR))
    ends = [*range(_NEAR + 1, count + 1), *repeat(count, min(_NEAR, count))]
    return _grade([(masses[b] - masses[a]) / (sizes[b] - sizes[a]) for a, b in zip(starts, ends, strict=True)])


def _centre(masses: Sequence[float], depth: Sequence[int], share: float) -> int:
    """Return the innermost box with at least this share of the page's mass."""
    least = masses[0] * share
    return max((box for box, mass in enumerate(masses) if mass >= least), key=depth.__getitem__)


def _side(likelihoods: Likelihoods, share: float) -> bytes:
    """Return whether a block is before the box of the text (1), in it (0) or after it (2)."""
    boxes, centre = likelihoods.view.outline.boxes, likelihoods.centres[share]
    first, last = boxes.first[centre], boxes.last[centre]
    kept = likelihoods.view.kept  # in the page's order
    count_before, count_after = bisect_left(kept, first), len(kept) - bisect_left(kept, last)
    return (
        bytes((_BEFORE,)) * count_before
        + bytes(len(kept) - count_before - count_after)
        + bytes((_BEHIND,)) * count_after
    )


def _behind(likelihoods: Likelihoods, share: float) -> bytes:
    """Return the graded number of blocks since the end of the box of the text; 0 for blocks before its end."""
    last = likelihoods.view.outline.boxes.last[likelihoods.centres[share]]
    kept = likelihoods.view.kept
    end = bisect_left(kept, last)
    return bytes(end) + counted([block - last + 1 for block in kept[end:]])


def _apart(likelihoods: Likelihoods, share: float) -> bytes:
    """Return the graded number of steps from the box of the text up to the innermost box that also has the block."""
    boxes, centre = likelihoods.view.outline.boxes, likelihoods.centres[share]
    steps_to = {centre: 0}
    steps = 0
    while centre > 0:
        centre = boxes.up[centre]
        steps += 1
        steps_to[centre] = steps
    innermost_boxes = likelihoods.view.keep(likelihoods.view.outline.blocks.box)
    distances: dict[int, int] = {}
    for innermost in set(innermost_boxes):
        box = innermost
        while box not in steps_to:
            box = boxes.up[box]
        distances[innermost] = steps_to[box]
    return counted(list(map(distances.__getitem__, innermost_boxes)))


def _since(likelihoods: Likelihoods, *, words: bool, backwards: bool) -> bytes:
    """Return the graded number of blocks (or words) since the last certain block or, with `back`, until the next."""
    distances = []
    distance = 9_999
    order = zip(likelihoods.likely, likelihoods.words, strict=True)
    for chance, size in reversed(list(order)) if backwards else order:
        if chance >= _SURE and size >= _PROSE:
            distance = 0
        distances.append(distance)
        distance += size if words else 1
    return counted(distances[::-1] if backwards else distances)


LIKELIHOOD_FEATURES: dict[str, Feature] = {
    "likely": lambda likelihoods: likelihoods.graded,
    **{f"likely {by:+}": partial(_shift, offset=by) for by in (-2, -1, 1, 2)},
    **{f"likely box {steps}": partial(_box, steps=steps) for steps in range(ABOVE)},
    "likely repeated": _repeated,
    "likely path": _path,
    "likely near": _near,
    "likely page": lambda likelihoods: likelihoods.by_box[:1] * len(likelihoods.likely),
    **{f"side {share}": partial(_side, share=share) for share in CENTRES},
    **{f"behind {share}": partial(_behind, share=share) for share in CENTRES},
    **{f"apart {share}": partial(_apart, share=share) for share in CENTRES},
    "sure since": partial(_since, words=False, backwards=False),
    "sure until": partial(_since, words=False, backwards=True),
    "sure words": partial(_since, words=True, backwards=False),
    "likely most": lambda likelihoods: bytes([max(likelihoods.graded)]) * len(likelihoods.likely),
}
