"""The traits of a page and of its blocks, in grades: what the forest asks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from windrow.formats.html.block_traits import OF_BLOCK, OF_BOX
from windrow.formats.html.grade import COUNT, SHARE, Scale, grade
from windrow.formats.html.hint import ADDRESSES, TYPES
from windrow.formats.html.mark import PageLocation
from windrow.formats.html.opinion import OF_OPINION, Likelihoods
from windrow.formats.html.view import View
from windrow.formats.html.vocabulary import GROUPS

Trait = Callable[[View], int]


def _graded(measure: Callable[[View], float], scale: Scale) -> Trait:
    return lambda view: grade([measure(view)], scale)[0]


def _number(tag: str) -> Trait:
    return lambda view: grade([view.outline.boxes.tag.count(tag)], COUNT)[0]


def _type(view: View, at: int) -> int:
    return view.hint.types >> at & 1


def _address(view: View, at: int) -> int:
    return view.hint.address >> at & 1


def _tags(view: View) -> list[str]:
    return view.outline.boxes.tag


OF_PAGE: dict[str, Trait] = {
    "page words": _graded(lambda view: view.sums.words[0], COUNT),
    "page blocks": _graded(lambda view: view.sums.blocks[0], COUNT),
    "page density": lambda view: view.sums.dense[0],
    "page prose": _graded(lambda view: view.sums.prose[0], COUNT),
    "page telling": _graded(lambda view: view.sums.prose[0] / view.sums.words[0], SHARE),
    **{f"page {tag}": _number(tag) for tag in ("article", "h1", "h2", "h3", "li", "main", "td", "section")},
    "page p": _graded(lambda view: _tags(view).count("p") / len(_tags(view)), SHARE),
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
