"""What the forest asks: the traits of a page and of its blocks, in grades."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import accumulate, repeat
from operator import eq, itemgetter, sub, truediv

from windrow.content.hints import ADDRESSES, GROUPS, TYPES
from windrow.content.opinion import OF_OPINION, Likelihoods
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

Trait = Callable[[View], bytes]

_LONG = 15  # words of a block that can be the first or the last of the prose
_NEIGHBOURS = (-2, -1, 1, 2)
_ENDS = frozenset('.!?…:”"。')
_MONEY = re.compile(r"[$€£¥]\s?\d|\d\s?[$€£¥]")


def _shift(values: Sequence[int], by: int) -> Sequence[int]:
    """Return each block's neighbour's value."""
    edge = [BEYOND] * min(abs(by), len(values))
    return [*values[by:], *edge] if by > 0 else [*edge, *values[: len(values) + by]]


def _neighbour(view: View, trait: Callable[[View], bytes], by: int) -> bytes:
    return bytes(view.keep(_shift(trait(view), by)))


def _words(view: View) -> bytes:
    return counted(view.outline.blocks.words)


def _density(view: View) -> bytes:
    blocks = view.outline.blocks
    return grade(map(truediv, blocks.linked, blocks.words), SHARE)


def _tags(view: View) -> bytes:
    tag = view.outline.boxes.tag
    return bytes(map(TAG.get, map(tag.__getitem__, view.outline.blocks.box), repeat(0)))


def _same(view: View, by: int) -> bytes:
    own = list(map(view.outline.boxes.path.__getitem__, view.outline.blocks.box))
    return bytes(view.keep(list(map(eq, own, _shift(own, by)))))


def _before(view: View) -> bytes:
    """Return the share of the page's words up to the end of each block."""
    running = view.keep(list(accumulate(view.outline.blocks.words)))
    return grade(map(truediv, running, repeat(view.sums.words[0])), SHARE)


def _from(view: View, what: str) -> bytes:
    """Count blocks from the first h1, from the first prose, or from the last."""
    blocks, tag = view.outline.blocks, view.outline.boxes.tag
    if what == "h1":
        found = (at for at, box in enumerate(blocks.box) if tag[box] == "h1")
    else:
        order = range(len(blocks.words)) if what == "first" else range(len(blocks.words) - 1, -1, -1)
        found = (at for at in order if blocks.words[at] >= _LONG and blocks.linked[at] * 3 < blocks.words[at])
    start = next(found, None)
    if start is None:
        return bytes(len(view.kept))
    return grade([at - start for at in view.kept], STEPS)


def _under(view: View, what: int) -> bytes:
    """Tell of the last headline before a block: its level, and how many blocks and words ago it was."""
    return counted(list(map(itemgetter(what), view.keep(view.under))))


def _texts(view: View) -> Sequence[str]:
    return view.keep(view.outline.blocks.text)


def _letters(view: View) -> bytes:
    """Return how long the words are, on average."""
    return grade(map(truediv, map(len, _texts(view)), view.keep(view.outline.blocks.words)), LETTERS)


def _copies(view: View) -> bytes:
    times = Counter(view.outline.blocks.text)
    return counted(list(map(times.__getitem__, _texts(view))))


def _times(view: View, what: str) -> bytes:
    return counted([text.count(what) for text in _texts(view)])


def _place(view: View) -> bytes:
    count = len(view.outline.blocks.text)
    return grade([at / count for at in view.kept], SHARE)


OF_BLOCK: dict[str, Trait] = {
    "words": lambda view: counted(view.keep(view.outline.blocks.words)),
    "density": lambda view: bytes(view.keep(_density(view))),
    "links": lambda view: counted(view.keep(view.outline.blocks.links)),
    "number": lambda view: counted(view.kept),
    "place": _place,
    "before": _before,
    "copies": _copies,
    "ending": lambda view: bytes([text[-1] in _ENDS for text in _texts(view)]),
    "commas": partial(_times, what=","),
    "stops": partial(_times, what=". "),
    "letters": _letters,
    "capital": lambda view: bytes([text[0].isupper() for text in _texts(view)]),
    "digit": lambda view: bytes([text[0].isdigit() for text in _texts(view)]),
    "money": lambda view: bytes([_MONEY.search(text) is not None for text in _texts(view)]),
    **{f"from {what}": partial(_from, what=what) for what in ("h1", "first", "last")},
    **{f"under {what}": partial(_under, what=at) for at, what in enumerate(("level", "blocks", "words"))},
    **{f"words {by:+}": partial(_neighbour, trait=_words, by=by) for by in _NEIGHBOURS},
    **{f"density {by:+}": partial(_neighbour, trait=_density, by=by) for by in _NEIGHBOURS},
    **{f"tag {by:+}": partial(_neighbour, trait=_tags, by=by) for by in _NEIGHBOURS},
    **{f"same {by:+}": partial(_same, by=by) for by in _NEIGHBOURS},
}


BoxTrait = Callable[[View], bytes]

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


OF_BOX: dict[str, BoxTrait] = {
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
    **{f"alike {what}": partial(_alike, what=what) for what in ("times", "words", "density", "mean")},
    "repeat times": lambda view: counted(view.above[0](view.around.times)),
    **{f"repeat {what}": partial(_repeat, what=what) for what in ("depth", "words", "share")},
}


PageTrait = Callable[[View], int]


def _graded(measure: Callable[[View], float], scale: Scale) -> PageTrait:
    return lambda view: grade([measure(view)], scale)[0]


def _number(tag: str) -> PageTrait:
    return lambda view: grade([view.outline.boxes.tag.count(tag)], COUNT)[0]


def _type(view: View, at: int) -> int:
    return view.hint.types >> at & 1


def _address(view: View, at: int) -> int:
    return view.hint.address >> at & 1


def _box_tags(view: View) -> list[str]:
    return view.outline.boxes.tag


OF_PAGE: dict[str, PageTrait] = {
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
    **{f"type {at}": partial(_type, at=at) for at in range(len(TYPES))},
    **{f"address {at}": partial(_address, at=at) for at in range(len(ADDRESSES))},
}


BITS: dict[str, tuple[str, int]] = {
    **{f"in {str(mark.name).lower()}": ("marks", int(mark)) for mark in PageLocation},
    **{f"near {group}": ("near", 1 << at) for at, group in enumerate(GROUPS)},
    **{f"far {group}": ("far", 1 << at) for at, group in enumerate(GROUPS)},
}
_OWN = OF_BLOCK | OF_BOX

NAMES = (*OF_PAGE, *OF_BOX, *OF_BLOCK, *BITS)
"""Every trait there is before any judgement."""
OPINIONS = tuple(OF_OPINION)
"""Those that a first judgement adds."""


class Traits:
    """The traits of one page, in grades; what is asked of them is what `forest.Source` says."""

    __slots__ = ("_bits", "_known", "_opinion", "_shared", "_view", "count")

    def __init__(self, view: View) -> None:
        """Look at a page that has at least one block."""
        self._view = view
        self._opinion: Likelihoods | None = None
        self._known: dict[str, bytes] = {}
        self._shared: dict[str, int] = {}
        self.count = len(view.kept)
        home = view.above[0]
        every = {"marks": view.outline.boxes.marks, "near": view.around.near, "far": view.around.far}
        self._bits: dict[str, Sequence[int]] = {what: home(values) for what, values in every.items()}

    def hear(self, likely: Sequence[float]) -> None:
        """Add the traits that follow from a first judgement: what it said of each block that is kept."""
        self._opinion = Likelihoods(self._view, likely)

    def of_page(self, name: str) -> int | None:
        """Return a trait of the page, None where it is not one."""
        if name not in OF_PAGE:
            return None
        found = self._shared.get(name)
        if found is None:
            found = self._shared[name] = OF_PAGE[name](self._view)
        return found

    def of_block(self, name: str) -> bytes:
        """Return a trait of blocks or of their boxes, a grade for each block."""
        found = self._known.get(name)
        if found is None:
            found = self._known[name] = self._of_bit(*BITS[name]) if name in BITS else self._measured(name)
        return found

    def _of_bit(self, what: str, bit: int) -> bytes:
        return bytes([value & bit != 0 for value in self._bits[what]])

    def _measured(self, name: str) -> bytes:
        heard = OF_OPINION.get(name)
        return _OWN[name](self._view) if heard is None or self._opinion is None else heard(self._opinion)

    def column(self, name: str) -> bytes:
        """Return any trait, a grade for each block, as the model is taught with them."""
        page = self.of_page(name)
        return self.of_block(name) if page is None else bytes([page]) * self.count
