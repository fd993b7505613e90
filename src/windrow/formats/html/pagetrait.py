"""What can be measured of a page as a whole: one number, the same for all its blocks."""

from __future__ import annotations

from collections.abc import Callable

from windrow.formats.html.hint import ADDRESSES, TYPES
from windrow.formats.html.view import View

OF_PAGE: dict[str, Callable[[View], float]] = {
    "page words": lambda view: view.sums.words[0],
    "page blocks": lambda view: view.sums.blocks[0],
    "page density": lambda view: view.sums.density[0],
    "page prose": lambda view: view.sums.prose[0],
    "page telling": lambda view: view.sums.prose[0] / view.sums.words[0],
    "page article": lambda view: view.outline.boxes.tag.count("article"),
    "page h1": lambda view: view.outline.boxes.tag.count("h1"),
    "page main": lambda view: view.outline.boxes.tag.count("main"),
    "page p": lambda view: view.outline.boxes.tag.count("p") / len(view.outline.boxes.tag),
    "page kind": lambda view: view.hint.kind,
    "page steps": lambda view: view.hint.steps,
    "page digits": lambda view: view.hint.digits,
    **{f"type {at}": lambda view, at=at: view.hint.types >> at & 1 for at in range(len(TYPES))},  # type: ignore[misc]
    **{f"address {at}": lambda view, at=at: view.hint.address >> at & 1 for at in range(len(ADDRESSES))},  # type: ignore[misc]
}
