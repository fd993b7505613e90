"""The features of a page and its blocks that the forests ask for, as grades of one byte."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import accumulate, repeat
from operator import eq, itemgetter, sub, truediv

from windrow.content.hints import ADDRESSES, GROUPS, TYPES
from windrow.content.likelihoods import LIKELIHOOD_FEATURES, Likelihoods
from windrow.content.outline import PageLocation
from windrow.content.view import (
    ABOVE,
    BEYOND,
    COUNT,
    LETTERS,
    PROSE_SHARES,
    SHARE,
    SHARES,
    STEPS,
    Scale,
    View,
    counted,
    grade,
)

Feature = Callable[[View], bytes]

_LONG = 15  # the least words of the first and the last block of prose
_NEIGHBOURS = (-2, -1, 1, 2)
_ENDS = frozenset('.!?…:”"。')
_MONEY = re.compile(r"[$€£¥]\s?\d|\d\s?[$€£¥]")


def _shift(values: Sequence[int], offset: int) -> Sequence[int]:
    """Return for each block the value of the block `offset` places after it, or `BEYOND` outside the page."""
    edge = [BEYOND] * min(abs(offset), len(values))
    return [*values[offset:], *edge] if offset > 0 else [*edge, *values[: len(values) + offset]]


def _neighbour(view: View, feature: Callable[[View], bytes], offset: int) -> bytes:
    return bytes(view.keep(_shift(feature(view), offset)))


def _words(view: View) -> bytes:
    return counted(view.outline.blocks.words)


def _density(view: View) -> bytes:
    blocks = view.outline.blocks
    return grade(map(truediv, blocks.linked, blocks.words), SHARE)


def _tags(view: View) -> bytes:
    tag = view.outline.boxes.tag
    return bytes(map(TAG.get, map(tag.__getitem__, view.outline.blocks.box), repeat(0)))


def _same(view: View, offset: int) -> bytes:
    paths = list(map(view.outline.boxes.path.__getitem__, view.outline.blocks.box))
    return bytes(view.keep(list(map(eq, paths, _shift(paths, offset)))))


def _before(view: View) -> bytes:
    """Return the graded share of the page's words up to the end of each block."""
    running = view.keep(list(accumulate(view.outline.blocks.words)))
    return grade(map(truediv, running, repeat(view.sums.words[0])), SHARE)


def _from(view: View, origin: str) -> bytes:
    """Return the graded distance in blocks from the first h1, or from the first or last prose; negative before it."""
    blocks, tag = view.outline.blocks, view.outline.boxes.tag
    if origin == "h1":
        starts = (block for block, box in enumerate(blocks.box) if tag[box] == "h1")
    else:
        order = range(len(blocks.words)) if origin == "first" else range(len(blocks.words) - 1, -1, -1)
        starts = (
            block for block in order if blocks.words[block] >= _LONG and blocks.linked[block] * 3 < blocks.words[block]
        )
    start = next(starts, None)
    if start is None:
        return bytes(len(view.kept))
    return grade([block - start for block in view.kept], STEPS)


def _under(view: View, measure: int) -> bytes:
    """Return a measure of the last headline before each block: its level, or the blocks or words since it."""
    return counted(list(map(itemgetter(measure), view.keep(view.under))))


def _texts(view: View) -> Sequence[str]:
    return view.keep(view.outline.blocks.text)


def _letters(view: View) -> bytes:
    """Return the graded mean length of each block's words."""
    return grade(map(truediv, map(len, _texts(view)), view.keep(view.outline.blocks.words)), LETTERS)


def _copies(view: View) -> bytes:
    times = Counter(view.outline.blocks.text)
    return counted(list(map(times.__getitem__, _texts(view))))


def _times(view: View, mark: str) -> bytes:
    return counted([text.count(mark) for text in _texts(view)])


def _place(view: View) -> bytes:
    count = len(view.outline.blocks.text)
    return grade([at / count for at in view.kept], SHARE)


BLOCK_FEATURES: dict[str, Feature] = {
    "words": lambda view: counted(view.keep(view.outline.blocks.words)),
    "density": lambda view: bytes(view.keep(_density(view))),
    "links": lambda view: counted(view.keep(view.outline.blocks.links)),
    "number": lambda view: counted(view.kept),
    "place": _place,
    "before": _before,
    "copies": _copies,
    "ending": lambda view: bytes([text[-1] in _ENDS for text in _texts(view)]),
    "commas": partial(_times, mark=","),
    "stops": partial(_times, mark=". "),
    "letters": _letters,
    "capital": lambda view: bytes([text[0].isupper() for text in _texts(view)]),
    "digit": lambda view: bytes([text[0].isdigit() for text in _texts(view)]),
    "money": lambda view: bytes([_MONEY.search(text) is not None for text in _texts(view)]),
    **{f"from {origin}": partial(_from, origin=origin) for origin in ("h1", "first", "last")},
    **{f"under {measure}": partial(_under, measure=at) for at, measure in enumerate(("level", "blocks", "words"))},
    **{f"words {by:+}": partial(_neighbour, feature=_words, offset=by) for by in _NEIGHBOURS},
    **{f"density {by:+}": partial(_neighbour, feature=_density, offset=by) for by in _NEIGHBOURS},
    **{f"tag {by:+}": partial(_neighbour, feature=_tags, offset=by) for by in _NEIGHBOURS},
    **{f"same {by:+}": partial(_same, offset=by) for by in _NEIGHBOURS},
}


BoxFeature = Callable[[View], bytes]

TAGS = (
    "p", "li", "td", "th", "dt", "dd", "pre", "blockquote", "figcaption", "button", "option", "label", "summary",
    "h1", "h2", "h3", "h4", "h5", "h6", "div", "section", "article", "form", "address", "caption", "legend",
    "textarea", "noscript", "select", "main",
)  # fmt: skip
TAG = {tag: at + 1 for at, tag in enumerate(TAGS)}


def _box_words(view: View, steps: int) -> bytes:
    return counted(view.above[steps](view.sums.words))


def _box_density(view: View, steps: int) -> bytes:
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


def _alike(view: View, measure: str) -> bytes:
    """Return a graded measure of the blocks whose boxes have the same path as each block's box.

    `measure` is `times` (their number), `words`, `density` (the share of linked words) or `mean` (words of a block).
    """
    times, words, linked = view.alike
    paths = view.above[0](view.outline.boxes.path)
    if measure in {"times", "words"}:
        return counted([(times if measure == "times" else words)[path] for path in paths])
    numerators, denominators, scale = (linked, words, SHARE) if measure == "density" else (words, times, COUNT)
    return grade([numerators[path] / denominators[path] for path in paths], scale)


def _repeat(view: View, measure: str) -> bytes:
    """Return a graded measure of the box around each block with the most siblings of its kind.

    `measure` is `depth` (its distance), `words`, or `share` (the share of the page's words in its parent).
    """
    words, parents = view.sums.words, view.outline.boxes.up
    boxes = view.above[0](view.around.repeated)
    if measure == "depth":
        return _distance(view, boxes)
    if measure == "words":
        return counted([words[box] if box else 0 for box in boxes])
    return bytes([view.sums.share[parents[box]] if box else 0 for box in boxes])


def _lightest(view: View) -> bytes:
    """Return the least graded share of linked words of all boxes around each block."""
    least = list(view.sums.dense)
    for box, parent in enumerate(view.outline.boxes.up[1:], 1):
        least[box] = min(least[box], least[parent])
    return bytes(view.above[0](least))


def _headline(view: View) -> bytes:
    """Return the level of the headline that is a block's box or that box's parent; 0 if neither is a headline."""
    levels, parent_levels = view.above[0](view.levels), view.above[1](view.levels)
    return bytes([level or parent_level for level, parent_level in zip(levels, parent_levels, strict=True)])


BOX_FEATURES: dict[str, BoxFeature] = {
    "depth": lambda view: bytes(view.above[0](view.outline.boxes.depth)),
    "tag": lambda view: bytes(map(TAG.get, view.above[0](view.outline.boxes.tag), repeat(0))),
    "headline": _headline,
    "densest": lambda view: bytes(view.above[0](view.around.densest)),
    "lightest": _lightest,
    **{f"words {n}": partial(_box_words, steps=n) for n in range(ABOVE)},
    **{f"density {n}": partial(_box_density, steps=n) for n in range(ABOVE)},
    **{f"share {n}": partial(_share, steps=n) for n in range(ABOVE)},
    **{f"blocks {n}": partial(_blocks, steps=n) for n in range(ABOVE)},
    **{f"prose {n}": partial(_prose, steps=n) for n in range(ABOVE)},
    **{f"large density {share}": partial(_large_density, share=share) for share in SHARES},
    **{f"large depth {share}": partial(_large_depth, share=share) for share in SHARES},
    **{f"telling depth {share}": partial(_telling_depth, share=share) for share in PROSE_SHARES},
    **{f"telling share {share}": partial(_telling_share, share=share) for share in PROSE_SHARES},
    **{f"alike {measure}": partial(_alike, measure=measure) for measure in ("times", "words", "density", "mean")},
    "repeat times": lambda view: counted(view.above[0](view.around.times)),
    **{f"repeat {measure}": partial(_repeat, measure=measure) for measure in ("depth", "words", "share")},
}


PageFeature = Callable[[View], int]


def _graded(measure: Callable[[View], float], scale: Scale) -> PageFeature:
    return lambda view: grade([measure(view)], scale)[0]


def _number(tag: str) -> PageFeature:
    return lambda view: grade([view.outline.boxes.tag.count(tag)], COUNT)[0]


def _type(view: View, bit: int) -> int:
    return view.hint.types >> bit & 1


def _address(view: View, bit: int) -> int:
    return view.hint.address >> bit & 1


def _box_tags(view: View) -> list[str]:
    return view.outline.boxes.tag


PAGE_FEATURES: dict[str, PageFeature] = {
    "page words": _graded(lambda view: view.sums.words[0], COUNT),
    "page blocks": _graded(lambda view: view.sums.blocks[0], COUNT),
    "page density": lambda view: view.sums.dense[0],
    "page prose": _graded(lambda view: view.sums.prose[0], COUNT),
    "page telling": _graded(lambda view: view.sums.prose[0] / view.sums.words[0], SHARE),
    **{f"page {tag}": _number(tag) for tag in ("article", "h1", "h2", "h3", "li", "main", "td", "section")},
    "page p": _graded(lambda view: _box_tags(view).count("p") / len(_box_tags(view)), SHARE),
    "page times": _graded(lambda view: max(view.around.times), COUNT),
    "page alike": _graded(lambda view: max(view.alike[1]) / view.sums.words[0], SHARE),
    "page kept": _graded(lambda view: len(view.kept) / len(view.outline.blocks.text), SHARE),
    "page kind": lambda view: view.hint.kind,
    "page steps": _graded(lambda view: view.hint.steps, COUNT),
    "page digits": _graded(lambda view: view.hint.digits, COUNT),
    **{f"type {at}": partial(_type, bit=at) for at in range(len(TYPES))},
    **{f"address {at}": partial(_address, bit=at) for at in range(len(ADDRESSES))},
}


BIT_FEATURES: dict[str, tuple[str, int]] = {
    **{f"in {str(mark.name).lower()}": ("marks", int(mark)) for mark in PageLocation},
    **{f"near {group}": ("near", 1 << at) for at, group in enumerate(GROUPS)},
    **{f"far {group}": ("far", 1 << at) for at, group in enumerate(GROUPS)},
}
_OWN = BLOCK_FEATURES | BOX_FEATURES

NAMES = (*PAGE_FEATURES, *BOX_FEATURES, *BLOCK_FEATURES, *BIT_FEATURES)
"""The features that the first forest may use."""
LIKELIHOOD_NAMES = tuple(LIKELIHOOD_FEATURES)
"""The further features of the second forest, from the likelihoods of the first."""


class Features:
    """The features of one page as grades, computed when asked for; a `forest.FeatureSource`."""

    __slots__ = ("_bits", "_known", "_likelihoods", "_shared", "_view", "count")

    def __init__(self, view: View) -> None:
        """Prepare the features of a page with at least one block."""
        self._view = view
        self._likelihoods: Likelihoods | None = None
        self._known: dict[str, bytes] = {}
        self._shared: dict[str, int] = {}
        self.count = len(view.kept)
        home = view.above[0]
        by_box = {"marks": view.outline.boxes.marks, "near": view.around.near, "far": view.around.far}
        self._bits: dict[str, Sequence[int]] = {name: home(bits) for name, bits in by_box.items()}

    def add_likelihoods(self, likely: Sequence[float]) -> None:
        """Add the features from the first forest's likelihoods, one for each block in `view.kept`."""
        self._likelihoods = Likelihoods(self._view, likely)

    def of_page(self, name: str) -> int | None:
        """Return a feature of the page; None if it is a feature of blocks."""
        if name not in PAGE_FEATURES:
            return None
        shared_grade = self._shared.get(name)
        if shared_grade is None:
            shared_grade = self._shared[name] = PAGE_FEATURES[name](self._view)
        return shared_grade

    def of_block(self, name: str) -> bytes:
        """Return a feature of blocks or of their boxes, a grade for each block."""
        grades = self._known.get(name)
        if grades is None:
            grades = self._of_bit(*BIT_FEATURES[name]) if name in BIT_FEATURES else self._measure(name)
            self._known[name] = grades
        return grades

    def _of_bit(self, name: str, bit: int) -> bytes:
        return bytes([marks & bit != 0 for marks in self._bits[name]])

    def _measure(self, name: str) -> bytes:
        second = LIKELIHOOD_FEATURES.get(name)
        return _OWN[name](self._view) if second is None or self._likelihoods is None else second(self._likelihoods)

    def column(self, name: str) -> bytes:
        """Return any feature as a grade for each block, the form in which the model is trained."""
        page = self.of_page(name)
        return self.of_block(name) if page is None else bytes([page]) * self.count
