"""What can be measured of a block of text itself, and of its neighbours: a column of numbers, one for each block."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import accumulate, repeat
from operator import truediv

from windrow.formats.html.view import Column, View

Trait = Callable[[View], Column]

_LONG = 15  # words of a block that can be the first or the last of the prose
_NOWHERE = -9999.0
_NEIGHBOURS = (-2, -1, 1, 2)


def _shift(values: Column, by: int) -> Column:
    """Return each block's neighbour's value; -1 beyond the ends."""
    edge = [-1.0] * min(abs(by), len(values))
    return [*values[by:], *edge] if by > 0 else [*edge, *values[: len(values) + by]]


def _density(view: View) -> Column:
    blocks = view.outline.blocks
    return list(map(truediv, blocks.linked, blocks.words))


def _same(view: View, by: int) -> Column:
    path, box = view.outline.boxes.path, view.outline.blocks.box
    own = [path[each] for each in box]
    return [float(mine == other) for mine, other in zip(own, _shift(own, by), strict=True)]


def _tags(view: View) -> Column:
    return [view.tags[box] for box in view.outline.blocks.box]


def _before(view: View) -> Column:
    """Return the share of the page's words up to the end of each block."""
    return list(map(truediv, accumulate(view.outline.blocks.words), repeat(view.sums.words[0])))


def _from(view: View, what: str) -> Column:
    """Count blocks from the first h1, from the first prose, or from the last."""
    blocks, tag = view.outline.blocks, view.outline.boxes.tag
    if what == "h1":
        found = [at for at, box in enumerate(blocks.box) if tag[box] == "h1"]
    else:
        both = zip(blocks.words, blocks.linked, strict=True)
        found = [at for at, (words, linked) in enumerate(both) if words >= _LONG and linked * 3 < words]
    if not found:
        return [_NOWHERE] * len(blocks.box)
    at = found[-1 if what == "last" else 0]
    return list(range(-at, len(blocks.box) - at))


def _copies(view: View) -> Column:
    times = Counter(view.outline.blocks.text)
    return list(map(times.__getitem__, view.outline.blocks.text))


def _letters(view: View) -> Column:
    """Return how long the words are, on average."""
    blocks = view.outline.blocks
    return list(map(truediv, map(len, blocks.text), blocks.words))


OF_BLOCK: dict[str, Trait] = {
    "words": lambda view: view.outline.blocks.words,
    "density": _density,
    "links": lambda view: view.outline.blocks.links,
    "number": lambda view: range(len(view.outline.blocks.text)),
    "place": lambda view: [at / len(view.outline.blocks.text) for at in range(len(view.outline.blocks.text))],
    "before": _before,
    "copies": _copies,
    "ending": lambda view: [float(text[-1] in '.!?…:”"。') for text in view.outline.blocks.text],
    "commas": lambda view: [text.count(",") for text in view.outline.blocks.text],
    "stops": lambda view: [text.count(". ") for text in view.outline.blocks.text],
    "letters": _letters,
    **{f"from {what}": partial(_from, what=what) for what in ("h1", "first", "last")},
    "under level": lambda view: view.under[0],
    "under blocks": lambda view: view.under[1],
    "under words": lambda view: view.under[2],
    **{f"words {by:+}": partial(lambda view, by: _shift(view.outline.blocks.words, by), by=by) for by in _NEIGHBOURS},
    **{f"density {by:+}": partial(lambda view, by: _shift(_density(view), by), by=by) for by in _NEIGHBOURS},
    **{f"tag {by:+}": partial(lambda view, by: _shift(_tags(view), by), by=by) for by in _NEIGHBOURS},
    **{f"same {by:+}": partial(_same, by=by) for by in _NEIGHBOURS},
}
