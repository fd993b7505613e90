"""A page as the model that judges its blocks looks at it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from operator import itemgetter
from typing import Protocol, TypeVar

from windrow.formats.html.extent import Around, Extent, around, extent
from windrow.formats.html.hint import Hint
from windrow.formats.html.mark import LEVELS, Mark
from windrow.formats.html.outline import Outline

Column = Sequence[float]
T = TypeVar("T")

TAGS = (
    "p", "li", "td", "th", "dt", "dd", "pre", "blockquote", "figcaption", "button", "option", "label", "summary",
    "h1", "h2", "h3", "h4", "h5", "h6", "div", "section", "article", "form", "address", "caption", "legend",
    "textarea", "noscript", "select", "main",
)  # fmt: skip
_TAG = {tag: at + 1 for at, tag in enumerate(TAGS)}
ABOVE = 4
_NEVER = int(Mark.NAV | Mark.NAVIGATION | Mark.FOOTER | Mark.CHOICE)
_ENOUGH = 0.1


class Picker(Protocol):
    """Takes some places out of a column, at the speed of C."""

    def __call__(self, values: Sequence[T], /) -> tuple[T, ...]:
        """Return the values at the places."""
        ...


@dataclass(frozen=True, slots=True)
class View:
    """All that a block's traits are computed from."""

    outline: Outline
    sums: Extent
    around: Around
    hint: Hint
    kept: list[int]
    """The blocks that are worth judging."""
    homes: list[int]
    """The boxes that these lie in, each once, in order."""
    above: list[list[int]]
    """For each number of steps, from 0, the boxes that lie so much above the homes."""
    tags: list[int]
    """By box, a number for its tag; 0 where the tag is none of those that hold text."""
    levels: list[int]
    """By box, the level of the headline that it is, or lies directly in; 0 where it does not."""
    alike: tuple[list[int], list[int], list[int]]
    """By path: how many blocks lie in boxes of this path, their words, and how many of these are linked."""
    under: tuple[list[int], list[int], list[int]]
    """By block: the level of the last headline before it, and how many blocks and words ago it was."""
    pick: list[Picker]
    """For each number of steps, a function that takes a column by box and returns the values of `above`."""


def view(outline: Outline, hint: Hint) -> View:
    """Sum up a page that was laid flat and has at least one block."""
    sums = extent(outline)
    up, tag = outline.boxes.up, outline.boxes.tag
    kept = _kept(outline, sums.words[0])
    homes = sorted({outline.blocks.box[at] for at in kept})
    above = [homes]
    for _ in range(1, ABOVE):
        above.append([up[box] if box > 0 else 0 for box in above[-1]])
    tags = list(map(_TAG.get, tag, repeat(0)))
    own = list(map(LEVELS.get, tag, repeat(0)))
    levels = [level or (own[over] if over >= 0 else 0) for level, over in zip(own, up, strict=True)]
    pick = [picker(boxes) for boxes in above]
    both = _alike(outline), _under(outline, own)
    return View(outline, sums, around(outline, sums), hint, kept, homes, above, tags, levels, *both, pick)


def _kept(outline: Outline, total: int) -> list[int]:
    """Leave out what lies in navigation, footers and lists of choices, unless that is nearly all there is."""
    marks, blocks = outline.boxes.marks, outline.blocks
    kept = [at for at, box in enumerate(blocks.box) if not marks[box] & _NEVER]
    rest = sum(blocks.words[at] for at in kept)
    return kept if rest >= total * _ENOUGH else list(range(len(blocks.box)))


def picker(boxes: Sequence[int]) -> Picker:
    """Return what takes these places out of any column."""
    if len(boxes) > 1:
        return itemgetter(*boxes)
    return lambda values: tuple(values[box] for box in boxes)


def _alike(outline: Outline) -> tuple[list[int], list[int], list[int]]:
    path, blocks = outline.boxes.path, outline.blocks
    n = max(path) + 1
    times, words, linked = [0] * n, [0] * n, [0] * n
    for box, size, within in zip(blocks.box, blocks.words, blocks.linked, strict=True):
        at = path[box]
        times[at] += 1
        words[at] += size
        linked[at] += within
    return times, words, linked


def _under(outline: Outline, own: Sequence[int]) -> tuple[list[int], list[int], list[int]]:
    levels, blocks_ago, words_ago = [], [], []
    level = blocks = words = 0
    for box, size in zip(outline.blocks.box, outline.blocks.words, strict=True):
        levels.append(level)
        blocks_ago.append(blocks)
        words_ago.append(words)
        if own[box]:
            level, blocks, words = own[box], 0, 0
        else:
            blocks += 1
            words += size
    return levels, blocks_ago, words_ago
