"""Compute features for the second forest from the first forest's likelihoods of a block and the blocks around it.

A likelihood is the probability, from 0 to 1, that a block is main content. A feature has a grade for each judged block.
In parameters, `share` is one of `TEXT_BOX_SHARES`, and `steps` counts boxes from a block's own box up.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import accumulate, repeat
from operator import add, mul, sub

from windrow.content.measures import LEVELS_ABOVE, PageMeasures, grade_counts, make_picker

_GRADE_STEPS = 50  # grades between the likelihoods 0 and 1
_NEAR_BLOCKS = 5  # blocks on each side that a mean includes
_MIN_CERTAIN_LIKELIHOOD, _MIN_CERTAIN_WORDS = 0.7, 12
"""The minimum likelihood and number of words of a block that counts as certainly main content."""
TEXT_BOX_SHARES = (0.5, 0.8)
"""Shares of the page's likely words. The text box of a share is the innermost box with at least this share."""
_SIDE_BEFORE, _SIDE_AFTER = 1, 2


class Likelihoods:
    """The likelihoods of judged blocks, and for each box the mean of those in it, weighted by words.

    A block's likely words are the number of its words multiplied by its likelihood.
    """

    __slots__ = ("box_grades", "by_block", "grades", "likely_words", "page", "text_boxes", "words")

    def __init__(self, page: PageMeasures, by_block: Sequence[float]) -> None:
        """Compute the mean of each box; `by_block` has the likelihood of each judged block."""
        boxes, words = page.outline.boxes, page.outline.blocks.words
        self.page = page
        self.by_block = by_block
        self.words = page.pick(words)
        """The number of words of each judged block."""
        self.likely_words = list(map(mul, by_block, self.words))
        words_by_block, likely_by_block = [0.0] * len(words), [0.0] * len(words)
        for block, word_count, likely in zip(page.judged, self.words, self.likely_words, strict=True):
            words_by_block[block], likely_by_block[block] = word_count, likely
        pick_first, pick_stop = make_picker(boxes.first), make_picker(boxes.stop)
        sums_by_box = []
        for column in (words_by_block, likely_by_block):
            running_sums = list(accumulate(column, initial=0.0))
            sums_by_box.append(list(map(sub, pick_stop(running_sums), pick_first(running_sums))))
        box_words, box_likely = sums_by_box
        self.grades = _grade_likelihoods(by_block)
        means = [
            likely / word_count if word_count else 0.0 for word_count, likely in zip(box_words, box_likely, strict=True)
        ]
        self.box_grades = _grade_likelihoods(means)
        self.text_boxes = {share: _find_text_box(box_likely, boxes.depth, share) for share in TEXT_BOX_SHARES}
        """The number of the text box for each of `TEXT_BOX_SHARES`."""


LikelihoodFeature = Callable[[Likelihoods], bytes]


def _grade_likelihoods(likelihoods: Iterable[float]) -> bytes:
    """Return likelihoods as grades from 1 to 51; grade 0 is for neighbours outside the page."""
    return bytes(map(int, map(add, map(mul, likelihoods, repeat(_GRADE_STEPS)), repeat(1.5))))


def _grade_of_neighbour(likelihoods: Likelihoods, offset: int) -> bytes:
    grades = likelihoods.grades
    edge = bytes(min(abs(offset), len(grades)))
    return grades[offset:] + edge if offset > 0 else edge + grades[: len(grades) + offset]


def _grade_of_box_above(likelihoods: Likelihoods, steps: int) -> bytes:
    return bytes(likelihoods.page.pick_above[steps](likelihoods.box_grades))


def _grade_of_repeated_box(likelihoods: Likelihoods) -> bytes:
    boxes = likelihoods.page.pick_above[0](likelihoods.page.surroundings.repeated_box)
    return bytes(map(likelihoods.box_grades.__getitem__, boxes))


def _mean_of_path(likelihoods: Likelihoods) -> bytes:
    """Return for each block the mean likelihood of all judged blocks whose boxes have the same path, as a grade.

    Boxes have the same path if they and all boxes around them have the same tags and classes.
    """
    paths = likelihoods.page.pick_above[0](likelihoods.page.outline.boxes.path)
    words, likely_words = dict.fromkeys(paths, 0.0), dict.fromkeys(paths, 0.0)
    for path, word_count, likely in zip(paths, likelihoods.words, likelihoods.likely_words, strict=True):
        words[path] += word_count
        likely_words[path] += likely
    return _grade_likelihoods([likely_words[path] / words[path] for path in paths])


def _mean_of_neighbours(likelihoods: Likelihoods) -> bytes:
    """Return for each block the graded mean likelihood of the block and up to `_NEAR_BLOCKS` blocks on each side."""
    count = len(likelihoods.words)
    words = list(accumulate(likelihoods.words, initial=0))
    likely = list(accumulate(likelihoods.likely_words, initial=0.0))
    starts = [0] * min(_NEAR_BLOCKS, count) + list(range(count - _NEAR_BLOCKS))
    ends = [*range(_NEAR_BLOCKS + 1, count + 1), *repeat(count, min(_NEAR_BLOCKS, count))]
    shares = [
        (likely[end] - likely[start]) / (words[end] - words[start]) for start, end in zip(starts, ends, strict=True)
    ]
    return _grade_likelihoods(shares)


def _find_text_box(likely_words: Sequence[float], depth: Sequence[int], share: float) -> int:
    """Return the innermost box with at least `share` of the page's likely words.

    `likely_words` and `depth` have a number for each box, beginning with the body.
    """
    least_words = likely_words[0] * share
    return max((box for box, likely in enumerate(likely_words) if likely >= least_words), key=depth.__getitem__)


def _side_of_text_box(likelihoods: Likelihoods, share: float) -> bytes:
    """Return for each block whether it is before the text box (1), in it (0) or after it (2)."""
    boxes, text_box = likelihoods.page.outline.boxes, likelihoods.text_boxes[share]
    first, stop = boxes.first[text_box], boxes.stop[text_box]
    judged = likelihoods.page.judged  # in the page's order
    count_before, count_after = bisect_left(judged, first), len(judged) - bisect_left(judged, stop)
    return (
        bytes((_SIDE_BEFORE,)) * count_before
        + bytes(len(judged) - count_before - count_after)
        + bytes((_SIDE_AFTER,)) * count_after
    )


def _blocks_after_text_box(likelihoods: Likelihoods, share: float) -> bytes:
    """Return for each block after the text box the grade of its distance from the box in blocks, and 0 for others."""
    stop = likelihoods.page.outline.boxes.stop[likelihoods.text_boxes[share]]
    judged = likelihoods.page.judged
    first_after = bisect_left(judged, stop)
    return bytes(first_after) + grade_counts([block - stop + 1 for block in judged[first_after:]])


def _steps_from_text_box(likelihoods: Likelihoods, share: float) -> bytes:
    """Return for each block, as a grade, the steps from the text box up to the first box that contains the block."""
    boxes, text_box = likelihoods.page.outline.boxes, likelihoods.text_boxes[share]
    steps_to = {text_box: 0}
    steps = 0
    while text_box > 0:
        text_box = boxes.parent[text_box]
        steps += 1
        steps_to[text_box] = steps
    innermost_boxes = likelihoods.page.pick(likelihoods.page.outline.blocks.box)
    distances: dict[int, int] = {}
    for innermost in set(innermost_boxes):
        box = innermost
        while box not in steps_to:
            box = boxes.parent[box]
        distances[innermost] = steps_to[box]
    return grade_counts(list(map(distances.__getitem__, innermost_boxes)))


def _distance_to_certain_block(likelihoods: Likelihoods, *, in_words: bool, backwards: bool) -> bytes:
    """Return for each block the distance to the last block before it that is certainly main content, as a grade.

    A certain block has the distance 0. The distance is in words if `in_words`, and otherwise in blocks. If `backwards`,
    the first certain block after the block is used. Without a certain block, the distance is at least 9,999.
    """
    distances = []
    distance = 9_999  # for blocks that no certain block precedes
    blocks = zip(likelihoods.by_block, likelihoods.words, strict=True)
    for likelihood, word_count in reversed(list(blocks)) if backwards else blocks:
        if likelihood >= _MIN_CERTAIN_LIKELIHOOD and word_count >= _MIN_CERTAIN_WORDS:
            distance = 0
        distances.append(distance)
        distance += word_count if in_words else 1
    return grade_counts(distances[::-1] if backwards else distances)


LIKELIHOOD_FEATURES: dict[str, LikelihoodFeature] = {
    "likely": lambda likelihoods: likelihoods.grades,
    **{f"likely {n:+}": partial(_grade_of_neighbour, offset=n) for n in (-2, -1, 1, 2)},
    **{f"likely box {steps}": partial(_grade_of_box_above, steps=steps) for steps in range(LEVELS_ABOVE)},
    "likely repeated": _grade_of_repeated_box,
    "likely path": _mean_of_path,
    "likely near": _mean_of_neighbours,
    "likely page": lambda likelihoods: likelihoods.box_grades[:1] * len(likelihoods.by_block),
    **{f"side {share}": partial(_side_of_text_box, share=share) for share in TEXT_BOX_SHARES},
    **{f"behind {share}": partial(_blocks_after_text_box, share=share) for share in TEXT_BOX_SHARES},
    **{f"apart {share}": partial(_steps_from_text_box, share=share) for share in TEXT_BOX_SHARES},
    "sure since": partial(_distance_to_certain_block, in_words=False, backwards=False),
    "sure until": partial(_distance_to_certain_block, in_words=False, backwards=True),
    "sure words": partial(_distance_to_certain_block, in_words=True, backwards=False),
    "likely most": lambda likelihoods: bytes([max(likelihoods.grades)]) * len(likelihoods.by_block),
}
