"""What can be measured of the box that a block of text lies in: a grade for each block that is judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import repeat
from operator import sub

from windrow.formats.html.grade import COUNT, SHARE, counted, grade
from windrow.formats.html.view import ABOVE, PROSE_SHARES, SHARES, View

Trait = Callable[[View], bytes]

TAGS = (
    "p", "li", "td", "th", "dt", "dd", "pre", "blockquote", "figcaption", "button", "option", "label", "summary",
    "h1", "h2", "h3", "h4", "h5", "h6", "div", "section", "article", "form", "address", "caption", "legend",
    "textarea", "noscript", "select", "main",
)  # fmt: skip
TAG = {tag: at + 1 for at, tag in enumerate(TAGS)}


def _words(view: View, steps: int) -> bytes:
    return counted(view.above[steps](view.sums.words))


def _density(view: View, steps: int) -> bytes:
    return bytes(view.above[steps](view.sums.dense))


def _share(view: View, steps: int) -> bytes:
    return bytes(view.above[steps](view.sums.share))


def _blocks(view: View, steps: int) -> bytes:
    return counted(view.above[steps](view.sums.blocks))


def _prose(view: View, steps: int) -> bytes:
    return bytes(view.above[steps](view.sums.telling))


def _distance(view: View, boxes: Iterable[int]) -> bytes:
    depth = view.outline.boxes.depth
    return bytes(map(sub, view.above[0](depth), map(depth.__getitem__, boxes)))


def _large_density(view: View, share: float) -> bytes:
    return bytes(map(view.sums.dense.__getitem__, view.large[share]))


def _large_depth(view: View, share: float) -> bytes:
    return _distance(view, view.large[share])


def _telling_depth(view: View, share: float) -> bytes:
    return _distance(view, view.telling[share])


def _telling_share(view: View, share: float) -> bytes:
    return bytes(map(view.sums.share.__getitem__, view.telling[share]))


def _alike(view: View, what: str) -> bytes:
    """Sum up the blocks whose boxes have one path: how many, their words, the share of links, the mean of words."""
    times, words, linked = view.alike
    paths = view.above[0](view.outline.boxes.path)
    if what in {"times", "words"}:
        return counted([(times if what == "times" else words)[path] for path in paths])
    over, under, scale = (linked, words, SHARE) if what == "density" else (words, times, COUNT)
    return grade([over[path] / under[path] for path in paths], scale)


def _repeat(view: View, what: str) -> bytes:
    """Tell of the box around it that has most siblings of its kind."""
    words, up = view.sums.words, view.outline.boxes.up
    boxes = view.above[0](view.around.repeated)
    if what == "depth":
        return _distance(view, boxes)
    if what == "words":
        return counted([words[box] if box else 0 for box in boxes])
    return bytes([view.sums.share[up[box]] if box else 0 for box in boxes])


def _lightest(view: View) -> bytes:
    """Return the least share of linked words of any box around it."""
    least = list(view.sums.dense)
    for box, over in enumerate(view.outline.boxes.up[1:], 1):
        least[box] = min(least[box], least[over])
    return bytes(view.above[0](least))


def _headline(view: View) -> bytes:
    """Return the level of the headline that a block is, or lies directly in."""
    own, over = view.above[0](view.levels), view.above[1](view.levels)
    return bytes([level or higher for level, higher in zip(own, over, strict=True)])


OF_BOX: dict[str, Trait] = {
    "depth": lambda view: bytes(view.above[0](view.outline.boxes.depth)),
    "tag": lambda view: bytes(map(TAG.get, view.above[0](view.outline.boxes.tag), repeat(0))),
    "headline": _headline,
    "densest": lambda view: bytes(view.above[0](view.around.densest)),
    "lightest": _lightest,
    **{f"words {n}": partial(_words, steps=n) for n in range(ABOVE)},
    **{f"density {n}": partial(_density, steps=n) for n in range(ABOVE)},
    **{f"share {n}": partial(_share, steps=n) for n in range(ABOVE)},
    **{f"blocks {n}": partial(_blocks, steps=n) for n in range(ABOVE)},
    **{f"prose {n}": partial(_prose, steps=n) for n in range(ABOVE)},
    **{f"large density {share}": partial(_large_density, share=share) for share in SHARES},
    **{f"large depth {share}": partial(_large_depth, share=share) for share in SHARES},
    **{f"telling depth {share}": partial(_telling_depth, share=share) for share in PROSE_SHARES},
    **{f"telling share {share}": partial(_telling_share, share=share) for share in PROSE_SHARES},
    **{f"alike {what}": partial(_alike, what=what) for what in ("times", "words", "density", "mean")},
    "repeat times": lambda view: counted(view.above[0](view.around.times)),
    **{f"repeat {what}": partial(_repeat, what=what) for what in ("depth", "words", "share")},
}
