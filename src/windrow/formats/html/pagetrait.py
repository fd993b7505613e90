"""What can be measured of a page as a whole: one grade, the same for all its blocks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from windrow.formats.html.grade import COUNT, SHARE, Scale, grade
from windrow.formats.html.hint import ADDRESSES, TYPES
from windrow.formats.html.view import View

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
