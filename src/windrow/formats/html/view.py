"""A page as the model that judges its blocks looks at it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat

from windrow.formats.html.extent import Around, Extent, Picker, around, extent, innermost, picker
from windrow.formats.html.hint import PageHint
from windrow.formats.html.mark import LEVELS, PageLocation
from windrow.formats.html.outline import Outline
from windrow.formats.html.unseen import silent

ABOVE = 4
SHARES = (0.1, 0.3, 0.5, 0.7)
"""Of the words of a page, to find the innermost box that holds as much."""
PROSE_SHARES = (0.5, 0.8)
"""Of its prose."""
_NEVER = int(PageLocation.NAV | PageLocation.NAVIGATION | PageLocation.FOOTER | PageLocation.CHOICE)
_ENOUGH = 0.1


@dataclass(frozen=True, slots=True)
class View:
    """All that a block's traits are computed from."""

    outline: Outline
    sums: Extent
    around: Around
    hint: PageHint
    kept: list[int]
    """The blocks that are worth judging."""
    keep: Picker
    """Takes a column of blocks and returns the values of those."""
    above: list[Picker]
    """For each number of steps, from 0, takes a column of boxes and returns the values at the boxes so much above."""
    levels: list[int]
    """By box, the level of the headline that it is; 0 where it is none."""
    alike: tuple[list[int], list[int], list[int]]
    """By path: how many blocks lie in boxes of this path, their words, and how many of these are linked."""
    large: dict[float, Sequence[int]]
    """For each of `SHARES`, the innermost box around each kept block that holds as much of the page's words."""
    telling: dict[float, Sequence[int]]
    """For each of `PROSE_SHARES`, the innermost box that holds as much of its prose."""
    under: list[tuple[int, int, int]]
    """By block: the level of the last headline before it, and how many blocks and words ago it was."""


def view(outline: Outline, hint: PageHint) -> View:
    """Sum up a page that was laid flat and has at least one block."""
    sums = extent(outline)
    boxes, blocks = outline.boxes, outline.blocks
    kept = _kept(outline, sums.words[0])
    keep = picker(kept)
    up = [0, *boxes.up[1:]]
    homes: Sequence[int] = keep(blocks.box)
    above = [picker(homes)]
    for _ in range(1, ABOVE):
        homes = above[-1](up)
        above.append(picker(homes))
    levels = list(map(LEVELS.get, boxes.tag, repeat(0)))
    return View(
        outline,
        sums,
        around(outline, sums.dense),
        hint,
        kept,
        keep,
        above,
        levels,
        _alike(outline),
        dict(zip(SHARES, map(keep, innermost(outline, sums.words, SHARES)), strict=True)),
        dict(zip(PROSE_SHARES, map(keep, innermost(outline, sums.prose, PROSE_SHARES)), strict=True)),
        _under(outline, levels),
    )


def _kept(outline: Outline, total: int) -> list[int]:
    """Leave out what is hidden, and what lies in navigation, footers and lists of choices if that is not nearly all."""
    marks, blocks = outline.boxes.marks, outline.blocks
    mute = silent(outline)
    seen = [at for at in range(len(blocks.box)) if at not in mute] if mute else range(len(blocks.box))
    kept = [at for at in seen if not marks[blocks.box[at]] & _NEVER]
    rest = sum(blocks.words[at] for at in kept)
    return kept if rest >= total * _ENOUGH and kept else list(seen)


def _alike(outline: Outline) -> tuple[list[int], list[int], list[int]]:
    path, blocks = outline.boxes.path, outline.blocks
    count = max(path) + 1
    times, words, linked = [0] * count, [0] * count, [0] * count
    for box, size, within in zip(blocks.box, blocks.words, blocks.linked, strict=True):
        at = path[box]
        times[at] += 1
        words[at] += size
        linked[at] += within
    return times, words, linked


def _under(outline: Outline, levels: Sequence[int]) -> list[tuple[int, int, int]]:
    found = []
    level = blocks = words = 0
    for box, size in zip(outline.blocks.box, outline.blocks.words, strict=True):
        found.append((level, blocks, words))
        if levels[box]:
            level, blocks, words = levels[box], 0, 0
        else:
            blocks += 1
            words += size
    return found
