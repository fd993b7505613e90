"""A page laid flat: its boxes, its blocks of text, and its anchors, as columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from windrow.formats.html.mark import PageLocation

_CELL = int(PageLocation.CELL)


class Anchor(NamedTuple):
    """An element of the page's body that refers to something, as it was written."""

    tag: str
    href: str
    rel: str
    text: str
    """What it says, or its label, title or picture's text where it says nothing."""
    marks: int
    """What it lies in, as `PageLocation` has it."""
    headline: bool
    """Whether a headline lies inside it."""


@dataclass(frozen=True, slots=True)
class Boxes:
    """The elements that are laid out as boxes and hold text, in the order in which they open; number 0 is the body.

    Elements in the line of text (`b`, `span`, `a`) are no boxes, and one nested deeper than 200 boxes is none either.
    """

    tag: list[str] = field(default_factory=list)
    up: list[int] = field(default_factory=list)
    """The number of the box around it; -1 for the body."""
    depth: list[int] = field(default_factory=list)
    marks: list[int] = field(default_factory=list)
    """What it is and lies in, as `PageLocation` has it."""
    names: list[int] = field(default_factory=list)
    """Its own groups of the vocabulary."""
    path: list[int] = field(default_factory=list)
    """Equal for boxes whose tags and classes are equal, all the way up."""
    kind: list[str] = field(default_factory=list)
    """Equal for boxes whose tags and classes are equal."""
    first: list[int] = field(default_factory=list)
    """The first block within it."""
    last: list[int] = field(default_factory=list)
    """The block behind its last."""
    start: list[bytes] = field(default_factory=list)
    """Its start tag as written, without its brackets."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """The runs of text between the borders of boxes, in the page's order; none is empty."""

    text: list[str] = field(default_factory=list)
    """Spaces are collapsed; a line feed stands for `br`, and for itself within `pre`."""
    words: list[int] = field(default_factory=list)
    linked: list[int] = field(default_factory=list)
    """How many of the words lie in links."""
    links: list[int] = field(default_factory=list)
    box: list[int] = field(default_factory=list)
    end: list[int] = field(default_factory=list)
    """The number of the tag that ends it, counted over all tags within the body."""
    code: dict[int, list[str]] = field(default_factory=dict)
    """By block, what is marked up as code within its lines."""
    quote: dict[int, list[str]] = field(default_factory=dict)
    """By block, what is marked up as quotation within its lines."""


@dataclass(frozen=True, slots=True)
class Outline:
    """A page laid flat."""

    boxes: Boxes = field(default_factory=Boxes)
    blocks: Blocks = field(default_factory=Blocks)
    anchors: list[Anchor] = field(default_factory=list)


def table_row(outline: Outline, box: int) -> int:
    """Return the row of a table that a box lies in, if its cell is one block of text; else -1."""
    boxes = outline.boxes
    if not boxes.marks[box] & _CELL:
        return -1
    while boxes.tag[box] not in {"td", "th"}:
        box = boxes.up[box]
    return boxes.up[box] if boxes.last[box] - boxes.first[box] == 1 else -1
