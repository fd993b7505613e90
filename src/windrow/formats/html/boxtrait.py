"""What can be measured of the box that a block of text lies in: a column of numbers, one for each home."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import repeat
from operator import truediv

from windrow.formats.html.extent import PROSE_SHARES, SHARES
from windrow.formats.html.view import ABOVE, Column, View

Trait = Callable[[View], Column]


def _words(view: View, steps: int) -> Column:
    return view.pick[steps](view.sums.words)


def _density(view: View, steps: int) -> Column:
    return view.pick[steps](view.sums.density)


def _blocks(view: View, steps: int) -> Column:
    return view.pick[steps](view.sums.blocks)


def _part(values: Sequence[float], whole: float) -> Column:
    return list(map(truediv, values, repeat(whole or 1)))


def _share(view: View, steps: int) -> Column:
    return _part(view.pick[steps](view.sums.words), view.sums.words[0])


def _prose(view: View, steps: int) -> Column:
    return _part(view.pick[steps](view.sums.prose), view.sums.prose[0])


def _large_density(view: View, at: int) -> Column:
    density = view.sums.density
    return [density[box] for box in view.pick[0](view.around.large[at])]


def _distance(view: View, to: Sequence[int]) -> Column:
    depth = view.outline.boxes.depth
    return [own - depth[box] for own, box in zip(view.pick[0](depth), view.pick[0](to), strict=True)]


def _large_depth(view: View, at: int) -> Column:
    return _distance(view, view.around.large[at])


def _telling_depth(view: View, at: int) -> Column:
    return _distance(view, view.around.telling[at])


def _telling_share(view: View, at: int) -> Column:
    words = view.sums.words
    return _part([words[box] for box in view.pick[0](view.around.telling[at])], words[0])


def _alike(view: View, what: str) -> Column:
    """Sum up the blocks whose boxes have one path: how many, their words, the share of links, the mean of words."""
    paths = view.pick[0](view.outline.boxes.path)
    times, words, linked = view.alike
    if what in {"times", "words"}:
        number = times if what == "times" else words
        return [number[path] for path in paths]
    over, under = (linked, words) if what == "density" else (words, times)
    return [over[path] / under[path] for path in paths]


def _repeat(view: View, what: str) -> Column:
    """Tell of the box around it that has most siblings of its kind."""
    words, up = view.sums.words, view.outline.boxes.up
    boxes = view.pick[0](view.around.repeated)
    if what == "words":
        return [words[box] if box >= 0 else 0 for box in boxes]
    if what == "share":
        return [words[up[box]] / words[0] if box >= 0 else 0 for box in boxes]
    depth = view.outline.boxes.depth
    return [depth[home] - depth[box] if box >= 0 else -1 for home, box in zip(view.homes, boxes, strict=True)]


OF_BOX: dict[str, Trait] = {
    "depth": lambda view: view.pick[0](view.outline.boxes.depth),
    "tag": lambda view: view.pick[0](view.tags),
    "headline": lambda view: view.pick[0](view.levels),
    "densest": lambda view: view.pick[0](view.around.densest),
    "lightest": lambda view: view.pick[0](view.around.lightest),
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
    "repeat times": lambda view: view.pick[0](view.around.times),
    **{f"repeat {what}": partial(_repeat, what=what) for what in ("depth", "words", "share")},
}
