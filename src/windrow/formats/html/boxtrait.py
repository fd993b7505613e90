"""What can be measured of the box that a block of text lies in: a column of numbers, one for each home."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from windrow.formats.html.extent import PROSE_SHARES, SHARES
from windrow.formats.html.view import ABOVE, Column, View

Trait = Callable[[View], Column]


def _of(values: Sequence[float], boxes: Sequence[int]) -> Column:
    return [values[box] for box in boxes]


def _words(view: View, steps: int) -> Column:
    return _of(view.sums.words, view.above[steps])


def _density(view: View, steps: int) -> Column:
    return _of(view.sums.density, view.above[steps])


def _blocks(view: View, steps: int) -> Column:
    return _of(view.sums.blocks, view.above[steps])


def _share(view: View, steps: int) -> Column:
    words = view.sums.words
    return [words[box] / words[0] for box in view.above[steps]]


def _prose(view: View, steps: int) -> Column:
    prose = view.sums.prose
    total = prose[0] or 1
    return [prose[box] / total for box in view.above[steps]]


def _large_density(view: View, at: int) -> Column:
    density, large = view.sums.density, view.around.large[at]
    return [density[large[box]] for box in view.homes]


def _distance(view: View, to: Sequence[int]) -> Column:
    depth = view.outline.boxes.depth
    return [depth[box] - depth[to[box]] for box in view.homes]


def _large_depth(view: View, at: int) -> Column:
    return _distance(view, view.around.large[at])


def _telling_depth(view: View, at: int) -> Column:
    return _distance(view, view.around.telling[at])


def _telling_share(view: View, at: int) -> Column:
    words, telling = view.sums.words, view.around.telling[at]
    return [words[telling[box]] / words[0] for box in view.homes]


def _alike(view: View, what: str) -> Column:
    """Sum up the blocks whose boxes have one path: how many, their words, the share of links, the mean of words."""
    path, blocks = view.outline.boxes.path, view.outline.blocks
    number = [0] * len(path)
    values = [1] * len(blocks.box) if what == "times" else blocks.linked if what == "density" else blocks.words
    for box, value in zip(blocks.box, values, strict=True):
        number[path[box]] += value
    found: Column = [number[path[box]] for box in view.homes]
    if what in {"times", "words"}:
        return found
    under = _alike(view, "words" if what == "density" else "times")
    return [value / most for value, most in zip(found, under, strict=True)]


def _repeat(view: View, what: str) -> Column:
    """Tell of the box around it that has most siblings of its kind."""
    repeated, words, up = view.around.repeated, view.sums.words, view.outline.boxes.up
    boxes = [repeated[box] for box in view.homes]
    if what == "words":
        return [words[box] if box >= 0 else 0 for box in boxes]
    if what == "share":
        return [words[up[box]] / words[0] if box >= 0 else 0 for box in boxes]
    depth = view.outline.boxes.depth
    return [depth[home] - depth[box] if box >= 0 else -1 for home, box in zip(view.homes, boxes, strict=True)]


OF_BOX: dict[str, Trait] = {
    "depth": lambda view: _of(view.outline.boxes.depth, view.homes),
    "tag": lambda view: _of(view.tags, view.homes),
    "headline": lambda view: [view.level(box) for box in view.homes],
    "densest": lambda view: _of(view.around.densest, view.homes),
    "lightest": lambda view: _of(view.around.lightest, view.homes),
    **{f"words {n}": partial(_words, steps=n) for n in range(ABOVE)},
    **{f"density {n}": partial(_density, steps=n) for n in range(ABOVE)},
    **{f"share {n}": partial(_share, steps=n) for n in range(ABOVE)},
    **{f"blocks {n}": partial(_blocks, steps=n) for n in range(ABOVE)},
    **{f"prose {n}": partial(_prose, steps=n) for n in range(ABOVE)},
    **{f"large density {n}": partial(_large_density, at=at) for at, n in enumerate(SHARES)},
    **{f"large depth {n}": partial(_large_depth, at=at) for at, n in enumerate(SHARES)},
    **{f"telling depth {n}": partial(_telling_depth, at=at) for at, n in enumerate(PROSE_SHARES)},
    **{f"telling share {n}": partial(_telling_share, at=at) for at, n in enumerate(PROSE_SHARES)},
    **{f"alike {what}": partial(_alike, what=what) for what in ("times", "words", "density", "mean")},
    "repeat times": lambda view: _of(view.around.times, view.homes),
    **{f"repeat {what}": partial(_repeat, what=what) for what in ("depth", "words", "share")},
}
